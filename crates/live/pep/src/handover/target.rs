//! The side that is to have the connections.

use super::link::Link;
use super::repair;
use crate::config::{Config, Handover, Interception};
use crate::daemon::Core;
use crate::relay::{Adopted, Moving, WorkerCommand};
use relocation::{
    Ahead, Flow, Malformed, Message, OLDEST, Outcome, Rest, Streams, Target, TargetEvent,
    TargetStep,
};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A transfer to here.
struct Transfer<'a> {
    core: &'a Core,
    config: Arc<Config>,
    side: Target,
    ue: IpAddr,
    outcomes: Vec<Outcome>,
    restored: Vec<Adopted>,
    /// What came ahead.
    streams: Streams,
    stay: Vec<(SocketAddr, SocketAddr)>,
    /// What lives here.
    moved: Vec<(SocketAddr, SocketAddr)>,
}

/// A frozen connection that has come.
enum Come {
    Whole(Box<Flow>),
    Rest(Box<Rest>),
}

/// Takes over what a proxy hands over that may.
pub(super) fn take_over(core: &Core, mut link: Link) {
    let config = core.shared.config();
    let Some(of) = &config.handover else { return };
    let (version, ue, flows) = match link.receive() {
        Ok(Message::Offer { version, ue, flows }) => (version, ue, flows),
        Err(error) if is_of_another_version(&error) => {
            core.shared.handover.on_refused(Outcome::Version);
            let _ = link.send(&Message::Refuse(Outcome::Version));
            return;
        }
        _ => return,
    };
    let ue = ue.to_canonical();
    let under_way = core.shared.handover.begin(ue);
    let refused = match &under_way {
        None => Some(Outcome::Busy),
        Some(_) => refusal(core, &config, ue, flows as usize),
    };
    if let Some(why) = refused {
        let _ = link.send(&Message::Refuse(why));
        return;
    }
    let mut transfer = Transfer {
        core,
        side: Target::default(),
        ue,
        outcomes: Vec::new(),
        restored: Vec::new(),
        streams: Streams::default(),
        stay: Vec::new(),
        moved: Vec::new(),
        config: Arc::clone(&config),
    };
    let mut event = TargetEvent::Offered;
    let mut flow = None;
    loop {
        let sent = match transfer.side.on(event) {
            TargetStep::Accept => link.send(&Message::Accept),
            // it was, as it came
            TargetStep::Keep => Ok(()),
            TargetStep::Restore => {
                match flow.take() {
                    Some(Come::Whole(flow)) => transfer.restore(flow, None),
                    Some(Come::Rest(rest)) => transfer.complete(*rest),
                    None => {}
                }
                Ok(())
            }
            TargetStep::Report => link.send(&Message::Ready(transfer.outcomes.clone())),
            TargetStep::Adopt => {
                transfer.adopt(of.route_hook.is_some());
                let _ = link.send(&Message::Done);
                transfer.route(of);
                return;
            }
            TargetStep::Discard => {
                tracing::warn!(%ue, "connections that were to come stay where they are");
                core.shared.handover.on_aborted();
                let _ = link.send(&Message::Abort);
                return;
            }
            TargetStep::End => return,
        };
        event = match sent.and_then(|()| link.receive()) {
            Ok(Message::Ahead(ahead)) if version > OLDEST => match transfer.keep(*ahead) {
                Ok(()) => TargetEvent::Ahead,
                Err(error) => {
                    tracing::warn!(%ue, %error, "what came ahead cannot be");
                    TargetEvent::Lost
                }
            },
            Ok(Message::Rest(rest)) if version > OLDEST => {
                flow = Some(Come::Rest(rest));
                TargetEvent::Flow
            }
            Ok(Message::Flow(one)) => {
                flow = Some(Come::Whole(one));
                TargetEvent::Flow
            }
            Ok(Message::End { stay }) => {
                transfer.stay = stay;
                TargetEvent::All
            }
            Ok(Message::Commit) => TargetEvent::Commit,
            Ok(_) | Err(_) => TargetEvent::Lost,
        };
    }
}

fn is_of_another_version(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|e| e.downcast_ref::<Malformed>());
    cause == Some(&Malformed::Version)
}

/// Why nothing of this UE is taken.
fn refusal(core: &Core, config: &Config, ue: IpAddr, flows: usize) -> Option<Outcome> {
    let Interception::Transparent(transparent) = &config.interception else {
        return Some(Outcome::ForeignUe);
    };
    if !transparent.ue_prefixes.iter().any(|p| p.contains(ue)) {
        return Some(Outcome::ForeignUe);
    }
    let (shared, limits) = (&core.shared, &config.limits);
    let is_draining = shared
        .is_draining
        .load(std::sync::atomic::Ordering::Relaxed);
    let in_all = shared.registry.connections().saturating_add(flows);
    let is_full = in_all > limits.connections || flows > limits.connections_per_ue;
    (is_draining || is_full).then_some(Outcome::NoRoom)
}

