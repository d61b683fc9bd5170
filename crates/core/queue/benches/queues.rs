//! What enqueue and dequeue cost, on one core.
//!
//! `cargo bench -p queue` prints a line for each discipline and backpressure: nanoseconds for one packet
//! in and one out with 10,000 packets waiting, of one flow and of 1000, and the same as a multiple of
//! drop-tail in the same run. A word selects lines by name.
//!
//! A packet is 40 bytes of memory; copying it in and out is in the time, of drop-tail as of all others.
//! 100 ns pass for each packet, so that the queue stands at 1 ms and no congestion is signalled; and
//! 1 us, so that it stands at 10 ms, and CoDel drops and marks more and more packets of flows that do
//! not listen. The time is the best of 200 short rounds (1 ms: on a busy machine some are not interrupted). The
//! cases take turns of ten, before which as many packets pass as wait twice over: the caches then hold that
//! case.
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

use queue::{
    BackpressureConfig, Capacity, ClassConfig, ClassScheduler, ClassesConfig, CoDelConfig,
    DisciplineConfig, DrqlConfig, DualPi2Config, DynRlcConfig, Ecn, FiveGBdpConfig, FqCoDelConfig,
    LateBindingConfig, MTU, PacedConfig, Packet, Queue, QueueConfig, QueueManagement, RedConfig,
    SfqConfig, Turn, UspConfig,
};
use std::hint::black_box;
use std::time::Instant as Clock;
use units::{Bytes, Duration, Instant, Streams};

const WAITING: usize = 10_000;
const FLOWS: u64 = 1000;
/// Packets before the first round.
const WARM_UP: usize = 300_000;
/// Packets of one round.
const PACKETS: usize = 10_000;
/// Rounds of one turn.
const ROUNDS: usize = 10;
const TURNS: usize = 20;

#[derive(Clone, Copy, Debug)]
struct BenchPacket {
    bytes: u32,
    ecn: Ecn,
    flow: u64,
    _payload: [u64; 3],
}

impl Packet for BenchPacket {
    fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn qfi(&self) -> u8 {
        (self.flow % 4) as u8
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// In which order the packets of flows come.
#[derive(Clone, Copy)]
enum Order {
    /// One flow only.
    One,
    /// A packet of each of 1000 flows, in an order shuffled each time: all have the same rate.
    Shuffled,
    /// Each packet of any of 1000 flows: the queues of some run empty, those of others grow.
    Random,
}

/// The flows of 2^14 packets or a little more: few enough to stay in the first caches.
fn arrivals(order: Order) -> Vec<u16> {
    let mut rng = Streams::new(1).stream("arrivals");
    let mut flows = Vec::new();
    while flows.len() < 1 << 14 {
        match order {
            Order::One => flows.push(0),
            Order::Random => flows.push(rng.below(FLOWS) as u16),
            Order::Shuffled => {
                let first = flows.len();
                for flow in 0..FLOWS {
                    flows.push(flow as u16);
                    let other = first + rng.below(flow + 1) as usize;
                    flows.swap(first + flow as usize, other);
                }
            }
        }
    }
    flows
}

/// A packet of each flow; one in four is ECT(0), one ECT(1).
fn packets() -> Vec<BenchPacket> {
    let packet = |flow| BenchPacket {
        bytes: 1400,
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][(flow % 4) as usize],
        flow,
        _payload: [flow; 3],
    };
    (0..FLOWS).map(packet).collect()
}

/// A queue under load.
struct Case {
    name: String,
    queue: Queue<BenchPacket>,
    /// [`Queue::room`] is called for every packet.
    is_limited: bool,
    /// Flows of the arrivals, again and again.
    flows: Vec<u16>,
    packets: Vec<BenchPacket>,
    /// Packets that have come.
    count: u64,
    /// Between two of them.
    interval: Duration,
    best_ns: f64,
}

impl Case {
    fn new(name: &str, config: &QueueConfig, order: Order, interval: Duration) -> Self {
        let queue = config.build(Streams::new(1).stream("queue"));
        Self {
            name: name.to_owned(),
            queue: queue.expect("a configuration that works"),
            is_limited: config.is_backpressure(),
            flows: arrivals(order),
            packets: packets(),
            count: 0,
            interval,
            best_ns: f64::INFINITY,
        }
    }

    /// The packet that comes next, out of memory, as from the layer above.
    fn packet(&self) -> BenchPacket {
        let flow = self.flows[self.count as usize % self.flows.len()];
        self.packets[usize::from(flow)]
    }

