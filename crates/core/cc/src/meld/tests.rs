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
            newly_marked: Bytes::ZERO,
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
        slots: 8,
        seq: 1,
        made_at: Instant::ZERO,
    }
}

const VARIANTS: [Variant; 4] = [
    Variant::DownloadEnhancement,
    Variant::MixedEnhancement,
    Variant::Default,
    Variant::Yielding,
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
    assert_eq!(of(179), [Reason::SmallBlocks; 4]);
    let on_radio = Reason::LostOnRadio;
    let large = [Reason::GoodRadio, Reason::GoodRadio, on_radio, on_radio];
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
fn timeouts_and_marks_are_congestion_whatever_is_reported() {
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
        assert_eq!(bench.trace.0[1].max_in_flight.get(), PDU * 80);
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
    // two round trips and a period after the report it has expired
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

/// A flow alone that has sent for long: 80 packets are in flight.
fn alone() -> Bench {
    let mut bench = Bench::new(Variant::Default);
    bench.report(good());
    for _ in 0..4 {
        bench.round_trip(80, false);
        bench.report(good());
    }
    bench.meld.discriminator.on_ack(bench.now, &acked(80));
    bench
}

fn acked(packets: u64) -> Acked {
    Acked {
        newly_acked: Bytes::ZERO,
        prior_in_flight: Bytes::new(PDU * packets),
        srtt: RTT,
        min_rtt: RTT,
        inner_cwnd: Bytes::new(PDU * 20),
        is_slow_start: true,
    }
}

fn order(bench: &Bench) -> Order {
    bench
        .meld
        .discriminator
        .order()
        .expect("a flow that is steered")
}

/// So much waits, and has waited for a round trip.
fn waiting(bench: &mut Bench, queue: u64) -> Order {
    bench.report(RadioState {
        queue: Bytes::new(queue),
        ..good()
    });
    order(bench)
}

#[test]
fn the_pace_is_what_is_served_and_what_the_queue_lacks() {
    let mut bench = alone();
    // 2292 bytes a millisecond: 114,600 in a round trip of 50 ms; the target is 3/2 of 18,336 bytes. A packet is added
    for (queue, sent) in [
        (0, 114_600 + 27_504),
        (27_504, 114_600),
        (57_504, 114_600 - 30_000),
        // never less than a quarter, of which a quarter of the target is shared out alike
        (1_000_000, 114_600 / 4),
    ] {
        let order = waiting(&mut bench, queue);
        assert_eq!(order.target.get(), 27_504);
        // 115,200 are in flight, which is the whole UE's; rounded down twice
        let found = order.per_round_trip.get();
        let expected = sent + PDU;
        assert!(
            expected - 2 <= found && found <= expected,
            "{queue}: {found}"
        );
        assert_eq!(
            order.pace,
            BitRate::from_bytes_per(order.per_round_trip, RTT)
        );
        assert_eq!(bench.meld.pacing_rate(), Some(order.pace));
        assert_eq!(bench.meld.report_period(), Some(good().period));
    }
}

#[test]
fn a_silence_of_acknowledgements_fits_into_the_window() {
    let mut bench = alone();
    let order = waiting(&mut bench, 27_504);
    // what is sent in three round trips, and the target
    assert_eq!(order.window.get() / 1_000, 3 * (114_600 + PDU) / 1_000 + 27);
    assert_eq!(bench.meld.cwnd(), order.window);
    // a long queue slows down, and takes away no room
    let slow = waiting(&mut bench, 90_000);
    assert!(slow.pace < order.pace / 2);
    assert!(slow.window.get() > 3 * 114_000);
}

#[test]
fn what_was_delivered_bounds_the_window_whatever_is_reported() {
    let mut bench = alone();
    bench.round_trip(80, false);
    let forged = RadioState {
        best_tbs: Bytes::MAX,
        tbs: Bytes::MAX,
        served: Bytes::new(1 << 40),
        ..good()
    };
    bench.report(forged);
    // three times what a round trip delivered, and what this one has so far
    assert_eq!(bench.meld.cwnd().get(), PDU * (3 * 80 + 80));
}

#[test]
fn a_flow_begins_with_what_the_radio_could_carry() {
    let mut bench = Bench::new(Variant::Default);
    let idle = RadioState {
        served: Bytes::ZERO,
        ..good()
    };
    bench.report(idle);
    bench.meld.discriminator.on_ack(bench.now, &acked(20));
    // 2292 bytes in each of 50 slots, and what an empty queue lacks
    let begun = order(&bench);
    assert_eq!(begun.per_round_trip.get(), 114_600 + 27_504 + PDU);
    // two round trips later only what was served counts
    bench.wait(99);
    bench.report(idle);
    assert!(order(&bench).per_round_trip.get() > 114_600);
    bench.wait(1);
    bench.report(idle);
    assert_eq!(order(&bench).per_round_trip.get(), 27_504 + PDU);
    // where the radio is busy with others there is nothing to begin with
    let mut bench = Bench::new(Variant::Default);
    bench.report(good());
    bench.meld.discriminator.on_ack(bench.now, &acked(60));
    assert!(order(&bench).per_round_trip.get() < 114_600);
}

#[test]
fn a_flow_gives_way_by_its_share() {
    let mut bench = Bench::new(Variant::Default);
    bench.report(good());
    for _ in 0..4 {
        bench.round_trip(40, false);
        bench.report(good());
    }
    let inner = Acked {
        is_slow_start: false,
        ..acked(40)
    };
    bench.meld.discriminator.on_ack(bench.now, &inner);
    let full = waiting(&mut bench, 27_504).per_round_trip.get();
    let long = waiting(&mut bench, 67_504).per_round_trip.get();
    // 57,600 of the UE's 114,600 bytes are its own
    let share = |amount: u64| amount * 57_600 / 114_600;
    assert!((full - long).abs_diff(share(40_000)) <= 1, "{full} {long}");
    assert_eq!(full, share(114_600 - 27_504 / 4) + 27_504 / 4 + PDU);
}

#[test]
fn a_loss_of_congestion_gives_the_window_to_the_wrapped_controller() {
    let mut bench = alone();
    let order = waiting(&mut bench, 27_504);
    assert_eq!(bench.meld.cwnd(), order.window);
    assert_eq!(bench.lose(1), Reason::NotOnRadio);
    let loss = LossSample {
        kind: LossKind::Fast,
        lost: Bytes::new(PDU),
        bytes_in_flight: Bytes::new(PDU * 80),
        lost_sent_at: Instant::ZERO,
    };
    bench.with(|meld, cx| meld.on_loss(cx, &loss));
    let inner = bench.meld.inner.cwnd();
    assert!(inner < order.window);
    assert_eq!(bench.meld.cwnd(), inner);
    // and the pace with it
    assert_eq!(bench.meld.pacing_rate(), bench.meld.inner.pacing_rate());
    assert_eq!(bench.meld.report_period(), None);
    // until that has room for what the pace sends in a round trip
    let enough = |inner_cwnd| Acked {
        inner_cwnd,
        ..acked(80)
    };
    let discriminator = &mut bench.meld.discriminator;
    discriminator.on_ack(bench.now, &enough(order.per_round_trip - Bytes::new(1)));
    assert!(!discriminator.is_leading());
    discriminator.on_ack(bench.now, &enough(order.per_round_trip));
    assert!(discriminator.is_leading());
}

#[test]
fn the_wrapped_window_follows_what_is_in_flight() {
    let mut bench = alone();
    let is_held = |bench: &mut Bench, packets| {
        let discriminator = &mut bench.meld.discriminator;
        discriminator.on_ack(bench.now, &acked(packets))
    };
    // the wrapped window is of 20 packets
    assert!(is_held(&mut bench, 20) && !is_held(&mut bench, 21));
    // no report for long: what is left is that window
    bench.wait(100);
    bench.round_trip(20, true);
    assert_eq!(bench.meld.cwnd(), bench.meld.inner.cwnd());
    assert_eq!(bench.meld.pacing_rate(), bench.meld.inner.pacing_rate());
    assert_eq!(bench.meld.report_period(), None);
}

#[test]
fn a_report_steers_for_two_of_its_periods() {
    let mut bench = alone();
    bench.report(RadioState {
        period: Duration::from_millis(30),
        ..good()
    });
    bench.wait(60);
    bench.meld.discriminator.on_ack(bench.now, &acked(80));
    assert!(bench.meld.report_period().is_some());
    bench.wait(1);
    bench.meld.discriminator.on_ack(bench.now, &acked(80));
    assert_eq!(bench.meld.report_period(), None);
}

#[test]
fn a_newcomer_is_the_wrapped_controller_s_beside_a_flow_that_fills_the_link() {
    // the target is 27,504 bytes: one and five targets wait there
    for (queue, packets, is_steered) in [
        (27_000, 20, false),
        (140_000, 20, true),
        // a flow with most of what is in flight is none
        (27_000, 80, true),
    ] {
        let mut bench = Bench::new(Variant::Default);
        bench.round_trip(packets, false);
        let inner = bench.meld.inner.cwnd();
        // 115 kB leave the base station in a round trip
        bench.report(RadioState {
            queue: Bytes::new(queue),
            ..good()
        });
        bench.meld.discriminator.on_ack(bench.now, &acked(packets));
        let is_found = bench.meld.discriminator.order().is_some();
        assert_eq!(is_found, is_steered, "{queue} {packets}");
        assert_eq!(bench.meld.cwnd() == inner, !is_steered);
        // and stays what it is
        bench.report(good());
        bench.meld.discriminator.on_ack(bench.now, &acked(10));
        assert_eq!(bench.meld.discriminator.order().is_some(), is_steered);
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
