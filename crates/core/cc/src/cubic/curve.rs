//! The equations of RFC 9438 section 4, windows in segments and times in seconds.
//!
//! They use nothing but `+ - * /` of f64, which IEEE 754 defines to the last bit, so that results
//! do not depend on a mathematics library. Nothing is rounded here.

/// C in segments / s^3 (RFC 9438 5.1).
pub(super) const C: f64 = 0.4;
/// Multiplicative decrease factor beta_cubic (RFC 9438 4.6).
pub(super) const BETA: f64 = 0.7;
/// alpha_cubic of the Reno-friendly estimate (RFC 9438 4.3): 3 (1 - beta) / (1 + beta).
pub(super) const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// A round trip opens the window at most to this multiple (RFC 9438 4.2).
pub(super) const MAX_TARGET: f64 = 1.5;

/// Newton steps of [`cube_root`]; the first guess is right to 6 %, and each step squares the error.
const CUBE_ROOT_STEPS: u32 = 5;

/// Cube root of a finite number; 0 for anything not above 0.
pub(super) fn cube_root(x: f64) -> f64 {
    if !x.is_normal() || x < 0.0 {
        return 0.0;
    }
    // A third of the bit pattern has a third of the exponent, once two thirds of the bias
    // (2/3 of 1023 << 52) are put back.
    let mut root = f64::from_bits(x.to_bits() / 3 + (682 << 52));
    for _ in 0..CUBE_ROOT_STEPS {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

/// Figure 2: K, the time from the window at the epoch's start to W_max.
pub(super) fn k(w_max: f64, cwnd_epoch: f64) -> f64 {
    cube_root((w_max - cwnd_epoch) / C)
}

/// Figure 1: W_cubic(t) = C (t - K)^3 + W_max.
pub(super) fn w_cubic(t: f64, k: f64, w_max: f64) -> f64 {
    let offset = t - k;
    C * offset * offset * offset + w_max
}

/// 4.2: the window aimed at for the next round trip, between cwnd and 1.5 cwnd.
pub(super) fn target(w_cubic_after_rtt: f64, cwnd: f64) -> f64 {
    w_cubic_after_rtt.max(cwnd).min(MAX_TARGET * cwnd)
}

/// 4.4 and 4.5: growth for `acked` segments, (target - cwnd) / cwnd for each.
pub(super) fn cubic_increase(target: f64, cwnd: f64, acked: f64) -> f64 {
    (target - cwnd) / cwnd * acked
}

/// Figure 4: growth of W_est for `acked` segments. Once W_est has reached the window from before
/// the last reduction, it grows as Reno does.
pub(super) fn w_est_increase(w_est: f64, cwnd_prior: f64, cwnd: f64, acked: f64) -> f64 {
    let alpha = if w_est >= cwnd_prior { 1.0 } else { ALPHA };
    alpha * acked / cwnd
}

/// 4.7: W_max after a congestion event at `cwnd`. A flow that lost before it came back to its old
/// W_max makes room for others.
pub(super) fn fast_convergence(cwnd: f64, old_w_max: f64) -> f64 {
    if cwnd < old_w_max {
        cwnd * (1.0 + BETA) / 2.0
    } else {
        cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn cube_root_of_known_cubes() {
        for (x, root) in [
            (1e-9, 1e-3),
            (0.125, 0.5),
            (1.0, 1.0),
            (27.0, 3.0),
            (1e18, 1e6),
        ] {
            close(cube_root(x) / root, 1.0);
        }
        assert_eq!(cube_root(0.0), 0.0);
        assert_eq!(cube_root(-8.0), 0.0);
        assert_eq!(cube_root(f64::NAN), 0.0);
    }

    #[test]
    fn figure_2_k() {
        // W_max = 100, cwnd_epoch = 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.217163...
        close(k(100.0, 70.0), 4.217_163_326_508_746);
        // W_max = 1080, cwnd_epoch = 0: cbrt(2700); and 86.4 above: cbrt(216) = 6
        close(k(288.0, 288.0 - 86.4), 6.0);
        assert_eq!(k(70.0, 100.0), 0.0);
    }

    #[test]
    fn figure_1_w_cubic() {
        let k = k(288.0, 288.0 - 86.4);
        // at t = 0 the epoch's window, at K the plateau, 5 s later 0.4 * 125 = 50 above
        close(w_cubic(0.0, k, 288.0), 201.6);
        close(w_cubic(6.0, k, 288.0), 288.0);
        close(w_cubic(11.0, k, 288.0), 338.0);
        close(w_cubic(1.0, k, 288.0), 238.0);
    }

    #[test]
    fn section_4_2_target_is_bounded() {
        assert_eq!(target(90.0, 100.0), 100.0);
        assert_eq!(target(120.0, 100.0), 120.0);
        assert_eq!(target(1_000.0, 100.0), 150.0);
        assert_eq!(cubic_increase(120.0, 100.0, 2.0), 0.4);
    }

    #[test]
    fn section_4_3_alpha_and_w_est() {
        // 3 * 0.3 / 1.7 = 9 / 17
        close(ALPHA, 9.0 / 17.0);
        // 100 segments acknowledged at cwnd 100: one alpha
        close(w_est_increase(70.0, 100.0, 100.0, 100.0), 9.0 / 17.0);
        close(w_est_increase(100.0, 100.0, 100.0, 100.0), 1.0);
    }

    #[test]
    fn section_4_7_fast_convergence() {
        assert_eq!(fast_convergence(100.0, 100.0), 100.0);
        assert_eq!(fast_convergence(120.0, 100.0), 120.0);
        close(fast_convergence(80.0, 100.0), 68.0);
    }

    proptest! {
        #[test]
        fn cube_root_inverts(x in 1e-12f64..1e30) {
            let root = cube_root(x);
            prop_assert!((root * root * root / x - 1.0).abs() < 1e-13);
        }

        #[test]
        fn the_curve_starts_at_the_epochs_window(w_max in 2.0f64..1e6, share in 0.1f64..1.0) {
            let cwnd = w_max * share;
            let start = w_cubic(0.0, k(w_max, cwnd), w_max);
            prop_assert!((start - cwnd).abs() < 1e-6 * w_max);
        }
    }
}
