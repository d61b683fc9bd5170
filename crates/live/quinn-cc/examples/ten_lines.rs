//! MELD in a program that uses quinn: the lines between the two marks are all that it needs.
//!
//! `cargo run -p quinn-cc --example ten_lines` downloads 50 MB over loopback and prints what happened. A radio that is
//! made up reports every 5 ms that nothing waits and that it has lost packets. Loopback loses some where a socket's
//! buffer is full: those that the report explains are sent again and do not slow the download down (silent losses), the
//! others are congestion.
#![expect(clippy::disallowed_methods, reason = "a program has a clock")]

use cc::RadioState;
use quinn::VarInt;
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use quinn_cc::{AdapterFactory, Epoch, Monitor, RadioFeed};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use units::{Bytes, Duration};

/// Between two reports of the radio.
const PERIOD: Duration = Duration::from_millis(5);
/// What it serves in a slot of 1 ms: 200 Mbit/s.
const BLOCK: Bytes = Bytes::new(25_000);

const SIZE: usize = 50_000_000;

/// A transport whose controller is Cubic with MELD round it.
fn transport(
    zero: Instant,
    feed: &RadioFeed,
    monitor: &Monitor,
) -> Result<TransportConfig, Box<dyn Error>> {
    let mut transport = TransportConfig::default();
    // --- the ten lines
    let meld = cc::meld::Variant::Default;
    let factory = AdapterFactory::named(zero, "cubic", Some(meld))?
        .with_feed(feed.clone()) // feed.push(at, state) with each radio report of the client's UE
        .with_monitor(monitor.clone()); // to look at it from outside
    transport.congestion_controller_factory(Arc::new(factory));
    // ---
    Ok(transport)
}

/// A report of the UE; `RadioState::of` makes it of a `rnis::RadioReport`.
fn report(epoch: Epoch, seq: u64) -> RadioState {
    RadioState {
        tbs: BLOCK,
        best_tbs: BLOCK,
        harq_processes: 8,
        queue: Bytes::ZERO,
        served: BLOCK * 5,
        harq_retx: 0,
        lost_packets: Some(1_000),
        period: PERIOD,
        slots: 5,
        seq,
        made_at: epoch.at(Instant::now()),
    }
}

/// Feeds the connection until it is over.
async fn feed_reports(connection: quinn::Connection, epoch: Epoch, feed: RadioFeed) {
    let mut ticks = tokio::time::interval(std::time::Duration::from_nanos(PERIOD.as_nanos()));
    for seq in 0.. {
        ticks.tick().await;
        if connection.close_reason().is_some() {
            return;
        }
        let state = report(epoch, seq);
        feed.push(state.made_at, state);
        // wakes the connection: the report acts although nothing is acknowledged
        connection.set_max_concurrent_uni_streams(VarInt::from_u32(1));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (feed, monitor) = (RadioFeed::new(), Monitor::new());
    let zero = Instant::now();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = quinn::rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    config.transport_config(Arc::new(transport(zero, &feed, &monitor)?));
    let server = Endpoint::server(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let address = server.local_addr()?;

    let serving = tokio::spawn(async move {
        let connection = server.accept().await.ok_or("no client")?.await?;
        tokio::spawn(feed_reports(connection.clone(), Epoch::new(zero), feed));
        let mut stream = connection.open_uni().await?;
        stream.write_all(&vec![0; SIZE]).await?;
        stream.finish()?;
        connection.closed().await;
        Ok::<_, Box<dyn Error + Send + Sync>>(())
    });

    let mut roots = quinn::rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = Endpoint::client(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let began = Instant::now();
    let connection = client.connect(address, "localhost")?.await?;
    let mut stream = connection.accept_uni().await?;
    let received = stream.read_to_end(SIZE).await?.len();
    let seconds = began.elapsed().as_secs_f64();
    connection.close(0u32.into(), b"");
    serving.await?.map_err(|error| error.to_string())?;

    let (rtts, totals) = (monitor.rtts().ok_or("no sample")?, monitor.totals());
    println!(
        "{received} bytes in {seconds:.3} s: {:.0} Mbit/s",
        received as f64 * 8e-6 / seconds
    );
    println!(
        "RTT {} / {} / {} (min, mean, 95th percentile of {} samples)",
        rtts.min, rtts.mean, rtts.p95, rtts.samples
    );
    println!(
        "{} lost in {} congestion events and {} silent losses; window now {}",
        totals.lost_bytes,
        totals.congestion_events,
        totals.silent_losses,
        monitor.path().cwnd
    );
    Ok(())
}
