//! What arrives: validity, acknowledgements, options, data.

use super::latency::is_unordered;
use super::numbers::Validity;
use super::path::{Path, Phase};
use super::sending::SHORT;
use super::{Event, Tunnel};
use crate::ecn::{decapsulated, is_changed_scalable};
use crate::features::Side;
use crate::packet::{DccpOption, Feature, Kind, MpOption, OptionFault, Options, Packet, ResetCode};
use crate::parity::is_rebuilds;
use crate::path::{Acknowledgement, Arrival};
use crate::reorder::Arrived;
use crate::signal::Signal;
use crate::{PathId, Payload};
use units::{Bytes, Duration, Ecn, Instant, Packets};

/// The peer may have no larger sequence window than this, whatever it states: the smaller it is, the
/// harder are packets to make up (RFC 4340 7.5.5).
pub(super) const MAX_SEQUENCE_WINDOW: u64 = 1 << 20;
/// A server removes a path that does not answer after so long: its client opens another, if it lives.
const GIVE_UP: Duration = Duration::from_secs(120);
/// A Sync is sent at most so often (RFC 4340 7.5.4 requires a limit).
const SYNC_INTERVAL: Duration = Duration::from_millis(100);
/// A client whose data have stopped coming sends a Sync after so long: if a NAT's mapping has changed, the
/// server learns of it by that.
const NUDGE_AFTER: Duration = Duration::from_millis(500);

impl<P: Payload> Tunnel<P> {
    /// A packet arrived on a path: `payload` is what it carries, `ecn` the codepoint of its IP header.
    /// A packet of no path of this end is ignored.
    pub fn receive(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &Packet,
        payload: Option<P>,
        ecn: Ecn,
    ) {
        self.settled_at = None;
        let index = usize::from(path.0);
        let Some(path) = self.paths.get_mut(index) else {
            return;
        };
        match path.phase {
            Phase::Closed => return path.on_packet_when_over(now, packet),
            Phase::Request => return self.on_answer(now, index, packet),
            _ => {}
        }
        if self.role == super::Role::Server && matches!(packet.kind, Kind::Request { .. }) {
            return self.on_repeated_request(index, packet);
        }
        match path.numbers.check(packet) {
            Validity::Valid => {}
            Validity::Ignored => {
                path.counters.invalid += Packets::new(1);
                return;
            }
            Validity::NeedsSync(ack) => {
                path.counters.invalid += Packets::new(1);
                let may_sync = path
                    .last_sync_at
                    .is_none_or(|at| now.saturating_since(at) >= SYNC_INTERVAL);
                if may_sync {
                    path.last_sync_at = Some(now);
                    path.sync = Some(ack);
                }
                return;
            }
        }
        path.numbers.accept(packet);
        path.received_at = now;
        path.queried_at = None;
        // the server has the connection, unless it states again that it has not
        self.is_unknown &= matches!(packet.kind, Kind::Reset { .. });
        let path = &mut self.paths[index];
        if let Err(fault) = path.read_features(packet) {
            path.reset = Some((fault, Options::default()));
            return self.end_path(index);
        }
        if !self.has_advanced(now, index, packet) {
            return;
        }
        self.on_acknowledgement(now, index, packet);
        self.on_options(now, index, packet);
        if self.is_closed {
            return;
        }
        match packet.kind {
            Kind::Data | Kind::DataAck { .. } => {
                self.on_data(now, index, packet, payload, ecn);
            }
            Kind::Sync { .. } => self.paths[index].sync_ack = Some(packet.seq),
            Kind::Close { .. } | Kind::CloseReq { .. } | Kind::Reset { .. } => {
                self.on_end(now, index, packet);
            }
            Kind::Response { .. } => self.paths[index].must_ack = true,
            _ => self.note_arrival(now, index, packet),
        }
        self.note_changes(index);
    }

    /// A packet without data: it is acknowledged with those that carry some.
    fn note_arrival(&mut self, now: Instant, index: usize, packet: &Packet) {
        let path = &mut self.paths[index];
        if !path.is_stream() {
            path.receiver.on_packet(now, packet.seq, Ecn::NotEct, false);
        }
        if let Some(mp_seq) = packet.options.mp_seq {
            self.reorder.skip(mp_seq);
        }
    }

