//! The contract between a transport and a congestion controller.

use crate::feedback::{Feedback, RateView};
use crate::meld::LossDecision;
use crate::radio_state::RadioState;
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// What a controller is given with every event.
pub struct Ctx<'a> {
    /// The current time.
    pub now: Instant,
    /// The controller's own random stream.
    pub rng: &'a mut Rng,
    /// Where decisions worth seeing are written.
    pub trace: &'a mut dyn Trace,
}

/// Receives a controller's decisions, for logs and reports.
pub trait Trace {
    /// The controller passed into the named state (e.g. `"drain"`), or took the named decision.
    fn event(&mut self, now: Instant, name: &'static str, value: u64);
    /// A controller with reports of the radio has classified a loss.
    fn loss_decision(&mut self, _now: Instant, _decision: &LossDecision) {}
}

/// Forgets everything.
impl Trace for () {
    fn event(&mut self, _: Instant, _: &'static str, _: u64) {}
}

/// A packet of data that has just been handed to the network.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its payload.
    pub bytes: Bytes,
    /// Payload in flight before this packet.
    pub bytes_in_flight: Bytes,
    /// True if it repeats data sent before.
    pub is_retransmission: bool,
}

/// Delivery-rate state as a packet left (draft-cheng-iccrg-delivery-rate-estimation 3.2). It is
/// kept with the packet and comes back with its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStamp {
    /// Payload delivered on this connection when the packet was sent.
    pub delivered: Bytes,
    /// When that amount was reached.
    pub delivered_at: Instant,
    /// When the packet that began this flight was sent.
    pub first_sent_at: Instant,
    /// When this packet was sent.
    pub sent_at: Instant,
    /// Payload in flight when it was sent, the packet itself included.
    pub in_flight: Bytes,
    /// Payload found lost on this connection when it was sent.
    pub lost: Bytes,
    /// True if the sender had nothing more to send at that time.
    pub is_app_limited: bool,
}

/// What one incoming acknowledgement reported the transport.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Payload newly acknowledged, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// Payload newly found lost by this acknowledgement.
    pub newly_lost: Bytes,
    /// Payload in flight after it.
    pub bytes_in_flight: Bytes,
    /// Payload in flight before it.
    pub prior_in_flight: Bytes,
    /// Round-trip sample of this acknowledgement, if it gave one (never from a retransmission).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Duration,
    /// Least round-trip time of the connection.
    pub min_rtt: Duration,
    /// Stamp of the most recently sent packet among those newly acknowledged.
    pub stamp: Option<PacketStamp>,
    /// True between a loss or a mark and the acknowledgement of all that was sent before it was
    /// found.
    pub is_recovering: bool,
    /// True if the sender was limited by cwnd in the round before: only then may cwnd grow
    /// (RFC 7661, Linux `tcp_is_cwnd_limited`).
    pub is_cwnd_limited: bool,
    /// True if this acknowledgement began a new round trip (all that was in flight at the beginning
    /// of the last one has been acknowledged).
    pub is_round_start: bool,
    /// Marks are reported. With the echo of RFC 8257 3.2 what is newly acknowledged was marked; with
    /// that of RFC 3168 6.1.3 something was, in the last round trip; with counters (RFC 9768, QUIC, DCCP) some of
    /// what was sent. What is to be answered once a round trip comes as [`LossKind::Ecn`].
    pub ecn_echo: bool,
    /// Of what is newly acknowledged what was marked, where the feedback shows how much that is (the echo of RFC 8257 3.2, the
    /// counters of RFC 9768 and of QUIC's acknowledgements, DCCP's Ack Vectors); with the echo of RFC 3168 all while that stands.
    pub newly_marked: Bytes,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// By acknowledgements of later packets (RACK, SACK): fast recovery begins.
    Fast,
    /// The retransmission timer ran out (RFC 6298 5.4 ff.).
    Timeout,
    /// A congestion mark (RFC 3168), no packet was lost. Comes once for each window of data, and not
    /// while a loss is being recovered from (RFC 3168 6.1.2, RFC 8257 3.5).
    Ecn,
}

/// A new congestion event: given once for each recovery episode, not once for each lost packet.
#[derive(Clone, Copy, Debug)]
pub struct LossSample {
    /// How it was found.
    pub kind: LossKind,
    /// Payload found lost so far in this event.
    pub lost: Bytes,
    /// Payload in flight as the loss was found, without the lost.
    pub bytes_in_flight: Bytes,
    /// When the first lost packet had been sent.
    pub lost_sent_at: Instant,
}

/// The end of a recovery episode.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryEnd {
    /// True if every retransmission of the episode proved unnecessary (RFC 4015, DSACK): the window
    /// from before the event may be restored.
    pub is_spurious: bool,
}

