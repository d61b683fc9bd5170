//! The receive window that the server is shown between two decisions.
//!
//! A decision is a window, or a budget of which what waits in the proxy is taken off (RAPID section 3.2). As data
//! passes, the data path applies this rule by itself:
//!
//! ```text
//!   window = clamp(decided - waiting, min_window x MSS, cap)
//!   shown anew if |window - shown| >= max(window_step x min(decided, cap), MSS)
//! ```
//!
//! The least window keeps the server from its persist timer (RFC 9293 3.8.6.1), whose first probe comes after
//! an RTO: Linux shows a grown window only with an acknowledgement of data. It also lets the server send that much
//! each round trip whatever waits, which is more than a shadowed radio carries where the path is short. The step keeps small changes from costing a system call and an acknowledgement each.

use rapid::WanWindow;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// The rule with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShownWindow {
    /// The least window that a server is shown, segments (0 to 64).
    pub min_window: u64,
    /// A changed window is shown if it differs by this share of the decided one, and by a segment (0 to 1).
    pub window_step: f64,
}

impl Default for ShownWindow {
    /// Two segments; a sixteenth.
    fn default() -> Self {
        Self {
            min_window: 2,
            window_step: 1.0 / 16.0,
        }
    }
}

impl ShownWindow {
    /// What is to be shown while `waiting` of the flow waits in the proxy; none if that is as good as what
    /// is `shown`. `cap`: the receive buffer.
    pub fn change(
        &self,
        decided: WanWindow,
        waiting: Bytes,
        shown: Bytes,
        mss: Bytes,
        cap: Bytes,
    ) -> Option<Bytes> {
        let (WanWindow::Fixed(whole) | WanWindow::Budget(whole)) = decided;
        let least = mss * self.min_window;
        let window = decided.shown(waiting).max(least).min(cap);
        let change = window.get().abs_diff(shown.get());
        let step = whole.min(cap).get() as f64 * self.window_step;
        let is_worth_it = change >= (step as u64).max(mss.get());
        is_worth_it.then_some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const CAP: u64 = 4_000_000;

    fn change(decided: WanWindow, waiting: u64, shown: u64) -> Option<u64> {
        let [waiting, shown, mss, cap] = [waiting, shown, MSS, CAP].map(Bytes::new);
        ShownWindow::default()
            .change(decided, waiting, shown, mss, cap)
            .map(Bytes::get)
    }

    fn budget(bytes: u64) -> WanWindow {
        WanWindow::Budget(Bytes::new(bytes))
    }

    #[test]
    fn a_budget_is_less_what_waits_and_a_fixed_window_is_not() {
        assert_eq!(change(budget(100_000), 40_000, CAP), Some(60_000));
        let fixed = WanWindow::Fixed(Bytes::new(100_000));
        assert_eq!(change(fixed, 40_000, CAP), Some(100_000));
    }

    #[test]
    fn the_server_is_never_left_to_its_persist_timer() {
        assert_eq!(change(budget(100_000), 500_000, CAP), Some(2 * MSS));
    }

    #[test]
    fn never_more_than_the_receive_buffer() {
        assert_eq!(change(budget(100_000_000), 0, 10_000), Some(CAP));
        assert_eq!(change(budget(100_000_000), 0, CAP), None);
    }

    #[test]
    fn small_changes_are_not_shown() {
        assert_eq!(change(budget(100_000), 41_000, 60_000), None);
        assert_eq!(change(budget(100_000), 20_000, 60_000), Some(80_000));
    }
}
