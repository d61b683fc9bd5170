//! From quinn's events to those of [`cc`].

use crate::credit::Credit;
use crate::factory::{Epoch, TraceSink, initial_window, span};
use crate::feed::Arrival;
use crate::flight::Flight;
use crate::monitor::{Monitor, PathSample};
use crate::{MarkFeed, RadioFeed, ReportFeed};
use cc::meld::LossDecision;
use cc::{AckSample, CongestionControl, Ctx, LossKind, LossSample, RecoveryEnd, Sent, Trace};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// RFC 9002 7.2, kMinimumWindow, in datagrams. quinn sends nothing with a smaller one.
const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;
/// RFC 6298 2.4: minimum retransmission timeout, after which an idle sender starts again.
const MIN_IDLE: Duration = Duration::from_secs(1);
/// RFC 6298 2.2: the timeout of a round-trip time measured once, srtt + 4 rttvar.
const IDLE_ROUND_TRIPS: u64 = 3;
/// What a rate leaves in flight above rate x srtt, in datagrams: an acknowledgement waits for a
/// second packet, and datagrams leave in groups.
const RATE_ALLOWANCE_DATAGRAMS: u64 = 4;

/// A controller of [`cc`] in quinn; [`crate::AdapterFactory`] makes it.
///
/// | quinn | [`cc`] |
/// | --- | --- |
/// | `on_sent`, of a group of datagrams | [`CongestionControl::on_sent`]; before it, after an idle time, [`CongestionControl::on_restart_after_idle`] |
/// | `on_ack`, of each packet, and `on_end_acks` | [`CongestionControl::on_recovery_end`], one [`CongestionControl::on_ack`], and [`CongestionControl::on_app_limited`] |
/// | `on_congestion_event` of a packet sent after the last episode began (RFC 9002 7.3.1) | [`CongestionControl::is_congestion`], and if it is [`CongestionControl::on_loss`] |
/// | the same of one sent before | nothing (RFC 9002 7.3.2) |
/// | the same in persistent congestion (RFC 9002 7.6) | [`CongestionControl::on_loss`] of [`LossKind::Timeout`] |
/// | the same without lost bytes, a mark | [`CongestionControl::on_loss`] of [`LossKind::Ecn`] |
///
/// *Deviations from the contract*, because quinn reports no more
/// - quinn finds losses after it has counted the acknowledgement: `on_loss` comes after `on_ack`, and
///   [`AckSample::newly_lost`] and [`AckSample::ecn_echo`] are those of the acknowledgement before.
/// - [`LossSample::lost_sent_at`] is of the last of the packets lost at once, not of the first.
/// - A probe timeout is not reported, and is none of congestion (RFC 9002 6.2.1); what Linux calls a
///   timeout is persistent congestion here. No loss is found to be spurious.
/// - There is no PRR: in an episode the window is the controller's.
/// - The MTU's later growth is not passed to the controller: growth in congestion avoidance is by the
///   MTU that the path began with.
/// - quinn paces by itself, at 1.25 windows in a smoothed round-trip time. A controller's own rate
///   (BBR's) is kept by its average instead: the window is at most what the rate sends in a
///   smoothed round trip, and four datagrams. Within a round trip the packets leave up to 1.25 times as
///   fast as BBR would have them, and its drain phases are as long as the queue takes to empty.
/// - Where radio reports set the rate ([`CongestionControl::report_period`]), the window is what is in flight and
///   what the rate has earned by then, and each report renews it when quinn next reads it.
/// - [`CongestionControl::next_deadline`] is kept at the next event after it.
pub struct Adapter {
    /// A controller is `Send` and not `Sync`; quinn requires both, and shares only `&self` for metrics.
    /// With `&mut self` the lock is free.
    state: Mutex<State>,
    /// [`State::window`], for `&self` without a lock.
    window: AtomicU64,
    initial_window: u64,
    /// The state's, to see without a lock whether reports wait.
    feed: Option<RadioFeed>,
}

/// What the factory gives a controller.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) epoch: Epoch,
    pub(crate) mtu: Bytes,
    pub(crate) rng: Rng,
    pub(crate) feed: Option<RadioFeed>,
    pub(crate) reports: Option<ReportFeed>,
    pub(crate) marks: Option<MarkFeed>,
    pub(crate) trace: Option<TraceSink>,
    pub(crate) monitor: Option<Monitor>,
}

