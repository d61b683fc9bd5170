//! One user among several cells: what it measures, its handover, and what is on its way between cells.

use super::measured::Measured;
use crate::cell::CellRoute;
use mobility::{
    Count, Handover, LinkMonitor, Measurements, Reestablishment, Reordering, Route, TargetBuffer,
    Timing,
};
use ran::Direction;
use std::collections::VecDeque;
use units::Instant;

/// A packet with its way, and its COUNT where it was missing at a change of cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<P> {
    pub(super) packet: P,
    pub(super) direction: Direction,
    pub(super) route: CellRoute,
    pub(super) count: Option<Count>,
}

crate::wrapper::is_packet!(Numbered);

/// A packet that waits for those before it, and since when.
pub(super) type Waiting<P> = (Numbered<P>, Instant);

/// One user.
pub(super) struct Mobile<P> {
    /// The cell that serves it, or did last.
    pub(super) serving: usize,
    /// The cell to whose base station the core sends.
    pub(super) path: usize,
    pub(super) measurements: Measurements,
    /// What it measures of each cell.
    pub(super) radios: Vec<Measured>,
    /// When it leaves its cell for which other, where that is stated: no measurement is reported then.
    pub(super) stated: Option<VecDeque<(Instant, usize)>>,
    pub(super) handover: Option<Handover>,
    /// Of the cell that serves it.
    pub(super) monitor: LinkMonitor,
    /// It has lost its cell.
    pub(super) reestablishment: Option<Reestablishment>,
    /// What the lost cell has for it.
    pub(super) kept: VecDeque<Numbered<P>>,
    /// The source of its last handover, and when it was complete.
    pub(super) handed_over: Option<(usize, Instant)>,
    /// By bearer: downlink, uplink.
    pub(super) bearers: Vec<[Reordering<Waiting<P>>; 2]>,
    /// Forwarded by the source, with when it comes to the target.
    pub(super) forwarded: VecDeque<(Instant, Numbered<P>)>,
    pub(super) target: TargetBuffer<Numbered<P>>,
    /// What the UE sends once it is served again.
    pub(super) uplink: VecDeque<Numbered<P>>,
    /// Packets towards it that were lost because it left a cell, and that no report has counted yet.
    pub(super) unreported: u32,
    /// When it left each cell last.
    pub(super) left_at: Vec<Option<Instant>>,
    /// The handover that is under way, by its number among the results.
    pub(super) result: usize,
}

impl<P> Mobile<P> {
    /// Whether the cell that serves it is to be monitored: not while it is handed over, or lost.
    pub(super) fn is_monitored(&self) -> bool {
        let is_served = |it: &Handover| it.route() == Route::Source;
        self.reestablishment.is_none() && self.handover.as_ref().is_none_or(is_served)
    }

    /// When the next cell is reported, or the next stated handover begins.
    fn next_report(&self) -> Option<Instant> {
        match &self.stated {
            Some(stated) => stated.front().map(|&(at, _)| at),
            None => self.measurements.next_report(),
        }
    }

    /// The handover that begins now, from the cell that serves: one that is stated begins with its command. One that is due
    /// while no cell serves, or to the cell that does, is left out.
    pub(super) fn poll_handover(&mut self, now: Instant, timing: Timing) -> Option<Handover> {
        let Some(stated) = &mut self.stated else {
            let target = self.measurements.poll_report(now)?;
            return Some(Handover::new(now, self.serving, target, timing));
        };
        let (_, target) = stated.pop_front_if(|(at, _)| *at <= now)?;
        let is_served = self.handover.is_none() && self.reestablishment.is_none();
        (is_served && target != self.serving)
            .then(|| Handover::prepared(now, self.serving, target, timing))
    }

    /// When anything is due.
    pub(super) fn next_deadline(&self) -> Instant {
        let handover = self.handover.as_ref().and_then(Handover::next_deadline);
        let forwarded = self.forwarded.front().map(|&(at, _)| at);
        let first = [
            handover,
            forwarded,
            self.next_report(),
            self.monitor.next_indication(),
            self.monitor.expires_at(),
            self.reestablishment
                .as_ref()
                .map(Reestablishment::next_deadline),
        ];
        let first = first.into_iter().flatten().min();
        let measurement = self.measurements.next_measurement();
        first.map_or(measurement, |at| at.min(measurement))
    }
}
