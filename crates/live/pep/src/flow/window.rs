//! What is decided of a flow, and the receive window towards the server, as all threads see it: set by the rule of all
//! worlds, with the system calls that it takes.

use super::{Flow, Handling};
use crate::registry::lock;
use crate::relay::Waker;
use crate::sys;
use daemon::clock;
use edge::wire::{Exact, Relief};
use edge::{Change, Passing, ServerWindow, ShownWindow};
use rapid::WanWindow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use units::{Bytes, Duration, Instant};

/// No window has been decided.
const NO_WINDOW: u64 = u64::MAX;

/// The receive window towards the server.
#[derive(Debug)]
pub(crate) struct Window {
    /// The allocator's, bytes, or [`NO_WINDOW`].
    decided: AtomicU64,
    /// It is to be shown whatever waits here.
    is_fixed: AtomicBool,
    /// It was decided since the flow last had a turn, and is about a segment away from what is shown.
    is_news: AtomicBool,
    /// Shown before anything is decided, bytes.
    young: u32,
    /// One was decided before, and none is any more.
    is_released: AtomicBool,
    /// Its share of the memory: shown where nothing is decided, and never exceeded, bytes.
    share: AtomicU32,
    /// The receive buffer is locked to that.
    pub(crate) is_locked: bool,
    /// What is shown, by the rule of all worlds.
    rule: Mutex<ServerWindow>,
    /// To be shown at once by the thread that relays the flow.
    due: Mutex<Option<Change>>,
    /// As it is in `rule`, bytes.
    shown: AtomicU32,
    /// As it is in `rule`.
    is_closed: AtomicBool,
}

