//! One thread of the data path.

mod accepting;
mod moving;
mod turns;

use super::command::{Waker, WorkerCommand, WorkerHandle};
use super::connection::{Connection, Next, ResetReason, Side};
use super::direction::Means;
use super::notices::Notices;
use super::pipe::PipePool;
use super::slab::{Key, Slab};
use super::upstream::{Upstream, allow_orderly_end, forbid_orderly_end};
use crate::config::Config;
use crate::error::PepError;
use crate::listener::Listener;
use crate::shared::Shared;
use daemon::clock;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, mpsc};
use turns::Turns;
use units::{Duration, Instant};

/// Connections of a listener accepted before the others have their turn.
const ACCEPT_BATCH: usize = 8;
/// Between looks for connections that are silent for too long.
const SWEEP: Duration = Duration::from_millis(500);
/// Accepting, and connections without a pipe, rest for so long when descriptors or memory are used up.
const REST: Duration = Duration::from_millis(100);
/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// Tokens below a connection's, which have their lowest bit at least once set beyond these.
const TOKEN_COMMAND: u64 = u64::MAX;
const TOKEN_LISTENER: u64 = u64::MAX - 64;

/// One thread of the data path.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    config: Arc<Config>,
    version: u64,
    upstream: Upstream,
    notices: Option<Notices>,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    handle: Arc<WorkerHandle>,
    commands: Receiver<WorkerCommand>,
    listeners: Arc<Vec<Listener>>,
    is_accepting: bool,
    resume_at: Option<Instant>,
    connections: Slab<Connection>,
    pipes: PipePool,
    /// Those that are to be given a turn, each once, and until the next turn those that have ended meanwhile.
    queue: Turns<Key>,
    /// Those without a pipe, which are given a turn later; those that end meanwhile stay until then, a tenth of a second.
    starved: Vec<Key>,
    starved_until: Instant,
    now: Instant,
    swept_at: Instant,
    ends_at: Option<Instant>,
    is_cut_off: bool,
}

