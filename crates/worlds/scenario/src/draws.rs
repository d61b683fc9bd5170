//! What the seed of a run draws.

use crate::experiment::{
    AccessSpec, AppSpec, ChannelSpec, Experiment, LinkSpec, LoadSpec, PepMode, TraceSpec, UeSpec,
};
use crate::tunnel::TunnelAccess;
use queue::DisciplineConfig;
use radio::trace::Content;
use std::borrow::Cow;
use units::{Duration, Streams};

/// Offsets into a trace are drawn in whole steps of this, or of ticks where a trace has such.
const OFFSET_STEP: Duration = Duration::from_millis(1);

impl Experiment {
    /// As the run of this seed has it: each flow begins by a part of its `start_jitter` later, each
    /// trace by a part of its `offset_spread`.
    pub fn drawn(&self, seed: u64) -> Cow<'_, Self> {
        let jitters = self.flows.iter().any(|flow| !flow.start_jitter.is_zero());
        if !jitters && !self.ues.iter().any(UeSpec::draws_offset) {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        let starts = Streams::new(seed).child("start");
        for flow in &mut drawn.flows {
            let part = starts.stream(&flow.name).uniform();
            flow.start += flow.start_jitter.mul_f64(part);
            flow.start_jitter = Duration::ZERO;
        }
        for (index, ue) in drawn.ues.iter_mut().enumerate() {
            for cell in drawn.cells.iter_mut().flat_map(|cells| &mut cells.cells) {
                if let Some(trace) = cell.traces.get_mut(index) {
                    trace.begin_at(ue.offset_in(trace, seed));
                }
            }
            let (downlink, uplink) = (ue.trace_offset(seed), ue.uplink_offset(seed));
            if let (Some(offset), ChannelSpec::Trace(trace)) = (downlink, &mut ue.channel) {
                trace.begin_at(offset);
            }
            if let (Some(offset), Some(trace)) = (uplink, &mut ue.uplink) {
                trace.begin_at(offset);
            }
        }
        Cow::Owned(drawn)
    }

    /// What a seed draws, in words; empty if all repeats are the same run. (A mechanism that the caller
    /// supplies may draw more.)
    pub fn draws(&self) -> Vec<&'static str> {
        let draws = [
            (
                "where in the trace the run begins",
                self.ues.iter().any(UeSpec::draws_offset),
            ),
            (
                "when flows begin",
                self.flows.iter().any(|flow| !flow.start_jitter.is_zero()),
            ),
            ("places and fading", self.draws_fading()),
            ("block errors", self.ues.iter().any(UeSpec::draws_errors)),
            ("the load of others", self.draws_load()),
            ("losses and jitter of links", self.draws_losses()),
            ("intervals of packets", self.draws_intervals()),
            ("sizes of frames", self.draws_frames()),
            ("sizes of objects and segments", self.draws_sizes()),
            (
                "choices of congestion controls and queues",
                self.draws_choices(),
            ),
        ];
        let drawn = draws.into_iter().filter(|(_, is_drawn)| *is_drawn);
        drawn.map(|(what, _)| what).collect()
    }

    fn draws_fading(&self) -> bool {
        self.ues.iter().any(|ue| {
            matches!(
                ue.channel,
                ChannelSpec::Moving(_) | ChannelSpec::ConstantSinr { fades: Some(_), .. }
            )
        })
    }

    fn draws_load(&self) -> bool {
        match &self.access {
            AccessSpec::Cell(cell) => {
                matches!(cell.background, LoadSpec::Random { share, .. } if share > 0.0 && share < 1.0)
            }
            AccessSpec::Link(_) => false,
        }
    }

    /// All wired links but the path.
    fn links(&self) -> impl Iterator<Item = &LinkSpec> {
        let access = match &self.access {
            AccessSpec::Link(link) => Some(link),
            AccessSpec::Cell(_) => None,
        };
        let paths = self.tunnel.iter().flat_map(|tunnel| &tunnel.paths);
        access
            .into_iter()
            .chain(paths.filter_map(|path| match &path.access {
                TunnelAccess::Link(link) => Some(link),
                TunnelAccess::Cell => None,
            }))
    }

    fn draws_losses(&self) -> bool {
        let of_cell = match &self.access {
            AccessSpec::Cell(cell) => cell.config.harq_feedback_error > 0.0,
            AccessSpec::Link(_) => false,
        };
        let of_reports = self.pep.reports.loss > 0.0 && matches!(self.pep.mode, PepMode::Rapid(_))
            || self.meld.reports.loss > 0.0 && self.flows.iter().any(|flow| flow.meld.is_some());
        let mut bearers = self.ues.iter().flat_map(|ue| &ue.bearers);
        of_cell
            || of_reports
            || self.path.loss > 0.0
            || !self.path.jitter.is_zero()
            || self.links().any(|link| link.loss > 0.0)
            || bearers.any(|bearer| bearer.loss > 0.0)
    }

    fn draws_intervals(&self) -> bool {
        let is_drawn = |app: &AppSpec| matches!(app, AppSpec::Gaming { deviation, .. } if !deviation.is_zero());
        self.flows.iter().any(|flow| is_drawn(&flow.app))
    }

    fn draws_frames(&self) -> bool {
        let is_drawn =
            |app: &AppSpec| matches!(app, AppSpec::Call(call) if call.encoder.deviation > 0.0);
        self.flows.iter().any(|flow| is_drawn(&flow.app))
    }

    fn draws_sizes(&self) -> bool {
        self.flows.iter().any(|flow| match &flow.app {
            AppSpec::Page(page) => page.spread > 0.0,
            AppSpec::Video(video) => video.variation > 0.0,
            _ => false,
        })
    }

    /// Some controllers draw when they probe, hashes of fair queueing have a salt, RED drops at random.
    fn draws_choices(&self) -> bool {
        let draws = |name: &str| cc::find(name).is_some_and(|of| of.draws);
        let of_tunnel = self.tunnel.iter().flat_map(|tunnel| &tunnel.paths);
        let of_cell = match &self.access {
            AccessSpec::Cell(cell) => cell.config.queues.as_ref().is_some_and(|queues| {
                let layers = [Some(&queues.upf), queues.sdap.as_ref(), Some(&queues.rlc)];
                layers
                    .into_iter()
                    .flatten()
                    .any(|queue| is_drawing(&queue.discipline))
            }),
            AccessSpec::Link(_) => false,
        };
        of_cell
            || self.flows.iter().any(|flow| draws(&flow.cc.name))
            || of_tunnel.into_iter().any(|path| draws(&path.cc))
            || is_drawing(&self.path.queue)
            || self.links().any(|link| is_drawing(&link.queue))
    }
}

