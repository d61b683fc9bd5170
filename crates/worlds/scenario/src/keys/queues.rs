//! Keys of queue management in the cell.

use super::Fallback::{Absent, Value};
use super::Kind::{Bytes, Capacity, Choice, Count, Duration, Flag, List, Number, Table};
use super::Range::{Any, Within};
use super::{Key, Section, key};

const CODEL_TARGET: Key = key(
    "codel-target",
    Duration,
    Value("5 ms"),
    Within(1e-6, 10.0),
    "CoDel, FQ-CoDel: the standing sojourn time that is tolerated (RFC 8289 4.4).",
);
const CODEL_INTERVAL: Key = key(
    "codel-interval",
    Duration,
    Value("100 ms"),
    Within(1e-6, 100.0),
    "CoDel, FQ-CoDel: for how long it may be exceeded (RFC 8289 4.3).",
);
const FQ_FLOWS: Key = key(
    "fq-flows",
    Count,
    Value("1024"),
    Within(1.0, 65_536.0),
    "FQ-CoDel, SFQ: queues that flows are hashed to (RFC 8290 5.2.3).",
);
const QUANTUM: Key = key(
    "quantum",
    Bytes,
    Value("1514 B"),
    Within(64.0, 65_535.0),
    "FQ-CoDel, SFQ, `default`: bytes that a flow may send in a round (RFC 8290 5.2.2).",
);
const RED_MINIMUM: Key = key(
    "red-minimum",
    Bytes,
    Value("7500 B"),
    Within(1.0, 1e9),
    "RED: the average queue from which on it drops.",
);
const RED_MAXIMUM: Key = key(
    "red-maximum",
    Bytes,
    Value("22500 B"),
    Within(1.0, 1e9),
    "RED: the average queue from which on it drops everything (twice that, if gentle).",
);
const RED_PROBABILITY: Key = key(
    "red-probability",
    Number,
    Value("0.1"),
    Within(1e-6, 1.0),
    "RED: drop probability at `red-maximum`.",
);
const RED_WEIGHT: Key = key(
    "red-weight",
    Number,
    Value("0.002"),
    Within(1e-6, 1.0),
    "RED: weight of the newest queue length in the average.",
);
const DUALPI2_TARGET: Key = key(
    "dualpi2-target",
    Duration,
    Value("15 ms"),
    Within(1e-6, 10.0),
    "DualPI2: target of the classic queue's delay (RFC 9332 A.1).",
);
const DUALPI2_THRESHOLD: Key = key(
    "dualpi2-threshold",
    Duration,
    Value("800 us"),
    Within(0.0, 10.0),
    "DualPI2: delay of the low-latency queue from which on it marks (RFC 9332 A.1).",
);
const DUALPI2_RANGE: Key = key(
    "dualpi2-range",
    Duration,
    Value("400 us"),
    Within(0.0, 10.0),
    "DualPI2: over so much more delay its marking rises to all packets; zero: a step.",
);

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "cell.queues",
        kind: None,
        meaning: "Queue management of the downlink. Without this table each bearer has a drop-tail \
                  RLC buffer, and nothing waits above it.",
        keys: &[
            key(
                "forward-period",
                Duration,
                Absent("a tenth of `tti`"),
                Within(1e-6, 1.0),
                "From one time that UPF and SDAP hand packets down to the next; with the RLC's \
                 `default` they do as soon as there is room.",
            ),
            key(
                "forward-packets",
                Count,
                Value("10"),
                Within(1.0, 1e6),
                "Most packets of a bearer that they hand down at a time.",
            ),
            key(
                "tti",
                Duration,
                Absent("one slot"),
                Within(1e-6, 1.0),
                "The transmission time interval that algorithms reckon with.",
            ),
            key(
                "unit",
                Choice(&["bytes", "packets"]),
                Value("bytes"),
                Any,
                "What limits count; in packets, as in the authors' emulator, a limit is that many \
                 packets of `mtu`.",
            ),
            key(
                "mtu",
                Bytes,
                Value("1500 B"),
                Within(64.0, 65_535.0),
                "A full packet.",
            ),
            key(
                "classes",
                List("lists of QoS flow identifiers"),
                Value("[]"),
                Any,
                "QoS flows with an SDAP queue of their own, the most urgent first; all others share \
                 the last queue.",
            ),
            key(
                "scheduler",
                Choice(&["strict-priority", "weighted"]),
                Value("strict-priority"),
                Any,
                "How SDAP takes turns between its queues.",
            ),
            key(
                "weights",
                List("whole numbers from 1"),
                Absent("1 each"),
                Any,
                "Weights of the classes, and at the end of the others (`weighted`).",
            ),
            key(
                "ecn",
                Flag,
                Value("true"),
                Any,
                "Algorithms mark packets instead of dropping them where the flow understands marks \
                 (`flow.<name>.ecn`). DualPI2 always does.",
            ),
            key(
                "preparation",
                Duration,
                Absent("half a slot"),
                Within(0.0, 1.0),
                "`default`: how long before its slot a packet must have come to be sent in it.",
            ),
            key(
                "memory",
                Duration,
                Value("10 s"),
                Within(1e-3, 1000.0),
                "`default`: for how long the largest slot is remembered.",
            ),
            key(
                "allowance",
                Duration,
                Value("15 ms"),
                Within(0.0, 10.0),
                "`default`: what a flow may keep waiting in the UPF, as time at the rate of the \
                 largest slot; about the senders' round-trip time.",
            ),
            key(
                "upf",
                Table,
                Absent("its defaults"),
                Any,
                "The UPF's queue.",
            ),
            key("sdap", Table, Absent("its defaults"), Any, "SDAP's queues."),
            key(
                "rlc",
                Table,
                Absent("its defaults"),
                Any,
                "The RLC's queue.",
            ),
        ],
    },
    Section {
        path: "cell.queues.upf",
        kind: None,
        meaning: "The UPF's queue.",
        keys: &[
            key(
                "algorithm",
                Choice(&[
                    "auto",
                    "drop-tail",
                    "sfq",
                    "codel",
                    "fq-codel",
                    "red",
                    "dualpi2",
                    "default",
                ]),
                Value("auto"),
                Any,
                "Queue management; `auto`: `default` where the RLC has `default`, else `sfq`; `python:NAME`: one in Python.",
            ),
            key(
                "capacity",
                Capacity,
                Value("1000 packets"),
                Any,
                "What the queue holds at most.",
            ),
            CODEL_TARGET,
            CODEL_INTERVAL,
            FQ_FLOWS,
            QUANTUM,
            RED_MINIMUM,
            RED_MAXIMUM,
            RED_PROBABILITY,
            RED_WEIGHT,
            DUALPI2_TARGET,
            DUALPI2_THRESHOLD,
            DUALPI2_RANGE,
        ],
    },
    Section {
        path: "cell.queues.sdap",
        kind: None,
        meaning: "SDAP's queues, one for each class.",
        keys: &[
            key(
                "algorithm",
                Choice(&[
                    "auto",
                    "drop-tail",
                    "sfq",
                    "codel",
                    "fq-codel",
                    "red",
                    "dualpi2",
                    "usp",
                    "default",
                ]),
                Value("auto"),
                Any,
                "Queue management; `auto`: `default` where the RLC has `default`, else `drop-tail`; `python:NAME`: one in Python.",
            ),
            key(
                "capacity",
                Capacity,
                Value("1000 packets"),
                Any,
                "What the queue holds at most.",
            ),
            key(
                "usp-maximum",
                Bytes,
                Value("1.536 MB"),
                Within(1.0, 1e12),
                "USP: the largest occupancy, the one to begin with (the paper: 1024 packets).",
            ),
            CODEL_TARGET,
            CODEL_INTERVAL,
            FQ_FLOWS,
            QUANTUM,
            RED_MINIMUM,
            RED_MAXIMUM,
            RED_PROBABILITY,
            RED_WEIGHT,
            DUALPI2_TARGET,
            DUALPI2_THRESHOLD,
            DUALPI2_RANGE,
        ],
    },
    Section {
        path: "cell.queues.rlc",
        kind: None,
        meaning: "The RLC's queue; the bearer's `downlink-buffer` is its capacity.",
        keys: &[
            key(
                "algorithm",
                Choice(&[
                    "drop-tail",
                    "sfq",
                    "codel",
                    "fq-codel",
                    "red",
                    "dualpi2",
                    "dynrlc",
                    "drql",
                    "5g-bdp",
                    "default",
                ]),
                Value("drop-tail"),
                Any,
                "Queue management; `default`: packets are bound to a transport block only as the MAC pulls; `python:NAME`: one in Python.",
            ),
            key(
                "dynrlc-target",
                Duration,
                Value("11 ms"),
                Within(1e-6, 10.0),
                "DynRLC: mean sojourn time aimed at.",
            ),
            key(
                "dynrlc-interval",
                Duration,
                Value("100 ms"),
                Within(1e-6, 100.0),
                "DynRLC: how often its limit moves.",
            ),
            key(
                "dynrlc-step",
                Number,
                Value("0.1"),
                Within(1e-6, 1.0),
                "DynRLC: part of the way to the bound that a step takes (alpha).",
            ),
            key(
                "dynrlc-minimum",
                Bytes,
                Value("3 kB"),
                Within(1.0, 1e9),
                "DynRLC: the smallest limit (the authors' emulator: 2 packets).",
            ),
            key(
                "dynrlc-maximum",
                Bytes,
                Value("30 kB"),
                Within(1.0, 1e9),
                "DynRLC: the largest limit (the authors' emulator: 20 packets).",
            ),
            key(
                "drql-interval",
                Duration,
                Value("100 ms"),
                Within(1e-6, 100.0),
                "DRQL: how long something must remain before the limit shrinks (T; the paper: the TTI, the authors' emulator: 100 ms).",
            ),
            key(
                "drql-growth",
                Number,
                Value("1.2"),
                Within(1.000001, 100.0),
                "DRQL: what the limit of a starved queue is multiplied by.",
            ),
            key(
                "drql-maximum",
                Bytes,
                Value("1.536 MB"),
                Within(1.0, 1e12),
                "DRQL: the largest limit, the one to begin with (the paper: 1024 packets).",
            ),
            key(
                "bdp-offset",
                Number,
                Value("0.33"),
                Within(0.0, 0.999999),
                "5G-BDP: part of a TTI that pacing is ahead.",
            ),
            key(
                "bdp-at-least-one",
                Flag,
                Value("true"),
                Any,
                "5G-BDP: a packet comes down in each TTI, even if the slot can carry no more than what remains.",
            ),
            CODEL_TARGET,
            CODEL_INTERVAL,
            FQ_FLOWS,
            QUANTUM,
            RED_MINIMUM,
            RED_MAXIMUM,
            RED_PROBABILITY,
            RED_WEIGHT,
            DUALPI2_TARGET,
            DUALPI2_THRESHOLD,
            DUALPI2_RANGE,
        ],
    },
];
