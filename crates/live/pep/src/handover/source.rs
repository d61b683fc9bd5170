//! The side that has the connections.

use super::link::Link;
use crate::config::Peer;
use crate::daemon::Core;
use crate::relay::{Copies, Frozen, Key, Moving, Phase, State, WorkerCommand};
use relocation::{Message, Outcome, Source, SourceEvent, SourceStep, VERSION};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// A worker answers within this time.
const WORKER_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes that a worker copies at once, at most, and what one socket has received.
const COPY: usize = 4 << 20;
/// So few bytes are sent while connections are frozen rather than ahead.
const LITTLE: usize = 64 << 10;
/// Nothing is read for so long at most before connections are frozen.
const HOLD: Duration = Duration::from_millis(50);
/// Between copies where there is little to copy and much that sockets had before is not acknowledged.
const PAUSE: Duration = Duration::from_millis(2);

const SILENT_WORKER: &str = "a worker does not answer";

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
    /// Payload that was sent while the connections ran, bytes.
    pub(crate) ahead_bytes: usize,
    /// Payload that was sent while they were frozen, bytes.
    pub(crate) rest_bytes: usize,
    /// Payload that came here while they were frozen, and was sent after it, bytes.
    pub(crate) late_bytes: usize,
}

/// Connections of one worker.
type Keys = BTreeMap<usize, Vec<Key>>;