#[derive(Clone)]
struct State {
    controller: Box<dyn CongestionControl>,
    parts: Parts,
    flight: Flight,
    acked: Acked,
    rtt: Rtt,
    /// The episode of recovery, if one is under way.
    episode: Option<Episode>,
    /// Found since the last acknowledgement was passed on.
    newly_lost: Bytes,
    ecn_echo: bool,
    /// CE packets of which the feed had reported at the last acknowledgement.
    marks_seen: u64,
    credit: Credit,
    /// Of the last event.
    now: Instant,
}

/// What the acknowledgement that quinn is counting has acknowledged so far.
#[derive(Clone, Copy, Default)]
struct Acked {
    bytes: Bytes,
    packets: u64,
    latest_sent_at: Option<Instant>,
    /// quinn's, without the sample of this acknowledgement.
    srtt: Duration,
}

#[derive(Clone, Copy, Default)]
struct Rtt {
    /// Before quinn's first sample its estimate is a guess.
    first: Option<Duration>,
    samples: u64,
    latest: Duration,
    min: Duration,
    srtt: Duration,
}

#[derive(Clone, Copy)]
struct Episode {
    began_at: Instant,
    kind: LossKind,
}

/// Locks the sink only when there is something to write.
struct LateLock<'a>(Option<&'a TraceSink>);

impl Trace for LateLock<'_> {
    fn event(&mut self, now: Instant, name: &'static str, value: u64) {
        if let Some(sink) = self.0 {
            sink.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .event(now, name, value);
        }
    }
    fn loss_decision(&mut self, now: Instant, decision: &LossDecision) {
        if let Some(sink) = self.0 {
            sink.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .loss_decision(now, decision);
        }
    }
}

