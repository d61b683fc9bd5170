//! One path of a tunnel: its phase, its numbers, its two halves, and what waits on it.

use super::config::{Carrier, PathConfig, StreamState};
use super::identity::Opening;
use super::latency::Outstanding;
use super::mtu::{Limit, PathMtu};
use super::numbers::Numbers;
use super::receiving::MAX_SEQUENCE_WINDOW;
use crate::PathId;
use crate::ecn::{SCALABLE, SCALABLE_CCID, encapsulated};
use crate::features::{Negotiation, Role, Side};
use crate::packet::{
    AddressId, DccpOption, Feature, FeatureOptionKind, OptionFault, Options, Packet, PathPriority,
};
use crate::parity::Group;
use crate::path::{AckOutcome, Receiver, ReceiverConfig, Sender, SenderConfig};
use crate::scheduler::PathView;
use crate::seq::{MpSeq, SeqNo};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Ecn, Instant, Packets, Rng};

/// Segments of the first window (RFC 6928, as RFC 4341 5 allows more than RFC 3390's).
const INITIAL_WINDOW: u64 = 10;
/// Timeouts after which a path is left to the others.
const FAILING_AFTER: u32 = 1;
/// Minimum time that a queried path is given to answer.
const ANSWER_TIME: Duration = Duration::from_millis(500);
/// The first of them.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

/// Where a path is in its life (RFC 4340 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The client's Request is on its way.
    Request,
    /// The server has answered; the client's Ack is awaited.
    Respond,
    /// The client has the answer; the server is not known to have its Ack.
    PartOpen,
    /// Data flows.
    Open,
    /// Close has been sent; a Reset is awaited.
    Closing,
    /// It is over.
    Closed,
}

/// A packet that was given to a path and has not left.
#[derive(Debug)]
pub(super) struct Queued<P> {
    pub(super) mp_seq: MpSeq,
    pub(super) payload: P,
    /// It was lost before (partial reliability).
    pub(super) is_repeated: bool,
    /// It is latency-sensitive.
    pub(super) is_urgent: bool,
    /// It is no packet of the connection but the parity of these.
    pub(super) parity_of: Option<Group>,
}

/// Something to be repeated until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    pub(super) at: Instant,
    pub(super) wait: Duration,
    pub(super) attempts: u32,
}

impl Retry {
    pub(super) fn first(now: Instant, wait: Duration) -> Self {
        Self {
            at: now + wait,
            wait,
            attempts: 1,
        }
    }

    /// Once more; the wait doubles up to `max`.
    pub(super) fn again(self, now: Instant, max: Duration) -> Self {
        let wait = (self.wait * 2).min(max);
        Self {
            at: now + wait,
            wait,
            attempts: self.attempts + 1,
        }
    }
}

/// How a path's windows are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// The sequence window that is requested.
    pub(super) sequence: u64,
    /// The congestion window of an idle path is kept.
    pub(super) is_kept: bool,
    /// Which rules validate one that is not used.
    pub(super) validation: recovery::Validation,
    /// [`super::TunnelConfig::short_ack_ratio`].
    pub(super) short_ack_ratio: u32,
}

/// What a path has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Data packets sent, and their payload.
    pub sent: Packets,
    /// Payload of those.
    pub sent_bytes: Bytes,
    /// Those of them that were sent again after a loss.
    pub repeated: Packets,
    /// Data packets received, without copies on the same path.
    pub received: Packets,
    /// Payload of those.
    pub received_bytes: Bytes,
    /// Packets that were not valid: outside the windows of RFC 4340 7.5.
    pub invalid: Packets,
}

