//! A congestion controller together with what it is given at every call.

use cc::{
    AckSample, Allocation, CongestionControl, Ctx, Feedback, LossSample, PacketStamp, RadioState,
    RateView, RecoveryEnd, Sent, Trace, ValidatedWindow,
};
use recovery::WindowState;
use units::{BitRate, Bytes, Instant, Rng};

pub(super) struct Controller {
    cc: Box<dyn CongestionControl>,
    /// Whatever the controller paces at, no faster than this (`SO_MAX_PACING_RATE`).
    max_pacing_rate: Option<BitRate>,
    rng: Rng,
    trace: Box<dyn Trace + Send>,
}

impl core::fmt::Debug for Controller {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.cc.name())
            .finish_non_exhaustive()
    }
}

impl Controller {
    pub(super) fn new(cc: Box<dyn CongestionControl>, rng: Rng) -> Self {
        Self {
            cc,
            max_pacing_rate: None,
            rng,
            trace: Box::new(()),
        }
    }
    /// Another controller from now on.
    pub(super) fn replace(&mut self, cc: Box<dyn CongestionControl>) {
        self.cc = cc;
    }
    pub(super) fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.max_pacing_rate = rate;
    }
    pub(super) fn set_trace(&mut self, trace: Box<dyn Trace + Send>) {
        self.trace = trace;
    }

    fn with<T>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>) -> T,
    ) -> T {
        let mut cx = Ctx {
            now,
            rng: &mut self.rng,
            trace: &mut *self.trace,
        };
        call(&mut *self.cc, &mut cx)
    }

    pub(super) fn on_sent(&mut self, now: Instant, packet: &Sent) -> PacketStamp {
        self.with(now, |cc, cx| cc.on_sent(cx, packet))
    }
    pub(super) fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        self.with(now, |cc, cx| cc.on_ack(cx, ack));
    }
    pub(super) fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        self.with(now, |cc, cx| cc.on_feedback(cx, feedback));
    }
    pub(super) fn rate_view(&self) -> Option<RateView> {
        self.cc.rate_view()
    }
    pub(super) fn is_congestion(&mut self, now: Instant, loss: &LossSample) -> bool {
        self.with(now, |cc, cx| cc.is_congestion(cx, loss))
    }
    pub(super) fn on_radio(&mut self, now: Instant, state: &RadioState) {
        self.with(now, |cc, cx| cc.on_radio(cx, state));
    }
    pub(super) fn on_loss(&mut self, now: Instant, loss: &LossSample) {
        self.with(now, |cc, cx| cc.on_loss(cx, loss));
    }
    pub(super) fn on_recovery_end(&mut self, now: Instant, is_spurious: bool) {
        self.with(now, |cc, cx| {
            cc.on_recovery_end(cx, RecoveryEnd { is_spurious });
        });
    }
    pub(super) fn on_app_limited(&mut self, now: Instant, in_flight: Bytes) {
        self.with(now, |cc, cx| cc.on_app_limited(cx, in_flight));
    }
    pub(super) fn on_restart_after_idle(&mut self, now: Instant) {
        self.with(now, |cc, cx| cc.on_restart_after_idle(cx));
    }
    pub(super) fn on_window_validation(&mut self, now: Instant, window: ValidatedWindow) {
        self.with(now, |cc, cx| cc.on_window_validation(cx, window));
    }
    /// The window of the controller itself, not of PRR.
    pub(super) fn window(&self) -> WindowState {
        WindowState::of(&*self.cc)
    }
    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.with(now, |cc, cx| cc.on_deadline(cx));
    }
    pub(super) fn set_allocation(&mut self, now: Instant, allocation: Allocation) {
        self.with(now, |cc, cx| cc.set_allocation(cx, allocation));
    }

    pub(super) fn name(&self) -> &'static str {
        self.cc.name()
    }
    pub(super) fn cwnd(&self) -> u64 {
        self.cc.cwnd().get()
    }
    pub(super) fn ssthresh(&self) -> Option<Bytes> {
        self.cc.ssthresh()
    }
    pub(super) fn pacing_rate(&self) -> Option<BitRate> {
        match (self.cc.pacing_rate(), self.max_pacing_rate) {
            (Some(rate), Some(max)) => Some(rate.min(max)),
            (rate, max) => rate.or(max),
        }
    }
    pub(super) fn governs_recovery(&self) -> bool {
        self.cc.governs_recovery()
    }
    /// When the controller is to be called; [`Instant::MAX`] for never.
    pub(super) fn deadline(&self) -> Instant {
        self.cc.next_deadline().unwrap_or(Instant::MAX)
    }
}
