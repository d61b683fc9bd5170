//! The wire format read by another implementation: Wireshark's dissector, as `tshark`, over a capture of what
//! [`encode`] writes, with IP protocol 33 (DCCP) in place of UDP.
//!
//! Skipped where there is no tshark, or one without multipath DCCP. Version 4.4
//! follows an early draft in `MP_KEY` (it takes the connection identifier for a part of the key),
//! `MP_ADDADDR` (no nonce: it finds the length wrong) and `MP_REMOVEADDR` (no nonce: it loses its place
//! after it, so that none is in the capture). After `MP_FAST_CLOSE` and `MP_EXP` it goes on a byte too
//! early: here that byte is a zero, which it takes for Padding.

use multipath::packet::{
    AckVector, AddressId, ConnectionId, DccpOption, Feature, FeatureOption, FeatureOptionKind,
    Hmac, KeyData, Kind, MpOption, Options, Packet, PathPriority, PathRtt, ReceptionState,
    ResetCode, RttKind, encode,
};
use multipath::scheduler;
use multipath::tunnel::{PathConfig, ServerEnd, TunnelConfig};
use multipath::{MpSeq, PathId, Payload, SeqNo, Tunnel};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::Missing;
use units::{Duration, Ecn, Instant};

/// Fields that tshark prints, and that the packets' values determine too.
const FIELDS: [&str; 38] = [
    "dccp.srcport",
    "dccp.dstport",
    "dccp.data_offset",
    "dccp.ccval",
    "dccp.cscov",
    "dccp.type",
    "dccp.x",
    "dccp.seq_raw",
    "dccp.ack_raw",
    "dccp.service_code",
    "dccp.reset_code",
    "dccp.data1",
    "dccp.data2",
    "dccp.data3",
    "dccp.ndp_count",
    "dccp.timestamp",
    "dccp.timestamp_echo",
    "dccp.elapsed_time",
    "dccp.ack_vector.nonce_0",
    "dccp.data_dropped",
    "dccp.init_cookie",
    "dccp.option_reserved",
    "dccp.ccid_option_data",
    "dccp.mp_seq",
    "dccp.mp_key_type",
    "dccp.mp_key_hash",
    "dccp.mp_joinid",
    "dccp.mp_path_token",
    "dccp.mp_nonce",
    "dccp.mp_hmac_sha",
    "dccp.mp_rtt_type",
    "dccp.mp_rtt_value",
    "dccp.mp_rtt_age",
    "dccp.mp_prioval",
    "dccp.mp_close_key",
    "dccp.mp_addaddr",
    "data.data",
    "dccp.option.len.bad",
];

/// Whether tshark is there, with multipath DCCP. If not, records that `test` is skipped.
fn has_tshark(test: &str) -> bool {
    let fields = match Command::new("tshark").args(["-G", "fields"]).output() {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            testing::skip(test, Missing::Program("tshark"));
            return false;
        }
    };
    let fields = String::from_utf8_lossy(&fields).into_owned();
    let has_all = FIELDS
        .iter()
        .all(|field| fields.contains(&format!("\t{field}\t")));
    if !has_all {
        // a distribution's tshark may be too old: no setup provides another
        testing::skip(test, Missing::Data("a tshark that dissects multipath DCCP"));
    }
    has_all
}

/// A capture file of link type 101 (raw IP): each packet in IPv4 with protocol 33.
fn write_capture(path: &Path, packets: &[(Packet, Vec<u8>)]) {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4u32.to_le_bytes());
    file.extend(2u16.to_le_bytes());
    file.extend(4u16.to_le_bytes());
    file.extend([0; 8]);
    file.extend(65_535u32.to_le_bytes());
    file.extend(101u32.to_le_bytes());
    for (i, (packet, payload)) in packets.iter().enumerate() {
        let mut dccp = Vec::new();
        encode(packet, &mut dccp).expect("it has a form");
        dccp.extend(payload);
        let total = 20 + dccp.len() as u16;
        file.extend((i as u32).to_le_bytes());
        file.extend([0; 4]);
        file.extend(u32::from(total).to_le_bytes());
        file.extend(u32::from(total).to_le_bytes());
        file.extend([0x45, 0]);
        file.extend(total.to_be_bytes());
        file.extend([0, 0, 0x40, 0, 64, 33, 0, 0]);
        file.extend([192, 0, 2, 1, 198, 51, 100, 1]);
        file.extend(dccp);
    }
    std::fs::write(path, file).expect("the capture is written");
}

/// What tshark reads, a map of fields to values for each packet; several values have commas between.
fn dissect(path: &Path) -> Vec<BTreeMap<&'static str, String>> {
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-o", "dccp.check_checksum:FALSE", "-r"])
        .arg(path);
    tshark.args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    let line = |line: &str| {
        let values = line.split('\t').map(str::to_owned);
        FIELDS
            .into_iter()
            .zip(values)
            .filter(|(_, v)| !v.is_empty())
            .collect()
    };
    text.lines().map(line).collect()
}

/// A packet and its application data.
type Sent = (Packet, Vec<u8>);

