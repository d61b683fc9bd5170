//! Mode `paper`: the equations of section 3.4, nothing else.
//!
//! Source: Diarra et al., "RAPID", Computer Networks 218 (2022), equations 4 to 13. Windows in
//! bytes, rates in byte/s, times in seconds.
//!
//! *Readings* (where the text leaves a choice):
//! - N counts open flows; finished ones leave it at once.
//! - K (eq. 7) is not rounded: the categorisation period lasts K smoothed WAN round trips.
//! - r in "r < 80 % of R" is the sample of the last round trip of the period, r^ its average (eq. 9).
//! - A_ij of eq. 11 is the difference of the last two windows, as printed. A flow that stays slow
//!   therefore releases less and less, and one found fast again releases nothing.
//! - A period begins with the last change of the window, so that raising a fast flow (eq. 13) begins
//!   a new period for it; a change below one MSS is none.
//! - The window towards the UE is the same rate times the RTTmin there, which is the least smoothed
//!   RTT of each categorisation period, averaged over periods with weight 1/8 for the new (section
//!   5.3: "a smoothed RTTmin value that takes into account the minimum RTT estimated during each
//!   categorization period").
//! - A flow of which more than its window waits in the proxy is not slow: there the proxy, and not the
//!   server, holds it back. The paper's proxy has no bound on its buffer, so that it never does; ours
//!   closes the server's window when its buffer is full, and without this reading eq. 10 would cut
//!   the window of a flow again and again because its window had been cut.
//! - Without a fresh report the last capacity stands: the paper does not say.

use crate::allocator::{Decision, FlowId, FlowOpened, FlowTelemetry, Policy, WanWindow};
use crate::{AllocatorConfig, capacity};
use cc::Allocation;
use rnis::{RadioReport, Rnti};
use std::collections::{BTreeMap, VecDeque};
use units::{BitRate, Bytes, Duration, Instant};

/// Weight of a period's least RTT towards the UE in its average (section 5.3; RFC 6298's alpha).
const RAN_RTT_WEIGHT: f64 = 1.0 / 8.0;

/// Eq. 4: the initial receive window, bytes.
fn initial_window(capacity: BitRate, flows: usize, rtt_min: Duration) -> f64 {
    capacity.as_bps() as f64 / 8.0 / flows as f64 * rtt_min.as_secs_f64()
}

/// Eq. 7: round trips until exponential growth from one segment reaches the window; at least 1.
fn rounds_to_reach(window: f64, mss: Bytes) -> f64 {
    ((window / mss.get() as f64).log2() + 1.0).max(1.0)
}

/// Eq. 8: the arrival rate that a flow with this window should reach, byte/s.
fn expected_rate(window: f64, wan_srtt: Duration) -> f64 {
    window / wan_srtt.as_secs_f64()
}

/// Eq. 9: the moving average of the arrival rate.
fn average_rate(previous: Option<f64>, sample: f64, alpha: f64) -> f64 {
    previous.map_or(sample, |p| alpha * p + (1.0 - alpha) * sample)
}

/// Eq. 10: the window of a slow flow, at least one segment.
fn slow_window(window: f64, average_rate: f64, expected_rate: f64, mss: Bytes) -> f64 {
    (window * average_rate / expected_rate).max(mss.get() as f64)
}

/// Eq. 13: the window of a fast flow.
fn fast_window(initial_window: f64, released: f64, fast_flows: usize) -> f64 {
    initial_window + released / fast_flows.max(1) as f64
}

/// The current categorisation period.
#[derive(Debug, Clone, Copy)]
struct Period {
    ends_at: Instant,
    next_sample_at: Instant,
    sampled_at: Instant,
    sampled_bytes: Bytes,
    /// r of the last round trip, byte/s.
    rate: f64,
    /// r^ of eq. 9, byte/s.
    average_rate: Option<f64>,
    /// Least smoothed RTT towards the UE in this period.
    ran_min_rtt: Option<Duration>,
}

#[derive(Debug)]
struct Flow {
    ue: Rnti,
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

