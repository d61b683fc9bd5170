//! Bytes that came to the source after it had frozen a connection.
//!
//! ```text
//!   in order, as TCP received them:    [ of the frozen state ][ late ]
//!                                                             number
//! ```
//!
//! Their sender was sent no acknowledgement of them: where they do not get to the target they are sent again.

use crate::ahead::Way;
use crate::message::Malformed;
use crate::reader::{Reader, put_bytes, put_word};

/// What came to one leg of a frozen connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// Where the bytes go: they came to the leg at the other end.
    pub way: Way,
    /// Sequence number of the first: what the frozen leg expected next.
    pub number: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Late {
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        self.way.put(to);
        put_word(to, self.number);
        put_bytes(to, &self.bytes);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            way: Way::read(from)?,
            number: from.word()?,
            bytes: from.bytes()?,
        })
    }

    /// What of it follows, in order, what ends before `next`: bytes that are there already are left out. None where
    /// bytes between are missing, or all are there.
    pub fn following(&self, next: u32) -> Option<&[u8]> {
        let known = next.wrapping_sub(self.number) as usize;
        self.bytes.get(known..).filter(|bytes| !bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahead::Towards;

    #[test]
    fn what_follows_is_taken_and_what_is_there_or_has_a_gap_is_not() {
        let late = Late {
            way: Way {
                client: ([10, 45, 0, 2], 1).into(),
                server: ([10, 99, 0, 2], 2).into(),
                towards: Towards::Ue,
            },
            number: u32::MAX - 1,
            bytes: vec![1, 2, 3, 4],
        };
        assert_eq!(late.following(u32::MAX - 1), Some(&[1, 2, 3, 4][..]));
        assert_eq!(late.following(1), Some(&[4][..]));
        for next in [u32::MAX - 2, 2, 3, 1 << 31] {
            assert_eq!(late.following(next), None, "{next}");
        }
    }
}
