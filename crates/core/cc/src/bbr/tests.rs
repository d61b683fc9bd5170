//! The model and its answers, step by step.

use super::*;
use units::{Rng, Streams};

const MSS: Bytes = Bytes::new(1_000);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A controller with a clock and packets in flight.
struct Bench {
    bbr: Bbr,
    rng: Rng,
    now: Instant,
    in_flight: Bytes,
    stamps: Vec<PacketStamp>,
}

impl Bench {
    fn new() -> Self {
        let window = BuildConfig {
            mss: MSS,
            initial_window: MSS * 10,
        };
        Self {
            bbr: Bbr::new(Config::new(window)),
            rng: Streams::new(1).stream("bbr"),
            now: Instant::ZERO,
            in_flight: Bytes::ZERO,
            stamps: Vec::new(),
        }
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let packet = Sent {
                bytes: MSS,
                bytes_in_flight: self.in_flight,
                is_retransmission: false,
            };
            let mut cx = Ctx {
                now: self.now,
                rng: &mut self.rng,
                trace: &mut (),
            };
            self.stamps.push(self.bbr.on_sent(&mut cx, &packet));
            self.in_flight += MSS;
        }
    }

    /// The oldest packet in flight is acknowledged, with `lost` packets found lost.
    fn ack(&mut self, rtt: Duration, lost: u64, is_recovering: bool) {
        let prior_in_flight = self.in_flight;
        self.in_flight -= MSS + MSS * lost;
        let ack = AckSample {
            newly_acked: MSS,
            newly_lost: MSS * lost,
            bytes_in_flight: self.in_flight,
            prior_in_flight,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            stamp: Some(self.stamps.remove(0)),
            is_recovering,
            is_cwnd_limited: true,
            is_round_start: false,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        };
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        self.bbr.on_ack(&mut cx, &ack);
    }

    /// Rounds of one packet a millisecond, 8 Mbit/s, over 10 ms.
    fn rounds(&mut self, rounds: u64) {
        for _ in 0..rounds * 10 {
            self.send(1);
            self.now += ms(1);
            if self.in_flight >= MSS * 10 {
                self.ack(ms(10), 0, false);
            }
        }
    }

    fn lose(&mut self, kind: LossKind) {
        let loss = LossSample {
            kind,
            lost: MSS,
            bytes_in_flight: self.in_flight,
            lost_sent_at: Instant::ZERO,
        };
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        self.bbr.on_loss(&mut cx, &loss);
    }
}

#[test]
fn section_4_2_1_the_first_pacing_rate_takes_a_nominal_millisecond() {
    let mut bench = Bench::new();
    // 10 kB in 1 ms are 80 Mbit/s; times 739/256 less 1 %
    assert_eq!(
        bench.bbr.pacing_rate(),
        Some(BitRate::from_bps(228_628_125))
    );
    bench.send(1);
    bench.now += ms(10);
    bench.ack(ms(10), 0, false);
    // the first sample puts 10 ms in its place
    assert_eq!(bench.bbr.pacing_rate(), Some(BitRate::from_bps(22_862_812)));
}

#[test]
fn section_4_2_3_2_target_window() {
    let mut bbr = Bench::new().bbr;
    bbr.pace_at(BitRate::from_mbps(8));
    assert_eq!(
        bbr.inflight(BitRate::from_mbps(8), Gain::UNIT),
        MSS * 16,
        "no sample: 10 + 3 * 2"
    );
    bbr.min_rtt.value = Some(ms(10));
    // BDP 10 kB and a byte: 10.001 + 6 segments, made even
    assert_eq!(bbr.inflight(BitRate::from_mbps(8), Gain::UNIT), MSS * 18);
    assert_eq!(bbr.inflight(BitRate::from_mbps(8), Gain::CWND), MSS * 28);
    // the probing phase gets two more
    bbr.state = State::ProbeBw {
        phase: 0,
        since: Instant::ZERO,
    };
    assert_eq!(bbr.inflight(BitRate::from_mbps(8), Gain::UNIT), MSS * 20);
}

#[test]
fn section_4_1_1_the_model_learns_the_bandwidth() {
    let mut bench = Bench::new();
    bench.rounds(20);
    assert_eq!(bench.bbr.max_bw(), BitRate::from_mbps(8));
    assert_eq!(bench.bbr.min_rtt.value, Some(ms(10)));
    assert!(bench.bbr.full_pipe.is_filled);
    assert!(matches!(bench.bbr.state, State::ProbeBw { .. }));
    assert!(
        (18..=20).contains(&bench.bbr.round.count),
        "{}",
        bench.bbr.round.count
    );
}