impl Worker {
    /// A worker that accepts nothing yet.
    pub(crate) fn new(shared: Arc<Shared>) -> Result<(Self, WorkerHandle), PepError> {
        let system = |error: Errno| PepError::system("a worker cannot be made", error);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(system)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system)?;
        let token = EventData::new_u64(TOKEN_COMMAND);
        epoll::add(&epoll, &wake, token, EventFlags::IN).map_err(system)?;
        let (sender, commands) = mpsc::channel();
        let wake = Arc::new(wake);
        let handle = WorkerHandle::new(sender, Arc::clone(&wake));
        let config = shared.config();
        let worker = Self {
            version: shared.version(),
            upstream: Upstream::new(&config, shared.shown.wire.clone()),
            notices: shared.events().map(Notices::new),
            pipes: PipePool::new(config.relay.pipe.get() as usize),
            config,
            shared,
            epoll,
            wake,
            handle: Arc::new(handle.clone()),
            commands,
            listeners: Arc::default(),
            is_accepting: false,
            resume_at: None,
            connections: Slab::new(),
            queue: Turns::new(),
            starved: Vec::new(),
            starved_until: Instant::ZERO,
            now: clock::now(),
            swept_at: clock::now(),
            ends_at: None,
            is_cut_off: false,
        };
        Ok((worker, handle))
    }

    /// Relays until the command to stop.
    pub(crate) fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let timeout = self.timeout();
            let spare = rustix::buffer::spare_capacity(&mut events);
            if let Err(error) = epoll::wait(&self.epoll, spare, Some(&timeout))
                && error != Errno::INTR
            {
                tracing::error!(%error, "a worker cannot wait for events and ends");
                return;
            }
            self.now = clock::now();
            for event in &events {
                self.on_event(event.data.u64(), event.flags);
            }
            self.serve_queue();
            self.serve_starved();
            if self.now.saturating_since(self.swept_at) >= SWEEP {
                self.sweep();
            }
            if let Some(notices) = &mut self.notices {
                notices.send();
            }
            if self.is_over() {
                return;
            }
        }
    }

    fn timeout(&self) -> Timespec {
        let nanos = if !self.queue.is_empty() {
            0
        } else if self.resume_at.is_some() || !self.starved.is_empty() || self.has_notices() {
            REST.as_nanos()
        } else {
            SWEEP.as_nanos()
        };
        Timespec {
            tv_sec: 0,
            tv_nsec: nanos as i64,
        }
    }

    /// Notices wait until the control thread has taken others.
    fn has_notices(&self) -> bool {
        self.notices.as_ref().is_some_and(Notices::is_waiting)
    }

    fn is_over(&self) -> bool {
        self.ends_at
            .is_some_and(|at| self.connections.len() == 0 || self.now >= at)
    }

    fn on_event(&mut self, token: u64, flags: EventFlags) {
        if token == TOKEN_COMMAND {
            self.take_commands();
        } else if token >= TOKEN_LISTENER {
            self.accept((token - TOKEN_LISTENER) as usize);
        } else {
            let (key, side) = untoken(token);
            if let Some(connection) = self.connections.get_mut(key) {
                match connection.on_event(side, flags) {
                    Ok(()) => self.enqueue(key),
                    Err(reason) => self.end(key, Next::Reset(reason)),
                }
            }
        }
    }

    fn enqueue(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.is_queued
        {
            connection.is_queued = true;
            self.queue.wake(key);
        }
    }

    /// A round of turns for connections that wait for one.
    fn serve_queue(&mut self) {
        let mut round = self.queue.begin();
        while let Some(key) = self.queue.next(&mut round) {
            let Some((next, moved)) = self.give_turn(key) else {
                continue;
            };
            round.has_moved(moved);
            match next {
                Next::Wait => self.note_if_starved(key),
                Next::Again => self.queue.goes_on(key),
                // the turn has gone on
                Next::Established => {}
                Next::Closing => self.on_closing(key),
                over @ (Next::Finished | Next::Moved | Next::Reset(_)) => self.end(key, over),
            }
        }
    }

    /// Gives a connection its turn: what is next, and bytes that it has moved.
    fn give_turn(&mut self, key: Key) -> Option<(Next, usize)> {
        let connection = self.connections.get_mut(key)?;
        let mut means = Means {
            pipes: &mut self.pipes,
            registry: &self.shared.registry,
            limits: &self.config.limits,
        };
        let counters = &self.shared.counters;
        let mut next = connection.advance(&mut means, counters, self.now);
        if next == Next::Established {
            counters.established.one();
            if self.notices.is_some() && connection.flow.wire().is_some() {
                // whether its packets pass the program
                connection.learn_windows();
            }
            next = connection.advance(&mut means, counters, self.now);
        }
        connection.is_queued = next == Next::Again;
        if matches!(next, Next::Wait | Next::Again)
            && let Some(notices) = &mut self.notices
            && connection.begins_to_matter()
        {
            connection.learn_windows();
            notices.opened(&connection.flow);
        }
        Some((next, connection.moved))
    }

    /// A connection without a pipe has another turn after a while: no event says when there is one.
    fn note_if_starved(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && connection.lacks_pipe()
            && !connection.is_starved
        {
            connection.is_starved = true;
            self.shared.counters.pipe_pauses.one();
            if self.starved.is_empty() {
                self.starved_until = self.now + REST;
            }
            self.starved.push(key);
        }
    }

    fn serve_starved(&mut self) {
        if self.now < self.starved_until {
            return;
        }
        for key in std::mem::take(&mut self.starved) {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.is_starved = false;
                self.enqueue(key);
            }
        }
    }

    /// Both directions have ended in order: what was sent is, even if this process ends.
    fn on_closing(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            for socket in [&connection.flow.ran, &connection.flow.wan] {
                allow_orderly_end(socket);
            }
            self.shared.registry.closing.fetch_add(1, Relaxed);
        }
    }

    fn take_commands(&mut self) {
        let mut word = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut word);
        while let Ok(command) = self.commands.try_recv() {
            match command {
                WorkerCommand::Listen(listeners) => {
                    self.listeners = listeners;
                    self.listen();
                }
                WorkerCommand::Drain(at) => {
                    self.unlisten();
                    self.listeners = Arc::default();
                    self.resume_at = None;
                    self.ends_at = Some(at);
                }
                WorkerCommand::Reset(flows, _seat) => self.reset_for_memory(&flows),
                WorkerCommand::Turn(key) => {
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.flow.on_turn(Waker::has_turn);
                        self.enqueue(key);
                    }
                }
                WorkerCommand::Moving(command) => self.on_moving(command),
                WorkerCommand::Stop { is_cut_off } => {
                    self.is_cut_off = is_cut_off;
                    self.unlisten();
                    self.ends_at = Some(self.now);
                }
            }
        }
    }

    /// Resets these flows, in the order of their numbers.
    fn reset_for_memory(&mut self, flows: &[u64]) {
        let is_meant = |connection: &Connection| flows.binary_search(&connection.flow.id).is_ok();
        let meant = self.connections.iter().filter(|(_, c)| is_meant(c));
        let keys: Vec<Key> = meant.map(|(key, _)| key).collect();
        for key in keys {
            self.end(key, Next::Reset(ResetReason::Memory));
        }
    }

    /// Closes a connection.
    fn end(&mut self, key: Key, how: Next) {
        let Some(mut connection) = self.connections.remove(key) else {
            return;
        };
        let mut means = Means {
            pipes: &mut self.pipes,
            registry: &self.shared.registry,
            limits: &self.config.limits,
        };
        connection.abandon(&mut means);
        let flow = &connection.flow;
        let is_closing = connection.is_closing();
        if is_closing {
            self.shared.registry.closing.fetch_sub(1, Relaxed);
        }
        self.shared.registry.remove(flow);
        if connection.is_announced()
            && let Some(notices) = &mut self.notices
        {
            notices.closed(flow.id);
        }
        match how {
            // the kernel sends what is left
            Next::Reset(ResetReason::Stop) if is_closing && !self.is_cut_off => {
                self.shared.counters.finished.one();
            }
            Next::Reset(reason) => {
                if is_closing {
                    for socket in [&flow.ran, &flow.wan] {
                        forbid_orderly_end(socket);
                    }
                }
                count_reset(&self.shared, reason);
                tracing::debug!(
                    flow = flow.id, client = %flow.client, server = %flow.server, ?reason, "reset"
                );
            }
            // without a packet
            Next::Moved => {}
            _ => {
                for socket in [&flow.ran, &flow.wan] {
                    allow_orderly_end(socket);
                }
                self.shared.counters.finished.one();
            }
        }
    }

    /// Closes the connections of which all is acknowledged that was sent. An event says so, too.
    fn look_at_ends(&mut self) {
        let closing = self.connections.iter().filter(|(_, c)| c.is_closing());
        let keys: Vec<Key> = closing.map(|(key, _)| key).collect();
        for key in keys {
            if let Some(connection) = self.connections.get_mut(key)
                && connection.look_at_end(self.now) == Next::Finished
            {
                self.end(key, Next::Finished);
            }
        }
    }

    /// Looks for silent connections, a new configuration, and whether to accept again.
    fn sweep(&mut self) {
        self.swept_at = self.now;
        if self.version != self.shared.version() {
            self.version = self.shared.version();
            self.config = self.shared.config();
            self.upstream = Upstream::new(&self.config, self.shared.shown.wire.clone());
            self.pipes
                .set_capacity(self.config.relay.pipe.get() as usize);
        }
        self.look_at_ends();
        let limits = &self.config.limits;
        let overdue: Vec<(Key, ResetReason)> = self
            .connections
            .iter()
            .filter_map(|(key, c)| c.overdue(self.now, limits).map(|reason| (key, reason)))
            .collect();
        for (key, reason) in overdue {
            self.end(key, Next::Reset(reason));
        }
        for connection in self.connections.values_mut() {
            connection.keep_alive(&self.upstream);
        }
        let relieved: Vec<Key> = self
            .connections
            .iter()
            .filter_map(|(key, c)| c.relieve(self.now).then_some(key))
            .collect();
        for key in relieved {
            self.enqueue(key);
        }
        if self.resume_at.is_some_and(|at| self.now >= at) {
            self.listen();
        }
    }
}

