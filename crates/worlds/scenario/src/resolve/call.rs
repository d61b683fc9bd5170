//! Calls.

use crate::call::{CallController, CallSpec};
use crate::error::{Checked, fault};
use crate::experiment::{AppSpec, EcnSpec};
use crate::reader::Reader;
use media::{EncoderConfig, RateLimits};
use std::sync::Arc;
use units::BitRate;

/// Reads `app = { kind = "call", ... }`.
pub(super) fn call(r: &mut Reader<'_>) -> Checked<AppSpec> {
    let name = r.choice("controller")?;
    let Some(controller) = CallController::from_name(name) else {
        return Err(fault(
            r.place("controller"),
            format!("unknown controller \"{name}\""),
        ));
    };
    let start: BitRate = r.quantity("start-rate")?;
    let (min, max): (BitRate, BitRate) = (r.quantity("min-rate")?, r.quantity("max-rate")?);
    let limits = RateLimits::new(min, start, max).map_err(|_| {
        let problem = format!(
            "\"min-rate\" = {min}, \"start-rate\" = {start} and \"max-rate\" = {max} are not in order"
        );
        fault(r.place("start-rate"), problem).allowed("each is at most the next")
    })?;
    let encoder = EncoderConfig {
        frame_rate: r.count("frame-rate")?,
        deviation: r.number("frame-deviation")?,
        key_frame_interval: r.optional("key-frame-interval")?,
        key_frame_size: r.number("key-frame-size")?,
    };
    encoder
        .check()
        .map_err(|error| fault(r.place("key-frame-interval"), error.to_string()))?;
    Ok(AppSpec::Call(Arc::new(CallSpec {
        controller,
        limits,
        encoder,
        packet: r.quantity("packet")?,
        late_after: r.quantity("late-after")?,
    })))
}

/// What may be marked, a controller answers.
pub(super) fn check_ecn(reader: &Reader<'_>, app: &AppSpec, ecn: EcnSpec) -> Checked<()> {
    let AppSpec::Call(call) = app else {
        return Ok(());
    };
    if ecn == EcnSpec::Off || call.controller.answers_marks() {
        return Ok(());
    }
    let name = call.controller.name();
    let problem = format!("\"ecn\" of a call with controller = \"{name}\", which ignores marks");
    Err(fault(reader.place("ecn"), problem)
        .allowed("with it goes \"off\"")
        .hint("set controller = \"scream\" in \"app\", or remove the line"))
}
