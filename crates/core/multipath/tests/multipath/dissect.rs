//! The wire format read by another implementation: Wireshark's dissector, as `tshark`, over a capture of what
//! [`encode`] writes, with IP protocol 33 (DCCP) in place of UDP.
//!
//! Skipped where there is no tshark; one before 4.4 shows of multipath options their bytes. Version 4.4 follows an early draft in `MP_KEY` (it takes the connection identifier for a part of the key),
//! `MP_ADDADDR` (no nonce: it finds the length wrong) and `MP_REMOVEADDR` (no nonce: it loses its place
//! after it, so that none is in the capture). After `MP_FAST_CLOSE` and `MP_EXP` it goes on a byte too
//! early: here that byte is a zero, which it takes for Padding.

use crate::tshark::{Tshark, write_capture};
use multipath::packet::{
    AckVector, AddressId, ConnectionId, DccpOption, Feature, FeatureOption, FeatureOptionKind,
    Hmac, KeyData, Kind, MpOption, Options, Packet, PathPriority, PathRtt, ReceptionState,
    ResetCode, RttKind, encode,
};
use multipath::scheduler;
use multipath::tunnel::{PathConfig, ServerEnd, TunnelConfig};
use multipath::{MpSeq, PathId, Payload, SeqNo, Tunnel};
use std::path::PathBuf;
use units::{Duration, Ecn, Instant};

/// A packet and its application data.
type Sent = (Packet, Vec<u8>);

/// Both readings of each packet are the same; `name` is the test's.
fn compare(name: &str, packets: &[Sent]) {
    let Some(tshark) = Tshark::find(name) else {
        return;
    };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    let bytes = |(packet, payload): &Sent| {
        let mut dccp = Vec::new();
        encode(packet, &mut dccp).expect("it has a form");
        dccp.extend(payload);
        dccp
    };
    write_capture(&path, &packets.iter().map(bytes).collect::<Vec<_>>());
    let read = tshark.read(&path);
    assert_eq!(read.len(), packets.len());
    for ((packet, payload), read) in packets.iter().zip(read) {
        assert_eq!(read, tshark.expected(packet, payload), "{packet:?}");
    }
}

fn mp(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}

fn feature(kind: FeatureOptionKind, feature: Feature, value: &[u8]) -> DccpOption {
    DccpOption::Feature(FeatureOption {
        kind,
        feature,
        value: value.to_vec(),
    })
}

fn list(list: Vec<DccpOption>) -> Options {
    Options {
        list,
        ..Options::default()
    }
}

fn key(byte: u8) -> KeyData {
    KeyData {
        kind: 0,
        data: vec![byte; 8],
    }
}

/// Every type and every option.
fn every_packet() -> Vec<Sent> {
    let ack = SeqNo::new(0xA1A2_A3A4_A5A6);
    let service = 0x4950_4D50;
    let numbered = |number, rest: Options| Options {
        mp_seq: Some(MpSeq::new(number)),
        ..rest
    };
    let mut vector = AckVector::default();
    vector.push(ReceptionState::Received, 100);
    vector.push(ReceptionState::NotReceived, 3);
    vector.push(ReceptionState::Marked, 1);
    let plain = list(vec![
        mp(MpOption::Rtt(PathRtt {
            kind: RttKind::Smooth,
            rtt: Duration::from_millis(40),
            age: Duration::from_millis(7),
        })),
        DccpOption::NdpCount(300),
        DccpOption::Timestamp(77),
        DccpOption::TimestampEcho {
            timestamp: 78,
            elapsed: Some(5),
        },
        DccpOption::DataDropped(vec![0, 160]),
        DccpOption::InitCookie(vec![1, 2, 3]),
        DccpOption::SlowReceiver,
        DccpOption::Mandatory,
        DccpOption::SlowReceiver,
        DccpOption::Unknown {
            kind: 100,
            data: vec![4],
        },
        DccpOption::Unknown {
            kind: 200,
            data: vec![5],
        },
    ]);
    let join = list(vec![
        feature(
            FeatureOptionKind::ConfirmL,
            Feature::MULTIPATH_CAPABLE,
            &[0, 0],
        ),
        mp(MpOption::Join {
            address: AddressId(5),
            connection: ConnectionId(0xC0FF_EE01),
            nonce: 0xDEAD_BEEF,
        }),
        mp(MpOption::Hmac(Hmac(core::array::from_fn(|i| i as u8)))),
    ]);
    let first = list(vec![
        feature(FeatureOptionKind::ChangeR, Feature::MULTIPATH_CAPABLE, &[0]),
        feature(
            FeatureOptionKind::ChangeL,
            Feature::SEQUENCE_WINDOW,
            &[0, 0, 0, 2, 0, 0],
        ),
        mp(MpOption::Key {
            connection: ConnectionId(0x0102_0304),
            keys: vec![key(7)],
        }),
    ]);
    let priority = |bits| MpOption::Priority(PathPriority::from_bits(bits));
    let confirm = list(vec![mp(MpOption::Confirm(vec![
        (priority(1), MpSeq::new(12)),
        (priority(2), MpSeq::new(9)),
    ]))]);
    let add = |address: &str| {
        list(vec![mp(MpOption::AddAddress {
            id: AddressId(2),
            nonce: 9,
            address: address.parse().expect("an address"),
            port: Some(6511),
        })])
    };
    let unknown = mp(MpOption::Unknown {
        kind: 99,
        data: vec![1],
    });
    let acknowledging = Options {
        ack_vector: Some(vector),
        elapsed: Some(Duration::from_micros(1_230)),
        ..plain
    };
    let late = Options {
        elapsed: Some(Duration::from_secs(2)),
        ..Options::default()
    };
    let closing = |byte| list(vec![mp(MpOption::Close(key(byte)))]);
    let code = ResetCode::MP_FAST_CLOSE;
    let data = [1, 2, 3];
    let packets = [
        (Kind::Request { service }, first),
        (Kind::Response { ack, service }, join),
        (Kind::Ack { ack }, acknowledging),
        (
            Kind::DataAck { ack },
            numbered(0x0A0B_0C0D_0E0F, list(vec![mp(priority(9))])),
        ),
        (Kind::Data, numbered((1 << 48) - 1, Options::default())),
        (Kind::Ack { ack }, confirm),
        (Kind::Ack { ack }, numbered(1, add("192.0.2.1"))),
        (Kind::Ack { ack }, numbered(2, add("2001:db8::1"))),
        (
            Kind::Ack { ack },
            list(vec![mp(MpOption::Experimental(vec![1, 0])), unknown]),
        ),
        (Kind::CloseReq { ack }, closing(1)),
        (Kind::Close { ack }, closing(0x41)),
        (
            Kind::Reset { ack, code, data },
            list(vec![mp(MpOption::FastClose(key(0)))]),
        ),
        (Kind::Sync { ack }, Options::default()),
        (Kind::SyncAck { ack }, late),
    ];
    let mut seq = SeqNo::new((1 << 48) - 3);
    let mut sent = |(kind, options): (Kind, Options)| {
        seq = seq.next();
        let packet = Packet {
            source: 40_000,
            destination: 6_511,
            ccval: 3,
            seq,
            kind,
            options,
        };
        let payload = if kind.carries_data() {
            b"hello".to_vec()
        } else {
            Vec::new()
        };
        (packet, payload)
    };
    packets.into_iter().map(&mut sent).collect()
}

