//! How the packets of a UE go from cell to cell.

use super::mobile::{Mobile, Numbered};
use super::parts::to_unit;
use super::{CellRoute, Cells, Delivered, OneCell, UnitEvent, Waiting, held};
use mobility::{Count, MIN_STAY};
use queue::Packet;
use ran::{Direction, Left, LeftBearer, UeIndex};
use scenario::HandoverResult;
use units::{Duration, Instant};

impl<P: Packet + Send> Cells<P> {
    pub(super) fn enter_downlink(&mut self, now: Instant, packet: Numbered<P>) {
        let Err(packet) = to_unit(&mut self.to_units, packet) else {
            return;
        };
        let route = packet.route;
        let cell = self.ues[route.ue.0].serving;
        self.cells[cell].access.send_downlink(now, route, packet);
        self.collect(now, cell);
    }

    pub(super) fn enter_uplink(&mut self, now: Instant, packet: Numbered<P>) {
        let route = packet.route;
        let cell = self.ues[route.ue.0].serving;
        self.cells[cell].access.send_uplink(now, route, packet);
        self.collect(now, cell);
    }

    /// Takes what a cell has delivered and dropped.
    pub(super) fn collect(&mut self, now: Instant, cell: usize) {
        let access = &mut self.cells[cell].access;
        while let Some(out) = access.poll_delivered() {
            let Numbered { route, count, .. } = out.packet;
            let came_at = now - out.held;
            let direction = out.direction;
            let [down, up] = &mut self.ues[route.ue.0].bearers[usize::from(route.bearer)];
            let reordering = match direction {
                Direction::Downlink => down,
                Direction::Uplink => up,
            };
            let delivered = &mut self.delivered;
            let waiting = (out.packet, came_at);
            let mut deliver = |it: Waiting<P>| delivered.push_back(in_order(it, direction, now));
            match count {
                Some(count) => {
                    reordering.fill(count, waiting, deliver);
                }
                None => reordering.add(waiting, &mut deliver),
            }
        }
        let mut lost = core::mem::take(&mut self.lost);
        access.take_dropped(&mut lost);
        for packet in lost.drain(..) {
            self.skip_lost(now, &packet);
            self.dropped.push(packet.packet);
        }
        self.lost = lost;
        self.note_next(cell);
    }

    /// A packet will not come.
    fn skip_lost(&mut self, now: Instant, packet: &Numbered<P>) {
        if let Some(count) = packet.count {
            self.skip(now, (packet.route, packet.direction), count);
        }
    }

    /// The packet with this COUNT will not come.
    pub(super) fn skip(
        &mut self,
        now: Instant,
        (route, direction): (CellRoute, Direction),
        count: Count,
    ) {
        let both = &mut self.ues[route.ue.0].bearers[usize::from(route.bearer)];
        let delivered = &mut self.delivered;
        both[direction as usize].skip(count, |it| {
            delivered.push_back(in_order(it, direction, now));
        });
    }

    /// A packet is lost because its UE is being handed over.
    pub(super) fn lose(&mut self, now: Instant, packet: Numbered<P>) {
        self.skip_lost(now, &packet);
        let mobile = &mut self.ues[packet.route.ue.0];
        if let Some(result) = self.results.get_mut(mobile.result) {
            result.lost += 1;
        }
        if packet.direction == Direction::Downlink {
            mobile.unreported = mobile.unreported.saturating_add(1);
            self.has_unreported = true;
        }
        self.dropped.push(packet.packet);
    }

    /// The source forwards a packet.
    pub(super) fn forward(&mut self, now: Instant, packet: Numbered<P>) {
        let mobile = &mut self.ues[packet.route.ue.0];
        let at = now + self.timing.forwarding;
        mobile.forwarded.push_back((at, packet));
        if let Some(result) = self.results.get_mut(mobile.result) {
            result.forwarded += 1;
        }
        self.next_of_ues = self.next_of_ues.min(at);
    }

    /// What the target may send goes to its cell.
    pub(super) fn pump(&mut self, now: Instant, ue: usize) {
        while let Some(packet) = self.ues[ue].target.poll() {
            self.enter_downlink(now, packet);
        }
    }

