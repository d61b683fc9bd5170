//! Path loss: what distance takes from a signal.
//!
//! | name | model |
//! | --- | --- |
//! | `umi-street-canyon` | TR 38.901 Table 7.4.1-1, see [`umi`] |
//! | `umi-street-canyon-optional` | the same with the optional NLOS formula |
//! | `cost231-hata`, `-metropolitan`, `-large-city`, `-large-city-metropolitan` | see [`cost231`] |
//! | `free-space` | ITU-R P.525: 20 log10(4 pi d f / c) |
//!
//! A carrier outside a model's range is refused, and so are heights at which a formula loses its
//! meaning. Distances and other heights outside its range are extrapolated, and a [`RangeWarning`]
//! states it by name.
//!
//! *Deviations.* Distances below 1 m count as 1 m: nearer, no formula here is for the far field.
//! COST231-Hata is extrapolated below 1 km, as small cells need it, but never below free space.

pub(super) mod cost231;
pub(super) mod umi;

use super::geometry::{LIGHT, Metres};
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use units::{Decibel, Hertz};

/// Distances below this one count as this one, m.
const NEAREST: f64 = 1.0;

/// A path loss model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathLoss {
    /// TR 38.901 UMi-Street Canyon.
    UmiStreetCanyon,
    /// TR 38.901 UMi-Street Canyon with the optional NLOS formula.
    UmiStreetCanyonOptional,
    /// COST231-Hata.
    Cost231Hata {
        /// Whose correction a(h_m) for the height of the UE holds: a large city's, or that of a
        /// medium one.
        large_city: bool,
        /// A metropolitan centre: C = 3 dB, else 0.
        metropolitan: bool,
    },
    /// Free space.
    FreeSpace,
}

/// Whether the UE sees the base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sight {
    /// It does (LOS).
    Line,
    /// It does not (NLOS).
    NoLine,
}

impl PathLoss {
    /// All models.
    pub const ALL: [Self; 7] = [
        Self::UmiStreetCanyon,
        Self::UmiStreetCanyonOptional,
        Self::Cost231Hata {
            large_city: false,
            metropolitan: false,
        },
        Self::Cost231Hata {
            large_city: false,
            metropolitan: true,
        },
        Self::Cost231Hata {
            large_city: true,
            metropolitan: false,
        },
        Self::Cost231Hata {
            large_city: true,
            metropolitan: true,
        },
        Self::FreeSpace,
    ];
    /// Their names.
    pub const NAMES: &'static [&'static str] = &[
        "umi-street-canyon",
        "umi-street-canyon-optional",
        "cost231-hata",
        "cost231-hata-metropolitan",
        "cost231-hata-large-city",
        "cost231-hata-large-city-metropolitan",
        "free-space",
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[match self {
            Self::UmiStreetCanyon => 0,
            Self::UmiStreetCanyonOptional => 1,
            Self::Cost231Hata {
                large_city,
                metropolitan,
            } => 2 + metropolitan as usize + 2 * large_city as usize,
            Self::FreeSpace => 6,
        }]
    }

    /// The range of each quantity, where the model has one.
    const fn range(self) -> Option<Range> {
        match self {
            Self::UmiStreetCanyon | Self::UmiStreetCanyonOptional => Some(umi::RANGE),
            Self::Cost231Hata { .. } => Some(cost231::RANGE),
            Self::FreeSpace => None,
        }
    }
}

impl fmt::Display for PathLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PathLoss {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|model| model.name() == text);
        found.ok_or_else(|| UnknownName::new("path loss model", text, Self::NAMES))
    }
}

/// What a model is for; (least, most).
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// Hz. Outside, the model is refused.
    pub carrier: (u64, u64),
    /// Hz: within `carrier`, but beyond these the model is an extrapolation.
    pub carrier_proper: (u64, u64),
    /// m, on the ground.
    pub distance: (f64, f64),
    /// m.
    pub base_height: (f64, f64),
    /// m.
    pub ue_height: (f64, f64),
    /// m: the UE must be higher, for the formula to exist.
    pub ue_above: f64,
    /// m: the base station must be higher.
    pub base_above: f64,
}

