//! Mode `default`: the paper's idea with a closed loop round the radio queue.
//!
//! Source of the idea: Diarra et al., "RAPID", section 3; of the rest: ours, described with
//! measurements in `docs/algorithms/rapid.md`. Rates in byte/s, times in seconds.
//!
//! What differs from mode `paper`, and why:
//! 1. *Payload, not transport blocks.* Equation 3 counts headers and HARQ repetitions as capacity. We
//!    learn from the reports themselves which share of the transport blocks arrives as IP bytes, while
//!    the queue is never empty; what of that is TCP and IP headers, point 5 takes away.
//! 2. *Demand and share apart.* A flow's demand is what it lately sent and a headroom; shares are
//!    max-min fair. A slow flow keeps the window of its fair share, so that its next burst is
//!    not held up; what it does not use is given to the others as a share, not taken as its limit.
//! 3. *Windows towards the UE share one budget*, R x T, where T is the time that data needs to be
//!    acknowledged with the wanted queue standing in the RLC. T is controlled by the reported queue, so
//!    that errors of RTTmin (scheduling requests, HARQ) neither starve the radio nor fill it.
//! 4. *The window towards the server is one for all that is on its way or waiting here*: its BDP and a
//!    small standing store, which grows only for flows whose sender is found to run dry (BBR's
//!    drain phases), and shrinks again.
//! 5. *Unintercepted traffic is seen* as served bytes that no flow of ours accounts for, and is left its
//!    rate, at most one more equal share.
//! 6. *Unused PRBs are shared* among the UEs that have traffic, and no UE counts on less than an equal
//!    part of the cell.
//! 7. *Without reports* the capacity is taken to be what was lately delivered, which keeps the pipe
//!    full and cannot grow the queue.

use crate::allocator::{Decision, FlowId, FlowOpened, FlowTelemetry, Policy, WanWindow};
use crate::share::max_min;
use crate::{AllocatorConfig, capacity};
use cc::Allocation;
use rnis::{RadioReport, Rnti, UeReport};
use std::collections::{BTreeMap, VecDeque};
use units::{BitRate, Bytes, Duration, Instant, Prb};

/// Demand over recent rate: slow start doubles each round, and a flow must be able to.
const DEMAND_HEADROOM: f64 = 2.0;
/// Share of IP bytes in transport blocks before it has been learnt.
const INITIAL_EFFICIENCY: f64 = 0.95;
/// Bounds of the learnt share.
const EFFICIENCY_BOUNDS: (f64, f64) = (0.5, 1.0);
/// Forgetting time of the learnt share, of the queue's deviation and of unintercepted traffic, seconds.
const LEARN_TIME: f64 = 0.1;
/// The queue loop's time constant as a multiple of its delay.
const LOOP_DELAYS: f64 = 4.0;
/// The target holds for the queue's mean less so many mean deviations: HARQ and delayed
/// acknowledgements make it swing, and an empty queue is lost capacity.
const QUEUE_DEVIATIONS: f64 = 2.0;
/// Standing queue aimed at, in slots, if that is more than the configured time: below, a slot can
/// find too little.
const TARGET_QUEUE_SLOTS: f64 = 4.0;
/// Store of a flow at the proxy, as time at its rate: floor, and ceiling as a share of the WAN's RTT.
const STORE_FLOOR: f64 = 0.000_5;
const STORE_CEILING_RTTS: f64 = 0.2;
/// Growth of the store on each round in which it ran dry, and its decay otherwise.
const STORE_GROWTH: f64 = 1.25;
const STORE_DECAY: f64 = 0.97;
/// A flow without arrivals for this long does not count when shares are made, seconds.
const IDLE_TIME: f64 = 1.0;
/// Without reports the allocator runs at this period.
const TICK: Duration = Duration::from_millis(10);

/// Exponential forgetting: the weight of a sample that covers `elapsed`.
fn weight(elapsed: f64, time_constant: f64) -> f64 {
    elapsed / (elapsed + time_constant)
}

