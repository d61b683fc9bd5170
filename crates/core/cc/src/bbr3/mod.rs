//! BBR versions 2 and 3: the model of version 1, bounded by what losses show of the path.
//!
//! ```text
//!   max_bw, min_rtt      what the path can carry: the model of version 1
//!   long-term bound      the flight that probing found to lose too much; kept
//!   short-term bounds    bandwidth and flight after losses while not probing; discarded at a probe
//! ```
//!
//! Source: draft-ietf-ccwg-bbr-06 for version 3; for version 2 the same state machine with the rules
//! of Linux `tcp_bbr2.c` (v2alpha), which draft-cardwell-iccrg-bbr-congestion-control-02 describes
//! and which the nested congestion control paper ran. Amounts are in bytes, rates in bit/s.
//!
//! | section of draft-ietf-ccwg-bbr-06 | here |
//! | --- | --- |
//! | 5.2.3 steps of an acknowledgement | `Bbr3::on_ack` |
//! | 5.3.1 Startup, full pipe | `startup.rs` |
//! | 5.3.2 Drain | `drain.rs` |
//! | 5.3.3 ProbeBW | `probe_bw.rs` |
//! | 5.3.4 ProbeRTT, 5.5.7 min_rtt | `probe_rtt.rs` |
//! | 5.4 restart from idle | `Bbr3::restart_from_idle` |
//! | 5.5.1 rounds, 5.5.9 aggregation, 5.6.3 send quantum | `bbr_parts/` |
//! | 5.5.2 to 5.5.6 max_bw | `max_bw.rs` |
//! | 5.5.10 bounds after losses | `bounds.rs` |
//! | 5.5.11 spurious recoveries | `undo.rs` |
//! | 5.6 pacing rate, cwnd | `control.rs` |
//!
//! | | version 2 | version 3 |
//! | --- | --- | --- |
//! | Startup: pacing gain, cwnd gain | 2.89, 2.89 | 2.77, 2 |
//! | Startup ends after | 8 losses in a round | 6 |
//! | the bound that this leaves | BDP | the larger of BDP and the latest flight |
//! | Drain: pacing gain | 1 / 2.89 | 0.5, at most three rounds |
//! | ProbeBW_DOWN: pacing gain | 0.75 | 0.9 |
//! | ProbeBW_UP: cwnd gain | 2 | 2.25 |
//! | ProbeBW_UP ends when | 1.25 BDP are in flight for a min_rtt | three rounds do not grow |
//!
//! *Deviations*
//! - Losses are judged as the acknowledgement that shows them is handled, by the newest packet that
//!   it acknowledges, since the transport does not name the lost packets. That packet was sent just
//!   after them, so what was in flight with it stands for `InflightAtLoss` (5.5.10.2). What a timer
//!   finds lost is counted at a timeout.
//! - "Discontiguous ranges" lost (5.3.1.3) are counted as acknowledgements that show losses, as Linux
//!   does.
//! - ECN marks are not answered: both versions answer those of an L4S queue only, the draft not at
//!   all, and an acknowledgement here does not carry how much of it was marked.
//! - The pacing rate never falls below one segment a second, so that no sample can stop the flow.
//! - The send quantum may be one segment below 1.2 Mbit/s, as in version 1; Linux version 2 also
//!   enlarges it for round-trip times below 3 ms.
//! - Version 2 takes the draft's estimate of a full pipe, by the latest sample; Linux took the
//!   largest.

mod bounds;
mod control;
mod drain;
mod max_bw;
mod probe_bw;
mod probe_rtt;
mod startup;
mod undo;

use crate::bbr_parts::{
    AckAggregation, Epoch, Gain, MIN_CWND_SEGMENTS, NOMINAL_RTT, Round, send_quantum,
};
use crate::delivery_rate::{DeliveryRate, RateSample};
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent,
};
use bounds::{Latest, LongTerm, ShortTerm};
use max_bw::MaxBw;
use probe_bw::Probing;
use probe_rtt::{MinRtt, ProbeRtt};
use startup::FullPipe;
use undo::Undo;
use units::{BitRate, Bytes};

/// What ends ProbeBW_UP beside losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeEnd {
    /// Version 2: 1.25 BDP have been in flight, a min_rtt after the probe began.
    Queue,
    /// 5.3.3.7: the delivery rate has not grown for three rounds.
    Plateau,
}