/// Why a path loss model cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathLossError {
    /// The carrier is outside the model's range.
    #[error(
        "a carrier of {} is outside the range of {model}, {} to {}; choose another model",
        Frequency(*.carrier), Frequency(*.least), Frequency(*.most)
    )]
    Carrier {
        /// The model.
        model: PathLoss,
        /// What was given.
        carrier: Hertz,
        /// Lowest carrier.
        least: Hertz,
        /// Highest carrier.
        most: Hertz,
    },
    /// No carrier at all.
    #[error("the carrier frequency is zero; choose for example 28 GHz")]
    NoCarrier,
    /// A height at which the formula does not exist.
    #[error("the height of the {of} is {height}, {model} needs more than {above}")]
    Height {
        /// The model.
        model: PathLoss,
        /// Whose height.
        of: &'static str,
        /// What was given.
        height: Metres,
        /// It must be above this one.
        above: Metres,
    },
}

/// What a model is extrapolated to.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RangeWarning {
    /// The carrier.
    Carrier {
        /// The model.
        model: PathLoss,
        /// What is used.
        carrier: Hertz,
        /// What the model is for.
        range: (Hertz, Hertz),
    },
    /// The distance on the ground.
    Distance {
        /// The model.
        model: PathLoss,
        /// Least and greatest distance that occur.
        distance: (Metres, Metres),
        /// What the model is for.
        range: (Metres, Metres),
    },
    /// A height.
    Height {
        /// The model.
        model: PathLoss,
        /// Whose.
        of: &'static str,
        /// What is used.
        height: Metres,
        /// What the model is for.
        range: (Metres, Metres),
    },
}

impl fmt::Display for RangeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = "beyond, it is extrapolated";
        match self {
            Self::Carrier {
                model,
                carrier,
                range: (a, b),
            } => {
                let (carrier, a, b) = (Frequency(*carrier), Frequency(*a), Frequency(*b));
                write!(
                    f,
                    "{model} is for carriers of {a} to {b}, not {carrier}: {tail}"
                )
            }
            Self::Distance {
                model,
                distance: (least, most),
                range: (a, b),
            } => {
                write!(
                    f,
                    "{model} is for distances of {a} to {b}, not {least} to {most}: {tail}"
                )
            }
            Self::Height {
                model,
                of,
                height,
                range: (a, b),
            } if a == b => {
                write!(
                    f,
                    "{model} is for a height of the {of} of {a}, not {height}: {tail}"
                )
            }
            Self::Height {
                model,
                of,
                height,
                range: (a, b),
            } => {
                write!(
                    f,
                    "{model} is for heights of the {of} of {a} to {b}, not {height}: {tail}"
                )
            }
        }
    }
}

/// A frequency as people write it.
struct Frequency(Hertz);

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GHz", self.0.as_ghz_f64())
    }
}

/// A model for one carrier and pair of heights.
#[derive(Clone, Debug)]
pub struct PathLossModel {
    model: PathLoss,
    carrier: Hertz,
    base_height: f64,
    ue_height: f64,
    formula: Formula,
}

#[derive(Clone, Debug)]
enum Formula {
    Umi(umi::Umi),
    Cost231(cost231::Cost231Hata),
    FreeSpace,
}

impl PathLossModel {
    /// A model for a carrier and the heights of the antennas.
    ///
    /// # Errors
    /// A carrier outside the model's range, a height at which the formula does not exist.
    pub fn new(
        model: PathLoss,
        carrier: Hertz,
        base_height: Metres,
        ue_height: Metres,
    ) -> Result<Self, PathLossError> {
        if carrier.get() == 0 {
            return Err(PathLossError::NoCarrier);
        }
        let above = model
            .range()
            .map_or((0.0, 0.0), |range| (range.base_above, range.ue_above));
        for (of, height, above) in [
            ("base station", base_height, above.0),
            ("UE", ue_height, above.1),
        ] {
            if !(height.get() > above && height.get().is_finite()) {
                let above = Metres::new(above);
                return Err(PathLossError::Height {
                    model,
                    of,
                    height,
                    above,
                });
            }
        }
        if let Some(Range {
            carrier: (least, most),
            ..
        }) = model.range()
            && !(least..=most).contains(&carrier.get())
        {
            let (least, most) = (Hertz::new(least), Hertz::new(most));
            return Err(PathLossError::Carrier {
                model,
                carrier,
                least,
                most,
            });
        }
        let (base_height, ue_height) = (base_height.get(), ue_height.get());
        let formula = match model {
            PathLoss::UmiStreetCanyon => {
                Formula::Umi(umi::Umi::new(carrier, base_height, ue_height, false))
            }
            PathLoss::UmiStreetCanyonOptional => {
                Formula::Umi(umi::Umi::new(carrier, base_height, ue_height, true))
            }
            PathLoss::Cost231Hata {
                large_city,
                metropolitan,
            } => Formula::Cost231(cost231::Cost231Hata::new(
                carrier,
                base_height,
                ue_height,
                large_city,
                metropolitan,
            )),
            PathLoss::FreeSpace => Formula::FreeSpace,
        };
        Ok(Self {
            model,
            carrier,
            base_height,
            ue_height,
            formula,
        })
    }

