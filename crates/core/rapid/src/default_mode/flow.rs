//! One flow: what it requests, and the store that it keeps at the proxy.

use super::segments::Remainder;
use super::turns::{MIN_WINDOW, Turn};
use crate::allocator::{Decision, FlowOpened, FlowTelemetry, WanWindow};
use crate::{AllocatorConfig, Learnt, Part};
use cc::Allocation;
use units::{BitRate, Bytes, Duration, Instant};

/// Demand over recent rate: slow start doubles each round, and a flow must be able to.
const DEMAND_HEADROOM: f64 = 2.0;
/// Arrivals are averaged over no less than so many segments at the flow's share.
const RATE_SEGMENTS: f64 = 16.0;
/// Store of a flow at the proxy, as time at its rate: floor, and ceiling as a share of the WAN's RTT.
const STORE_FLOOR: f64 = 0.000_2;
const STORE_CEILING_RTTS: f64 = 0.2;
/// Growth of the store on each round in which it ran dry, and its decay otherwise.
const STORE_GROWTH: f64 = 1.25;
const STORE_DECAY: f64 = 0.97;
/// A flow without arrivals for this long does not count when shares are made.
const IDLE_TIME: Duration = Duration::from_secs(1);
/// A flow without arrivals for this long, or two round trips of the WAN, sends nothing now.
const PAUSE_TIME: Duration = Duration::from_millis(10);

/// A flow of which nothing has arrived or been acknowledged for this long sends nothing, though some of it waits:
/// its user does not take it. What the radio has not sent yet, reports show.
const STALL_TIME: Duration = Duration::from_millis(100);

/// A window grows to no more than so many times what has arrived in a round trip so far, and to so many segments
/// without that: four initial windows (RFC 6928). Slow start doubles; with four times, what is by chance divided between
/// two measured round trips would be twice as much as the bound counts on.
const USABLE_ROUNDS: f64 = 8.0;
const USABLE_SEGMENTS: f64 = 40.0;

/// A round trip that was carried from another cell counts beside what is measured for this long: the first samples are of data
/// that was on its way while no cell served the UE.
const CARRIED_TIME: Duration = Duration::from_secs(1);

/// What a server was let send has come after so many round trips and this time, seconds, if it sent it.
const GREEDY_RTTS: f64 = 1.25;
const GREEDY_MARGIN: f64 = 0.002;
/// It sent all if no more than this part of it is missing, and a segment.
const GREEDY_PART: u64 = 8;

/// Exponential forgetting: the weight of a sample that covers `elapsed`.
pub(super) fn weight(elapsed: f64, time_constant: f64) -> f64 {
    elapsed / (elapsed + time_constant)
}

/// What is measured of a flow, in the units of the equations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telemetry {
    pub(super) wan_arrived: Bytes,
    /// Least and smoothed round-trip time towards the server, seconds.
    wan_rtt: Option<f64>,
    wan_srtt: Option<f64>,
    /// Without arrivals for this long it sends nothing now.
    pause: Duration,
    pub(super) ran_min_rtt: Option<Duration>,
    pub(super) ran_acked: Bytes,
    pub(super) ran_resent: Bytes,
    pub(super) ran_in_flight: Bytes,
    pub(super) buffered: Bytes,
}

impl From<&FlowTelemetry> for Telemetry {
    fn from(of: &FlowTelemetry) -> Self {
        Self {
            wan_arrived: of.wan_arrived,
            wan_rtt: of.wan_min_rtt.map(|rtt| rtt.as_secs_f64().max(1e-6)),
            wan_srtt: of.wan_srtt.map(Duration::as_secs_f64),
            pause: of
                .wan_min_rtt
                .map_or(PAUSE_TIME, |rtt| (rtt * 2).max(PAUSE_TIME)),
            ran_min_rtt: of.ran_min_rtt,
            ran_acked: of.ran_acked,
            ran_resent: of.ran_resent,
            ran_in_flight: of.ran_in_flight,
            buffered: of.buffered,
        }
    }
}

/// What was decided of a flow.
#[derive(Clone, Copy, Debug)]
struct Windows {
    wan: WanWindow,
    ran: Bytes,
    is_slow: bool,
}

