//! What the control thread reports of itself when queried.

use super::Control;
use crate::flow::Flow;
use crate::unsplit::{Marking, UnsplitStatus};
use daemon::clock;
use edge::UeFlows;
use rapid::FlowTelemetry;
use rnis::intake::IntakeCounts;
use serde::Serialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use units::{Bytes, Duration, Instant};

/// Everything.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Snapshot {
    /// How windows towards UEs are set: `bpf`, `pacing`, or `none`.
    pub(crate) actuator: &'static str,
    /// Why it is not `bpf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) actuator_error: Option<String>,
    /// The source of reports is connected.
    pub(crate) source_connected: bool,
    /// Reports, by what became of them.
    pub(crate) reports: ReportCounts,
    /// Decisions carried out.
    pub(crate) decisions: u64,
    /// CPU time of the control thread, seconds.
    pub(crate) busy_seconds: f64,
    /// Cells that reports have named.
    pub(crate) cells: Vec<CellStatus>,
    /// UEs that reports have named.
    pub(crate) ues: Vec<UeStatus>,
    /// Packets that are not split; none without `[unsplit]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unsplit: Option<UnsplitStatus>,
}

/// What the thread that reads the source counts.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// It is connected.
    pub(super) is_connected: AtomicBool,
    /// Reports that came faster than they could be used.
    pub(super) dropped: AtomicU64,
    /// Messages that were no reports, and came faster than that could be recorded.
    pub(super) unreadable: AtomicU64,
}

/// Reports, by what became of them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct ReportCounts {
    /// Handed to the allocator.
    pub(crate) believed: u64,
    /// They contradict themselves.
    pub(crate) absurd: u64,
    /// They repeat the last one.
    pub(crate) repeated: u64,
    /// They are of an earlier time than the last one.
    pub(crate) out_of_order: u64,
    /// They were too old on arrival.
    pub(crate) old: u64,
    /// They came faster than they could be used.
    pub(crate) dropped: u64,
    /// They could not be read.
    pub(crate) unreadable: u64,
    /// Of those handed to the allocator: from this machine, with a time that is not of its clock.
    pub(crate) skewed: u64,
    /// Of those handed to the allocator: another of the same cell waited behind them, so that they were learnt from and
    /// nothing was decided with them.
    pub(crate) superseded: u64,
}

impl ReportCounts {
    /// Of the intake, and what did not reach it.
    pub(crate) fn of(intake: IntakeCounts, superseded: u64, source: &Source) -> Self {
        Self {
            believed: intake.accepted,
            absurd: intake.absurd,
            repeated: intake.repeated,
            out_of_order: intake.late,
            old: intake.old,
            dropped: source.dropped.load(Relaxed),
            unreadable: intake.unreadable + source.unreadable.load(Relaxed),
            skewed: intake.skewed,
            superseded,
        }
    }
}

/// A cell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CellStatus {
    /// Its number.
    pub(crate) cell: u32,
    /// `following`, `decaying` or `plain`.
    pub(crate) state: &'static str,
    /// Since the last accepted report, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silence_seconds: Option<f64>,
    /// Flows under control.
    pub(crate) flows: usize,
}

/// A UE.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UeStatus {
    /// Its address.
    pub(crate) address: IpAddr,
    /// Its cell.
    pub(crate) cell: u32,
    /// Its number there.
    pub(crate) rnti: u16,
    /// The rate that it could have, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity_bps: Option<u64>,
    /// Flows under control.
    pub(crate) flows: usize,
    /// Of those, held for slow.
    pub(crate) slow_flows: usize,
    /// Windows towards servers, bytes, all flows together.
    pub(crate) wan_window_bytes: u64,
    /// Windows towards the UE, bytes, all flows together.
    pub(crate) ran_window_bytes: u64,
    /// In flight towards the UE, bytes.
    pub(crate) in_flight_bytes: u64,
    /// Waiting in the proxy, bytes.
    pub(crate) buffered_bytes: u64,
    /// Smoothed round-trip time towards the UE, seconds, mean of its flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ran_rtt_seconds: Option<f64>,
    /// Smoothed round-trip time towards the servers, seconds, mean of its flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wan_rtt_seconds: Option<f64>,
}

impl Control {
    /// Everything.
    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        let cells = self.edge.cells(now).map(|cell| CellStatus {
            cell: cell.cell.0,
            state: cell.state.name(),
            silence_seconds: cell.silence.map(Duration::as_secs_f64),
            flows: cell.flows,
        });
        let ues = self.edge.ues();
        Snapshot {
            actuator: match self.kernel {
                Some(_) => "bpf",
                None if self.has_flows => "pacing",
                None => "none",
            },
            actuator_error: self.kernel_error.clone(),
            source_connected: self.source.is_connected.load(Relaxed),
            reports: ReportCounts::of(
                self.edge.report_counts(),
                self.edge.superseded_reports(),
                &self.source,
            ),
            decisions: self.edge.decisions(),
            busy_seconds: clock::thread_cpu().as_secs_f64(),
            cells: cells.collect(),
            ues: ues.iter().map(|ue| self.status(ue)).collect(),
            unsplit: self.marking.as_ref().map(Marking::status),
        }
    }

    /// A UE with what its flows are shown.
    fn status(&self, ue: &UeFlows) -> UeStatus {
        let held = ue.flows.iter().filter_map(|(id, _)| self.flows.get(id));
        let flows: Vec<Arc<Flow>> = held.filter_map(|held| held.flow.upgrade()).collect();
        let sum = |of: fn(&FlowTelemetry) -> Bytes| {
            let bytes: Bytes = ue.flows.iter().map(|(_, t)| of(t)).sum();
            bytes.get()
        };
        UeStatus {
            address: ue.address,
            cell: ue.cell.0,
            rnti: ue.rnti.0,
            capacity_bps: ue.capacity.map(units::BitRate::as_bps),
            flows: ue.flows.len(),
            slow_flows: flows.iter().filter(|f| f.is_slow()).count(),
            wan_window_bytes: flows.iter().map(|f| u64::from(f.window.shown())).sum(),
            ran_window_bytes: flows.iter().map(|f| f.ran_window()).sum(),
            in_flight_bytes: sum(|t| t.ran_in_flight),
            buffered_bytes: sum(|t| t.buffered),
            ran_rtt_seconds: mean(ue.flows.iter().filter_map(|(_, t)| t.ran_srtt)),
            wan_rtt_seconds: mean(ue.flows.iter().filter_map(|(_, t)| t.wan_srtt)),
        }
    }
}

/// Seconds; none of none.
fn mean(times: impl Iterator<Item = Duration>) -> Option<f64> {
    let (sum, n) = times.fold((0.0, 0u32), |(sum, n), t| (sum + t.as_secs_f64(), n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
