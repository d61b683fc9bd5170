//! Radio reports to the servers whose flows use MELD, and to the clients that report as CQIC.

use super::World;
use crate::session::Side;
use cc::meld::{Culprit, LossDecision};
use cc::{RadioState, Trace};
use rnis::RadioReport;
use std::sync::{Arc, Mutex, PoisonError};
use units::Instant;

/// Records what MELD decides of a flow's losses. Clones write to the same record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    decisions: Vec<(Instant, LossDecision)>,
    counts: LossCounts,
}

/// How many losses MELD has held for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LossCounts {
    /// For congestion, by reports.
    pub(super) congestion: u64,
    /// For the radio's.
    pub(super) radio: u64,
    /// For congestion, without a fresh report.
    pub(super) unknown: u64,
}

impl Recorder {
    /// What has been recorded.
    pub(super) fn take(&self) -> Vec<(Instant, LossDecision)> {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::take(&mut record.decisions)
    }

    /// What has been counted so far.
    pub(super) fn counts(&self) -> LossCounts {
        let record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        record.counts
    }
}

impl Trace for Recorder {
    fn event(&mut self, _: Instant, _: &'static str, _: u64) {}
    fn loss_decision(&mut self, now: Instant, decision: &LossDecision) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        record.decisions.push((now, *decision));
        let counts = &mut record.counts;
        match decision.reason.culprit() {
            Culprit::Congestion => counts.congestion += 1,
            Culprit::Radio => counts.radio += 1,
            Culprit::Unknown => counts.unknown += 1,
        }
    }
}

impl World {
    /// The cell makes a radio report that only the servers read.
    pub(super) fn make_server_report(&mut self) {
        let now = self.now;
        if let Some(mut radio) = self.net.radio() {
            let reports = radio.reports(now);
            self.send_to_servers(reports);
        }
        if let Some(servers) = &self.server_reports {
            let next = servers.reports.next_report();
            self.net.schedule.set(servers.report_entity, Some(next));
        }
    }

    /// The radio reports of all cells leave for the servers.
    pub(super) fn send_to_servers(&mut self, reports: Vec<RadioReport>) {
        if self
            .server_reports
            .as_ref()
            .is_some_and(|r| r.is_for_clients)
        {
            for report in &reports {
                self.report_to_clients(report);
            }
        }
        if let Some(servers) = &mut self.server_reports {
            servers.reports.send_all(self.now, reports);
            let arrival = servers.reports.next_arrival();
            self.net.schedule.set(servers.arrival_entity, arrival);
        }
    }

    /// Radio reports reach the servers: each connection receives reports on its UE.
    pub(super) fn on_server_report_arrival(&mut self) {
        let now = self.now;
        while let Some(servers) = &mut self.server_reports
            && let Some((report, made_at)) = servers.take_accepted(now)
        {
            for id in 0..self.sessions.len() as u32 {
                self.report_to_server(id, &report, made_at);
            }
            self.report_to_tunnels(&report, made_at);
        }
        if let Some(servers) = &self.server_reports {
            let arrival = servers.reports.next_arrival();
            self.net.schedule.set(servers.arrival_entity, arrival);
        }
    }

    /// Each client gets it from its own modem, without delay: no report from outside, so that no intake is between.
    fn report_to_clients(&mut self, report: &RadioReport) {
        let now = self.now;
        for flow in &mut self.flows {
            let ue = report.ues.iter().find(|ue| ue.rnti == flow.rnti);
            if let (Some(reporter), Some(ue)) = (&mut flow.reporter, ue) {
                reporter.on_radio(now, report, ue);
            }
        }
        for session in self.sessions.iter_mut().flatten() {
            let rnti = self.flows[session.flow as usize].rnti;
            if let Some(ue) = report.ues.iter().find(|ue| ue.rnti == rnti) {
                session.client.connection.on_modem(now, report, ue);
            }
        }
    }

    fn report_to_server(&mut self, id: u32, report: &RadioReport, made_at: Instant) {
        let Some(session) = &self.sessions[id as usize] else {
            return;
        };
        let flow = &self.flows[session.flow as usize];
        let ue = report.ues.iter().find(|ue| ue.rnti == flow.rnti);
        let (Some(variant), Some(ue)) = (flow.spec.meld, ue) else {
            return;
        };
        let meld = self.meld_config(variant, flow.spec.tcp.mss);
        let state = RadioState::of(report, ue, made_at);
        self.with_session(id, |world, session| {
            let connection = &mut session.server.connection;
            if connection.on_radio(world.now, &state, meld) {
                world.transmit(session, id, Side::Server);
            }
        });
    }
}