    fn on_acknowledgement(&mut self, now: Instant, index: usize, packet: &Packet) {
        let is_sync = matches!(packet.kind, Kind::Sync { .. } | Kind::SyncAck { .. });
        if let Kind::SyncAck { ack } = packet.kind {
            self.answered(index);
            self.on_mtu_answer(now, index, ack);
        }
        let path = &mut self.paths[index];
        let Some(ack) = packet.kind.ack().filter(|_| !is_sync && !path.is_stream()) else {
            return;
        };
        let acknowledgement = Acknowledgement {
            ack,
            vector: packet.options.ack_vector.as_ref(),
            elapsed: packet.options.elapsed,
        };
        if let Some(outstanding) = &mut path.outstanding {
            outstanding.on_ack(now, ack);
        }
        path.outcome.clear();
        path.sender.on_ack(now, &acknowledgement, &mut path.outcome);
        self.after_outcome(now, index);
    }

    /// A path that did not answer has.
    fn answered(&mut self, index: usize) {
        self.paths[index].probe = None;
    }

    /// What an acknowledgement or a timer has shown.
    pub(super) fn after_outcome(&mut self, now: Instant, index: usize) {
        let path = &mut self.paths[index];
        let outcome = core::mem::take(&mut path.outcome);
        path.receiver.on_outcome(&outcome);
        self.repeat_lost(now, &outcome);
        self.note_latency(now, index, &outcome);
        self.note_mtu(now, index, &outcome);
        let path = &mut self.paths[index];
        if let Some(rtt) = outcome.rtt {
            path.unreported_rtt = Some(rtt);
            self.reorder.on_rtt(path.id, rtt);
        }
        if !outcome.acked.is_empty() {
            path.probe = None;
        }
        let is_failing = path.sender.is_failing();
        let path = &mut self.paths[index];
        path.outcome = outcome;
        if is_failing {
            path.doubt_ecn();
            path.begin_probing(now);
        }
        self.note_changes(index);
    }

    /// An open path's deadline.
    pub(super) fn on_open_deadline(&mut self, now: Instant, index: usize) {
        let keepalive = self.config.keepalive;
        let max_probe = self.config.max_probe_interval;
        let path = &mut self.paths[index];
        if path.sender.next_deadline().is_some_and(|at| at <= now) {
            path.outcome.clear();
            path.sender.on_deadline(now, &mut path.outcome);
            self.after_outcome(now, index);
        }
        self.on_mtu_deadline(now, index);
        let path = &mut self.paths[index];
        let is_lost = path.probe.is_some() && path.received_at + GIVE_UP <= now;
        if is_lost && self.role == super::Role::Server {
            return self.end_path(index);
        }
        let is_silent = path.queried_at.is_some()
            || keepalive.is_some_and(|interval| path.received_at + interval <= now);
        if path.nudge_at.is_some_and(|at| at <= now) {
            path.nudge_at = None;
            path.sync = path.numbers.greatest_received();
        }
        match path.probe {
            Some(probe) if probe.at <= now => path.probe_again(now, max_probe),
            None if is_silent => path.query_or_probe(now),
            _ => {}
        }
        let path = &mut self.paths[index];
        path.must_ack |= path.features.needs_packet(now);
        if self.paths[index].retry.is_some_and(|retry| retry.at <= now) {
            self.on_retry(now, index);
        }
        self.note_changes(index);
    }

    fn on_options(&mut self, now: Instant, index: usize, packet: &Packet) {
        let mut has_signals = false;
        for option in &packet.options.list {
            let DccpOption::Multipath(option) = option else {
                continue;
            };
            match option {
                MpOption::Rtt(rtt) => self.reorder.on_rtt(self.paths[index].id, rtt.rtt),
                MpOption::Close(key) => self.on_connection_close(now, index, key),
                MpOption::FastClose(key) => self.on_fast_close(key),
                MpOption::Experimental(data) if is_rebuilds(data) => self.on_peer_rebuilds(),
                MpOption::Experimental(_) => {}
                _ => has_signals = true,
            }
        }
        if has_signals {
            self.on_signals(now, index, packet);
        }
    }

