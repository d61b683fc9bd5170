//! Buildings as boxes.
//!
//! A building is a rectangle on the ground, parallel to the axes, and a height. A path is blocked if
//! it crosses the rectangle below the roof. What reaches the UE goes over the roof and round the two
//! sides: the loss is that of TR 38.901 eq. 7.6-29 and -30 (see `screen`), with the box's edges as
//! the edges of the screen:
//!
//! * from above, on each side the corner with the longest way round; where all corners are on one
//!   side of the path, the path is free on the other, and its nearest corner has the negative sign;
//! * from the side, the higher of the two roof edges over the path (by the longer way over it), or
//!   if the path passes above both, the nearer one with the negative sign;
//! * nothing goes underneath: the term of the lower edge is 1/2.
//!
//! Losses of several buildings add up in dB, as those of screens. So the loss begins before a
//! building covers the path, is 6 dB where the path grazes an edge, and grows without a jump.
//!
//! *Deviations.* TR 38.901 has model B for people and vehicles; for buildings, which are much thicker,
//! it uses NLOS. Behind a wide building diffraction alone is too little: reflections take over. So
//! there is a choice, [`BuildingEffect`].

use super::{Path, field_left};
use crate::moving::geometry::{Metres, Position};
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;

/// What a building in the way does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuildingEffect {
    /// It adds its diffraction loss.
    Diffraction,
    /// It takes the line of sight away: path loss and shadowing are those of NLOS (as ns-3's models
    /// with buildings).
    NoLineOfSight,
    /// The stronger signal of those two arrives. It is never stronger than without the building.
    Strongest,
}

impl BuildingEffect {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["diffraction", "nlos", "strongest"];
    const ALL: [Self; 3] = [Self::Diffraction, Self::NoLineOfSight, Self::Strongest];
}

impl fmt::Display for BuildingEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[*self as usize])
    }
}

impl FromStr for BuildingEffect {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::NAMES.iter().position(|name| *name == text);
        found
            .map(|i| Self::ALL[i])
            .ok_or_else(|| UnknownName::new("effect of buildings", text, Self::NAMES))
    }
}

/// Why a building cannot stand.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildingError {
    /// Its footprint is empty.
    #[error("a building from {from} to {to} covers no ground; give two opposite corners")]
    Footprint {
        /// One corner.
        from: Position,
        /// The opposite one.
        to: Position,
    },
    /// It has no height.
    #[error("a building has the height {height}; choose a length above zero")]
    Height {
        /// What was given.
        height: Metres,
    },
}

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Building {
    /// Least coordinates.
    low: Position,
    /// Greatest coordinates, both greater than `low`.
    high: Position,
    /// m, > 0.
    height: f64,
}

impl Building {
    /// A building between two opposite corners of its footprint.
    ///
    /// # Errors
    /// A footprint or height that is empty or not finite.
    pub fn new(from: Position, to: Position, height: Metres) -> Result<Self, BuildingError> {
        let low = Position::at(from.x.min(to.x), from.y.min(to.y));
        let high = Position::at(from.x.max(to.x), from.y.max(to.y));
        let finite = from.is_finite() && to.is_finite();
        if !(finite && high.x > low.x && high.y > low.y) {
            return Err(BuildingError::Footprint { from, to });
        }
        if !(height.get() > 0.0 && height.get().is_finite()) {
            return Err(BuildingError::Height { height });
        }
        Ok(Self {
            low,
            high,
            height: height.get(),
        })
    }

    /// Its height.
    pub const fn height(&self) -> Metres {
        Metres::new(self.height)
    }

    /// Whether a place is on its ground, walls included.
    pub fn covers(&self, place: Position) -> bool {
        (self.low.x..=self.high.x).contains(&place.x)
            && (self.low.y..=self.high.y).contains(&place.y)
    }

    /// Where a straight way from `a` to `b` enters and leaves its ground, as shares 0 to 1 of it.
    pub(in crate::moving) fn crossing(&self, a: Position, b: Position) -> Option<(f64, f64)> {
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let axes = [
            (a.x, b.x - a.x, self.low.x, self.high.x),
            (a.y, b.y - a.y, self.low.y, self.high.y),
        ];
        for (begin, length, low, high) in axes {
            if length == 0.0 {
                if !(low..=high).contains(&begin) {
                    return None;
                }
                continue;
            }
            let (p, q) = ((low - begin) / length, (high - begin) / length);
            enter = enter.max(p.min(q));
            leave = leave.min(p.max(q));
        }
        (enter <= leave).then_some((enter, leave))
    }

