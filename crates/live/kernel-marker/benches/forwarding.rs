//! What is left of plain forwarding with the marker at the interface towards the UE: packets a second and Gbit/s through
//! a router, without and with it in turns.
//!
//! ```text
//!   source --veth--> router --ran0 (the marker)--> UE
//! ```
//!
//! `cargo bench -p kernel-marker --bench forwarding [-- --pairs N]`. Needs root, and a machine without other work. Each
//! pair of runs gives a ratio; printed is their mean with its interval of 95 %.
#![allow(missing_docs, reason = "a bench")]

use edge::marker::{Order, Verdict};
use kernel_marker::{Marker, Settings};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use testing::Namespace;

/// Pairs of runs of each case.
const PAIRS: usize = 60;
/// Fewer would need another quantile.
const MIN_PAIRS: usize = 20;
/// Length of a run.
const RUN: Duration = Duration::from_millis(300);
/// Payload of a small packet, and how many of them a system call sends: they are cut before they leave the source.
const PAYLOAD: usize = 64;
const AT_ONCE: usize = 60;
const PORT: u16 = 4433;
const UE: [u8; 4] = [10, 0, 1, 2];
/// IPPROTO_UDP, UDP_SEGMENT; IPPROTO_IP, IP_TOS.
const SEGMENT: (i32, i32) = (17, 103);
const TOS: (i32, i32) = (0, 1);
const ECT_1: i32 = 1;

struct Network {
    source: Namespace,
    router: Namespace,
    ue: Namespace,
}

impl Network {
    fn new() -> Self {
        let [source, router, ue] = [(); 3].map(|()| Namespace::new());
        router.sh(&format!(
            "ip link add core0 type veth peer name eth0 netns {}; ip link add ran0 type veth peer name ue0 netns {}\n\
             ip addr add 10.0.0.1/24 dev core0; ip addr add 10.0.1.1/24 dev ran0\n\
             ip link set core0 up; ip link set ran0 up; echo 1 > /proc/sys/net/ipv4/ip_forward",
            source.pid(),
            ue.pid()
        ));
        source.sh(
            "ip addr add 10.0.0.2/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.0.1",
        );
        ue.sh("ip addr add 10.0.1.2/24 dev ue0; ip link set ue0 up; ip route add default via 10.0.1.1");
        Self { source, router, ue }
    }

    /// Packets that have come to the UE.
    fn received(&self) -> u64 {
        self.ue.enter(|| {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("read");
            let line = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("ue0:"));
            let mut numbers = line.expect("the interface").split_whitespace().skip(1);
            numbers
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a number")
        })
    }

    /// Small packets that come through in a second.
    fn packets(&self) -> f64 {
        // no super-packets on the way: the router has each by itself
        self.source.sh("ip link set eth0 gso_max_segs 1");
        // something has to be there, or each packet has an answer
        let _sink = self
            .ue
            .enter(|| UdpSocket::bind((IpAddr::from(UE), PORT)).expect("a socket"));
        let began_with = self.received();
        let elapsed = self.source.enter(|| {
            pin(0);
            let socket = UdpSocket::bind("10.0.0.2:0").expect("a socket");
            socket.connect((IpAddr::from(UE), PORT)).expect("connected");
            for ((level, name), value) in [(SEGMENT, PAYLOAD as i32), (TOS, ECT_1)] {
                socket_options::set_int(&socket, level, name, value).expect("set");
            }
            let began = Instant::now();
            while began.elapsed() < RUN {
                // what the kernel has no room for is not counted
                let _ = socket.send(&[7; PAYLOAD * AT_ONCE]);
            }
            began.elapsed()
        });
        (self.received() - began_with) as f64 / elapsed.as_secs_f64()
    }

    /// What one TCP connection carries, bit/s.
    fn stream(&self) -> f64 {
        self.source.sh("ip link set eth0 gso_max_segs 65535");
        let listener = self
            .ue
            .enter(|| TcpListener::bind((IpAddr::from(UE), PORT)).expect("a socket"));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                self.source.enter(|| {
                    pin(0);
                    let mut stream =
                        TcpStream::connect((IpAddr::from(UE), PORT)).expect("connected");
                    let data = vec![7; 1 << 18];
                    loop {
                        if is_over.load(Relaxed) || stream.write_all(&data).is_err() {
                            break;
                        }
                    }
                });
            });
            pin(1);
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut room = vec![0; 1 << 18];
            let mut read = |time: Duration| {
                let (began, mut bytes) = (Instant::now(), 0_u64);
                while began.elapsed() < time {
                    bytes += stream.read(&mut room).expect("read") as u64;
                }
                bytes as f64 * 8.0 / began.elapsed().as_secs_f64()
            };
            // slow start
            read(RUN / 5);
            let rate = read(RUN);
            is_over.store(true, Relaxed);
            rate
        })
    }

    fn marker(&self) -> Marker {
        let settings = Settings {
            splits_tcp: false,
            ..Settings::default()
        };
        self.router
            .enter(|| Marker::attach("ran0", &settings).unwrap_or_else(|e| panic!("{e}")))
    }
}

