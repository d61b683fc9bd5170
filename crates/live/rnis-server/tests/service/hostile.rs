//! Strangers that connect and send nothing, and a process without descriptors.

use crate::common::{NETWORK, World, connect, rest, until, usual, world};
use rnis::codec::{decode_json, encode_json};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::net::SocketAddr;
use testing::free_port;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream, UnixSocket};

/// A service that waits for a bridge at this address, with more keys of the source.
async fn listening(keys: &str) -> (World, SocketAddr) {
    let bridge = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let tables = format!(
        "[[source]]\nname = \"bridge\"\nkind = \"reports\"\nurl = \"tcp:{bridge}\"\n\
         listen = true\n{keys}\n{NETWORK}"
    );
    (world("", &tables).await, bridge)
}

async fn send(stream: &mut TcpStream, slot: u64) {
    let line = [encode_json(&usual(slot)), b"\n".to_vec()].concat();
    stream.write_all(&line).await.expect("the service reads");
}

fn accepted(world: &World) -> f64 {
    world.counted("brimful_rnis_reports_total", &[("source", "bridge")])
}

fn closed(world: &World, reason: &str) -> f64 {
    let labels = [("source", "bridge"), ("reason", reason)];
    world.counted("brimful_rnis_source_closed_total", &labels)
}

/// Connects from this address of the host.
async fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((from, 0).into()).expect("one of this host's");
    socket.connect(to).await.expect("a listener")
}

/// Another address than that of [`connect`].
const STRANGER: [u8; 4] = [127, 0, 0, 2];

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_whose_connections_report_takes_no_place_of_a_bridge() {
    let keys = "max-connections = 4\nfirst-line-timeout = \"86400 s\"";
    let (world, address) = listening(keys).await;
    let mut bridge = connect(address).await;
    send(&mut bridge, 20).await;
    until("the bridge's report", || accepted(&world) == 1.0).await;
    // each reports after the bridge did
    let mut strangers = Vec::new();
    let mut stranger_reports = async |n: u64| {
        let mut stranger = connect_from(STRANGER, address).await;
        send(&mut stranger, 20 * n).await;
        until("its report", || accepted(&world) == n as f64).await;
        strangers.push(stranger);
    };
    for n in 2..=12 {
        stranger_reports(n).await;
    }
    send(&mut bridge, 20 * 13).await;
    until("the bridge goes on", || accepted(&world) == 13.0).await;
    // another bridge, which has not reported yet, is no easier to close
    let mut late = connect(address).await;
    for n in 14..=20 {
        stranger_reports(n).await;
    }
    send(&mut late, 20 * 21).await;
    until("the late one's report", || accepted(&world) == 21.0).await;
}

