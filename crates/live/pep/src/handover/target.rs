//! The side that is to have the connections.

use super::link::Link;
use super::repair;
use super::route::Route;
use crate::config::{Config, Handover, Interception};
use crate::daemon::Core;
use crate::relay::{Adopted, Moving, WorkerCommand};
use relocation::{
    Ahead, Flow, Late, Malformed, Message, OLDEST, Outcome, Rest, SENDS_LATE, Streams, Target,
    TargetEvent, TargetStep, Towards, Way,
};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A worker answers within this time.
const WORKER_TIMEOUT: Duration = Duration::from_secs(1);

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
    /// Bytes that came late.
    late: usize,
    stay: Vec<(SocketAddr, SocketAddr)>,
    /// Since packets are to come here.
    route: Option<Route>,
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
        late: 0,
        stay: Vec::new(),
        route: None,
        config: Arc::clone(&config),
    };
    let mut event = TargetEvent::Offered;
    let (mut flow, mut late) = (None, None::<Box<Late>>);
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
            TargetStep::Route => {
                transfer.begin_route(of);
                // the source waits for a word no longer than that
                let half = Duration::from_nanos(of.timeout.as_nanos()) / 2;
                if let Some(route) = &mut transfer.route {
                    route.wait(half);
                }
                link.send(&Message::Routed)
            }
            TargetStep::Append => {
                if let Some(late) = late.take() {
                    transfer.append(&late);
                }
                Ok(())
            }
            TargetStep::Adopt => {
                let is_routed = transfer.is_routed(of);
                if !is_routed && transfer.route.is_none() {
                    transfer.begin_route(of);
                }
                transfer.adopt(!is_routed);
                let _ = link.send(&Message::Done);
                if !is_routed {
                    transfer.end_route();
                }
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
            Ok(Message::Commit) => TargetEvent::Commit {
                has_more: version >= SENDS_LATE,
            },
            Ok(Message::Late(one)) => {
                late = Some(one);
                TargetEvent::Late
            }
            Ok(Message::Over) => TargetEvent::Over,
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
        if ahead.way.client.ip() != self.ue {
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

    /// What came to the source of a connection after it was frozen. What finds no room here is sent again by its end.
    fn append(&mut self, late: &Late) {
        let held = self.payload() + self.late;
        let Way {
            client,
            server,
            towards,
        } = late.way;
        let is_it = |one: &&Adopted| one.flow.client == client && one.flow.server == server;
        let Some(one) = self.restored.iter().find(is_it) else {
            return;
        };
        if held + late.bytes.len() > self.most() {
            return;
        }
        let socket = match towards {
            Towards::Ue => &one.wan,
            Towards::Server => &one.ran,
        };
        match repair::append(socket, late) {
            Ok(bytes) => self.late += bytes,
            Err(error) => {
                tracing::debug!(%client, %error, "what came late is not taken");
            }
        }
    }

    /// The connections live here. `is_probed_later`: packets to them come here only once [`Self::end_route`] has waited for
    /// that.
    fn adopt(&mut self, is_probed_later: bool) {
        let restored = std::mem::take(&mut self.restored);
        let number = restored.len();
        let workers = self.core.workers();
        let mut parts: Vec<Vec<Adopted>> = workers.iter().map(|_| Vec::new()).collect();
        for (i, one) in restored.into_iter().enumerate() {
            let at = i % parts.len().max(1);
            if let Some(part) = parts.get_mut(at) {
                part.push(one);
            }
        }
        let (to, begun) = channel();
        for (worker, connections) in workers.iter().zip(parts) {
            if !connections.is_empty() {
                worker.send(WorkerCommand::Moving(Moving::Adopt {
                    connections,
                    is_probed_later,
                    begun: to.clone(),
                }));
            }
        }
        drop(to);
        // a worker that does not answer in time still has them begin
        let alive: usize = std::iter::from_fn(|| begun.recv_timeout(WORKER_TIMEOUT).ok()).sum();
        self.core
            .shared
            .handover
            .on_reset(number - alive.min(number));
        self.core.shared.handover.on_adopted(alive);
        tracing::info!(ue = %self.ue, connections = alive, "connections taken over");
    }

    /// Begins to have the operator's network send the UE's packets here.
    fn begin_route(&mut self, of: &Handover) {
        let Some(hook) = &of.route_hook else { return };
        let ends = |one: &Adopted| (one.flow.client, one.flow.server);
        let moved: Vec<_> = self.restored.iter().map(ends).collect();
        let all = [("moved", moved), ("stays", std::mem::take(&mut self.stay))];
        let lines = all.iter().flat_map(|(what, ends)| {
            let ends = ends.iter();
            ends.map(move |(client, server)| format!("{what} {client} {server}\n"))
        });
        self.route = Some(Route::begin(hook, self.ue, lines.collect()));
    }

    /// Nothing is to be done any more for packets to come here.
    fn is_routed(&self, of: &Handover) -> bool {
        match &self.route {
            Some(route) => route.is_over(),
            None => of.route_hook.is_none(),
        }
    }

    /// Waits until packets come here. What was acknowledged meanwhile went to the other proxy: both ends are asked for it.
    fn end_route(&mut self) {
        if let Some(route) = &mut self.route {
            route.wait(Duration::MAX);
        }
        for worker in self.core.workers() {
            worker.send(WorkerCommand::Moving(Moving::Probe(self.ue)));
        }
    }
}
