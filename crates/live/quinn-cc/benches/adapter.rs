//! What the adapter costs: downloads over loopback with quinn's own Cubic, with ours through the
//! adapter, and with MELD round ours.
//!
//! `cargo bench -p quinn-cc` prints throughput and the ratio to quinn's own with its 95 % confidence
//! interval. Runs alternate, so that what else the machine does falls on all alike; each ratio is of
//! neighbours. A number sets how many rounds there are (12).
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

use quinn::congestion::{ControllerFactory, CubicConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use quinn_cc::{AdapterFactory, RadioFeed};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Builder;

const SIZE: usize = 256_000_000;
const ROUNDS: usize = 12;
/// What a client takes ahead: less than its socket holds. Nothing is lost then, and what is compared is
/// the work for a packet, not what two implementations of Cubic make of a full buffer.
const RECEIVE_WINDOW: u32 = 96 << 10;
/// Quantile 0.975 of Student's t for 11 degrees of freedom; a little more than is needed for more.
const STUDENT: f64 = 2.201;

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

/// Bytes in a second.
async fn download(identity: &Identity, case: &Case) -> f64 {
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
    SIZE as f64 / seconds
}

async fn send(connection: &Connection) {
    let mut stream = connection.open_uni().await.expect("a stream");
    let block = bytes::Bytes::from(vec![0; 1_000_000]);
    for _ in 0..SIZE / block.len() {
        stream.write_chunk(block.clone()).await.expect("written");
    }
    stream.finish().expect("open");
}

/// Mean, and half the width of its 95 % confidence interval.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, STUDENT * (squares / (n - 1.0) / n).sqrt())
}

fn main() {
    let rounds = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(ROUNDS);
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
    let mut rates = [const { Vec::new() }; CASES.len()];
    for round in 0..rounds {
        // each begins a round as often as the others
        for turn in 0..CASES.len() {
            let index = (round + turn) % CASES.len();
            rates[index].push(run(&CASES[index]));
        }
    }
    for (case, values) in CASES.iter().zip(&rates) {
        let ratios: Vec<f64> = values
            .iter()
            .zip(&rates[0])
            .map(|(ours, own)| ours / own)
            .collect();
        let (rate, _) = mean(values);
        let (ratio, half) = mean(&ratios);
        println!(
            "{:<28} {:>6.0} Mbit/s   {:.3} ± {:.3} of quinn's own",
            case.name,
            rate * 8e-6,
            ratio,
            half
        );
    }
}
