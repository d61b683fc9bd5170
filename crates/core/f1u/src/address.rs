//! Whose a bearer is: what is configured for its tunnel, the destination of the packets in it where nothing is ciphered, or
//! that of packets that came from the core with the same lengths.

use core::net::IpAddr;

/// So many packets with one destination show whose a bearer is; one alone may be ciphered bytes that look like a packet.
const AGREEMENT: u8 = 2;

/// So many packets in a row, each of which could be no other UE's by its length, show whose a ciphered bearer is.
const MATCHES: u8 = 8;

/// A bearer's UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Address {
    /// By configuration, which is not overruled by packets.
    configured: Option<IpAddr>,
    seen: Option<IpAddr>,
    candidate: Option<(IpAddr, u8)>,
    /// By lengths of packets from the core.
    matched: Option<(IpAddr, u8)>,
}

impl Address {
    pub(crate) fn new(configured: Option<IpAddr>) -> Self {
        Self {
            configured,
            ..Self::default()
        }
    }

    /// The UE's address, if it is known.
    pub(crate) fn get(&self) -> Option<IpAddr> {
        self.configured.or(self.seen)
    }

    /// Whether packets have to be looked into.
    pub(crate) fn is_configured(&self) -> bool {
        self.configured.is_some()
    }

    /// A packet goes down whose length only one for this destination had. True if the bearer was another UE's until now.
    pub(crate) fn on_match(&mut self, destination: IpAddr) -> bool {
        let is_new = self.is_new(destination);
        is_agreed(&mut self.matched, is_new.then_some(destination), MATCHES)
            && self.seen.replace(destination).is_some()
    }

    /// A packet for this destination goes down. True if the bearer was another UE's until now.
    pub(crate) fn on_packet(&mut self, destination: IpAddr) -> bool {
        let is_new = self.is_new(destination);
        is_agreed(
            &mut self.candidate,
            is_new.then_some(destination),
            AGREEMENT,
        ) && self.seen.replace(destination).is_some()
    }

    fn is_new(&self, destination: IpAddr) -> bool {
        self.configured.is_none() && self.seen != Some(destination)
    }
}

/// One more sign that a bearer is of that UE, or that it is of none that is new: true if it is as many in a row as are needed.
fn is_agreed(signs: &mut Option<(IpAddr, u8)>, of: Option<IpAddr>, needed: u8) -> bool {
    let count = match *signs {
        Some((before, count)) if of == Some(before) => count + 1,
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

    #[test]
    fn two_packets_show_whose_a_bearer_is() {
        let mut address = Address::new(None);
        assert!(!address.on_packet(ip(2)));
        assert_eq!(address.get(), None);
        // ciphered bytes that look like a packet for another
        assert!(!address.on_packet(ip(9)));
        assert!(!address.on_packet(ip(2)));
        assert!(!address.on_packet(ip(2)));
        assert_eq!(address.get(), Some(ip(2)));
        assert!(!address.on_packet(ip(3)));
        assert!(!address.on_packet(ip(2)));
        assert!(!address.on_packet(ip(3)));
        assert!(address.on_packet(ip(3)), "two in a row: it is another UE's");
        assert_eq!(address.get(), Some(ip(3)));
    }

    #[test]
    fn so_do_lengths_of_packets_that_could_be_no_others() {
        let mut address = Address::new(None);
        for round in 0..2 * MATCHES {
            assert!(!address.on_match(ip(2 + round / 7)), "another one between");
        }
        assert_eq!(address.get(), None);
        for _ in 0..MATCHES {
            assert!(!address.on_match(ip(2)));
        }
        assert_eq!(address.get(), Some(ip(2)));
        for _ in 1..MATCHES {
            assert!(!address.on_match(ip(3)));
        }
        assert!(address.on_match(ip(3)), "it is another UE's");
        assert_eq!(address.get(), Some(ip(3)));
    }

    #[test]
    fn what_is_configured_holds() {
        let mut address = Address::new(Some(ip(2)));
        for _ in 0..5 {
            assert!(!address.on_packet(ip(3)));
        }
        assert_eq!(
            (address.get(), address.is_configured()),
            (Some(ip(2)), true)
        );
    }
}
