//! Keys of users and flows.

use super::Fallback::{Absent, Preset, Required, Value};
use super::Kind::{
    BitRate, Bytes, Capacity, Choice, Count, Decibel, Duration, Flag, List, Number, Table, Text,
};
use super::Range::{Any, Positive, Within};
use super::top::{FASTEST, LONGEST};
use super::{Key, Section, key};

/// Largest UDP payload over IPv4 (RFC 768, RFC 791).
const UDP_PAYLOAD: f64 = 65_507.0;

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
        path: "flow.<name>",
        kind: None,
        meaning: "A flow: one application. Flows run in the file's order.",
        keys: &[
            key(
                "ue",
                Text,
                Absent("the only user"),
                Any,
                "The user that it belongs to.",
            ),
            key(
                "count",
                Count,
                Value("1"),
                Within(1.0, 100_000.0),
                "So many such flows: `<name>`, `<name>-2`, `<name>-3` ... If the user has a count \
                 too, they are dealt out to the copies in turn.",
            ),
            key(
                "transport",
                Choice(&["tcp", "udp", "quic"]),
                Absent("what the application uses"),
                Any,
                "Transport protocol. What runs over TCP runs over QUIC too.",
            ),
            key(
                "direction",
                Choice(&["down", "up"]),
                Value("down"),
                Any,
                "Which way data goes.",
            ),
            key(
                "cc",
                Text,
                Value("cubic"),
                Any,
                "Congestion control of the data's sender (TCP, QUIC).",
            ),
            key(
                "meld",
                Choice(&["off", "de", "me", "default"]),
                Value("off"),
                Any,
                "Whether the sender asks the radio if a loss is congestion (MELD): by the transport \
                 block's size (`de`), by the queue in the base station too (`me`), or by what the \
                 radio says that it lost, with a short queue (`default`). Needs a `[cell]`, and data \
                 towards the user.",
            ),
            key(
                "ecn",
                Choice(&["off", "classic", "l4s"]),
                Value("off"),
                Any,
                "What queues may mark instead of dropping: nothing; ECT(0), a mark being answered as \
                 a loss (RFC 3168); ECT(1), for queues of low latency (RFC 9331), over TCP with a \
                 scalable congestion control, `dctcp`. UDP only sets the codepoint.",
            ),
            key(
                "qfi",
                Count,
                Value("9"),
                Within(0.0, 63.0),
                "QoS flow identifier.",
            ),
            key(
                "start",
                Duration,
                Value("0 s"),
                Within(0.0, LONGEST),
                "First request or packet.",
            ),
            key("app", Table, Required, Any, "What it does."),
            key(
                "tcp",
                Table,
                Absent("its defaults"),
                Any,
                "TCP of both ends; with QUIC its sizes, buffers and acknowledgements.",
            ),
            key(
                "intercepted",
                Flag,
                Absent("true for TCP"),
                Any,
                "Whether the proxy takes this flow (TCP only).",
            ),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("bulk"),
        meaning: "So many bytes, then done (TCP).",
        keys: &[key("size", Bytes, Required, Within(1.0, 1e15), "Bytes.")],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("continuous"),
        meaning: "Data without end (TCP).",
        keys: &[],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("web"),
        meaning: "A page every interval on one connection, its load time measured (TCP). A page \
                  whose predecessor is still loading waits for it.",
        keys: &[
            key(
                "size",
                Bytes,
                Required,
                Within(1.0, 1e15),
                "Bytes of a page.",
            ),
            key(
                "interval",
                Duration,
                Value("1 s"),
                Within(1e-6, LONGEST),
                "Between requests.",
            ),
            key(
                "rate",
                BitRate,
                Absent("as fast as it can"),
                Within(1.0, FASTEST),
                "The server sends a page no faster than this.",
            ),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("short"),
        meaning: "Short transfers, each on a new connection (TCP).",
        keys: &[
            key(
                "size",
                Bytes,
                Required,
                Within(1.0, 1e15),
                "Bytes of a transfer.",
            ),
            key(
                "interval",
                Duration,
                Value("1 s"),
                Within(1e-6, LONGEST),
                "Between starts.",
            ),
            key("count", Count, Value("1"), Within(1.0, 1e6), "How many."),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("cbr"),
        meaning: "Constant bit rate (UDP).",
        keys: &[
            key(
                "rate",
                BitRate,
                Required,
                Within(1.0, FASTEST),
                "Rate of the payload.",
            ),
            key(
                "packet",
                Bytes,
                Value("1470 B"),
                Within(1.0, UDP_PAYLOAD),
                "Payload of a packet (iperf's default).",
            ),
            key(
                "stop",
                Duration,
                Absent("the end of the run"),
                Within(1e-6, LONGEST),
                "Ends after this time.",
            ),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("voip"),
        meaning: "A voice call (UDP).",
        keys: &[
            key(
                "packet",
                Bytes,
                Value("172 B"),
                Within(1.0, UDP_PAYLOAD),
                "Payload of a packet (G.711, 20 ms: 160 B behind 12 B of RTP).",
            ),
            key(
                "interval",
                Duration,
                Value("20 ms"),
                Within(1e-6, 60.0),
                "Between packets.",
            ),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("gaming"),
        meaning: "Game state (UDP): normally distributed intervals, cut at zero.",
        keys: &[
            key(
                "packet",
                Bytes,
                Value("126 B"),
                Within(1.0, UDP_PAYLOAD),
                "Payload of a packet.",
            ),
            key(
                "interval",
                Duration,
                Value("40 ms"),
                Within(1e-6, 60.0),
                "Mean interval.",
            ),
            key(
                "deviation",
                Duration,
                Value("6 ms"),
                Within(0.0, 60.0),
                "Standard deviation of the interval.",
            ),
        ],
    },
    Section {
        path: "flow.<name>.tcp",
        kind: None,
        meaning: "TCP of both ends.",
        keys: &[
            key(
                "mss",
                Bytes,
                Value("1448 B"),
                Within(88.0, 65_495.0),
                "Largest segment payload.",
            ),
            key(
                "initial-window",
                Count,
                Value("10"),
                Within(1.0, 10_000.0),
                "Initial window in segments (RFC 6928).",
            ),
            key(
                "receive-buffer",
                Bytes,
                Value("6 MB"),
                Within(2_000.0, 1.0e9),
                "Largest receive buffer (Linux: 6 MB).",
            ),
            key(
                "send-buffer",
                Bytes,
                Value("4 MB"),
                Within(2_000.0, 1.0e12),
                "Largest send buffer (Linux: 4 MB).",
            ),
            key(
                "delayed-ack",
                Flag,
                Value("true"),
                Any,
                "Delayed ACKs (RFC 1122 4.2.3.2).",
            ),
        ],
    },
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
                Absent("only for a wire"),
                Any,
                "Its radio channel.",
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
                Within(1e-6, LONGEST),
                "Mean time that it is on; the times are exponential.",
            ),
            key(
                "mean-off",
                Duration,
                Required,
                Within(0.0, LONGEST),
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
                "The trace, relative to the scenario file; `--trace` replaces it (and what is said \
                 here of `format` and `series`).",
            ),
            key(
                "format",
                Choice(&[
                    "ucc",
                    "mahimahi",
                    "packets-per-tick",
                    "rate-csv",
                    "nr-scope",
                    "brimful",
                ]),
                Absent("found out"),
                Any,
                "Its format.",
            ),
            key(
                "series",
                Text,
                Absent("the first"),
                Any,
                "Which series of a file that holds several, e.g. `Verizon_throughput_mbps`.",
            ),
            super::cell::POLICY,
            key(
                "repeat",
                Flag,
                Value("true"),
                Any,
                "Begin again at the end; else nothing is sent.",
            ),
            key(
                "offset",
                Duration,
                Value("0 s"),
                Within(0.0, LONGEST),
                "Where the run begins.",
            ),
            key(
                "bler",
                Number,
                Value("0.1"),
                Within(0.0, 0.999),
                "Error rate of first transmissions, where the trace gives a CQI or MCS.",
            ),
            key(
                "without-cqi",
                Choice(&["outage-on-older-network", "hold", "skip"]),
                Value("outage-on-older-network"),
                Any,
                "What rows without a CQI mean: an outage where the network was older than LTE, \
                 else the last CQI holds; always the last CQI; or the row is left out.",
            ),
            key(
                "packet",
                Bytes,
                Value("1500 B"),
                Within(1.0, 65_535.0),
                "Size of a packet (Mahimahi, packets per tick).",
            ),
            key(
                "tick",
                Duration,
                Value("10 ms"),
                Within(1e-6, 3600.0),
                "Duration of a tick (packets per tick).",
            ),
            key(
                "hold-ticks",
                Count,
                Value("100"),
                Within(1.0, 4.0e9),
                "Ticks for which a value holds (packets per tick).",
            ),
            key(
                "hold",
                Duration,
                Absent("`hold-ticks` ticks"),
                Within(1e-6, 1e6),
                "Time for which a value holds (packets per tick): a whole number of ticks.",
            ),
            key(
                "opportunity-period",
                Duration,
                Absent("`tick`"),
                Within(1e-6, 3600.0),
                "From one opportunity to the next (packets per tick): `tick` divided by a whole \
                 number; each carries its part of the tick's packets.",
            ),
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
