//! The packet side as a whole, and what holds for any input.

use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// 2 MB/s (16 Mbit/s).
const DRAIN: u64 = 33_554;

fn order(number: u64) -> Order {
    Order {
        number,
        counted_until: 0,
        valid_until: u64::MAX,
        drain: DRAIN,
        queue: 0,
        slack: u64::MAX,
        ramp_from: 2 * MS,
        ramp_to: 6 * MS,
        target: 15 * MS,
        spared: 4,
    }
}

fn packet(flow: u32, codepoint: Codepoint) -> Packet {
    Packet {
        flow,
        bytes: 1_500,
        segments: 1,
        codepoint,
    }
}

/// Verdicts of a flow that sends `percent` of 2 MB/s for so long.
fn sent(ms: u64, percent: u64, codepoint: Codepoint) -> Vec<Verdict> {
    let mut ue = UeMarker::default();
    let gap = 1_500 * 1_000_000_000 / 2_000_000 * 100 / percent;
    let times = (0..ms * MS).step_by(gap as usize);
    times
        .map(|now| ue.decide(&order(1), now, packet(7, codepoint)))
        .collect()
}

fn count(verdicts: &[Verdict], of: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == of).count()
}

#[test]
fn what_the_radio_carries_is_let_pass() {
    for codepoint in [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1] {
        let verdicts = sent(2_000, 99, codepoint);
        assert!(verdicts.iter().all(|of| of.fate() == Fate::Forward));
    }
}

#[test]
fn l4s_is_marked_by_the_ramp_as_the_queue_grows() {
    // a tenth too much: 2 ms of queue after 20 ms, 6 ms after 60
    let verdicts = sent(100, 110, Codepoint::Ect1);
    let per_ms = verdicts.len() as f64 / 100.0;
    let first = verdicts.iter().position(|of| of.fate() == Fate::Mark);
    let first = first.expect("some are marked") as f64 / per_ms;
    assert!((20.0..40.0).contains(&first), "the first after {first} ms");
    let last = &verdicts[(70.0 * per_ms) as usize..];
    assert_eq!(count(last, Verdict::MarkL4s), last.len(), "all");
    assert_eq!(count(&verdicts, Verdict::DropOverload), 0);
}

/// p' grows by 3.2 for each second of more delay and is no less than zero as that falls: of a queue that comes and goes it
/// would mark 4 %.
#[test]
fn what_waits_less_than_the_ramp_is_not_marked_where_no_classic_flow_is() {
    let mut ue = UeMarker::default();
    let mut judged = 0;
    for step in 0..4_000_u64 {
        let now = step * MS / 2;
        // for 20 ms nothing waits, then 7 ms of the radio
        let of_step = Order {
            queue: if step / 40 % 2 == 0 { 0 } else { 14_000 },
            slack: 0,
            counted_until: now,
            ramp_from: 8 * MS,
            ramp_to: 16 * MS,
            ..order(step + 1)
        };
        let verdict = ue.decide(&of_step, now, packet(2, Codepoint::Ect1));
        assert_eq!(verdict.fate(), Fate::Forward, "step {step}: {verdict:?}");
        judged += usize::from(verdict == Verdict::Undue);
    }
    assert!(judged > 1_000, "{judged}");
}

#[test]
fn classic_is_marked_by_the_square_and_not_ect_dropped_alike() {
    let marked = sent(300, 120, Codepoint::Ect0);
    let dropped = sent(300, 120, Codepoint::NotEct);
    let marks = count(&marked, Verdict::MarkClassic);
    let drops = count(&dropped, Verdict::DropNotEct);
    assert!(marks > 0 && drops > 0, "{marks} marks, {drops} drops");
    // a drop leaves the queue shorter, and so the next ones fewer
    assert!(drops <= marks && marks <= 3 * drops + 3, "{marks} {drops}");
    let early = &dropped[..dropped.len() / 4];
    assert_eq!(
        count(early, Verdict::DropNotEct),
        0,
        "15 ms of queue take 75 ms"
    );
}

#[test]
fn twice_what_the_radio_carries_is_overload() {
    for (codepoint, before) in [
        (Codepoint::Ect1, Verdict::MarkL4s),
        (Codepoint::Ect0, Verdict::MarkClassic),
    ] {
        let verdicts = sent(6_000, 200, codepoint);
        let first = verdicts.iter().position(|of| *of == Verdict::DropOverload);
        let first = first.expect("dropped in the end");
        assert!(count(&verdicts[..first], before) > 0, "marked before");
        let last = &verdicts[verdicts.len() / 2..];
        let dropped = count(last, Verdict::DropOverload) as f64 / last.len() as f64;
        assert!((0.35..0.65).contains(&dropped), "{codepoint:?} {dropped}");
    }
}

