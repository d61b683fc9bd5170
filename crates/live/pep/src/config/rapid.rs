//! The tables of what decides: `[rapid]`, and `[record]`, which keeps what it was measured.

use super::{ConfigError, Control, Recording, Reports};
use daemon::config::Section;
use edge::{Actuator, EdgeConfig};
use rapid::{AllocatorConfig, Mode, Part, Reading};
use rnis::MAX_BEARER;
use std::path::PathBuf;
use units::Bytes;

/// Maximum that is recorded where nothing else is set.
const RECORDED: Bytes = Bytes::new(1_000_000_000);

const ACTUATORS: [(&str, Actuator); 2] =
    [("window", Actuator::Window), ("pacing", Actuator::Pacing)];

/// How the proxy decides, and how windows towards UEs are set; none where connections are split and nothing more.
pub(super) fn decides(
    top: &mut Section<'_, '_>,
    control: Control,
    reports: &Reports,
) -> Result<Option<(EdgeConfig, Actuator)>, ConfigError> {
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
    let mut config = EdgeConfig::new(mode);
    config.allocator.report_max_age = reports.max_age;
    config.plain_after = reports.plain_after;
    allocator(&mut table, &mut config.allocator)?;
    // what is allowed is checked as a whole
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    let set = |to: &mut f64, value: Option<f64>| *to = value.unwrap_or(*to);
    let step = table.number("window-step", any.clone())?;
    set(&mut config.shown.window_step, step);
    let step = table.number("pacing-step", any.clone())?;
    set(&mut config.pacing_step, step);
    let share = table.number("unsent-share", any)?;
    set(&mut config.unsent.unsent_share, share);
    for (key, to) in [
        ("adopt-after", &mut config.adopt_after),
        ("check-interval", &mut config.check_interval),
    ] {
        *to = table.parsed(key)?.unwrap_or(*to);
    }
    for (key, to) in [
        ("young-window", &mut config.young_window),
        ("unsent-min", &mut config.unsent.unsent_min),
        ("unsent-max", &mut config.unsent.unsent_max),
    ] {
        *to = table.parsed(key)?.unwrap_or(*to);
    }
    let segments = table.whole("min-window", 0..=64)?;
    config.shown.min_window = segments.unwrap_or(config.shown.min_window);
    let closed = table.truth("closed-windows")?;
    config.shown.closed_windows = closed.unwrap_or(config.shown.closed_windows);
    let actuator = table.word("actuator", &ACTUATORS)?;
    config.check().map_err(|error| table.fault(error))?;
    table.finish()?;
    Ok(Some((config, actuator.unwrap_or(Actuator::Window))))
}

/// The allocator's keys.
fn allocator(table: &mut Section<'_, '_>, config: &mut AllocatorConfig) -> Result<(), ConfigError> {
    // what is allowed is checked as a whole
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    if let Some(threshold) = table.number("slow-threshold", any.clone())? {
        config.slow_threshold = threshold;
    }
    if let Some(alpha) = table.number("arrival-alpha", any.clone())? {
        config.arrival_alpha = alpha;
    }
    if let Some(goal) = table.number("utilisation-goal", any)? {
        config.utilisation_goal = goal;
    }
    if let Some(window) = table.parsed("initial-ran-window")? {
        config.initial_ran_window = window;
    }
    if let Some(queue) = table.parsed("target-queue")? {
        config.target_queue = queue;
    }
    if let Some(delay) = table.parsed("delay-goal")? {
        config.delay_goal = delay;
    }
    if let Some(bearer) = table.whole("bearer", 0..=MAX_BEARER.into())? {
        config.bearer = bearer;
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
    for name in table.parsed_list::<String>("readings")? {
        let reading = Reading::named(&name).ok_or_else(|| {
            let all: Vec<&str> = Reading::ALL.into_iter().map(Reading::name).collect();
            table.fault(format!(
                "readings: {name:?} is not known; expected some of {}",
                all.join(", ")
            ))
        })?;
        config.readings.push(reading);
    }
    Ok(())
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
