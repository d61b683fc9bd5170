//! What a connection brought along from another proxy: read there, or received there and acknowledged, and to be handed
//! on before anything that is read here.

use super::connection::Side;
use super::direction::{End, Means, Moved};
use crate::registry::UeCounters;
use rustix::io::{Errno, Result};
use rustix::net::{SendFlags, send};
use std::os::fd::OwnedFd;

/// Bytes that are handed on in one turn.
const TURN: usize = 1 << 20;

/// Payload that waits in memory, in the direction of each side.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Towards the UE, and towards the server; none where there is nothing, as for most connections.
    waiting: Option<Box<[Waiting; 2]>>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Of these, handed on.
    done: usize,
}

impl Carried {
    /// Towards the UE, and towards the server.
    pub(super) fn new(down: Vec<u8>, up: Vec<u8>) -> Self {
        Self {
            waiting: Some(Box::new([down, up].map(|bytes| Waiting { bytes, done: 0 }))),
        }
    }

    /// What is left towards a side.
    pub(super) fn left(&self, towards: Side) -> &[u8] {
        self.waiting.as_ref().map_or(&[], |waiting| {
            let waiting = &waiting[towards as usize];
            &waiting.bytes[waiting.done..]
        })
    }

    /// All that is left, bytes.
    pub(super) fn len(&self) -> usize {
        self.left(Side::Ran).len() + self.left(Side::Wan).len()
    }

    /// Hands on what the socket has room for; none if there is nothing to be handed on.
    pub(super) fn pass<P>(
        &mut self,
        means: &Means<'_, P>,
        ue: &UeCounters,
        towards: Side,
        to: &mut End<'_, OwnedFd>,
    ) -> Result<Option<Moved>> {
        let left = self.left(towards);
        if left.is_empty() {
            if self.len() == 0 {
                self.waiting = None;
            }
            return Ok(None);
        }
        if !to.ready.can_write {
            return Ok(Some(Moved::default()));
        }
        let most = left.len().min(TURN);
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let written = match send(to.socket, &left[..most], flags) {
            Ok(n) => n,
            Err(Errno::AGAIN) => {
                to.ready.can_write = false;
                0
            }
            Err(error) => return Err(error),
        };
        if let Some(both) = &mut self.waiting {
            let waiting = &mut both[towards as usize];
            waiting.done += written;
            if waiting.done == waiting.bytes.len() {
                *waiting = Waiting::default();
            }
        }
        means.registry.account(ue, written, 0);
        Ok(Some(Moved {
            read: 0,
            written,
            has_more: to.ready.can_write,
        }))
    }
}