impl State {
    /// Calls the controller. A report may have come after quinn took the time: its times do not decrease.
    fn notify<T>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>) -> T,
    ) -> T {
        let mut trace = LateLock(self.parts.trace.as_ref());
        let mut cx = Ctx {
            now: now.max(self.now),
            rng: &mut self.parts.rng,
            trace: &mut trace,
        };
        call(&mut *self.controller, &mut cx)
    }

    /// Before every event: what the radio did, what the client reports, and a deadline that has passed.
    fn catch_up(&mut self, now: Instant) {
        self.take_reports();
        self.pass_time(now);
        let feedback = self.parts.reports.as_ref().and_then(ReportFeed::take);
        if let Some(feedback) = feedback {
            self.notify(now, |controller, cx| controller.on_feedback(cx, &feedback));
        }
        if self
            .controller
            .next_deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.notify(now, |controller, cx| controller.on_deadline(cx));
        }
    }

    /// What the radio did since the last event.
    fn take_reports(&mut self) {
        while let Some(Arrival { at, state }) = self.parts.feed.as_ref().and_then(RadioFeed::pop) {
            if let Some(monitor) = &self.parts.monitor {
                monitor.on_radio();
            }
            self.pass_time(at);
            self.notify(self.now, |controller, cx| controller.on_radio(cx, &state));
        }
    }

    /// No event is before the last.
    fn pass_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.credit.advance(self.now, self.controller.as_ref());
    }

    fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        self.catch_up(now);
        if !Flight::counts(bytes) {
            return;
        }
        let bytes_in_flight = self.flight.bytes();
        let idle = now.saturating_since(self.flight.last_sent_at());
        if bytes_in_flight.is_zero()
            && self.rtt.samples > 0
            && idle > MIN_IDLE.max(self.rtt.srtt * IDLE_ROUND_TRIPS)
        {
            self.notify(now, |controller, cx| controller.on_restart_after_idle(cx));
        }
        let sent = Sent {
            bytes,
            bytes_in_flight,
            is_retransmission: false,
        };
        self.credit.on_sent(bytes);
        let stamp = self.notify(now, |controller, cx| controller.on_sent(cx, &sent));
        self.flight.on_sent(now, bytes, stamp);
    }

    fn on_ack(&mut self, sent_at: Instant, bytes: Bytes, srtt: Duration) {
        self.acked.bytes += bytes;
        self.acked.packets += 1;
        self.acked.srtt = srtt;
        self.acked.latest_sent_at = self.acked.latest_sent_at.max(Some(sent_at));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: Bytes, is_app_limited: bool) {
        self.flight.set_bytes(in_flight);
        let acked = core::mem::take(&mut self.acked);
        let Some(sent_at) = acked.latest_sent_at else {
            return;
        };
        self.catch_up(now);
        let rtt = self
            .flight
            .is_newest(sent_at)
            .then(|| now.saturating_since(sent_at));
        self.rtt.update(rtt, acked.srtt);
        if self
            .episode
            .is_some_and(|episode| sent_at > episode.began_at)
        {
            self.end_episode(now);
        }
        let prior_in_flight = in_flight + acked.bytes;
        let newly_marked = self.take_marked(&acked);
        let sample = AckSample {
            newly_acked: acked.bytes,
            newly_lost: core::mem::take(&mut self.newly_lost),
            bytes_in_flight: in_flight,
            prior_in_flight,
            rtt,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            stamp: self.flight.stamp(sent_at),
            is_recovering: self.episode.is_some(),
            is_cwnd_limited: self.is_cwnd_limited(prior_in_flight, is_app_limited),
            is_round_start: self.flight.begins_round(sent_at),
            ecn_echo: core::mem::take(&mut self.ecn_echo),
            newly_marked,
        };
        self.notify(now, |controller, cx| controller.on_ack(cx, &sample));
        if is_app_limited {
            self.notify(now, |controller, cx| {
                controller.on_app_limited(cx, in_flight);
            });
        }
        if let Some(monitor) = &self.parts.monitor {
            let sample = PathSample {
                cwnd: self.window(),
                bytes_in_flight: in_flight,
                latest_rtt: self.rtt.latest,
                srtt: self.rtt.srtt,
                min_rtt: self.rtt.min,
                rtt_samples: self.rtt.samples,
            };
            monitor.on_ack(&sample, rtt.is_some());
            if let Some(view) = self.controller.rate_view() {
                monitor.on_rate_view(view);
            }
        }
    }

    /// What of the acknowledged bytes was marked: as many packets as the count of CE has grown by, with a feed; without
    /// one all, if something was.
    fn take_marked(&mut self, acked: &Acked) -> Bytes {
        let Some(feed) = &self.parts.marks else {
            return if self.ecn_echo {
                acked.bytes
            } else {
                Bytes::ZERO
            };
        };
        let marked = feed.count();
        let new = marked.saturating_sub(self.marks_seen).min(acked.packets);
        self.marks_seen = marked;
        acked.bytes * new / acked.packets.max(1)
    }

    /// The window has been full, or as good as full: what quinn could have sent, it has. With half of
    /// it in flight a doubling of the window a round trip is used up.
    fn is_cwnd_limited(&self, prior_in_flight: Bytes, is_app_limited: bool) -> bool {
        let window = self.window();
        prior_in_flight + self.parts.mtu * MINIMUM_WINDOW_DATAGRAMS >= window
            || !is_app_limited && prior_in_flight * 2 >= window
    }

    fn end_episode(&mut self, now: Instant) {
        if self.episode.take().is_some() {
            let end = RecoveryEnd { is_spurious: false };
            self.notify(now, |controller, cx| controller.on_recovery_end(cx, end));
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent_at: Instant, kind: LossKind, lost: Bytes) {
        self.catch_up(now);
        self.flight.on_lost(lost);
        self.newly_lost += lost;
        self.ecn_echo |= kind == LossKind::Ecn;
        if let Some(monitor) = &self.parts.monitor {
            monitor.on_lost(lost);
        }
        let loss = LossSample {
            kind,
            lost,
            bytes_in_flight: self.flight.bytes(),
            lost_sent_at: sent_at,
        };
        match (self.episode, kind) {
            (_, LossKind::Timeout) => {}
            (Some(episode), _) if sent_at <= episode.began_at => {
                let is_passed_on = episode.kind == LossKind::Ecn
                    && kind == LossKind::Fast
                    && self.controller.governs_recovery();
                if !is_passed_on {
                    return;
                }
            }
            _ => {
                self.end_episode(now);
                let is_congestion = kind == LossKind::Ecn
                    || self.notify(now, |controller, cx| controller.is_congestion(cx, &loss));
                if !is_congestion {
                    if let Some(monitor) = &self.parts.monitor {
                        monitor.on_silent(lost);
                    }
                    return;
                }
            }
        }
        let began_at = now;
        self.episode = Some(Episode { began_at, kind });
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        if let Some(monitor) = &self.parts.monitor {
            monitor.on_congestion(kind);
            monitor.on_window(self.window());
        }
    }

    /// The window that quinn is given.
    fn window(&self) -> Bytes {
        let cwnd = self.controller.cwnd();
        let credit = self.credit.get(self.controller.as_ref());
        let kept = match (credit, self.controller.pacing_rate()) {
            (Some(credit), _) => cwnd.min(self.flight.bytes() + credit),
            (None, Some(rate)) if self.rtt.samples > 0 => {
                cwnd.min(rate_window(rate, self.rtt.srtt, self.parts.mtu))
            }
            _ => cwnd,
        };
        kept.max(self.parts.mtu * MINIMUM_WINDOW_DATAGRAMS)
    }
}

