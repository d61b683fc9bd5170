//! The tables of what decides: `[rapid]`, and `[record]`, which keeps what it was measured.

use super::{ConfigError, Control, Recording, Reports, WanActuator};
use daemon::config::Section;
use edge::{Actuator, EdgeConfig, Setting};
use rapid::{Part, Reading};
use rnis::MAX_BEARER;
use std::path::PathBuf;
use units::Bytes;

/// Maximum that is recorded where nothing else is set.
const RECORDED: Bytes = Bytes::new(1_000_000_000);

/// How the proxy decides, and how its windows are set.
pub(super) struct Decides {
    /// None where connections are split and nothing more.
    pub(super) edge: Option<EdgeConfig>,
    pub(super) actuator: Actuator,
    pub(super) wan_actuator: WanActuator,
}

/// What `[rapid]` states, and `control`.
pub(super) fn decides(
    top: &mut Section<'_, '_>,
    control: Control,
    reports: &Reports,
) -> Result<Decides, ConfigError> {
    let mode = match control {
        Control::Rapid(mode) => mode,
        Control::Split => {
            top.refuse(
                "rapid",
                "is for control = \"default\" and \"paper\"; this is control = \"split\"",
            )?;
            return Ok(Decides {
                edge: None,
                actuator: Actuator::Window,
                wan_actuator: WanActuator::Clamp,
            });
        }
    };
    let mut table = top.table_or_empty("rapid", "[rapid]")?;
    let mut config = EdgeConfig::new(mode);
    config.allocator.report_max_age = reports.max_age;
    config.plain_after = reports.plain_after;
    // what is allowed is checked as a whole
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    for (key, setting) in config.settings() {
        match setting {
            // they are in `[reports]`
            Setting::Duration(_) if ["report-max-age", "plain-after"].contains(&key) => {}
            Setting::Duration(time) => set(time, table.parsed(key)?),
            Setting::Number(number) => set(number, table.number(key, any.clone())?),
            Setting::Bytes(size) => set(size, table.parsed(key)?),
            Setting::Count(count) => set(count, table.whole(key, 0..=i64::MAX)?),
            Setting::Bearer(bearer) => set(bearer, table.whole(key, 0..=MAX_BEARER.into())?),
            Setting::Flag(flag) => set(flag, table.truth(key)?),
            Setting::Parts(parts) => {
                *parts = names(&mut table, key, Part::named, &Part::ALL.map(Part::name))?;
            }
            Setting::Readings(readings) => {
                let known = Reading::ALL.map(Reading::name);
                *readings = names(&mut table, key, Reading::named, &known)?;
            }
        }
    }
    let actuators = Actuator::ALL.map(|actuator| (actuator.name(), actuator));
    let actuator = table.word("actuator", &actuators)?;
    let wan_actuators = WanActuator::ALL.map(|actuator| (actuator.name(), actuator));
    let wan_actuator = table.word("wan-actuator", &wan_actuators)?;
    config.check().map_err(|error| table.fault(error))?;
    table.finish()?;
    Ok(Decides {
        edge: Some(config),
        actuator: actuator.unwrap_or(Actuator::Window),
        wan_actuator: wan_actuator.unwrap_or_default(),
    })
}

fn set<T>(to: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *to = given;
    }
}

/// A list of names of which all are known.
fn names<T>(
    table: &mut Section<'_, '_>,
    key: &'static str,
    named: impl Fn(&str) -> Option<T>,
    known: &[&str],
) -> Result<Vec<T>, ConfigError> {
    let given = table.parsed_list::<String>(key)?;
    let found = given.into_iter().map(|name| {
        named(&name).ok_or_else(|| {
            table.fault(format!(
                "{key}: {name:?} is not known; expected some of {}",
                known.join(", ")
            ))
        })
    });
    found.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use rapid::Mode;

    const FILE: &str = "mode = \"transparent\"\nue-prefixes = [\"10.45.0.0/24\"]\nran-interface = \"ran0\"\n\
                        wan-interface = \"wan0\"\n";

    fn decided(control: &str, reports: &str, rapid: &str) -> EdgeConfig {
        let text = format!(
            "control = \"{control}\"\n{FILE}[reports]\nsource = \"unix:/radio\"\n{reports}\n[rapid]\n{rapid}\n"
        );
        let config = Config::parse("pep.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        config.edge.expect("it decides")
    }

    /// The file has every value of the edge under its key, with its default, and as [`Setting::toml`] writes it.
    #[test]
    fn every_setting_of_the_edge_is_a_key_with_its_default() {
        for mode in Mode::ALL {
            let control = mode.name();
            assert_eq!(decided(control, "", ""), EdgeConfig::new(mode));
            let keys = EdgeConfig::new(mode).settings().map(|(key, _)| key);
            for changed in keys {
                let mut config = EdgeConfig::new(mode);
                let mut line = String::new();
                for (key, mut setting) in config.settings() {
                    if key == changed {
                        setting.alter(key);
                        line = format!("{key} = {}", setting.toml());
                    }
                }
                let (reports, rapid) = match changed {
                    "report-max-age" | "plain-after" => (line.as_str(), ""),
                    _ => ("", line.as_str()),
                };
                assert_eq!(decided(control, reports, rapid), config, "{line}");
            }
        }
    }
}
