//! One UE: its capacity, what its flows have in flight of it, and what others take.

mod sharing;
mod survey;

pub(super) use sharing::Scratch;

use super::beside::Beside;
use super::cell::CellLoad;
use super::efficiency::{Busy, Efficiency};
use super::flow::{Flow, weight};
use super::flows::Flows;
use super::is_served_counted;
use super::narrow::{Limit, Path};
use super::segments::Rounding;
use super::turnaround::{Radio, Turnaround};
use super::turns::Turns;
use super::variation::{Service, Variation};
use crate::allocator::{Decision, FlowId, FlowTelemetry};
use crate::unsplit::{self, Unsplit};
use crate::{AllocatorConfig, Learnt, Part, capacity};
use rnis::{RadioReport, UeReport};
use std::collections::VecDeque;
use survey::Survey;
use units::{BitRate, Bytes, Duration, Instant, Prb};

/// Forgetting time of what was delivered, seconds.
const LEARN_TIME: f64 = 0.1;
/// Forgetting time of the PRBs that a UE may count on in a cell that it shares, seconds.
const SHARE_TIME: f64 = 0.01;
/// Standing queue aimed at, in slots, if that is more than the configured time: below, a slot can
/// find too little.
const TARGET_QUEUE_SLOTS: f64 = 2.0;
/// A UE without flows that no report has named for this long has left, seconds.
const GONE_TIME: f64 = 10.0;

/// A UE and its flows.
#[derive(Debug)]
pub(super) struct Ue {
    pub(super) flows: Flows,
    /// What they are like together at this report or deadline.
    survey: Survey,
    /// A flow has moved, come or gone since.
    has_moved: bool,
    /// When the last accepted report was made.
    reported_at: Instant,
    /// When the loops last ran.
    ran_at: Instant,
    /// Rate of IP bytes that the UE could have, all flows together, byte/s.
    capacity: f64,
    /// PRBs that it may count on.
    prb: f64,
    /// It had flows at the last report.
    was_in_use: bool,
    /// IP bytes per transport-block byte.
    efficiency: Efficiency,
    beside: Beside,
    /// Payload acknowledged by our flows at the last report.
    acked: u64,
    /// Slot duration, seconds.
    slot: f64,
    /// What the last report covers, seconds.
    covered: f64,
    /// RLC queue at the last report, bytes.
    queue: f64,
    /// The same of all of the UE's bearers.
    whole_queue: f64,
    /// Several UEs of its cell sent at the last report.
    is_cell_shared: bool,
    /// It is of the bearer that carries our flows alone.
    is_own_queue: bool,
    queue_before: f64,
    /// Least round-trip time towards the UE, seconds; 0: not known yet.
    ran_min_rtt: f64,
    turnaround: Turnaround,
    /// T with what stands for the radio's variation, seconds.
    whole_turnaround: f64,
    /// Rate that our flows may use, byte/s.
    rate: f64,
    /// Delivered to the UE lately, byte/s: the capacity without reports.
    delivered: f64,
    delivered_sample: (u64, Instant),
    /// Of the windows towards the UE and the servers, and of both together.
    roundings: [Rounding; 3],
    turns: Turns,
    variation: Variation,
    /// (11) What a link before the radio requires of it, and T that this multiplies, seconds.
    limit: Option<Limit>,
    limited_time: f64,
    /// Served to the UE lately, byte/s.
    served: f64,
}

