//! Datagrams from the server to the client, with an ECN field, and what of them arrives.

use super::traffic::TIMEOUT;
use super::{Hosts, Namespace, client, server};
use rustix::net::sockopt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use testing::wait_until;

/// The ECN field of an IP header (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

impl Ecn {
    const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// As nft calls it.
    fn name(self) -> &'static str {
        ["not-ect", "ect1", "ect0", "ce"][self as usize]
    }
}

/// What a flow sends.
#[derive(Clone, Copy, Debug)]
pub struct Datagrams {
    pub is_ipv6: bool,
    pub port: u16,
    pub ecn: Ecn,
    /// Payload of each, bytes.
    pub bytes: usize,
    /// At a time, with a pause behind.
    pub burst: usize,
    pub pause: Duration,
}

impl Datagrams {
    /// Some 5 MB/s.
    pub fn heavy(port: u16, ecn: Ecn) -> Self {
        Self {
            is_ipv6: false,
            port,
            ecn,
            bytes: 1_200,
            burst: 4,
            pause: Duration::from_millis(1),
        }
    }

    /// Some 20 kB/s.
    pub fn sparse(port: u16, ecn: Ecn) -> Self {
        Self {
            bytes: 100,
            burst: 1,
            pause: Duration::from_millis(5),
            ..Self::heavy(port, ecn)
        }
    }

    /// In IPv6 or IPv4.
    pub fn of(self, is_ipv6: bool) -> Self {
        Self { is_ipv6, ..self }
    }

    fn socket(&self, hosts: &Hosts) -> UdpSocket {
        let at = SocketAddr::new(server(self.is_ipv6), 0);
        let socket = hosts.server.enter(|| UdpSocket::bind(at)).expect("bound");
        if self.is_ipv6 {
            sockopt::set_ipv6_tclass(&socket, self.ecn as u32).expect("set");
        } else {
            sockopt::set_ip_tos(&socket, self.ecn as u8).expect("set");
        }
        socket
    }

    fn to(&self) -> SocketAddr {
        SocketAddr::new(client(self.is_ipv6), self.port)
    }

    /// Sends so many, one after the other.
    pub fn send(&self, hosts: &Hosts, number: u64) {
        let socket = self.socket(hosts);
        for _ in 0..number {
            socket
                .send_to(&vec![0; self.bytes], self.to())
                .expect("sent");
        }
    }

    /// Sends until it is stopped.
    pub fn start(self, hosts: &Hosts) -> Flow {
        let socket = self.socket(hosts);
        let (stop, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&sent));
        let thread = std::thread::spawn(move || {
            let payload = vec![0; self.bytes];
            while !stopped.load(Relaxed) {
                for _ in 0..self.burst {
                    socket.send_to(&payload, self.to()).expect("sent");
                    count.fetch_add(1, Relaxed);
                }
                std::thread::sleep(self.pause);
            }
        });
        Flow {
            stop,
            sent,
            thread: Some(thread),
        }
    }
}

/// A flow that sends.
pub struct Flow {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flow {
    fn end(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Ends it; gives how many it has sent.
    pub fn stop(mut self) -> u64 {
        self.end();
        self.sent.load(Relaxed)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts what arrives at ports of the client, by ECN field.
pub struct Arrivals<'a> {
    client: &'a Namespace,
    /// What would be answered by an ICMP error is received, and not read.
    _sockets: Vec<UdpSocket>,
}

impl<'a> Arrivals<'a> {
    /// At these ports, in both families.
    pub fn count(hosts: &'a Hosts, ports: &[u16]) -> Self {
        let mut script =
            "add table inet t\nadd chain inet t c { type filter hook input priority 0; }\n"
                .to_owned();
        let mut sockets = Vec::new();
        for port in ports {
            for ecn in Ecn::ALL.map(Ecn::name) {
                let counter = counter(*port, ecn);
                script += &format!("add counter inet t {counter}\n");
                for family in ["ip", "ip6"] {
                    script += &format!(
                        "add rule inet t c udp dport {port} {family} ecn {ecn} counter name {counter}\n"
                    );
                }
            }
            for is_ipv6 in [false, true] {
                let at = SocketAddr::new(client(is_ipv6), *port);
                let socket = hosts.client.enter(|| UdpSocket::bind(at));
                sockets.push(socket.expect("bound"));
                // what comes before the next hop's address is resolved may be dropped: here it is refused, once it is
                // (a machine that is busy for seconds may find no answer at first)
                wait_until("the next hop is resolved", || {
                    let next = hosts
                        .server
                        .enter(|| TcpStream::connect_timeout(&at, TIMEOUT));
                    let error = next.expect_err("nothing listens");
                    error.kind() == ErrorKind::ConnectionRefused
                });
            }
        }
        hosts.client.sh(&format!("nft -f - <<'END'\n{script}END"));
        Self {
            client: &hosts.client,
            _sockets: sockets,
        }
    }

    /// At a port with this field.
    pub fn with(&self, port: u16, ecn: Ecn) -> u64 {
        let name = counter(port, ecn.name());
        let text = self.client.sh(&format!("nft list counter inet t {name}"));
        let mut words = text
            .split_whitespace()
            .skip_while(|word| *word != "packets");
        let packets = words.nth(1).and_then(|word| word.parse().ok());
        packets.unwrap_or_else(|| panic!("no counter: {text}"))
    }

    /// At a port.
    pub fn all(&self, port: u16) -> u64 {
        Ecn::ALL.into_iter().map(|ecn| self.with(port, ecn)).sum()
    }
}

fn counter(port: u16, ecn: &str) -> String {
    format!("p{port}_{}", ecn.replace('-', "_"))
}
