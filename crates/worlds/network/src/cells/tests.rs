//! Handovers between real cells: every packet is delivered once and in order, or its loss is counted.

use super::Cells;
use crate::CellRoute;
use mobility::FailureKind;
use proptest::prelude::*;
use queue::Packet;
use ran::Direction;
use scenario::{Experiment, HandoverResult, Overrides, load_str};
use units::{Bytes, Duration, Instant, Streams};

/// The number of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct P(u32);

impl Packet for P {
    fn bytes(&self) -> Bytes {
        Bytes::new(1_200)
    }
}

/// A user goes past two cells within 1.5 s; its bearer is of this mode.
pub(super) fn experiment(rlc: &str, handover: &str) -> Experiment {
    experiment_with(rlc, handover, ("", ""))
}

/// The same; the cell that it begins in and the one that it goes to have these keys too.
fn experiment_with(rlc: &str, handover: &str, (west, east): (&str, &str)) -> Experiment {
    let cell = |name: &str, x: u32, keys: &str| {
        format!(
            "[[cell]]\n{keys}name = \"{name}\"\nrat = \"nr\"\nfrequency = \"3.5 GHz\"\nbandwidth = \"10 MHz\"\n\
             bler-family = \"5g-lena\"\nsite = {{ position = [\"{x} m\", \"10 m\"] }}\n"
        )
    };
    let text = format!(
        "duration = \"6 s\"\n[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = {{ kind = \"bulk\", size = \"1 MB\" }}\n\
         {}{}[handover]\ntime-to-trigger = \"20 ms\"\nmeasurement-period = \"20 ms\"\nfilter-coefficient = 0\n{handover}\n\
         [ue.phone]\nchannel = {{ kind = \"moving\", path-loss = \"umi-street-canyon\", sight = \"los\" }}\n\
         mobility = {{ kind = \"line\", from = [\"10 m\", \"0 m\"], towards = [\"100 m\", \"0 m\"], speed = \"300 km/h\" }}\n\
         [[ue.phone.bearer]]\nrlc = \"{rlc}\"\ndownlink-buffer = \"unlimited\"\nuplink-buffer = \"unlimited\"\n",
        cell("west", 0, west),
        cell("east", 100, east)
    );
    let mut points = load_str(&text, &Overrides::default()).expect("valid");
    points.remove(0).experiment
}

pub(super) struct Outcome {
    pub(super) delivered: [Vec<u32>; 2],
    pub(super) dropped: Vec<u32>,
    pub(super) handovers: Vec<HandoverResult>,
    pub(super) left: usize,
}

/// A packet each way every `interval` for 1.5 s, then as long as it takes, which with a failed radio link is more than a second.
pub(super) fn run(experiment: &Experiment, interval: Duration, seed: u64) -> Outcome {
    run_with(experiment, interval, seed, &mut |_, _| ())
}

