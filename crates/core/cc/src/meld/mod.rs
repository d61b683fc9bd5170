//! MELD: a sender that queries the radio whether a loss was congestion.
//!
//! Source: M. Diarra, W. Dabbous, A. Ismail, T. Turletti, "Cross-layer Loss Discrimination Algorithms
//! for MEC in 4G networks", HPSR 2021: section 4, equations 1 and 2, algorithm 1.
//!
//! ```text
//!   radio report ──> on_radio ─┐
//!                              v
//!   losses ──> is_congestion: [Meld] ── yes ──> on_loss ──> the wrapped controller
//!                                    └─ no ───> the transport repeats the packets, silently
//! ```
//!
//! | variant | a loss is congestion when | source |
//! | --- | --- | --- |
//! | [`Variant::DownloadEnhancement`] (MELD-DE) | TBS < S_TB | section 5.1 |
//! | [`Variant::MixedEnhancement`] (MELD-ME) | TBS < S_TB, or S_TxQueue >= Q_th | algorithm 1, section 5.2 |
//! | [`Variant::Default`] | TBS < S_TB, or the radio has not lost as many packets; see module `evidence` | ours |
//! | [`Variant::Yielding`] | the same | ours |
//!
//! S_TB = T_PDU / N_HARQ (equation 1), Q_th = S_TBm N_HARQ (equation 2).
//!
//! Whatever the variant, a loss is congestion
//! - without a report, or when the last is older than [`Config::max_age`];
//! - when more is in flight than three times what was acknowledged in a round trip (the better of the
//!   last two), and what was in this one so far: however good the reports look, and whatever their sender, no window outgrows what is
//!   delivered;
//! - when it was found by a timeout, or is persistent congestion or a mark: those are not queried about.
//!
//! `Default` also reads from the reports what is served and what waits in the base station, sends at that rate
//! and keeps that queue short; see module `steering`. `Yielding` gives way to flows that begin beside it as well; see module
//! `yielding`.
//!
//! [`Discriminator`] is all of this without the wrapped controller. The kernel's program
//! (`kernel-cc/bpf/meld_model.h`) is the same in C: a differential test holds it to this to the bit, which
//! is why the arithmetic is of whole numbers. Its [`constants`] come from here.
//!
//! *Readings of the text*
//! - Section 4.2.3 states "and" between its two conditions. Algorithm 1 and equations 1 and 2 make it an
//!   "or".
//! - D_TBS is the block that the UE's next slot would carry: [`crate::RadioState::tbs`]. The paper's
//!   UE is alone and always sending, so that its allocated PRBs are all PRBs.
//! - Q_th is in bytes, as equation 2 has it.
//!
//! *Deviations*
//! - The bound by what is delivered is not in the paper. Without it MELD-DE repeats the losses of its
//!   own overflow silently, and its window grows for ever.

pub mod constants;
mod discriminator;
mod evidence;
mod paper;
mod round_trips;
mod steering;
#[cfg(test)]
mod tests;
mod yielding;

use crate::{
    AckSample, Allocation, CongestionControl, Ctx, Feedback, LossKind, LossSample, PacketStamp,
    RadioState, RateView, RecoveryEnd, Sent, ValidatedWindow,
};
pub use discriminator::{Acked, Discriminator, State};
pub use paper::{queue_threshold, tbs_threshold};
pub use steering::Order;

use units::{BitRate, Bytes, Duration, Instant};

/// Reports that are kept, whatever their age.
const MAX_REPORTS: u64 = 256;

/// How losses of congestion and of the radio are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// MELD-DE, for downloads: by the transport block's size only.
    DownloadEnhancement,
    /// MELD-ME, for mixed flows: by the transport block's size and the queue in the base station.
    MixedEnhancement,
    /// By what the radio states that it lost, with a short queue in the base station.
    Default,
    /// The same; a download that was alone gives way to one that begins.
    Yielding,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::DownloadEnhancement,
        Self::MixedEnhancement,
        Self::Default,
        Self::Yielding,
    ];
    /// The names that scenario files use, in the same order.
    pub const NAMES: &'static [&'static str] = &[
        Self::ALL[0].name(),
        Self::ALL[1].name(),
        Self::ALL[2].name(),
        Self::ALL[3].name(),
    ];

    /// The variant of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variant| variant.name() == name)
    }

    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DownloadEnhancement => "de",
            Self::MixedEnhancement => "me",
            Self::Default => "default",
            Self::Yielding => "yield",
        }
    }

    /// Whether the reports set the pace.
    pub fn steers(self) -> bool {
        matches!(self, Self::Default | Self::Yielding)
    }
}

