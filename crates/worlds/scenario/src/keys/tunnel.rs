//! Keys of the multipath tunnel.

use super::Fallback::{Absent, Required, Value};
use super::Kind::{
    BitRate, Bytes, Capacity, Choice, Count, Duration, DurationOr, Flag, List, Number, Table, Text,
};
use super::Range::{self, Any, Positive, Within};
use super::queues::QUEUE_OF_WIRE;
use super::top::{
    FASTEST, JITTER, MAX_TIME, REPORT_DELAY, REPORT_GAP, REPORT_GAP_INTERVAL, REPORT_LOSS,
};
use super::{Fallback, Key, Section, key};
use multipath::client::Supervision;
use multipath::parity::Fec;
use multipath::reorder::Late;
use multipath::scheduler;
use multipath::tunnel::{BufferQueue, CONTROLLER, Carrier, NEVER, PathConfig, TunnelConfig};

/// The core's preset of this name: the live tunnel has the same.
fn preset(presets: &[(&str, String)], name: &str) -> Fallback {
    let found = presets.iter().find(|(key, _)| *key == name);
    let (_, text) = found.expect("a key of the core");
    Value(text.clone().leak())
}

fn leaked<const N: usize>(keys: [Key; N]) -> &'static [Key] {
    Vec::from(keys).leak()
}

/// Maximum packets of a buffer of the tunnel.
const MAX_PACKETS: f64 = 1e6;

const LATE: &[&str] = &[Late::Forward.name(), Late::Drop.name()];

const CARRIER: &[&str] = &[Carrier::NAMES[0].0, Carrier::NAMES[1].0];

const CC: &str = "Congestion control of the paths: a name that flows may have, which may name the `carrier` too \
                  (`bbr over tcp`), or one of the paper's: `bbrv2` and `bbrv3` (over TCP), `ccid2` (NewReno over \
                  DCCP), `ccid5` (BBR over DCCP).";

fn path_keys() -> &'static [Key] {
    let priority = PathConfig::default().priority.get().to_string();
    leaked([
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
            Value(priority.leak()),
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
            Choice(CARRIER),
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
    ])
}

/// Times of the supervision, s: from [`Supervision::MIN`] to [`Supervision::MAX`].
const SUPERVISED: Range = Within(0.01, 3_600.0);

fn supervision_keys() -> &'static [Key] {
    let mut supervision = Supervision::default();
    let presets = supervision
        .keys()
        .map(|(name, time)| (name, time.to_string()));
    let of = |name, meaning| key(name, Duration, preset(&presets, name), SUPERVISED, meaning);
    leaked([
        of(
            "retry-interval",
            "A path that could not be opened, or was not answered, is opened again after so long.",
        ),
        of(
            "reopen-interval",
            "A path that had been up is opened again at once, but no two times within so long.",
        ),
        of(
            "renew-after",
            "A `dccp` path that does not answer gets a new socket after so long.",
        ),
        of(
            "renew-interval",
            "If it does not answer then either, another after so long; a `tcp` path a new connection.",
        ),
        of(
            "connection-timeout",
            "A connection none of whose paths answers for so long is given up, and a new one begun.",
        ),
        of(
            "connection-interval",
            "A connection that the other end does not have is replaced at once, but no two within so long.",
        ),
        of(
            "handshake-retry",
            "First wait for an answer of a path's handshake; doubles each time (RFC 4340 8.1.1: 1 s).",
        ),
        of(
            "handshake-max-retry",
            "Longest wait between attempts of a handshake, of which there are eight (RFC 4340 8.1.1: 64 s).",
        ),
        of(
            "max-probe-interval",
            "Longest wait between the probes of a path that does not answer; the first is 200 ms, and it doubles.",
        ),
    ])
}

/// The defaults, and what schedulers are, are the core's.
pub(super) fn sections() -> [Section; 3] {
    let mut connection = TunnelConfig::default();
    let presets = connection
        .settings()
        .map(|(key, setting)| (key.name, setting.text()));
    let of = |name, kind, range, meaning| key(name, kind, preset(&presets, name), range, meaning);
    [
        Section {
            path: "tunnel",
            kind: None,
            meaning: "A multipath tunnel between the edge and each user, instead of a `[link]`: all \
                  packets of the flows go through it, both ways.",
            keys: leaked([
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
                    Choice(CARRIER),
                    Absent("that which `cc` names, else `dccp`"),
                    Any,
                    "What carries a path: `dccp` in UDP, unreliable; or a `tcp` connection.",
                ),
                key(
                    "scheduler",
                    Choice(scheduler::names()),
                    Value(scheduler::DEFAULT),
                    Any,
                    scheduler::rules().leak(),
                ),
                of(
                    "reorder",
                    Choice(multipath::reorder::WaitRule::NAMES),
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
                of(
                    "max-wait",
                    Duration,
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
                of(
                    "late",
                    Choice(LATE),
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
                of(
                    "delay-equalisation",
                    Flag,
                    Any,
                    "Packets of faster paths are held by what the slowest takes longer.",
                ),
                of(
                    "scheduler-buffer",
                    Count,
                    Within(1.0, MAX_PACKETS),
                    "Packets that wait for a path, at most (table 1).",
                ),
                of(
                    "scheduler-queue",
                    Choice(BufferQueue::NAMES),
                    Any,
                    "What signals that they wait: nothing until the buffer is full (`drop-tail`), CoDel (`codel`), or CoDel \
                     and, where senders do not answer it, a bound (`bounded-codel`). With `aware`, which lets no queue stand \
                     on a path, all queueing is there.",
                ),
                of(
                    "codel-target",
                    Duration,
                    Within(1e-6, 10.0),
                    "Of CoDel there: the standing sojourn time that is tolerated (RFC 8289 4.4).",
                ),
                of(
                    "codel-interval",
                    Duration,
                    Within(1e-6, 100.0),
                    "Of CoDel there: for how long it may be exceeded (RFC 8289 4.3).",
                ),
                of(
                    "reorder-buffer",
                    Count,
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
                of(
                    "reliability",
                    DurationOr(NEVER),
                    Within(1e-3, 10.0),
                    "A packet that a `dccp` path lost is sent again up to this age; `never`: lost packets are not sent again.",
                ),
                of(
                    "latency-deadline",
                    Duration,
                    Within(1e-3, 10.0),
                    "With `deadline`: how long after it came a latency-sensitive packet is of use.",
                ),
                of(
                    "fec",
                    Choice(Fec::NAMES),
                    Any,
                    "With `deadline`: parities of latency-sensitive packets where a path loses some that cannot be sent again in time \
                     (`auto`); both ends of a scenario's tunnel have the same.",
                ),
                of(
                    "keepalive",
                    DurationOr(NEVER),
                    Within(0.1, 60.0),
                    "A path that has received nothing for so long is queried. A `tcp` path that does not answer is \
                 found by that alone. `never`: only paths with data in flight are watched.",
                ),
                of(
                    "report-max-age",
                    Duration,
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
                of(
                    "window-validation",
                    Choice(recovery::Validation::NAMES),
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
            ]),
        },
        Section {
            path: "tunnel.supervision",
            kind: None,
            meaning: "How the tunnel's end at the user supervises its paths, as the live client does: the same keys.",
            keys: supervision_keys(),
        },
        Section {
            path: "tunnel.path.<name>",
            kind: None,
            meaning: "A path of the tunnel.",
            keys: path_keys(),
        },
    ]
}
