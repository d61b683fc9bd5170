//! A trace over time, in equal parts: what a small figure of it shows.

use super::{Content, Network, Playback, Trace};
use units::{BitRate, Duration};

/// The window over which the rate of delivery opportunities is counted.
const WINDOW: Duration = Duration::from_millis(100);

/// What the values of a [`Profile`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CQI, 0 to 15.
    Cqi,
    /// MCS index.
    Mcs,
    /// Rate, bit/s.
    Rate,
}

/// The values in a part of a trace, weighted by time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
}

/// A trace over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What the values are.
    pub measure: Measure,
    /// How long a part is.
    pub part: Duration,
    /// The parts in their order; none where nothing is known of a part.
    pub parts: Vec<Option<Part>>,
}

/// A value that holds from one time to another, in seconds.
struct Span {
    from: f64,
    to: f64,
    value: f64,
}

impl Trace {
    /// The trace in so many equal parts (at least one), with the usual playback. An outage counts as CQI 0.
    pub fn profile(&self, parts: usize) -> Profile {
        let playback = Playback::default();
        let duration = self.duration_with(&playback);
        let (measure, spans) = self.spans(&playback);
        let parts = parts.max(1);
        let length = duration.as_secs_f64() / parts as f64;
        Profile {
            measure,
            part: Duration::from_nanos(duration.as_nanos() / parts as u64),
            parts: divided(&spans, length, parts),
        }
    }

    fn spans(&self, playback: &Playback) -> (Measure, Vec<Span>) {
        match &self.content {
            Content::Quality(quality) => {
                let samples = quality.samples().iter();
                let rows = samples.map(|sample| {
                    let outage = (sample.network == Network::Older).then_some(0.0);
                    let cqi = sample.cqi.map(|cqi| f64::from(cqi.get()));
                    (sample.at, cqi.or(outage))
                });
                (Measure::Cqi, held(rows, quality.duration))
            }
            Content::Rate(rates) => {
                let steps = rates.steps().iter();
                let rows = steps.map(|step| (step.at, Some(step.rate.as_bps() as f64)));
                (Measure::Rate, held(rows, rates.duration))
            }
            Content::PacketsPerTick(packets) => {
                let period = playback.tick * u64::from(playback.hold_ticks);
                let rows = packets.values().enumerate().map(|(i, packets)| {
                    let bytes = playback.packet * packets.get();
                    let rate = BitRate::from_bytes_per(bytes, playback.tick).as_bps() as f64;
                    (period * i as u64, Some(rate))
                });
                (Measure::Rate, held(rows, self.duration_with(playback)))
            }
            Content::Opportunities(opportunities) => {
                let steps = opportunities.steps().iter();
                let bytes =
                    steps.map(|step| (step.at, (playback.packet * step.packets.get()).get()));
                (Measure::Rate, counted(bytes, opportunities.duration))
            }
            Content::Dci(log) => {
                let slot = log.slot_duration().as_secs_f64();
                let blocks = log.of_ue().filter(|dci| dci.carries_new_downlink_data());
                let spans = blocks.map(|dci| Span {
                    from: dci.slot as f64 * slot,
                    to: (dci.slot + 1) as f64 * slot,
                    value: f64::from(dci.mcs.get()),
                });
                (Measure::Mcs, spans.collect())
            }
        }
    }
}

/// Values that hold until the next.
fn held(rows: impl Iterator<Item = (Duration, Option<f64>)>, end: Duration) -> Vec<Span> {
    let mut rows = rows.peekable();
    let mut spans = Vec::new();
    while let Some((from, value)) = rows.next() {
        let to = rows.peek().map_or(end, |(next, _)| *next);
        if let Some(value) = value {
            spans.push(Span {
                from: from.as_secs_f64(),
                to: to.as_secs_f64(),
                value,
            });
        }
    }
    spans
}

/// Bytes at instants as rates in windows, with the silence between.
fn counted(bytes: impl Iterator<Item = (Duration, u64)>, end: Duration) -> Vec<Span> {
    let window = WINDOW.min(end).as_secs_f64();
    let end = end.as_secs_f64();
    let last = ((end / window).ceil() as u64).max(1) - 1;
    let mut windows: Vec<(u64, u64)> = Vec::new();
    for (at, bytes) in bytes {
        // an opportunity at the very end belongs to the last window
        let index = ((at.as_secs_f64() / window) as u64).min(last);
        match windows.last_mut() {
            Some(found) if found.0 == index => found.1 += bytes,
            _ => windows.push((index, bytes)),
        }
    }
    let (mut spans, mut at) = (Vec::new(), 0.0);
    for (index, bytes) in windows {
        let from = index as f64 * window;
        let to = (from + window).min(end);
        spans.push(Span {
            from: at,
            to: from,
            value: 0.0,
        });
        let value = bytes as f64 * 8.0 / (to - from);
        spans.push(Span { from, to, value });
        at = to;
    }
    spans.push(Span {
        from: at,
        to: end,
        value: 0.0,
    });
    spans.retain(|span| span.to > span.from);
    spans
}

