//! Controllers by the names that scenario files use.

use crate::bbr::Bbr;
use crate::bbr3::{self, Bbr3};
use crate::cdbe::{self, Cdbe};
use crate::cubic::{self, Cubic};
use crate::dctcp::Dctcp;
use crate::newreno::NewReno;
use crate::vegas::Vegas;
use crate::veno::Veno;
use crate::westwood::Westwood;
use crate::yeah::YeAh;
use crate::{CongestionControl, bbr, cqic, reno};
use units::Bytes;

/// What every controller must know of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildConfig {
    /// Most payload of one segment. Taken as at least one byte.
    pub mss: Bytes,
    /// Window before the first acknowledgement (RFC 6928: ten segments). Taken as at least one
    /// segment.
    pub initial_window: Bytes,
}

impl BuildConfig {
    /// The same with the documented minimums, on which the controllers' arithmetic relies.
    pub(crate) fn bounded(self) -> Self {
        let mss = self.mss.max(Bytes::new(1));
        Self {
            mss,
            initial_window: self.initial_window.max(mss),
        }
    }
}

/// No controller has the name that was requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown congestion control {name:?}: {hint}known are {known}; choose one of them",
    hint = self.hint(), known = NAMES.join(", "))]
pub struct UnknownController {
    /// The name that was requested.
    pub name: String,
    /// Known names that resemble it, the nearest first; empty if none does.
    pub suggestions: Vec<&'static str>,
}

impl UnknownController {
    fn hint(&self) -> String {
        match self.suggestions.first() {
            Some(nearest) => format!("did you mean {nearest:?}? "),
            None => String::new(),
        }
    }
}

const NAMES: &[&str] = &[
    "newreno",
    "cubic",
    "cubic-hystart++",
    "cubic-plain",
    "vegas",
    "vegas-linux",
    "westwood",
    "yeah",
    "veno",
    "bbr",
    "bbr2",
    "bbr3",
    "dctcp",
    "cdbe",
    "cqic",
    "cqic-s",
];

/// Those of them whose window falls in proportion to the share of marked data, so that they can live
/// with the many marks of an L4S queue (RFC 9331 4.3).
const SCALABLE: &[&str] = &["dctcp"];

/// Those of them that pace by the bandwidth that their client reports.
const REPORTED: &[&str] = &["cdbe", "cqic", "cqic-s"];

/// The names that [`build`] accepts.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// The names of scalable controllers: those that may declare their packets ECT(1) (RFC 9331 4.3).
pub fn scalable_names() -> &'static [&'static str] {
    SCALABLE
}

/// The names of controllers that pace by the bandwidth that their client reports.
pub fn reported_names() -> &'static [&'static str] {
    REPORTED
}

