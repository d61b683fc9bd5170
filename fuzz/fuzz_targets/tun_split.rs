//! What the device hands over, cut: any header before any packet. What is cut is the whole again, in packets
//! whose sums are right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tun::checksum::Sum;
use tun::{Layout, VnetHeader, split};

fuzz_target!(|bytes: &[u8]| {
    let Some((header, data)) = bytes.split_first_chunk() else {
        return;
    };
    let header = VnetHeader::read(header);
    let mut room = vec![0; 200_000];
    let mut lengths = vec![7];
    let used = match split(header, data, &mut room, &mut lengths) {
        Ok(used) => used,
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            assert_eq!(lengths, [7], "nothing was appended");
            return;
        }
    };
    assert_eq!(lengths[1..].iter().sum::<usize>(), used);
    if header.kind() == VnetHeader::GSO_NONE {
        assert_eq!(lengths[1..], [data.len()]);
        return;
    }
    let whole = Layout::of(data).expect("only these are cut");
    let (mut at, mut payload) = (0, Vec::new());
    for length in &lengths[1..] {
        let packet = &room[at..at + length];
        at += length;
        assert_eq!(Layout::of(packet), Some(whole));
        assert!(packet.len() - whole.payload <= usize::from(header.gso_size));
        payload.extend_from_slice(&packet[whole.payload..]);
        let addresses = if whole.is_ipv6 { 8..40 } else { 12..20 };
        let sum = Sum::default()
            .with(&packet[addresses])
            .with_word(if whole.is_tcp { 6 } else { 17 })
            .with_word((length - whole.transport) as u16)
            .with(&packet[whole.transport..]);
        assert!(sum.is_valid());
        assert!(whole.is_ipv6 || Sum::default().with(&packet[..whole.transport]).is_valid());
    }
    assert_eq!(payload, data[whole.payload..]);
});
