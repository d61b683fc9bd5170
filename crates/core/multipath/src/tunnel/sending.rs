//! What leaves: data by the scheduler's choice, acknowledgements when they are due.

use super::latency::unordered;
use super::path::{Path, Phase, Queued};
use super::{PathSet, Transmit, Tunnel};
use crate::Payload;
use crate::packet::{DccpOption, Kind, MpOption, Options, Packet, PathRtt, RttKind};
use crate::parity;
use crate::path::SentPacket;
use crate::scheduler::{Waiting, keep_allowed};
use crate::seq::{MpSeq, SeqNo};
use units::{Bytes, Duration, Ecn, Instant, Packets};

/// Bytes of a data packet's header with its number in the connection.
const DATA_HEADER: usize = 28;
/// Bytes of `MP_RTT`, the longest option of a data packet.
const OPTION: usize = 12;
/// What an acknowledgement adds beside its vector: its number, the head of the option, Elapsed Time
/// and padding.
const ACKNOWLEDGEMENT: usize = 8 + 2 + 6 + 3;
/// Minimum room for a vector that is worth the option: that many runs are reported.
const MIN_VECTOR: usize = 4;
/// A payload that is shorter carries whatever acknowledgement there is; a longer one
/// only one that is due, as packets of one length leave together.
pub(super) const SHORT: usize = 400;
/// Latency-sensitive packets that may be in flight beyond a path's window: 10 Mbit/s, to which a flow of that class keeps
/// unless a codepoint states it, over 150 ms.
const MAX_BEYOND: Packets = Packets::new(128);
/// Headers of IP and UDP, which sizes of datagrams do not have: those of IPv4, the shorter ones.
const IP_UDP: u64 = 28;
/// A path's round-trip time is reported to the peer at most so often, with what has room for it.
const RTT_INTERVAL: Duration = Duration::from_millis(20);
/// If nothing had, it leaves by itself after so long.
const MAX_RTT_INTERVAL: Duration = Duration::from_millis(40);