/// Makes the controller of that name.
///
/// | name | controller |
/// | --- | --- |
/// | `newreno` | [`NewReno`], not paced |
/// | `cubic` | [`Cubic`] as in Linux: HyStart, not paced |
/// | `cubic-hystart++` | [`Cubic`] as in RFC 9438 with HyStart++ (RFC 9406), not paced |
/// | `cubic-plain` | [`Cubic`] as in Linux with `hystart=0`: slow start ends by loss only |
/// | `vegas` | [`Vegas`] with the slow start of its paper, not paced |
/// | `vegas-linux` | [`Vegas`] with the slow start of Linux and ns-3, not paced |
/// | `westwood` | [`Westwood`], Westwood+, not paced |
/// | `yeah` | [`YeAh`] as in Linux, not paced |
/// | `veno` | [`Veno`], not paced |
/// | `bbr` | [`Bbr`] version 1 as in Linux, paced |
/// | `bbr2` | [`Bbr3`] with the rules of version 2, paced |
/// | `bbr3` | [`Bbr3`], paced |
/// | `dctcp` | [`Dctcp`], not paced |
/// | `cdbe` | [`Cdbe`] in mode `default`, paced |
/// | `cqic` | CQIC's server ([`cqic::server`]), paced |
/// | `cqic-s` | [`Cdbe`] as above; its clients report as CQIC's do |
///
/// # Errors
/// [`UnknownController`] if no controller has that name.
pub fn build(
    name: &str,
    config: BuildConfig,
) -> Result<Box<dyn CongestionControl>, UnknownController> {
    Ok(match name {
        "newreno" => Box::new(NewReno::new(reno::Config::new(config))),
        "cubic" => Box::new(Cubic::new(cubic::Config::linux(config))),
        "cubic-hystart++" => Box::new(Cubic::new(cubic::Config::rfc9438(config))),
        "cubic-plain" => Box::new(Cubic::new(cubic::Config::linux_without_hystart(config))),
        "vegas" => Box::new(Vegas::new(reno::Config::new(config))),
        "vegas-linux" => Box::new(Vegas::linux(reno::Config::new(config))),
        "westwood" => Box::new(Westwood::new(reno::Config::new(config))),
        "yeah" => Box::new(YeAh::new(reno::Config::new(config))),
        "veno" => Box::new(Veno::new(reno::Config::new(config))),
        "bbr" => Box::new(Bbr::new(bbr::Config::new(config))),
        "bbr2" => Box::new(Bbr3::new(bbr3::Config::v2(config))),
        "bbr3" => Box::new(Bbr3::new(bbr3::Config::v3(config))),
        "dctcp" => Box::new(Dctcp::new(reno::Config::new(config))),
        "cdbe" => Box::new(Cdbe::new(cdbe::Config::new(cdbe::Mode::Default, config))),
        "cqic" => Box::new(cqic::server::controller(config)),
        "cqic-s" => Box::new(Cdbe::new(
            cdbe::Config::new(cdbe::Mode::Default, config).for_cqic(),
        )),
        _ => {
            return Err(UnknownController {
                name: name.to_owned(),
                suggestions: similar(name),
            });
        }
    })
}

/// Known names that contain the given one or are contained in it, then those at most three edits and
/// half of its letters away; each the nearest first.
fn similar(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    if name.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<_> = NAMES
        .iter()
        .map(|&known| {
            let is_part = known.contains(&*name) || name.contains(known);
            (!is_part, strsim::damerau_levenshtein(&name, known), known)
        })
        .filter(|&(is_other, edits, _)| !is_other || (edits <= 3 && edits * 2 <= name.len()))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, _, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BuildConfig = BuildConfig {
        mss: Bytes::new(1_448),
        initial_window: Bytes::new(14_480),
    };

    #[test]
    fn every_name_builds_the_controller_of_that_name() {
        for &name in names() {
            let controller = build(name, CONFIG).expect(name);
            assert_eq!(controller.name(), name);
            assert_eq!(controller.cwnd(), CONFIG.initial_window);
        }
    }

    #[test]
    fn scalable_controllers_are_known_controllers() {
        assert!(scalable_names().iter().all(|name| names().contains(name)));
    }

    #[test]
    fn controllers_show_what_they_make_of_reports_if_they_take_any() {
        for &name in names() {
            let is_reported = build(name, CONFIG).expect(name).rate_view().is_some();
            assert_eq!(reported_names().contains(&name), is_reported, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_resembles_it() {
        let error = |name: &str| build(name, CONFIG).expect_err("unknown");
        assert_eq!(error("Cubik").suggestions.first(), Some(&"cubic"));
        assert_eq!(error("reno").suggestions, ["newreno", "veno"]);
        assert_eq!(error("westwood+").suggestions, ["westwood"]);
        assert_eq!(error("bbrv1").suggestions, ["bbr", "bbr2", "bbr3"]);
        assert_eq!(error("hystart++").suggestions, ["cubic-hystart++"]);
        assert!(error("quetzalcoatl").suggestions.is_empty());
        assert!(error("").suggestions.is_empty());
        assert_eq!(
            error("bbrr").to_string(),
            "unknown congestion control \"bbrr\": did you mean \"bbr\"? known are newreno, cubic, \
             cubic-hystart++, cubic-plain, vegas, vegas-linux, westwood, yeah, veno, bbr, bbr2, bbr3, dctcp, \
             cdbe, cqic, cqic-s; choose one of them"
        );
    }

    #[test]
    fn impossible_sizes_are_raised_to_the_least_possible() {
        let zero = BuildConfig {
            mss: Bytes::ZERO,
            initial_window: Bytes::ZERO,
        };
        for &name in names() {
            assert_eq!(build(name, zero).expect(name).cwnd(), Bytes::new(1));
        }
    }
}