/// What congestion window validation leaves of a window that was not used (RFC 2861, RFC 7661).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidatedWindow {
    /// cwnd falls to it if it is above. Taken as at least a segment.
    pub cwnd: Bytes,
    /// The new slow-start threshold; [`Bytes::MAX`] for none.
    pub ssthresh: Bytes,
}

/// What an external allocator (RAPID) grants a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Window: the most payload in flight.
    pub window: Bytes,
    /// Pacing rate, if the allocator sets one.
    pub pacing_rate: Option<BitRate>,
}

/// Duplicates a controller behind its trait; every controller that is `Clone` has it.
pub trait CloneController {
    /// A controller in the same state.
    fn clone_controller(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneController for T {
    fn clone_controller(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        (**self).clone_controller()
    }
}

impl core::fmt::Debug for Box<dyn CongestionControl> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct(self.name())
            .field("cwnd", &self.cwnd())
            .finish_non_exhaustive()
    }
}

/// A congestion controller: packets go in with their times, decisions come out.
///
/// The order of calls for one acknowledgement: [`Self::on_recovery_end`] if it ends an episode,
/// [`Self::on_loss`] if it begins one, then [`Self::on_ack`]. An episode ends with
/// [`Self::on_recovery_end`] before the next begins, except that a timeout may come within one; that
/// is the same episode, and ssthresh is not reduced again. A loss found by acknowledgements within
/// an episode of [`LossKind::Ecn`] is of the same window: unless [`Self::governs_recovery`], the
/// controller does not receive it.
/// After a timeout the window grows by slow start from one segment while
/// [`AckSample::is_recovering`] is still true, so PRR is for [`LossKind::Fast`] and
/// [`LossKind::Ecn`] only.
///
/// Outside an episode the transport first queries [`Self::is_congestion`] of losses that
/// acknowledgements show. If the answer is no, it repeats what was lost and does nothing else: no
/// episode begins, the controller does not receive the loss, and is queried again for the next one.
pub trait CongestionControl: CloneController + Send {
    /// The name that scenario files use, e.g. `"cubic"`.
    fn name(&self) -> &'static str;
    /// A packet was sent. The stamp comes back in the [`AckSample`] of its acknowledgement.
    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp;
    /// An acknowledgement arrived.
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample);
    /// What else a segment from the peer carries. Called before [`Self::on_ack`], if the segment
    /// acknowledges anything. All but controllers that the peer helps ignore it.
    fn on_feedback(&mut self, _cx: &mut Ctx<'_>, _feedback: &Feedback) {}
    /// Whether losses are a sign of congestion. Called for [`LossKind::Fast`] only: a timeout and a mark
    /// always are.
    fn is_congestion(&mut self, _cx: &mut Ctx<'_>, _loss: &LossSample) -> bool {
        true
    }
    /// A congestion event began.
    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample);
    /// A recovery episode ended: everything sent before its loss was found is acknowledged.
    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, _end: RecoveryEnd) {}
    /// The application had nothing more to send while cwnd would have allowed it.
    fn on_app_limited(&mut self, _cx: &mut Ctx<'_>, _bytes_in_flight: Bytes) {}
    /// The sender was idle for longer than a retransmission timeout (RFC 5681 4.1).
    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {}
    /// The window was not used and is validated no more. Controllers whose rate does not follow from cwnd ignore it, as
    /// Linux exempts those with `cong_control`.
    fn on_window_validation(&mut self, _cx: &mut Ctx<'_>, _window: ValidatedWindow) {}
    /// A deadline that [`Self::next_deadline`] named has come.
    fn on_deadline(&mut self, _cx: &mut Ctx<'_>) {}
    /// An outside allocator sets the flow's share. All but allocator-driven controllers ignore it.
    fn set_allocation(&mut self, _cx: &mut Ctx<'_>, _allocation: Allocation) {}
    /// A radio report of the UE behind the connection arrived. All but controllers that read the radio
    /// ignore it.
    fn on_radio(&mut self, _cx: &mut Ctx<'_>, _state: &RadioState) {}
    /// Most payload in flight; never below one segment.
    fn cwnd(&self) -> Bytes;
    /// Slow-start threshold, where the algorithm has one.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }
    /// The rate at which packets should leave, or none: as fast as cwnd allows.
    fn pacing_rate(&self) -> Option<BitRate>;
    /// The period of the radio reports that set [`Self::pacing_rate`], if such reports do: they come whether
    /// anything is acknowledged or not, so that a transport without a pacer can send by them.
    fn report_period(&self) -> Option<Duration> {
        None
    }
    /// True if the controller, and not PRR (RFC 6937), governs cwnd during recovery (as BBR does).
    fn governs_recovery(&self) -> bool {
        false
    }
    /// What a controller that the peer helps shows of itself.
    fn rate_view(&self) -> Option<RateView> {
        None
    }
    /// When the controller needs to be called although nothing arrives.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}