/// The calling thread stays on one processor, and what the kernel does as it sends with it.
fn pin(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    rustix::thread::sched_setaffinity(None, &set).expect("a processor");
}

/// Of a radio of 1 Tbit/s, or of one whose queue is long: then L4S flows are marked throughout.
fn order(is_full: bool) -> Order {
    Order {
        number: 1,
        counted_until: u64::MAX,
        valid_until: u64::MAX,
        drain: if is_full { 1 << 12 } else { 1 << 31 },
        queue: if is_full { 1 << 32 } else { 0 },
        slack: 0,
        ramp_from: 5_000_000,
        ramp_to: 20_000_000,
        // no overload, whatever the queue
        target: 1_000_000_000,
        spared: 4,
    }
}

/// A case: its order, what is measured, and a verdict that most of its packets must have.
struct Case {
    name: &'static str,
    order: Option<Order>,
    is_stream: bool,
    expected: Verdict,
}

/// Both in turns, the order of the two changing from pair to pair.
fn measure(network: &Network, case: &Case, pairs: usize) {
    let once = || match case.is_stream {
        true => network.stream(),
        false => network.packets(),
    };
    let with = || {
        let marker = network.marker();
        if let Some(order) = &case.order {
            marker.set_order(IpAddr::from(UE), order).expect("set");
        }
        let value = once();
        let counts = marker.counts().expect("counts").judged;
        let others = Verdict::ALL.into_iter().filter(|v| *v != case.expected);
        let others: u64 = others.map(|verdict| counts.of(verdict)).sum();
        assert!(counts.of(case.expected) > 9 * others, "{counts:?}");
        network.router.enter(|| drop(marker));
        value
    };
    // caches and the first buffers
    once();
    let (mut plain, mut marked, mut ratios) = (0.0, 0.0, Vec::new());
    for pair in 0..pairs {
        let (without, with) = match pair % 2 {
            0 => {
                let without = once();
                (without, with())
            }
            _ => {
                let with = with();
                (once(), with)
            }
        };
        plain += without / pairs as f64;
        marked += with / pairs as f64;
        ratios.push(with / without);
    }
    let (unit, scale) = match case.is_stream {
        true => ("Gbit/s", 1e9),
        false => ("million packets/s", 1e6),
    };
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    // Student's t of 95 % for 19 degrees of freedom and more is no more than 2.1
    let half = 2.1 * (squares / (n - 1.0) / n).sqrt();
    println!(
        "{}: {:.3} {unit} plain, {:.3} with the marker: {:.1} % (+- {:.1})",
        case.name,
        plain / scale,
        marked / scale,
        100.0 * mean,
        100.0 * half
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // for `cargo test` it is enough that it runs
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    if !testing::has_root("the bench of forwarding") {
        return;
    }
    let pairs = arguments.iter().position(|a| a == "--pairs");
    let pairs = pairs.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let pairs: usize = pairs.unwrap_or(PAIRS).max(MIN_PAIRS);
    println!("{}", testing::Machine::now());
    let network = Network::new();
    for case in [
        Case {
            name: "64 bytes, a UE without an order",
            order: None,
            is_stream: false,
            expected: Verdict::NoReport,
        },
        Case {
            name: "64 bytes, a short queue",
            order: Some(order(false)),
            is_stream: false,
            expected: Verdict::Short,
        },
        Case {
            name: "64 bytes, all marked",
            order: Some(order(true)),
            is_stream: false,
            expected: Verdict::MarkL4s,
        },
        Case {
            name: "one TCP connection, a short queue",
            order: Some(order(false)),
            is_stream: true,
            expected: Verdict::Short,
        },
    ] {
        measure(&network, &case, pairs);
    }
}
