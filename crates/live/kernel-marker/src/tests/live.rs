//! The marker at an interface: packets between two network namespaces.

use super::frames::ecn_of_ip;
use super::{ALL, CE, ECT_1, full};
use crate::{Marker, MarkerError, Settings, Unjudged, Way};
use edge::marker::{Order, Verdict};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket, sockopt};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use testing::{HANG_LIMIT, Namespace};

const UE: [u8; 4] = [10, 0, 0, 2];
const BYTES: usize = 400;
const PORT: u16 = 4433;

fn ue() -> IpAddr {
    IpAddr::from(UE)
}

/// An edge and a UE, with what the edge sends and the UE receives: whole IPv4 packets.
pub(super) struct Network {
    pub(super) edge: Namespace,
    pub(super) ue: Namespace,
    sender: UdpSocket,
    receiver: OwnedFd,
}

impl Network {
    pub(super) fn new() -> Self {
        let (edge, ue) = (Namespace::new(), Namespace::new());
        edge.sh(&format!(
            "ip link add ran0 type veth peer name ue0 netns {}; ip addr add 10.0.0.1/24 dev ran0; \
             ip link set ran0 up",
            ue.pid()
        ));
        ue.sh("ip addr add 10.0.0.2/24 dev ue0; ip link set ue0 up");
        let receiver = ue.enter(|| {
            let any = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP));
            any.expect("a raw socket")
        });
        let limit = Some(HANG_LIMIT);
        sockopt::set_socket_timeout(&receiver, sockopt::Timeout::Recv, limit).expect("set");
        let sender = edge.enter(|| UdpSocket::bind("10.0.0.1:0").expect("a socket"));
        let network = Self {
            edge,
            ue,
            sender,
            receiver,
        };
        network.set_ecn(ECT_1);
        network
    }

    /// What is sent from now on has this ECN field.
    pub(super) fn set_ecn(&self, ecn: u8) {
        // IPPROTO_IP, IP_TOS
        socket_options::set_int(&self.sender, 0, 1, ecn.into()).expect("set");
    }

    /// Sends a datagram to a port of the UE.
    pub(super) fn send_to(&self, port: u16, payload: &[u8]) {
        let sent = self.sender.send_to(payload, (ue(), port));
        assert_eq!(sent.expect("sent"), payload.len());
    }

    /// A datagram to a port of the UE as it arrives, with its IPv4 header.
    pub(super) fn sent(&self, port: u16, payload: &[u8]) -> Vec<u8> {
        self.send_to(port, payload);
        self.next(28 + payload.len())
    }

    /// The same without waiting for it.
    pub(super) fn send(&self, payload: &[u8]) {
        self.send_to(PORT, payload);
    }

    /// The next packet of this size that arrives.
    pub(super) fn next(&self, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; 2_000];
        loop {
            let (_, size) =
                recv(&self.receiver, packet.as_mut_slice(), RecvFlags::empty()).expect("it comes");
            if size == bytes {
                packet.truncate(size);
                return packet;
            }
        }
    }

    /// The ECN field with which a packet arrives.
    pub(super) fn passed(&self) -> u8 {
        ecn_of_ip(&self.sent(PORT, &[7; BYTES]))
    }

    /// Until packets arrive so.
    pub(super) fn wait_for(&self, what: &str, ecn: u8) {
        testing::wait_until(what, || self.passed() == ecn);
    }

    pub(super) fn attach(
        &self,
        settings: &Settings,
        way: &'static [Way],
    ) -> Result<Marker, MarkerError> {
        self.edge.enter(|| Marker::attach_by("ran0", settings, way))
    }
}

/// As the daemons have it: what the kernel has.
pub(super) const ANY: &[Way] = &[Way::Tcx, Way::Clsact];
pub(super) const TCX: &[Way] = &[Way::Tcx];
pub(super) const CLSACT: &[Way] = &[Way::Clsact];

/// A kernel without tcx: skipped. Whatever else it refuses is a failure.
pub(super) fn network(test: &str, way: &[Way]) -> Option<Network> {
    if !testing::has_root(test) {
        return None;
    }
    let network = Network::new();
    if way == TCX {
        match network.attach(&ALL, TCX) {
            Err(MarkerError::Kernel { what, source, .. })
                if what == "a link (tcx)" && kernel_cc::is_without_tcx(&source) =>
            {
                eprintln!("{what}: {source}");
                testing::skip(test, testing::Missing::Kernel("tcx"));
                return None;
            }
            attached => drop(attached.expect("attached by tcx")),
        }
    }
    Some(network)
}

