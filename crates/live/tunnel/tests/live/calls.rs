//! Packets of a call beside a download over two wires, of which one stalls; what waits too long is marked or dropped; the
//! field of ECN both ways.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, emulated_or, one_path, serve, server_config,
    two_paths,
};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use testing::{HANG_LIMIT, Namespace, wait_until};

pub const TESTS: &[Test] = &[
    (
        "packets_of_a_call_arrive_once_while_a_wire_stalls",
        packets_of_a_call_arrive_once_while_a_wire_stalls,
    ),
    (
        "what_waits_too_long_is_marked_or_dropped",
        what_waits_too_long_is_marked_or_dropped,
    ),
    (
        "marks_on_the_way_come_out_both_ways",
        marks_on_the_way_come_out_both_ways,
    ),
];

/// Inside, the client.
const CLIENT: &str = "10.99.0.2";
/// Expedited forwarding (RFC 3246), as the byte of the header.
const EF: u8 = 46 << 2;
const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;
/// Packets of a frame.
const FRAME: u64 = 5;

/// A socket on a host whose packets have this byte in their header.
fn socket(host: &Namespace, address: &str, tos: u8) -> UdpSocket {
    let socket = host
        .enter(|| UdpSocket::bind(format!("{address}:7001")))
        .expect("bound");
    rustix::net::sockopt::set_ip_tos(&socket, tos).expect("set");
    socket.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    socket
}

/// A call from the server, frame by frame: the next one leaves once all of the last have come.
struct Call {
    sender: UdpSocket,
    receiver: UdpSocket,
    /// How often each number came.
    came: BTreeMap<u64, u64>,
    sent: u64,
}

impl Call {
    fn new(hosts: &Hosts) -> Self {
        let sender = socket(&hosts.server, SERVER, EF);
        sender.connect(format!("{CLIENT}:7001")).expect("a route");
        Self {
            sender,
            receiver: socket(&hosts.client, CLIENT, EF),
            came: BTreeMap::new(),
            sent: 0,
        }
    }

    fn frames(&mut self, count: u64) {
        for _ in 0..count {
            for _ in 0..FRAME {
                let mut packet = [0; 600];
                packet[..8].copy_from_slice(&self.sent.to_be_bytes());
                self.sender.send(&packet).expect("sent");
                self.sent += 1;
            }
            while (self.came.len() as u64) < self.sent {
                assert!(self.receive(), "a packet has not come");
            }
        }
    }

    fn receive(&mut self) -> bool {
        let mut packet = [0; 600];
        let Ok(length) = self.receiver.recv(&mut packet) else {
            return false;
        };
        assert_eq!(length, packet.len());
        let number = packet[..8].try_into().expect("eight bytes");
        *self.came.entry(u64::from_be_bytes(number)).or_default() += 1;
        true
    }
}

/// What is in the queue of the wire that stalls waits there, and comes later.
fn packets_of_a_call_arrive_once_while_a_wire_stalls() {
    let Some(hosts) = Hosts::try_new("packets_of_a_call_arrive_once_while_a_wire_stalls") else {
        return;
    };
    let rate = emulated_or(2, 10);
    hosts.shape("a", rate);
    hosts.shape("b", rate);
    // however busy the machine is, what a path has lost can be in time
    let scheduler = "scheduler = \"deadline\"\nlatency-deadline = \"10 s\"\n";
    let metrics = "[metrics]\nlisten = \"127.0.0.1:9466\"\n";
    let server = server_config(scheduler) + metrics;
    let server = Daemon::start(&hosts.server, "server", &server);
    let client = client_config(scheduler, &two_paths(""));
    let client = Daemon::start(&hosts.client, "client", &client);
    client.wait_for_paths(2);
    let bytes = emulated_or(1_000_000, 10_000_000);
    let address = format!("{SERVER}:5001");
    let sender = serve(&hosts.server, &address, bytes);
    let mut call = Call::new(&hosts);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| download(&hosts.client, &address, bytes, || {}));
        call.frames(20);
        let of_a = || {
            let paths = server.status()["connections"][0]["paths"].clone();
            let paths = paths.as_array().cloned().unwrap_or_default();
            let is_a = |path: &serde_json::Value| {
                let remote = path["remote"].as_str().unwrap_or_default();
                remote.starts_with("10.1.0.2")
            };
            paths.into_iter().find(is_a).expect("its path")
        };
        // on a busy machine it may have been left before
        let is_left = || of_a()["leg"] == "left";
        hosts
            .server
            .sh("tc qdisc change dev a root tbf rate 8kbit burst 16kb limit 300kb");
        while !is_left() {
            call.frames(1);
        }
        call.frames(20);
        hosts.shape("a", rate);
        call.frames(20);
        beside.join().expect("every byte came");
    });
    sender.join().expect("it sent everything");
    // what was under way on the wire that stalled has come
    let is_all_acknowledged = || {
        let paths = server.status()["connections"][0]["paths"].clone();
        let paths = paths.as_array().cloned().unwrap_or_default();
        paths.iter().all(|path| path["in_flight_packets"] == 0)
    };
    wait_until("nothing is under way", is_all_acknowledged);
    call.receiver.set_nonblocking(true).expect("set");
    while call.receive() {}
    assert!(
        call.came.values().all(|times| *times == 1),
        "{:?}",
        call.came
    );
    let latency = server.status()["connections"][0]["classes"]["latency"].clone();
    // each of the call's by itself, given to a path before it came, and others of the class: the kernel's of IGMP
    let counted = latency["packets"].as_u64().expect("a count");
    assert!(counted >= call.sent, "{latency}, {} of the call", call.sent);
    assert_eq!(latency["dropped_packets"], 0);
    let page = metrics_of(&hosts.server);
    for line in [
        "brimful_tunnel_class_packets_total{peer=\"one\",class=\"latency\",fate=\"sent\"} ",
        "brimful_tunnel_class_packets_total{peer=\"one\",class=\"bulk\",fate=\"marked\"} ",
        "# TYPE brimful_tunnel_path_departures_total counter\n",
    ] {
        assert!(page.contains(line), "{line} in\n{page}");
    }
}

