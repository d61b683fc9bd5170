//! Clients of the QUIC server: one that behaves, and strangers that do not.

use crate::pace::{Pace, Stop};
use crate::stranger::{get_request, stranger_at};
use crate::world::{ATTACKER, FILE_BYTES, QUIC, World};
use quic::{Client, ClientOptions, Target, Trust};
use quinn::{Connection, Endpoint, RecvStream, TransportConfig};
use std::time::Duration;
use testing::pattern;

/// How long parts of a download took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub first_byte: Duration,
    /// From the handshake to the last byte.
    pub transfer: Duration,
}

/// How a download ended.
#[derive(Clone, Copy, Debug)]
pub enum Fetched {
    Whole(Times),
    Refused,
    Broken,
    Cut,
    Corrupt,
    Stuck,
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// A download by HTTP/3 over a connection of its own; of the file, each byte is compared.
pub fn fetch(world: &World, path: &str, is_file: bool, limit: Duration) -> Fetched {
    let target: Target = format!("https://{QUIC}{path}").parse().expect("a URL");
    let client = Client::new(ClientOptions {
        trust: Trust::Any,
        ..ClientOptions::default()
    });
    let (mut received, mut is_same) = (0, true);
    let mut sink = |bytes: &[u8]| {
        if is_file {
            is_same &= bytes == pattern(received, bytes.len());
        }
        received += bytes.len();
        Ok(())
    };
    let got = world.at_client(|| {
        let runtime = runtime();
        runtime
            .block_on(async { tokio::time::timeout(limit, client.get(&target, &mut sink)).await })
    });
    let download = match got {
        Err(_) => return Fetched::Stuck,
        Ok(Err(_)) if received == 0 => return Fetched::Refused,
        Ok(Err(_)) => return Fetched::Broken,
        Ok(Ok(download)) => download,
    };
    if download.status != Some(200) {
        return Fetched::Refused;
    }
    let expected = if is_file {
        FILE_BYTES
    } else {
        let number = path.rsplit('/').next().and_then(|n| n.parse().ok());
        number.unwrap_or(received)
    };
    match received == expected {
        _ if !is_same => Fetched::Corrupt,
        false => Fetched::Cut,
        true => Fetched::Whole(Times {
            first_byte: Duration::from_nanos(download.first_byte.as_nanos()),
            transfer: Duration::from_nanos((download.took - download.handshake).as_nanos()),
        }),
    }
}

/// What a stranger lets the server send without reading it, bytes.
const RECEIVE_WINDOW: u32 = 200_000;
/// Strangers at once: below what one address may have.
const STRANGERS: usize = 60;

fn endpoint(protocol: &[u8], window: u32) -> Endpoint {
    let mut transport = TransportConfig::default();
    transport
        .receive_window(RECEIVE_WINDOW.into())
        .stream_receive_window(window.into())
        .keep_alive_interval(Some(Duration::from_secs(1)));
    stranger_at(ATTACKER.into(), protocol, transport)
}

async fn connect(from: &Endpoint) -> Option<Connection> {
    let connecting = from.connect(QUIC, "localhost").ok()?;
    let limit = Duration::from_secs(5);
    tokio::time::timeout(limit, connecting).await.ok()?.ok()
}

/// Runs something of tokio on the clients' host.
fn at_client(world: &World, run: impl Future<Output = ()> + Send) {
    world.at_client(|| runtime().block_on(run));
}

/// What of a file is let come of each stream, bytes: the head of the answer and the beginning.
const UNREAD_OF_FILE: u32 = 2_000;
/// Files that each client requests: as many as it may at once.
const FILES: usize = 100;

/// Clients that begin a long download and read nothing; those that are closed come back, at most 20 a second.
pub fn that_read_nothing(world: &World, stop: &Stop) {
    let request = (
        &b"brimful/1"[..],
        RECEIVE_WINDOW,
        &b"get 10000000000\n"[..],
        1,
    );
    unread(world, stop, request);
}

/// The same of a file on each of their streams.
pub fn that_read_no_file(world: &World, stop: &Stop) {
    let get = get_request("/file");
    unread(world, stop, (b"h3", UNREAD_OF_FILE, &get, FILES));
}

/// Clients by a protocol, that let so many bytes come of each stream, and send a request so many times.
fn unread(
    world: &World,
    stop: &Stop,
    (protocol, window, request, count): (&[u8], u32, &[u8], usize),
) {
    at_client(world, async {
        let endpoint = endpoint(protocol, window);
        let mut all = Vec::new();
        while !stop.is_set() {
            all.retain(|(connection, _): &(Connection, _)| connection.close_reason().is_none());
            if all.len() < STRANGERS
                && let Some(connection) = connect(&endpoint).await
                && let Some(streams) = begin(&connection, request, count).await
            {
                all.push((connection, streams));
            }
            let pause = if all.len() < STRANGERS { 5 } else { 50 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    });
}

/// Sends a request so many times, each on a stream.
async fn begin(connection: &Connection, request: &[u8], count: usize) -> Option<Vec<RecvStream>> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let limit = Duration::from_secs(2);
        let opened = tokio::time::timeout(limit, connection.open_bi()).await;
        let (mut send, receive) = opened.ok()?.ok()?;
        send.write_all(request).await.ok()?;
        send.finish().ok()?;
        streams.push(receive);
    }
    Some(streams)
}

/// A frame of HTTP/3 with this declared length (RFC 9114 7.1), its payload left out.
fn frame(frame_type: u8, length: u32) -> Vec<u8> {
    let length = (u64::from(length) | 3 << 62).to_be_bytes();
    [&[frame_type][..], &length].concat()
}

/// Frames HEADERS that are declared as 1 GB, some 50 a second, as much of each as the server takes, 100 kB at most.
pub fn of_huge_frames(world: &World, stop: &Stop) {
    at_client(world, async {
        let endpoint = endpoint(b"h3", RECEIVE_WINDOW);
        let mut connection = None;
        while !stop.is_set() {
            if connection.is_none() {
                connection = connect(&endpoint).await;
            }
            let Some(to) = &connection else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            match huge_frame(to).await {
                Some(()) => tokio::time::sleep(Duration::from_millis(20)).await,
                None => connection = None,
            }
        }
    });
}

async fn huge_frame(connection: &Connection) -> Option<()> {
    let limit = Duration::from_secs(2);
    let opened = tokio::time::timeout(limit, connection.open_bi()).await;
    let (mut send, _receive) = opened.ok()?.ok()?;
    send.write_all(&frame(1, 1_000_000_000)).await.ok()?;
    for _ in 0..10 {
        let written = tokio::time::timeout(limit, send.write_all(&[0; 10_000])).await;
        match written {
            Ok(Ok(())) => {}
            // stopped by the server, as it should
            Ok(Err(quinn::WriteError::Stopped(_))) => return Some(()),
            _ => return None,
        }
    }
    // it is reset when it is dropped unfinished
    Some(())
}

/// Datagrams that are no QUIC, or the beginning of a connection that is none: so many a second.
pub fn junk(world: &World, stop: &Stop, rate: f64) {
    crate::attackers::datagrams(world, (ATTACKER.into(), QUIC), rate, stop, |n| {
        let mut packet = pattern(n, 1_200);
        // a long header with a version that is known, every other time
        if n.is_multiple_of(2) {
            packet[..6].copy_from_slice(&[0xc3, 0, 0, 0, 1, 8]);
            packet
        } else {
            packet.truncate(64);
            packet
        }
    });
}

/// Connections at the metrics that send request after request and read nothing.
pub fn pipelining(world: &World, stop: &Stop) {
    let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    let mut pace = Pace::new(100.0);
    crate::attackers::keep_connections(
        world,
        crate::world::Part::Quic,
        crate::world::QUIC_METRICS,
        (64, &mut pace),
        stop,
        |stream| {
            use std::io::Write;
            let mut stream: &std::net::TcpStream = stream;
            while stream.write(&request).is_ok_and(|n| n > 0) {}
        },
    );
}
