//! What comes in by a client's paths.

use super::{Client, LivePath, LivePaths};
use crate::link::{Way, read_packet, receive_datagrams};
use crate::sealing::{Refusals, is_mismatch, open_frame};
use multipath::client::ClientPathId;
use secrecy::Input;
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
        match way {
            Way::Udp { socket, .. } => {
                let incoming = &mut self.incoming;
                let result = receive_datagrams(&socket, &mut self.arena, incoming, |_, _, data| {
                    Some((0, open(now, path, refusals, data)?))
                });
                for got in incoming.drain(..) {
                    let got = got.arrived;
                    core.receive(now, id, &got.packet, got.payload, got.ecn);
                }
                self.unreadable += result?;
                Ok(false)
            }
            Way::Tcp(stream) => {
                stream.borrow().check()?;
                let unreadable = &mut self.unreadable;
                stream.borrow_mut().read(&mut self.arena, |frame| {
                    let packet = match path.secrecy.is_some() || is_mismatch(&frame) {
                        true => open_frame(&frame, |data| open(now, path, refusals, data)),
                        false => Some(frame),
                    };
                    let Some(packet) = packet else { return };
                    match read_packet(&packet, Ecn::NotEct) {
                        Some(got) => core.receive(now, id, &got.packet, got.payload, got.ecn),
                        None => *unreadable += 1,
                    }
                })
            }
        }
    }
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
