//! Windows at the wire towards servers, and from UEs, that do what TCP permits and few do: no option at all, old timestamps,
//! urgent data, windows that shrink. Every byte arrives, and what is shown can be read by who reads it.

use crate::Test;
use crate::capture::Capture;
use crate::closed::{FAST, SLOW, start};
use crate::ends::{PARTS, send_parts};
use crate::shown::{DROPPED, WIRE, pair, updates, wait_for_actuator};
use crate::support::Hosts;
use crate::support::traffic::{receive, send};
use crate::wire::exchange;
use rustix::net::sockopt;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::Ordering::Relaxed;

pub const TESTS: &[Test] = &[
    (
        "a_changed_allocation_is_shown_before_any_older_one",
        a_changed_allocation_is_shown_before_any_older_one,
    ),
    (
        "a_server_without_options_is_shown_what_it_can_read",
        a_server_without_options_is_shown_what_it_can_read,
    ),
    (
        "a_server_whose_window_shrinks_and_closes_gets_every_byte",
        a_server_whose_window_shrinks_and_closes_gets_every_byte,
    ),
    (
        "segments_with_old_timestamps_change_nothing",
        segments_with_old_timestamps_change_nothing,
    ),
    (
        "urgent_data_keeps_its_place_with_windows_at_the_wire",
        urgent_data_keeps_its_place_with_windows_at_the_wire,
    ),
];

/// How far an edge is to the right of another.
fn ahead(edge: u32, of: u32) -> i32 {
    edge.wrapping_sub(of).cast_signed()
}

/// A connection at rest has nothing on its way: the next segment after a change is the update that shows it, and none later
/// shows less.
fn a_changed_allocation_is_shown_before_any_older_one() {
    let Some(hosts) = Hosts::try_new("a_changed_allocation_is_shown_before_any_older_one") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    let capture = Capture::start(&hosts);
    const PORT: u16 = 5_701;
    let (mut near, mut far) = pair(&hosts, false, PORT);
    wait_for_actuator(&daemon, "wire");
    let shown = || {
        let mut all = capture.edges(PORT);
        all.pop_first().map(|(_, of)| of.edges).unwrap_or_default()
    };
    let mut carry = |bytes: usize| {
        far.write_all(&vec![7; bytes]).expect("sent");
        near.read_exact(&mut vec![0; bytes]).expect("received");
    };
    let reports = || {
        daemon.status()["control"]["reports"]["believed"]
            .as_u64()
            .expect("a number")
    };
    for of_fast in [100, 10, 1] {
        let (last, now) = testing::wait_for("a change is shown to a flow at rest", || {
            rate.store(SLOW, Relaxed);
            carry(100_000);
            let before = testing::wait_for("all that was shown is in the capture", || {
                let (edges, sent) = (shown(), updates(&daemon));
                std::thread::yield_now();
                (!edges.is_empty() && sent == updates(&daemon) && edges == shown()).then_some(edges)
            });
            rate.store(FAST / of_fast, Relaxed);
            // one that is not under control, or held for slow meanwhile, is shown what it was
            let (since, last) = (reports(), *before.last().expect("shown"));
            let more = || shown().get(before.len()..).unwrap_or_default().to_vec();
            let is_shown = |edges: &[u32]| edges.iter().any(|edge| ahead(*edge, last) > 0);
            let mut now = more();
            while !is_shown(&now) && reports() < since + 200 {
                now = more();
            }
            is_shown(&now).then_some((last, now))
        });
        assert!(
            now.iter().all(|edge| ahead(*edge, last) >= 0),
            "{last}: {now:?}"
        );
        // and so in each that acknowledges data
        for _ in 0..5 {
            carry(1_000);
        }
    }
    rate.store(FAST / 1_000, Relaxed);
    for _ in 0..20 {
        carry(1_000);
    }
    let all = testing::wait_for("acknowledgements of all", || {
        let all = capture.edges(PORT).pop_first()?.1;
        (all.edges.len() > 20).then_some(all)
    });
    all.assert_never_left("a flow at rest", hosts.proxy.counter(DROPPED));
}

