//! The server's state machine of all clients.
//!
//! ```text
//!   Init -> is it for this server (mac1)? -> under load: does it show its cookie? -> is its key a client's?
//!        -> half-open: a session whose keys have opened nothing yet, and the Response
//!   Data of a half-open session that verifies -> the session is current for its link; the one before opens
//!                                                what comes late, for PREVIOUS_TIME
//! ```
//!
//! - A **link** is a path of a client, with the sessions that it has one after the other: an Init names the session that
//!   it replaces, under encryption.
//! - Nothing is kept for who has no client's key; for an observer that repeats a client's Inits, no more than
//!   [`MAX_HALF_OPEN`] of that client at a time, of which the oldest of the address with the most gives way. An Init
//!   that comes twice is answered by the same Response; one whose session was current is refused.
//! - **Load** is more handshakes than [`BURST`] at once and one each [`INTERVAL`], or a client with half of what it may
//!   have half-open. Then an Init must show the cookie of its address, and of those that do no address has more than a
//!   quarter of the last [`RECENT`].

mod clients;
mod half_open;
mod load;

use crate::cookie::{Baker, PublicKeys};
use crate::identity::{PrivateKey, PublicKey, SharedSecret};
use crate::message::{self, Choice, DataHeader, Init, Message, Offer};
use crate::noise::{read_init, write_response};
use crate::session::{Algorithms, Limits, Session};
use crate::{Entropy, Refused, draw_id};
use core::net::SocketAddr;
use core::ops::Range;
use half_open::{HalfOpen, Table};
use load::Load;
use std::collections::{BTreeMap, VecDeque};
use units::{Duration, Instant};

pub use half_open::{HALF_OPEN_TIME, MAX_HALF_OPEN};
pub use load::{BURST, INTERVAL, RECENT};

/// Keys of before open what comes late for so long.
pub const PREVIOUS_TIME: Duration = Duration::from_secs(10);
/// Links of a client at most; of more the one that has been silent for longest is removed.
pub const MAX_LINKS: usize = 64;
/// Ephemeral keys of a client that made the last sessions, which make no other.
const REMEMBERED: usize = 256;

/// A client as the server has it configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its key.
    pub key: PublicKey,
    /// What both have besides.
    pub shared: SharedSecret,
}

/// What a server has before any handshake.
#[derive(Clone, Debug)]
pub struct ResponderConfig {
    /// Its key.
    pub key: PrivateKey,
    /// Its clients.
    pub clients: Vec<Client>,
    /// What it can seal with.
    pub algorithms: Algorithms,
    /// How long keys are used.
    pub limits: Limits,
}

/// What datagrams come by. Sessions of one are none of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// Datagrams, from any address.
    Datagrams,
    /// A byte stream with one peer, whose address is proven.
    Stream(u32),
}

/// A path of a client, whatever its keys and address. That of a stream has the stream's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// What a datagram was, and what is to be answered at once, by the way that it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The answer.
    pub answer: Option<Vec<u8>>,
    /// A packet: of which link, and where it stands. An empty one is for nobody.
    pub data: Option<(LinkId, Range<usize>)>,
    /// New keys are used from now on.
    pub is_new: bool,
}

#[derive(Clone)]
struct Link {
    client: usize,
    channel: Channel,
    current: Session,
    /// And until when it opens.
    previous: Option<(Session, Instant)>,
    /// Sessions that it has had, with the present one.
    established: u64,
    /// When a packet came last.
    heard_at: Instant,
}

/// The state machine.
#[derive(Clone)]
pub struct Responder {
    config: ResponderConfig,
    public: PublicKey,
    keys: PublicKeys,
    baker: Baker,
    by_key: BTreeMap<PublicKey, usize>,
    half_open: Table,
    links: BTreeMap<LinkId, Link>,
    by_id: BTreeMap<u32, LinkId>,
    /// By client, the oldest first.
    remembered: Vec<VecDeque<PublicKey>>,
    next_link: u32,
    load: Load,
    cookies: u64,
    established: u64,
}

impl Responder {
    /// Without any session. `secret` is what cookies are made with, `first_link` the number of the first link
    /// of datagrams, above all numbers of streams.
    pub fn new(config: ResponderConfig, secret: &[u8; 32], first_link: LinkId) -> Self {
        let public = config.key.public();
        let clients = config.clients.iter().map(|client| client.key);
        Self {
            keys: PublicKeys::new(public),
            public,
            baker: Baker::new(secret),
            by_key: clients.zip(0..).collect(),
            half_open: Table::default(),
            links: BTreeMap::new(),
            by_id: BTreeMap::new(),
            remembered: vec![VecDeque::new(); config.clients.len()],
            next_link: first_link.0,
            load: Load::default(),
            cookies: 0,
            established: 0,
            config,
        }
    }

    /// Its public key.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// Sessions that were made, and cookies that were sent.
    pub const fn counters(&self) -> (u64, u64) {
        (self.established, self.cookies)
    }

