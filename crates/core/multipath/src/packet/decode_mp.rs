//! Multipath options from bytes (RFC 9897 section 3.2).

use super::decode::number;
use super::options::{
    AddressId, ConnectionId, Hmac, KeyData, MpOption, PathPriority, PathRtt, RttKind,
};
use super::wire::{self, mp_opt};
use crate::seq::MpSeq;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::Duration;

/// The option of that number with that data; [`MpOption::Unknown`] if either is not as RFC 9897 has
/// it.
pub(super) fn multipath(kind: u8, data: &[u8]) -> MpOption {
    known(kind, data).unwrap_or_else(|| MpOption::Unknown {
        kind,
        data: data.to_vec(),
    })
}

fn known(kind: u8, data: &[u8]) -> Option<MpOption> {
    Some(match kind {
        mp_opt::CONFIRM => MpOption::Confirm(confirm(data)?),
        mp_opt::JOIN => {
            let data: &[u8; 9] = data.try_into().ok()?;
            MpOption::Join {
                address: AddressId(data[0]),
                connection: ConnectionId(number(&data[1..5]) as u32),
                nonce: number(&data[5..]) as u32,
            }
        }
        mp_opt::FAST_CLOSE => MpOption::FastClose(closing_key(data)?),
        mp_opt::KEY => key(data)?,
        mp_opt::SEQ if data.len() == 6 => MpOption::Seq(MpSeq::new(number(data))),
        mp_opt::HMAC => MpOption::Hmac(Hmac(data.try_into().ok()?)),
        mp_opt::RTT => MpOption::Rtt(rtt(data)?),
        mp_opt::ADD_ADDRESS => add_address(data)?,
        mp_opt::REMOVE_ADDRESS => {
            let data: &[u8; 5] = data.try_into().ok()?;
            MpOption::RemoveAddress {
                id: AddressId(data[0]),
                nonce: number(&data[1..]) as u32,
            }
        }
        mp_opt::PRIORITY => match data {
            [bits] => MpOption::Priority(PathPriority::from_bits(*bits)),
            _ => return None,
        },
        mp_opt::CLOSE => MpOption::Close(closing_key(data)?),
        mp_opt::EXPERIMENTAL => MpOption::Experimental(data.to_vec()),
        _ => return None,
    })
}

/// The key of a close. Its type is not on the wire; both ends hold which one they agreed on, and
/// this implementation agrees on plain keys only.
fn closing_key(data: &[u8]) -> Option<KeyData> {
    (!data.is_empty()).then(|| KeyData {
        kind: 0,
        data: data.to_vec(),
    })
}

/// A reserved byte, the connection's number, then keys with their types. The length of a key of an
/// unknown type is not known: it takes what is left.
fn key(data: &[u8]) -> Option<MpOption> {
    let (head, mut left) = data.split_at_checked(5)?;
    let mut keys = Vec::new();
    while let [kind, rest @ ..] = left {
        let len = match wire::key_len(*kind) {
            Some(len) if *kind == 0 && rest.len() < len => return None,
            Some(len) => len.min(rest.len()),
            None => rest.len(),
        };
        let (key, rest) = rest.split_at(len);
        keys.push(KeyData {
            kind: *kind,
            data: key.to_vec(),
        });
        left = rest;
    }
    Some(MpOption::Key {
        connection: ConnectionId(number(&head[1..]) as u32),
        keys,
    })
}

fn rtt(data: &[u8]) -> Option<PathRtt> {
    let data: &[u8; 9] = data.try_into().ok()?;
    Some(PathRtt {
        kind: match data[0] {
            0 => RttKind::Raw,
            1 => RttKind::Min,
            2 => RttKind::Max,
            3 => RttKind::Smooth,
            _ => return None,
        },
        rtt: Duration::from_millis(number(&data[1..5])),
        age: Duration::from_millis(number(&data[5..])),
    })
}

fn add_address(data: &[u8]) -> Option<MpOption> {
    let (head, rest) = data.split_at_checked(5)?;
    let (address, port) = match rest.len() {
        4 | 6 => {
            let (address, port) = rest.split_first_chunk::<4>()?;
            (IpAddr::V4(Ipv4Addr::from(*address)), port)
        }
        16 | 18 => {
            let (address, port) = rest.split_first_chunk::<16>()?;
            (IpAddr::V6(Ipv6Addr::from(*address)), port)
        }
        _ => return None,
    };
    Some(MpOption::AddAddress {
        id: AddressId(head[0]),
        nonce: number(&head[1..]) as u32,
        address,
        port: (!port.is_empty()).then(|| number(port) as u16),
    })
}

/// Whole options: each `MP_SEQ` followed by those that came with it (RFC 9897 3.2.1). Only options
/// that are confirmed (table 4) are taken, others among them are passed over: one that needs no
/// confirmation does no harm, and a Confirm within a Confirm would have no end. `None` if the list
/// is damaged.
fn confirm(mut data: &[u8]) -> Option<Vec<(MpOption, MpSeq)>> {
    let mut confirmed = Vec::new();
    let mut seq = None;
    while let [kind, length, rest @ ..] = data {
        let len = usize::from(*length).checked_sub(2)?;
        let (option, rest) = rest.split_at_checked(len)?;
        data = rest;
        match (*kind, option) {
            (wire::MULTIPATH, [mp_opt::SEQ, number_bytes @ ..]) if number_bytes.len() == 6 => {
                seq = Some(MpSeq::new(number(number_bytes)));
            }
            (
                wire::MULTIPATH,
                [
                    mp @ (mp_opt::ADD_ADDRESS | mp_opt::REMOVE_ADDRESS | mp_opt::PRIORITY),
                    data @ ..,
                ],
            ) => confirmed.push((known(*mp, data)?, seq?)),
            _ => {}
        }
    }
    data.is_empty().then_some(confirmed)
}
