//! A TCP connection that carries a path of a tunnel: packets one after the other, each with its
//! length before it, as RFC 4571 frames them.
//!
//! ```text
//!   frames -> [ written, unsent ] == TCP == [ read ] -> frames, whole and in order
//! ```
//!
//! The simulator's segments have no content, so frames travel beside the connection: one comes out
//! when TCP has delivered its last byte. What TCP does to a tunnel (waiting for what was lost, its
//! window, its pacing) happens in the connection itself.

use crate::carried::Carried;
use crate::schedule::EntityId;
use crate::tcp::{Config, Connection, Segment};
use cc::CongestionControl;
use multipath::packet::{Packet, encoded_len};
use multipath::tunnel::StreamState;
use recovery::Validation;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// The length before each packet (RFC 4571 section 2).
const FRAMING: u64 = 2;
/// Room for what is written and not acknowledged: never what limits a path.
const SEND_BUFFER: Bytes = Bytes::new(64_000_000);
/// The receive window: never what limits a path.
const RECEIVE_BUFFER: Bytes = Bytes::new(64_000_000);
/// The rate of delivery is the greatest of so many measurements, each of about a round trip.
const RATE_SAMPLES: usize = 10;

/// A packet on a stream.
struct Frame {
    /// Bytes of the stream up to its end.
    end: u64,
    packet: Packet,
    payload: Option<Carried>,
}

/// Measures the rate at which a connection delivers.
#[derive(Debug, Default)]
struct RateMeter {
    since: Instant,
    acked: Bytes,
    /// The latest measurements, bit/s.
    samples: VecDeque<BitRate>,
}

impl RateMeter {
    fn on_acked(&mut self, now: Instant, acked: Bytes, srtt: Option<Duration>) {
        let elapsed = now.saturating_since(self.since);
        if elapsed < srtt.unwrap_or(Duration::from_millis(100)) {
            return;
        }
        let rate = BitRate::from_bytes_per(acked.saturating_sub(self.acked), elapsed);
        (self.since, self.acked) = (now, acked);
        self.samples.push_back(rate);
        if self.samples.len() > RATE_SAMPLES {
            self.samples.pop_front();
        }
    }

    fn rate(&self) -> Option<BitRate> {
        self.samples
            .iter()
            .copied()
            .max()
            .filter(|rate| *rate > BitRate::ZERO)
    }
}

/// An end of a stream.
pub(crate) struct StreamEnd {
    connection: Connection,
    /// Its timer in the schedule.
    pub(crate) timer: EntityId,
    /// Frames to the other end that it has not read.
    frames: VecDeque<Frame>,
    /// Bytes of all frames so far.
    framed: u64,
    /// Bytes of them that the connection has not taken.
    unwritten: u64,
    /// Bytes read.
    read: u64,
    rate: RateMeter,
}

impl StreamEnd {
    /// An end with its congestion control and how its window is validated: the client's, or the server's.
    pub(crate) fn new(
        is_client: bool,
        controller: Box<dyn CongestionControl>,
        validation: Validation,
        rng: Rng,
        timer: EntityId,
    ) -> Self {
        let config = Config {
            validation,
            ..config()
        };
        let connection = if is_client {
            Connection::client(config, controller, rng)
        } else {
            Connection::server(config, controller, rng)
        };
        Self {
            connection,
            timer,
            frames: VecDeque::new(),
            framed: 0,
            unwritten: 0,
            read: 0,
            rate: RateMeter::default(),
        }
    }

    /// The client connects.
    pub(crate) fn open(&mut self, now: Instant) {
        self.connection.open(now);
    }

    /// The handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        self.connection.is_established()
    }

    /// A packet of the tunnel goes into the stream.
    pub(crate) fn write(&mut self, now: Instant, packet: Packet, payload: Option<Carried>) {
        let inside = payload.as_ref().map_or(0, multipath::Payload::len);
        let len = FRAMING + (encoded_len(&packet) + inside) as u64;
        self.framed += len;
        self.unwritten += len;
        self.frames.push_back(Frame {
            end: self.framed,
            packet,
            payload,
        });
        self.flush(now);
    }

    fn flush(&mut self, now: Instant) {
        if self.unwritten > 0 {
            let written = self.connection.write(now, Bytes::new(self.unwritten), None);
            self.unwritten -= written.get();
        }
    }

    /// A segment arrived.
    pub(crate) fn on_segment(&mut self, now: Instant, segment: &Segment) {
        self.connection.on_segment(now, segment);
        while let Some(chunk) = self.connection.read(now, Bytes::MAX) {
            self.read += chunk.bytes.get();
        }
        self.flush(now);
    }

    /// A deadline has come.
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        let is_due = |at| at <= now;
        if self.connection.next_deadline().is_some_and(is_due) {
            self.connection.on_deadline(now);
        }
    }

    /// The next segment that may leave now.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.connection.poll_transmit(now)
    }

    /// When [`Self::on_deadline`] is to be called.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.connection.next_deadline()
    }

    /// The next packet that the other end has read whole.
    pub(crate) fn take_read(&mut self, other: &Self) -> Option<(Packet, Option<Carried>)> {
        self.frames
            .front()
            .filter(|frame| frame.end <= other.read)?;
        let frame = self.frames.pop_front()?;
        Some((frame.packet, frame.payload))
    }

    /// Its state, as the tunnel takes it.
    pub(crate) fn state(&mut self, now: Instant) -> StreamState {
        let stats = self.connection.stats();
        self.rate.on_acked(now, stats.bytes_acked, stats.srtt);
        StreamState {
            cwnd: stats.cwnd,
            in_flight: stats.bytes_in_flight,
            unsent: self.connection.unsent() + Bytes::new(self.unwritten),
            srtt: stats.srtt,
            min_rtt: stats.min_rtt,
            delivery_rate: self.rate.rate(),
        }
    }

    /// Segments sent again, and segments found lost.
    pub(crate) fn repairs(&self) -> (u64, u64) {
        let stats = self.connection.stats();
        (stats.retransmits.get(), stats.lost.get())
    }

    /// Window of its congestion control.
    pub(crate) fn cwnd(&self) -> Bytes {
        self.connection.stats().cwnd
    }
}

/// TCP under a tunnel: its ends write at once what is to be sent, and read at once what arrives.
fn config() -> Config {
    Config {
        receive_buffer: RECEIVE_BUFFER,
        send_buffer: SEND_BUFFER,
        auto_read: true,
        nodelay: true,
        ..Config::default()
    }
}

/// What a stream's congestion control is built with.
pub(crate) fn build_config() -> cc::BuildConfig {
    let config = config();
    cc::BuildConfig {
        mss: config.mss,
        initial_window: config.initial_cwnd(),
    }
}
