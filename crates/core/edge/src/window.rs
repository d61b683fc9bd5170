//! The receive window that the server is shown between two decisions.
//!
//! A decision is a window, or a budget of which what waits in the proxy is taken off (RAPID section 3.2). As data
//! passes, the data path applies this rule by itself:
//!
//! ```text
//!   window = min(decided - waiting, cap)
//!
//!   following   each acknowledgement shows the window; set anew if
//!               |window - shown| >= max(window_step x min(decided, cap), MSS)
//!       |  window < min_window x MSS
//!       v                                          ^  window >= reopen_factor x min_window x MSS
//!   closed      acknowledgements show no more; credit of a window is given at once if
//!               window >= max(2 x what the server has left, min_window x MSS);
//!               after max_closed without any, credit of min_window x MSS whatever is decided
//! ```
//!
//! Linux by itself opens a closed window only as data is acknowledged, which a server that has none left
//! to send never causes: it sends one probe for each RTO (RFC 9293 3.8.6.1). A driver therefore closes only if it
//! can show a window at once: the simulator can, and on Linux `TCP_REPAIR_WINDOW` and the update that the
//! kernel sends when a byte is read that was left unread (`pep::relay::credit`). Twice of what is left is the
//! kernel's own condition for that update, and keeps them few (RFC 1122 4.2.3.3: half the window). Where a driver
//! cannot, or with `closed-windows = false`, the window is no less than `min_window`, whatever waits; that
//! much each round trip is more than a shadowed radio carries where the path is short, or many flows share it.
//!
//! A budget of less than `min_window` that is not nothing is `min_window` while nothing waits: no flow stands still for
//! being small. Windows that are not budgets do not close.
//!
//! *Relief*: a window that has been closed for `max_closed` is opened to the least. Whatever the radio is reported to
//! carry, no flow stands still, and no byte that was left unread stays so. A driver calls [`ServerWindow::relief`] by
//! [`ServerWindow::relief_at`], or as often as it looks at its flows anyway.
//!
//! The step keeps small changes from costing a system call and an acknowledgement each.

use rapid::WanWindow;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

/// Credit is worth showing from so many times what the server has left on. No key: it is the kernel's own condition
/// for the update by which a driver shows credit, and with another the two would part.
const CREDIT_FACTOR: u64 = 2;

/// The rule with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShownWindow {
    /// The least window that a server is shown, segments (0 to 64).
    pub min_window: u64,
    /// Below that the window is closed, if the driver can open it again at once.
    #[serde(default = "yes")]
    pub closed_windows: bool,
    /// A closed window is followed again from so many times the least on (1 to 64).
    #[serde(default = "reopen_factor")]
    pub reopen_factor: u64,
    /// A window that has been closed for so long is opened to the least, whatever is decided; more than 0.
    #[serde(default = "max_closed")]
    pub max_closed: Duration,
    /// A changed window is shown if it differs by this share of the decided one, and by a segment (0 to 1).
    pub window_step: f64,
}

// what recordings have that were made before there were these keys
fn yes() -> bool {
    true
}

fn reopen_factor() -> u64 {
    4
}

fn max_closed() -> Duration {
    Duration::from_secs(1)
}

impl Default for ShownWindow {
    /// Two segments, closed below, for no more than a second, and until there is room for eight; a sixteenth.
    fn default() -> Self {
        Self {
            min_window: 2,
            closed_windows: yes(),
            reopen_factor: reopen_factor(),
            max_closed: max_closed(),
            window_step: 1.0 / 16.0,
        }
    }
}

/// What is to be done about the window that a server is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Each acknowledgement shows this window from now on.
    Follow(Bytes),
    /// No acknowledgement shows more than has been shown.
    Close,
    /// This window is shown at once, and no acknowledgement shows more.
    Credit(Bytes),
    /// This window is shown at once, and by each acknowledgement from now on.
    Open(Bytes),
}

/// What a flow is like now, as far as its window depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// Waits in the proxy on its way to the UE, bytes.
    pub waiting: Bytes,
    /// Received of the server in order, cumulative, bytes.
    pub received: Bytes,
    /// The receive buffer, bytes.
    pub cap: Bytes,
}

