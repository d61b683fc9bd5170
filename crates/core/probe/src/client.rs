//! The UE: begins a session, has each workload in turn, and keeps what comes of them.

use crate::arrivals::Arrivals;
use crate::key::{Secret, SessionKeys, Tag};
use crate::load::Load;
use crate::message::{
    Arrival, Control, Data, HELLO_LEN, Message, Nonce, Probe, Reason, Report, decode, encode,
};
use crate::plan::{MAX_DURATION, Plan, PlanError};
use crate::recording::{Clocks, Counted, Recording, Trip, assemble};
use crate::{SILENCE, payload};
use core::net::SocketAddr;
use units::{Bytes, Duration, Instant};

/// Between two Controls.
const TICK: Duration = Duration::from_millis(20);
/// Between two tries of what is to be answered.
const RETRY: Duration = Duration::from_secs(1);
/// Tries.
const MAX_TRIES: u32 = 5;
/// Queues are empty when nothing has come for this time.
const QUIET: Duration = Duration::from_secs(1);
/// They are not waited for longer.
const MAX_DRAIN: Duration = Duration::from_secs(30);

/// Why a recording ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Of any message of the beginning.
    #[error(
        "no answer to {MAX_TRIES} messages: is a server there, with the same key, and does UDP pass?"
    )]
    NoAnswer,
    /// The server refuses a recording.
    #[error("the server refuses: {}", refusal(*.reason, *.limit))]
    Refused {
        /// Why.
        reason: Reason,
        /// What it allows.
        limit: u64,
    },
    /// Nothing came any more.
    #[error("nothing came from the server for {SILENCE}")]
    Silent,
}

fn refusal(reason: Reason, limit: u64) -> String {
    match reason {
        Reason::Busy => format!("it has {limit} recordings already, or too many of late"),
        Reason::Rate => format!(
            "it allows rates of {} at most",
            units::BitRate::from_bps(limit)
        ),
        Reason::Duration => format!("it allows {} at most", Duration::from_nanos(limit)),
        Reason::Packet => format!("it allows packets of {} at most", Bytes::new(limit)),
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Says Hello.
    Hello,
    /// Has a cookie.
    Begin { server: Nonce, cookie: Tag },
    /// Sends trains.
    Light { began: Instant, until: Instant },
    /// Is sent, and sends, more than the path carries.
    Heavy { began: Instant, until: Instant },
    /// Has the rest of it.
    Drain { until: Instant, from_counter: u64 },
    /// Says that it has what it wanted.
    Ending,
    /// Is done.
    Over,
}

/// The train that is being sent.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    number: u32,
    /// Of the next packet.
    index: u16,
    due: Instant,
}

/// The UE's end of a recording.
pub struct Client {
    plan: Plan,
    secret: Secret,
    server: SocketAddr,
    nonce: Nonce,
    phase: Phase,
    session: Option<(u64, SessionKeys)>,
    failure: Option<Failure>,
    heard: Instant,
    /// Of Hello, Begin and End: tries, and when the next is due. Of Controls: when the next is due.
    tries: u32,
    due: Instant,
    /// Workloads that are over.
    elapsed: Duration,
    round: u32,
    counter: u64,
    /// The latest Control that was answered, and when data came last.
    answered: Option<u64>,
    moved: Instant,
    train: Train,
    load: Load,
    down: Arrivals,
    up: Vec<Arrival>,
    up_bytes: Bytes,
    up_received: u64,
    clocks: Clocks,
    trips: Vec<Trip>,
    probes: u64,
    bytes: Bytes,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Client({:?})", self.phase)
    }
}

