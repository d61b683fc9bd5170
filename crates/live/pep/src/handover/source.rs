//! The side that has the connections.

use super::link::Link;
use crate::config::Peer;
use crate::daemon::Core;
use crate::relay::{Frozen, Key, Moving, WorkerCommand};
use relocation::{Message, Outcome, Source, SourceEvent, SourceStep};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// What became of a transfer.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Connections that the other proxy has.
    pub(crate) moved: usize,
    /// Connections that stay here, by reason.
    pub(crate) stay: BTreeMap<&'static str, usize>,
    /// From the first connection's last packet here to the word that they live there.
    pub(crate) frozen_seconds: f64,
    /// Payload that went along, bytes.
    pub(crate) payload_bytes: usize,
}

/// Connections of one worker.
type Keys = BTreeMap<usize, Vec<Key>>;

/// A transfer under way.
struct Transfer<'a> {
    core: &'a Core,
    link: Link,
    side: Source,
    /// With their worker; those that could be frozen.
    frozen: Vec<(usize, Frozen)>,
    /// Of those, what the other proxy has.
    moved: Keys,
    stay: Vec<(SocketAddr, SocketAddr)>,
    report: Report,
    began: Instant,
}

/// Moves a UE's connections to another proxy.
///
/// # Errors
/// What happened; the connections stay, or were reset if the message says so.
pub(crate) fn hand_over(core: &Core, ue: IpAddr, peer: &Peer) -> Result<Report, String> {
    let ue = ue.to_canonical();
    let stats = &core.shared.handover;
    let Some(_under_way) = stats.begin(ue) else {
        return Err(format!("connections of {ue} are on their way already"));
    };
    let config = core.shared.config();
    let timeout = config
        .handover
        .as_ref()
        .map_or(0, |of| of.timeout.as_nanos());
    let link = Link::connect(&peer.address, Duration::from_nanos(timeout));
    let link = link.map_err(|error| format!("{}: {error}", peer.address.display()))?;
    let transfer = Transfer {
        core,
        link,
        side: Source::default(),
        frozen: Vec::new(),
        moved: Keys::new(),
        stay: Vec::new(),
        report: Report::default(),
        began: Instant::now(),
    };
    let result = transfer.run(ue);
    match &result {
        Ok(report) => tracing::info!(
            %ue, to = peer.name, moved = report.moved, frozen_seconds = report.frozen_seconds,
            "connections handed over"
        ),
        Err(error) => tracing::warn!(%ue, to = peer.name, error, "connections not handed over"),
    }
    result
}

