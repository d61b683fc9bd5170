//! The proxy.

use super::{Access, reports};
use crate::document::Value;
use crate::error::{Checked, either, fault};
use crate::experiment::{PepMode, PepSpec, UeSpec, WindowControl};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use edge::marker::MarkerConfig;
use edge::{Actuator, EdgeConfig, Setting};
use rapid::{Mode, Part, Reading};

/// Reads `[pep]`.
pub(super) fn read(top: &mut Reader<'_>, access: &Access, ues: &[UeSpec]) -> Checked<PepSpec> {
    let mut reader = Reader::open("pep", "[pep]", top.given("pep"), top.at())?;
    let mode = reader.choice("mode")?;
    let rapid = Mode::from_name(mode);
    if rapid.is_some() && matches!(access, Access::Link(_)) {
        return Err(fault(
            reader.place("mode"),
            format!("mode \"{mode}\" needs a radio cell"),
        )
        .allowed("a wired [link] gives no radio reports")
        .hint("take \"none\" or \"split\", or a [cell]"));
    }
    let (unsplit, held) = unsplit(&mut reader, access)?;
    let spec = PepSpec {
        unsplit,
        held,
        marks_on_n3: marks_on_n3(&mut reader, access)?,
        reports: reports::read(&mut reader)?,
        buffer: reader.quantity("buffer")?,
        mode: match rapid {
            Some(mode) => PepMode::Rapid(Box::new(decides(&mut reader, mode)?)),
            None if mode == "split" => PepMode::Split,
            None => PepMode::None,
        },
        actuator: match rapid {
            Some(_) if reader.choice("actuator")? == Actuator::Pacing.name() => Actuator::Pacing,
            _ => Actuator::Window,
        },
        windows: match rapid {
            Some(_) if reader.choice("windows")? == "linux" => WindowControl::Linux,
            _ => WindowControl::Exact,
        },
    };
    if let PepMode::Rapid(decides) = &spec.mode {
        check_bearer(&reader, decides.allocator.bearer, ues)?;
    }
    top.put("pep", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// How packets that are not split are marked, and how they wait at the edge: one of them at most.
fn unsplit(
    reader: &mut Reader<'_>,
    access: &Access,
) -> Checked<(Option<MarkerConfig>, Option<MarkerConfig>)> {
    let chosen = reader.choice("unsplit")?;
    if chosen == "off" {
        return Ok((None, None));
    }
    if matches!(access, Access::Link(_)) {
        let problem = format!("unsplit = \"{chosen}\" needs a radio cell");
        return Err(fault(reader.place("unsplit"), problem)
            .allowed("a wired [link] gives no radio reports")
            .hint("take \"off\", or a [cell]"));
    }
    let mut config = MarkerConfig {
        rate_fraction: reader.number("unsplit-rate-fraction")?,
        ..MarkerConfig::default()
    };
    for (key, time) in config.times() {
        *time = reader.quantity(key)?;
    }
    match config.check() {
        Ok(()) if chosen == "queue" => Ok((None, Some(config))),
        Ok(()) => Ok((Some(config), None)),
        Err(error) => Err(fault(reader.place("unsplit"), error.to_string())),
    }
}

/// Whether packets are marked in GTP-U: on N3, by what splits nothing.
fn marks_on_n3(reader: &mut Reader<'_>, access: &Access) -> Checked<bool> {
    if reader.choice("unsplit-inside")? == "nothing" {
        return Ok(false);
    }
    let has_n3 = match access {
        Access::Cell { spec, .. } => spec.has_n3,
        Access::Link(_) => false,
    };
    let missing = if !has_n3 {
        "n3 = true of the cell, a wire on which packets are in GTP-U"
    } else if reader.choice("unsplit")? != "mark" {
        "unsplit = \"mark\""
    } else if reader.choice("mode")? != "none" {
        "mode = \"none\": a proxy that splits is beyond the core, and marks there"
    } else {
        return Ok(true);
    };
    Err(fault(
        reader.place("unsplit-inside"),
        "unsplit-inside = \"gtp-u\" alone",
    )
    .allowed(format!("it needs {missing}"))
    .hint("set that, or leave out \"unsplit-inside\""))
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

/// How the proxy decides.
fn decides(reader: &mut Reader<'_>, mode: Mode) -> Checked<EdgeConfig> {
    let mut config = EdgeConfig::new(mode);
    let mut plain_after = config.plain_after;
    for (key, setting) in config.settings() {
        match setting {
            Setting::Duration(time) if key == "plain-after" => {
                *time = reader.quantity_or(key, plain_after)?;
            }
            Setting::Duration(time) => {
                *time = reader.quantity(key)?;
                if key == "report-max-age" {
                    plain_after = plain_after.max(*time);
                }
            }
            Setting::Number(number) => *number = reader.number(key)?,
            Setting::Bytes(size) => *size = reader.quantity(key)?,
            Setting::Count(count) => *count = reader.count(key)?,
            Setting::Bearer(bearer) => *bearer = reader.count(key)?,
            Setting::Flag(flag) => *flag = reader.flag(key)?,
            // what the other mode has is left as it is: a file may be run in both
            Setting::Parts(parts) if mode == Mode::Default => {
                let names = Part::ALL.map(Part::name);
                *parts = list(reader, key, "mode default has no part", Part::named, &names)?;
            }
            Setting::Readings(readings) if mode == Mode::Paper => {
                let names = Reading::ALL.map(Reading::name);
                let missing = "mode paper has no reading";
                *readings = list(reader, key, missing, Reading::named, &names)?;
            }
            Setting::Parts(_) | Setting::Readings(_) => {}
        }
    }
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
