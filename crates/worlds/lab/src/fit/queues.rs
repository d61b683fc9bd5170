//! Queue management on a narrower pipe.
//!
//! What the queues of UPF, SDAP and RLC may hold, and the bounds of their limits, are sizes, and shrink
//! with the rates; so does the number of packets that a layer forwards at a time, rounded up. No limit
//! becomes less than a packet, so that one of a few packets holds for longer than in full. What counts
//! packets counts bytes then: a narrower slot is no whole number of packets, and what it is rounded down
//! by would be lost. Kept: all times (targets, intervals, allowance, preparation), and what is reported of
//! single packets (MTU, quantum).

use ran::QueuesConfig;

/// Multiplies the sizes of all three layers.
pub(super) fn scale_queues(queues: &mut QueuesConfig, ratio: f64) {
    let layers = [
        Some(&mut queues.upf),
        queues.sdap.as_mut(),
        Some(&mut queues.rlc),
    ];
    for queue in layers.into_iter().flatten() {
        queue.scale(ratio);
    }
    let fewer = (f64::from(queues.forward_packets) * ratio).ceil() as u32;
    queues.forward_packets = fewer.max(1);
}

#[cfg(test)]
mod tests {
    use super::super::{fastest, fit, scaled};
    use super::*;
    use queue::{BackpressureConfig, Capacity, Unit};
    use scenario::{AccessSpec, Experiment, Overrides};
    use std::path::Path;

    fn experiment(tick: &str, rlc: &str) -> Experiment {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/dynamic-buffer");
        let overrides = Overrides {
            set: [("tick", tick), ("rlc", rlc)]
                .map(|(knob, value)| (knob.to_owned(), value.to_owned()))
                .into(),
            ..Overrides::default()
        };
        let points = scenario::load(&folder.join("individual-sdap.toml"), &overrides);
        let mut points = points.unwrap_or_else(|error| panic!("{rlc}: {error}"));
        points.remove(0).experiment
    }

    fn queues(experiment: &Experiment) -> &QueuesConfig {
        match &experiment.access {
            AccessSpec::Cell(cell) => cell.config.queues.as_ref().expect("queue management"),
            AccessSpec::Link(_) => panic!("a cell"),
        }
    }

    #[test]
    fn ticks_of_10_and_1_ms_are_run_in_full_and_those_of_125_us_are_not() {
        for (tick, is_scaled) in [("10 ms", false), ("1 ms", false), ("125 us", true)] {
            let fitted = fit(&experiment(tick, "5g-bdp"), None, "cubic");
            assert_eq!(fitted.scale < 1.0, is_scaled, "{tick}: {:?}", fitted.notes);
        }
    }

    #[test]
    fn limits_shrink_with_the_slots_and_times_do_not() {
        let before = experiment("125 us", "dynrlc");
        let (after, ratio) = scaled(&before, 2);
        let rate = fastest(&after).as_bps() as f64 / fastest(&before).as_bps() as f64;
        assert!((rate / ratio - 1.0).abs() < 0.01, "{rate}");
        let (old, new) = (queues(&before), queues(&after));
        assert_eq!((old.tti, old.forward_period), (new.tti, new.forward_period));
        assert_eq!((old.forward_packets, new.forward_packets), (10, 5));
        let BackpressureConfig::DynRlc(dynrlc) = &new.rlc.backpressure else {
            panic!("DynRLC");
        };
        assert_eq!(dynrlc.unit, Unit::Bytes);
        // 2 to 20 packets, halved but for the rounding of the carrier's width
        assert!((1500..=1530).contains(&dynrlc.min.get()), "{}", dynrlc.min);
        assert!(
            (14_800..=15_200).contains(&dynrlc.max.get()),
            "{}",
            dynrlc.max
        );
        assert_eq!(new.upf.capacity, Capacity::Unlimited);
    }

    #[test]
    fn every_algorithm_scaled_down_is_still_one_that_can_be_built() {
        let all = queue::registry::of(queue::registry::Place::Rlc);
        for name in all.map(|algorithm| algorithm.name) {
            let before = experiment("125 us", name);
            for divisor in [2, 7, 100] {
                let (after, _) = scaled(&before, divisor);
                let queues = queues(&after);
                let layers = [Some(&queues.upf), queues.sdap.as_ref(), Some(&queues.rlc)];
                for queue in layers.into_iter().flatten() {
                    queue
                        .check()
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
    }
}