impl Flow {
    /// The windows were decided. Where acknowledgements show the one towards the server, a segment more or less of it waits
    /// for the flow's next turn, so that a flow whose windows go up and down by a segment costs no system call with each
    /// decision.
    pub(crate) fn decide(&self, windows: &edge::Windows) {
        self.window.decide(windows.wan);
        self.is_slow.store(windows.is_slow, Relaxed);
        if let Some(bound) = windows.unsent {
            let bound = u32::try_from(bound.get()).unwrap_or(u32::MAX);
            self.unsent_bound.store(bound, Relaxed);
            self.set_unsent();
        }
        if self.wire().is_some() || self.window.is_closed() {
            self.show_window();
            return;
        }
        let (waiting, received) = (self.meters.waiting_down(), self.meters.received());
        match self.window.is_far(waiting, received) {
            Some(true) => self.show_window(),
            Some(false) => self.window.is_news.store(true, Relaxed),
            None => {}
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
        self.window.release();
        self.is_slow.store(false, Relaxed);
        self.meters.ran_window.store(0, Relaxed);
        self.meters.ran_unsent.store(0, Relaxed);
        if self.unsent_bound.swap(0, Relaxed) != 0 {
            self.set_unsent();
        }
        self.set_handling(Handling::Plain);
        self.show_window();
    }

    /// Shows the server the window that is decided, for what waits here now. What only the thread can do that
    /// relays the flow, it is woken for.
    pub(crate) fn show_window(&self) {
        let due = self.follow_window(clock::now());
        let due = due.filter(|change| match change {
            // by a read of what is unread
            Change::Credit(_) => self.meters.wan_unread.load(Relaxed) > 0,
            _ => true,
        });
        if let Some(change) = due {
            // it is to be shown even if less is decided meanwhile: a turn is decided once
            self.window.set_due(change);
            self.on_turn(Waker::wake);
        }
    }

    /// As [`Self::show_window`] for the thread that relays the flow: what is to be shown at once is returned.
    pub(crate) fn follow_window(&self, now: Instant) -> Option<Change> {
        if let Some(wire) = self.wire() {
            wire.show(&self.wan, || {
                let (waiting, received) = (self.meters.waiting_down(), self.meters.received());
                let rtt = self.meters.wan_rtt.smoothed();
                self.window.exact(waiting, received, rtt)
            });
            return None;
        }
        let (waiting, received) = (self.meters.waiting_down(), self.meters.received());
        self.window.follow(now, waiting, received, |bytes| {
            // a socket that has just been closed by its peer may refuse: it is of no use then
            let _ = sys::set_window_clamp(&self.wan, bytes);
        })
    }

    /// Windows of less than the least cannot be shown any more: no update can be sent.
    pub(crate) fn cannot_update(&self) {
        if self.wire().is_some() {
            self.window.cannot_close();
            self.show_window();
        }
    }

    /// Has a server that has been shown less than a segment for long be shown the least, whatever is decided.
    pub(crate) fn relieve(&self, now: Instant) {
        if let Some(wire) = self.wire().filter(|_| self.window.follows_data()) {
            let received = Bytes::new(self.meters.received());
            if wire.relieve(now, received, &self.window.exact_relief()) {
                self.show_window();
            }
        }
    }
}

impl Window {
    /// `share`: of the memory, as [`crate::registry::Registry::share`] gives it; `shown`: to begin with.
    pub(crate) fn new(share: u32, shown: u32, is_locked: bool, rule: ShownWindow) -> Self {
        let shown = shown.min(share);
        let mss = Bytes::new(u64::from(crate::listener::USUAL_MSS));
        let rule = ServerWindow::new(rule, mss, Bytes::new(u64::from(shown)));
        Self {
            decided: AtomicU64::new(NO_WINDOW),
            is_fixed: AtomicBool::new(false),
            is_news: AtomicBool::new(false),
            young: shown,
            is_released: AtomicBool::new(false),
            share: AtomicU32::new(share),
            is_locked,
            rule: Mutex::new(rule),
            due: Mutex::default(),
            shown: AtomicU32::new(shown),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The server has answered: segments are so large, bytes, and windows can be closed or not.
    pub(crate) fn is_established(&self, mss: u32, can_close: bool) {
        let mut rule = lock(&self.rule);
        if mss > 0 {
            rule.set_mss(Bytes::new(u64::from(mss)));
        }
        if !can_close {
            rule.cannot_close();
        }
    }

    /// Shown last, or given as credit last, bytes.
    pub(crate) fn shown(&self) -> u32 {
        self.shown.load(Relaxed)
    }

    /// No acknowledgement is to show more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Its share of the memory, bytes.
    pub(crate) fn share(&self) -> u32 {
        self.share.load(Relaxed)
    }

    /// False where the flow has just ended.
    pub(crate) fn replace_share(&self, former: u32, share: u32) -> bool {
        let exchange = self.share.compare_exchange(former, share, Relaxed, Relaxed);
        exchange.is_ok()
    }

    /// The share that the flow gives back as it ends, once.
    pub(crate) fn end_share(&self) -> u32 {
        self.share.swap(0, Relaxed)
    }

    /// Data that passes may change what is to be shown. So it may where the last decision was taken back while a
    /// window of before that was being shown at once.
    pub(crate) fn follows_data(&self) -> bool {
        self.decided.load(Relaxed) != NO_WINDOW
            || self.is_closed()
            || (self.is_released.load(Relaxed) && self.shown() != self.share())
    }

    /// A window was decided.
    pub(crate) fn decide(&self, window: WanWindow) {
        let (bytes, is_fixed) = match window {
            WanWindow::Fixed(bytes) => (bytes, true),
            WanWindow::Budget(bytes) => (bytes, false),
        };
        self.is_fixed.store(is_fixed, Relaxed);
        self.decided.store(bytes.get().min(NO_WINDOW - 1), Relaxed);
        self.is_released.store(false, Relaxed);
    }

    /// Whether what is decided is more than a segment away from what is shown, while so much waits here and so much has
    /// been received, bytes; none where that is to stay.
    fn is_far(&self, waiting: u64, received: u64) -> Option<bool> {
        let rule = lock(&self.rule);
        Some(match self.change(&rule, waiting, received)? {
            Change::Follow(window) => {
                let shown = u64::from(self.shown());
                window.get().abs_diff(shown) > rule.mss().get()
            }
            Change::Close | Change::Credit(_) | Change::Open(_) => true,
        })
    }

    /// Whether one was decided since this was last called.
    pub(crate) fn takes_news(&self) -> bool {
        // most often there are none
        self.is_news.load(Relaxed) && self.is_news.swap(false, Relaxed)
    }

    /// None is decided any more.
    pub(crate) fn release(&self) {
        self.is_released.store(true, Relaxed);
        self.decided.store(NO_WINDOW, Relaxed);
    }

    /// What is to be done while so much waits here and so much has been received, bytes. If acknowledgements
    /// can do it, `clamp` is called with what they are to show, and it is done.
    pub(crate) fn follow(
        &self,
        now: Instant,
        waiting: u64,
        received: u64,
        clamp: impl FnOnce(u32),
    ) -> Option<Change> {
        let mut rule = lock(&self.rule);
        let change = self.change(&rule, waiting, received)?;
        let shown = match change {
            Change::Follow(window) => window,
            // until a byte can be left unread
            Change::Close => rule.min_bytes(),
            Change::Credit(_) | Change::Open(_) => return Some(change),
        };
        let bytes = self.note(&mut rule, now, change, received, shown);
        clamp(bytes);
        None
    }

    /// What segments are to show while so much waits here and so much has been received, bytes, where every window can
    /// be shown; `rtt` is that towards the server.
    pub(crate) fn exact(&self, waiting: u64, received: u64, rtt: Option<Duration>) -> Exact {
        let exact = match (self.decided(), self.is_released.load(Relaxed)) {
            (Some(decided), _) => {
                let of = self.passing(waiting, received);
                lock(&self.rule).exact(decided, of, rtt)
            }
            (None, true) => ServerWindow::exact_release(Bytes::new(u64::from(self.share()))),
            (None, false) => ServerWindow::exact_young(Bytes::new(u64::from(self.young))),
        };
        let shown = u32::try_from(exact.window.get()).unwrap_or(u32::MAX);
        self.shown.store(shown, Relaxed);
        exact
    }

    /// What ends a window that has been closed for too long, where every window can be shown.
    pub(crate) fn exact_relief(&self) -> Relief {
        lock(&self.rule).exact_relief()
    }

    /// This is to be shown at once.
    pub(crate) fn set_due(&self, change: Change) {
        *lock(&self.due) = Some(change);
    }

    /// From now on acknowledgements show no more than has been shown.
    pub(crate) fn is_shut(&self, now: Instant) {
        lock(&self.rule).is_shut(now);
    }

    /// Has the least shown at once where the window has been closed for too long. True if so.
    pub(crate) fn relieve(&self, now: Instant) -> bool {
        let relief = lock(&self.rule).relief(now);
        if let Some(change) = relief {
            self.set_due(change);
        }
        relief.is_some()
    }

    /// What is to be shown at once, if anything.
    pub(crate) fn take_due(&self) -> Option<Change> {
        lock(&self.due).take()
    }

    /// A window was shown at once.
    pub(crate) fn has_shown(&self, now: Instant, change: Change, received: u64) {
        let (Change::Credit(window) | Change::Open(window) | Change::Follow(window)) = change
        else {
            return;
        };
        let mut rule = lock(&self.rule);
        self.note(&mut rule, now, change, received, window);
        if !rule.is_closed() {
            // acknowledgements show what was owed
            *lock(&self.due) = None;
        }
    }

    /// So much was not shown at once, since the server has enough.
    pub(crate) fn is_refused(&self, now: Instant, window: u32, received: u64) {
        let window = Bytes::new(u64::from(window));
        lock(&self.rule).is_refused(now, window, Bytes::new(received));
    }

    /// Windows cannot be shown at once: it is not closed from now on.
    pub(crate) fn cannot_close(&self) {
        lock(&self.rule).cannot_close();
        self.is_closed.store(false, Relaxed);
        self.shown.store(0, Relaxed);
    }

    /// The server may be unable to send before it is shown more.
    pub(crate) fn may_block(&self, received: u64) -> bool {
        lock(&self.rule).may_block(Bytes::new(received))
    }

    fn change(&self, rule: &ServerWindow, waiting: u64, received: u64) -> Option<Change> {
        let of = self.passing(waiting, received);
        match self.decided() {
            None => rule.release(of.cap),
            Some(window) => rule.change(window, of),
        }
    }

    pub(super) fn decided(&self) -> Option<WanWindow> {
        let decided = self.decided.load(Relaxed);
        let bytes = (decided != NO_WINDOW).then(|| Bytes::new(decided))?;
        Some(if self.is_fixed.load(Relaxed) {
            WanWindow::Fixed(bytes)
        } else {
            WanWindow::Budget(bytes)
        })
    }

    fn passing(&self, waiting: u64, received: u64) -> Passing {
        Passing {
            waiting: Bytes::new(waiting),
            received: Bytes::new(received),
            cap: Bytes::new(u64::from(self.share())),
        }
    }

    fn note(
        &self,
        rule: &mut ServerWindow,
        now: Instant,
        change: Change,
        received: u64,
        shown: Bytes,
    ) -> u32 {
        rule.has_changed(now, change, Bytes::new(received));
        self.is_closed.store(rule.is_closed(), Relaxed);
        // no more than the share, which has 32 bits
        let shown = u32::try_from(shown.get()).unwrap_or(u32::MAX);
        self.shown.store(shown, Relaxed);
        shown
    }
}

#[cfg(test)]
mod tests;
