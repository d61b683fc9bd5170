//! Which UE of which cell has which address.

use rnis::{CellId, RadioReport, Rnti};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use units::{Duration, Instant};

/// A UE, as the radio calls it.
pub(super) type Identity = (CellId, Rnti);

#[derive(Clone, Copy, Debug)]
struct Entry {
    identity: Identity,
    seen_at: Instant,
}

/// Addresses and identities.
#[derive(Debug, Default)]
pub(super) struct Directory {
    entries: HashMap<IpAddr, Entry>,
    /// Identities without an address, measured once each.
    nameless: BTreeMap<Identity, Instant>,
}

/// Most entries kept: a report of invented UEs must not fill the memory.
const MAX_UES: usize = 100_000;

impl Directory {
    /// The configuration may give other addresses now.
    pub(super) fn configure(&mut self) {
        self.nameless.clear();
    }

    /// Who has an address.
    pub(super) fn identity(&self, address: IpAddr) -> Option<Identity> {
        self.entries.get(&address).map(|entry| entry.identity)
    }

    /// Learns from a report. Gives the addresses whose UE is new or another than before.
    pub(super) fn learn(&mut self, now: Instant, report: &RadioReport) -> Vec<IpAddr> {
        let mut changed = Vec::new();
        for ue in &report.ues {
            let identity = (report.cell.id, ue.rnti);
            let Some(address) = ue.ip.map(|a| a.to_canonical()) else {
                self.warn_nameless(now, identity);
                continue;
            };
            let entry = Entry {
                identity,
                seen_at: now,
            };
            if self.entries.len() >= MAX_UES && !self.entries.contains_key(&address) {
                continue;
            }
            let before = self.entries.insert(address, entry);
            if before.is_none_or(|before| before.identity != identity) {
                changed.push(address);
            }
        }
        changed
    }

    fn warn_nameless(&mut self, now: Instant, identity: Identity) {
        if self.nameless.len() < 1_000 && self.nameless.insert(identity, now).is_none() {
            let (cell, rnti) = identity;
            tracing::warn!(
                cell = cell.0,
                rnti = rnti.0,
                "a report names a UE without an address: give it in [ues]; its connections are \
                 spliced and nothing more"
            );
        }
    }

    /// Forgets who has not been named for so long. Gives their addresses.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) -> Vec<IpAddr> {
        let gone = |entry: &Entry| now.saturating_since(entry.seen_at) > after;
        let addresses: Vec<IpAddr> = self
            .entries
            .iter()
            .filter(|(_, entry)| gone(entry))
            .map(|(address, _)| *address)
            .collect();
        for address in &addresses {
            self.entries.remove(address);
        }
        addresses
    }

    /// All that are known.
    pub(super) fn iter(&self) -> impl Iterator<Item = (IpAddr, Identity)> {
        self.entries.iter().map(|(ip, entry)| (*ip, entry.identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::test_support::report;

    #[test]
    fn addresses_come_from_reports_and_expire_when_unused() {
        let t = |ms| Instant::ZERO + Duration::from_millis(ms);
        let other: IpAddr = [10, 9, 9, 9].into();
        let mut directory = Directory::default();
        let mut first = report(&[1, 7, 8], t(0));
        first.ues[1].ip = Some(other);
        first.ues[2].ip = None;
        let one: IpAddr = [10, 0, 0, 1].into();
        assert_eq!(directory.learn(t(0), &first), [one, other]);
        assert_eq!(directory.learn(t(1), &first), [] as [IpAddr; 0]);
        assert_eq!(directory.identity(other), Some((CellId(1), Rnti(7))));
        let mut moved = report(&[2], t(2));
        moved.cell.id = CellId(2);
        moved.ues[0].ip = Some(one);
        assert_eq!(directory.learn(t(2), &moved), [one]);
        assert_eq!(directory.identity(one), Some((CellId(2), Rnti(2))));
        let gone = directory.expire(t(1_002), Duration::from_secs(1));
        assert_eq!(gone, [other]);
    }
}