/// A transfer under way.
struct Transfer<'a> {
    core: &'a Core,
    link: Link,
    ue: IpAddr,
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
    let of = config.handover.as_ref();
    let timeout = of.map_or(0, |of| of.timeout.as_nanos());
    let ahead = of.map_or(0, |of| of.ahead.as_nanos());
    let keys = stats.keys().zip(peer.public_key);
    let link = Link::connect(&peer.address, keys, Duration::from_nanos(timeout));
    let link = link.map_err(|error| format!("{}: {error}", peer.address))?;
    let transfer = Transfer {
        core,
        link,
        ue,
        side: Source::default(),
        frozen: Vec::new(),
        moved: Keys::new(),
        stay: Vec::new(),
        report: Report::default(),
        began: Instant::now(),
    };
    let result = transfer.run(Duration::from_nanos(ahead));
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
    fn run(mut self, ahead: Duration) -> Result<Report, String> {
        let ue = self.ue;
        let flows = self.core.shared.registry.live();
        let flows = flows.iter().filter(|flow| flow.client.ip() == ue).count();
        let offer = Message::Offer {
            version: VERSION,
            ue,
            flows: u32::try_from(flows).unwrap_or(u32::MAX),
        };
        let answer = self.link.send(&offer).and_then(|()| self.link.receive());
        match answer {
            Ok(Message::Accept) => {}
            Ok(Message::Refuse(why)) => {
                self.core.shared.handover.on_refused(why);
                return Err(format!("the other proxy refuses: {}", why.name()));
            }
            // one that speaks version 1 alone ends the conversation
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let why = "the other proxy has ended without an answer: it may be of a version that takes no \
                           connections that are copied ahead";
                return Err(self.give_up(why));
            }
            other => return Err(self.give_up(&problem(other))),
        }
        if self.side.on(SourceEvent::Accepted) != SourceStep::Copy {
            return Err(self.give_up("nothing was offered"));
        }
        self.core.note_learnt(ue);
        if !ahead.is_zero()
            && let Err(why) = self.copy(Instant::now(), ahead)
        {
            return Err(self.give_up(&why));
        }
        if self.side.on(SourceEvent::Copied) != SourceStep::Freeze {
            return Err(self.give_up("nothing was offered"));
        }
        self.began = Instant::now();
        if !self.freeze(ue) {
            return Err(self.give_up(SILENT_WORKER));
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

    /// Sends what connections carry while they run: until little is left or that does not become less, and then, with
    /// nothing read any more, until nothing new comes.
    fn copy(&mut self, began: Instant, ahead: Duration) -> Result<(), String> {
        let mut last = usize::MAX;
        let mut phase = Phase::First;
        loop {
            let copied = self.copy_once(phase)?;
            let converges = copied.bytes > LITTLE && copied.bytes < last / 2;
            let is_worth_it = copied.has_more || copied.before > LITTLE || converges;
            if !is_worth_it || began.elapsed() >= ahead {
                break;
            }
            if copied.bytes <= LITTLE {
                std::thread::sleep(PAUSE);
            }
            last = copied.bytes;
            phase = match began.elapsed() >= ahead / 2 {
                true => Phase::Late,
                false => Phase::Running,
            };
        }
        let held = Instant::now();
        loop {
            let copied = self.copy_once(Phase::Holding)?;
            let is_over = copied.bytes <= LITTLE && !copied.has_more;
            if is_over || held.elapsed() >= HOLD.min(ahead) {
                return Ok(());
            }
        }
    }

    /// Sends what is new of all connections.
    fn copy_once(&mut self, phase: Phase) -> Result<Copies, String> {
        let mut all = Copies::default();
        for part in self.ask(|to| Moving::Copy {
            ue: self.ue,
            phase,
            most: COPY,
            to,
        }) {
            let part = part.ok_or(SILENT_WORKER)?;
            all.bytes += part.bytes;
            all.before += part.before;
            all.has_more |= part.has_more;
            for ahead in part.ahead {
                let sent = self.link.send(&Message::Ahead(Box::new(ahead)));
                sent.map_err(|error| error.to_string())?;
            }
        }
        self.report.ahead_bytes += all.bytes;
        Ok(all)
    }

    /// The answers of all workers, in their order; none of one that does not answer in time.
    fn ask<T>(&self, what: impl Fn(Sender<T>) -> Moving) -> Vec<Option<T>> {
        let asked = self.core.workers().iter().map(|worker| {
            let (to, from) = channel();
            worker.send(WorkerCommand::Moving(what(to)));
            from
        });
        let asked: Vec<_> = asked.collect();
        let answers = asked.into_iter();
        answers
            .map(|from| from.recv_timeout(WORKER_TIMEOUT).ok())
            .collect()
    }

    /// Of all workers; false if one does not answer in time, whose connections thaw by themselves.
    fn freeze(&mut self, ue: IpAddr) -> bool {
        let mut all = true;
        let answers = self.ask(|to| Moving::Freeze { ue, to });
        for (i, frozen) in answers.into_iter().enumerate() {
            all &= frozen.is_some();
            for one in frozen.into_iter().flatten() {
                match &one.state {
                    Ok(state) => {
                        self.report.payload_bytes += one.payload;
                        self.report.rest_bytes += match state {
                            State::Whole(flow) => flow.payload(),
                            State::Rest(rest) => rest.flow.payload(),
                        };
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
                self.link.send(&match state {
                    State::Whole(flow) => Message::Flow(flow),
                    State::Rest(rest) => Message::Rest(rest),
                })?;
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
        let step = match sent {
            Ok(()) => self.confirm(),
            Err(_) => self.side.on(SourceEvent::Lost),
        };
        let frozen = self.began.elapsed();
        let stats = &self.core.shared.handover;
        if step == SourceStep::Forget {
            // what is still on its way to this machine must not be forwarded, nor be answered
            if let Err(error) = self.core.note_moved(&gone) {
                tracing::warn!(%error, "late packets of connections that have moved are not dropped");
            }
            let (done, all_done) = channel();
            self.command(&self.moved, |keys| Moving::Forget(keys, done.clone()));
            drop(done);
            // one that comes back at once finds its place taken until then
            let _ = all_done.recv_timeout(WORKER_TIMEOUT);
            stats.on_moved(gone.len(), frozen);
            self.report.moved = gone.len();
            self.report.frozen_seconds = frozen.as_secs_f64();
            self.uncopy();
            return Ok(self.report);
        }
        self.command(&self.moved, Moving::Reset);
        self.uncopy();
        stats.on_reset(gone.len());
        Err(format!(
            "the other proxy has not confirmed that it has the connections: {} were reset",
            gone.len()
        ))
    }

    /// Sends what comes here until packets come to the other proxy, and waits for the word that the connections live there.
    fn confirm(&mut self) -> SourceStep {
        let event = match self.link.receive() {
            Ok(Message::Routed) => SourceEvent::Routed,
            _ => SourceEvent::Lost,
        };
        let step = self.side.on(event);
        if step != SourceStep::Flush {
            return step;
        }
        let event = match self.flush().and_then(|()| self.link.receive()) {
            Ok(Message::Done) => SourceEvent::Done,
            _ => SourceEvent::Lost,
        };
        self.side.on(event)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let (to, from) = channel();
        self.command(&self.moved, |keys| Moving::Flush {
            keys,
            to: to.clone(),
        });
        drop(to);
        let until = Instant::now() + WORKER_TIMEOUT;
        let left = || until.saturating_duration_since(Instant::now());
        // what a worker does not give is sent again by its ends
        while let Ok(all) = from.recv_timeout(left()) {
            for late in all {
                self.report.late_bytes += late.bytes.len();
                self.link.send(&Message::Late(Box::new(late)))?;
            }
        }
        self.link.send(&Message::Over)
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
        self.uncopy();
        self.core.shared.handover.on_aborted();
        format!("{why}: all connections stay")
    }

    /// Of connections that stay nothing is kept.
    fn uncopy(&self) {
        for worker in self.core.workers() {
            worker.send(WorkerCommand::Moving(Moving::Uncopy(self.ue)));
        }
    }

    fn command(&self, keys: &Keys, what: impl Fn(Vec<Key>) -> Moving) {
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
