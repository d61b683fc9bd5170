//! Mode `default`: the paper's idea with a closed loop round the radio queue.
//!
//! Source of the idea: Diarra et al., "RAPID", section 3; of the rest: ours, described with
//! measurements in `docs/algorithms/rapid.md`. Rates in byte/s, times in seconds.
//!
//! What differs from mode `paper`, and why; each is a [`crate::Part`] that can be left out:
//! 1. *Payload, not transport blocks.* Equation 3 counts headers and HARQ repetitions as capacity. We
//!    learn from the reports themselves which share of the transport blocks arrives as IP bytes, while
//!    the queue is never empty; what of that is TCP and IP headers, point 5 takes away.
//! 2. *Demand and share apart.* A flow's demand is what it lately sent and a headroom; shares are
//!    max-min fair. A slow flow keeps the window of its fair share, so that its next burst is
//!    not held up; what it does not use is given to the others as a share, not taken as its limit.
//! 3. *Windows towards the UE share one budget*, R x T, where T is the time that data needs to be
//!    acknowledged with the needed queue standing in the RLC. T is controlled by the reported queue, so
//!    that errors of RTTmin (scheduling requests, HARQ) neither starve the radio nor fill it.
//! 4. *The window towards the server is one for all that is on its way or waiting here*: its BDP and a
//!    small standing store, which grows only for flows whose sender is found to run dry (BBR's
//!    drain phases), and shrinks again.
//! 5. *Unintercepted traffic is seen* as served bytes that no flow of ours accounts for, and is left its
//!    rate, at most one more equal share, and its queue is not taken for ours (`beside.rs`).
//! 6. *Unused PRBs are shared* among the UEs that send, no UE counts on less than an equal part of
//!    the cell, and one that does not send counts on all others starting with it.
//! 7. *Without reports* the capacity is taken to be what was lately delivered and a quarter, at most the
//!    last that was reported: that keeps the pipe full, and the queue cannot grow by more.
//! 8. *Windows are whole segments* whose sum is what was meant (`segments.rs`): a sender rounds down, and
//!    of many small windows much would be lost. What may be on its way from the server is no more than what
//!    is in flight to the UE leaves of both windows together.
//! 9. *Flows take turns* (`turns.rs`) where less than two segments is the part of each.
//! 10. *A queue stands for the radio's variation* (`variation.rs`): as much as what was lost without one requires.
//! 11. *A link before the radio may be narrower* (`narrow.rs`): then the rate is bounded by what it is found to carry.

mod beside;
mod cell;
mod efficiency;
mod flow;
mod flows;
mod narrow;
mod segments;
mod turnaround;
mod turns;
mod ue;
mod variation;

use crate::allocator::{Allocator, Decision, FlowId, FlowOpened, FlowTelemetry};
use crate::share::max_min;
use crate::{AllocatorConfig, Learnt, Part, Unsplit};
use cell::CellLoad;
use flow::Flow;
use narrow::{Limit, Narrow, Path};
use rnis::Rnti;
use rnis::intake::CheckedReport;
use std::collections::{BTreeMap, VecDeque};
use ue::{Scratch, Ue};
use units::{BitRate, Duration, Instant};

/// Without reports the allocator runs at this period.
const TICK: Duration = Duration::from_millis(10);

/// Reports count what is served unless that is less than this part of what is acknowledged of ours.
const COUNTED: f64 = 0.1;

/// Whether reports count what is served, by two rates of a tenth of a second: a source may report a UE's rate and nothing else, and
/// a radio of which nothing is used would look as if something before it were the bottleneck.
fn is_served_counted(served: f64, acked: f64) -> bool {
    served >= COUNTED * acked
}

/// What each UE requests and has of a link before the radio, byte/s.
#[derive(Debug, Default)]
struct Limits {
    demands: Vec<f64>,
    shares: Vec<f64>,
}

