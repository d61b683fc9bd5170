//! What comes in by a client's paths.

use super::{Client, LivePath, LivePaths};
use crate::inner::Inner;
use crate::link::{Arrived, Way, read_form, receive_datagrams};
use crate::sealing::{Refusals, is_mismatch, open_frame};
use daemon::clock::now as monotonic_now;
use multipath::client::ClientPathId;
use multipath::packet::Form;
use secrecy::{Input, Refused};
use std::io;
use std::ops::Range;
use units::{Ecn, Instant};

impl Client {
    /// True if the link's TCP connection has ended.
    pub(super) fn on_readable(&mut self, now: Instant, id: ClientPathId) -> io::Result<bool> {
        let way = |paths: &LivePaths| Some(paths.get(id)?.link.as_ref()?.link.way.clone());
        let Some(way) = way(&self.paths) else {
            return Ok(false);
        };
        let (refusals, core) = (&mut self.refusals, &mut self.core);
        let Some(path) = self.paths.get_mut(id) else {
            return Ok(false);
        };
        let is_sealed = path.secrecy.is_some();
        let unreadable = &mut self.unreadable;
        match way {
            Way::Udp { socket, .. } => {
                let (incoming, arena) = (&mut self.incoming, &mut self.arena);
                let result =
                    receive_datagrams(&socket, is_sealed, arena, incoming, |_, _, data| {
                        Some((0, open(now, path, refusals, data)?))
                    });
                // all has come by now: a round trip is not measured too short
                let now = monotonic_now();
                for got in incoming.drain(..) {
                    *unreadable += u64::from(!take(now, core, id, got.arrived));
                }
                *unreadable += result?;
                Ok(false)
            }
            Way::Tcp(stream) => {
                stream.borrow().check()?;
                stream.borrow_mut().read(&mut self.arena, |frame| {
                    let packet = match is_sealed || is_mismatch(&frame) {
                        true => open_frame(&frame, |data| open(now, path, refusals, data)),
                        false => Some(frame),
                    };
                    let Some(packet) = packet else { return };
                    let got = read_form(&packet, is_sealed, Ecn::NotEct);
                    let is_taken = got.is_some_and(|got| take(now, core, id, got));
                    *unreadable += u64::from(!is_taken);
                })
            }
        }
    }
}

/// Hands a packet to the core. False if it stands for none.
fn take(now: Instant, core: &mut multipath::Client<Inner>, id: ClientPathId, got: Arrived) -> bool {
    let packet = match got.packet {
        Form::Whole(packet) => Some(packet),
        Form::Compact(compact) => core.expand(id, compact),
    };
    if let Some(packet) = &packet {
        core.receive(now, id, packet, got.payload, got.ecn);
    }
    packet.is_some()
}

/// Opens what came; where in it a packet stands, if it carries one.
fn open(
    now: Instant,
    path: &mut LivePath,
    refusals: &mut Refusals,
    data: &mut [u8],
) -> Option<Range<usize>> {
    let Some(secrecy) = &mut path.secrecy else {
        if is_mismatch(data) {
            warn_of_mismatch(
                path,
                refusals,
                "does not take packets that are not encrypted",
            );
            return None;
        }
        return Some(0..data.len());
    };
    match secrecy.receive(now, data) {
        Ok(Input::Data(range)) => Some(range),
        Ok(Input::Established) => {
            tracing::debug!(path = path.config.name, "new keys");
            None
        }
        Ok(Input::Cookie) => None,
        Ok(Input::Mismatch) => {
            warn_of_mismatch(path, refusals, "states that it does not encrypt");
            None
        }
        Err(refused) => {
            tracing::debug!(path = path.config.name, %refused, "a datagram");
            if refused == Refused::Version && refusals.note_version() {
                tracing::warn!(
                    path = path.config.name,
                    "the server speaks another version of the encrypted tunnel: both ends must have the same"
                );
            }
            refusals.count(refused);
            None
        }
    }
}

fn warn_of_mismatch(path: &LivePath, refusals: &mut Refusals, what: &str) {
    if refusals.note_mismatch() {
        tracing::warn!(
            path = path.config.name,
            "the server {what}: encryption must be the same at both ends; nothing is sent otherwise than configured"
        );
    }
}
