//! Clients that are none: what they make the server hold is bounded, and others are served beside them.

use super::stranger::{get_request, stranger};
use super::{config, get, plain, start, until, url};
use quic::{Config, Server};
use quinn::{Connection, Endpoint, RecvStream, TransportConfig, VarInt, WriteError};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use testing::HANG_LIMIT;
use units::Bytes;

/// H3_EXCESSIVE_LOAD (RFC 9114 8.1).
const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);

/// What a stranger lets the server send without reading it, bytes.
const RECEIVE_WINDOW: u32 = 1_000_000;

/// A client of this protocol that reads nothing by itself.
fn unread(protocol: &[u8]) -> Endpoint {
    let mut transport = TransportConfig::default();
    transport
        .receive_window(RECEIVE_WINDOW.into())
        .stream_receive_window(RECEIVE_WINDOW.into())
        .keep_alive_interval(Some(Duration::from_secs(1)));
    stranger(protocol, transport)
}

async fn connect(from: &Endpoint, to: SocketAddr) -> Result<Connection, quinn::ConnectionError> {
    from.connect(to, "localhost").expect("a name").await
}

fn reserved(server: &Server) -> u64 {
    let status = server.status();
    status["memory"]["reserved_bytes"]
        .as_u64()
        .expect("a number")
}

/// Refused connections by a limit: at least one for each client, more where its first packet was sent again.
fn refused(server: &Server, limit: &str) -> u64 {
    server.status()["refused"][limit]
        .as_u64()
        .expect("a number")
}

/// A frame of HTTP/3 with this declared length (RFC 9114 7.1), its payload left out.
fn frame(frame_type: u8, length: u32) -> Vec<u8> {
    let length = (u64::from(length) | 3 << 62).to_be_bytes();
    [&[frame_type][..], &length].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_is_declared_as_1_gb_is_not_kept() {
    let (server, address) = start(config()).await;
    let endpoint = unread(b"h3");
    let connection = connect(&endpoint, address).await.expect("connected");
    let (mut send, _receive) = connection.open_bi().await.expect("a stream");
    send.write_all(&frame(1, 1_000_000_000))
        .await
        .expect("sent");
    let mut sent = 0;
    let stopped = loop {
        match send.write(&[0; 10_000]).await {
            Ok(written) => sent += written,
            Err(error) => break error,
        }
        assert!(sent < 4_000_000, "the server takes all of it");
    };
    assert_eq!(stopped, WriteError::Stopped(EXCESSIVE_LOAD));
    // the control stream likewise
    let mut control = connection.open_uni().await.expect("a stream");
    let settings = [&[0][..], &frame(4, 1_000_000_000)].concat();
    control.write_all(&settings).await.expect("sent");
    let mut sent = 0;
    while let Ok(written) = control.write(&[0; 10_000]).await {
        sent += written;
        assert!(sent < 4_000_000, "the server takes all of it");
    }
    // others are served
    let (download, _) = get(&url(address, "/bytes/100000")).await.expect("served");
    assert_eq!(download.bytes, Bytes::new(100_000));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let (server, address) = start(config()).await;
    let endpoint = unread(b"h3");
    let connection = connect(&endpoint, address).await.expect("connected");
    let (mut send, _receive) = connection.open_bi().await.expect("a stream");
    send.write_all(&frame(1, 1_000)).await.expect("sent");
    let stopped = tokio::time::timeout(HANG_LIMIT, send.stopped()).await;
    assert!(matches!(stopped, Ok(Ok(Some(_)))), "{stopped:?}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_read_nothing_take_bounded_memory_which_is_given_back() {
    let config = Config {
        memory: Bytes::new(40_000_000),
        ..config()
    };
    let limit = config.memory.get();
    let (server, address) = start(config).await;
    let endpoint = unread(b"brimful/1");
    let mut strangers = Vec::new();
    for _ in 0..20 {
        let connection = connect(&endpoint, address).await.expect("connected");
        let (mut send, receive) = connection.open_bi().await.expect("a stream");
        send.write_all(b"get 10000000000\n").await.expect("sent");
        send.finish().expect("open");
        strangers.push((connection, receive));
        assert!(reserved(&server) <= limit);
    }
    // beside them
    let (download, _) = get(&plain(address, 1_000_000)).await.expect("served");
    assert_eq!(download.bytes, Bytes::new(1_000_000));
    assert!((1..=limit).contains(&reserved(&server)));
    drop((strangers, endpoint));
    until("all of it is given back", || reserved(&server) == 0).await;
    server.close().await;
}

/// Size of the file of the tests below, bytes.
const FILE: usize = 300_000;

/// A folder with such a file, full of this byte.
fn folder_with(byte: u8) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    std::fs::write(root.path().join("file"), vec![byte; FILE]).expect("written");
    root
}

/// A server of this folder.
async fn serve(root: &Path) -> (Server, SocketAddr) {
    let config = Config {
        root: Some(root.to_owned()),
        ..config()
    };
    start(config).await
}

/// A client whose streams take 2 kB each, unless they are read.
fn narrow() -> Endpoint {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(2_000_u32.into())
        .keep_alive_interval(Some(Duration::from_secs(1)));
    stranger(b"h3", transport)
}

async fn request_file(connection: &Connection) -> RecvStream {
    let (mut send, receive) = connection.open_bi().await.expect("a stream");
    send.write_all(&get_request("/file")).await.expect("sent");
    send.finish().expect("open");
    receive
}

/// Begins so many downloads of the file, of which no more than the first bytes are read.
async fn begin_unread(connection: &Connection, count: usize) -> Vec<RecvStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(request_file(connection).await);
    }
    for stream in &mut streams {
        let begun = &mut [0; 500];
        stream.read_exact(begun).await.expect("it is answered");
    }
    streams
}

