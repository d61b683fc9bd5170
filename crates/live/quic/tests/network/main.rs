//! The server and the client over real sockets on loopback.
#![allow(missing_docs, reason = "a test")]

mod dashboard;
mod downloads;
mod hostile;
mod interop;
mod migration;
mod radio;
mod reports;
mod stranger;

use quic::{
    Certificate, Client, ClientOptions, Config, Download, QuicError, Server, Target, Trust,
};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testing::HANG_LIMIT;

/// Time between two looks at a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// On any port of loopback, with a certificate of its own.
fn config() -> Config {
    Config {
        listen: vec![SocketAddr::new([127, 0, 0, 1].into(), 0)],
        certificate: Certificate::SelfSigned {
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            write: None,
        },
        ..Config::default()
    }
}

async fn start(config: Config) -> (Server, SocketAddr) {
    let server = Server::start(config).await.expect("a server");
    let address = server.addresses()[0];
    (server, address)
}

fn client() -> Client {
    Client::new(ClientOptions {
        trust: Trust::Any,
        ..ClientOptions::default()
    })
}

/// Polls until there is a value, as `testing::wait_for`.
async fn until_some<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(
            start.elapsed() < HANG_LIMIT,
            "{what}: not within {HANG_LIMIT:?}"
        );
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Waits until a condition holds, as `testing::wait_until`.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, async || condition().then_some(())).await;
}

/// What arrives, and what is measured of it.
async fn get(target: &Target) -> Result<(Download, Vec<u8>), QuicError> {
    let mut body = Vec::new();
    let download = client()
        .get(target, &mut |bytes| {
            body.extend_from_slice(bytes);
            Ok(())
        })
        .await?;
    Ok((download, body))
}

fn url(address: SocketAddr, path: &str) -> Target {
    format!("https://{address}{path}").parse().expect("a URL")
}

fn plain(address: SocketAddr, size: u64) -> Target {
    Target::Plain {
        server: address.to_string(),
        size: units::Bytes::new(size),
        rate: None,
    }
}
