//! The tables of what decides: `[rapid]`, and `[record]`, which keeps what it was told.

use super::reader::Reader;
use super::{ConfigError, Control, Recording};
use rapid::{AllocatorConfig, Mode, Part};
use std::path::PathBuf;
use units::{Bytes, Duration};

/// Most that is recorded where nothing else is said.
const RECORDED: Bytes = Bytes::new(1_000_000_000);

/// The allocator's configuration; none where nobody decides.
pub(super) fn allocator(
    top: &mut Reader<'_, '_>,
    control: Control,
    max_age: Duration,
) -> Result<Option<AllocatorConfig>, ConfigError> {
    let mode = match control {
        Control::Default => Mode::Default,
        Control::Paper => Mode::Paper,
        Control::Split => {
            return match top.take("rapid") {
                None => Ok(None),
                Some(value) => Err(top.source.fault(
                    Some(value.span),
                    "[rapid] is for control = \"default\" and \"paper\"; this is control = \"split\"",
                )),
            };
        }
    };
    let keys = &[
        "slow-threshold",
        "arrival-alpha",
        "initial-ran-window",
        "target-queue",
        "without",
    ];
    let mut table = top.table("rapid", "[rapid]", keys)?;
    let mut config = AllocatorConfig::new(mode);
    config.report_max_age = max_age;
    config.slow_threshold = table.number("slow-threshold", config.slow_threshold)?;
    config.arrival_alpha = table.number("arrival-alpha", config.arrival_alpha)?;
    if let Some((window, _)) = table.parsed("initial-ran-window")? {
        config.initial_ran_window = window;
    }
    if let Some((queue, _)) = table.parsed("target-queue")? {
        config.target_queue = queue;
    }
    for name in table.list::<String>("without")?.unwrap_or_default() {
        let part = Part::named(&name).ok_or_else(|| {
            let all: Vec<&str> = Part::ALL.into_iter().map(Part::name).collect();
            table.fault(format!(
                "\"without\": {name:?} is not known; expected some of {}",
                all.join(", ")
            ))
        })?;
        config.without.push(part);
    }
    config.check().map_err(|error| table.fault(error))?;
    Ok(Some(config))
}

/// Where to record, if anywhere.
pub(super) fn recording(
    top: &mut Reader<'_, '_>,
    control: Control,
) -> Result<Option<Recording>, ConfigError> {
    let mut table = top.table("record", "[record]", &["file", "limit"])?;
    let file = table.parsed::<PathBuf>("file")?;
    let limit = table.parsed::<Bytes>("limit")?;
    match (file, limit) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(table.missing("file", "it names what is written")),
        (Some(_), _) if control == Control::Split => {
            Err(table.fault("control = \"split\" decides nothing that could be recorded"))
        }
        (Some((file, _)), limit) => Ok(Some(Recording {
            file,
            limit: limit.map_or(RECORDED, |(limit, _)| limit),
        })),
    }
}
