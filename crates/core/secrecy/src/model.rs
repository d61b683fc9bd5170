//! Model test: everything that a network and an observer can do to two clients and a server, up to a depth.
//!
//! From each state that is reached there are these steps: a datagram arrives, is lost, arrives and stays under way
//! (duplication, and by that any order), one of before is sent once more from another address (replay), one arrives at the
//! wrong client, one arrives changed in a bit, or cut, or with the identifier of another session, the next deadline comes, a
//! client or the server sends a packet. States that are equal are followed once.

use crate::identity::{PrivateKey, SharedSecret};
use crate::initiator::{Initiator, Input, Local};
use crate::message::DATA_HEADER_LEN;
use crate::responder::{Channel, Client, LinkId, Responder, ResponderConfig};
use crate::session::{Algorithms, Limits, Session};
use core::net::SocketAddr;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use units::{Duration, Instant};

/// Datagrams under way at most: of more the oldest is lost.
const UNDER_WAY: usize = 3;
/// Datagrams that the observer keeps.
const KEPT: usize = 4;
/// Packets that each sender sends.
const PACKETS: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum To {
    Server { from: usize },
    Client(usize),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Datagram {
    to: To,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Deliver(usize),
    Lose(usize),
    Duplicate(usize),
    Replay(usize),
    Misdeliver(usize),
    Forge(usize, Forgery),
    Deadline,
    ClientSends(usize),
    ServerSends(usize),
}

/// What an attacker makes of a datagram.
#[derive(Clone, Copy, Debug)]
enum Forgery {
    /// A bit of its first half, or of its second, is another.
    Changed { is_late: bool },
    /// It ends earlier.
    Cut,
    /// It names another session of its receiver, if there is one.
    CrossSession,
}

#[derive(Clone)]
struct World {
    now: Instant,
    clients: [Initiator; 2],
    server: Responder,
    under_way: Vec<Datagram>,
    kept: Vec<Datagram>,
    draws: [u64; 3],
    /// Sessions that clients have made, by their transcripts.
    made: BTreeSet<[u8; 32]>,
    /// Sessions that the server has accepted.
    accepted: Vec<[u8; 32]>,
    sent: [u8; 4],
    /// Packets that arrived: who sent them, and which.
    arrived: BTreeSet<(u8, u8)>,
}

/// The same bytes for the same end and count, whatever came between.
fn draw(end: usize, count: &mut u64) -> Option<[u8; 32]> {
    *count += 1;
    let mut bytes = [end as u8 + 1; 32];
    bytes[..8].copy_from_slice(&(*count * 3 + end as u64).to_be_bytes());
    bytes[..4].copy_from_slice(&(*count as u32 * 4 + end as u32).to_be_bytes());
    Some(bytes)
}

fn address(last: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last as u8], 1_000))
}

impl World {
    fn new(is_one_client: bool) -> Self {
        let server = PrivateKey::from_bytes([100; 32]);
        let keys = [1, if is_one_client { 1 } else { 2 }].map(|b| PrivateKey::from_bytes([b; 32]));
        let limits = Limits::rekey_after(Duration::from_secs(2));
        let algorithms = Algorithms::new(false);
        let clients = keys.each_ref().map(|key| {
            Initiator::new(Arc::new(Local {
                key: key.clone(),
                server: server.public(),
                shared: SharedSecret::default(),
                algorithms,
                limits,
            }))
        });
        let of = |key: &PrivateKey| Client {
            key: key.public(),
            shared: SharedSecret::default(),
        };
        let known = if is_one_client { 1 } else { 2 };
        let config = ResponderConfig {
            key: server,
            clients: keys[..known].iter().map(of).collect(),
            algorithms,
            limits,
        };
        let mut world = Self {
            now: Instant::ZERO + Duration::from_secs(1),
            clients,
            server: Responder::new(config, &[7; 32], LinkId(0)),
            under_way: Vec::new(),
            kept: Vec::new(),
            draws: [0; 3],
            made: BTreeSet::new(),
            accepted: Vec::new(),
            sent: [0; 4],
            arrived: BTreeSet::new(),
        };
        world.poll();
        world
    }

    fn send(&mut self, to: To, bytes: Vec<u8>) {
        let datagram = Datagram { to, bytes };
        if !self.kept.contains(&datagram) && self.kept.len() < KEPT {
            self.kept.push(datagram.clone());
        }
        if self.under_way.len() == UNDER_WAY {
            self.under_way.remove(0);
        }
        self.under_way.push(datagram);
    }

    fn poll(&mut self) {
        for index in 0..2 {
            let count = &mut self.draws[index];
            let mut entropy = || draw(index, count);
            let mut out = Vec::new();
            while let Some(bytes) = self.clients[index].poll_transmit(self.now, &mut entropy) {
                out.push(bytes);
            }
            for bytes in out {
                self.send(To::Server { from: index }, bytes);
            }
        }
    }