/// The same, with something that is done beside each step.
pub(super) fn run_with(
    experiment: &Experiment,
    interval: Duration,
    seed: u64,
    beside: &mut dyn FnMut(Instant, &mut Cells<P>),
) -> Outcome {
    let spec = experiment.cells.as_ref().expect("several cells");
    let mut cells: Cells<P> = Cells::new(
        spec,
        experiment,
        &|_| None,
        Streams::new(seed),
        Instant::ZERO,
    )
    .expect("can be built");
    let route = CellRoute::of(0, 0, &experiment.ues[0].bearers);
    let (mut next, mut sent) = (Instant::ZERO, 0);
    let (last, end) = (
        Instant::ZERO + Duration::from_millis(1_500),
        Instant::ZERO + Duration::from_millis(5_900),
    );
    let (mut delivered, mut dropped) = ([Vec::new(), Vec::new()], Vec::new());
    beside(Instant::ZERO, &mut cells);
    loop {
        let due = cells.next_deadline().unwrap_or(Instant::MAX);
        let now = if next <= last { due.min(next) } else { due };
        if now > end {
            break;
        }
        if now == due {
            cells.on_deadline(now);
        } else {
            cells.send_downlink(now, route, P(sent));
            cells.send_uplink(now, route, P(sent));
            sent += 1;
            next += interval;
        }
        beside(now, &mut cells);
        while let Some(out) = cells.poll_delivered() {
            delivered[out.direction as usize].push(out.packet.0);
        }
        cells.take_dropped(&mut dropped);
    }
    let all: Vec<u32> = (0..sent).collect();
    let dropped: Vec<u32> = dropped.into_iter().map(|packet| packet.0).collect();
    // what is not delivered in one direction is dropped
    for direction in [Direction::Downlink, Direction::Uplink] {
        let of = &delivered[direction as usize];
        assert!(of.is_sorted_by(|a, b| a < b), "once and in order: {of:?}");
        let missing = all.iter().filter(|n| of.binary_search(n).is_err());
        assert!(
            missing.clone().all(|n| dropped.contains(n)),
            "{direction:?}: {:?}; {} are between cells; {:?}",
            missing.collect::<Vec<_>>(),
            cells.between_cells(),
            cells.results
        );
    }
    assert_eq!(
        2 * all.len(),
        delivered[0].len() + delivered[1].len() + dropped.len()
    );
    Outcome {
        delivered,
        dropped,
        left: cells.between_cells(),
        handovers: cells.take_handovers(end),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn with_forwarding_nothing_is_lost_whatever_the_times(
        interruption in 0u64..300,
        preparation in 0u64..50,
        switch in 0u64..60,
        forwarding in 0u64..60,
        // what the cells carry before the user is far away from both
        interval in 400u64..3_000,
        seed in 0u64..1_000,
    ) {
        let handover = format!(
            "interruption = \"{interruption} ms\"\npreparation = \"{preparation} ms\"\n\
             path-switch = \"{switch} ms\"\nforwarding-delay = \"{forwarding} ms\""
        );
        let out = run(&experiment("am", &handover), Duration::from_micros(interval), seed);
        prop_assert!(!out.handovers.is_empty());
        prop_assert!(out.dropped.is_empty(), "{:?}", out.dropped);
        prop_assert_eq!(out.left, 0);
        prop_assert_eq!(out.handovers.iter().map(|it| it.lost).sum::<u64>(), 0);
        let each = [out.delivered[0].len(), out.delivered[1].len()];
        prop_assert_eq!(each[0], each[1]);
    }
}

#[test]
fn without_forwarding_what_the_source_had_and_got_is_lost_and_nothing_else() {
    let times = "interruption = \"50 ms\"\npath-switch = \"10 ms\"\nforwarding = false";
    let out = run(&experiment("am", times), Duration::from_micros(500), 7);
    let lost: u64 = out.handovers.iter().map(|it| it.lost).sum();
    assert_eq!(out.dropped.len() as u64, lost);
    // at least what came while the source had no UE: 60 ms at 2 packets a millisecond
    assert!(lost >= 120, "{lost}");
    assert!(out.handovers.iter().all(|it| it.forwarded == 0));
}

#[test]
fn unacknowledged_bearers_lose_what_was_on_the_radio_only() {
    let times = "interruption = \"50 ms\"";
    let out = run(&experiment("um", times), Duration::from_micros(500), 7);
    let lost: u64 = out.handovers.iter().map(|it| it.lost).sum();
    assert!(lost < 60, "{lost}");
    assert!(out.handovers.iter().any(|it| it.forwarded >= 120));
}

/// The cell that the user begins in goes off at 0.2 s, when it is near.
const OFF: &str = "off-at = \"200 ms\"\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn where_the_context_is_fetched_nothing_is_lost_with_the_cell(
        t310 in 0u64..300,
        selection in 0u64..200,
        access in 0u64..200,
        switch in 0u64..60,
        forwarding in 0u64..60,
        interval in 800u64..3_000,
        seed in 0u64..1_000,
    ) {
        let handover = format!(
            "t310 = \"{t310} ms\"\ncell-selection = \"{selection} ms\"\nreestablishment = \"{access} ms\"\n\
             path-switch = \"{switch} ms\"\nforwarding-delay = \"{forwarding} ms\""
        );
        let experiment = experiment_with("am", &handover, (OFF, ""));
        let out = run(&experiment, Duration::from_micros(interval), seed);
        let first = &out.handovers[0];
        prop_assert_eq!(first.failure, Some(FailureKind::TooLate));
        prop_assert_eq!((first.from.as_str(), first.to.as_str()), ("west", "east"));
        // it is noticed at a measurement, 20 ms apart
        let noticed = first.at.saturating_since(Instant::ZERO + Duration::from_millis(200 + t310));
        prop_assert!(noticed <= Duration::from_millis(20), "{noticed}");
        prop_assert_eq!(first.interruption, Duration::from_millis(selection + access));
        prop_assert!(out.dropped.is_empty(), "{:?}", out.dropped);
        prop_assert_eq!(out.left, 0);
    }
}