/// Where the versions differ; the table above.
#[derive(Clone, Copy, Debug)]
struct Rules {
    name: &'static str,
    startup_pacing: Gain,
    startup_cwnd: Gain,
    full_loss_events: u32,
    /// A loss in Startup leaves a bound of at least the latest flight, not just the BDP.
    keeps_latest_flight: bool,
    drain: Gain,
    /// Drain ends after so many rounds in any case.
    drain_rounds: Option<u64>,
    probe_down: Gain,
    probe_up_cwnd: Gain,
    probe_end: ProbeEnd,
}

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    window: BuildConfig,
    rules: Rules,
}

impl Config {
    /// Version 2, `bbr2`.
    pub fn v2(window: BuildConfig) -> Self {
        let rules = Rules {
            name: "bbr2",
            startup_pacing: Gain::HIGH,
            startup_cwnd: Gain::HIGH,
            full_loss_events: 8,
            keeps_latest_flight: false,
            drain: Gain::DRAIN,
            drain_rounds: None,
            probe_down: Gain::PROBE_DOWN_V2,
            probe_up_cwnd: Gain::CWND,
            probe_end: ProbeEnd::Queue,
        };
        Self {
            window: window.bounded(),
            rules,
        }
    }

    /// Version 3, `bbr3`.
    pub fn v3(window: BuildConfig) -> Self {
        let rules = Rules {
            name: "bbr3",
            startup_pacing: Gain::STARTUP_V3,
            startup_cwnd: Gain::CWND,
            full_loss_events: 6,
            keeps_latest_flight: true,
            drain: Gain::HALF,
            drain_rounds: Some(3),
            probe_down: Gain::PROBE_DOWN_V3,
            probe_up_cwnd: Gain::CWND_UP,
            probe_end: ProbeEnd::Plateau,
        };
        Self {
            window: window.bounded(),
            rules,
        }
    }
}

/// The state machine of 5.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain {
        /// The round in which it began.
        since: u64,
    },
    ProbeDown,
    ProbeCruise,
    ProbeRefill,
    ProbeUp,
    ProbeRtt(ProbeRtt),
}

/// BBR version 2 or 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    rules: Rules,
    /// Most payload of a segment; > 0.
    mss: Bytes,
    initial_window: Bytes,
    state: State,
    delivery: DeliveryRate,
    round: Round,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    aggregation: AckAggregation,
    latest: Latest,
    short_term: ShortTerm,
    long_term: LongTerm,
    probing: Probing,
    undo: Undo,
    /// Losses are being repaired.
    is_recovering: bool,
    /// The sender began again after having had nothing to send.
    is_idle_restart: bool,
    /// The initial pacing rate has been computed from a measured round-trip time.
    has_seen_rtt: bool,
    /// Window before a recovery or ProbeRTT.
    prior_cwnd: Bytes,
    /// Most payload in flight; >= one segment.
    cwnd: Bytes,
    pacing_rate: BitRate,
    /// What the pacing rate makes the send quantum; kept, as it is used for each acknowledgement.
    send_quantum: Bytes,
}