#[derive(Debug)]
struct Flow {
    ue: Rnti,
    mss: Bytes,
    telemetry: FlowTelemetry,
    /// Arrivals and their time at the last update of `rate`.
    sampled: (Bytes, Instant),
    /// Last time with an arrival.
    active_at: Instant,
    /// Moving average of the arrival rate, byte/s.
    rate: f64,
    /// Share of the UE's rate, byte/s.
    share: f64,
    /// Standing store at the proxy, seconds at the flow's share.
    store: f64,
    /// When `store` was last adapted.
    stored_at: Instant,
    /// The store was found empty since then, although the UE had room.
    ran_dry: bool,
    is_slow: bool,
    last: Option<Decision>,
}

impl Flow {
    fn wan_rtt(&self) -> Option<f64> {
        self.telemetry
            .wan_min_rtt
            .map(|rtt| rtt.as_secs_f64().max(1e-6))
    }

    /// The moving average of arrivals, over about one WAN round trip.
    fn update_rate(&mut self, now: Instant) {
        let (bytes, at) = self.sampled;
        let elapsed = now.saturating_since(at).as_secs_f64();
        let horizon = self
            .telemetry
            .wan_srtt
            .map_or(0.01, Duration::as_secs_f64)
            .max(0.002);
        if elapsed < horizon / 8.0 {
            return;
        }
        let arrived = self.telemetry.wan_arrived.saturating_sub(bytes);
        let sample = arrived.get() as f64 / elapsed;
        self.rate += weight(elapsed, horizon) * (sample - self.rate);
        self.sampled = (self.telemetry.wan_arrived, now);
        if !arrived.is_zero() {
            self.active_at = now;
        }
    }

    fn is_active(&self, now: Instant) -> bool {
        now.saturating_since(self.active_at).as_secs_f64() < IDLE_TIME
            || !self.telemetry.buffered.is_zero()
            || !self.telemetry.ran_in_flight.is_zero()
    }

    /// What the flow asks for, byte/s.
    fn demand(&mut self, threshold: f64) -> f64 {
        let waiting = self.telemetry.buffered > self.mss * 2;
        self.is_slow = !waiting && self.rate < threshold * self.share;
        if self.is_slow {
            self.rate * DEMAND_HEADROOM
        } else {
            f64::INFINITY
        }
    }

    /// Adapts the store once a WAN round trip: senders that pause (BBR drains, probes for RTT) need
    /// one, window-limited ones do not.
    fn update_store(&mut self, now: Instant) {
        let Some(rtt) = self.wan_rtt() else { return };
        let window = self.last.map_or(0, |d| d.ran.window.get());
        let room = window as f64 - self.telemetry.ran_in_flight.get() as f64;
        self.ran_dry |= self.telemetry.buffered.is_zero() && room > 2.0 * self.mss.get() as f64;
        if now.saturating_since(self.stored_at).as_secs_f64() < rtt.max(0.001) {
            return;
        }
        let ceiling = (STORE_CEILING_RTTS * rtt).max(STORE_FLOOR);
        let factor = if self.ran_dry && !self.is_slow {
            STORE_GROWTH
        } else {
            STORE_DECAY
        };
        self.store = (self.store * factor).clamp(STORE_FLOOR, ceiling);
        self.stored_at = now;
        self.ran_dry = false;
    }
}

#[derive(Debug)]
struct Ue {
    /// When the last believed report was made.
    reported_at: Instant,
    /// Rate of IP bytes that the UE could have, all flows together, byte/s.
    capacity: f64,
    /// IP bytes per transport-block byte.
    efficiency: f64,
    /// Rate of traffic that passes us by, byte/s.
    unintercepted: f64,
    /// Payload acknowledged by our flows at the last report.
    acked: u64,
    /// Slot duration, seconds.
    slot: f64,
    /// RLC queue at the last report, bytes.
    queue: f64,
    queue_before: f64,
    /// Moving average and mean deviation of the queue's length, seconds at the flows' rate.
    queue_time: f64,
    queue_deviation: f64,
    /// T: time from sending to acknowledgement with the wanted queue, seconds; 0: not known yet.
    turnaround: f64,
    /// Rate that our flows may use, byte/s.
    rate: f64,
    /// Delivered to the UE lately, byte/s: the capacity without reports.
    delivered: f64,
    delivered_sample: (u64, Instant),
}

