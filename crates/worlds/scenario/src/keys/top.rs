//! Keys of the whole scenario: top level, knobs, sweep, path, link and proxy.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{
    BitRate, Bytes, Capacity, Choice, Count, Duration, Flag, List, Number, Table, Text,
};
use super::Range::{Any, Positive, Within};
use super::queues::QUEUE_OF_WIRE;
use super::{Key, Section, key};

/// Longest time that a scenario may state: 1000 h.
pub(crate) const LONGEST: f64 = 3_600_000.0;
/// Greatest rate: 10 Tbit/s.
pub(crate) const FASTEST: f64 = 1e13;

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
                Duration,
                Value("60 s"),
                Within(1e-3, LONGEST),
                "The run ends then at the latest, and before if every finite flow is complete and \
                 no other is left running.",
            ),
            key(
                "sample-interval",
                Duration,
                Value("10 ms"),
                Within(1e-4, LONGEST),
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
                "The bottleneck, if it is a radio cell; with a `[tunnel]`, that of one of its paths.",
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
                Absent("what the file says"),
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
                 and a note says so.",
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
            key(
                "jitter",
                Duration,
                Value("0 s"),
                Within(0.0, 100.0),
                "Largest extra delay, uniform for each packet; packets stay in order.",
            ),
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
                Choice(&["paper", "default"]),
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
                "How often a modem tells its client of the link (`cqic`).",
            ),
            key(
                "udp-rtt",
                Duration,
                Absent("the path's `rtt`"),
                Within(1e-4, 100.0),
                "Round-trip time that clients of UDP flows reckon with: they measure none.",
            ),
        ],
    },
    Section {
        path: "pep",
        kind: None,
        meaning: "The proxy at the edge.",
        keys: &[
            key(
                "mode",
                Choice(&["none", "split", "paper", "default"]),
                Value("none"),
                Any,
                "`none`: connections run end to end; `split`: they are split, without a look at \
                 the radio; `paper`: RAPID's equations; `default`: RAPID as improved here.",
            ),
            key(
                "report-period",
                Duration,
                Value("1 ms"),
                Within(1e-5, 100.0),
                "Period of radio reports (RAPID section 4.4 polls every millisecond).",
            ),
            REPORT_DELAY,
            REPORT_LOSS,
            REPORT_GAP,
            REPORT_GAP_INTERVAL,
            key(
                "buffer",
                Bytes,
                Value("4 MB"),
                Within(1500.0, 1e12),
                "Most that the proxy buffers for one flow and direction, half of it received, half to \
                 be sent; with `windows = \"linux\"` all of it may be received from the server, and \
                 what is to be sent to the user is bounded by `unsent-max`.",
            ),
            key(
                "slow-threshold",
                Number,
                Value("0.8"),
                Within(0.01, 1.0),
                "A flow is slow if it arrives at less than this share of what is expected \
                 (section 3.4).",
            ),
            key(
                "arrival-alpha",
                Number,
                Value("0.125"),
                Within(0.0, 0.999),
                "Weight of the old value in the mean of the arrival rate (equation 9).",
            ),
            key(
                "initial-ran-window",
                Bytes,
                Value("14480 B"),
                Within(1.0, 1e12),
                "Window towards the user before its round trip is known (section 5.3).",
            ),
            key(
                "report-max-age",
                Duration,
                Value("100 ms"),
                Within(1e-4, 3600.0),
                "A report older than this is rejected, and after so long without one windows decay.",
            ),
            key(
                "plain-after",
                Duration,
                Absent("2 s, or `report-max-age` if that is longer"),
                Within(1e-4, 3600.0),
                "Without a report for so long, connections are split and nothing more; no less than \
                 `report-max-age`.",
            ),
            key(
                "adopt-after",
                Duration,
                Value("0 s"),
                Within(0.0, 100.0),
                "A connection comes under control so long after its server has answered.",
            ),
            key(
                "young-window",
                Bytes,
                Value("14600 B"),
                Within(1.0, 1e12),
                "Receive window shown to the server until then.",
            ),
            key(
                "windows",
                Choice(&["exact", "linux"]),
                Value("exact"),
                Any,
                "The simulator's proxy: `exact` shows every window at once; `linux` as the daemon does, by \
                 `min-window`, `closed-windows`, `window-step` and `unsent-share` (docs/algorithms/edge.md).",
            ),
            key(
                "min-window",
                Count,
                Value("2"),
                Within(0.0, 64.0),
                "The least receive window that a server is shown, segments.",
            ),
            key(
                "closed-windows",
                Flag,
                Value("true"),
                Any,
                "Below `min-window` a receive window is closed, and opened again at once when there is room for \
                 `min-window`; `false`: it is never less than `min-window`, whatever waits.",
            ),
            key(
                "window-step",
                Number,
                Value("0.0625"),
                Within(0.0, 1.0),
                "A changed receive window is shown if it differs by this share of the decided one, \
                 and by a segment.",
            ),
            key(
                "unsent-share",
                Number,
                Value("0.25"),
                Within(0.0, 1.0),
                "Share of the window towards the user that the proxy's socket may hold unsent; what \
                 else waits stays in the proxy.",
            ),
            key(
                "unsent-min",
                Bytes,
                Value("16384 B"),
                Within(1.0, 1e12),
                "The least bound of what the socket holds unsent.",
            ),
            key(
                "unsent-max",
                Bytes,
                Value("1048576 B"),
                Within(1.0, 1e12),
                "The largest bound of what the socket holds unsent.",
            ),
            key(
                "actuator",
                Choice(&["window", "pacing"]),
                Value("window"),
                Any,
                "`window`: a congestion control follows the decided window; `pacing`: Cubic stays, and \
                 is paced at the rate that the windows mean.",
            ),
            key(
                "pacing-step",
                Number,
                Value("0.05"),
                Within(0.0, 1.0),
                "A pace is set anew if it differs by more than this share from the last.",
            ),
            key(
                "check-interval",
                Duration,
                Value("50 ms"),
                Within(1e-4, 100.0),
                "Between looks at how long cells and users have not been reported.",
            ),
            key(
                "target-queue",
                Duration,
                Value("250 us"),
                Within(0.0, 10.0),
                "Standing queue that mode `default` aims at, as time at the user's rate.",
            ),
            key(
                "utilisation-goal",
                Number,
                Value("0.97"),
                Within(0.001, 0.999),
                "Share of what the radio could carry that mode `default` is to use: where its variation costs more, a \
                 longer queue stands.",
            ),
            key(
                "delay-goal",
                Duration,
                Value("100 ms"),
                Within(0.0, 10.0),
                "The most that stands for that, as time at the user's rate.",
            ),
            key(
                "without",
                List("names"),
                Absent("the whole mode"),
                Any,
                "Parts of mode `default` to leave out, for experiments: `payload`, `demand`, \
                 `queue-loop`, `queue-deviation`, `budget`, `store`, `unintercepted`, \
                 `cell-sharing`, `staleness`, `whole-segments`, \
                 `turns`, `variation` (docs/algorithms/rapid.md).",
            ),
        ],
    },
];
