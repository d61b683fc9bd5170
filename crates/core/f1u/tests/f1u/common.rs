//! Cells of the simulator whose packets and deliveries go over F1-U, and monitors of it.

use f1u::{Config, EmulatedBearer, Monitor, Progress, STATUS_PERIOD, SnLength};
use gtpu::outer::packet;
use queue::{Capacity, Packet};
use radio::{
    BlerFamily, Channel, CqiToMcs, LinkAdaptation, LinkAdaptationConfig, McsTable, SinrSample,
    SinrSource,
};
use ran::{BearerConfig, Cell, CellConfig, Direction, Output, UeConfig, UeIndex};
use rnis::adapters::CellProfile;
use rnis::identity::UeMap;
use rnis::{CellId, Rnti};
use std::net::IpAddr;
use units::{Bytes, Decibel, Duration, Hertz, Instant, Prb, Streams};

pub const CENTRAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 1));
pub const UNIT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 2));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

pub fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

pub fn at_ms(ms: u64) -> Instant {
    at_us(ms * 1_000)
}

pub fn ue_address(ue: usize) -> IpAddr {
    [10, 45, 0, 2 + ue as u8].into()
}

/// An IP packet for a UE, of this length.
pub fn ip_packet(ue: usize, bytes: usize) -> Vec<u8> {
    packet(SERVER, ue_address(ue), &vec![0xa5; bytes - 28]).expect("a packet")
}

pub fn profile() -> CellProfile {
    CellProfile {
        id: CellId(1),
        n_prb: Prb::new(51),
        scs: Hertz::from_khz(30),
        slot_duration: Duration::from_micros(500),
        downlink_share: 1.0,
        table: McsTable::NrQam64,
        layers: 1,
        data_re_per_prb: 144,
        period: Duration::from_millis(10),
    }
}

pub fn config(sn_length: SnLength) -> Config {
    Config {
        cell: profile(),
        ues: UeMap::default(),
        units: Vec::new(),
        sn_length,
        has_sdap: true,
        status_period: STATUS_PERIOD,
        idle_timeout: Duration::from_secs(30),
    }
}

/// Rayleigh fading as a sum of waves that come from all sides (Clarke): of a walker, round a mean.
pub struct Fading {
    mean: f64,
    /// Angular frequencies, rad/s, and phases of both components.
    waves: Vec<(f64, f64, f64)>,
}

impl Fading {
    /// `doppler`: largest shift, Hz.
    pub fn new(mean: f64, doppler: f64, seed: u64) -> Self {
        let mut rng = Streams::new(seed).stream("waves");
        let turn = std::f64::consts::TAU;
        let waves = (0..24).map(|_| {
            let angle = turn * rng.uniform();
            (
                turn * doppler * angle.cos(),
                turn * rng.uniform(),
                turn * rng.uniform(),
            )
        });
        Self {
            mean,
            waves: waves.collect(),
        }
    }
}

impl SinrSource for Fading {
    fn sinr(&mut self, at: Instant) -> SinrSample {
        let step = Duration::from_millis(1);
        let number = at.since_start() / step;
        let time = number as f64 * step.as_secs_f64();
        let (mut i, mut q) = (0.0, 0.0);
        for (speed, first, second) in &self.waves {
            i += (speed * time + first).cos();
            q += (speed * time + second).cos();
        }
        let power = (i * i + q * q) / self.waves.len() as f64;
        SinrSample {
            sinr: Decibel::new(self.mean + 10.0 * power.max(1e-6).log10()),
            holds_until: Instant::ZERO + step * (number + 1),
        }
    }
}

/// A channel that fades, with CQI reports as a base station gets them.
pub fn fading(mean: f64, doppler: f64, seed: u64) -> Box<dyn Channel> {
    let config = LinkAdaptationConfig {
        policy: CqiToMcs::Lena5g,
        table: McsTable::NrQam64,
        family: BlerFamily::LenaEesm,
        cqi_period: Duration::from_millis(5),
        cqi_delay: Duration::from_millis(4),
        target_bler: 0.1,
    };
    Box::new(LinkAdaptation::new(Fading::new(mean, doppler, seed), config).expect("a channel"))
}

pub fn cell_config() -> CellConfig {
    CellConfig {
        bler: BlerFamily::LenaEesm,
        ..CellConfig::nr(1, Prb::new(51))
    }
}

/// A bearer with a buffer in which nothing is dropped.
pub fn acknowledged(config: &CellConfig) -> BearerConfig {
    BearerConfig::am(config.rat, Capacity::Unlimited)
}

/// A packet of which the cell needs the length.
#[derive(Clone, Copy, Debug)]
pub struct Length(u64);

impl Packet for Length {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.0)
    }
}

/// What one UE's one bearer does.
struct Source {
    ends: EmulatedBearer,
    /// Packets above the RLC, in their order.
    above: std::collections::VecDeque<usize>,
    /// Packets that the UE has and has not acknowledged.
    unacknowledged: u32,
}

