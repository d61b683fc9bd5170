//! The dataset of a sweep: rows in, part files out, and what is still to be run.
//!
//! ```text
//!   OUT/_sweep.json                             what the sweep is
//!   OUT/points/block=0000/part-00000000.parquet one row for each flow of a point
//!   OUT/queues/block=0000/part-00000000.parquet one row for each queue, with the same number
//!   OUT/failed.jsonl                            points that failed, a line each
//!   OUT/.lock                                   held by the process that writes
//! ```
//!
//! The part of the queues is written first: once the part of the flows has its name, its points are
//! done. A part that cannot be read is renamed `.torn-...`, which readers pass over.

use crate::columns;
use crate::description::Description;
use crate::done::Done;
use crate::error::{Error, io_error};
use crate::failed::{self, Failed};
use crate::outcome::Outcome;
use crate::part::{self, BLOCK};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Points of a part, unless time runs out first.
const PART: u64 = 64;
/// A finished point is on the disk after this time at the latest.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How a dataset is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Points that have failed are run again.
    pub retry_failed: bool,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// All points.
    pub points: u64,
    /// Points with results.
    pub done: u64,
    /// Points that failed.
    pub failed: u64,
}

impl Status {
    /// Points that have neither results nor failed.
    pub fn pending(&self) -> u64 {
        self.points - self.done - self.failed
    }
}

/// Rows that wait to be written, of one block.
#[derive(Debug, Default)]
struct Waiting {
    flows: Vec<RecordBatch>,
    queues: Vec<RecordBatch>,
    points: u64,
    since: Option<Instant>,
}

/// The dataset of a sweep, open for writing. Dropped, it writes what waits if it can; only
/// [`Dataset::flush`] states whether it could.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    description: Description,
    schemas: (SchemaRef, SchemaRef),
    done: Done,
    /// Neither pending nor done.
    failed: BTreeMap<u64, Failed>,
    waiting: BTreeMap<u64, Waiting>,
    next_part: u64,
    notes: Vec<String>,
    /// Locked as long as it is open.
    _lock: File,
}

impl Dataset {
    /// Begins a sweep in a folder, or goes on with it.
    ///
    /// # Errors
    /// [`Error::OtherSweep`] if another sweep is there, [`Error::Folder`] if the folder holds other
    /// files, a newer format, or is being written to; nothing was changed then.
    pub fn open(folder: &Path, description: &Description, options: Options) -> Result<Self, Error> {
        let begun = begun(folder, description)?;
        fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
        let lock = lock(folder)?;
        if !begun {
            let path = folder.join("_sweep.json");
            replace(&path, description.text().as_bytes())?;
        }
        let mut dataset = Self {
            folder: folder.to_owned(),
            schemas: columns::schemas(description.axes()),
            done: Done::none(description.points()),
            description: description.clone(),
            failed: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_part: 0,
            notes: Vec::new(),
            _lock: lock,
        };
        dataset.read_parts()?;
        dataset.read_failed(options)?;
        Ok(dataset)
    }