    /// The UE leaves the source.
    pub(super) fn command(&mut self, now: Instant, ue: usize, (from, to): (usize, usize)) {
        self.totals(now);
        let source = &mut self.cells[from];
        source.served -= 1;
        let left = source.access.let_go(now, UeIndex(ue));
        self.note_next(from);
        self.on_unit_event(UnitEvent::Left { ue });
        let mobile = &mut self.ues[ue];
        mobile.left_at[from] = Some(now);
        mobile.monitor.reset();
        let is_back = |at: Instant| now.saturating_since(at) < MIN_STAY;
        mobile.result = self.results.len();
        self.results.push(HandoverResult {
            ue: self.ue_names[ue].clone(),
            at: now,
            from: name(&self.cells, from),
            to: name(&self.cells, to),
            interruption: self.timing.interruption,
            failure: None,
            forwarded: 0,
            lost: 0,
            is_ping_pong: mobile.left_at[to].is_some_and(is_back),
        });
        for packet in self.sort_all(now, ue, left, self.is_forwarding) {
            self.forward(now, packet);
        }
    }

    /// What goes on of what a cell held for a UE; that in the uplink stays with the UE.
    pub(super) fn sort_all(
        &mut self,
        now: Instant,
        ue: usize,
        left: Vec<LeftBearer<Numbered<P>>>,
        is_kept: bool,
    ) -> Vec<Numbered<P>> {
        let mut goes_on = Vec::new();
        for (bearer, LeftBearer { downlink, uplink }) in left.into_iter().enumerate() {
            goes_on.extend(self.sort(now, (ue, bearer, Direction::Downlink), downlink, is_kept));
            // the UE has what it sends until it is acknowledged, whoever forwards
            let kept = self.sort(now, (ue, bearer, Direction::Uplink), uplink, true);
            self.ues[ue].uplink.extend(kept);
        }
        goes_on
    }

    /// What the receiver has of what a cell held stays there; the rest goes on, in order, or is lost.
    fn sort(
        &mut self,
        now: Instant,
        (ue, bearer, direction): (usize, usize, Direction),
        left: Left<Numbered<P>>,
        is_kept: bool,
    ) -> Vec<Numbered<P>> {
        let mut goes_on = Vec::new();
        let repeats = is_kept && self.is_acknowledged[ue][bearer];
        for sent in left.sent {
            let mut packet = sent.packet;
            let reordering = &mut self.ues[ue].bearers[bearer][direction as usize];
            let delivered = &mut self.delivered;
            let mut deliver = |it: Waiting<P>| delivered.push_back(in_order(it, direction, now));
            match (sent.is_received, packet.count) {
                (true, Some(count)) => {
                    reordering.fill(count, (packet, now), deliver);
                }
                (true, None) => reordering.add((packet, now), &mut deliver),
                (false, count) if repeats => {
                    packet.count = Some(count.unwrap_or_else(|| reordering.add_missing()));
                    goes_on.push(packet);
                }
                (false, _) => self.lose(now, packet),
            }
        }
        for packet in left.waiting {
            match is_kept {
                true => goes_on.push(packet),
                false => self.lose(now, packet),
            }
        }
        goes_on
    }

    /// The target serves the UE.
    pub(super) fn access(&mut self, now: Instant, ue: usize, to: usize) {
        self.totals(now);
        let target = &mut self.cells[to];
        target.served += 1;
        target.access.take_in(now, UeIndex(ue));
        self.note_next(to);
        self.on_unit_event(UnitEvent::Served { ue, cell: to });
        let mobile = &mut self.ues[ue];
        mobile.serving = to;
        mobile.target.on_access();
        for packet in core::mem::take(&mut mobile.uplink) {
            self.enter_uplink(now, packet);
        }
        self.pump(now, ue);
    }

    /// All that was forwarded has come.
    pub(super) fn complete(&mut self, now: Instant, ue: usize, to: usize) {
        let mobile: &mut Mobile<P> = &mut self.ues[ue];
        for (_, packet) in core::mem::take(&mut mobile.forwarded) {
            mobile.target.on_forwarded(packet);
        }
        mobile.target.on_end_marker();
        self.pump(now, ue);
        let mobile = &mut self.ues[ue];
        mobile.target = mobility::TargetBuffer::default();
        let handover = mobile.handover.take();
        mobile.handed_over = handover.map(|it| (it.source(), now));
        mobile.measurements.serve(to);
    }
}

pub(super) fn name<P>(cells: &[OneCell<P>], cell: usize) -> String {
    cells[cell].name.clone()
}

/// A packet that leaves in order.
fn in_order<P>((packet, came_at): Waiting<P>, direction: Direction, now: Instant) -> Delivered<P> {
    let held: Duration = held(came_at, now);
    Delivered {
        direction,
        packet: packet.packet,
        held,
    }
}
