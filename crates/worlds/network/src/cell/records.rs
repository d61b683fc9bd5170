//! The records of a cell's queues, and its part of the time series and of the results.

use super::{BearerMeters, CellAccess};
use crate::measure::{PassageMeter, QueueMeter, SeriesSet};
use queue::Packet;
use ran::{BearerStats, Direction, DropReason, Layer, Output, UeIndex};
use scenario::{FlowSpec, Metric, QueueResult, UeSpec};
use units::{BitRate, Instant};

impl<P: Packet + Send> CellAccess<P> {
    pub(super) fn take_outputs(&mut self) {
        for output in self.out.drain(..) {
            match output {
                Output::Delivered {
                    ue,
                    direction,
                    packet,
                    sojourn,
                    held,
                    found,
                } => {
                    let meters = &mut self.meters[ue.0][usize::from(packet.bearer)];
                    match direction {
                        Direction::Downlink => meters.down.left(sojourn),
                        Direction::Uplink => meters.up.left(sojourn),
                    }
                    let flow = packet.flow.map_or(usize::MAX, usize::from);
                    if direction == Direction::Downlink
                        && let Some(passage) = self.passages.get_mut(flow)
                    {
                        passage.passed(found.bytes, sojourn);
                    }
                    self.delivered.push_back(super::Delivered {
                        direction,
                        packet: packet.packet,
                        held,
                    });
                }
                Output::Dropped {
                    ue,
                    direction,
                    packet,
                    reason,
                } => {
                    let meters = &mut self.meters[ue.0][usize::from(packet.bearer)];
                    match (reason, direction) {
                        // it had left the queue
                        (DropReason::Random, _) => {}
                        (_, Direction::Downlink) => meters.down.dropped(),
                        (_, Direction::Uplink) => meters.up.dropped(),
                    }
                    let flow = packet.flow.map_or(usize::MAX, usize::from);
                    if direction == Direction::Downlink
                        && let Some(passage) = self.passages.get_mut(flow)
                    {
                        passage.dropped();
                    }
                    self.dropped.push(packet.packet);
                }
                Output::Forwarded {
                    ue,
                    bearer,
                    layer,
                    sojourn,
                } => {
                    if let Some([upf, sdap]) = &mut self.meters[ue.0][bearer].above {
                        match layer {
                            Layer::Upf => upf.left(sojourn),
                            Layer::Sdap => sdap.left(sojourn),
                        }
                    }
                }
            }
        }
    }

    /// Whether what was written down last of a UE holds, and packets of it are in the cell.
    pub(super) fn is_recorded(&self, ue: UeIndex) -> bool {
        let bearers = &self.cell.stats().ues[ue.0].bearers;
        let holds_packets = bearers.iter().any(holds_packets);
        let mut both = self.meters[ue.0].iter().zip(bearers);
        holds_packets
            && both.all(|(meters, bearer)| {
                let down = &bearer.downlink;
                let is_above = |[upf, sdap]: &[QueueMeter; 2]| {
                    (upf.bytes(), sdap.bytes()) == (down.upf.bytes, down.sdap.bytes)
                };
                meters.down.bytes() == down.backlog
                    && meters.up.bytes() == bearer.uplink.backlog
                    && meters.above.as_ref().is_none_or(is_above)
            })
    }

    /// Writes down what waits for a UE. False if no packet of it is in the cell.
    pub(super) fn record(&mut self, now: Instant, ue: UeIndex) -> bool {
        let bearers = &self.cell.stats().ues[ue.0].bearers;
        for (meters, bearer) in self.meters[ue.0].iter_mut().zip(bearers) {
            for (meter, one) in [
                (&mut meters.down, &bearer.downlink),
                (&mut meters.up, &bearer.uplink),
            ] {
                meter.set(now, one.backlog);
            }
            if let Some([upf, sdap]) = &mut meters.above {
                upf.set(now, bearer.downlink.upf.bytes);
                sdap.set(now, bearer.downlink.sdap.bytes);
            }
        }
        bearers.iter().any(holds_packets)
    }