impl UeSpec {
    /// Where in its trace the run of this seed begins; none without a trace.
    pub fn trace_offset(&self, seed: u64) -> Option<Duration> {
        Some(self.offset_in(self.downlink_trace()?, seed))
    }

    /// Where in a trace of this user's the run of this seed begins: traces of several cells, whose spreads are alike, begin
    /// together.
    pub fn offset_in(&self, trace: &TraceSpec, seed: u64) -> Duration {
        trace.offset_after(trace.offset_spread.mul_f64(self.drawn_part(seed)))
    }

    /// Where in its uplink's trace the run of this seed begins; none without one. Where the seed draws both, it begins
    /// as long after its trace's beginning as the downlink does, if it lasts as long from there on: traces that were
    /// recorded together are played together.
    pub fn uplink_offset(&self, seed: u64) -> Option<Duration> {
        let uplink = self.uplink.as_ref()?;
        let part = self.drawn_part(seed);
        let downlink = self.downlink_trace().map(|it| it.offset_spread);
        let together = downlink.filter(|spread| !spread.is_zero());
        let together = together.map(|spread| spread.mul_f64(part));
        let drawn = match together {
            Some(drawn) if drawn <= uplink.offset_spread => drawn,
            _ => uplink.offset_spread.mul_f64(part),
        };
        Some(uplink.offset_after(drawn))
    }

    fn downlink_trace(&self) -> Option<&TraceSpec> {
        match &self.channel {
            ChannelSpec::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// The part of the spread of its traces' offsets that a seed draws, 0 to 1.
    fn drawn_part(&self, seed: u64) -> f64 {
        let streams = Streams::new(seed).child("trace");
        streams.stream(&self.name).uniform()
    }

    /// The seed draws where in its traces the run begins.
    fn draws_offset(&self) -> bool {
        let mut traces = self.downlink_trace().into_iter().chain(&self.uplink);
        traces.any(|trace| !trace.offset_spread.is_zero())
    }

    /// Its channel loses blocks at random.
    fn draws_errors(&self) -> bool {
        match &self.channel {
            ChannelSpec::ConstantMcs { bler, .. } | ChannelSpec::ConstantCqi { bler, .. } => {
                *bler > 0.0
            }
            ChannelSpec::ConstantSinr { .. } | ChannelSpec::Moving(_) => true,
            ChannelSpec::Trace(TraceSpec {
                trace, playback, ..
            }) => trace.gives_mcs() && playback.bler > 0.0,
            ChannelSpec::Wired => false,
        }
    }
}

/// A queue that drops at random, or hashes flows with a salt.
fn is_drawing(queue: &DisciplineConfig) -> bool {
    match queue {
        DisciplineConfig::Red(_)
        | DisciplineConfig::Sfq(_)
        | DisciplineConfig::FqCoDel(_)
        | DisciplineConfig::DualPi2(_)
        | DisciplineConfig::L4Span(_) => true,
        DisciplineConfig::Classes(classes) => {
            let mut classes = classes.classes.iter();
            classes.any(|class| is_drawing(&class.discipline))
        }
        _ => false,
    }
}

impl TraceSpec {
    /// The offset that is so much after the stated one, in whole steps.
    fn offset_after(&self, drawn: Duration) -> Duration {
        let step = match self.trace.content {
            Content::PacketsPerTick(_) => self.playback.tick,
            _ => OFFSET_STEP,
        };
        // a wrong tick is reported where the trace is played
        let steps = drawn.as_nanos().checked_div(step.as_nanos()).unwrap_or(0);
        self.playback.offset + step * steps
    }

    /// Has every run begin there.
    fn begin_at(&mut self, offset: Duration) {
        self.playback.offset = offset;
        self.offset_spread = Duration::ZERO;
    }
}
