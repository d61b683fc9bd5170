//! Keys of queue management, in the cell and on wires. What an algorithm has is described where it is written:
//! in crate `queue`.

use super::Fallback::{Absent, Value};
use super::Kind::{Bytes, Capacity, Choice, Count, Duration, Flag, List, Number, Table};
use super::Range::{Any, Within};
use super::{Key, Kind, Section, key};
use queue::registry::{self, Parameter, Place, Quantity};

/// The key `queue` of a wire, in the place of which come those of [`of_wire`].
pub(super) const QUEUE_OF_WIRE: Key = key("queue", Table, Value(""), Any, "");

/// The key `queue` of a wire, and what the algorithms that it can name have.
pub(super) fn of_wire() -> Vec<Key> {
    let mut keys = vec![
        key(
            "queue",
            names(Place::Link, &[]),
            Value("drop-tail"),
            Any,
            "How that buffer is managed; `python:NAME`: by a class in Python.",
        ),
        key(
            "ecn",
            Flag,
            Value("true"),
            Any,
            "The `queue` marks packets instead of dropping them where the flow understands marks \
             (`flow.<name>.ecn`). DualPI2 always does.",
        ),
    ];
    keys.extend(parameters(Place::Link));
    keys
}

/// The sections of the layers.
pub(super) fn of_layers() -> Vec<Section> {
    let layer = |path, place, meaning, first: Vec<Key>| {
        let mut keys = first;
        keys.extend(parameters(place));
        Section {
            path,
            kind: None,
            meaning,
            keys: keys.leak(),
        }
    };
    let chosen = |place, meaning| {
        let algorithm = key(
            "algorithm",
            names(place, &["auto"]),
            Value("auto"),
            Any,
            meaning,
        );
        vec![algorithm, CAPACITY]
    };
    vec![
        layer(
            "cell.queues.upf",
            Place::Upf,
            "The UPF's queue.",
            chosen(
                Place::Upf,
                "Queue management; `auto`: `default` where the RLC has `default`, else `sfq`; `python:NAME`: one in Python.",
            ),
        ),
        layer(
            "cell.queues.sdap",
            Place::Sdap,
            "SDAP's queues, one for each class.",
            chosen(
                Place::Sdap,
                "Queue management; `auto`: `default` where the RLC has `default`, else `drop-tail`; `python:NAME`: one in Python.",
            ),
        ),
        layer(
            "cell.queues.rlc",
            Place::Rlc,
            "The RLC's queue; the bearer's `downlink-buffer` is its capacity.",
            vec![key(
                "algorithm",
                names(Place::Rlc, &[]),
                Value("drop-tail"),
                Any,
                "Queue management; `default`: packets are bound to a transport block only as the MAC pulls; `python:NAME`: one in Python.",
            )],
        ),
    ]
}

const CAPACITY: Key = key(
    "capacity",
    Capacity,
    Value("1000 packets"),
    Any,
    "What the queue holds at most.",
);

/// The names of the algorithms of a place, behind others.
fn names(place: Place, first: &[&'static str]) -> Kind {
    let names = registry::of(place).map(|algorithm| algorithm.name);
    let all: Vec<&'static str> = first.iter().copied().chain(names).collect();
    Choice(all.leak())
}

/// The keys of all algorithms of a place, each once.
fn parameters(place: Place) -> impl Iterator<Item = Key> {
    registry::parameters(place).into_iter().map(of_parameter)
}

fn of_parameter(parameter: &'static Parameter) -> Key {
    let (low, high) = parameter.range;
    let kind = match parameter.quantity {
        Quantity::Duration => Duration,
        Quantity::Bytes => Bytes,
        Quantity::Number => Number,
        Quantity::Count => Count,
        Quantity::Flag => Flag,
    };
    let range = match parameter.quantity {
        Quantity::Flag => Any,
        _ => Within(low, high),
    };
    key(
        parameter.name,
        kind,
        Value(parameter.default),
        range,
        parameter.meaning,
    )
}

pub(super) static SECTIONS: &[Section] = &[Section {
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
                 (`flow.<name>.ecn`). DualPI2 and L4Span always do.",
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
            "`default`: for how long the largest slot is kept.",
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
}];
