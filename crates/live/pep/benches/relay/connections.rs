//! Connections: how many new ones a second, what an idle one costs, and what a relay adds to a
//! round trip.

use crate::relays::{Kind, Relay, SystemCalls, descriptors, own_memory};
use crate::support::traffic::{accept, connect, listen};
use crate::support::{Hosts, SERVER};
use crate::{Table, median};
use rustix::net::sockopt;
use rustix::process::{Resource, getrlimit};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const NEW_PORT: u16 = 6_100;
const IDLE_PORT: u16 = 6_101;
const PING_PORT: u16 = 6_102;
const EXCHANGE_PORT: u16 = 6_103;
/// Bytes of a request, and of its answer.
const EXCHANGE: usize = 100;
const CLIENTS: usize = 8;
const MEASURE: Duration = Duration::from_millis(1_500);
/// Two descriptors of this process each, and two of the relay's.
const IDLE: usize = 20_000;
const PINGS: usize = 10_000;
const REPEATS: usize = 3;

/// What a connection carries, before the client resets it.
#[derive(Clone, Copy)]
enum Carries {
    /// A byte of the server.
    Byte,
    /// A request and an answer of [`EXCHANGE`] bytes.
    Exchange,
}

impl Carries {
    fn port(self) -> u16 {
        match self {
            Self::Byte => NEW_PORT,
            Self::Exchange => EXCHANGE_PORT,
        }
    }

    fn client(self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut bytes = [0; EXCHANGE];
        match self {
            Self::Byte => stream.read_exact(&mut bytes[..1]),
            Self::Exchange => {
                stream.write_all(&bytes)?;
                stream.read_exact(&mut bytes)
            }
        }
    }

    fn server(self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut bytes = [0; EXCHANGE];
        match self {
            Self::Byte => stream.write_all(b"x"),
            Self::Exchange => {
                stream.read_exact(&mut bytes)?;
                stream.write_all(&bytes)
            }
        }
    }
}

/// Serves every connection, and waits for its end.
fn serve(listener: &TcpListener, carries: Carries) {
    for _ in 0..CLIENTS {
        let listener = listener.try_clone().expect("a second handle");
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                if carries.server(&mut stream).is_ok() {
                    let _ = stream.read(&mut [0]);
                }
            }
        });
    }
}

/// What new connections come to.
struct New {
    /// A second.
    rate: f64,
    /// CPU time of the relay for one, us.
    cpu_us: Option<f64>,
    /// System calls of the relay for one, beside those that it makes anyway.
    calls: Option<f64>,
}

fn new_connections(hosts: &Hosts, relay: &Relay, carries: Carries) -> New {
    let calls = |time| relay.pid().map(|pid| SystemCalls::count(pid, time));
    let idle = calls(MEASURE).and_then(SystemCalls::read);
    let stop = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let target = relay.target(carries.port());
    let (began, cpu_before) = (Instant::now(), relay.cpu_seconds());
    let threads: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            hosts.client.enter(|| {
                std::thread::spawn(move || {
                    while !stop.load(Relaxed) {
                        // one that is lost is none, and holds nothing up
                        if let Ok(mut stream) = TcpStream::connect(target)
                            && stream.set_read_timeout(Some(MEASURE)).is_ok()
                            && carries.client(&mut stream).is_ok()
                        {
                            count.fetch_add(1, Relaxed);
                            // no TIME_WAIT: ports would run out
                            let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
                        }
                    }
                })
            })
        })
        .collect();
    std::thread::sleep(MEASURE);
    let (n, time) = (count.load(Relaxed) as f64, began.elapsed());
    let cpu = relay.cpu_seconds() - cpu_before;
    let before = count.load(Relaxed);
    let calls = calls(MEASURE).and_then(SystemCalls::read);
    let counted = (count.load(Relaxed) - before) as f64;
    stop.store(true, Relaxed);
    for thread in threads {
        thread.join().expect("it ends");
    }
    New {
        rate: n / time.as_secs_f64(),
        cpu_us: relay.pid().map(|_| cpu * 1e6 / n),
        calls: calls
            .zip(idle)
            .map(|(calls, idle)| (calls - idle) / counted),
    }
}

/// Memory (KiB) and descriptors of the relay for an idle connection.
fn idle(hosts: &Hosts, relay: &Relay, listener: &TcpListener, bytes: usize) -> Option<(f64, f64)> {
    let pid = relay.pid()?;
    // a few connections first, for what is made only once
    let warm: Vec<_> = (0..50)
        .map(|_| pair(hosts, relay, listener, bytes))
        .collect();
    let (memory, fds) = (own_memory(pid), descriptors(pid));
    let pairs: Vec<_> = (0..idle_connections())
        .map(|_| pair(hosts, relay, listener, bytes))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let n = pairs.len() as f64;
    let memory = (own_memory(pid) - memory) / n / 1_024.0;
    let fds = (descriptors(pid) - fds) as f64 / n;
    drop((warm, pairs));
    Some((memory, fds))
}

