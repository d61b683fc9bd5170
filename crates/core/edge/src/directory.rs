//! Which UE of which cell has which address.

use rnis::{CellId, RadioReport, Rnti};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use units::{Duration, Instant};

/// A UE, as the radio calls it.
pub(crate) type Identity = (CellId, Rnti);

/// Entries at most: a report of invented UEs must not fill the memory.
const MAX_UES: usize = 100_000;
/// UEs without an address that are named once each, at most.
const MAX_UNNAMED: usize = 1_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    identity: Identity,
    seen_at: Instant,
}

/// Addresses and identities.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    entries: BTreeMap<IpAddr, Entry>,
    /// Identities without an address that were named already.
    unnamed: BTreeSet<Identity>,
}

/// What a report changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Addresses whose UE is new or another than before.
    pub(crate) addresses: Vec<IpAddr>,
    /// UEs without an address, reported for the first time.
    pub(crate) unnamed: Vec<Identity>,
}

impl Directory {
    /// The configuration may give other addresses now.
    pub(crate) fn configure(&mut self) {
        self.unnamed.clear();
    }

    /// Which UE has an address.
    pub(crate) fn identity(&self, address: IpAddr) -> Option<Identity> {
        self.entries.get(&address).map(|entry| entry.identity)
    }

    /// Takes the UEs of a report.
    pub(crate) fn on_report(&mut self, now: Instant, report: &RadioReport) -> Changes {
        let mut changes = Changes::default();
        for ue in &report.ues {
            let identity = (report.cell.id, ue.rnti);
            let Some(address) = ue.ip.map(|a| a.to_canonical()) else {
                if self.unnamed.len() < MAX_UNNAMED && self.unnamed.insert(identity) {
                    changes.unnamed.push(identity);
                }
                continue;
            };
            if self.entries.len() >= MAX_UES && !self.entries.contains_key(&address) {
                continue;
            }
            let entry = Entry {
                identity,
                seen_at: now,
            };
            let before = self.entries.insert(address, entry);
            if before.is_none_or(|before| before.identity != identity) {
                changes.addresses.push(address);
            }
        }
        changes
    }

    /// Removes the UEs that no report has named for so long. Gives their addresses.
    pub(crate) fn expire(&mut self, now: Instant, after: Duration) -> Vec<IpAddr> {
        let gone = |entry: &Entry| now.saturating_since(entry.seen_at) > after;
        let expired = self.entries.extract_if(.., |_, entry| gone(entry));
        expired.map(|(address, _)| address).collect()
    }

    /// All entries, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (IpAddr, Identity)> {
        self.entries.iter().map(|(ip, entry)| (*ip, entry.identity))
    }

    /// True without entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::report;

    #[test]
    fn addresses_come_from_reports_and_expire_when_unused() {
        let t = |ms| Instant::ZERO + Duration::from_millis(ms);
        let other: IpAddr = [10, 9, 9, 9].into();
        let mut directory = Directory::default();
        let mut first = report(&[1, 7, 8], t(0));
        first.ues[1].ip = Some(other);
        first.ues[2].ip = None;
        let one: IpAddr = [10, 0, 0, 1].into();
        let changes = directory.on_report(t(0), &first);
        assert_eq!(changes.addresses, [one, other]);
        assert_eq!(changes.unnamed, [(CellId(1), Rnti(8))]);
        assert_eq!(directory.on_report(t(1), &first), Changes::default());
        assert_eq!(directory.identity(other), Some((CellId(1), Rnti(7))));
        let mut moved = report(&[2], t(2));
        moved.cell.id = CellId(2);
        moved.ues[0].ip = Some(one);
        assert_eq!(directory.on_report(t(2), &moved).addresses, [one]);
        assert_eq!(directory.identity(one), Some((CellId(2), Rnti(2))));
        let gone = directory.expire(t(1_002), Duration::from_secs(1));
        assert_eq!(gone, [other]);
    }
}
