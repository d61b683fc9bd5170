//! Keys of the proxy.

use super::Fallback::{Absent, Value};
use super::Kind::{Bytes, Choice, Count, Duration, Flag, List, Number};
use super::Range::{Any, Within};
use super::top::{REPORT_DELAY, REPORT_GAP, REPORT_GAP_INTERVAL, REPORT_LOSS};
use super::{Section, joined, key};
use rapid::Mode;

/// Without radio reports, or a mode of RAPID.
const MODE: &[&str] = &joined::<{ Mode::NAMES.len() + 2 }>(&["none", "split"], Mode::NAMES);

pub(super) static SECTIONS: &[Section] = &[Section {
    path: "pep",
    kind: None,
    meaning: "The proxy at the edge.",
    keys: &[
        key(
            "mode",
            Choice(MODE),
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
            "How windows are shown to servers. `exact`: every one at once; in the lab by the daemon's \
                 `wan-actuator = \"auto\"`, at the wire where the kernel can. `linux`: by the kernel's own means, the \
                 daemon's `clamp`, by `min-window`, `closed-windows`, `reopen-factor`, `max-closed`, `window-step` and `unsent-share` \
                 (docs/algorithms/edge.md).",
        ),
        key(
            "min-window",
            Count,
            Value("2"),
            Within(0.0, 64.0),
            "The least receive window that a server is shown, segments; `0`: any is shown by acknowledgements, and one \
                 that is closed so is opened again only as the kernel does.",
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
            "reopen-factor",
            Count,
            Value("4"),
            Within(1.0, 64.0),
            "A closed receive window is shown by acknowledgements again from so many times `min-window` on; below that \
                 each window is given as credit.",
        ),
        key(
            "max-closed",
            Duration,
            Value("1 s"),
            Within(1e-4, 3600.0),
            "A receive window that has been closed for so long is opened to `min-window`, whatever is decided.",
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
            "unsent-step",
            Count,
            Value("2"),
            Within(1.0, 64.0),
            "That bound is set anew when it is off by more than this factor.",
        ),
        key(
            "actuator",
            Choice(edge::Actuator::NAMES),
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
            "bearer",
            Count,
            Value("0"),
            Within(0.0, 32.0),
            "The data radio bearer that carries the intercepted flows (`[[ue.<name>.bearer]]`, from 1), whose queue \
                 counts in mode `default`; 0: all of the user's queue.",
        ),
        key(
            "without",
            List("names"),
            Absent("the whole mode"),
            Any,
            "Parts of mode `default` to leave out, for experiments (nothing of mode `paper`): `payload`, `demand`, \
                 `queue-loop`, `queue-deviation`, `budget`, `usable`, `store`, `unintercepted`, `own-queue`, \
                 `cell-sharing`, `staleness`, `whole-segments`, \
                 `turns`, `variation`, `narrow-link` (docs/algorithms/rapid.md).",
        ),
        key(
            "readings",
            List("names"),
            Absent("those of docs/algorithms/rapid.md"),
            Any,
            "Other readings of the paper that mode `paper` takes, for experiments (nothing of mode `default`): `period-minimum`, `all-rates`, \
                 `held-is-slow` (docs/algorithms/rapid.md).",
        ),
        key(
            "unsplit",
            Choice(&["off", "mark", "queue"]),
            Value("off"),
            Any,
            "What is not split on its way to users (QUIC, UDP, TCP that is not intercepted): `off`: it passes; `mark`: its \
                 packets are marked (ECN), or dropped early where they cannot be, by what the radio carries of them; `queue`: they \
                 wait at the edge, each flow in its turn, so that the base station has a few milliseconds of them \
                 (docs/algorithms/marking.md). Needs a `[cell]`.",
        ),
        key(
            "unsplit-inside",
            Choice(&["nothing", "gtp-u"]),
            Value("nothing"),
            Any,
            "Lab alone, with `unsplit = \"mark\"`: `gtp-u`: packets are marked on the N3 wire, inside and outside of GTP-U, and not at the \
                 edge. Needs `n3 = true` of the cell, and `mode = \"none\"`.",
        ),
        key(
            "unsplit-rate-fraction",
            Number,
            Value("1"),
            Within(0.5, 1.0),
            "With `unsplit = \"mark\"`: the virtual queue drains at this part of the share of the radio.",
        ),
        key(
            "unsplit-slack",
            Duration,
            Value("5 ms"),
            Within(0.0, 1.0),
            "The same: what the virtual queue may exceed the reported one by where nothing else requests the radio.",
        ),
        key(
            "unsplit-contested-slack",
            Duration,
            Value("100 ms"),
            Within(0.0, 1.0),
            "The same beside flows of the proxy that request all that they can have.",
        ),
        key(
            "unsplit-ramp-from",
            Duration,
            Value("8 ms"),
            Within(0.0, 1.0),
            "The same: L4S packets are marked from this predicted delay on, on a steady radio.",
        ),
        key(
            "unsplit-ramp-to",
            Duration,
            Value("16 ms"),
            Within(0.0, 1.0),
            "And all of them from this one on.",
        ),
        key(
            "unsplit-wide-ramp-from",
            Duration,
            Value("8 ms"),
            Within(0.0, 1.0),
            "As `unsplit-ramp-from`, on a radio whose rate spreads by a quarter of its mean and more.",
        ),
        key(
            "unsplit-wide-ramp-to",
            Duration,
            Value("24 ms"),
            Within(0.0, 1.0),
            "As `unsplit-ramp-to`, on such a radio.",
        ),
        key(
            "unsplit-target",
            Duration,
            Value("18 ms"),
            Within(0.001, 1.0),
            "The same: the predicted delay that the classic law (ECT(0) and what is not ECN-capable) aims at.",
        ),
        key(
            "unsplit-max-age",
            Duration,
            Value("100 ms"),
            Within(1e-4, 3600.0),
            "The same: without a report for so long all passes as it is.",
        ),
        key(
            "unsplit-transit",
            Duration,
            Value("1 ms"),
            Within(0.0, 0.05),
            "The same: from the edge into the base station's queue.",
        ),
    ],
}];
