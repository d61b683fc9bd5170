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
    /// Reports of the same UEs as before change nothing but when these were seen.
    repeated: BTreeMap<CellId, Repeated>,
}

/// The UEs of a cell's reports, as all of them stand in the directory.
#[derive(Debug)]
struct Repeated {
    ues: Vec<(Rnti, Option<IpAddr>)>,
    /// When they were reported last; to be stated in their entries.
    seen_at: Instant,
}

impl Repeated {
    fn is_of(&self, report: &RadioReport) -> bool {
        self.ues.len() == report.ues.len()
            && self.ues.iter().zip(&report.ues).all(|((rnti, ip), ue)| {
                *rnti == ue.rnti && *ip == ue.ip.map(|ip| ip.to_canonical())
            })
    }
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
        for cell in self.repeated.keys().copied().collect::<Vec<_>>() {
            self.settle(cell);
        }
    }

    /// Which UE has an address.
    pub(crate) fn identity(&self, address: IpAddr) -> Option<Identity> {
        self.entries.get(&address).map(|entry| entry.identity)
    }

    /// Takes the UEs of a report.
    pub(crate) fn on_report(&mut self, now: Instant, report: &RadioReport) -> Changes {
        let cell = report.cell.id;
        if let Some(repeated) = self.repeated.get_mut(&cell).filter(|of| of.is_of(report)) {
            repeated.seen_at = now;
            return Changes::default();
        }
        self.settle(cell);
        let mut changes = Changes::default();
        let mut all_stand_here = true;
        for ue in &report.ues {
            let identity = (cell, ue.rnti);
            let Some(address) = ue.ip.map(|a| a.to_canonical()) else {
                if self.unnamed.len() < MAX_UNNAMED && self.unnamed.insert(identity) {
                    changes.unnamed.push(identity);
                }
                all_stand_here &= self.unnamed.contains(&identity);
                continue;
            };
            if self.entries.len() >= MAX_UES && !self.entries.contains_key(&address) {
                all_stand_here = false;
                continue;
            }
            let entry = Entry {
                identity,
                seen_at: now,
            };
            let before = self.entries.insert(address, entry);
            if before.is_none_or(|before| before.identity != identity) {
                changes.addresses.push(address);
                if let Some(before) = before {
                    self.settle(before.identity.0);
                }
            }
        }
        // two UEs with one address have it in turn
        if all_stand_here && changes.addresses.is_empty() {
            let ues = report.ues.iter();
            let ues = ues.map(|ue| (ue.rnti, ue.ip.map(|ip| ip.to_canonical())));
            let repeated = Repeated {
                ues: ues.collect(),
                seen_at: now,
            };
            self.repeated.insert(cell, repeated);
        }
        changes
    }

    /// States when a cell's UEs were last seen: its next report is looked through.
    fn settle(&mut self, cell: CellId) {
        let Some(Repeated { ues, seen_at }) = self.repeated.remove(&cell) else {
            return;
        };
        for (rnti, address) in ues {
            if let Some(entry) = address.and_then(|address| self.entries.get_mut(&address))
                && entry.identity == (cell, rnti)
            {
                entry.seen_at = entry.seen_at.max(seen_at);
            }
        }
    }

    /// Removes the UEs that no report has named for so long. Gives their addresses.
    pub(crate) fn expire(&mut self, now: Instant, after: Duration) -> Vec<IpAddr> {
        for cell in self.repeated.keys().copied().collect::<Vec<_>>() {
            self.settle(cell);
        }
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

    #[test]
    fn reports_of_the_same_ues_are_seen_and_one_that_has_gone_elsewhere_comes_back() {
        let t = |ms| Instant::ZERO + Duration::from_millis(ms);
        let second = Duration::from_secs(1);
        let one: IpAddr = [10, 0, 0, 1].into();
        let mut directory = Directory::default();
        let here = report(&[1, 2], t(0));
        let mut there = report(&[1], t(0));
        there.cell.id = CellId(2);
        for ms in 0..1_500 {
            directory.on_report(t(ms), &here);
        }
        assert_eq!(directory.expire(t(2_000), second), Vec::<IpAddr>::new());
        for ms in 2_000..2_010 {
            directory.on_report(t(ms), &here);
        }
        assert_eq!(directory.on_report(t(2_010), &there).addresses, [one]);
        assert_eq!(directory.on_report(t(2_011), &here).addresses, [one]);
        assert_eq!(directory.on_report(t(2_012), &here), Changes::default());
        assert_eq!(directory.identity(one), Some((CellId(1), Rnti(1))));
        // the other UE was seen all the time, until 2,012 ms
        assert_eq!(directory.expire(t(3_012), second), Vec::<IpAddr>::new());
        assert_eq!(directory.expire(t(3_013), second).len(), 2);
        assert_eq!(directory.on_report(t(3_014), &here).addresses.len(), 2);
    }

    #[test]
    fn two_ues_with_one_address_have_it_in_turn_with_each_report() {
        let mut directory = Directory::default();
        let mut twice = report(&[1, 2], Instant::ZERO);
        twice.ues[1].ip = twice.ues[0].ip;
        for _ in 0..3 {
            assert_eq!(
                directory.on_report(Instant::ZERO, &twice).addresses.len(),
                2
            );
        }
    }
}
