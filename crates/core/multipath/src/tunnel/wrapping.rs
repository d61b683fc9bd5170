//! Numbers that wrap at 2^48 in the middle of a connection: those of paths and the connection's.

use super::numbers::Numbers;
use super::*;
use crate::packet::{AddressId, Compact, Kind};
use crate::scheduler;
use crate::seq::SeqNo;

#[derive(Clone, Debug)]
struct Data(u64);

impl Payload for Data {
    fn len(&self) -> usize {
        1_000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// Nothing that waits is dropped.
fn plain() -> TunnelConfig {
    TunnelConfig {
        scheduler_queue: BufferQueue::DropTail,
        ..TunnelConfig::default()
    }
}

const LAST: u64 = (1 << 48) - 1;

/// Ends whose next numbers are `before` below the wrap.
fn set(tunnel: &mut Tunnel<Data>, before: u64) {
    tunnel.next_mp_seq = MpSeq::new(LAST - before);
    for path in &mut tunnel.paths {
        let window = path.numbers.local_window;
        path.numbers = Numbers::new(SeqNo::new(LAST - before), window);
        path.numbers.remote_window = window;
    }
}

/// A packet as it arrives: compact ones stand for what was sent, and where data packets are full, all are compact.
fn as_it_arrives(
    to: &Tunnel<Data>,
    path: PathId,
    packet: Packet,
    (is_compact, is_full): (bool, bool),
) -> Packet {
    let is_data = packet.kind.carries_data();
    match Compact::of(&packet) {
        Some(compact) if is_compact => {
            let expanded = to.expand(path, compact).expect("a path with numbers");
            assert_eq!(expanded, packet);
            expanded
        }
        other => {
            assert!(!is_full || !is_data, "{other:?} of {packet:?}");
            packet
        }
    }
}

/// Two paths, 500 packets each way, the numbers of both ends wrapping after `before` packets, each
/// `loses`th packet lost. What is delivered, at the server and at the client.
fn run(before: u64, loses: u64, is_compact: bool) -> [Vec<u64>; 2] {
    let is_full = is_compact && loses == 0;
    let path = |address| PathConfig {
        // full ones have no room for options where they are compact
        packet_size: Bytes::new(if is_full { 1_060 } else { 1_500 }),
        // what it sends in the time is enough to wrap
        controller: "bbr",
        address: AddressId(address),
        ..PathConfig::default()
    };
    let build = || scheduler::build("rr").expect("known");
    let mut now = Instant::ZERO;
    let config = TunnelConfig {
        is_compact,
        ..plain()
    };
    let mut client = Tunnel::client(config.clone(), build(), None, 1);
    let mut server: Option<Tunnel<Data>> = None;
    let mut got = [Vec::new(), Vec::new()];
    let mut carried = 0;
    let mut is_lost = |packet: &Packet| {
        carried += u64::from(packet.kind.carries_data());
        packet.kind.carries_data() && loses > 0 && carried.is_multiple_of(loses)
    };
    for address in 0..2 {
        let ports = (1_000 + u16::from(address), 6_511);
        client.open_path(now, path(address), ports).expect("opens");
    }
    set(&mut client, before);
    for step in 0..3_000u64 {
        now += Duration::from_millis(1);
        if (100..600).contains(&step) {
            for end in [Some(&mut client), server.as_mut()].into_iter().flatten() {
                end.send(now, Data(step)).expect("room");
            }
        }
        client.on_deadline(now);
        while let Some(out) = client.poll_transmit(now) {
            let is_request = matches!(out.packet.kind, Kind::Request { .. });
            match &mut server {
                None => {
                    let end = ServerEnd {
                        config: config.clone(),
                        scheduler: build(),
                        path: path(0),
                        seed: 2,
                    };
                    let (mut tunnel, _) =
                        Tunnel::accept(now, &out.packet, &[], end).expect("accepts");
                    let isr = out.packet.seq;
                    set(&mut tunnel, before);
                    tunnel.paths[0].numbers.begin(isr);
                    server = Some(tunnel);
                }
                Some(server) if is_request => {
                    server
                        .accept_join(now, path(0), &out.packet)
                        .expect("joins");
                    let number = server.paths[1].numbers.greatest_received();
                    let path = &mut server.paths[1];
                    path.numbers = Numbers::new(SeqNo::new(LAST - before), 1 << 17);
                    path.numbers.begin(number.expect("the Request's"));
                    path.numbers.remote_window = 1 << 17;
                }
                Some(server) if !is_lost(&out.packet) => {
                    let packet = as_it_arrives(server, out.path, out.packet, (is_compact, is_full));
                    server.receive(now, out.path, &packet, out.payload, out.ecn);
                }
                Some(_) => {}
            }
        }
        let Some(server) = &mut server else { continue };
        server.on_deadline(now);
        while let Some(out) = server.poll_transmit(now) {
            if !is_lost(&out.packet) {
                let packet = as_it_arrives(&client, out.path, out.packet, (is_compact, is_full));
                client.receive(now, out.path, &packet, out.payload, out.ecn);
            }
        }
        for (end, got) in [server, &mut client].into_iter().zip(&mut got) {
            while let Some(data) = end.poll_delivery(now) {
                got.push(data.0);
            }
        }
    }
    for end in [Some(&mut client), server.as_mut()].into_iter().flatten() {
        let has_wrapped = |number: u64| (number < 1 << 20) == (before < 1 << 20);
        assert!(has_wrapped(end.next_mp_seq.get()), "{}", end.next_mp_seq);
        for path in &end.paths {
            assert!(has_wrapped(path.numbers.greatest_sent().get()));
            assert_eq!(path.counters.invalid, units::Packets::ZERO);
        }
    }
    got
}

/// From just below the wrap, with it in the handshake, in the first packets, and later.
#[test]
fn nothing_is_lost_or_overtaken_at_the_wrap() {
    let all: Vec<u64> = (100..600).collect();
    for before in [0, 1, 2, 5, 10, 50, 100, 200] {
        for is_compact in [false, true] {
            let got = run(before, 0, is_compact);
            assert_eq!(got, [all.clone(), all.clone()], "{before}");
        }
    }
}

/// With losses around the wrap everything goes as it does far from it.
#[test]
fn losses_at_the_wrap_are_as_elsewhere() {
    for loses in [2, 7, 30] {
        let elsewhere = run(1 << 40, loses, false);
        let delivered: usize = elsewhere.iter().map(Vec::len).sum();
        // each of the 1,000 packets goes out once
        assert_eq!(delivered as u64, 1_000 - 1_000 / loses, "{loses}");
        for before in [0, 1, 3, 20, 50, 100] {
            assert_eq!(run(before, loses, false), elsewhere, "{before} {loses}");
        }
    }
}

/// With compact packets as many arrive, wherever the numbers are.
#[test]
fn compact_packets_are_expanded_with_losses_too() {
    for loses in [2, 7, 30] {
        for before in [0, 3, 50, 1 << 40] {
            let delivered: usize = run(before, loses, true).iter().map(Vec::len).sum();
            assert_eq!(delivered as u64, 1_000 - 1_000 / loses, "{loses} {before}");
        }
    }
}