/// One path.
pub(super) struct Path<P> {
    pub(super) id: PathId,
    pub(super) config: PathConfig,
    pub(super) phase: Phase,
    pub(super) ports: (u16, u16),
    pub(super) numbers: Numbers,
    pub(super) features: Negotiation,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) outcome: AckOutcome,
    pub(super) queue: VecDeque<Queued<P>>,
    pub(super) remote_address: AddressId,
    /// What the peer thinks of the path.
    pub(super) remote_priority: PathPriority,
    /// Of the handshake or the close.
    pub(super) retry: Option<Retry>,
    /// Of a path that does not answer.
    pub(super) probe: Option<Retry>,
    /// When a silent path was queried by a Sync.
    pub(super) queried_at: Option<Instant>,
    /// When a Sync is to leave because data have stopped coming: a NAT on the way may have another mapping
    /// by now, so that only what comes from here can reach the server.
    pub(super) nudge_at: Option<Instant>,
    pub(super) stream: Option<StreamState>,
    /// Written to the stream since its state was reported last.
    pub(super) written: Bytes,
    pub(super) radio_rate: Option<(BitRate, Instant)>,
    /// When the round-trip time was last reported to the peer.
    pub(super) rtt_reported_at: Option<Instant>,
    /// A sample that was not reported to the peer.
    pub(super) unreported_rtt: Option<Duration>,
    /// When anything valid came last.
    pub(super) received_at: Instant,
    /// Sync or SyncAck that is to leave, and what it acknowledges.
    pub(super) sync: Option<SeqNo>,
    pub(super) sync_ack: Option<SeqNo>,
    pub(super) last_sync_at: Option<Instant>,
    /// An Ack is to leave although no acknowledgement is due (options wait, or the handshake).
    pub(super) must_ack: bool,
    /// A Request, Response, Close or Reset is to leave.
    pub(super) must_send: bool,
    /// A Reset that is to leave, with its options.
    pub(super) reset: Option<(OptionFault, Options)>,
    pub(super) opening: Opening,
    /// What the server wants back on the Acks that follow its Response (RFC 4340 8.1.4).
    pub(super) cookies: Vec<DccpOption>,
    pub(super) own_ecn: OwnEcn,
    pub(super) counters: PathCounters,
    /// Data that is not acknowledged, if the scheduler has classes.
    pub(super) outstanding: Option<Outstanding>,
    /// It was usable when its state was last reported.
    pub(super) was_usable: bool,
    /// How large its datagrams may be.
    pub(super) limit: Limit,
    /// The longest payload that was taken before, as far as what waits was looked at.
    pub(super) taken: u64,
}

/// Which directions have agreed that the outer ECN field is the path's own (`crate::ecn`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnEcn {
    /// What this end sends.
    pub(super) local: bool,
    /// What the peer sends.
    pub(super) remote: bool,
    /// Nothing ECN-capable has arrived on a path that has failed: it is tried without.
    pub(super) is_given_up: bool,
}

/// CCIDs that a peer may send by: whatever its rate control, it is acknowledged by Ack Vectors.
const CCIDS: [u8; 3] = [2, 5, EXPERIMENTAL_CCID];
/// The same for a peer that requests the first of them: what others are sent stays as short as it was.
const CCIDS_OF_SCALABLE: [u8; 4] = [SCALABLE_CCID, 2, 5, EXPERIMENTAL_CCID];
/// CCID of controllers that have no number of their own (RFC 4340 10: 248 to 254 are for experiments).
const EXPERIMENTAL_CCID: u8 = 248;
/// The version of the multipath extension (RFC 9897 3.1).
const MULTIPATH_VERSION: u8 = 0;

/// What this end requests: multipath, Ack Vectors both ways, its CCID and its sequence window.
fn requested_features(phase: Phase, config: &PathConfig, sequence_window: u64) -> Negotiation {
    let is_client = phase == Phase::Request;
    let mut features = Negotiation::new(if is_client {
        Role::Client
    } else {
        Role::Server
    });
    let controller = cc::find(config.controller);
    let ccid = controller.and_then(|of| of.ccid);
    let ccid = ccid.unwrap_or(EXPERIMENTAL_CCID);
    if controller.is_some_and(|of| of.is_scalable) {
        features.prefer(Side::Local, Feature::CCID, &[SCALABLE_CCID, ccid]);
    } else {
        features.prefer(Side::Local, Feature::CCID, &[ccid]);
    }
    features.prefer(Side::Remote, Feature::CCID, &CCIDS);
    for side in [Side::Local, Side::Remote] {
        features.prefer(side, Feature::SEND_ACK_VECTOR, &[1]);
        features.prefer(side, Feature::MULTIPATH_CAPABLE, &[MULTIPATH_VERSION]);
    }
    if is_client {
        // the server confirms by Confirm L (RFC 9897 3.1)
        features.change(Side::Remote, Feature::MULTIPATH_CAPABLE, false);
        features.change(Side::Local, Feature::SEND_ACK_VECTOR, false);
        features.change(Side::Remote, Feature::SEND_ACK_VECTOR, false);
    }
    features.change(Side::Local, Feature::CCID, false);
    features.state(Feature::SEQUENCE_WINDOW, sequence_window);
    features
}

