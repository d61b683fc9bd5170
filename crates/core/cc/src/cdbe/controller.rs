//! The server of CDBE as a congestion controller.
//!
//! Before the first report, and with a client that never reports, [`Bbr`] decides: the same kind of
//! controller, that measures at the server what CDBE has the client measure. Once a report has come CDBE
//! decides; when none has come for [`server::SILENCE`] (the option is stripped from here on, or the client's program
//! has gone), BBR does again. It is fed all along, so that it can.
//!
//! *Deviations* (the paper does not speak of them)
//! - A loss does not change rate or window: the client's rate shows what arrives. A timeout does: the
//!   window begins again at one segment, and grows by what is acknowledged until it meets equation 7.

use super::Mode;
use super::clock::PeerClock;
use super::server::{self, Event, State};
use crate::bbr::{self, Bbr};
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, Feedback, LossKind, LossSample, PacketStamp,
    RateReport, RateView, RecoveryEnd, Sent, ValidatedWindow, cqic,
};
use units::{BitRate, Bytes, Duration, Instant};

/// How the server is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    window: BuildConfig,
    /// Of the model; its segment size is that of `window`.
    pub server: server::Config,
    rule: Rule,
    name: &'static str,
}

/// What makes rate and window out of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// CDBE's states.
    States,
    /// Nothing: they are the report's ([`cqic::server`]).
    Report,
}

impl Config {
    /// The constants of a mode.
    pub fn new(mode: Mode, window: BuildConfig) -> Self {
        let window = window.bounded();
        Self {
            window,
            server: server::Config::new(mode, window.mss.get()),
            rule: Rule::States,
            name: "cdbe",
        }
    }

    /// CQIC's server: the same bound and the same fallback, but for the states.
    pub fn cqic(window: BuildConfig) -> Self {
        Self {
            rule: Rule::Report,
            name: "cqic",
            ..Self::new(Mode::Paper, window)
        }
    }

    /// The same server under the name that it has with CQIC's clients.
    #[must_use]
    pub fn for_cqic(self) -> Self {
        Self {
            name: "cqic-s",
            ..self
        }
    }
}

/// CDBE at the server.
#[derive(Clone, Debug)]
pub struct Cdbe {
    config: Config,
    state: State,
    clock: PeerClock,
    /// It measures the rate of delivery for both.
    fallback: Bbr,
    /// What the acknowledgement being handled carried.
    feedback: Feedback,
    /// Window while it grows back after a timeout.
    recovering: Option<Bytes>,
    /// Payload delivered so far.
    delivered: Bytes,
    /// The application has had nothing to send; until more than this is delivered. The fallback's own mark is
    /// none: BBR sets it too while it probes for RTT_min.
    limited_until: Option<Bytes>,
    /// What the reports decided; none while the fallback decides.
    decision: Option<Decision>,
}

/// What follows from the reports.
#[derive(Clone, Copy, Debug)]
struct Decision {
    cwnd: Bytes,
    pacing_rate: BitRate,
}

impl Cdbe {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            state: State::new(),
            clock: PeerClock::default(),
            fallback: Bbr::new(bbr::Config::new(config.window)),
            feedback: Feedback::default(),
            recovering: None,
            delivered: Bytes::ZERO,
            limited_until: None,
            decision: None,
        }
    }

    /// The state of the model.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether the reports decide, and not the fallback.
    pub fn is_reported(&self, now: Instant) -> bool {
        self.state.is_reported(now.as_nanos() / 1_000)
    }

    /// DSDL of the acknowledgement: from its timestamps; without any, or with a tick that shows nothing, what
    /// the round trip is longer than the smallest one (the way back is then taken to be constant).
    fn delay(&mut self, now: Instant, ack: &AckSample) -> Option<i64> {
        let mode = self.config.server.mode;
        let from_rtt = ack.rtt.map(|rtt| {
            let waiting = rtt.saturating_sub(ack.min_rtt).as_micros();
            let base = ack.min_rtt.as_micros() / 2;
            (waiting + base).cast_signed()
        });
        let now = now.as_nanos() / 1_000;
        let Some(stamps) = self.feedback.timestamps else {
            return from_rtt;
        };
        let delay = self.clock.delay(mode, now, stamps);
        if mode == Mode::Default && self.clock.is_hopeless(now) {
            return from_rtt;
        }
        delay
    }

    fn decide(&mut self, ack: &AckSample) -> Decision {
        let config = &self.config.server;
        let report = self.state.report;
        let (window, rate) = match self.config.rule {
            Rule::States => (self.state.window(config), self.state.pacing_rate(config)),
            Rule::Report => {
                let window = cqic::server::window(report, ack.srtt.as_micros(), config.mss);
                (window, report)
            }
        };
        let target = Bytes::new(window);
        let cwnd = match self.recovering {
            Some(window) if window + ack.newly_acked < target => {
                let grown = window + ack.newly_acked;
                self.recovering = Some(grown);
                grown
            }
            _ => {
                self.recovering = None;
                target
            }
        }
        .max(self.config.window.mss);
        Decision {
            cwnd,
            pacing_rate: BitRate::from_bps(rate * 8),
        }
    }
}

