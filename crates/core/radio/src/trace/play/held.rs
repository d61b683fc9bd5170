//! A channel whose MCS holds until the trace states another.

use super::capacity::outage;
use super::{CellParameters, Playback, PlaybackError, WithoutCqi, default_policy};
use crate::trace::{Network, Quality, QualitySample, Trace};
use crate::{Channel, ChannelState, Link};
use units::{Cqi, Duration, Instant, Mcs};

/// What holds from a time on; `None` is an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldStep {
    pub at: u64,
    pub state: Option<(Cqi, Mcs)>,
}

/// An MCS over time.
#[derive(Clone, Debug)]
pub(super) struct HeldChannel {
    /// In ascending order from 0, two neighbours never alike.
    steps: Vec<HeldStep>,
    period: u64,
    repeat: bool,
    offset: u64,
    bler: f64,
    /// The step that holds now.
    index: usize,
    /// Beginning of the current lap.
    begin: u64,
}

impl HeldChannel {
    /// `steps` begin at 0 and ascend.
    pub fn new(mut steps: Vec<HeldStep>, period: Duration, playback: &Playback) -> Self {
        steps.dedup_by_key(|step| step.state);
        Self {
            steps,
            period: period.as_nanos(),
            repeat: playback.repeat,
            offset: playback.offset.as_nanos(),
            bler: playback.bler,
            index: 0,
            begin: 0,
        }
    }

    /// Moves to the step that holds at `time`; false after the end.
    fn seek(&mut self, time: u64) -> bool {
        if time.saturating_sub(self.begin) >= self.period {
            if !self.repeat {
                return false;
            }
            self.begin = time - time % self.period;
            self.index = 0;
        }
        let time = time.saturating_sub(self.begin);
        while self
            .steps
            .get(self.index + 1)
            .is_some_and(|next| next.at <= time)
        {
            self.index += 1;
        }
        true
    }
}

impl Channel for HeldChannel {
    fn state(&mut self, slot_start: Instant, _: Duration) -> ChannelState {
        let time = self.offset.saturating_add(slot_start.as_nanos());
        if !self.seek(time) {
            return outage(Instant::MAX);
        }
        let end = self
            .steps
            .get(self.index + 1)
            .map_or(self.period, |next| next.at);
        let end = self.begin.saturating_add(end).saturating_sub(self.offset);
        let holds_until = Instant::from_nanos(end);
        match self.steps[self.index].state {
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
    let mut skipped = Duration::ZERO;
    for (sample, held) in with_times(quality) {
        let older = sample.network == Network::Older;
        let cqi = match (sample.cqi, playback.without_cqi) {
            (Some(cqi), _) => Some(cqi),
            (None, WithoutCqi::Hold) => Some(last),
            (None, WithoutCqi::OutageOnOlderNetwork) => (!older).then_some(last),
            (None, WithoutCqi::Skip) => {
                skipped += held;
                continue;
            }
        };
        last = cqi.unwrap_or(last);
        let state = match cqi {
            Some(cqi) => mcs(cqi)?.map(|mcs| (cqi, mcs)),
            None => None,
        };
        steps.push(HeldStep {
            at: (sample.at - skipped).as_nanos(),
            state,
        });
    }
    Ok((steps, quality.duration - skipped))
}
