//! Traces that Brimful makes itself, from a seed.
//!
//! | kind | what | content |
//! | --- | --- | --- |
//! | `drive-lte`, `drive-nr` | a car passes base stations, with handovers | CQI each 100 ms |
//! | `street-west`, `street-east` | two cells that a car goes to and fro between; of one seed they belong together | CQI, SINR, RSRP each 100 ms |
//! | `static` | a phone on a table | CQI each second |
//! | `pedestrian`, `train` | like those of the dynamic-buffer authors | packets per 10 ms, each second |
//! | `mmwave` | a walk at 28 GHz with people and cars in the way | rate each 20 ms |
//! | `bursty` | a busy LTE cell, like those that Saturator recorded | opportunities, to the ms |
//!
//! Each model is described with its formulae in its file. The same kind, duration and seed always
//! give the same trace. (Values are rounded to what is written, so that the last digit of a
//! platform's logarithm does not show.) A longer duration continues a shorter one.
//!
//! Common to all is the Gauss-Markov process of standard deviation s and correlation time T,
//! X(t + dt) = r X(t) + sqrt(1 - r^2) s N(0, 1), with r = exp(-dt / T), begun in its stationary
//! distribution (TR 38.901 7.4-5 has the same form over distance).

mod bursty;
mod drive;
mod mmwave;
mod steady;
mod street;
mod tick_packets;

use super::{Content, Format, MAX_DURATION, Quality, QualitySample, Trace};
use crate::moving::Dbm;
use crate::{CqiTable, UnknownName, cqi_entry};
use core::fmt;
use core::str::FromStr;
use units::{Cqi, Decibel, Duration, Rng, Streams};

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A car among LTE base stations.
    DriveLte,
    /// A car among NR base stations at 3.5 GHz.
    DriveNr,
    /// A phone at rest.
    Static,
    /// A pedestrian's LTE capacity in packets per tick.
    Pedestrian,
    /// A train passenger's LTE capacity in packets per tick.
    Train,
    /// A walk at 28 GHz with blockage.
    Mmwave,
    /// Delivery opportunities of a busy LTE cell.
    Bursty,
    /// The western of two NR cells between which a car goes to and fro.
    StreetWest,
    /// The eastern one: with the same seed, of the same drive.
    StreetEast,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::DriveLte,
        Self::DriveNr,
        Self::Static,
        Self::Pedestrian,
        Self::Train,
        Self::Mmwave,
        Self::Bursty,
        Self::StreetWest,
        Self::StreetEast,
    ];

    const NAMES: [&'static str; 9] = [
        "drive-lte",
        "drive-nr",
        "static",
        "pedestrian",
        "train",
        "mmwave",
        "bursty",
        "street-west",
        "street-east",
    ];

    /// The name, as `--kind` takes it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The format in which this kind is usually written.
    pub const fn format(self) -> Format {
        match self {
            Self::Pedestrian | Self::Train => Format::PacketsPerTick,
            _ => Format::Brimful,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownName;
    /// `drive` is `drive-lte`.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let name = if text == "drive" { "drive-lte" } else { text };
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownName::new("kind of trace", text, &Self::NAMES))
    }
}

/// Why a trace cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Too short or too long.
    #[error("the duration of the trace is {duration}: choose {least} to {most}")]
    Duration {
        /// What was requested.
        duration: Duration,
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
}

/// The shortest trace: one value of packets per tick.
const MIN_DURATION: Duration = Duration::from_secs(1);