fn is_marked_until_dropped(way: &'static [Way]) {
    let Some(network) = network("marks between namespaces", way) else {
        return;
    };
    assert_eq!(network.passed(), ECT_1);
    let marker = network.attach(&ALL, way).expect("attached");
    assert_eq!([marker.way()], way);
    assert_eq!(network.passed(), ECT_1, "no order");
    network.edge.enter(|| {
        marker.set_order(ue(), &full()).expect("set");
    });
    network.wait_for("marked packets", CE);
    let error = network.attach(&ALL, way).expect_err("it is marked there");
    let of_this = format!("process {},", std::process::id());
    assert!(error.to_string().contains(&of_this), "{error}");
    assert!(error.is_input());
    assert_eq!(network.passed(), CE, "the first goes on");
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 10);
    assert!(counts.judged.of(Verdict::MarkL4s) >= 2);
    network.edge.enter(|| drop(marker));
    assert_eq!(network.passed(), ECT_1);
    let again = network.attach(&ALL, way).expect("attached again");
    assert_eq!([again.way()], way);
    network.edge.enter(|| drop(again));
}

#[test]
fn packets_are_marked_until_it_is_detached_and_a_second_is_refused() {
    is_marked_until_dropped(TCX);
}

#[test]
fn as_a_filter_too() {
    is_marked_until_dropped(CLSACT);
}

/// Packets of a UE on several processors while its orders change: all of them are in its state.
#[test]
fn packets_at_once_and_orders_lose_nothing() {
    const EACH: u64 = 10_000;
    let Some(network) = network("packets of a UE at once", ANY) else {
        return;
    };
    let marker = network.attach(&ALL, ANY).expect("attached");
    network.edge.enter(|| {
        marker.set_order(ue(), &full()).expect("set");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let send = || {
                for _ in 0..EACH {
                    let sent = network.sender.send_to(&[7; BYTES], (ue(), PORT));
                    assert_eq!(sent.expect("sent"), BYTES);
                }
            };
            let senders = [(); 3].map(|()| scope.spawn(send));
            let orders = scope.spawn(|| {
                let mut number = 1;
                while !done.load(Relaxed) {
                    number += 1;
                    let order = Order { number, ..full() };
                    marker.set_order(ue(), &order).expect("set");
                }
            });
            for sender in senders {
                sender.join().expect("sent");
            }
            done.store(true, Relaxed);
            orders.join().expect("set");
        });
    });
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 10);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 3 * EACH - 10);
    let total = marker.state(ue())[4];
    assert_eq!(total, 3 * EACH * (28 + BYTES as u64));
}

#[test]
fn a_successor_waits_for_the_end_of_its_predecessor() {
    let Some(network) = network("a successor of a marker", ANY) else {
        return;
    };
    let first = network.attach(&ALL, ANY).expect("attached");
    network
        .edge
        .enter(|| first.set_order(ue(), &full()).expect("set"));
    network.wait_for("marked packets", CE);
    let successor = Settings {
        takes_over: true,
        ..ALL
    };
    let second = network.attach(&successor, ANY).expect("it waits");
    assert_eq!(second.way(), Way::Waiting);
    let set = |order: &Order| {
        network
            .edge
            .enter(|| second.set_order(ue(), order).expect("set"));
    };
    set(&full());
    assert_eq!(second.way(), Way::Waiting);
    assert_eq!(network.passed(), CE);
    let by_second = |of: Verdict| second.counts().expect("counts").judged.of(of);
    assert_eq!(by_second(Verdict::Young), 0);
    drop(first);
    assert_eq!(network.passed(), ECT_1, "until the next order");
    set(&full());
    assert_ne!(second.way(), Way::Waiting);
    network.wait_for("marked packets", CE);
    assert_eq!(by_second(Verdict::Young), 10);
}

#[test]
fn an_interface_that_comes_back_is_found() {
    let Some(network) = network("an interface that comes back", TCX) else {
        return;
    };
    let edge = &network.edge;
    edge.sh("ip link add gone0 type veth peer name gone1");
    let marker = edge.enter(|| Marker::attach("gone0", &ALL).expect("attached"));
    assert!(!edge.enter(|| marker.refresh().expect("there")));
    edge.sh("ip link del gone0");
    let error = edge.enter(|| marker.refresh().expect_err("gone"));
    assert!(matches!(error, MarkerError::NoInterface { .. }), "{error}");
    edge.sh("ip link add gone0 type veth peer name gone1");
    assert!(edge.enter(|| marker.refresh().expect("back")));
    assert!(!edge.enter(|| marker.refresh().expect("there")));
    assert_eq!(marker.way(), Way::Tcx);
}

/// Sends a frame twelve times, only its Ethernet header in the first piece of memory, and prints the second byte of its IP
/// header as it leaves.
const IN_PIECES: &str = r#"
import socket, sys
frame = bytes.fromhex(sys.argv[1])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(("lo", 0))
link.settimeout(90)
SOL_PACKET, PACKET_VNET_HDR = 263, 15
link.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
header = bytes([0, 0, 14, 0, 0, 0, 0, 0, 0, 0])
for _ in range(12):
    link.send(header + frame)
    while True:
        seen = link.recv(70000)[len(header):]
        if len(seen) == len(frame) and seen[26:34] == frame[26:34]:
            break
    print(seen[15])
"#;

