//! Two ends of a path with a bottleneck from the first to the second.

use crate::path::{
    AckOutcome, AckParts, Acknowledgement, Arrival, Receiver, ReceiverConfig, Sender, SenderConfig,
    SentPacket,
};
use crate::seq::{MpSeq, SeqNo};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Duration, Ecn, Instant, Packets, Streams};

/// What every data packet carries.
pub(super) const SIZE: Bytes = Bytes::new(1_500);

/// What becomes of a data packet at the bottleneck, by its number from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Impairment {
    Pass,
    Drop,
    Mark,
    /// Arrives so much later than its turn.
    Late(Duration),
}

pub(super) struct Link {
    pub(super) rate: BitRate,
    /// There and back without a queue.
    pub(super) rtt: Duration,
    /// Packets that may wait.
    pub(super) buffer: u64,
    /// From when to when it sends nothing.
    pub(super) stall: Option<(Instant, Instant)>,
    pub(super) impairment: Box<dyn FnMut(u64, Instant) -> Impairment>,
    /// Acknowledgements are lost.
    pub(super) ack_impairment: Box<dyn FnMut(Instant) -> Impairment>,
}

impl Link {
    pub(super) fn new(mbps: u64, rtt_ms: u64, buffer: u64) -> Self {
        Self {
            rate: BitRate::from_mbps(mbps),
            rtt: Duration::from_millis(rtt_ms),
            buffer,
            stall: None,
            impairment: Box::new(|_, _| Impairment::Pass),
            ack_impairment: Box::new(|_| Impairment::Pass),
        }
    }

    /// Packets that fill it without a queue.
    pub(super) fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt).get() / SIZE.get()
    }
}

struct End {
    sender: Sender,
    receiver: Receiver,
    next_seq: SeqNo,
}

/// The outcome of a packet, as reported to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    InFlight,
    Acked,
    Lost,
    Late,
}

struct Wire {
    seq: SeqNo,
    is_data: bool,
    ecn: Ecn,
    ack: Option<AckParts>,
}

#[derive(Default, Debug, Clone, PartialEq)]
pub(super) struct Report {
    /// Data packets that arrived.
    pub(super) delivered: u64,
    pub(super) sent: u64,
    /// Dropped by the full buffer or by the impairment.
    pub(super) dropped: u64,
    pub(super) max_waiting: u64,
    /// cwnd in packets after each acknowledgement, with its time.
    pub(super) windows: Vec<(Instant, u64)>,
    /// Largest Ack Vector, in bytes.
    pub(super) largest_vector: usize,
    pub(super) acks: u64,
}

pub(super) struct Loop {
    pub(super) link: Link,
    near: End,
    far: End,
    /// When the far end's packets arrive, and the near end's; in order of sending for equal times.
    to_far: BTreeMap<(Instant, u64), Wire>,
    to_near: BTreeMap<(Instant, u64), Wire>,
    order: u64,
    free_at: Instant,
    pub(super) now: Instant,
    steps_at_once: u32,
    outcome: AckOutcome,
    reported: BTreeMap<u64, Reported>,
    /// Whether there is anything to send.
    pub(super) has_data: Box<dyn FnMut(Instant) -> bool>,
    pub(super) report: Report,
}

pub(super) fn config() -> SenderConfig {
    SenderConfig {
        packet_size: SIZE,
        ..SenderConfig::default()
    }
}

fn end(controller: &str, config: SenderConfig, name: &str, isr: SeqNo) -> End {
    let build = cc::BuildConfig {
        mss: SIZE,
        initial_window: SIZE * 10,
    };
    let cc = cc::build(controller, build).expect("a controller");
    End {
        sender: Sender::new(cc, config, Streams::new(5).stream(name)),
        receiver: Receiver::new(ReceiverConfig::default()),
        next_seq: isr,
    }
}

impl Loop {
    pub(super) fn new(controller: &str, link: Link) -> Self {
        // both ends' numbers wrap after a few packets
        let isr = SeqNo::new((1 << 48) - 20);
        Self::with_config(controller, link, config(), isr)
    }

