//! How much may be sent, and what is noted of what was.

use super::super::flight::Record;
use super::{Counting, Sender, SentPacket};
use cc::Sent;
use recovery::is_full;
use recovery::validation::{Resume, SentState};
use units::{Bytes, Instant, Packets};

impl Sender {
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
            Counting::Packets => self.flight.packets() - self.flight.beyond(),
            Counting::Bytes => {
                let counted = self.flight.counted().get();
                counted.div_ceil(self.config.packet_size.get())
            }
        };
        let room = self.window.saturating_sub(in_flight);
        Packets::new(room.min(self.flight.free()))
    }

    /// Data packets that may be sent now although cwnd has no room, if so many may be in flight beyond it.
    pub fn room_beyond(&self, most: Packets) -> Packets {
        let room = most.get().saturating_sub(self.flight.beyond());
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
        self.note_sent(now, packet, true);
    }

    /// The same for a packet that left beyond the window: it does not count in it, nor does the controller see it, unless it
    /// is lost.
    pub fn on_sent_beyond(&mut self, now: Instant, packet: &SentPacket) {
        self.note_sent(now, packet, false);
    }

    /// The packet that was sent last left with a congestion mark: that it arrives with one is no signal of this path.
    pub fn on_sent_marked(&mut self) {
        self.flight.note_marked();
    }

    fn note_sent(&mut self, now: Instant, packet: &SentPacket, is_counted: bool) {
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
        if packet.is_data && is_counted {
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
        if bytes_in_flight.is_zero() && self.counters.sent > Packets::ZERO {
            self.resume(now);
        }
        let sent = Sent {
            bytes: Bytes::new(u64::from(record.counted)),
            bytes_in_flight,
            is_retransmission: false,
        };
        record.stamp = self.with(now, |cc, cx| cc.on_sent(cx, &sent));
        self.meter.on_sent(now, number, &sent);
    }

    /// Data follows on data that is all accounted for.
    fn resume(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_sent_at);
        let window = self.window_state();
        let rto = self.rtt.rto();
        match self.validation.on_resume(now, idle, rto, &window) {
            Resume::Keep => {}
            Resume::Restart => {
                self.with(now, |cc, cx| cc.on_restart_after_idle(cx));
                self.refresh_window();
            }
            Resume::Limit(limit) => self.limit_window(now, Some(limit)),
        }
    }

    fn after_data(&mut self, now: Instant, packet: &SentPacket, record: &Record) {
        if let Some(rate) = self.cc.pacing_rate() {
            let counted = Bytes::new(u64::from(record.counted));
            self.pacer.on_sent(now, rate, counted);
        }
        let in_flight = self.flight.counted();
        let is_limited = is_full(in_flight, self.config.packet_size, self.cc.cwnd());
        let arrived = self.flight.latest_arrived().map_or(0, |latest| latest + 1);
        self.usage
            .on_sent(arrived, self.flight.next(), in_flight, is_limited);
        self.validate_sent(now, in_flight);
        if self.timers.retransmission == Instant::MAX {
            self.timers.retransmission = self.rtt.deadline(now);
        }
        self.last_sent_at = now;
        self.counters.sent += Packets::new(1);
        self.counters.sent_bytes += packet.bytes;
    }

    fn validate_sent(&mut self, now: Instant, used: Bytes) {
        let window = self.window_state();
        let sent = SentState {
            used,
            is_cwnd_limited: self.usage.is_cwnd_limited(window.cwnd, window.ssthresh),
            is_open: self.episode.is_none(),
            rto: self.rtt.rto(),
        };
        let limit = self.validation.on_sent(now, &sent, &window);
        self.limit_window(now, limit);
    }

    /// There is nothing to send on this path although cwnd would allow it: the rates measured until
    /// what is in flight has arrived are not the path's. To be called when all that the scheduler has
    /// for this path has left.
    pub fn on_app_limited(&mut self, now: Instant) {
        let in_flight = self.flight.counted();
        if !is_full(in_flight, self.config.packet_size, self.cc.cwnd()) {
            self.with(now, |cc, cx| cc.on_app_limited(cx, in_flight));
            self.meter.on_app_limited(in_flight);
        }
    }
}