/// How MELD is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How losses of congestion and of the radio are distinguished.
    pub variant: Variant,
    /// T_PDU, the size of a packet; more than 0 (the paper: 1440).
    pub pdu: Bytes,
    /// Reports older than this explain nothing.
    pub max_age: Duration,
}

impl Config {
    /// Five CSI periods of 8 ms.
    pub const MAX_AGE: Duration = Duration::from_millis(40);

    /// A configuration for packets of this size.
    pub fn new(variant: Variant, pdu: Bytes) -> Self {
        Self {
            variant,
            pdu: pdu.max(Bytes::new(1)),
            max_age: Self::MAX_AGE,
        }
    }

    /// Whether a report that arrives now sets a connection's pace, so that the connection may send although
    /// nothing is acknowledged.
    pub fn steers_by(&self, now: Instant, state: &RadioState) -> bool {
        self.variant.steers() && now <= self.steers_until(state)
    }

    /// Until when a report sets the pace.
    fn steers_until(&self, state: &RadioState) -> Instant {
        state.made_at + self.max_age.max(state.period * steering::MAX_AGE_PERIODS)
    }
}

/// Why a loss is congestion, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Congestion: no report has come yet.
    NoReport,
    /// Congestion: the last report is too old.
    Stale,
    /// Congestion: more is in flight than what is delivered justifies.
    BeyondDelivered,
    /// Congestion: TBS < S_TB (equation 1).
    SmallBlocks,
    /// Congestion: S_TxQueue >= Q_th (equation 2).
    LongQueue,
    /// Congestion: the radio has not lost so many packets.
    NotOnRadio,
    /// Silent: equations 1 and, for MELD-ME, 2 hold.
    GoodRadio,
    /// Silent: the radio states that it lost as many packets.
    LostOnRadio,
    /// Silent: the radio had to repeat blocks, and nothing speaks of a queue elsewhere.
    RepeatedOnRadio,
}

impl Reason {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::NoReport,
        Self::Stale,
        Self::BeyondDelivered,
        Self::SmallBlocks,
        Self::LongQueue,
        Self::NotOnRadio,
        Self::GoodRadio,
        Self::LostOnRadio,
        Self::RepeatedOnRadio,
    ];

    /// True if the loss is reported to the controller.
    pub fn is_congestion(self) -> bool {
        !matches!(
            self,
            Self::GoodRadio | Self::LostOnRadio | Self::RepeatedOnRadio
        )
    }

    /// Who did it.
    pub fn culprit(self) -> Culprit {
        match self {
            Self::NoReport | Self::Stale => Culprit::Unknown,
            reason if reason.is_congestion() => Culprit::Congestion,
            _ => Culprit::Radio,
        }
    }

    /// Its name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoReport => "no-report",
            Self::Stale => "stale",
            Self::BeyondDelivered => "beyond-delivered",
            Self::SmallBlocks => "small-blocks",
            Self::LongQueue => "long-queue",
            Self::NotOnRadio => "not-on-radio",
            Self::GoodRadio => "good-radio",
            Self::LostOnRadio => "lost-on-radio",
            Self::RepeatedOnRadio => "repeated-on-radio",
        }
    }
}

/// What a loss is held to come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// A queue, as reported.
    Congestion,
    /// The radio.
    Radio,
    /// There was no fresh report: it counts as congestion.
    Unknown,
}