#[test]
fn every_packet_type_and_option_reads_the_same() {
    compare(
        "every_packet_type_and_option_reads_the_same",
        &every_packet(),
    );
}

/// Bytes that a tunnel carries.
#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl Payload for Bytes {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// A connection of two paths without delay between two real ends: opened, used both ways, closed.
/// All that went over it.
fn session() -> Vec<Sent> {
    let build = || scheduler::build("rr").expect("known");
    let path = |address| PathConfig {
        address: AddressId(address),
        ..PathConfig::default()
    };
    let mut client = Tunnel::<Bytes>::client(TunnelConfig::default(), build(), None, 1);
    let mut server: Option<Tunnel<Bytes>> = None;
    let mut sent = Vec::new();
    let mut now = Instant::ZERO;
    client
        .open_path(now, path(0), (1_000, 6_511))
        .expect("opens");
    client
        .open_path(now, path(1), (1_001, 6_511))
        .expect("opens");
    for step in 0..2_000u64 {
        now += Duration::from_micros(500);
        if (200..240).contains(&step) {
            for end in [Some(&mut client), server.as_mut()].into_iter().flatten() {
                end.send(now, Bytes(vec![step as u8; 40])).expect("room");
            }
        }
        if step == 1_000 {
            client
                .set_priority(now, PathId(1), PathPriority::STANDBY)
                .expect("room");
        }
        if step == 1_500 {
            client.close(now);
        }
        while let Some(transmit) = client.poll_transmit(now) {
            let payload = transmit.payload.clone();
            sent.push((
                transmit.packet.clone(),
                payload.clone().unwrap_or(Bytes(vec![])).0,
            ));
            let is_request = matches!(transmit.packet.kind, Kind::Request { .. });
            match &mut server {
                None => {
                    let end = ServerEnd {
                        config: TunnelConfig::default(),
                        scheduler: build(),
                        path: path(0),
                        seed: 2,
                    };
                    let accepted = Tunnel::accept(now, &transmit.packet, &[], end);
                    server = Some(accepted.expect("a first Request").0);
                }
                Some(server) if is_request => {
                    let joined = server.accept_join(now, path(0), &transmit.packet);
                    assert_eq!(joined, Ok(PathId(1)));
                }
                Some(server) => {
                    server.receive(now, transmit.path, &transmit.packet, payload, transmit.ecn);
                }
            }
        }
        let Some(server) = &mut server else { continue };
        while let Some(transmit) = server.poll_transmit(now) {
            let payload = transmit.payload.clone();
            sent.push((
                transmit.packet.clone(),
                payload.clone().unwrap_or(Bytes(vec![])).0,
            ));
            client.receive(now, transmit.path, &transmit.packet, payload, transmit.ecn);
        }
        for end in [&mut client, server] {
            if end.next_deadline(now).is_some_and(|at| at <= now) {
                end.on_deadline(now);
            }
        }
    }
    assert!(client.is_closed() && server.is_some_and(|server| server.is_closed()));
    sent
}

#[test]
fn a_session_of_two_ends_reads_the_same() {
    let sent = session();
    let count = |code| sent.iter().filter(|(p, _)| p.kind.code() == code).count();
    // two Requests and Responses; 80 packets of data, with and without acknowledgements
    assert_eq!((count(0), count(1), count(2) + count(4)), (2, 2, 80));
    assert!(count(3) > 0 && count(6) > 0 && count(7) > 0);
    compare("a_session_of_two_ends_reads_the_same", &sent);
}
