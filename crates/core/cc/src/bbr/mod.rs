//! BBR version 1: a model of the path, its bandwidth and its minimum round-trip time, sets the
//! pacing rate and the window.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00, held against Linux `tcp_bbr.c`, whose
//! constants and integer gains are used. Amounts are in bytes, rates in bit/s.
//!
//! | section | here |
//! | --- | --- |
//! | 4.1.1 BtlBw, rounds, max filter of 10 rounds | `Bbr::update_bandwidth`, `windowed_max.rs` |
//! | 4.1.2 RTprop, min filter of 10 s | `probe_rtt.rs` |
//! | 4.2.1 pacing rate | `Bbr::set_pacing_rate`, `Bbr::pace_from_rtt` |
//! | 4.2.2 send quantum | `bbr_parts/mod.rs`, `send_quantum` |
//! | 4.2.3 cwnd | `Bbr::set_cwnd`, `recovery.rs` |
//! | 4.3.2 STARTUP | `startup.rs` |
//! | 4.3.3 DRAIN | `drain.rs` |
//! | 4.3.4 PROBE_BW | `probe_bw.rs` |
//! | 4.3.5 PROBE_RTT | `probe_rtt.rs` |
//! | 4.3.4.4 restart from idle | `Bbr::restart_from_idle` |
//! | Linux: ack aggregation, policer | `bbr_parts/ack_aggregation.rs`, `policer.rs` |
//!
//! *Deviations*
//! - Linux estimates what is in the network at the departure time of the next packet that its qdisc
//!   has already scheduled. Here pacing is the transport's and nothing is scheduled ahead: the time
//!   is now.
//! - Linux counts in packets, here bytes; the window is rounded up to two segments as there.
//! - The pacing rate never falls below one segment a second, so that no sample can stop the flow.
//! - Window reduction at the entry of recovery takes place with [`CongestionControl::on_loss`], one
//!   segment above what is in flight; the next acknowledgement conserves packets as in Linux.
//! - ECN is not used (version 1 ignores it).

mod drain;
mod policer;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;
mod windowed_max;

use crate::bbr_parts::{
    AckAggregation, Epoch, Gain, MIN_CWND_SEGMENTS, NOMINAL_RTT, QUANTA_IN_HOSTS, Round, paced,
    send_quantum,
};
use crate::delivery_rate::{DeliveryRate, RateSample};
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent,
};
use policer::Policer;
use probe_rtt::{MinRtt, ProbeRtt};
use recovery::Recovery;
use startup::FullPipe;
use units::{BitRate, Bytes, Duration, Instant};
use windowed_max::WindowedMax;

/// BtlBwFilterLen: rounds for which the largest bandwidth is kept (4.1.1.3).
const BANDWIDTH_ROUNDS: u64 = 10;

/// How a BBR connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    window: BuildConfig,
}

impl Config {
    /// The constants of version 1.
    pub fn new(window: BuildConfig) -> Self {
        Self {
            window: window.bounded(),
        }
    }
}

/// The state machine of 4.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw {
        /// Index into [`Gain::CYCLE`].
        phase: usize,
        /// When the phase began.
        since: Instant,
    },
    ProbeRtt(ProbeRtt),
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    /// Most payload of a segment; > 0.
    mss: Bytes,
    initial_window: Bytes,
    state: State,
    delivery: DeliveryRate,
    /// What the last acknowledgement reported of the rate of delivery.
    sample: Option<RateSample>,
    round: Round,
    /// BtlBw filter, in bit/s by round.
    max_bw: WindowedMax,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    aggregation: AckAggregation,
    policer: Policer,
    recovery: Recovery,
    /// The first round of a recovery: what is delivered may be sent.
    is_conserving: bool,
    /// The sender began again after having had nothing to send.
    is_idle_restart: bool,
    /// The initial pacing rate has been computed from a measured round-trip time.
    has_seen_rtt: bool,
    /// Window before a recovery or PROBE_RTT.
    prior_cwnd: Bytes,
    /// Most payload in flight; >= one segment.
    cwnd: Bytes,
    pacing_rate: BitRate,
    /// What the pacing rate makes the send quantum (4.2.2); kept, for it is used several times for
    /// each acknowledgement, while the rate seldom changes.
    send_quantum: Bytes,
}

