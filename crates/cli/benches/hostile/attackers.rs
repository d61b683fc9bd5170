//! Attackers: each runs until it is stopped, at a bounded rate and with a bounded number of connections.

use crate::http;
use crate::pace::{Pace, Stop};
use crate::quic_users;
use crate::servers::{ECHO, FILE, HOLDER, SINK, SOURCE};
use crate::support::radio::{monotonic, report};
use crate::support::traffic::connect_from;
use crate::support::{SERVER, SERVER_V6};
use crate::users::User;
use crate::world::{self, ADDRESSES, ATTACKER, Part, SILENT, World};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, send, socket_with, sockopt,
};
use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use testing::pattern;

/// An attacker.
pub struct Attacker {
    pub name: &'static str,
    /// What it does, for the page.
    pub what: &'static str,
    pub victim: Part,
    /// The user that it is beside.
    pub user: User,
    pub run: fn(&World, &Stop),
}

const THROUGH_PROXY: User = User::Tcp(IpAddr::V4(SERVER));
const THROUGH_TUNNEL: User = User::Tcp(IpAddr::V4(world::INSIDE));

/// All of them.
pub const ATTACKERS: &[Attacker] = &[
    Attacker {
        name: "stalled-downloads",
        what: "a UE begins 300 downloads and reads none",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: stalled_downloads,
    },
    Attacker {
        name: "finished-unread",
        what: "a UE begins 100 downloads of 500 kB a second, whose ends all have come, and reads none",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: finished_unread,
    },
    Attacker {
        name: "syn-flood",
        what: "a UE sends 1,000 SYNs a second and answers nothing",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: syn_flood,
    },
    Attacker {
        name: "half-open",
        what: "a UE ends its half of 500 connections whose servers do not end theirs",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: half_open,
    },
    Attacker {
        name: "resets",
        what: "a UE opens 100 connections a second, sends 10 kB and resets",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: resets,
    },
    Attacker {
        name: "urgent-data",
        what: "a UE sends urgent data on 50 connections a second",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: urgent_data,
    },
    Attacker {
        name: "addresses-of-64",
        what: "a UE opens 1,500 connections from 100 addresses of its /64",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: addresses_of_64,
    },
    Attacker {
        name: "junk-at-admin",
        what: "50 requests a second of 4 kB of junk, and 8 silent connections, at the admin socket",
        victim: Part::Pep,
        user: THROUGH_PROXY,
        run: junk_at_admin,
    },
    Attacker {
        name: "silent-scrapers",
        what: "64 silent connections at `/metrics` of the proxy, opened again as they are closed",
        victim: Part::Pep,
        user: User::Scraper(Part::Pep, world::PEP_METRICS),
        run: |world, stop| silent(world, Part::Pep, world::PEP_METRICS, stop),
    },
    Attacker {
        name: "slow-scrapers",
        what: "64 connections at `/metrics` of the proxy whose heads come a byte at a time",
        victim: Part::Pep,
        user: User::Scraper(Part::Pep, world::PEP_METRICS),
        run: slow_scrapers,
    },
    Attacker {
        name: "tunnel-silent-tcp",
        what: "900 silent TCP connections at the tunnel's port, opened again as they are closed",
        victim: Part::TunnelServer,
        user: THROUGH_TUNNEL,
        run: tunnel_silent_tcp,
    },
    Attacker {
        name: "tunnel-junk",
        what: "20,000 datagrams a second of no connection, half of them DCCP's form",
        victim: Part::TunnelServer,
        user: THROUGH_TUNNEL,
        run: tunnel_junk,
    },
    Attacker {
        name: "tunnel-silent-scrapers",
        what: "64 silent connections at `/metrics` of the tunnel",
        victim: Part::TunnelServer,
        user: User::Scraper(Part::TunnelServer, world::TUNNEL_METRICS),
        run: |world, stop| silent(world, Part::TunnelServer, world::TUNNEL_METRICS, stop),
    },
    Attacker {
        name: "quic-unread",
        what: "60 QUIC clients that begin a download of 10 GB and read nothing",
        victim: Part::Quic,
        user: User::Quic,
        run: quic_users::that_read_nothing,
    },
    Attacker {
        name: "quic-unread-files",
        what: "60 QUIC clients that request a file on each of 100 streams and read none",
        victim: Part::Quic,
        user: User::Quic,
        run: quic_users::that_read_no_file,
    },
    Attacker {
        name: "quic-huge-frames",
        what: "HEADERS that are declared as 1 GB, 50 a second",
        victim: Part::Quic,
        user: User::Quic,
        run: quic_users::of_huge_frames,
    },
    Attacker {
        name: "quic-junk",
        what: "2,000 datagrams a second that are no QUIC, half of them with an Initial's head",
        victim: Part::Quic,
        user: User::Quic,
        run: |world, stop| quic_users::junk(world, stop, 2_000.0),
    },
    Attacker {
        name: "quic-pipelining-scrapers",
        what: "64 connections at `/metrics` of the QUIC server that pipeline and read nothing",
        victim: Part::Quic,
        user: User::Scraper(Part::Quic, world::QUIC_METRICS),
        run: quic_users::pipelining,
    },
    Attacker {
        name: "rnis-strangers",
        what: "32 silent connections at a source that is waited for, opened again as they are closed",
        victim: Part::Rnis,
        user: User::Radio,
        run: rnis_strangers,
    },
    Attacker {
        name: "rnis-invented-addresses",
        what: "a source that reports 5,000 invented addresses a second",
        victim: Part::Rnis,
        user: User::Radio,
        run: rnis_invented_addresses,
    },
    Attacker {
        name: "rnis-silent-rest",
        what: "300 silent connections at the REST interface, opened again as they are closed",
        victim: Part::Rnis,
        user: User::Radio,
        run: rnis_silent_rest,
    },
    Attacker {
        name: "rnis-wrong-tokens",
        what: "200 requests a second with wrong tokens",
        victim: Part::Rnis,
        user: User::Radio,
        run: rnis_wrong_tokens,
    },
    Attacker {
        name: "rnis-stalled-bodies",
        what: "a client of the REST interface with 300 requests whose bodies do not come, sent again as they end",
        victim: Part::Rnis,
        user: User::Radio,
        run: rnis_stalled_bodies,
    },
    Attacker {
        name: "rnis-silent-scrapers",
        what: "64 silent connections at `/metrics` of the radio information service",
        victim: Part::Rnis,
        user: User::Scraper(Part::Rnis, world::RNIS_METRICS),
        run: |world, stop| silent(world, Part::Rnis, world::RNIS_METRICS, stop),
    },
];

