//! With the kernel, over its loopback.

use super::*;
use rustix::net::sockopt::tcp_congestion;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};

/// A name of one's own for each attachment.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("bcdbe_{:x}_{number}", std::process::id())
}

/// An address that nobody listens at.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    listener.local_addr().expect("bound")
}

/// Attached to this process's cgroup for one port; none, and said so, without the rights.
fn attached(roles: Roles, port: u16, mode: Mode, name: &str) -> Option<Attached> {
    let cgroup = own_cgroup().expect("a cgroup of version 2");
    let plan = Plan {
        roles,
        ports: &[port],
        name,
        ..Plan::new(&cgroup, mode)
    };
    match Attached::attach(&plan) {
        Ok(attached) => Some(attached),
        Err(AttachError::NotPermitted) => {
            eprintln!("skipped: attaching programs needs root");
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
        assert!(counts.written > 10 && counts.read > 10, "{counts:?}");
        assert!(counts.read <= counts.written, "{counts:?}");
        assert_eq!(tcp_congestion(&pair.server).expect("an option"), name);
        let estimate = attached.estimate(pair.client.as_fd()).expect("readable");
        let estimate = estimate.expect("it measures");
        assert!(estimate.has_before, "no long window ended");
        let decision = attached.decision(pair.server.as_fd()).expect("readable");
        let decision = decision.expect("it is served");
        assert!(decision.is_deciding);
        assert!(decision.state.told > 0 && decision.state.windows > 0);
        // a client's socket is no server's
        assert_eq!(
            attached.decision(pair.client.as_fd()).expect("readable"),
            None
        );
    }
}
