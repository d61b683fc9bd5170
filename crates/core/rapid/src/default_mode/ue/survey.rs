//! What all flows of a UE are like together, before anything is decided. A decision changes that, and finds out what it is
//! afterwards while it goes over them anyway; so that for the next report or deadline only those UEs are gone over of which
//! something has moved since, or has not for long.

use super::super::flow::Flow;
use super::Ue;
use units::{Bytes, Duration, Instant};

/// Of a UE's flows together, at one time.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Survey {
    /// Flows that count when shares are made.
    pub(super) active: usize,
    /// Payload acknowledged and sent again, in flight, and a segment of each flow.
    pub(super) acked: Bytes,
    pub(super) resent: Bytes,
    pub(super) in_flight: Bytes,
    pub(super) segments: Bytes,
    /// One of them sends.
    pub(in super::super) is_sending: bool,
    /// The server of one sends all that it is let.
    pub(super) is_greedy: bool,
    /// The same or data that waits for room, of a flow that counts.
    pub(super) is_pressed: bool,
    /// Data waits for room in the window of a flow that counts.
    pub(super) is_saturated: bool,
    /// Least round-trip time towards the UE of flows that count.
    pub(super) ran_min_rtt: Option<Duration>,
    /// Longest round-trip time towards a server of flows that count, seconds.
    pub(super) wan_rtt: Option<f64>,
    /// Before this it stays what it is, as long as no flow moves, comes, or goes, and nothing is decided.
    until: Instant,
}

impl Default for Survey {
    /// Of no flows.
    fn default() -> Self {
        Self {
            active: 0,
            acked: Bytes::ZERO,
            resent: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            segments: Bytes::ZERO,
            is_sending: false,
            is_greedy: false,
            is_pressed: false,
            is_saturated: false,
            ran_min_rtt: None,
            wan_rtt: None,
            until: Instant::MAX,
        }
    }
}

impl Survey {
    /// Finds out whether a flow counts, and adds it.
    pub(super) fn add(&mut self, now: Instant, flow: &mut Flow) {
        flow.counts = flow.is_active(now);
        self.until = self.until.min(flow.stays_until(now));
        let telemetry = &flow.telemetry;
        self.acked += telemetry.ran_acked;
        self.resent += telemetry.ran_resent;
        self.in_flight += telemetry.ran_in_flight;
        self.segments += flow.mss;
        self.is_sending = self.is_sending || flow.is_sending(now);
        self.is_greedy |= flow.is_greedy();
        if !flow.counts {
            return;
        }
        self.active += 1;
        let is_saturated = flow.is_saturated();
        self.is_saturated |= is_saturated;
        self.is_pressed |= is_saturated || flow.is_greedy();
        if let Some(rtt) = telemetry.ran_min_rtt {
            self.ran_min_rtt = Some(self.ran_min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(rtt) = flow.wan_rtt() {
            self.wan_rtt = Some(self.wan_rtt.map_or(rtt, |most| most.max(rtt)));
        }
    }
}

impl Ue {
    /// Goes over all flows, unless what was found last is still so: to be called before [`Ue::observe`], [`Ue::path`] and
    /// [`Ue::run`] of the same time.
    pub(in super::super) fn survey(&mut self, now: Instant) {
        if !self.has_moved && now < self.survey.until {
            return;
        }
        let mut survey = Survey::default();
        for flow in self.flows.values_mut() {
            survey.add(now, flow);
        }
        self.has_moved = false;
        self.survey = survey;
    }

    /// As [`Self::survey`] found it.
    pub(in super::super) fn is_sending(&self) -> bool {
        self.survey.is_sending
    }
}

#[cfg(test)]
mod tests {
    use crate::allocator::{Allocator, Decision, FlowId, FlowOpened, FlowTelemetry};
    use crate::default_mode::DefaultMode;
    use crate::test_support::{checked, report};
    use crate::{AllocatorConfig, Mode};
    use rnis::Rnti;
    use units::{Bytes, Duration, Instant, Streams};

    const UES: u16 = 3;
    const FLOWS: u64 = 12;

    /// Two allocators of the same flows, of which the second goes over all of them each time.
    struct Pair([DefaultMode; 2]);

    impl Pair {
        fn on(&mut self, call: impl Fn(&mut DefaultMode)) -> [Vec<Decision>; 2] {
            for ue in self.0[1].ues.values_mut() {
                ue.has_moved = true;
            }
            self.0.each_mut().map(|of| {
                call(of);
                std::iter::from_fn(|| of.poll_decision()).collect()
            })
        }
    }

    #[test]
    fn what_was_found_before_is_what_would_be_found_again() {
        let mut rng = Streams::new(24).stream("survey");
        let new = || DefaultMode::new(AllocatorConfig::new(Mode::Default));
        let mut pair = Pair([new(), new()]);
        let mut now = Instant::from_nanos(1_000_000_000);
        let ue = |flow: u64| Rnti((flow % u64::from(UES)) as u16 + 1);
        for flow in 0..FLOWS {
            let opened = FlowOpened {
                ue: ue(flow),
                mss: Bytes::new(1_448),
                place: flow as u32,
            };
            pair.on(|of| of.on_flow_open(now, FlowId(flow), opened));
        }
        let mut telemetry = [FlowTelemetry::default(); FLOWS as usize];
        let (mut decided, mut kept) = (0, 0);
        for _ in 0..4_000 {
            // now and then for so long that flows stop sending, or to count
            let most = [1, 2, 40, 300, 3_000][rng.below(5) as usize];
            let most = if rng.below(8) == 0 { most } else { 1 };
            now += Duration::from_micros(1 + rng.below(1_000 * most));
            let is_superseded = rng.below(3) == 0;
            for (flow, of) in telemetry.iter_mut().enumerate() {
                if is_superseded || rng.below(6) > 0 {
                    continue;
                }
                let left = of.wan_arrived.saturating_sub(of.ran_acked).get();
                of.ran_acked += Bytes::new(rng.below(left + 1));
                of.wan_arrived += Bytes::new(rng.below(3) * 2_896);
                of.wan_min_rtt = Some(Duration::from_millis(4 + flow as u64));
                of.wan_srtt = of.wan_min_rtt;
                of.ran_min_rtt = Some(Duration::from_millis(8));
                of.ran_in_flight = of.wan_arrived.saturating_sub(of.ran_acked);
                let of = *of;
                pair.on(|policy| policy.on_telemetry(now, FlowId(flow as u64), &of));
            }
            let mut of = report(&[rng.below(40) as u16; UES as usize]);
            for ue in &mut of.ues {
                ue.timestamp = now;
                ue.rlc_queue_bytes = Bytes::new(rng.below(40_000));
            }
            let of = checked(of);
            let is_kept = |ue: &super::Ue| !ue.has_moved && now < ue.survey.until;
            kept += pair.0[0].ues.values().filter(|ue| is_kept(ue)).count();
            let [found, expected] = pair.on(|policy| match is_superseded {
                true => policy.on_superseded_report(now, &of),
                false => policy.on_report(now, &of),
            });
            assert_eq!(found, expected, "at {now}");
            decided += found.len();
            for ue in (1..=UES).map(Rnti) {
                let [found, expected] = pair.0.each_ref().map(|policy| policy.unsplit(now, ue));
                assert_eq!(found, expected, "at {now}");
            }
        }
        assert!(decided > 1_000 && kept > 4_000, "{decided}, {kept}");
    }
}