impl<P: Payload> Tunnel<P> {
    /// The next packet that may leave now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<P>> {
        for index in 0..self.paths.len() {
            let control = self.control_packet(now, index);
            if let Some(transmit) = control.or_else(|| self.mtu_probe(now, index)) {
                return Some(transmit);
            }
        }
        // packets that leave change no choice: what they leave on the path they are in flight
        if self.settled_at != Some(now) {
            self.schedule(now);
            self.settled_at = Some(now);
        }
        let paths = self.paths.len();
        for offset in 0..paths {
            let index = (self.turn + offset) % paths;
            if let Some(transmit) = self.data_packet(now, index) {
                // the path goes on while it may: consecutive packets leave in one burst
                self.turn = index;
                return Some(transmit);
            }
        }
        self.turn = (self.turn + 1) % paths.max(1);
        if self.waiting.is_empty() && self.again.is_empty() {
            self.note_idle(now);
        }
        (0..paths).find_map(|index| self.acknowledgement(now, index))
    }

    /// Gives waiting packets to paths, as long as the scheduler has one for them.
    fn schedule(&mut self, now: Instant) {
        if self.waiting.is_empty() && self.again.is_empty() && self.latency.is_none() {
            return;
        }
        let mut views = core::mem::take(&mut self.views);
        views.clear();
        let max_age = self.config.report_max_age;
        let usable = self.paths.iter().filter(|path| path.is_usable());
        views.extend(usable.map(|path| path.view(now, max_age)));
        keep_allowed(&mut views);
        self.views = views;
        self.schedule_latency(now);
        let mut views = core::mem::take(&mut self.views);
        while let Some(next) = self.next_size() {
            let backlog = self.waiting.len() + self.again.len();
            let waiting = Waiting {
                packets: Packets::new(backlog as u64),
                next,
            };
            let chosen = match self.fitting(now, next, &views) {
                None => self.scheduler.choose(now, waiting, &views),
                Some(fitting) if fitting.is_empty() && !views.is_empty() => {
                    if self.may_fit(next) {
                        break;
                    }
                    self.give_up_next(now);
                    continue;
                }
                Some(fitting) => self.scheduler.choose(now, waiting, &fitting),
            };
            if chosen.is_empty() {
                break;
            }
            self.assign(now, chosen);
            for view in &mut views {
                if chosen.contains(view.id) {
                    view.queued += Packets::new(1);
                }
            }
        }
        self.views = views;
    }

    /// Gives latency-sensitive packets to paths, before all others.
    fn schedule_latency(&mut self, now: Instant) {
        if self.latency.is_none() {
            return;
        }
        self.observe_paths(now);
        while let Some((packets, next)) = self
            .latency
            .as_ref()
            .and_then(|of| Some((of.len(), of.next_size()?)))
        {
            let waiting = Waiting {
                packets: Packets::new(packets as u64),
                next,
            };
            let chosen = match self.fitting(now, next, &self.views) {
                None => self.scheduler.choose_latency(now, waiting, &self.views),
                Some(fitting) if fitting.is_empty() && !self.views.is_empty() => {
                    if self.may_fit(next) {
                        break;
                    }
                    self.give_up_next_latency();
                    continue;
                }
                Some(fitting) => self.scheduler.choose_latency(now, waiting, &fitting),
            };
            if chosen.is_empty() {
                break;
            }
            self.assign_latency(now, chosen);
            for view in &mut self.views {
                if chosen.contains(view.id) {
                    view.queued += Packets::new(1);
                }
            }
        }
        self.protect(now);
    }

    fn next_size(&self) -> Option<Bytes> {
        let again = self.again.front().map(|queued| &queued.payload);
        let next = again.or(self.waiting.front())?;
        Some(Bytes::new(next.len() as u64))
    }

    /// No path takes the next waiting packet.
    fn give_up_next(&mut self, now: Instant) {
        let next = self.again.pop_front().map(|queued| queued.payload);
        if let Some(payload) = next.or_else(|| self.waiting.pop(now)) {
            self.refuse_too_big(payload);
        }
    }

    /// No path takes the next latency-sensitive packet.
    fn give_up_next_latency(&mut self) {
        let latency = self.latency.as_mut();
        if let Some(queued) = latency.and_then(|of| of.pop(&mut self.next_mp_seq)) {
            self.refuse_too_big(queued.payload);
        }
    }

    /// The next waiting packet goes to these paths.
    fn assign(&mut self, now: Instant, chosen: PathSet) {
        let queued = match self.again.pop_front() {
            Some(queued) => queued,
            None => {
                let Some(payload) = self.waiting.pop(now) else {
                    return;
                };
                let mp_seq = self.next_mp_seq;
                self.next_mp_seq = mp_seq.next();
                self.counters.bulk += 1;
                Queued {
                    mp_seq,
                    payload,
                    is_repeated: false,
                    is_urgent: false,
                    parity_of: None,
                }
            }
        };
        self.keep_copy(now, &queued, chosen);
        let mut paths = chosen.iter();
        let Some(first) = paths.next() else { return };
        for other in paths {
            self.counters.bulk_copies += 1;
            let copy = Queued {
                payload: queued.payload.clone(),
                ..queued
            };
            self.paths[usize::from(other.0)].queue.push_back(copy);
        }
        self.paths[usize::from(first.0)].queue.push_back(queued);
    }

    /// Nothing waits: paths that could take more are limited by what there is to send. One that its
    /// scheduler takes for full is not.
    fn note_idle(&mut self, now: Instant) {
        let max_age = self.config.report_max_age;
        for path in &mut self.paths {
            let is_open = path.phase == Phase::Open && !path.is_stream();
            if is_open
                && path.queue.is_empty()
                && !self.scheduler.is_full(now, &path.view(now, max_age))
            {
                path.sender.on_app_limited(now);
            }
        }
    }

    /// The next data packet of a path.
    fn data_packet(&mut self, now: Instant, index: usize) -> Option<Transmit<P>> {
        let is_compact = self.config.is_compact;
        let path = &mut self.paths[index];
        if path.queue.is_empty() || !path.is_usable() {
            return None;
        }
        let has_room = path.is_stream() || !path.sender.room().is_zero();
        if !path.may_send(now, has_room) {
            return None;
        }
        let Queued {
            mp_seq,
            payload,
            is_repeated,
            is_urgent,
            parity_of,
        } = path.queue.pop_front()?;
        let mp_seq = parity_of.is_none().then_some(mp_seq);
        let mut options = Options {
            mp_seq,
            ..Options::default()
        };
        if path.has_room_for_option(is_compact, payload.len()) {
            options.list.extend(path.take_rtt(now));
        } else if path.is_rtt_due(now, MAX_RTT_INTERVAL) {
            path.must_ack = true;
        }
        match parity_of {
            Some(group) => options.list.push(group.option()),
            None if is_urgent => options.list.push(unordered()),
            None => {}
        }
        let seq = path.numbers.take();
        let kind = match path.room_for_vector(now, payload.len(), &options) {
            Some(room) => path
                .add_acknowledgement(now, seq, room, &mut options)
                .map_or(Kind::Data, |ack| Kind::DataAck { ack }),
            None => Kind::Data,
        };
        let bytes = Bytes::new(payload.len() as u64);
        path.counters.sent += Packets::new(1);
        path.counters.sent_bytes += bytes;
        path.counters.repeated += Packets::new(u64::from(is_repeated));
        if path.is_stream() {
            path.written += bytes;
        } else {
            path.note_sent(now, seq, bytes, mp_seq, has_room);
        }
        let inner = match parity_of {
            Some(_) => Ecn::NotEct,
            None => payload.ecn(),
        };
        let ecn = path.outer_ecn(inner);
        if ecn == Ecn::Ce {
            path.sender.on_sent_marked();
        }
        Some(Transmit {
            path: path.id,
            packet: path.packet(seq, kind, options),
            size: None,
            ecn,
            payload: Some(payload),
        })
    }

    /// An Ack by itself, if one is due.
    fn acknowledgement(&mut self, now: Instant, index: usize) -> Option<Transmit<P>> {
        let path = &mut self.paths[index];
        if path.phase != Phase::Open && path.phase != Phase::PartOpen {
            return None;
        }
        let is_due = path.must_ack || (path.receiver.is_ack_due(now) && !path.is_stream());
        let has_signals = self.has_signals(now, index);
        if !is_due && !has_signals {
            return None;
        }
        let mut options = Options::default();
        if has_signals {
            self.attach_signals(now, index, &mut options);
        }
        let path = &mut self.paths[index];
        if let Some(rtt) = path.take_rtt(now) {
            options.list.push(rtt);
        }
        if self.rebuilder.is_some() {
            options.list.push(parity::rebuilds());
        }
        let seq = path.numbers.take();
        let ack = path.add_acknowledgement(now, seq, usize::MAX, &mut options)?;
        Some(self.numbered(now, index, seq, Kind::Ack { ack }, options))
    }

    /// A packet without data on a path.
    pub(super) fn control(
        &mut self,
        now: Instant,
        index: usize,
        kind: Kind,
        options: Options,
    ) -> Transmit<P> {
        let seq = self.paths[index].numbers.take();
        self.numbered(now, index, seq, kind, options)
    }

    fn numbered(
        &mut self,
        now: Instant,
        index: usize,
        seq: SeqNo,
        kind: Kind,
        mut options: Options,
    ) -> Transmit<P> {
        let path = &mut self.paths[index];
        path.features.attach(now, seq, kind, &mut options);
        if !path.is_stream() {
            path.note_sent(now, seq, Bytes::ZERO, options.mp_seq, true);
        }
        Transmit {
            path: path.id,
            packet: path.packet(seq, kind, options),
            payload: None,
            size: None,
            ecn: Ecn::NotEct,
        }
    }
}