/// Mean, least and greatest value in each part.
fn divided(spans: &[Span], length: f64, parts: usize) -> Vec<Option<Part>> {
    /// What has been added up of a part.
    #[derive(Clone, Copy)]
    struct Sum {
        weight: f64,
        sum: f64,
        min: f64,
        max: f64,
    }
    let mut sums: Vec<Option<Sum>> = vec![None; parts];
    for span in spans {
        let first = ((span.from / length) as usize).min(parts - 1);
        for (i, sum) in sums.iter_mut().enumerate().skip(first) {
            let (from, to) = (i as f64 * length, (i + 1) as f64 * length);
            let weight = span.to.min(to) - span.from.max(from);
            if span.to <= from {
                break;
            }
            if weight <= 0.0 {
                continue;
            }
            let sum = sum.get_or_insert(Sum {
                weight: 0.0,
                sum: 0.0,
                min: span.value,
                max: span.value,
            });
            sum.weight += weight;
            sum.sum += weight * span.value;
            sum.min = sum.min.min(span.value);
            sum.max = sum.max.max(span.value);
        }
    }
    let part = |sum: Sum| Part {
        min: sum.min,
        mean: sum.sum / sum.weight,
        max: sum.max,
    };
    sums.into_iter().map(|sum| sum.map(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, read};
    use proptest::prelude::*;

    fn profile(text: &str, parts: usize) -> Profile {
        let trace = read("f", text.as_bytes(), &ReadOptions::default());
        trace.expect("a trace").profile(parts)
    }

    fn means(profile: &Profile) -> Vec<Option<f64>> {
        profile
            .parts
            .iter()
            .map(|part| part.map(|p| p.mean))
            .collect()
    }

    #[test]
    fn rates_are_weighted_by_time() {
        let found = profile("time_s,rate_mbps\n0,10\n3,20\n4,0\n5,5\n", 3);
        assert_eq!(
            (found.measure, found.part),
            (Measure::Rate, Duration::from_secs(2))
        );
        assert_eq!(means(&found), [Some(10e6), Some(15e6), Some(2.5e6)]);
        let part = found.parts[1].expect("known");
        assert_eq!((part.min, part.max), (10e6, 20e6));
    }

    #[test]
    fn a_cqi_that_is_not_known_is_a_gap() {
        let text = "# brimful-trace 1 duration_s=4\ntime_s,cqi,network\n0,8,lte\n1,,lte\n2,,older\n3,4,lte\n";
        let found = profile(text, 4);
        assert_eq!(found.measure, Measure::Cqi);
        assert_eq!(means(&found), [Some(8.0), None, Some(0.0), Some(4.0)]);
    }

    #[test]
    fn opportunities_are_rates_with_silence_between() {
        // two packets in the first 100 ms, none in the second, one at the end of the third
        let found = profile("0\n50\n300\n", 3);
        let means = means(&found);
        for (mean, expected) in means.iter().zip([240e3, 0.0, 120e3]) {
            let mean = mean.expect("known");
            assert!((mean - expected).abs() < 1.0, "{mean} {expected}");
        }
    }

    proptest! {
        #[test]
        fn parts_keep_the_mean_of_the_whole(
            rates in prop::collection::vec(0..1_000_u32, 1..60), parts in 1..90_usize
        ) {
            let rows: String = rates.iter().enumerate().map(|(i, r)| format!("{i},{r}\n")).collect();
            let found = profile(&format!("time_s,rate_mbps\n{rows}"), parts);
            prop_assert_eq!(found.parts.len(), parts);
            let known: Vec<Part> = found.parts.iter().flatten().copied().collect();
            prop_assert_eq!(known.len(), parts);
            let mean = known.iter().map(|p| p.mean).sum::<f64>() / parts as f64;
            let expected = 1e6 * f64::from(rates.iter().sum::<u32>()) / rates.len() as f64;
            prop_assert!((mean - expected).abs() <= 1e-6 * expected + 1.0);
            for part in known {
                prop_assert!(part.min <= part.mean + 1.0 && part.mean <= part.max + 1.0);
            }
        }
    }
}
