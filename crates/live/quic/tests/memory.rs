//! Downloads that are not read. Alone in its process: memory is measured.
#![allow(missing_docs, reason = "a test")]

#[path = "network/stranger.rs"]
mod stranger;

use quic::{Certificate, Config, Server};
use quinn::{Connection, RecvStream, TransportConfig};
use std::net::SocketAddr;
use std::time::Duration;
use stranger::{get_request, stranger};

/// Connections, and requests on each of them: all that a connection may have at once.
const CONNECTIONS: usize = 10;
const STREAMS: usize = 100;
/// Size of the file, bytes: more than what is read of it at once.
const FILE: usize = 300_000;
/// What the client lets come of each stream, bytes.
const STREAM_WINDOW: u32 = 2_000;
/// Read of each, bytes: the head of the answer and some of the file.
const READ: usize = 500;

/// Bytes of memory that this process has in use.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

async fn request(connection: &Connection) -> RecvStream {
    let (mut send, receive) = connection.open_bi().await.expect("a stream");
    send.write_all(&get_request("/file")).await.expect("sent");
    send.finish().expect("open");
    receive
}

/// Begins all requests, and reads the beginning of each answer.
async fn begin(connection: &Connection) -> Vec<RecvStream> {
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(request(connection).await);
    }
    for stream in &mut streams {
        let mut begun = [0; READ];
        stream.read_exact(&mut begun).await.expect("it is answered");
    }
    streams
}

async fn unread_downloads() {
    let root = tempfile::tempdir().expect("a folder");
    std::fs::write(root.path().join("file"), vec![7; FILE]).expect("written");
    let config = Config {
        listen: vec![SocketAddr::new([127, 0, 0, 1].into(), 0)],
        certificate: Certificate::SelfSigned {
            names: vec!["localhost".to_owned()],
            write: None,
        },
        root: Some(root.path().to_owned()),
        ..Config::default()
    };
    let server = Server::start(config).await.expect("a server");
    let address = server.addresses()[0];
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(STREAM_WINDOW.into())
        .keep_alive_interval(Some(Duration::from_secs(1)));
    let endpoint = stranger(b"h3", transport);
    let connect = async || {
        let connecting = endpoint.connect(address, "localhost").expect("a name");
        connecting.await.expect("connected")
    };
    // what is allocated once is there before anything is measured
    let first = connect().await;
    let _first = (begin(&first).await, first);
    let reserved = || {
        let status = server.status();
        let reserved = status["memory"]["reserved_bytes"].as_u64();
        reserved.expect("a number")
    };
    let (memory_before, reserved_before) = (memory(), reserved());
    let mut unread = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = connect().await;
        unread.push((begin(&connection).await, connection));
    }
    let grown = memory().saturating_sub(memory_before);
    let counted = reserved() - reserved_before;
    println!("{grown} bytes, {counted} of them counted");
    // the clients are in this process too, and hold no more than the server does
    assert!(grown <= 2 * counted, "{grown} bytes, {counted} counted");
}

#[test]
fn downloads_that_are_not_read_hold_no_more_than_what_is_counted() {
    // each thread that reads files has a stack and an arena of its own
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(unread_downloads());
}