impl Transfer<'_> {
    fn most(&self) -> usize {
        usize::try_from(self.config.limits.memory_per_ue.get()).unwrap_or(usize::MAX)
    }

    /// Keeps what has come of a connection that still runs.
    fn keep(&mut self, ahead: Ahead) -> Result<(), Malformed> {
        if ahead.client.ip() != self.ue {
            return Err(Malformed::Value);
        }
        let most = self.most();
        self.streams
            .take(ahead, most, self.config.limits.connections_per_ue)
    }

    /// Restores a connection of which bytes have come ahead.
    fn complete(&mut self, rest: Rest) {
        let learnt = edge::Learnt::decode(&rest.learnt);
        match self.streams.complete(rest) {
            Ok(flow) => self.restore(Box::new(flow), learnt),
            Err(outcome) => self.on_outcome(outcome),
        }
    }

    fn on_outcome(&mut self, outcome: Outcome) {
        if outcome != Outcome::Moved {
            self.core.shared.handover.on_refused(outcome);
        }
        self.outcomes.push(outcome);
    }

    fn restore(&mut self, flow: Box<Flow>, learnt: Option<edge::Learnt>) {
        self.streams.forget(flow.client, flow.server);
        let held = self.payload() + self.streams.held();
        let outcome = if flow.client.ip() != self.ue {
            Outcome::ForeignUe
        } else if held + flow.payload() > self.most()
            || self.outcomes.len() >= self.config.limits.connections_per_ue
        {
            Outcome::NoRoom
        } else {
            match self.sockets(&flow) {
                Ok((ran, wan)) => {
                    self.restored.push(Adopted {
                        flow,
                        learnt,
                        ran,
                        wan,
                    });
                    Outcome::Moved
                }
                Err(error) => {
                    tracing::warn!(
                        client = %flow.client, server = %flow.server, %error,
                        "a connection cannot be restored"
                    );
                    Outcome::NotRestored
                }
            }
        };
        self.on_outcome(outcome);
    }

    fn payload(&self) -> usize {
        self.restored.iter().map(|one| one.flow.payload()).sum()
    }

    fn sockets(
        &self,
        flow: &Flow,
    ) -> std::io::Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
        let ran = repair::restore(&flow.ran, None)?;
        Ok((ran, repair::restore(&flow.wan, Some(&self.config.onward))?))
    }

    /// The connections live here. `is_routed`: packets to them come once [`Self::route`] has changed that.
    fn adopt(&mut self, is_routed: bool) {
        let restored = std::mem::take(&mut self.restored);
        let number = restored.len();
        let alive: Vec<Adopted> = restored
            .into_iter()
            .filter(|one| {
                let begun = repair::begin(&one.ran, false, is_routed)
                    .and_then(|()| repair::begin(&one.wan, true, is_routed));
                if let Err(error) = &begun {
                    tracing::warn!(client = %one.flow.client, %error, "a connection ends");
                }
                begun.is_ok()
            })
            .collect();
        self.core.shared.handover.on_reset(number - alive.len());
        self.core.shared.handover.on_adopted(alive.len());
        let ends = alive.iter().map(|one| (one.flow.client, one.flow.server));
        self.moved = ends.collect();
        tracing::info!(ue = %self.ue, connections = alive.len(), "connections taken over");
        let workers = self.core.workers();
        let mut parts: Vec<Vec<Adopted>> = workers.iter().map(|_| Vec::new()).collect();
        for (i, one) in alive.into_iter().enumerate() {
            let at = i % parts.len().max(1);
            if let Some(part) = parts.get_mut(at) {
                part.push(one);
            }
        }
        for (worker, part) in workers.iter().zip(parts) {
            if !part.is_empty() {
                worker.send(WorkerCommand::Moving(Moving::Adopt(part)));
            }
        }
    }

    /// Has the operator's network send the UE's packets here. What was acknowledged meanwhile went to the other proxy: both
    /// ends are asked for it.
    fn route(&self, of: &Handover) {
        let Some(hook) = &of.route_hook else { return };
        if let Err(error) = self.run_hook(hook) {
            tracing::error!(hook = %hook.display(), ue = %self.ue, %error, "the route is not changed");
        }
        for worker in self.core.workers() {
            worker.send(WorkerCommand::Moving(Moving::Probe(self.ue)));
        }
    }

    fn run_hook(&self, hook: &Path) -> std::io::Result<()> {
        let mut child = Command::new(hook)
            .arg(self.ue.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let all = [("moved", &self.moved), ("stays", &self.stay)];
            let lines = all.iter().flat_map(|(what, ends)| {
                let ends = ends.iter();
                ends.map(move |(client, server)| format!("{what} {client} {server}\n"))
            });
            // a program that reads nothing is as good
            let _ = stdin.write_all(lines.collect::<String>().as_bytes());
        }
        let status = child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(std::io::Error::other(status.to_string())),
        }
    }
}
