//! Statistics of a trace.
//!
//! All are weighted by time, not by rows. Delivery opportunities have no rate by themselves: theirs
//! is counted in windows of 100 ms. Percentile p is the smallest value below or at which the trace
//! spends p percent of its time.

use super::{
    Content, DciLog, Format, Network, NetworkTimes, Opportunities, Playback, Quality, Trace,
};
use core::fmt;
use std::collections::BTreeSet;
use units::{BitRate, Bytes, Duration};

/// The percentiles that are given.
pub const PERCENTILES: [u8; 7] = [1, 5, 25, 50, 75, 95, 99];

/// The window over which the rate of delivery opportunities is counted.
const WINDOW: Duration = Duration::from_millis(100);

/// Statistics of a trace, as `brimful trace info` prints them.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceInfo {
    /// Where it came from.
    pub source: String,
    /// Its format.
    pub format: Format,
    /// Its content, in words.
    pub kind: &'static str,
    /// How long it lasts.
    pub duration: Duration,
    /// What it was recorded on.
    pub networks: NetworkTimes,
    /// Rows, values, opportunities (instants) or DCIs.
    pub samples: u64,
    /// Share of time in which nothing can be sent, 0 to 1: CQI 0 or an older network; rate 0; 100 ms
    /// without an opportunity. A DCI log does not contain it: 0.
    pub outage_share: f64,
    /// The values; `None` if nothing is known outside outages.
    pub values: Option<Values>,
    /// What else there is to print, one sentence each.
    pub notes: Vec<String>,
}

/// The values of a trace.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// CQI, while one is known, without its outages.
    Cqi(Summary<f64>),
    /// MCS index of the chosen UE's downlink blocks, each counted once.
    Mcs(Summary<f64>),
    /// Rate, outages included.
    Rate(Summary<BitRate>),
}

/// The distribution of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary<T> {
    /// Mean.
    pub mean: T,
    /// Least.
    pub min: T,
    /// Most.
    pub max: T,
    /// The values at [`PERCENTILES`].
    pub percentiles: [T; PERCENTILES.len()],
}

/// Values and the time for which each held.
type Weighted = Vec<(f64, f64)>;

impl Summary<f64> {
    /// `None` if the weights add up to nothing.
    fn of(mut values: Weighted) -> Option<Self> {
        values.retain(|&(_, weight)| weight > 0.0);
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|&(_, weight)| weight).sum();
        let (&(min, _), &(max, _)) = (values.first()?, values.last()?);
        let mean = values
            .iter()
            .map(|&(value, weight)| value * weight)
            .sum::<f64>()
            / total;
        let percentiles = PERCENTILES.map(|percent| {
            let goal = total * f64::from(percent) / 100.0;
            let mut below = 0.0;
            let reached = values.iter().find(|&&(_, weight)| {
                below += weight;
                below >= goal
            });
            reached.map_or(max, |&(value, _)| value)
        });
        Some(Self {
            mean,
            min,
            max,
            percentiles,
        })
    }

    fn rates(self) -> Summary<BitRate> {
        let rate = |bps: f64| BitRate::from_bps(bps.round() as u64);
        Summary {
            mean: rate(self.mean),
            min: rate(self.min),
            max: rate(self.max),
            percentiles: self.percentiles.map(rate),
        }
    }
}

impl Trace {
    /// Statistics, with the usual playback.
    pub fn info(&self) -> TraceInfo {
        self.info_with(&Playback::default())
    }

    /// Statistics, with packets and ticks of the size that `playback` states.
    pub fn info_with(&self, playback: &Playback) -> TraceInfo {
        let duration = self.duration_with(playback);
        let (samples, outage_share, values) = match &self.content {
            Content::Quality(quality) => of_quality(quality),
            Content::Opportunities(opportunities) => {
                of_opportunities(opportunities, playback.packet)
            }
            Content::PacketsPerTick(packets) => {
                let rate = |packets: u32| {
                    let bytes = playback.packet * u64::from(packets);
                    BitRate::from_bytes_per(bytes, playback.tick).as_bps() as f64
                };
                let values = packets
                    .values
                    .iter()
                    .map(|&value| (rate(value), 1.0))
                    .collect();
                of_rates(packets.values.len(), values)
            }
            Content::Rate(rates) => {
                let ends = rates
                    .steps
                    .iter()
                    .skip(1)
                    .map(|step| step.at)
                    .chain([rates.duration]);
                let held =
                    rates.steps.iter().zip(ends).map(|(step, end)| {
                        (step.rate.as_bps() as f64, (end - step.at).as_secs_f64())
                    });
                of_rates(rates.steps.len(), held.collect())
            }
            Content::Dci(log) => of_dci(log),
        };
        let mut notes = self.notes.clone();
        if let Content::Dci(log) = &self.content {
            notes.extend(dci_notes(log));
        }
        TraceInfo {
            source: self.source.clone(),
            format: self.format,
            kind: self.content.kind(),
            duration,
            networks: self.networks,
            samples,
            outage_share,
            values,
            notes,
        }
    }
}

fn of_quality(quality: &Quality) -> (u64, f64, Option<Values>) {
    let samples = &quality.samples;
    let ends = samples
        .iter()
        .skip(1)
        .map(|sample| sample.at)
        .chain([quality.duration]);
    let (mut values, mut outage) = (Weighted::new(), 0.0);
    for (sample, end) in samples.iter().zip(ends) {
        let held = (end - sample.at).as_secs_f64();
        match sample.cqi.map(|cqi| cqi.get()) {
            Some(0) => outage += held,
            Some(cqi) => values.push((f64::from(cqi), held)),
            None if sample.network == Network::Older => outage += held,
            None => {}
        }
    }
    let share = outage / quality.duration.as_secs_f64();
    (
        samples.len() as u64,
        share,
        Summary::of(values).map(Values::Cqi),
    )
}

