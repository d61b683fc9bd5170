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
        key(
            "q-out",
            Decibel,
            Value("-8 dB"),
            Within(-30.0, 30.0),
            "SINR below which the serving cell is out of sync, in place of a block error rate of 10 % (TS 36.133 7.6.1, TS 38.133 8.1.1).",
        ),
        key(
            "q-in",
            Decibel,
            Value("-6 dB"),
            Within(-30.0, 30.0),
            "SINR from which a cell is in sync, and may be chosen after a failure, in place of 2 %.",
        ),
        key(
            "n310",
            Count,
            Value("1"),
            Within(1.0, 20.0),
            "Indications out of sync in a row, one each 10 ms, that start T310.",
        ),
        key(
            "t310",
            Duration,
            Value("1 s"),
            Within(0.0, MAX_TIME),
            "So long after them the radio link has failed; the standard has 0, 50, 100, 200, 500, 1000, 2000 ms and more, any is accepted.",
        ),
        key(
            "n311",
            Count,
            Value("1"),
            Within(1.0, 20.0),
            "Indications in sync in a row that stop T310.",
        ),
        key(
            "cell-selection",
            Duration,
            Value("100 ms"),
            Within(0.0, 10.0),
            "From the failure of the radio link to the choice of the best cell in sync.",
        ),
        key(
            "t311",
            Duration,
            Value("3 s"),
            Within(0.0, MAX_TIME),
            "A user that has found no cell so long after the failure is idle: its context is released.",
        ),
        key(
            "reestablishment",
            Duration,
            Value("100 ms"),
            Within(0.0, 10.0),
            "From the choice of a cell to service: system information, random access, the request, fetching the context.",
        ),
        key(
            "context-fetch",
            Flag,
            Value("true"),
            Any,
            "A cell without the user's context fetches it from the cell that was lost; without, it rejects the user, who sets up a new \
             connection, and what waited is lost.",
        ),
        key(
            "connection-setup",
            Duration,
            Value("200 ms"),
            Within(0.0, 10.0),
            "A new connection, from idle.",
        ),
    ],
}];
