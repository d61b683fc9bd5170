//! Keys of the multipath tunnel.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{
    BitRate, Bytes, Capacity, Choice, Count, Duration, DurationOrNever, Flag, List, Number, Table,
    Text,
};
use super::Range::{self, Any, Positive, Within};
use super::queues::QUEUE_OF_WIRE;
use super::top::{
    FASTEST, JITTER, MAX_TIME, REPORT_DELAY, REPORT_GAP, REPORT_GAP_INTERVAL, REPORT_LOSS,
};
use super::{Key, Section, key};
use multipath::client::Supervision;
use multipath::reorder::Late;
use multipath::scheduler;
use multipath::tunnel::{CONTROLLER, PathConfig, TunnelConfig};

/// In the place of what [`of_core`] takes from the core.
const OF_CORE: &str = "";

/// The defaults, and what schedulers are, are the core's: the live tunnel has the same.
pub(super) fn of_core(section: &mut Section) {
    let mut connection = TunnelConfig::default();
    let mut supervision = Supervision::default();
    let mut defaults: Vec<(&str, String)> = match section.path {
        "tunnel" => connection
            .settings()
            .map(|(key, setting)| (key.name, setting.text()))
            .into(),
        "tunnel.supervision" => supervision
            .keys()
            .map(|(key, time)| (key, time.to_string()))
            .into(),
        "tunnel.path.<name>" => {
            let priority = PathConfig::default().priority.get();
            vec![("priority", priority.to_string())]
        }
        _ => return,
    };
    defaults.push(("scheduler", scheduler::DEFAULT.to_owned()));
    let mut keys = section.keys.to_vec();
    for key in &mut keys {
        let default = defaults.iter().find(|(name, _)| *name == key.name);
        if let (Value(OF_CORE), Some((_, text))) = (key.fallback, default) {
            key.fallback = Value(text.clone().leak());
        }
        if key.meaning == OF_CORE {
            key.meaning = scheduler::rules().leak();
        }
    }
    section.keys = keys.leak();
}

/// Maximum packets of a buffer of the tunnel.
const MAX_PACKETS: f64 = 1e6;

const CC: &str = "Congestion control of the paths: a name that flows may have, which may name the `carrier` too \
                  (`bbr over tcp`), or one of the paper's: `bbrv2` and `bbrv3` (over TCP), `ccid2` (NewReno over \
                  DCCP), `ccid5` (BBR over DCCP).";