    /// The median loss at a distance on the ground. Models without LOS and NLOS have one loss for
    /// both.
    pub fn loss(&self, distance: Metres, sight: Sight) -> Decibel {
        let [line, no_line] = self.losses(distance.get());
        Decibel::new(match sight {
            Sight::Line => line,
            Sight::NoLine => no_line,
        })
    }

    /// The median loss with and without line of sight at a distance on the ground in m, dB.
    pub(super) fn losses(&self, ground: f64) -> [f64; 2] {
        let height = self.base_height - self.ue_height;
        let slant = (ground * ground + height * height).sqrt().max(NEAREST);
        match &self.formula {
            Formula::Umi(umi) => umi.losses(ground, slant),
            Formula::Cost231(hata) => {
                let loss = hata.loss(ground.max(NEAREST));
                [loss.max(free_space(self.carrier, slant)); 2]
            }
            Formula::FreeSpace => [free_space(self.carrier, slant); 2],
        }
    }

    /// The probability (0 to 1) that a UE outdoors at this distance on the ground sees the base
    /// station; none where the model has no LOS and NLOS.
    pub fn line_of_sight_probability(&self, distance: Metres) -> Option<f64> {
        matches!(self.formula, Formula::Umi(_))
            .then(|| umi::line_of_sight_probability(distance.get()))
    }

    /// Standard deviation and correlation distance of the shadowing that the model comes with.
    pub fn shadowing(&self, sight: Sight) -> Option<(Decibel, Metres)> {
        match &self.formula {
            Formula::Umi(umi) => {
                let (deviation, distance) = umi.shadowing(sight);
                Some((Decibel::new(deviation), Metres::new(distance)))
            }
            Formula::Cost231(_) | Formula::FreeSpace => None,
        }
    }

    /// In what the model is extrapolated if the UE is between these distances on the ground.
    pub fn warnings(&self, least: Metres, most: Metres) -> Vec<RangeWarning> {
        let mut warnings = Vec::new();
        let model = self.model;
        let Some(range) = model.range() else {
            return warnings;
        };
        let (a, b) = range.carrier_proper;
        if !(a..=b).contains(&self.carrier.get()) {
            let range = (Hertz::new(a), Hertz::new(b));
            warnings.push(RangeWarning::Carrier {
                model,
                carrier: self.carrier,
                range,
            });
        }
        let metres = |(a, b)| (Metres::new(a), Metres::new(b));
        let heights = [
            ("base station", self.base_height, range.base_height),
            ("UE", self.ue_height, range.ue_height),
        ];
        for (of, height, (a, b)) in heights {
            if !(a..=b).contains(&height) {
                let height = Metres::new(height);
                let range = metres((a, b));
                warnings.push(RangeWarning::Height {
                    model,
                    of,
                    height,
                    range,
                });
            }
        }
        let (a, b) = range.distance;
        if least.get() < a || most.get() > b {
            let range = metres(range.distance);
            warnings.push(RangeWarning::Distance {
                model,
                distance: (least, most),
                range,
            });
        }
        warnings
    }
}