    /// Whether it takes the sight away.
    pub(in crate::moving) fn blocks(&self, path: &Path) -> bool {
        self.crossing(path.from.place, path.to.place)
            .is_some_and(|(enter, leave)| {
                let height = |share: f64| path.height_at(share * path.ground);
                height(enter).min(height(leave)) < self.height
            })
    }

    /// What it leaves of the field, 0 to 1.
    pub(in crate::moving) fn field_left(&self, path: &Path) -> f64 {
        let corners = [
            self.low,
            Position::at(self.low.x, self.high.y),
            Position::at(self.high.x, self.low.y),
            self.high,
        ]
        .map(|corner| path.relative(corner));
        let on_left = corners.iter().any(|&(_, q)| q > 0.0);
        let on_right = corners.iter().any(|&(_, q)| q < 0.0);
        let (least, most) = if on_left && on_right {
            match self.crossing(path.from.place, path.to.place) {
                Some((enter, leave)) => (enter * path.ground, leave * path.ground),
                // beyond one of the ends
                None => return 1.0,
            }
        } else {
            extent(&corners, path.ground)
        };
        let vertical = if on_left && on_right {
            let longest = |side: f64| {
                let beyond = corners.iter().filter(|&&(_, q)| q * side > 0.0);
                beyond
                    .map(|&corner| path.detour_top(corner))
                    .fold(0.0, f64::max)
            };
            path.edge_term(longest(1.0), true) + path.edge_term(longest(-1.0), true)
        } else {
            let detours = corners.map(|corner| path.detour_top(corner));
            let longest = detours.iter().copied().fold(0.0, f64::max);
            let shortest = detours.iter().copied().fold(f64::INFINITY, f64::min);
            path.edge_term(longest, true) + path.edge_term(shortest, false)
        };
        field_left(0.5 + self.roof_term(path, least, most), vertical)
    }

    /// The term of the roof between two distances along the path.
    fn roof_term(&self, path: &Path, least: f64, most: f64) -> f64 {
        let edges = [least, most].map(|s| (path.detour_side(s, self.height), path.height_at(s)));
        let hit = edges
            .iter()
            .filter(|&&(_, ray)| ray < self.height)
            .map(|&(detour, _)| detour);
        match hit.reduce(f64::max) {
            Some(longest) => path.edge_term(longest, true),
            None => path.edge_term(edges[0].0.min(edges[1].0), false),
        }
    }
}