#[test]
fn the_first_ten_packets_are_left_alone() {
    let mut ue = UeMarker::default();
    let full = Order {
        queue: 1 << 20,
        ..order(1)
    };
    let verdicts: Vec<Verdict> = (0..200)
        .map(|n| ue.decide(&full, n * MS / 10, packet(7, Codepoint::Ect1)))
        .collect();
    assert_eq!(verdicts[..10], [Verdict::Young; 10]);
    assert!(count(&verdicts, Verdict::MarkL4s) > 0);
}

#[test]
fn a_call_beside_a_greedy_flow_is_neither_marked_nor_dropped() {
    let mut ue = UeMarker::default();
    let mut of_call = Vec::new();
    let mut of_bulk = Vec::new();
    for step in 0..20_000 {
        let now = step * MS / 4;
        // 3 MB/s beside a packet of 375 bytes each 20 ms
        of_bulk.push(ue.decide(
            &order(1),
            now,
            Packet {
                bytes: 750,
                ..packet(1, Codepoint::NotEct)
            },
        ));
        if step % 80 == 0 {
            let call = Packet {
                bytes: 375,
                ..packet(2, Codepoint::NotEct)
            };
            of_call.push(ue.decide(&order(1), now, call));
        }
    }
    assert!(count(&of_bulk, Verdict::DropNotEct) > 0);
    assert!(
        of_call.iter().all(|of| of.fate() == Fate::Forward),
        "{of_call:?}"
    );
    assert!(count(&of_call, Verdict::Sparse) > 100);
}

#[test]
fn beside_a_classic_flow_l4s_follows_the_coupled_law() {
    // both fill 12 ms of queue: the ramp alone would mark all of L4S
    let mut ue = UeMarker::default();
    let mut marks = Vec::new();
    for step in 0..6_000_u64 {
        let now = step * MS / 2;
        let of_step = Order {
            queue: 24_000,
            slack: 0,
            counted_until: now,
            ..order(step + 1)
        };
        ue.decide(&of_step, now, packet(1, Codepoint::Ect0));
        let verdict = ue.decide(&of_step, now, packet(2, Codepoint::Ect1));
        if verdict == Verdict::MarkL4s {
            marks.push(step);
        }
    }
    // the step from nothing to 12 ms has p' at 0.04, from where it falls: 12 ms are less than the target
    assert!(marks.len() > 10 && marks.len() < 200, "{}", marks.len());
    let late = marks.iter().filter(|step| **step >= 3_000).count();
    assert!(late <= 3, "{marks:?}");
}

#[test]
fn ect0_is_marked_for_a_quarter_at_most_until_overload() {
    let verdicts = sent(20_000, 130, Codepoint::Ect0);
    let marks = count(&verdicts, Verdict::MarkClassic);
    assert!(marks * 4 <= verdicts.len());
    assert!(marks > 0);
}

#[test]
fn reports_that_are_missing_old_or_of_nothing_leave_all_as_it_is() {
    let full = Order {
        queue: 1 << 24,
        ..order(1)
    };
    let stale = Order {
        valid_until: 5,
        ..full
    };
    let empty = Order { drain: 0, ..full };
    for (order, expected) in [
        (Order::default(), Verdict::NoReport),
        (stale, Verdict::Stale),
        (empty, Verdict::NoRate),
    ] {
        let mut ue = UeMarker::default();
        for n in 0..1_000 {
            let verdict = ue.decide(&order, 10 + n * MS, packet(7, Codepoint::NotEct));
            assert_eq!(verdict, expected);
        }
    }
}

#[test]
fn an_unknown_ue_is_forwarded_and_counted() {
    let mut marker = Marker::new(MarkerConfig::default()).expect("in range");
    let address = IpAddr::from([10, 0, 0, 1]);
    let verdict = marker.decide(Instant::ZERO, address, packet(1, Codepoint::Ect1));
    assert_eq!(verdict, Verdict::NoReport);
    assert_eq!(marker.counts().of(Verdict::NoReport), 1);
}