impl Ue {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            flows: Flows::default(),
            survey: Survey::default(),
            has_moved: false,
            reported_at: now,
            ran_at: now,
            capacity: 0.0,
            prb: 0.0,
            was_in_use: false,
            efficiency: Efficiency::default(),
            beside: Beside::default(),
            acked: 0,
            slot: 0.001,
            covered: 0.001,
            queue: 0.0,
            whole_queue: 0.0,
            is_cell_shared: false,
            is_own_queue: false,
            queue_before: 0.0,
            ran_min_rtt: 0.0,
            turnaround: Turnaround::default(),
            whole_turnaround: 0.0,
            rate: 0.0,
            delivered: 0.0,
            delivered_sample: (0, now),
            roundings: Default::default(),
            turns: Turns::default(),
            variation: Variation::default(),
            limit: None,
            limited_time: 0.0,
            served: 0.0,
        }
    }

    pub(super) fn capacity(&self) -> BitRate {
        BitRate::from_bps((self.capacity * 8.0) as u64)
    }

    /// What its radio carries of traffic that is not split: its share beside our flows by their demand.
    pub(super) fn unsplit(&self, now: Instant) -> Unsplit {
        let active = self.flows.values().filter(|flow| flow.is_active(now));
        let queue = match self.is_own_queue {
            true => unsplit::Queue::Apart(self.whole_queue - self.queue),
            false => unsplit::Queue::Common(self.whole_queue),
        };
        let unsplit = Unsplit::new(
            self.capacity,
            active.map(Flow::requested).collect(),
            queue,
            self.reported_at,
            self.is_cell_shared && self.flows.is_empty(),
        );
        let own_wait = match self.is_own_queue {
            true => Duration::ZERO,
            false => self.own_wait(),
        };
        Unsplit {
            own_wait,
            ..unsplit
        }
    }

    /// How long what waits of our flows in the base station takes: what they have in flight beyond what is delivered in
    /// the least round trip, of no more than waits there.
    fn own_wait(&self) -> Duration {
        if self.capacity <= 0.0 || self.ran_min_rtt <= 0.0 {
            return Duration::ZERO;
        }
        let in_flight: Bytes = self.flows.values().map(|f| f.telemetry.ran_in_flight).sum();
        let standing = in_flight.get() as f64 - self.delivered * self.ran_min_rtt;
        let standing = standing.clamp(0.0, self.whole_queue.max(0.0));
        Duration::from_secs_f64(standing / self.capacity)
    }

    /// Nothing is left to do for it.
    pub(super) fn is_gone(&self, now: Instant) -> bool {
        self.flows.is_empty() && now.saturating_since(self.reported_at).as_secs_f64() > GONE_TIME
    }

    /// A flow has come.
    pub(super) fn insert(&mut self, id: FlowId, flow: Flow) {
        self.flows.insert(id, flow);
        self.has_moved = true;
    }

    /// What is measured of a flow, if it is there.
    pub(super) fn measured(&mut self, now: Instant, id: FlowId, telemetry: &FlowTelemetry) {
        if let Some(flow) = self.flows.get_mut(id) {
            flow.measured(now, telemetry);
            self.has_moved = true;
        }
    }

    /// A flow goes on here from a cell of another allocator, which has learnt this.
    pub(super) fn learn(&mut self, now: Instant, id: FlowId, learnt: &Learnt) {
        if let Some(flow) = self.flows.get_mut(id) {
            flow.learn(now, learnt);
            self.has_moved = true;
        }
    }

    /// What another allocator is to go on with.
    pub(super) fn learnt(&self, id: FlowId) -> Option<Learnt> {
        self.flows.get(id).map(Flow::learnt)
    }

    /// Gives what the flow had acknowledged and sent again, bytes, if it was there.
    pub(super) fn remove(&mut self, flow: FlowId) -> Option<(u64, u64)> {
        let telemetry = self.flows.remove(flow)?.telemetry;
        self.has_moved = true;
        // its acknowledged bytes leave the sum with it
        let acked = telemetry.ran_acked.get();
        self.acked = self.acked.saturating_sub(acked);
        self.delivered_sample.0 = self.delivered_sample.0.saturating_sub(acked);
        Some((acked, telemetry.ran_resent.get()))
    }

    fn is_fresh(&self, now: Instant, config: &AllocatorConfig) -> bool {
        !config.has(Part::Staleness)
            || now.saturating_since(self.reported_at) <= config.report_max_age
    }

    /// The standing queue that slots need, seconds.
    fn needed_queue(&self, config: &AllocatorConfig) -> f64 {
        let target = config.target_queue.as_secs_f64();
        target.max(TARGET_QUEUE_SLOTS * self.slot)
    }

    /// The standing queue aimed at, seconds. Turns begin together with each report, so that the queue swings by what
    /// is sent until the next one.
    fn target_queue(&self, config: &AllocatorConfig) -> f64 {
        let swing = match self.turns.are_taken() {
            true => self.covered,
            false => 0.0,
        };
        self.needed_queue(config) + swing
    }

    /// Takes its part of a report.
    pub(super) fn observe(
        &mut self,
        now: Instant,
        report: &RadioReport,
        of: &UeReport,
        load: &CellLoad,
        config: &AllocatorConfig,
    ) {
        let slot = report.cell.slot_duration.as_secs_f64();
        let covered = f64::from(report.cell.slots) * slot / report.cell.downlink_share.max(0.01);
        self.slot = slot;
        self.covered = covered;
        self.queue_before = self.queue;
        let own = of.queue_of(config.bearer);
        self.is_own_queue = own.is_some();
        self.queue = own.unwrap_or(of.rlc_queue_bytes).get() as f64;
        self.whole_queue = of.rlc_queue_bytes.get() as f64;
        self.is_cell_shared = load.is_shared();
        let expected = if config.has(Part::CellSharing) {
            self.average_prb(load.expected_prb(of, self.is_sending()), load, covered)
        } else {
            f64::from(report.expected_prb(of).get())
        };
        // transport blocks are proportional to PRBs but for their rounding
        let carrier =
            capacity::capacity(report, of.quality, report.cell.n_prb).as_bps() as f64 / 8.0;
        let share = expected / f64::from(report.cell.n_prb.get());
        let blocks = carrier * share * report.cell.downlink_share;
        self.learn_efficiency(report, of, blocks, covered);
        let efficiency = match config.has(Part::Payload) {
            true => self.efficiency.share(),
            false => 1.0,
        };
        self.capacity = blocks * efficiency;
        // (10) measured against what was learnt even where eq. 3 is taken for the rate
        let offered = load.offered_prb(of) / f64::from(report.cell.n_prb.get());
        let service = Service {
            offered: carrier
                * offered
                * report.cell.downlink_share
                * self.efficiency.share()
                * covered,
            served: of.served_bytes.get() as f64,
            covered,
        };
        // (11) what a narrow link does not bring is not lost to a short queue
        let is_greedy = !self.is_bound() && self.survey.is_greedy;
        let counts = is_greedy && is_served_counted(self.served, self.delivered);
        self.variation.update(service, counts, config);
        self.learn_unintercepted(of, covered);
        // a report's own time, unless it claims to come from the future
        self.reported_at = of.timestamp.min(now);
    }

    /// (6) Among several, what a report of a millisecond reports of one is by chance: it is averaged. What a
    /// UE without flows could have had is not: where many start in an idle cell, each would count on all of it
    /// until the average has come down.
    fn average_prb(&mut self, expected: f64, load: &CellLoad, covered: f64) -> f64 {
        let was_in_use = core::mem::replace(&mut self.was_in_use, !self.flows.is_empty());
        let weight = if load.is_shared() && was_in_use && self.prb > 0.0 {
            weight(covered, SHARE_TIME)
        } else {
            1.0
        };
        self.prb += weight * (expected - self.prb);
        self.prb
    }

    /// (1) IP bytes per transport-block byte, while there was always something to send.
    fn learn_efficiency(&mut self, report: &RadioReport, of: &UeReport, blocks: f64, covered: f64) {
        let had_data = self.queue > 0.0 && self.queue_before > 0.0;
        if had_data && of.prb_dl > Prb::new(0) && blocks > 0.0 {
            let allocated = capacity::capacity(report, of.quality, of.prb_dl).as_bps() as f64 / 8.0;
            let busy = Busy {
                served: of.served_bytes.get() as f64 / covered,
                blocks: of.tbs_bytes.get() as f64 / covered,
                allocated: allocated * report.cell.downlink_share,
            };
            self.efficiency.learn(busy, covered);
        }
    }

    /// (5) What was served and is none of ours.
    fn learn_unintercepted(&mut self, of: &UeReport, covered: f64) {
        let acked = self.survey.acked.get();
        let ours = acked.saturating_sub(self.acked) as f64;
        self.acked = acked;
        let served = of.served_bytes.get() as f64 / covered;
        self.served += weight(covered, LEARN_TIME) * (served - self.served);
        self.beside.learn_rate(served, ours / covered, covered);
    }

    /// Runs the loops and shares the rate; decisions that are news are appended.
    pub(super) fn run(
        &mut self,
        now: Instant,
        config: &AllocatorConfig,
        scratch: &mut Scratch,
        decisions: &mut VecDeque<Decision>,
    ) {
        let elapsed = now.saturating_since(self.ran_at).as_secs_f64();
        self.ran_at = now;
        if self.flows.is_empty() {
            self.beside.reset();
            return;
        }
        self.update_delivered(now);
        self.control_turnaround(now, elapsed, config);
        self.allocate(now, elapsed, config, scratch, decisions);
    }

    /// (7) What the UE acknowledged lately.
    fn update_delivered(&mut self, now: Instant) {
        let (before, at) = self.delivered_sample;
        let elapsed = now.saturating_since(at).as_secs_f64();
        if elapsed >= 0.01 {
            let acked = self.survey.acked.get();
            let sample = acked.saturating_sub(before) as f64 / elapsed;
            self.delivered += weight(elapsed, LEARN_TIME) * (sample - self.delivered);
            self.delivered_sample = (acked, now);
        }
    }

    /// (3) T, and (10) what stands beside it.
    fn control_turnaround(&mut self, now: Instant, elapsed: f64, config: &AllocatorConfig) {
        let Some(min) = self.survey.ran_min_rtt.map(Duration::as_secs_f64) else {
            return;
        };
        self.ran_min_rtt = min;
        // where flows take turns, what changes reaches the queue by way of the servers
        let way = match self.turns.are_taken() {
            true => self.survey.wan_rtt,
            false => None,
        };
        let age = now.saturating_since(self.reported_at).as_secs_f64();
        let number = self.survey.active as f64;
        let radio = Radio {
            capacity: self.capacity,
            rate: self.rate,
            part: self.capacity * number / (number + 1.0),
            delivered: self.delivered,
            queue: self.queue,
            is_own_queue: self.is_own_queue,
            in_flight: self.survey.in_flight.get() as f64,
            min_rtt: min,
            target: self.target_queue(config),
            delay: way.unwrap_or(0.0) + age,
            is_saturated: self.survey.is_saturated,
            is_fresh: self.is_fresh(now, config),
        };
        if let Some(Limit::Trial(factor) | Limit::Bound(_, factor)) = self.limit {
            let most = Turnaround::longest(min, radio.target);
            self.whole_turnaround = (self.limited_time * factor).clamp(min + radio.target, most);
            return;
        }
        self.turnaround
            .control(elapsed, &radio, &mut self.beside, config);
        // (10) the loop would take away what is to stand
        let standing = self.standing();
        self.whole_turnaround = if standing > 0.0 {
            let least = min + self.needed_queue(config) + standing;
            self.turnaround.time().max(least)
        } else {
            self.turnaround.time()
        };
    }

    /// (10) What stands for the radio's variation, seconds; nothing where the radio is not the bottleneck.
    fn standing(&self) -> f64 {
        match self.is_bound() {
            false => self.variation.standing(self.rate),
            true => 0.0,
        }
    }

    /// (11) What is known of the path to it; none while that is nothing.
    pub(super) fn path(&self, now: Instant, config: &AllocatorConfig) -> Option<Path> {
        if self.capacity <= 0.0 || self.flows.is_empty() || self.ran_min_rtt <= 0.0 {
            return None;
        }
        let target = self.target_queue(config);
        let segments = self.survey.segments.get() as f64;
        Some(Path {
            ues: 1.0,
            capacity: self.capacity,
            served: self.served,
            time: self.whole_turnaround,
            base_time: self.turnaround.time(),
            min_time: self.ran_min_rtt + target,
            max_time: Turnaround::longest(self.ran_min_rtt, target),
            queue: self.queue / self.capacity / target,
            delivered: self.delivered,
            acked: self.survey.acked.get(),
            resent: self.survey.resent.get(),
            in_flight: self.survey.in_flight.get() as f64,
            segments,
            segment: segments / self.flows.len() as f64,
            is_greedy: self.survey.is_pressed,
            is_alone: self.beside.is_alone(),
            takes_turns: self.turns.are_taken(),
            is_fresh: self.is_fresh(now, config),
        })
    }

    /// (11) What a link before the radio requires from now on. `is_found`: T as it was tried is what it should be. `usual`:
    /// T of all UEs without what stands, over the least that it can be.
    pub(super) fn set_limit(&mut self, limit: Option<Limit>, is_found: bool, usual: f64) {
        if is_found && let Some(Limit::Trial(factor)) = self.limit {
            self.turnaround.set(self.limited_time * factor);
        }
        match (self.limit, limit) {
            (None, Some(Limit::Trial(_))) => self.limited_time = self.whole_turnaround,
            (None | Some(Limit::Trial(_)), Some(Limit::Bound(..))) => {
                self.limited_time = match self.turnaround.time() {
                    0.0 => self.ran_min_rtt * usual,
                    time => time,
                };
            }
            _ => {}
        }
        self.limit = limit;
    }

    /// (11) Its rate is that of a link before the radio.
    fn is_bound(&self) -> bool {
        matches!(self.limit, Some(Limit::Bound(..)))
    }
}
