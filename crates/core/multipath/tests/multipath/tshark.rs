//! The reading of DCCP packets by another program: Wireshark's dissector, as `tshark`.
//!
//! It has no dissector of DCCP in UDP (RFC 6773), so that packets are given to it with IP protocol 33 and without their UDP
//! header. Version 4.4 has fields for multipath options, older ones show their bytes only; what 4.4 reads by an early
//! draft stands in `dissect`.

use multipath::packet::{DccpOption, Kind, MpOption, Packet, encode};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use testing::Missing;

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

/// A tshark.
#[derive(Clone, Copy, Debug)]
pub struct Tshark {
    /// It has fields for multipath options.
    pub knows_multipath: bool,
}

/// A packet's fields as tshark prints them; several values have commas between.
pub type Fields = BTreeMap<&'static str, String>;

impl Tshark {
    /// None, and `test` is recorded as skipped, where there is none.
    pub fn find(test: &str) -> Option<Self> {
        let fields = match Command::new("tshark").args(["-G", "fields"]).output() {
            Ok(output) if output.status.success() => output.stdout,
            _ => {
                testing::skip(test, Missing::Program("tshark"));
                return None;
            }
        };
        let fields = String::from_utf8_lossy(&fields).into_owned();
        let has = |field: &&str| fields.contains(&format!("\t{field}\t"));
        let (multipath, plain): (Vec<&str>, Vec<&str>) =
            FIELDS.iter().partition(|field| field.contains(".mp_"));
        assert!(plain.iter().all(has), "a tshark without DCCP");
        Some(Self {
            knows_multipath: multipath.iter().all(has),
        })
    }

    /// As [`Self::find`]; skipped as well where multipath options have no fields.
    #[allow(dead_code, reason = "not every test that includes this needs them")]
    pub fn find_with_multipath(test: &str) -> Option<Self> {
        let found = Self::find(test)?;
        if !found.knows_multipath {
            // a distribution's tshark may be too old: no setup provides another
            testing::skip(test, Missing::Data("a tshark that dissects multipath DCCP"));
        }
        found.knows_multipath.then_some(found)
    }

    fn fields(self) -> impl Iterator<Item = &'static str> {
        let all = FIELDS.into_iter();
        all.filter(move |field| self.knows_multipath || !field.contains(".mp_"))
    }

    /// What it reads of each packet of a capture.
    pub fn read(self, path: &Path) -> Vec<Fields> {
        let mut tshark = Command::new("tshark");
        tshark
            .args(["-o", "dccp.check_checksum:FALSE", "-r"])
            .arg(path);
        tshark.args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
        for field in self.fields() {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().expect("tshark runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8(output.stdout).expect("tshark writes text");
        let line = |line: &str| {
            let values = line.split('\t').map(str::to_owned);
            let read = self.fields().zip(values).filter(|(_, v)| !v.is_empty());
            // before 4.2 flags are numbers
            read.map(|(field, value)| match (field, value.as_str()) {
                ("dccp.x", "1") => (field, "True".to_owned()),
                _ => (field, value),
            })
            .collect()
        };
        text.lines().map(line).collect()
    }

    /// What it should read of a packet.
    pub fn expected(self, packet: &Packet, payload: &[u8]) -> Fields {
        let mut fields = expected(packet, payload);
        if !self.knows_multipath {
            fields.retain(|field, _| !field.contains(".mp_"));
            let reserved = reserved_options(packet);
            if !reserved.is_empty() {
                fields.insert("dccp.option_reserved", reserved.join(","));
            }
            // it finds no fault with what it does not know
            fields.remove("dccp.option.len.bad");
        }
        fields
    }
}

/// The data of options that are not those of RFC 4340, multipath ones included, in their order.
fn reserved_options(packet: &Packet) -> Vec<String> {
    let mut header = Vec::new();
    encode(packet, &mut header).expect("it has a form");
    let fixed = match packet.kind {
        Kind::Data => 16,
        Kind::Request { .. } => 20,
        Kind::Response { .. } | Kind::Reset { .. } => 28,
        _ => 24,
    };
    let mut left = &header[fixed..];
    let mut found = Vec::new();
    while let [kind, rest @ ..] = left {
        left = match (kind, rest) {
            (32.., [length, ..]) => {
                let (option, after) = left.split_at(usize::from(*length));
                if (45..128).contains(kind) {
                    found.push(hex(&option[2..]));
                }
                after
            }
            _ => rest,
        };
    }
    found
}

/// A capture file of link type 101 (raw IP): each packet in IPv4 with protocol 33.
pub fn write_capture(path: &Path, packets: &[Vec<u8>]) {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4u32.to_le_bytes());
    file.extend(2u16.to_le_bytes());
    file.extend(4u16.to_le_bytes());
    file.extend([0; 8]);
    file.extend(65_535u32.to_le_bytes());
    file.extend(101u32.to_le_bytes());
    for (i, dccp) in packets.iter().enumerate() {
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

/// The fields that tshark should read, from the packet's values.
fn expected(packet: &Packet, payload: &[u8]) -> Fields {
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
        // of a longer key it shows the first eight bytes
        MpOption::Close(key) => {
            let shown = key.data.get(..8).unwrap_or(&key.data);
            add("dccp.mp_close_key", format!("0x{}", hex(shown)));
        }
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

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
