//! Init Cookies (RFC 4340 section 8.1.4): handshakes of which nothing is kept until the client has shown its address.
//!
//! ```text
//!   client                                  server, with many handshakes in progress
//!   Request                              ->  nothing is kept
//!                                        <-  Response, Init Cookie(time, Request, HMAC)
//!   Ack, Init Cookie                     ->  the same connection is made again from the cookie, and the Ack taken
//! ```
//!
//! The HMAC is over the time, the Request and the six fields of its flow, under a key of this process; the seed of the
//! connection comes from it, so that the Response and the connection that is made later are one. A cookie counts for ten
//! seconds, and once.
//!
//! An answer is no longer than its question: a Response with a cookie is longer than a usual Request, so that one is
//! dropped, and a client makes the Requests that it repeats longer ([`filler`]).

use super::{ConnectionKey, FlowKey, Server};
use crate::auth::filler;
use crate::packet::{DccpOption, FeatureOptionKind, Kind, Packet, decode, encode};
use crate::tunnel::{Refusal, Tunnel};
use crate::{PathId, Payload};
use core::net::IpAddr;
use ring::hmac;
use std::collections::VecDeque;
use subtle::ConstantTimeEq;
use units::{Duration, Ecn, Instant};

/// Bytes of a Reset without options (RFC 4340 5.6).
const RESET_LEN: usize = 28;
/// How long a cookie counts.
const LIFETIME: Duration = Duration::from_secs(10);
/// Bytes of the time, and of the HMAC.
const TIME: usize = 8;
const TAG: usize = 16;
/// Cookies that made a connection, of which each makes no other; what is older is refused for its age, if no more than
/// these came within that.
const SPENT: usize = 256;

/// The state of a server's cookies.
#[derive(Default)]
pub(super) struct Cookies {
    /// Handshakes in progress with which they begin; none: never.
    after: Option<usize>,
    key: Option<hmac::Key>,
    spent: VecDeque<[u8; TAG]>,
}

impl Cookies {
    fn tag(key: &hmac::Key, of: &FlowKey, content: &[u8]) -> [u8; TAG] {
        let mut message = hmac::Context::with_key(key);
        message.update(&of.flow.socket.to_be_bytes());
        match of.flow.remote.ip() {
            IpAddr::V4(v4) => message.update(&v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => message.update(&v6.octets()),
        }
        for port in [of.flow.remote.port(), of.ports.0, of.ports.1] {
            message.update(&port.to_be_bytes());
        }
        message.update(content);
        let mut tag = [0; TAG];
        tag.copy_from_slice(&message.sign().as_ref()[..TAG]);
        tag
    }

    /// The seed of the connection that a cookie is of.
    fn seed(key: &hmac::Key, tag: &[u8; TAG]) -> u64 {
        let mut message = hmac::Context::with_key(key);
        message.update(b"seed");
        message.update(tag);
        let signed = message.sign();
        let first = signed.as_ref().iter().take(8);
        first.fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }
}

fn encoded(packet: &Packet) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    encode(packet, &mut bytes).ok()?;
    Some(bytes)
}

/// Takes this end's own Changes out of a Response: the first packet after the handshake has them.
fn shorten(packet: &mut Packet) {
    if matches!(packet.kind, Kind::Response { .. }) {
        packet.options.list.retain(|option| match option {
            DccpOption::Feature(feature) => matches!(
                feature.kind,
                FeatureOptionKind::ConfirmL | FeatureOptionKind::ConfirmR
            ),
            _ => true,
        });
    }
}

/// To the millisecond, as a cookie has it.
fn rounded(now: Instant) -> (u64, Instant) {
    let millis = now.saturating_since(Instant::ZERO).as_millis();
    (millis, Instant::ZERO + Duration::from_millis(millis))
}

impl<P: Payload> Server<P> {
    /// With so many handshakes in progress or more, others are answered by Init Cookies; and no packet of no connection is
    /// answered by a longer one.
    #[must_use]
    pub fn guarded(mut self, after: usize) -> Self {
        self.cookies.after = Some(after);
        self
    }

    /// Whether a Reset is no longer than what it answers.
    pub(super) fn may_answer(&self, packet: &Packet, payload: usize) -> bool {
        let question = encoded(packet).map_or(0, |bytes| bytes.len() + payload);
        self.cookies.after.is_none() || question >= RESET_LEN
    }

    pub(super) fn needs_cookies(&self) -> bool {
        let after = self.cookies.after;
        after.is_some_and(|after| self.half_open.len() >= after)
    }

