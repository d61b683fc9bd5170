//! MELD in the kernel of the servers: the programs, and the reports to them.

use crate::Error;
use crate::fit::kernel_name;
use crate::traffic::Losses;
use cc::RadioState;
use cc::meld::{Config, Culprit, Reason, Variant};
use kernel_cc::meld::Meld;
use rnis::RadioReport;
use scenario::{Experiment, FlowSpec, Transport};
use std::io;
use units::{Bytes, Instant};

/// The programs of an experiment: one for each variant and packet size that its TCP flows use.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    loaded: Vec<(Variant, Bytes, Meld)>,
    /// Which of them a flow has to itself: a program counts all its connections together.
    alone: Vec<(usize, usize)>,
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
            let meld = Meld::load(config, ues).map_err(refused)?;
            programs.loaded.push((variant, flow.tcp.mss, meld));
        }
        programs.alone = programs.users(experiment);
        Ok(programs)
    }

    fn users(&self, experiment: &Experiment) -> Vec<(usize, usize)> {
        let all = experiment.flows.iter().enumerate();
        let tcp = all.filter(|(_, flow)| flow.transport == Transport::Tcp);
        let users: Vec<(usize, usize)> = tcp
            .filter_map(|(index, flow)| {
                let is_it = |(variant, size, _): &(Variant, Bytes, Meld)| {
                    flow.meld == Some(*variant) && flow.tcp.mss == *size
                };
                Some((index, self.loaded.iter().position(is_it)?))
            })
            .collect();
        let is_alone = |&(_, program): &(usize, usize)| {
            users.iter().filter(|(_, other)| *other == program).count() == 1
        };
        users.iter().copied().filter(is_alone).collect()
    }

    /// What was decided so far, of each flow that has a program to itself.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (usize, Losses)> + '_ {
        self.alone.iter().filter_map(|&(flow, program)| {
            let (_, _, meld) = self.loaded.get(program)?;
            Some((flow, sum(&meld.decisions().ok()?)))
        })
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
    ) -> io::Result<()> {
        for (_, _, meld) in &mut self.loaded {
            // those that the cell serves
            for ue in &report.ues {
                let Some(address) = ue.ip else { continue };
                let state = RadioState::of(report, ue, made_at);
                meld.update(address, arrived_at, &state)?;
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

/// The kernel's refusal, with what it would need.
fn refused(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::Unsupported {
        return Error::system("load MELD into the kernel")(error);
    }
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let reason = format!("{error}. It needs Linux 6.1 with BTF; this is {release}");
    Error::system("load MELD into the kernel")(io::Error::new(error.kind(), reason))
}

/// Decisions by what they took for the cause.
fn sum(decisions: &[(Reason, u64)]) -> Losses {
    let mut losses = Losses::default();
    for (reason, count) in decisions {
        match reason.culprit() {
            Culprit::Congestion => losses.congestion += count,
            Culprit::Radio => losses.radio += count,
            Culprit::Unknown => losses.unknown += count,
        }
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_states_what_is_needed_and_what_there_is() {
        let uname = rustix::system::uname();
        let release = uname.release().to_str().expect("plain");
        let refused = refused(io::ErrorKind::InvalidInput.into()).to_string();
        assert!(refused.contains("load MELD into the kernel"), "{refused}");
        let needed = format!("It needs Linux 6.1 with BTF; this is {release}");
        assert!(refused.contains(&needed), "{refused}");
    }

    #[test]
    fn decisions_are_counted_by_their_cause() {
        let decisions = [
            (Reason::NoReport, 1),
            (Reason::Stale, 2),
            (Reason::LongQueue, 4),
            (Reason::NotOnRadio, 8),
            (Reason::LostOnRadio, 16),
        ];
        let expected = Losses {
            congestion: 12,
            radio: 16,
            unknown: 3,
        };
        assert_eq!(sum(&decisions), expected);
    }
}
