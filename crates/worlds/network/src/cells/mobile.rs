//! One user among several cells: what it measures, its handover, and what is on its way between cells.

use crate::cell::CellRoute;
use mobility::{
    Count, Handover, LinkMonitor, Measurements, Reestablishment, Reordering, Route, Rsrp,
    TargetBuffer,
};
use queue::{Ecn, Packet};
use radio::moving::MovingRadio;
use ran::Direction;
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// A packet with its way, and its COUNT where it was missing at a change of cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<P> {
    pub(super) packet: P,
    pub(super) direction: Direction,
    pub(super) route: CellRoute,
    pub(super) count: Option<Count>,
}

impl<P: Packet> Packet for Numbered<P> {
    fn bytes(&self) -> Bytes {
        self.packet.bytes()
    }
    fn flow(&self) -> u64 {
        self.packet.flow()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) {
        self.packet.mark();
    }
}

/// The lowest RSRP that is reported (TS 38.133 10.1.6: -156 dBm): that of a cell that is off.
const MIN_RSRP: f64 = -156.0;

/// A packet that waits for those before it, and since when.
pub(super) type Waiting<P> = (Numbered<P>, Instant);

/// One user.
pub(super) struct Mobile<P> {
    /// The cell that serves it, or did last.
    pub(super) serving: usize,
    pub(super) measurements: Measurements,
    /// What it receives of each cell, with what is subtracted for a resource element, dB.
    pub(super) radios: Vec<(MovingRadio, f64)>,
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
    /// What it receives of each cell now.
    pub(super) fn measure(radios: &mut [(MovingRadio, f64)], now: Instant) -> Vec<Rsrp> {
        let of = |(radio, per_element): &mut (MovingRadio, f64)| {
            let dbm = radio.received(now).get() - *per_element;
            Rsrp::from_dbm(dbm.max(MIN_RSRP))
        };
        radios.iter_mut().map(of).collect()
    }

    /// Whether the cell that serves it is to be monitored: not while it is handed over, or lost.
    pub(super) fn is_monitored(&self) -> bool {
        let is_served = |it: &Handover| it.route() == Route::Source;
        self.reestablishment.is_none() && self.handover.as_ref().is_none_or(is_served)
    }

    /// When anything is due.
    pub(super) fn next_deadline(&self) -> Instant {
        let handover = self.handover.as_ref().and_then(Handover::next_deadline);
        let forwarded = self.forwarded.front().map(|&(at, _)| at);
        let first = [
            handover,
            forwarded,
            self.measurements.next_report(),
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
