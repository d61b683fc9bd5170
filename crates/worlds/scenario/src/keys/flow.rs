//! Keys of flows.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{BitRate, Bytes, Choice, Count, Duration, Flag, Table, Text};
use super::Range::{Any, Within};
use super::top::{FASTEST, MAX_TIME};
use super::{Section, joined, key};
use cc::Reporter;
use cc::meld::Variant;

/// Largest UDP payload over IPv4 (RFC 768, RFC 791).
const UDP_PAYLOAD: f64 = 65_507.0;

/// Off, or a variant of MELD.
const MELD: &[&str] = &joined::<{ Variant::NAMES.len() + 1 }>(&["off"], Variant::NAMES);

/// Off, or what is measured.
const REPORT: &[&str] = &joined::<{ Reporter::NAMES.len() + 1 }>(&["off"], Reporter::NAMES);

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
                "Congestion control of the data's sender (TCP, QUIC). `reno` is `newreno`; `bbr1`, `bbrv1`, `bbrv2` and \
                 `bbrv3` are `bbr`, `bbr2` and `bbr3`.",
            ),
            key(
                "meld",
                Choice(MELD),
                Value("off"),
                Any,
                "Whether the sender reads in radio reports if a loss is congestion (MELD): by the transport \
                 block's size (`de`), by the queue in the base station too (`me`), or by what the \
                 radio reports as lost, with a short queue (`default`), giving way to flows that \
                 begin (`yield`; not in the kernel). Needs a `[cell]`, and data towards the user.",
            ),
            key(
                "report",
                Choice(REPORT),
                Absent("what `cc` needs: `cdbe` with `cdbe`, `cqic` with `cqic` and `cqic-s`"),
                Any,
                "Bandwidth that the client measures and reports to the server: at what rate data \
                 arrives (`cdbe`), or what its modem's link could carry (`cqic`, needs a `[cell]`). \
                 With UDP it is measured only.",
            ),
            key(
                "ecn",
                Choice(&["off", "classic", "l4s"]),
                Absent("`l4s` with `cc = \"prague\"`, else `off`"),
                Any,
                "What queues may mark instead of dropping: nothing; ECT(0), a mark being answered as \
                 a loss (RFC 3168); ECT(1), for queues of low latency (RFC 9331), with a \
                 scalable congestion control, `prague` or `dctcp`, over TCP with accurate feedback \
                 (RFC 9768). UDP only sets the codepoint.",
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
                Within(0.0, MAX_TIME),
                "First request or packet.",
            ),
            key(
                "start-jitter",
                Duration,
                Value("0 s"),
                Within(0.0, MAX_TIME),
                "It begins by up to so much later, evenly distributed, as the seed of each run draws it.",
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
                Within(1e-6, MAX_TIME),
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
                Within(1e-6, MAX_TIME),
                "Between starts.",
            ),
            key("count", Count, Value("1"), Within(1.0, 1e6), "How many."),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("ssh"),
        meaning: "The output of a command over SSH (TCP, towards the user): it comes after the handshake's seven round \
                  trips and that of the command (RFC 4253, 4252, 4254).",
        keys: &[key(
            "size",
            Bytes,
            Required,
            Within(1.0, 1e15),
            "Bytes of the output.",
        )],
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
                Within(1e-6, MAX_TIME),
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
            key(
                "window-validation",
                Choice(recovery::Validation::NAMES),
                Value("off"),
                Any,
                "What becomes of a congestion window that is not used: it restarts after an idle \
                 timeout (`off`), decays as in Linux (`rfc2861`), or is kept five minutes and \
                 counts for less (`rfc7661`).",
            ),
        ],
    },
];
