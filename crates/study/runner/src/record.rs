//! Recordings of what the proxy's decisions are made of, and of the decisions, as a run writes them.

use crate::Error;
use edge::recording::{Entry, Record};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A file that is being written; a failed write is reported at the end.
#[derive(Clone, Debug)]
pub struct Recorder {
    file: Arc<Mutex<io::Result<BufWriter<File>>>>,
}

impl Recorder {
    /// A new file; one that is there is written over.
    ///
    /// # Errors
    /// [`Error::Input`] if it cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(|error| {
            Error::Input(format!("{} cannot be written: {error}", path.display()))
        })?;
        Ok(Self {
            file: Arc::new(Mutex::new(Ok(BufWriter::new(file)))),
        })
    }

    /// All is written; `path` is for the message.
    ///
    /// # Errors
    /// [`Error::Run`] if an entry could not be written.
    pub fn finish(&self, path: &Path) -> Result<(), Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::replace(&mut *file, Err(io::Error::other("finished")));
        taken
            .and_then(|mut file| file.flush())
            .map_err(|error| Error::Run(format!("{} cannot be written: {error}", path.display())))
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
