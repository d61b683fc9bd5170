//! The client's state machine of one path.
//!
//! ```text
//!            +-- no session, keys due, or no answer for STALE_AFTER --> attempt
//!   session <+                                                            | Init, again after 0.5, 1, 2, 4, 8 s
//!            +<----------------------- Response of the attempt -----------+   (after 15 s with another key)
//! ```
//!
//! - A session is confirmed by the first packet that comes under its keys; until then empty packets are sent, so that
//!   the server changes to them also if nothing else is sent.
//! - While an attempt runs, packets leave under the keys that there are; keys of the session before still open what
//!   comes late, for [`PREVIOUS_TIME`].
//! - No answer changes anything but the Response of the present attempt and what verifies under a session's keys.

use crate::cookie::{Cookie, PublicKeys, mac2};
use crate::identity::{PrivateKey, PublicKey, SharedSecret};
use crate::message::{self, Choice, Message, Offer, Response};
use crate::noise::{InitSent, read_response, write_init};
use crate::session::{Algorithms, Limits, Session};
use crate::{Entropy, Refused, draw_id};
use core::fmt;
use core::ops::Range;
use std::sync::Arc;
use units::{Duration, Instant};

/// An Init is sent again after so long, then after twice that, up to [`MAX_RETRY`].
pub const RETRY: Duration = Duration::from_millis(500);
/// The longest time between two of them.
pub const MAX_RETRY: Duration = Duration::from_secs(8);
/// An attempt has one ephemeral key for so long.
const ATTEMPT_TIME: Duration = Duration::from_secs(15);
/// A packet without any answer for so long has new keys agreed on: the server may have been started anew.
pub const STALE_AFTER: Duration = Duration::from_secs(1);
/// Keys of before open what comes late for so long.
pub const PREVIOUS_TIME: Duration = Duration::from_secs(10);
/// A cookie is shown for so long.
const COOKIE_TIME: Duration = Duration::from_secs(60);
/// Empty packets that ask for a confirmation, and the time between them.
const CONFIRMATIONS: u32 = 10;
const CONFIRM_INTERVAL: Duration = Duration::from_millis(500);

/// What a client has before any handshake, the same for all its paths.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its key.
    pub key: PrivateKey,
    /// The server's.
    pub server: PublicKey,
    /// What both have besides.
    pub shared: SharedSecret,
    /// What it can seal with.
    pub algorithms: Algorithms,
    /// How long keys are used.
    pub limits: Limits,
}

/// What a datagram was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A packet, opened in its place; an empty one is for nobody.
    Data(Range<usize>),
    /// New keys are there: what waits may leave.
    Established,
    /// The server wants its cookie back: an Init is due.
    Cookie,
    /// The peer states that it does not encrypt. It proves nothing.
    Mismatch,
}

#[derive(Clone)]
struct Attempt {
    id: u32,
    sent: InitSent,
    /// An Init without its authentication codes, and the first of them.
    message: Vec<u8>,
    mac1: Cookie,
    began: Instant,
    next_at: Instant,
    /// A Cookie in answer to it is taken once each time that it is sent.
    takes_cookie: bool,
    /// It is only because nothing is answered.
    is_for_silence: bool,
}

/// The state machine.
#[derive(Clone)]
pub struct Initiator {
    local: Arc<Local>,
    keys: PublicKeys,
    attempt: Option<Attempt>,
    /// Inits sent since the last session was made.
    sent: u32,
    cookie: Option<(Cookie, Instant)>,
    current: Option<Session>,
    /// And until when it opens.
    previous: Option<(Session, Instant)>,
    /// When the next empty packet is due, and how many there were; none once a packet has come.
    confirm: Option<(Instant, u32)>,
    established: u64,
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Initiator({:?})", self.current)
    }
}

impl Initiator {
    /// One that begins as soon as it is asked for what is to be sent.
    pub fn new(local: Arc<Local>) -> Self {
        Self {
            keys: PublicKeys::new(local.server),
            local,
            attempt: None,
            sent: 0,
            cookie: None,
            current: None,
            previous: None,
            confirm: None,
            established: 0,
        }
    }

