//! Applications with many numbers: adaptive video, and pages of many objects.

use crate::apps::{AbrRule, PageSpec, VideoSpec};
use crate::error::{Checked, fault};
use crate::experiment::AppSpec;
use crate::reader::Reader;
use std::sync::Arc;

/// Maximum bitrates of a ladder.
const MAX_RUNGS: usize = 100;

/// `kind = "video"`.
pub(super) fn video(reader: &mut Reader<'_>) -> Checked<AppSpec> {
    let spec = VideoSpec {
        segment: reader.quantity("segment")?,
        ladder: reader.ladder("ladder", MAX_RUNGS)?,
        variation: reader.number("variation")?,
        buffer: reader.quantity("buffer")?,
        startup: reader.quantity("startup")?,
        rule: match reader.choice("rule")? {
            "bba" => AbrRule::Bba,
            "rate" => AbrRule::Rate,
            _ => AbrRule::Bola,
        },
        safety: reader.number("safety")?,
        request: reader.quantity("request")?,
    };
    let least = spec.startup + spec.segment;
    if spec.buffer < least {
        let problem = format!(
            "\"buffer\" = {} does not hold \"startup\" = {} and a \"segment\" of {}",
            spec.buffer, spec.startup, spec.segment
        );
        return Err(fault(reader.place("buffer"), problem)
            .allowed(format!("allowed is at least {least}"))
            .hint("take a larger buffer, or shorter segments"));
    }
    Ok(AppSpec::Video(Arc::new(spec)))
}

/// `kind = "page"`.
pub(super) fn page(reader: &mut Reader<'_>) -> Checked<AppSpec> {
    Ok(AppSpec::Page(Arc::new(PageSpec {
        document: reader.quantity("document")?,
        blocking: reader.count("blocking")?,
        blocking_size: reader.quantity("blocking-size")?,
        objects: reader.count("objects")?,
        object_size: reader.quantity("object-size")?,
        spread: reader.number("spread")?,
        request: reader.quantity("request")?,
        think: reader.quantity("think")?,
        gap: reader.quantity("gap")?,
        count: reader.optional_count("count")?,
        has_own_connections: reader.flag("new-connections")?,
    })))
}
