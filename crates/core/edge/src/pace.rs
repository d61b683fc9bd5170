//! The rate that a decision's windows mean, where the window towards the UE cannot be set itself.
//!
//! ```text
//!   rate = min( wan window / RTTmin towards the server, ran window / SRTT towards the UE )
//! ```
//!
//! Each window is the flow's share times a time that is at least the round trip's, so each quotient is at
//! least the share: the less is the better estimate. A closed window is none: it is that of a flow which waits for its
//! turn, and what waits here meanwhile is to leave.

use rapid::{FlowTelemetry, WanWindow};
use units::{BitRate, Bytes, Duration};

/// The rate; none while no round-trip time has been measured.
pub fn rate(telemetry: &FlowTelemetry, wan: WanWindow, ran_window: Bytes) -> Option<BitRate> {
    let of = |bytes: Bytes, rtt: Option<Duration>| {
        let rtt = rtt.filter(|rtt| !rtt.is_zero())?;
        Some(BitRate::from_bytes_per(bytes, rtt))
    };
    let (WanWindow::Fixed(window) | WanWindow::Budget(window)) = wan;
    let towards_server = of(window, telemetry.wan_min_rtt).filter(|_| !window.is_zero());
    let towards_ue = of(ran_window, telemetry.ran_srtt);
    match (towards_server, towards_ue) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The rate, if it differs from `last` by more than the share `step`.
pub fn change(wanted: Option<BitRate>, last: Option<BitRate>, step: f64) -> Option<BitRate> {
    let wanted = wanted?;
    let Some(last) = last else {
        return Some(wanted);
    };
    let difference = wanted.as_bps().abs_diff(last.as_bps()) as f64;
    (difference > step * last.as_bps() as f64).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_of_both_quotients() {
        let mut telemetry = FlowTelemetry::default();
        let wan = WanWindow::Budget(Bytes::new(100_000));
        let ran = Bytes::new(50_000);
        assert_eq!(rate(&telemetry, wan, ran), None);
        telemetry.wan_min_rtt = Some(Duration::from_millis(40));
        assert_eq!(rate(&telemetry, wan, ran), Some(BitRate::from_mbps(20)));
        telemetry.ran_srtt = Some(Duration::from_millis(25));
        assert_eq!(rate(&telemetry, wan, ran), Some(BitRate::from_mbps(16)));
        let closed = WanWindow::Budget(Bytes::ZERO);
        assert_eq!(rate(&telemetry, closed, ran), Some(BitRate::from_mbps(16)));
        telemetry.ran_srtt = Some(Duration::ZERO);
        assert_eq!(rate(&telemetry, wan, ran), Some(BitRate::from_mbps(20)));
        assert_eq!(rate(&telemetry, closed, ran), None);
    }

    #[test]
    fn small_changes_are_not_set() {
        let [a, b, c] = [100, 105, 106].map(BitRate::from_mbps);
        assert_eq!(change(Some(a), None, 0.05), Some(a));
        assert_eq!(change(Some(b), Some(a), 0.05), None);
        assert_eq!(change(Some(c), Some(a), 0.05), Some(c));
        assert_eq!(change(None, Some(a), 0.05), None);
    }
}
