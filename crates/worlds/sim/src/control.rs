//! The proxy's control plane: radio reports on their way, and the machine that reads them. It decides nothing:
//! telemetry and reports go into [`edge::Edge`], actions come out.

use crate::held::Holder;
use crate::schedule::EntityId;
use edge::marker::{self, Fate, Marker, two_slots};
use edge::{Actuator, Edge};
use network::ReportChannel;
use rnis::intake::{CheckedReport, Intake};
use std::net::IpAddr;
use units::Instant;

/// The control plane with its places in the schedule.
#[derive(Debug)]
pub(crate) struct Control {
    /// What decides.
    pub(crate) edge: Edge,
    /// Its decisions about connections count; without, it reads reports for the marker alone.
    pub(crate) has_flows: bool,
    /// What marks packets that are not split.
    pub(crate) marker: Option<Marker>,
    /// Where packets that are not split wait instead.
    pub(crate) holder: Option<Holder>,
    /// When the next of them may go on.
    pub(crate) held_entity: EntityId,
    /// How windows towards UEs are set.
    pub(crate) actuator: Actuator,
    /// Reports on their way to it.
    pub(crate) reports: ReportChannel,
    /// Makes reports.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
    /// The machine's own deadlines.
    pub(crate) edge_entity: EntityId,
    /// Sessions that have opened or ended since the machine was last called.
    pub(crate) changes: Vec<SessionChange>,
}

impl Control {
    /// Shows the marker, or where packets wait, what an accepted report means for those that are not split.
    pub(crate) fn show_unsplit(&mut self, now: Instant, report: &CheckedReport) {
        if self.marker.is_none() && self.holder.is_none() {
            return;
        }
        for address in report.ues.iter().filter_map(|ue| ue.ip) {
            let Some(unsplit) = self.edge.unsplit(now, address) else {
                continue;
            };
            if let Some(marker) = &mut self.marker {
                marker.on_report(now, address, &unsplit);
            }
            if let Some(holder) = &mut self.holder {
                holder.on_report(now, address, &unsplit, two_slots(report.cell.slot_duration));
            }
        }
    }

    /// What becomes of a packet that is not split, on its way to the UE with this address.
    pub(crate) fn judge(&mut self, now: Instant, address: IpAddr, packet: marker::Packet) -> Fate {
        let marker = self.marker.as_mut();
        marker.map_or(Fate::Forward, |marker| {
            marker.decide(now, address, packet).fate()
        })
    }
}

/// What became of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionChange {
    /// Its server has answered.
    Opened(u32),
    /// It has ended.
    Closed(u32),
}

/// Radio reports for the servers whose flows use MELD, and for the clients that report as CQIC.
#[derive(Debug)]
pub(crate) struct ServerReports {
    /// Clients' modems record them as a report is made.
    pub(crate) is_for_clients: bool,
    /// Reports on their way.
    pub(crate) reports: ReportChannel,
    /// Which of them count at the servers and the tunnels' edge, which have one source.
    pub(crate) intake: Intake,
    /// Makes reports; rests where the proxy's are made.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
}

impl ServerReports {
    /// The next report that has arrived and is accepted, and when it was made: the rules are those of the daemons'
    /// gate. A report without UEs has no time, and is of no connection.
    pub(crate) fn take_accepted(&mut self, now: Instant) -> Option<(CheckedReport, Instant)> {
        while let Some(report) = self.reports.take_arrived(now) {
            if let Ok(accepted) = self.intake.report(now, report, false)
                && let Some(placed) = accepted.placed
            {
                return Some((accepted.report, placed.at));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
    use scenario::ReportSpec;
    use units::{Duration, Prb, Slot, Streams};

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// Of slot `n`, each of a millisecond.
    fn report(n: u64) -> RadioReport {
        let ue = UeReport {
            seq: n,
            ..UeReport::idle(
                Rnti(1),
                LinkQuality::Measured {
                    full_band_millibytes: 1_000,
                },
                ms(n),
            )
        };
        RadioReport {
            cell: CellReport {
                slot: Slot::new(n),
                ..CellReport::fdd(CellId(1), Prb::new(100))
            },
            ues: vec![ue],
        }
    }

    #[test]
    fn servers_and_tunnels_receive_what_the_intake_accepts() {
        let mut schedule = Schedule::default();
        let spec = ReportSpec {
            period: Duration::from_millis(1),
            delay: Duration::from_millis(4),
            loss: 0.0,
            gap: Duration::ZERO,
            gap_interval: Duration::from_secs(1),
        };
        let mut servers = ServerReports {
            is_for_clients: false,
            reports: ReportChannel::new(&spec, Streams::new(1).stream("reports")),
            intake: Intake::default(),
            report_entity: schedule.add_entity(),
            arrival_entity: schedule.add_entity(),
        };
        let mut absurd = report(13);
        absurd.cell.n_prb = Prb::new(60_000);
        let mut empty = report(14);
        empty.ues.clear();
        // twice, late, absurd and of no UE, between those in order
        let sent = [report(10), report(11), report(11), report(9)];
        for report in sent.into_iter().chain([absurd, empty, report(15)]) {
            servers.reports.send(ms(15), report);
        }
        assert_eq!(servers.take_accepted(ms(18)), None, "on its way");
        for n in [10, 11, 15] {
            let expected = CheckedReport::new(report(n)).expect("possible values");
            assert_eq!(servers.take_accepted(ms(19)), Some((expected, ms(n))));
        }
        assert_eq!(servers.take_accepted(ms(19)), None);
    }
}
