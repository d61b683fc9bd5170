//! With the kernel, over its loopback.

use super::*;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};

/// A name of one's own for each attachment.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("bcdbe_{:x}_{number}", std::process::id())
}

/// An address without a listener.
fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, testing::free_port()).into()
}

/// Attached to this process's cgroup for one port; none, with a printed note, without the rights.
fn attached(roles: Roles, port: u16, mode: Mode, name: &str) -> Option<Attached> {
    let cgroup = own_cgroup().expect("a cgroup of version 2");
    let plan = Plan {
        roles,
        ports: &[port],
        name,
        // segments of 64 kB, the loopback's, must not be further apart than windows are long
        initial_report: RateReport::new(100_000_000),
        ..Plan::new(&cgroup, mode)
    };
    match Attached::attach(&plan) {
        Ok(attached) => Some(attached),
        Err(AttachError::NotPermitted) => {
            testing::skip("attaching BPF programs", testing::Missing::Root);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A connection to a listener at the address.
struct Pair {
    client: TcpStream,
    server: TcpStream,
}

impl Pair {
    fn connect(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("a listener");
        let client = TcpStream::connect(address).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        Self { client, server }
    }

    /// Sends so many bytes to the client.
    fn send(&mut self, size: usize) {
        let (client, server) = (&mut self.client, &mut self.server);
        std::thread::scope(|scope| {
            let received = scope.spawn(|| {
                let mut buffer = vec![0; size];
                client.read_exact(&mut buffer)
            });
            server.write_all(&vec![7; size]).expect("sent");
            received.join().expect("ended").expect("received");
        });
    }
}

#[test]
fn a_client_reports_and_its_server_paces() {
    for mode in [Mode::Paper, Mode::Default] {
        let (address, name) = (free_address(), unique());
        let Some(attached) = attached(Roles::BOTH, address.port(), mode, &name) else {
            return;
        };
        let mut pair = Pair::connect(address);
        pair.send(30_000_000);
        let counts = attached.counts().expect("readable");
        assert_eq!((counts.clients, counts.refused, counts.servers), (1, 0, 1));
        assert!(counts.written > 2 && counts.read > 2, "{counts:?}");
        assert!(counts.read <= counts.written, "{counts:?}");
        assert_eq!(tcp_congestion(&pair.server).expect("an option"), name);
        let estimate = attached.estimate(pair.client.as_fd()).expect("readable");
        let estimate = estimate.expect("it measures");
        assert!(estimate.has_before, "no long window ended");
        let decision = attached.decision(pair.server.as_fd()).expect("readable");
        let decision = decision.expect("it is served");
        assert!(decision.is_deciding);
        assert!(decision.state.reported > 0 && decision.state.windows > 0);
        // another port's connections are left alone
        let mut other = Pair::connect(free_address());
        other.send(100_000);
        assert_eq!(attached.counts().expect("readable").clients, 1);
        assert_eq!(
            attached.estimate(other.client.as_fd()).expect("readable"),
            None
        );
        // a client's socket is no server's
        assert_eq!(
            attached.decision(pair.client.as_fd()).expect("readable"),
            None
        );
    }
}

#[test]
fn a_client_without_the_option_gets_bbr() {
    let (address, name) = (free_address(), unique());
    let Some(attached) = attached(Roles::SERVER, address.port(), Mode::Default, &name) else {
        return;
    };
    let mut pair = Pair::connect(address);
    let chosen = tcp_congestion(&pair.server).expect("an option");
    assert_ne!(chosen, name, "it was not chosen");
    set_tcp_congestion(&pair.server, &name).expect("it can be chosen");
    pair.send(10_000_000);
    let counts = attached.counts().expect("readable");
    assert_eq!((counts.servers, counts.read, counts.fallbacks), (0, 0, 0));
    let decision = attached.decision(pair.server.as_fd()).expect("readable");
    assert!(!decision.expect("it is served").is_deciding);
}

#[test]
fn a_server_without_cdbe_receives_no_option_but_in_the_syn() {
    let (address, name) = (free_address(), unique());
    let Some(attached) = attached(Roles::CLIENT, address.port(), Mode::Default, &name) else {
        return;
    };
    let mut pair = Pair::connect(address);
    // one in each SYN: a lost one is sent again
    let in_syns = attached.counts().expect("readable").written;
    assert!(in_syns > 0);
    // what leaves at once is 64 KiB at most, and each would have one
    const SENT: u32 = 10_000_000;
    pair.send(SENT as usize);
    let counts = attached.counts().expect("readable");
    assert_eq!((counts.clients, counts.refused), (0, 1));
    // all processes of the machine are looked at: others' SYNs to this port number count, too
    let others = counts.written - in_syns;
    assert!(others < u64::from(SENT >> 16), "{others} more options");
    assert_eq!(
        attached.estimate(pair.client.as_fd()).expect("readable"),
        None
    );
}

#[test]
fn when_reports_stop_bbr_takes_over_and_the_connection_goes_on() {
    let (address, name) = (free_address(), unique());
    let port = address.port();
    let Some(server) = attached(Roles::SERVER, port, Mode::Default, &name) else {
        return;
    };
    let client = attached(Roles::CLIENT, port, Mode::Default, &unique()).expect("as the other");
    let mut pair = Pair::connect(address);
    pair.send(5_000_000);
    let is_deciding = || {
        let decision = server.decision(pair.server.as_fd()).expect("readable");
        decision.expect("it is served").is_deciding
    };
    assert!(is_deciding());
    drop(client);
    testing::wait_until("the server falls back", || {
        pair.send(100_000);
        server.counts().expect("readable").fallbacks > 0
    });
    assert_eq!(server.counts().expect("readable").fallbacks, 1);
    let decision = server.decision(pair.server.as_fd()).expect("readable");
    assert!(!decision.expect("it is served").is_deciding);
    pair.send(5_000_000);
    // and without the server's program too
    drop(server);
    assert!(!is_registered(&name), "it can be chosen no more");
    pair.send(5_000_000);
}

/// Has a client report this rate, whatever it measures, from now on.
fn lie(attached: &Attached, client: &TcpStream, rate: u64) {
    let key = client.as_raw_fd().to_ne_bytes();
    let value = attached.clients.lookup(&key, MapFlags::ANY);
    let mut value = value.expect("readable").expect("it measures");
    let word = |at: usize| ESTIMATE_AT + 8 * at..ESTIMATE_AT + 8 * (at + 1);
    // no sample window ends after this one
    value[word(15)].copy_from_slice(&(u64::MAX / 2).to_ne_bytes());
    value[word(24)].copy_from_slice(&rate.to_ne_bytes());
    let updated = attached.clients.update(&key, &value, MapFlags::ANY);
    updated.expect("written");
}

#[test]
fn a_false_report_is_bounded_by_twice_what_arrives() {
    let (address, name) = (free_address(), unique());
    let Some(attached) = attached(Roles::BOTH, address.port(), Mode::Default, &name) else {
        return;
    };
    let mut pair = Pair::connect(address);
    // little has been delivered yet
    pair.send(1_000);
    let most = u64::from(u32::MAX);
    for (rate, size) in [(most, 4_000_000), (0, 1_000_000), (1, 100_000)] {
        lie(&attached, &pair.client, rate);
        pair.send(size);
        check_bound(&attached, &mut pair, rate);
    }
    // now this, now a million times as much
    for k in 0..20 {
        let rate = if k % 2 == 0 { 4_000 } else { 4_000_000_000 };
        lie(&attached, &pair.client, rate);
        pair.send(200_000);
        check_bound(&attached, &mut pair, rate);
    }
}

fn check_bound(attached: &Attached, pair: &mut Pair, rate: u64) {
    let mut last = None;
    for _ in 0..20 {
        let decision = attached.decision(pair.server.as_fd()).expect("readable");
        let state = decision.expect("it is served").state;
        // a report of nothing is passed over
        assert!(
            rate == 0 || state.reported == rate,
            "reported {rate}: {state:?}"
        );
        let delivered = state.delivered.into_iter().max().unwrap_or(0);
        let bound = (2 * delivered).max(u64::from(INITIAL_REPORT));
        if state.report <= bound {
            return;
        }
        // a window of deliveries may have ended since the report was bounded: the next one is. With 1 kB instead it was
        // not bounded on an emulated 6.1 after twenty more exchanges; why is not known
        last = Some(state);
        pair.send(200_000);
    }
    panic!("reported {rate}: {last:?}");
}

#[test]
fn what_cannot_be_attached_is_an_error() {
    let cgroup = own_cgroup().expect("a cgroup of version 2");
    let refused = |plan: &Plan<'_>| Attached::attach(plan).expect_err("refused");
    let plan = Plan::new(&cgroup, Mode::Default);
    for name in ["", "sixteen_letters_", "a-b"] {
        let error = refused(&Plan {
            name,
            ..plan.clone()
        });
        assert!(
            error.is_input() && error.to_string().contains("1 to 15"),
            "{error}"
        );
    }
    let folder = std::env::temp_dir();
    let error = refused(&Plan {
        cgroup: &folder,
        ..plan.clone()
    });
    assert!(matches!(error, AttachError::NotCgroup2 { .. }), "{error}");
    let missing = folder.join("no such cgroup");
    let error = refused(&Plan {
        cgroup: &missing,
        ..plan.clone()
    });
    assert!(error.to_string().contains("no such cgroup"), "{error}");
    let ports = [1; MAX_PORTS + 1];
    let error = refused(&Plan {
        ports: &ports,
        ..plan.clone()
    });
    assert!(error.to_string().contains("at most 1024"), "{error}");
    let error = refused(&Plan {
        name: "reno",
        ..plan
    });
    assert!(matches!(error, AttachError::NameInUse { .. }), "{error}");
}
