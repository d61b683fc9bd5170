//! Sources, channels and sinks for the tests.

use queue::{Capacity, Ecn, Packet};
use radio::{Channel, ChannelState, Link};
use ran::{
    BearerConfig, Cell, CellConfig, Direction, DropReason, Output, RlcMode, UeConfig, UeIndex,
};
use rnis::Rnti;
use units::{Bytes, Cqi, Decibel, Duration, Instant, Mcs, Streams};

/// A packet that carries its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pkt {
    pub bytes: u64,
    pub id: u64,
    pub sent_at: Instant,
    /// Its flow: QoS flow identifiers are flows here. Packets of odd flows are ECN-capable.
    pub qfi: u8,
    pub is_marked: bool,
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn flow(&self) -> u64 {
        self.qfi.into()
    }
    fn ecn(&self) -> Ecn {
        match self.qfi % 2 {
            _ if self.is_marked => Ecn::Ce,
            1 => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }
    fn mark(&mut self) {
        assert_eq!(self.ecn(), Ecn::Ect0, "called for no other");
        self.is_marked = true;
    }
}

/// The same link for ever.
pub struct Fixed(pub Link);

impl Channel for Fixed {
    fn state(&mut self, _: Instant, _: Duration) -> ChannelState {
        ChannelState {
            cqi: Cqi::new(15),
            link: self.0,
            holds_until: Instant::MAX,
        }
    }
}

/// A link for each slot, over and over.
pub struct EachSlot(pub Vec<Link>);

impl Channel for EachSlot {
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        let n = (slot_start.since_start() / slot) as usize;
        let link = self.0[n % self.0.len()];
        ChannelState {
            cqi: Cqi::new(10),
            link,
            holds_until: slot_start + slot,
        }
    }
}

pub fn mcs(mcs: u8, bler: f64) -> Link {
    Link::Mcs {
        mcs: Mcs::new(mcs),
        sinr: None,
        bler,
    }
}
pub fn sinr(mcs: u8, db: f64) -> Link {
    Link::Mcs {
        mcs: Mcs::new(mcs),
        sinr: Some(Decibel::new(db)),
        bler: 0.0,
    }
}

pub fn ue(rnti: u16, channel: impl Channel + 'static, bearers: Vec<BearerConfig>) -> UeConfig {
    UeConfig {
        rnti: Rnti(rnti),
        uplink: None,
        ip: None,
        channel: Box::new(channel),
        bearers,
    }
}
pub fn am(config: &CellConfig) -> BearerConfig {
    BearerConfig::am(config.rat, Capacity::Bytes(Bytes::new(10_000_000)))
}
pub fn um(config: &CellConfig, t_reassembly: Duration) -> BearerConfig {
    BearerConfig {
        rlc: RlcMode::Um { t_reassembly },
        ..BearerConfig::um(config.rat, Capacity::Bytes(Bytes::new(10_000_000)))
    }
}

/// A packet that came out.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub ue: UeIndex,
    pub direction: Direction,
    pub packet: Pkt,
    pub at: Instant,
    pub sojourn: Duration,
}

/// A cell with what came out of it.
pub struct Bench {
    pub cell: Cell<Pkt>,
    pub arrived: Vec<Arrived>,
    pub dropped: Vec<(UeIndex, Direction, Pkt, DropReason)>,
    pub next_id: u64,
    pub calls: u64,
    out: Vec<Output<Pkt>>,
}

impl Bench {
    pub fn new(config: CellConfig, ues: Vec<UeConfig>, seed: u64) -> Self {
        let cell = Cell::new(config, ues, None, &Streams::new(seed)).unwrap();
        Self::of(cell)
    }
    pub fn of(cell: Cell<Pkt>) -> Self {
        let (arrived, dropped, out) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            cell,
            arrived,
            dropped,
            next_id: 0,
            calls: 0,
            out,
        }
    }
    pub fn down(&mut self, now: Instant, ue: usize, qfi: u8, bytes: u64) -> u64 {
        let packet = self.packet(now, qfi, bytes);
        self.cell
            .send_downlink(now, UeIndex(ue), qfi, packet, &mut self.out);
        self.take(now);
        packet.id
    }
    pub fn up(&mut self, now: Instant, ue: usize, qfi: u8, bytes: u64) -> u64 {
        let packet = self.packet(now, qfi, bytes);
        self.cell
            .send_uplink(now, UeIndex(ue), qfi, packet, &mut self.out);
        self.take(now);
        packet.id
    }
    fn packet(&mut self, now: Instant, qfi: u8, bytes: u64) -> Pkt {
        self.next_id += 1;
        Pkt {
            bytes,
            id: self.next_id,
            sent_at: now,
            qfi,
            is_marked: false,
        }
    }
    /// Runs to `end`, without new packets.
    pub fn run(&mut self, end: Instant) {
        while let Some(at) = self.cell.next_deadline()
            && at <= end
        {
            self.call(at);
        }
    }
    pub fn call(&mut self, at: Instant) {
        self.calls += 1;
        self.cell.on_deadline(at, &mut self.out);
        self.take(at);
    }
    /// Runs to `end`; after each slot, every listed UE has at least `depth` bytes waiting.
    pub fn saturate(&mut self, from: Instant, end: Instant, ues: &[usize], depth: u64, size: u64) {
        let mut now = from;
        while now < end {
            for &ue in ues {
                let stats = self.cell.stats().ues[ue].bearers[0].downlink;
                let mut waiting = stats.core.bytes.get() + stats.queued.bytes.get();
                while waiting < depth {
                    self.down(now, ue, 0, size);
                    waiting += size;
                }
            }
            now = self.cell.next_deadline().unwrap();
            self.call(now);
        }
    }
    fn take(&mut self, at: Instant) {
        for output in self.out.drain(..) {
            match output {
                Output::Delivered {
                    ue,
                    direction,
                    packet,
                    sojourn,
                    ..
                } => {
                    self.arrived.push(Arrived {
                        ue,
                        direction,
                        packet,
                        at,
                        sojourn,
                    });
                }
                Output::Forwarded { .. } => {}
                Output::Dropped {
                    ue,
                    direction,
                    packet,
                    reason,
                } => {
                    self.dropped.push((ue, direction, packet, reason));
                }
            }
        }
    }
    /// Downlink bytes delivered to a UE in `from..to`.
    pub fn delivered(&self, ue: usize, from: Instant, to: Instant) -> u64 {
        let of_ue = self.arrived.iter().filter(|a| {
            a.ue == UeIndex(ue) && a.direction == Direction::Downlink && a.at > from && a.at <= to
        });
        of_ue.map(|a| a.packet.bytes).sum()
    }
    pub fn goodput_mbps(&self, ue: usize, from: Instant, to: Instant) -> f64 {
        self.delivered(ue, from, to) as f64 * 8e-6 / (to - from).as_secs_f64()
    }
}

pub fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}
pub fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// `measured` lies within a share of `expected`.
#[track_caller]
pub fn assert_near(measured: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (measured / expected - 1.0).abs() <= share,
        "{what}: {measured}, expected {expected} within {} %",
        share * 100.0
    );
}