impl CongestionControl for Cdbe {
    fn name(&self) -> &'static str {
        self.config.name
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        self.fallback.on_sent(cx, packet)
    }

    fn on_feedback(&mut self, _: &mut Ctx<'_>, feedback: &Feedback) {
        if feedback.report.is_some() {
            self.feedback.report = feedback.report;
        }
        self.feedback.timestamps = feedback.timestamps;
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        self.fallback.on_ack(cx, ack);
        let sample = self.fallback.rate_sample();
        self.delivered += ack.newly_acked;
        self.limited_until = self.limited_until.filter(|&until| self.delivered <= until);
        let delay = self.delay(cx.now, ack);
        let has_tick = self.config.server.mode == Mode::Default
            && self.feedback.timestamps.is_some()
            && !self.clock.is_hopeless(cx.now.as_nanos() / 1_000);
        let before = self.state.phase;
        let feedback = core::mem::take(&mut self.feedback);
        let event = Event {
            at: cx.now.as_nanos() / 1_000,
            report: feedback.report.map(RateReport::bytes_per_second),
            delay,
            tick: if has_tick { self.clock.tick } else { 0 },
            rtt: ack.rtt.map_or(0, Duration::as_micros),
            min_rtt: ack.min_rtt.as_micros(),
            acked: ack.newly_acked.get(),
            lost: ack.newly_lost.get(),
            in_flight: ack.bytes_in_flight.get(),
            delivered: sample.map_or(0, |sample| sample.delivery_rate.as_bps() / 8),
            is_app_limited: self.limited_until.is_some(),
        };
        self.state.on_ack(&self.config.server, &event);
        self.decision = None;
        if self.is_reported(cx.now) {
            if self.state.phase != before {
                cx.trace
                    .event(cx.now, self.state.phase.name(), self.state.gain);
            }
            self.decision = Some(self.decide(ack));
        }
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        self.fallback.on_loss(cx, loss);
        if loss.kind == LossKind::Timeout {
            let mss = self.config.window.mss;
            let cwnd = self.cwnd();
            let min = (loss.bytes_in_flight.min(cwnd) + mss).min(cwnd);
            self.recovering = Some(min);
            if let Some(decision) = &mut self.decision {
                decision.cwnd = min;
            }
        }
    }

    fn on_recovery_end(&mut self, cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.fallback.on_recovery_end(cx, end);
        if end.is_spurious {
            self.recovering = None;
        }
    }

    fn on_app_limited(&mut self, cx: &mut Ctx<'_>, bytes_in_flight: Bytes) {
        self.limited_until = Some(self.delivered + bytes_in_flight);
        self.fallback.on_app_limited(cx, bytes_in_flight);
    }

    fn on_restart_after_idle(&mut self, cx: &mut Ctx<'_>) {
        self.fallback.on_restart_after_idle(cx);
    }
    fn on_window_validation(&mut self, cx: &mut Ctx<'_>, window: ValidatedWindow) {
        self.fallback.on_window_validation(cx, window);
    }

    fn cwnd(&self) -> Bytes {
        self.decision
            .map_or(self.fallback.cwnd(), |decision| decision.cwnd)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        match self.decision {
            Some(decision) => Some(decision.pacing_rate),
            None => self.fallback.pacing_rate(),
        }
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn rate_view(&self) -> Option<RateView> {
        let view = self.state.view();
        Some(match self.config.rule {
            Rule::States => view,
            Rule::Report => RateView { gain: 1.0, ..view },
        })
    }
}

#[cfg(test)]
mod tests;
