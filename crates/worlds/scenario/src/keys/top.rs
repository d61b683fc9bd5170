//! Keys of the whole scenario: top level, knobs, sweep, path and link.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{
    BitRate, Capacity, Choice, Count, Duration, DurationOr, List, Number, Table, Text,
};
use super::Range::{Any, Positive, Within};
use super::queues::QUEUE_OF_WIRE;
use super::{Key, Section, key};

/// Longest time that a scenario may state: 1000 h.
pub(crate) const MAX_TIME: f64 = 3_600_000.0;
/// Greatest rate: 10 Tbit/s.
pub(crate) const FASTEST: f64 = 1e13;

pub(super) const JITTER: Key = key(
    "jitter",
    Duration,
    Value("0 s"),
    Within(0.0, 100.0),
    "Largest extra delay in each direction, uniform for each packet as the seed of each run draws it; packets stay in \
     order.",
);
pub(super) const REPORT_DELAY: Key = key(
    "report-delay",
    Duration,
    Value("1 ms"),
    Within(0.0, 100.0),
    "Age of a report when it reaches its reader.",
);
pub(super) const REPORT_LOSS: Key = key(
    "report-loss",
    Number,
    Value("0"),
    Within(0.0, 1.0),
    "Probability that a report is lost.",
);
pub(super) const REPORT_GAP: Key = key(
    "report-gap",
    Duration,
    Value("0 s"),
    Within(0.0, 100.0),
    "All reports made during so long are lost, at the end of every \
                 `report-gap-interval`, of which it is a part.",
);
pub(super) const REPORT_GAP_INTERVAL: Key = key(
    "report-gap-interval",
    Duration,
    Value("1 s"),
    Within(1e-3, 1000.0),
    "From the end of one gap in the reports to the end of the next.",
);

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "",
        kind: None,
        meaning: "The scenario as a whole.",
        keys: &[
            key(
                "name",
                Text,
                Absent("the file's name"),
                Any,
                "Name in results.",
            ),
            key("description", Text, Value(""), Any, "One line about it."),
            key(
                "extends",
                Text,
                Absent("nothing"),
                Any,
                "Another scenario file, relative to this one, on which this one is laid: tables \
                 are merged, everything else is replaced; a table whose `kind` changes is \
                 replaced whole.",
            ),
            key(
                "seed",
                Count,
                Value("1"),
                Within(0.0, 9.0e15),
                "Seed of the first repeat; repeat k uses seed + k.",
            ),
            key(
                "repeats",
                Count,
                Value("1"),
                Within(1.0, 10_000.0),
                "How often each point is run, with a seed of its own.",
            ),
            key(
                "duration",
                DurationOr("trace"),
                Value("60 s"),
                Within(1e-3, MAX_TIME),
                "The run ends then at the latest, and before if every finite flow is complete and \
                 no other is left running. `trace`: as long as the longest trace that drives a user \
                 lasts from its offset.",
            ),
            key(
                "sample-interval",
                Duration,
                Value("10 ms"),
                Within(1e-4, MAX_TIME),
                "Step of the time series.",
            ),
            key(
                "knobs",
                Table,
                Absent("none"),
                Any,
                "Names for what a user may turn.",
            ),
            key("sweep", Table, Absent("one point"), Any, "Axes of a sweep."),
            key(
                "path",
                Table,
                Required,
                Any,
                "The way from the servers to the edge.",
            ),
            key(
                "cell",
                Table,
                Absent("a `[link]`"),
                Any,
                "The bottleneck, if it is a radio cell; with a `[tunnel]`, that of one of its paths. Several, as `[[cell]]`: \
                 users move between them.",
            ),
            key(
                "handover",
                Table,
                Absent("its defaults"),
                Any,
                "How users are handed over, where there are several cells.",
            ),
            key(
                "link",
                Table,
                Absent("a `[cell]`"),
                Any,
                "The bottleneck, if it is a wire.",
            ),
            key(
                "tunnel",
                Table,
                Absent("no tunnel"),
                Any,
                "A multipath tunnel, instead of a `[link]`.",
            ),
            key("ue", Table, Absent("one wired host"), Any, "The users."),
            key("flow", Table, Required, Any, "The flows, at least one."),
            key(
                "meld",
                Table,
                Absent("its defaults"),
                Any,
                "The radio as servers see it whose flows use MELD.",
            ),
            key(
                "cdbe",
                Table,
                Absent("its defaults"),
                Any,
                "Flows whose client reports the bandwidth that it measures.",
            ),
            key(
                "pep",
                Table,
                Absent("no proxy"),
                Any,
                "The proxy at the edge.",
            ),
        ],
    },
    Section {
        path: "knobs.<name>",
        kind: None,
        meaning: "A name that sets one or more keys: `--set <name>=value`, or an axis of the \
                  sweep. A key that a knob with a default sets is not given in the file itself.",
        keys: &[
            key(
                "default",
                Text,
                Absent("what the file has"),
                Any,
                "Value (of any kind) while it is not turned.",
            ),
            key(
                "one-of",
                List("values"),
                Absent("any value"),
                Any,
                "The only values that are allowed.",
            ),
            key(
                "values",
                List("values"),
                Absent("those of `one-of` themselves"),
                Any,
                "What each of `one-of` stands for, in the same order.",
            ),
            key(
                "sets",
                List("dotted keys"),
                Required,
                Any,
                "The keys that take its value, e.g. `[\"path.rtt\"]`.",
            ),
            key("description", Text, Value(""), Any, "What it does."),
        ],
    },
    Section {
        path: "sweep",
        kind: None,
        meaning: "Each key is the name of a knob or a dotted key (`\"flow.bulk.cc\"`), its value \
                  the list of values to take. All combinations are run, the last axis varying \
                  fastest; at most 100000 points, with `brimful sweep` 10000000.",
        keys: &[],
    },
    Section {
        path: "sweep.sample",
        kind: None,
        meaning: "Points at random, each of which is run with all combinations of the axes: \
                  `sample = { points = 400, ranges = { rtt = [\"2 ms\", \"100 ms\"] } }`.",
        keys: &[
            key(
                "points",
                Count,
                Required,
                Within(1.0, 1_000_000.0),
                "How many. Fewer are the first of more.",
            ),
            key(
                "seed",
                Count,
                Value("1"),
                Within(0.0, 9.0e15),
                "What they are drawn from; it has nothing to do with the seed of the runs.",
            ),
            key(
                "min-distance",
                Number,
                Value("0"),
                Within(0.0, 0.999),
                "A point nearer than this to an earlier one is drawn again; each range counts as 1.",
            ),
            key(
                "ranges",
                Table,
                Required,
                Any,
                "For each knob or dotted key the least and the greatest value, in one unit. Two whole \
                 numbers without a unit give whole numbers.",
            ),
        ],
    },
    Section {
        path: "path",
        kind: None,
        meaning: "The way between the servers and the edge.",
        keys: &[
            key(
                "rtt",
                Duration,
                Required,
                Within(0.0, 100.0),
                "End-to-end base round-trip time, the access included; not below the access's own.",
            ),
            key(
                "rtt-too-short",
                Choice(&["refuse", "raise"]),
                Value("refuse"),
                Any,
                "What happens to an `rtt` below the access's own: the scenario is refused, or the \
                 round-trip time is raised to the access's own and 1 ms (a server next to the edge), \
                 and a note is printed.",
            ),
            key(
                "rate",
                BitRate,
                Value("10 Gbit/s"),
                Within(1.0, FASTEST),
                "Rate of each direction.",
            ),
            key(
                "buffer",
                Capacity,
                Value("10 MB"),
                Positive,
                "Buffer of each direction.",
            ),
            QUEUE_OF_WIRE,
            key(
                "loss",
                Number,
                Value("0"),
                Within(0.0, 1.0),
                "Random loss of each packet.",
            ),
            JITTER,
        ],
    },
    Section {
        path: "link",
        kind: None,
        meaning: "A wired bottleneck, instead of a cell.",
        keys: &[
            key(
                "rate",
                BitRate,
                Required,
                Within(1.0, FASTEST),
                "Rate towards the user.",
            ),
            key(
                "rate-steps",
                List("times, each with a rate"),
                Absent("`rate` for good"),
                Any,
                "From when on the rate towards the user is another: `[[\"5 s\", \"10 Mbit/s\"], \
                 [\"10 s\", \"20 Mbit/s\"]]`. Times rise.",
            ),
            key(
                "uplink-rate",
                BitRate,
                Absent("`rate`"),
                Within(1.0, FASTEST),
                "Rate from the user.",
            ),
            key(
                "delay",
                Duration,
                Value("0 s"),
                Within(0.0, 100.0),
                "One-way delay of the link.",
            ),
            key(
                "buffer",
                Capacity,
                Value("250 packets"),
                Positive,
                "Buffer of each direction.",
            ),
            QUEUE_OF_WIRE,
            key(
                "loss",
                Number,
                Value("0"),
                Within(0.0, 1.0),
                "Random loss towards the user.",
            ),
            JITTER,
        ],
    },
    Section {
        path: "meld",
        kind: None,
        meaning: "The radio as servers see it whose flows use MELD.",
        keys: &[
            key(
                "report-period",
                Duration,
                Value("8 ms"),
                Within(1e-5, 100.0),
                "Period of radio reports (MELD section 4.2.2: 8 ms, as CSI reports). With a proxy \
                 that reads the radio, the proxy's.",
            ),
            REPORT_DELAY,
            REPORT_LOSS,
            REPORT_GAP,
            REPORT_GAP_INTERVAL,
            key(
                "max-age",
                Duration,
                Value("40 ms"),
                Within(1e-4, 100.0),
                "A report older than this explains no loss.",
            ),
        ],
    },
    Section {
        path: "cdbe",
        kind: None,
        meaning: "Flows whose client reports the bandwidth that it measures (CDBE, CQIC).",
        keys: &[
            key(
                "mode",
                Choice(cc::cdbe::Mode::NAMES),
                Value("default"),
                Any,
                "`paper`: CDBE's equations; `default`: CDBE as improved here.",
            ),
            key(
                "startup-rounds",
                Count,
                Value("6"),
                Within(1.0, 1_000.0),
                "Windows of the least round-trip time that STARTUP may take (StartupCount).",
            ),
            key(
                "queue-up-windows",
                Count,
                Value("2"),
                Within(1.0, 1_000.0),
                "Mode `paper`: windows in a row with a growing queue that lead to DRAIN (n).",
            ),
            key(
                "queue-down-windows",
                Count,
                Value("2"),
                Within(1.0, 1_000.0),
                "Mode `paper`: windows in a row with a falling queue that lead to GROW (m).",
            ),
            key(
                "inflight-share",
                Number,
                Value("0.5"),
                Within(0.0, 1.0),
                "With less than this part of the bandwidth-delay product in flight STARTUP begins \
                 again, if anything is left of it (gamma).",
            ),
            key(
                "target-max",
                Duration,
                Value("19 ms"),
                Within(1e-6, 1.0),
                "Mode `default`: the queue that a flow of 1 Mbit/s and less aims at. From here to `competing-share` \
                 times are taken to the microsecond and parts to the thousandth, and the lab has all as preset.",
            ),
            key(
                "target-min",
                Duration,
                Value("2 ms"),
                Within(1e-6, 1.0),
                "Mode `default`: the queue that the fastest flows aim at; `target-max` at most.",
            ),
            key(
                "target-octave",
                Duration,
                Value("1.9 ms"),
                Within(0.0, 1.0),
                "Mode `default`: by how much that falls with each doubling of the report.",
            ),
            key(
                "pacing-gain",
                Number,
                Value("1.5"),
                Within(1.0, 10.0),
                "Mode `default`: the pacing rate over what the window is in a round trip.",
            ),
            key(
                "draining-gain",
                Number,
                Value("0.5"),
                Within(0.01, 0.9),
                "Mode `default`: part of the report that a drain paces at.",
            ),
            key(
                "drain-after",
                Duration,
                Value("2 s"),
                Within(1e-3, 1_000.0),
                "Mode `default`: without a queue that is nearly empty for so long, a flow drains.",
            ),
            key(
                "overflow-loss",
                Number,
                Value("0.02"),
                Within(0.001, 0.5),
                "Mode `default`: a window of which more is lost has overflowed a buffer; one part in a whole number.",
            ),
            key(
                "max-backoff",
                Number,
                Value("0.875"),
                Within(0.0, 0.99),
                "Mode `default`: the largest part of the target that losses take.",
            ),
            key(
                "competing-share",
                Number,
                Value("0.48"),
                Within(0.1, 0.9),
                "Mode `default`: part of the bottleneck that a flow aims at beside others that keep the queue up.",
            ),
            key(
                "initial-report",
                BitRate,
                Value("8 Mbit/s"),
                Within(8.0, 34e9),
                "What clients report before they have measured (section III-A: 1 MB/s).",
            ),
            key(
                "timestamp-tick",
                Duration,
                Value("1 ms"),
                Within(1e-6, 1.0),
                "What the clients' timestamps count in.",
            ),
            key(
                "radio-period",
                Duration,
                Value("5 ms"),
                Within(1e-5, 100.0),
                "How often a modem reports the link to its client (`cqic`).",
            ),
            key(
                "cqic-block-errors",
                Choice(&["subtracted", "ignored"]),
                Value("subtracted"),
                Any,
                "Whether a client of CQIC subtracts from its rate what HARQ sends again.",
            ),
            key(
                "udp-rtt",
                Duration,
                Absent("the path's `rtt`"),
                Within(1e-4, 100.0),
                "Round-trip time that clients of UDP flows reckon with: they measure none.",
            ),
            key(
                "strip-at",
                Duration,
                Absent("never"),
                Within(0.0, MAX_TIME),
                "From then on a host on the way removes reports from acknowledgements (TCP; those of QUIC are \
                 encrypted).",
            ),
            key(
                "strip-until",
                Duration,
                Absent("the end"),
                Within(0.0, MAX_TIME),
                "Until then; after `strip-at`.",
            ),
        ],
    },
];