#[test]
fn without_the_context_what_waited_for_the_user_is_lost_and_nothing_else() {
    let keys = "t310 = \"100 ms\"\ncontext-fetch = false";
    let out = run(
        &experiment_with("am", keys, (OFF, "")),
        Duration::from_millis(1),
        7,
    );
    let first = &out.handovers[0];
    assert_eq!(first.failure, Some(FailureKind::TooLate));
    // chosen after 100 ms, rejected after 100, set up after 200
    assert_eq!(first.interruption.as_millis(), 400);
    let lost: u64 = out.handovers.iter().map(|it| it.lost).sum();
    assert_eq!(out.dropped.len() as u64, lost);
    // both ways what came from the cell's end to the new connection
    assert!((1_000..1_200).contains(&lost), "{lost}");
    assert_eq!((first.forwarded, out.left), (0, 0));
}

/// The cell that the user goes to is on from 1 s on only: until then there is none but the first.
const LATE: &str = "off-at = \"0 s\"\non-at = \"1 s\"\n";

#[test]
fn a_cell_that_is_on_again_within_t311_takes_its_user_back_without_loss() {
    let west = format!("{OFF}on-at = \"450 ms\"\n");
    let out = run(
        &experiment_with("am", "t310 = \"100 ms\"", (&west, LATE)),
        Duration::from_millis(1),
        7,
    );
    let first = &out.handovers[0];
    assert_eq!(first.failure, Some(FailureKind::SameCell), "{first:?}");
    assert_eq!((first.from.as_str(), first.to.as_str()), ("west", "west"));
    // it is found within 10 ms, and serves 100 ms later
    let served = (first.at + first.interruption).saturating_since(Instant::ZERO);
    assert!((550..=560).contains(&served.as_millis()), "{served}");
    assert_eq!((first.lost, first.forwarded), (0, 0));
    assert!(out.dropped.is_empty(), "{:?}", out.dropped);
}

#[test]
fn after_t311_the_user_is_idle_and_what_waited_is_lost() {
    let keys = "t310 = \"0 s\"\nt311 = \"200 ms\"";
    let west = format!("{OFF}on-at = \"450 ms\"\n");
    let out = run(
        &experiment_with("am", keys, (&west, LATE)),
        Duration::from_millis(1),
        7,
    );
    let first = &out.handovers[0];
    assert_eq!(first.failure, Some(FailureKind::SameCell), "{first:?}");
    // a new connection takes 200 ms
    let served = (first.at + first.interruption).saturating_since(Instant::ZERO);
    assert!((650..=660).contains(&served.as_millis()), "{served}");
    // both ways what came while no cell had the user's context
    assert!((850..=920).contains(&first.lost), "{first:?}");
    let lost: u64 = out.handovers.iter().map(|it| it.lost).sum();
    assert_eq!(out.dropped.len() as u64, lost);
}

#[test]
fn a_command_that_is_not_heard_hands_no_user_over() {
    // reported at once, prepared for longer than T310
    let keys = "t310 = \"500 ms\"\npreparation = \"20 ms\"";
    let out = run(
        &experiment_with("am", keys, (OFF, "")),
        Duration::from_millis(1),
        7,
    );
    assert_eq!(out.handovers.len(), 1, "{:?}", out.handovers);
    assert_eq!(out.handovers[0].failure, Some(FailureKind::TooLate));
}