    fn begin_period(&mut self, now: Instant) {
        let Some((_, srtt)) = self.wan_rtts() else {
            return;
        };
        let rounds = rounds_to_reach(self.window, self.mss);
        self.period = Some(Period {
            ends_at: now + srtt.mul_f64(rounds),
            next_sample_at: now + srtt,
            sampled_at: now,
            sampled_bytes: self.telemetry.wan_arrived,
            rate: 0.0,
            average_rate: None,
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
    flows: BTreeMap<FlowId, Flow>,
    decisions: VecDeque<Decision>,
}

impl Paper {
    pub(crate) fn new(config: AllocatorConfig) -> Self {
        Self {
            config,
            capacity: BTreeMap::new(),
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
        flow.begin_period(now);
        self.decide(id);
    }

    fn decide(&mut self, id: FlowId) {
        let flow = &self.flows[&id];
        self.decisions.push_back(Decision {
            flow: id,
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
            period.rate = bytes.get() as f64 / elapsed.as_secs_f64();
            period.average_rate = Some(average_rate(period.average_rate, period.rate, alpha));
            period.sampled_at = now;
            period.sampled_bytes = arrived;
            period.next_sample_at = now + srtt;
        }
        if now >= period.ends_at && period.average_rate.is_some() {
            self.categorise(now, id);
        }
    }

    fn categorise(&mut self, now: Instant, id: FlowId) {
        let threshold = self.config.slow_threshold;
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let (Some(period), Some((_, srtt))) = (flow.period, flow.wan_rtts()) else {
            return;
        };
        if let Some(rtt) = period.ran_min_rtt.map(Duration::as_secs_f64) {
            let old = flow.ran_rtt.unwrap_or(rtt);
            flow.ran_rtt = Some(old + RAN_RTT_WEIGHT * (rtt - old));
        }
        let expected = expected_rate(flow.window, srtt);
        let ue = flow.ue;
        let released_before = flow.released;
        let is_held_here = flow.telemetry.buffered.get() as f64 > flow.window;
        if period.rate < threshold * expected && !is_held_here {
            let average = period.average_rate.unwrap_or(period.rate);
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

impl Policy for Paper {
    fn on_report(&mut self, now: Instant, report: &RadioReport) {
        for ue in &report.ues {
            let prb = report.expected_prb(ue);
            self.capacity
                .insert(ue.rnti, capacity::capacity(report, ue.quality, prb));
        }
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

    fn on_flow_open(&mut self, now: Instant, id: FlowId, opened: FlowOpened) {
        self.flows.insert(
            id,
            Flow {
                ue: opened.ue,
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
        if let (Some(period), Some(rtt)) = (flow.period.as_mut(), telemetry.ran_srtt) {
            period.ran_min_rtt = Some(period.ran_min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if !started {
            self.try_start(now, id);
        } else if first_ran_rtt {
            self.decide(id);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.flows
            .values()
            .filter_map(|f| f.period)
            .map(|p| {
                if p.average_rate.is_some() {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::test_support::report;

    const MSS: Bytes = Bytes::new(1440);

    #[test]
    fn eq_4_the_papers_cell_two_flows_one_ms() {
        // 852.608 Mbit/s / 2 * 1 ms = 53288 B
        let w = initial_window(BitRate::from_bps(852_608_000), 2, Duration::from_millis(1));
        assert!((w - 53_288.0).abs() < 0.5, "{w}");
    }

    #[test]
    fn eq_7_doubling_from_one_segment() {
        assert_eq!(rounds_to_reach(1440.0, MSS), 1.0);
        assert_eq!(rounds_to_reach(1440.0 * 8.0, MSS), 4.0);
        assert_eq!(rounds_to_reach(100.0, MSS), 1.0);
    }

    #[test]
    fn eq_8_to_10_a_flow_that_uses_half() {
        let expected = expected_rate(100_000.0, Duration::from_millis(10));
        assert!((expected - 10_000_000.0).abs() < 1.0);
        // samples 1, 5, 5 MB/s: r^ = 1/8 * (1/8 * 1 + 7/8 * 5) + 7/8 * 5
        let mut average = None;
        for sample in [1e6, 5e6, 5e6] {
            average = Some(average_rate(average, sample, 1.0 / 8.0));
        }
        assert!((average.unwrap() - 4_937_500.0).abs() < 1.0);
        let w = slow_window(100_000.0, average.unwrap(), expected, MSS);
        assert!((w - 49_375.0).abs() < 0.5);
    }

    #[test]
    fn eq_13_released_window_goes_to_fast_flows_in_equal_parts() {
        assert_eq!(fast_window(50_000.0, 30_000.0, 3), 60_000.0);
    }

    /// Two flows of one UE: one arrives as fast as its window allows, one at a tenth.
    #[test]
    fn a_slow_flow_is_found_and_what_it_leaves_goes_to_the_fast_one() {
        let mut paper = Paper::new(AllocatorConfig::new(Mode::Paper));
        let rtt = Duration::from_millis(4);
        let mut now = Instant::ZERO;
        paper.on_report(now, &report(&[132]));
        let (fast, slow) = (FlowId(1), FlowId(2));
        for id in [fast, slow] {
            paper.on_flow_open(
                now,
                id,
                FlowOpened {
                    ue: Rnti(1),
                    mss: MSS,
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
        paper.on_report(Instant::ZERO, &report(&[132]));
        for id in 0..4 {
            paper.on_flow_open(
                Instant::ZERO,
                FlowId(id),
                FlowOpened {
                    ue: Rnti(1),
                    mss: MSS,
                },
            );
        }
        assert_eq!(paper.census(Rnti(1)).0, 4);
        paper.on_flow_close(Instant::ZERO, FlowId(2));
        assert_eq!(paper.census(Rnti(1)).0, 3);
    }
}
