//! Mode `paper`: the equations of section 3.4, nothing else.
//!
//! Source: Diarra et al., "RAPID", Computer Networks 218 (2022), equations 4 to 13. Windows in
//! bytes, rates in byte/s, times in seconds.
//!
//! *Readings* (where the text leaves a choice):
//! - N counts open flows; finished ones leave it at once.
//! - K (eq. 7) is not rounded: the categorisation period lasts K smoothed WAN round trips.
//! - r in "r < 80 % of R" is the sample of the last round trip of the period, r^ its average (eq. 9).
//! - The average of eq. 9 begins anew with each period: the demand is "based on the observed arrival rates during the
//!   categorization period". [`Reading::AllRates`] lets it go on, as "the exponential moving average of all the past
//!   arrival rates" can be taken.
//! - A_ij of eq. 11 is the difference of the last two windows, as printed. A flow that stays slow
//!   therefore releases less and less, and one found fast again releases nothing.
//! - A period begins with the last change of the window, so that raising a fast flow (eq. 13) begins
//!   a new period for it; a change below one MSS is none.
//! - The window towards the UE is the same rate times the RTTmin there, which is one value of each categorisation
//!   period, averaged over periods with weight 1/8 for the new (section 5.3: "a smoothed RTTmin value that takes into
//!   account the minimum RTT estimated during each categorization period"). That value is the least *smoothed* RTT of the
//!   period, which the kernel estimates; [`Reading::PeriodMinimum`] takes the least sample.
//! - A flow of which more than its window waits in the proxy is not slow: there the proxy, and not the
//!   server, holds it back. The paper's proxy has no bound on its buffer, so that it never does; ours
//!   closes the server's window when its buffer is full, and without this reading eq. 10 can cut
//!   the window of a flow because its window has been cut. [`Reading::HeldIsSlow`] is without it.
//! - Without a fresh report the last capacity stands: the paper does not state it.

mod equations;

use crate::allocator::{Allocator, Decision, FlowId, FlowOpened, FlowTelemetry, WanWindow};
use crate::unsplit::{self, Unsplit};
use crate::{AllocatorConfig, Reading, capacity};
use cc::Allocation;
use equations::{
    average_rate, expected_rate, fast_window, initial_window, rounds_to_reach, slow_window,
};
use rnis::Rnti;
use rnis::intake::CheckedReport;
use std::collections::{BTreeMap, VecDeque};
use units::{BitRate, Bytes, Duration, Instant};

/// Weight of a period's least RTT towards the UE in its average (section 5.3; RFC 6298's alpha).
const RAN_RTT_WEIGHT: f64 = 1.0 / 8.0;

/// The current categorisation period.
#[derive(Debug, Clone, Copy)]
struct Period {
    ends_at: Instant,
    next_sample_at: Instant,
    sampled_at: Instant,
    sampled_bytes: Bytes,
    /// r of the last round trip, byte/s; none before the first has passed.
    rate: Option<f64>,
    /// r^ of eq. 9, byte/s.
    average_rate: Option<f64>,
    /// Least RTT towards the UE in this period: smoothed, or of samples.
    ran_min_rtt: Option<Duration>,
}

#[derive(Debug)]
struct Flow {
    ue: Rnti,
    place: u32,
    mss: Bytes,
    telemetry: FlowTelemetry,
    /// RW_ij, bytes; 0 before the first allocation.
    window: f64,
    /// A_ij of eq. 11, bytes; 0 unless the flow is slow.
    released: f64,
    is_slow: bool,
    /// RTTmin towards the UE, averaged over periods, seconds.
    ran_rtt: Option<f64>,
    /// None until the first window could be computed.
    period: Option<Period>,
}

impl Flow {
    fn wan_rtts(&self) -> Option<(Duration, Duration)> {
        let min = self.telemetry.wan_min_rtt.filter(|rtt| !rtt.is_zero())?;
        Some((min, self.telemetry.wan_srtt.unwrap_or(min).max(min)))
    }

