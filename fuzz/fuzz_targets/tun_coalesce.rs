//! Packets put together for the device, and cut again as the kernel cuts them: each flow gets what was put in,
//! in its order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::io::IoSlice;
use tun::{Coalescer, Layout, VnetHeader, split};

/// A packet, or the segments of it that the kernel makes, whose sums are right.
fn segments(data: &[u8], size: u8, packets: &mut Vec<Vec<u8>>) {
    let layout = Layout::of(data).filter(|_| size > 0);
    let gso_type = match layout.map(|layout| (layout.is_tcp, layout.is_ipv6)) {
        None => VnetHeader::GSO_NONE,
        Some((true, false)) => VnetHeader::GSO_TCP4,
        Some((true, true)) => VnetHeader::GSO_TCP6,
        Some((false, _)) => VnetHeader::GSO_UDP,
    };
    let header = VnetHeader {
        gso_type,
        gso_size: u16::from(size),
        ..VnetHeader::default()
    };
    let (mut room, mut lengths, mut at) = (vec![0; 20_000], Vec::new(), 0);
    if split(header, data, &mut room, &mut lengths).is_ok() {
        for length in lengths {
            packets.push(room[at..at + length].to_vec());
            at += length;
        }
    }
}

/// Packets by flow; the identification of IPv4 packets that are never fragmented may change on the way.
fn flows(packets: impl IntoIterator<Item = Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut flows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for mut packet in packets {
        let mut flow = Vec::new();
        if let Some(layout) = Layout::of(&packet) {
            let addresses = if layout.is_ipv6 { 8..40 } else { 12..20 };
            flow.extend_from_slice(&packet[addresses]);
            flow.extend_from_slice(&packet[layout.transport..layout.transport + 4]);
            flow.extend([u8::from(layout.is_tcp), layout.transport as u8]);
            if !layout.is_ipv6 && packet[6] & 0x40 != 0 {
                packet[4..6].fill(0);
                packet[10..12].fill(0);
            }
        }
        flows.entry(flow).or_default().push(packet);
    }
    flows
}

fuzz_target!(|bytes: &[u8]| {
    let Some((joins_udp, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut packets = Vec::new();
    while let [size, high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])) % 2_048;
        let (data, next) = after.split_at(length.min(after.len()));
        segments(data, *size, &mut packets);
        rest = next;
    }
    packets.retain(|packet| !packet.is_empty());
    let mut written: Vec<Vec<u8>> = Vec::new();
    let mut write = |pieces: &[IoSlice<'_>]| {
        written.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect());
    };
    let mut coalescer = Coalescer::new(joins_udp & 1 == 1);
    for packet in &packets {
        coalescer.push(packet.clone(), &mut write);
    }
    coalescer.flush(&mut write);
    let mut cut = Vec::new();
    for whole in &written {
        let (header, data) = whole.split_first_chunk().expect("a header");
        let (mut room, mut lengths, mut at) = (vec![0; 200_000], Vec::new(), 0);
        split(VnetHeader::read(header), data, &mut room, &mut lengths).expect("it can be cut");
        for length in lengths {
            cut.push(room[at..at + length].to_vec());
            at += length;
        }
    }
    assert_eq!(flows(cut), flows(packets));
});
