//! Packets per 10 ms tick, one value a second, like the two traces of the dynamic-buffer authors.
//!
//! Theirs come from the CQI of a pedestrian's and a train passenger's LTE logs by a table of 25
//! PRBs (below). Ours draw an SINR, take its CQI, and use the same table:
//!
//! * **pedestrian**: 6.5 dB + two Gauss-Markov processes, of 3.2 dB and 17 s (the street) and of
//!   2.9 dB and 1 s (the steps);
//! * **train**: a Markov chain of cuttings (mean 21.9 s, SINR -5 dB) and open country (mean 10.3 s,
//!   SINR 9.5 dB), each + a Gauss-Markov process of 5 s, of 6.5 dB in the open, 1.5 dB in a cutting.
//!
//! Statistics of theirs that these parameters were chosen for: pedestrian mean 3.91, deviation
//! 2.19, correlation after one second 0.66; train mean 2.53, deviation 2.87, correlation 0.81, 68 %
//! of the values 1.

use super::{GaussMarkov, cqi_of};
use crate::trace::{Content, PacketsPerTick};
use units::{Decibel, Duration, Streams};

/// Packets per tick at CQI 1 to 15; at CQI 0 as at 1.
const PACKETS: [u32; 15] = [1, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 9, 10, 12, 15];

fn packets(sinr: f64) -> u32 {
    let cqi = cqi_of(Decibel::new(sinr)).get();
    PACKETS[usize::from(cqi.saturating_sub(1))]
}

fn seconds(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000_000)
}

fn content(values: impl Iterator<Item = u32>) -> Content {
    Content::PacketsPerTick(PacketsPerTick {
        values: values.collect(),
    })
}

pub(super) fn pedestrian(duration: Duration, streams: &Streams) -> Content {
    let mut street = GaussMarkov::new(streams.stream("street"), 3.2);
    let mut walk = GaussMarkov::new(streams.stream("walk"), 2.9);
    let value = |_| packets(6.5 + street.next(1.0 / 17.0) + walk.next(1.0));
    content((0..seconds(duration)).map(value))
}

/// Mean stay in each state, s.
const CUTTING: f64 = 21.9;
const OPEN: f64 = 10.3;

pub(super) fn train(duration: Duration, streams: &Streams) -> Content {
    let mut country = GaussMarkov::new(streams.stream("country"), 1.0);
    let mut changes = streams.stream("changes");
    let mut open = changes.chance(OPEN / (OPEN + CUTTING));
    let value = |_| {
        let stay = if open { OPEN } else { CUTTING };
        if changes.chance(1.0 / stay) {
            open = !open;
        }
        let shape = country.next(1.0 / 5.0);
        packets(if open {
            9.5 + 6.5 * shape
        } else {
            -5.0 + 1.5 * shape
        })
    };
    content((0..seconds(duration)).map(value))
}