    /// Begins a period; the average of eq. 9 begins anew, or goes on.
    fn begin_period(&mut self, now: Instant, goes_on: bool) {
        let Some((_, srtt)) = self.wan_rtts() else {
            return;
        };
        let rounds = rounds_to_reach(self.window, self.mss);
        self.period = Some(Period {
            ends_at: now + srtt.mul_f64(rounds),
            next_sample_at: now + srtt,
            sampled_at: now,
            sampled_bytes: self.telemetry.wan_arrived,
            rate: None,
            average_rate: self.period.and_then(|p| p.average_rate).filter(|_| goes_on),
            ran_min_rtt: None,
        });
    }

    /// The window towards the UE: the same rate over the RTTmin there.
    fn ran_window(&self, config: &AllocatorConfig) -> Bytes {
        let rtt = self
            .ran_rtt
            .or(self.telemetry.ran_min_rtt.map(Duration::as_secs_f64));
        match (rtt, self.wan_rtts()) {
            (Some(ran), Some((wan_min, _))) => {
                Bytes::new((self.window / wan_min.as_secs_f64() * ran) as u64).max(self.mss)
            }
            _ => config.initial_ran_window,
        }
    }
}

/// The allocator of the paper.
#[derive(Debug)]
pub(crate) struct Paper {
    config: AllocatorConfig,
    capacity: BTreeMap<Rnti, BitRate>,
    /// What waited in the base station at the last report, and when that was made.
    queues: BTreeMap<Rnti, (Bytes, Instant)>,
    flows: BTreeMap<FlowId, Flow>,
    decisions: VecDeque<Decision>,
}

impl Paper {
    pub(crate) fn new(config: AllocatorConfig) -> Self {
        Self {
            config,
            capacity: BTreeMap::new(),
            queues: BTreeMap::new(),
            flows: BTreeMap::new(),
            decisions: VecDeque::new(),
        }
    }

    /// N, N - Z and A_i (eq. 12) of a UE.
    fn census(&self, ue: Rnti) -> (usize, usize, f64) {
        let of_ue = || self.flows.values().filter(|f| f.ue == ue);
        let fast = of_ue().filter(|f| !f.is_slow).count();
        (of_ue().count(), fast, of_ue().map(|f| f.released).sum())
    }

    /// Eq. 4 for this flow, if all that it needs is known.
    fn fresh_window(&self, id: FlowId) -> Option<f64> {
        let flow = &self.flows[&id];
        let capacity = *self.capacity.get(&flow.ue)?;
        let (rtt_min, _) = flow.wan_rtts()?;
        let (n, _, _) = self.census(flow.ue);
        Some(initial_window(capacity, n, rtt_min).max(flow.mss.get() as f64))
    }

    fn set_window(&mut self, now: Instant, id: FlowId, window: f64) {
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        flow.window = window;
        flow.begin_period(now, self.config.reads(Reading::AllRates));
        self.decide(id);
    }

    fn decide(&mut self, id: FlowId) {
        let flow = &self.flows[&id];
        self.decisions.push_back(Decision {
            flow: id,
            place: flow.place,
            wan_window: WanWindow::Fixed(Bytes::new(flow.window as u64)),
            ran: Allocation {
                window: flow.ran_window(&self.config),
                pacing_rate: None,
            },
            is_slow: flow.is_slow,
        });
    }

    /// First window of a flow, as soon as capacity and RTT are known.
    fn try_start(&mut self, now: Instant, id: FlowId) {
        if self.flows.get(&id).is_some_and(|f| f.period.is_none())
            && let Some(window) = self.fresh_window(id)
        {
            self.set_window(now, id, window);
        }
    }

    /// One arrival-rate sample (eq. 9), and the end of the period if it has come.
    fn on_round(&mut self, now: Instant, id: FlowId) {
        let alpha = self.config.arrival_alpha;
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let Some((_, srtt)) = flow.wan_rtts() else {
            return;
        };
        let arrived = flow.telemetry.wan_arrived;
        let Some(period) = flow.period.as_mut() else {
            return;
        };
        let elapsed = now.saturating_since(period.sampled_at);
        if now >= period.next_sample_at && !elapsed.is_zero() {
            let bytes = arrived.saturating_sub(period.sampled_bytes);
            let rate = bytes.get() as f64 / elapsed.as_secs_f64();
            period.rate = Some(rate);
            period.average_rate = Some(average_rate(period.average_rate, rate, alpha));
            period.sampled_at = now;
            period.sampled_bytes = arrived;
            period.next_sample_at = now + srtt;
        }
        if now >= period.ends_at && period.rate.is_some() {
            self.categorise(now, id);
        }
    }

