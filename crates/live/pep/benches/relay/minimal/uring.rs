//! By splice through a pipe, as requests of an io_uring.

use super::{PIPE, Pair, pipe};
use io_uring::{IoUring, opcode, squeue, types::Fd};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, mpsc};

struct Relayed {
    pair: Pair,
    pipe: (OwnedFd, OwnedFd),
    held: usize,
}

/// Of the request that waits for newcomers.
const NEWCOMER: u64 = u64::MAX;

/// Relays pairs as they come, on one ring.
pub fn relay(pairs: impl Iterator<Item = Pair>) {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).expect("an event"));
    let (sender, newcomers) = mpsc::channel::<Relayed>();
    let of_worker = Arc::clone(&wake);
    std::thread::spawn(move || {
        let mut ring = IoUring::new(2_048).expect("a ring");
        let mut all: Vec<Option<Relayed>> = Vec::new();
        let mut count = [0u8; 8];
        let waits = opcode::Read::new(Fd(of_worker.as_raw_fd()), count.as_mut_ptr(), 8);
        let waits = waits.build().user_data(NEWCOMER);
        push(&mut ring, &waits);
        loop {
            ring.submit_and_wait(1).expect("requests");
            let done: Vec<(u64, i32)> = {
                let completions = ring.completion();
                completions.map(|c| (c.user_data(), c.result())).collect()
            };
            for (place, result) in done {
                if place == NEWCOMER {
                    for relayed in newcomers.try_iter() {
                        push(&mut ring, &relayed.next(all.len()));
                        all.push(Some(relayed));
                    }
                    push(&mut ring, &waits);
                    continue;
                }
                let slot = &mut all[place as usize];
                if let Some(relayed) = slot {
                    if result <= 0 {
                        *slot = None;
                        continue;
                    }
                    // with nothing held it was read, else handed on
                    relayed.held = match relayed.held {
                        0 => result as usize,
                        held => held - result as usize,
                    };
                    let next = relayed.next(place as usize);
                    push(&mut ring, &next);
                }
            }
        }
    });
    for pair in pairs {
        let (pipe, held) = (pipe(), 0);
        sender.send(Relayed { pair, pipe, held }).expect("it runs");
        rustix::io::write(&*wake, &1u64.to_ne_bytes()).expect("woken");
    }
}

impl Relayed {
    /// Into the empty pipe, or out of it.
    fn next(&self, place: usize) -> squeue::Entry {
        let splice = match self.held {
            0 => opcode::Splice::new(
                Fd(self.pair.far.as_raw_fd()),
                -1,
                Fd(self.pipe.1.as_raw_fd()),
                -1,
                PIPE as u32,
            ),
            held => opcode::Splice::new(
                Fd(self.pipe.0.as_raw_fd()),
                -1,
                Fd(self.pair.near.as_raw_fd()),
                -1,
                held as u32,
            ),
        };
        splice.build().user_data(place as u64)
    }
}

#[allow(
    unsafe_code,
    reason = "the crate leaves it to its user that what a request names lives"
)]
fn push(ring: &mut IoUring, request: &squeue::Entry) {
    // SAFETY: the descriptors of a request live until its completion was seen, which alone drops them, and the word
    // that the thread reads into as long as the thread
    unsafe { ring.submission().push(request) }.expect("room for a request of each connection");
}
