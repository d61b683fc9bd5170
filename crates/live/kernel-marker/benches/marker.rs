//! What the marker costs: ns a packet of its program, as the kernel reports it, and orders of 200 UEs at a time.
//!
//! Each number is the median of several runs, with the middle half. Needs root.
#![allow(missing_docs, reason = "a bench")]

use edge::marker::Order;
use kernel_marker::{Inside, Marker, Settings};
use std::net::IpAddr;
use std::time::Instant;

const RUNS: usize = 21;
const TIMES: u32 = 200_000;
const UES: usize = 200;

/// An Ethernet frame with IPv4 and UDP, to 10.0.0.`ue`.
fn v4(ue: u8, ecn: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, ecn, 0x05, 0xdc, 0, 1, 0, 0, 63, 17, 0, 0]);
    frame.extend([
        192, 0, 2, 9, 10, 0, 0, ue, 1, 187, 0x12, 0x34, 0x05, 0xc8, 0, 0,
    ]);
    frame.resize(14 + 1_500, 0);
    frame
}

/// The same with IPv6, to 2001:db8::`ue`.
fn v6(ue: u8, ecn: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0, 0x05, 0xb4, 17, 63]);
    frame.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9]);
    frame.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ue]);
    frame.extend([1, 187, 0x12, 0x34, 0x05, 0xb4, 0, 0]);
    frame.resize(14 + 1_500, 0);
    frame
}

/// The same inside of a datagram to a base station, which has no order.
fn inside(port: u16, message: &[&[u8]]) -> Vec<u8> {
    let mut frame = v4(251, 1);
    frame.truncate(14 + 28);
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame.extend(message.concat());
    let length = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
    frame
}

/// With a PDU session container.
fn gtpu(inner: &[u8]) -> Vec<u8> {
    let length = (8 + inner.len() - 14) as u16;
    let header = [0x34, 255];
    let rest = [0, 0, 0, 2, 0, 0, 0, 0x85, 1, 0, 1, 0];
    inside(2152, &[&header, &length.to_be_bytes(), &rest, &inner[14..]])
}

fn vxlan(inner: &[u8]) -> Vec<u8> {
    inside(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0], inner])
}

/// Of a radio of 1 Tbit/s, whose queue stays short; or one whose queue is always long.
fn order(number: u64, is_full: bool) -> Order {
    Order {
        number,
        counted_until: u64::MAX,
        valid_until: u64::MAX,
        drain: match is_full {
            true => 1 << 12,
            false => 1 << 31,
        },
        queue: match is_full {
            true => 1 << 32,
            false => 0,
        },
        slack: 0,
        ramp_from: 5_000_000,
        ramp_to: 20_000_000,
        target: 15_000_000,
        spared: 4,
    }
}

fn ues(count: usize) -> impl Iterator<Item = IpAddr> {
    (0..count).map(|n| IpAddr::from([10, 0, (n >> 8) as u8, n as u8]))
}

fn print(what: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[values.len() * quarter / 4];
    println!(
        "{what}: median {:.1} {unit}, middle half {:.1} to {:.1}",
        at(2),
        at(1),
        at(3)
    );
}

fn packets(marker: &Marker, what: &str, frame: &[u8]) {
    let time = |_| {
        let time = marker.time(frame, TIMES).expect("run");
        time.as_nanos() as f64
    };
    print(what, "ns a packet", (0..RUNS).map(time).collect());
}

fn orders(marker: &Marker, what: &str, count: usize, known: usize) {
    let known: Vec<_> = ues(known).map(|ue| (ue, order(1, true))).collect();
    marker.set_orders(&known).expect("set");
    let mut number = 1;
    let mut once = |_| {
        number += 1;
        let all: Vec<_> = ues(count).map(|ue| (ue, order(number, true))).collect();
        let began = Instant::now();
        marker.set_orders(&all).expect("set");
        began.elapsed().as_secs_f64() * 1e6
    };
    print(what, "us", (0..50 * RUNS).map(&mut once).collect());
}

fn with_tunnels() {
    let settings = Settings {
        splits_tcp: false,
        inside: Inside::BOTH,
        ..Settings::default()
    };
    let marker = Marker::attach("lo", &settings).unwrap_or_else(|e| panic!("{e}"));
    let ues = [
        IpAddr::from([10, 0, 0, 1]),
        "2001:db8::1".parse().expect("an address"),
    ];
    for (number, is_full) in [(1, false), (2, true)] {
        for ue in ues {
            let set = marker.set_order(ue, &order(number, is_full));
            set.expect("set");
        }
        let queue = match is_full {
            true => "L4S, a full queue",
            false => "a short queue",
        };
        for (kind, frame) in [
            ("plain IPv4", v4(1, 1)),
            ("plain IPv6", v6(1, 1)),
            ("IPv4 in GTP-U", gtpu(&v4(1, 1))),
            ("IPv6 in GTP-U", gtpu(&v6(1, 1))),
            ("IPv4 in VXLAN", vxlan(&v4(1, 1))),
        ] {
            packets(&marker, &format!("tunnels, {kind}, {queue}"), &frame);
        }
    }
    packets(
        &marker,
        "tunnels, plain IPv4, UE without an order",
        &v4(250, 1),
    );
}

fn main() {
    // for `cargo test` it is enough that it runs
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    if !testing::has_root("the marker's bench") {
        return;
    }
    println!("{}", testing::Machine::now());
    let namespace = testing::Namespace::new();
    namespace.sh("ip link set lo up");
    namespace.enter(|| {
        let settings = Settings {
            splits_tcp: false,
            ..Settings::default()
        };
        let marker = Marker::attach("lo", &settings).unwrap_or_else(|e| panic!("{e}"));
        packets(&marker, "IPv4, UE without an order", &v4(250, 1));
        let v6_ue = "2001:db8::1".parse().expect("an address");
        let set = |ue, order: &Order| marker.set_order(ue, order).expect("set");
        set(IpAddr::from([10, 0, 0, 1]), &order(1, false));
        set(v6_ue, &order(1, false));
        packets(&marker, "IPv4, a short queue", &v4(1, 1));
        packets(&marker, "IPv6, a short queue", &v6(1, 1));
        set(IpAddr::from([10, 0, 0, 1]), &order(2, true));
        set(v6_ue, &order(2, true));
        packets(&marker, "IPv4, L4S, a full queue", &v4(1, 1));
        packets(&marker, "IPv6, L4S, a full queue", &v6(1, 1));
        packets(&marker, "IPv4, not ECN-capable, a full queue", &v4(1, 0));
        orders(&marker, "200 orders, 200 UEs", UES, UES);
        orders(&marker, "1 order", 1, UES);
        orders(&marker, "200 orders, 10,000 UEs", UES, 9_000);
        drop(marker);
        with_tunnels();
    });
}