impl Bbr3 {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        let BuildConfig {
            mss,
            initial_window,
        } = config.window;
        let mut bbr = Self {
            rules: config.rules,
            mss,
            initial_window,
            state: State::Startup,
            delivery: DeliveryRate::default(),
            round: Round::default(),
            max_bw: MaxBw::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            aggregation: AckAggregation::default(),
            latest: Latest::default(),
            short_term: ShortTerm::default(),
            long_term: LongTerm::default(),
            probing: Probing::default(),
            undo: Undo::default(),
            is_recovering: false,
            is_idle_restart: false,
            has_seen_rtt: false,
            prior_cwnd: Bytes::ZERO,
            cwnd: initial_window,
            pacing_rate: BitRate::ZERO,
            send_quantum: Bytes::ZERO,
        };
        bbr.pace_from_rtt(NOMINAL_RTT);
        bbr
    }

    /// BBR.bw (2.9.1): the largest recent rate, within the short-term bound.
    fn bandwidth(&self) -> BitRate {
        let max_bw = self.max_bw.get();
        self.short_term
            .bandwidth
            .map_or(max_bw, |bound| bound.min(max_bw))
    }

    fn min_cwnd(&self) -> Bytes {
        self.mss * MIN_CWND_SEGMENTS
    }

    fn is_in_probe_bw(&self) -> bool {
        matches!(
            self.state,
            State::ProbeDown | State::ProbeCruise | State::ProbeRefill | State::ProbeUp
        )
    }

    /// 5.3.3.9 IsProbingBW: losses are then no reason for short-term bounds.
    fn is_accelerating(&self) -> bool {
        matches!(
            self.state,
            State::Startup | State::ProbeRefill | State::ProbeUp
        )
    }

    fn enter(&mut self, cx: &mut Ctx<'_>, state: State) {
        self.state = state;
        let name = match state {
            State::Startup => "startup",
            State::Drain { .. } => "drain",
            State::ProbeDown => "probe_down",
            State::ProbeCruise => "probe_cruise",
            State::ProbeRefill => "probe_refill",
            State::ProbeUp => "probe_up",
            State::ProbeRtt(_) => "probe_rtt",
        };
        cx.trace.event(cx.now, name, self.cwnd.get());
    }

    /// 5.5.1 StartRound.
    fn start_round(&mut self) {
        self.round.restart(self.delivery.delivered());
    }

    /// 5.5.5 UpdateMaxBw, with 5.5.1 UpdateRound.
    fn update_max_bw(&mut self, sample: Option<&RateSample>) {
        self.round.is_start = false;
        let Some(sample) = sample else { return };
        self.round.update(sample, self.delivery.delivered());
        if self.round.is_start {
            self.probing.rounds = self.probing.rounds.saturating_add(1);
        }
        if !sample.is_app_limited || sample.delivery_rate >= self.max_bw.get() {
            self.max_bw.update(sample.delivery_rate);
        }
    }

    /// 5.5.9 UpdateACKAggregation.
    fn update_ack_aggregation(&mut self, ack: &AckSample) {
        self.aggregation.update(&Epoch {
            delivered_at: self.delivery.delivered_at(),
            newly_acked: ack.newly_acked,
            bandwidth: self.bandwidth(),
            cwnd: self.cwnd,
            mss: self.mss,
            is_round_start: self.round.is_start,
            half_rounds: Epoch::half_rounds(self.full_pipe.is_reached),
        });
    }

    /// 5.4.1 HandleRestartFromIdle: at the estimated bandwidth, without a probe.
    fn restart_from_idle(&mut self, cx: &mut Ctx<'_>) {
        self.is_idle_restart = true;
        self.aggregation.restart_epoch(cx.now);
        if self.is_in_probe_bw() {
            self.pace_with_gain(Gain::UNIT);
        } else if let State::ProbeRtt(probe) = self.state {
            self.check_probe_rtt_done(cx, probe);
        }
    }
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        self.rules.name
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        if packet.bytes_in_flight.is_zero() && self.delivery.is_app_limited() {
            self.restart_from_idle(cx);
        }
        self.delivery.on_sent(cx.now, packet)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let sample = self.delivery.on_ack(cx.now, ack);
        self.on_newly_lost(cx, ack);
        self.update_latest(sample.as_ref());
        self.update_max_bw(sample.as_ref());
        self.adapt_short_term();
        if sample.is_some() {
            self.update_ack_aggregation(ack);
        }
        self.check_full_pipe(sample.as_ref());
        self.check_startup_done(cx, ack);
        self.check_drain_done(cx, ack);
        self.update_cycle_phase(cx, ack, sample.as_ref());
        self.update_min_rtt(cx, ack, sample.as_ref());
        self.advance_latest(sample.as_ref());
        self.set_pacing_rate(ack.srtt);
        self.set_cwnd(ack);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        if loss.kind == LossKind::Ecn {
            return;
        }
        self.save_state();
        self.is_recovering = true;
        if loss.kind == LossKind::Timeout {
            self.delivery.on_lost(loss.lost);
            let one_more = (loss.bytes_in_flight + self.mss).max(self.mss);
            self.cwnd = self.cwnd.min(one_more);
        }
        cx.trace.event(cx.now, "loss", self.cwnd.get());
    }

    fn on_recovery_end(&mut self, cx: &mut Ctx<'_>, end: RecoveryEnd) {
        if self.is_recovering {
            self.is_recovering = false;
            self.restore_cwnd();
        }
        if end.is_spurious {
            self.undo_losses(cx);
        }
        self.bound_cwnd();
    }

    fn on_app_limited(&mut self, _cx: &mut Ctx<'_>, bytes_in_flight: Bytes) {
        self.delivery.on_app_limited(bytes_in_flight);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        Some(self.pacing_rate)
    }
    fn governs_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