    fn deliver(&mut self, datagram: &Datagram, from: SocketAddr) {
        let mut bytes = datagram.bytes.clone();
        match datagram.to {
            To::Server { from: client } => {
                let count = &mut self.draws[2];
                let mut entropy = || draw(2, count);
                let channel = Channel::Datagrams;
                let got = self
                    .server
                    .receive(self.now, channel, from, &mut bytes, &mut entropy);
                let Ok(got) = got else { return };
                if let Some(answer) = &got.answer {
                    assert!(answer.len() <= datagram.bytes.len(), "no answer is longer");
                }
                if let Some((link, range)) = got.data {
                    if got.is_new {
                        let session = self.server.current(link).expect("it is new");
                        self.accepted.push(*session.transcript());
                    }
                    self.arrive(&bytes[range]);
                }
                if let Some(answer) = got.answer {
                    self.send(To::Client(client), answer);
                }
            }
            To::Client(index) => match self.clients[index].receive(self.now, &mut bytes) {
                Ok(Input::Data(range)) => self.arrive(&bytes[range]),
                Ok(Input::Established) => {
                    let session = self.clients[index].current().expect("it is new");
                    let is_new = self.made.insert(*session.transcript());
                    assert!(is_new, "a session is made once");
                }
                _ => {}
            },
        }
    }

    /// A forged datagram is refused, whichever it was: no packet comes out of it, and no session. What it may have is an
    /// answer: a bit of what nothing covers (the reserved ones of a cookie) is none of the message's.
    fn deliver_forged(&mut self, datagram: &Datagram, forgery: Forgery) {
        let mut bytes = datagram.bytes.clone();
        match forgery {
            Forgery::Changed { is_late } => {
                let at = match is_late {
                    true => bytes.len() - 1,
                    false => bytes.len() / 2,
                };
                bytes[at] ^= 4;
            }
            Forgery::Cut => bytes.truncate(bytes.len() - 1),
            Forgery::CrossSession => {
                let sessions: Vec<[u8; 4]> = match datagram.to {
                    To::Server { .. } => self
                        .server
                        .sessions()
                        .map(|s| s.id().to_be_bytes())
                        .collect(),
                    To::Client(i) => {
                        let own = self.clients[i].sessions();
                        own.map(|s| s.id().to_be_bytes()).collect()
                    }
                };
                let is_data = bytes.first().is_some_and(|first| first & 0x80 != 0);
                let named = bytes.get(0..4).map(<[u8]>::to_vec);
                let other = sessions.iter().find(|id| Some(id.to_vec()) != named);
                match other.filter(|_| is_data) {
                    Some(other) => bytes[0..4].copy_from_slice(other),
                    None => return,
                }
            }
        }
        let before = (self.made.len(), self.accepted.len(), self.arrived.len());
        let forged = Datagram {
            to: datagram.to,
            bytes,
        };
        self.deliver(&forged, self.origin(&forged));
        let after = (self.made.len(), self.accepted.len(), self.arrived.len());
        assert_eq!(before, after, "{forgery:?}");
    }

