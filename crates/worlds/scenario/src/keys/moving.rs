//! Keys of what the moving radio needs: the base station, what stands around it, the users' channels
//! and how they move.

use super::Fallback::{Absent, ByRat, Required, Value};
use super::Kind::{
    Choice, Corners, Decibel, Duration, Frequency, Length, List, Place, Power, Speed,
};
use super::Range;
use super::Range::{Any, Within};
use super::top::MAX_TIME;
use super::user::{CQI_DELAY, CQI_PERIOD, TARGET_BLER};
use super::{Key, Section, joined, key};
use radio::moving::{Fading, PathLoss, Screen, Shadowing, SightRule};

/// Coordinates: a cell is no larger than this.
const COORDINATES: Range = Within(-100_000.0, 100_000.0);
/// Heights of antennas and buildings.
const HEIGHTS: Range = Within(0.01, 10_000.0);
/// Powers that radios have, dBm.
pub(super) const POWERS: Range = Within(-100.0, 100.0);
/// Gains of antennas, dB.
const GAINS: Range = Within(-100.0, 100.0);

/// The speed of a way.
const SPEED: Key = key(
    "speed",
    Speed,
    Value("3 km/h"),
    Within(0.0, radio::moving::MAX_SPEED.get()),
    "Speed (TR 38.901 Table 7.2-1: 3 km/h).",
);
/// Speeds that are drawn.
const SPEED_TO: Key = key(
    "speed-to",
    Speed,
    Absent("`speed`, for all"),
    Within(0.0, radio::moving::MAX_SPEED.get()),
    "Each user and repeat draws its speed, uniformly from `speed` to this.",
);
/// A random shift of a whole way.
const SCATTER: Key = key(
    "scatter",
    Length,
    Value("0 m"),
    Within(0.0, 100_000.0),
    "Each user and repeat has its way shifted by a random offset, uniform in a circle of this radius; \
     drawn again where it would lead into a building or to the base station's antenna.",
);
/// Mean times of an interferer.
const MEAN_ON: Key = key(
    "mean-on",
    Duration,
    Value("1 s"),
    Within(1e-6, MAX_TIME),
    "Mean time that it is on; the times are exponential.",
);
const MEAN_OFF: Key = key(
    "mean-off",
    Duration,
    Value("0 s"),
    Within(0.0, MAX_TIME),
    "Mean time that it is off; zero: it is always on.",
);

