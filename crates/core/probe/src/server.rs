//! The server: sessions of UEs that have the secret and have shown that they receive at their address.
//!
//! Without both it sends nothing but one Challenge for each Hello, which is shorter, and only to who has the secret. What it
//! sends in a session is bounded by the window of [`Load`](crate::load), by [`SILENCE`], by the rate and the time that the
//! configuration allows, and by its number of sessions. A Begin that was recorded opens no second session.

use crate::arrivals::Arrivals;
use crate::key::{Baker, Secret, SessionKeys, Tag};
use crate::load::Load;
use crate::message::{
    Control, Data, HELLO_LEN, MAX_ARRIVALS, Message, Nonce, Probe, Reason, Received, Report,
    Request, decode, encode,
};
use crate::plan::PACKETS;
use crate::{SILENCE, payload};
use core::net::SocketAddr;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// Milliseconds of arrivals that wait for the UE to have them: a minute of a path that never rests.
const MAX_WAITING: usize = 60_000;
/// Reports in answer to one Control.
const MAX_REPORTS: usize = 4;
/// Arrivals that the UE has not confirmed for this time are sent again: more than a round trip through full queues.
const AGAIN: Duration = Duration::from_secs(3);
/// Answers that wait to be sent.
const MAX_ANSWERS: usize = 256;
/// Begins that are remembered, while their cookies are valid.
const MAX_REMEMBERED: usize = 1_024;
/// For how long: two periods of cookies.
const REMEMBERED_FOR: Duration = Duration::from_secs(120);

/// What a server allows.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What its UEs have as well.
    pub secret: Secret,
    /// Of a heavy workload, either way.
    pub max_rate: BitRate,
    /// Of a recording.
    pub max_duration: Duration,
    /// At one time.
    pub max_sessions: usize,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The UE has what it wanted.
    Done,
    /// Nothing came of it for [`SILENCE`].
    Silent,
    /// It went on after its time.
    Overdue,
    /// It does not take what was counted for it.
    Behind,
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session has begun.
    Began {
        /// The UE's address.
        peer: SocketAddr,
        /// What it has recorded.
        request: Request,
    },
    /// The first datagram came that is not answered: of another program, or with another secret.
    Stranger {
        /// From there.
        peer: SocketAddr,
    },
    /// A session was refused.
    Refused {
        /// The UE's address.
        peer: SocketAddr,
        /// Why.
        reason: Reason,
    },
    /// A session has ended.
    Ended {
        /// The UE's address.
        peer: SocketAddr,
        /// How.
        how: Ended,
        /// Packets of the heavy workload that were sent to it.
        sent: u64,
        /// And that came from it.
        received: u64,
    },
}

struct Session {
    id: u64,
    peer: SocketAddr,
    client: Nonce,
    keys: SessionKeys,
    packet: Bytes,
    /// It ends then, whatever comes.
    until: Instant,
    heard: Instant,
    /// Of the latest Control.
    counter: Option<u64>,
    round: u32,
    load: Load,
    arrivals: Arrivals,
    /// How many arrivals were sent, how many the UE has, and since when that is so.
    reported: u64,
    confirmed: u64,
    confirmed_at: Instant,
}

impl Session {
    /// The UE has this many arrivals.
    fn confirm(&mut self, now: Instant, arrivals: u64) {
        let is_lost = now.saturating_since(self.confirmed_at) >= AGAIN;
        if arrivals > self.confirmed || self.reported <= arrivals {
            self.confirmed_at = now;
        } else if is_lost {
            (self.reported, self.confirmed_at) = (arrivals, now);
        }
        self.confirmed = self.confirmed.max(arrivals);
        self.reported = self.reported.max(self.confirmed);
    }
}

/// The server.
pub struct Server {
    config: ServerConfig,
    baker: Baker,
    sessions: Vec<Session>,
    /// Which may send next.
    turn: usize,
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<Event>,
    remembered: VecDeque<(Instant, Nonce)>,
    refused: u64,
}

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Server({} sessions)", self.sessions.len())
    }
}

impl Server {
    /// Without sessions. `random` is of this process alone.
    pub fn new(config: ServerConfig, random: &[u8; 32]) -> Self {
        Self {
            config,
            baker: Baker::new(random),
            sessions: Vec::new(),
            turn: 0,
            answers: VecDeque::new(),
            events: VecDeque::new(),
            remembered: VecDeque::new(),
            refused: 0,
        }
    }

