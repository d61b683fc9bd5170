//! What loss-based controllers do at single events, by the RFCs' equations.

use cc::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
};
use units::{Bytes, Duration, Instant, Rng, Streams};

const MSS: Bytes = Bytes::new(1_000);
/// All whose window a loss reduces.
const LOSS_BASED: [&str; 10] = [
    "newreno",
    "cubic",
    "cubic-hystart++",
    "cubic-plain",
    "vegas",
    "vegas-linux",
    "westwood",
    "yeah",
    "veno",
    "dctcp",
];

/// A controller, a clock and a steady round-trip time of 10 ms.
struct Bench {
    cc: Box<dyn CongestionControl>,
    rng: Rng,
    now: Instant,
}

impl Bench {
    fn new(name: &str) -> Self {
        let config = BuildConfig {
            mss: MSS,
            initial_window: MSS * 10,
        };
        Self {
            cc: cc::build(name, config).expect("known"),
            rng: Streams::new(1).stream("cc"),
            now: Instant::ZERO,
        }
    }

    fn ack_with(&mut self, acked: Bytes, change: impl Fn(&mut AckSample)) {
        let rtt = Duration::from_millis(10);
        let mut ack = AckSample {
            newly_acked: acked,
            newly_lost: Bytes::ZERO,
            bytes_in_flight: self.cc.cwnd(),
            prior_in_flight: self.cc.cwnd(),
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            stamp: Some(PacketStamp::default()),
            is_recovering: false,
            is_cwnd_limited: true,
            is_round_start: false,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        };
        change(&mut ack);
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        self.cc.on_ack(&mut cx, &ack);
    }

    fn ack(&mut self, acked: Bytes) {
        self.ack_with(acked, |_| ());
    }

    fn lose(&mut self, kind: LossKind) {
        let loss = LossSample {
            kind,
            lost: MSS,
            bytes_in_flight: self.cc.cwnd(),
            lost_sent_at: Instant::ZERO,
        };
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        self.cc.on_loss(&mut cx, &loss);
    }

    fn recover(&mut self, is_spurious: bool) {
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        self.cc
            .on_recovery_end(&mut cx, RecoveryEnd { is_spurious });
    }

    /// Slow start, two segments at a time, up to a window.
    fn grow_to(&mut self, window: Bytes) {
        while self.cc.cwnd() < window {
            self.ack((MSS * 2).min(window - self.cc.cwnd()));
        }
    }
}

/// The share of the window that is left after a loss on a path without a queue.
fn beta(name: &str) -> f64 {
    match name {
        // Westwood+ has no estimate yet
        "newreno" | "vegas" | "vegas-linux" | "westwood" => 0.5,
        // alpha of a new connection is 1
        "dctcp" => 0.5,
        "veno" => 0.8,
        "yeah" => 0.875,
        _ => 0.7,
    }
}

/// The same after a mark or a timeout, which are never random losses.
fn beta_of_congestion(name: &str) -> f64 {
    if name == "veno" { 0.5 } else { beta(name) }
}

#[test]
fn rfc_5681_equation_2_slow_start_counts_what_is_acknowledged() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.ack(MSS * 2);
        assert_eq!(bench.cc.cwnd(), MSS * 12, "{name}");
        bench.ack(Bytes::new(300));
        assert_eq!(bench.cc.cwnd(), MSS * 12 + Bytes::new(300), "{name}");
    }
}

#[test]
fn stretched_acknowledgements_open_the_window_by_l_segments() {
    // RFC 3465 2.3: L = 2; RFC 9406 4.3: L = 8; Linux: all
    for (name, segments) in [
        ("newreno", 2),
        ("vegas", 2),
        ("vegas-linux", 2),
        ("westwood", 2),
        ("yeah", 2),
        ("veno", 2),
        ("dctcp", 2),
        ("cubic-hystart++", 8),
        ("cubic", 10),
        ("cubic-plain", 10),
    ] {
        let mut bench = Bench::new(name);
        bench.ack(MSS * 10);
        assert_eq!(bench.cc.cwnd(), MSS * (10 + segments), "{name}");
    }
}

#[test]
fn rfc_5681_equation_4_and_rfc_9438_4_6_reduction() {
    for name in LOSS_BASED {
        for kind in [LossKind::Fast, LossKind::Ecn] {
            let mut bench = Bench::new(name);
            bench.grow_to(MSS * 100);
            bench.lose(kind);
            let share = match kind {
                LossKind::Ecn => beta_of_congestion(name),
                _ => beta(name),
            };
            let expected = (MSS * 100).mul_f64(share);
            assert_eq!(bench.cc.cwnd(), expected, "{name} {kind:?}");
            assert_eq!(bench.cc.ssthresh(), Some(expected));
        }
    }
}

