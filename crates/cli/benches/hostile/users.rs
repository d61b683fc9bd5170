//! Well-behaved users: what they get is compared byte for byte.

use crate::http;
use crate::pace::{Pace, Stop};
use crate::quic_users::{self, Fetched};
use crate::servers::{self, ECHO, ECHOED, GREETER, SOURCE};
use crate::support::radio::{monotonic, report};
use crate::world::{self, Part, World};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketType};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testing::pattern;

/// Nothing that works takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Between probes of a connection on which nothing comes.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Every byte is there, and then the end.
    Whole,
    /// No connection was made.
    Refused,
    /// It broke, and both ends could see that.
    Reset,
    /// An orderly end before all of it was there.
    Cut,
    /// Another byte than was sent.
    Corrupt,
    /// Neither a byte nor an end for a minute.
    Stuck,
}

impl End {
    /// What must never happen, whatever is done to the daemon.
    pub fn is_violation(self) -> bool {
        matches!(self, Self::Cut | Self::Corrupt | Self::Stuck)
    }
}

/// How many transfers ended how.
#[derive(Default)]
pub struct Tally {
    ends: Mutex<BTreeMap<End, u64>>,
    pub bytes: AtomicU64,
}

impl Tally {
    pub fn add(&self, end: End, bytes: usize) {
        if end.is_violation() {
            eprintln!("violation: {end:?} of a transfer of {bytes} bytes");
        }
        if end == End::Whole {
            self.bytes.fetch_add(bytes as u64, Relaxed);
        }
        *self.ends.lock().expect("counts").entry(end).or_default() += 1;
    }

    pub fn count(&self, end: End) -> u64 {
        let ends = self.ends.lock().expect("counts");
        ends.get(&end).copied().unwrap_or(0)
    }

    pub fn violations(&self) -> u64 {
        [End::Cut, End::Corrupt, End::Stuck]
            .map(|e| self.count(e))
            .iter()
            .sum()
    }
}

fn connect(world: &World, to: SocketAddr, limit: Duration) -> std::io::Result<TcpStream> {
    with_limits(
        world.at_client(|| TcpStream::connect_timeout(&to, limit))?,
        limit,
    )
}

/// The same from one of the client's IPv6 addresses.
fn connect_from(
    world: &World,
    from: Ipv6Addr,
    to: SocketAddr,
    limit: Duration,
) -> std::io::Result<TcpStream> {
    let stream = world.at_client(|| {
        let socket = rustix::net::socket(AddressFamily::INET6, SocketType::STREAM, None)?;
        // it counts for the connection too
        sockopt::set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
        rustix::net::bind(&socket, &SocketAddr::from((from, 0)))?;
        rustix::net::connect(&socket, &to)?;
        Ok::<_, std::io::Error>(TcpStream::from(socket))
    })?;
    with_limits(stream, limit)
}

fn with_limits(stream: TcpStream, limit: Duration) -> std::io::Result<TcpStream> {
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    // the one reset of a killed proxy's kernel can be lost in a full queue: a client that only reads has to probe
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(&stream, KEEPALIVE)?;
    Ok(stream)
}