    /// Takes a datagram. What is no message of a UE that has the secret is counted and not answered.
    pub fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let Ok(received) = decode(datagram) else {
            return self.refuse(from);
        };
        let is_accepted = match &received.message {
            Message::Hello { client } => {
                datagram.len() >= HELLO_LEN
                    && received.is_by(&self.config.secret.opening)
                    && self.challenge(now, from, client)
            }
            Message::Begin {
                client,
                server,
                cookie,
                request,
            } => {
                received.is_by(&self.config.secret.opening)
                    && self.baker.accepts(now, from, client, server, cookie)
                    && self.begin(now, from, client, server, *request)
            }
            _ => self.in_session(now, from, &received, datagram.len()),
        };
        if !is_accepted {
            self.refuse(from);
        }
    }

    fn refuse(&mut self, from: SocketAddr) {
        if self.refused == 0 {
            self.event(Event::Stranger { peer: from });
        }
        self.refused += 1;
    }

    fn challenge(&mut self, now: Instant, to: SocketAddr, client: &Nonce) -> bool {
        let (server, cookie): (Nonce, Tag) = self.baker.challenge(now, to, client);
        let client = *client;
        self.answer(
            to,
            &Message::Challenge {
                client,
                server,
                cookie,
            },
        );
        true
    }

    /// Sends an answer before there is a session.
    fn answer(&mut self, to: SocketAddr, message: &Message) {
        let mut bytes = Vec::new();
        encode(message, &self.config.secret.answer, 0, &mut bytes);
        self.put(to, bytes);
    }

    fn put(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((to, bytes));
        }
    }

    fn begin(
        &mut self,
        now: Instant,
        from: SocketAddr,
        client: &Nonce,
        server: &Nonce,
        request: Request,
    ) -> bool {
        let mut sessions = self.sessions.iter();
        let same = sessions.find(|session| session.peer == from && session.client == *client);
        if let Some(session) = same {
            // the Accept was lost
            let (id, key) = (session.id, session.keys.down.clone());
            self.accept(from, client, id, &key);
            return true;
        }
        if self.remembered.iter().any(|(_, nonce)| nonce == client) {
            return false;
        }
        if let Some((reason, limit)) = self.refusal(&request) {
            let client = *client;
            self.answer(
                from,
                &Message::Refuse {
                    client,
                    reason,
                    limit,
                },
            );
            self.event(Event::Refused { peer: from, reason });
            return true;
        }
        let keys = self.config.secret.session(client, server);
        let [a, b, c, d, e, f, g, h, ..] = *server;
        let id = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        self.accept(from, client, id, &keys.down);
        self.remembered.push_back((now, *client));
        self.sessions.push(Session {
            id,
            peer: from,
            client: *client,
            keys,
            packet: request.packet,
            // rounds, and queues that drain between them
            until: now + request.duration * 2 + Duration::from_secs(60),
            heard: now,
            counter: None,
            round: 0,
            load: Load::new(request.down, request.packet),
            arrivals: Arrivals::new(MAX_WAITING),
            reported: 0,
            confirmed: 0,
            confirmed_at: now,
        });
        self.event(Event::Began {
            peer: from,
            request,
        });
        true
    }

    fn refusal(&self, request: &Request) -> Option<(Reason, u64)> {
        let config = &self.config;
        let is_full =
            self.sessions.len() >= config.max_sessions || self.remembered.len() >= MAX_REMEMBERED;
        if request.down.max(request.up) > config.max_rate {
            Some((Reason::Rate, config.max_rate.as_bps()))
        } else if request.duration > config.max_duration {
            Some((Reason::Duration, config.max_duration.as_nanos()))
        } else if !PACKETS.contains(&request.packet) {
            Some((Reason::Packet, PACKETS.end().get()))
        } else {
            is_full.then_some((Reason::Busy, config.max_sessions as u64))
        }
    }

    fn accept(&mut self, to: SocketAddr, client: &Nonce, session: u64, key: &crate::key::Key) {
        let mut bytes = Vec::new();
        let client = *client;
        encode(&Message::Accept { client, session }, key, 0, &mut bytes);
        self.put(to, bytes);
    }

    fn event(&mut self, event: Event) {
        // of sessions, which are few, and of those that are refused, which anyone with the secret may be
        if self.events.len() < MAX_ANSWERS {
            self.events.push_back(event);
        }
    }

    fn in_session(
        &mut self,
        now: Instant,
        from: SocketAddr,
        received: &Received<'_>,
        length: usize,
    ) -> bool {
        let id = match &received.message {
            Message::Control(Control { session, .. })
            | Message::Data(Data { session, .. })
            | Message::Probe(Probe { session, .. })
            | Message::End { session } => *session,
            _ => return false,
        };
        let mut places = self.sessions.iter();
        let place = places.position(|session| session.id == id && session.peer == from);
        let Some(place) = place else {
            return false;
        };
        let session = &mut self.sessions[place];
        if !received.is_by(&session.keys.up) {
            return false;
        }
        session.heard = now;
        match received.message {
            Message::Control(control) => self.control(now, place, &control),
            Message::Data(data) => {
                let bytes = Bytes::new(length as u64) + payload::headers(from);
                if !session.arrivals.add(now, &data, bytes) {
                    self.end(now, place, Ended::Behind);
                }
            }
            Message::Probe(probe) => {
                let (key, mut bytes) = (session.keys.down.clone(), Vec::new());
                let echo = Message::Echo(Probe {
                    turned: now,
                    ..probe
                });
                encode(&echo, &key, length, &mut bytes);
                self.put(from, bytes);
            }
            _ => {
                let mut bytes = Vec::new();
                let ended = Message::Ended { session: id };
                encode(&ended, &session.keys.down, 0, &mut bytes);
                self.put(from, bytes);
                self.end(now, place, Ended::Done);
            }
        }
        true
    }

    fn control(&mut self, now: Instant, place: usize, control: &Control) {
        let session = &mut self.sessions[place];
        if session.counter.is_some_and(|last| control.counter <= last) {
            return;
        }
        session.counter = Some(control.counter);
        if control.round != session.round {
            session.load.set(now, false);
            session.round = control.round;
        }
        session.load.set(now, control.send);
        session.load.acknowledge(now, control.next);
        session.arrivals.forget(control.arrivals);
        session.confirm(now, control.arrivals);
        let mut number = session.reported;
        let (to, key) = (session.peer, session.keys.down.clone());
        let (next, received) = (session.arrivals.next(), session.arrivals.received());
        for turn in 0..MAX_REPORTS {
            let (first, arrivals) = self.sessions[place].arrivals.from(number, now);
            if turn > 0 && arrivals.is_empty() {
                break;
            }
            number = first + arrivals.len() as u64;
            self.sessions[place].reported = number;
            let is_last = arrivals.len() < MAX_ARRIVALS;
            let report = Report {
                session: control.session,
                counter: control.counter,
                echo: control.at,
                came: now,
                sent: now,
                next,
                received,
                first,
                arrivals,
            };
            let mut bytes = Vec::new();
            encode(&Message::Report(report), &key, 0, &mut bytes);
            self.put(to, bytes);
            if is_last {
                break;
            }
        }
    }

    fn end(&mut self, now: Instant, place: usize, how: Ended) {
        let session = self.sessions.remove(place);
        // its Begin may have been recorded: it is remembered from now on
        self.remembered
            .retain(|(_, nonce)| *nonce != session.client);
        self.remembered.push_back((now, session.client));
        self.event(Event::Ended {
            peer: session.peer,
            how,
            sent: session.load.sent(),
            received: session.arrivals.received(),
        });
    }

    /// Ends what is over by its time. To be called once in a while, and at the deadline.
    pub fn expire(&mut self, now: Instant) {
        while let Some((place, how)) = self.expired(now) {
            self.end(now, place, how);
        }
        let sessions = &self.sessions;
        self.remembered.retain(|(since, nonce)| {
            now.saturating_since(*since) < REMEMBERED_FOR
                || sessions.iter().any(|session| session.client == *nonce)
        });
    }

    fn expired(&self, now: Instant) -> Option<(usize, Ended)> {
        let mut sessions = self.sessions.iter().enumerate();
        sessions.find_map(|(place, session)| {
            if now >= session.until {
                Some((place, Ended::Overdue))
            } else {
                let is_silent = now >= session.heard + SILENCE;
                is_silent.then_some((place, Ended::Silent))
            }
        })
    }

    /// A datagram that is to be sent now, into `out`, and to whom.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, bytes)) = self.answers.pop_front() {
            *out = bytes;
            return Some(to);
        }
        let count = self.sessions.len();
        for step in 0..count {
            let place = (self.turn + step) % count;
            let session = &mut self.sessions[place];
            let Some(number) = session.load.send(now) else {
                continue;
            };
            let data = Message::Data(Data {
                session: session.id,
                number,
                round: session.round,
                at: now,
            });
            let length = payload::length(session.packet, session.peer);
            encode(&data, &session.keys.down, length, out);
            self.turn = place + 1;
            return Some(session.peer);
        }
        None
    }

    /// When something is to be done, if nothing comes.
    pub fn next_deadline(&self) -> Option<Instant> {
        if !self.answers.is_empty() {
            return Some(Instant::ZERO);
        }
        let of = |session: &Session| {
            let end = session.until.min(session.heard + SILENCE);
            session.load.next_deadline().map_or(end, |due| due.min(end))
        };
        self.sessions.iter().map(of).min()
    }

    /// What has happened and was not asked for yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Datagrams that were not answered: of other programs, with another secret, or of no session.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Sessions under way.
    pub const fn sessions(&self) -> usize {
        self.sessions.len()
    }
}
