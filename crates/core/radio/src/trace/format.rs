//! The formats of traces, and which one a file has by what is in it.

use super::TraceError;
use super::error::shortened;
use super::text::{Field, Line, empty, lines, split};
use core::fmt;
use core::str::FromStr;

/// A format that traces are read from; `docs/traces.md` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A phone's log of the UCC 4G and 5G data sets: CSV, about one row a second, with CQI.
    Ucc,
    /// Mahimahi: one line for each opportunity to send 1500 bytes, in ms.
    Mahimahi,
    /// Packets per 10 ms tick, one value a second, after a line with their number.
    PacketsPerTick,
    /// CSV with a measured rate per row, as 5Gophers.
    RateCsv,
    /// The DCI log of NR-Scope.
    NrScope,
    /// Brimful's own form.
    Brimful,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::Ucc,
        Self::Mahimahi,
        Self::PacketsPerTick,
        Self::RateCsv,
        Self::NrScope,
        Self::Brimful,
    ];

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 6] = {
        let mut names = [""; 6];
        let mut i = 0;
        while i < names.len() {
            names[i] = Self::ALL[i].name();
            i += 1;
        }
        names
    };

    /// The name, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ucc => "ucc",
            Self::Mahimahi => "mahimahi",
            Self::PacketsPerTick => "packets-per-tick",
            Self::RateCsv => "rate-csv",
            Self::NrScope => "nr-scope",
            Self::Brimful => "brimful",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No format has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown trace format {name:?}: known are {}", Format::NAMES.join(", "))]
pub struct UnknownFormat {
    /// What was given.
    pub name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat {
                name: text.to_owned(),
            })
    }
}

/// How a file of [`Format::Brimful`] begins.
pub(super) const BRIMFUL_MAGIC: &str = "# brimful-trace";

/// The column names by which a log of the UCC data sets is known.
const UCC_COLUMNS: [&str; 3] = ["Timestamp", "NetworkMode", "CQI"];
/// Those of a DCI log.
const NRSCOPE_COLUMNS: [&str; 3] = ["system_frame_index", "slot_index", "mcs_index"];

/// What other programs divide fields by.
const NO_COMMAS: [char; 2] = [';', '\t'];

/// Finds out a file's format.
///
/// # Errors
/// [`TraceError::Empty`], [`TraceError::Unrecognised`], and [`TraceError::Ambiguous`] for a short
/// list of numbers that is both a Mahimahi file and a packets-per-tick file.
pub(super) fn detect(file: &str, text: &str) -> Result<Format, TraceError> {
    let Some(first) = lines(text).next() else {
        return Err(empty(
            file,
            "a trace in one of the formats of docs/traces.md",
        ));
    };
    if first.text.starts_with(BRIMFUL_MAGIC) {
        return Ok(Format::Brimful);
    }
    if first.text.trim().parse::<u64>().is_ok() {
        return detect_numbers(file, text);
    }
    let mut header = Vec::new();
    split(first.text, &mut header);
    let has = |name: &&str| {
        header
            .iter()
            .any(|field| field.text.eq_ignore_ascii_case(name))
    };
    if header.len() == 1 && header[0].text.contains(NO_COMMAS) {
        Err(unrecognised(file, first, csv_reason(&header)))
    } else if UCC_COLUMNS.iter().all(&has) {
        Ok(Format::Ucc)
    } else if NRSCOPE_COLUMNS.iter().all(has) {
        Ok(Format::NrScope)
    } else if header.iter().any(|field| rate_unit(field.text).is_some()) {
        Ok(Format::RateCsv)
    } else {
        Err(unrecognised(file, first, csv_reason(&header)))
    }
}