/// What a stream still brings.
async fn rest(mut stream: RecvStream) -> Result<Vec<u8>, quinn::ReadToEndError> {
    let reading = stream.read_to_end(2 * FILE);
    let read = tokio::time::timeout(HANG_LIMIT, reading).await;
    read.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_not_read_stop_no_other_stream() {
    let root = folder_with(7);
    let (server, address) = serve(root.path()).await;
    let endpoint = narrow();
    let connection = connect(&endpoint, address).await.expect("connected");
    let mut streams = begin_unread(&connection, 90).await;
    // the last one, all others of which stand still
    let last = rest(streams.pop().expect("a stream")).await.expect("whole");
    assert_eq!(&last[last.len() - 10..], [7; 10]);
    // a new stream of this connection, and another client
    let whole = rest(request_file(&connection).await).await.expect("whole");
    assert!(whole.len() > FILE);
    let (download, _) = get(&url(address, "/file")).await.expect("served");
    assert_eq!(download.bytes, Bytes::new(FILE as u64));
    server.close().await;
}

/// Descriptors of this process that are of a file.
fn descriptors_of(file: &Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("procfs");
    let is_of = |link: &std::io::Result<std::fs::DirEntry>| {
        let link = link.as_ref().expect("an entry");
        // one that was closed meanwhile leads nowhere
        std::fs::read_link(link.path()).is_ok_and(|target| target == file)
    };
    all.filter(is_of).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_not_read_hold_a_bounded_number_of_descriptors() {
    const CONNECTIONS: usize = 4;
    const STREAMS: usize = 90;
    /// Those that stay open, as docs/operations/quic.md has it.
    const KEPT: usize = 256;
    let root = folder_with(7);
    let file = root.path().join("file");
    let (server, address) = serve(root.path()).await;
    let endpoint = narrow();
    let mut connections = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = connect(&endpoint, address).await.expect("connected");
        streams.extend(begin_unread(&connection, STREAMS).await);
        connections.push(connection);
    }
    until("no more than stay open", || descriptors_of(&file) == KEPT).await;
    // one of the last, whose file did not stay open, and another client
    let last = rest(streams.pop().expect("a stream")).await.expect("whole");
    assert_eq!(&last[last.len() - 10..], [7; 10]);
    let (download, _) = get(&url(address, "/file")).await.expect("served");
    assert_eq!(download.bytes, Bytes::new(FILE as u64));
    // another file in its place: never a part of it behind a part of the first
    let other = folder_with(8);
    std::fs::copy(other.path().join("file"), root.path().join("new")).expect("copied");
    std::fs::rename(root.path().join("new"), &file).expect("renamed");
    let replaced = streams.pop().expect("a stream");
    rest(replaced).await.expect_err("reset");
    // that of a connection's first stream has frames behind it that are to be ignored (RFC 9114 7.2.8)
    let kept = rest(streams.swap_remove(1)).await.expect("whole");
    assert_eq!(&kept[kept.len() - 10..], [7; 10]);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_number_of_connections() {
    let config = Config {
        connections_per_address: 3,
        ..config()
    };
    let (server, address) = start(config).await;
    let endpoint = unread(b"brimful/1");
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(connect(&endpoint, address).await.expect("connected"));
    }
    connect(&endpoint, address).await.expect_err("too many");
    assert!(refused(&server, "connections-per-address") >= 1);
    connections.pop();
    until("it has gone", || server.status()["connections"] == 2).await;
    connect(&endpoint, address).await.expect("a place is free");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_memory_connections_are_refused() {
    let config = Config {
        memory: Config::MIN_MEMORY,
        ..config()
    };
    let (server, address) = start(config).await;
    let endpoint = unread(b"brimful/1");
    let mut connections = Vec::new();
    let reason = loop {
        match connect(&endpoint, address).await {
            Ok(connection) => connections.push(connection),
            Err(error) => break error,
        }
        assert!(connections.len() < 10, "it takes any number");
    };
    assert!(!connections.is_empty(), "{reason}");
    assert!(refused(&server, "memory") >= 1);
    assert!(reserved(&server) <= Config::MIN_MEMORY.get());
    drop(connections);
    until("all of it is given back", || reserved(&server) == 0).await;
    connect(&endpoint, address).await.expect("there is memory");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_pipeline_do_not_keep_a_scrape_out() {
    let config = Config {
        metrics: Some(SocketAddr::new([127, 0, 0, 1].into(), 0)),
        ..config()
    };
    let (server, _) = start(config).await;
    let address = server.metrics_address().expect("it listens");
    let scrape = tokio::task::spawn_blocking(move || {
        let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut busy = Vec::new();
        for _ in 0..16 {
            let mut stream = std::net::TcpStream::connect(address).expect("connected");
            stream.write_all(&request.repeat(100)).expect("sent");
            let of_it = stream.try_clone().expect("a handle");
            // for as long as the server takes them, and nothing is read
            let sends = move || while stream.write_all(&request.repeat(100)).is_ok() {};
            busy.push((of_it, std::thread::spawn(sends)));
        }
        let mut stream = std::net::TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        for (stream, sends) in busy {
            // the server may have ended it
            let _ = stream.shutdown(std::net::Shutdown::Both);
            sends.join().expect("no panic");
        }
        answer
    });
    let answer = scrape.await.expect("scraped");
    assert!(answer.contains("brimful_quic_connections 0"), "{answer}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_qlog_can_be_written_connections_go_on_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        qlog: Some(folder.path().to_owned()),
        ..config()
    };
    let (server, address) = start(config).await;
    // for root, who may write anywhere, there is none either
    drop(folder);
    for count in 1..=3 {
        let (download, _) = get(&url(address, "/bytes/1000")).await.expect("served");
        assert_eq!(download.bytes, Bytes::new(1_000));
        assert_eq!(server.status()["qlog_failed"], count);
    }
    server.close().await;
}

/// Descriptors of this process that are files of this folder.
fn open_files(folder: &Path) -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("there on Linux");
    let is_there = |entry: std::io::Result<std::fs::DirEntry>| {
        let link = entry.and_then(|entry| std::fs::read_link(entry.path()));
        link.is_ok_and(|link| link.starts_with(folder))
    };
    descriptors
        .filter_map(|entry| is_there(entry).then_some(()))
        .count()
}

/// A client decides how long its connection lasts, and with it a log has a descriptor.
#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_logs_that_may_be_open_go_on_without() {
    const MAX_OPEN: usize = 256;
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        qlog: Some(folder.path().to_owned()),
        connections: 10_000,
        connections_per_address: 10_000,
        ..config()
    };
    let (server, address) = start(config).await;
    let endpoint = unread(b"h3");
    let mut connections = Vec::new();
    for _ in 0..MAX_OPEN + 3 {
        connections.push(connect(&endpoint, address).await.expect("connected"));
    }
    assert_eq!(open_files(folder.path()), MAX_OPEN);
    assert_eq!(server.status()["qlog_failed"], 3);
    // and the first one's log makes room as it is closed
    connections.remove(0).close(VarInt::from_u32(0), b"");
    until("its log is closed", || open_files(folder.path()) < MAX_OPEN).await;
    connections.push(connect(&endpoint, address).await.expect("connected"));
    assert_eq!(open_files(folder.path()), MAX_OPEN);
    assert_eq!(server.status()["qlog_failed"], 3);
    server.close().await;
}