/// Our allocator.
#[derive(Debug)]
pub(crate) struct DefaultMode {
    config: AllocatorConfig,
    ues: BTreeMap<Rnti, Ue>,
    /// The UE of each flow.
    owners: BTreeMap<FlowId, Rnti>,
    decisions: VecDeque<Decision>,
    ran_at: Instant,
    scratch: Scratch,
    /// Memory that is used again from report to report.
    paths: Vec<Option<Path>>,
    limits: Limits,
    narrow: Narrow,
    /// Acknowledged by flows that have ended, and sent again by them, bytes.
    ended: (u64, u64),
}

impl DefaultMode {
    pub(crate) fn new(config: AllocatorConfig) -> Self {
        Self {
            config,
            ues: BTreeMap::new(),
            owners: BTreeMap::new(),
            decisions: VecDeque::new(),
            ran_at: Instant::ZERO,
            scratch: Scratch::default(),
            paths: Vec::new(),
            limits: Limits::default(),
            narrow: Narrow::default(),
            ended: (0, 0),
        }
    }

    /// Surveys all UEs: once for each report or deadline.
    fn survey(&mut self, now: Instant) {
        for ue in self.ues.values_mut() {
            ue.survey(now);
        }
    }

    /// Takes what a report has of each UE. They are in ascending order there as here, so that both are gone through
    /// side by side.
    fn learn(&mut self, now: Instant, report: &CheckedReport) {
        self.survey(now);
        let mut is_new = false;
        let mut known = self.ues.iter().peekable();
        let load = CellLoad::new(report, |of| {
            while known.next_if(|(rnti, _)| **rnti < of.rnti).is_some() {}
            match known.next_if(|(rnti, _)| **rnti == of.rnti) {
                Some((_, ue)) => (!ue.flows.is_empty(), ue.is_sending()),
                None => {
                    is_new = true;
                    (false, false)
                }
            }
        });
        if is_new {
            for of in &report.ues {
                self.ues.entry(of.rnti).or_insert_with(|| Ue::new(now));
            }
        }
        let mut reported = report.ues.iter().peekable();
        for (rnti, ue) in &mut self.ues {
            if let Some(of) = reported.next_if(|of| of.rnti == *rnti) {
                ue.observe(now, report, of, &load, &self.config);
            }
        }
    }

    /// Decides for all UEs, as they were surveyed.
    fn run(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.ran_at).as_secs_f64();
        self.ran_at = now;
        self.ues.retain(|_, ue| !ue.is_gone(now));
        if self.config.has(Part::NarrowLink) {
            self.learn_narrow(now, elapsed);
        }
        for ue in self.ues.values_mut() {
            ue.run(now, &self.config, &mut self.scratch, &mut self.decisions);
        }
    }

    /// (11) Whether a link before the radio carries less than that, and what each UE may have of it.
    fn learn_narrow(&mut self, now: Instant, elapsed: f64) {
        let Self { ues, paths, .. } = self;
        paths.clear();
        paths.extend(ues.values().map(|ue| ue.path(now, &self.config)));
        let Some(all) = Path::of_all(paths.iter().flatten(), self.ended) else {
            self.narrow.rest(elapsed);
            return;
        };
        let is_found = self.narrow.update(elapsed, &all);
        let limit = self.narrow.limit();
        let Limits { demands, shares } = &mut self.limits;
        shares.clear();
        if let Some(Limit::Bound(rate, _)) = limit {
            demands.clear();
            demands.extend(paths.iter().flatten().map(Path::demand));
            max_min(rate, demands, shares);
        }
        let mut shares = shares.iter().copied();
        for (ue, path) in ues.values_mut().zip(paths) {
            let limit = match limit {
                Some(Limit::Bound(_, factor)) if path.is_some() => {
                    shares.next().map(|share| Limit::Bound(share, factor))
                }
                Some(Limit::Trial(_)) if path.is_some() => limit,
                _ => None,
            };
            ue.set_limit(limit, is_found, all.base_time / all.min_time);
        }
    }

    /// As [`Self::run`], for the one UE whose flows have changed.
    fn run_one(&mut self, now: Instant, rnti: Rnti) {
        if let Some(ue) = self.ues.get_mut(&rnti) {
            ue.survey(now);
            ue.run(now, &self.config, &mut self.scratch, &mut self.decisions);
        }
    }
}

