//! Keys of traces, be they of a user's channel or of the uplink.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{Bytes, Choice, Count, Duration, DurationOr, Flag, Number, Text};
use super::Range::{Any, Within};
use super::top::MAX_TIME;
use super::{Key, Section, key};

/// The offset of a trace that each seed draws.
const RANDOM: &str = "random";

pub(super) const FORMAT: Key = key(
    "format",
    Choice(&radio::trace::Format::NAMES),
    Absent("found out"),
    Any,
    "Its format.",
);
pub(super) const SERIES: Key = key(
    "series",
    Text,
    Absent("the first"),
    Any,
    "Which series of a file that holds several, e.g. `Verizon_throughput_mbps`.",
);
pub(super) const REPEAT: Key = key(
    "repeat",
    Flag,
    Value("true"),
    Any,
    "Begin again at the end; else nothing is sent.",
);
pub(super) const OFFSET: Key = key(
    "offset",
    DurationOr(RANDOM),
    Value(RANDOM),
    Within(0.0, MAX_TIME),
    "Where in the trace the run begins; `random`: each seed draws it, from the beginning \
     to the latest place at which the trace lasts as long as the run (0 s where it is \
     not longer). `--trace-offset` replaces it.",
);
pub(super) const PACKET: Key = key(
    "packet",
    Bytes,
    Value("1500 B"),
    Within(1.0, 65_535.0),
    "Size of a packet (Mahimahi, packets per tick).",
);
pub(super) const TICK: Key = key(
    "tick",
    Duration,
    Value("10 ms"),
    Within(1e-6, 3600.0),
    "Duration of a tick (packets per tick).",
);
pub(super) const HOLD_TICKS: Key = key(
    "hold-ticks",
    Count,
    Value("100"),
    Within(1.0, 4.0e9),
    "Ticks for which a value holds (packets per tick).",
);
pub(super) const HOLD: Key = key(
    "hold",
    Duration,
    Absent("`hold-ticks` ticks"),
    Within(1e-6, 1e6),
    "Time for which a value holds (packets per tick): a whole number of ticks.",
);
pub(super) const OPPORTUNITY_PERIOD: Key = key(
    "opportunity-period",
    Duration,
    Absent("`tick`"),
    Within(1e-6, 3600.0),
    "From one opportunity to the next (packets per tick): `tick` divided by a whole \
     number; each carries its part of the tick's packets.",
);

pub(super) const BLER: Key = key(
    "bler",
    Number,
    Value("0.1"),
    Within(0.0, 0.999),
    "Error rate of first transmissions, where the trace gives a CQI or MCS.",
);
pub(super) const WITHOUT_CQI: Key = key(
    "without-cqi",
    Choice(&["outage-on-older-network", "hold", "skip"]),
    Value("outage-on-older-network"),
    Any,
    "What rows without a CQI mean: an outage where the network was older than LTE, \
     else the last CQI holds; always the last CQI; or the row is left out.",
);

/// Of one of several cells.
const OF_CELL: Section = Section {
    path: "cell.trace",
    kind: None,
    meaning: "What the downlink of one of several cells (`[[cell]]`) is to each user, as recorded. All cells have one, or none; \
              users have no channel then.",
    keys: &[
        key(
            "file",
            Text,
            Required,
            Any,
            "The trace, relative to the scenario file. With RSRP (or else SNR) in the traces of all cells, users are handed over \
             by event A3; else by their `handovers`.",
        ),
        FORMAT,
        SERIES,
        super::cell::POLICY,
        REPEAT,
        key(
            "offset",
            DurationOr(RANDOM),
            Value(RANDOM),
            Within(0.0, MAX_TIME),
            "Where in the trace the run begins; `random`: each seed draws it, for each user, the same in the traces of all cells. \
             `--trace-offset` replaces it in all.",
        ),
        BLER,
        WITHOUT_CQI,
        PACKET,
        TICK,
        HOLD_TICKS,
        HOLD,
        OPPORTUNITY_PERIOD,
    ],
};

pub(super) static SECTIONS: &[Section] = &[
    OF_CELL,
    Section {
        path: "cell.uplink.trace",
        kind: None,
        meaning: "What the uplink carries, as recorded: delivery opportunities, packets per tick or rates, for the whole \
              uplink carrier of each user (several share it by PRBs). Requests and grants are the cell's.",
        keys: &[
            key(
                "file",
                Text,
                Required,
                Any,
                "The trace, relative to the scenario file; `--uplink-trace` replaces it (and what is set here of `format` \
             and `series`), and needs none here. Of a phone's log (UCC) its `UL_bitrate` is played.",
            ),
            FORMAT,
            SERIES,
            REPEAT,
            key(
                "offset",
                DurationOr(RANDOM),
                Value(RANDOM),
                Within(0.0, MAX_TIME),
                "Where in the trace the run begins; `random`: where the user's downlink trace does, if that is random too \
             and this trace lasts as long as the run from there on; else each seed draws it as it does the downlink's. \
             `--trace-offset` replaces it.",
            ),
            PACKET,
            TICK,
            HOLD_TICKS,
            HOLD,
            OPPORTUNITY_PERIOD,
        ],
    },
];
