//! Recordings of what goes into the proxy's decisions and comes out of them, read.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use edge::recording::{Entry, MAX_LINE_BYTES, Replay, Summary};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Decides a recording once more and compares every action.
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
        let max = MAX_LINE_BYTES as u64 + 2;
        let read = reader.by_ref().take(max).read_until(b'\n', &mut line);
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
    match summary.actions + summary.flows + summary.reports {
        0 => Err(Failure::Input(anyhow!("{name} is empty: no recording"))),
        _ => Ok(summary),
    }
}
