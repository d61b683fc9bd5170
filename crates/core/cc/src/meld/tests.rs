use super::*;
use crate::{BuildConfig, Trace, build};
use units::{Rng, Streams};

const PDU: u64 = 1_440;
const RTT: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Decisions(Vec<LossDecision>);

impl Trace for Decisions {
    fn event(&mut self, _: Instant, _: &'static str, _: u64) {}
    fn loss_decision(&mut self, _: Instant, decision: &LossDecision) {
        self.0.push(*decision);
    }
}

struct Bench {
    meld: Meld,
    now: Instant,
    rng: Rng,
    trace: Decisions,
}

impl Bench {
    /// MELD round NewReno, a round trip after a window of twenty packets was acknowledged.
    fn new(variant: Variant) -> Self {
        let config = BuildConfig {
            mss: Bytes::new(PDU),
            initial_window: Bytes::new(PDU * 20),
        };
        let inner = build("newreno", config).expect("known");
        let mut bench = Self {
            meld: Meld::new(inner, Config::new(variant, Bytes::new(PDU))),
            now: Instant::from_nanos(1_000_000_000),
            rng: Streams::new(1).stream("meld"),
            trace: Decisions::default(),
        };
        bench.round_trip(20, false);
        bench
    }

    fn with<T>(&mut self, call: impl FnOnce(&mut Meld, &mut Ctx<'_>) -> T) -> T {
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.trace,
        };
        call(&mut self.meld, &mut cx)
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    /// So many packets are acknowledged, a round trip after they were sent.
    fn round_trip(&mut self, packets: u64, is_cwnd_limited: bool) {
        self.now += RTT;
        let flight = Bytes::new(PDU * packets);
        let ack = AckSample {
            newly_acked: flight,
            newly_lost: Bytes::ZERO,
            bytes_in_flight: flight,
            prior_in_flight: flight,
            rtt: Some(RTT),
            srtt: RTT,
            min_rtt: RTT,
            stamp: None,
            is_recovering: false,
            is_cwnd_limited,
            is_round_start: true,
            ecn_echo: false,
        };
        self.with(|meld, cx| meld.on_ack(cx, &ack));
    }

    fn report(&mut self, state: RadioState) {
        let state = RadioState {
            made_at: self.now,
            ..state
        };
        self.with(|meld, cx| meld.on_radio(cx, &state));
    }

    /// Queries about packets lost that were sent a round trip ago.
    fn lose(&mut self, packets: u64) -> Reason {
        let (lost, in_flight) = (Bytes::new(PDU * packets), Bytes::new(PDU * 15));
        self.lose_of(lost, in_flight, LossKind::Fast);
        self.trace.0.last().expect("traced").reason
    }

    fn lose_of(&mut self, lost: Bytes, bytes_in_flight: Bytes, kind: LossKind) -> bool {
        let loss = LossSample {
            kind,
            lost,
            bytes_in_flight,
            lost_sent_at: Instant::from_nanos(self.now.as_nanos() - RTT.as_nanos()),
        };
        self.with(|meld, cx| meld.is_congestion(cx, &loss))
    }
}

/// Table 2 at CQI 15 and 25 PRBs: 2292 bytes a block, nothing waiting, nothing lost.
fn good() -> RadioState {
    RadioState {
        tbs: Bytes::new(2_292),
        best_tbs: Bytes::new(2_292),
        harq_processes: 8,
        queue: Bytes::ZERO,
        served: Bytes::new(2_292 * 8),
        harq_retx: 0,
        lost_packets: Some(0),
        period: Duration::from_millis(8),
        seq: 1,
        made_at: Instant::ZERO,
    }
}

const VARIANTS: [Variant; 3] = [
    Variant::DownloadEnhancement,
    Variant::MixedEnhancement,
    Variant::Default,
];

#[test]
fn the_thresholds_are_those_of_the_paper() {
    assert_eq!(tbs_threshold(Bytes::new(1_440), &good()).get(), 180);
    assert_eq!(queue_threshold(&good()).get(), 18_336);
}

#[test]
fn names_are_read_back() {
    let read: Vec<_> = Variant::NAMES
        .iter()
        .map(|name| Variant::from_name(name))
        .collect();
    assert_eq!(read, VARIANTS.map(Some));
    for variant in VARIANTS {
        assert_eq!(Variant::from_name(variant.name()), Some(variant));
    }
    assert_eq!(Variant::from_name("off"), None);
}

#[test]
fn equation_1_distinguishes_small_blocks_from_large_ones() {
    let of = |tbs: u64| {
        VARIANTS.map(|variant| {
            let mut bench = Bench::new(variant);
            bench.report(RadioState {
                tbs: Bytes::new(tbs),
                lost_packets: Some(1),
                ..good()
            });
            bench.lose(1)
        })
    };
    assert_eq!(of(179), [Reason::SmallBlocks; 3]);
    let large = [Reason::GoodRadio, Reason::GoodRadio, Reason::LostOnRadio];
    assert_eq!(of(180), large);
}

#[test]
fn equation_2_is_me_s_alone() {
    let of = |queue: u64| {
        [Variant::DownloadEnhancement, Variant::MixedEnhancement].map(|variant| {
            let mut bench = Bench::new(variant);
            bench.report(RadioState {
                queue: Bytes::new(queue),
                ..good()
            });
            bench.lose(1)
        })
    };
    assert_eq!(of(18_335), [Reason::GoodRadio, Reason::GoodRadio]);
    assert_eq!(of(18_336), [Reason::GoodRadio, Reason::LongQueue]);
}

#[test]
fn without_a_fresh_report_a_loss_is_congestion() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant);
        assert_eq!(bench.lose(1), Reason::NoReport);
        let lossy = RadioState {
            lost_packets: Some(3),
            ..good()
        };
        bench.report(lossy);
        bench.wait(40);
        assert!(!bench.lose(1).is_congestion(), "{variant:?}");
        bench.wait(1);
        assert_eq!(bench.lose(1), Reason::Stale);
    }
}

