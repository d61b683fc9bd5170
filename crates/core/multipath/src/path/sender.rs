//! The sending half of a path: what is in flight, what became of it, and how much may follow.
//!
//! ```text
//!   room, send_time <- [ cc ] <- episodes <- loss detection <- Ack Vectors
//!   on_sent -> [ flight: a record for each packet number ] -> acked, lost, late
//! ```
//!
//! Source: RFC 4341 (CCID 2) for what is counted and when a loss is one, with any controller of
//! [`cc`] in the place of its section 5; RFC 4340 section 11 for acknowledgements.
//!
//! | section | here |
//! | --- | --- |
//! | RFC 4341 5: packets are counted, not bytes | [`Counting`] |
//! | RFC 4341 5: acknowledgements are not congestion controlled | [`SentPacket::is_data`] |
//! | RFC 4341 5: a packet is lost when three after it were acknowledged | `detection.rs` |
//! | RFC 4341 5: one halving a window of data; ECN marks as losses | `episode.rs` |
//! | RFC 4341 5.1, RFC 6298: timeout, cwnd one packet, backoff | `rtt.rs`, [`Sender::on_deadline`] |
//! | RFC 4340 11.4: Ack Vectors | `flight.rs` |
//! | RFC 4340 13.2: Elapsed Time | `rtt.rs` |
//! | RFC 7661: the window grows only while it is used | `usage.rs` |
//!
//! The order of calls into the controller is that of [`CongestionControl`]: the end of an episode, its
//! beginning, the acknowledgement.
//!
//! *Deviations*
//! - There is no PRR (RFC 6937): after a reduction nothing leaves until less than the window is in
//!   flight, as in RFC 4341 and Linux's CCID 2.
//! - Linux's CCID 2 has the window grow right after a reduction; here, as in TCP, when something sent
//!   after it has arrived.
//! - RFC 4341 5.1 has the timer restarted by each acknowledgement of new data, and so here; nothing
//!   is sent on its expiry by the path itself, for it has nothing of its own: the next packet that the
//!   scheduler chooses it for is the probe.
//! - ECN nonces (RFC 4340 12.2) are not sent; RFC 8311 has made them historic.

use super::detection::{Detection, DetectionContext};
use super::episode::Episode;
use super::flight::{Arrived, Flight, Record};
use super::numbering::Numbering;
use super::pacer::Pacer;
use super::rate::{RateEstimate, RateMeter};
use super::rtt::RttEstimator;
use super::usage::WindowUsage;
use crate::packet::{AckVector, ReceptionState};
use crate::seq::{MpSeq, SeqNo};
use cc::{AckSample, CongestionControl, Ctx, LossKind, LossSample, RadioState, RecoveryEnd, Sent};
use units::{BitRate, Bytes, Duration, Instant, Packets, Rng};

/// How long an idle path's window may be kept (RFC 7661 4.4).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);

/// What a data packet counts in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each the same, [`SenderConfig::packet_size`] (RFC 4341 section 5).
    #[default]
    Packets,
    /// Each its own size.
    Bytes,
}

/// How a path's sending half is set up.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// What a packet counts.
    pub counting: Counting,
    /// Largest size of what a packet carries: the controller's segment size. At least one byte.
    pub packet_size: Bytes,
    /// Minimum term of the variance in the timeout (RFC 6298 2.4).
    pub min_rto: Duration,
    /// Greatest timeout (RFC 6298 2.5).
    pub max_rto: Duration,
    /// Timeouts in a row after which the path is taken to have failed; at least 1.
    pub failing_after: u32,
    /// Maximum packet numbers, of data and of acknowledgements, whose outcome may be open; rounded up to
    /// a power of two. With less room than a control packet needs the oldest number is given up as
    /// lost.
    pub max_outstanding: Packets,
    /// The window of a path that was idle for longer than a retransmission timeout is kept, for five
    /// minutes (RFC 7661); otherwise it is restarted (RFC 5681 4.1).
    pub keeps_idle_window: bool,
}

