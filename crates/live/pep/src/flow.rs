//! A proxied connection, as all threads see it: its two sockets and its counters.
//!
//! ```text
//!   server == wan socket ==[ pipe ]== ran socket == UE
//! ```
//!
//! The worker that relays it owns the value; others hold it weakly, so that closing is at once.

use crate::meters::Meters;
use crate::registry::{Registry, UeCounters};
use crate::relay::set_receive_buffer;
use crate::sys;
use edge::ShownWindow;
use rapid::WanWindow;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use units::{Bytes, Instant};

/// No window has been decided.
const NO_WINDOW: u64 = u64::MAX;

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
    handling: AtomicU32,
    /// Bound of what the socket towards the UE takes and has not sent, bytes; 0: as configured.
    unsent_bound: AtomicU32,
    /// As set last, bytes.
    unsent_set: AtomicU32,
    is_slow: AtomicBool,
    ran_window: AtomicU64,
    /// Held by its pipes and its sockets when last looked at, bytes of kernel memory.
    pub(crate) held: AtomicU64,
}

/// The receive window towards the server.
#[derive(Debug)]
pub(crate) struct Window {
    /// The allocator's, bytes, or [`NO_WINDOW`].
    decided: AtomicU64,
    /// It is to be shown whatever waits here.
    is_fixed: AtomicBool,
    /// Shown last, bytes.
    shown: AtomicU32,
    /// Its share of the memory: shown where nothing is decided, and never exceeded, bytes.
    share: AtomicU32,
    /// The receive buffer is locked to that.
    is_locked: bool,
    mss: u32,
    rule: ShownWindow,
}

/// A changed share of the memory takes effect if it differs by this part of the former.
const WORTH_SHARING: u32 = 4;

impl Window {
    /// `share`: of the memory, as [`crate::registry::Registry::share`] gives it; `shown`: to begin with.
    pub(crate) fn new(
        share: u32,
        shown: u32,
        mss: u32,
        is_locked: bool,
        rule: ShownWindow,
    ) -> Self {
        Self {
            decided: AtomicU64::new(NO_WINDOW),
            is_fixed: AtomicBool::new(false),
            shown: AtomicU32::new(shown.min(share)),
            share: AtomicU32::new(share),
            is_locked,
            mss,
            rule,
        }
    }

    /// Shown last.
    pub(crate) fn shown(&self) -> u32 {
        self.shown.load(Relaxed)
    }

    /// Its share of the memory, bytes.
    pub(crate) fn share(&self) -> u32 {
        self.share.load(Relaxed)
    }

    /// False where the flow has just ended.
    fn replace_share(&self, former: u32, share: u32) -> bool {
        let exchange = self.share.compare_exchange(former, share, Relaxed, Relaxed);
        exchange.is_ok()
    }

    /// The share that the flow gives back as it ends, once.
    pub(crate) fn end_share(&self) -> u32 {
        self.share.swap(0, Relaxed)
    }

    fn is_decided(&self) -> bool {
        self.decided.load(Relaxed) != NO_WINDOW
    }

    /// What is to be shown while so much waits here; none if that is as good as shown.
    fn wanted(&self, waiting: u64) -> Option<u32> {
        let decided = self.decided.load(Relaxed);
        if decided == NO_WINDOW {
            let share = self.share();
            return (self.shown() != share).then_some(share);
        }
        let window = if self.is_fixed.load(Relaxed) {
            WanWindow::Fixed(Bytes::new(decided))
        } else {
            WanWindow::Budget(Bytes::new(decided))
        };
        let [shown, mss, share] = [self.shown(), self.mss, self.share()];
        let of = |bytes: u32| Bytes::new(u64::from(bytes));
        let change = self
            .rule
            .change(window, Bytes::new(waiting), of(shown), of(mss), of(share));
        // no more than the share, which has 32 bits
        change.and_then(|bytes| u32::try_from(bytes.get()).ok())
    }
}