    pub(super) fn with_config(
        controller: &str,
        link: Link,
        config: SenderConfig,
        isr: SeqNo,
    ) -> Self {
        Self {
            link,
            near: end(controller, config, "near", isr),
            far: end("newreno", config, "far", isr),
            to_far: BTreeMap::new(),
            to_near: BTreeMap::new(),
            order: 0,
            free_at: Instant::ZERO,
            now: Instant::ZERO,
            steps_at_once: 0,
            outcome: AckOutcome::default(),
            reported: BTreeMap::new(),
            has_data: Box::new(|_| true),
            report: Report::default(),
        }
    }

    pub(super) fn sender(&self) -> &Sender {
        &self.near.sender
    }

    /// Runs until that time.
    pub(super) fn run_until(&mut self, end: Instant) {
        loop {
            self.send_data();
            let next = [
                self.to_far.first_key_value().map(|(&(at, _), _)| at),
                self.to_near.first_key_value().map(|(&(at, _), _)| at),
                self.near.sender.next_deadline(),
                self.far.sender.next_deadline(),
                self.far.receiver.next_deadline(),
                self.next_data(),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|&at| at <= end) else {
                self.now = end;
                return;
            };
            assert!(next >= self.now, "{next} is past at {}", self.now);
            self.steps_at_once = if next == self.now {
                self.steps_at_once + 1
            } else {
                0
            };
            assert!(self.steps_at_once < 1_000, "no progress at {next}");
            self.now = next;
            self.step();
        }
    }

    pub(super) fn run_for(&mut self, ms: u64) {
        self.run_until(self.now + Duration::from_millis(ms));
    }

    fn next_data(&self) -> Option<Instant> {
        let now = self.now;
        if self.near.sender.room() == Packets::ZERO {
            return None;
        }
        let send_time = self.near.sender.send_time(now);
        // a source that is silent is polled again after a while
        Some(if send_time > now {
            send_time
        } else {
            now + Duration::from_millis(1)
        })
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(entry) = self.to_far.first_entry()
            && entry.key().0 <= now
        {
            let wire = entry.remove();
            self.arrive_far(&wire);
        }
        if self.far.receiver.is_ack_due(now) {
            self.send_ack();
        }
        while let Some(entry) = self.to_near.first_entry()
            && entry.key().0 <= now
        {
            let wire = entry.remove();
            self.arrive_near(&wire);
        }
        if self.near.sender.next_deadline().is_some_and(|at| at <= now) {
            self.near.sender.on_deadline(now, &mut self.outcome);
            self.check();
        }
        if self.far.sender.next_deadline().is_some_and(|at| at <= now) {
            let mut outcome = AckOutcome::default();
            self.far.sender.on_deadline(now, &mut outcome);
            self.far.receiver.on_outcome(&outcome);
        }
    }

    fn arrive_far(&mut self, wire: &Wire) {
        let now = self.now;
        let arrival = self
            .far
            .receiver
            .on_packet(now, wire.seq, wire.ecn, wire.is_data);
        assert!(matches!(arrival, Arrival::New { .. }), "{arrival:?}");
        self.report.delivered += u64::from(wire.is_data);
        if let Some(parts) = &wire.ack {
            let mut outcome = AckOutcome::default();
            self.far
                .sender
                .on_ack(now, &acknowledgement(parts), &mut outcome);
            self.far.receiver.on_outcome(&outcome);
        }
    }

    fn arrive_near(&mut self, wire: &Wire) {
        let now = self.now;
        self.near.receiver.on_packet(now, wire.seq, wire.ecn, false);
        let Some(parts) = &wire.ack else { return };
        self.report.largest_vector = self.report.largest_vector.max(parts.vector.len());
        self.near
            .sender
            .on_ack(now, &acknowledgement(parts), &mut self.outcome);
        self.near.receiver.on_outcome(&self.outcome);
        self.check();
        let window = self.near.sender.window().get();
        self.report.windows.push((now, window));
    }