impl Ue {
    fn new(now: Instant) -> Self {
        Self {
            reported_at: now,
            capacity: 0.0,
            efficiency: INITIAL_EFFICIENCY,
            unintercepted: 0.0,
            acked: 0,
            slot: 0.001,
            queue: 0.0,
            queue_before: 0.0,
            queue_time: 0.0,
            queue_deviation: 0.0,
            turnaround: 0.0,
            rate: 0.0,
            delivered: 0.0,
            delivered_sample: (0, now),
        }
    }

    /// The standing queue aimed at, seconds.
    fn target_queue(&self, config: &AllocatorConfig) -> f64 {
        config
            .target_queue
            .as_secs_f64()
            .max(TARGET_QUEUE_SLOTS * self.slot)
    }
}

/// Our allocator.
#[derive(Debug)]
pub(crate) struct DefaultMode {
    config: AllocatorConfig,
    ues: BTreeMap<Rnti, Ue>,
    flows: BTreeMap<FlowId, Flow>,
    decisions: VecDeque<Decision>,
    ran_at: Instant,
    /// Reused between calls.
    demands: Vec<f64>,
    shares: Vec<f64>,
}

impl DefaultMode {
    pub(crate) fn new(config: AllocatorConfig) -> Self {
        Self {
            config,
            ues: BTreeMap::new(),
            flows: BTreeMap::new(),
            decisions: VecDeque::new(),
            ran_at: Instant::ZERO,
            demands: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// PRBs that the UE may count on (point 6).
    fn expected_prb(report: &RadioReport, ue: &UeReport) -> Prb {
        let is_active = |u: &&UeReport| {
            u.rnti == ue.rnti || u.prb_dl > Prb::new(0) || !u.rlc_queue_bytes.is_zero()
        };
        let active = report.ues.iter().filter(is_active).count().max(1) as u32;
        let unused = u32::from(capacity::unused_prb(report).get());
        let carrier = u32::from(report.cell.n_prb.get());
        let free = carrier.saturating_sub(u32::from(report.cell.prb_background.get()));
        let expected = u32::from(ue.prb_dl.get()) + unused.div_ceil(active);
        let expected = expected.max(free / active).min(free);
        Prb::new(u16::try_from(expected).unwrap_or(u16::MAX))
    }

    fn flows_of(&self, ue: Rnti) -> impl Iterator<Item = &Flow> {
        self.flows.values().filter(move |f| f.ue == ue)
    }

    /// Payload that the UE has acknowledged on all its open flows.
    fn acked(&self, ue: Rnti) -> u64 {
        self.flows_of(ue)
            .map(|f| f.telemetry.ran_acked)
            .sum::<Bytes>()
            .get()
    }

    /// Takes one UE's part of a report.
    fn observe(&mut self, now: Instant, report: &RadioReport, of: &UeReport) {
        let acked = self.acked(of.rnti);
        let state = self.ues.entry(of.rnti).or_insert_with(|| Ue::new(now));
        let slot = report.cell.slot_duration.as_secs_f64();
        let covered = f64::from(report.cell.slots) * slot / report.cell.downlink_share.max(0.01);
        let learn = weight(covered, LEARN_TIME);
        state.slot = slot;
        state.queue_before = state.queue;
        state.queue = of.rlc_queue_bytes.get() as f64;

        // (1) payload per transport-block byte, while there was always something to send
        let tbs = of.tbs_bytes.get() as f64;
        let served = of.served_bytes.get() as f64;
        let prb = Self::expected_prb(report, of);
        let blocks = capacity::capacity(report, of.quality, prb).as_bps() as f64 / 8.0
            * report.cell.downlink_share;
        if tbs > 0.0 && state.queue > 0.0 && state.queue_before > 0.0 && blocks > 0.0 {
            // HARQ repetitions take slots from first transmissions: measure against the slots
            let allocated = capacity::capacity(report, of.quality, of.prb_dl).as_bps() as f64 / 8.0
                * report.cell.downlink_share
                * covered;
            let payload = served / allocated.max(tbs);
            let (least, most) = EFFICIENCY_BOUNDS;
            state.efficiency += learn * (payload.clamp(least, most) - state.efficiency);
        }
        state.capacity = blocks * state.efficiency;

        // (5) what was served and is none of ours. Served bytes are IP bytes, acknowledged ones payload:
        // the headers of our own flows count here too, which makes the rest the payload's rate.
        let ours = acked.saturating_sub(state.acked) as f64;
        state.acked = acked;
        let others = (served - ours) / covered;
        state.unintercepted += learn * (others - state.unintercepted);
        state.reported_at = report_time(now, of);
    }

    /// (7) What the UE acknowledged lately.
    fn update_delivered(&mut self, now: Instant, rnti: Rnti) {
        let acked = self.acked(rnti);
        let Some(ue) = self.ues.get_mut(&rnti) else {
            return;
        };
        let (before, at) = ue.delivered_sample;
        let elapsed = now.saturating_since(at).as_secs_f64();
        if elapsed >= 0.01 {
            let sample = acked.saturating_sub(before) as f64 / elapsed;
            ue.delivered += weight(elapsed, LEARN_TIME) * (sample - ue.delivered);
            ue.delivered_sample = (acked, now);
        }
    }

    /// (3) The queue loop: T grows while the queue is below its target although data waits here, and
    /// shrinks while it is above.
    fn control_turnaround(&mut self, now: Instant, rnti: Rnti, elapsed: f64) {
        let flows = || self.flows_of(rnti).filter(|f| f.is_active(now));
        let least = flows().filter_map(|f| f.telemetry.ran_min_rtt).min();
        let saturated = flows().any(|f| {
            let window = f.last.map_or(0, |d| d.ran.window.get());
            !f.telemetry.buffered.is_zero() || f.telemetry.ran_in_flight.get() >= window / 10 * 9
        });
        let config = &self.config;
        let Some(ue) = self.ues.get_mut(&rnti) else {
            return;
        };
        let Some(least) = least.map(Duration::as_secs_f64) else {
            return;
        };
        let target = ue.target_queue(config);
        if ue.turnaround == 0.0 {
            ue.turnaround = least + target;
        }
        if ue.rate > 0.0 && now.saturating_since(ue.reported_at) <= config.report_max_age {
            let queue = ue.queue / ue.rate;
            let learn = weight(elapsed, LEARN_TIME);
            ue.queue_time += learn * (queue - ue.queue_time);
            ue.queue_deviation += learn * ((queue - ue.queue_time).abs() - ue.queue_deviation);
            // the low side of the queue is what must not be empty
            let low = queue - QUEUE_DEVIATIONS * ue.queue_deviation;
            let error = (target - low).clamp(-4.0 * target, 4.0 * target);
            let age = now.saturating_since(ue.reported_at).as_secs_f64();
            if error < 0.0 || saturated {
                let delay = LOOP_DELAYS * (ue.turnaround + age);
                ue.turnaround += error * weight(elapsed, delay);
            }
        }
        ue.turnaround = ue
            .turnaround
            .clamp(least, 3.0 * least + 4.0 * target + 0.02);
    }

    /// Shares and windows of one UE.
    fn allocate(&mut self, now: Instant, rnti: Rnti) {
        let is_fresh = |ue: &Ue| {
            now.saturating_since(ue.reported_at) <= self.config.report_max_age && ue.capacity > 0.0
        };
        let Some(ue) = self.ues.get_mut(&rnti) else {
            return;
        };
        let active = self
            .flows
            .values()
            .filter(|f| f.ue == rnti && f.is_active(now))
            .count()
            .max(1) as f64;
        ue.rate = if is_fresh(ue) {
            // (5) the others keep their rate, but one more equal share at the most
            let others = ue.unintercepted.clamp(0.0, ue.capacity / (active + 1.0));
            ue.capacity
                - if others < 0.01 * ue.capacity {
                    0.0
                } else {
                    others
                }
        } else {
            ue.delivered
        };
        let (rate, turnaround) = (ue.rate, ue.turnaround);

        self.demands.clear();
        for flow in self
            .flows
            .values_mut()
            .filter(|f| f.ue == rnti && f.is_active(now))
        {
            flow.update_rate(now);
            self.demands.push(flow.demand(self.config.slow_threshold));
        }
        max_min(rate, &self.demands, &mut self.shares);
        let fair = rate / active;
        let mut shares = self.shares.iter();
        for (id, flow) in self.flows.iter_mut().filter(|(_, f)| f.ue == rnti) {
            let share = if flow.is_active(now) {
                shares.next().copied().unwrap_or(fair)
            } else {
                fair
            };
            // (2) nobody's window is below its fair share
            flow.share = share.max(fair);
            flow.update_store(now);
            let decision = decide(*id, flow, turnaround, &self.config);
            if flow
                .last
                .is_none_or(|last| is_material(&last, &decision, flow.mss))
            {
                flow.last = Some(decision);
                self.decisions.push_back(decision);
            }
        }
    }

    fn run(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.ran_at).as_secs_f64();
        self.ran_at = now;
        let ues: Vec<Rnti> = self.ues.keys().copied().collect();
        for rnti in ues {
            self.update_delivered(now, rnti);
            self.control_turnaround(now, rnti, elapsed);
            self.allocate(now, rnti);
        }
    }
}

/// A report's own time, unless it claims to come from the future.
fn report_time(now: Instant, ue: &UeReport) -> Instant {
    ue.timestamp.min(now)
}

/// (3) and (4): the windows that a share means.
fn decide(id: FlowId, flow: &Flow, turnaround: f64, config: &AllocatorConfig) -> Decision {
    let at_least_two = |bytes: f64| Bytes::new(bytes as u64).max(flow.mss * 2);
    let ran_window = if turnaround > 0.0 {
        at_least_two(flow.share * turnaround)
    } else {
        config.initial_ran_window
    };
    let budget = match flow.wan_rtt() {
        Some(rtt) if flow.share > 0.0 => at_least_two(flow.share * (rtt + flow.store)),
        _ => config.initial_ran_window,
    };
    Decision {
        flow: id,
        wan_window: WanWindow::Budget(budget),
        ran: Allocation {
            window: ran_window,
            pacing_rate: None,
        },
        is_slow: flow.is_slow,
    }
}

/// Changes below a segment or 1/64 are not worth an update.
fn is_material(last: &Decision, new: &Decision, mss: Bytes) -> bool {
    let differs = |a: Bytes, b: Bytes| {
        let (less, more) = (a.min(b), a.max(b));
        more - less >= mss.min(more / 64)
    };
    last.is_slow != new.is_slow
        || differs(
            last.wan_window.shown(Bytes::ZERO),
            new.wan_window.shown(Bytes::ZERO),
        )
        || differs(last.ran.window, new.ran.window)
}

impl Policy for DefaultMode {
    fn on_report(&mut self, now: Instant, report: &RadioReport) {
        for ue in &report.ues {
            self.observe(now, report, ue);
        }
        self.run(now);
    }

