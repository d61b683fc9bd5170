//! Datagrams of the server: opened, sealed, and which link they are of.
//!
//! Without encryption the flow of a path is the socket and the client's address. With it, it is the link, as which the
//! number of a socket is taken, and the address: whose keys open a packet decides whose path it can be of.

use super::Server;
use crate::inner::Inner;
use crate::link::{Arrived, Link, Way, receive_datagrams};
use crate::output::Output;
use crate::poller::{Poller, Token};
use crate::sealing::{Refusals, is_init, is_plain_request, mismatch_answer};
use crate::udp::UdpSocket;
use daemon::clock::now as monotonic_now;
use keys::System;
use multipath::PathId;
use multipath::packet::{Form, Packet};
use multipath::server::{self, Flow, ServerTransmit};
use multipath::tunnel::Transmit;
use secrecy::{Channel, LinkId, Refused, Responder};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use units::{Duration, Instant};

/// A link that carries no path is forgotten after so long without a packet.
const UNUSED_LINK: Duration = Duration::from_secs(30);

/// Opens datagrams of a server, whatever they come by.
pub(super) struct Opener<'a> {
    pub(super) now: Instant,
    pub(super) secrecy: &'a mut Option<Responder>,
    pub(super) refusals: &'a mut Refusals,
}

/// What a datagram was.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// Of which link it carries a packet, and where that stands.
    pub(super) packet: Option<(u32, Range<usize>)>,
    /// What is answered.
    pub(super) answer: Option<Vec<u8>>,
}

impl Opener<'_> {
    /// None: it was refused.
    pub(super) fn open(
        &mut self,
        channel: Channel,
        from: SocketAddr,
        data: &mut [u8],
    ) -> Option<Opened> {
        let Some(secrecy) = self.secrecy else {
            if !is_init(data) {
                return Some(Opened {
                    packet: Some((0, 0..data.len())),
                    answer: None,
                });
            }
            self.note_mismatch(from, "encrypts, and this end does not");
            return Some(Opened {
                packet: None,
                answer: Some(mismatch_answer()),
            });
        };
        match secrecy.receive(self.now, channel, from, data, &mut System) {
            Ok(received) => Some(Opened {
                packet: received.data.map(|(link, range)| (link.0, range)),
                answer: received.answer,
            }),
            Err(refused) => {
                tracing::debug!(%from, %refused, "a datagram");
                self.refusals.count(refused);
                if refused == Refused::Version && data.len() == secrecy::message::INIT_LEN {
                    if self.refusals.note_version() {
                        tracing::warn!(%from, "a client speaks another version of the encrypted tunnel; it is refused");
                    }
                    return Some(Opened {
                        packet: None,
                        answer: Some(mismatch_answer()),
                    });
                }
                if !is_plain_request(data) {
                    return None;
                }
                self.note_mismatch(from, "does not encrypt, and this end does");
                Some(Opened {
                    packet: None,
                    answer: Some(mismatch_answer()),
                })
            }
        }
    }

    fn note_mismatch(&mut self, from: SocketAddr, what: &str) {
        if self.refusals.note_mismatch() {
            tracing::warn!(%from, "a client {what}: encryption must be the same at both ends; it is refused");
        }
    }
}

impl Server {
    pub(super) fn on_datagrams(&mut self, now: Instant, token: Token, socket: &Arc<UdpSocket>) {
        let mut opener = Opener {
            now,
            secrecy: &mut self.secrecy,
            refusals: &mut self.refusals,
        };
        let (incoming, arena) = (&mut self.incoming, &mut self.arena);
        let output = &self.output;
        let is_sealed = opener.secrecy.is_some();
        let result = receive_datagrams(socket, is_sealed, arena, incoming, |from, to, data| {
            let opened = opener.open(Channel::Datagrams, from, data)?;
            if let Some(answer) = opened.answer {
                let mut link = link(output, socket, from, to);
                link.push_bytes(&answer);
                link.flush();
            }
            opened.packet
        });
        match result {
            Ok(unreadable) => self.unreadable += unreadable,
            // what ICMP reports of one peer is no fault of the socket
            Err(error) => tracing::debug!(%error, "receiving"),
        }
        // all has come by now: a round trip is not measured too short
        let now = monotonic_now();
        let mut incoming = std::mem::take(&mut self.incoming);
        for got in incoming.drain(..) {
            let flow = Flow {
                socket: if self.secrecy.is_some() {
                    got.link
                } else {
                    token.0 as u32
                },
                remote: got.from,
            };
            let Arrived {
                packet,
                payload,
                ecn,
            } = got.arrived;
            let Some(packet) = expand(&self.core, flow, packet) else {
                self.unreadable += 1;
                continue;
            };
            self.core.arrived_at(got.to);
            let known = self.core.receive(now, flow, &packet, payload, ecn);
            if known.is_some() {
                self.links
                    .entry(flow)
                    .or_insert_with(|| link(&self.output, socket, flow.remote, got.to));
                continue;
            }
            // an answer to an unknown peer goes out from the address that was addressed, and nothing is kept of it
            while let Some(out) = self.core.poll_answer() {
                let mut link = link(&self.output, socket, flow.remote, got.to);
                push(&mut self.secrecy, now, &mut link, out);
                link.flush();
            }
        }
        self.incoming = incoming;
    }