#[test]
fn each_value_out_of_range_is_named() {
    let refused = |change: fn(&mut MarkerConfig)| {
        let mut config = MarkerConfig::default();
        change(&mut config);
        Marker::new(config).expect_err("out of range").to_string()
    };
    use units::Duration;
    for (key, message) in [
        (
            "unsplit-rate-fraction is",
            refused(|c| c.rate_fraction = 1.01),
        ),
        (
            "unsplit-rate-fraction is",
            refused(|c| c.rate_fraction = f64::NAN),
        ),
        (
            "unsplit-slack is",
            refused(|c| c.slack = Duration::from_secs(2)),
        ),
        (
            "unsplit-contested-slack is",
            refused(|c| c.contested_slack = Duration::from_secs(2)),
        ),
        ("unsplit-ramp-from is", refused(|c| c.ramp_from = c.ramp_to)),
        (
            "unsplit-wide-ramp-from is",
            refused(|c| c.wide_ramp_from = Duration::from_secs(1)),
        ),
        (
            "unsplit-ramp-to is",
            refused(|c| c.ramp_to = Duration::from_secs(2)),
        ),
        ("unsplit-target is", refused(|c| c.target = Duration::ZERO)),
        (
            "unsplit-max-age is",
            refused(|c| c.max_age = Duration::ZERO),
        ),
        (
            "unsplit-transit is",
            refused(|c| c.transit = Duration::from_secs(1)),
        ),
    ] {
        assert!(message.starts_with(key), "{message}");
    }
}

fn codepoint() -> impl Strategy<Value = Codepoint> {
    prop::sample::select(vec![
        Codepoint::NotEct,
        Codepoint::Ect1,
        Codepoint::Ect0,
        Codepoint::Ce,
    ])
}

/// Numbers of any size, small ones and the extremes among them.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        0..1_000_000_u64,
        (0..64_u32).prop_map(|bit| 1 << bit),
        any::<u64>(),
    ]
}

fn any_order() -> impl Strategy<Value = Order> {
    let of = || any_number();
    (
        of(),
        of(),
        of(),
        of(),
        of(),
        of(),
        0..1_000_000_000_u64,
        1..1_000_000_000_u64,
        of(),
        of(),
    )
        .prop_map(
            |(
                number,
                counted_until,
                valid_until,
                drain,
                queue,
                slack,
                from,
                width,
                target,
                spared,
            )| {
                Order {
                    number,
                    counted_until,
                    valid_until,
                    drain,
                    queue,
                    slack,
                    ramp_from: from,
                    ramp_to: from + width,
                    target,
                    spared,
                }
            },
        )
}

proptest! {
    /// Overflow checks are on: nothing overflows, whatever reports and packets there are.
    #[test]
    fn any_reports_and_packets_have_a_verdict_that_is_allowed(
        orders in prop::collection::vec(any_order(), 1..6),
        packets in prop::collection::vec(((any_number(), 0..8_u32), any::<u32>(), any::<u32>(), codepoint()), 1..200),
    ) {
        let mut ue = UeMarker::default();
        let mut now = 0_u64;
        for (n, ((step, flow), bytes, segments, codepoint)) in packets.into_iter().enumerate() {
            now = if n % 16 == 0 { step } else { now.saturating_add(step % (50 * MS)) };
            let order = orders[n % orders.len()];
            let verdict = ue.decide(&order, now, Packet { flow, bytes, segments, codepoint });
            match verdict.fate() {
                Fate::Mark => prop_assert!(
                    matches!(codepoint, Codepoint::Ect0 | Codepoint::Ect1),
                    "{codepoint:?} marked"
                ),
                Fate::Drop if verdict == Verdict::DropNotEct => {
                    prop_assert_eq!(codepoint, Codepoint::NotEct);
                }
                _ => {}
            }
        }
    }

    /// Rates from none to a terabit, sizes to the largest that IP has.
    #[test]
    fn ecn_capable_packets_are_dropped_in_overload_only(
        bps in prop_oneof![Just(0), Just(1_000_000_000_000_u64), 0..1_000_000_000_000_u64],
        load in prop::collection::vec((0..3_000_000_u64, 20..65_535_u32, 0..4_u32, codepoint()), 20..400),
    ) {
        let unsplit = Unsplit {
            capacity: units::BitRate::from_bps(bps),
            share: units::BitRate::from_bps(bps),
            is_contested: false,
            queue: units::Bytes::ZERO,
            reported_at: Instant::ZERO,
            own_wait: units::Duration::ZERO,
            is_by_chance: false,
        };
        let config = MarkerConfig { max_age: units::Duration::from_secs(3600), ..MarkerConfig::default() };
        let order = Reporter::default().order(Instant::ZERO, &unsplit, &config);
        let mut ue = UeMarker::default();
        let mut now = 0;
        for (step, bytes, flow, codepoint) in load {
            now += step;
            let verdict = ue.decide(&order, now, Packet { flow, bytes, segments: 1, codepoint });
            if verdict == Verdict::DropOverload {
                prop_assert!(ue.is_overloaded());
                prop_assert_ne!(codepoint, Codepoint::NotEct);
            }
            if bps == 0 {
                prop_assert_eq!(verdict, Verdict::NoRate);
            }
        }
    }
}
