//! The STREAM frames of a packet (RFC 9000 12.4, 19), read from its plain payload.

/// Stream data in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamData {
    /// The stream.
    pub(super) id: u64,
    /// Position of its first byte in the stream.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) len: u64,
}

/// The frames of a payload, as far as they are known. Any bytes may be read; the end, or the first
/// frame that is not understood, is the end.
pub(super) struct StreamFrames<'a> {
    left: &'a [u8],
    ce: Option<u64>,
}

impl<'a> StreamFrames<'a> {
    /// Of a packet's plain payload.
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self {
            left: payload,
            ce: None,
        }
    }

    /// The count of CE that the packet's acknowledgement has, if it has one (RFC 9000 19.3.2).
    pub(super) fn count_of_ce(mut self) -> Option<u64> {
        self.by_ref().for_each(drop);
        self.ce
    }

    /// A variable-length integer (RFC 9000 16).
    fn varint(&mut self) -> Option<u64> {
        let (&first, _) = self.left.split_first()?;
        let len = 1 << (first >> 6);
        let bytes = self.take(len)?;
        let value = bytes.iter().fold(0, |sum, &b| sum << 8 | u64::from(b));
        Some(value & (u64::MAX >> (66 - 8 * len)))
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(usize::try_from(len).ok()?)?;
        self.left = left;
        Some(taken)
    }

    fn skip(&mut self, varints: u64) -> Option<()> {
        (0..varints).try_for_each(|_| self.varint().map(|_| ()))
    }

    /// A length and as many bytes.
    fn skip_sized(&mut self) -> Option<()> {
        let len = self.varint()?;
        self.take(len).map(|_| ())
    }

    /// RFC 9000 19.3: after the largest acknowledged and the delay, ranges; then counts of marks.
    fn skip_ack(&mut self, has_marks: bool) -> Option<()> {
        self.skip(2)?;
        let ranges = self.varint()?;
        self.skip(1)?;
        self.skip(ranges.checked_mul(2)?)?;
        if has_marks {
            self.skip(2)?;
            self.ce = Some(self.varint()?);
        }
        Some(())
    }

    /// The part of a STREAM frame behind its type (RFC 9000 19.8).
    fn stream(&mut self, kind: u64) -> Option<StreamData> {
        let id = self.varint()?;
        let offset = if kind & 0x04 != 0 { self.varint()? } else { 0 };
        let len = if kind & 0x02 != 0 {
            self.varint()?
        } else {
            self.left.len() as u64
        };
        self.take(len)?;
        Some(StreamData { id, offset, len })
    }
}

impl Iterator for StreamFrames<'_> {
    type Item = StreamData;

    fn next(&mut self) -> Option<StreamData> {
        loop {
            match self.varint()? {
                // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
                0x00 | 0x01 | 0x1e | 0x1f => {}
                kind @ (0x02 | 0x03) => self.skip_ack(kind == 0x03)?,
                0x04 => self.skip(3)?, // RESET_STREAM
                // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
                0x05 | 0x11 | 0x15 => self.skip(2)?,
                0x06 => {
                    self.skip(1)?; // CRYPTO: its offset
                    self.skip_sized()?;
                }
                0x07 => self.skip_sized()?, // NEW_TOKEN
                kind @ 0x08..=0x0f => return self.stream(kind),
                // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
                0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => self.skip(1)?,
                0x18 => {
                    self.skip(2)?; // NEW_CONNECTION_ID
                    let &len = self.take(1)?.first()?;
                    self.take(u64::from(len) + 16)?;
                }
                0x30 => return None, // DATAGRAM to the end of the packet (RFC 9221 4)
                0x31 => self.skip_sized()?, // DATAGRAM
                0x1a | 0x1b => self.take(8).map(|_| ())?, // PATH_CHALLENGE, PATH_RESPONSE
                0xaf => self.skip(4)?, // ACK_FREQUENCY (draft-ietf-quic-ack-frequency)
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(payload: &[u8]) -> Vec<(u64, u64)> {
        let frames = StreamFrames::new(payload);
        frames.map(|data| (data.offset, data.len)).collect()
    }

    #[test]
    fn rfc_9000_a_1_variable_length_integers() {
        let values: [(&[u8], u64); 5] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in values {
            let mut frames = StreamFrames::new(bytes);
            assert_eq!(frames.varint(), Some(value));
            assert_eq!(frames.varint(), None);
        }
    }

    #[test]
    fn streams_are_found_behind_other_frames() {
        // DATAGRAM of 2 bytes; ACK of 5, delay 0, one further range; MAX_DATA 64; STREAM 0 from 300, 3 bytes; STREAM 4 to the end
        let payload = [
            &[0x31, 0x02, 9, 9][..],
            &[0x02, 0x05, 0x00, 0x01, 0x01, 0x00, 0x00],
            &[0x10, 0x40, 0x40],
            &[0x0e, 0x00, 0x41, 0x2c, 0x03, 1, 2, 3],
            &[0x09, 0x04, 9, 9, 9, 9],
        ]
        .concat();
        assert_eq!(read(&payload), [(300, 3), (0, 4)]);
        let ids: Vec<u64> = StreamFrames::new(&payload).map(|data| data.id).collect();
        assert_eq!(ids, [0, 4]);
        // ACK_ECN of 5 with counts 9, 0 and 3, then PING
        let marks = [0x03, 0x05, 0x00, 0x00, 0x05, 0x09, 0x00, 0x03, 0x01];
        assert_eq!(StreamFrames::new(&marks).count_of_ce(), Some(3));
        assert_eq!(StreamFrames::new(&payload).count_of_ce(), None);
        // a frame type that is unknown, and a frame that is cut off
        assert_eq!(read(&[0x21, 0x09, 0x04, 9]), []);
        assert_eq!(read(&payload[..20]), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(payload in prop::collection::vec(any::<u8>(), 0..64)) {
            let len: u64 = StreamFrames::new(&payload).map(|data| data.len).sum();
            prop_assert!(len <= payload.len() as u64);
        }
    }
}