impl<P> Path<P> {
    fn packet(&self, seq: SeqNo, kind: Kind, options: Options) -> Packet {
        Packet {
            source: self.ports.0,
            destination: self.ports.1,
            ccval: 0,
            seq,
            kind,
            options,
        }
    }

    /// The first packet that waits may leave. Window and pacing do not hold a latency-sensitive one back as long as no more
    /// than [`MAX_BEYOND`] are in flight beyond the window: while BBR measures the round trip with four packets in flight, a
    /// call would stand.
    fn may_send(&self, now: Instant, has_room: bool) -> bool {
        if self.queue.front().is_some_and(|first| first.is_urgent) {
            return has_room || !self.sender.room_beyond(MAX_BEYOND).is_zero();
        }
        has_room && (self.is_stream() || self.sender.send_time(now) <= now)
    }

    fn note_sent(
        &mut self,
        now: Instant,
        seq: SeqNo,
        bytes: Bytes,
        mp_seq: Option<MpSeq>,
        is_counted: bool,
    ) {
        let packet = SentPacket {
            seq,
            bytes,
            mp_seq,
            is_data: !bytes.is_zero(),
        };
        if let Some(outstanding) = self.outstanding.as_mut().filter(|_| packet.is_data) {
            outstanding.on_sent(now, seq);
        }
        match is_counted {
            true => self.sender.on_sent(now, &packet),
            false => self.sender.on_sent_beyond(now, &packet),
        }
    }

