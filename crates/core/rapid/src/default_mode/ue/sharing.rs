//! How the flows of a UE share its rate: by demand, in whole segments, and in turns where there is less than two for each.

use super::super::narrow::Limit;
use super::super::segments::Remainder;
use super::super::turns::MIN_WINDOW;
use super::Ue;
use super::survey::Survey;
use crate::allocator::Decision;
use crate::share::max_min;
use crate::{AllocatorConfig, Part};
use std::collections::VecDeque;
use units::Instant;

/// Rate over what is delivered while reports are stale.
const STALE_HEADROOM: f64 = 1.25;
/// A queue below this share of the needed one is too short.
const STARVING: f64 = 0.5;

/// Memory that is used again from call to call.
#[derive(Debug, Default)]
pub(in super::super) struct Scratch {
    demands: Vec<f64>,
    shares: Vec<f64>,
    /// Windows towards the UE and the servers, and of both together, segments.
    windows: [Vec<f64>; 3],
    remainders: [Vec<Remainder>; 3],
}

impl Ue {
    /// The rate of our flows together, byte/s.
    fn usable_rate(&self, now: Instant, active: f64, config: &AllocatorConfig) -> f64 {
        // (7) what arrived lately and a little: the pipe stays full, and a queue cannot grow by more
        let proven = self.delivered * STALE_HEADROOM;
        if self.capacity <= 0.0 {
            return proven;
        }
        // (5) the others keep their rate, but one more equal share at the most
        let max = self.capacity / (active + 1.0);
        let others = self.beside.left(max, self.capacity);
        let is_seen = config.has(Part::Unintercepted) && others >= 0.01 * self.capacity;
        let rate = self.capacity - if is_seen { others } else { 0.0 };
        if self.is_fresh(now, config) {
            rate
        } else {
            rate.min(proven)
        }
    }

    /// Shares and windows.
    pub(super) fn allocate(
        &mut self,
        now: Instant,
        elapsed: f64,
        config: &AllocatorConfig,
        scratch: &mut Scratch,
        decisions: &mut VecDeque<Decision>,
    ) {
        let active = self.survey.active.max(1) as f64;
        let rate = self.usable_rate(now, active, config);
        self.rate = match self.limit {
            Some(Limit::Bound(bound, _)) => rate.min(bound),
            _ => rate,
        };
        self.share(now, self.rate / active, config, scratch);
        self.take_turns(now, config);
        self.round(elapsed, config, scratch);
        let are_whole = config.has(Part::WholeSegments);
        let mut active = 0;
        let mut survey = Survey::default();
        for (id, flow) in self.flows.iter_mut() {
            let mut window = flow.ran_window(self.whole_turnaround);
            let mut budget = flow
                .wan_budget(0.0, config)
                .map(|budget| budget.max(MIN_WINDOW));
            if flow.counts {
                let [whole_window, whole_budget, whole] =
                    [0, 1, 2].map(|of| scratch.windows[of][active]);
                flow.remainders = [0, 1, 2].map(|of| scratch.remainders[of][active]);
                active += 1;
                window = window.map(|_| whole_window);
                let left = if are_whole && window.is_some() {
                    flow.left_of(whole)
                } else {
                    f64::INFINITY
                };
                budget = budget.map(|_| whole_budget.min(left));
            }
            if self.turns.are_taken() {
                let has_window = !flow.takes_turns() || flow.turn.begins(now);
                budget = Some(if has_window { MIN_WINDOW } else { 0.0 });
            }
            if let Some(decision) = flow.decide(*id, window, budget, config) {
                decisions.push_back(decision);
            }
            survey.add(now, flow);
        }
        self.survey = survey;
    }

    /// (8) Rounds the windows of active flows to whole segments.
    fn round(&mut self, elapsed: f64, config: &AllocatorConfig, scratch: &mut Scratch) {
        let standing = self.standing();
        scratch.windows.iter_mut().for_each(Vec::clear);
        scratch.remainders.iter_mut().for_each(Vec::clear);
        for flow in self.flows.values().filter(|f| f.counts) {
            let windows = [
                flow.ran_window(self.whole_turnaround),
                flow.wan_budget(standing, config),
                flow.whole_window(self.whole_turnaround),
            ];
            for (of, window) in scratch.windows.iter_mut().zip(windows) {
                of.push(window.unwrap_or(0.0).max(MIN_WINDOW));
            }
            for (of, remainder) in scratch.remainders.iter_mut().zip(flow.remainders) {
                of.push(remainder);
            }
        }
        if config.has(Part::WholeSegments) {
            let windows = scratch.windows.iter_mut().zip(&mut scratch.remainders);
            for (rounding, (windows, remainders)) in self.roundings.iter_mut().zip(windows) {
                rounding.round(elapsed, windows, remainders);
            }
        }
    }

    /// Shares the rate by demand.
    fn share(&mut self, now: Instant, fair: f64, config: &AllocatorConfig, scratch: &mut Scratch) {
        let is_starving =
            !self.is_bound() && self.turnaround.own_queue() < STARVING * self.target_queue(config);
        scratch.demands.clear();
        for flow in self.flows.values_mut().filter(|f| f.counts) {
            flow.update_rate(now, self.whole_turnaround);
            flow.update_round(now);
            flow.update_greedy(now);
            let demand = flow.demand(config.slow_threshold);
            scratch.demands.push(if config.has(Part::Demand) {
                demand
            } else {
                f64::INFINITY
            });
        }
        max_min(self.rate, &scratch.demands, &mut scratch.shares);
        let mut shares = scratch.shares.iter();
        for flow in self.flows.values_mut() {
            let share = if flow.counts {
                shares.next().copied().unwrap_or(fair)
            } else {
                fair
            };
            // (2) no window is below its fair share
            flow.set_share(now, share.max(fair), is_starving, config);
        }
    }

    /// (9) Has those flows that send all that they are let take turns, if less than two segments is the part of each.
    fn take_turns(&mut self, now: Instant, config: &AllocatorConfig) {
        let (mut greedy, mut quiet) = (0.0, 0.0);
        let (mut known, mut rtts, mut mss) = (0.0, 0.0, 0.0);
        for flow in self.flows.values_mut().filter(|f| f.counts) {
            flow.update_quiet(now);
            if !flow.takes_turns() {
                quiet += flow.rate();
                continue;
            }
            greedy += 1.0;
            if let Some(rtt) = flow.whole_rtt(self.whole_turnaround) {
                rtts += rtt;
                mss += flow.mss.get() as f64;
                known += 1.0;
            }
        }
        // they begin with reports
        if known > 0.0 && config.has(Part::Turns) && self.is_fresh(now, config) {
            let rate = (self.rate - quiet).max(self.rate / (greedy + 1.0));
            let rtt = rtts / known;
            // by the least that T can be: with turns it is another
            let least = rtt - self.whole_turnaround + self.ran_min_rtt + self.needed_queue(config);
            if self
                .turns
                .are_needed(greedy, rate * least / greedy / (mss / known))
            {
                self.turns.update(now, rate * rtt, &mut self.flows);
                return;
            }
        }
        self.turns.end(&mut self.flows);
    }
}
