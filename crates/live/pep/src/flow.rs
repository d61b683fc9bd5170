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
use rapid::WanWindow;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use units::{Bytes, Instant};

/// No window has been decided.
const NO_WINDOW: u64 = u64::MAX;
/// The least window that the server is shown, segments: less would leave it to its persist timer.
const MIN_SEGMENTS: u64 = 2;
/// A changed window is shown if it differs by this share of the budget.
const WORTH_SHOWING: u64 = 16;

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
}

/// A changed share of the memory takes effect if it differs by this part of the former.
const WORTH_SHARING: u32 = 4;

impl Window {
    /// `share`: of the memory, as [`crate::registry::Registry::share`] gives it; `shown`: to begin with.
    pub(crate) fn new(share: u32, shown: u32, mss: u32, is_locked: bool) -> Self {
        Self {
            decided: AtomicU64::new(NO_WINDOW),
            is_fixed: AtomicBool::new(false),
            shown: AtomicU32::new(shown.min(share)),
            share: AtomicU32::new(share),
            is_locked,
            mss,
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
        let least = MIN_SEGMENTS * u64::from(self.mss);
        let bytes = window.shown(Bytes::new(waiting)).get().max(least);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.share());
        let change = u64::from(bytes.abs_diff(self.shown()));
        let least_change = decided.min(u64::from(self.share())) / WORTH_SHOWING;
        let is_worth_it = change >= least_change.max(u64::from(self.mss));
        is_worth_it.then_some(bytes)
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

    /// The allocator decided the windows.
    pub(crate) fn decide(&self, decision: &rapid::Decision) {
        let (bytes, is_fixed) = match decision.wan_window {
            WanWindow::Fixed(bytes) => (bytes, true),
            WanWindow::Budget(bytes) => (bytes, false),
        };
        self.window.is_fixed.store(is_fixed, Relaxed);
        self.window
            .decided
            .store(bytes.get().min(NO_WINDOW - 1), Relaxed);
        self.is_slow.store(decision.is_slow, Relaxed);
        self.ran_window.store(decision.ran.window.get(), Relaxed);
        self.bound_unsent(decision.ran.window.get());
        self.show_window();
    }

    /// Lets the socket towards the UE take a part of a window beyond what it sends, so that what
    /// waits does so where it can be counted at once. Changed only when it is off by half.
    fn bound_unsent(&self, window: u64) {
        const PART: u64 = 4;
        const RANGE: (u64, u64) = (16_384, 1 << 20);
        let wanted = (window / PART).clamp(RANGE.0, RANGE.1) as u32;
        let bound = self.unsent_bound.load(Relaxed);
        if wanted > bound.saturating_mul(2) || wanted < bound / 2 {
            self.unsent_bound.store(wanted, Relaxed);
            self.set_unsent();
        }
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

    fn decided(bytes: u64, is_fixed: bool) -> Window {
        let window = Window::new(4_000_000, 4_000_000, 1448, true);
        window.decided.store(bytes, Relaxed);
        window.is_fixed.store(is_fixed, Relaxed);
        window
    }

    #[test]
    fn a_budget_is_less_what_waits_and_a_fixed_window_is_not() {
        assert_eq!(decided(100_000, false).wanted(40_000), Some(60_000));
        assert_eq!(decided(100_000, true).wanted(40_000), Some(100_000));
    }

    #[test]
    fn the_server_is_never_left_to_its_persist_timer() {
        assert_eq!(decided(100_000, false).wanted(500_000), Some(2 * 1448));
    }

    #[test]
    fn never_more_than_the_receive_buffer_and_all_of_it_without_a_decision() {
        let window = decided(100_000_000, false);
        window.shown.store(10_000, Relaxed);
        assert_eq!(window.wanted(0), Some(4_000_000));
        window.decided.store(NO_WINDOW, Relaxed);
        assert_eq!(window.wanted(0), Some(4_000_000));
        window.shown.store(4_000_000, Relaxed);
        assert_eq!(window.wanted(0), None);
    }

    #[test]
    fn small_changes_are_not_worth_a_system_call() {
        let window = decided(100_000, false);
        window.shown.store(60_000, Relaxed);
        assert_eq!(window.wanted(41_000), None);
        assert_eq!(window.wanted(20_000), Some(80_000));
    }
}