#[test]
fn section_4_1_1_4_slow_application_limited_samples_do_not_count() {
    let mut bench = Bench::new();
    bench.rounds(20);
    while bench.in_flight > Bytes::ZERO {
        bench.now += ms(1);
        bench.ack(ms(10), 0, false);
    }
    for _ in 0..30 {
        let mut cx = Ctx {
            now: bench.now,
            rng: &mut bench.rng,
            trace: &mut (),
        };
        bench.bbr.on_app_limited(&mut cx, Bytes::ZERO);
        bench.send(1);
        bench.now += ms(10);
        bench.ack(ms(10), 0, false);
    }
    assert_eq!(bench.bbr.max_bw(), BitRate::from_mbps(8));
}

#[test]
fn section_4_3_4_4_after_idle_the_estimated_bandwidth_is_paced() {
    let mut bench = Bench::new();
    bench.rounds(20);
    while bench.in_flight > Bytes::ZERO {
        bench.now += ms(1);
        bench.ack(ms(10), 0, false);
    }
    bench.bbr.state = State::ProbeBw {
        phase: 0,
        since: bench.now,
    };
    let mut cx = Ctx {
        now: bench.now,
        rng: &mut bench.rng,
        trace: &mut (),
    };
    bench.bbr.on_app_limited(&mut cx, Bytes::ZERO);
    bench.now += Duration::from_secs(20);
    bench.send(1);
    assert_eq!(bench.bbr.pacing_rate(), Some(BitRate::from_bps(7_920_000)));
    // the minimum has expired in the pause, but an idle restart does not probe for it
    bench.now += ms(10);
    bench.ack(ms(10), 0, false);
    assert!(matches!(bench.bbr.state, State::ProbeBw { .. }));
}

#[test]
fn section_4_2_3_4_recovery_conserves_packets_and_then_returns() {
    let mut bench = Bench::new();
    bench.rounds(20);
    let before = bench.bbr.cwnd();
    assert!(before >= MSS * 20, "{before}");
    bench.lose(LossKind::Fast);
    assert_eq!(bench.bbr.cwnd(), bench.in_flight + MSS);
    // first round: as much as is acknowledged
    bench.now += ms(1);
    let conserved = bench.in_flight - MSS;
    bench.ack(ms(10), 1, true);
    assert_eq!(bench.bbr.cwnd(), conserved);
    let mut cx = Ctx {
        now: bench.now,
        rng: &mut bench.rng,
        trace: &mut (),
    };
    bench
        .bbr
        .on_recovery_end(&mut cx, RecoveryEnd { is_spurious: false });
    assert_eq!(bench.bbr.cwnd(), before);
}

#[test]
fn after_a_timeout_one_segment_then_at_least_four() {
    let mut bench = Bench::new();
    bench.rounds(20);
    bench.in_flight = Bytes::ZERO;
    bench.stamps.clear();
    bench.lose(LossKind::Timeout);
    assert_eq!(bench.bbr.cwnd(), MSS);
    bench.send(1);
    bench.now += ms(10);
    bench.ack(ms(10), 0, true);
    assert_eq!(bench.bbr.cwnd(), MSS * 4);
}

#[test]
fn a_congestion_mark_changes_nothing() {
    let mut bench = Bench::new();
    bench.rounds(20);
    let before = bench.bbr.cwnd();
    bench.lose(LossKind::Ecn);
    assert_eq!(bench.bbr.cwnd(), before);
}

#[test]
fn aggregated_acknowledgements_open_the_window_by_their_excess() {
    let mut bench = Bench::new();
    bench.rounds(20);
    let smooth = bench.bbr.ack_aggregation_cwnd();
    // nothing for 8 ms, then eight acknowledgements at once
    for _ in 0..10 {
        bench.send(8);
        bench.now += ms(8);
        for _ in 0..8 {
            bench.ack(ms(10), 0, false);
        }
    }
    let bursts = bench.bbr.ack_aggregation_cwnd();
    assert!(smooth <= MSS * 2, "{smooth}");
    assert!(bursts >= MSS * 7 && bursts <= MSS * 10, "{bursts}");
}