async fn ends(stream: &mut TcpStream) {
    let mut nothing = Vec::new();
    let ended = tokio::time::timeout(testing::HANG_LIMIT, stream.read_to_end(&mut nothing)).await;
    assert!(ended.is_ok(), "it is kept for ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stranger_does_not_keep_a_bridge_out() {
    let (world, address) = listening("").await;
    let _stranger = connect(address).await;
    let mut bridge = connect(address).await;
    send(&mut bridge, 20).await;
    until("the bridge's report", || accepted(&world) == 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_strangers_takes_no_place_of_a_bridge_that_reports() {
    let (world, address) = listening("max-connections = 2").await;
    let mut bridge = connect(address).await;
    send(&mut bridge, 20).await;
    until("the bridge's report", || accepted(&world) == 1.0).await;
    // the bridge is silent meanwhile, and the one that has been idle for longest
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(connect(address).await);
    }
    until("all but one give way", || closed(&world, "full") == 19.0).await;
    send(&mut bridge, 40).await;
    until("the bridge goes on", || accepted(&world) == 2.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_idle_connection_of_a_source_gives_way() {
    let (world, address) = listening("max-connections = 2").await;
    let mut bridge = connect(address).await;
    send(&mut bridge, 20).await;
    until("the bridge's report", || accepted(&world) == 1.0).await;
    let mut strangers = Vec::new();
    for slot in 1..=5 {
        strangers.push(connect(address).await);
        until("the stranger before gives way", || {
            closed(&world, "full") >= strangers.len() as f64 - 1.0
        })
        .await;
        let source = [("source", "bridge")];
        until("the stranger has a place", || {
            world.counted("brimful_rnis_source_connections", &source) == 2.0
        })
        .await;
        send(&mut bridge, 20 + 20 * slot).await;
        until("the bridge goes on", || {
            accepted(&world) == 1.0 + slot as f64
        })
        .await;
    }
    ends(&mut strangers[0]).await;
    let connects = [("source", "bridge")];
    let connects = world.counted("brimful_rnis_source_connects_total", &connects);
    assert_eq!(connects, 1.0, "strangers are no source");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_before_and_after_the_first_line_ends_a_connection_of_a_source() {
    let keys = "first-line-timeout = \"200 ms\"\nsilence-timeout = \"300 ms\"";
    let (world, address) = listening(keys).await;
    let mut stranger = connect(address).await;
    stranger.write_all(b"no report\n\n").await.expect("written");
    ends(&mut stranger).await;
    until("counted", || closed(&world, "first-line") >= 1.0).await;
    // a machine that stops for long before the first line has been read: once more
    until_reported(&world, address).await;
    until("counted", || closed(&world, "silent") >= 1.0).await;
    until("the source is away", || {
        world.counted("brimful_rnis_source_up", &[("source", "bridge")]) == 0.0
    })
    .await;
}

/// Connects and reports, until a report is accepted; then stays silent until the end.
async fn until_reported(world: &World, address: SocketAddr) {
    for slot in 1.. {
        let mut bridge = connect(address).await;
        send(&mut bridge, 20 * slot).await;
        ends(&mut bridge).await;
        if accepted(world) > 0.0 {
            return;
        }
    }
}

/// Takes all descriptors of this process, until it is dropped.
struct Descriptors {
    limit: Rlimit,
    taken: Vec<File>,
}

impl Descriptors {
    fn take() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let few = Rlimit {
            current: Some(200),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, few).expect("a lower limit");
        let taken = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        Self { limit, taken }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        self.taken.clear();
        setrlimit(Resource::Nofile, self.limit).expect("the limit as it was");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_publisher_outlasts_a_lack_of_descriptors() {
    let socket = "[unix]\npath = \"{folder}/radio.sock\"\n";
    let mut world = world("", &format!("{socket}{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let path = world.path("radio.sock");
    let early = UnixSocket::new_stream().expect("a socket");
    let taken = Descriptors::take();
    let reader = early.connect(&path).await.expect("it waits in the kernel");
    until("accepting fails", || {
        let errors = [("listener", "unix")];
        let counted = world.counted("brimful_rnis_accept_errors_total", &errors);
        counted >= 1.0 || !path.exists()
    })
    .await;
    drop(taken);
    assert!(path.exists(), "the publisher is gone");
    until("the reader", || {
        world.counted("brimful_rnis_readers", &[]) == 1.0
    })
    .await;
    world.cell.report(&usual(40)).await;
    let line = BufReader::new(reader).lines().next_line().await;
    let line = line.expect("a line").expect("not the end");
    assert_eq!(
        decode_json(line.as_bytes())
            .expect("a report")
            .cell
            .slot
            .get(),
        40
    );
}

/// One request over a connection of its own.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = connect(address).await;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    answer
}

fn evicted(world: &World) -> f64 {
    let labels = [("outcome", "evicted")];
    world.counted("brimful_rnis_http_connections_total", &labels)
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_keep_a_scrape_out() {
    let world = world("", "[metrics]\nlisten = \"127.0.0.1:0\"\n").await;
    let address = world.service.metrics_address().expect("metrics");
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(address).await.expect("listening"));
    }
    let scraped = get(address, "/metrics").await;
    assert!(scraped.starts_with("HTTP/1.1 200"), "{scraped}");
    assert!(get(address, "/healthz").await.ends_with("\r\n\r\nok\n"));
    until("the silent ones have given way", || evicted(&world) >= 20.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_evicts_no_newcomer_of_another_address() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 4");
    let world = world("", &limited).await;
    let address = world.service.http_address().expect("an interface");
    let mut newcomer = connect(address).await;
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(connect_from(STRANGER, address).await);
    }
    until("all but three give way", || evicted(&world) == 17.0).await;
    let head = b"GET /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\n\r\n";
    newcomer.write_all(head).await.expect("it is kept");
    assert_eq!(status(&mut newcomer).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_keep_clients_out() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 2");
    let world = world("", &limited).await;
    let address = world.service.http_address().expect("an interface");
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(TcpStream::connect(address).await.expect("listening"));
    }
    let client = world.client("all").await;
    assert_eq!(client.get("/rni/v2/subscriptions").await.status, 200);
    until("the silent ones have given way", || evicted(&world) >= 6.0).await;
}

/// The status of the next answer on a connection that stays open.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.expect("an answer"));
    }
    let head = String::from_utf8(answer).expect("text");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.map_or(0, |text| text.parse().expect("a length"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    head[9..12].parse().expect("a status")
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_take_no_place_of_a_connection_over_which_a_token_was_shown() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 2");
    let world = world("", &limited).await;
    let client = world.client("all").await;
    let token = client.token.as_deref().expect("a token");
    let request = format!(
        "GET /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let mut kept = connect(client.address).await;
    kept.write_all(request.as_bytes()).await.expect("written");
    assert_eq!(status(&mut kept).await, 200);
    // it is idle meanwhile, and for longer than any of these
    let before = evicted(&world);
    let mut strangers = Vec::new();
    for _ in 0..20 {
        let mut stranger = connect(client.address).await;
        let head = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n";
        // one that has given way already cannot be written to
        let _ = stranger.write_all(head).await;
        strangers.push(stranger);
    }
    until("they have given way to each other", || {
        evicted(&world) >= before + 19.0
    })
    .await;
    kept.write_all(request.as_bytes()).await.expect("written");
    assert_eq!(status(&mut kept).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_a_token_that_do_not_arrive_hold_no_place() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 2");
    let world = world("", &limited).await;
    let address = world.service.http_address().expect("an interface");
    let mut stalled = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(address).await;
        let head = b"POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\
            Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head).await.expect("written");
        // the service waits for the body
        assert_eq!(status(&mut stream).await, 100);
        stalled.push(stream);
    }
    let client = world.client("all").await;
    assert_eq!(client.get("/rni/v2/subscriptions").await.status, 200);
    until("one gives way", || evicted(&world) >= 1.0).await;
    // at once: one that had its time would have an answer
    let mut answer = Vec::new();
    let _ = stalled[0].read_to_end(&mut answer).await;
    assert_eq!(String::from_utf8_lossy(&answer), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_arrive_keep_no_other_client_out() {
    let limited = rest().replace("[http]", "[http]\nmax-connections = 4");
    let world = world("", &limited).await;
    let client = world.client("all").await;
    let other = world.client("reader").await;
    let token = client.token.as_deref().expect("a token");
    let head = format!(
        "POST /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\
         Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n\
         Expect: 100-continue\r\n\r\n"
    );
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(client.address).await;
        stream.write_all(head.as_bytes()).await.expect("written");
        // the service waits for the body
        assert_eq!(status(&mut stream).await, 100);
        stalled.push(stream);
    }
    let answer = other.get("/rni/v2/queries/layer2_meas").await;
    assert_eq!(answer.status, 200);
    // one that had its time would have an answer
    let mut answer = Vec::new();
    let _ = stalled[0].read_to_end(&mut answer).await;
    assert_eq!(String::from_utf8_lossy(&answer), "");
}
