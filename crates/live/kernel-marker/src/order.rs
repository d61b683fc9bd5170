//! Orders and the names of UEs, as the program reads them (`bpf/marker_maps.h`).

use edge::marker::Order;
use std::net::IpAddr;

/// Bytes of a UE's name: which version of IP, and its address.
pub(crate) const NAME: usize = 4 + 16;
/// Bytes of an order: ten words.
pub(crate) const ORDER: usize = 80;
/// Bytes of a letter: a name, what became of it, the order.
pub(crate) const LETTER: usize = NAME + 4 + ORDER;
/// Letters that one run of the program reads.
pub(crate) const LETTERS: usize = 256;

/// An order of a clock whose zero is at `zero` of CLOCK_MONOTONIC (ns), as one of CLOCK_MONOTONIC, which the program goes
/// by. Instants of `daemon::clock::now` are of CLOCK_MONOTONIC already: orders made with them need no conversion.
pub fn on_clock_of_kernel(order: &Order, zero: u64) -> Order {
    Order {
        counted_until: order.counted_until.saturating_add(zero),
        valid_until: order.valid_until.saturating_add(zero),
        ..*order
    }
}

/// An IPv4 address is one, however it is written.
pub(crate) fn name(ue: IpAddr) -> [u8; NAME] {
    let mut name = [0; NAME];
    let (version, address) = name.split_at_mut(4);
    match ue.to_canonical() {
        IpAddr::V4(of) => {
            version.copy_from_slice(&4_u32.to_ne_bytes());
            address[..4].copy_from_slice(&of.octets());
        }
        IpAddr::V6(of) => {
            version.copy_from_slice(&6_u32.to_ne_bytes());
            address.copy_from_slice(&of.octets());
        }
    }
    name
}

/// Its words as they are in memory.
pub(crate) fn words(order: &Order) -> [u8; ORDER] {
    let mut bytes = [0; ORDER];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(order.words()) {
        *place = word.to_ne_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_another_clock_is_moved_to_the_kernels() {
        let order = Order {
            number: 3,
            counted_until: 5,
            valid_until: u64::MAX,
            drain: 7,
            ..Order::default()
        };
        let moved = on_clock_of_kernel(&order, 100);
        assert_eq!((moved.counted_until, moved.valid_until), (105, u64::MAX));
        assert_eq!((moved.number, moved.drain), (3, 7));
    }

    #[test]
    fn addresses_of_both_versions_have_names_apart() {
        let v4 = name("10.0.0.1".parse().expect("an address"));
        let v6 = name("a00:1::".parse().expect("an address"));
        assert_eq!(v4[4..], v6[4..]);
        assert_ne!(v4, v6);
        let mapped = name("::ffff:10.0.0.1".parse().expect("an address"));
        assert_eq!(v4, mapped);
    }

    #[test]
    fn all_words_of_an_order_are_there() {
        let order = Order {
            number: 1,
            spared: 7,
            ..Order::default()
        };
        let bytes = words(&order);
        assert_eq!(bytes[..8], 1_u64.to_ne_bytes());
        assert_eq!(bytes[ORDER - 8..], 7_u64.to_ne_bytes());
    }
}