/// A connection that has carried so many bytes each way.
fn pair(
    hosts: &Hosts,
    relay: &Relay,
    listener: &TcpListener,
    bytes: usize,
) -> (TcpStream, TcpStream) {
    let mut near = connect(&hosts.client, relay.target(IDLE_PORT)).expect("connected");
    let (mut far, _) = accept(listener);
    let mut payload = vec![0; bytes];
    near.write_all(&payload).expect("sent");
    far.read_exact(&mut payload).expect("received");
    far.write_all(&payload).expect("sent");
    near.read_exact(&mut payload).expect("received");
    (near, far)
}

/// Round trips of a byte, us: median and 99th percentile.
fn ping(hosts: &Hosts, relay: &Relay, listener: &TcpListener) -> (f64, f64) {
    let near = connect(&hosts.client, relay.target(PING_PORT)).expect("connected");
    let (mut far, _) = accept(listener);
    for stream in [&near, &far] {
        stream.set_nodelay(true).expect("set");
    }
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
    });
    let mut near = near;
    let mut times = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let began = Instant::now();
        near.write_all(b"x").expect("sent");
        near.read_exact(&mut [0]).expect("received");
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    drop(near);
    echo.join().expect("it ends");
    times.sort_by(f64::total_cmp);
    (times[PINGS / 2], times[PINGS * 99 / 100])
}

/// The rows of connections.
pub fn measure(hosts: &Hosts, kinds: &[Kind], table: &mut Table) {
    let idle_listener = listen(&hosts.server, (SERVER, IDLE_PORT).into());
    let ping_listener = listen(&hosts.server, (SERVER, PING_PORT).into());
    let each = |of: &mut dyn FnMut(Kind) -> Option<f64>| -> Vec<Option<f64>> {
        let mut values = vec![Vec::new(); kinds.len()];
        for _ in 0..REPEATS {
            for (i, kind) in kinds.iter().enumerate() {
                values[i].extend(of(*kind));
            }
        }
        values.into_iter().map(median).collect()
    };
    let of_all = |values: Vec<Vec<f64>>| values.into_iter().map(median).collect();
    for (carries, what) in [
        (Carries::Byte, "new connections a second"),
        (Carries::Exchange, "the same with a request and an answer"),
    ] {
        serve(
            &listen(&hosts.server, (SERVER, carries.port()).into()),
            carries,
        );
        let (mut cpu, mut calls) = (vec![Vec::new(); kinds.len()], vec![Vec::new(); kinds.len()]);
        let rates = each(&mut |kind| {
            let relay = Relay::start(kind, hosts, carries.port());
            let new = new_connections(hosts, &relay, carries);
            let at = kinds.iter().position(|k| *k == kind)?;
            cpu[at].extend(new.cpu_us);
            calls[at].extend(new.calls);
            Some(new.rate)
        });
        table.row(what, rates);
        table.row("CPU of one, us", of_all(cpu));
        table.row("system calls of one", of_all(calls));
    }
    let mut tails = vec![Vec::new(); kinds.len()];
    let medians = each(&mut |kind| {
        let relay = Relay::start(kind, hosts, PING_PORT);
        drain(&ping_listener);
        let (p50, p99) = ping(hosts, &relay, &ping_listener);
        let at = kinds.iter().position(|k| *k == kind)?;
        tails[at].push(p99);
        Some(p50)
    });
    table.row("1-byte ping-pong, us, median", medians);
    table.row("1-byte ping-pong, us, 99th percentile", of_all(tails));
    let all_idle = |bytes| {
        let of = |kind: &Kind| {
            let relay = Relay::start(*kind, hosts, IDLE_PORT);
            drain(&idle_listener);
            idle(hosts, &relay, &idle_listener, bytes)
        };
        let (memory, descriptors): (Vec<_>, Vec<_>) =
            kinds.iter().map(|kind| of(kind).unzip()).unzip();
        (memory, descriptors)
    };
    let (memory, descriptors) = all_idle(1);
    table.row("own memory of an idle connection, KiB", memory);
    table.row("descriptors of an idle connection", descriptors);
    let (memory, _) = all_idle(EXCHANGE);
    table.row("own memory after a request and an answer, KiB", memory);
    table.note(format!(
        "Idle connections: {}, for which descriptors suffice; a byte, or a request and an answer of {EXCHANGE} bytes, \
         have passed on each.",
        idle_connections()
    ));
}

/// Idle connections at the most, of [`IDLE`], for which descriptors suffice here.
pub fn idle_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    // the proxy keeps six for each, of which an idle one needs two, and some for all else; the rest would pass by
    let possible = usize::try_from(limit / 7).unwrap_or(usize::MAX);
    IDLE.min(possible.saturating_sub(100))
}

/// Takes away what a relay's start has left in the queue.
fn drain(listener: &TcpListener) {
    std::thread::sleep(Duration::from_millis(50));
    listener.set_nonblocking(true).expect("set");
    while listener.accept().is_ok() {}
    listener.set_nonblocking(false).expect("set");
}