    /// Keys are there by which packets can leave.
    pub fn is_ready(&self, now: Instant) -> bool {
        self.current.as_ref().is_some_and(|s| !s.is_expired(now))
    }

    /// What seals packets, if there is one.
    pub fn session(&mut self) -> Option<&mut Session> {
        self.current.as_mut()
    }

    /// What seals packets, to look at.
    pub const fn current(&self) -> Option<&Session> {
        self.current.as_ref()
    }

    /// Sessions made so far.
    pub const fn established(&self) -> u64 {
        self.established
    }

    /// Inits that were sent since the last session was made.
    pub const fn unanswered_inits(&self) -> u32 {
        self.sent
    }

    /// The server has shown that it uses the present keys.
    pub const fn is_confirmed(&self) -> bool {
        self.current.is_some() && self.confirm.is_none()
    }

    /// The path has another socket: an attempt that runs is sent again at once.
    pub fn on_moved(&mut self, now: Instant) {
        self.sent = 0;
        if let Some(attempt) = &mut self.attempt {
            attempt.next_at = now;
        }
    }

    /// When [`Self::poll_transmit`] is to be called although nothing happens.
    pub fn next_deadline(&self) -> Option<Instant> {
        let attempt = self.attempt.as_ref().map(|attempt| attempt.next_at);
        let due = match &self.attempt {
            Some(_) => None,
            None => Some(self.due_at().unwrap_or(Instant::ZERO)),
        };
        let confirm = self.confirm.map(|(at, _)| at);
        [attempt, due, confirm].into_iter().flatten().min()
    }

    /// When new keys are due; none: now, there are none.
    fn due_at(&self) -> Option<Instant> {
        let session = self.current.as_ref()?;
        let silent = session.unanswered().map(|since| since + STALE_AFTER);
        let due = session.rekey_at();
        Some(silent.map_or(due, |silent| silent.min(due)))
    }

    /// The next datagram of the handshake that is to be sent.
    pub fn poll_transmit(&mut self, now: Instant, entropy: &mut dyn Entropy) -> Option<Vec<u8>> {
        if self
            .previous
            .as_ref()
            .is_some_and(|(_, until)| *until <= now)
        {
            self.previous = None;
        }
        if let Some((at, count)) = self.confirm
            && at <= now
        {
            self.confirm = (count + 1 < CONFIRMATIONS).then(|| (now + CONFIRM_INTERVAL, count + 1));
            let empty = self.current.as_mut().map(|session| session.seal_empty(now));
            if let Some(Ok(empty)) = empty {
                return Some(empty);
            }
        }
        let is_over = |attempt: &Attempt| {
            attempt.next_at <= now && now.saturating_since(attempt.began) >= ATTEMPT_TIME
        };
        if self.attempt.as_ref().is_some_and(is_over) {
            self.attempt = None;
        }
        if self.attempt.is_none() && self.due_at().is_none_or(|at| at <= now) {
            self.attempt = self.begin(now, entropy);
        }
        self.send_init(now)
    }

    fn begin(&self, now: Instant, entropy: &mut dyn Entropy) -> Option<Attempt> {
        let is_used = |id| {
            let previous = self.previous.as_ref().map(|(session, _)| session);
            let mut own = self.current.iter().chain(previous);
            own.any(|session| session.id() == id)
        };
        let id = draw_id(entropy, is_used).ok()?;
        let ephemeral = PrivateKey::from_bytes(entropy.draw()?);
        let offer = Offer {
            algorithms: self.local.algorithms.bits(),
            sender: id,
            replaces: self.current.as_ref().map_or(0, Session::peer_id),
        };
        let Local { key, server, .. } = &*self.local;
        let (sent, fields) = write_init(key, *server, ephemeral, &offer.bytes())?;
        let message = message::write_init(id, fields.ephemeral, &fields.identity, &fields.payload);
        let session = self.current.as_ref();
        Some(Attempt {
            id,
            sent,
            mac1: self.keys.mac1(&message),
            message,
            began: now,
            next_at: now,
            takes_cookie: false,
            is_for_silence: session.is_some_and(|s| s.rekey_at() > now),
        })
    }