impl Default for SenderConfig {
    /// Packets of 1500 bytes; 200 ms; a minute; two timeouts; 2^17 numbers.
    fn default() -> Self {
        Self {
            counting: Counting::Packets,
            packet_size: Bytes::new(1_500),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            failing_after: 2,
            max_outstanding: Packets::new(1 << 17),
            keeps_idle_window: false,
        }
    }
}

/// A packet that has just been handed to the network.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Its number on the path, after all before it.
    pub seq: SeqNo,
    /// Size of what it carries; 0 for a packet without data.
    pub bytes: Bytes,
    /// Its number in the connection, if it has one.
    pub mp_seq: Option<MpSeq>,
    /// It carries data: it is congestion controlled. Acknowledgements and signalling are not
    /// (RFC 4341 5), but have a number, which acknowledgements cover.
    pub is_data: bool,
}

/// A packet of the past, as [`AckOutcome`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentInfo {
    /// Its number on the path.
    pub seq: SeqNo,
    /// Its number in the connection, if it had one.
    pub mp_seq: Option<MpSeq>,
    /// Size of what it carried.
    pub bytes: Bytes,
    /// When it was sent.
    pub sent_at: Instant,
    /// It carried data.
    pub is_data: bool,
}

/// What a packet of the peer's acknowledges (RFC 4340 11.4).
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// Acknowledgement number.
    pub ack: SeqNo,
    /// Ack Vector. Without one only the packet of that number is acknowledged.
    pub vector: Option<&'a AckVector>,
    /// Elapsed Time: how long the peer held the acknowledgement back (13.2).
    pub elapsed: Option<Duration>,
}

/// What an acknowledgement or a timer showed. Every packet is named once in `acked` or `lost`; one in
/// `lost` may be named once more, in `late`. To be used again and again: its lists keep their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Packets known to have arrived, in no particular order.
    pub acked: Vec<SentInfo>,
    /// Packets found lost, oldest first.
    pub lost: Vec<SentInfo>,
    /// Packets found lost before that have arrived after all.
    pub late: Vec<SentInfo>,
    /// Data packets that arrived with a congestion mark.
    pub marked: Packets,
    /// Round-trip time, if it was measured.
    pub rtt: Option<Duration>,
    /// A reduction of the window proved to be for nothing and was taken back.
    pub is_spurious: bool,
    /// The retransmission timer ran out.
    pub is_timeout: bool,
}

impl AckOutcome {
    /// Clears everything and keeps the memory.
    pub fn clear(&mut self) {
        self.acked.clear();
        self.lost.clear();
        self.late.clear();
        self.marked = Packets::ZERO;
        self.rtt = None;
        self.is_spurious = false;
        self.is_timeout = false;
    }
}

/// Counts since the path began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent.
    pub sent: Packets,
    /// What they carried.
    pub sent_bytes: Bytes,
    /// Data packets known to have arrived, late ones too.
    pub acked: Packets,
    /// Data packets found lost, those too that arrived late.
    pub lost: Packets,
    /// Data packets found lost that arrived late.
    pub late: Packets,
    /// Data packets that arrived with a congestion mark.
    pub marked: Packets,
    /// Reductions of the window for losses.
    pub recoveries: Packets,
    /// Those of them that were taken back.
    pub spurious: Packets,
    /// Reductions of the window for marks.
    pub marked_windows: Packets,
    /// Retransmission timeouts.
    pub timeouts: Packets,
}

/// Timers; [`Instant::MAX`] is off.
#[derive(Clone, Copy, Debug)]
struct Timers {
    /// RFC 6298 5.
    retransmission: Instant,
    /// The oldest packet in flight has not had its time yet (RFC 8985 6.2 step 5).
    reordering: Instant,
}

/// Data that an acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    /// The greatest number known to have arrived before.
    known_before: Option<u64>,
    /// What it counts.
    counted: u64,
    /// The greatest number that arrived, of any packet.
    latest: Option<u64>,
    /// The greatest number of data, with its record.
    latest_data: Option<(u64, Record)>,
    /// The greatest number that arrived marked.
    marked: Option<u64>,
    marks: u64,
    has_late: bool,
    is_reordered: bool,
}

