//! What a connection brought along from another proxy: read there, or received there and acknowledged, and to be handed
//! on before anything that is read here.

use super::connection::Side;
use super::direction::{End, Means, Moved, TURN};
use crate::registry::UeCounters;
use relocation::Pieces;
use rustix::io::{Errno, Result};
use rustix::net::{SendFlags, send};
use std::os::fd::OwnedFd;

/// Payload that waits in memory, in the direction of each side.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Towards the UE, and towards the server; none where there is nothing, as for most connections.
    waiting: Option<Box<[Pieces; 2]>>,
}

impl Carried {
    /// Towards the UE, and towards the server.
    pub(super) fn new(down: Pieces, up: Pieces) -> Self {
        Self {
            waiting: Some(Box::new([down, up])),
        }
    }

    /// What is left towards a side, if anything ever was.
    pub(super) fn left(&self, towards: Side) -> Option<&Pieces> {
        let both = self.waiting.as_ref()?;
        Some(&both[towards as usize])
    }

    /// Takes what is left towards a side.
    pub(super) fn take(&mut self, towards: Side) -> Pieces {
        let left = self.waiting.as_mut();
        left.map_or_else(Pieces::default, |both| {
            std::mem::take(&mut both[towards as usize])
        })
    }

    /// All that is left, bytes.
    pub(super) fn len(&self) -> usize {
        let all = self.waiting.iter().flat_map(|both| both.iter());
        all.map(Pieces::len).sum()
    }

    /// Hands on what the socket has room for; none if there is nothing to be handed on.
    pub(super) fn pass<P>(
        &mut self,
        means: &Means<'_, P>,
        ue: &UeCounters,
        towards: Side,
        to: &mut End<'_, OwnedFd>,
    ) -> Result<Option<Moved>> {
        let Some(both) = &mut self.waiting else {
            return Ok(None);
        };
        if both.iter().all(Pieces::is_empty) {
            self.waiting = None;
            return Ok(None);
        }
        let left = &mut both[towards as usize];
        if left.is_empty() {
            return Ok(None);
        }
        let mut written = 0;
        while to.ready.can_write && written < TURN && !left.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(to.socket, left.at(0), flags) {
                Ok(n) => {
                    left.give_up(n);
                    written += n;
                }
                Err(Errno::AGAIN) => to.ready.can_write = false,
                // the next turn meets it again
                Err(_) if written > 0 => break,
                Err(error) => return Err(error),
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