impl Flow {
    /// Of two sockets of which the second is being connected.
    pub(crate) fn new(ends: Ends, sockets: (OwnedFd, OwnedFd), window: Window) -> Self {
        let (ran, wan) = sockets;
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
            unsent_bound: AtomicU32::new(0),
            // inherited from the listener
            unsent_set: AtomicU32::new(ends.most_unsent),
            handling: AtomicU32::new(Handling::Plain as u32),
            is_slow: AtomicBool::new(false),
            ran_window: AtomicU64::new(0),
            held: AtomicU64::new(0),
        }
    }

    /// Shows the server the window that is decided, for what waits here now.
    pub(crate) fn show_window(&self) {
        if let Some(bytes) = self.window.wanted(self.meters.waiting_down()) {
            self.window.shown.store(bytes, Relaxed);
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = sys::set_window_clamp(&self.wan, bytes);
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
        if self.window.is_locked {
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = set_receive_buffer(&self.wan, share);
            self.show_window();
        }
    }

    /// As [`Self::show_window`], if anything is decided: for the path of the data.
    pub(crate) fn follow_window(&self) {
        if self.window.is_decided() {
            self.show_window();
        }
    }

    /// The windows were decided.
    pub(crate) fn decide(&self, windows: &edge::Windows) {
        let (bytes, is_fixed) = match windows.wan {
            WanWindow::Fixed(bytes) => (bytes, true),
            WanWindow::Budget(bytes) => (bytes, false),
        };
        self.window.is_fixed.store(is_fixed, Relaxed);
        self.window
            .decided
            .store(bytes.get().min(NO_WINDOW - 1), Relaxed);
        self.is_slow.store(windows.is_slow, Relaxed);
        self.ran_window.store(windows.ran_window.get(), Relaxed);
        if let Some(bound) = windows.unsent {
            let bound = u32::try_from(bound.get()).unwrap_or(u32::MAX);
            self.unsent_bound.store(bound, Relaxed);
            self.set_unsent();
        }
        self.show_window();
    }

    /// Bounds what the socket towards the UE takes and has not sent: as configured or by the window,
    /// and by half of its share of the memory.
    pub(crate) fn set_unsent(&self) {
        let bound = match self.unsent_bound.load(Relaxed) {
            0 => self.most_unsent,
            bound => bound,
        };
        let bound = bound.min(self.window.share() / 2);
        if self.unsent_set.swap(bound, Relaxed) != bound {
            // the connection may have gone
            let _ = sys::set_notsent_lowat(&self.ran, bound);
        }
    }

    /// There is no decision any more: the server is shown all that there is.
    pub(crate) fn release(&self) {
        self.window.decided.store(NO_WINDOW, Relaxed);
        self.is_slow.store(false, Relaxed);
        self.ran_window.store(0, Relaxed);
        self.meters.ran_unsent.store(0, Relaxed);
        if self.unsent_bound.swap(0, Relaxed) != 0 {
            self.set_unsent();
        }
        self.set_handling(Handling::Plain);
        self.show_window();
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
        self.ran_window.load(Relaxed)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(bytes: u64) -> Window {
        let window = Window::new(4_000_000, 4_000_000, 1448, true, ShownWindow::default());
        window.decided.store(bytes, Relaxed);
        window
    }

    #[test]
    fn a_decided_window_is_shown_by_the_rule_and_never_more_than_the_share() {
        let window = decided(100_000);
        assert_eq!(window.wanted(40_000), Some(60_000));
        window.shown.store(60_000, Relaxed);
        assert_eq!(window.wanted(41_000), None);
        window.decided.store(100_000_000, Relaxed);
        assert_eq!(window.wanted(0), Some(4_000_000));
    }

    #[test]
    fn without_a_decision_the_whole_share_is_shown_once() {
        let window = decided(NO_WINDOW);
        window.shown.store(10_000, Relaxed);
        assert_eq!(window.wanted(0), Some(4_000_000));
        window.shown.store(4_000_000, Relaxed);
        assert_eq!(window.wanted(0), None);
    }
}