#[test]
fn the_window_rests_in_fast_recovery() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.grow_to(MSS * 100);
        bench.lose(LossKind::Fast);
        let reduced = bench.cc.cwnd();
        for _ in 0..100 {
            bench.ack_with(MSS * 2, |ack| ack.is_recovering = true);
        }
        assert_eq!(bench.cc.cwnd(), reduced, "{name}");
    }
}

#[test]
fn rfc_5681_3_1_timeout() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.grow_to(MSS * 100);
        bench.lose(LossKind::Timeout);
        let ssthresh = (MSS * 100).mul_f64(beta_of_congestion(name));
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS, Some(ssthresh)),
            "{name}"
        );
        // slow start goes on while the transport repairs
        bench.ack_with(MSS, |ack| ack.is_recovering = true);
        assert_eq!(bench.cc.cwnd(), MSS * 2, "{name}");
        // a repeated timeout holds ssthresh
        bench.lose(LossKind::Timeout);
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS, Some(ssthresh)),
            "{name}"
        );
        // after the recovery it is a new event, from a window of one segment: at least two are left
        bench.recover(false);
        bench.lose(LossKind::Timeout);
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS, Some(MSS * 2)),
            "{name}"
        );
    }
}

#[test]
fn a_timeout_within_fast_recovery_reduces_ssthresh_only_once() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.grow_to(MSS * 100);
        bench.lose(LossKind::Fast);
        bench.lose(LossKind::Timeout);
        let ssthresh = (MSS * 100).mul_f64(beta(name));
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS, Some(ssthresh)),
            "{name}"
        );
    }
}

#[test]
fn rfc_8511_reduces_less_after_a_mark_in_congestion_avoidance_and_after_nothing_else() {
    for (name, mark, loss) in [
        ("newreno-abe", 0.8, 0.5),
        ("newreno", 0.5, 0.5),
        ("cubic-abe", 0.85, 0.7),
        ("cubic", 0.7, 0.7),
    ] {
        let left = |kind, in_slow_start: bool| {
            let mut bench = Bench::new(name);
            bench.grow_to(MSS * 200);
            if !in_slow_start {
                bench.lose(LossKind::Fast);
                bench.recover(false);
            }
            let before = bench.cc.cwnd();
            bench.lose(kind);
            bench.cc.cwnd().get() as f64 / before.get() as f64
        };
        let is =
            |part: f64, expected: f64| assert!((part - expected).abs() < 1e-3, "{name}: {part}");
        is(left(LossKind::Ecn, false), mark);
        is(left(LossKind::Fast, false), loss);
        is(left(LossKind::Ecn, true), loss);
    }
}

#[test]
fn rfc_9438_4_9_a_spurious_reduction_is_taken_back() {
    for name in LOSS_BASED {
        for kind in [LossKind::Fast, LossKind::Timeout] {
            let mut bench = Bench::new(name);
            bench.grow_to(MSS * 100);
            bench.lose(LossKind::Fast);
            bench.recover(false);
            for _ in 0..50 {
                bench.ack(MSS * 2);
            }
            let before = (bench.cc.cwnd(), bench.cc.ssthresh());
            bench.lose(kind);
            assert!(bench.cc.cwnd() < before.0);
            bench.recover(true);
            assert_eq!(
                (bench.cc.cwnd(), bench.cc.ssthresh()),
                before,
                "{name} {kind:?}"
            );
        }
    }
}

#[test]
fn rfc_3465_2_1_a_window_of_acknowledgements_adds_a_segment() {
    let mut bench = Bench::new("newreno");
    bench.grow_to(MSS * 100);
    bench.lose(LossKind::Fast);
    bench.recover(false);
    for window in 50..60 {
        assert_eq!(bench.cc.cwnd(), MSS * window);
        bench.ack(MSS * window - Bytes::new(1));
        assert_eq!(bench.cc.cwnd(), MSS * window);
        bench.ack(Bytes::new(1));
    }
}