/// A proxied flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) mss: Bytes,
    place: u32,
    pub(super) telemetry: Telemetry,
    /// It counts when shares are made, as [`super::ue::Ue::survey`] found last.
    pub(super) counts: bool,
    /// Arrivals and their time at the last update of `rate`.
    sampled: (Bytes, Instant),
    /// Last time with an arrival.
    active_at: Instant,
    /// Last time with an arrival or an acknowledgement.
    moved_at: Instant,
    /// Moving average of the arrival rate, byte/s.
    rate: f64,
    /// Arrivals and their time at the beginning of this round trip of the WAN, and the most of one so far, bytes.
    round: (Bytes, Instant),
    max_of_round: Bytes,
    /// Share of the UE's rate, byte/s.
    share: f64,
    /// Standing store at the proxy, seconds at the flow's share.
    store: f64,
    /// When `store` was last adapted.
    stored_at: Instant,
    /// The store was found empty since then, although the UE had room.
    ran_dry: bool,
    is_slow: bool,
    /// Payload up to which the server was let send, and when; what had come a round trip later shows whether it did.
    allowed: (Bytes, Instant),
    /// It sent all that it was let.
    is_greedy: bool,
    /// Least round trip towards the UE that was carried from another cell, and until when it counts.
    carried: Option<(Duration, Instant)>,
    /// Counters that come next are where arrivals are counted from: those of before are of another cell.
    begins_anew: bool,
    /// Of its windows towards UE and server, and of both together.
    pub(super) remainders: [Remainder; 3],
    pub(super) turn: Turn,
    last: Option<Windows>,
}

impl Flow {
    pub(super) fn new(now: Instant, opened: FlowOpened) -> Self {
        Self {
            mss: opened.mss,
            place: opened.place,
            telemetry: Telemetry::from(&FlowTelemetry::default()),
            counts: true,
            sampled: (Bytes::ZERO, now),
            active_at: now,
            moved_at: now,
            rate: 0.0,
            round: (Bytes::ZERO, now),
            max_of_round: Bytes::ZERO,
            share: 0.0,
            store: STORE_FLOOR,
            stored_at: now,
            ran_dry: false,
            is_slow: false,
            allowed: (Bytes::ZERO, now),
            is_greedy: false,
            carried: None,
            begins_anew: false,
            remainders: Default::default(),
            turn: Turn::default(),
            last: None,
        }
    }

    /// What is measured of it now.
    pub(super) fn measured(&mut self, now: Instant, telemetry: &FlowTelemetry) {
        let mut telemetry = Telemetry::from(telemetry);
        telemetry.ran_min_rtt = self.ran_min_rtt(now, telemetry.ran_min_rtt);
        if core::mem::take(&mut self.begins_anew) {
            self.sampled = (telemetry.wan_arrived, now);
            self.round = (telemetry.wan_arrived, now);
        }
        let passed = |of: &Telemetry| (of.wan_arrived, of.ran_acked);
        if passed(&telemetry) != passed(&self.telemetry) {
            self.moved_at = now;
        }
        self.telemetry = telemetry;
    }

    /// It goes on here from a cell of another allocator, which has learnt this.
    pub(super) fn learn(&mut self, now: Instant, learnt: &Learnt) {
        self.rate = learnt.rate.as_bps() as f64 / 8.0;
        self.max_of_round = learnt.round;
        self.is_greedy = learnt.is_greedy;
        self.store = learnt.store.as_secs_f64().max(STORE_FLOOR);
        self.carried = learnt.ran_min_rtt.map(|rtt| (rtt, now + CARRIED_TIME));
        self.telemetry.ran_min_rtt = self.ran_min_rtt(now, self.telemetry.ran_min_rtt);
        self.begins_anew = true;
    }

    /// What another allocator is to go on with.
    pub(super) fn learnt(&self) -> Learnt {
        Learnt {
            ran_min_rtt: self.telemetry.ran_min_rtt,
            rate: BitRate::from_bps((self.rate * 8.0) as u64),
            round: self.max_of_round,
            is_greedy: self.is_greedy,
            store: Duration::from_secs_f64(self.store),
        }
    }

    /// The least round trip towards the UE, of what is measured and what is carried.
    fn ran_min_rtt(&self, now: Instant, measured: Option<Duration>) -> Option<Duration> {
        let carried = self.carried.filter(|(_, until)| now < *until);
        let both = [measured, carried.map(|(rtt, _)| rtt)];
        both.into_iter().flatten().min()
    }

    pub(super) fn wan_rtt(&self) -> Option<f64> {
        self.telemetry.wan_rtt
    }