    /// A step of the time series: queues, capacity, PRBs and CQI.
    pub fn sample(&mut self, now: Instant, series: &mut SeriesSet) {
        if !self.makes_reports {
            self.make_report(now);
        }
        self.cell.advance(now);
        for meters in self.meters.iter().flatten() {
            for queue in [&meters.down, &meters.up]
                .into_iter()
                .chain(meters.above.iter().flatten())
            {
                let bytes = queue.bytes().get() as f64;
                series.push(queue.name(), Metric::QueueBytes, now, bytes);
            }
        }
        if let Some(above) = &self.uplink {
            above.sample(now, series);
        }
        let (stats, before) = (self.cell.stats(), &self.sampled);
        let slots = stats.downlink_slots - before.downlink_slots;
        let time = stats.covered_until.saturating_since(before.covered_until);
        if slots == 0 || time.is_zero() {
            return; // the step is shorter than a slot
        }
        let rate = |bytes| BitRate::from_bytes_per(bytes, time).as_bps() as f64;
        series.push(
            &self.name,
            Metric::Capacity,
            now,
            rate(stats.capacity - before.capacity),
        );
        for (index, name) in self.ue_names.iter().enumerate() {
            if !self.cell.serves(UeIndex(index)) {
                continue;
            }
            let (ue, old) = (&stats.ues[index], &before.ues[index]);
            let prbs = (ue.downlink.prbs - old.downlink.prbs) as f64 / slots as f64;
            series.push(name, Metric::Prb, now, prbs);
            series.push(
                name,
                Metric::Capacity,
                now,
                rate(ue.capacity - old.capacity),
            );
            series.push(name, Metric::Cqi, now, f64::from(self.cqis[index].get()));
            if let Some(mcs) = self.mcs[index] {
                series.record(name, Metric::Mcs, now, f64::from(mcs.get()));
            }
        }
        let capacity = stats.capacity - before.capacity;
        if !capacity.is_zero() {
            let used = stats.capacity_used - before.capacity_used;
            let share = used.get() as f64 / capacity.get() as f64;
            series.record(&self.name, Metric::Utilisation, now, share);
        }
        self.sampled.clone_from(stats);
    }

    /// The results of all queues, and of each flow's way through them.
    pub fn finish(self, end: Instant) -> Vec<QueueResult> {
        let mut results = Vec::new();
        for meters in self.meters.into_iter().flatten() {
            let above = meters.above.into_iter().flatten();
            let all = [meters.down, meters.up].into_iter().chain(above);
            results.extend(all.map(|meter| meter.finish(end)));
        }
        results.extend(self.passages.into_iter().map(PassageMeter::finish));
        results.extend(self.uplink.into_iter().flat_map(|above| above.finish(end)));
        results
    }
}

/// Whether a packet of a bearer is in the cell, or anything of it is to be sent again.
fn holds_packets(bearer: &BearerStats) -> bool {
    [&bearer.downlink, &bearer.uplink].into_iter().any(|one| {
        let held = one.core.packets + one.queued.packets + one.in_flight.packets;
        !held.is_zero() || !one.backlog.is_zero()
    })
}

pub(super) fn meters(
    place: &str,
    ue: &UeSpec,
    has_queues_above: bool,
    began: Instant,
) -> Vec<BearerMeters> {
    let of = |number: usize| {
        let place = format!("{place}{}/drb{number}", ue.name);
        let meter = |name: String| QueueMeter::new(name, began);
        BearerMeters {
            up: meter(format!("rlc/{place}/up")),
            down: meter(format!("rlc/{place}")),
            above: has_queues_above.then(|| {
                [
                    meter(format!("upf/{place}")),
                    meter(format!("sdap/{place}")),
                ]
            }),
        }
    };
    (1..=ue.bearers.len()).map(of).collect()
}

pub(super) fn passage(place: &str, flow: &FlowSpec) -> PassageMeter {
    PassageMeter::new(format!("ran/{place}{}", flow.name))
}