/// Without numbers, or as the next keys have it.
const SHADOWING: &[&str] = &joined::<{ Shadowing::NAMES.len() + 1 }>(Shadowing::NAMES, &["fixed"]);

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "cell.site",
        kind: None,
        meaning: "The base station, as users with a moving channel receive it. The receiver's bandwidth \
                  is that of the cell's PRBs, the carrier is `cell.frequency`.",
        keys: &[
            key(
                "position",
                Place,
                Value("[\"0 m\", \"0 m\"]"),
                COORDINATES,
                "Where its antenna stands.",
            ),
            key(
                "height",
                Length,
                Value("10 m"),
                HEIGHTS,
                "Height of its antenna (TR 38.901 Table 7.2-1, UMi: 10 m).",
            ),
            key(
                "transmit-power",
                Power,
                ByRat {
                    lte: "38 dBm",
                    nr: "35 dBm",
                },
                POWERS,
                "Power over the whole carrier (LTE: the most of a medium range base station, \
                 TS 36.104 Table 6.2-1; NR: TR 38.901 Table 7.8-1 from 30 GHz on).",
            ),
            key(
                "antenna-gain",
                Decibel,
                Value("8 dB"),
                GAINS,
                "Gain of its antenna towards the user (TR 38.901 Table 7.3-1: 8 dBi of one element).",
            ),
        ],
    },
    Section {
        path: "cell.building",
        kind: None,
        meaning: "A building: a box that stands on the ground, its walls parallel to the axes.",
        keys: &[
            key(
                "corners",
                Corners,
                Required,
                COORDINATES,
                "Two opposite corners of its ground.",
            ),
            key("height", Length, Required, HEIGHTS, "Its height."),
        ],
    },
    Section {
        path: "cell.blocker",
        kind: None,
        meaning: "Somebody or something that stands in the street (TR 38.901 7.6.4.2, model B).",
        keys: &[
            key(
                "screen",
                Choice(Screen::NAMES),
                Value("human"),
                Any,
                "What it is: 0.3 m x 1.7 m, or 4.8 m x 1.4 m.",
            ),
            key("position", Place, Required, COORDINATES, "Where it stands."),
        ],
    },
    Section {
        path: "cell.interferer",
        kind: Some("received"),
        meaning: "An interferer that is received alike everywhere.",
        keys: &[
            key(
                "power",
                Power,
                Required,
                Within(-200.0, 100.0),
                "What a user receives of it, over the whole carrier.",
            ),
            MEAN_ON,
            MEAN_OFF,
        ],
    },
    Section {
        path: "cell.interferer",
        kind: Some("transmitter"),
        meaning: "An interferer at a place, received over the user's path loss with line of sight.",
        keys: &[
            key(
                "position",
                Place,
                Required,
                COORDINATES,
                "Where its antenna stands.",
            ),
            key(
                "height",
                Length,
                Value("10 m"),
                HEIGHTS,
                "Height of its antenna.",
            ),
            key(
                "power",
                Power,
                Required,
                POWERS,
                "Its power and antenna gain, over the whole carrier.",
            ),
            MEAN_ON,
            MEAN_OFF,
        ],
    },
    Section {
        path: "ue.<name>.channel",
        kind: Some("moving"),
        meaning: "Worked out from place and movement, see [radio.md](radio.md). It needs \
                  `cell.frequency` and `ue.<name>.mobility`.",
        keys: &[
            key(
                "path-loss",
                Choice(PathLoss::NAMES),
                Value("umi-street-canyon"),
                Any,
                "Path loss model.",
            ),
            key(
                "sight",
                Choice(SightRule::NAMES),
                Absent(
                    "`probability`; `los` where there are buildings, which take it away, or with a \
                     path loss that has no probability",
                ),
                Any,
                "Whether the base station is seen.",
            ),
            key(
                "shadowing",
                Choice(SHADOWING),
                Absent("`model`; `none` with a path loss that comes without"),
                Any,
                "Shadowing: none, that of the path loss model, or as in the next two keys.",
            ),
            key(
                "shadowing-deviation",
                Decibel,
                Absent("only with `fixed`"),
                Within(0.01, 100.0),
                "Standard deviation of shadowing.",
            ),
            key(
                "shadowing-distance",
                Length,
                Absent("only with `fixed`"),
                Within(0.01, 100_000.0),
                "Way over which shadowing is correlated.",
            ),
            key(
                "fading",
                Choice(Fading::NAMES),
                ByRat {
                    lte: "epa",
                    nr: "street-canyon",
                },
                Any,
                "Fast fading: TS 36.104 Annex B.2, or that of TR 38.901 for a street canyon.",
            ),
            key(
                "doppler",
                Frequency,
                Absent("from the movement"),
                Within(1.0, 166_783.0),
                "A Doppler frequency that holds however fast the user moves.",
            ),
            key(
                "height",
                Length,
                Value("1.5 m"),
                HEIGHTS,
                "Height of the user's antenna (TR 38.901 Table 7.2-1: 1.5 m).",
            ),
            key(
                "antenna-gain",
                Decibel,
                Value("0 dB"),
                GAINS,
                "Gain of the user's antenna.",
            ),
            key(
                "noise-figure",
                Decibel,
                Value("9 dB"),
                Within(0.0, 100.0),
                "Noise figure of the user's receiver (TR 38.901 Table 7.8-1: 9 dB).",
            ),
            super::cell::POLICY,
            CQI_PERIOD,
            CQI_DELAY,
            TARGET_BLER,
        ],
    },
    Section {
        path: "ue.<name>.mobility",
        kind: Some("static"),
        meaning: "The user stays where it is.",
        keys: &[
            key("position", Place, Required, COORDINATES, "Where."),
            SCATTER,
        ],
    },
    Section {
        path: "ue.<name>.mobility",
        kind: Some("line"),
        meaning: "The user goes straight on, without end.",
        keys: &[
            key("from", Place, Required, COORDINATES, "Where it begins."),
            key(
                "towards",
                Place,
                Required,
                COORDINATES,
                "A place that it passes.",
            ),
            SPEED,
            SPEED_TO,
            SCATTER,
        ],
    },
    Section {
        path: "ue.<name>.mobility",
        kind: Some("random-walk"),
        meaning: "The user walks at random in a rectangle or a disc, one of which is given: straight \
                  legs in uniform directions, which end before edges and walls.",
        keys: &[
            key(
                "area",
                Corners,
                Absent("a disc"),
                COORDINATES,
                "Two opposite corners of the rectangle; each side at least 1 m.",
            ),
            key(
                "disc-radius",
                Length,
                Absent("a rectangle"),
                Within(1.0, 100_000.0),
                "Radius of the disc.",
            ),
            key(
                "disc-centre",
                Place,
                Absent("the base station"),
                COORDINATES,
                "Centre of the disc.",
            ),
            key(
                "from",
                Place,
                Absent("a random place of the area, for each user and repeat its own"),
                COORDINATES,
                "Where it begins.",
            ),
            SPEED,
            SPEED_TO,
            key(
                "leg",
                Length,
                Value("20 m"),
                Within(0.1, 100_000.0),
                "Length of a leg.",
            ),
        ],
    },
    Section {
        path: "ue.<name>.mobility",
        kind: Some("waypoints"),
        meaning: "The user goes from point to point.",
        keys: &[
            key(
                "points",
                List("places, each with or without a rest"),
                Required,
                COORDINATES,
                "The points, e.g. `[[\"0 m\", \"5 m\"], [\"40 m\", \"5 m\", \"10 s\"]]`: at the second \
                 it rests for 10 s. A fourth element is the speed on the way there, if not `speed`: \
                 `[\"40 m\", \"5 m\", \"0 s\", \"6 m/s\"]`.",
            ),
            SPEED,
            SPEED_TO,
            key(
                "at-end",
                Choice(&["stop", "loop"]),
                Value("stop"),
                Any,
                "At the last point it stays, or goes to the first and begins again.",
            ),
            SCATTER,
        ],
    },
];