/// The receive window of one connection to a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerWindow {
    rule: ShownWindow,
    mss: Bytes,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Following {
        shown: Bytes,
    },
    /// The server may send up to this, as far as is known: cumulative, of what is received.
    Closed {
        until: Bytes,
        /// When it was closed, or shown last.
        since: Instant,
    },
}

impl ServerWindow {
    /// Of a connection that is shown `shown` to begin with.
    pub fn new(rule: ShownWindow, mss: Bytes, shown: Bytes) -> Self {
        let state = State::Following { shown };
        Self { rule, mss, state }
    }

    /// The driver cannot open a closed window at once: the least is shown by acknowledgements instead.
    pub fn cannot_close(&mut self) {
        self.rule.closed_windows = false;
        if self.is_closed() {
            let shown = Bytes::ZERO;
            self.state = State::Following { shown };
        }
    }

    /// Of segments of so many bytes.
    pub fn set_mss(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    /// It is closed, or will be when what was shown has been used up.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// The window as acknowledgements show it; while it is closed, what is left of it, as far as is known.
    pub fn shown(&self, received: Bytes) -> Bytes {
        match self.state {
            State::Following { shown } => shown,
            State::Closed { until, .. } => until.saturating_sub(received),
        }
    }

    /// The server may be unable to send a segment until it is shown more.
    pub fn may_block(&self, received: Bytes) -> bool {
        self.is_closed() && self.shown(received) < self.mss
    }

    /// What is to be done now, if anything.
    pub fn change(&self, decided: WanWindow, of: Passing) -> Option<Change> {
        let window = self.window(decided, of);
        match (self.state, window) {
            (State::Following { shown }, Some(window)) => {
                let (WanWindow::Fixed(whole) | WanWindow::Budget(whole)) = decided;
                let change = window.get().abs_diff(shown.get());
                let step = whole.min(of.cap).get() as f64 * self.rule.window_step;
                let is_worth_it = change >= (step as u64).max(self.mss.get());
                is_worth_it.then_some(Change::Follow(window))
            }
            (State::Following { .. }, None) => Some(Change::Close),
            (State::Closed { .. }, None) => None,
            (State::Closed { until, .. }, Some(window)) => {
                let left = until.saturating_sub(of.received);
                if window >= self.min_bytes() * self.rule.reopen_factor {
                    Some(Change::Open(window))
                } else {
                    (window >= left * CREDIT_FACTOR).then_some(Change::Credit(window))
                }
            }
        }
    }

    /// The least is to be shown at once, for the window has been closed for too long.
    pub fn relief(&self, now: Instant) -> Option<Change> {
        let is_due = self.relief_at().is_some_and(|at| at <= now);
        is_due.then(|| Change::Credit(self.min_bytes()))
    }

    /// When that will be, if nothing is shown before.
    pub fn relief_at(&self) -> Option<Instant> {
        match self.state {
            State::Following { .. } => None,
            State::Closed { since, .. } => Some(since + self.rule.max_closed),
        }
    }

    /// A driver that can close only as data waits does so now: until now acknowledgements showed the least.
    pub fn is_shut(&mut self, now: Instant) {
        if let State::Closed { since, .. } = &mut self.state {
            *since = now;
        }
    }

    /// What is to be done where nothing is decided: all of the receive buffer is shown.
    pub fn release(&self, cap: Bytes) -> Option<Change> {
        match self.state {
            State::Following { shown } => (shown != cap).then_some(Change::Follow(cap)),
            State::Closed { .. } => Some(Change::Open(cap)),
        }
    }

    /// It has been done.
    pub fn has_changed(&mut self, now: Instant, change: Change, received: Bytes) {
        let closed = |until| State::Closed { until, since: now };
        self.state = match change {
            Change::Follow(shown) | Change::Open(shown) => State::Following { shown },
            // what of the last window is left is not known: at least nothing
            Change::Close => closed(received),
            Change::Credit(window) => closed(received + window),
        };
    }

    /// It was not shown, since the server has more than half of such a window left.
    pub fn is_refused(&mut self, now: Instant, window: Bytes, received: Bytes) {
        if let State::Closed { until, since } = &mut self.state {
            *until = (*until).max(received + window / CREDIT_FACTOR + Bytes::new(1));
            *since = now;
        }
    }

    /// Windows are closed below the least.
    pub(crate) fn closes(&self) -> bool {
        self.rule.closed_windows
    }

    /// Size of its segments.
    pub fn mss(&self) -> Bytes {
        self.mss
    }

    /// A window that has been closed for so long is opened to the least.
    pub(crate) fn max_closed(&self) -> Duration {
        self.rule.max_closed
    }

    /// The least window that is shown, bytes.
    pub fn min_bytes(&self) -> Bytes {
        self.mss * self.rule.min_window
    }

    /// None: less than the least is to be shown, and can be.
    fn window(&self, decided: WanWindow, of: Passing) -> Option<Bytes> {
        let least = self.min_bytes();
        let window = decided.shown(of.waiting).min(of.cap);
        let is_small = match decided {
            WanWindow::Budget(whole) => {
                let is_least = !whole.is_zero() && whole < least && of.waiting.is_zero();
                window < least && !is_least
            }
            WanWindow::Fixed(_) => false,
        };
        if is_small && self.rule.closed_windows {
            return None;
        }
        Some(window.max(least).min(of.cap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const CAP: u64 = 4_000_000;
    const NOW: Instant = Instant::from_nanos(7_000_000_000);

    fn at(shown: u64) -> ServerWindow {
        ServerWindow::new(ShownWindow::default(), Bytes::new(MSS), Bytes::new(shown))
    }

    fn passing(waiting: u64, received: u64) -> Passing {
        let [waiting, received, cap] = [waiting, received, CAP].map(Bytes::new);
        Passing {
            waiting,
            received,
            cap,
        }
    }

    fn change(decided: WanWindow, waiting: u64, shown: u64) -> Option<Change> {
        at(shown).change(decided, passing(waiting, 0))
    }

    fn follow(bytes: u64) -> Option<Change> {
        Some(Change::Follow(Bytes::new(bytes)))
    }

    fn budget(bytes: u64) -> WanWindow {
        WanWindow::Budget(Bytes::new(bytes))
    }

    fn closed_at(received: u64) -> ServerWindow {
        let mut window = at(20 * MSS);
        window.has_changed(NOW, Change::Close, Bytes::new(received));
        window
    }

    #[test]
    fn a_budget_is_less_what_waits_and_a_fixed_window_is_not() {
        assert_eq!(change(budget(100_000), 40_000, CAP), follow(60_000));
        let fixed = WanWindow::Fixed(Bytes::new(100_000));
        assert_eq!(change(fixed, 40_000, CAP), follow(100_000));
        let fixed = WanWindow::Fixed(Bytes::new(10));
        assert_eq!(change(fixed, 40_000, CAP), follow(2 * MSS));
    }

    #[test]
    fn where_windows_cannot_be_closed_the_server_is_never_left_to_its_persist_timer() {
        let mut window = at(CAP);
        window.cannot_close();
        let shown = window.change(budget(100_000), passing(500_000, 0));
        assert_eq!(shown, follow(2 * MSS));
        assert_eq!(window.change(budget(0), passing(0, 0)), follow(2 * MSS));
    }

    #[test]
    fn never_more_than_the_receive_buffer() {
        assert_eq!(change(budget(100_000_000), 0, 10_000), follow(CAP));
        assert_eq!(change(budget(100_000_000), 0, CAP), None);
    }

    #[test]
    fn small_changes_are_not_shown() {
        assert_eq!(change(budget(100_000), 41_000, 60_000), None);
        assert_eq!(change(budget(100_000), 20_000, 60_000), follow(80_000));
    }

    #[test]
    fn less_than_the_least_closes_and_the_least_is_given_as_credit() {
        let one_less = budget(100_000 + 2 * MSS - 1);
        assert_eq!(change(one_less, 100_000, 60_000), Some(Change::Close));
        let mut window = closed_at(1_000_000);
        assert!(window.may_block(Bytes::new(1_000_000)));
        let now = |waiting| passing(waiting, 1_000_000);
        assert_eq!(window.change(one_less, now(100_000)), None);
        let credit = Change::Credit(Bytes::new(2 * MSS));
        assert_eq!(window.change(one_less, now(99_999)), Some(credit));
        window.has_changed(NOW, credit, Bytes::new(1_000_000));
        assert_eq!(window.change(one_less, now(99_999)), None);
        assert!(!window.may_block(Bytes::new(1_000_000)));
        // one segment of the two has come
        let one = Bytes::new(1_000_000 + MSS);
        assert!(!window.may_block(one));
        let of = Passing {
            received: one,
            ..now(99_999)
        };
        assert_eq!(window.change(one_less, of), Some(credit));
    }

    #[test]
    fn a_window_that_is_large_again_is_followed() {
        let window = closed_at(5_000);
        let large = budget(8 * MSS);
        let open = Some(Change::Open(Bytes::new(8 * MSS)));
        assert_eq!(window.change(large, passing(0, 5_000)), open);
        let credit = Some(Change::Credit(Bytes::new(8 * MSS - 1)));
        assert_eq!(window.change(large, passing(1, 5_000)), credit);
    }

    #[test]
    fn a_window_that_has_been_closed_for_too_long_is_opened_to_the_least() {
        let second = ShownWindow::default().max_closed;
        let just_before = |at: Instant| Instant::from_nanos(at.as_nanos() - 1);
        assert_eq!(at(20 * MSS).relief_at(), None);
        assert_eq!(at(20 * MSS).relief(NOW + second), None);
        let mut window = closed_at(7_000);
        let least = Some(Change::Credit(Bytes::new(2 * MSS)));
        let is_relieved_after = |window: &ServerWindow, since: Instant| {
            let at = since + second;
            assert_eq!(window.relief_at(), Some(at));
            assert_eq!(window.relief(just_before(at)), None);
            assert_eq!(window.relief(at), least);
            at
        };
        let at = is_relieved_after(&window, NOW);
        // each credit counts anew, and so does one that was refused, and that it is closed only now
        window.has_changed(at, Change::Credit(Bytes::new(2 * MSS)), Bytes::new(7_000));
        let at = is_relieved_after(&window, at);
        window.is_refused(at, Bytes::new(2 * MSS), Bytes::new(7_000));
        let at = is_relieved_after(&window, at);
        window.is_shut(at + second);
        is_relieved_after(&window, at + second);
    }

    #[test]
    fn how_long_and_how_far_is_the_rules() {
        let rule = ShownWindow {
            reopen_factor: 2,
            max_closed: Duration::from_millis(30),
            ..ShownWindow::default()
        };
        let mut window = ServerWindow::new(rule, Bytes::new(MSS), Bytes::new(20 * MSS));
        window.has_changed(NOW, Change::Close, Bytes::ZERO);
        let open = Some(Change::Open(Bytes::new(4 * MSS)));
        assert_eq!(window.change(budget(4 * MSS), passing(0, 0)), open);
        assert_eq!(window.relief_at(), Some(NOW + Duration::from_millis(30)));
    }

    #[test]
    fn a_flow_with_less_than_the_least_has_it_while_nothing_waits() {
        let window = closed_at(0);
        let credit = Some(Change::Credit(Bytes::new(2 * MSS)));
        assert_eq!(window.change(budget(MSS), passing(0, 0)), credit);
        assert_eq!(window.change(budget(MSS), passing(1, 0)), None);
        assert_eq!(window.change(budget(0), passing(0, 0)), None);
    }

    #[test]
    fn what_was_not_shown_leaves_the_server_half_of_it() {
        let mut window = closed_at(7_000);
        window.is_refused(NOW, Bytes::new(2 * MSS), Bytes::new(7_000));
        assert_eq!(window.shown(Bytes::new(7_000)), Bytes::new(MSS + 1));
        assert!(window.is_closed() && !window.may_block(Bytes::new(7_000)));
        // nor is it tried again for the same
        assert_eq!(window.change(budget(2 * MSS), passing(0, 7_000)), None);
    }

    #[test]
    fn a_window_that_cannot_be_opened_again_is_followed() {
        let mut window = closed_at(7_000);
        window.cannot_close();
        assert_eq!(window.change(budget(0), passing(0, 7_000)), follow(2 * MSS));
    }

    #[test]
    fn without_a_decision_all_of_the_receive_buffer_is_shown() {
        let cap = Bytes::new(CAP);
        assert_eq!(at(CAP).release(cap), None);
        assert_eq!(at(10_000).release(cap), follow(CAP));
        assert_eq!(closed_at(0).release(cap), Some(Change::Open(cap)));
    }
}
