//! What is compared: queue management at RLC and SDAP, and the bulk flow's congestion control.

use crate::experiment::Experiment;

/// A combination of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// As the paper calls it.
    pub(super) name: &'static str,
    /// Knobs.
    settings: &'static [(&'static str, &'static str)],
    /// What the paper reports of it on the pedestrian's trace, if it gives numbers.
    pub(super) paper: Option<Paper>,
    /// What the authors' code gave when we ran it, if it was run.
    pub(super) authors: Option<Authors>,
}

/// Numbers of the paper: the smallest and the greatest over the intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paper {
    /// Mean delay, ms.
    pub(super) delay: [f64; 2],
    /// The same, as a text.
    pub(super) delay_text: &'static str,
    /// Share of the radio that was used.
    pub(super) utilisation: [f64; 2],
    /// The same, as a text.
    pub(super) utilisation_text: &'static str,
}

impl Eq for Paper {}

/// What the authors' code gave on kernel 6.18, at intervals of 20 and 70 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Authors {
    /// Mean delay, ms.
    pub(super) delay: &'static str,
    /// Share of the radio that was used; may be empty.
    pub(super) utilisation: &'static str,
}

impl Variant {
    const fn new(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            name,
            settings,
            paper: None,
            authors: None,
        }
    }

    const fn with(self, paper: Paper, authors: Authors) -> Self {
        Self {
            paper: Some(paper),
            authors: Some(authors),
            ..self
        }
    }

    const fn run(self, delay: &'static str) -> Self {
        let authors = Authors {
            delay,
            utilisation: "",
        };
        Self {
            authors: Some(authors),
            ..self
        }
    }

    /// An experiment with it.
    pub(super) fn of(&self, base: Experiment) -> Experiment {
        let settings = self.settings.iter();
        settings.fold(base, |e, (key, value)| e.set(key, *value))
    }
}

/// Drop-tail at the RLC.
pub(super) const VANILLA: Variant = Variant::new("Vanilla", &[("rlc", "drop-tail")]);
/// The same under another congestion control.
pub(super) const BBR: Variant = Variant::new("BBR", &[("rlc", "drop-tail"), ("cc", "bbr")]);
pub(super) const CODEL: Variant = Variant::new("CoDel", &[("rlc", "codel")]);
pub(super) const DYNRLC: Variant = Variant::new("DynRLC", &[("rlc", "dynrlc")]);
pub(super) const DRQL: Variant = Variant::new("DRQL", &[("rlc", "drql")]);
pub(super) const BDP: Variant = Variant::new("5G-BDP", &[("rlc", "5g-bdp")]);
/// Ours.
pub(super) const DEFAULT: Variant = Variant::new("default", &[("rlc", "default")]);
pub(super) const CODEL_DYNRLC: Variant =
    Variant::new("CoDel@DynRLC", &[("rlc", "dynrlc"), ("sdap", "codel")]);
pub(super) const CODEL_DRQL: Variant =
    Variant::new("CoDel@DRQL", &[("rlc", "drql"), ("sdap", "codel")]);
pub(super) const CODEL_BDP: Variant =
    Variant::new("CoDel@5G-BDP", &[("rlc", "5g-bdp"), ("sdap", "codel")]).run("16.3");
pub(super) const USP_DYNRLC: Variant =
    Variant::new("USP@DynRLC", &[("rlc", "dynrlc"), ("sdap", "usp")]);
pub(super) const USP_DRQL: Variant = Variant::new("USP@DRQL", &[("rlc", "drql"), ("sdap", "usp")]);
pub(super) const USP_BDP: Variant =
    Variant::new("USP@5G-BDP", &[("rlc", "5g-bdp"), ("sdap", "usp")]).run("11.7");

/// The authors' own code for CoDel and USP, in the RLC and in SDAP.
pub(super) const EMULATOR_CODEL: Variant =
    Variant::new("authors' CoDel", &[("rlc", "codel-emulator")]);