/// ITU-R P.525: free-space loss between isotropic antennas, dB; distance in m.
fn free_space(carrier: Hertz, distance: f64) -> f64 {
    20.0 * (4.0 * core::f64::consts::PI * distance * carrier.get() as f64 / LIGHT).log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn model(name: &str, ghz: f64, base: f64, ue: f64) -> Result<PathLossModel, PathLossError> {
        let carrier = Hertz::new((ghz * 1e9) as u64);
        PathLossModel::new(
            name.parse().unwrap(),
            carrier,
            Metres::new(base),
            Metres::new(ue),
        )
    }

    #[test]
    fn names() {
        for (model, name) in PathLoss::ALL.into_iter().zip(PathLoss::NAMES) {
            assert_eq!(model.to_string(), *name);
            assert_eq!(name.parse(), Ok(model));
        }
        let message = "hata".parse::<PathLoss>().unwrap_err().to_string();
        assert!(message.starts_with("unknown path loss model \"hata\"; known: umi-street-canyon,"));
    }

    /// P.525 in its other form: 32.4 + 20 log10(f / MHz) + 20 log10(d / km).
    #[test]
    fn p525_free_space() {
        for (ghz, distance) in [(0.9, 10.0), (2.6, 1000.0), (28.0, 100.0)] {
            let other = 32.45 + 20.0 * f64::log10(ghz * 1e3) + 20.0 * f64::log10(distance / 1e3);
            let here = free_space(Hertz::new((ghz * 1e9) as u64), distance);
            assert!(
                (here - other).abs() < 0.01,
                "{ghz} GHz, {distance} m: {here} {other}"
            );
        }
    }

    #[test]
    fn carriers_outside_the_range_are_refused() {
        assert_eq!(
            model("cost231-hata", 28.0, 30.0, 1.5)
                .unwrap_err()
                .to_string(),
            "a carrier of 28 GHz is outside the range of cost231-hata, 1.5 GHz to 2.69 GHz; \
             choose another model"
        );
        assert!(matches!(
            model("umi-street-canyon", 0.4, 10.0, 1.5),
            Err(PathLossError::Carrier { .. })
        ));
        assert!(matches!(
            model("umi-street-canyon", 101.0, 10.0, 1.5),
            Err(PathLossError::Carrier { .. })
        ));
        assert_eq!(
            model("free-space", 0.0, 10.0, 1.5).unwrap_err(),
            PathLossError::NoCarrier
        );
    }

    #[test]
    fn heights_without_a_formula_are_refused() {
        assert_eq!(
            model("umi-street-canyon", 28.0, 10.0, 1.0)
                .unwrap_err()
                .to_string(),
            "the height of the UE is 1 m, umi-street-canyon needs more than 1 m"
        );
        for (name, base, ue) in [
            ("free-space", -1.0, 1.5),
            ("free-space", 10.0, f64::NAN),
            ("cost231-hata", 0.0, 1.5),
        ] {
            assert!(matches!(
                model(name, 2.0, base, ue),
                Err(PathLossError::Height { .. })
            ));
        }
    }

    #[test]
    fn warnings_by_name() {
        let warnings = |m: &PathLossModel, a, b| -> Vec<String> {
            m.warnings(Metres::new(a), Metres::new(b))
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        let umi = model("umi-street-canyon", 28.0, 10.0, 1.5).unwrap();
        assert!(warnings(&umi, 10.0, 5000.0).is_empty());
        let hata = model("cost231-hata", 2.6, 20.0, 1.5).unwrap();
        assert_eq!(
            warnings(&hata, 100.0, 2000.0),
            [
                "cost231-hata is for carriers of 1.5 GHz to 2 GHz, not 2.6 GHz: \
                 beyond, it is extrapolated",
                "cost231-hata is for heights of the base station of 30 m to 200 m, not 20 m: \
                 beyond, it is extrapolated",
                "cost231-hata is for distances of 1 km to 20 km, not 100 m to 2 km: \
                 beyond, it is extrapolated",
            ]
        );
        let umi = model("umi-street-canyon", 28.0, 25.0, 1.2).unwrap();
        assert_eq!(
            warnings(&umi, 5.0, 100.0)[0],
            "umi-street-canyon is for a height of the base station of 10 m, not 25 m: \
             beyond, it is extrapolated"
        );
        assert_eq!(warnings(&umi, 5.0, 100.0).len(), 3);
    }

    proptest! {
        #[test]
        fn loss_grows_with_distance_and_is_at_least_free_space(
            which in 0usize..7, a in 0f64..20_000.0, further in 0f64..1_000.0, line: bool,
        ) {
            let sight = if line { Sight::Line } else { Sight::NoLine };
            let carrier = Hertz::new(2_000_000_000);
            let path_loss = PathLoss::ALL[which];
            let (base, ue) = (Metres::new(30.0), Metres::new(1.5));
            let model = PathLossModel::new(path_loss, carrier, base, ue).unwrap();
            let near = model.loss(Metres::new(a), sight).get();
            let far = model.loss(Metres::new(a + further), sight).get();
            prop_assert!(far >= near - 1e-9);
            prop_assert!(near >= free_space(carrier, a.hypot(28.5)) - 0.1);
        }
    }
}
