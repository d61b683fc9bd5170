//! Controllers by the names that scenario files use, each with all that is to be stated of it.

use crate::bbr::Bbr;
use crate::bbr3::{self, Bbr3};
use crate::cdbe::{self, Cdbe};
use crate::cubic::{self, Cubic};
use crate::dctcp::Dctcp;
use crate::newreno::NewReno;
use crate::prague::Prague;
use crate::vegas::Vegas;
use crate::veno::Veno;
use crate::westwood::Westwood;
use crate::yeah::YeAh;
use crate::{CongestionControl, Reporter, bbr, cqic, reno};
use units::Bytes;

/// What every controller needs of its connection.
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
    /// The known name that resembles it most, if one does.
    pub suggestion: Option<&'static str>,
}

impl UnknownController {
    fn hint(&self) -> String {
        let question = |name| suggestion::question(name) + " ";
        self.suggestion.map_or(String::new(), question)
    }
}

/// A controller by its name, and what others depend on of it.
#[derive(Debug)]
pub struct Controller {
    /// As files name it.
    pub name: &'static str,
    /// Other names of the field, which files may have as well.
    pub also: &'static [&'static str],
    /// As figures and tables name it.
    pub title: &'static str,
    /// Its window falls in proportion to the share of marked data, so that it can live with the many marks of an
    /// L4S queue: it may declare its packets ECT(1) (RFC 9331 4.3).
    pub is_scalable: bool,
    /// It paces by the bandwidth that its client reports, which is measured so.
    pub reporter: Option<Reporter>,
    /// It draws from its random stream, so that runs of different seeds differ by it alone.
    pub draws: bool,
    /// Its CCID on DCCP paths (RFC 4340 10), if it has a number there.
    pub ccid: Option<u8>,
    /// The live tunnel's DCCP paths can have it.
    pub is_for_paths: bool,
    /// What Linux calls it, or what is nearest to it there by nature.
    pub linux: &'static str,
    /// The nearest relative that every kernel has, if its own lacks it.
    pub relative: Option<&'static str>,
    build: fn(BuildConfig) -> Box<dyn CongestionControl>,
}

impl Controller {
    /// One that is neither scalable nor reported to, of the same name in Linux, and not for the tunnel's paths.
    const fn new(
        name: &'static str,
        title: &'static str,
        build: fn(BuildConfig) -> Box<dyn CongestionControl>,
    ) -> Self {
        Self {
            name,
            also: &[],
            title,
            is_scalable: false,
            reporter: None,
            draws: false,
            ccid: None,
            is_for_paths: false,
            linux: name,
            relative: None,
            build,
        }
    }
    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }
    const fn scalable(self) -> Self {
        Self {
            is_scalable: true,
            ..self
        }
    }
    const fn reported(self, reporter: Reporter) -> Self {
        Self {
            reporter: Some(reporter),
            ..self
        }
    }
    const fn drawing(self) -> Self {
        Self {
            draws: true,
            ..self
        }
    }
    const fn for_paths(self, ccid: Option<u8>) -> Self {
        Self {
            ccid,
            is_for_paths: true,
            ..self
        }
    }
    const fn linux(self, linux: &'static str) -> Self {
        Self { linux, ..self }
    }
    const fn relative(self, relative: &'static str) -> Self {
        Self {
            relative: Some(relative),
            ..self
        }
    }
    /// Makes it.
    pub fn build(&self, config: BuildConfig) -> Box<dyn CongestionControl> {
        (self.build)(config)
    }
}