/// From where to where along the path the corners reach, between its ends.
fn extent(corners: &[(f64, f64); 4], ground: f64) -> (f64, f64) {
    let along = corners.map(|(s, _)| s.clamp(0.0, ground));
    (
        along.iter().copied().fold(f64::INFINITY, f64::min),
        along.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::super::End;
    use super::*;
    use proptest::prelude::*;

    const WAVELENGTH: f64 = 0.010_706_9;

    fn building(x: (f64, f64), y: (f64, f64), height: f64) -> Building {
        let (from, to) = (Position::at(x.0, y.0), Position::at(x.1, y.1));
        Building::new(from, to, Metres::new(height)).unwrap()
    }

    /// From a base station at the origin, 10 m high, to a UE, 1.5 m high.
    fn path(x: f64, y: f64) -> Path {
        let base = End {
            place: Position::at(0.0, 0.0),
            height: 10.0,
        };
        Path::new(
            base,
            End {
                place: Position::at(x, y),
                height: 1.5,
            },
            WAVELENGTH,
        )
    }

    fn loss(house: &Building, path: &Path) -> f64 {
        super::super::loss([house.field_left(path)].into_iter())
    }

    #[test]
    fn crossings() {
        let house = building((40.0, 60.0), (-5.0, 5.0), 15.0);
        assert!(house.blocks(&path(100.0, 0.0)));
        assert!(!house.blocks(&path(100.0, 20.0)));
        // before it, behind the base station
        assert!(!house.blocks(&path(30.0, 0.0)) && !house.blocks(&path(-100.0, 0.0)));
        // over a low roof: the path is 5.75 m high at 50 m and 4.9 m at 60 m
        assert!(!building((40.0, 60.0), (-5.0, 5.0), 4.8).blocks(&path(100.0, 0.0)));
        assert!(building((40.0, 60.0), (-5.0, 5.0), 5.0).blocks(&path(100.0, 0.0)));
        assert!(house.covers(Position::at(40.0, 0.0)) && !house.covers(Position::at(39.9, 0.0)));
    }

    /// A wall 2 mm thick and without end to the sides and below is a knife edge. 28 GHz, edge 3 m
    /// over a level path, 50 m from both ends: detour 2 sqrt(50^2 + 3^2) - 100 = 0.179838 m,
    /// x = (pi / 2) sqrt(pi x 0.179838 / 0.0107069) = 11.4105, F = atan(x) / pi = 0.472174,
    /// L = -20 log10(1 - (0.5 + 0.472174)(1)) = 31.11 dB.
    #[test]
    fn a_wall_is_a_knife_edge() {
        let end = |x| End {
            place: Position::at(x, 0.0),
            height: 10.0,
        };
        let path = Path::new(end(0.0), end(100.0), WAVELENGTH);
        let wall = building((49.999, 50.001), (-1e6, 1e6), 13.0);
        let loss = loss(&wall, &path);
        assert!((loss - 31.11).abs() < 0.02, "{loss}");
    }

    /// Grazing one edge of a high building halves the field: 6.02 dB, whichever the side. (The far
    /// edge and the roof are far off: their terms are nearly 1/2.)
    #[test]
    fn grazing_is_6_db() {
        for (y, height) in [((0.0, 200.0), 300.0), ((-200.0, 0.0), 300.0)] {
            let loss = loss(&building((40.0, 60.0), y, height), &path(100.0, 0.0));
            assert!((loss - 6.02).abs() < 0.15, "{loss}");
        }
    }

    /// A UE walks from the shadow of a building into the open: loss falls without a jump. At the end,
    /// 20 m beside the shadow, the path passes the corner (40, 0) at 7.8 m: detour 1.27 m, x = 30.3,
    /// 1/2 - F = 0.0105, that of the far side 0.002: 20 log10(1 / (1 - 0.0085)) = 0.074 dB.
    #[test]
    fn out_of_the_shadow() {
        let house = building((40.0, 60.0), (-50.0, 0.0), 20.0);
        let losses: Vec<f64> = (-1_000..2_000)
            .map(|i| loss(&house, &path(100.0, f64::from(i) * 0.01)))
            .collect();
        for pair in losses.windows(2) {
            assert!(
                pair[1] <= pair[0] + 1e-6 && pair[0] - pair[1] < 0.5,
                "{pair:?}"
            );
        }
        let end = losses[losses.len() - 1];
        assert!(losses[0] > 20.0 && (0.06..0.09).contains(&end), "{end} dB");
    }

    #[test]
    fn impossible_buildings_are_refused() {
        let at = Position::at;
        let new = |to, height| Building::new(at(0.0, 0.0), to, Metres::new(height));
        assert_eq!(
            new(at(0.0, 5.0), 10.0).unwrap_err().to_string(),
            "a building from (0 m, 0 m) to (0 m, 5 m) covers no ground; give two opposite corners"
        );
        assert!(matches!(
            new(at(5.0, f64::NAN), 1.0),
            Err(BuildingError::Footprint { .. })
        ));
        for height in [0.0, -3.0, f64::INFINITY] {
            assert!(matches!(
                new(at(5.0, 5.0), height),
                Err(BuildingError::Height { .. })
            ));
        }
        for name in BuildingEffect::NAMES {
            assert_eq!(name.parse::<BuildingEffect>().unwrap().to_string(), *name);
        }
    }

    proptest! {
        #[test]
        fn loss_is_never_negative_nor_without_end(
            x in -100.0f64..100.0, y in -100.0f64..100.0, w in 0.1f64..50.0, d in 0.1f64..50.0,
            height in 0.1f64..60.0, ux in -100.0f64..100.0, uy in -100.0f64..100.0,
        ) {
            let house = building((x, x + w), (y, y + d), height);
            let base_inside = house.covers(Position::at(0.0, 0.0));
            let ue_inside = house.covers(Position::at(ux, uy));
            prop_assume!(!base_inside && !ue_inside);
            let path = path(ux, uy);
            let loss = loss(&house, &path);
            prop_assert!(loss >= 0.0 && loss.is_finite(), "{}", loss);
            if house.blocks(&path) {
                prop_assert!(loss > 3.0, "blocked, and only {} dB", loss);
            }
        }
    }
}
