use super::link::{Impairment, Link, Loop};
use proptest::prelude::*;
use units::{Duration, Streams};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Whatever the link does, every packet is reported once (checked at each step), and what the
    /// sender counts is what happened.
    #[test]
    fn every_packet_is_acked_lost_or_in_flight(
        controller in prop::sample::select(vec!["newreno", "cubic", "bbr", "bbr2", "bbr3", "vegas"]),
        (mbps, rtt_ms, buffer) in (1u64..100, 1u64..100, 2u64..200),
        (drops, lates, marks, ack_drops) in (0.0f64..0.2, 0.0f64..0.1, 0.0f64..0.05, 0.0f64..0.5),
        seed: u64,
    ) {
        let mut link = Link::new(mbps, rtt_ms, buffer);
        let mut rng = Streams::new(seed).stream("impairment");
        link.impairment = Box::new(move |_, _| match rng.uniform() {
            u if u < drops => Impairment::Drop,
            u if u < drops + lates => Impairment::Late(Duration::from_micros(rng.below(100_000))),
            u if u < drops + lates + marks => Impairment::Mark,
            _ => Impairment::Pass,
        });
        let mut rng = Streams::new(seed).stream("acks");
        link.ack_impairment = Box::new(move |_| if rng.chance(ack_drops) { Impairment::Drop } else { Impairment::Pass });
        let mut path = Loop::new(controller, link);
        path.run_for(3_000);
        // then all arrives that ever will
        path.has_data = Box::new(|_| false);
        path.run_for(200_000);
        let counters = path.sender().counters();
        prop_assert_eq!(path.sender().in_flight().get(), 0);
        prop_assert_eq!(counters.sent.get(), path.report.sent);
        prop_assert_eq!(counters.acked + counters.lost, counters.sent + counters.late);
        prop_assert!(counters.acked.get() <= path.report.delivered);
        prop_assert!(counters.lost.get() >= path.report.dropped);
        prop_assert!(path.sender().window().get() >= 1);
    }
}