impl Drop for Worker {
    /// Connections that are still there end by a reset: their peers must not wait for them. Those that have ended in
    /// order are left to the kernel, if it can go on.
    fn drop(&mut self) {
        let keys: Vec<Key> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.end(key, Next::Reset(ResetReason::Stop));
        }
        if let Some(notices) = &mut self.notices {
            notices.send();
        }
    }
}

fn count_reset(shared: &Shared, reason: ResetReason) {
    let counters = &shared.counters;
    match reason {
        ResetReason::Upstream(_) => counters.upstream_failed.one(),
        ResetReason::Handshake => counters.handshake_timeouts.one(),
        ResetReason::Idle => counters.idle_timeouts.one(),
        ResetReason::Memory => counters.memory_resets.one(),
        ResetReason::Broken(_) | ResetReason::Moved | ResetReason::Stop => counters.resets.one(),
    }
}

fn token(key: Key, side: Side) -> u64 {
    u64::from(key.generation) << 33 | u64::from(key.index) << 1 | u64::from(side == Side::Wan)
}

fn untoken(token: u64) -> (Key, Side) {
    let key = Key {
        index: (token >> 1) as u32,
        generation: (token >> 33) as u32,
    };
    let side = if token & 1 == 1 { Side::Wan } else { Side::Ran };
    (key, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_encode_key_and_side_and_are_none_of_the_reserved() {
        let last = Key {
            index: 0x00ff_ffff,
            generation: 0x7fff_ffff,
        };
        for key in [
            Key {
                index: 0,
                generation: 0,
            },
            last,
        ] {
            for side in [Side::Ran, Side::Wan] {
                let token = token(key, side);
                assert_eq!(untoken(token), (key, side));
                assert!(token < TOKEN_LISTENER);
            }
        }
    }
}