/// All of them, in the order of messages. Other names that are read: `reno` for `newreno`, `bbr1` and `bbrv1` for
/// `bbr`, `bbrv2` for `bbr2`, `bbrv3` for `bbr3`.
///
/// | name | controller |
/// | --- | --- |
/// | `newreno` | [`NewReno`], not paced |
/// | `cubic` | [`Cubic`] as in Linux: HyStart, not paced |
/// | `cubic-hystart++` | [`Cubic`] as in RFC 9438 with HyStart++ (RFC 9406), not paced |
/// | `cubic-plain` | [`Cubic`] as in Linux with `hystart=0`: slow start ends by loss only |
/// | `newreno-abe` | [`NewReno`] with RFC 8511's reaction to marks, not paced |
/// | `cubic-abe` | [`Cubic`] as in Linux with RFC 8511's reaction to marks, not paced |
/// | `vegas` | [`Vegas`] with the slow start of its paper, not paced |
/// | `vegas-linux` | [`Vegas`] with the slow start of Linux and ns-3, not paced |
/// | `westwood` | [`Westwood`], Westwood+, not paced |
/// | `yeah` | [`YeAh`] as in Linux, not paced |
/// | `veno` | [`Veno`], not paced |
/// | `bbr` | [`Bbr`] version 1 as in Linux, paced |
/// | `bbr2` | [`Bbr3`] with the rules of version 2, paced |
/// | `bbr3` | [`Bbr3`], paced |
/// | `dctcp` | [`Dctcp`], not paced |
/// | `prague` | [`Prague`], paced |
/// | `cdbe` | [`Cdbe`] in mode `default`, paced |
/// | `cqic` | CQIC's server ([`cqic::server`]), paced |
/// | `cqic-s` | [`Cdbe`] as above; its clients report as CQIC's do |
///
/// Westwood+, Veno, Vegas and YeAH all are Reno with another rule for when or how far to reduce the window: with
/// deep buffers and no loss on the radio, what is left of them is Reno, their relative.
pub const CONTROLLERS: &[Controller] = &[
    Controller::new("newreno", "NewReno", |c| {
        Box::new(NewReno::new(reno::Config::new(c)))
    })
    .also(&["reno"])
    .linux("reno")
    .for_paths(Some(2)),
    Controller::new("cubic", "Cubic", |c| {
        Box::new(Cubic::new(cubic::Config::linux(c)))
    })
    .for_paths(None),
    Controller::new("cubic-hystart++", "Cubic with HyStart++", |c| {
        Box::new(Cubic::new(cubic::Config::rfc9438(c)))
    }),
    Controller::new("cubic-plain", "Cubic without HyStart", |c| {
        Box::new(Cubic::new(cubic::Config::linux_without_hystart(c)))
    }),
    Controller::new("newreno-abe", "NewReno with ABE", |c| {
        Box::new(NewReno::new(reno::Config::new(c).abe()))
    })
    .linux("reno"),
    Controller::new("cubic-abe", "Cubic with ABE", |c| {
        Box::new(Cubic::new(cubic::Config::abe(c)))
    })
    .linux("cubic"),
    Controller::new("vegas", "Vegas", |c| {
        Box::new(Vegas::new(reno::Config::new(c)))
    })
    .relative("newreno"),
    Controller::new("vegas-linux", "Vegas as in Linux", |c| {
        Box::new(Vegas::linux(reno::Config::new(c)))
    })
    .relative("newreno"),
    Controller::new("westwood", "Westwood+", |c| {
        Box::new(Westwood::new(reno::Config::new(c)))
    })
    .relative("newreno"),
    Controller::new("yeah", "YeAH", |c| {
        Box::new(YeAh::new(reno::Config::new(c)))
    })
    .relative("newreno"),
    Controller::new("veno", "Veno", |c| {
        Box::new(Veno::new(reno::Config::new(c)))
    })
    .relative("newreno"),
    Controller::new("bbr", "BBR", |c| Box::new(Bbr::new(bbr::Config::new(c))))
        .also(&["bbr1", "bbrv1"])
        .drawing()
        .relative("cubic")
        .for_paths(Some(5)),
    Controller::new("bbr2", "BBRv2", |c| {
        Box::new(Bbr3::new(bbr3::Config::v2(c)))
    })
    .also(&["bbrv2"])
    .drawing()
    .relative("bbr")
    .for_paths(None),
    Controller::new("bbr3", "BBRv3", |c| {
        Box::new(Bbr3::new(bbr3::Config::v3(c)))
    })
    .also(&["bbrv3"])
    .drawing()
    .relative("bbr")
    .for_paths(None),
    Controller::new("dctcp", "DCTCP", |c| {
        Box::new(Dctcp::new(reno::Config::new(c)))
    })
    .scalable(),
    Controller::new("prague", "Prague", |c| Box::new(Prague::new(c)))
        .scalable()
        .for_paths(None),
    // CDBE's server has a controller of its own in each lab; where it is not to be had, its fallback is named
    Controller::new("cdbe", "CDBE", |c| {
        Box::new(Cdbe::new(cdbe::Config::new(cdbe::Mode::Default, c)))
    })
    .linux("bbr")
    .drawing()
    .reported(Reporter::Cdbe),
    Controller::new("cqic", "CQIC", |c| Box::new(cqic::server::controller(c)))
        .drawing()
        .reported(Reporter::Cqic),
    Controller::new("cqic-s", "CQIC-S", |c| {
        let config = cdbe::Config::new(cdbe::Mode::Default, c);
        Box::new(Cdbe::new(config.for_cqic()))
    })
    .linux("bbr")
    .drawing()
    .reported(Reporter::Cqic),
];

