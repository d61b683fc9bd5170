//! Pieces of super-segments: any bytes as pieces, among those of one that was cut, of which some are lost, repeated, changed or
//! come in another order. What is held is bounded, and what is written is what the kernel can cut; without changes each byte is
//! where it was.
#![no_main]

use core::time::Duration;
use libfuzzer_sys::fuzz_target;
use std::io::IoSlice;
use tun::pieces::{Joiner, Packing, SuperSegment, ecn, is_piece, mark};
use tun::{Layout, VnetHeader, split};

/// Commands of one run.
const MAX_COMMANDS: usize = 100;

/// A super-segment whose payload counts in words, so that a byte shows where it was.
fn made(is_ipv6: bool, is_tcp: bool, length: usize) -> Vec<u8> {
    let transport = if is_tcp { 20 } else { 8 };
    let mut data = match is_ipv6 {
        true => vec![0x60, 0, 0, 0, 0, 0, 17, 64],
        false => vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0],
    };
    data.extend(vec![10; if is_ipv6 { 32 } else { 8 }]);
    let ip = data.len();
    data.extend(vec![0; transport]);
    if is_tcp {
        data[if is_ipv6 { 6 } else { 9 }] = 6;
        (data[ip + 12], data[ip + 13]) = (0x50, 0x10);
    }
    data.extend((0..length).map(|at| (at / 2 >> (8 * (1 - at % 2))) as u8));
    data
}

fn take(bytes: &mut &[u8]) -> u8 {
    bytes.split_off_first().copied().unwrap_or(0)
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let kind = take(&mut bytes);
    let (is_ipv6, is_tcp) = (kind & 1 != 0, kind & 2 != 0);
    let size = 64 + u16::from(take(&mut bytes)) * 5;
    let data = made(is_ipv6, is_tcp, usize::from(size) + 1 + usize::from(take(&mut bytes)) * 150);
    let header = VnetHeader {
        flags: VnetHeader::NEEDS_CHECKSUM,
        gso_type: match (is_tcp, is_ipv6) {
            (true, false) => VnetHeader::GSO_TCP4,
            (true, true) => VnetHeader::GSO_TCP6,
            (false, _) => VnetHeader::GSO_UDP,
        },
        gso_size: size,
        ..VnetHeader::default()
    };
    let layout = Layout::of(&data).expect("TCP or UDP");
    let whole = SuperSegment::of(header, &data).expect("a super-segment");
    let (mut room, mut lengths) = (vec![0; 200_000], Vec::new());
    let max = 200 + usize::from(take(&mut bytes)) * 5;
    let first = max.min(160 + usize::from(take(&mut bytes)) * 5);
    whole.write_pieces(1, (first, max), &mut room, &mut lengths).expect("room");
    let mut pieces = Vec::new();
    let mut rest = &room[..];
    for length in lengths {
        pieces.push(rest.split_off(..length).expect("it was written").to_vec());
    }
    let mut joiner: Joiner<Vec<u8>> = Joiner::new(kind & 4 != 0);
    let mut now = Duration::ZERO;
    let mut is_changed = false;
    let payload = &data[layout.payload..];
    for _ in 0..MAX_COMMANDS {
        if bytes.is_empty() {
            break;
        }
        let command = take(&mut bytes);
        let argument = usize::from(take(&mut bytes));
        match command % 6 {
            0 | 1 | 5 => {
                let mut piece = pieces[argument % pieces.len()].clone();
                assert!(is_piece(&piece));
                if command % 6 == 5 {
                    let mut packing = Packing::new(&piece);
                    for _ in 0..command / 64 {
                        packing.push(&pieces[usize::from(take(&mut bytes)) % pieces.len()]);
                    }
                    piece = packing.into_packet();
                }
                if command % 6 == 1 || command % 12 == 5 {
                    let at = usize::from(take(&mut bytes)) % piece.len();
                    piece[at] ^= take(&mut bytes);
                    is_changed = true;
                }
                joiner.push(now, &piece);
            }
            2 => {
                let length = argument.min(bytes.len());
                let mut raw = bytes.split_off(..length).unwrap_or_default().to_vec();
                let before = ecn(&raw);
                mark(&mut raw);
                assert_eq!(ecn(&raw), before.map(|_| 3));
                joiner.push(now, &raw);
                is_changed = true;
            }
            3 => now += Duration::from_millis(argument as u64),
            _ => joiner.flush(now, &mut |slices: &[IoSlice<'_>]| {
                let all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
                let (header, packet) = all.split_first_chunk().expect("a header");
                let (mut room, mut lengths) = (vec![0; 300_000], Vec::new());
                let header = VnetHeader::read(header);
                let used = split(header, packet, &mut room, &mut lengths).expect("it can be cut");
                let mut rest = &room[..used];
                for length in lengths {
                    let packet = rest.split_off(..length).expect("it was written");
                    if !is_changed {
                        let body = &packet[layout.payload..];
                        assert!(payload.windows(body.len()).any(|part| part == body));
                    }
                }
            }),
        }
        assert!(joiner.held() <= 256 * 1_024);
    }
});