    fn cookie_key(&mut self) -> hmac::Key {
        if let Some(key) = &self.cookies.key {
            return key.clone();
        }
        let bytes = [self.provision.seed(), self.provision.seed()].map(u64::to_be_bytes);
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes.as_flattened());
        self.cookies.key = Some(key.clone());
        key
    }

    /// Answers a Request that opens a connection, and keeps nothing of it.
    pub(super) fn answer_with_cookie(&mut self, now: Instant, from: FlowKey, packet: &Packet) {
        let mut request = packet.clone();
        request.options.list.retain(|option| *option != filler());
        let (Some(question), Some(content)) = (encoded(packet), encoded(&request)) else {
            return;
        };
        let (millis, at) = rounded(now);
        let content = [&millis.to_be_bytes()[..], &content].concat();
        let key = self.cookie_key();
        let tag = Cookies::tag(&key, &from, &content);
        let seed = Cookies::seed(&key, &tag);
        let mut tunnel: Tunnel<P> = match self.make_tunnel(at, from, &request, Some(seed)) {
            Ok((tunnel, _)) => tunnel,
            Err(refusal) => {
                self.counters.refused += 1;
                return self.reset(now, from.flow, packet, refusal);
            }
        };
        let Some(mut response) = tunnel.poll_transmit(at).map(|response| response.packet) else {
            return;
        };
        shorten(&mut response);
        let cookie = DccpOption::InitCookie([&content[..], &tag].concat());
        response.options.list.push(cookie);
        match encoded(&response) {
            Some(answer) if answer.len() <= question.len() => {
                self.counters.cookies += 1;
                self.outbox.push_back((from.flow, response));
            }
            _ => self.counters.too_short += 1,
        }
    }

    /// A guarded server's first Response leaves at once, if it is no longer than the Request. False: it is, and nothing is
    /// kept of either.
    pub(super) fn answers_at_once(
        &mut self,
        now: Instant,
        from: FlowKey,
        packet: &Packet,
        tunnel: &mut Tunnel<P>,
    ) -> bool {
        if self.cookies.after.is_none() {
            return true;
        }
        let response = tunnel.poll_transmit(now).map(|response| response.packet);
        let (Some(mut response), Some(question)) = (response, encoded(packet)) else {
            return false;
        };
        shorten(&mut response);
        let fits = encoded(&response).is_some_and(|answer| answer.len() <= question.len());
        match fits {
            true => self.outbox.push_back((from.flow, response)),
            false => self.counters.too_short += 1,
        }
        fits
    }

    /// A guarded server does not repeat its Response for a Request that is shorter than the first one was answered by.
    pub(super) fn may_repeat(&self, key: ConnectionKey, packet: &Packet) -> bool {
        let state = self.connections.get(&key);
        let is_open = state.is_none_or(|state| state.is_established);
        if self.cookies.after.is_none() || is_open || !matches!(packet.kind, Kind::Request { .. }) {
            return true;
        }
        let question = encoded(packet).map_or(0, |question| question.len());
        state.is_some_and(|state| question >= state.request_len)
    }

    /// The length of a Request, as far as a guarded server keeps it.
    pub(super) fn request_len(&self, packet: &Packet) -> usize {
        let guarded = self.cookies.after.and_then(|_| encoded(packet));
        guarded.map_or(0, |request| request.len())
    }

    /// What leaves: of a guarded server, a Response that is repeated is as short as the first.
    pub(super) fn shortened(&self, mut packet: Packet) -> Packet {
        if self.cookies.after.is_some() {
            shorten(&mut packet);
        }
        packet
    }

    /// An Ack with a cookie of this server makes the connection, and is the first packet of it.
    pub(super) fn on_cookie(
        &mut self,
        now: Instant,
        from: FlowKey,
        packet: &Packet,
    ) -> Option<(ConnectionKey, PathId)> {
        let is_ack = matches!(packet.kind, Kind::Ack { .. } | Kind::DataAck { .. });
        let key = self.cookies.key.clone().filter(|_| is_ack)?;
        let cookie = packet.options.list.iter().find_map(|option| match option {
            DccpOption::InitCookie(data) => Some(data.as_slice()),
            _ => None,
        })?;
        let (content, given) = cookie.split_last_chunk::<TAG>()?;
        let tag = Cookies::tag(&key, &from, content);
        if !bool::from(tag.ct_eq(given)) || self.cookies.spent.contains(&tag) {
            return None;
        }
        let (millis, request) = content.split_first_chunk::<TIME>()?;
        let at = Instant::ZERO + Duration::from_millis(u64::from_be_bytes(*millis));
        if now.saturating_since(at) > LIFETIME {
            return None;
        }
        let (request, _) = decode(request).ok()?;
        let seed = Cookies::seed(&key, &tag);
        let (mut tunnel, client) = self.make_tunnel(at, from, &request, Some(seed)).ok()?;
        // the Response has left
        let _ = tunnel.poll_transmit(at);
        let connection = self.insert(from, tunnel, client, 0);
        if let Some(state) = self.connections.get_mut(&connection) {
            state
                .tunnel
                .receive(now, PathId(0), packet, None, Ecn::NotEct);
        }
        self.after(now, connection);
        let state = self.connections.get(&connection);
        if !state.is_some_and(|state| state.is_established) {
            self.remove(connection);
            return None;
        }
        if self.cookies.spent.len() == SPENT {
            self.cookies.spent.pop_front();
        }
        self.cookies.spent.push_back(tag);
        Some((connection, PathId(0)))
    }

    /// No more connections than there may be.
    pub(super) fn has_room(&self) -> Result<(), Refusal> {
        match self.connections.len() < self.config.connections {
            true => Ok(()),
            false => Err(Refusal::TooManyConnections),
        }
    }
}
