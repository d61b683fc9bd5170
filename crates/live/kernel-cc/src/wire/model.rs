//! What is to be read of a segment that leaves, by what its bytes mean (RFC 791, 8200, 9293), beside the C of
//! `bpf/wire_packet.h`. The fuzz target `wire_segments` compiles it too.

use testing::Outgoing;

/// Words of the C's `struct result`: whether it is a segment; where the TCP header begins, payload, sequence number,
/// acknowledgement, window field and flags.
pub const WORDS: usize = 7;

/// The C's `struct result`.
pub fn read(packet: &Outgoing) -> [u32; WORDS] {
    segment(packet).unwrap_or_default()
}

fn segment(packet: &Outgoing) -> Option<[u32; WORDS]> {
    let ip: [u8; 20] = packet.at(packet.network as usize)?;
    let half = |at: usize| u32::from(u16::from_be_bytes([ip[at], ip[at + 1]]));
    let (header, length) = match (ip[0] >> 4, ip[9], ip[6]) {
        (4, 6, _) if ip[0] & 15 >= 5 && half(6) & 0x3fff == 0 => {
            (u32::from(ip[0] & 15) * 4, half(2))
        }
        // an extension header is none of TCP
        (6, _, 6) => (40, half(4) + 40),
        _ => return None,
    };
    // behind an Ethernet header, or first of all: behind tags nothing is set
    let link = [14, 0].into_iter().find(|at| packet.at(*at) == Some(ip))?;
    let at = link as u32 + header;
    let tcp: [u8; 20] = packet.at(at as usize)?;
    let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
    let data = header + u32::from(tcp[12] >> 4) * 4;
    Some([
        1,
        at,
        length.wrapping_sub(data),
        word(4),
        word(8),
        word(12) & 0xffff,
        u32::from(tcp[13]),
    ])
}