impl<P> Path<P> {
    pub(super) fn new(
        id: PathId,
        config: PathConfig,
        phase: Phase,
        ports: (u16, u16),
        windows: Windows,
        mut rng: Rng,
        now: Instant,
    ) -> Result<Self, cc::UnknownController> {
        let packet_size = config.packet_size.max(Bytes::new(1));
        let build = cc::BuildConfig {
            mss: packet_size,
            initial_window: packet_size * INITIAL_WINDOW,
        };
        let controller = cc::build(config.controller, build)?;
        let sender_config = SenderConfig {
            packet_size,
            failing_after: FAILING_AFTER,
            keeps_idle_window: windows.is_kept,
            validation: windows.validation,
            ..SenderConfig::default()
        };
        let iss = SeqNo::new(rng.next_u64());
        let features = requested_features(phase, &config, windows.sequence);
        let stated = features.stated(Feature::SEQUENCE_WINDOW);
        Ok(Self {
            id,
            phase,
            ports,
            numbers: Numbers::new(iss, stated.min(MAX_SEQUENCE_WINDOW)),
            features,
            sender: Sender::new(controller, sender_config, rng),
            receiver: Receiver::new(ReceiverConfig {
                short_ack_ratio: windows.short_ack_ratio,
                ..ReceiverConfig::default()
            }),
            outcome: AckOutcome::default(),
            queue: VecDeque::new(),
            remote_address: AddressId::default(),
            remote_priority: PathPriority::from_bits(15),
            retry: None,
            probe: None,
            queried_at: None,
            nudge_at: None,
            stream: None,
            written: Bytes::ZERO,
            radio_rate: None,
            rtt_reported_at: None,
            unreported_rtt: None,
            received_at: now,
            sync: None,
            sync_ack: None,
            last_sync_at: None,
            must_ack: false,
            must_send: false,
            reset: None,
            opening: Opening::First,
            cookies: Vec::new(),
            own_ecn: OwnEcn::default(),
            counters: PathCounters::default(),
            outstanding: None,
            was_usable: false,
            limit: Limit::new(match config.carrier {
                Carrier::Dccp => config.mtu,
                Carrier::Stream => PathMtu::Any,
            }),
            taken: u64::MAX,
            config,
        })
    }

    /// A packet with options is about to be read: a peer with a scalable controller asks for its CCID.
    pub(super) fn allow_scalable(&mut self, packet: &Packet) {
        let asks = |option: &DccpOption| {
            let DccpOption::Feature(option) = option else {
                return false;
            };
            let is_change = option.kind == FeatureOptionKind::ChangeL;
            is_change && option.feature == Feature::CCID && option.value.contains(&SCALABLE_CCID)
        };
        if packet.options.list.iter().any(asks) {
            self.features
                .prefer(Side::Remote, Feature::CCID, &CCIDS_OF_SCALABLE);
        }
    }

    /// Takes over what was agreed on of the outer ECN field.
    pub(super) fn note_ccids(&mut self) {
        // a stream's segments have the field of their TCP
        let is_stream = self.is_stream();
        let ccid = |side| self.features.value(side, Feature::CCID);
        let is_scalable = |side| !is_stream && ccid(side) == u64::from(SCALABLE_CCID);
        self.own_ecn.local = is_scalable(Side::Local);
        self.own_ecn.remote = is_scalable(Side::Remote);
    }

    /// The outer field of a packet that carries one with this field.
    pub(super) fn outer_ecn(&self, inner: Ecn) -> Ecn {
        match self.own_ecn {
            OwnEcn { local: false, .. } => encapsulated(inner),
            OwnEcn { is_given_up, .. } if is_given_up => Ecn::NotEct,
            OwnEcn { .. } => SCALABLE,
        }
    }

    /// The path has failed. If no data of it has ever arrived, a node on the way may drop what is ECN-capable.
    pub(super) fn doubt_ecn(&mut self) {
        self.own_ecn.is_given_up |= self.sender.counters().acked.is_zero();
    }

    pub(super) fn is_stream(&self) -> bool {
        self.config.carrier == Carrier::Stream
    }

    /// Data may be given to it.
    pub(super) fn is_usable(&self) -> bool {
        self.phase == Phase::Open && self.probe.is_none()
    }

