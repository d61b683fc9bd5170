//! Keys of the applications with many numbers: adaptive video, and pages of many objects.

use super::Fallback::{Absent, Value};
use super::Kind::{Bytes, Choice, Count, Duration, Flag, List, Number};
use super::Range::{Any, Within};
use super::top::MAX_TIME;
use super::{Section, key};

/// Largest request, object or document.
const MAX_SIZE: f64 = 1e9;

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "flow.<name>.app",
        kind: Some("video"),
        meaning: "Adaptive video (TCP or QUIC, towards the user): segments one after the other on one connection, \
                  each of the bitrate that the player chooses. Until the run ends. Measured: start-up delay, stalls, bitrate, \
                  switches ([applications](algorithms/applications.md)).",
        keys: &[
            key(
                "segment",
                Duration,
                Value("2 s"),
                Within(0.1, 60.0),
                "How much of the video a segment holds.",
            ),
            key(
                "ladder",
                List("rates"),
                Value(
                    "[\"145 kbit/s\", \"300 kbit/s\", \"600 kbit/s\", \"900 kbit/s\", \"1.6 Mbit/s\", \"2.4 Mbit/s\", \
                     \"3.4 Mbit/s\", \"4.5 Mbit/s\", \"5.8 Mbit/s\", \"8.1 Mbit/s\", \"11.6 Mbit/s\", \"16.8 Mbit/s\"]",
                ),
                Any,
                "The bitrates that there are, rising; 1 to 100 (default: those of HEVC in Apple's HLS authoring \
                 specification).",
            ),
            key(
                "variation",
                Number,
                Value("0"),
                Within(0.0, 0.9),
                "Segments are larger or smaller than their bitrate by up to this share, evenly distributed, as the seed of \
                 each run draws it.",
            ),
            key(
                "buffer",
                Duration,
                Value("30 s"),
                Within(0.2, MAX_TIME),
                "How much the player buffers at most: a segment is requested once there is room for it.",
            ),
            key(
                "startup",
                Duration,
                Value("4 s"),
                Within(0.001, MAX_TIME),
                "With so much in the buffer playback begins, and goes on after a stall.",
            ),
            key(
                "rule",
                Choice(&["bola", "bba", "rate"]),
                Value("bola"),
                Any,
                "How the next segment's bitrate is chosen: by the buffer (`bola`: BOLA-BASIC; `bba`: BBA-0), or by the \
                 throughput of the last five segments (`rate`).",
            ),
            key(
                "safety",
                Number,
                Value("0.9"),
                Within(0.01, 1.0),
                "`rate` chooses the greatest bitrate within this share of the throughput.",
            ),
            key(
                "request",
                Bytes,
                Value("400 B"),
                Within(1.0, MAX_SIZE),
                "Payload of the request for a segment.",
            ),
        ],
    },
    Section {
        path: "flow.<name>.app",
        kind: Some("page"),
        meaning: "Pages of many objects (over HTTP/2 with TCP, over HTTP/3 with QUIC; towards the user): a document, what \
                  blocks its first rendering, and what that refers to in turn. Measured: load times, first byte, first \
                  rendering ([applications](algorithms/applications.md)).",
        keys: &[
            key(
                "document",
                Bytes,
                Value("18 kB"),
                Within(1.0, MAX_SIZE),
                "Mean size of the document (HTTP Archive, October 2024, desktop, median: 18 KB of HTML).",
            ),
            key(
                "blocking",
                Count,
                Value("30"),
                Within(0.0, 10_000.0),
                "Objects that the document refers to, without which nothing is rendered: style sheets and scripts.",
            ),
            key(
                "blocking-size",
                Bytes,
                Value("23 kB"),
                Within(1.0, MAX_SIZE),
                "Mean size of each (HTTP Archive: 613 KB of scripts and 78 KB of style sheets in all).",
            ),
            key(
                "objects",
                Count,
                Value("40"),
                Within(0.0, 10_000.0),
                "Objects that these refer to in turn (without any: the document): images, fonts (HTTP Archive: 71 requests \
                 in all).",
            ),
            key(
                "object-size",
                Bytes,
                Value("49 kB"),
                Within(1.0, MAX_SIZE),
                "Mean size of each (HTTP Archive: 2,652 KB in all).",
            ),
            key(
                "spread",
                Number,
                Value("1.3"),
                Within(0.0, 3.0),
                "Sizes are lognormal with this standard deviation of the logarithm, drawn for each page anew (Barford and \
                 Crovella, SIGMETRICS 1998: 1.318); 0: all have their mean.",
            ),
            key(
                "request",
                Bytes,
                Value("400 B"),
                Within(1.0, MAX_SIZE),
                "Payload of a request.",
            ),
            key(
                "think",
                Duration,
                Value("10 ms"),
                Within(0.0, 60.0),
                "From a request's arrival at the server until its answer is ready.",
            ),
            key(
                "gap",
                Duration,
                Value("2 s"),
                Within(0.0, MAX_TIME),
                "From the end of one page until the next begins.",
            ),
            key(
                "count",
                Count,
                Absent("pages until the run ends"),
                Within(1.0, 1e6),
                "How many pages.",
            ),
            key(
                "new-connections",
                Flag,
                Value("true"),
                Any,
                "Each page on a new connection; else all on one.",
            ),
        ],
    },
];
