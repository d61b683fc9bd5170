//! The proxy.

use super::Access;
use crate::error::{Checked, fault};
use crate::experiment::{PepMode, PepSpec};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use rapid::{AllocatorConfig, Mode};

/// Reads `[pep]`.
pub(super) fn read(top: &mut Reader<'_>, access: &Access) -> Checked<PepSpec> {
    let mut reader = Reader::open("pep", "[pep]", top.given("pep"), top.at())?;
    let mode = reader.choice("mode")?;
    if matches!((mode, access), ("paper" | "default", Access::Link(_))) {
        return Err(fault(
            reader.place("mode"),
            format!("mode \"{mode}\" needs a radio cell"),
        )
        .allowed("a wired [link] gives no radio reports")
        .hint("take \"none\" or \"split\", or a [cell]"));
    }
    let spec = PepSpec {
        report_period: reader.quantity("report-period")?,
        report_delay: reader.quantity("report-delay")?,
        report_loss: reader.number("report-loss")?,
        buffer: reader.quantity("buffer")?,
        mode: match mode {
            "split" => PepMode::Split,
            "paper" => PepMode::Rapid(allocator(&mut reader, Mode::Paper)?),
            "default" => PepMode::Rapid(allocator(&mut reader, Mode::Default)?),
            _ => PepMode::None,
        },
    };
    top.put("pep", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

fn allocator(reader: &mut Reader<'_>, mode: Mode) -> Checked<AllocatorConfig> {
    let mut config = AllocatorConfig::new(mode);
    config.slow_threshold = reader.number("slow-threshold")?;
    config.arrival_alpha = reader.number("arrival-alpha")?;
    config.initial_ran_window = reader.quantity("initial-ran-window")?;
    config.report_max_age = reader.quantity("report-max-age")?;
    config.target_queue = reader.quantity("target-queue")?;
    match config.check() {
        Ok(()) => Ok(config),
        Err(error) => Err(fault(reader.at(), error.to_string())),
    }
}
