//! The program in this kernel, between sockets of the loopback interface: what a server can send is what was shown.

use super::*;
use edge::wire::Exact;
use edge::{Passing, ServerWindow, ShownWindow};
use rapid::WanWindow;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use testing::{assert_pattern, pattern};
use units::{Bytes, Duration, Instant};

/// The receive buffer, and so the bound of all windows.
const BUFFER: u32 = 1 << 20;
/// Shown before anything is decided. The SYN shows 65,535 bytes at most.
const YOUNG: u32 = 100_000;

fn config(more: &str) -> Config {
    let text = format!(
        "mode = \"explicit\"\nwan-interface = \"lo\"\n[explicit]\nlisten = \"127.0.0.1:7700\"\n\
         upstream = \"127.0.0.1:7701\"\n[reports]\nsource = \"unix:/nowhere\"\n[rapid]\n{more}\n"
    );
    Config::parse("pep.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn loaded(test: &str) -> Option<Arc<Wire>> {
    testing::has_root(test).then(|| {
        let shown = Shown::new(&config("wan-actuator = \"wire\"")).expect("loaded");
        assert_eq!(shown.name(), "wire");
        shown.wire.expect("loaded")
    })
}

/// A connection from the proxy, and its server.
struct Pair {
    slot: WireSlot,
    near: OwnedFd,
    far: TcpStream,
}

impl Pair {
    fn connect(wire: &Arc<Wire>, at: &str) -> Self {
        Self::connect_with(wire, at, Some(BUFFER))
    }

    /// With a receive buffer of that size, or as the kernel has it.
    fn connect_with(wire: &Arc<Wire>, at: &str, buffer: Option<u32>) -> Self {
        let listener = TcpListener::bind(at).expect("a listener");
        let to = listener.local_addr().expect("bound");
        let family = match to {
            SocketAddr::V4(_) => rustix::net::AddressFamily::INET,
            SocketAddr::V6(_) => rustix::net::AddressFamily::INET6,
        };
        let near =
            rustix::net::socket(family, rustix::net::SocketType::STREAM, None).expect("a socket");
        let slot = wire.take(&near, YOUNG).expect("taken");
        if let Some(buffer) = buffer {
            sockopt::set_socket_recv_buffer_size_force(&near, buffer as usize).expect("set");
        }
        rustix::net::connect(&near, &to).expect("connected");
        let (far, _) = listener.accept().expect("accepted");
        far.set_nonblocking(true).expect("set");
        assert!(slot.is_established());
        Self { slot, near, far }
    }

    fn unread(&self) -> u64 {
        ioctl_fionread(&self.near).expect("a number")
    }

    /// The server sends as much as it can: gives what has arrived in all when it has sent so much and waits, or more.
    fn pour(&mut self, read: u64, at_least: u64) -> u64 {
        testing::wait_for("as much as was shown has come", || {
            while self.far.write(&[7; 65_536]).is_ok() {}
            let received = read + self.unread();
            (received >= at_least).then_some(received)
        })
    }

    /// Has the window decided: a budget, of which so much waits.
    fn decide(&self, budget: u64, waiting: u64, received: u64) -> Exact {
        let rule = ServerWindow::new(
            ShownWindow::default(),
            Bytes::new(1_448),
            Bytes::new(u64::from(YOUNG)),
        );
        let of = Passing {
            waiting: Bytes::new(waiting),
            received: Bytes::new(received),
            cap: Bytes::new(u64::from(BUFFER)),
        };
        let decided = WanWindow::Budget(Bytes::new(budget));
        let rtt = Some(Duration::from_millis(10));
        self.slot.show(&self.near, || rule.exact(decided, of, rtt))
    }

    fn read(&mut self, bytes: u64) {
        let mut left = bytes as usize;
        let mut buffer = vec![0; 65_536];
        while left > 0 {
            let most = left.min(buffer.len());
            left -= rustix::io::read(&self.near, &mut buffer[..most]).expect("read");
        }
    }

    fn window_scale(&self) -> u8 {
        socket_options::tcp_info(&self.near)
            .expect("a connection")
            .rcv_wscale
    }
}

/// What the server is shown is the edge, whatever arrives, until it moves; and then it is shown the new one
/// without data: it sends as much as that, and not more.
fn edges_are_followed(wire: &Arc<Wire>, at: &str) {
    let mut pair = Pair::connect(wire, at);
    let granule = 1 << pair.window_scale();
    let mut read = 0;
    let mut edge: u64 = 300_000;
    for _ in 0..20 {
        // all of the budget is on its way to the UE but what is unread
        let received = read + pair.unread();
        let exact = pair.decide(edge - received, 0, received);
        assert_eq!(exact.edge(), Some(Bytes::new(edge)));
        // a server sends whole segments, which are of 64 kB here, and the rest when it has waited for long
        let received = pair.pour(read, edge - 65_536 - granule);
        assert!(received <= edge + granule, "{received} of {edge}");
        // what is read moves no edge
        read = received - 10_000;
        pair.read(received - 10_000 - (received - pair.unread()));
        std::thread::yield_now();
        assert!(read + pair.unread() <= edge + granule);
        edge += 200_000;
    }
    assert!(wire.updates() >= 20);
}

#[test]
fn a_server_sends_up_to_the_edge_and_no_more() {
    let Some(wire) = loaded("a_server_sends_up_to_the_edge_and_no_more") else {
        return;
    };
    edges_are_followed(&wire, "127.0.0.1:0");
}

#[test]
fn and_so_it_does_over_ipv6() {
    let Some(wire) = loaded("and_so_it_does_over_ipv6") else {
        return;
    };
    edges_are_followed(&wire, "[::1]:0");
}

/// A keepalive probe that no update was requested for stays one: it is answered.
#[test]
fn probes_that_are_no_updates_are_answered() {
    let Some(wire) = loaded("probes_that_are_no_updates_are_answered") else {
        return;
    };
    let pair = Pair::connect(&wire, "127.0.0.1:0");
    pair.decide(500_000, 0, 0);
    testing::wait_until("the edge is shown", || {
        pair.slot.left(Bytes::new(0)).get() >= 500_000
    });
    // further, and not worth an update
    let updates = wire.updates();
    pair.decide(500_900, 0, 0);
    assert_eq!(wire.updates(), updates);
    let segments = |of: &OwnedFd| socket_options::tcp_info(of).expect("a connection").segs_in;
    let before = segments(&pair.near);
    crate::sys::send_window_probe(&pair.near).expect("sent");
    testing::wait_until("the probe is answered", || segments(&pair.near) > before);
    // one that is an update is not: nothing is wrong with it
    let before = segments(&pair.near);
    pair.decide(600_000, 0, 0);
    assert_eq!(wire.updates(), updates + 1);
    let mut far = &pair.far;
    far.write_all(&[1; 10]).expect("sent");
    testing::wait_until("it has come", || pair.unread() == 10);
    assert_eq!(segments(&pair.near), before + 1);
}

/// A kernel that has less room than is decided is the bound: its buffer is as it begins, and is not read.
#[test]
fn a_server_never_sends_more_than_the_buffer_holds() {
    let Some(wire) = loaded("a_server_never_sends_more_than_the_buffer_holds") else {
        return;
    };
    let mut pair = Pair::connect_with(&wire, "127.0.0.1:0", None);
    let room = sockopt::socket_recv_buffer_size(&pair.near).expect("a size") as u32;
    assert!(65_535 << pair.window_scale() > 10 * room, "{room}");
    let rule = ServerWindow::new(ShownWindow::default(), Bytes::new(1_448), Bytes::ZERO);
    let of = Passing {
        waiting: Bytes::ZERO,
        received: Bytes::ZERO,
        cap: Bytes::new(1 << 30),
    };
    let huge = WanWindow::Budget(Bytes::new(1 << 30));
    pair.slot.show(&pair.near, || rule.exact(huge, of, None));
    assert!(pair.pour(0, 10_000) <= u64::from(room));
    // what is beyond the kernel's window is refused, and stays unacknowledged however often it is sent
    testing::wait_until("all that was sent is taken", || {
        let far = socket_options::tcp_info(&pair.far).expect("a connection");
        far.unacked == 0
    });
}

/// Nothing is decided for it, and it has used what it was shown.
#[test]
fn a_server_that_has_been_shown_nothing_for_long_is_shown_the_least() {
    let Some(wire) = loaded("a_server_that_has_been_shown_nothing_for_long_is_shown_the_least")
    else {
        return;
    };
    const MSS: u64 = 1_448;
    let mut pair = Pair::connect(&wire, "127.0.0.1:0");
    pair.decide(0, 0, 0);
    let received = testing::wait_for("all that was shown is used", || {
        let received = pair.pour(0, 0);
        (pair.slot.left(Bytes::new(received)).get() < MSS).then_some(received)
    });
    let rule = ServerWindow::new(ShownWindow::default(), Bytes::new(MSS), Bytes::ZERO);
    let relief = rule.exact_relief();
    let is_due = |ms| {
        let now = Instant::ZERO + Duration::from_millis(ms);
        pair.slot.relieve(now, Bytes::new(received), &relief)
    };
    assert!(!is_due(0) && !is_due(999) && is_due(1_000));
    let exact = pair.decide(0, received, received);
    assert_eq!(exact.edge(), Some(Bytes::new(received + 2 * MSS)));
    pair.pour(0, received + MSS);
}

#[test]
fn a_socket_that_sent_its_syn_elsewhere_is_not_used() {
    let Some(wire) = loaded("a_socket_that_sent_its_syn_elsewhere_is_not_used") else {
        return;
    };
    lock(&wire.links).attached.clear();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let near = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .expect("a socket");
    let slot = wire.take(&near, YOUNG).expect("taken");
    rustix::net::connect(&near, &listener.local_addr().expect("bound")).expect("connected");
    assert!(!slot.is_established() && !slot.is_used());
    // it comes back
    wire.refresh(&config("")).expect("attached");
    Pair::connect(&wire, "127.0.0.1:0");
    assert_eq!(wire.interfaces(), ["lo"]);
}

/// Slots come back as connections end, and without one a connection has its window set as without the program.
#[test]
fn where_all_slots_are_taken_no_more_connections_are() {
    let Some(wire) = loaded("where_all_slots_are_taken_no_more_connections_are") else {
        return;
    };
    let all: Vec<Slot> = (0..SLOTS)
        .map(|_| lock(&wire.slots).take().expect("free"))
        .collect();
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .expect("a socket");
    assert!(wire.take(&socket, YOUNG).is_err());
    assert_eq!(wire.clamped(), 1);
    wire.give_back(all[0]);
    let taken = wire.take(&socket, YOUNG).expect("one is free");
    assert!(wire.take(&socket, YOUNG).is_err());
    drop(taken);
    assert!(wire.take(&socket, YOUNG).is_ok());
    assert_eq!(wire.clamped(), 2);
}

#[test]
fn every_byte_comes_while_the_edge_moves_by_a_little() {
    let Some(wire) = loaded("every_byte_comes_while_the_edge_moves_by_a_little") else {
        return;
    };
    const ALL: usize = 20_000_000;
    let pair = Pair::connect(&wire, "127.0.0.1:0");
    pair.far.set_nonblocking(false).expect("set");
    let mut far = pair.far.try_clone().expect("copied");
    let sends = std::thread::spawn(move || {
        far.write_all(&pattern(0, ALL)).expect("sent");
    });
    let mut received = 0;
    let mut near = TcpStream::from(pair.near.try_clone().expect("copied"));
    let mut buffer = vec![0; 50_000];
    while received < ALL {
        let n = near.read(&mut buffer).expect("received");
        assert!(n > 0);
        assert_pattern(received, &buffer[..n]);
        received += n;
        pair.decide(150_000, 0, received as u64);
    }
    sends.join().expect("sent");
}