#[test]
fn rfc_9438_4_2_the_window_is_back_at_w_max_after_k() {
    // W_max = 1000, K = cbrt(300 / 0.4) = 9.09 s; 100 ms rounds, so Reno needs 567 rounds
    let mut bench = Bench::new("cubic-plain");
    bench.grow_to(MSS * 1_000);
    bench.lose(LossKind::Fast);
    bench.recover(false);
    let round = Duration::from_millis(100);
    let mut run = |rounds: u64| {
        for _ in 0..rounds * 100 {
            bench.now += round / 100;
            let share = bench.cc.cwnd() / 100;
            bench.ack_with(share, |ack| ack.srtt = round);
        }
        bench.cc.cwnd().ratio(MSS)
    };
    // W_cubic(t) = 0.4 (t - 9.086)^3 + 1000, which cwnd follows within a round
    for (t, expected) in [
        (3.0, 909.9),
        (6.0, 988.2),
        (9.0, 1_000.0),
        (12.0, 1_009.9),
        (15.0, 1_082.7),
    ] {
        let cwnd = run(30);
        assert!(
            (cwnd / expected - 1.0).abs() < 0.005,
            "{cwnd} segments after {t} s"
        );
    }
}

#[test]
fn rfc_9438_4_7_fast_convergence_lowers_the_plateau() {
    // lost at 1000 and again at 800 < 1000: the plateau is 800 * 0.85 = 680, K = cbrt(120 / 0.4)
    let mut bench = Bench::new("cubic-plain");
    bench.grow_to(MSS * 1_000);
    bench.lose(LossKind::Fast);
    bench.recover(false);
    while bench.cc.cwnd() < MSS * 800 {
        bench.now += Duration::from_millis(1);
        bench.ack_with(MSS * 7, |ack| ack.srtt = Duration::from_millis(100));
    }
    bench.lose(LossKind::Fast);
    bench.recover(false);
    let start = bench.cc.cwnd().ratio(MSS);
    assert!((start - 560.0).abs() < 3.0, "{start}");
    for _ in 0..6_690 {
        bench.now += Duration::from_millis(1);
        let share = bench.cc.cwnd() / 100;
        bench.ack_with(share, |ack| ack.srtt = Duration::from_millis(100));
    }
    let plateau = bench.cc.cwnd().ratio(MSS);
    assert!((plateau - 680.0).abs() < 3.0, "{plateau}");
}

#[test]
fn rfc_9438_5_8_time_without_a_full_window_does_not_count() {
    let run = |pause: bool| {
        let mut bench = Bench::new("cubic-plain");
        bench.grow_to(MSS * 1_000);
        bench.lose(LossKind::Fast);
        bench.recover(false);
        let rtt = |ack: &mut AckSample| ack.srtt = Duration::from_millis(100);
        bench.ack_with(MSS, rtt);
        if pause {
            bench.ack_with(MSS, |ack| ack.is_cwnd_limited = false);
            bench.now += Duration::from_secs(60);
        }
        for _ in 0..200 {
            bench.now += Duration::from_millis(1);
            let share = bench.cc.cwnd() / 100;
            bench.ack_with(share, rtt);
        }
        bench.cc.cwnd().ratio(MSS)
    };
    let (paused, steady) = (run(true), run(false));
    assert!((paused - steady).abs() < 1.0, "{paused} and {steady}");
}

#[test]
fn linux_grows_by_a_twentieth_while_w_max_is_unknown_and_the_rfc_by_reno() {
    for (name, growth) in [
        ("cubic", 0.05),
        ("cubic-plain", 0.05),
        ("cubic-hystart++", 0.01),
    ] {
        let mut bench = Bench::new(name);
        bench.grow_to(MSS * 100);
        bench.lose(LossKind::Timeout);
        bench.recover(false);
        let ssthresh = bench.cc.ssthresh().expect("reduced");
        bench.grow_to(ssthresh);
        // 70 segments are acknowledged: 5 %, or W_est's one segment (alpha is 1 without a W_max)
        bench.ack(ssthresh / 2);
        bench.ack(ssthresh / 2);
        let grown = bench.cc.cwnd().ratio(ssthresh) - 1.0;
        assert!((grown / growth - 1.0).abs() < 0.5, "{name}: {grown}");
    }
}

#[test]
fn nothing_grows_while_something_else_limits_the_sender() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.ack_with(MSS * 2, |ack| ack.is_cwnd_limited = false);
        assert_eq!(bench.cc.cwnd(), MSS * 10, "{name}");
    }
}

#[test]
fn rfc_5681_4_1_restart_after_idle() {
    for name in LOSS_BASED {
        let mut bench = Bench::new(name);
        bench.grow_to(MSS * 100);
        bench.lose(LossKind::Fast);
        bench.recover(false);
        let reduced = bench.cc.cwnd();
        let mut cx = Ctx {
            now: bench.now,
            rng: &mut bench.rng,
            trace: &mut (),
        };
        bench.cc.on_restart_after_idle(&mut cx);
        assert_eq!(
            (bench.cc.cwnd(), bench.cc.ssthresh()),
            (MSS * 10, Some(reduced)),
            "{name}"
        );
    }
}
