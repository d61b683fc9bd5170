//! What the adapter costs: downloads over loopback with quinn's own Cubic, with ours through the
//! adapter, and with MELD round ours.
//!
//! `cargo bench -p quinn-cc` prints throughput, and how many times the processor's time of quinn's own each takes, and the
//! throughput over it, with 95 % confidence intervals. Downloads are short and alternate, so that what else the machine does
//! falls on all alike; each ratio is of the two downloads of one round, a pair, and ratios are those of logarithms. The
//! processor's time is that of this thread, in which both ends run: what other programs take is not in it. A number sets
//! how many rounds there are (300, 12 at least).
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

use quinn::congestion::{ControllerFactory, CubicConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use quinn_cc::{AdapterFactory, RadioFeed};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const SIZE: usize = 64_000_000;
const ROUNDS: usize = 300;
/// Fewer have no interval that is worth anything.
const MIN_ROUNDS: usize = 12;
/// What a client takes ahead: less than its socket holds. Nothing is lost then, and what is compared is
/// the work for a packet, not what two implementations of Cubic make of a full buffer.
const RECEIVE_WINDOW: u32 = 96 << 10;
struct Case {
    name: &'static str,
    factory: fn() -> Arc<dyn ControllerFactory + Send + Sync>,
}

const CASES: [Case; 3] = [
    Case {
        name: "quinn's Cubic",
        factory: || Arc::new(CubicConfig::default()),
    },
    Case {
        name: "ours through the adapter",
        factory: || Arc::new(named(None)),
    },
    Case {
        name: "ours with MELD and a feed",
        factory: || {
            let meld = cc::meld::Variant::Default;
            Arc::new(named(Some(meld)).with_feed(RadioFeed::new()))
        },
    },
];

fn named(meld: Option<cc::meld::Variant>) -> AdapterFactory {
    AdapterFactory::named(Instant::now(), "cubic", meld).expect("cubic")
}

struct Identity {
    certificate: quinn::rustls::pki_types::CertificateDer<'static>,
    key: Vec<u8>,
}

/// What a download took, s.
#[derive(Clone, Copy, Debug)]
struct Took {
    /// From the connection's being there to the last byte.
    wall: f64,
    /// Of the processor, connection included.
    cpu: f64,
}

/// Time that the processor has spent on this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().expect("not negative")
}

async fn download(identity: &Identity, case: &Case) -> Took {
    let cpu = cpu_time();
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory((case.factory)())
        .initial_mtu(1_452)
        .mtu_discovery_config(None);
    let key = quinn::rustls::pki_types::PrivatePkcs8KeyDer::from(identity.key.clone());
    let mut config = ServerConfig::with_single_cert(vec![identity.certificate.clone()], key.into())
        .expect("a server");
    config.transport_config(Arc::new(transport));
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Endpoint::server(config, any).expect("a server");
    let address = server.local_addr().expect("an address");
    let serving = tokio::spawn(async move {
        let connection = server
            .accept()
            .await
            .expect("a client")
            .await
            .expect("a connection");
        send(&connection).await;
        connection.closed().await;
    });
    let mut roots = quinn::rustls::RootCertStore::empty();
    roots.add(identity.certificate.clone()).expect("a root");
    let mut client = Endpoint::client(any).expect("a client");
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(RECEIVE_WINDOW.into());
    config.transport_config(Arc::new(transport));
    client.set_default_client_config(config);
    let connection = client
        .connect(address, "localhost")
        .expect("an address")
        .await
        .expect("a connection");
    let began = Instant::now();
    let mut stream = connection.accept_uni().await.expect("a stream");
    let mut received = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await.expect("bytes") {
        received += chunk.bytes.len();
    }
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(received, SIZE);
    connection.close(0u32.into(), b"");
    serving.await.expect("the server");
    Took {
        wall: seconds,
        cpu: (cpu_time() - cpu).as_secs_f64(),
    }
}

async fn send(connection: &Connection) {
    let mut stream = connection.open_uni().await.expect("a stream");
    let block = bytes::Bytes::from(vec![0; 1_000_000]);
    for _ in 0..SIZE / block.len() {
        stream.write_chunk(block.clone()).await.expect("written");
    }
    stream.finish().expect("open");
}

/// Quantile 0.975 of Student's t: the expansion of Cornish and Fisher, within 0.002 of it for 11 degrees of freedom and more.
fn student(degrees: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let (third, fifth) = (Z.powi(3), Z.powi(5));
    Z + (third + Z) / (4.0 * degrees)
        + (5.0 * fifth + 16.0 * third + 3.0 * Z) / (96.0 * degrees * degrees)
}

/// How many times as large the first of each pair is: the geometric mean, and the ends of its 95 % interval.
fn ratio(pairs: impl Iterator<Item = (f64, f64)>) -> [f64; 3] {
    let logs: Vec<f64> = pairs.map(|(a, b)| (a / b).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let half = student(n - 1.0) * (squares / (n - 1.0) / n).sqrt();
    [mean, mean - half, mean + half].map(f64::exp)
}

fn main() {
    let rounds = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(ROUNDS)
        .max(MIN_ROUNDS);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
    let identity = Identity {
        certificate: made.cert.der().clone(),
        key: made.signing_key.serialize_der(),
    };
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let run = |case: &Case| runtime.block_on(download(&identity, case));
    for case in &CASES {
        // caches and pages
        run(case);
    }
    let mut took = [const { Vec::new() }; CASES.len()];
    for round in 0..rounds {
        // each begins a round as often as the others, and comes before each other as often as after it
        for turn in 0..CASES.len() {
            let forwards = (round + turn) % CASES.len();
            let index = match round / CASES.len() % 2 {
                0 => forwards,
                _ => CASES.len() - 1 - forwards,
            };
            took[index].push(run(&CASES[index]));
        }
    }
    println!("{rounds} rounds of {} MB each", SIZE / 1_000_000);
    for (case, values) in CASES.iter().zip(&took) {
        let pairs = || values.iter().zip(&took[0]);
        let [cpu, low, high] = ratio(pairs().map(|(ours, own)| (ours.cpu, own.cpu)));
        let [rate, slow, fast] = ratio(pairs().map(|(ours, own)| (own.wall, ours.wall)));
        let wall: f64 = values.iter().map(|took| took.wall).sum();
        println!(
            "{:<28} {:>6.0} Mbit/s   of quinn's own: processor {cpu:.4} ({low:.4} to {high:.4}), \
             throughput {rate:.4} ({slow:.4} to {fast:.4})",
            case.name,
            8e-6 * (SIZE * values.len()) as f64 / wall,
        );
    }
}
