//! Packets pass a wire between the cells and their units.

use super::tests::{P, experiment, run, run_with};
use super::{Cells, UnitEvent};
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// What goes down passes a wire to the unit of the UE's cell, which takes no time.
#[derive(Default)]
struct Wire {
    is_split: bool,
    /// Cells that have served the UE, in order.
    served: Vec<usize>,
    left: usize,
    passed: u32,
}

impl Wire {
    fn pass(&mut self, now: Instant, cells: &mut Cells<P>) {
        if !self.is_split {
            cells.split();
            self.is_split = true;
        }
        while let Some(event) = cells.poll_unit_event() {
            match event {
                UnitEvent::Served { ue: 0, cell } => self.served.push(cell),
                UnitEvent::Left { ue: 0 } => self.left += 1,
                UnitEvent::Down { place, packet } => {
                    self.passed += 1;
                    cells.enter_from_unit(now, place, packet, false);
                }
                other => panic!("another UE: {other:?}"),
            }
        }
    }
}

#[test]
fn over_a_wire_without_delay_all_is_as_without_one() {
    for (rlc, handover) in [
        ("am", "interruption = \"50 ms\""),
        ("um", "interruption = \"50 ms\""),
        ("am", "forwarding = false"),
        ("am", "interruption = \"0 s\"\nforwarding-delay = \"7 ms\""),
    ] {
        let experiment = experiment(rlc, handover);
        let interval = Duration::from_micros(500);
        let whole = run(&experiment, interval, 7);
        let mut wire = Wire::default();
        let split = run_with(&experiment, interval, 7, &mut |now, cells| {
            wire.pass(now, cells);
        });
        assert_eq!(split.delivered, whole.delivered, "{rlc}, {handover}");
        assert_eq!(split.dropped, whole.dropped, "{rlc}, {handover}");
        let all: Vec<u64> = whole.handovers.iter().map(|it| it.forwarded).collect();
        let over_wire: Vec<u64> = split.handovers.iter().map(|it| it.forwarded).collect();
        assert_eq!(over_wire, all, "{rlc}, {handover}");
        assert_eq!(wire.served.len(), all.len() + 1);
        assert_eq!(wire.left, all.len());
        assert_eq!(wire.served[..2], [0, 1]);
        // what was forwarded passed twice
        assert!(u64::from(wire.passed) > all.iter().sum::<u64>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// What is on the wire as the UE leaves goes on to the next cell: nothing is lost but what the wire loses, and all is in order.
    #[test]
    fn what_a_wire_with_a_delay_has_at_a_handover_goes_on_to_the_next_cell(
        delay in 0u64..30_000,
        interruption in 0u64..100,
        interval in 400u64..3_000,
        seed in 0u64..1_000,
        loses_each in 5usize..200,
    ) {
        let experiment = experiment("am", &format!("interruption = \"{interruption} ms\""));
        let (mut wire, mut is_split) = (VecDeque::new(), false);
        let (mut late, mut lost, mut passed) = (0, 0, 0_usize);
        let out = run_with(&experiment, Duration::from_micros(interval), seed, &mut |now, cells| {
            if !core::mem::replace(&mut is_split, true) {
                cells.split();
            }
            loop {
                while let Some(event) = cells.poll_unit_event() {
                    match event {
                        UnitEvent::Served { .. } => {}
                        UnitEvent::Left { .. } => {
                            late += wire.len();
                            for (_, place, packet) in wire.drain(..) {
                                cells.enter_from_unit(now, place, packet, true);
                            }
                        }
                        UnitEvent::Down { place, packet } => {
                            wire.push_back((now + Duration::from_micros(delay), place, packet));
                        }
                    }
                }
                // the cells run often enough for the wire
                let Some((_, place, packet)) = wire.pop_front_if(|(at, ..)| *at <= now) else { break };
                passed += 1;
                if passed.is_multiple_of(loses_each) {
                    lost += 1;
                    cells.lose_on_wire(now, place, packet);
                } else {
                    cells.enter_from_unit(now, place, packet, false);
                }
            }
        });
        prop_assert!(!out.handovers.is_empty());
        prop_assert_eq!(out.dropped.len(), lost);
        prop_assert_eq!(out.left, 0);
        prop_assert!(late > 0 || delay < 2 * interval + 1_000, "{} us, {} us", delay, interval);
    }
}