    /// What answers packets of no connection leaves at once.
    pub(super) fn send_answers(&mut self, now: Instant) {
        while let Some(out) = self.core.poll_answer() {
            if let Some(link) = self.links.get_mut(&out.flow) {
                push(&mut self.secrecy, now, link, out);
                link.flush();
            }
        }
    }

    pub(super) fn push(&mut self, now: Instant, out: ServerTransmit<Inner>) {
        // a flow whose socket is gone loses what it sends
        let flow = out.flow;
        if let Some(link) = self.links.get_mut(&flow) {
            push(&mut self.secrecy, now, link, out);
            self.mark_busy(flow);
        }
    }

    pub(super) fn mark_busy(&mut self, flow: Flow) {
        if let Some(link) = self.links.get_mut(&flow)
            && !link.is_busy
        {
            link.is_busy = true;
            self.busy.push(flow);
        }
    }

    /// Flushes the links that packets were pushed to: idle ones cost nothing.
    pub(super) fn flush(&mut self, poller: &Poller) {
        for flow in self.busy.drain(..) {
            let Some(link) = self.links.get_mut(&flow) else {
                continue;
            };
            link.is_busy = false;
            link.flush();
            if let Way::Tcp(stream) = &link.way {
                let mut stream = stream.borrow_mut();
                let waits = stream.is_waiting();
                let token = Token(u64::from(flow.socket));
                if waits != stream.is_watched && poller.change(&*stream, token, waits).is_ok() {
                    stream.is_watched = waits;
                }
            }
        }
        if self.output.take_faults() {
            let refused = self.links.iter().filter(|(_, link)| link.take_too_big());
            self.narrow.extend(refused.map(|(flow, _)| *flow));
        }
    }

    /// Handshakes that are over, and links that carry no path.
    pub(super) fn forget_links(&mut self, now: Instant) {
        let Some(secrecy) = &mut self.secrecy else {
            return;
        };
        secrecy.expire(now);
        let unused = |link: &LinkId| {
            let silent = secrecy.heard_at(*link).map(|at| now.saturating_since(at));
            silent.is_some_and(|silent| silent >= UNUSED_LINK)
        };
        let silent: Vec<LinkId> = secrecy.links().filter(unused).collect();
        for link in silent {
            let mut flows = self.links.keys().filter(|flow| flow.socket == link.0);
            if !flows.any(|flow| self.core.path_of(*flow).is_some()) {
                secrecy.remove(link);
            }
        }
    }
}

/// The packet that came from there; none if it is compact and of no path.
pub(super) fn expand(core: &server::Server<Inner>, flow: Flow, form: Form) -> Option<Packet> {
    match form {
        Form::Whole(packet) => Some(packet),
        Form::Compact(compact) => core.expand(flow, compact),
    }
}

/// A packet goes to a link, sealed by the keys that its flow has; without any it is lost.
fn push(
    secrecy: &mut Option<Responder>,
    now: Instant,
    link: &mut Link,
    out: ServerTransmit<Inner>,
) {
    let number = LinkId(out.flow.socket);
    let out = transmit(out);
    match secrecy {
        None => link.push(out, None),
        Some(secrecy) => match secrecy.session(number) {
            Some(session) => link.push(out, Some((session, now))),
            None => tracing::debug!(link = number.0, "a packet without keys"),
        },
    }
}

/// As a link takes it, which is of one path.
fn transmit(out: ServerTransmit<Inner>) -> Transmit<Inner> {
    Transmit {
        path: PathId(0),
        packet: out.packet,
        payload: out.payload,
        size: out.size,
        ecn: out.ecn,
    }
}

fn link(output: &Output, socket: &Arc<UdpSocket>, remote: SocketAddr, to: Option<IpAddr>) -> Link {
    let way = Way::Udp {
        socket: Arc::clone(socket),
        to: Some(remote),
        from: to,
    };
    Link::new(way, output)
}
