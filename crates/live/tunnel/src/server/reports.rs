//! Radio reports at the server: which path each UE's is.

use super::Server;
use crate::config::End;
use crate::radio::{Counts, ReportsConfig, UeState};
use crate::status::Status;
use multipath::server::Flow;
use std::net::IpAddr;
use units::Instant;

/// Reports that came in, and UEs in them whose path was notified, and that have none.
#[derive(Debug, Default)]
pub(super) struct Radio {
    counts: Counts,
    notified: u64,
    unconnected: u64,
}

impl Server {
    /// What came in of reports, for the thread that reads them.
    pub(crate) fn report_counts(&self) -> &Counts {
        &self.radio.counts
    }

    fn reports_config(&self) -> Option<&ReportsConfig> {
        match &self.config.end {
            End::Server(end) => end.reports.as_ref(),
            End::Client(_) => None,
        }
    }

    pub(super) fn on_reports(&mut self, now: Instant, states: &[UeState]) {
        let Some(config) = self.reports_config() else {
            return;
        };
        let flows = self.links.keys();
        let ues: Vec<(Flow, IpAddr)> = flows
            .map(|flow| (*flow, config.ue_of(flow.remote.ip())))
            .collect();
        for state in states {
            let mut is_notified = false;
            for (flow, _) in ues.iter().filter(|(_, ue)| *ue == state.ue) {
                if let Some((key, path)) = self.core.path_of(*flow)
                    && let Some(tunnel) = self.core.tunnel(key)
                {
                    tunnel.on_radio(now, path, &state.radio, state.slot);
                    is_notified = true;
                }
            }
            match is_notified {
                true => self.radio.notified += 1,
                false => self.radio.unconnected += 1,
            }
        }
    }

    pub(super) fn write_reports(&self, status: &mut Status) {
        if self.reports_config().is_none() {
            return;
        }
        let mut reports = self.radio.counts.by_outcome();
        reports.insert("told", self.radio.notified);
        reports.insert("unconnected", self.radio.unconnected);
        status.reports = reports;
        status.reports_connected = Some(self.radio.counts.is_connected());
    }
}