fn metrics_of(host: &Namespace) -> String {
    let mut stream = host
        .enter(|| TcpStream::connect("127.0.0.1:9466"))
        .expect("connected");
    stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("an answer");
    page
}

/// A slow wire and a sender that answers no signal: the queue stands. Without a bound, what can be marked is not dropped.
fn what_waits_too_long_is_marked_or_dropped() {
    let Some(hosts) = Hosts::try_new("what_waits_too_long_is_marked_or_dropped") else {
        return;
    };
    hosts.shape("a", 1);
    for (tos, counted, other) in [
        (NOT_ECT, "dropped_packets", "marked_packets"),
        (ECT_0, "marked_packets", "dropped_packets"),
    ] {
        // each has its daemons: nothing of one is counted in the other
        let queue = "scheduler-queue = \"codel\"\n";
        let server = Daemon::start(&hosts.server, "server", &server_config(queue));
        let client = Daemon::start(
            &hosts.client,
            "client",
            &client_config(queue, &one_path("")),
        );
        client.wait_for_paths(1);
        let sender = socket(&hosts.server, SERVER, tos);
        sender.connect(format!("{CLIENT}:7001")).expect("a route");
        let bulk = || server.status()["connections"][0]["classes"]["bulk"].clone();
        wait_until(counted, || {
            for _ in 0..20 {
                // no socket listens there, which is answered now and then
                let _ = sender.send(&[0; 1_000]);
            }
            bulk()[counted].as_u64().expect("a count") > 0
        });
        assert_eq!(bulk()[other], 0, "{counted}");
    }
}

/// RFC 6040 on real sockets: outer fields are marked on the wire, which marks what is ECN-capable inside and has the rest
/// dropped.
fn marks_on_the_way_come_out_both_ways() {
    let Some(hosts) = Hosts::try_new("marks_on_the_way_come_out_both_ways") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &one_path("")));
    client.wait_for_paths(1);
    for host in [&hosts.client, &hosts.server] {
        host.sh("nft 'add table ip fields; \
             add chain ip fields o { type filter hook output priority 0; }; \
             add rule ip fields o oifname a ip ecn set ce; \
             add counter ip fields marked; \
             add chain ip fields i { type filter hook input priority 0; }; \
             add rule ip fields i iifname t0 udp dport 7001 ip ecn ce counter name marked'");
    }
    for (from, to, here, there, receiver) in [
        (&hosts.server, &hosts.client, SERVER, CLIENT, &client),
        (&hosts.client, &hosts.server, CLIENT, SERVER, &server),
    ] {
        let sender = socket(from, here, NOT_ECT);
        let listener = socket(to, there, NOT_ECT);
        sender.connect(format!("{there}:7001")).expect("a route");
        let dropped = || {
            let status = receiver.status();
            status["connections"][0]["marked_drops"]
                .as_u64()
                .expect("a count")
        };
        let before = dropped();
        sender.send(b"not ECN-capable").expect("sent");
        wait_until("it is dropped", || dropped() > before);
        rustix::net::sockopt::set_ip_tos(&sender, ECT_0).expect("set");
        sender.send(b"ECN-capable").expect("sent");
        let mut packet = [0; 64];
        let length = listener.recv(&mut packet).expect("it comes");
        assert_eq!(&packet[..length], b"ECN-capable");
        let counter = to.sh("nft list counter ip fields marked");
        assert!(counter.contains("packets 1 "), "{counter}");
        drop((sender, listener));
    }
}
