//! Packets of a UE whose radio is the bottleneck wait in the proxy, each flow in its turn; those of others pass in the kernel.

use super::*;
use crate::Test;
use crate::support::datagrams::{Arrivals, Datagrams, Ecn};
use crate::support::server;
use crate::support::traffic::{TIMEOUT, accept, connect, listen, receive, send};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub const TESTS: &[Test] = &[
    (
        "what_a_ue_is_sent_arrives_whole_and_in_order_through_the_queue",
        what_a_ue_is_sent_arrives_whole_and_in_order_through_the_queue,
    ),
    (
        "a_small_flow_overtakes_what_waits_of_a_large_one",
        a_small_flow_overtakes_what_waits_of_a_large_one,
    ),
    (
        "packets_of_a_ue_that_is_not_held_stay_in_the_kernel",
        packets_of_a_ue_that_is_not_held_stay_in_the_kernel,
    ),
    (
        "a_ue_passes_in_the_kernel_again_once_nothing_waits",
        a_ue_passes_in_the_kernel_again_once_nothing_waits,
    ),
    ("what_waits_long_is_marked", what_waits_long_is_marked),
    (
        "without_reports_what_waits_goes_on",
        without_reports_what_waits_goes_on,
    ),
    (
        "what_waits_is_bounded_and_drops_are_counted",
        what_waits_is_bounded_and_drops_are_counted,
    ),
];

/// Reports that come late on a busy machine count nevertheless.
pub const HOLD: &str = "[unsplit]\nmode = \"queue\"\nmax-age = \"60 s\"\n";
pub const BULK: u16 = 7_011;
/// Bytes in the base station that take a radio of [`RATE`] a minute: nothing goes on meanwhile.
pub const LONG: u64 = 60_000_000;

const METRICS: &str = "[metrics]\nlisten = \"127.0.0.1:9464\"\n";

/// What waits in the base station of the client's addresses, of both families.
pub type Queues = Arc<[AtomicU64; 2]>;

/// A radio of the client's addresses, each of which could have `rate`.
pub fn radio_of(folder: &Path, rate: u64, waits: [u64; 2]) -> (Radio, Queues) {
    let queues: Queues = Arc::new(waits.map(AtomicU64::new));
    let shown = Arc::clone(&queues);
    let ues = [client(false), client(true)];
    let radio = Radio::start(&folder.join("radio"), move |n, at| {
        let mut report = report(&ues, n, at, 2 * rate);
        for (ue, queue) in report.ues.iter_mut().zip(&*shown) {
            ue.rlc_queue_bytes = Bytes::new(queue.load(Relaxed));
        }
        report
    });
    (radio, queues)
}

pub fn held(daemon: &Daemon) -> u64 {
    number(daemon, "held_ues")
}

/// Of the queue's status.
pub fn number(daemon: &Daemon, name: &str) -> u64 {
    let unsplit = unsplit(daemon);
    let value = unsplit["queue"][name].as_u64();
    value.unwrap_or_else(|| panic!("no {name} in {unsplit}"))
}

fn dropped(daemon: &Daemon, reason: &str) -> u64 {
    let unsplit = unsplit(daemon);
    let value = unsplit["queue"]["dropped"][reason].as_u64();
    value.unwrap_or_else(|| panic!("no {reason} in {unsplit}"))
}

pub fn redirected(daemon: &Daemon) -> u64 {
    unsplit(daemon)["redirected"].as_u64().expect("a number")
}

/// A proxy that holds, and so many UEs are held.
pub fn holding(hosts: &Hosts, config: &str, folder: TempDir, ues: u64) -> Daemon {
    let daemon = start_alone(hosts, folder, &format!("{ALONE}{config}"), &[]);
    daemon.wait_until("UEs are held", || held(&daemon) == ues);
    daemon
}

/// A socket of the client, whose address is resolved before it is sent anything.
pub fn receiver(hosts: &Hosts, port: u16, is_ipv6: bool) -> UdpSocket {
    let at = SocketAddr::new(client(is_ipv6), port);
    let socket = hosts.client.enter(|| UdpSocket::bind(at)).expect("bound");
    // for all that a test sends before it reads
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 4 << 20).expect("set");
    socket.set_read_timeout(Some(TIMEOUT)).expect("set");
    let next = hosts
        .server
        .enter(|| TcpStream::connect_timeout(&at, TIMEOUT));
    let _refused = next.expect_err("nothing listens");
    socket
}

pub fn sender(hosts: &Hosts, is_ipv6: bool) -> UdpSocket {
    let at = SocketAddr::new(server(is_ipv6), 0);
    hosts.server.enter(|| UdpSocket::bind(at)).expect("bound")
}