/// Data packets found lost at once.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    packets: u64,
    counted: u64,
    /// The lowest of their numbers, and when it was sent.
    first: Option<(u64, Instant)>,
    /// The greatest of their numbers.
    last: u64,
}

impl Losses {
    fn add(&mut self, number: u64, record: &Record) {
        if record.is_data() {
            self.packets += 1;
            self.counted += u64::from(record.counted);
            self.first.get_or_insert((number, record.sent_at));
            self.last = number;
        }
    }

    fn sample(&self, kind: LossKind, now: Instant, in_flight: Bytes) -> LossSample {
        LossSample {
            kind,
            lost: Bytes::new(self.counted),
            bytes_in_flight: in_flight,
            lost_sent_at: self.first.map_or(now, |(_, sent_at)| sent_at),
        }
    }
}

/// Congestion control, loss detection and measurements of one direction of one path.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    cc: Box<dyn CongestionControl>,
    rng: Rng,
    numbering: Numbering,
    flight: Flight,
    rtt: RttEstimator,
    detection: Detection,
    pacer: Pacer,
    meter: RateMeter,
    usage: WindowUsage,
    episode: Option<Episode>,
    /// Losses and marks below this number are of a window that was reduced already.
    reduced_until: u64,
    /// A round trip ends as this number or a greater one arrives.
    round_end: u64,
    /// The number at which the round trip before began: lost packets below it expire with
    /// the next.
    round_start: u64,
    timers: Timers,
    timeouts_in_a_row: u32,
    /// When data was sent last.
    last_sent_at: Instant,
    /// Found lost by a timer: it is reported to the controller with the next acknowledgement.
    unreported_lost: Bytes,
    /// Given up for want of memory, and not reported yet.
    given_up: Vec<(u64, Record)>,
    /// The window in packets, rounded down, at least 1.
    window: u64,
    counters: SenderCounters,
}

impl Sender {
    /// The sending half of a path that begins. The controller must have been made with
    /// [`SenderConfig::packet_size`] as its segment size; `rng` is its random stream.
    pub fn new(cc: Box<dyn CongestionControl>, config: SenderConfig, rng: Rng) -> Self {
        let config = SenderConfig {
            packet_size: config.packet_size.max(Bytes::new(1)),
            failing_after: config.failing_after.max(1),
            ..config
        };
        let max = usize::try_from(config.max_outstanding.get()).unwrap_or(usize::MAX >> 8);
        let mut sender = Self {
            flight: Flight::new(max.clamp(64, 1 << 24)),
            rtt: RttEstimator::new(config.min_rto, config.max_rto),
            detection: Detection::new(),
            pacer: Pacer::new(config.packet_size),
            meter: RateMeter::default(),
            usage: WindowUsage::default(),
            episode: None,
            reduced_until: 0,
            round_end: 0,
            round_start: 0,
            timers: Timers {
                retransmission: Instant::MAX,
                reordering: Instant::MAX,
            },
            timeouts_in_a_row: 0,
            last_sent_at: Instant::ZERO,
            unreported_lost: Bytes::ZERO,
            given_up: Vec::new(),
            window: 0,
            counters: SenderCounters::default(),
            numbering: Numbering::default(),
            config,
            cc,
            rng,
        };
        sender.refresh_window();
        sender
    }