pub(super) const EMULATOR_CODEL_DYNRLC: Variant = Variant::new(
    "authors' CoDel@DynRLC",
    &[("rlc", "dynrlc"), ("sdap", "codel-emulator")],
);
pub(super) const EMULATOR_CODEL_DRQL: Variant = Variant::new(
    "authors' CoDel@DRQL",
    &[("rlc", "drql"), ("sdap", "codel-emulator")],
);
pub(super) const EMULATOR_CODEL_BDP: Variant = Variant::new(
    "authors' CoDel@5G-BDP",
    &[("rlc", "5g-bdp"), ("sdap", "codel-emulator")],
)
.run("16.3");
pub(super) const EMULATOR_USP_DYNRLC: Variant = Variant::new(
    "authors' USP@DynRLC",
    &[("rlc", "dynrlc"), ("sdap", "usp-emulator")],
);
pub(super) const EMULATOR_USP_DRQL: Variant = Variant::new(
    "authors' USP@DRQL",
    &[("rlc", "drql"), ("sdap", "usp-emulator")],
);
pub(super) const EMULATOR_USP_BDP: Variant = Variant::new(
    "authors' USP@5G-BDP",
    &[("rlc", "5g-bdp"), ("sdap", "usp-emulator")],
)
.run("11.7");

/// Those of the first scenario, with the numbers of figure 7, in the order of their delays.
pub(super) const INDIVIDUAL: &[Variant] = &[
    VANILLA.with(
        Paper {
            delay: [75.0, 85.0],
            delay_text: "75 to 85",
            utilisation: [1.0, 1.0],
            utilisation_text: "1.0",
        },
        Authors {
            delay: "80.1, 81.8",
            utilisation: "0.9999",
        },
    ),
    BBR.with(
        Paper {
            delay: [33.4, 42.5],
            delay_text: "33.4 to 42.5",
            utilisation: [0.980_07, 0.986_19],
            utilisation_text: "0.980 to 0.986",
        },
        Authors {
            delay: "59, 46",
            utilisation: "0.998",
        },
    ),
    CODEL.with(
        Paper {
            delay: [25.66, 26.69],
            delay_text: "25.7 to 26.7",
            utilisation: [0.999_67, 0.999_99],
            utilisation_text: "0.9997 to 1.0000",
        },
        Authors {
            delay: "28.5, 27.0",
            utilisation: "0.998",
        },
    ),
    DYNRLC.with(
        Paper {
            delay: [16.23, 16.40],
            delay_text: "16.2 to 16.4",
            utilisation: [0.987_74, 0.988_76],
            utilisation_text: "0.9877 to 0.9888",
        },
        Authors {
            delay: "15.9",
            utilisation: "0.988",
        },
    ),
    DRQL.with(
        Paper {
            delay: [15.92, 16.11],
            delay_text: "15.9 to 16.1",
            utilisation: [0.999_94, 0.999_99],
            utilisation_text: "0.9999",
        },
        Authors {
            delay: "15.6",
            utilisation: "0.9993",
        },
    ),
    BDP.with(
        Paper {
            delay: [9.12, 9.43],
            delay_text: "9.12 to 9.43",
            utilisation: [0.999_47, 0.999_49],
            utilisation_text: "0.9995",
        },
        Authors {
            delay: "9.25",
            utilisation: "0.9993",
        },
    ),
    DEFAULT,
];

/// Those of the second scenario, in the order of the paper's delays.
pub(super) const SHARED: &[Variant] = &[
    VANILLA,
    BBR,
    CODEL_DRQL,
    CODEL_DYNRLC,
    CODEL_BDP,
    USP_DYNRLC,
    USP_DRQL,
    USP_BDP,
    DEFAULT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_settings_distinguish_variants() {
        for all in [INDIVIDUAL, SHARED] {
            for (i, variant) in all.iter().enumerate() {
                let rest = &all[i + 1..];
                assert!(!rest.iter().any(|v| v.name == variant.name), "{variant:?}");
                assert!(!rest.iter().any(|v| v.settings == variant.settings));
            }
        }
    }

    #[test]
    fn the_papers_numbers_are_ranges() {
        let papers = INDIVIDUAL.iter().filter_map(|v| v.paper);
        for paper in papers {
            assert!(paper.delay[0] < paper.delay[1], "{paper:?}");
            assert!(paper.utilisation[0] <= paper.utilisation[1], "{paper:?}");
        }
    }
}
