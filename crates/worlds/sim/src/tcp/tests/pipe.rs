//! Two ends and the network between them, with everything that is always true checked at each step.

use super::super::{Config, Connection, Flags, ReadChunk, Segment};
use super::controllers::{Events, Fixed, rng};
use cc::CongestionControl;
use queue::Ecn;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};
use units::{BitRate, Bytes, Duration, Instant};

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;
pub(super) const MSS: u64 = 1_000;

pub(super) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
pub(super) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketOutcome {
    Pass,
    /// Arrives marked if it is ECN-capable, else not at all.
    Mark,
    Drop,
    /// Arrives so much later than it would, overtaken by others.
    Late(Duration),
    Twice,
}

/// Decides by the segment and how many the direction has seen.
pub(super) type PacketOutcomes = Box<dyn FnMut(Instant, u64, &Segment) -> PacketOutcome>;

/// Changes what passes.
pub(super) type Rewriting = Box<dyn FnMut(&mut Segment)>;

/// One direction.
pub(super) struct Direction {
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
    /// Longest wait for the line; beyond, segments are dropped.
    pub(super) buffer: Duration,
    pub(super) outcomes: PacketOutcomes,
    /// What a node on the way does to headers.
    pub(super) rewriting: Rewriting,
    /// The line is busy until then.
    pub(super) free_at: Instant,
    seen: u64,
}

impl Direction {
    fn new(delay: Duration) -> Self {
        Self {
            rate: BitRate::from_mbps(1_000),
            delay,
            buffer: Duration::from_secs(10),
            outcomes: Box::new(|_, _, _| PacketOutcome::Pass),
            rewriting: Box::new(|_| {}),
            free_at: Instant::ZERO,
            seen: 0,
        }
    }

    /// When the segment arrives: never, once or twice.
    fn carry(&mut self, now: Instant, segment: &mut Segment) -> [Option<Instant>; 2] {
        self.seen += 1;
        (self.rewriting)(segment);
        let mut outcome = (self.outcomes)(now, self.seen, segment);
        if outcome == PacketOutcome::Mark {
            match segment.ecn {
                Ecn::NotEct => outcome = PacketOutcome::Drop,
                _ => segment.ecn = Ecn::Ce,
            }
        }
        let start = now.max(self.free_at);
        if outcome == PacketOutcome::Drop || start > now + self.buffer {
            return [None, None];
        }
        self.free_at = start + segment.wire_bytes() / self.rate;
        let arrival = self.free_at + self.delay;
        match outcome {
            PacketOutcome::Late(extra) => [Some(arrival + extra), None],
            PacketOutcome::Twice => [Some(arrival), Some(arrival + Duration::from_micros(10))],
            PacketOutcome::Pass | PacketOutcome::Mark | PacketOutcome::Drop => {
                [Some(arrival), None]
            }
        }
    }
}

/// A segment as it left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) at: Instant,
    pub(super) from: usize,
    pub(super) segment: Segment,
}

pub(super) struct Pipe {
    pub(super) now: Instant,
    pub(super) ends: [Connection; 2],
    /// From the end of that index.
    pub(super) ways: [Direction; 2],
    /// Ends whose application reads at once.
    pub(super) reads: [bool; 2],
    pub(super) log: Vec<Departure>,
    pub(super) chunks: [Vec<ReadChunk>; 2],
    arrivals: BinaryHeap<Reverse<(Instant, u64, usize, usize)>>,
    in_transit: Vec<Segment>,
    order: u64,
    /// Rightmost position that each end was allowed to send.
    allowed: [u64; 2],
    /// Rightmost edge that each end has advertised.
    advertised: [u64; 2],
    granule: [u64; 2],
    /// Edges may not retract even by less than a granule.
    pub(super) is_strict: bool,
}

pub(super) fn config() -> Config {
    Config {
        mss: Bytes::new(MSS),
        receive_buffer: Bytes::new(1 << 20),
        ..Config::default()
    }
}

/// Ends of these configurations, and this controller at the server.
pub(super) fn with(configs: [Config; 2], sender: Fixed) -> Pipe {
    let client = Box::new(Fixed::new(10_000));
    Pipe::new(configs, client, Box::new(sender))
}

/// An established connection with this controller at the server, and what it is notified of.
pub(super) fn observed(sender: Fixed) -> (Pipe, Arc<Mutex<Events>>) {
    let events = sender.events();
    let mut pipe = with([config(), config()], sender);
    pipe.establish();
    (pipe, events)
}

impl Pipe {
    /// A client and a server with 10 ms between them, opened at time zero.
    pub(super) fn new(
        configs: [Config; 2],
        client: Box<dyn CongestionControl>,
        server: Box<dyn CongestionControl>,
    ) -> Self {
        let granule = configs.map(|c| {
            (0..=14)
                .map(|s| 1u64 << s)
                .find(|g| g * 65_535 >= c.receive_buffer.get())
                .unwrap()
        });
        let mut pipe = Self {
            now: Instant::ZERO,
            ends: [
                Connection::client(configs[0], client, rng()),
                Connection::server(configs[1], server, rng()),
            ],
            ways: [Direction::new(ms(10)), Direction::new(ms(10))],
            reads: [true, true],
            log: Vec::new(),
            chunks: [Vec::new(), Vec::new()],
            arrivals: BinaryHeap::new(),
            in_transit: Vec::new(),
            order: 0,
            allowed: [0; 2],
            advertised: [0; 2],
            granule,
            is_strict: false,
        };
        pipe.ends[CLIENT].open(Instant::ZERO);
        pipe
    }

