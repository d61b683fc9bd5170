//! The tables of what decides: `[rapid]`, and `[record]`, which keeps what it was measured.

use super::{ConfigError, Control, Recording};
use daemon::config::Section;
use rapid::{AllocatorConfig, Mode, Part};
use std::path::PathBuf;
use units::{Bytes, Duration};

/// Most that is recorded where nothing else is said.
const RECORDED: Bytes = Bytes::new(1_000_000_000);

/// The allocator's configuration; none without an allocator.
pub(super) fn allocator(
    top: &mut Section<'_, '_>,
    control: Control,
    max_age: Duration,
) -> Result<Option<AllocatorConfig>, ConfigError> {
    let mode = match control {
        Control::Default => Mode::Default,
        Control::Paper => Mode::Paper,
        Control::Split => {
            top.refuse(
                "rapid",
                "is for control = \"default\" and \"paper\"; this is control = \"split\"",
            )?;
            return Ok(None);
        }
    };
    let mut table = top.table_or_empty("rapid", "[rapid]")?;
    let mut config = AllocatorConfig::new(mode);
    config.report_max_age = max_age;
    // what is allowed is the allocator's to say
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    if let Some(threshold) = table.number("slow-threshold", any.clone())? {
        config.slow_threshold = threshold;
    }
    if let Some(alpha) = table.number("arrival-alpha", any)? {
        config.arrival_alpha = alpha;
    }
    if let Some(window) = table.parsed("initial-ran-window")? {
        config.initial_ran_window = window;
    }
    if let Some(queue) = table.parsed("target-queue")? {
        config.target_queue = queue;
    }
    for name in table.parsed_list::<String>("without")? {
        let part = Part::named(&name).ok_or_else(|| {
            let all: Vec<&str> = Part::ALL.into_iter().map(Part::name).collect();
            table.fault(format!(
                "without: {name:?} is not known; expected some of {}",
                all.join(", ")
            ))
        })?;
        config.without.push(part);
    }
    config.check().map_err(|error| table.fault(error))?;
    table.finish()?;
    Ok(Some(config))
}

/// Where to record, if anywhere.
pub(super) fn recording(
    top: &mut Section<'_, '_>,
    control: Control,
) -> Result<Option<Recording>, ConfigError> {
    let Some(mut table) = top.table("record", "[record]")? else {
        return Ok(None);
    };
    let recording = Recording {
        file: table.needed_parsed::<PathBuf>("file", "\"/var/log/brimful/decisions\"")?,
        limit: table.parsed::<Bytes>("limit")?.unwrap_or(RECORDED),
    };
    if control == Control::Split {
        return Err(table.fault("control = \"split\" decides nothing that could be recorded"));
    }
    table.finish()?;
    Ok(Some(recording))
}
