//! Two NR cells, as one phone measures them in a car that goes to and fro between them.
//!
//! A base station stands at either end of a road of 400 m, 25 m beside (and above) it; the car goes from the western end to
//! the eastern and back, again and again, at 50 km/h. In steps of 100 ms, in dB over the noise, with the formulae of
//! the drives (`drive.rs`):
//!
//! * received from station i: `P_i` = 33 - 32 `log10(d_i` / 100 m) + `S_i`, shadowing of 4 dB over 50 m;
//! * SINR of its cell = `P_i` - 10 `log10(1` + 0.4 x the linear power of the other) + `F_i`, what is left of fast fading, 1.8 dB
//!   over 1 s;
//! * RSRP = `P_i` - 122.2 dBm, the noise of a resource element of 30 kHz with a noise figure of 7 dB.
//!
//! The CQI is that of the SINR, unrounded; SINR and RSRP are rounded to 0.1 dB. Nothing of a handover is in it: each cell
//! is measured all the time.

use super::{CqiTrack, GaussMarkov, steps};
use crate::moving::Dbm;
use crate::trace::Content;
use units::{Decibel, Duration, Streams};

const STEP: Duration = Duration::from_millis(100);
const FADING_TIME: Duration = Duration::from_secs(1);
/// From one base station to the other, along the road, m.
const ROAD: f64 = 400.0;
/// Of a base station from the road, m.
const OFFSET: f64 = 25.0;
/// m/s.
const SPEED: f64 = 13.9;
/// Power over noise at 100 m, dB.
const POWER: f64 = 33.0;
/// Path loss exponent.
const EXPONENT: f64 = 3.2;
/// Shadowing's deviation, dB, and correlation length, m.
const SHADOWING: f64 = 4.0;
const SHADOWING_LENGTH: f64 = 50.0;
/// Deviation of what is left of fast fading, dB.
const FADING: f64 = 1.8;
/// Share of time in which the other station sends.
const LOAD: f64 = 0.4;
/// Noise of a resource element, dBm.
const NOISE: f64 = -122.2;

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    West,
    East,
}

/// A base station.
struct Station {
    /// Along the road, m.
    place: f64,
    shadowing: GaussMarkov,
    fading: GaussMarkov,
}

impl Station {
    fn new(name: &str, place: f64, streams: &Streams) -> Self {
        let streams = streams.child(name);
        Self {
            place,
            shadowing: GaussMarkov::new(streams.stream("shadowing"), SHADOWING),
            fading: GaussMarkov::new(streams.stream("fading"), FADING),
        }
    }

    /// Power over noise, and what is left of fast fading, dB: one step further, with the car at `x`.
    fn next(&mut self, x: f64) -> (f64, f64) {
        let distance = (x - self.place).hypot(OFFSET);
        let path = 10.0 * EXPONENT * (distance / 100.0).log10();
        let driven = SPEED * STEP.as_secs_f64();
        let shadowing = self.shadowing.next(driven / SHADOWING_LENGTH);
        let fading = self.fading.next(STEP.ratio(FADING_TIME));
        (POWER - path + shadowing, fading)
    }
}

/// Where the car is, m from the western end.
fn place(at: Duration) -> f64 {
    let driven = (SPEED * at.as_secs_f64()) % (2.0 * ROAD);
    driven.min(2.0 * ROAD - driven)
}

pub(super) fn generate(of: Cell, duration: Duration, streams: &Streams) -> Content {
    let mut west = Station::new("west", 0.0, streams);
    let mut east = Station::new("east", ROAD, streams);
    let mut track = CqiTrack::default();
    for at in steps(duration, STEP) {
        let x = place(at);
        let (west, east) = (west.next(x), east.next(x));
        let ((power, fading), (other, _)) = match of {
            Cell::West => (west, east),
            Cell::East => (east, west),
        };
        let interference = LOAD * Decibel::new(other).to_linear();
        let sinr = power - 10.0 * (1.0 + interference).log10() + fading;
        track.push_measured(at, (Decibel::new(sinr), Dbm::new(power + NOISE)));
    }
    track.content(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_car_goes_to_and_fro() {
        let at = |seconds: f64| place(Duration::from_nanos((seconds * 1e9) as u64));
        assert_eq!(at(0.0), 0.0);
        assert!((at(ROAD / SPEED) - ROAD).abs() < 1e-6);
        assert!((at(1.5 * ROAD / SPEED) - ROAD / 2.0).abs() < 1e-6);
        assert!(at(2.0 * ROAD / SPEED) < 1e-6);
    }

    /// What one of the two is measured with is what disturbs the other: near its own station each is 20 dB and more
    /// above the other one.
    #[test]
    fn both_are_of_one_drive() {
        let streams = Streams::new(1);
        let rsrp = |cell: Cell, at: usize| match generate(cell, Duration::from_secs(60), &streams) {
            Content::Quality(quality) => quality.samples()[at].rsrp.map_or(0.0, Dbm::get),
            _ => 0.0,
        };
        for (at, near, far) in [(0, Cell::West, Cell::East), (288, Cell::East, Cell::West)] {
            let difference = rsrp(near, at) - rsrp(far, at);
            assert!((20.0..60.0).contains(&difference), "{difference} dB");
        }
    }
}