/// A decision with all that it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossDecision {
    /// The variant that decided.
    pub variant: Variant,
    /// What it decided, and why.
    pub reason: Reason,
    /// Payload found lost.
    pub lost: Bytes,
    /// Payload in flight.
    pub bytes_in_flight: Bytes,
    /// The most that may be in flight for a silent repetition.
    pub max_in_flight: Bytes,
    /// The last report, if any has come.
    pub radio: Option<RadioState>,
    /// Its age.
    pub age: Option<Duration>,
    /// S_TB.
    pub tbs_threshold: Bytes,
    /// Q_th; zero without a report.
    pub queue_threshold: Bytes,
}

/// MELD round a congestion controller.
#[derive(Clone, Debug)]
pub struct Meld {
    inner: Box<dyn CongestionControl>,
    discriminator: Discriminator,
}

impl Meld {
    /// MELD round `inner`.
    pub fn new(inner: Box<dyn CongestionControl>, config: Config) -> Self {
        Self {
            inner,
            discriminator: Discriminator::new(config),
        }
    }
}

impl CongestionControl for Meld {
    fn name(&self) -> &'static str {
        "meld"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        self.discriminator.on_sent(cx.now, packet.bytes);
        self.inner.on_sent(cx, packet)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let inner_cwnd = self.inner.cwnd();
        let ssthresh = self.inner.ssthresh();
        let acked = Acked {
            newly_acked: ack.newly_acked,
            prior_in_flight: ack.prior_in_flight,
            srtt: ack.srtt,
            min_rtt: ack.min_rtt,
            inner_cwnd,
            is_slow_start: ssthresh.is_some_and(|ssthresh| inner_cwnd < ssthresh),
        };
        let is_held = self.discriminator.on_ack(cx.now, &acked);
        let ack = AckSample {
            is_cwnd_limited: ack.is_cwnd_limited && !is_held,
            ..*ack
        };
        self.inner.on_ack(cx, &ack);
    }

    fn is_congestion(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) -> bool {
        if loss.kind != LossKind::Fast {
            return true;
        }
        let decision = self.discriminator.judge(cx.now, loss);
        cx.trace.loss_decision(cx.now, &decision);
        let is_congestion = decision.reason.is_congestion();
        is_congestion && self.inner.is_congestion(cx, loss)
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        self.discriminator.on_congestion();
        self.inner.on_loss(cx, loss);
    }

    fn on_recovery_end(&mut self, cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.inner.on_recovery_end(cx, end);
    }

    fn on_app_limited(&mut self, cx: &mut Ctx<'_>, bytes_in_flight: Bytes) {
        self.inner.on_app_limited(cx, bytes_in_flight);
    }

    fn on_restart_after_idle(&mut self, cx: &mut Ctx<'_>) {
        self.inner.on_restart_after_idle(cx);
    }
    fn on_window_validation(&mut self, cx: &mut Ctx<'_>, window: ValidatedWindow) {
        self.inner.on_window_validation(cx, window);
    }

    fn on_deadline(&mut self, cx: &mut Ctx<'_>) {
        self.inner.on_deadline(cx);
    }

    fn on_feedback(&mut self, cx: &mut Ctx<'_>, feedback: &Feedback) {
        self.inner.on_feedback(cx, feedback);
    }

    fn set_allocation(&mut self, cx: &mut Ctx<'_>, allocation: Allocation) {
        self.inner.set_allocation(cx, allocation);
    }

    fn on_radio(&mut self, cx: &mut Ctx<'_>, state: &RadioState) {
        self.discriminator.on_radio(cx.now, state);
        self.inner.on_radio(cx, state);
    }

    fn cwnd(&self) -> Bytes {
        self.discriminator.window(self.inner.cwnd())
    }
    fn ssthresh(&self) -> Option<Bytes> {
        self.inner.ssthresh()
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        let order = self.discriminator.pacing_order();
        order.map_or_else(|| self.inner.pacing_rate(), |order| Some(order.pace))
    }
    fn report_period(&self) -> Option<Duration> {
        self.discriminator.pacing_order().map(|order| order.period)
    }
    fn rate_view(&self) -> Option<RateView> {
        self.inner.rate_view()
    }
    fn governs_recovery(&self) -> bool {
        self.inner.governs_recovery()
    }
    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }
}