const PATH_KEYS: &[Key] = &[
    key(
        "access",
        Choice(&["link", "cell"]),
        Value("link"),
        Any,
        "`link`: a wire of its own, as in the keys below; `cell`: the scenario's `[cell]`.",
    ),
    key(
        "rate",
        BitRate,
        Absent("required of a `link`"),
        Within(1.0, FASTEST),
        "Rate towards the user.",
    ),
    key(
        "rate-steps",
        List("times, each with a rate"),
        Absent("`rate` for good"),
        Any,
        "From when on the rate towards the user is another, as of `[link]`.",
    ),
    key(
        "uplink-rate",
        BitRate,
        Absent("`rate`"),
        Within(1.0, FASTEST),
        "Rate from the user.",
    ),
    key(
        "rtt",
        Duration,
        Absent("`tunnel.share` of `path.rtt`, and `tunnel.asymmetry` for each path before it"),
        Within(0.0, 100.0),
        "Base round-trip time of the path, between the tunnel's two ends.",
    ),
    key(
        "buffer",
        Capacity,
        Value("500 packets"),
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
    key(
        "down-at",
        Duration,
        Absent("never"),
        Within(0.0, MAX_TIME),
        "From then on the path carries nothing, either way.",
    ),
    key(
        "up-at",
        Duration,
        Absent("never"),
        Within(0.0, MAX_TIME),
        "From then on it carries again; after `down-at`.",
    ),
    key(
        "priority",
        Count,
        Value(OF_CORE),
        Within(0.0, 15.0),
        "Priority as RFC 9897 numbers them: 0 never, 1 standby, 2 secondary, 3 to 15 primary: the cheaper the \
         higher.",
    ),
    key(
        "cc",
        Text,
        Absent("`tunnel.cc`"),
        Any,
        "Congestion control of this path, as of `[tunnel]`.",
    ),
    key(
        "carrier",
        Choice(&["dccp", "tcp"]),
        Absent("that which `cc` names, else that of the tunnel"),
        Any,
        "What carries this path.",
    ),
    key(
        "events",
        List("times, each with an event"),
        Absent("none"),
        Any,
        "What happens to it at the user's side: `[[\"5 s\", \"link-down\"], [\"8 s\", \"link-up\"]]`: its \
         interface loses its link and has it again, of which the tunnel is notified; `rebind`: a NAT gives it \
         another port, or loses a `tcp` carrier's connection; `socket-gone`: the socket's address is gone. Only in \
         the simulator.",
    ),
];

/// Times of the supervision, s: from [`Supervision::MIN`] to [`Supervision::MAX`].
const SUPERVISED: Range = Within(0.01, 3_600.0);

const SUPERVISION_KEYS: &[Key] = &[
    key(
        "retry-interval",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "A path that could not be opened, or was not answered, is opened again after so long.",
    ),
    key(
        "reopen-interval",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "A path that had been up is opened again at once, but no two times within so long.",
    ),
    key(
        "renew-after",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "A `dccp` path that does not answer gets a new socket after so long.",
    ),
    key(
        "renew-interval",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "If it does not answer then either, another after so long; a `tcp` path a new connection.",
    ),
    key(
        "connection-timeout",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "A connection none of whose paths answers for so long is given up, and a new one begun.",
    ),
    key(
        "connection-interval",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "A connection that the other end does not have is replaced at once, but no two within so long.",
    ),
    key(
        "handshake-retry",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "First wait for an answer of a path's handshake; doubles each time (RFC 4340 8.1.1: 1 s).",
    ),
    key(
        "handshake-max-retry",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "Longest wait between attempts of a handshake, of which there are eight (RFC 4340 8.1.1: 64 s).",
    ),
    key(
        "max-probe-interval",
        Duration,
        Value(OF_CORE),
        SUPERVISED,
        "Longest wait between the probes of a path that does not answer; the first is 200 ms, and it doubles.",
    ),
];

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "tunnel",
        kind: None,
        meaning: "A multipath tunnel between the edge and each user, instead of a `[link]`: all \
                  packets of the flows go through it, both ways.",
        keys: &[
            key(
                "mode",
                Choice(&["on", "off"]),
                Value("on"),
                Any,
                "`off`: no tunnel; the first path is the access, alone.",
            ),
            key("cc", Text, Value(CONTROLLER), Any, CC),
            key(
                "carrier",
                Choice(&["dccp", "tcp"]),
                Absent("that which `cc` names, else `dccp`"),
                Any,
                "What carries a path: `dccp` in UDP, unreliable; or a `tcp` connection.",
            ),
            key(
                "scheduler",
                Choice(scheduler::names()),
                Value(OF_CORE),
                Any,
                OF_CORE,
            ),
            key(
                "reorder",
                Choice(multipath::reorder::WaitRule::NAMES),
                Value(OF_CORE),
                Any,
                "How packets are put back in order: not at all (`none`); one waits for those before \
                 it a fixed time (`fixed`), as long as the paths' latencies differ and `margin` \
                 (`adaptive`), as long as its own is below the slowest and `margin` (`equalised`), or \
                 as `adaptive` with a margin for retransmissions (`static`).",
            ),
            key(
                "margin",
                Duration,
                Absent("10 ms (table 1), 150 ms of `static` (section 5.2)"),
                Within(0.0, 10.0),
                "Added to the paths' difference; nothing of `fixed`.",
            ),
            key(
                "max-wait",
                Duration,
                Value(OF_CORE),
                Within(0.0, 10.0),
                "No packet waits longer for those before it, but with `static`.",
            ),
            key(
                "wait",
                Duration,
                Value("50 ms"),
                Within(0.0, 10.0),
                "What a packet waits with `fixed`.",
            ),
            key(
                "late",
                Choice(&[Late::Forward.name(), Late::Drop.name()]),
                Value(OF_CORE),
                Any,
                "What happens to a packet that comes after its place was given up.",
            ),
            key(
                "fast-loss-detection",
                Flag,
                Absent("`false` of `static`, else `true`"),
                Any,
                "Packets are known lost from the paths' own sequence numbers, and not waited for.",
            ),
            key(
                "delay-equalisation",
                Flag,
                Value(OF_CORE),
                Any,
                "Packets of faster paths are held by what the slowest takes longer.",
            ),
            key(
                "scheduler-buffer",
                Count,
                Value(OF_CORE),
                Within(1.0, MAX_PACKETS),
                "Packets that wait for a path, at most (table 1).",
            ),
            key(
                "reorder-buffer",
                Count,
                Value(OF_CORE),
                Within(1.0, MAX_PACKETS),
                "Packets that wait for those before them, at most (table 1).",
            ),
            key(
                "mtu",
                Bytes,
                Value("1400 B"),
                Within(576.0, 1500.0),
                "Longest packet inside: the connections' segments are kept to it.",
            ),
            key(
                "reliability",
                DurationOrNever,
                Value(OF_CORE),
                Within(1e-3, 10.0),
                "A packet that a `dccp` path lost is sent again up to this age; `never`: lost packets are not sent again.",
            ),
            key(
                "keepalive",
                DurationOrNever,
                Value(OF_CORE),
                Within(0.1, 60.0),
                "A path that has received nothing for so long is queried. A `tcp` path that does not answer is \
                 found by that alone. `never`: only paths with data in flight are watched.",
            ),
            key(
                "report-max-age",
                Duration,
                Value(OF_CORE),
                Within(1e-3, 10.0),
                "With `radio`: a report that is older counts no more; without a fresh one schedulers reckon with what \
                 a path delivers.",
            ),
            key(
                "supervision",
                Table,
                Absent("the defaults of its keys"),
                Any,
                "When the user's end opens paths again and begins anew.",
            ),
            key(
                "window-validation",
                Choice(recovery::Validation::NAMES),
                Value(OF_CORE),
                Any,
                "What becomes of a path's congestion window that is not used, as of `[flow.<name>.tcp]`.",
            ),
            key(
                "share",
                Number,
                Value("0.5"),
                Within(0.0, 1.0),
                "The part of `path.rtt` that is inside the tunnel, on its first path.",
            ),
            key(
                "asymmetry",
                Duration,
                Value("0 s"),
                Within(0.0, 100.0),
                "What the round-trip time of each further path is above that of the one before it.",
            ),
            key(
                "radio",
                Flag,
                Value("false"),
                Any,
                "The tunnel's end at the edge gets the radio reports of a path through the `[cell]`.",
            ),
            key(
                "report-period",
                Duration,
                Value("5 ms"),
                Within(1e-5, 100.0),
                "Period of those reports.",
            ),
            REPORT_DELAY,
            REPORT_LOSS,
            REPORT_GAP,
            REPORT_GAP_INTERVAL,
            key(
                "path",
                Table,
                Required,
                Any,
                "The paths, in the file's order.",
            ),
        ],
    },
    Section {
        path: "tunnel.supervision",
        kind: None,
        meaning: "How the tunnel's end at the user supervises its paths, as the live client does: the same keys.",
        keys: SUPERVISION_KEYS,
    },
    Section {
        path: "tunnel.path.<name>",
        kind: None,
        meaning: "A path of the tunnel.",
        keys: PATH_KEYS,
    },
];