/// Sends so many bytes, and gets eight times as many back.
fn exchange(world: &World, to: SocketAddr, from: Option<Ipv6Addr>, bytes: usize) -> End {
    let connected = match from {
        None => connect(world, to, LIMIT),
        Some(from) => connect_from(world, from, to, LIMIT),
    };
    let Ok(stream) = connected else {
        return End::Refused;
    };
    let broken = |error: &std::io::Error| match error.kind() {
        ErrorKind::InvalidData => End::Corrupt,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => End::Stuck,
        _ => End::Reset,
    };
    let sent = servers::send(&stream, bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    let received = sent.and_then(|()| servers::receive(&stream));
    match received {
        Ok(n) if n == bytes * ECHOED => End::Whole,
        Ok(_) => End::Cut,
        Err(error) => broken(&error),
    }
}

/// Transfers of growing and shrinking size by TCP until the end, from an address of the client's or any.
pub fn exchanges(
    world: &World,
    address: IpAddr,
    from: Option<Ipv6Addr>,
    tally: &Tally,
    stop: &Stop,
) {
    let mut bytes = 1_000;
    while !stop.is_set() {
        let end = exchange(world, (address, ECHO).into(), from, bytes);
        tally.add(end, bytes * (ECHOED + 1));
        bytes = if bytes > 500_000 { 1_000 } else { bytes * 3 };
        if end == End::Refused {
            stop.wait(Duration::from_millis(100));
        }
    }
}

/// Downloads of a file by HTTP/3 until the end.
pub fn downloads(world: &World, tally: &Tally, stop: &Stop) {
    while !stop.is_set() {
        let end = match quic_users::fetch(world, "/file", true, LIMIT) {
            Fetched::Whole(_) => End::Whole,
            Fetched::Refused => End::Refused,
            Fetched::Broken => End::Reset,
            Fetched::Cut => End::Cut,
            Fetched::Corrupt => End::Corrupt,
            Fetched::Stuck => End::Stuck,
        };
        tally.add(end, world::FILE_BYTES);
        if end == End::Refused {
            stop.wait(Duration::from_millis(100));
        }
    }
}

/// Cell of the bridge's reports.
const BRIDGE_CELL: u32 = 2;

/// A bridge that reports a hundred times a second, until the end; it connects again when it is cut off.
fn bridge(world: &World, stop: &Stop) {
    let (mut pace, mut seq, mut stream) = (Pace::new(100.0), 0, None);
    while let Some(due) = pace.next(stop) {
        for _ in 0..due {
            if stream.is_none() {
                stream = connect(world, world::BRIDGE, Duration::from_secs(1)).ok();
            }
            let Some(to) = stream.as_mut() else {
                continue;
            };
            seq += 1;
            let ue = IpAddr::from([10, 46, 0, 2]);
            let mut report = report(&[ue], seq, monotonic(), 1_000_000_000);
            report.cell.id = rnis::CellId(BRIDGE_CELL);
            let line = [rnis::codec::encode_json(&report), b"\n".to_vec()].concat();
            if to.write_all(&line).is_err() {
                stream = None;
            }
        }
    }
}

/// Reads the published reports until the end: each line must be a report. Counts those of the bridge's
/// cell; an end of the connection is a reset.
fn reader(world: &World, tally: &Tally, stop: &Stop) {
    let path = world.path("rnis.sock");
    let of_bridge = format!("{{\"cell\":{{\"id\":{BRIDGE_CELL},");
    while !stop.is_set() {
        let Ok(stream) = UnixStream::connect(&path) else {
            tally.add(End::Refused, 0);
            stop.wait(Duration::from_millis(100));
            continue;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        let (mut reader, mut line) = (BufReader::new(stream), Vec::new());
        while !stop.is_set() {
            match reader.read_until(b'\n', &mut line) {
                // what was begun before a kill is cut with the connection
                Ok(0) => {
                    tally.add(End::Reset, 0);
                    break;
                }
                Ok(_) if line.ends_with(b"\n") => {
                    if line.starts_with(of_bridge.as_bytes()) {
                        let is_report = rnis::codec::decode_json(&line).is_ok();
                        let end = if is_report { End::Whole } else { End::Corrupt };
                        tally.add(end, line.len());
                    }
                    line.clear();
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => {
                    tally.add(End::Reset, 0);
                    break;
                }
            }
        }
    }
}

/// A bridge and a reader of its reports, and queries, until the end.
pub fn radio_users(world: &World, tally: &Tally, queries: &Tally, stop: &Stop) {
    std::thread::scope(|scope| {
        scope.spawn(|| bridge(world, stop));
        scope.spawn(|| reader(world, tally, stop));
        world.host(Part::Rnis).enter(|| {
            let mut token = String::new();
            while stop.wait(Duration::from_millis(100)) {
                queries.add(query(&mut token), 0);
            }
        });
    });
}

/// One query of the radio information service, of one UE's bearers (an answer of all UEs is as long as there are
/// UEs); a token that is no longer good is replaced.
fn query(token: &mut String) -> End {
    let path = "/rni/v2/queries/rab_info?app_ins_id=user&ue_ipv4_address=10.45.0.2";
    match http::get_with(world::REST, path, token, LIMIT) {
        Ok((200, body)) if serde_json::from_str::<serde_json::Value>(&body).is_ok() => End::Whole,
        Ok((200, _)) => End::Cut,
        Ok((401, _)) => match http::token(world::REST, "user", "secret") {
            Ok(new) => {
                *token = new;
                End::Refused
            }
            Err(_) => End::Refused,
        },
        // too many, or no report at the moment
        Ok(_) => End::Refused,
        Err(error) if error.kind() == ErrorKind::WouldBlock => End::Stuck,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => End::Refused,
        Err(_) => End::Reset,
    }
}

/// A user whose share and connection time are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// TCP to this address: through the proxy, or through the tunnel.
    Tcp(IpAddr),
    Quic,
    /// A bridge whose reports are read, and queries.
    Radio,
    /// Prometheus at this address of a daemon.
    Scraper(Part, SocketAddr),
}

/// What one had.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Bytes, reports or scrapes a second.
    pub rate: f64,
    /// Mean time until an answer's first byte over a new connection, seconds; without one it is the limit.
    pub connection: f64,
}

/// How long a rate is measured.
const RATE_TIME: Duration = Duration::from_secs(3);
/// Connections whose time is measured, and the limit of each.
const CONNECTIONS: usize = 100;
const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// Between two of them.
const CONNECTION_INTERVAL: Duration = Duration::from_millis(10);

/// Measures a user for some four seconds.
pub fn measure(world: &World, user: User) -> Measured {
    match user {
        User::Tcp(address) => Measured {
            connection: mean_time(|| greeted(world, address)),
            rate: downloaded(world, address),
        },
        User::Quic => {
            let fetch = |path| quic_users::fetch(world, path, false, CONNECTION_LIMIT);
            let connection = mean_time(|| match fetch("/bytes/1000") {
                Fetched::Whole(times) => Some(times.first_byte),
                _ => None,
            });
            let rate = match quic_users::fetch(world, "/bytes/30000000", false, LIMIT) {
                Fetched::Whole(times) => 30e6 / times.transfer.as_secs_f64(),
                _ => 0.0,
            };
            Measured { rate, connection }
        }
        User::Radio => radio_measured(world),
        User::Scraper(part, address) => world.host(part).enter(|| {
            let scrape = || {
                let began = Instant::now();
                let answer = http::get(address, "/metrics", CONNECTION_LIMIT);
                matches!(answer, Ok((200, _))).then(|| began.elapsed())
            };
            let (began, mut answered) = (Instant::now(), 0);
            while began.elapsed() < RATE_TIME {
                answered += u32::from(scrape().is_some());
                std::thread::sleep(CONNECTION_INTERVAL);
            }
            Measured {
                rate: f64::from(answered) / began.elapsed().as_secs_f64(),
                connection: mean_time(scrape),
            }
        }),
    }
}

fn mean_time(mut connect: impl FnMut() -> Option<Duration>) -> f64 {
    let mut sum = Duration::ZERO;
    for _ in 0..CONNECTIONS {
        sum += connect().unwrap_or(CONNECTION_LIMIT);
        std::thread::sleep(CONNECTION_INTERVAL);
    }
    sum.as_secs_f64() / CONNECTIONS as f64
}

fn greeted(world: &World, address: IpAddr) -> Option<Duration> {
    // the thread that enters a namespace is not measured
    world.at_client(|| {
        let began = Instant::now();
        let to = (address, GREETER).into();
        let mut stream = TcpStream::connect_timeout(&to, CONNECTION_LIMIT).ok()?;
        stream.set_read_timeout(Some(CONNECTION_LIMIT)).ok()?;
        stream.read_exact(&mut [0]).ok()?;
        Some(began.elapsed())
    })
}

/// Bytes a second of a download.
fn downloaded(world: &World, address: IpAddr) -> f64 {
    let Ok(mut stream) = connect(world, (address, SOURCE).into(), CONNECTION_LIMIT) else {
        return 0.0;
    };
    let mut buffer = vec![0; 65_536];
    let (began, mut received) = (Instant::now(), 0);
    while began.elapsed() < RATE_TIME {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 && buffer[..n] == pattern(received, n)[..] => received += n,
            _ => break,
        }
    }
    received as f64 / began.elapsed().max(RATE_TIME).as_secs_f64()
}

fn radio_measured(world: &World) -> Measured {
    let (tally, stop) = (Tally::default(), Stop::default());
    std::thread::scope(|scope| {
        scope.spawn(|| bridge(world, &stop));
        scope.spawn(|| reader(world, &tally, &stop));
        let measured = world.host(Part::Rnis).enter(|| {
            let mut token = String::new();
            query(&mut token);
            let connection = mean_time(|| {
                let began = Instant::now();
                (query(&mut token) == End::Whole).then(|| began.elapsed())
            });
            let (before, began) = (tally.count(End::Whole), Instant::now());
            stop.wait(RATE_TIME);
            let reports = tally.count(End::Whole) - before;
            Measured {
                rate: reports as f64 / began.elapsed().as_secs_f64(),
                connection,
            }
        });
        stop.set();
        measured
    })
}
