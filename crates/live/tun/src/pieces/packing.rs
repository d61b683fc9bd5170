//! Several pieces in one packet.

use super::{HAS_NEXT, LENGTH, PIECE_HEADER};

/// Pieces that travel in one packet. All have the same ECN field.
#[derive(Clone, Debug)]
pub struct Packing {
    data: Vec<u8>,
    /// Where the last one begins.
    last: usize,
}

impl Packing {
    /// Of one piece, which may be followed by others.
    pub fn new(piece: &[u8]) -> Self {
        Self {
            data: piece.to_vec(),
            last: 0,
        }
    }

    /// The longest piece that goes with them into a packet of so many bytes.
    pub fn room(&self, max: usize) -> usize {
        max.saturating_sub(self.data.len() + LENGTH)
    }

    /// One more piece. None of them is longer than an IP packet.
    pub fn push(&mut self, piece: &[u8]) {
        let header = self.last + PIECE_HEADER;
        let length = (self.data.len() - header) as u16;
        self.data[self.last] |= HAS_NEXT;
        self.data.splice(header..header, length.to_be_bytes());
        self.last = self.data.len();
        self.data.extend_from_slice(piece);
    }

    /// The packet.
    pub fn into_packet(self) -> Vec<u8> {
        self.data
    }
}