    fn on_data(
        &mut self,
        now: Instant,
        index: usize,
        packet: &Packet,
        payload: Option<P>,
        ecn: Ecn,
    ) {
        let path = &mut self.paths[index];
        let id = path.id;
        let missing_before = if path.is_stream() {
            0
        } else {
            match path.receiver.on_packet(now, packet.seq, ecn, true) {
                Arrival::New { missing_before, .. } => {
                    if payload.as_ref().is_some_and(|of| of.len() < SHORT) {
                        path.receiver.note_short();
                    }
                    missing_before.get()
                }
                Arrival::Duplicate | Arrival::TooOld => {
                    self.counters.duplicates += 1;
                    return;
                }
            }
        };
        let (mut payload, mp_seq) = match (payload, packet.options.mp_seq) {
            (Some(payload), Some(mp_seq)) => (payload, mp_seq),
            (Some(payload), None) if self.rebuilder.is_some() => {
                return self.on_parity(now, packet, payload);
            }
            _ => {
                self.counters.without_number += 1;
                return;
            }
        };
        self.note_number(mp_seq);
        let path = &mut self.paths[index];
        if self.role == super::Role::Client && self.config.keepalive.is_some() {
            path.nudge_at = Some(now + NUDGE_AFTER);
        }
        path.counters.received += Packets::new(1);
        path.counters.received_bytes += Bytes::new(payload.len() as u64);
        let is_own = path.own_ecn.remote;
        let is_unordered = is_unordered(&packet.options);
        // as it was sent: a mark changes it
        let sent = (is_unordered && self.rebuilder.is_some()).then(|| payload.clone());
        if !self.pass_mark_on(is_own, &mut payload, ecn) {
            self.reorder.skip(mp_seq);
            return;
        }
        let arrived = Arrived {
            path: id,
            mp_seq,
            missing_before,
        };
        if is_unordered {
            self.unordered += u64::from(self.reorder.deliver_at_once(now, arrived, payload));
            if let Some(sent) = sent {
                self.note_packet(now, mp_seq, sent);
            }
            return;
        }
        self.reorder.insert(now, arrived, payload);
    }

    /// What the outer field of a data packet makes of the one inside; false: the packet is to be dropped.
    fn pass_mark_on(&mut self, is_own: bool, payload: &mut P, outer: Ecn) -> bool {
        if is_own {
            self.counters.suspicious_ecn += u64::from(is_changed_scalable(outer));
            return true;
        }
        // A payload can be marked, not given ECT(1) for ECT(0): no tunnel in normal mode requires that
        let inner = payload.ecn();
        let out = decapsulated(inner, outer);
        self.counters.suspicious_ecn += u64::from(out.is_suspicious);
        match out.ecn {
            None => {
                self.counters.marked_without_ecn += 1;
                return false;
            }
            Some(Ecn::Ce) if inner != Ecn::Ce => payload.mark(),
            Some(_) => {}
        }
        true
    }

    /// The path opens: data may flow.
    pub(super) fn open(&mut self, now: Instant, index: usize) {
        let path = &mut self.paths[index];
        path.phase = Phase::Open;
        path.retry = None;
        // a guarded server's Response has no Changes
        path.features.repeat(now);
        let (id, priority) = (path.id, path.config.priority);
        self.inbox.add_peer_address(path.remote_address);
        // a peer that confirms nothing will not have this confirmed either
        let _ = self.send_signal(now, Signal::Priority { path: id, priority });
        if !self.identity.is_established {
            self.identity.is_established = true;
            self.events.push_back(Event::Established);
        }
        self.note_changes(index);
    }
}

impl<P> Path<P> {
    /// A packet for a path that is over here: the peer has missed that, and is sent a Reset.
    fn on_packet_when_over(&mut self, now: Instant, packet: &Packet) {
        let is_reset = matches!(packet.kind, Kind::Reset { .. });
        let may_reset = self
            .last_sync_at
            .is_none_or(|at| now.saturating_since(at) >= SYNC_INTERVAL);
        if is_reset || !may_reset || self.numbers.check(packet) != Validity::Valid {
            return;
        }
        self.last_sync_at = Some(now);
        self.numbers.accept(packet);
        let fault = OptionFault {
            code: ResetCode::NO_CONNECTION,
            data: [0; 3],
        };
        self.reset = Some((fault, Options::default()));
    }

    /// Negotiation, and what it has changed; before it, whether the packet has a Mandatory option that is
    /// not understood (RFC 4340 5.8.2).
    pub(super) fn read_features(&mut self, packet: &Packet) -> Result<(), OptionFault> {
        if packet.options.list.is_empty() {
            return Ok(());
        }
        if let Some(fault) = packet.options.fault() {
            return Err(fault);
        }
        self.allow_scalable(packet);
        self.features.on_packet(packet)?;
        self.note_ccids();
        let window = self.features.value(Side::Remote, Feature::SEQUENCE_WINDOW);
        self.numbers.remote_window = window.min(MAX_SEQUENCE_WINDOW);
        self.must_ack |= self.features.has_confirms();
        Ok(())
    }
}