    fn table(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Finds out which points are done.
    fn read_parts(&mut self) -> Result<(), Error> {
        let queues = part::list(&self.table("queues"))?;
        let parts = part::list(&self.table("points"))?;
        for queue in &queues {
            let is_known = parts
                .iter()
                .any(|part| (part.block, part.number) == (queue.block, queue.number));
            if !is_known {
                // its flows were never written: nothing counts of it
                fs::remove_file(&queue.path).map_err(io_error("removing", &queue.path))?;
            }
        }
        for found in &parts {
            self.next_part = self.next_part.max(found.number + 1);
            let beside = part::path(&self.table("queues"), found.block, found.number);
            let read = part::points(&found.path, &self.schemas.0)
                .map_err(|why| (found.path.clone(), why))
                .and_then(|points| {
                    let queues = part::points(&beside, &self.schemas.1);
                    queues.map(|_| points).map_err(|why| (beside.clone(), why))
                });
            match read {
                Ok(points) => {
                    let twice = points.iter().filter(|point| self.done.has(**point)).count();
                    if twice > 0 {
                        self.put_away(
                            found,
                            &format!("{twice} of its points are in another part too"),
                        )?;
                        continue;
                    }
                    for point in points {
                        self.done.add(point);
                    }
                }
                Err((path, why)) => {
                    let shown = path
                        .strip_prefix(&self.folder)
                        .unwrap_or(&path)
                        .display()
                        .to_string();
                    self.put_away(found, &format!("{shown} cannot be read: {why}"))?;
                }
            }
        }
        Ok(())
    }

    /// Renames a part so that nothing reads it; its points are run again.
    fn put_away(&mut self, found: &part::Found, why: &str) -> Result<(), Error> {
        let beside = part::path(&self.table("queues"), found.block, found.number);
        for path in [&found.path, &beside] {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let away = path.with_file_name(format!(".torn-{name}"));
            match fs::rename(path, &away) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_error("renaming", path)(error));
                }
                _ => {}
            }
        }
        self.notes.push(format!("{why}: its points are run again"));
        Ok(())
    }

    fn read_failed(&mut self, options: Options) -> Result<(), Error> {
        let path = self.folder.join("failed.jsonl");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            read => {
                String::from_utf8_lossy(&read.map_err(io_error("reading", &path))?).into_owned()
            }
        };
        let (failed, torn) = failed::read(&text);
        if torn > 0 {
            self.notes.push(format!(
                "failed.jsonl: {torn} torn lines: their points are run again"
            ));
        }
        let points = self.description.points();
        let is_failed = |point: &u64| !self.done.has(*point) && *point < points;
        let all = failed.len();
        self.failed = match options.retry_failed {
            true => BTreeMap::new(),
            false => failed
                .into_iter()
                .filter(|(point, _)| is_failed(point))
                .collect(),
        };
        if torn > 0 || self.failed.len() < all {
            let lines: String = self.failed.values().map(Failed::line).collect();
            replace(&path, lines.as_bytes())?;
        }
        Ok(())
    }

    /// What was found out of order as the dataset was opened, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How far the sweep is.
    pub fn status(&self) -> Status {
        Status {
            points: self.description.points(),
            done: self.done.count(),
            failed: self.failed.len() as u64,
        }
    }

    /// Points that have failed.
    pub fn failed(&self) -> impl Iterator<Item = &Failed> {
        self.failed.values()
    }

    /// The first points from `from` on that are neither done nor failed, at most so many.
    pub fn pending(&self, from: u64, max: usize) -> Vec<u64> {
        let mut found = Vec::new();
        let mut from = from;
        while found.len() < max
            && let Some(point) = self.done.next_missing(from)
        {
            if !self.failed.contains_key(&point) {
                found.push(point);
            }
            from = point + 1;
        }
        found
    }

    /// Takes what became of some points. Of a point that is done already nothing is taken.
    ///
    /// # Errors
    /// [`Error::Io`]; the dataset is whole nevertheless, without these points.
    pub fn add(&mut self, outcome: &Outcome) -> Result<(), Error> {
        for failure in &outcome.failed {
            self.fail(failure)?;
        }
        let mut taken = Vec::new();
        for (point, rows) in runs(&outcome.flows) {
            if self.failed.contains_key(&point) || !self.done.add(point) {
                continue;
            }
            let waiting = self.waiting.entry(point / BLOCK).or_default();
            waiting.flows.push(rows);
            waiting.points += 1;
            waiting.since.get_or_insert_with(Instant::now);
            taken.push(point);
        }
        for (point, rows) in runs(&outcome.queues) {
            if taken.contains(&point) {
                self.waiting
                    .entry(point / BLOCK)
                    .or_default()
                    .queues
                    .push(rows);
            }
        }
        self.write_due(false)
    }

    fn fail(&mut self, failure: &Failed) -> Result<(), Error> {
        let known = self.done.has(failure.point) || self.failed.contains_key(&failure.point);
        if known || failure.point >= self.description.points() {
            return Ok(());
        }
        let axes: Vec<(String, String)> = self
            .description
            .axes()
            .iter()
            .filter_map(|axis| Some((axis.name.clone(), failure.axes.get(&axis.name)?.clone())))
            .collect();
        let failure = Failed {
            repeat: self.description.repeat(&axes, failure.seed),
            ..failure.clone()
        };
        let path = self.folder.join("failed.jsonl");
        let append = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(failure.line().as_bytes())?;
            file.sync_data()
        };
        append().map_err(io_error("writing", &path))?;
        self.failed.insert(failure.point, failure);
        Ok(())
    }

    /// To be called about once a second: writes what has waited long enough.
    ///
    /// # Errors
    /// As [`Dataset::flush`].
    pub fn tick(&mut self) -> Result<(), Error> {
        self.write_due(false)
    }

    /// Writes all that waits.
    ///
    /// # Errors
    /// [`Error::Io`]; what could not be written is pending again.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_due(true)
    }

    fn write_due(&mut self, all: bool) -> Result<(), Error> {
        let is_due = |waiting: &Waiting| {
            let age = waiting.since.map(|since| since.elapsed());
            all || waiting.points >= PART || age.is_some_and(|age| age >= MAX_WAIT)
        };
        let due = self.waiting.iter().filter(|(_, waiting)| is_due(waiting));
        let due: Vec<u64> = due.map(|(block, _)| *block).collect();
        for block in due {
            let Some(waiting) = self.waiting.remove(&block) else {
                continue;
            };
            let number = self.next_part;
            let of = |table: &str| part::path(&self.folder.join(table), block, number);
            let queues = part::write(&of("queues"), &self.schemas.1, &waiting.queues);
            let written =
                queues.and_then(|()| part::write(&of("points"), &self.schemas.0, &waiting.flows));
            self.next_part += 1;
            if let Err(error) = written {
                let lost = waiting
                    .flows
                    .iter()
                    .flat_map(|batch| columns::points(batch).unwrap_or(&[]));
                lost.for_each(|point| self.done.remove(*point));
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        // a caller that needs the error calls flush; what cannot be written is run again
        let _ = self.flush();
    }
}

/// The rows of each point of a batch, in which a point's rows are neighbours.
fn runs(batch: &RecordBatch) -> Vec<(u64, RecordBatch)> {
    let points = columns::points(batch).unwrap_or(&[]);
    let mut start = 0;
    let mut found = Vec::new();
    for rows in points.chunk_by(|a, b| a == b) {
        found.push((rows[0], batch.slice(start, rows.len())));
        start += rows.len();
    }
    found
}

/// True if this sweep has begun in the folder already, false if nothing is there.
fn begun(folder: &Path, description: &Description) -> Result<bool, Error> {
    let path = folder.join("_sweep.json");
    match fs::read_to_string(&path) {
        Ok(text) => description.check(&text, folder).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::folder(folder, format!("cannot be read: {error}"))),
            Ok(entries) => {
                let mut others = entries.flatten().map(|entry| entry.file_name());
                match others.find(|name| !name.to_string_lossy().starts_with('.')) {
                    None => Ok(false),
                    Some(other) => Err(Error::folder(
                        folder,
                        format!(
                            "holds other files ({}), and no sweep; name another folder by --out",
                            other.to_string_lossy()
                        ),
                    )),
                }
            }
        },
        Err(error) => Err(Error::folder(&path, format!("cannot be read: {error}"))),
    }
}

/// Keeps others from writing into the folder.
fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join(".lock");
    let options = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = options.map_err(io_error("making", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::folder(
            folder,
            "another sweep is writing into this folder",
        )),
        // a file system without locks: no process is kept out
        Err(fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Writes a small file whole or not at all.
fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    let hidden = part::hidden(path);
    let work = || -> io::Result<()> {
        let mut file = File::create(&hidden)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&hidden, path)
    };
    work().map_err(io_error("writing", path))
}
