//! MELD in the kernel of the servers: the programs, and the reports to them.

use crate::fit::kernel_name;
use crate::{Error, names};
use cc::RadioState;
use cc::meld::{Config, Variant};
use kernel_cc::meld::Meld;
use rnis::RadioReport;
use scenario::{Experiment, FlowSpec, Transport};
use units::{Bytes, Instant};

/// The programs of an experiment: one for each variant and packet size that its TCP flows use.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    loaded: Vec<(Variant, Bytes, Meld)>,
}

impl Programs {
    /// Loads what the flows need.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn load(experiment: &Experiment) -> Result<Self, Error> {
        let mut programs = Self::default();
        let ues = experiment.ues.len() as u32;
        let tcp = experiment.flows.iter();
        for flow in tcp.filter(|flow| flow.transport == Transport::Tcp) {
            let Some(variant) = flow.meld else { continue };
            if programs.of(variant, flow.tcp.mss).is_some() {
                continue;
            }
            let config = Config {
                max_age: experiment.meld.max_age,
                ..Config::new(variant, flow.tcp.mss)
            };
            let meld =
                Meld::load(config, ues).map_err(Error::system("load MELD into the kernel"))?;
            programs.loaded.push((variant, flow.tcp.mss, meld));
        }
        Ok(programs)
    }

    fn of(&self, variant: Variant, pdu: Bytes) -> Option<&Meld> {
        let mut loaded = self.loaded.iter();
        let found = loaded.find(|(own, size, _)| *own == variant && *size == pdu);
        found.map(|(_, _, meld)| meld)
    }

    /// True if no flow needs any.
    pub(crate) fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// The kernel's name of the congestion control of a flow's server.
    pub(crate) fn congestion(&self, flow: &FlowSpec) -> String {
        let meld = flow.meld.and_then(|variant| self.of(variant, flow.tcp.mss));
        let name = meld.and_then(|meld| meld.name(&flow.cc.name));
        name.unwrap_or(kernel_name(&flow.cc.name)).to_owned()
    }

    /// Hands over a report that was made, and arrived, at times of the kernel's monotonic clock.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn update(
        &mut self,
        report: &RadioReport,
        made_at: Instant,
        arrived_at: Instant,
    ) -> std::io::Result<()> {
        for (_, _, meld) in &mut self.loaded {
            for (index, ue) in report.ues.iter().enumerate() {
                let state = RadioState::of(report, ue, made_at);
                meld.update(names::ue_address(index).into(), arrived_at, &state)?;
            }
        }
        Ok(())
    }

    /// What was decided, as a line for each program that decided anything.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (variant, _, meld) in &self.loaded {
            let counts: Vec<String> = meld
                .decisions()
                .unwrap_or_default()
                .into_iter()
                .filter(|&(_, count)| count > 0)
                .map(|(reason, count)| format!("{} {count}", reason.name()))
                .collect();
            if !counts.is_empty() {
                lines.push(format!("MELD {}: {}", variant.name(), counts.join(", ")));
            }
        }
        lines
    }
}
