//! Recordings of the allocator's calls and answers: written by the simulator, read by anyone.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use rapid::recording::{Entry, MAX_LINE_BYTES, Record, Replay, Summary};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A file in the making; what could not be written is told at the end.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    file: Arc<Mutex<io::Result<BufWriter<File>>>>,
}

impl Recorder {
    /// A new file; one that is there is written over.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path)
            .with_context(|| format!("{} cannot be written", path.display()))
            .map_err(Failure::Input)?;
        Ok(Self {
            file: Arc::new(Mutex::new(Ok(BufWriter::new(file)))),
        })
    }

    /// All is written.
    pub(crate) fn finish(&self, path: &Path) -> Result<(), Failure> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::replace(&mut *file, Err(io::Error::other("finished")));
        taken
            .and_then(|mut file| file.flush())
            .with_context(|| format!("{} cannot be written", path.display()))
            .map_err(Failure::Run)
    }
}

impl Record for Recorder {
    fn record(&mut self, entry: Entry) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(writer) = &mut *file else { return };
        let mut line = entry.encode();
        line.push(b'\n');
        if let Err(error) = writer.write_all(&line) {
            *file = Err(error);
        }
    }
}

/// Feeds a recording to allocators of our own and compares every decision.
pub(crate) fn replay(path: &Path) -> Result<Summary, Failure> {
    let name = path.display();
    let file = File::open(path)
        .with_context(|| format!("{name} cannot be read"))
        .map_err(Failure::Input)?;
    let mut reader = BufReader::new(file);
    let mut replay = Replay::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        // one byte more than is allowed shows that a line is too long
        let most = MAX_LINE_BYTES as u64 + 2;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
        let read = read
            .with_context(|| format!("{name} cannot be read"))
            .map_err(Failure::Run)?;
        if read == 0 {
            break;
        }
        let text = line.trim_ascii();
        let entry = Entry::decode(text)
            .map_err(|error| Failure::Input(anyhow!("{name}:{number}: no entry: {error}")))?;
        replay
            .feed(&entry)
            .map_err(|error| Failure::Run(anyhow!("{name}:{number}: {error}")))?;
    }
    let summary = replay
        .finish()
        .map_err(|error| Failure::Run(anyhow!("{name}: at its end: {error}")))?;
    match summary.cells {
        0 => Err(Failure::Input(anyhow!("{name} is empty: no recording"))),
        _ => Ok(summary),
    }
}