    fn send_init(&mut self, now: Instant) -> Option<Vec<u8>> {
        let attempt = self.attempt.as_mut().filter(|a| a.next_at <= now)?;
        attempt.next_at = now + (RETRY * (1 << self.sent.min(8))).min(MAX_RETRY);
        attempt.takes_cookie = true;
        self.sent = self.sent.saturating_add(1);
        let mut init = attempt.message.clone();
        init.extend(attempt.mac1);
        let shown = match self.cookie {
            Some((cookie, until)) if now < until => mac2(&cookie, &init),
            _ => [0; 16],
        };
        init.extend(shown);
        Some(init)
    }

    /// A datagram has come; a packet is opened in its place.
    ///
    /// # Errors
    /// [`Refused`]: nothing has changed.
    pub fn receive(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Input, Refused> {
        let header = match message::parse(datagram)? {
            Message::Data(header) => header,
            Message::Response(response) => return self.on_response(now, &response),
            Message::Cookie(reply) => {
                let attempt = self.attempt.as_mut().filter(|a| a.id == reply.receiver);
                let attempt = attempt.ok_or(Refused::UnknownSession)?;
                if !attempt.takes_cookie {
                    return Err(Refused::Replayed);
                }
                let cookie = self.keys.read(&reply, &attempt.mac1);
                self.cookie = Some((cookie.ok_or(Refused::Forged)?, now + COOKIE_TIME));
                attempt.takes_cookie = false;
                attempt.next_at = now;
                return Ok(Input::Cookie);
            }
            Message::Mismatch => return Ok(Input::Mismatch),
            Message::Init(_) => return Err(Refused::Malformed),
        };
        if let Some(session) = self.current.as_mut().filter(|s| s.id() == header.receiver) {
            let range = session.open(now, header, datagram)?;
            self.confirm = None;
            if self.attempt.as_ref().is_some_and(|a| a.is_for_silence) {
                self.attempt = None;
                self.sent = 0;
            }
            return Ok(Input::Data(range));
        }
        match &mut self.previous {
            Some((session, until)) if session.id() == header.receiver => match now < *until {
                true => session.open(now, header, datagram).map(Input::Data),
                false => Err(Refused::Expired),
            },
            _ => Err(Refused::UnknownSession),
        }
    }

    fn on_response(&mut self, now: Instant, response: &Response<'_>) -> Result<Input, Refused> {
        let attempt = self.attempt.as_ref().filter(|a| a.id == response.receiver);
        let attempt = attempt.ok_or(Refused::UnknownSession)?;
        let Local {
            key,
            shared,
            algorithms,
            limits,
            ..
        } = &*self.local;
        let (payload, agreed) = read_response(
            &attempt.sent,
            key,
            shared,
            response.ephemeral,
            response.payload,
        )
        .ok_or(Refused::Forged)?;
        let choice = Choice::parse(&payload).filter(|choice| choice.sender == response.sender);
        let choice = choice.ok_or(Refused::Forged)?;
        let algorithm = algorithms
            .accept(choice.algorithm)
            .ok_or(Refused::NoAlgorithm)?;
        let ids = (attempt.id, choice.sender);
        let session = Session::new(now, ids, algorithm, &agreed, false, *limits);
        let session = session.ok_or(Refused::Malformed)?;
        let old = self.current.replace(session);
        self.previous = old.map(|old| (old, now + PREVIOUS_TIME));
        self.attempt = None;
        self.sent = 0;
        self.confirm = Some((now, 0));
        self.established += 1;
        Ok(Input::Established)
    }
}

#[cfg(test)]
impl Initiator {
    /// All that there are.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        let previous = self.previous.as_ref().map(|(session, _)| session);
        self.current.iter().chain(previous)
    }
}

#[cfg(test)]
mod tests;