    fn arrive(&mut self, packet: &[u8]) {
        if let [sender, number] = *packet {
            assert!(
                self.arrived.insert((sender, number)),
                "a packet arrives once"
            );
        } else {
            assert!(packet.is_empty());
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Deadline];
        for i in 0..self.under_way.len() {
            steps.extend([Step::Deliver(i), Step::Lose(i), Step::Duplicate(i)]);
            if matches!(self.under_way[i].to, To::Client(_)) {
                steps.push(Step::Misdeliver(i));
            }
            let changed = [false, true].map(|is_late| Forgery::Changed { is_late });
            let forgeries = changed
                .into_iter()
                .chain([Forgery::Cut, Forgery::CrossSession]);
            steps.extend(forgeries.map(|forgery| Step::Forge(i, forgery)));
        }
        let old = |i: &usize| !self.under_way.contains(&self.kept[*i]);
        steps.extend((0..self.kept.len()).filter(old).map(Step::Replay));
        for i in 0..2 {
            if self.clients[i].is_ready(self.now) && self.sent[i] < PACKETS {
                steps.push(Step::ClientSends(i));
            }
        }
        for (i, _) in self.server.links().enumerate().take(2) {
            if self.sent[2 + i] < PACKETS {
                steps.push(Step::ServerSends(i));
            }
        }
        steps
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Deliver(i) => {
                let datagram = self.under_way.remove(i);
                self.deliver(&datagram, self.origin(&datagram));
            }
            Step::Lose(i) => drop(self.under_way.remove(i)),
            Step::Duplicate(i) => {
                let datagram = self.under_way[i].clone();
                self.deliver(&datagram, self.origin(&datagram));
            }
            Step::Replay(i) => {
                let datagram = self.kept[i].clone();
                self.deliver(&datagram, address(66));
            }
            Step::Forge(i, forgery) => {
                let datagram = self.under_way[i].clone();
                self.deliver_forged(&datagram, forgery);
            }
            Step::Misdeliver(i) => {
                let mut datagram = self.under_way[i].clone();
                if let To::Client(index) = datagram.to {
                    datagram.to = To::Client(1 - index);
                }
                self.deliver(&datagram, address(66));
            }
            Step::Deadline => {
                let all = self.clients.iter();
                let next = all.filter_map(Initiator::next_deadline).min();
                self.now = self.now.max(next.expect("a client always has one"));
                self.server.expire(self.now);
            }
            Step::ClientSends(i) => {
                let mut bytes = [&[0; DATA_HEADER_LEN][..], &[i as u8, self.sent[i]]].concat();
                self.sent[i] += 1;
                let session = self.clients[i].session().expect("it is ready");
                if session.seal(self.now, &mut bytes, 0).is_ok() {
                    self.send(To::Server { from: i }, bytes);
                }
            }
            Step::ServerSends(i) => {
                let mut bytes =
                    [&[0; DATA_HEADER_LEN][..], &[2 + i as u8, self.sent[2 + i]]].concat();
                self.sent[2 + i] += 1;
                let link = self.server.links().nth(i).expect("it is there");
                let session = self.server.session(link).expect("it is there");
                if session.seal(self.now, &mut bytes, 0).is_ok() {
                    // to the client that has it, if one has
                    let id = session.peer_id();
                    let has = |client: &Initiator| client.current().is_some_and(|s| s.id() == id);
                    let to = self.clients.iter().position(has).unwrap_or(0);
                    self.send(To::Client(to), bytes);
                }
            }
        }
        self.poll();
    }

    fn origin(&self, datagram: &Datagram) -> SocketAddr {
        match datagram.to {
            To::Server { from } => address(from + 1),
            To::Client(_) => address(100),
        }
    }

    fn check(&self) {
        let at_server: Vec<&Session> = self.server.sessions().collect();
        for client in &self.clients {
            for own in client.sessions() {
                let is_pair = |s: &&&Session| s.id() == own.peer_id() && s.peer_id() == own.id();
                for peer in at_server.iter().filter(is_pair) {
                    assert!(own.has_keys_of(peer), "two keys taken for one");
                }
            }
        }
        // no session but one that a client has made is accepted, and that once: a repeated Init makes none
        let accepted: BTreeSet<_> = self.accepted.iter().collect();
        assert_eq!(
            accepted.len(),
            self.accepted.len(),
            "a session is accepted once"
        );
        assert!(self.accepted.iter().all(|one| self.made.contains(one)));
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (
            self.now,
            &self.under_way,
            &self.kept,
            self.draws,
            &self.made,
        )
            .hash(&mut hasher);
        (&self.accepted, self.sent, &self.arrived).hash(&mut hasher);
        let clients = self.clients.iter().flat_map(Initiator::sessions);
        for session in clients.chain(self.server.sessions()) {
            session.digest().hash(&mut hasher);
        }
        for client in &self.clients {
            (client.next_deadline(), client.unanswered_inits()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Without losses, and without anyone who interferes, each client has keys that the server uses, and packets pass.
    fn settle(mut self) {
        for _ in 0..100 {
            while !self.under_way.is_empty() {
                self.take(Step::Deliver(0));
                self.check();
            }
            if self
                .clients
                .iter()
                .all(|c| c.is_ready(self.now) && c.is_confirmed())
            {
                break;
            }
            self.take(Step::Deadline);
        }
        self.sent = [100; 4];
        for i in 0..2 {
            assert!(self.clients[i].is_confirmed(), "it is live");
            self.take(Step::ClientSends(i));
            while !self.under_way.is_empty() {
                self.take(Step::Deliver(0));
            }
            assert!(self.arrived.contains(&(i as u8, 100)), "a packet arrives");
        }
    }
}

/// All states within so many steps; how many there are.
fn explore(world: World, depth: usize, settle_one_in: u64) -> usize {
    let mut seen = BTreeSet::from([world.hash()]);
    let mut level = vec![world];
    for _ in 0..depth {
        let mut next = Vec::new();
        for world in &level {
            for step in world.steps() {
                let mut after = world.clone();
                after.take(step);
                after.check();
                let hash = after.hash();
                if seen.insert(hash) {
                    if hash % settle_one_in == 0 {
                        after.clone().settle();
                    }
                    next.push(after);
                }
            }
        }
        level = next;
    }
    seen.len()
}

/// One after the other: where more steps lead than all that can be tried.
fn wander(mut world: World, steps: usize, mut seed: u64) {
    for _ in 0..steps {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let all = world.steps();
        world.take(all[(seed >> 33) as usize % all.len()]);
        world.check();
    }
    world.settle();
}

#[test]
fn two_clients_in_every_order() {
    let states = explore(World::new(false), 6, 32);
    assert!(states > 10_000, "{states} states");
}

#[test]
fn two_paths_of_one_client_in_every_order() {
    let states = explore(World::new(true), 6, 32);
    assert!(states > 10_000, "{states} states");
}

#[test]
fn long_walks_end_well() {
    for seed in 0..60 {
        wander(World::new(seed % 2 == 0), 60, seed);
    }
}
