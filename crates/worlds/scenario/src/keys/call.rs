//! Keys of calls.

use super::Fallback::{Absent, Value};
use super::Kind::{BitRate, Bytes, Choice, Count, Duration, Number};
use super::Range::{Any, Within};
use super::top::{FASTEST, MAX_TIME};
use super::{Section, key};
use crate::call::CallController;

pub(super) static SECTIONS: &[Section] = &[Section {
    path: "flow.<name>.app",
    kind: Some("call"),
    meaning: "A video call whose rate adapts (UDP; simulator only): frames in packets, paced, by a congestion control \
              that receives feedback on each packet. Nothing is repaired: a frame of which a packet is lost does not come.",
    keys: &[
        key(
            "controller",
            Choice(CallController::NAMES),
            Value("gcc"),
            Any,
            "Congestion control: Google's of WebRTC, which ignores ECN (`gcc`), or SCReAMv2, which answers marks (`scream`).",
        ),
        key(
            "start-rate",
            BitRate,
            Value("300 kbit/s"),
            Within(1_000.0, FASTEST),
            "Rate at the beginning. All rates are of UDP payloads.",
        ),
        key(
            "min-rate",
            BitRate,
            Value("150 kbit/s"),
            Within(1_000.0, FASTEST),
            "Lowest rate.",
        ),
        key(
            "max-rate",
            BitRate,
            Value("8 Mbit/s"),
            Within(1_000.0, FASTEST),
            "Highest rate.",
        ),
        key(
            "frame-rate",
            Count,
            Value("30"),
            Within(1.0, 240.0),
            "Frames per second.",
        ),
        key(
            "frame-deviation",
            Number,
            Value("0.1"),
            Within(0.0, 1.0),
            "Standard deviation of a frame's size, of its mean; drawn by the seed.",
        ),
        key(
            "key-frame-interval",
            Duration,
            Absent("no key frames"),
            Within(0.002, MAX_TIME),
            "From one key frame to the next.",
        ),
        key(
            "key-frame-size",
            Number,
            Value("4"),
            Within(1.0, 20.0),
            "Size of a key frame, of the mean; the frames between are smaller by as much.",
        ),
        key(
            "packet",
            Bytes,
            Value("1200 B"),
            Within(100.0, 65_507.0),
            "Largest payload of a packet, RTP's header in it.",
        ),
        key(
            "late-after",
            Duration,
            Value("400 ms"),
            Within(1e-3, 60.0),
            "Frames whose delay is above this count as late (ITU-T G.114: the limit of a conversation).",
        ),
    ],
}];