    fn categorise(&mut self, now: Instant, id: FlowId) {
        let threshold = self.config.slow_threshold;
        let held_is_slow = self.config.reads(Reading::HeldIsSlow);
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let (Some(period), Some((_, srtt))) = (flow.period, flow.wan_rtts()) else {
            return;
        };
        let Some(rate) = period.rate else {
            return;
        };
        if let Some(rtt) = period.ran_min_rtt.map(Duration::as_secs_f64) {
            let old = flow.ran_rtt.unwrap_or(rtt);
            flow.ran_rtt = Some(old + RAN_RTT_WEIGHT * (rtt - old));
        }
        let expected = expected_rate(flow.window, srtt);
        let ue = flow.ue;
        let released_before = flow.released;
        let is_held_here = !held_is_slow && flow.telemetry.buffered.get() as f64 > flow.window;
        if rate < threshold * expected && !is_held_here {
            let average = period.average_rate.unwrap_or(rate);
            let window = slow_window(flow.window, average, expected, flow.mss);
            flow.released = (flow.window - window).abs(); // eq. 11
            flow.is_slow = true;
            self.set_window(now, id, window);
        } else {
            flow.released = 0.0;
            flow.is_slow = false;
            let (_, fast, released) = self.census(ue);
            if let Some(initial) = self.fresh_window(id) {
                self.set_window(now, id, fast_window(initial, released, fast));
            }
        }
        if self.flows[&id].released != released_before {
            self.raise_others(now, ue, id);
        }
    }

    /// Every change of A_i reaches the UE's other fast flows at once (eq. 13).
    fn raise_others(&mut self, now: Instant, ue: Rnti, except: FlowId) {
        let (_, fast, released) = self.census(ue);
        let others: Vec<FlowId> = self
            .flows
            .iter()
            .filter(|(id, f)| **id != except && f.ue == ue && !f.is_slow && f.period.is_some())
            .map(|(id, _)| *id)
            .collect();
        for id in others {
            if let Some(initial) = self.fresh_window(id) {
                let window = fast_window(initial, released, fast);
                let flow = &self.flows[&id];
                if (window - flow.window).abs() >= flow.mss.get() as f64 {
                    self.set_window(now, id, window);
                }
            }
        }
    }
}