#[test]
fn headers_that_lie_in_pieces_are_read_and_marked() {
    if !testing::has_root("headers in pieces") {
        return;
    }
    let namespace = Namespace::new();
    namespace.sh("ip link set lo up");
    let marker = namespace.enter(|| Marker::attach("lo", &ALL).expect("attached"));
    namespace.enter(|| marker.set_order(ue(), &full()).expect("set"));
    let frame = super::Frame::udp(ECT_1, 6_000).v4(UE[3]);
    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut python = namespace.command("python3");
    let output = python.args(["-c", IN_PIECES, &hex]).output().expect("run");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("numbers");
    let fields: Vec<u8> = printed.lines().map(|n| n.parse().expect("one")).collect();
    let was = frame[15];
    assert_eq!(fields[..10], [was; 10]);
    assert_eq!(fields[10..], [was | CE; 2]);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 2);
    assert_eq!((counts.unwritten, counts.unjudged.malformed), (0, 0));
}

/// By which a test starts this program once more, to be killed: how it is attached.
const HOLDS: &str = "BRIMFUL_MARKER_HOLDS";

/// Not a test by itself.
#[test]
fn holds_a_marker_until_it_is_killed() {
    let Ok(way) = std::env::var(HOLDS) else {
        return;
    };
    let way = match way.as_str() {
        "tcx" => TCX,
        _ => CLSACT,
    };
    let marker = Marker::attach_by("ran0", &ALL, way).expect("attached");
    let order = Order {
        valid_until: monotonic() + 2_000_000_000,
        ..full()
    };
    marker.set_order(ue(), &order).expect("set");
    println!("attached");
    // until it is killed
    let _ = std::io::stdin().lines().next();
}

fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Another process that marks at the edge.
fn other(network: &Network, way: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new("nsenter");
    child.arg(format!("--net=/proc/{}/ns/net", network.edge.pid()));
    child.arg(program);
    child.args(["--exact", "tests::live::holds_a_marker_until_it_is_killed"]);
    child.args(["--nocapture", "--test-threads", "1"]);
    child.env(HOLDS, way);
    child.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("started");
    let stdout = child.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines();
    let attached = lines.any(|line| line.is_ok_and(|line| line.contains("attached")));
    assert!(attached, "it ended");
    child
}

fn flows_on_when_killed(way: &'static [Way]) {
    let Some(network) = network("a marker that is killed", way) else {
        return;
    };
    let mut other = other(&network, way[0].name());
    network.wait_for("marked packets", CE);
    let error = network.attach(&ALL, way).expect_err("it is marked there");
    let holder = format!("process {},", other.id());
    assert!(error.to_string().contains(&holder), "{error}");
    other.kill().expect("killed");
    other.wait().expect("it has ended");
    // a filter stays until the order is too old
    network.wait_for("packets as they were sent", ECT_1);
    let next = network.attach(&ALL, way).expect("attached");
    network
        .edge
        .enter(|| next.set_order(ue(), &full()).expect("set"));
    network.wait_for("marked packets", CE);
    network.edge.enter(|| drop(next));
    assert_eq!(network.passed(), ECT_1, "nothing is left");
}

#[test]
fn packets_pass_as_they_are_once_its_process_is_killed() {
    flows_on_when_killed(TCX);
}

#[test]
fn packets_pass_as_they_are_once_its_process_is_killed_and_its_order_is_too_old() {
    flows_on_when_killed(CLSACT);
}

#[test]
fn a_tun_device_has_no_link_header() {
    if !testing::has_root("marks on a TUN device") {
        return;
    }
    let edge = Namespace::new();
    let device = edge.enter(|| tun::Device::create("ues0", false).expect("a device"));
    edge.sh("ip addr add 10.0.0.1/24 dev ues0; ip link set ues0 up");
    let marker = edge.enter(|| Marker::attach("ues0", &ALL).expect("attached"));
    edge.enter(|| marker.set_order(ue(), &full()).expect("set"));
    let sender = edge.enter(|| UdpSocket::bind("10.0.0.1:0").expect("a socket"));
    socket_options::set_int(&sender, 0, 1, ECT_1.into()).expect("set");
    let mut fields = Vec::new();
    for _ in 0..12 {
        let sent = sender.send_to(&[7; BYTES], (ue(), PORT));
        assert_eq!(sent.expect("sent"), BYTES);
        let packet = testing::wait_for("the packet", || {
            let mut packet = vec![0; 70_000];
            let size = device.read(&mut packet).ok()?;
            let packet = packet.get(tun::VnetHeader::BYTES..size)?;
            (packet.len() == 28 + BYTES).then(|| packet.to_vec())
        });
        fields.push(ecn_of_ip(&packet));
    }
    assert_eq!(fields[..10], [ECT_1; 10]);
    assert_eq!(fields[10..], [CE; 2]);
    assert_eq!(
        marker.counts().expect("counts").unjudged,
        Unjudged::default()
    );
}