    fn on_flow_open(&mut self, now: Instant, id: FlowId, opened: FlowOpened) {
        self.ues.entry(opened.ue).or_insert_with(|| Ue::new(now));
        self.flows.insert(
            id,
            Flow {
                ue: opened.ue,
                mss: opened.mss,
                telemetry: FlowTelemetry::default(),
                sampled: (Bytes::ZERO, now),
                active_at: now,
                rate: 0.0,
                share: 0.0,
                store: STORE_FLOOR,
                stored_at: now,
                ran_dry: false,
                is_slow: false,
                last: None,
            },
        );
        self.run(now);
    }

    fn on_flow_close(&mut self, now: Instant, id: FlowId) {
        if let Some(flow) = self.flows.remove(&id) {
            // its acknowledged bytes leave the UE's sum with it
            let acked = flow.telemetry.ran_acked.get();
            if let Some(ue) = self.ues.get_mut(&flow.ue) {
                ue.acked = ue.acked.saturating_sub(acked);
                ue.delivered_sample.0 = ue.delivered_sample.0.saturating_sub(acked);
            }
            self.run(now);
        }
    }

    fn on_telemetry(&mut self, _now: Instant, id: FlowId, telemetry: &FlowTelemetry) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.telemetry = *telemetry;
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        (!self.flows.is_empty()).then(|| self.ran_at + TICK)
    }

    fn on_deadline(&mut self, now: Instant) {
        self.run(now);
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn capacity(&self, ue: Rnti) -> Option<BitRate> {
        self.ues
            .get(&ue)
            .map(|ue| BitRate::from_bps((ue.capacity * 8.0) as u64))
    }
}