const NAMES: &[&str] = &{
    let mut names = [""; CONTROLLERS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = CONTROLLERS[i].name;
        i += 1;
    }
    names
};

/// The names that [`build`] accepts.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// The names of those for which something holds.
pub fn names_of(holds: impl Fn(&Controller) -> bool) -> impl Iterator<Item = &'static str> {
    CONTROLLERS
        .iter()
        .filter(move |of| holds(of))
        .map(|of| of.name)
}

/// The controller of that name, or of that other name.
pub fn find(name: &str) -> Option<&'static Controller> {
    let is_named = |of: &&Controller| of.name == name || of.also.contains(&name);
    CONTROLLERS.iter().find(is_named)
}

/// The controller of that name, or of that other name, as [`find`], with what resembles a wrong one.
///
/// # Errors
/// [`UnknownController`] if no controller has that name.
pub fn named(name: &str) -> Result<&'static Controller, UnknownController> {
    find(name).ok_or_else(|| UnknownController {
        name: name.to_owned(),
        suggestion: suggestion::nearest(name, NAMES.iter().copied()),
    })
}

/// Makes the controller of that name, one of [`CONTROLLERS`].
///
/// # Errors
/// [`UnknownController`] if no controller has that name.
pub fn build(
    name: &str,
    config: BuildConfig,
) -> Result<Box<dyn CongestionControl>, UnknownController> {
    named(name).map(|found| found.build(config))
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
    fn no_name_is_there_twice_and_relatives_are_known() {
        for (i, of) in CONTROLLERS.iter().enumerate() {
            assert!(CONTROLLERS[..i].iter().all(|other| other.name != of.name));
            assert!(of.relative.is_none_or(|name| find(name).is_some()));
        }
    }

    #[test]
    fn controllers_show_what_they_make_of_reports_if_they_take_any() {
        for of in CONTROLLERS {
            let is_reported = of.build(CONFIG).rate_view().is_some();
            assert_eq!(of.reporter.is_some(), is_reported, "{}", of.name);
        }
    }

    #[test]
    fn other_names_are_unique_and_of_no_other() {
        let all = CONTROLLERS.iter().flat_map(|of| {
            let names = of.also.iter().chain([&of.name]);
            names.map(move |&name| (name, of.name))
        });
        for (name, of) in all {
            assert_eq!(find(name).map(|of| of.name), Some(of), "{name}");
        }
        assert_eq!(build("reno", CONFIG).map(|of| of.name()), Ok("newreno"));
        assert_eq!(build("bbrv2", CONFIG).map(|of| of.name()), Ok("bbr2"));
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_resembles_it() {
        let error = |name: &str| build(name, CONFIG).expect_err("unknown");
        assert_eq!(error("Cubik").suggestion, Some("cubic"));
        assert_eq!(error("newren").suggestion, Some("newreno"));
        assert_eq!(error("westwood+").suggestion, Some("westwood"));
        assert_eq!(error("bbrv4").suggestion, Some("bbr"));
        assert_eq!(error("hystart++").suggestion, Some("cubic-hystart++"));
        assert_eq!(error("quetzalcoatl").suggestion, None);
        assert_eq!(error("").suggestion, None);
        assert_eq!(
            error("bbrr").to_string(),
            "unknown congestion control \"bbrr\": did you mean \"bbr\"? known are newreno, cubic, \
             cubic-hystart++, cubic-plain, newreno-abe, cubic-abe, vegas, vegas-linux, westwood, yeah, veno, bbr, \
             bbr2, bbr3, dctcp, prague, cdbe, cqic, cqic-s; choose one of them"
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
