//! By splice through a pipe, as the proxy does it.

use super::{PIPE, Pair, pipe};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, splice};
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};

struct Relayed {
    pair: Pair,
    pipe: (OwnedFd, OwnedFd),
    held: usize,
}

/// Relays pairs as they come, on one thread.
pub fn relay(pairs: impl Iterator<Item = Pair>) {
    let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC).expect("epoll"));
    let (sender, newcomers) = mpsc::channel::<Relayed>();
    let of_worker = Arc::clone(&epoll);
    std::thread::spawn(move || {
        let mut all: Vec<Option<Relayed>> = Vec::new();
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            events.clear();
            epoll::wait(&of_worker, spare_capacity(&mut events), None).expect("events");
            all.extend(newcomers.try_iter().map(Some));
            for event in &events {
                let place = event.data.u64() as usize;
                // sent before its events can come
                while all.len() <= place {
                    all.push(newcomers.recv().ok());
                }
                if let Some(relayed) = &mut all[place]
                    && !relayed.advance()
                {
                    all[place] = None;
                }
            }
        }
    });
    for (place, pair) in pairs.enumerate() {
        for socket in [&pair.near, &pair.far] {
            socket.set_nonblocking(true).expect("set");
        }
        let sockets = [&pair.near, &pair.far].map(|s| s.try_clone().expect("a handle"));
        let (pipe, held) = (pipe(), 0);
        sender.send(Relayed { pair, pipe, held }).expect("it runs");
        let flags = [EventFlags::OUT | EventFlags::RDHUP, EventFlags::IN];
        for (socket, flags) in sockets.iter().zip(flags) {
            let data = EventData::new_u64(place as u64);
            epoll::add(&epoll, socket, data, flags | EventFlags::ET).expect("added");
        }
    }
}

impl Relayed {
    /// Moves what can be moved; false at the end.
    fn advance(&mut self) -> bool {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        loop {
            let room = PIPE - self.held;
            let read = match splice(&self.pair.far, None, &self.pipe.1, None, room, flags) {
                Ok(0) => return false,
                Ok(n) => n,
                Err(Errno::AGAIN) => 0,
                Err(_) => return false,
            };
            self.held += read;
            if self.held == 0 {
                return true;
            }
            let written = match splice(&self.pipe.0, None, &self.pair.near, None, self.held, flags)
            {
                Ok(n) => n,
                Err(Errno::AGAIN) => 0,
                Err(_) => return false,
            };
            self.held -= written;
            if read == 0 && written == 0 {
                return true;
            }
        }
    }
}