/// What keeps a rate on average.
fn rate_window(rate: BitRate, srtt: Duration, mtu: Bytes) -> Bytes {
    rate.bytes_in(srtt) + mtu * RATE_ALLOWANCE_DATAGRAMS
}

impl Rtt {
    fn update(&mut self, sample: Option<Duration>, quinns: Duration) {
        if let Some(sample) = sample {
            self.min = if self.samples == 0 {
                sample
            } else {
                self.min.min(sample)
            };
            self.latest = sample;
            self.samples += 1;
        }
        self.first = self.first.or(sample);
        self.srtt = if self.samples <= 1 {
            self.first.unwrap_or(quinns)
        } else {
            quinns
        };
    }
}

impl Adapter {
    pub(crate) fn new(controller: Box<dyn CongestionControl>, parts: Parts) -> Self {
        let state = State {
            controller,
            flight: Flight::default(),
            acked: Acked::default(),
            rtt: Rtt::default(),
            episode: None,
            newly_lost: Bytes::ZERO,
            ecn_echo: false,
            marks_seen: 0,
            credit: Credit::default(),
            now: Instant::ZERO,
            parts,
        };
        let window = state.window().get();
        let initial_window = initial_window(state.parts.mtu).get();
        let feed = state.parts.feed.clone();
        Self {
            feed,
            state: Mutex::new(state),
            window: AtomicU64::new(window),
            initial_window,
        }
    }

    /// Changes the state and keeps its window.
    fn with(&mut self, now: std::time::Instant, change: impl FnOnce(&mut State, Instant)) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        change(state, state.parts.epoch.at(now));
        *self.window.get_mut() = state.window().get();
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The controller's name.
    pub fn name(&self) -> &'static str {
        self.read(|state| state.controller.name())
    }

    /// The window that the controller itself sets, before quinn's minimum and what its pacing
    /// rate makes of it.
    pub fn cwnd(&self) -> Bytes {
        self.read(|state| state.controller.cwnd())
    }
}

impl core::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Adapter")
            .field("name", &self.name())
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: std::time::Instant, bytes: u64, _last_packet_number: u64) {
        self.with(now, |state, now| state.on_sent(now, Bytes::new(bytes)));
    }

    fn on_ack(
        &mut self,
        _now: std::time::Instant,
        sent: std::time::Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let sent_at = state.parts.epoch.at(sent);
        state.on_ack(sent_at, Bytes::new(bytes), span(rtt.get()));
    }

    fn on_end_acks(
        &mut self,
        now: std::time::Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.with(now, |state, now| {
            state.on_end_acks(now, Bytes::new(in_flight), app_limited);
        });
    }

    fn on_congestion_event(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let kind = match (is_persistent_congestion, lost_bytes) {
            (true, _) => LossKind::Timeout,
            (false, 0) => LossKind::Ecn,
            (false, _) => LossKind::Fast,
        };
        self.with(now, |state, now| {
            let sent_at = state.parts.epoch.at(sent);
            state.on_congestion_event(now, sent_at, kind, Bytes::new(lost_bytes));
        });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.parts.mtu = Bytes::new(u64::from(new_mtu));
        *self.window.get_mut() = state.window().get();
    }

    fn window(&self) -> u64 {
        if !self.feed.as_ref().is_some_and(RadioFeed::has_pending) {
            return self.window.load(Ordering::Relaxed);
        }
        // reports that came since the last event act at once
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.take_reports();
        let window = state.window().get();
        self.window.store(window, Ordering::Relaxed);
        window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = Controller::window(self);
        (metrics.ssthresh, metrics.pacing_rate) = self.read(|state| {
            let ssthresh = state.controller.ssthresh().filter(|&s| s != Bytes::MAX);
            let rate = state.controller.pacing_rate();
            (ssthresh.map(Bytes::get), rate.map(BitRate::as_bps))
        });
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            state: Mutex::new(self.read(State::clone)),
            window: AtomicU64::new(self.window.load(Ordering::Relaxed)),
            feed: self.feed.clone(),
            initial_window: self.initial_window,
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