/// Has the other end closed it?
fn is_closed(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(n) => n == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Keeps so many connections open until the end, opening at most what the pace allows; `each` is called with
/// every one that is opened, and again twenty times a second.
fn keep(
    count: usize,
    pace: &mut Pace,
    stop: &Stop,
    open: impl Fn(usize) -> std::io::Result<TcpStream>,
    each: impl Fn(&TcpStream),
) {
    let (mut streams, mut opened) = (Vec::<TcpStream>::new(), 0);
    let mut since = std::time::Instant::now();
    while let Some(due) = pace.next(stop) {
        if since.elapsed() > Duration::from_millis(50) {
            streams.retain(|stream| !is_closed(stream));
            streams.iter().for_each(&each);
            since = std::time::Instant::now();
        }
        for _ in 0..due.min(count - streams.len()) {
            opened += 1;
            let Ok(stream) = open(opened) else {
                continue;
            };
            if stream.set_nonblocking(true).is_ok() {
                each(&stream);
                streams.push(stream);
            }
        }
    }
}

/// The same with connections of this host to an address there.
pub fn keep_connections(
    world: &World,
    host: Part,
    address: SocketAddr,
    (count, pace): (usize, &mut Pace),
    stop: &Stop,
    each: impl Fn(&TcpStream) + Send,
) {
    world.host(host).enter(|| {
        let open = |_| TcpStream::connect_timeout(&address, Duration::from_secs(2));
        keep(count, pace, stop, open, each);
    });
}

fn silent(world: &World, host: Part, address: SocketAddr, stop: &Stop) {
    let mut pace = Pace::new(200.0);
    keep_connections(world, host, address, (64, &mut pace), stop, |_| {});
}

fn slow_scrapers(world: &World, stop: &Stop) {
    let mut pace = Pace::new(200.0);
    let address = world::PEP_METRICS;
    keep_connections(
        world,
        Part::Pep,
        address,
        (64, &mut pace),
        stop,
        |mut to| {
            // a connection that is closed is opened again
            let _ = to.write(b"G");
        },
    );
}

/// A connection whose receive buffer is as small as the kernel allows.
fn open_narrow(from: IpAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_socket_recv_buffer_size(&socket, 4_096)?;
    bind(&socket, &SocketAddr::new(from, 0))?;
    connect(&socket, &to)?;
    Ok(socket.into())
}

fn stalled_downloads(world: &World, stop: &Stop) {
    let open = |_| open_narrow(ATTACKER.into(), (SERVER, SOURCE).into());
    world.at_client(|| keep(300, &mut Pace::new(150.0), stop, open, |_| {}));
}

/// Downloads that are kept unread; of more, the oldest is closed.
const UNREAD: usize = 3_000;

fn finished_unread(world: &World, stop: &Stop) {
    let (mut pace, mut unread) = (Pace::new(100.0), VecDeque::new());
    world.at_client(|| {
        while let Some(due) = pace.next(stop) {
            for _ in 0..due {
                let opened = open_narrow(ATTACKER.into(), (SERVER, FILE).into());
                let Ok(stream) = opened else { continue };
                if stream.shutdown(Shutdown::Write).is_ok() {
                    unread.push_back(stream);
                }
                if unread.len() > UNREAD {
                    unread.pop_front();
                }
            }
        }
    });
}

fn syn_flood(world: &World, stop: &Stop) {
    let closed = SocketAddr::from((SERVER, 9));
    let (mut pace, mut sent) = (Pace::new(1_000.0), 0_u16);
    world.at_client(|| {
        while let Some(due) = pace.next(stop) {
            for _ in 0..due {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
                let Ok(socket) = socket else {
                    continue;
                };
                sent = (sent + 1) % 50_000;
                // closed while it connects: it is never repeated
                if bind(&socket, &SocketAddr::new(SILENT.into(), 10_000 + sent)).is_ok() {
                    let _ = connect(&socket, &closed);
                }
            }
        }
    });
}

fn half_open(world: &World, stop: &Stop) {
    let open = |_| {
        let stream = connect_from(
            &world.hosts.client,
            ATTACKER.into(),
            (SERVER, HOLDER).into(),
        )?;
        stream.shutdown(Shutdown::Write)?;
        Ok(stream)
    };
    keep(500, &mut Pace::new(100.0), stop, open, |_| {});
}

fn resets(world: &World, stop: &Stop) {
    let mut pace = Pace::new(100.0);
    let data = pattern(0, 10_000);
    while let Some(due) = pace.next(stop) {
        for _ in 0..due {
            let to = (SERVER, ECHO).into();
            let opened = connect_from(&world.hosts.client, ATTACKER.into(), to);
            if let Ok(mut stream) = opened {
                let _ = stream.write_all(&data);
                let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            }
        }
    }
}

fn urgent_data(world: &World, stop: &Stop) {
    let mut pace = Pace::new(50.0);
    while let Some(due) = pace.next(stop) {
        for _ in 0..due {
            let to = (SERVER, SINK).into();
            let opened = connect_from(&world.hosts.client, ATTACKER.into(), to);
            if let Ok(mut stream) = opened {
                for part in [4, 8_000, 1] {
                    let _ = stream.write_all(&pattern(0, part));
                    let _ = send(&stream, b"!", SendFlags::OOB);
                }
            }
        }
    }
}

fn addresses_of_64(world: &World, stop: &Stop) {
    let to = (SERVER_V6.parse::<Ipv6Addr>().expect("an address"), HOLDER).into();
    let open = |number: usize| {
        let last = 1_000 + number % usize::from(ADDRESSES);
        let from: IpAddr = format!("fd45::{last}").parse().expect("an address");
        connect_from(&world.hosts.client, from, to)
    };
    keep(1_500, &mut Pace::new(300.0), stop, open, |_| {});
}

fn junk_at_admin(world: &World, stop: &Stop) {
    let (path, mut pace) = (world.path("pep.sock"), Pace::new(50.0));
    let mut silent = Vec::new();
    while let Some(due) = pace.next(stop) {
        for n in 0..due {
            let Ok(mut stream) = UnixStream::connect(&path) else {
                continue;
            };
            // what is not taken is not sent
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            if silent.len() < 8 {
                silent.push(stream);
            } else {
                let _ = stream.write_all(&pattern(n, 4_096));
            }
        }
        silent.retain(|stream| stream.peer_addr().is_ok());
    }
}

/// Sends datagrams at a rate until the end.
pub fn datagrams(
    world: &World,
    (from, to): (IpAddr, SocketAddr),
    rate: f64,
    stop: &Stop,
    make: impl Fn(usize) -> Vec<u8> + Send,
) {
    // some hundred of them, again and again: making each anew would cost more than the daemon
    let packets: Vec<Vec<u8>> = (0..256).map(make).collect();
    let (mut pace, mut sent) = (Pace::new(rate), 0);
    world.at_client(|| {
        let socket = UdpSocket::bind((from, 0)).expect("a port");
        while let Some(due) = pace.next(stop) {
            for _ in 0..due {
                // a full queue, or no server: sent in vain
                let _ = socket.send_to(&packets[sent % packets.len()], to);
                sent += 1;
            }
        }
    });
}

fn tunnel_silent_tcp(world: &World, stop: &Stop) {
    world.at_client(|| {
        let open = |_| TcpStream::connect_timeout(&world::TUNNEL, Duration::from_secs(2));
        keep(900, &mut Pace::new(500.0), stop, open, |_| {});
    });
}

fn tunnel_junk(world: &World, stop: &Stop) {
    // over the other wire than the client's
    let from = IpAddr::from([10, 2, 0, 2]);
    datagrams(world, (from, world::TUNNEL), 20_000.0, stop, |n| {
        if n.is_multiple_of(2) {
            // ports, 4 words, type Data with a long number
            let mut packet = vec![0, 1, 25, 111, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
            packet[14] = n as u8;
            packet
        } else {
            pattern(n, 64)
        }
    });
}

fn rnis_strangers(world: &World, stop: &Stop) {
    let open = |_| connect_from(&world.hosts.client, ATTACKER.into(), world::BRIDGE);
    keep(32, &mut Pace::new(100.0), stop, open, |_| {});
}

/// Reports a second, and UEs of each.
const INVENTED: (f64, u32) = (10.0, 500);

fn rnis_invented_addresses(world: &World, stop: &Stop) {
    let (rate, count) = INVENTED;
    let (mut pace, mut seq) = (Pace::new(rate), 0_u64);
    let mut stream = None;
    while let Some(due) = pace.next(stop) {
        for _ in 0..due {
            if stream.is_none() {
                stream = connect_from(&world.hosts.client, ATTACKER.into(), world::BRIDGE).ok();
            }
            let Some(to) = stream.as_mut() else {
                continue;
            };
            let first = seq as u32 * count;
            let ues: Vec<IpAddr> = (0..count)
                .map(|i| IpAddr::from((0x1400_0000 + first + i).to_be_bytes()))
                .collect();
            seq += 1;
            let mut report = report(&ues, seq, monotonic(), 1_000_000_000);
            report.cell.id = rnis::CellId(7);
            let line = [rnis::codec::encode_json(&report), b"\n".to_vec()].concat();
            if to.write_all(&line).is_err() {
                stream = None;
            }
        }
    }
}

fn rnis_silent_rest(world: &World, stop: &Stop) {
    let mut pace = Pace::new(300.0);
    keep_connections(
        world,
        Part::Rnis,
        world::REST,
        (300, &mut pace),
        stop,
        |_| {},
    );
}

fn rnis_stalled_bodies(world: &World, stop: &Stop) {
    world.host(Part::Rnis).enter(|| {
        // below the rate of a client
        let mut pace = Pace::new(40.0);
        let token = http::token(world::REST, "attacker", "secret").unwrap_or_default();
        let head = format!(
            "POST /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\
             Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        let open = |_| {
            let mut stream = TcpStream::connect_timeout(&world::REST, Duration::from_secs(2))?;
            stream.write_all(head.as_bytes())?;
            Ok(stream)
        };
        keep(300, &mut pace, stop, open, |_| {});
    });
}

fn rnis_wrong_tokens(world: &World, stop: &Stop) {
    let mut pace = Pace::new(200.0);
    world.host(Part::Rnis).enter(|| {
        while let Some(due) = pace.next(stop) {
            for n in 0..due {
                let token = format!("{n:064}");
                let path = "/rni/v2/queries/rab_info";
                let limit = Duration::from_secs(2);
                // refused, and by the rate of its address soon at once
                let _ = http::get_with(world::REST, path, &token, limit);
            }
        }
    });
}