    /// The moving average of arrivals, over about one round trip from the server to the UE, and some segments: a
    /// small window arrives in bursts.
    pub(super) fn update_rate(&mut self, now: Instant, turnaround: f64) {
        let (bytes, at) = self.sampled;
        let elapsed = now.saturating_since(at).as_secs_f64();
        let wan_rtt = self.telemetry.wan_srtt.unwrap_or(0.01);
        let segments = RATE_SEGMENTS * self.mss.get() as f64 / self.share.max(1.0);
        let horizon = (wan_rtt + turnaround)
            .max(segments.min(IDLE_TIME.as_secs_f64()))
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

    /// What arrives in a round trip of the WAN.
    pub(super) fn update_round(&mut self, now: Instant) {
        let Some(rtt) = self.wan_rtt() else { return };
        let (bytes, at) = self.round;
        let arrived = self.telemetry.wan_arrived;
        self.max_of_round = self.max_of_round.max(arrived.saturating_sub(bytes));
        if now.saturating_since(at).as_secs_f64() >= rtt {
            self.round = (arrived, now);
        }
    }

    /// Something of it waits here or is on its way to the UE.
    fn is_under_way(&self) -> bool {
        !self.telemetry.buffered.is_zero() || !self.telemetry.ran_in_flight.is_zero()
    }

    /// Counts when shares are made.
    pub(super) fn is_active(&self, now: Instant) -> bool {
        now < self.active_at + IDLE_TIME || self.is_under_way()
    }

    /// Sends, or opened a moment ago.
    pub(super) fn is_sending(&self, now: Instant) -> bool {
        (self.is_under_way() && now < self.moved_at + STALL_TIME)
            || now < self.active_at + self.telemetry.pause
    }

    /// Before this [`Self::is_active`] and [`Self::is_sending`] stay what they are now, as long as nothing of it moves.
    pub(super) fn stays_until(&self, now: Instant) -> Instant {
        let ends = [
            self.active_at + IDLE_TIME,
            self.moved_at + STALL_TIME,
            self.active_at + self.telemetry.pause,
        ];
        let to_come = ends.into_iter().filter(|end| *end > now);
        to_come.min().unwrap_or(Instant::MAX)
    }

    /// Data waits for room in its window towards the UE, or another segment would not fit into it.
    pub(super) fn is_saturated(&self) -> bool {
        let window = self.last.map_or(Bytes::ZERO, |last| last.ran);
        !self.telemetry.buffered.is_zero()
            || self.telemetry.ran_in_flight > window.saturating_sub(self.mss)
    }

    /// Whether its server sends all that it is let: what it was let a round trip ago has come.
    pub(super) fn update_greedy(&mut self, now: Instant) {
        let (Some(rtt), Some(last)) = (self.wan_rtt(), self.last) else {
            return;
        };
        let (allowed, at) = self.allowed;
        if now.saturating_since(at).as_secs_f64() < GREEDY_RTTS * rtt + GREEDY_MARGIN {
            return;
        }
        let arrived = self.telemetry.wan_arrived;
        // before anything was let nothing is found
        if !allowed.is_zero() {
            self.is_greedy = arrived >= allowed;
        }
        // a sender rounds down to segments, and what it is shown may differ a little from what was decided
        let window = last.wan.shown(self.telemetry.buffered);
        let used = window.saturating_sub(window / GREEDY_PART + self.mss);
        self.allowed = (arrived + used, now);
    }

    /// As found last.
    pub(super) fn is_greedy(&self) -> bool {
        self.is_greedy
    }

    /// What the flow requests, byte/s.
    pub(super) fn demand(&mut self, threshold: f64) -> f64 {
        let waiting = self.telemetry.buffered > self.mss * 2;
        self.is_slow = !waiting && self.rate < threshold * self.share;
        self.requested()
    }

    /// What the flow requested as shares were last made, byte/s.
    pub(super) fn requested(&self) -> f64 {
        if self.is_slow {
            self.rate * DEMAND_HEADROOM
        } else {
            f64::INFINITY
        }
    }

    /// Adapts the store once a WAN round trip: senders that pause (BBR drains, probes for RTT) need
    /// one, window-limited ones do not.
    fn update_store(&mut self, now: Instant, is_starving: bool) {
        let Some(rtt) = self.wan_rtt() else { return };
        let window = self.last.map_or(0, |last| last.ran.get());
        let room = window as f64 - self.telemetry.ran_in_flight.get() as f64;
        self.ran_dry |=
            is_starving && self.telemetry.buffered.is_zero() && room >= 2.0 * self.mss.get() as f64;
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

    /// Its share from now on, byte/s. `is_starving`: the radio's queue is shorter than needed.
    pub(super) fn set_share(
        &mut self,
        now: Instant,
        share: f64,
        is_starving: bool,
        config: &AllocatorConfig,
    ) {
        self.share = share;
        if config.has(Part::Store) {
            self.update_store(now, is_starving);
        }
    }

    /// (3) The window towards the UE that its share means, segments; none as long as nothing was measured there.
    pub(super) fn ran_window(&self, turnaround: f64) -> Option<f64> {
        (turnaround > 0.0).then(|| self.segments(self.share * turnaround))
    }

    /// (4) What may be on its way from the server or wait here, segments; none as long as nothing was measured there.
    /// (10) `standing`, seconds: what the radio has just taken of the queue is made up for.
    pub(super) fn wan_budget(&self, standing: f64, config: &AllocatorConfig) -> Option<f64> {
        let rtt = self.wan_rtt()?;
        (self.share > 0.0).then(|| {
            let budget = self.segments(self.share * (rtt + self.store + standing));
            // what a server has been shown cannot be taken back when others begin
            let used = self.segments(self.max_of_round.get() as f64);
            let usable = match config.has(Part::Usable) {
                true => (USABLE_ROUNDS * used).max(USABLE_SEGMENTS),
                false => f64::INFINITY,
            };
            budget.min(usable)
        })
    }

    /// From the server to the acknowledgement of the UE, seconds; none as long as not both parts were measured.
    pub(super) fn whole_rtt(&self, turnaround: f64) -> Option<f64> {
        let rtt = self.wan_rtt()?;
        (turnaround > 0.0).then_some(rtt + self.store + turnaround)
    }

    /// The moving average of arrivals, byte/s.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn segments(&self, bytes: f64) -> f64 {
        bytes / self.mss.get() as f64
    }

    /// What may be under way from the server to the acknowledgement of the UE, segments; none as long as not both parts
    /// were measured.
    pub(super) fn whole_window(&self, turnaround: f64) -> Option<f64> {
        let rtt = self.whole_rtt(turnaround)?;
        Some(self.segments(self.share * rtt))
    }

    /// (4) No more than the whole window leaves beside what is in flight to the UE, segments.
    pub(super) fn left_of(&self, whole: f64) -> f64 {
        let in_flight = self.segments(self.telemetry.ran_in_flight.get() as f64);
        whole_part(whole - in_flight)
    }

    /// The windows, segments; `None` for what nothing is known of. None if they are as good as the last.
    pub(super) fn decide(
        &mut self,
        id: crate::FlowId,
        ran_window: Option<f64>,
        budget: Option<f64>,
        config: &AllocatorConfig,
    ) -> Option<Decision> {
        let bytes = |segments: f64| Bytes::new((segments * self.mss.get() as f64) as u64);
        let window = ran_window.map(|window| bytes(window.max(MIN_WINDOW)));
        let window = window.unwrap_or(config.initial_ran_window);
        let budget = budget.map_or(config.initial_ran_window, bytes);
        let windows = Windows {
            wan: if config.has(Part::Budget) {
                WanWindow::Budget(budget)
            } else {
                WanWindow::Fixed(budget)
            },
            ran: window,
            is_slow: self.is_slow,
        };
        let is_new = self
            .last
            .is_none_or(|last| is_material(&last, &windows, self.mss));
        is_new.then(|| {
            self.last = Some(windows);
            Decision {
                flow: id,
                place: self.place,
                wan_window: windows.wan,
                ran: Allocation {
                    window,
                    pacing_rate: None,
                },
                is_slow: windows.is_slow,
            }
        })
    }
}

/// What is whole of a positive number, without a call of the system's library for each; zero of a negative one.
pub(super) fn whole_part(of: f64) -> f64 {
    of as u64 as f64
}

/// Changes below a segment or 1/64 are not worth an update.
fn is_material(last: &Windows, new: &Windows, mss: Bytes) -> bool {
    let differs = |a: Bytes, b: Bytes| {
        let (less, more) = (a.min(b), a.max(b));
        // of a closed window 1/64 is nothing, and it stays what it was
        less != more && more - less >= mss.min(more / 64)
    };
    last.is_slow != new.is_slow
        || differs(last.wan.shown(Bytes::ZERO), new.wan.shown(Bytes::ZERO))
        || differs(last.ran, new.ran)
}
