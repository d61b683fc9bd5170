//! A connection's two directions beside a model of the kernel, in any order of events.
//!
//! The model has what matters of two TCP sockets: bytes on their way and not read, an end or a reset
//! behind them, a mark of urgent data, room to send, pipes, and events at the edges where these change. A
//! schedule lets the peers send, mark, end, reset, read and stall, other connections take memory, and
//! events arrive late. Whatever the order: what arrives is a prefix of what was sent; an end arrives
//! only behind all of it; once the peers read, all of it and the end arrive; and the connection is not over
//! before all is acknowledged, or a socket is reset.

mod kernel;

use super::closing::{Closing, Left};
use super::connection::Side;
use super::direction::{Direction, End, Means, Readiness, Socket};
use crate::config::Limits;
use crate::registry::{Registry, UeCounters};
use kernel::{Handle, Host, Places, Pool, Random};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use units::{Bytes, Duration};

/// Schedules of one run of the test; `BRIMFUL_SCHEDULES` of them where that is set.
const SCHEDULES: u64 = 10_000;

struct World {
    hosts: [Handle; 2],
    ready: [Readiness; 2],
    directions: [Direction<Places>; 2],
    registry: Registry,
    ue: UeCounters,
    others_hold: usize,
    has_pipes: bool,
    closing: Option<Closing>,
    is_over: bool,
}

/// Little memory: pipes of the model meet its bounds.
pub(super) const LIMITS: Limits = Limits {
    connections: 10,
    overflow: 0,
    connections_per_ue: 10,
    syn_rate_per_ue: 0,
    memory: Bytes::new(2_000),
    memory_per_ue: Bytes::new(1_200),
    handshake: Duration::from_secs(1),
    idle: Duration::from_secs(1),
    half_closed: Duration::from_secs(1),
    hand_over: Duration::from_secs(1),
    drain: Duration::from_secs(1),
};

impl World {
    fn new(random: &mut Random) -> Self {
        let host = |room| {
            Handle(RefCell::new(Host {
                room,
                ..Host::default()
            }))
        };
        let mut room = || [1, 5, 40, 1_000][random.below(4) as usize];
        let mut world = Self {
            hosts: [host(room()), host(room())],
            ready: [Readiness::default(), Readiness::default()],
            directions: [Direction::default(), Direction::default()],
            registry: Registry::default(),
            ue: UeCounters::default(),
            others_hold: 0,
            has_pipes: true,
            closing: None,
            is_over: false,
        };
        for ready in &mut world.ready {
            ready.can_write = true;
        }
        world
    }

    /// The worker's turn: both directions, as [`super::connection::Connection`] does it.
    fn advance(&mut self) {
        let [a, b] = &self.hosts;
        if let Some(closing) = &mut self.closing {
            self.is_over |= closing.look(a, b) == Left::Nothing;
            return;
        }
        loop {
            let [a, b] = &self.hosts;
            let [ready_a, ready_b] = &mut self.ready;
            let mut a = End {
                socket: a,
                ready: ready_a,
            };
            let mut b = End {
                socket: b,
                ready: ready_b,
            };
            let mut pool = Pool(self.has_pipes);
            let mut means = Means {
                pipes: &mut pool,
                registry: &self.registry,
                limits: &LIMITS,
            };
            let [down, up] = &mut self.directions;
            let moved = down.advance(&mut means, &self.ue, &mut a, &mut b);
            let moved = moved.and_then(|down| {
                let up = up.advance(&mut means, &self.ue, &mut b, &mut a)?;
                Ok(down.has_more || up.has_more)
            });
            match moved {
                Ok(true) => {}
                Ok(false) => {
                    if down.is_finished && up.is_finished {
                        let [a, b] = &self.hosts;
                        self.closing = Closing::begin(a, b);
                        self.is_over = self.closing.is_none();
                    }
                    return;
                }
                Err(error) => {
                    assert_ne!(error, Errno::MFILE, "it waits for a pipe");
                    self.end();
                    return;
                }
            }
        }
    }

    /// Both sockets are reset, as the worker closes a broken connection.
    fn end(&mut self) {
        self.is_over = true;
        let mut pool = Pool(self.has_pipes);
        let mut means = Means {
            pipes: &mut pool,
            registry: &self.registry,
            limits: &LIMITS,
        };
        for direction in &mut self.directions {
            direction.abandon(&mut means, &self.ue);
        }
        for handle in &self.hosts {
            handle.0.borrow_mut().is_reset = true;
        }
    }

    /// Events reach the worker, and it takes its turn.
    fn deliver(&mut self, side: usize) {
        let flags = {
            let mut host = self.hosts[side].0.borrow_mut();
            let edge = core::mem::replace(&mut host.pending, EventFlags::empty());
            if edge.is_empty() {
                return;
            }
            edge | host.state()
        };
        if self.is_over {
            return;
        }
        if flags.contains(EventFlags::ERR) {
            let Some(closing) = &mut self.closing else {
                self.end();
                return;
            };
            closing.on_gone([Side::Ran, Side::Wan][side]);
        }
        self.ready[side].on_event(flags);
        self.advance();
    }

