//! Whose a tunnel is: the address that packets in it have, where they can be read, or that of packets that came from the core
//! with the same lengths.
//!
//! A UE has an address of either family at once, if its session is of both; of IPv6 it has a /64, so that addresses within one
//! are of one UE.

use core::net::IpAddr;
use units::{Duration, Instant};

/// So many packets with one address show whose a tunnel is; one alone may be ciphered bytes that look like a packet.
const AGREEMENT: u8 = 2;

/// So many packets in a row, each of which could be no other UE's by its length, show whose a ciphered bearer is.
const MATCHES: u8 = 8;

/// A UE whose packets have been of IPv6 for so long without one of IPv4 is named by its IPv6 address.
const FAMILY_GAP: Duration = Duration::from_secs(10);

/// What a packet has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Nothing new.
    Nothing,
    /// An address of the UE's.
    Address,
    /// The tunnel was another UE's until now.
    Other,
}

/// The UE's address of one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Family {
    /// With the time of its last packet.
    seen: Option<(IpAddr, Instant)>,
    candidate: Option<(IpAddr, u8)>,
    /// By lengths of packets from the core.
    matched: Option<(IpAddr, u8)>,
}

/// A tunnel's UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Owner {
    v4: Family,
    v6: Family,
}

impl Owner {
    /// An address of the UE, if one is known: that of IPv4, unless its packets are of IPv6 only.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match (self.v4.seen, self.v6.seen) {
            (Some((_, v4)), Some((address, v6))) if v6.saturating_since(v4) > FAMILY_GAP => {
                Some(address)
            }
            (Some((address, _)), _) | (None, Some((address, _))) => Some(address),
            (None, None) => None,
        }
    }

    /// Whether that address is the UE's, as far as is known.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let seen = match address {
            IpAddr::V4(_) => self.v4.seen,
            IpAddr::V6(_) => self.v6.seen,
        };
        seen.is_some_and(|(seen, _)| is_one_ue(seen, address))
    }

    /// A packet of the UE with this address.
    pub(crate) fn on_packet(&mut self, now: Instant, address: IpAddr) -> Shown {
        let new = self.new_address(now, address);
        let family = self.family(address);
        let is_agreed = is_agreed(&mut family.candidate, new, AGREEMENT);
        self.take(now, address, is_agreed)
    }

    /// A packet whose length only one with this address had.
    pub(crate) fn on_match(&mut self, now: Instant, address: IpAddr) -> Shown {
        let new = self.new_address(now, address);
        let family = self.family(address);
        let is_agreed = is_agreed(&mut family.matched, new, MATCHES);
        self.take(now, address, is_agreed)
    }

    fn family(&mut self, address: IpAddr) -> &mut Family {
        match address {
            IpAddr::V4(_) => &mut self.v4,
            IpAddr::V6(_) => &mut self.v6,
        }
    }

    /// The address, if it is not known as the UE's.
    fn new_address(&mut self, now: Instant, address: IpAddr) -> Option<IpAddr> {
        match &mut self.family(address).seen {
            Some((seen, at)) if is_one_ue(*seen, address) => {
                *at = now;
                None
            }
            _ => Some(address),
        }
    }

    fn take(&mut self, now: Instant, address: IpAddr, is_agreed: bool) -> Shown {
        if !is_agreed {
            return Shown::Nothing;
        }
        let is_others = self.family(address).seen.is_some();
        if is_others {
            *self = Self::default();
        }
        self.family(address).seen = Some((address, now));
        match is_others {
            true => Shown::Other,
            false => Shown::Address,
        }
    }
}

/// Whether two addresses of a family are of one UE.
fn is_one_ue(a: IpAddr, b: IpAddr) -> bool {
    match (a, b) {
        (IpAddr::V6(a), IpAddr::V6(b)) => a.octets()[..8] == b.octets()[..8],
        (a, b) => a == b,
    }
}

/// One more sign that a tunnel is of that UE, or that it is of none that is new: true if it is as many in a row as are needed.
fn is_agreed(signs: &mut Option<(IpAddr, u8)>, of: Option<IpAddr>, needed: u8) -> bool {
    let count = match (*signs, of) {
        (Some((before, count)), Some(of)) if is_one_ue(before, of) => count + 1,
        _ => 1,
    };
    *signs = of.filter(|_| count < needed).map(|of| (of, count));
    of.is_some() && count >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 45, 0, last])
    }

    fn v6(prefix: u16, last: u16) -> IpAddr {
        IpAddr::from([0x2001, 0xdb8, 0x46, prefix, 0, 0, 0, last])
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn two_packets_show_whose_a_tunnel_is() {
        let mut owner = Owner::default();
        let mut on = |last| (owner.on_packet(at(0), ip(last)), owner.address());
        assert_eq!(on(2), (Shown::Nothing, None));
        // ciphered bytes that look like a packet for another
        assert_eq!(on(9), (Shown::Nothing, None));
        assert_eq!(on(2), (Shown::Nothing, None));
        assert_eq!(on(2), (Shown::Address, Some(ip(2))));
        assert_eq!(on(3), (Shown::Nothing, Some(ip(2))));
        assert_eq!(on(2), (Shown::Nothing, Some(ip(2))));
        assert_eq!(on(3), (Shown::Nothing, Some(ip(2))));
        let two_in_a_row = (Shown::Other, Some(ip(3)));
        assert_eq!(on(3), two_in_a_row, "it is another UE's");
    }

    #[test]
    fn so_do_lengths_of_packets_that_could_be_no_others() {
        let mut owner = Owner::default();
        for round in 0..2 * MATCHES {
            let other = ip(2 + round / 7);
            assert_eq!(owner.on_match(at(0), other), Shown::Nothing, "{round}");
        }
        assert_eq!(owner.address(), None);
        for _ in 1..MATCHES {
            assert_eq!(owner.on_match(at(0), ip(2)), Shown::Nothing);
        }
        assert_eq!(owner.on_match(at(0), ip(2)), Shown::Address);
        assert_eq!(owner.address(), Some(ip(2)));
        for _ in 1..MATCHES {
            assert_eq!(owner.on_match(at(0), ip(3)), Shown::Nothing);
        }
        assert_eq!(owner.on_match(at(0), ip(3)), Shown::Other);
        assert_eq!(owner.address(), Some(ip(3)));
    }

    #[test]
    fn a_ue_of_both_families_is_one() {
        let mut owner = Owner::default();
        for round in 0..20 {
            // its addresses within the /64 change, as privacy has it
            for address in [ip(2), ip(2), v6(7, round), v6(7, round + 1)] {
                let shown = owner.on_packet(at(round.into()), address);
                assert_ne!(shown, Shown::Other, "{round} {address}");
            }
        }
        assert_eq!(owner.address(), Some(ip(2)));
        assert!(owner.has(ip(2)) && owner.has(v6(7, 99)) && !owner.has(v6(8, 1)));
        // packets of IPv6 only
        owner.on_packet(at(29), v6(7, 1));
        assert_eq!(owner.address(), Some(ip(2)));
        owner.on_packet(at(30), v6(7, 1));
        assert_eq!(owner.address(), Some(v6(7, 1)));
        owner.on_packet(at(31), ip(2));
        assert_eq!(owner.address(), Some(ip(2)));
        // another UE's: its address of IPv4 goes with that of IPv6
        owner.on_packet(at(32), v6(8, 1));
        assert_eq!(owner.on_packet(at(32), v6(8, 2)), Shown::Other);
        assert_eq!(owner.address(), Some(v6(8, 2)));
        assert!(!owner.has(ip(2)));
    }
}