    /// The lower of both ends' priorities.
    pub(super) fn priority(&self) -> PathPriority {
        self.config.priority.min(self.remote_priority)
    }

    /// Smoothed round-trip time, from the stream or the path's own sender.
    pub(super) fn srtt(&self) -> Option<Duration> {
        match self.stream {
            Some(stream) => stream.srtt,
            None => self.sender.srtt(),
        }
    }

    /// As a scheduler sees it, with a radio report that is no older than `max_age`.
    pub(super) fn view(&self, now: Instant, max_age: Duration) -> PathView {
        let packet_size = self.config.packet_size;
        let queued = self.queue.len() as u64;
        let radio_rate = self
            .radio_rate
            .filter(|&(_, made_at)| now.saturating_since(made_at) <= max_age)
            .map(|(rate, _)| rate);
        let view = PathView {
            id: self.id,
            priority: self.priority(),
            cwnd: self.sender.window(),
            in_flight: self.sender.in_flight(),
            queued: Packets::new(queued),
            srtt: self.srtt(),
            min_rtt: self.sender.min_rtt(),
            recent_min_rtt: self.sender.recent_min_rtt(),
            delivery_rate: self.sender.delivery_rate().map(|rate| rate.max),
            pacing_rate: self.sender.pacing_rate(),
            radio_rate,
            packet_size,
            overdue: self.overdue(now),
            lost: self.sender.counters().lost,
            acked: self.sender.counters().acked,
        };
        let Some(stream) = self.stream else {
            return view;
        };
        let packets = |bytes: Bytes| bytes.get().div_ceil(packet_size.get().max(1));
        PathView {
            cwnd: Packets::new((stream.cwnd.get() / packet_size.get().max(1)).max(1)),
            in_flight: Packets::new(packets(stream.in_flight)),
            queued: Packets::new(queued + packets(stream.unsent + self.written)),
            min_rtt: stream.min_rtt,
            recent_min_rtt: None,
            delivery_rate: stream.delivery_rate,
            pacing_rate: None,
            ..view
        }
    }

    /// Nothing has come back for what was sent: the path is probed, and not used until it answers.
    pub(super) fn begin_probing(&mut self, now: Instant) {
        if self.probe.is_none() {
            self.probe = Some(Retry::first(now, PROBE_INTERVAL));
            self.sync = self.numbers.greatest_received();
        }
    }

    /// Nothing was received for long: the path is queried, and probed if it does not answer in time.
    pub(super) fn query_or_probe(&mut self, now: Instant) {
        match self.queried_at {
            None => {
                self.queried_at = Some(now);
                self.sync = self.numbers.greatest_received();
            }
            Some(at) if now >= at + self.answer_time() => self.begin_probing(now),
            Some(_) => {}
        }
    }

    /// How long an answer may take.
    fn answer_time(&self) -> Duration {
        self.sender.rto().max(ANSWER_TIME)
    }

    /// It is probed again; the wait doubles up to `max`.
    pub(super) fn probe_again(&mut self, now: Instant, max: Duration) {
        if let Some(probe) = self.probe {
            self.probe = Some(probe.again(now, max));
            self.sync = self.numbers.greatest_received();
        }
    }

    /// The earliest of its own times; what waits for pacing is counted only if something waits.
    pub(super) fn next_deadline(
        &self,
        now: Instant,
        keepalive: Option<Duration>,
    ) -> Option<Instant> {
        let retry = self.retry.map(|retry| retry.at);
        if self.phase == Phase::Closed {
            return None;
        }
        if self.phase != Phase::Open {
            return retry;
        }
        let can_send = !self.queue.is_empty()
            && self.probe.is_none()
            && !self.is_stream()
            && self.sender.room() > Packets::ZERO;
        let pacing = can_send.then(|| self.sender.send_time(now));
        let features = self.features.next_deadline();
        let keepalive = match (self.probe, self.queried_at) {
            (Some(_), _) => None,
            (None, Some(at)) => Some(at + self.answer_time()),
            (None, None) => keepalive.map(|interval| self.received_at + interval),
        };
        [
            retry,
            self.probe.map(|probe| probe.at),
            self.sender.next_deadline(),
            self.receiver.next_deadline(),
            pacing,
            features,
            keepalive,
            self.nudge_at,
            self.limit.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