/// No timestamps, no window scaling, no selective acknowledgements, each alone and all together: what is shown without
/// scaling is no more than the field holds, and no edge moves left.
fn a_server_without_options_is_shown_what_it_can_read() {
    let Some(hosts) = Hosts::try_new("a_server_without_options_is_shown_what_it_can_read") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(200_000_000, Relaxed);
    let mut port = 5_710;
    for (timestamps, scaling, sack) in [(1, 1, 0), (1, 0, 1), (0, 1, 0), (0, 0, 0)] {
        hosts.server.sh(&format!(
            "sysctl -qw net.ipv4.tcp_timestamps={timestamps} net.ipv4.tcp_window_scaling={scaling} \
             net.ipv4.tcp_sack={sack}"
        ));
        let capture = Capture::start(&hosts);
        let before = updates(&daemon);
        // one that ends before it comes under control has none
        testing::wait_until("updates", || {
            port += 1;
            let (near, far) = pair(&hosts, false, port);
            wait_for_actuator(&daemon, "wire");
            exchange(&near, &far, 4_000_000);
            drop((near, far));
            daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
            updates(&daemon) > before
        });
        // a busy machine's may miss some
        let shown = testing::wait_for("segments are in the capture", || {
            let mut all = match scaling {
                1 => capture.edges(port),
                _ => capture.unscaled_edges(port),
            };
            let of = all.pop_first().map(|(_, of)| of);
            of.filter(|of| of.edges.len() > 20)
        });
        let what = format!("{timestamps} {scaling} {sack}");
        shown.assert_never_left(&what, hosts.proxy.counter(DROPPED));
        let widest = shown.windows.iter().max().expect("segments");
        assert!(scaling == 1 || *widest <= 65_535, "{widest}");
    }
    assert_eq!(daemon.count("resets"), 0);
    assert_eq!(hosts.server.counter("TcpInCsumErrors"), 0);
}

/// Both ends shrink windows that they have shown as their memory fills (`tcp_shrink_window`), close them, and are probed.
fn a_server_whose_window_shrinks_and_closes_gets_every_byte() {
    let test = "a_server_whose_window_shrinks_and_closes_gets_every_byte";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    for host in [&hosts.client, &hosts.server] {
        host.sh("sysctl -qw net.ipv4.tcp_shrink_window=1 net.ipv4.tcp_rmem='4096 16384 65536'");
    }
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(FAST, Relaxed);
    const ALL: usize = 3_000_000;
    for is_down in [false, true] {
        let (near, far) = pair(&hosts, false, 5_720 + u16::from(is_down));
        let (from, to, reader) = match is_down {
            false => (near, far, &hosts.server),
            true => (far, near, &hosts.client),
        };
        let closed = reader.counter("TcpExtTCPToZeroWindowAdv");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                send(&from, ALL).expect("sent");
                from.shutdown(Shutdown::Write).expect("shut");
            });
            // nothing is read until the window has closed
            testing::wait_until("the window is closed", || {
                reader.counter("TcpExtTCPToZeroWindowAdv") > closed
            });
            assert_eq!(receive(&to).expect("received"), ALL);
        });
        drop((from, to));
        daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
    }
    assert_eq!(daemon.count("resets"), 0);
}

