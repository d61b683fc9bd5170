//! A channel whose MCS holds until the trace states another.

use super::capacity::outage;
use super::steps::{Step, Steps};
use super::{CellParameters, Playback, PlaybackError, WithoutCqi, default_policy};
use crate::trace::{Network, Quality, QualitySample, Trace};
use crate::{Channel, ChannelState, Link};
use units::{Cqi, Duration, Instant, Mcs};

/// What holds from a time on; `None` is an outage.
pub(super) type HeldStep = Step<Option<(Cqi, Mcs)>>;

/// An MCS over time.
#[derive(Clone, Debug)]
pub(super) struct HeldChannel {
    steps: Steps<Option<(Cqi, Mcs)>>,
    bler: f64,
}

impl HeldChannel {
    /// `steps` begin at 0 and ascend.
    pub fn new(steps: Vec<HeldStep>, period: Duration, playback: &Playback) -> Self {
        Self {
            steps: Steps::new(steps, period, playback),
            bler: playback.bler,
        }
    }
}

impl Channel for HeldChannel {
    fn state(&mut self, slot_start: Instant, _: Duration) -> ChannelState {
        let Some((state, holds_until)) = self.steps.at(slot_start) else {
            return outage(Instant::MAX);
        };
        match state {
            None => outage(holds_until),
            Some((cqi, mcs)) => {
                let link = Link::Mcs {
                    mcs,
                    sinr: None,
                    bler: self.bler,
                };
                ChannelState {
                    cqi,
                    link,
                    holds_until,
                }
            }
        }
    }
}

/// The samples, and how long each holds.
fn with_times(quality: &Quality) -> impl Iterator<Item = (&QualitySample, Duration)> {
    let samples = &quality.samples;
    let ends = samples.iter().skip(1).map(|next| next.at);
    let ends = ends.chain([quality.duration]);
    samples
        .iter()
        .zip(ends)
        .map(|(sample, end)| (sample, end - sample.at))
}

/// For how long a trace has no CQI: what is cut out where such rows are skipped.
pub(super) fn skipped(quality: &Quality) -> Duration {
    let without = with_times(quality).filter(|(sample, _)| sample.cqi.is_none());
    without.map(|(_, held)| held).sum()
}

/// The steps of a CQI trace, and how long they last.
pub(super) fn quality_steps(
    trace: &Trace,
    quality: &Quality,
    playback: &Playback,
    cell: &CellParameters,
) -> Result<(Vec<HeldStep>, Duration), PlaybackError> {
    let policy = playback.policy.unwrap_or(default_policy(cell.table));
    let mcs = |cqi: Cqi| {
        policy
            .mcs(cell.table, cqi)
            .map_err(|error| PlaybackError::Policy {
                source_name: trace.source.clone(),
                error,
            })
    };
    // before the first CQI the first one holds
    let Some(mut last) = quality.samples.iter().find_map(|sample| sample.cqi) else {
        return Err(PlaybackError::NoCqi {
            source_name: trace.source.clone(),
        });
    };
    let mut steps = Vec::with_capacity(quality.samples.len());
    let (rows, lap) = played(quality, playback.without_cqi);
    for Row { at, sample, serves } in rows {
        let cqi = serves.then(|| sample.cqi.unwrap_or(last));
        last = cqi.unwrap_or(last);
        let state = match cqi {
            Some(cqi) => mcs(cqi)?.map(|mcs| (cqi, mcs)),
            None => None,
        };
        steps.push(HeldStep { at, state });
    }
    Ok((steps, lap))
}

/// A row that is played.
pub(super) struct Row<'a> {
    /// When, ns since the beginning of the lap.
    pub at: u64,
    pub sample: &'a QualitySample,
    /// A cell served the phone.
    pub serves: bool,
}

/// The rows that are played, and how long a lap of them lasts.
pub(super) fn played(quality: &Quality, without_cqi: WithoutCqi) -> (Vec<Row<'_>>, Duration) {
    let mut rows = Vec::with_capacity(quality.samples.len());
    let mut skipped = Duration::ZERO;
    for (sample, held) in with_times(quality) {
        let serves = match (sample.cqi, without_cqi) {
            (Some(_), _) | (None, WithoutCqi::Hold) => true,
            (None, WithoutCqi::OutageOnOlderNetwork) => sample.network != Network::Older,
            (None, WithoutCqi::Skip) => {
                skipped += held;
                continue;
            }
        };
        rows.push(Row {
            at: (sample.at - skipped).as_nanos(),
            sample,
            serves,
        });
    }
    (rows, quality.duration - skipped)
}
