//! Which tunnel upwards is of which tunnel downwards.
//!
//! The two have different endpoint identifiers, which only the control plane (F1AP) brings together. What passes shows it
//! too: a status states PDCP numbers that were sent down. A tunnel downwards of which a status states a number that was never
//! sent, or one below the last, is not the status's. Two statuses that only one tunnel could have pair it; where several
//! could, so do two that state the highest number of one and of no other, each after something new was sent.

use crate::bearer::{Bearer, StatusError};
use crate::monitor::Tunnel;
use std::collections::BTreeMap;

/// So many statuses have to fit.
const AGREEMENT: u32 = 2;

/// A tunnel downwards that a tunnel upwards may belong to.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    /// COUNT of its last status.
    last: u64,
    /// Statuses that could be its.
    fitting: u32,
    /// Statuses that stated its highest number, each after something new was sent.
    highest: u32,
    sent_then: u64,
    is_excluded: bool,
}

/// A tunnel upwards of which it is not known yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    candidates: BTreeMap<Tunnel, Candidate>,
}

impl Pairing {
    /// A status states this number; `bearers` are those that it may be of. The one whose it is, once that is known.
    pub(crate) fn on_status<'a>(
        &mut self,
        sn: u32,
        bearers: impl Iterator<Item = (Tunnel, &'a Bearer)>,
    ) -> Option<Tunnel> {
        let mut present = Vec::new();
        for (tunnel, bearer) in bearers {
            self.candidates.entry(tunnel).or_default().judge(sn, bearer);
            present.push(tunnel);
        }
        self.candidates.retain(|tunnel, _| present.contains(tunnel));
        if self.candidates.values().all(|of| of.is_excluded) {
            // none of them, or one that has begun anew
            self.candidates.clear();
            return None;
        }
        let left = || self.candidates.iter().filter(|(_, of)| !of.is_excluded);
        let mut fitting = left();
        if let (Some((tunnel, of)), None) = (fitting.next(), fitting.next()) {
            return (of.fitting >= AGREEMENT).then_some(*tunnel);
        }
        let mut highest = left().filter(|(_, of)| of.highest > 0);
        match (highest.next(), highest.next()) {
            (Some((tunnel, of)), None) if of.highest >= AGREEMENT => Some(*tunnel),
            _ => None,
        }
    }
}

impl Candidate {
    fn judge(&mut self, sn: u32, bearer: &Bearer) {
        if self.is_excluded {
            return;
        }
        match bearer.count_of(sn) {
            Ok(count) if count >= self.last && bearer.sent().is_some_and(|sent| count < sent) => {
                self.last = count;
                self.fitting += 1;
            }
            Ok(_) | Err(StatusError::Unsent | StatusError::Backward) => {
                self.is_excluded = true;
                return;
            }
        }
        let sent = bearer.sent().unwrap_or(0);
        if bearer.is_highest(sn) && sent > self.sent_then {
            self.highest += 1;
            self.sent_then = sent;
        }
    }
}