impl Allocator for Paper {
    fn on_report(&mut self, now: Instant, report: &CheckedReport) {
        self.on_superseded_report(now, report);
        let waiting: Vec<FlowId> = self
            .flows
            .iter()
            .filter(|(_, f)| f.period.is_none())
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            self.try_start(now, id);
        }
    }

    fn on_superseded_report(&mut self, now: Instant, report: &CheckedReport) {
        for ue in &report.ues {
            let prb = report.expected_prb(ue);
            self.capacity
                .insert(ue.rnti, capacity::capacity(report, ue.quality, prb));
            let reported = (ue.rlc_queue_bytes, ue.timestamp.min(now));
            self.queues.insert(ue.rnti, reported);
        }
    }

    fn on_flow_open(&mut self, now: Instant, id: FlowId, opened: FlowOpened) {
        self.flows.insert(
            id,
            Flow {
                ue: opened.ue,
                place: opened.place,
                mss: opened.mss,
                telemetry: FlowTelemetry::default(),
                window: 0.0,
                released: 0.0,
                is_slow: false,
                ran_rtt: None,
                period: None,
            },
        );
        self.try_start(now, id);
    }

    fn on_flow_close(&mut self, now: Instant, id: FlowId) {
        let Some(closed) = self.flows.remove(&id) else {
            return;
        };
        if closed.released > 0.0 {
            self.raise_others(now, closed.ue, id);
        }
    }

    fn on_telemetry(&mut self, now: Instant, id: FlowId, telemetry: &FlowTelemetry) {
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let first_ran_rtt = flow.telemetry.ran_min_rtt.is_none() && telemetry.ran_min_rtt.is_some();
        flow.telemetry = *telemetry;
        let started = flow.period.is_some();
        let ran_rtt = match self.config.reads(Reading::PeriodMinimum) {
            true => telemetry.ran_rtt.or(telemetry.ran_srtt),
            false => telemetry.ran_srtt,
        };
        if let (Some(period), Some(rtt)) = (flow.period.as_mut(), ran_rtt) {
            period.ran_min_rtt = Some(period.ran_min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if !started {
            self.try_start(now, id);
        } else if first_ran_rtt {
            self.decide(id);
        }
    }

    /// The least round-trip time of a period begins anew with it.
    fn takes_unchanged(&self) -> bool {
        true
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.flows
            .values()
            .filter_map(|f| f.period)
            .map(|p| {
                if p.rate.is_some() {
                    p.next_sample_at.min(p.ends_at)
                } else {
                    p.next_sample_at
                }
            })
            .min()
    }

    fn on_deadline(&mut self, now: Instant) {
        let due: Vec<FlowId> = self
            .flows
            .iter()
            .filter(|(_, f)| {
                f.period
                    .is_some_and(|p| p.next_sample_at.min(p.ends_at) <= now)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.on_round(now, id);
        }
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn capacity(&self, ue: Rnti) -> Option<BitRate> {
        self.capacity.get(&ue).copied()
    }

    /// Equation 3 for the capacity; the demand of a slow flow is eq. 9's.
    fn unsplit(&self, _now: Instant, ue: Rnti) -> Option<Unsplit> {
        let (queue, reported_at) = *self.queues.get(&ue)?;
        let demand = |flow: &Flow| match flow.period.and_then(|period| period.average_rate) {
            Some(rate) if flow.is_slow => rate,
            _ => f64::INFINITY,
        };
        let of_ue = self.flows.values().filter(|flow| flow.ue == ue);
        Some(Unsplit::new(
            self.capacity.get(&ue)?.as_bps() as f64 / 8.0,
            of_ue.map(demand).collect(),
            unsplit::Queue::Common(queue.get() as f64),
            reported_at,
            false,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::test_support::{checked, report};

    const MSS: Bytes = Bytes::new(1440);

    /// Two flows of one UE: one arrives as fast as its window allows, one at a tenth.
    #[test]
    fn a_slow_flow_is_found_and_what_it_leaves_goes_to_the_fast_one() {
        let mut paper = Paper::new(AllocatorConfig::new(Mode::Paper));
        let rtt = Duration::from_millis(4);
        let mut now = Instant::ZERO;
        paper.on_report(now, &checked(report(&[132])));
        let (fast, slow) = (FlowId(1), FlowId(2));
        for id in [fast, slow] {
            paper.on_flow_open(
                now,
                id,
                FlowOpened {
                    ue: Rnti(1),
                    mss: MSS,
                    place: 0,
                },
            );
        }
        let mut windows = BTreeMap::new();
        let (mut arrived_fast, mut arrived_slow) = (0.0, 0.0);
        let mut raised = 0.0f64;
        let mut was_slow = false;
        for step in 0..400u64 {
            now = Instant::ZERO + Duration::from_micros(250) * step;
            let fill = Duration::from_micros(250).as_secs_f64() / rtt.as_secs_f64();
            arrived_fast += windows.get(&fast).copied().unwrap_or(0.0) * fill;
            arrived_slow += 213_000.0 * 0.1 * fill;
            for (id, arrived) in [(fast, arrived_fast), (slow, arrived_slow)] {
                let telemetry = FlowTelemetry {
                    wan_arrived: Bytes::new(arrived as u64),
                    wan_min_rtt: Some(rtt),
                    wan_srtt: Some(rtt),
                    ran_min_rtt: Some(Duration::from_millis(1)),
                    ..FlowTelemetry::default()
                };
                paper.on_telemetry(now, id, &telemetry);
            }
            paper.on_deadline(now);
            while let Some(d) = paper.poll_decision() {
                windows.insert(d.flow, d.wan_window.shown(Bytes::ZERO).get() as f64);
                if d.flow == slow && d.is_slow {
                    was_slow = true;
                }
                if d.flow == fast {
                    assert!(!d.is_slow);
                    raised = raised.max(d.wan_window.shown(Bytes::ZERO).get() as f64);
                    // the same rate over a quarter of the RTT
                    assert!(
                        (d.ran.window.get() as f64
                            - d.wan_window.shown(Bytes::ZERO).get() as f64 / 4.0)
                            .abs()
                            < 2.0
                    );
                }
            }
        }
        // eq. 4 alone: 852.608 Mbit/s / 2 * 4 ms = 213152 B; with what the slow one releases: about
        // 213152 * (1 + 0.9)
        assert!(was_slow);
        assert!(
            raised > 213_152.0 * 1.8 && raised < 213_152.0 * 1.95,
            "{raised}"
        );
    }

    #[test]
    fn finished_flows_are_not_counted() {
        let mut paper = Paper::new(AllocatorConfig::new(Mode::Paper));
        paper.on_report(Instant::ZERO, &checked(report(&[132])));
        for id in 0..4 {
            paper.on_flow_open(
                Instant::ZERO,
                FlowId(id),
                FlowOpened {
                    ue: Rnti(1),
                    mss: MSS,
                    place: 0,
                },
            );
        }
        assert_eq!(paper.census(Rnti(1)).0, 4);
        paper.on_flow_close(Instant::ZERO, FlowId(2));
        assert_eq!(paper.census(Rnti(1)).0, 3);
    }

    /// One flow whose round trip towards the server is 10 ms, of which so much arrives in each millisecond and whose
    /// round trip towards the UE is measured as given.
    fn paced(
        readings: &[Reading],
        steps: u64,
        arrives: impl Fn(u64) -> u64,
        ran: impl Fn(u64) -> (u64, u64),
    ) -> Paper {
        let mut paper = Paper::new(AllocatorConfig {
            readings: readings.to_vec(),
            ..AllocatorConfig::new(Mode::Paper)
        });
        let rtt = Duration::from_millis(10);
        let opened = FlowOpened {
            ue: Rnti(1),
            mss: MSS,
            place: 0,
        };
        paper.on_report(Instant::ZERO, &checked(report(&[132])));
        paper.on_flow_open(Instant::ZERO, FlowId(1), opened);
        let mut arrived = 0;
        for step in 0..steps {
            let now = Instant::ZERO + Duration::from_millis(step);
            arrived += arrives(step);
            let (smoothed, sample) = ran(step);
            let telemetry = FlowTelemetry {
                wan_arrived: Bytes::new(arrived),
                wan_min_rtt: Some(rtt),
                wan_srtt: Some(rtt),
                ran_min_rtt: Some(Duration::from_millis(1)),
                ran_srtt: Some(Duration::from_millis(smoothed)),
                ran_rtt: Some(Duration::from_millis(sample)),
                ..FlowTelemetry::default()
            };
            paper.on_telemetry(now, FlowId(1), &telemetry);
            paper.on_deadline(now);
        }
        paper
    }

    #[test]
    fn section_5_3_the_least_of_a_period_is_smoothed_or_a_sample() {
        // eq. 4: 852.608 Mbit/s x 10 ms = 1065760 B, K = log2(740.1) + 1 = 10.53: the first period ends at 105.3 ms
        let ran = |step: u64| (20 - step.min(5), if step == 50 { 3 } else { 12 });
        let rtt = |readings: &[Reading]| {
            let paper = paced(readings, 120, |_| 106_576, ran);
            paper.flows[&FlowId(1)].ran_rtt.expect("a period has ended")
        };
        assert!((rtt(&[]) - 15e-3).abs() < 1e-9);
        assert!((rtt(&[Reading::PeriodMinimum]) - 3e-3).abs() < 1e-9);
    }

    #[test]
    fn eq_9_begins_anew_with_a_period_or_goes_on() {
        // a tenth of the link in the first period, nothing in the second's first round trip
        let arrives = |step: u64| if step <= 106 { 10_657 } else { 0 };
        let average = |readings: &[Reading]| {
            let paper = paced(readings, 118, arrives, |_| (1, 1));
            let period = paper.flows[&FlowId(1)].period.expect("a second period");
            assert!(period.rate.is_some(), "one round trip has passed");
            period.average_rate.expect("it has a sample")
        };
        let (anew, on) = (average(&[]), average(&[Reading::AllRates]));
        // 1/8 of the tenth of 106.6 MB/s, which is 10.66 MB/s, is left of the first period
        assert!(anew < 0.2 * 10.66e6, "{anew}");
        assert!(
            (on - anew - 10.66e6 / 8.0).abs() < 0.05 * 10.66e6,
            "{on} {anew}"
        );
    }
}