/// Forges a segment that goes on from the last of the server's, with other bytes and a timestamp of long ago.
const FORGE: &str = r#"
import socket, struct, sys
def total(data):
    data += b"\0" * (len(data) % 2)
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16: s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff
sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
sniffer.bind(("s0", 0x0003))
sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
print("ready", flush=True)
port, forged = int(sys.argv[1]), 0
while forged < 20:
    p = sniffer.recv(65535)
    if p[0] >> 4 != 4 or p[9] != 6: continue
    ip, tcp = p[:20], p[20:]
    if struct.unpack("!H", tcp[:2])[0] != port: continue
    size = (tcp[12] >> 4) * 4
    payload = len(p) - 20 - size
    options, stamp, i = tcp[20:size], None, 0
    while i < len(options):
        if options[i] == 1: i += 1; continue
        if options[i] == 8: stamp = i
        if options[i] == 0: break
        i += options[i + 1]
    if stamp is None or payload <= 0: continue
    seq = struct.unpack("!I", tcp[4:8])[0]
    value, echo = struct.unpack("!II", options[stamp + 2:stamp + 10])
    old = struct.pack("!BBII", 8, 10, (value - 1000000) & 0xffffffff, echo)
    head = tcp[:4] + struct.pack("!I", (seq + payload) & 0xffffffff) + tcp[8:12] + bytes([8 << 4, 0x10]) + \
        tcp[14:16] + b"\0\0" + b"\0\0" + b"\1\1" + old
    segment = head + b"?" * 500
    sum_ = total(ip[12:20] + struct.pack("!BBH", 0, 6, len(segment)) + segment)
    segment = segment[:16] + struct.pack("!H", sum_) + segment[18:]
    header = ip[:2] + struct.pack("!H", 20 + len(segment)) + ip[4:10] + b"\0\0" + ip[12:20]
    sender.sendto(header + segment, (socket.inet_ntoa(ip[16:20]), 0))
    forged += 1
"#;

/// Protection against wrapped sequence numbers (RFC 7323): they are dropped, and the windows of what answers them are those
/// of any other acknowledgement.
fn segments_with_old_timestamps_change_nothing() {
    let Some(hosts) = Hosts::try_new("segments_with_old_timestamps_change_nothing") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(FAST, Relaxed);
    const PORT: u16 = 5_730;
    let capture = Capture::start(&hosts);
    let (near, far) = pair(&hosts, false, PORT);
    wait_for_actuator(&daemon, "wire");
    let mut forger = hosts
        .server
        .enter(|| {
            std::process::Command::new("python3")
                .args(["-c", FORGE, &PORT.to_string()])
                .stdout(std::process::Stdio::piped())
                .spawn()
        })
        .expect("python3 can be run");
    let mut line = [0; 6];
    let mut ready = forger.stdout.take().expect("piped");
    ready.read_exact(&mut line).expect("it is ready");
    let refused = || hosts.proxy.counter("TcpExtPAWSEstab");
    std::thread::scope(|scope| {
        let receives = scope.spawn(|| receive(&near).expect("received"));
        // as long as it takes for some to have come between
        let mut sent = 0;
        while refused() == 0 {
            (&far)
                .write_all(&testing::pattern(sent, 50_000))
                .expect("sent");
            sent += 50_000;
        }
        far.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receives.join().expect("no panic"), sent);
    });
    let _ = forger.kill();
    forger.wait().expect("it ends");
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("the end"), 0);
    let all = capture.edges(PORT);
    let shown = all.values().next().expect("segments");
    shown.assert_never_left("old timestamps", hosts.proxy.counter(DROPPED));
    assert_eq!(daemon.count("resets"), 0);
}

fn urgent_data_keeps_its_place_with_windows_at_the_wire() {
    let test = "urgent_data_keeps_its_place_with_windows_at_the_wire";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, WIRE);
    rate.store(FAST, Relaxed);
    let mut port = 5_740;
    for is_down in [false, true] {
        for parts in PARTS {
            port += 1;
            let (near, far) = pair(&hosts, false, port);
            wait_for_actuator(&daemon, "wire");
            let (from, to) = if is_down { (far, near) } else { (near, far) };
            sockopt::set_socket_oobinline(&to, true).expect("set");
            let all = parts.iter().sum::<usize>() + parts.len() - 1;
            let sender = std::thread::spawn(move || {
                send_parts(&from, parts);
                from.shutdown(Shutdown::Write).expect("shut");
                from
            });
            assert_eq!(receive(&to).expect("received"), all, "{parts:?}");
            drop(sender.join().expect("sent"));
            drop(to);
            daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
        }
    }
    assert_eq!(daemon.count("resets"), 0);
}
