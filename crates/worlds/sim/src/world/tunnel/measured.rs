//! What is measured of tunnels.

use super::super::World;
use super::UeTunnel;
use super::sockets::added;
use crate::forwarding::TunnelEnd;
use cc::RadioState;
use rnis::RadioReport;
use scenario::{Metric, QueueResult, TunnelAccess, TunnelPathResult, TunnelResult};
use units::{BitRate, Bytes, Instant};

impl World {
    /// A step of the time series: what each path delivered, and its window.
    pub(in super::super) fn sample_tunnels(&mut self) {
        let (now, interval) = (self.now, self.sample_interval);
        for state in &mut self.tunnels {
            let delivered = state.paths.iter().map(|path| path.step);
            let all = delivered.fold(Bytes::ZERO, |all, bytes| all + bytes);
            for index in 0..state.paths.len() {
                let cwnd = cwnd(state, index, now);
                let path = &mut state.paths[index];
                let delivered = core::mem::take(&mut path.step);
                let rate = BitRate::from_bytes_per(delivered, interval).as_bps() as f64;
                self.series.push(&path.entity, Metric::PathRate, now, rate);
                if !all.is_zero() {
                    let share = delivered.get() as f64 / all.get() as f64;
                    self.series
                        .record(&path.entity, Metric::PathShare, now, share);
                }
                if let Some(cwnd) = cwnd {
                    let cwnd = cwnd.get() as f64;
                    self.series.push(&path.entity, Metric::PathCwnd, now, cwnd);
                }
            }
            for end in &state.ends {
                for queue in [&end.scheduler, &end.reorder] {
                    queue.push(now, &mut self.series);
                }
            }
        }
    }

    /// A radio report reaches the edge: its ends receive reports on their UEs.
    pub(in super::super) fn report_to_tunnels(&mut self, report: &RadioReport, made_at: Instant) {
        let now = self.now;
        let slot = report.cell.downlink_interval();
        for ue in 0..self.tunnels.len() {
            let state = &mut self.tunnels[ue];
            let rnti = network::rnti(ue);
            let of_ue = report.ues.iter().find(|of_ue| of_ue.rnti == rnti);
            let (true, Some(of_ue)) = (state.spec.uses_radio, of_ue) else {
                continue;
            };
            let radio = RadioState::of(report, of_ue, made_at);
            let is_cell = |index: &usize| state.spec.paths[*index].access == TunnelAccess::Cell;
            let path = (0..state.paths.len()).find(is_cell);
            let found = path.and_then(|path| state.paths[path].at_edge);
            if let Some((key, id)) = found
                && let Some(tunnel) = state.server.tunnel(key)
            {
                tunnel.on_radio(now, id, &radio, slot);
                self.transmit_tunnel(ue, TunnelEnd::Edge);
            }
        }
    }

    /// What the tunnels did, all UEs' together, and the records of their queues.
    pub(in super::super) fn take_tunnel_results(
        &mut self,
    ) -> (Option<TunnelResult>, Vec<QueueResult>) {
        let now = self.now;
        let mut total: Option<TunnelResult> = None;
        let mut queues = Vec::new();
        for mut state in core::mem::take(&mut self.tunnels) {
            let total = total.get_or_insert_default();
            add(total, &mut state, now);
            for end in state.ends {
                queues.extend([end.scheduler, end.reorder].map(|queue| queue.finish(now)));
            }
        }
        (total, queues)
    }
}

/// Window of a path, at the edge.
fn cwnd(state: &mut UeTunnel, index: usize, now: Instant) -> Option<Bytes> {
    let path = &state.paths[index];
    let edge = TunnelEnd::Edge as usize;
    if let Some(stream) = &path.stream {
        return Some(stream[edge].cwnd());
    }
    let (key, id) = path.at_edge?;
    let stats = state.server.tunnel(key)?.path_stats(now, id)?;
    Some(super::build::path_config(&state.spec, index).packet_size * stats.cwnd.get())
}

/// Adds what one tunnel did.
fn add(total: &mut TunnelResult, state: &mut UeTunnel, now: Instant) {
    let stats = state.client.tunnel().stats();
    total.in_order += stats.reorder.in_order.get();
    total.held += stats.reorder.held.get();
    total.timed_out += stats.reorder.timed_out.get();
    total.given_up += stats.reorder.given_up.get();
    total.late += stats.reorder.late.get();
    total.duplicates += stats.reorder.duplicates.get() + stats.duplicates.get();
    if let Some(tunnel) = state.at_edge() {
        let stats = tunnel.stats();
        total.refused += stats.refused.get();
        total.dropped += stats.dropped.get();
    }
    total
        .paths
        .resize_with(state.paths.len(), TunnelPathResult::default);
    for (index, path) in state.paths.iter().enumerate() {
        let sum = &mut total.paths[index];
        state.spec.paths[index].name.clone_into(&mut sum.name);
        sum.carried += path.carried.0;
        sum.packets += path.carried.1;
        let stats = path.at_edge.and_then(|(key, id)| {
            let tunnel = state.server.tunnel(key)?;
            tunnel.path_stats(now, id)
        });
        let (retransmits, lost) = match (&path.stream, stats) {
            (Some([stream, _]), _) => added(path.repairs, stream.repairs()),
            (None, _) if path.timers.is_some() => path.repairs,
            (None, Some(stats)) => {
                let lost = stats
                    .sender
                    .lost
                    .get()
                    .saturating_sub(stats.sender.late.get());
                (stats.counters.repeated.get(), lost)
            }
            (None, None) => (0, 0),
        };
        sum.retransmits += retransmits;
        sum.lost += lost;
    }
}
