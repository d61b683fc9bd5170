//! Congestion controllers for tests.

use cc::{AckSample, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd, Sent};
use std::sync::{Arc, Mutex};
use units::{BitRate, Bytes, Instant, Rng, Streams};

/// What a controller was events.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    pub(super) acked: u64,
    pub(super) sent: u64,
    pub(super) losses: Vec<LossKind>,
    pub(super) recovery_ends: Vec<bool>,
    pub(super) app_limited: u32,
    pub(super) restarts: u32,
    pub(super) cwnd_limited: Vec<bool>,
    pub(super) round_starts: Vec<Instant>,
    pub(super) in_recovery: u32,
    pub(super) echoed: u64,
}

/// A controller with a fixed window and rate, which halves its window for losses only if events to.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) cwnd: u64,
    pub(super) rate: Option<BitRate>,
    pub(super) governs_recovery: bool,
    /// The window while recovering, if it shall be reduced.
    pub(super) reduced: Option<u64>,
    is_reduced: bool,
    events: Arc<Mutex<Events>>,
}

impl Fixed {
    pub(super) fn new(cwnd: u64) -> Self {
        Self {
            cwnd,
            rate: None,
            governs_recovery: true,
            reduced: None,
            is_reduced: false,
            events: Arc::default(),
        }
    }
    /// Paced.
    pub(super) fn paced(self, rate: BitRate) -> Self {
        Self {
            rate: Some(rate),
            ..self
        }
    }
    /// The window becomes `reduced` with the first loss, and PRR leads there.
    pub(super) fn reducing_to(self, reduced: u64) -> Self {
        Self {
            reduced: Some(reduced),
            governs_recovery: false,
            ..self
        }
    }
    /// Where its reports can be read.
    pub(super) fn events(&self) -> Arc<Mutex<Events>> {
        Arc::clone(&self.events)
    }
}

impl CongestionControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        self.events.lock().unwrap().sent += packet.bytes.get();
        PacketStamp {
            sent_at: cx.now,
            ..PacketStamp::default()
        }
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let mut events = self.events.lock().unwrap();
        events.acked += ack.newly_acked.get();
        events.cwnd_limited.push(ack.is_cwnd_limited);
        events.echoed += ack.newly_marked.get();
        events.in_recovery += u32::from(ack.is_recovering);
        if ack.is_round_start {
            events.round_starts.push(cx.now);
        }
    }
    fn on_loss(&mut self, _cx: &mut Ctx<'_>, loss: &LossSample) {
        self.events.lock().unwrap().losses.push(loss.kind);
        self.is_reduced = true;
    }
    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.events
            .lock()
            .unwrap()
            .recovery_ends
            .push(end.is_spurious);
        self.is_reduced &= !end.is_spurious;
    }
    fn on_app_limited(&mut self, _cx: &mut Ctx<'_>, _bytes_in_flight: Bytes) {
        self.events.lock().unwrap().app_limited += 1;
    }
    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.events.lock().unwrap().restarts += 1;
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(
            self.reduced
                .filter(|_| self.is_reduced)
                .unwrap_or(self.cwnd),
        )
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate
    }
    fn governs_recovery(&self) -> bool {
        self.governs_recovery
    }
}

/// A real controller.
pub(super) fn real(name: &str, mss: u64) -> Box<dyn CongestionControl> {
    let (mss, initial_window) = (Bytes::new(mss), Bytes::new(10 * mss));
    cc::build(
        name,
        cc::BuildConfig {
            mss,
            initial_window,
        },
    )
    .unwrap()
}

pub(super) fn rng() -> Rng {
    Streams::new(1).stream("test")
}