    /// So many packets in, and as many out as are above `WAITING`.
    fn pass(&mut self, packets: usize) {
        for _ in 0..packets {
            self.count += 1;
            let now = Instant::ZERO + self.interval * self.count;
            if self.is_limited {
                black_box(self.queue.room(now));
            }
            let _ = black_box(self.queue.enqueue(now, self.packet()));
            if self.queue.occupancy().packets > WAITING {
                black_box(self.queue.dequeue(now, Bytes::MAX, &mut |_| ()));
            }
        }
    }

    fn turn(&mut self) {
        self.pass(2 * WAITING);
        (0..ROUNDS).for_each(|_| self.round());
    }

    fn round(&mut self) {
        let began = Clock::now();
        self.pass(PACKETS);
        let ns = began.elapsed().as_nanos() as f64 / PACKETS as f64;
        self.best_ns = self.best_ns.min(ns);
    }
}

fn classes(scheduler: ClassScheduler) -> DisciplineConfig {
    let class = |qfi| ClassConfig {
        qfis: vec![qfi],
        weight: 1 + u32::from(qfi),
        discipline: Box::new(DisciplineConfig::DropTail),
        capacity: Capacity::Unlimited,
    };
    DisciplineConfig::Classes(ClassesConfig {
        scheduler,
        classes: (0..4).map(class).collect(),
    })
}

fn configs() -> Vec<(&'static str, QueueConfig)> {
    use BackpressureConfig as B;
    use DisciplineConfig as D;
    let red = RedConfig {
        min_threshold: MTU * 5_000,
        max_threshold: MTU * 15_000,
        ..RedConfig::default()
    };
    let drr = SfqConfig {
        turn: Turn::Bytes(MTU),
        ..SfqConfig::default()
    };
    let cases = [
        ("drop-tail", D::DropTail, B::None),
        ("codel", D::CoDel(CoDelConfig::default()), B::None),
        ("fq-codel", D::FqCoDel(FqCoDelConfig::default()), B::None),
        ("sfq", D::Sfq(SfqConfig::default()), B::None),
        ("sfq, by bytes", D::Sfq(drr), B::None),
        ("red", D::Red(red), B::None),
        ("dualpi2", D::DualPi2(DualPi2Config::default()), B::None),
        (
            "strict classes",
            classes(ClassScheduler::StrictPriority),
            B::None,
        ),
        (
            "weighted classes",
            classes(ClassScheduler::Weighted),
            B::None,
        ),
        (
            "late binding",
            D::LateBinding(LateBindingConfig::default()),
            B::None,
        ),
        ("paced", D::Paced(PacedConfig::default()), B::None),
        ("dynrlc", D::DropTail, B::DynRlc(DynRlcConfig::default())),
        ("drql", D::DropTail, B::Drql(DrqlConfig::default())),
        (
            "5g-bdp",
            D::DropTail,
            B::FiveGBdp(FiveGBdpConfig::default()),
        ),
        ("usp", D::DropTail, B::Usp(UspConfig::default())),
    ];
    cases
        .into_iter()
        .map(|(name, discipline, backpressure)| {
            let config = QueueConfig {
                discipline,
                capacity: Capacity::Bytes(MTU * 100_000),
                backpressure,
            };
            (name, config)
        })
        .collect()
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let loads = [
        ("1 flow", Order::One, 100),
        ("1000 flows of one rate", Order::Shuffled, 100),
        ("1000 flows at random", Order::Random, 100),
        ("1 flow", Order::One, 1000),
        ("1000 flows of one rate", Order::Shuffled, 1000),
    ];
    for (load, order, ns) in loads {
        let interval = Duration::from_nanos(ns);
        println!("{load}, standing at {}", interval * WAITING as u64);
        let mut cases: Vec<Case> = configs()
            .iter()
            .map(|(name, config)| Case::new(name, config, order, interval))
            .filter(|case| {
                let is_named = words.iter().any(|word| case.name.contains(word.as_str()));
                words.is_empty() || is_named || case.name.starts_with("drop-tail")
            })
            .collect();
        for case in &mut cases {
            case.pass(WARM_UP);
        }
        for _ in 0..TURNS {
            for case in &mut cases {
                case.turn();
            }
        }
        let drop_tail = cases[0].best_ns;
        for case in &cases {
            let (name, ns) = (&case.name, case.best_ns);
            println!(
                "  {name:16}  {ns:6.1} ns  {:5.2} x drop-tail",
                ns / drop_tail
            );
        }
    }
}