#[test]
fn timeouts_and_marks_are_congestion_unasked() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant);
        bench.report(RadioState {
            lost_packets: Some(9),
            ..good()
        });
        for kind in [LossKind::Timeout, LossKind::Ecn] {
            assert!(bench.lose_of(Bytes::new(PDU), Bytes::new(PDU), kind));
        }
        assert!(bench.trace.0.is_empty());
    }
}

#[test]
fn no_report_excuses_more_in_flight_than_what_is_delivered_allows() {
    for variant in VARIANTS {
        let mut bench = Bench::new(variant);
        bench.round_trip(20, true);
        let forged = RadioState {
            tbs: Bytes::MAX,
            best_tbs: Bytes::MAX,
            lost_packets: Some(u32::MAX),
            ..good()
        };
        bench.report(forged);
        let mut ask = |packets: u64| {
            bench.lose_of(Bytes::new(PDU), Bytes::new(PDU * packets), LossKind::Fast)
        };
        assert!(!ask(80));
        assert!(ask(81));
        assert_eq!(bench.trace.0[1].reason, Reason::BeyondDelivered);
        assert_eq!(bench.trace.0[1].most_in_flight.get(), PDU * 80);
    }
}

#[test]
fn each_packet_that_the_radio_lost_explains_one_loss() {
    let mut bench = Bench::new(Variant::Default);
    bench.report(RadioState {
        lost_packets: Some(2),
        ..good()
    });
    bench.wait(8);
    bench.report(RadioState {
        lost_packets: Some(1),
        ..good()
    });
    assert_eq!(bench.lose(4), Reason::NotOnRadio, "four of three");
    assert_eq!(bench.lose(2), Reason::LostOnRadio);
    assert_eq!(bench.lose(1), Reason::LostOnRadio);
    assert_eq!(bench.lose(1), Reason::NotOnRadio);
}

#[test]
fn a_report_explains_only_what_was_on_its_way_when_it_came() {
    let mut bench = Bench::new(Variant::Default);
    bench.report(RadioState {
        lost_packets: Some(1),
        ..good()
    });
    bench.wait(51);
    bench.report(good());
    assert_eq!(bench.lose(1), Reason::NotOnRadio, "sent after the report");
    let sent_before = LossSample {
        kind: LossKind::Fast,
        lost: Bytes::new(PDU),
        bytes_in_flight: Bytes::new(PDU),
        lost_sent_at: Instant::ZERO,
    };
    let mut late = bench.meld.clone();
    assert!(!bench.with(|meld, cx| meld.is_congestion(cx, &sent_before)));
    // two round trips and a period after the report it is forgotten
    bench.wait(58);
    bench.report(good());
    core::mem::swap(&mut bench.meld, &mut late);
    bench.report(good());
    assert!(bench.with(|meld, cx| meld.is_congestion(cx, &sent_before)));
}

#[test]
fn where_losses_are_not_counted_repeated_blocks_explain_them() {
    let uncounted = RadioState {
        lost_packets: None,
        ..good()
    };
    let repeated = RadioState {
        harq_retx: 1,
        ..uncounted
    };
    let mut bench = Bench::new(Variant::Default);
    bench.report(uncounted);
    assert_eq!(bench.lose(1), Reason::NotOnRadio);
    bench.report(repeated);
    assert_eq!(bench.lose(3), Reason::RepeatedOnRadio);
    bench.report(RadioState {
        queue: Bytes::new(20_000),
        ..repeated
    });
    assert_eq!(bench.lose(1), Reason::LongQueue);
}