    /// Bytes that an Ack Vector may take on a data packet that leaves now; none: it is to carry no
    /// acknowledgement.
    fn room_for_vector(&self, now: Instant, payload: usize, options: &Options) -> Option<usize> {
        let is_due = match payload < SHORT {
            _ if self.must_ack => true,
            _ if self.is_stream() => false,
            true => self.receiver.should_piggyback(),
            false => self.receiver.is_ack_due(now),
        };
        if !is_due {
            return None;
        }
        let lower = self.config.lower_headers.get() as usize;
        let full = self.full();
        let others = DATA_HEADER + OPTION * options.list.len() + ACKNOWLEDGEMENT;
        full.checked_sub(lower + payload + others)
            .filter(|&room| room >= MIN_VECTOR)
    }

    /// Puts an acknowledgement on the packet `carrier`; returns its number. None before anything was
    /// received.
    fn add_acknowledgement(
        &mut self,
        now: Instant,
        carrier: SeqNo,
        room: usize,
        options: &mut Options,
    ) -> Option<SeqNo> {
        self.must_ack = false;
        if self.is_stream() {
            return self.numbers.greatest_received();
        }
        let parts = self.receiver.acknowledge(now, carrier, room)?;
        options.ack_vector = Some(parts.vector);
        options.elapsed = Some(parts.elapsed);
        Some(parts.ack)
    }

    /// True if a data packet has room for an option: of those that are written in compact form full ones have not.
    fn has_room_for_option(&self, is_compact: bool, payload: usize) -> bool {
        let full = self.full();
        let lower = self.config.lower_headers.get() as usize;
        !is_compact || lower + DATA_HEADER + OPTION + payload <= full
    }

    /// The largest packet with all its headers that optional parts may fill: a full one, or less where the path takes less.
    fn full(&self) -> usize {
        let taken = self.limit.size().saturating_add(IP_UDP);
        self.config.packet_size.get().min(taken) as usize
    }

    fn is_rtt_due(&self, now: Instant, interval: Duration) -> bool {
        let is_over = |at| now.saturating_since(at) >= interval;
        self.unreported_rtt.is_some() && self.rtt_reported_at.is_none_or(is_over)
    }

    /// A round-trip time for the peer's reordering.
    fn take_rtt(&mut self, now: Instant) -> Option<DccpOption> {
        let rtt = self
            .unreported_rtt
            .filter(|_| self.is_rtt_due(now, RTT_INTERVAL))?;
        self.unreported_rtt = None;
        self.rtt_reported_at = Some(now);
        Some(DccpOption::Multipath(MpOption::Rtt(PathRtt {
            kind: RttKind::Raw,
            rtt,
            age: Duration::ZERO,
        })))
    }
}