fn of_rates(samples: usize, values: Weighted) -> (u64, f64, Option<Values>) {
    let total: f64 = values.iter().map(|&(_, weight)| weight).sum();
    let zero: f64 = values
        .iter()
        .filter(|&&(rate, _)| rate == 0.0)
        .map(|&(_, w)| w)
        .sum();
    let values = Summary::of(values).map(|summary| Values::Rate(summary.rates()));
    // an empty sum of floats is -0
    (samples as u64, (zero / total).abs(), values)
}

fn of_opportunities(trace: &Opportunities, packet: Bytes) -> (u64, f64, Option<Values>) {
    // a trace that is shorter than a window is one
    let length = WINDOW.min(trace.duration);
    let windows = trace.duration.as_nanos().div_ceil(WINDOW.as_nanos());
    // an opportunity at the very end belongs to the last window
    let window = |at: Duration| (at / WINDOW).min(windows - 1);
    let mut values: Weighted = trace
        .steps
        .chunk_by(|a, b| window(a.at) == window(b.at))
        .map(|steps| {
            let packets: u64 = steps.iter().map(|step| step.packets.get()).sum();
            (
                BitRate::from_bytes_per(packet * packets, length).as_bps() as f64,
                1.0,
            )
        })
        .collect();
    values.push((0.0, (windows - values.len() as u64) as f64));
    let (_, outage, found) = of_rates(trace.steps.len(), values);
    // the last window may be shorter than the others: the mean is that of all packets
    let mean = BitRate::from_bytes_per(packet * trace.packets().get(), trace.duration);
    let found = found.map(|values| match values {
        Values::Rate(summary) => Values::Rate(Summary { mean, ..summary }),
        other => other,
    });
    (trace.steps.len() as u64, outage, found)
}

fn of_dci(log: &DciLog) -> (u64, f64, Option<Values>) {
    let blocks = log.of_ue().filter(|dci| dci.carries_new_downlink_data());
    let values = blocks.map(|dci| (f64::from(dci.mcs.get()), 1.0)).collect();
    (
        log.records.len() as u64,
        0.0,
        Summary::of(values).map(Values::Mcs),
    )
}

fn dci_notes(log: &DciLog) -> Vec<String> {
    let ues: BTreeSet<u16> = log.downlink().map(|dci| dci.rnti.0).collect();
    let prb: u64 = log.downlink().map(|dci| u64::from(dci.prb.get())).sum();
    let seconds = |slot: u64| (log.slot_duration * slot).as_secs_f64();
    let first = log.of_ue().next().map_or(0, |dci| dci.slot);
    let last = log.of_ue().last().map_or(0, |dci| dci.slot);
    vec![
        format!(
            "{} UEs in the downlink, which use {:.2} PRBs per slot together",
            ues.len(),
            prb as f64 / log.slots as f64
        ),
        format!(
            "the MCS is that of RNTI {}, seen from {:.3} s to {:.3} s; another: --series rnti=N",
            log.rnti.0,
            seconds(first),
            seconds(last)
        ),
    ]
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<12}{value}")
}

/// The lines of the values; `show` states how one is written.
fn summary_lines<T: Copy>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    summary: &Summary<T>,
    show: impl Fn(T) -> String,
) -> fmt::Result {
    let (mean, min, max) = (show(summary.mean), show(summary.min), show(summary.max));
    line(f, name, format_args!("mean {mean}, min {min}, max {max}"))?;
    let list: Vec<_> = PERCENTILES
        .iter()
        .zip(summary.percentiles)
        .map(|(percent, value)| format!("p{percent} {}", show(value)))
        .collect();
    line(f, "", list.join(", "))
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "source", &self.source)?;
        line(f, "format", self.format)?;
        line(f, "content", self.kind)?;
        line(f, "duration", self.duration)?;
        line(f, "networks", self.networks)?;
        line(f, "samples", self.samples)?;
        let index = |value: f64| format!("{}", (value * 100.0).round() / 100.0);
        match &self.values {
            Some(Values::Cqi(summary)) => summary_lines(f, "CQI", summary, index)?,
            Some(Values::Mcs(summary)) => summary_lines(f, "MCS", summary, index)?,
            Some(Values::Rate(summary)) => summary_lines(f, "rate", summary, |rate| {
                format!("{:.3} Mbit/s", rate.as_mbps_f64())
            })?,
            None => line(f, "values", "none")?,
        }
        line(
            f,
            "outage",
            format_args!("{:.2} % of the time", self.outage_share * 100.0),
        )?;
        self.notes.iter().try_for_each(|note| line(f, "note", note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_shorter_than_a_window_has_one_rate() {
        let trace = crate::trace::read("f", b"5\n", &crate::trace::ReadOptions::default());
        let info = trace.expect("an opportunity").info();
        let Some(Values::Rate(rates)) = info.values else {
            panic!("no rates: {info}");
        };
        // 1500 bytes in 5 ms
        let rate = BitRate::from_bps(2_400_000);
        assert_eq!((rates.min, rates.mean, rates.max), (rate, rate, rate));
    }
}
