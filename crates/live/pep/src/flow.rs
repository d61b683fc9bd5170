//! A proxied connection, as all threads see it: its two sockets and its counters.
//!
//! ```text
//!   server == wan socket ==[ pipe ]== ran socket == UE
//! ```
//!
//! The worker that relays it owns the value; others hold it weakly, so that closing is at once.

mod learnt;
mod window;

pub(crate) use window::Window;

use crate::memory::Looked;
use crate::meters::Meters;
use crate::registry::{Registry, UeCounters};
use crate::relay::{Waker, set_receive_buffer};
use crate::sys;
use crate::touched::Touched;
use crate::wire::WireSlot;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use units::Instant;

/// How a flow is handled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// Spliced, nothing more.
    Plain,
    /// Windows follow the allocator, the congestion control is ours.
    Controlled,
    /// Windows follow the allocator, the kernel's congestion control is paced.
    Paced,
}

/// A proxied connection.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its number, unique in this process.
    pub(crate) id: u64,
    /// The UE's end.
    pub(crate) client: SocketAddr,
    /// The server's end.
    pub(crate) server: SocketAddr,
    /// When it was accepted.
    pub(crate) opened_at: Instant,
    /// Towards the UE.
    pub(crate) ran: OwnedFd,
    /// Towards the server.
    pub(crate) wan: OwnedFd,
    /// What it shares with the other flows of its UE.
    pub(crate) ue: Arc<UeCounters>,
    /// As configured, bytes.
    most_unsent: u32,
    /// What is measured of it.
    pub(crate) meters: Arc<Meters>,
    /// What the server is shown.
    pub(crate) window: Window,
    /// Where its windows are set at the wire.
    wire: Option<Box<WireSlot>>,
    /// Wakes the thread that relays it.
    waker: OnceLock<Waker>,
    handling: AtomicU32,
    /// Bound of what the socket towards the UE takes and has not sent, bytes; 0: as configured.
    unsent_bound: AtomicU32,
    /// As set last, bytes.
    unsent_set: AtomicU32,
    is_slow: AtomicBool,
    /// The receive buffer towards the server has its share of the memory.
    is_wide: AtomicBool,
    /// Where it is noted that it has moved, and its place there, or [`NO_PLACE`].
    touched: OnceLock<Arc<Touched>>,
    place: AtomicU32,
    /// Held by its pipes and its sockets when last looked at, bytes of kernel memory.
    pub(crate) held: AtomicU64,
    /// What it had moved then.
    pub(crate) looked: Looked,
    /// What an allocator has learnt of it: that of the proxy before, and this one's as it is to move.
    learnt: Mutex<Option<Box<rapid::Learnt>>>,
}

/// It is not noted that the flow moves.
const NO_PLACE: u32 = u32::MAX;

/// A changed share of the memory takes effect if it differs by this part of the former.
const WORTH_SHARING: u32 = 4;

impl Flow {
    /// Of two sockets of which the second is being connected.
    pub(crate) fn new(
        ends: Ends,
        sockets: (OwnedFd, OwnedFd),
        window: Window,
        wire: Option<Box<WireSlot>>,
    ) -> Self {
        let (ran, wan) = sockets;
        // its buffer has its share from the beginning: the window does not depend on it
        let is_wide = AtomicBool::new(wire.is_some());
        Self {
            id: ends.id,
            client: ends.client,
            server: ends.server,
            opened_at: ends.opened_at,
            ue: ends.ue,
            ran,
            wan,
            most_unsent: ends.most_unsent,
            meters: Arc::default(),
            window,
            wire,
            waker: OnceLock::new(),
            unsent_bound: AtomicU32::new(0),
            // inherited from the listener
            unsent_set: AtomicU32::new(ends.most_unsent),
            handling: AtomicU32::new(Handling::Plain as u32),
            is_slow: AtomicBool::new(false),
            is_wide,
            touched: OnceLock::new(),
            place: AtomicU32::new(NO_PLACE),
            held: AtomicU64::new(0),
            looked: Looked::default(),
            learnt: Mutex::default(),
        }
    }

    /// Its place where windows are set at the wire, if its are.
    pub(crate) fn wire(&self) -> Option<&WireSlot> {
        self.wire.as_deref().filter(|wire| wire.is_used())
    }

    /// The server has answered, by segments of so many bytes: windows can be closed or not. Where its packets do not
    /// pass the program that sets windows, they are set as without it.
    pub(crate) fn is_established(&self, mss: u32, can_close: bool) {
        let is_at_wire = self.wire().is_some_and(WireSlot::is_established);
        self.window.is_established(mss, can_close || is_at_wire);
        if self.wire.is_some() && !is_at_wire {
            self.repeat_window();
        }
    }

