//! A recording: lines of JSON radio reports and events, given out with the times between them.
//!
//! An event comes with the report before it: it has no time of its own.
//! Reports get the time of now and keep their slots and their order; each cell's are as far apart
//! as its slots give them. When the recording is repeated, slots and numbers go on from where the last lap
//! ended.

use super::Feed;
use crate::Fault;
use report_source::{Line, Lines};
use rnis::codec::{MAX_ENCODED_BYTES, decode_json};
use rnis::event::RadioEvent;
use rnis::intake::MAX_CELLS;
use rnis::{CellId, RadioReport};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio::time::{Instant, sleep_until};
use units::Slot;

/// The longest silence of a recording that is kept; a longer gap is cut to this.
const MAX_GAP: Duration = Duration::from_secs(60);

/// Plays a recording, once or for ever.
pub(super) async fn play(
    path: &Path,
    speed: f64,
    repeat: bool,
    feed: &mut Feed,
) -> Result<(), Fault> {
    let mut player = Player::new(speed, Instant::now());
    feed.up(true);
    loop {
        let played = player.play_lap(path, feed).await?;
        if !repeat {
            return Ok(());
        }
        if played == 0 {
            return Err("the recording has no report".into());
        }
        player.turn();
    }
}

/// When each report of a recording of any bytes is due, after the first, if it is played so often at a speed of
/// more than 0.
pub fn recording_times(bytes: &[u8], laps: u32, speed: f64) -> Vec<Duration> {
    let start = Instant::now();
    let mut player = Player::new(speed, start);
    let mut times = Vec::new();
    for _ in 0..laps {
        for line in bytes.split(|&byte| byte == b'\n') {
            if let Played::Report(_) = player.on_line(line) {
                times.push(player.due - start);
            }
        }
        player.turn();
    }
    times
}

/// What a line of a recording is.
enum Played {
    /// A report, as it is given out when it is due.
    Report(RadioReport),
    /// An event, which comes with the report before it.
    Event,
    /// Nothing.
    Blank,
    /// Not used, for this reason.
    Refused(String),
}

struct Player {
    speed: f64,
    cells: BTreeMap<CellId, Track>,
    /// When the last report was due.
    due: Instant,
}

impl Player {
    fn new(speed: f64, start: Instant) -> Self {
        Self {
            speed,
            cells: BTreeMap::new(),
            due: start,
        }
    }

    /// The recording begins again.
    fn turn(&mut self) {
        self.cells.values_mut().for_each(Track::turn);
    }

    /// Reads a line; if it is a report, the player's time becomes when that is due.
    fn on_line(&mut self, line: &[u8]) -> Played {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Played::Blank;
        }
        let report = match decode_json(line) {
            Ok(report) => report,
            Err(_) if RadioEvent::is_meant(line) => return Played::Event,
            Err(error) => return Played::Refused(error.to_string()),
        };
        let id = report.cell.id;
        if !self.cells.contains_key(&id) && self.cells.len() >= MAX_CELLS {
            return Played::Refused("a recording of too many cells".to_owned());
        }
        let track = self.cells.entry(id).or_default();
        let report = track.shift(report);
        // in the order of the file, whatever the cells' slots are
        self.due = self.due.max(track.due(&report, self.due, self.speed));
        Played::Report(report)
    }

    async fn play_lap(&mut self, path: &Path, feed: &mut Feed) -> Result<u64, Fault> {
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = File::open(path).await.map_err(named)?;
        let mut lines = Lines::new(file, MAX_ENCODED_BYTES);
        let mut played = 0;
        loop {
            let line = match lines.next().await.map_err(named)? {
                Line::End => return Ok(played),
                Line::TooLong => {
                    feed.refuse(&"a line longer than any report");
                    continue;
                }
                Line::Text(line) => line,
            };
            match self.on_line(&line) {
                Played::Blank => {}
                Played::Event => {
                    feed.take(&line);
                }
                Played::Refused(why) => feed.refuse(&why),
                Played::Report(report) => {
                    sleep_until(self.due).await;
                    played += 1;
                    feed.received += 1;
                    feed.report(report);
                }
            }
        }
    }
}

