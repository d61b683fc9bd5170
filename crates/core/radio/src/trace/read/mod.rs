//! The readers.

mod brimful;
mod mahimahi;
mod nrscope;
mod packets;
mod rate;
mod ucc;

pub(super) use ucc::days_since_1970;

use super::error::listed;
use super::format::detect;
use super::{Content, Format, NetworkTimes, Trace, TraceError};
use units::{BitRate, Bytes, Duration, Packets};

/// The largest file that is read.
pub const MAX_FILE: Bytes = Bytes::new(256_000_000);
/// The longest trace.
pub const MAX_DURATION: Duration = Duration::from_secs(31 * 86_400);
/// The largest rate.
pub const MAX_RATE: BitRate = BitRate::from_mbps(1_000_000);
/// The most packets in one tick or at one instant.
pub const MAX_PACKETS_PER_TICK: Packets = Packets::new(1_000_000);

/// What to read of a file, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; found out from the content if `None`.
    pub format: Option<Format>,
    /// Which series of a file that holds several; the first if `None`. Items separated by commas,
    /// each a column's name (`Verizon_throughput_mbps`, `DL_bitrate`) or the value that a column
    /// must have (`carrier=VERIZON,run_num=61`, `rnti=25250`).
    pub series: Option<String>,
}

/// What a reader found.
struct Found {
    content: Content,
    networks: NetworkTimes,
    notes: Vec<String>,
}

impl Found {
    fn new(content: Content, notes: Vec<String>) -> Self {
        let networks = content.networks();
        Self {
            content,
            networks,
            notes,
        }
    }
}

/// What a reader is given.
struct Input<'a> {
    file: &'a str,
    text: &'a str,
    series: Option<&'a str>,
}

impl Input<'_> {
    /// For formats that hold a single series.
    fn refuse_series(&self) -> Result<(), TraceError> {
        match self.series {
            None => Ok(()),
            Some(series) => Err(self.no_series(series, "none: this format holds a single series")),
        }
    }

    fn no_series(&self, series: &str, available: impl AsRef<str>) -> TraceError {
        TraceError::NoSuchSeries {
            file: self.file.into(),
            series: listed(series).into(),
            available: listed(available.as_ref()).into(),
        }
    }
}

/// Reads a trace. `name` stands for the file in messages.
///
/// # Errors
/// See [`TraceError`]; the first defect of the file ends the reading. If the file looks like a
/// trace of another format than the one that was requested, the message states it.
pub fn read(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Trace, TraceError> {
    let text = text_of(name, bytes)?;
    let format = match options.format {
        Some(format) => format,
        None => detect(name, text)?,
    };
    let input = Input {
        file: name,
        text,
        series: options.series.as_deref(),
    };
    let found = match format {
        Format::Ucc => ucc::read(&input),
        Format::Mahimahi => mahimahi::read(&input),
        Format::PacketsPerTick => packets::read(&input),
        Format::RateCsv => rate::read(&input),
        Format::NrScope => nrscope::read(&input),
        Format::Brimful => brimful::read(&input),
    };
    match found {
        Ok(Found {
            content,
            networks,
            notes,
        }) => Ok(Trace {
            source: name.to_owned(),
            format,
            content,
            networks,
            notes,
        }),
        Err(error) => Err(match detect(name, text) {
            Ok(other) if other != format => {
                error.with_help(&format!("this looks like {other}: give --format {other}"))
            }
            _ => error,
        }),
    }
}

/// The text of a file that is not too large.
pub(super) fn text_of<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, TraceError> {
    if bytes.len() as u64 > MAX_FILE.get() {
        return Err(TraceError::TooLarge {
            file: name.into(),
            what: "the file",
            found: Bytes::new(bytes.len() as u64).to_string().into(),
            limit: MAX_FILE.to_string().into(),
        });
    }
    core::str::from_utf8(bytes).map_err(|e| not_text(name, bytes, e.valid_up_to()))
}

fn not_text(file: &str, bytes: &[u8], at: usize) -> TraceError {
    let before = &bytes[..at];
    let start = before
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |i| i + 1);
    TraceError::NotText {
        file: file.into(),
        line: before.iter().filter(|&&b| b == b'\n').count() + 1,
        column: at - start + 1,
        byte: bytes[at],
    }
}

/// The error for a trace that lasts too long.
pub(super) fn too_long(file: &str, found: Duration) -> TraceError {
    TraceError::TooLarge {
        file: file.into(),
        what: "the duration",
        found: found.to_string().into(),
        limit: MAX_DURATION.to_string().into(),
    }
}

/// A decimal number of rate units as bit/s, rounded to the nearest.
pub(super) fn bit_rate(value: f64, unit: f64) -> BitRate {
    BitRate::from_bps((value * unit).round() as u64)
}

#[cfg(test)]
mod tests;