impl Bbr {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        let BuildConfig {
            mss,
            initial_window,
        } = config.window;
        let mut bbr = Self {
            mss,
            initial_window,
            state: State::Startup,
            delivery: DeliveryRate::default(),
            sample: None,
            round: Round::default(),
            max_bw: WindowedMax::new(BANDWIDTH_ROUNDS),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            aggregation: AckAggregation::default(),
            policer: Policer::default(),
            recovery: Recovery::Open,
            is_conserving: false,
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

    /// What the last acknowledgement reported of the rate of delivery, for a controller round this one.
    pub(crate) fn rate_sample(&self) -> Option<RateSample> {
        self.sample
    }

    /// BtlBw: the largest delivery rate of the last ten rounds.
    fn max_bw(&self) -> BitRate {
        BitRate::from_bps(self.max_bw.get())
    }

    /// The bandwidth to use: BtlBw, or a policer's rate.
    fn bandwidth(&self) -> BitRate {
        self.policer.bandwidth().unwrap_or(self.max_bw())
    }

    fn min_cwnd(&self) -> Bytes {
        self.mss * MIN_CWND_SEGMENTS
    }

    /// The pacing gain of the state (4.3).
    fn pacing_gain(&self) -> Gain {
        match self.state {
            State::Startup => Gain::HIGH,
            State::Drain => Gain::DRAIN,
            State::ProbeBw { .. } if self.policer.bandwidth().is_some() => Gain::UNIT,
            State::ProbeBw { phase, .. } => Gain::CYCLE[phase],
            State::ProbeRtt(_) => Gain::UNIT,
        }
    }

    /// The window's gain over the BDP (4.3).
    fn cwnd_gain(&self) -> Gain {
        match self.state {
            State::Startup | State::Drain => Gain::HIGH,
            State::ProbeBw { .. } => Gain::CWND,
            State::ProbeRtt(_) => Gain::UNIT,
        }
    }

    /// 4.2.3.2: gain times BDP, rounded up; the initial window before the first round-trip sample.
    fn bdp(&self, bandwidth: BitRate, gain: Gain) -> Bytes {
        match self.min_rtt.value {
            Some(min_rtt) => gain.of_bytes(bandwidth.bytes_in(min_rtt) + Bytes::new(1)),
            None => self.initial_window,
        }
    }

    /// 4.2.3.2 with Linux `bbr_quantization_budget`: room for the quanta in the hosts, an even number
    /// of segments, and two more while probing.
    fn with_quantization(&self, inflight: Bytes) -> Bytes {
        let budgeted = inflight + self.send_quantum * QUANTA_IN_HOSTS;
        let pair = self.mss * 2;
        let even = pair * budgeted.get().div_ceil(pair.get());
        if matches!(self.state, State::ProbeBw { phase: 0, .. }) {
            even + pair
        } else {
            even
        }
    }

    /// 4.2.3.2 BBRInflight.
    fn inflight(&self, bandwidth: BitRate, gain: Gain) -> Bytes {
        self.with_quantization(self.bdp(bandwidth, gain))
    }

    /// Linux `bbr_packets_in_net_at_edt` with nothing scheduled ahead: what is in flight, and the
    /// quantum about to leave if the flight is to grow.
    fn in_network(&self, bytes_in_flight: Bytes) -> Bytes {
        let is_growing = self.pacing_gain() > Gain::UNIT;
        if is_growing {
            bytes_in_flight + self.send_quantum
        } else {
            bytes_in_flight
        }
    }

    /// 4.1.1.3 BBRUpdateBtlBw, with rounds and, as in Linux, the policer.
    fn update_bandwidth(&mut self, cx: &mut Ctx<'_>, ack: &AckSample, sample: Option<&RateSample>) {
        self.round.is_start = false;
        let Some(sample) = sample else { return };
        self.round.update(sample, self.delivery.delivered());
        if self.round.is_start {
            self.is_conserving = false;
        }
        self.update_policer(cx, ack.newly_lost, sample.is_app_limited);
        let rate = sample.delivery_rate.as_bps();
        if !sample.is_app_limited || rate >= self.max_bw.get() {
            self.max_bw.update(self.round.count, rate);
        }
    }

    /// Linux `bbr_update_ack_aggregation`, for acknowledgements with a valid rate sample.
    fn update_ack_aggregation(&mut self, ack: &AckSample) {
        self.aggregation.update(&Epoch {
            delivered_at: self.delivery.delivered_at(),
            newly_acked: ack.newly_acked,
            bandwidth: self.bandwidth(),
            cwnd: self.cwnd,
            mss: self.mss,
            is_round_start: self.round.is_start,
            half_rounds: Epoch::half_rounds(true),
        });
    }

    /// What the window gets on top of gain times BDP.
    fn ack_aggregation_cwnd(&self) -> Bytes {
        if !self.full_pipe.is_filled {
            return Bytes::ZERO;
        }
        self.aggregation.allowance(self.bandwidth())
    }

    /// 4.2.1 BBRInitPacingRate: the window each round-trip time, times the high gain.
    fn pace_from_rtt(&mut self, rtt: Duration) {
        let bandwidth = BitRate::from_bytes_per(self.cwnd, rtt);
        self.pace_at(paced(bandwidth, Gain::HIGH, self.mss));
    }

    fn pace_at(&mut self, rate: BitRate) {
        if rate != self.pacing_rate {
            self.pacing_rate = rate;
            self.send_quantum = send_quantum(rate, self.mss);
        }
    }

    /// 4.2.1 BBRSetPacingRateWithGain: before the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, gain: Gain, srtt: Duration) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            self.pace_from_rtt(srtt);
        }
        let rate = paced(self.bandwidth(), gain, self.mss);
        if self.full_pipe.is_filled || rate > self.pacing_rate {
            self.pace_at(rate);
        }
    }

    /// 4.2.3.6 BBRSetCwnd.
    fn set_cwnd(&mut self, ack: &AckSample) {
        if !ack.newly_acked.is_zero() && !self.modulate_cwnd_for_recovery(ack) {
            let bdp = self.bdp(self.bandwidth(), self.cwnd_gain());
            let target = self.with_quantization(bdp + self.ack_aggregation_cwnd());
            let grown = self.cwnd + ack.newly_acked;
            if self.full_pipe.is_filled {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || self.delivery.delivered() < self.initial_window {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(self.min_cwnd());
        }
        self.cap_cwnd_for_probe_rtt();
    }

    /// 4.2.3.5 BBRModulateCwndForProbeRTT.
    fn cap_cwnd_for_probe_rtt(&mut self) {
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.min_cwnd());
        }
    }

    /// 4.3.4.4 BBRHandleRestartFromIdle: at the estimated bandwidth, without a probe.
    fn restart_from_idle(&mut self, cx: &mut Ctx<'_>) {
        self.is_idle_restart = true;
        self.aggregation.restart_epoch(cx.now);
        match self.state {
            State::ProbeBw { .. } => self.set_pacing_rate(Gain::UNIT, Duration::ZERO),
            State::ProbeRtt(_) => self.check_probe_rtt_done(cx),
            State::Startup | State::Drain => {}
        }
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        if packet.bytes_in_flight.is_zero() && self.delivery.is_app_limited() {
            self.restart_from_idle(cx);
        }
        self.delivery.on_sent(cx.now, packet)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let sample = self.delivery.on_ack(cx.now, ack);
        self.sample = sample;
        self.update_bandwidth(cx, ack, sample.as_ref());
        if sample.is_some() {
            self.update_ack_aggregation(ack);
        }
        self.update_cycle_phase(ack);
        self.check_full_pipe(sample.as_ref());
        self.check_drain(cx, ack);
        self.update_min_rtt(cx, ack, sample.as_ref());
        self.set_pacing_rate(self.pacing_gain(), ack.srtt);
        self.set_cwnd(ack);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        if loss.kind != LossKind::Ecn {
            self.begin_recovery(loss);
            cx.trace.event(cx.now, "loss", self.cwnd.get());
        }
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.end_recovery(end);
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