impl Client {
    /// Begins at once. `nonce` is random and used once.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(
        now: Instant,
        plan: Plan,
        secret: Secret,
        server: SocketAddr,
        nonce: Nonce,
    ) -> Result<Self, PlanError> {
        plan.check()?;
        let longest = usize::try_from(MAX_DURATION.as_millis()).unwrap_or(usize::MAX);
        Ok(Self {
            plan,
            secret,
            server,
            nonce,
            phase: Phase::Hello,
            session: None,
            failure: None,
            heard: now,
            tries: 0,
            due: now,
            elapsed: Duration::ZERO,
            round: 0,
            counter: 0,
            answered: None,
            moved: now,
            train: Train::default(),
            load: Load::new(plan.up, plan.packet),
            down: Arrivals::new(longest),
            up: Vec::new(),
            up_bytes: Bytes::ZERO,
            up_received: 0,
            clocks: Clocks::default(),
            trips: Vec::new(),
            probes: 0,
            bytes: Bytes::ZERO,
        })
    }

    /// True once nothing more is to be sent or awaited.
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// True once the server has accepted.
    pub const fn has_begun(&self) -> bool {
        self.session.is_some()
    }

    /// Ends with what there is so far.
    pub fn stop(&mut self, now: Instant) {
        self.load.set(now, false);
        match self.session {
            Some(_) if !self.is_over() => self.ending(now),
            _ => self.phase = Phase::Over,
        }
    }

    /// Takes a datagram from the server's address. False for what is none of its messages.
    pub fn receive(&mut self, now: Instant, datagram: &[u8]) -> bool {
        let Ok(received) = decode(datagram) else {
            return false;
        };
        let is_accepted = match (&received.message, &self.phase) {
            (
                Message::Challenge {
                    client,
                    server,
                    cookie,
                },
                Phase::Hello,
            ) if *client == self.nonce && received.is_by(&self.secret.answer) => {
                let (server, cookie) = (*server, *cookie);
                self.phase = Phase::Begin { server, cookie };
                (self.tries, self.due) = (0, now);
                true
            }
            (
                Message::Refuse {
                    client,
                    reason,
                    limit,
                },
                Phase::Begin { .. },
            ) if *client == self.nonce && received.is_by(&self.secret.answer) => {
                let (reason, limit) = (*reason, *limit);
                self.fail(Failure::Refused { reason, limit });
                true
            }
            (Message::Accept { client, session }, Phase::Begin { server, .. })
                if *client == self.nonce =>
            {
                let keys = self.secret.session(client, server);
                let is_accepted = received.is_by(&keys.down);
                if is_accepted {
                    self.session = Some((*session, keys));
                    self.begin_round(now);
                }
                is_accepted
            }
            _ => match &self.session {
                Some((_, keys)) if received.is_by(&keys.down) => {
                    self.in_session(now, &received.message, datagram.len())
                }
                _ => false,
            },
        };
        if is_accepted {
            self.heard = now;
            self.bytes += Bytes::new(datagram.len() as u64) + payload::headers(self.server);
        }
        is_accepted
    }

    fn in_session(&mut self, now: Instant, message: &Message, length: usize) -> bool {
        match message {
            Message::Data(data) => {
                let bytes = Bytes::new(length as u64) + payload::headers(self.server);
                self.moved = now;
                // a recording of the longest duration has room
                self.down.add(now, data, bytes)
            }
            Message::Report(report) => {
                self.report(now, report);
                true
            }
            Message::Echo(probe) => {
                self.clocks
                    .exchange(probe.at, probe.turned, probe.turned, now);
                let has_room = (self.trips.len() as u64) < self.probes;
                if has_room {
                    self.trips.push(Trip::of(probe, now));
                }
                has_room
            }
            Message::Ended { .. } => {
                self.phase = Phase::Over;
                true
            }
            _ => false,
        }
    }

    fn report(&mut self, now: Instant, report: &Report) {
        self.clocks
            .exchange(report.echo, report.came, report.sent, now);
        self.answered = self.answered.max(Some(report.counter));
        self.up_received = self.up_received.max(report.received);
        self.load.acknowledge(now, report.next);
        let skipped = (self.up.len() as u64).checked_sub(report.first);
        let skipped = skipped.and_then(|skipped| usize::try_from(skipped).ok());
        // what lies behind a gap is sent again
        let new = skipped.and_then(|skipped| report.arrivals.get(skipped..));
        let room = usize::try_from(MAX_DURATION.as_millis()).unwrap_or(usize::MAX) - self.up.len();
        if let Some(new) = new.filter(|new| !new.is_empty() && new.len() <= room) {
            self.up.extend_from_slice(new);
            self.up_bytes += new.iter().map(|arrival| arrival.bytes).sum::<Bytes>();
            self.moved = now;
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.phase = Phase::Over;
    }

    fn begin_round(&mut self, now: Instant) {
        let left = self.plan.duration.saturating_sub(self.elapsed);
        if left.is_zero() {
            self.ending(now);
        } else if self.plan.light.is_zero() {
            self.begin_heavy(now);
        } else {
            let until = now + self.plan.light.min(left);
            self.phase = Phase::Light { began: now, until };
            self.train.due = now;
        }
    }

    fn begin_heavy(&mut self, now: Instant) {
        let left = self.plan.duration.saturating_sub(self.elapsed);
        if left.is_zero() || !self.plan.has_heavy() {
            return self.begin_round(now);
        }
        let until = now + self.plan.heavy.min(left);
        self.phase = Phase::Heavy { began: now, until };
        self.round += 1;
        self.due = now;
        self.load.set(now, true);
    }

    const fn ending(&mut self, now: Instant) {
        self.phase = Phase::Ending;
        (self.tries, self.due) = (0, now);
    }

    /// What passes by time alone.
    fn advance(&mut self, now: Instant) {
        let is_in_session = matches!(
            self.phase,
            Phase::Light { .. } | Phase::Heavy { .. } | Phase::Drain { .. }
        );
        if is_in_session && now.saturating_since(self.heard) >= SILENCE {
            return self.fail(Failure::Silent);
        }
        match self.phase {
            Phase::Light { began, until } if now >= until => {
                self.elapsed += until - began;
                self.train.index = 0;
                self.train.number += 1;
                self.begin_heavy(now);
            }
            Phase::Heavy { began, until } if now >= until => {
                self.elapsed += until - began;
                self.load.set(now, false);
                self.moved = now;
                self.phase = Phase::Drain {
                    until: now + MAX_DRAIN,
                    from_counter: self.counter,
                };
            }
            Phase::Drain {
                until,
                from_counter,
            } => {
                let is_answered = self.answered >= Some(from_counter);
                let is_quiet = now.saturating_since(self.moved) >= QUIET;
                // what the server has counted is here, but for losses that it will send again
                let is_whole = self.up_bytes >= self.plan.packet * self.up_received;
                if (is_answered && is_quiet && is_whole) || now >= until {
                    self.begin_round(now);
                }
            }
            _ => {}
        }
    }

    /// A datagram that is to be sent now, into `out`.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.advance(now);
        match self.phase {
            Phase::Hello => {
                let client = self.nonce;
                self.tried(now, RETRY).is_some_and(|()| {
                    let hello = Message::Hello { client };
                    encode(&hello, &self.secret.opening, HELLO_LEN, out);
                    true
                })
            }
            Phase::Begin { server, cookie } => {
                let (client, request) = (self.nonce, self.plan.request());
                self.tried(now, RETRY).is_some_and(|()| {
                    let begin = Message::Begin {
                        client,
                        server,
                        cookie,
                        request,
                    };
                    encode(&begin, &self.secret.opening, 0, out);
                    true
                })
            }
            Phase::Light { .. } => self.probe(now, out),
            Phase::Heavy { .. } | Phase::Drain { .. } => {
                self.control(now, out) || self.data(now, out)
            }
            Phase::Ending => {
                if self.tried(now, RETRY / 4).is_none() {
                    return false;
                }
                self.write(0, out, |session| Message::End { session })
            }
            Phase::Over => false,
        }
    }

    /// Some if another try is due.
    fn tried(&mut self, now: Instant, again: Duration) -> Option<()> {
        if now < self.due {
            return None;
        }
        if self.tries == MAX_TRIES {
            match self.phase {
                // the server forgets it by itself
                Phase::Ending => self.phase = Phase::Over,
                _ => self.fail(Failure::NoAnswer),
            }
            return None;
        }
        self.tries += 1;
        self.due = now + again;
        Some(())
    }

    /// Writes a message of the session.
    fn write(&self, length: usize, out: &mut Vec<u8>, of: impl FnOnce(u64) -> Message) -> bool {
        let Some((session, keys)) = &self.session else {
            return false;
        };
        encode(&of(*session), &keys.up, length, out);
        true
    }

    fn probe(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        if now < self.train.due {
            return false;
        }
        let Train { number, index, .. } = self.train;
        self.train.index += 1;
        if self.train.index == self.plan.train {
            self.train.number += 1;
            self.train.index = 0;
            self.train.due = (self.train.due + self.plan.interval).max(now);
        }
        self.probes += 1;
        let length = payload::length(self.plan.packet, self.server);
        self.write(length, out, |session| {
            Message::Probe(Probe {
                session,
                train: number,
                index,
                at: now,
                turned: Instant::ZERO,
            })
        })
    }

    fn control(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + TICK;
        self.counter += 1;
        let control = Control {
            session: 0,
            counter: self.counter - 1,
            at: now,
            send: matches!(self.phase, Phase::Heavy { .. }),
            round: self.round,
            next: self.down.next(),
            arrivals: self.up.len() as u64,
        };
        self.write(0, out, |session| {
            Message::Control(Control { session, ..control })
        })
    }

    fn data(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let Some(number) = self.load.send(now) else {
            return false;
        };
        let length = payload::length(self.plan.packet, self.server);
        let round = self.round;
        self.write(length, out, |session| {
            Message::Data(Data {
                session,
                number,
                round,
                at: now,
            })
        })
    }

    /// When something is to be done, if nothing comes; none once it is over.
    pub fn next_deadline(&self) -> Option<Instant> {
        let silent = self.heard + SILENCE;
        match self.phase {
            Phase::Hello | Phase::Begin { .. } | Phase::Ending => Some(self.due),
            Phase::Light { until, .. } => Some(self.train.due.min(until).min(silent)),
            Phase::Heavy { until, .. } | Phase::Drain { until, .. } => {
                let due = self.due.min(until).min(silent);
                Some(self.load.next_deadline().map_or(due, |next| due.min(next)))
            }
            Phase::Over => None,
        }
    }

    /// What was recorded, and what ended it early.
    pub fn finish(self) -> (Recording, Option<Failure>) {
        let (down_received, down_next) = (self.down.received(), self.down.next());
        let recording = assemble(Counted {
            plan: self.plan,
            rounds: self.round,
            down: self.down.into_kept(),
            down_received,
            down_next,
            up: self.up,
            up_received: self.up_received,
            up_sent: self.load.sent(),
            clocks: self.clocks,
            trips: self.trips,
            probes: self.probes,
            bytes: self.bytes,
        });
        (recording, self.failure)
    }
}
