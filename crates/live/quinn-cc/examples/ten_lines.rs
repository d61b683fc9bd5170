//! MELD in a program that uses quinn: the lines between the two marks are all that it needs.
//!
//! `cargo run -p quinn-cc --example ten_lines` downloads 50 MB over loopback and prints what happened.
#![expect(clippy::disallowed_methods, reason = "a program has a clock")]

use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use quinn_cc::{AdapterFactory, Monitor, RadioFeed};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

const SIZE: usize = 50_000_000;

/// A transport whose controller is Cubic with MELD round it.
fn transport(feed: &RadioFeed, monitor: &Monitor) -> Result<TransportConfig, Box<dyn Error>> {
    let mut transport = TransportConfig::default();
    // --- the ten lines
    let meld = cc::meld::Variant::Default;
    let factory = AdapterFactory::named(Instant::now(), "cubic", Some(meld))?
        .with_feed(feed.clone()) // feed.push(at, state) with each radio report of the client's UE
        .with_monitor(monitor.clone()); // to look at it from outside
    transport.congestion_controller_factory(Arc::new(factory));
    // ---
    Ok(transport)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (feed, monitor) = (RadioFeed::new(), Monitor::new());
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = quinn::rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    config.transport_config(Arc::new(transport(&feed, &monitor)?));
    let server = Endpoint::server(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let address = server.local_addr()?;

    let serving = tokio::spawn(async move {
        let connection = server.accept().await.ok_or("no client")?.await?;
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