/// Where one cell's reports stand.
#[derive(Default)]
struct Track {
    /// What this lap adds to slots and numbers.
    slots: u64,
    numbers: u64,
    /// Slot and lowest number with which the recording begins.
    first: Option<(u64, u64)>,
    /// The last slot and number so far, and the slots of one report.
    last_slot: u64,
    last_number: u64,
    step: u64,
    /// The last report's time, in nanoseconds of the cell's slots, and when it was due.
    before: Option<(u64, Instant)>,
}

impl Track {
    /// The next lap begins one report after the end of this one.
    fn turn(&mut self) {
        let (slot, number) = self.first.unwrap_or_default();
        self.slots = (self.last_slot.saturating_add(self.step.max(1))).saturating_sub(slot);
        self.numbers = (self.last_number.saturating_add(1)).saturating_sub(number);
    }

    fn shift(&mut self, mut report: RadioReport) -> RadioReport {
        let number = report.ues.iter().map(|ue| ue.seq).min().unwrap_or(0);
        self.first.get_or_insert((report.cell.slot.get(), number));
        report.cell.slot = Slot::new(report.cell.slot.get().saturating_add(self.slots));
        self.last_slot = self.last_slot.max(report.cell.slot.get());
        self.step = report.cell.slots.into();
        for ue in &mut report.ues {
            ue.seq = ue.seq.saturating_add(self.numbers);
            self.last_number = self.last_number.max(ue.seq);
        }
        report
    }

    /// When a report is due; the first of a cell is at once.
    fn due(&mut self, report: &RadioReport, now: Instant, speed: f64) -> Instant {
        let cell = &report.cell;
        let time = cell
            .slot
            .get()
            .saturating_mul(cell.slot_duration.as_nanos());
        let due = self.before.map_or(now, |(before, due)| {
            let gap = Duration::from_nanos(time.saturating_sub(before));
            due + gap.min(MAX_GAP).div_f64(speed)
        });
        // a cell that was silent for longer than any gap does not make up for it
        let due = due.max(now);
        self.before = Some((time, due));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of a cell that ends with a slot of 1 ms.
    fn report(cell: u32, slot: u64) -> RadioReport {
        let text = format!(
            r#"{{"cell":{{"id":{cell},"n_prb":50,"scs":15000,"slot_duration":1000000,"downlink_share":1.0,"slot":{slot},"slots":10,"prb_background":0}},"ues":[]}}"#
        );
        decode_json(text.as_bytes()).expect("a report")
    }

    #[test]
    fn a_cells_reports_are_as_far_apart_as_its_slots() {
        let start = Instant::now();
        let mut track = Track::default();
        let mut due = |slot, now| track.due(&report(1, slot), now, 2.0);
        let ms = Duration::from_millis;
        assert_eq!(due(1_000, start), start);
        assert_eq!(due(1_010, start), start + ms(5));
        assert_eq!(due(1_010, start + ms(5)), start + ms(5), "again");
        assert_eq!(due(20, start + ms(5)), start + ms(5), "a jump back");
        assert_eq!(due(30, start + ms(5)), start + ms(10));
        let late = start + ms(40_000);
        assert_eq!(due(40, late), late, "the time is over already");
        assert_eq!(due(1_000_040, late), late + MAX_GAP / 2, "cut");
    }

    #[test]
    fn cells_with_slots_of_their_own_do_not_delay_each_other() {
        let mut player = Player::new(1.0, Instant::now());
        let start = player.due;
        for round in 0..10 {
            for (cell, begin) in [(1, 5), (2, 9_000_000)] {
                let report = report(cell, begin + 10 * round);
                let track = player.cells.entry(report.cell.id).or_default();
                player.due = player.due.max(track.due(&report, player.due, 1.0));
            }
        }
        assert_eq!(player.due - start, Duration::from_millis(90));
        // laps go on one report later, each cell for itself
        for (cell, begin) in [(1, 5), (2, 9_000_000)] {
            let track = player.cells.get_mut(&CellId(cell)).expect("known");
            track.shift(report(cell, begin));
            track.shift(report(cell, begin + 10));
            track.turn();
            let next = track.shift(report(cell, begin)).cell.slot;
            assert_eq!(next, Slot::new(begin + 20));
        }
    }
}
