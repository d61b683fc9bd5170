//! Places of connections in arrays that a program of the kernel shares, and how often each has been used: what has
//! a place of before must neither read nor write it.

use kernel_cc::error_of;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Slots of the arrays, as in the programs (`bpf/places.h`).
pub(crate) const SLOTS: u32 = 32_768;

/// A connection's place in the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) index: u32,
    /// How often the place has been used.
    pub(crate) usage: u32,
}

impl Slot {
    /// States in the storage of a socket that it has this place.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn assign(self, places: &MapHandle, socket: &OwnedFd) -> io::Result<()> {
        let place = [self.index.to_ne_bytes(), self.usage.to_ne_bytes()].concat();
        let key = socket.as_raw_fd().to_ne_bytes();
        places
            .update(&key, &place, MapFlags::ANY)
            .map_err(|e| error_of(&e))
    }
}

/// Those that are free.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Vec<u32>,
    usage: Vec<u32>,
}

impl Slots {
    /// So many.
    pub(crate) fn new(n: u32) -> Self {
        Self {
            free: (0..n).rev().collect(),
            usage: vec![0; n as usize],
        }
    }

    /// One of them, with a number that it has not had.
    ///
    /// # Errors
    /// All are taken.
    pub(crate) fn take(&mut self) -> io::Result<Slot> {
        let index = self
            .free
            .pop()
            .ok_or_else(|| io::Error::other("all slots are taken"))?;
        let usage = &mut self.usage[index as usize];
        *usage = usage.wrapping_add(1).max(1);
        Ok(Slot {
            index,
            usage: *usage,
        })
    }

    /// It is not used any more.
    pub(crate) fn give_back(&mut self, slot: Slot) {
        self.free.push(slot.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_used_again_has_another_number_and_no_more_are_given_than_there_are() {
        let mut slots = Slots::new(2);
        let (first, second) = (slots.take().expect("free"), slots.take().expect("free"));
        assert_ne!(first.index, second.index);
        assert!(slots.take().is_err());
        slots.give_back(first);
        let again = slots.take().expect("free");
        assert_eq!(again.index, first.index);
        assert_ne!(again.usage, first.usage);
    }
}