    /// Gives the receive buffer towards the server its share of the memory: it began with what a young connection is
    /// shown. At the first full segment of a connection the kernel estimates anew what a window takes of the buffer,
    /// and bounds the window by all of the buffer in the place of our clamp (`tcp_measure_rcv_mss`, from Linux 6.6
    /// on); what it shows then cannot be taken back.
    pub(crate) fn widen_buffer(&self) {
        self.is_wide.store(true, Relaxed);
        if self.window.is_locked {
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = set_receive_buffer(&self.wan, self.window.share());
        }
    }

    /// The receive buffer towards the server has its share of the memory.
    pub(crate) fn is_wide(&self) -> bool {
        self.is_wide.load(Relaxed)
    }

    /// Has acknowledgements show what was shown last, if windows are ours to set.
    pub(crate) fn repeat_window(&self) {
        if self.window.is_locked && self.wire().is_none() {
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = sys::set_window_clamp(&self.wan, self.window.shown());
        }
    }

    /// Has this wake the thread that relays the flow.
    pub(crate) fn set_waker(&self, waker: Waker) {
        // once, as the flow begins
        let _ = self.waker.set(waker);
    }

    /// Does this with what wakes the thread that relays the flow.
    pub(crate) fn on_turn(&self, with: impl FnOnce(&Waker)) {
        if let Some(waker) = self.waker.get() {
            with(waker);
        }
    }

    /// Another share of the memory, bytes, if that is worth system calls.
    pub(crate) fn set_share(&self, registry: &Registry, share: u32) {
        let former = self.window.share();
        if share.abs_diff(former) < former / WORTH_SHARING
            || !self.window.replace_share(former, share)
        {
            return;
        }
        registry.share_changed(&self.ue, former, share);
        self.set_unsent();
        if self.window.is_locked && self.is_wide() {
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = set_receive_buffer(&self.wan, share);
            if self.wire().is_some() {
                let _ = sys::set_window_clamp(&self.wan, share);
            }
            self.show_window();
        }
    }

    /// How it is handled.
    pub(crate) fn handling(&self) -> Handling {
        match self.handling.load(Relaxed) {
            1 => Handling::Controlled,
            2 => Handling::Paced,
            _ => Handling::Plain,
        }
    }

    /// Says how it is handled.
    pub(crate) fn set_handling(&self, handling: Handling) {
        self.handling.store(handling as u32, Relaxed);
    }

    /// The allocator holds it for slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow.load(Relaxed)
    }

    /// Window towards the UE, bytes; 0: not decided.
    pub(crate) fn ran_window(&self) -> u64 {
        self.meters.ran_window.load(Relaxed)
    }

    /// Has it noted there, at this place, that it moves; none: nowhere.
    pub(crate) fn set_place(&self, at: Option<(&Arc<Touched>, u32)>) {
        if let Some((touched, _)) = at {
            // there is one in a process
            self.touched.get_or_init(|| Arc::clone(touched));
        }
        self.place
            .store(at.map_or(NO_PLACE, |(_, place)| place), Release);
    }

    /// What is measured of it may have changed: the control thread is to look at it before it decides.
    pub(crate) fn touch(&self) {
        let place = self.place.load(Acquire);
        if place != NO_PLACE
            && let Some(touched) = self.touched.get()
        {
            touched.touch(place);
        }
    }
}

/// Who a flow is between.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Its number.
    pub(crate) id: u64,
    /// The UE's end.
    pub(crate) client: SocketAddr,
    /// The server's end.
    pub(crate) server: SocketAddr,
    /// When it was accepted.
    pub(crate) opened_at: Instant,
    /// The UE's counters.
    pub(crate) ue: Arc<UeCounters>,
    /// The most that the socket towards the UE takes and has not sent, bytes.
    pub(crate) most_unsent: u32,
}

/// A flow between sockets of loopback, numbered 1, and the server's end of it: for tests.
#[cfg(test)]
pub(crate) fn connected() -> (Arc<Flow>, std::net::TcpStream) {
    let (flow, _ue, server) = connected_to_both();
    (flow, server)
}

/// The same with the UE's end and the server's.
#[cfg(test)]
pub(crate) fn connected_to_both() -> (Arc<Flow>, std::net::TcpStream, std::net::TcpStream) {
    let connect = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("bound");
        let near = std::net::TcpStream::connect(address).expect("connected");
        let (far, _) = listener.accept().expect("connected");
        (near, far, address)
    };
    let ((ran, ue, client), (wan, server, address)) = (connect(), connect());
    let ends = Ends {
        id: 1,
        client,
        server: address,
        opened_at: Instant::ZERO,
        ue: Arc::default(),
        most_unsent: 1,
    };
    let window = Window::new(1 << 20, 1 << 20, true, edge::ShownWindow::default());
    let flow = Flow::new(ends, (ran.into(), wan.into()), window, None);
    (Arc::new(flow), ue, server)
}
