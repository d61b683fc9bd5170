//! A source's messages one after the other: their order, period and numbers.

use super::{CellProfile, Problem};
use crate::Rnti;
use crate::order::{Arrival, Order, RESTART_AFTER};
use std::collections::BTreeMap;
use units::{Duration, Slot};

/// The longest time that one report is taken to cover; a longer gap is a silence, not a period.
const MAX_PERIOD: Duration = Duration::from_secs(10);

/// The order of messages and the numbers of each UE's reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    order: Order,
    seq: BTreeMap<Rnti, u64>,
    last_slot: Option<u64>,
}

/// A message to use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// What it covers.
    pub(super) period: Duration,
    /// Whether counters of before are no more.
    pub(super) begins: bool,
    /// The slot at its end.
    pub(super) slot: Slot,
}

impl Series {
    /// Places a message of this time of the source's clock; none if it is not to be used.
    pub(super) fn turn(
        &mut self,
        time_ns: u64,
        profile: &CellProfile,
        problems: &mut Vec<Problem>,
    ) -> Option<Turn> {
        let (period, begins) = match self.order.on_message(time_ns) {
            Arrival::First => (profile.period, true),
            Arrival::Next(gap) if gap > MAX_PERIOD => (profile.period, true),
            Arrival::Next(gap) => (gap, false),
            Arrival::Restarted => {
                problems.push(Problem::Restarted);
                (profile.period, true)
            }
            Arrival::Repeated => {
                problems.push(Problem::Repeated);
                return None;
            }
            Arrival::Late => {
                problems.push(Problem::Late);
                return None;
            }
        };
        Some(Turn {
            period,
            begins,
            slot: self.slot(time_ns, profile),
        })
    }

    /// The slot of this time of the source's clock. Messages in one slot, and after a small jump
    /// back, get the next ones, so that no two reports are of the same.
    fn slot(&mut self, time_ns: u64, profile: &CellProfile) -> Slot {
        let slot_ns = profile.slot_duration.as_nanos().max(1);
        let slot = time_ns / slot_ns;
        let slot = match self.last_slot {
            Some(last) if slot > last || last - slot >= RESTART_AFTER.as_nanos() / slot_ns => slot,
            Some(last) => last.saturating_add(1),
            None => slot,
        };
        self.last_slot = Some(slot);
        Slot::new(slot)
    }

    /// The number of a UE's next report.
    pub(super) fn next_seq(&mut self, rnti: Rnti) -> u64 {
        let seq = self.seq.entry(rnti).or_insert(0);
        let number = *seq;
        *seq += 1;
        number
    }

    /// Forgets the numbers of UEs that are gone.
    pub(super) fn keep(&mut self, present: impl Fn(Rnti) -> bool) {
        self.seq.retain(|rnti, _| present(*rnti));
    }
}

/// Nanoseconds since 1970 of a time like `2020-07-01T13:00:22.218`; none if it is none.
pub(super) fn parse_date_time(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches('Z');
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<u64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let mut time = time.splitn(3, ':');
    let hour: u64 = time.next()?.parse().ok()?;
    let minute: u64 = time.next()?.parse().ok()?;
    let second: f64 = time.next()?.parse().ok()?;
    // 2^64 ns end in July of 2554
    let in_range = (1970..2554).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && (0.0..61.0).contains(&second);
    if !in_range {
        return None;
    }
    let days = days_since_1970(year, month, day);
    let whole = ((days * 24 + hour) * 60 + minute) * 60;
    Some(whole * 1_000_000_000 + (second * 1e9).round() as u64)
}

/// Days from 1970-01-01 of a date of the Gregorian calendar.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    // the year begins in March, so that a leap day is its last
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let before_year = year * 365 + year / 4 - year / 100 + year / 400;
    before_year + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_are_nanoseconds_since_1970() {
        assert_eq!(parse_date_time("1970-01-01T00:00:00"), Some(0));
        assert_eq!(
            parse_date_time("2020-07-01T13:00:22.218"),
            Some(1_593_608_422_218_000_000)
        );
        assert_eq!(
            parse_date_time("2024-02-29 23:59:59Z"),
            Some(1_709_251_199_000_000_000)
        );
        for bad in [
            "",
            "T",
            "2020-13-01T00:00:00",
            "2020-07-01",
            "x-y-zT1:2:3",
            "2020-07-01T1:2:NaN",
            "2554-07-01T00:00:00",
        ] {
            assert_eq!(parse_date_time(bad), None, "{bad}");
        }
    }
}