impl Transfer<'_> {
    fn run(mut self, ue: IpAddr) -> Result<Report, String> {
        let flows = self.core.shared.registry.live();
        let flows = flows.iter().filter(|flow| flow.client.ip() == ue).count();
        let flows = u32::try_from(flows).unwrap_or(u32::MAX);
        let answer = self
            .link
            .send(&Message::Offer { ue, flows })
            .and_then(|()| self.link.receive());
        match answer {
            Ok(Message::Accept) => {}
            Ok(Message::Refuse(why)) => {
                self.core.shared.handover.on_refused(why);
                return Err(format!("the other proxy refuses: {}", why.name()));
            }
            other => return Err(self.give_up(&problem(other))),
        }
        if self.side.on(SourceEvent::Accepted) != SourceStep::Freeze {
            return Err(self.give_up("nothing was offered"));
        }
        self.began = Instant::now();
        if !self.freeze(ue) {
            return Err(self.give_up("a worker does not answer"));
        }
        if let Err(error) = self.send() {
            return Err(self.give_up(&error.to_string()));
        }
        self.side.on(SourceEvent::Sent);
        let outcomes = match self.link.receive() {
            Ok(Message::Ready(outcomes)) if outcomes.len() == self.frozen.len() => outcomes,
            other => return Err(self.give_up(&problem(other))),
        };
        self.side.on(SourceEvent::Ready);
        self.commit(&outcomes)
    }

    /// Of all workers; false if one does not answer in time, whose connections thaw by themselves.
    fn freeze(&mut self, ue: IpAddr) -> bool {
        let timeout = Duration::from_secs(1);
        let asked: Vec<_> = self.core.workers().iter().map(|_| channel()).collect();
        for (worker, (to, _)) in self.core.workers().iter().zip(&asked) {
            let to: Sender<Vec<Frozen>> = to.clone();
            worker.send(WorkerCommand::Moving(Moving::Freeze { ue, to }));
        }
        let mut all = true;
        for (i, (to, from)) in asked.into_iter().enumerate() {
            drop(to);
            let Ok(frozen) = from.recv_timeout(timeout) else {
                all = false;
                continue;
            };
            for one in frozen {
                match &one.state {
                    Ok(state) => {
                        self.report.payload_bytes += state.payload();
                        self.frozen.push((i, one));
                    }
                    Err(why) => self.stays(*why, one.ends),
                }
            }
        }
        all
    }

    fn stays(&mut self, why: Outcome, ends: (SocketAddr, SocketAddr)) {
        self.core.shared.handover.on_refused(why);
        *self.report.stay.entry(why.name()).or_default() += 1;
        self.stay.push(ends);
    }

    fn send(&mut self) -> std::io::Result<()> {
        for (_, one) in &mut self.frozen {
            // what is sent is not needed here: the sockets have it
            if let Ok(state) = std::mem::replace(&mut one.state, Err(Outcome::Busy)) {
                self.link.send(&Message::Flow(state))?;
            }
        }
        let stay = self.stay.clone();
        self.link.send(&Message::End { stay })
    }

    /// The connections are the other proxy's from here on.
    fn commit(mut self, outcomes: &[Outcome]) -> Result<Report, String> {
        let sent = self.link.send(&Message::Commit);
        let (mut kept, mut gone) = (Keys::new(), Vec::new());
        for ((worker, one), outcome) in std::mem::take(&mut self.frozen).into_iter().zip(outcomes) {
            if *outcome == Outcome::Moved {
                self.moved.entry(worker).or_default().push(one.key);
                gone.push(one.ends);
            } else {
                kept.entry(worker).or_default().push(one.key);
                self.stays(*outcome, one.ends);
            }
        }
        self.command(&self.moved, Moving::Silence);
        self.command(&kept, Moving::Thaw);
        let event = match sent.and_then(|()| self.link.receive()) {
            Ok(Message::Done) => SourceEvent::Done,
            _ => SourceEvent::Lost,
        };
        let frozen = self.began.elapsed();
        let stats = &self.core.shared.handover;
        if self.side.on(event) == SourceStep::Forget {
            // what is still on its way to this machine must not be forwarded, nor be answered
            if let Err(error) = self.core.note_moved(&gone) {
                tracing::warn!(%error, "late packets of connections that have moved are not dropped");
            }
            self.command(&self.moved, Moving::Forget);
            stats.on_moved(gone.len(), frozen);
            self.report.moved = gone.len();
            self.report.frozen_seconds = frozen.as_secs_f64();
            return Ok(self.report);
        }
        self.command(&self.moved, Moving::Reset);
        stats.on_reset(gone.len());
        Err(format!(
            "the other proxy has not confirmed that it has the connections: {} were reset",
            gone.len()
        ))
    }

    /// All stay.
    fn give_up(&mut self, why: &str) -> String {
        self.side.on(SourceEvent::Lost);
        // the other may have gone
        let _ = self.link.send(&Message::Abort);
        let mut keys = Keys::new();
        for (worker, one) in std::mem::take(&mut self.frozen) {
            keys.entry(worker).or_default().push(one.key);
        }
        self.command(&keys, Moving::Thaw);
        self.core.shared.handover.on_aborted();
        format!("{why}: all connections stay")
    }

    fn command(&self, keys: &Keys, what: fn(Vec<Key>) -> Moving) {
        for (worker, keys) in keys {
            if let Some(worker) = self.core.workers().get(*worker) {
                worker.send(WorkerCommand::Moving(what(keys.clone())));
            }
        }
    }
}

fn problem(answer: std::io::Result<Message>) -> String {
    match answer {
        Ok(Message::Abort) => "the other proxy gives up".to_owned(),
        Ok(_) => "the other proxy answers out of order".to_owned(),
        Err(error) => format!("the other proxy does not answer: {error}"),
    }
}
