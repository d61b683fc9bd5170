//! Keys of several cells and of the handovers between them.

use super::Fallback::{ByRat, Value};
use super::Kind::{Count, Decibel, Duration, Flag};
use super::Range::{Any, Within};
use super::top::MAX_TIME;
use super::{Section, key};

pub(super) static SECTIONS: &[Section] = &[Section {
    path: "handover",
    kind: None,
    meaning: "When and how users are handed over between several cells (`[[cell]]`): event A3 of TS 36.331 and \
              38.331 5.5.4.4, the procedure of TS 36.300 10.1.2 and TS 38.300 9.2.3 (docs/algorithms/mobility.md).",
    keys: &[
        key(
            "a3-offset",
            Decibel,
            Value("3 dB"),
            Within(-15.0, 15.0),
            "How much better than the serving cell another must be received (a3-Offset).",
        ),
        key(
            "hysteresis",
            Decibel,
            Value("1 dB"),
            Within(0.0, 15.0),
            "How much more to enter the event, and how much less to leave it.",
        ),
        key(
            "time-to-trigger",
            Duration,
            Value("160 ms"),
            Within(0.0, MAX_TIME),
            "How long it must hold; the standard has 0, 40, 64, 80, 100, 128, 160, 256 ms and more, any is accepted.",
        ),
        key(
            "filter-coefficient",
            Count,
            Value("4"),
            Within(0.0, 19.0),
            "Layer 3 filter of measurements (filterCoefficient: 0 to 9, 11, 13, 15, 17, 19); 0: none.",
        ),
        key(
            "measurement-period",
            Duration,
            Value("200 ms"),
            Within(1e-3, 10.0),
            "From one measurement of layer 1 to the next (TS 36.133 8.1.2.2, TS 38.133 9.2.5: 200 ms).",
        ),
        key(
            "preparation",
            Duration,
            Value("20 ms"),
            Within(0.0, 10.0),
            "From the measurement report to the command; the source serves meanwhile.",
        ),
        key(
            "interruption",
            Duration,
            ByRat {
                lte: "50 ms",
                nr: "62 ms",
            },
            Within(0.0, 10.0),
            "From the command to the access to the target: the user is served by no cell. LTE: TS 36.133 5.1.2.1; NR: \
             TS 38.133 6.1.1.2 with a known target; `0 s`: dual active protocol stacks.",
        ),
        key(
            "path-switch",
            Duration,
            Value("10 ms"),
            Within(0.0, 10.0),
            "From the access until the core sends by the new path.",
        ),
        key(
            "forwarding",
            Flag,
            Value("true"),
            Any,
            "The source forwards what it has not delivered to the target (X2, Xn); without, it is lost.",
        ),
        key(
            "forwarding-delay",
            Duration,
            Value("5 ms"),
            Within(0.0, 10.0),
            "One way from the source to the target.",
        ),
    ],
}];