/// The fields that tshark should read, from the packet's values.
fn expected((packet, payload): &Sent) -> BTreeMap<&'static str, String> {
    let mut fields: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut add = |field, value: String| fields.entry(field).or_default().push(value);
    let mut header = Vec::new();
    let words = encode(packet, &mut header).expect("it has a form") / 4;
    add("dccp.srcport", packet.source.to_string());
    add("dccp.dstport", packet.destination.to_string());
    add("dccp.data_offset", words.to_string());
    add("dccp.ccval", packet.ccval.to_string());
    add("dccp.cscov", "0".into());
    add("dccp.type", packet.kind.code().to_string());
    add("dccp.x", "True".into());
    add("dccp.seq_raw", packet.seq.to_string());
    if let Some(ack) = packet.kind.ack() {
        add("dccp.ack_raw", ack.to_string());
    }
    match packet.kind {
        Kind::Request { service } | Kind::Response { service, .. } => {
            add("dccp.service_code", service.to_string());
        }
        Kind::Reset { code, data, .. } => {
            add("dccp.reset_code", code.0.to_string());
            for (field, value) in ["dccp.data1", "dccp.data2", "dccp.data3"].iter().zip(data) {
                add(field, value.to_string());
            }
        }
        _ => {}
    }
    let options = &packet.options;
    if let Some(seq) = options.mp_seq {
        add("dccp.mp_seq", seq.to_string());
    }
    for option in &options.list {
        expect_option(option, &mut add);
    }
    if let Some(vector) = &options.ack_vector {
        add("dccp.ack_vector.nonce_0", hex(vector.as_wire()));
    }
    if let Some(elapsed) = options.elapsed {
        let steps = elapsed.as_micros() / 10;
        add("dccp.elapsed_time", steps.to_string());
    }
    if !payload.is_empty() {
        add("data.data", hex(payload));
    }
    let join = |(field, values): (_, Vec<String>)| (field, values.join(","));
    fields.into_iter().map(join).collect()
}

fn expect_option(option: &DccpOption, add: &mut impl FnMut(&'static str, String)) {
    match option {
        DccpOption::NdpCount(count) => add("dccp.ndp_count", count.to_string()),
        DccpOption::Timestamp(timestamp) => add("dccp.timestamp", timestamp.to_string()),
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            add("dccp.timestamp_echo", timestamp.to_string());
            if let Some(elapsed) = elapsed {
                add("dccp.elapsed_time", elapsed.to_string());
            }
        }
        DccpOption::DataDropped(data) => add("dccp.data_dropped", hex(data)),
        DccpOption::InitCookie(data) => add("dccp.init_cookie", hex(data)),
        DccpOption::Unknown { kind, data } if *kind >= 128 => {
            add("dccp.ccid_option_data", hex(data));
        }
        DccpOption::Unknown { data, .. } => add("dccp.option_reserved", hex(data)),
        DccpOption::Multipath(option) => expect_multipath(option, add),
        // these it shows in words only
        DccpOption::Mandatory | DccpOption::SlowReceiver | DccpOption::Feature(_) => {}
    }
}

fn expect_multipath(option: &MpOption, add: &mut impl FnMut(&'static str, String)) {
    match option {
        MpOption::Confirm(confirmed) => {
            for (option, seq) in confirmed {
                add("dccp.mp_seq", seq.to_string());
                expect_multipath(option, add);
            }
        }
        MpOption::Join {
            address,
            connection,
            nonce,
        } => {
            add("dccp.mp_joinid", address.0.to_string());
            add("dccp.mp_path_token", format!("{:#010x}", connection.0));
            add("dccp.mp_nonce", format!("{nonce:#010x}"));
        }
        MpOption::Key { connection, keys } => {
            // the reserved byte, then everything else
            let mut bytes = connection.0.to_be_bytes().to_vec();
            for key in keys {
                bytes.push(key.kind);
                bytes.extend(&key.data);
            }
            add("dccp.mp_key_type", "0".into());
            add("dccp.mp_key_hash", hex(&bytes));
        }
        MpOption::Hmac(hmac) => add("dccp.mp_hmac_sha", hex(&hmac.0)),
        MpOption::Rtt(rtt) => {
            add("dccp.mp_rtt_type", (rtt.kind as u8).to_string());
            add("dccp.mp_rtt_value", rtt.rtt.as_millis().to_string());
            add("dccp.mp_rtt_age", rtt.age.as_millis().to_string());
        }
        MpOption::Priority(priority) => add("dccp.mp_prioval", priority.get().to_string()),
        MpOption::Close(key) => add("dccp.mp_close_key", format!("0x{}", hex(&key.data))),
        MpOption::AddAddress { .. } => {
            add("dccp.mp_addaddr", "7".into());
            add("dccp.option.len.bad", "1".into());
        }
        // without fields of their own
        MpOption::FastClose(_) | MpOption::Experimental(_) | MpOption::RemoveAddress { .. } => {}
        MpOption::Seq(seq) => add("dccp.mp_seq", seq.to_string()),
        MpOption::Unknown { .. } => add("dccp.option.len.bad", "1".into()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Both readings of each packet are the same; `name` is the test's.
fn compare(name: &str, packets: &[Sent]) {
    if !has_tshark(name) {
        return;
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    write_capture(&path, packets);
    let read = dissect(&path);
    assert_eq!(read.len(), packets.len());
    for (packet, read) in packets.iter().zip(read) {
        assert_eq!(read, expected(packet), "{:?}", packet.0);
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