    /// The peer reads.
    fn receive(&mut self, side: usize, most: u64) {
        let mut host = self.hosts[side].0.borrow_mut();
        if host.is_reset {
            return;
        }
        for _ in 0..most.min(host.queue.len() as u64) {
            let byte = host.queue.pop_front();
            assert_eq!(byte, Some(host.received & 0xff), "a prefix, in order");
            host.received += 1;
        }
        if host.is_shut && host.queue.is_empty() && !host.is_end_acknowledged {
            host.is_end_acknowledged = true;
            host.event(EventFlags::HUP);
        }
        if host.wants_room && host.queue.len() < host.room {
            host.wants_room = false;
            host.event(EventFlags::OUT);
        }
    }

    fn step(&mut self, random: &mut Random) {
        let side = random.below(2) as usize;
        let amount = [1, 3, 15, 16, 200, 2_000][random.below(6) as usize];
        let choice = random.below(16);
        {
            let mut host = self.hosts[side].0.borrow_mut();
            let can_send = !host.has_ended && !host.is_reset;
            match choice {
                0..=3 if can_send => {
                    host.sent += amount;
                    host.event(EventFlags::IN);
                }
                4 if can_send => {
                    host.mark = Some(host.sent);
                    host.sent += 1;
                    host.event(EventFlags::IN | EventFlags::PRI);
                }
                5 if can_send && random.below(4) == 0 => {
                    host.has_ended = true;
                    host.event(EventFlags::IN | EventFlags::RDHUP);
                }
                6 if can_send && random.below(20) == 0 => {
                    host.is_reset = true;
                    host.event(EventFlags::ERR);
                }
                7 => host.short = random.below(20),
                6 => self.has_pipes = random.below(3) > 0,
                _ => {}
            }
        }
        match choice {
            8..=10 => self.receive(side, amount),
            11 if random.below(20) > 0 => self.press(random.below(700) as usize),
            // what it holds is needed, or it was silent for too long
            11 if !self.is_over => self.end(),
            12..=14 => self.deliver(side),
            // a turn without an event: the worker's queue, or a window that is to be shown or closed
            15 if !self.is_over => {
                let down = &mut self.directions[0];
                down.leaves_byte = random.below(3) == 0;
                down.most = [usize::MAX, 1, 15, 16, 200][random.below(5) as usize];
                self.advance();
            }
            _ => {}
        }
    }

    /// Other connections of the UE hold so much.
    fn press(&mut self, held: usize) {
        self.registry.account(&self.ue, self.others_hold, held);
        self.others_hold = held;
    }

    /// Everything comes to rest: peers read, events arrive, and where they are to the peers end.
    fn settle(&mut self, ends: bool) {
        // windows are opened, and there are pipes: a turn for what was left unread
        self.has_pipes = true;
        self.directions[0].leaves_byte = false;
        if !self.is_over {
            self.advance();
        }
        for handle in self.hosts.iter().filter(|_| ends) {
            let mut host = handle.0.borrow_mut();
            if !host.has_ended && !host.is_reset {
                host.has_ended = true;
                host.event(EventFlags::IN | EventFlags::RDHUP);
            }
        }
        for _ in 0..20_000 {
            for side in 0..2 {
                self.deliver(side);
                self.receive(side, u64::MAX);
            }
            let is_quiet = self.hosts.iter().all(|handle| {
                let host = handle.0.borrow();
                let is_read = host.queue.is_empty() && host.is_shut == host.is_end_acknowledged;
                host.is_reset || (host.pending.is_empty() && is_read)
            });
            if is_quiet {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn check(&self) {
        let [a, b] = [self.hosts[0].0.borrow(), self.hosts[1].0.borrow()];
        if self.is_over && !a.is_reset && !b.is_reset {
            let left = |handle: &Handle| handle.unacknowledged();
            assert_eq!(self.hosts.each_ref().map(left), [0, 0], "nobody's sockets");
        }
        for (from, to) in [(&a, &b), (&b, &a)] {
            assert!(to.received + to.queue.len() as u64 <= from.sent);
            if to.is_shut {
                let all = to.received + to.queue.len() as u64;
                assert!(
                    to.is_reset || all == from.sent,
                    "an end before all of the data"
                );
                assert!(from.has_ended, "an end that was not sent");
            }
        }
    }
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let mut world = World::new(&mut random);
    for _ in 0..random.below(60) {
        world.step(&mut random);
        world.check();
    }
    let stays_pressed = random.below(2) == 0;
    if !stays_pressed {
        world.press(0);
    }
    // without an end nothing wakes a direction that has discarded what it could read
    let ends = random.below(2) == 0;
    world.settle(ends);
    world.check();
    let hosts = [world.hosts[0].0.borrow(), world.hosts[1].0.borrow()];
    if !hosts.iter().any(|host| host.is_reset) {
        for (from, to) in [(0, 1), (1, 0)] {
            assert_eq!(hosts[to].received, hosts[from].sent, "all of it");
            assert_eq!(hosts[to].is_shut, hosts[from].has_ended, "and the end");
        }
    }
    let is_reset = hosts.iter().any(|host| host.is_reset);
    let is_to_end = ends || is_reset;
    assert!(world.is_over || !is_to_end, "it has not finished");
    let held = world.ue.waiting.load(Relaxed) - world.others_hold as u64;
    assert_eq!(held, 0, "what is accounted for is given back");
}

#[test]
fn any_order_of_events_keeps_every_byte_and_the_end_behind_them() {
    let schedules = std::env::var("BRIMFUL_SCHEDULES");
    let schedules = schedules.map_or(SCHEDULES, |n| n.parse().expect("a number of schedules"));
    for seed in 0..schedules {
        let result = std::panic::catch_unwind(|| run(seed));
        assert!(result.is_ok(), "schedule {seed}");
    }
}
