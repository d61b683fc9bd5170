//! Equations 4 to 13 of section 3.4, one a function. Windows in bytes, rates in byte/s.

use units::{BitRate, Bytes, Duration};

/// Eq. 4: the initial receive window, bytes.
pub(super) fn initial_window(capacity: BitRate, flows: usize, rtt_min: Duration) -> f64 {
    capacity.as_bps() as f64 / 8.0 / flows as f64 * rtt_min.as_secs_f64()
}

/// Eq. 7: round trips until exponential growth from one segment reaches the window; at least 1.
pub(super) fn rounds_to_reach(window: f64, mss: Bytes) -> f64 {
    ((window / mss.get() as f64).log2() + 1.0).max(1.0)
}

/// Eq. 8: the arrival rate that a flow with this window should reach, byte/s.
pub(super) fn expected_rate(window: f64, wan_srtt: Duration) -> f64 {
    window / wan_srtt.as_secs_f64()
}

/// Eq. 9: the moving average of the arrival rate.
pub(super) fn average_rate(previous: Option<f64>, sample: f64, alpha: f64) -> f64 {
    previous.map_or(sample, |p| alpha * p + (1.0 - alpha) * sample)
}

/// Eq. 10: the window of a slow flow, at least one segment.
pub(super) fn slow_window(window: f64, average_rate: f64, expected_rate: f64, mss: Bytes) -> f64 {
    (window * average_rate / expected_rate).max(mss.get() as f64)
}

/// Eq. 13: the window of a fast flow.
pub(super) fn fast_window(initial_window: f64, released: f64, fast_flows: usize) -> f64 {
    initial_window + released / fast_flows.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1440);

    #[test]
    fn eq_4_the_papers_cell_two_flows_one_ms() {
        // 852.608 Mbit/s / 2 * 1 ms = 53288 B
        let w = initial_window(BitRate::from_bps(852_608_000), 2, Duration::from_millis(1));
        assert!((w - 53_288.0).abs() < 0.5, "{w}");
    }

    #[test]
    fn eq_7_doubling_from_one_segment() {
        assert_eq!(rounds_to_reach(1440.0, MSS), 1.0);
        assert_eq!(rounds_to_reach(1440.0 * 8.0, MSS), 4.0);
        assert_eq!(rounds_to_reach(100.0, MSS), 1.0);
    }

    #[test]
    fn eq_8_to_10_a_flow_that_uses_half() {
        let expected = expected_rate(100_000.0, Duration::from_millis(10));
        assert!((expected - 10_000_000.0).abs() < 1.0);
        // samples 1, 5, 5 MB/s: r^ = 1/8 * (1/8 * 1 + 7/8 * 5) + 7/8 * 5
        let mut average = None;
        for sample in [1e6, 5e6, 5e6] {
            average = Some(average_rate(average, sample, 1.0 / 8.0));
        }
        assert!((average.unwrap() - 4_937_500.0).abs() < 1.0);
        let w = slow_window(100_000.0, average.unwrap(), expected, MSS);
        assert!((w - 49_375.0).abs() < 0.5);
    }

    #[test]
    fn eq_13_released_window_goes_to_fast_flows_in_equal_parts() {
        assert_eq!(fast_window(50_000.0, 30_000.0, 3), 60_000.0);
    }
}