#[test]
fn a_queue_elsewhere_speaks_against_repeated_blocks() {
    let mut bench = Bench::new(Variant::Default);
    // 40 ms in queues; the base station's 2292 bytes are one of them
    let waiting = |ms| RTT + Duration::from_millis(ms);
    bench.meld.discriminator.set_times(waiting(40), RTT);
    bench.report(RadioState {
        lost_packets: None,
        harq_retx: 1,
        queue: Bytes::new(2_292),
        ..good()
    });
    assert_eq!(bench.lose(1), Reason::NotOnRadio);
    bench.meld.discriminator.set_times(waiting(12), RTT);
    assert_eq!(bench.lose(1), Reason::RepeatedOnRadio);
}

#[test]
fn a_standing_queue_lowers_the_window_once_in_a_round_trip() {
    let mut bench = Bench::new(Variant::Default);
    bench.round_trip(60, false);
    let before = bench.meld.cwnd();
    // 3/4 of 18336 bytes are the target, and twice that is the most
    let standing = |queue: u64| RadioState {
        queue: Bytes::new(queue),
        ..good()
    };
    bench.report(standing(27_504));
    assert_eq!(bench.meld.cwnd(), before, "no more than the most");
    bench.wait(60);
    bench.report(standing(30_000));
    let limit = |bench: &Bench| bench.meld.discriminator.limit();
    let lowered = limit(&bench).expect("a limit");
    // 16248 too many of the 2292 bytes a millisecond that the UE has under way in 50 ms
    assert_eq!(lowered.get(), PDU * 60 * (114_600 - 16_248) / 114_600);
    bench.wait(8);
    bench.report(standing(30_000));
    assert_eq!(limit(&bench), Some(lowered));
    // one report with a short queue is enough to show that none stands
    bench.wait(8);
    bench.report(standing(5_752));
    let grown = limit(&bench).expect("a limit");
    assert_eq!(grown.get() - lowered.get(), 8_000 * 8 / 50);
}

#[test]
fn bursts_that_pass_within_a_round_trip_lower_nothing() {
    let mut bench = Bench::new(Variant::Default);
    for queue in [0, 18_000, 63_000, 170_000, 30_000, 28_000] {
        bench.wait(8);
        bench.report(RadioState {
            queue: Bytes::new(queue),
            ..good()
        });
        let limit = bench.meld.discriminator.limit();
        assert_eq!(limit, None, "{queue}");
    }
}

#[test]
fn the_wrapped_window_does_not_grow_beyond_the_limit() {
    let mut bench = Bench::new(Variant::Default);
    // alone: the UE has what this flow has
    let alone = RadioState {
        served: Bytes::new(PDU * 20 * 8 / 50),
        ..good()
    };
    bench.report(RadioState {
        queue: Bytes::new(60_000),
        ..alone
    });
    let (inner, limit) = (bench.meld.inner.cwnd(), bench.meld.cwnd());
    assert!(limit < inner);
    bench.wait(1);
    bench.report(alone);
    // the report is fresh for 40 ms only, a round trip is 50
    bench.now = Instant::from_nanos(bench.now.as_nanos() - 15_000_000);
    bench.round_trip(20, true);
    assert_eq!(bench.meld.inner.cwnd(), inner);
    // no report for long: the limit is gone, and the window grows as ever
    bench.wait(100);
    bench.round_trip(20, true);
    assert_eq!(bench.meld.cwnd(), bench.meld.inner.cwnd());
    assert!(bench.meld.cwnd() > inner);
}

#[test]
fn a_newcomer_grows_beside_a_flow_that_fills_the_link() {
    // Q_th is 18,336 bytes: two and five targets stand there
    for (queue, packets, grows) in [
        (27_000, 20, true),
        (70_000, 20, false),
        // a flow with most of what is in flight is held
        (27_000, 80, false),
    ] {
        let mut bench = Bench::new(Variant::Default);
        bench.round_trip(packets, false);
        let inner = bench.meld.inner.cwnd();
        // 115 kB leave the base station in a round trip
        bench.report(RadioState {
            queue: Bytes::new(queue),
            ..good()
        });
        bench.now = Instant::from_nanos(bench.now.as_nanos() - 15_000_000);
        bench.round_trip(packets, true);
        assert_eq!(bench.meld.inner.cwnd() > inner, grows, "{queue} {packets}");
    }
}

#[test]
fn a_decision_is_traced_with_its_inputs() {
    let mut bench = Bench::new(Variant::MixedEnhancement);
    bench.report(good());
    bench.wait(5);
    bench.lose(2);
    let decision = bench.trace.0[0];
    assert_eq!(decision.variant, Variant::MixedEnhancement);
    assert_eq!(decision.reason, Reason::GoodRadio);
    assert_eq!(decision.lost.get(), 2 * PDU);
    assert_eq!(decision.bytes_in_flight.get(), 15 * PDU);
    assert_eq!(decision.tbs_threshold.get(), 180);
    assert_eq!(decision.queue_threshold.get(), 18_336);
    assert_eq!(decision.age, Some(Duration::from_millis(5)));
    assert_eq!(decision.radio.map(|radio| radio.seq), Some(1));
}
