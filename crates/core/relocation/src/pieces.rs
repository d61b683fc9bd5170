//! Bytes in pieces: they are appended at the end and given up from the front, and are not moved meanwhile.

use std::collections::VecDeque;

/// What is shorter is put into the last piece, as long as that stays below it, bytes.
const PIECE: usize = 65_536;

/// Bytes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    /// Given up of the first.
    gone: usize,
    len: usize,
}

impl Pieces {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends some.
    pub fn push(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.len += bytes.len();
        match self.pieces.back_mut() {
            Some(last) if last.len() + bytes.len() <= PIECE => last.extend_from_slice(&bytes),
            _ => self.pieces.push_back(bytes),
        }
    }

    /// Appends all of another.
    pub fn append(&mut self, mut other: Self) {
        if other.gone > 0
            && let Some(first) = other.pieces.front_mut()
        {
            first.drain(..other.gone);
        }
        for piece in other.pieces {
            self.push(piece);
        }
    }

    /// Gives up so many, or all if there are fewer.
    pub fn give_up(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len);
        self.len -= bytes;
        self.gone += bytes;
        while let Some(first) = self.pieces.front()
            && self.gone >= first.len()
        {
            self.gone -= first.len();
            self.pieces.pop_front();
        }
    }

    /// The bytes from there on, as far as they stand together; none at the end.
    pub fn at(&self, from: usize) -> &[u8] {
        let mut from = from + self.gone;
        for piece in &self.pieces {
            match piece.get(from..) {
                Some(rest) if !rest.is_empty() => return rest,
                _ => from -= piece.len(),
            }
        }
        &[]
    }

    /// What stands together, in its order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let mut gone = self.gone;
        self.pieces
            .iter()
            .map(move |piece| &piece[std::mem::take(&mut gone)..])
    }

    /// A copy of so many from there on, or of as many as there are.
    pub fn copy(&self, from: usize, most: usize) -> Vec<u8> {
        let (mut skip, mut left) = (from, most.min(self.len.saturating_sub(from)));
        let mut copied = Vec::with_capacity(left);
        for slice in self.slices() {
            let skipped = skip.min(slice.len());
            skip -= skipped;
            let taken = left.min(slice.len() - skipped);
            left -= taken;
            copied.extend_from_slice(&slice[skipped..skipped + taken]);
        }
        copied
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        let mut pieces = Self::default();
        pieces.push(bytes);
        pieces
    }
}

/// By the bytes, however they stand.
impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.slices().flatten().eq(other.slices().flatten())
    }
}

impl Eq for Pieces {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn little_pieces_are_put_together() {
        let mut pieces = Pieces::default();
        for n in 0..100 {
            pieces.push(vec![n; 1_000]);
        }
        assert_eq!(pieces.len(), 100_000);
        assert!(pieces.slices().count() < 3);
    }

    proptest! {
        #[test]
        fn pieces_are_as_one(steps in proptest::collection::vec((0usize..70_000, 0usize..70_000), 1..12), from in 0usize..90_000) {
            let (mut pieces, mut one) = (Pieces::default(), Vec::new());
            for (n, (more, fewer)) in steps.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..more).map(|at| (at + n) as u8).collect();
                one.extend_from_slice(&bytes);
                if n % 3 == 2 {
                    pieces.append(Pieces::from(bytes));
                } else {
                    pieces.push(bytes);
                }
                pieces.give_up(fewer);
                one.drain(..fewer.min(one.len()));
                prop_assert_eq!(pieces.len(), one.len());
                prop_assert_eq!(pieces.is_empty(), one.is_empty());
            }
            prop_assert!(pieces.slices().flatten().eq(one.iter()));
            let from = from.min(one.len());
            prop_assert!(one[from..].starts_with(pieces.at(from)));
            prop_assert_eq!(pieces.at(from).is_empty(), from == one.len());
            prop_assert_eq!(pieces.copy(from, 50_000), one[from..].iter().copied().take(50_000).collect::<Vec<u8>>());
            let mut other = Pieces::default();
            other.append(pieces.clone());
            prop_assert_eq!(other, pieces);
        }
    }
}
