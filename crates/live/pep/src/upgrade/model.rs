//! Both sides against each other: every order of their messages, deaths, failures and timeouts.

use super::*;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Both processes, and what is under way between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct World {
    old: Predecessor,
    new: Successor,
    is_old_dead: bool,
    is_new_dead: bool,
    /// Has begun to accept at some time.
    has_new_served: bool,
    /// Messages to the predecessor, in order.
    to_old: VecDeque<Request>,
    to_new: VecDeque<News>,
    /// An end is closed: what is sent to it is lost, and the other end sees that it ended.
    is_old_closed: bool,
    is_new_closed: bool,
    /// Timeouts, deaths and failures so far.
    faults: u8,
}

impl World {
    /// The successor has just sent its request.
    fn begin() -> Self {
        Self {
            to_old: [Request::Upgrade].into(),
            ..Self::default()
        }
    }

    fn old_accepts(&self) -> bool {
        !self.is_old_dead && self.old != Predecessor::Left
    }

    fn new_accepts(&self) -> bool {
        !self.is_new_dead && self.new == Successor::Serving
    }

    fn send_old(&mut self, request: Request) {
        if !self.is_old_closed {
            self.to_old.push_back(request);
        }
    }

    fn send_new(&mut self, news: News) {
        if !self.is_new_closed {
            self.to_new.push_back(news);
        }
    }

    fn old_learns(mut self, request: Request) -> Self {
        match self.old.on(request) {
            Duty::Offer => self.send_new(News::Offer),
            Duty::Go => self.send_new(News::Go),
            Duty::Leave | Duty::Resume => self.is_old_closed = true,
            Duty::Wait => {}
        }
        self
    }

    fn new_learns(mut self, news: News) -> Self {
        match self.new.on(news) {
            Task::Prepare | Task::Continue => {}
            Task::Acknowledge => self.send_old(Request::Ready),
            Task::Serve => {
                self.has_new_served = true;
                self.send_old(Request::Serving);
                self.is_new_closed = true;
            }
            Task::End => {
                self.is_new_dead = true;
                self.is_new_closed = true;
            }
        }
        self
    }

    fn with_fault(&self) -> Self {
        Self {
            faults: self.faults + 1,
            ..self.clone()
        }
    }

    /// All that can happen without a fault: a message arrives, an end is seen, a preparation succeeds.
    fn progress(&self) -> Vec<Self> {
        let mut next = Vec::new();
        if !self.is_old_dead && !self.is_old_closed {
            let mut then = self.clone();
            match then.to_old.pop_front() {
                Some(request) => next.push(then.old_learns(request)),
                None if self.is_new_closed => next.push(then.old_learns(Request::Broken)),
                None => {}
            }
        }
        if !self.is_new_dead && !self.is_new_closed {
            let mut then = self.clone();
            match then.to_new.pop_front() {
                Some(news) => next.push(then.new_learns(news)),
                // while it prepares it does not read
                None if self.new == Successor::Preparing => {
                    next.push(then.new_learns(News::Prepared));
                }
                None if self.is_old_closed => next.push(then.new_learns(News::Failed)),
                None => {}
            }
        }
        next
    }

    /// All that can go wrong now.
    fn faults(&self) -> Vec<Self> {
        let mut next = Vec::new();
        if !self.is_old_dead {
            if !self.is_old_closed {
                next.push(self.with_fault().old_learns(Request::Timeout));
            }
            let mut dead = self.with_fault();
            (dead.is_old_dead, dead.is_old_closed) = (true, true);
            next.push(dead);
        }
        if !self.is_new_dead {
            if !self.is_new_closed {
                // a timeout, or something cannot be opened
                next.push(self.with_fault().new_learns(News::Failed));
            }
            let mut dead = self.with_fault();
            (dead.is_new_dead, dead.is_new_closed) = (true, true);
            next.push(dead);
        }
        next
    }

    fn check(&self) {
        assert!(
            self.is_old_dead || self.old_accepts() || self.has_new_served,
            "the old one stopped before the new one served: {self:?}"
        );
        assert!(
            !(self.new_accepts() && self.old == Predecessor::Alone && !self.is_old_dead),
            "both serve, and neither gives way: {self:?}"
        );
        let is_at_rest = self.progress().is_empty();
        if is_at_rest && !self.is_old_dead && !self.is_new_dead {
            assert!(
                self.new_accepts() && !self.old_accepts(),
                "not exactly the new one: {self:?}"
            );
        }
        if is_at_rest && !self.is_old_dead && !self.has_new_served {
            assert_eq!(self.old, Predecessor::Alone, "not as before: {self:?}");
        }
    }
}

/// Everything that can be reached with at most so many faults, by the number of faults.
fn explore(max_faults: u8) -> BTreeMap<u8, usize> {
    let mut seen = HashSet::from([World::begin()]);
    let mut queue = VecDeque::from([World::begin()]);
    let mut counts = BTreeMap::new();
    while let Some(world) = queue.pop_front() {
        world.check();
        *counts.entry(world.faults).or_insert(0) += 1;
        let mut next = world.progress();
        if world.faults < max_faults {
            next.extend(world.faults());
        }
        for world in next {
            if seen.insert(world.clone()) {
                queue.push_back(world);
            }
        }
    }
    counts
}

#[test]
fn without_a_fault_the_new_one_serves() {
    let counts = explore(0);
    assert_eq!(counts.len(), 1);
    let mut world = World::begin();
    while let Some(next) = world.progress().pop() {
        world = next;
    }
    assert_eq!(
        (world.old, world.new),
        (Predecessor::Left, Successor::Serving)
    );
}

/// More faults than there are steps: every order of messages, deaths, failures and timeouts.
#[test]
fn whatever_fails_one_of_those_alive_serves() {
    let counts = explore(6);
    let all: usize = counts.values().sum();
    assert!(all > 200, "{counts:?}");
    // further faults bring nothing new but their number
    assert_eq!(counts[&5], counts[&6], "{counts:?}");
}

/// What a stranger to the protocol sends, at any place.
#[test]
fn messages_out_of_order_resume() {
    for request in [
        Request::Ready,
        Request::Serving,
        Request::Timeout,
        Request::Broken,
    ] {
        let mut old = Predecessor::default();
        assert_eq!(old.on(request), Duty::Resume);
        assert!(!old.is_taken());
    }
    let mut old = Predecessor::default();
    assert_eq!(old.on(Request::Upgrade), Duty::Offer);
    assert_eq!(old.on(Request::Serving), Duty::Resume);
    assert_eq!(old.on(Request::Upgrade), Duty::Offer);
    assert_eq!(old.on(Request::Upgrade), Duty::Resume);
    assert_eq!(old, Predecessor::Alone);
}