impl Allocator for DefaultMode {
    fn on_report(&mut self, now: Instant, report: &CheckedReport) {
        self.learn(now, report);
        self.run(now);
    }

    fn on_superseded_report(&mut self, now: Instant, report: &CheckedReport) {
        self.learn(now, report);
    }

    fn on_flow_open(&mut self, now: Instant, id: FlowId, opened: FlowOpened) {
        self.on_flow_close(now, id);
        let ue = self.ues.entry(opened.ue).or_insert_with(|| Ue::new(now));
        ue.insert(id, Flow::new(now, opened));
        self.owners.insert(id, opened.ue);
        self.run_one(now, opened.ue);
    }

    fn on_flow_learnt(&mut self, now: Instant, id: FlowId, learnt: &Learnt) {
        let Some(rnti) = self.owners.get(&id).copied() else {
            return;
        };
        if let Some(ue) = self.ues.get_mut(&rnti) {
            ue.learn(now, id, learnt);
        }
        self.run_one(now, rnti);
    }

    fn learnt(&self, id: FlowId) -> Option<Learnt> {
        self.ues.get(self.owners.get(&id)?)?.learnt(id)
    }

    fn on_flow_close(&mut self, now: Instant, id: FlowId) {
        if let Some(rnti) = self.owners.remove(&id) {
            if let Some(ue) = self.ues.get_mut(&rnti)
                && let Some((acked, resent)) = ue.remove(id)
            {
                self.ended.0 = self.ended.0.saturating_add(acked);
                self.ended.1 = self.ended.1.saturating_add(resent);
            }
            self.run_one(now, rnti);
        }
    }