    fn with<T>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>) -> T,
    ) -> T {
        let mut cx = Ctx {
            now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        call(&mut *self.cc, &mut cx)
    }

    fn refresh_window(&mut self) {
        self.window = (self.cc.cwnd().get() / self.config.packet_size.get()).max(1);
    }

    fn counted(&self, packet: &SentPacket) -> u32 {
        let counted = match self.config.counting {
            Counting::Packets => self.config.packet_size,
            Counting::Bytes => packet.bytes.max(Bytes::new(1)),
        };
        u32::try_from(counted.get()).unwrap_or(u32::MAX)
    }

    /// Data packets that may be sent now as far as cwnd is concerned; pacing may hold them up
    /// ([`Self::send_time`]).
    pub fn room(&self) -> Packets {
        let in_flight = match self.config.counting {
            Counting::Packets => self.flight.packets(),
            Counting::Bytes => {
                let counted = self.flight.counted().get();
                counted.div_ceil(self.config.packet_size.get())
            }
        };
        let room = self.window.saturating_sub(in_flight);
        Packets::new(room.min(self.flight.free()))
    }

    /// When the next data packet may leave; `now` if pacing does not hold it up. Packets leave in
    /// bursts of about a millisecond, at least two packets and at most 64 KiB.
    pub fn send_time(&self, now: Instant) -> Instant {
        if self.cc.pacing_rate().is_some() {
            self.pacer.send_time().max(now)
        } else {
            now
        }
    }

    /// A packet was sent, whatever it carries; in the order of their numbers.
    pub fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        let number = self.numbering.advance_to(packet.seq);
        let Some(number) = number.filter(|&number| number >= self.flight.next()) else {
            debug_assert!(false, "packet {} was numbered twice", packet.seq);
            return;
        };
        let mut record = Record {
            sent_at: now,
            mp_seq: packet.mp_seq,
            bytes: u32::try_from(packet.bytes.get()).unwrap_or(u32::MAX),
            ..Record::default()
        };
        if packet.is_data {
            record.counted = self.counted(packet);
            self.stamp(now, number, &mut record);
        }
        let given_up = &mut self.given_up;
        self.flight.push(number, record, &mut |number, record| {
            given_up.push((number, record));
        });
        if packet.is_data {
            self.after_data(now, packet, &record);
        }
    }

    /// Reports a data packet that leaves to the controller.
    fn stamp(&mut self, now: Instant, number: u64, record: &mut Record) {
        let bytes_in_flight = self.flight.counted();
        let is_idle = bytes_in_flight.is_zero() && self.counters.sent > Packets::ZERO;
        let may_be_idle = self
            .config
            .keeps_idle_window
            .then_some(NON_VALIDATED_PERIOD);
        let may_be_idle = may_be_idle.unwrap_or(self.rtt.rto());
        if is_idle && now.saturating_since(self.last_sent_at) > may_be_idle {
            self.with(now, |cc, cx| cc.on_restart_after_idle(cx));
            self.refresh_window();
        }
        let sent = Sent {
            bytes: Bytes::new(u64::from(record.counted)),
            bytes_in_flight,
            is_retransmission: false,
        };
        record.stamp = self.with(now, |cc, cx| cc.on_sent(cx, &sent));
        self.meter.on_sent(now, number, &sent);
    }

    fn after_data(&mut self, now: Instant, packet: &SentPacket, record: &Record) {
        if let Some(rate) = self.cc.pacing_rate() {
            let counted = Bytes::new(u64::from(record.counted));
            self.pacer.on_sent(now, rate, counted);
        }
        let in_flight = self.flight.counted();
        let is_limited = in_flight + self.config.packet_size > self.cc.cwnd();
        let arrived = self.flight.latest_arrived().map_or(0, |latest| latest + 1);
        self.usage
            .on_sent(arrived, self.flight.next(), in_flight, is_limited);
        if self.timers.retransmission == Instant::MAX {
            self.timers.retransmission = self.rtt.deadline(now);
        }
        self.last_sent_at = now;
        self.counters.sent += Packets::new(1);
        self.counters.sent_bytes += packet.bytes;
    }

    /// The peer acknowledged something. An acknowledgement of a packet never sent is ignored whole:
    /// the endpoint answers it (RFC 4340 7.5.3).
    pub fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>, outcome: &mut AckOutcome) {
        outcome.clear();
        let Some(newest) = self.numbering.number(ack.ack) else {
            return;
        };
        if newest >= self.flight.next() {
            return;
        }
        self.report_given_up(outcome);
        let prior_in_flight = self.flight.counted();
        let delivery = self.take_arrived(newest, ack.vector, outcome);
        if delivery.latest.is_none() && self.flight.packets() == 0 {
            return;
        }
        self.measure(now, newest, ack.elapsed, &delivery, outcome);
        let losses = self.detect_losses(now, outcome);
        self.update_episode(now, &delivery, &losses, outcome);
        if delivery.latest.is_some() || losses.packets > 0 {
            self.inform_controller(now, &delivery, &losses, prior_in_flight, outcome);
        }
        self.rearm(now, &delivery);
        self.refresh_window();
    }

    /// Enters the states of the vector, newest first.
    fn take_arrived(
        &mut self,
        newest: u64,
        vector: Option<&AckVector>,
        outcome: &mut AckOutcome,
    ) -> Delivery {
        let mut delivery = Delivery {
            known_before: self.flight.latest_arrived(),
            ..Delivery::default()
        };
        let Some(vector) = vector else {
            self.take_run(newest, newest + 1, false, &mut delivery, outcome);
            return delivery;
        };
        let mut end = newest + 1;
        for run in vector.runs() {
            let start = end.saturating_sub(u64::from(run.packets));
            if run.state != ReceptionState::NotReceived {
                let is_marked = run.state == ReceptionState::Marked;
                self.take_run(start, end, is_marked, &mut delivery, outcome);
            }
            end = start;
            if end <= self.flight.base() {
                break;
            }
        }
        delivery
    }

    fn take_run(
        &mut self,
        start: u64,
        end: u64,
        is_marked: bool,
        delivery: &mut Delivery,
        outcome: &mut AckOutcome,
    ) {
        let Self {
            flight,
            numbering,
            counters,
            episode,
            ..
        } = self;
        flight.take_arrived(start, end, |arrived| {
            let Arrived {
                number,
                record,
                was_lost,
            } = *arrived;
            let info = info(numbering, number, &record);
            delivery.latest = delivery.latest.max(Some(number));
            if was_lost {
                outcome.late.push(info);
            } else {
                outcome.acked.push(info);
                delivery.is_reordered |= delivery.known_before > Some(number);
            }
            if !record.is_data() {
                return;
            }
            counters.acked += Packets::new(1);
            delivery.counted += u64::from(record.counted);
            if delivery
                .latest_data
                .is_none_or(|(latest, _)| latest < number)
            {
                delivery.latest_data = Some((number, record));
            }
            if was_lost {
                counters.late += Packets::new(1);
                delivery.has_late = true;
                if let Some(episode) = episode {
                    episode.on_late_arrival(number);
                }
            }
            if is_marked {
                counters.marked += Packets::new(1);
                outcome.marked += Packets::new(1);
                delivery.marks += 1;
                delivery.marked = delivery.marked.max(Some(number));
            }
        });
    }

    /// Round-trip time and reordering.
    fn measure(
        &mut self,
        now: Instant,
        newest: u64,
        elapsed: Option<Duration>,
        delivery: &Delivery,
        outcome: &mut AckOutcome,
    ) {
        if delivery.has_late {
            self.detection.on_late_arrival();
        } else if delivery.is_reordered {
            self.detection.on_reordering();
        }
        let Some(latest) = delivery.latest else {
            return;
        };
        self.timeouts_in_a_row = 0;
        if self.flight.latest_arrived() != Some(latest) {
            return; // older than what is known: its time has little information
        }
        let record = *self.flight.record(latest);
        // the peer acknowledges data soon, anything else when it has an occasion: unless it reports how
        // long it waited, that measures nothing
        let is_first = self.rtt.srtt().is_none();
        let is_dated = is_first && latest == newest && elapsed.is_some();
        if !record.is_data() && !is_dated {
            return;
        }
        let measured = now.saturating_since(record.sent_at);
        self.detection.on_latest(measured);
        // Elapsed Time is of the acknowledgement number's packet
        let held = elapsed.filter(|_| latest == newest);
        let sample = self.rtt.on_sample(measured, held.unwrap_or_default());
        outcome.rtt = Some(sample);
    }

    /// Finds lost what has had its time, and sets the timer for what has not.
    fn detect_losses(&mut self, now: Instant, outcome: &mut AckOutcome) -> Losses {
        let mut losses = Losses::default();
        self.timers.reordering = Instant::MAX;
        let Some(latest) = self.flight.latest_arrived() else {
            return losses;
        };
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let cx = DetectionContext {
            min_rtt: self.rtt.min_rtt().unwrap_or(srtt),
            srtt,
        };
        if self.rtt.srtt().is_none() {
            return losses; // how long is long?
        }
        while let Some(number) = self.flight.first_in_flight()
            && number < latest
        {
            let sent_at = self.flight.record(number).sent_at;
            let has_three_after = self.flight.has_three_after(number);
            let deadline = self.detection.deadline(sent_at, has_three_after, &cx);
            if deadline > now {
                self.timers.reordering = deadline;
                break;
            }
            self.lose(number, &mut losses, outcome);
        }
        losses
    }

    fn lose(&mut self, number: u64, losses: &mut Losses, outcome: &mut AckOutcome) {
        let record = self.flight.mark_lost(number);
        losses.add(number, &record);
        self.counters.lost += Packets::new(u64::from(record.is_data()));
        outcome.lost.push(info(&self.numbering, number, &record));
    }

    /// What was given up for want of memory is lost.
    fn report_given_up(&mut self, outcome: &mut AckOutcome) {
        for (number, record) in self.given_up.drain(..) {
            self.counters.lost += Packets::new(u64::from(record.is_data()));
            self.unreported_lost += Bytes::new(u64::from(record.counted));
            outcome.lost.push(info(&self.numbering, number, &record));
        }
    }

    /// Ends, takes back or begins an episode.
    fn update_episode(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        losses: &Losses,
        outcome: &mut AckOutcome,
    ) {
        if let Some(episode) = &self.episode {
            if delivery.has_late && episode.is_spurious() {
                self.end_episode(now, true);
                self.reduced_until = 0;
                self.counters.spurious += Packets::new(1);
                outcome.is_spurious = true;
            } else if episode.is_over(self.flight.latest_arrived()) {
                self.end_episode(now, false);
            }
        }
        if losses.packets > 0 {
            self.on_losses(now, losses);
        }
        let is_new = |number| number >= self.reduced_until;
        if delivery.marked.is_some_and(is_new) && self.episode.is_none() {
            self.begin(now, LossKind::Ecn, &Losses::default());
            self.counters.marked_windows += Packets::new(1);
        }
    }

    fn end_episode(&mut self, now: Instant, is_spurious: bool) {
        self.episode = None;
        self.with(now, |cc, cx| {
            cc.on_recovery_end(cx, RecoveryEnd { is_spurious });
        });
    }

    /// Losses were found by acknowledgements or by the time that has passed since.
    fn on_losses(&mut self, now: Instant, losses: &Losses) {
        let (first, _) = losses.first.unwrap_or((losses.last, now));
        let sample = losses.sample(LossKind::Fast, now, self.flight.counted());
        let end = self.flight.next();
        let governs = self.cc.governs_recovery();
        if let Some(episode) = &mut self.episode {
            let was_marked_only = !episode.is_repair();
            if was_marked_only {
                episode.becomes_fast(end);
            }
            episode.on_lost(first, losses.packets);
            if was_marked_only && governs {
                self.with(now, |cc, cx| cc.on_loss(cx, &sample));
            }
        } else if losses.last >= self.reduced_until
            && self.with(now, |cc, cx| cc.is_congestion(cx, &sample))
        {
            self.begin(now, LossKind::Fast, losses);
            self.counters.recoveries += Packets::new(1);
        }
    }

    fn begin(&mut self, now: Instant, kind: LossKind, losses: &Losses) {
        let end = self.flight.next();
        let mut episode = Episode::new(kind, end);
        if let Some((first, _)) = losses.first {
            episode.on_lost(first, losses.packets);
        }
        self.episode = Some(episode);
        self.reduced_until = end;
        let sample = losses.sample(kind, now, self.flight.counted());
        self.with(now, |cc, cx| cc.on_loss(cx, &sample));
    }

    fn inform_controller(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        losses: &Losses,
        prior_in_flight: Bytes,
        outcome: &AckOutcome,
    ) {
        let is_round_start = delivery
            .latest
            .is_some_and(|latest| latest >= self.round_end);
        if is_round_start {
            self.flight.expire_lost_below(self.round_start);
            self.round_start = self.round_end;
            self.round_end = self.flight.next();
            self.detection.on_round();
        }
        let untold = core::mem::take(&mut self.unreported_lost);
        let cwnd = self.cc.cwnd();
        let sample = AckSample {
            newly_acked: Bytes::new(delivery.counted),
            newly_lost: Bytes::new(losses.counted) + untold,
            bytes_in_flight: self.flight.counted(),
            prior_in_flight,
            rtt: outcome.rtt,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: self.rtt.min_rtt().unwrap_or(Duration::ZERO),
            stamp: delivery.latest_data.map(|(_, record)| record.stamp),
            is_recovering: self.episode.is_some(),
            is_cwnd_limited: self.usage.is_cwnd_limited(cwnd, self.cc.ssthresh()),
            is_round_start,
            ecn_echo: delivery.marks > 0,
        };
        let latest = delivery.latest_data.map(|(number, _)| number);
        self.meter.on_ack(now, latest, &sample);
        self.with(now, |cc, cx| cc.on_ack(cx, &sample));
    }

    /// RFC 6298 5.2 and 5.3.
    fn rearm(&mut self, now: Instant, delivery: &Delivery) {
        if self.flight.packets() == 0 {
            self.timers.retransmission = Instant::MAX;
        } else if delivery.latest_data.is_some() {
            self.timers.retransmission = self.rtt.deadline(now);
        }
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives. Pacing is not among
    /// its reasons ([`Self::send_time`]).
    pub fn next_deadline(&self) -> Option<Instant> {
        let own = self.timers.retransmission.min(self.timers.reordering);
        let next = own.min(self.cc.next_deadline().unwrap_or(Instant::MAX));
        (next < Instant::MAX).then_some(next)
    }

    /// A timer may have run out.
    pub fn on_deadline(&mut self, now: Instant, outcome: &mut AckOutcome) {
        outcome.clear();
        self.report_given_up(outcome);
        if self.timers.reordering <= now {
            let losses = self.detect_losses(now, outcome);
            if losses.packets > 0 {
                self.unreported_lost += Bytes::new(losses.counted);
                self.on_losses(now, &losses);
                self.rearm(now, &Delivery::default());
            }
        }
        if self.timers.retransmission <= now {
            self.on_timeout(now, outcome);
        }
        if self.cc.next_deadline().is_some_and(|at| at <= now) {
            self.with(now, |cc, cx| cc.on_deadline(cx));
        }
        self.refresh_window();
    }

    /// RFC 6298 5.4 to 5.6, RFC 4341 5.1: nothing that was sent is in flight any more. A timeout that
    /// repeats before anything was acknowledged finds cwnd at one packet already.
    fn on_timeout(&mut self, now: Instant, outcome: &mut AckOutcome) {
        self.timers.retransmission = Instant::MAX;
        self.timers.reordering = Instant::MAX;
        let mut losses = Losses::default();
        while let Some(number) = self.flight.first_in_flight() {
            self.lose(number, &mut losses, outcome);
        }
        if losses.packets == 0 {
            return;
        }
        outcome.is_timeout = true;
        self.timeouts_in_a_row += 1;
        self.rtt.back_off();
        self.counters.timeouts += Packets::new(1);
        let end = self.flight.next();
        let (first, _) = losses.first.unwrap_or((end, now));
        if self.timeouts_in_a_row == 1 {
            let sample = losses.sample(LossKind::Timeout, now, Bytes::ZERO);
            self.with(now, |cc, cx| cc.on_loss(cx, &sample));
            self.reduced_until = end;
        }
        match &mut self.episode {
            Some(episode) => episode.becomes_timeout(end),
            None => {
                self.episode = Some(Episode::new(LossKind::Timeout, end));
                self.counters.recoveries += Packets::new(1);
            }
        }
        if let Some(episode) = &mut self.episode {
            episode.on_lost(first, losses.packets);
        }
    }

    /// There is nothing to send on this path although cwnd would allow it: the rates measured until
    /// what is in flight has arrived are not the path's. To be called when all that the scheduler has
    /// for this path has left.
    pub fn on_app_limited(&mut self, now: Instant) {
        let in_flight = self.flight.counted();
        if in_flight + self.config.packet_size <= self.cc.cwnd() {
            self.with(now, |cc, cx| cc.on_app_limited(cx, in_flight));
            self.meter.on_app_limited(in_flight);
        }
    }

    /// A radio report of the path's link arrived.
    pub fn on_radio(&mut self, now: Instant, state: &RadioState) {
        self.with(now, |cc, cx| cc.on_radio(cx, state));
        self.refresh_window();
    }
}

