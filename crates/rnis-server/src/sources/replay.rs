//! A recording: lines of JSON radio reports, given out with the times between them.
//!
//! Reports get the time of now and keep their slots; when the recording is repeated, slots and
//! numbers go on from where the last lap ended.

use super::lines::Line;
use super::{Ended, Feed, Lines};
use rnis::RadioReport;
use rnis::codec::{MAX_ENCODED_BYTES, decode_json};
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio::time::{Instant, sleep_until};
use units::Slot;

/// The longest silence of a recording that is kept; a longer gap is cut to this.
const LONGEST_GAP: Duration = Duration::from_secs(60);

/// Where a lap stands.
#[derive(Default)]
struct Lap {
    /// What is added to slots and numbers.
    slots: u64,
    numbers: u64,
    /// Slot and lowest number with which the recording begins.
    first: Option<(u64, u64)>,
    /// The end of this lap: the last slot and number so far, and the slots of one report.
    last_slot: u64,
    last_number: u64,
    step: u64,
}

/// Plays a recording, once or for ever.
pub(super) async fn play(
    path: &Path,
    speed: f64,
    repeat: bool,
    feed: &mut Feed,
) -> Result<(), Ended> {
    let mut lap = Lap::default();
    feed.up(true);
    loop {
        let played = play_lap(path, speed, &mut lap, feed).await?;
        if !repeat {
            return Ok(());
        }
        if played == 0 {
            return Err("the recording has no report".into());
        }
        lap.turn();
    }
}

async fn play_lap(path: &Path, speed: f64, lap: &mut Lap, feed: &mut Feed) -> Result<u64, Ended> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).await.map_err(named)?;
    let mut lines = Lines::new(file, MAX_ENCODED_BYTES);
    let mut due = Instant::now();
    let mut before: Option<u64> = None;
    let mut played = 0;
    loop {
        let report = match lines.next().await.map_err(named)? {
            Line::End => return Ok(played),
            Line::TooLong => {
                feed.refuse(&"a line longer than any report");
                continue;
            }
            Line::Text(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(line) => match decode_json(&line) {
                Ok(report) => report,
                Err(error) => {
                    feed.refuse(&error);
                    continue;
                }
            },
        };
        let time = time_ns(&report);
        if let Some(before) = before {
            let gap = Duration::from_nanos(time.saturating_sub(before));
            due += gap.min(LONGEST_GAP).div_f64(speed);
            sleep_until(due).await;
        }
        before = Some(time);
        played += 1;
        feed.received += 1;
        feed.report(lap.shift(report));
    }
}

impl Lap {
    /// The next lap begins one report after the end of this one.
    fn turn(&mut self) {
        let (slot, number) = self.first.unwrap_or_default();
        self.slots = (self.last_slot + self.step.max(1)).saturating_sub(slot);
        self.numbers = (self.last_number + 1).saturating_sub(number);
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
}

/// When a report was made: its slot's time, by which those without UEs are placed too.
fn time_ns(report: &RadioReport) -> u64 {
    report
        .cell
        .slot
        .get()
        .saturating_mul(report.cell.slot_duration.as_nanos())
}
