//! The proxy.

use super::{Access, reports};
use crate::document::Value;
use crate::error::{Checked, either, fault};
use crate::experiment::{PepMode, PepSpec, UeSpec, WindowControl};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use edge::{Actuator, EdgeConfig, ShownWindow, UnsentBound};
use rapid::{AllocatorConfig, Mode, Part, Reading};

/// Reads `[pep]`.
pub(super) fn read(top: &mut Reader<'_>, access: &Access, ues: &[UeSpec]) -> Checked<PepSpec> {
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
        reports: reports::read(&mut reader)?,
        buffer: reader.quantity("buffer")?,
        mode: match mode {
            "split" => PepMode::Split,
            "paper" => PepMode::Rapid(decides(&mut reader, Mode::Paper)?),
            "default" => PepMode::Rapid(decides(&mut reader, Mode::Default)?),
            _ => PepMode::None,
        },
        actuator: match mode {
            "paper" | "default" if reader.choice("actuator")? == "pacing" => Actuator::Pacing,
            _ => Actuator::Window,
        },
        windows: match mode {
            "paper" | "default" if reader.choice("windows")? == "linux" => WindowControl::Linux,
            _ => WindowControl::Exact,
        },
    };
    if let PepMode::Rapid(decides) = &spec.mode {
        check_bearer(&reader, decides.allocator.bearer, ues)?;
    }
    top.put("pep", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// That some user has the bearer that is configured to carry intercepted flows.
fn check_bearer(reader: &Reader<'_>, bearer: u8, ues: &[UeSpec]) -> Checked<()> {
    let most = ues.iter().map(|ue| ue.bearers.len()).max().unwrap_or(0);
    if usize::from(bearer) <= most {
        return Ok(());
    }
    let has = match most {
        1 => "each has one: 1".to_owned(),
        _ => format!("they have 1 to {most}"),
    };
    Err(fault(
        reader.place("bearer"),
        format!("no user has a bearer {bearer}"),
    )
    .allowed(format!("{has}; 0 takes all of a user's queue"))
    .hint("add a [[ue.<name>.bearer]], or name another"))
}

fn allocator(reader: &mut Reader<'_>, mode: Mode) -> Checked<AllocatorConfig> {
    let mut config = AllocatorConfig::new(mode);
    config.slow_threshold = reader.number("slow-threshold")?;
    config.arrival_alpha = reader.number("arrival-alpha")?;
    config.initial_ran_window = reader.quantity("initial-ran-window")?;
    config.report_max_age = reader.quantity("report-max-age")?;
    config.target_queue = reader.quantity("target-queue")?;
    config.utilisation_goal = reader.number("utilisation-goal")?;
    config.delay_goal = reader.quantity("delay-goal")?;
    config.bearer = reader.count("bearer")?;
    if mode == Mode::Default {
        let named = |name: &str| Part::named(name);
        config.without = list(
            reader,
            "without",
            "mode default has no part",
            named,
            &Part::ALL.map(Part::name),
        )?;
    }
    if mode == Mode::Paper {
        let named = |name: &str| Reading::named(name);
        config.readings = list(
            reader,
            "readings",
            "mode paper has no reading",
            named,
            &Reading::ALL.map(Reading::name),
        )?;
    }
    Ok(config)
}

/// How the proxy decides.
fn decides(reader: &mut Reader<'_>, mode: Mode) -> Checked<EdgeConfig> {
    let allocator = allocator(reader, mode)?;
    let preset = EdgeConfig::new(mode).plain_after;
    let preset = preset.max(allocator.report_max_age);
    let config = EdgeConfig {
        plain_after: reader.quantity_or("plain-after", preset)?,
        allocator,
        adopt_after: reader.quantity("adopt-after")?,
        young_window: reader.quantity("young-window")?,
        check_interval: reader.quantity("check-interval")?,
        shown: ShownWindow {
            min_window: reader.count("min-window")?,
            closed_windows: reader.flag("closed-windows")?,
            window_step: reader.number("window-step")?,
        },
        unsent: UnsentBound {
            unsent_share: reader.number("unsent-share")?,
            unsent_min: reader.quantity("unsent-min")?,
            unsent_max: reader.quantity("unsent-max")?,
        },
        pacing_step: reader.number("pacing-step")?,
    };
    match config.check() {
        Ok(()) => Ok(config),
        Err(error) => Err(fault(reader.at(), error.to_string())),
    }
}

/// A list of names of which all are known; `missing` begins the fault of one that is not.
fn list<T>(
    reader: &mut Reader<'_>,
    key: &'static str,
    missing: &str,
    named: impl Fn(&str) -> Option<T>,
    known: &[&'static str],
) -> Checked<Vec<T>> {
    let Some(node) = reader.given(key) else {
        return Ok(Vec::new());
    };
    let Value::Array(items) = &node.value else {
        return Err(
            fault(node.at, format!("\"{key}\" is {}", node.kind())).allowed(format!(
                "expected a list of names, for example [\"{}\"]",
                known[0]
            )),
        );
    };
    let mut found = Vec::new();
    let mut names = Vec::new();
    for item in items {
        let of = match &item.value {
            Value::String(name) => named(name).map(|of| (of, name.clone())),
            _ => None,
        };
        let Some((of, name)) = of else {
            let known = || known.iter().copied();
            return Err(fault(item.at, format!("{missing} {}", item.text()))
                .allowed(format!("there are {}", either(known())))
                .nearest(&item.text(), known()));
        };
        found.push(of);
        names.push(ResolvedValue::Text(name));
    }
    reader.put(key, ResolvedValue::List(names));
    Ok(found)
}