/// Prints why a header is none of those known.
fn csv_reason(header: &[Field<'_>]) -> String {
    let has = |name: &str| {
        header
            .iter()
            .any(|field| field.text.eq_ignore_ascii_case(name))
    };
    let lines_of_ours = |column| has("time_s") && has(column);
    if header.len() == 1 && header[0].text.contains(NO_COMMAS) {
        " (fields are divided by commas, not by semicolons or tabs)".to_owned()
    } else if lines_of_ours("cqi") || lines_of_ours("packets") {
        format!(" (with \"{BRIMFUL_MAGIC} 1\" as a line above it, it is one of ours)")
    } else if header.len() == 1 {
        String::new()
    } else if has("rtt_ms") {
        " (it holds round-trip times, not rates: take the file with the throughput)".to_owned()
    } else {
        " (no rate: a column whose name ends in a unit of rates, such as _mbps or Mbit/s; and neither the \
         columns of UCC nor of NR-Scope; name the column so)"
            .to_owned()
    }
}

fn unrecognised(file: &str, line: Line<'_>, reason: String) -> TraceError {
    TraceError::Unrecognised {
        file: file.into(),
        line: line.number,
        found: shortened(line.text).into(),
        reason: reason.into(),
        known: Format::NAMES.join(", ").into(),
    }
}

/// Mahimahi and packets-per-tick are both one number a line. The former never decreases, the
/// latter's first line counts the others.
fn detect_numbers(file: &str, text: &str) -> Result<Format, TraceError> {
    let (mut first, mut previous, mut count) = (0, 0, 0u64);
    let mut decreases: Option<Line<'_>> = None;
    for line in lines(text) {
        let Ok(value) = line.text.trim().parse::<u64>() else {
            let reason = " (the lines above are numbers, this one is not)".to_owned();
            return Err(unrecognised(file, line, reason));
        };
        if count == 0 {
            first = value;
        } else if value < previous && decreases.is_none() {
            decreases = Some(line);
        }
        previous = value;
        count += 1;
    }
    let counted = first == count - 1 && count > 1;
    match (counted, decreases) {
        (true, None) => Err(TraceError::Ambiguous {
            file: file.into(),
            one: Format::PacketsPerTick,
            other: Format::Mahimahi,
        }),
        (true, Some(_)) => Ok(Format::PacketsPerTick),
        (false, None) => Ok(Format::Mahimahi),
        (false, Some(line)) => {
            let reason = format!(
                " (numbers: no mahimahi, because they decrease here; no packets-per-tick, because \
                 the first line states {first} and {} follow)",
                count - 1
            );
            Err(unrecognised(file, line, reason))
        }
    }
}

/// A column's name in lower case, its unit behind a `_`: `t (s)` is `t_s`.
pub(super) fn plain(column: &str) -> String {
    let lower = column.to_ascii_lowercase();
    let words = lower.split([' ', '_', '(', ')', '[', ']']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// The bit/s of one unit of a rate column, by its name's ending: `Verizon_throughput_mbps`, `rate (Mbit/s)`.
pub(super) fn rate_unit(column: &str) -> Option<f64> {
    let name = plain(column);
    let unit = name.rsplit('_').next()?;
    let prefix = unit
        .strip_suffix("bps")
        .or_else(|| unit.strip_suffix("bit/s"))?;
    match prefix {
        "" => Some(1.0),
        "k" => Some(1e3),
        "m" => Some(1e6),
        "g" => Some(1e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>(), Ok(format));
        }
        let error = "pcap".parse::<Format>().unwrap_err().to_string();
        assert!(
            error.contains("\"pcap\"") && error.contains("nr-scope"),
            "{error}"
        );
    }

    #[test]
    fn numbers_are_distinguished() {
        assert_eq!(detect("f", "3\n4\n2\n4\n"), Ok(Format::PacketsPerTick));
        assert_eq!(detect("f", "0\n0\n1\n5\n"), Ok(Format::Mahimahi));
        assert_eq!(detect("f", "1\n"), Ok(Format::Mahimahi));
        assert!(matches!(
            detect("f", "2\n5\n5\n"),
            Err(TraceError::Ambiguous { .. })
        ));
        let neither = detect("f", "7\n4\n5\n").unwrap_err();
        assert_eq!(neither.line(), Some(2));
        let text = neither.to_string();
        assert!(
            text.contains("states 7 and 2 follow") && text.contains("--format"),
            "{text}"
        );
    }

    #[test]
    fn headers_are_distinguished() {
        let cases = [
            ("Timestamp,Speed,NetworkMode,CQI\n", Format::Ucc),
            (
                "timestamp,system_frame_index,slot_index,rnti,mcs_index\n",
                Format::NrScope,
            ),
            ("protocol,seq_num,Sprint_throughput_mbps\n", Format::RateCsv),
            ("time,Mbit/s\n", Format::RateCsv),
            ("t [s],rate (kbit/s)\n", Format::RateCsv),
            ("\n# brimful-trace 1\n", Format::Brimful),
        ];
        for (text, format) in cases {
            assert_eq!(detect("f", text), Ok(format), "{text}");
        }
        let rtt = detect("f", "rtt_ms,carrier,server_location\n40.0,SPRINT,US-East\n");
        assert!(rtt.unwrap_err().to_string().contains("round-trip times"));
        for (text, expected) in [
            ("time_s;rate_mbps\n0;10\n", "divided by commas"),
            ("time_s\trate_mbps\n0\t10\n", "divided by commas"),
            (
                "time_s,cqi\n0,12\n",
                "with \"# brimful-trace 1\" as a line above",
            ),
            ("time,throughput\n0,12.5\n", "such as _mbps or Mbit/s"),
        ] {
            let error = detect("f", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(matches!(
            detect("f", " \r\n"),
            Err(TraceError::Empty { .. })
        ));
    }
}
