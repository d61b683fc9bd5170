//! A car that passes base stations along a straight road.
//!
//! Base stations stand every D metres, h metres beside (and above) the road; the car drives at the
//! speed v. In steps of 100 ms, in dB over the noise:
//!
//! * received from station i: `P_i` = P - 10 n `log10(d_i` / 100 m) + `S_i`, with `S_i` the station's
//!   shadowing, a Gauss-Markov process over the distance driven (deviation s, correlation length L);
//! * SINR = `P_serving` - 10 `log10(1` + load x sum of the other stations' linear powers) + F, with F
//!   what is left of fast fading in 100 ms, a Gauss-Markov process of 1 s;
//! * handover: when another station is 3 dB above the serving one for two steps on end. The link is
//!   then interrupted for 50 ms (LTE) or 30 ms (NR), which the trace shows as CQI 0.
//!
//! The stations two to either side of the car take part. The CQI is that of the SINR.
//!
//! Deviations from a real drive: the speed is constant, all cells are loaded alike, the road has no
//! corners. The driving logs of the UCC data sets have CQI means of 9.4 to 11.4, deviations of 3.0
//! to 3.2 and correlations of 0.76 to 0.83 after one second; these parameters give means of about
//! 10.3, deviations of about 3.5 and correlations of 0.70 to 0.77.

use super::{CqiTrack, GaussMarkov, cqi_of, steps};
use crate::trace::Content;
use units::{Cqi, Decibel, Duration, Streams};

/// Step of the CQI.
const STEP: Duration = Duration::from_millis(100);
/// Correlation time of what is left of fast fading.
const FADING_TIME: Duration = Duration::from_secs(1);
/// Hysteresis of a handover, dB, and the steps for which it has to last.
const HYSTERESIS: f64 = 3.0;
const TIME_TO_TRIGGER: u32 = 2;
/// Stations that are in_range: this many to either side.
const RANGE_STATIONS: i64 = 2;

/// A drive.
pub(super) struct Drive {
    /// Distance of neighbouring stations, m.
    spacing: f64,
    /// Distance of a station from the road, m.
    offset: f64,
    /// Speed, m/s.
    speed: f64,
    /// Power over noise at 100 m, dB.
    power: f64,
    /// Path loss exponent.
    exponent: f64,
    /// Shadowing's deviation, dB, and correlation length, m.
    shadowing: f64,
    shadowing_length: f64,
    /// Deviation of what is left of fast fading, dB.
    fading: f64,
    /// Share of time in which another station sends.
    load: f64,
    /// Interruption at a handover.
    interruption: Duration,
}

/// 50 km/h, stations 1 km apart.
pub(super) const LTE: Drive = Drive {
    spacing: 1000.0,
    offset: 200.0,
    speed: 13.9,
    power: 40.0,
    exponent: 3.2,
    shadowing: 5.0,
    shadowing_length: 50.0,
    fading: 1.8,
    load: 0.4,
    interruption: Duration::from_millis(50),
};

/// 50 km/h, stations 500 m apart, 3.5 GHz.
pub(super) const NR: Drive = Drive {
    spacing: 500.0,
    offset: 120.0,
    speed: 13.9,
    power: 33.0,
    exponent: 3.2,
    shadowing: 5.0,
    shadowing_length: 50.0,
    fading: 1.8,
    load: 0.4,
    interruption: Duration::from_millis(30),
};

/// A station that is in_range.
struct Station {
    number: i64,
    shadowing: GaussMarkov,
    /// Power over noise, dB.
    power: f64,
}

/// The stations around the car.
struct Surroundings<'a> {
    drive: &'a Drive,
    streams: &'a Streams,
    stations: Vec<Station>,
}

impl Surroundings<'_> {
    /// Moves the car to `x`, having driven `driven` metres since the last step.
    fn move_to(&mut self, x: f64, driven: f64) {
        let nearest = (x / self.drive.spacing).round() as i64;
        let in_range = nearest - RANGE_STATIONS..=nearest + RANGE_STATIONS;
        self.stations
            .retain(|station| in_range.contains(&station.number));
        for number in in_range {
            if !self.stations.iter().any(|station| station.number == number) {
                let rng = self.streams.stream(&format!("station {number}"));
                let shadowing = GaussMarkov::new(rng, self.drive.shadowing);
                self.stations.push(Station {
                    number,
                    shadowing,
                    power: 0.0,
                });
            }
        }
        for station in &mut self.stations {
            let along = x - station.number as f64 * self.drive.spacing;
            let distance = along.hypot(self.drive.offset);
            let path = 10.0 * self.drive.exponent * (distance / 100.0).log10();
            let shadowing = station.shadowing.next(driven / self.drive.shadowing_length);
            station.power = self.drive.power - path + shadowing;
        }
    }

    /// The power of a station, or nothing once it is out of sight.
    fn power(&self, number: i64) -> f64 {
        let station = self
            .stations
            .iter()
            .find(|station| station.number == number);
        station.map_or(f64::NEG_INFINITY, |station| station.power)
    }

    fn best(&self) -> i64 {
        let best = self
            .stations
            .iter()
            .max_by(|a, b| a.power.total_cmp(&b.power));
        best.map_or(0, |station| station.number)
    }

    fn sinr(&self, serving: i64) -> f64 {
        let others = self
            .stations
            .iter()
            .filter(|station| station.number != serving);
        let interference: f64 = others
            .map(|station| Decibel::new(station.power).to_linear())
            .sum();
        self.power(serving) - 10.0 * (1.0 + self.drive.load * interference).log10()
    }
}

pub(super) fn generate(drive: &Drive, duration: Duration, streams: &Streams) -> Content {
    let mut around = Surroundings {
        drive,
        streams,
        stations: Vec::new(),
    };
    let mut fading = GaussMarkov::new(streams.stream("fading"), drive.fading);
    let start = streams.stream("start").uniform() * drive.spacing;
    around.move_to(start, 0.0);
    let mut serving = around.best();
    let mut better_for = 0;
    let mut track = CqiTrack::default();
    for at in steps(duration, STEP) {
        let driven = drive.speed * STEP.as_secs_f64();
        around.move_to(start + drive.speed * at.as_secs_f64(), driven);
        let best = around.best();
        let better = around.power(best) > around.power(serving) + HYSTERESIS;
        better_for = if better { better_for + 1 } else { 0 };
        let handover = better_for >= TIME_TO_TRIGGER;
        if handover {
            (serving, better_for) = (best, 0);
        }
        let sinr = around.sinr(serving) + fading.next(STEP.ratio(FADING_TIME));
        let cqi = cqi_of(Decibel::new(sinr));
        if handover {
            track.push(at, Cqi::new(0));
        }
        let resumed = if handover {
            at + drive.interruption
        } else {
            at
        };
        if resumed < duration {
            track.push(resumed, cqi);
        }
    }
    track.content(duration)
}
