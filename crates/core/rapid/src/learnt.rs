//! What is learnt of a flow that goes on in a cell of another allocator.
//!
//! | carried | how it counts in the new cell |
//! | --- | --- |
//! | rate of arrivals, and the most of a round trip | as measured there: windows towards the server do not begin as a new flow's |
//! | whether its server sends all that it is let | as found there, until it is found again |
//! | store | as kept there |
//! | least round trip towards the UE | for a second, beside what is measured: of the first samples the time without a cell is a part |
//!
//! The radio's capacity, its queue and variation, and what else uses it, are the new cell's reports' alone.
//!
//! Source: ours.

use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration};

/// What is learnt of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// Least round-trip time towards the UE.
    pub ran_min_rtt: Option<Duration>,
    /// Moving average of what arrives of its server.
    pub rate: BitRate,
    /// The most that has arrived in a round trip to its server.
    pub round: Bytes,
    /// Its server sends all that it is let.
    pub is_greedy: bool,
    /// Standing store at the proxy, at the flow's share.
    pub store: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{checked, report};
    use crate::{
        Allocator, AllocatorConfig, Decision, FlowId, FlowOpened, FlowTelemetry, Mode, allocator,
    };
    use rnis::Rnti;
    use units::{Instant, Prb};

    const FLOW: FlowId = FlowId(1);
    const MSS: Bytes = Bytes::new(1_440);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A cell with so many PRBs, in which the flow opens at 1 ms.
    struct Cell {
        allocator: Box<dyn Allocator>,
        prb: u16,
        last: Option<Decision>,
    }

    impl Cell {
        fn new(prb: u16, learnt: Option<&Learnt>) -> Self {
            let allocator = allocator(AllocatorConfig::new(Mode::Default)).expect("in range");
            let mut cell = Self {
                allocator,
                prb,
                last: None,
            };
            cell.report(0);
            let ue = Rnti(1);
            let opened = FlowOpened {
                ue,
                mss: MSS,
                place: 0,
            };
            cell.allocator.on_flow_open(at(1), FLOW, opened);
            if let Some(learnt) = learnt {
                cell.allocator.on_flow_learnt(at(1), FLOW, learnt);
            }
            cell
        }

        fn report(&mut self, ms: u64) {
            let mut report = report(&[self.prb]);
            report.cell.n_prb = Prb::new(self.prb);
            report.ues[0].timestamp = at(ms);
            self.allocator.on_report(at(ms), &checked(report));
            let decisions = std::iter::from_fn(|| self.allocator.poll_decision());
            self.last = decisions.last().or(self.last);
        }

        fn measure(&mut self, ms: u64, telemetry: &FlowTelemetry) {
            self.allocator.on_telemetry(at(ms), FLOW, telemetry);
            self.report(ms);
        }

        /// Windows in segments: towards the server, and towards the UE.
        fn windows(&self) -> (u64, u64) {
            let last = self.last.expect("a decision");
            let wan = last.wan_window.shown(Bytes::ZERO);
            (wan.get() / MSS.get(), last.ran.window.get() / MSS.get())
        }
    }

    /// So much has come of a server 30 ms away and was acknowledged at once.
    fn telemetry(arrived: u64, ran_min_rtt: Option<u64>) -> FlowTelemetry {
        FlowTelemetry {
            wan_arrived: Bytes::new(arrived),
            wan_min_rtt: Some(Duration::from_millis(30)),
            wan_srtt: Some(Duration::from_millis(30)),
            ran_min_rtt: ran_min_rtt.map(Duration::from_millis),
            ran_acked: Bytes::new(arrived),
            ..FlowTelemetry::default()
        }
    }

    /// What is learnt of a flow of 40 Mbit/s in two seconds.
    fn learnt() -> Learnt {
        let mut cell = Cell::new(132, None);
        for ms in 2..2_000 {
            cell.measure(ms, &telemetry(ms * 5_000, Some(10)));
        }
        cell.allocator.learnt(FLOW).expect("it is there")
    }

    #[test]
    fn what_is_learnt_is_what_was_measured() {
        let learnt = learnt();
        assert_eq!(learnt.ran_min_rtt, Some(Duration::from_millis(10)));
        let rate = learnt.rate.as_bps();
        assert!((39_000_000..=41_000_000).contains(&rate), "{rate}");
        let round = learnt.round.get();
        assert!((145_000..=160_000).contains(&round), "{round}");
        let cell = Cell::new(132, None);
        assert_eq!(cell.allocator.learnt(FlowId(7)), None);
    }

    /// With the first report of the new cell, before anything was measured there.
    #[test]
    fn windows_do_not_collapse_and_are_of_the_new_cells_capacity() {
        let learnt = learnt();
        // counters go on where the other proxy's were
        let first = telemetry(9_000_000, None);
        for prb in [33, 132] {
            let (mut moved, mut new) = (Cell::new(prb, Some(&learnt)), Cell::new(prb, None));
            for cell in [&mut moved, &mut new] {
                cell.measure(2, &first);
            }
            let capacity = moved.allocator.capacity(Rnti(1)).expect("reported");
            assert_eq!(new.allocator.capacity(Rnti(1)), Some(capacity));
            let (wan, ran) = moved.windows();
            let segments = |ms: u64| capacity.as_bps() * ms / 8_000 / MSS.get();
            // a round trip of 10 ms and the needed queue; nothing was measured that could make it longer
            assert!(ran >= segments(10) && ran <= segments(15), "{ran} of {prb}");
            let usable = (8 * learnt.round.get() / MSS.get()).min(segments(30));
            assert!(wan >= usable && wan <= segments(37), "{wan} of {prb}");
            assert!(new.windows().1 < ran, "{:?} of {prb}", new.windows());
        }
    }

    #[test]
    fn a_round_trip_with_the_time_without_a_cell_does_not_flood_the_new_one() {
        let mut cell = Cell::new(132, Some(&learnt()));
        cell.measure(2, &telemetry(9_000_000, Some(90)));
        let (_, first) = cell.windows();
        let capacity = cell.allocator.capacity(Rnti(1)).expect("reported").as_bps();
        assert!(first <= capacity * 15 / 8_000 / MSS.get(), "{first}");
        // after a second the new cell's own counts
        cell.measure(1_002, &telemetry(9_000_000, Some(20)));
        let learnt = cell.allocator.learnt(FLOW).expect("it is there");
        assert_eq!(learnt.ran_min_rtt, Some(Duration::from_millis(20)));
    }

    /// All that had come before the flow was here did not come at once.
    #[test]
    fn what_came_in_another_cell_is_no_rate_here() {
        let learnt = learnt();
        let mut cell = Cell::new(132, Some(&learnt));
        for ms in 2..200 {
            cell.measure(ms, &telemetry(9_000_000 + ms * 5_000, Some(10)));
            let rate = cell.allocator.learnt(FLOW).expect("it is there").rate;
            let rate = rate.as_bps();
            assert!((30_000_000..=50_000_000).contains(&rate), "{rate} at {ms}");
        }
        let round = cell.allocator.learnt(FLOW).expect("it is there").round;
        assert_eq!(round, learnt.round);
    }
}