/// Generates a trace. Packets per tick last whole seconds: the duration is rounded up.
///
/// # Errors
/// A duration below 1 s or above [`MAX_DURATION`].
pub fn generate(kind: Kind, duration: Duration, seed: u64) -> Result<Trace, GenerateError> {
    if duration < MIN_DURATION || duration > MAX_DURATION {
        let (least, most) = (MIN_DURATION, MAX_DURATION);
        return Err(GenerateError::Duration {
            duration,
            least,
            most,
        });
    }
    let streams = Streams::new(seed).child("trace").child(kind.name());
    let content = match kind {
        Kind::DriveLte => drive::generate(&drive::LTE, duration, &streams),
        Kind::DriveNr => drive::generate(&drive::NR, duration, &streams),
        Kind::Static => steady::generate(duration, &streams),
        Kind::Pedestrian => tick_packets::pedestrian(duration, &streams),
        Kind::Train => tick_packets::train(duration, &streams),
        Kind::Mmwave => mmwave::generate(duration, &streams),
        Kind::Bursty => bursty::generate(duration, &streams),
        Kind::StreetWest => {
            street::generate(street::Cell::West, duration, &streams_of_street(seed))
        }
        Kind::StreetEast => {
            street::generate(street::Cell::East, duration, &streams_of_street(seed))
        }
    };
    let source = format!("generated, kind {kind}, duration {duration}, seed {seed}");
    Ok(Trace::made(&source, kind.format(), content))
}

/// Both cells of a street have the same streams: they are of one drive.
fn streams_of_street(seed: u64) -> Streams {
    Streams::new(seed).child("trace").child("street")
}

/// The Gauss-Markov process, in steps of equal length.
#[derive(Clone, Debug)]
struct GaussMarkov {
    rng: Rng,
    deviation: f64,
    value: f64,
}

impl GaussMarkov {
    /// Standard deviation in the unit of the value.
    fn new(mut rng: Rng, deviation: f64) -> Self {
        let value = deviation * rng.normal();
        Self {
            rng,
            deviation,
            value,
        }
    }

    /// One step, which is `step` correlation times (or lengths) long.
    fn next(&mut self, step: f64) -> f64 {
        let kept = (-step).exp();
        let fresh = (1.0 - kept * kept).sqrt() * self.deviation * self.rng.normal();
        self.value = kept * self.value + fresh;
        self.value
    }
}

/// How far a real link stays below capacity at the error rate of 0.1 for which a CQI is defined.
const SHANNON_GAP: Decibel = Decibel::new(3.0);

/// The CQI of an SINR: the highest whose efficiency (TS 36.213 Table 7.2.3-1, which is TS 38.214
/// Table 5.2.2.1-2) is at most log2(1 + SINR / gap), with a gap of 3 dB; 0 if there is none.
fn cqi_of(sinr: Decibel) -> Cqi {
    let reached = (1.0 + (sinr - SHANNON_GAP).to_linear()).log2();
    let fits = |cqi: &Cqi| {
        cqi_entry(CqiTable::LteQam64, *cqi).is_some_and(|entry| entry.efficiency() <= reached)
    };
    (1..=15)
        .rev()
        .map(Cqi::new)
        .find(fits)
        .unwrap_or(Cqi::new(0))
}

/// CQI over time, one entry for each change.
#[derive(Default)]
struct CqiTrack {
    samples: Vec<QualitySample>,
}

impl CqiTrack {
    fn push(&mut self, at: Duration, cqi: Cqi) {
        let cqi = Some(cqi);
        if self.samples.last().is_none_or(|last| last.cqi != cqi) {
            self.samples.push(QualitySample {
                at,
                cqi,
                snr: None,
                rsrp: None,
                network: super::Network::Unknown,
            });
        }
    }

    /// With what is measured of the cell, each rounded to 0.1 dB: an entry whatever changes.
    fn push_measured(&mut self, at: Duration, (sinr, rsrp): (Decibel, Dbm)) {
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        self.samples.push(QualitySample {
            at,
            cqi: Some(cqi_of(sinr)),
            snr: Some(Decibel::new(rounded(sinr.get()))),
            rsrp: Some(Dbm::new(rounded(rsrp.get()))),
            network: super::Network::Nr,
        });
    }

    fn content(self, duration: Duration) -> Content {
        Content::Quality(Quality {
            samples: self.samples.into(),
            duration,
        })
    }
}

/// The times of a process's steps.
fn steps(duration: Duration, step: Duration) -> impl Iterator<Item = Duration> {
    let count = duration.as_nanos().div_ceil(step.as_nanos());
    (0..count).map(move |i| step * i)
}

#[cfg(test)]
mod tests;
