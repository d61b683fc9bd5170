//! The stream of samples: one JSON object a line, for each connection at each interval and at its
//! end. `docs/operations/quic.md` describes the fields.

use crate::QuicError;
use crate::config::StatsTarget;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Where lines go.
pub(crate) struct Stats(Mutex<Box<dyn Write + Send>>);

impl Stats {
    pub(crate) fn open(target: &StatsTarget) -> Result<Self, QuicError> {
        let writer: Box<dyn Write + Send> = match target {
            StatsTarget::Stdout => Box::new(std::io::stdout()),
            StatsTarget::File(path) => {
                let file = File::create(path).map_err(|source| QuicError::File {
                    path: path.clone(),
                    source,
                })?;
                Box::new(file)
            }
        };
        Ok(Self(Mutex::new(writer)))
    }

    /// One line, at once.
    pub(crate) fn line(&self, value: &Value) {
        let line = format!("{value}\n");
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "a sample was lost");
        }
    }
}
