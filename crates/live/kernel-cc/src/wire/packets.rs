//! What the program reads of segments (`bpf/wire_packet.h`), compiled for this machine, beside a model of what their bytes
//! mean: the same of any segment, and nothing is read beyond it.

use super::model::{WORDS, read};
use testing::{Native, Outgoing};
use units::{Rng, Streams};

fn answers(packets: &[Outgoing]) -> Vec<[u32; WORDS]> {
    let of_crate = env!("CARGO_MANIFEST_DIR");
    let mut native = Native::compile(of_crate, "wire_packet_check", &[], "any");
    native.words(packets)
}

/// A segment of the proxy: with options of IP and TCP or without, behind an Ethernet header, tags, or none.
fn segment(rng: &mut Rng) -> Outgoing {
    let is_v6 = rng.below(2) == 0;
    let options = [0, 12, 20, 40][rng.below(4) as usize];
    let of_ip = match rng.below(4) {
        0 if !is_v6 => 8,
        _ => 0,
    };
    let payload = [0, 1, 100][rng.below(3) as usize];
    let mut tcp: Vec<u8> = (0..20 + options).map(|_| rng.below(256) as u8).collect();
    tcp[12] = (((20 + options) / 4) as u8) << 4;
    tcp[13] = [0x10, 0x18, 0x02, 0x11, 0x04, 0x30][rng.below(6) as usize];
    tcp.resize(20 + options + payload, 7);
    let mut ip = match is_v6 {
        true => {
            let mut ip = vec![0x60, 0, 0, 0, 0, 0, 6, 64];
            ip[4..6].copy_from_slice(&(tcp.len() as u16).to_be_bytes());
            ip.extend([0xfd; 32]);
            ip
        }
        false => {
            let size = 20 + of_ip;
            let mut ip = vec![0x40 | (size / 4) as u8, 0];
            ip.extend(((size + tcp.len()) as u16).to_be_bytes());
            ip.extend([0, 9, 0x40, 0, 64, 6, 0, 0, 10, 99, 0, 1, 10, 99, 0, 2]);
            ip.extend(vec![1; of_ip]);
            ip
        }
    };
    ip.extend(tcp);
    let (link, network) = match rng.below(6) {
        0 => (vec![], 0),
        1 => (vec![2; 18], 18),
        2 => (vec![2; 22], 22),
        _ => (vec![2; 14], 14),
    };
    Outgoing {
        network,
        ..Outgoing::frame([link, ip].concat())
    }
}

/// Some of its bytes changed, or cut.
fn damaged(mut packet: Outgoing, rng: &mut Rng) -> Outgoing {
    for _ in 0..rng.below(3) {
        let at = rng.below(packet.bytes.len() as u64) as usize;
        packet.bytes[at] = rng.below(256) as u8;
    }
    match rng.below(8) {
        0 => {
            let length = rng.below(packet.bytes.len() as u64 + 1) as usize;
            packet.bytes.truncate(length);
        }
        1 => packet.network = rng.below(80) as u32,
        // a fragment, of IPv4
        2 => packet.bytes[packet.network as usize + 6] = [0x20, 0x10, 0x01][rng.below(3) as usize],
        _ => {}
    }
    packet
}

#[test]
fn any_segment_is_read_as_what_its_bytes_mean() {
    let mut rng = Streams::new(59).stream("segments");
    let whole: Vec<Outgoing> = (0..4_000).map(|_| segment(&mut rng)).collect();
    let any = whole.iter().map(|of| damaged(of.clone(), &mut rng));
    let packets: Vec<Outgoing> = whole
        .iter()
        .cloned()
        .chain(any.collect::<Vec<_>>())
        .collect();
    let answers = answers(&packets);
    for (packet, answer) in packets.iter().zip(&answers) {
        assert_eq!(*answer, read(packet), "{packet:x?}");
    }
    // whole ones are read, but behind tags, where nothing is set
    for (packet, answer) in whole.iter().zip(&answers) {
        assert_eq!(answer[0] == 1, packet.network < 18, "{packet:x?}");
    }
    let read = answers.iter().filter(|answer| answer[0] == 1).count();
    assert!(read > 3_000 && read < packets.len() - 1_000, "{read}");
}