    /// Sends what the end has, reads what it got.
    pub(super) fn pump(&mut self, end: usize) {
        if self.reads[end] {
            self.read(end, u64::MAX);
        }
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            self.check_departure(end, &segment);
            self.log.push(Departure {
                at: self.now,
                from: end,
                segment,
            });
            let peer = 1 - end;
            let mut carried = segment;
            for arrival in self.ways[end]
                .carry(self.now, &mut carried)
                .into_iter()
                .flatten()
            {
                self.arrivals
                    .push(Reverse((arrival, self.order, peer, self.in_transit.len())));
                self.order += 1;
                self.in_transit.push(carried);
            }
        }
        self.ends[end].check();
        let due = self.ends[end].next_deadline();
        assert!(
            due.is_none_or(|due| due > self.now),
            "{due:?} is not after {:?}",
            self.now
        );
    }

    /// The peer's window is obeyed, and this end's is not taken back.
    fn check_departure(&mut self, end: usize, segment: &Segment) {
        if segment.len > 0 {
            let sent_to = segment.payload_end();
            assert!(
                sent_to <= self.allowed[end],
                "{sent_to} beyond {}",
                self.allowed[end]
            );
        }
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let edge = segment.ack + segment.window;
        let slack = if self.is_strict {
            0
        } else {
            self.granule[end] - 1
        };
        assert!(
            edge + slack >= self.advertised[end],
            "retracted: {edge}, {:?}",
            self.advertised
        );
        self.advertised[end] = self.advertised[end].max(edge);
    }

    /// Reads up to `max` bytes.
    pub(super) fn read(&mut self, end: usize, max: u64) {
        let mut left = max;
        while let Some(chunk) = self.ends[end].read(self.now, Bytes::new(left)) {
            left -= chunk.bytes.get();
            self.chunks[end].push(chunk);
        }
    }

    /// Bytes that the application of the end has read.
    pub(super) fn bytes_read(&self, end: usize) -> u64 {
        self.chunks[end].iter().map(|c| c.bytes.get()).sum()
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.arrivals.peek().map(|Reverse((at, ..))| *at);
        let deadlines = self.ends.iter().filter_map(Connection::next_deadline);
        deadlines.chain(arrival).min()
    }

    /// Handles the next event, if it is not after `until`. False if there is none.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        let Some(next) = self.next_event().filter(|&next| next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = next;
        for end in [CLIENT, SERVER] {
            if self.ends[end]
                .next_deadline()
                .is_some_and(|due| due <= next)
            {
                self.ends[end].on_deadline(next);
                self.pump(end);
            }
        }
        while let Some(&Reverse((arrival, _, end, index))) = self.arrivals.peek()
            && arrival <= next
        {
            self.arrivals.pop();
            let segment = self.in_transit[index];
            self.allowed[end] = self.allowed[end].max(segment.ack.max(1) + segment.window);
            self.ends[end].on_segment(next, &segment);
            self.pump(end);
        }
        true
    }

    /// Runs until that time.
    pub(super) fn run_until(&mut self, until: Instant) {
        self.pump(CLIENT);
        self.pump(SERVER);
        while self.step(until) {}
    }

    /// Completes the handshake: at 20 ms both ends are open.
    pub(super) fn establish(&mut self) {
        self.run_until(at(40));
        assert!(self.ends.iter().all(Connection::is_established));
        assert_eq!(self.log.len(), 3);
        self.log.clear();
    }

    /// The end writes; all of it must fit.
    pub(super) fn write(&mut self, end: usize, bytes: u64) {
        let accepted = self.ends[end].write(self.now, Bytes::new(bytes), None);
        assert_eq!(accepted, Bytes::new(bytes));
        self.pump(end);
    }

    /// Writes all and runs until the peer has read it; returns how long it took.
    pub(super) fn transfer(&mut self, from: usize, bytes: u64) -> Duration {
        let (begin, target) = (self.now, self.bytes_read(1 - from) + bytes);
        let mut left = bytes;
        let end = self.now + Duration::from_secs(1_000);
        loop {
            let accepted = self.ends[from].write(self.now, Bytes::new(left), None);
            left -= accepted.get();
            self.pump(from);
            if self.bytes_read(1 - from) >= target || !self.step(end) {
                break;
            }
        }
        assert_eq!(self.bytes_read(1 - from), target);
        self.now.saturating_since(begin)
    }

    /// Data segments that left the end.
    pub(super) fn data(&self, from: usize) -> Vec<&Departure> {
        self.log
            .iter()
            .filter(|d| d.from == from && d.segment.len > 0)
            .collect()
    }
    /// Pure acknowledgements that left the end.
    pub(super) fn acks(&self, from: usize) -> Vec<&Departure> {
        self.log
            .iter()
            .filter(|d| d.from == from && d.segment.len == 0)
            .collect()
    }
    pub(super) fn stats(&self, end: usize) -> super::super::Stats {
        self.ends[end].stats()
    }
}

/// Drops the transmissions of the segment that begins at each position: as many as it is listed.
pub(super) fn dropping(mut positions: Vec<u64>) -> PacketOutcomes {
    Box::new(move |_, _, segment| {
        let found = positions
            .iter()
            .position(|&p| p == segment.seq && segment.len > 0);
        if let Some(index) = found {
            positions.swap_remove(index);
            return PacketOutcome::Drop;
        }
        PacketOutcome::Pass
    })
}

/// Position of the segment of that number, counted from 0, if all are full.
pub(super) fn position(segment: u64) -> u64 {
    1 + segment * MSS
}

impl Pipe {
    /// Runs until then; true if nothing is pending any more.
    pub(super) fn run_to_quiet(&mut self, until: Instant) -> bool {
        self.run_until(until);
        self.next_event().is_none()
    }
}
