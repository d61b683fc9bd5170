//! Keys of users: their channels and bearers.

use super::Fallback::{Absent, Preset, Required, Value};
use super::Kind::{Bytes, Capacity, Choice, Count, Decibel, Duration, List, Number, Table, Text};
use super::Range::{Any, Positive, Within};
use super::top::MAX_TIME;
use super::{Key, Section, key, trace};

/// Disciplines of a modem's buffer.
const UPLINK_DISCIPLINES: &[&str] = &["drop-tail", "codel", "fq-codel"];

const BLER: Key = key(
    "bler",
    Number,
    Value("0"),
    Within(0.0, 1.0),
    "Error rate of a transport block's first transmission.",
);

pub(super) const CQI_PERIOD: Key = key(
    "cqi-period",
    Duration,
    Value("5 ms"),
    Within(1e-5, 10.0),
    "Between CQI reports.",
);
pub(super) const CQI_DELAY: Key = key(
    "cqi-delay",
    Duration,
    Value("4 ms"),
    Within(0.0, 10.0),
    "From a measurement to the first slot that uses it.",
);
pub(super) const TARGET_BLER: Key = key(
    "target-bler",
    Number,
    Value("0.1"),
    Within(0.000_001, 0.999),
    "Largest error rate at which a CQI is reported (TS 36.213 7.2.3: 0.1).",
);

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "ue.<name>",
        kind: None,
        meaning: "A user.",
        keys: &[
            key(
                "count",
                Count,
                Value("1"),
                Within(1.0, 10_000.0),
                "So many such users: `<name>`, `<name>-2`, `<name>-3` ...",
            ),
            key(
                "channel",
                Table,
                Absent("only for a wire, or cells with traces"),
                Any,
                "Its radio channel.",
            ),
            key(
                "cell",
                Text,
                Absent("the one that it receives best"),
                Any,
                "The cell that serves it first, where there are several.",
            ),
            key(
                "handovers",
                List("times, each with a cell"),
                Absent("by event A3"),
                Any,
                "When it leaves its cell for which other, where there are several: `[[\"12 s\", \"east\"], [\"30 s\", \"west\"]]`. \
                 Times rise, each handover is complete before the next, and there is no other than these; `[]`: none.",
            ),
            key(
                "uplink-queue",
                Choice(&["off", "mark", "queue"]),
                Value("off"),
                Any,
                "What becomes of its packets above its modem: `off`: they wait in it; `mark`: they are marked (ECN), or \
                 dropped early where they cannot be, by what the radio takes of them; `queue`: they wait above it, each flow in \
                 its turn, and the modem has what goes soon (docs/algorithms/uplink.md). Needs a `[cell]`.",
            ),
            key(
                "uplink-ahead",
                Duration,
                Absent("1.5 x `grant-delay` and two periods of uplink slots"),
                Within(1e-4, 0.5),
                "With `uplink-queue = \"queue\"`: what the modem is to have, as time at the rate of its radio. Less than the time \
                 from a buffer status report to its grants costs rate.",
            ),
            key(
                "uplink-limit",
                Bytes,
                Value("1 MB"),
                Positive,
                "With `uplink-queue = \"queue\"`: what may wait above the modem.",
            ),
            key(
                "uplink-status-period",
                Duration,
                Value("5 ms"),
                Within(1e-3, 1.0),
                "With `uplink-queue`: from one status of the modem (what it has sent, what waits in it) to the next.",
            ),
            key(
                "mobility",
                Table,
                Absent("only for a moving channel"),
                Any,
                "Where it is and how it moves.",
            ),
            key(
                "bearer",
                List("tables"),
                Absent("one, acknowledged mode"),
                Any,
                "Its bearers, `[[ue.<name>.bearer]]`.",
            ),
        ],
    },
    Section {
        path: "ue.<name>.channel",
        kind: Some("constant-mcs"),
        meaning: "Always the same MCS.",
        keys: &[
            key(
                "mcs",
                Count,
                Required,
                Within(0.0, 31.0),
                "Index into the cell's table.",
            ),
            BLER,
        ],
    },
    Section {
        path: "ue.<name>.channel",
        kind: Some("constant-cqi"),
        meaning: "Always the same CQI.",
        keys: &[
            key("cqi", Count, Required, Within(1.0, 15.0), "The CQI."),
            super::cell::POLICY,
            BLER,
        ],
    },
    Section {
        path: "ue.<name>.channel",
        kind: Some("constant-sinr"),
        meaning: "The same SINR, but for an interferer; CQI, MCS and errors follow from it.",
        keys: &[
            key("sinr", Decibel, Required, Within(-50.0, 100.0), "The SINR."),
            super::cell::POLICY,
            CQI_PERIOD,
            CQI_DELAY,
            TARGET_BLER,
            key(
                "interferer",
                Table,
                Absent("none"),
                Any,
                "An interferer that comes and goes.",
            ),
        ],
    },
    Section {
        path: "ue.<name>.channel.interferer",
        kind: None,
        meaning: "An interferer that lowers a constant SINR now and then: fades. Each user has its own.",
        keys: &[
            key(
                "drop",
                Decibel,
                Required,
                Within(0.0, 200.0),
                "How much lower the SINR is while it is on.",
            ),
            key(
                "mean-on",
                Duration,
                Required,
                Within(1e-6, MAX_TIME),
                "Mean time that it is on; the times are exponential.",
            ),
            key(
                "mean-off",
                Duration,
                Required,
                Within(0.0, MAX_TIME),
                "Mean time that it is off; zero: it is always on.",
            ),
        ],
    },
    Section {
        path: "ue.<name>.channel",
        kind: Some("trace"),
        meaning: "As recorded.",
        keys: &[
            key(
                "file",
                Text,
                Required,
                Any,
                "The trace, relative to the scenario file; `--trace` replaces it (and what is set \
                 here of `format` and `series`).",
            ),
            trace::FORMAT,
            trace::SERIES,
            super::cell::POLICY,
            trace::REPEAT,
            trace::OFFSET,
            trace::BLER,
            trace::WITHOUT_CQI,
            trace::PACKET,
            trace::TICK,
            trace::HOLD_TICKS,
            trace::HOLD,
            trace::OPPORTUNITY_PERIOD,
        ],
    },
    Section {
        path: "ue.<name>.bearer",
        kind: None,
        meaning: "A data radio bearer. The first takes every QoS flow that no other names.",
        keys: &[
            key(
                "qfis",
                List("whole numbers 0 to 63"),
                Value("[]"),
                Any,
                "QoS flows mapped to it.",
            ),
            key("rlc", Choice(&["am", "um"]), Value("am"), Any, "RLC mode."),
            key(
                "downlink-buffer",
                Capacity,
                Value("1 MB"),
                Positive,
                "Buffer in the cell.",
            ),
            key(
                "uplink-buffer",
                Capacity,
                Value("1 MB"),
                Positive,
                "Buffer in the user's device.",
            ),
            key(
                "uplink-discipline",
                Choice(UPLINK_DISCIPLINES),
                Value("drop-tail"),
                Any,
                "How that buffer is managed, in the modem.",
            ),
            key(
                "loss",
                Number,
                Value("0"),
                Within(0.0, 1.0),
                "Random loss of each downlink packet that neither HARQ nor RLC repair.",
            ),
            key(
                "t-poll-retransmit",
                Duration,
                Preset {
                    lte: "50 ms",
                    nr: "45 ms",
                },
                Within(1e-3, 10.0),
                "Acknowledged mode: t-PollRetransmit.",
            ),
            key(
                "t-reassembly",
                Duration,
                Preset {
                    lte: "35 ms",
                    nr: "35, 20, 10, 5 ms for numerology 0, 1, 2, from 3 on",
                },
                Within(1e-6, 10.0),
                "t-Reassembly (LTE: t-Reordering).",
            ),
            key(
                "t-status-prohibit",
                Duration,
                Preset {
                    lte: "25 ms",
                    nr: "15, 10, 5 ms for numerology 0, 1, from 2 on",
                },
                Within(0.0, 10.0),
                "Acknowledged mode: t-StatusProhibit.",
            ),
            key(
                "poll-pdu",
                Count,
                Preset {
                    lte: "16",
                    nr: "64",
                },
                Within(1.0, 65_536.0),
                "Acknowledged mode: a poll at least every so many PDUs.",
            ),
            key(
                "max-retx",
                Count,
                Preset { lte: "8", nr: "32" },
                Within(1.0, 255.0),
                "Acknowledged mode: retransmissions after which a PDU is given up.",
            ),
        ],
    },
];
