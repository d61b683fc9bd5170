//! Sequence numbers of 48 bits, compared in circular arithmetic (RFC 4340 section 3.1).
//!
//! A path numbers every packet that it sends, acknowledgements too ([`SeqNo`]); the connection
//! numbers what it carries over all paths ([`MpSeq`], RFC 9897, option `MP_SEQ`).

use core::cmp::Ordering;
use core::fmt;

/// 2^48.
const MODULUS: u64 = 1 << 48;

macro_rules! sequence_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The lowest 48 bits of `number`.
            pub const fn new(number: u64) -> Self {
                Self(number % MODULUS)
            }

            /// The number, below 2^48.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The number `n` after this one.
            #[must_use]
            pub const fn add(self, n: u64) -> Self {
                Self(self.0.wrapping_add(n) % MODULUS)
            }

            /// The number `n` before this one.
            #[must_use]
            pub const fn sub(self, n: u64) -> Self {
                Self(self.0.wrapping_sub(n) % MODULUS)
            }

            /// The next number.
            #[must_use]
            pub const fn next(self) -> Self {
                self.add(1)
            }

            /// How far this one is after `other`: from -2^47 to 2^47 - 1.
            pub const fn distance_from(self, other: Self) -> i64 {
                let ahead = self.0.wrapping_sub(other.0) % MODULUS;
                if ahead < MODULUS / 2 {
                    ahead as i64
                } else {
                    ahead as i64 - MODULUS as i64
                }
            }

            /// True if this one comes after `other`.
            pub const fn is_after(self, other: Self) -> bool {
                self.distance_from(other) > 0
            }

            /// Circular order: only meaningful among numbers less than 2^47 apart.
            pub const fn circular_cmp(self, other: Self) -> Ordering {
                match self.distance_from(other) {
                    0 => Ordering::Equal,
                    ahead if ahead > 0 => Ordering::Greater,
                    _ => Ordering::Less,
                }
            }

            /// The later of two.
            #[must_use]
            pub const fn later(self, other: Self) -> Self {
                if self.is_after(other) { self } else { other }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

sequence_number! {
    /// Number of a packet on its path.
    SeqNo
}
sequence_number! {
    /// Number of a packet within the connection, over all paths.
    MpSeq
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_at_two_to_the_48() {
        let last = SeqNo::new(MODULUS - 1);
        assert_eq!(last.next(), SeqNo::new(0));
        assert_eq!(SeqNo::new(0).sub(1), last);
        assert!(last.next().is_after(last) && !last.is_after(last.next()));
        assert_eq!(last.add(10).distance_from(last), 10);
        assert_eq!(last.distance_from(last.add(10)), -10);
        assert_eq!(last.later(SeqNo::new(3)), SeqNo::new(3));
    }

    /// RFC 4340 3.1: of two numbers exactly 2^47 apart neither order is right; one is chosen.
    #[test]
    fn half_the_circle_is_before() {
        assert_eq!(
            SeqNo::new(MODULUS / 2).distance_from(SeqNo::new(0)),
            -((MODULUS / 2) as i64)
        );
    }
}
