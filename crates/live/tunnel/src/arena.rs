//! Memory for packets: written once, then handed round as slices, and used again when the last slice
//! is gone. Nothing is allocated a packet.

use crate::sys;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Bytes of one piece of memory: several reads of the largest packet, and what its segments' headers
/// add to it at the smallest segment size of TCP.
const PIECE: usize = 256 * 1024;

/// Where packets are written.
#[derive(Debug)]
pub(crate) struct Arena {
    current: BytesMut,
    /// Used up, and perhaps free again; first those not looked at for the longest time.
    retired: VecDeque<BytesMut>,
}

impl Arena {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            current: BytesMut::zeroed(PIECE),
            retired: VecDeque::new(),
        }
    }

    /// Room for a packet, or several one behind the other: at least `min` bytes, at most
    /// [`PIECE`].
    pub(crate) fn room(&mut self, min: usize) -> &mut [u8] {
        if self.current.len() < min.min(PIECE) {
            let fresh = self.free().unwrap_or_else(|| BytesMut::zeroed(PIECE));
            let old = std::mem::replace(&mut self.current, fresh);
            self.retired.push_back(old);
        }
        &mut self.current
    }

    /// The first `length` bytes of the room, for good.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        self.current.split_to(length).freeze()
    }

    /// A piece all slices of which are gone, if there is one: were only some looked at, packets that wait for a peer that takes
    /// nothing would have memory grow by all that others send. One that is held has its turn again after the others.
    fn free(&mut self) -> Option<BytesMut> {
        for _ in 0..self.retired.len() {
            let mut piece = self.retired.pop_front()?;
            if sys::reclaim(&mut piece, PIECE) {
                return Some(piece);
            }
            self.retired.push_back(piece);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_what_was_written_and_memory_comes_back() {
        let mut arena = Arena::new();
        let mut kept = Vec::new();
        for i in 0..2_000u32 {
            let room = arena.room(1_400);
            room[..1_400].fill(i as u8);
            let packet = arena.take(1_400);
            if i % 100 == 0 {
                kept.push((i as u8, packet));
            }
            if kept.len() > 3 {
                kept.remove(0);
            }
            for (value, packet) in &kept {
                assert!(packet.iter().all(|byte| byte == value));
            }
        }
        assert!(arena.retired.len() < 6, "{} pieces", arena.retired.len());
    }

    /// A peer that takes nothing has the oldest pieces held, while others' packets come and go.
    #[test]
    fn what_a_peer_has_held_does_not_have_more_taken_for_others() {
        let mut arena = Arena::new();
        let mut held = Vec::new();
        while arena.retired.len() < 8 {
            arena.room(1_400);
            held.push(arena.take(1_400));
        }
        for _ in 0..200 * PIECE / 1_400 {
            arena.room(1_400);
            drop(arena.take(1_400));
        }
        assert!(arena.retired.len() <= 10, "{} pieces", arena.retired.len());
    }
}