/// A datagram with a number, 1,200 bytes of a pattern.
pub fn datagram(number: u32) -> Vec<u8> {
    let mut bytes = testing::pattern(number as usize, 1_200);
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub fn received(socket: &UdpSocket) -> (u32, u16) {
    let mut bytes = [0; 2_000];
    let (length, from) = socket.recv_from(&mut bytes).expect("a datagram");
    let number = u32::from_be_bytes(*bytes.first_chunk().expect("four"));
    assert_eq!(bytes[..length], datagram(number));
    (number, from.port())
}

/// So many bytes by TCP to the client.
fn download(hosts: &Hosts, port: u16, is_ipv6: bool, bytes: usize) {
    let address = SocketAddr::new(server(is_ipv6), port);
    let listener = listen(&hosts.server, address);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    std::thread::scope(|scope| {
        scope.spawn(move || send(&far, bytes).expect("sent"));
        assert_eq!(receive(&near).expect("received"), bytes);
    });
}

/// The kernel completes checksums and cuts super-packets before the veth, so that the client sees them as on a wire.
const NO_OFFLOADS: &str = "perl -e 'socket(S,2,2,0) or die; $v=pack(\"LL\",0x17,0); \
                           $r=pack(\"a16P\",\"ran0\",$v).\"\\0\"x16; ioctl(S,0x8946,$r) or die $!'";

fn what_a_ue_is_sent_arrives_whole_and_in_order_through_the_queue() {
    let test = "what_a_ue_is_sent_arrives_whole_and_in_order_through_the_queue";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    hosts.proxy.sh(NO_OFFLOADS);
    let folder = tempfile::tempdir().expect("a folder");
    // 10 MB/s: 2.5 ms, of which a report leaves a window of more than a millisecond
    let (_radio, _) = radio_of(folder.path(), 80_000_000, [25_000; 2]);
    let daemon = holding(&hosts, HOLD, folder, 2);
    for is_ipv6 in [false, true] {
        let before = redirected(&daemon);
        let socket = receiver(&hosts, BULK, is_ipv6);
        download(&hosts, 5_611, is_ipv6, 3_000_000);
        let from = sender(&hosts, is_ipv6);
        for number in 0..200 {
            from.send_to(&datagram(number), (client(is_ipv6), BULK))
                .expect("sent");
        }
        for number in 0..200 {
            assert_eq!(received(&socket).0, number);
        }
        assert!(redirected(&daemon) > before + 200, "{}", unsplit(&daemon));
    }
    assert!(number(&daemon, "cut") > 0, "{}", unsplit(&daemon));
    for reason in ["buffer", "memory", "interface", "device"] {
        assert_eq!(dropped(&daemon, reason), 0, "{}", unsplit(&daemon));
    }
    assert_eq!(unsplit(&daemon)["error"], Value::Null);
}

fn a_small_flow_overtakes_what_waits_of_a_large_one() {
    let Some(hosts) = Hosts::try_new("a_small_flow_overtakes_what_waits_of_a_large_one") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, 0]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, HOLD, folder, 1);
    let before = redirected(&daemon);
    let (large, small) = (sender(&hosts, false), sender(&hosts, false));
    let to = (client(false), BULK);
    for number in 0..40 {
        large.send_to(&datagram(number), to).expect("sent");
    }
    small.send_to(&datagram(1_000), to).expect("sent");
    daemon.wait_until("all wait", || {
        redirected(&daemon) == before + 41 && number(&daemon, "waiting_bytes") == 41 * 1_228
    });
    queues[0].store(0, Relaxed);
    let order: Vec<u32> = (0..41).map(|_| received(&socket).0).collect();
    let place = order.iter().position(|number| *number == 1_000);
    // the large one has the first turn, of a quantum
    assert!(place <= Some(3), "{order:?}");
    let others: Vec<u32> = order.into_iter().filter(|n| *n != 1_000).collect();
    assert!(others.into_iter().eq(0..40));
}

fn packets_of_a_ue_that_is_not_held_stay_in_the_kernel() {
    let Some(hosts) = Hosts::try_new("packets_of_a_ue_that_is_not_held_stay_in_the_kernel") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, 0]);
    let (waits, passes) = (receiver(&hosts, BULK, false), receiver(&hosts, BULK, true));
    let daemon = holding(&hosts, &format!("{HOLD}{METRICS}"), folder, 1);
    let before = redirected(&daemon);
    let (held, free) = (sender(&hosts, false), sender(&hosts, true));
    for number in 0..50 {
        held.send_to(&datagram(number), (client(false), BULK))
            .expect("sent");
        free.send_to(&datagram(number), (client(true), BULK))
            .expect("sent");
    }
    // while the others wait
    for number in 0..50 {
        assert_eq!(received(&passes).0, number);
    }
    daemon.wait_until("all of one wait", || {
        number(&daemon, "waiting_bytes") == 50 * 1_228
    });
    assert_eq!(redirected(&daemon), before + 50);
    assert_eq!(number(&daemon, "held_ues"), 1);
    waits.set_nonblocking(true).expect("set");
    assert!(waits.recv(&mut [0; 2_000]).is_err());
    let page = hosts.proxy.sh("curl -s 127.0.0.1:9464/metrics");
    for line in [
        "unsplit_held_ues 1",
        "unsplit_waiting_bytes 61400",
        "unsplit_queue_dropped_total{reason=\"codel\"} 0",
        &format!("unsplit_redirected_packets_total {}", before + 50),
    ] {
        let line = format!("\nbrimful_pep_{line}\n");
        assert!(page.contains(&line), "{line} in {page}");
    }
    assert!(page.contains("brimful_pep_unsplit_info{mode=\"queue\",way=\""));
}