/// A packet as reported to the caller.
fn info(numbering: &Numbering, number: u64, record: &Record) -> SentInfo {
    SentInfo {
        seq: numbering.seq(number),
        mp_seq: record.mp_seq,
        bytes: Bytes::new(u64::from(record.bytes)),
        sent_at: record.sent_at,
        is_data: record.is_data(),
    }
}

/// What there is to see of a path.
impl Sender {
    /// The controller's name.
    pub fn controller(&self) -> &'static str {
        self.cc.name()
    }
    /// Maximum data in flight, as counted.
    pub fn cwnd(&self) -> Bytes {
        self.cc.cwnd()
    }
    /// The same in packets, rounded down, at least one.
    pub fn window(&self) -> Packets {
        Packets::new(self.window)
    }
    /// Slow-start threshold, where the controller has one and it has been set.
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.cc.ssthresh().filter(|&ssthresh| ssthresh < Bytes::MAX)
    }
    /// True while the controller is looking for the path's rate: below the slow-start threshold, or
    /// with a controller that has none until the delivery rate has stopped growing.
    pub fn is_starting(&self) -> bool {
        match self.cc.ssthresh() {
            Some(ssthresh) => self.cc.cwnd() < ssthresh,
            None => !self.meter.is_pipe_full(),
        }
    }
    /// The rate at which the controller has packets leave, if it sets one.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        self.cc.pacing_rate()
    }
    /// Data packets in flight.
    pub fn in_flight(&self) -> Packets {
        Packets::new(self.flight.packets())
    }
    /// Data in flight, as counted.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.flight.counted()
    }
    /// Smoothed round-trip time; none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }
    /// Variation of the round-trip time (RFC 6298, RTTVAR).
    pub fn rttvar(&self) -> Duration {
        self.rtt.rttvar()
    }
    /// Minimum round-trip time so far.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt()
    }
    /// The last round-trip time.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.rtt.latest()
    }
    /// The retransmission timeout, backoff included.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    /// What the path has delivered lately; none before the first round trip.
    pub fn delivery_rate(&self) -> Option<RateEstimate> {
        self.meter.estimate()
    }
    /// Largest recent delivery rate times minimum round-trip time: what fills the path without a
    /// queue, as counted.
    pub fn bdp(&self) -> Option<Bytes> {
        let rate = self.meter.estimate()?.max;
        Some(rate.bytes_in(self.rtt.min_rtt()?))
    }
    /// A reduction of the window is under way.
    pub fn is_recovering(&self) -> bool {
        self.episode.is_some()
    }
    /// Timeouts since anything was last acknowledged.
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }
    /// So many timeouts have passed without an acknowledgement that the path seems to have failed.
    pub fn is_failing(&self) -> bool {
        self.timeouts_in_a_row >= self.config.failing_after
    }
    /// Counts since the path began.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }
}