/// A cell, its F1-U, and what reads that.
pub struct World {
    pub cell: Cell<Length>,
    pub monitor: Monitor,
    sources: Vec<Source>,
    /// What passed, with times: for a capture.
    pub passed: Vec<(Instant, Vec<u8>)>,
    pub keeps: bool,
    /// UEs acknowledge every other packet.
    pub acknowledges: bool,
    out: Vec<Output<Length>>,
}

impl World {
    /// UEs with one bearer each, whose endpoints are 100 and up at the distributed unit, and in the other order at the
    /// centralized.
    pub fn new(config: CellConfig, channels: Vec<Box<dyn Channel>>, bearer: &BearerConfig) -> Self {
        let count = channels.len() as u32;
        let length = SnLength::Bits18;
        let ends = |ue: u32| {
            EmulatedBearer::new(100 + ue, 900 + count - ue, length, Bytes::new(1_000_000))
        };
        let sources = (0..count).map(|ue| Source {
            ends: ends(ue),
            above: std::collections::VecDeque::new(),
            unacknowledged: 0,
        });
        let sources = sources.collect();
        let ues = channels
            .into_iter()
            .enumerate()
            .map(|(ue, channel)| UeConfig {
                rnti: Rnti(1 + ue as u16),
                uplink: None,
                ip: Some(ue_address(ue)),
                channel,
                bearers: vec![bearer.clone()],
            });
        let cell = Cell::new(config, ues.collect(), None, &Streams::new(1)).expect("a cell");
        Self {
            cell,
            monitor: Monitor::new(self::config(length)),
            sources,
            passed: Vec::new(),
            keeps: false,
            acknowledges: false,
            out: Vec::new(),
        }
    }

    /// A packet for a UE comes to the cell.
    pub fn send(&mut self, now: Instant, ue: usize, bytes: usize) {
        let packet = Length(bytes as u64);
        let out = &mut self.out;
        self.cell.send_downlink(now, UeIndex(ue), 0, packet, out);
        self.sources[ue].above.push_back(bytes);
    }

    /// What is due in the cell by now happens, and shows on F1-U.
    pub fn run(&mut self, now: Instant) {
        self.cell.on_deadline(now, &mut self.out);
        let mut came_up = vec![0; self.sources.len()];
        for output in core::mem::take(&mut self.out) {
            let Output::Delivered { ue, direction, .. } = output else {
                continue;
            };
            match direction {
                Direction::Uplink => came_up[ue.0] += 1,
                Direction::Downlink if self.acknowledges => self.acknowledge(now, ue),
                Direction::Downlink => {}
            }
        }
        for (ue, came_up) in came_up.into_iter().enumerate() {
            let stats = self.cell.stats().ues[ue].bearers[0].downlink;
            assert_eq!(
                stats.dropped.buffer_full.packets.get(),
                0,
                "the buffer is endless"
            );
            let entered = stats.received.packets.get() - stats.core.packets.get();
            while self.sources[ue].ends.sent() < entered {
                let source = &mut self.sources[ue];
                let bytes = source.above.pop_front().expect("it was sent");
                let message = source.ends.user_data(&ip_packet(ue, bytes), false);
                self.pass(now, CENTRAL, UNIT, &message.expect("a message"));
            }
            let lost = stats.dropped.total().packets.get();
            let progress = Progress {
                transmitted: stats.sojourns.packets.get(),
                delivered: stats.delivered.packets.get() + lost,
            };
            for _ in 0..came_up {
                let packet = packet(ue_address(ue), SERVER, &[0; 24]).expect("a packet");
                let message = self.sources[ue].ends.uplink_data(now, &packet, progress);
                self.pass(now, UNIT, CENTRAL, &message.expect("a message"));
            }
            if let Some(message) = self.sources[ue].ends.status(now, progress) {
                self.pass(now, UNIT, CENTRAL, &message);
            }
        }
    }

    /// The UE has another packet.
    fn acknowledge(&mut self, now: Instant, ue: UeIndex) {
        let source = &mut self.sources[ue.0];
        source.unacknowledged += 1;
        if source.unacknowledged == 2 {
            source.unacknowledged = 0;
            let out = &mut self.out;
            self.cell.send_uplink(now, ue, 0, Length(52), out);
        }
    }

    fn pass(&mut self, now: Instant, from: IpAddr, to: IpAddr, message: &[u8]) {
        let packet = packet(from, to, message).expect("a packet");
        self.monitor.on_packet(now, &packet);
        if self.keeps {
            self.passed.push((now, packet));
        }
    }

    /// What waits in the cell for a UE.
    pub fn backlog(&self, ue: usize) -> u64 {
        self.cell.stats().ues[ue].bearers[0].downlink.backlog.get()
    }
}
