//! The walk through `docs/how-to-add-an-algorithm.md`: its controller, and the tests that it requests.
//! `crates/cli/tests/guide` sees to it that chapter and files are the same.

mod fast;
#[path = "../pipe/mod.rs"]
#[allow(dead_code, reason = "other tests need all of it")]
mod pipe;

use cc::{BuildConfig, CongestionControl, Ctx, LossKind, LossSample};
use fast::{ALPHA_SEGMENTS, Fast, next_window};
use pipe::{Flow, MSS, Path, at};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Streams};

const CONFIG: BuildConfig = BuildConfig {
    mss: MSS,
    initial_window: Bytes::new(14_480),
};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A path with FAST at its sender.
fn flow(path: Path) -> Flow {
    let mut flow = Flow::new("newreno", path, 1);
    flow.cc = Box::new(Fast::new(CONFIG));
    flow
}

#[test]
fn the_update_by_hand() {
    // baseRTT / RTT = 1/2: half of 100 kB and alpha of 20 kB are 70 kB; half way there are 85 kB
    let [cwnd, alpha] = [100_000, 20_000].map(Bytes::new);
    let next = next_window(cwnd, ms(20), ms(40), alpha);
    assert_eq!(next, Bytes::new(85_000));
    // without a queue it grows by half of alpha, and never more than twofold
    assert_eq!(
        next_window(cwnd, ms(20), ms(20), alpha),
        Bytes::new(110_000)
    );
    let small = Bytes::new(2_000);
    assert_eq!(next_window(small, ms(20), ms(20), alpha), Bytes::new(4_000));
}

#[test]
fn the_pipe_is_full_and_alpha_waits() {
    for path in [Path::new(20, ms(40), 4.0), Path::new(100, ms(20), 4.0)] {
        let mut flow = flow(path);
        flow.run_until(at(10));
        flow.reset_statistics();
        let goodput = flow.run_until(at(30));
        let used = goodput.as_bps() as f64 / path.rate.as_bps() as f64;
        assert!((0.99..=1.0001).contains(&used), "{used} of {}", path.rate);
        // an arriving packet finds alpha but itself, and what delayed acknowledgements bunch
        let alpha = MSS * ALPHA_SEGMENTS;
        let queue = flow.mean_queue();
        assert!(queue >= alpha.mul_f64(0.8), "{queue} of {alpha}");
        assert!(queue <= alpha.mul_f64(1.2), "{queue} of {alpha}");
        assert_eq!((flow.drops, flow.timeouts), (0, 0));
    }
}

proptest! {
    #[test]
    fn the_window_never_falls_below_two_segments(kinds in prop::collection::vec(0..3usize, 0..40)) {
        let mut fast = Fast::new(CONFIG);
        let mut rng = Streams::new(1).stream("cc");
        let mut cx = Ctx { now: Instant::ZERO, rng: &mut rng, trace: &mut () };
        for kind in kinds {
            let loss = LossSample {
                kind: [LossKind::Fast, LossKind::Timeout, LossKind::Ecn][kind],
                lost: MSS,
                bytes_in_flight: MSS,
                lost_sent_at: Instant::ZERO,
            };
            fast.on_loss(&mut cx, &loss);
            prop_assert!(fast.cwnd() >= MSS * 2);
        }
    }
}