    /// Handshakes that are not over.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// The links there are.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.links.keys().copied()
    }

    /// The client of a link, by its place in the configuration.
    pub fn client(&self, link: LinkId) -> Option<usize> {
        Some(self.links.get(&link)?.client)
    }

    /// What seals packets of a link.
    pub fn session(&mut self, link: LinkId) -> Option<&mut Session> {
        Some(&mut self.links.get_mut(&link)?.current)
    }

    /// What seals packets of a link, to look at.
    pub fn current(&self, link: LinkId) -> Option<&Session> {
        Some(&self.links.get(&link)?.current)
    }

    /// Sessions that a link has had, with the present one; 0 if there is no such link.
    pub fn established_of(&self, link: LinkId) -> u64 {
        self.links.get(&link).map_or(0, |link| link.established)
    }

    /// When a packet of a link came last.
    pub fn heard_at(&self, link: LinkId) -> Option<Instant> {
        Some(self.links.get(&link)?.heard_at)
    }

    /// A link is over, and with it its keys.
    pub fn remove(&mut self, link: LinkId) {
        if self.links.remove(&link).is_some() {
            self.by_id.retain(|_, of| *of != link);
        }
    }

    /// A stream is over, and with it all that came by it.
    pub fn remove_stream(&mut self, stream: u32) {
        let channel = Channel::Stream(stream);
        self.half_open.retain(|entry| entry.channel != channel);
        let over: Vec<LinkId> = self
            .links
            .iter()
            .filter(|(_, link)| link.channel == channel)
            .map(|(id, _)| *id)
            .collect();
        over.into_iter().for_each(|link| self.remove(link));
    }

    /// Removes what is over: handshakes, and keys of before.
    pub fn expire(&mut self, now: Instant) {
        self.half_open.retain(|entry| entry.until > now);
        for link in self.links.values_mut() {
            if let Some((old, until)) = &link.previous
                && *until <= now
            {
                self.by_id.remove(&old.id());
                link.previous = None;
            }
        }
    }

    /// A datagram has come; a packet is opened in its place.
    ///
    /// # Errors
    /// [`Refused`]: nothing that others use has changed.
    pub fn receive(
        &mut self,
        now: Instant,
        channel: Channel,
        from: SocketAddr,
        datagram: &mut [u8],
        entropy: &mut dyn Entropy,
    ) -> Result<Received, Refused> {
        match message::parse(datagram)? {
            Message::Data(header) => self.on_data(now, channel, header, datagram),
            Message::Init(init) => {
                let answer = self.on_init(now, channel, from, &init, entropy)?;
                Ok(Received {
                    answer: Some(answer),
                    ..Received::default()
                })
            }
            _ => Err(Refused::Malformed),
        }
    }

    fn on_data(
        &mut self,
        now: Instant,
        channel: Channel,
        header: DataHeader,
        datagram: &mut [u8],
    ) -> Result<Received, Refused> {
        let Some(&id) = self.by_id.get(&header.receiver) else {
            return self.on_first_data(now, channel, header, datagram);
        };
        let link = self.links.get_mut(&id).filter(|l| l.channel == channel);
        let link = link.ok_or(Refused::UnknownSession)?;
        let range = if link.current.id() == header.receiver {
            link.current.open(now, header, datagram)?
        } else {
            match &mut link.previous {
                Some((old, until)) if old.id() == header.receiver && now < *until => {
                    old.open(now, header, datagram)?
                }
                _ => return Err(Refused::Expired),
            }
        };
        link.heard_at = now;
        Ok(Received {
            data: Some((id, range)),
            ..Received::default()
        })
    }

    /// A packet of a handshake that is not over: if it verifies, it is.
    fn on_first_data(
        &mut self,
        now: Instant,
        channel: Channel,
        header: DataHeader,
        datagram: &mut [u8],
    ) -> Result<Received, Refused> {
        let entry = self.half_open.get_mut(header.receiver);
        let entry = entry.filter(|entry| entry.channel == channel && now < entry.until);
        let entry = entry.ok_or(Refused::UnknownSession)?;
        let range = entry.session.open(now, header, datagram)?;
        let Some(HalfOpen {
            client,
            session,
            replaces,
            ephemeral,
            ..
        }) = self.half_open.take(header.receiver)
        else {
            return Err(Refused::UnknownSession);
        };
        // what was begun for the same Init by another answer is over: a client takes one
        self.half_open.retain(|entry| entry.ephemeral != ephemeral);
        self.remember(client, ephemeral);
        self.established += 1;
        let id = match channel {
            Channel::Stream(stream) => LinkId(stream),
            Channel::Datagrams => {
                let is_same = |link: &Link| link.client == client && link.channel == channel;
                let replaced = self.by_id.get(&replaces).copied();
                let replaced = replaced.filter(|id| self.links.get(id).is_some_and(is_same));
                replaced.unwrap_or(LinkId(self.next_link))
            }
        };
        if self
            .links
            .get(&id)
            .is_some_and(|link| link.client != client)
        {
            // a stream has one client
            return Err(Refused::UnknownSession);
        }
        self.by_id.insert(session.id(), id);
        match self.links.get_mut(&id) {
            Some(link) => {
                link.established += 1;
                let old = core::mem::replace(&mut link.current, session);
                let previous = link.previous.replace((old, now + PREVIOUS_TIME));
                link.heard_at = now;
                if let Some((older, _)) = previous {
                    self.by_id.remove(&older.id());
                }
            }
            None => {
                if channel == Channel::Datagrams {
                    self.next_link = self.next_link.wrapping_add(1);
                }
                self.make_room(client);
                let link = Link {
                    client,
                    channel,
                    current: session,
                    previous: None,
                    established: 1,
                    heard_at: now,
                };
                self.links.insert(id, link);
            }
        }
        let current = self.links.get_mut(&id).map(|link| &mut link.current);
        Ok(Received {
            // which confirms the keys to the client
            answer: current.and_then(|session| session.seal_empty(now).ok()),
            data: Some((id, range)),
            is_new: true,
        })
    }

    fn remember(&mut self, client: usize, ephemeral: PublicKey) {
        if let Some(remembered) = self.remembered.get_mut(client) {
            if remembered.len() == REMEMBERED {
                remembered.pop_front();
            }
            remembered.push_back(ephemeral);
        }
    }

    /// One more link of a client that has as many as it may: its longest silent one is removed.
    fn make_room(&mut self, client: usize) {
        let own = || self.links.iter().filter(|(_, link)| link.client == client);
        if own().count() < MAX_LINKS {
            return;
        }
        let silent = own().min_by_key(|(_, link)| link.heard_at);
        if let Some(id) = silent.map(|(id, _)| *id) {
            self.remove(id);
        }
    }

    fn on_init(
        &mut self,
        now: Instant,
        channel: Channel,
        from: SocketAddr,
        init: &Init<'_>,
        entropy: &mut dyn Entropy,
    ) -> Result<Vec<u8>, Refused> {
        if !self.keys.is_for_server(init) {
            return Err(Refused::Forged);
        }
        self.expire(now);
        if let Some(known) = self.half_open.of_init(init.ephemeral, init.before_mac1) {
            return match known.channel == channel {
                true => Ok(known.response.clone()),
                false => Err(Refused::Replayed),
            };
        }
        let is_stream = matches!(channel, Channel::Stream(_));
        let is_loaded = !self.load.take(now) || self.half_open.is_crowded();
        if is_loaded {
            if !is_stream && !self.baker.is_shown(now, from, init) {
                self.cookies += 1;
                let random = entropy.draw().ok_or(Refused::NoEntropy)?;
                let cookie = self.baker.cookie(now, from);
                return self.keys.reply(init, cookie, random).ok_or(Refused::Busy);
            }
            if !self.load.take_proven(now, from.ip()) {
                return Err(Refused::Busy);
            }
        }
        let read = read_init(
            &self.config.key,
            init.ephemeral,
            init.identity,
            init.payload,
        );
        let read = read.ok_or(Refused::Forged)?;
        let client = self.by_key.get(&read.client).copied();
        let client = client.ok_or(Refused::UnknownClient)?;
        let offer = Offer::parse(&read.payload).ok_or(Refused::Version)?;
        if offer.sender != init.sender {
            return Err(Refused::Forged);
        }
        if self.remembered[client].contains(&init.ephemeral) {
            return Err(Refused::Replayed);
        }
        let algorithm = self.config.algorithms.choose(offer.algorithms);
        let algorithm = algorithm.ok_or(Refused::NoAlgorithm)?;
        let is_used = |id| self.by_id.contains_key(&id) || self.half_open.contains(id);
        let id = draw_id(entropy, is_used)?;
        let ephemeral = PrivateKey::from_bytes(entropy.draw().ok_or(Refused::NoEntropy)?);
        let choice = Choice {
            algorithm: algorithm.code(),
            sender: id,
        };
        let shared = &self.config.clients[client].shared;
        let (public, payload, agreed) =
            write_response(read, shared, &ephemeral, &choice.bytes()).ok_or(Refused::Forged)?;
        let limits = self.config.limits;
        let session = Session::new(now, (id, init.sender), algorithm, &agreed, true, limits);
        let response = message::write_response(id, init.sender, public, &payload);
        self.half_open.insert(HalfOpen {
            client,
            channel,
            from: from.ip().to_canonical(),
            init: init.before_mac1.to_vec(),
            ephemeral: init.ephemeral,
            response: response.clone(),
            session: session.ok_or(Refused::Malformed)?,
            replaces: offer.replaces,
            until: now + HALF_OPEN_TIME,
        });
        Ok(response)
    }
}

#[cfg(test)]
impl Responder {
    /// All that there are, also of handshakes that are not over.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        let links = self.links.values();
        let current = links.flat_map(|link| {
            let previous = link.previous.as_ref().map(|(session, _)| session);
            [Some(&link.current), previous].into_iter().flatten()
        });
        current.chain(self.half_open.sessions())
    }
}

#[cfg(test)]
mod tests;
