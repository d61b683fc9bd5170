//! What the headers of a packet inside show of its flow, for schedulers with classes.

use multipath::class::FlowLabel;
use std::hash::{DefaultHasher, Hash, Hasher};

const UDP: u8 = 17;
/// Protocols whose header begins with two ports.
const WITH_PORTS: [u8; 2] = [6, UDP];

/// The label of an IP packet; nothing of what is none. Of fragments and behind extension headers no port is read.
pub(crate) fn label(data: &[u8]) -> FlowLabel {
    match data {
        [first, tos, ..] if first >> 4 == 4 && data.len() >= 20 => {
            let header = usize::from(first & 15) * 4;
            let is_fragment = u16::from_be_bytes([data[6], data[7]]) & 0x3fff != 0;
            let ports = data.get(header..header + 4).filter(|_| !is_fragment);
            of(tos >> 2, &data[12..20], data[9], ports)
        }
        [first, second, ..] if first >> 4 == 6 && data.len() >= 40 => {
            let dscp = (first << 4 | second >> 4) >> 2;
            of(dscp, &data[8..40], data[6], data.get(40..44))
        }
        _ => FlowLabel::default(),
    }
}

fn of(dscp: u8, addresses: &[u8], protocol: u8, ports: Option<&[u8]>) -> FlowLabel {
    let ports = ports.filter(|_| WITH_PORTS.contains(&protocol));
    let mut hasher = DefaultHasher::new();
    (addresses, protocol, ports).hash(&mut hasher);
    FlowLabel {
        dscp,
        flow: Some(hasher.finish()),
        is_udp: protocol == UDP && ports.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4(tos: u8, protocol: u8, port: u8) -> Vec<u8> {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[1] = tos;
        packet[9] = protocol;
        packet[21] = port;
        packet
    }

    #[test]
    fn codepoint_protocol_and_ports_are_read() {
        let call = label(&v4(46 << 2 | 1, UDP, 7));
        assert_eq!((call.dscp, call.is_udp), (46, true));
        assert_ne!(call.flow, label(&v4(46 << 2, UDP, 8)).flow);
        assert_eq!(call.flow, label(&v4(0, UDP, 7)).flow);
        assert!(!label(&v4(0, 6, 7)).is_udp);
        let mut fragment = v4(0, UDP, 7);
        fragment[6] = 0x20;
        assert!(!label(&fragment).is_udp);
        let mut six = vec![0; 48];
        (six[0], six[1], six[6]) = (0x6b, 0x80, UDP);
        assert_eq!((label(&six).dscp, label(&six).is_udp), (46, true));
        assert_eq!(label(b"no packet"), FlowLabel::default());
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_fault(data in prop::collection::vec(any::<u8>(), 0..64), version in 0u8..3) {
            let mut data = data;
            if let Some(first) = data.first_mut() {
                *first = [*first, 0x40 | *first & 15, 0x60 | *first & 15][usize::from(version)];
            }
            let label = label(&data);
            prop_assert!(label.dscp < 64);
        }
    }
}