    fn on_telemetry(&mut self, now: Instant, id: FlowId, telemetry: &FlowTelemetry) {
        let ue = self.owners.get(&id).and_then(|rnti| self.ues.get_mut(rnti));
        if let Some(ue) = ue {
            ue.measured(now, id, telemetry);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        (!self.owners.is_empty()).then(|| self.ran_at + TICK)
    }

    fn takes_unchanged(&self) -> bool {
        false
    }

    fn on_deadline(&mut self, now: Instant) {
        self.survey(now);
        self.run(now);
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn capacity(&self, ue: Rnti) -> Option<BitRate> {
        self.ues.get(&ue).map(Ue::capacity)
    }

    fn unsplit(&self, now: Instant, ue: Rnti) -> Option<Unsplit> {
        self.ues.get(&ue).map(|ue| ue.unsplit(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::test_support::{checked, report};
    use units::Bytes;

    #[test]
    fn what_waits_of_our_flows_is_what_they_have_in_flight_and_no_more_than_waits() {
        let waiting = |in_flight: u64| {
            let mut policy = DefaultMode::new(AllocatorConfig::new(Mode::Default));
            policy.on_report(Instant::from_nanos(1_000_000), &checked(report(&[0])));
            let (flow, opened_at) = (FlowId(1), Instant::from_nanos(2_000_000));
            let mss = Bytes::new(1440);
            policy.on_flow_open(
                opened_at,
                flow,
                FlowOpened {
                    ue: Rnti(1),
                    mss,
                    place: 0,
                },
            );
            let telemetry = FlowTelemetry {
                ran_min_rtt: Some(Duration::from_millis(1)),
                ran_in_flight: Bytes::new(in_flight),
                ..FlowTelemetry::default()
            };
            policy.on_telemetry(opened_at, flow, &telemetry);
            let mut queued = report(&[0]);
            queued.ues[0].rlc_queue_bytes = Bytes::new(20_000);
            let now = Instant::from_nanos(3_000_000);
            policy.on_report(now, &checked(queued));
            let of = policy.unsplit(now, Rnti(1)).expect("it is known");
            let bytes = of.own_wait.as_secs_f64() * of.capacity.as_bps() as f64 / 8.0;
            bytes.round()
        };
        // nothing has been delivered yet, so that all in flight waits
        assert!(
            (4_990.0..=5_010.0).contains(&waiting(5_000)),
            "{}",
            waiting(5_000)
        );
        assert!(
            (19_990.0..=20_010.0).contains(&waiting(90_000)),
            "{}",
            waiting(90_000)
        );
        assert_eq!(waiting(0), 0.0);
    }

    #[test]
    fn a_new_flow_of_an_idle_cell_is_not_shown_what_it_cannot_use_yet() {
        let window = |arrived: u64, without: Vec<Part>| {
            let mut config = AllocatorConfig::new(Mode::Default);
            config.without = without;
            let mut policy = DefaultMode::new(config);
            policy.on_report(Instant::from_nanos(1_000_000), &checked(report(&[0])));
            let flow = FlowId(1);
            let mss = Bytes::new(1440);
            let opened_at = Instant::from_nanos(2_000_000);
            policy.on_flow_open(
                opened_at,
                flow,
                FlowOpened {
                    ue: Rnti(1),
                    mss,
                    place: 0,
                },
            );
            let telemetry = FlowTelemetry {
                wan_arrived: Bytes::new(arrived),
                wan_min_rtt: Some(Duration::from_secs(1)),
                ran_min_rtt: Some(Duration::from_millis(1)),
                ..FlowTelemetry::default()
            };
            policy.on_telemetry(opened_at, flow, &telemetry);
            policy.on_report(Instant::from_nanos(3_000_000), &checked(report(&[0])));
            let decisions = std::iter::from_fn(|| policy.poll_decision());
            let last = decisions.last().expect("a decision");
            last.wan_window.shown(Bytes::ZERO).get() / mss.get()
        };
        assert_eq!(window(0, Vec::new()), 40);
        assert_eq!(window(20 * 1440, Vec::new()), 160);
        assert!(window(0, vec![Part::Usable]) > 160);
    }

    #[test]
    fn users_who_start_together_in_an_idle_cell_count_on_equal_parts_at_once() {
        let config = AllocatorConfig::new(Mode::Default);
        let mut policy = DefaultMode::new(config);
        let idle = checked(report(&[0; 20]));
        policy.on_report(Instant::from_nanos(1_000_000), &idle);
        let opened_at = Instant::from_nanos(2_000_000);
        for user in 1..=20 {
            let opened = FlowOpened {
                ue: Rnti(user),
                mss: Bytes::new(1440),
                place: 0,
            };
            policy.on_flow_open(opened_at, FlowId(u64::from(user)), opened);
        }
        policy.on_report(opened_at, &idle);
        let all: u64 = (1..=20)
            .filter_map(|user| policy.capacity(Rnti(user)))
            .map(BitRate::as_bps)
            .sum();
        let mut alone = DefaultMode::new(AllocatorConfig::new(Mode::Default));
        alone.on_report(opened_at, &checked(report(&[0])));
        let cell = alone.capacity(Rnti(1)).expect("reported").as_bps();
        // each rounds down to whole bits per second
        assert!(all <= cell && cell - all <= 20, "{all} of {cell}");
    }

    #[test]
    fn where_reports_do_not_count_what_is_served_windows_settle() {
        let mut policy = DefaultMode::new(AllocatorConfig::new(Mode::Default));
        let (flow, mss) = (FlowId(1), Bytes::new(1440));
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        policy.on_report(at(1), &checked(report(&[0])));
        policy.on_flow_open(
            at(1),
            flow,
            FlowOpened {
                ue: Rnti(1),
                mss,
                place: 0,
            },
        );
        let rtt = Some(Duration::from_millis(1));
        let (mut window, mut lately) = (Bytes::ZERO, Vec::new());
        for ms in 2..8_000 {
            // 100 Mbit/s arrive, whatever is let
            let acked = Bytes::new(ms * 12_500);
            let telemetry = FlowTelemetry {
                wan_arrived: acked + window + mss * 2,
                wan_min_rtt: rtt,
                ran_min_rtt: rtt,
                ran_acked: acked,
                ran_in_flight: window,
                buffered: mss * 2,
                ..FlowTelemetry::default()
            };
            policy.on_telemetry(at(ms), flow, &telemetry);
            let mut idle = report(&[0]);
            idle.ues[0].timestamp = at(ms);
            policy.on_report(at(ms), &checked(idle));
            while let Some(decision) = policy.poll_decision() {
                window = decision.ran.window;
                if ms > 6_000 {
                    lately.push(window);
                }
            }
        }
        assert!(lately.is_empty(), "{lately:?}");
    }

    /// Downloads that a user does not read: their windows are closed, and stay so.
    #[test]
    fn a_closed_window_is_not_decided_again_with_each_report() {
        const FLOWS: u64 = 300;
        let mut policy = DefaultMode::new(AllocatorConfig::new(Mode::Default));
        let mss = Bytes::new(1440);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let telemetry = FlowTelemetry {
            wan_arrived: mss * 300,
            wan_min_rtt: Some(Duration::from_millis(1)),
            ran_min_rtt: Some(Duration::from_millis(1)),
            ran_in_flight: mss,
            buffered: mss * 299,
            ..FlowTelemetry::default()
        };
        policy.on_report(at(1), &checked(report(&[0])));
        for flow in 0..FLOWS {
            let opened = FlowOpened {
                ue: Rnti(1),
                mss,
                place: 0,
            };
            policy.on_flow_open(at(1), FlowId(flow), opened);
        }
        let mut last = BTreeMap::new();
        for ms in 2..100 {
            for flow in 0..FLOWS {
                policy.on_telemetry(at(ms), FlowId(flow), &telemetry);
            }
            let mut report = report(&[0]);
            report.ues[0].timestamp = at(ms);
            policy.on_report(at(ms), &checked(report));
            while let Some(decision) = policy.poll_decision() {
                let before = last.insert(decision.flow, decision);
                assert_ne!(before, Some(decision), "at {ms} ms");
            }
        }
        let is_closed = |decision: &Decision| decision.wan_window.shown(Bytes::ZERO).is_zero();
        assert_eq!(last.values().filter(|d| is_closed(d)).count(), 300);
    }

    /// Downloads that a user does not read wait here, and the radio has nothing to send of them.
    #[test]
    fn a_user_who_takes_nothing_has_no_part_of_the_cell() {
        let mss = Bytes::new(1440);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let rtt = Some(Duration::from_millis(1));
        // the first user's capacity by the millisecond; of the second nothing is acknowledged from 50 ms on
        let capacities = |users: u16| {
            let mut policy = DefaultMode::new(AllocatorConfig::new(Mode::Default));
            for user in 1..=users {
                let ue = Rnti(user);
                policy.on_flow_open(at(0), FlowId(user.into()), FlowOpened { ue, mss, place: 0 });
            }
            let capacity = |ms: u64| {
                for (flow, until) in [(FlowId(1), u64::MAX), (FlowId(2), 50)] {
                    let acked = mss * ms.min(until);
                    let telemetry = FlowTelemetry {
                        wan_arrived: acked + mss * 20,
                        wan_min_rtt: rtt,
                        ran_min_rtt: rtt,
                        ran_acked: acked,
                        ran_in_flight: mss * 10,
                        buffered: mss * 10,
                        ..FlowTelemetry::default()
                    };
                    policy.on_telemetry(at(ms), flow, &telemetry);
                }
                policy.on_report(at(ms), &checked(report(&[20, 0])));
                policy.capacity(Rnti(1)).expect("reported").as_bps()
            };
            (1..200).map(capacity).collect::<Vec<_>>()
        };
        let (alone, beside) = (capacities(1), capacities(2));
        assert!(beside[..145].iter().zip(&alone).all(|(b, a)| b < a));
        assert_eq!(beside[150..], alone[150..]);
    }
}