    /// Each packet is reported once; in flight is what was not reported.
    fn check(&mut self) {
        for info in &self.outcome.acked {
            let reported = self.reported.insert(info.seq.get(), Reported::Acked);
            assert_eq!(reported, Some(Reported::InFlight), "{info:?}");
        }
        for info in &self.outcome.lost {
            let reported = self.reported.insert(info.seq.get(), Reported::Lost);
            assert_eq!(reported, Some(Reported::InFlight), "{info:?}");
        }
        for info in &self.outcome.late {
            let reported = self.reported.insert(info.seq.get(), Reported::Late);
            assert_eq!(reported, Some(Reported::Lost), "{info:?}");
        }
        let counters = self.near.sender.counters();
        let open = counters.sent + counters.late - counters.acked - counters.lost;
        assert_eq!(self.near.sender.in_flight(), open);
        assert_eq!(self.near.sender.bytes_in_flight(), SIZE * open.get());
        self.outcome.clear();
    }

    /// Numbers that were not reported to the near end.
    pub(super) fn open(&self) -> u64 {
        self.reported
            .values()
            .filter(|&&reported| reported == Reported::InFlight)
            .count() as u64
    }

    fn send_data(&mut self) {
        let now = self.now;
        while self.near.sender.room() > Packets::ZERO && self.near.sender.send_time(now) <= now {
            if !(self.has_data)(now) {
                self.near.sender.on_app_limited(now);
                return;
            }
            let seq = self.near.next_seq;
            self.near.next_seq = seq.next();
            let ack = if self.near.receiver.should_piggyback() {
                self.near.receiver.acknowledge(now, seq, usize::MAX)
            } else {
                None
            };
            let packet = SentPacket {
                seq,
                bytes: SIZE,
                mp_seq: Some(MpSeq::new(self.report.sent)),
                is_data: true,
            };
            self.near.sender.on_sent(now, &packet);
            self.reported.insert(seq.get(), Reported::InFlight);
            let ecn = Ecn::Ect0;
            let wire = Wire {
                seq,
                is_data: true,
                ecn,
                ack,
            };
            self.enter_bottleneck(wire);
        }
    }

    fn enter_bottleneck(&mut self, mut wire: Wire) {
        let now = self.now;
        let number = self.report.sent;
        self.report.sent += 1;
        let service = SIZE / self.link.rate;
        let waiting = self.free_at.saturating_since(now).ratio(service).ceil() as u64;
        // the first stands for the handshake, after which all else comes
        let impairment = match number {
            0 => Impairment::Pass,
            _ => (self.link.impairment)(number, now),
        };
        if waiting > self.link.buffer || impairment == Impairment::Drop {
            self.report.dropped += 1;
            return;
        }
        self.report.max_waiting = self.report.max_waiting.max(waiting);
        self.free_at = self.free_at.max(now);
        if let Some((from, to)) = self.link.stall
            && (from..to).contains(&self.free_at)
        {
            self.free_at = to;
        }
        self.free_at += service;
        let mut at = self.free_at + self.link.rtt / 2;
        match impairment {
            Impairment::Mark => wire.ecn = Ecn::Ce,
            Impairment::Late(by) => at += by,
            Impairment::Pass | Impairment::Drop => {}
        }
        self.order += 1;
        self.to_far.insert((at, self.order), wire);
    }

    fn send_ack(&mut self) {
        let now = self.now;
        let seq = self.far.next_seq;
        self.far.next_seq = seq.next();
        let ack = self.far.receiver.acknowledge(now, seq, usize::MAX);
        let packet = SentPacket {
            seq,
            bytes: Bytes::ZERO,
            mp_seq: None,
            is_data: false,
        };
        self.far.sender.on_sent(now, &packet);
        self.report.acks += 1;
        if (self.link.ack_impairment)(now) == Impairment::Drop {
            return;
        }
        let wire = Wire {
            seq,
            is_data: false,
            ecn: Ecn::NotEct,
            ack,
        };
        self.order += 1;
        self.to_near
            .insert((now + self.link.rtt / 2, self.order), wire);
    }
}

fn acknowledgement(parts: &AckParts) -> Acknowledgement<'_> {
    Acknowledgement {
        ack: parts.ack,
        vector: Some(&parts.vector),
        elapsed: Some(parts.elapsed),
    }
}