fn a_ue_passes_in_the_kernel_again_once_nothing_waits() {
    let Some(hosts) = Hosts::try_new("a_ue_passes_in_the_kernel_again_once_nothing_waits") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    for number in 0..20 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    for queue in &*queues {
        queue.store(0, Relaxed);
    }
    daemon.wait_until("none is held", || held(&daemon) == 0);
    let before = redirected(&daemon);
    for number in 20..60 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    for number in 0..60 {
        assert_eq!(received(&socket).0, number);
    }
    assert_eq!(redirected(&daemon), before);
    assert_eq!(number(&daemon, "memory_bytes"), 0);
    queues[0].store(LONG, Relaxed);
    daemon.wait_until("it is held again", || held(&daemon) == 1);
}

fn what_waits_long_is_marked() {
    let Some(hosts) = Hosts::try_new("what_waits_long_is_marked") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let arrivals = Arrivals::count(&hosts, &[BULK]);
    let daemon = holding(&hosts, HOLD, folder, 2);
    for is_ipv6 in [false, true] {
        for queue in &*queues {
            queue.store(LONG, Relaxed);
        }
        daemon.wait_until("both are held", || held(&daemon) == 2);
        let (all, marked) = (arrivals.all(BULK), arrivals.with(BULK, Ecn::Ce));
        let passed = number(&daemon, "marked");
        let flow = Datagrams::heavy(BULK, Ecn::Ect1).of(is_ipv6);
        flow.send(&hosts, 30);
        daemon.wait_until("they wait", || {
            // the kernel's own packets to a UE may wait too
            number(&daemon, "waiting_bytes") >= 30 * flow_bytes(is_ipv6)
        });
        queues[usize::from(is_ipv6)].store(0, Relaxed);
        testing::wait_until("all arrive", || {
            arrivals.all(BULK) + dropped(&daemon, "codel") >= all + 30
        });
        let arrived = arrivals.with(BULK, Ecn::Ce) - marked;
        assert!(arrived > 0, "{}", unsplit(&daemon));
        assert_eq!(number(&daemon, "marked") - passed, arrived);
    }
}

/// A datagram of 1,200 bytes on the wire.
fn flow_bytes(is_ipv6: bool) -> u64 {
    if is_ipv6 { 1_248 } else { 1_228 }
}

fn without_reports_what_waits_goes_on() {
    let Some(hosts) = Hosts::try_new("without_reports_what_waits_goes_on") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, &HOLD.replace("60 s", "2 s"), folder, 2);
    let from = sender(&hosts, false);
    for number in 0..30 {
        from.send_to(&datagram(number), (client(false), BULK))
            .expect("sent");
    }
    daemon.wait_until("they wait", || {
        number(&daemon, "waiting_bytes") == 30 * 1_228
    });
    radio.silent.store(true, Relaxed);
    for number in 0..30 {
        assert_eq!(received(&socket).0, number);
    }
    daemon.wait_until("none is held", || held(&daemon) == 0);
}

fn what_waits_is_bounded_and_drops_are_counted() {
    let Some(hosts) = Hosts::try_new("what_waits_is_bounded_and_drops_are_counted") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, 0]);
    let config = format!("{HOLD}buffer = \"100 kB\"\n");
    let arrivals = Arrivals::count(&hosts, &[BULK]);
    let daemon = holding(&hosts, &config, folder, 1);
    Datagrams::heavy(BULK, Ecn::NotEct).send(&hosts, 200);
    // 81 fit
    daemon.wait_until("the rest is dropped", || {
        dropped(&daemon, "buffer") + number(&daemon, "waiting_bytes") / 1_228 >= 200
            || dropped(&daemon, "buffer") >= 64
    });
    queues[0].store(0, Relaxed);
    let all = || arrivals.all(BULK) + dropped(&daemon, "buffer") + dropped(&daemon, "codel");
    daemon.wait_until("each has arrived or been counted", || all() == 200);
    assert!(arrivals.all(BULK) <= 81);
}
