//! The thread that moves packets.

use crate::error::TunnelError;
use crate::inner::Inner;
use crate::inside::Inside;
use crate::output::Output;
use crate::poller::{Poller, Token, Waker};
#[cfg(feature = "edge")]
use crate::radio::UeState;
use crate::reload::Reload;
use crate::resolver::Resolved;
use crate::status::Status;
use daemon::Seat;
use daemon::clock::now as monotonic_now;
use multipath::class::Class;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use units::{Duration, Instant};

/// The device.
const DEVICE: Token = Token(0);
/// A command waits.
const WAKE: Token = Token(1);
/// The first of the other end's.
pub(crate) const FIRST: u64 = 2;
/// How often what is slow is looked after: paths that could not be opened, MTUs.
const CHORES: Duration = Duration::from_millis(250);

/// What other threads request of this one. Those that anyone but the user that it runs as can cause have a seat in the
/// channel.
pub(crate) enum Command {
    /// How it stands.
    Status(Sender<Status>, Seat),
    /// To change something while it runs; the answer is what was done, or the reason why it was not.
    Change(Change, Sender<Result<String, String>>, Seat),
    /// What the radio under some paths can carry.
    #[cfg(feature = "edge")]
    Radio(Vec<UeState>, Seat),
    /// A name of a server was resolved, or not.
    Resolved(Resolved),
    /// To end.
    Stop,
}

/// A change while the tunnel runs.
#[derive(Debug)]
pub(crate) enum Change {
    /// Another configuration, of the same role.
    Configure(Box<Reload>),
    /// One more path.
    AddPath(Box<crate::PathConfig>),
    /// One path less.
    RemovePath(String),
    /// A path's priority.
    SetPriority(String, multipath::packet::PathPriority),
}

/// The side of the paths, which differs between client and server.
pub(crate) trait Outside {
    /// A descriptor of its own can be read, or written where it waited for that.
    fn on_ready(&mut self, now: Instant, token: Token, poller: &Poller);
    /// The class of what comes out of the device now, so many bytes, by its headers: what is lost, held and chosen for by itself.
    /// Asked for once, before [`Self::submit`].
    fn class(&mut self, now: Instant, headers: &[u8], bytes: usize) -> Class;
    /// A packet of that class came out of the device.
    fn submit(&mut self, now: Instant, packet: Inner, class: Class);
    /// Packets that wait for a path, to the peer of the last one: a short wait before they leave costs nothing.
    fn backlog(&mut self) -> usize;
    /// True if so many packets with this one can wait for a path; if not, they are counted as refused.
    fn has_room(&mut self, packet: &Inner, count: usize) -> bool;
    /// When [`Self::on_deadline`] is to be called.
    fn next_deadline(&mut self, now: Instant) -> Option<Instant>;
    /// A deadline has come.
    fn on_deadline(&mut self, now: Instant);
    /// Sends what may leave, and hands over what has arrived.
    fn pump(&mut self, now: Instant, poller: &Poller, inside: &mut Inside);
    /// Looks after what is slow.
    fn on_chores(&mut self, now: Instant, poller: &Poller, inside: &mut Inside);
    /// How it stands.
    fn status(&mut self, now: Instant, status: &mut Status);
    /// Changes something.
    fn change(&mut self, now: Instant, change: Change, poller: &Poller) -> Result<String, String>;
    /// A name of a server was resolved, or not.
    fn on_resolved(&mut self, now: Instant, resolved: Resolved);
    /// Radio reports have come in.
    #[cfg(feature = "edge")]
    fn on_radio(&mut self, now: Instant, states: &[UeState]);
    /// Closes the connections to peers; true when that is done.
    fn close(&mut self, now: Instant) -> bool;
}

/// The thread's state.
pub(crate) struct PacketThread<O> {
    poller: Poller,
    waker: Waker,
    commands: Receiver<Command>,
    inside: Inside,
    outside: O,
    output: Output,
    began: Instant,
    chores_at: Instant,
    ending: Option<Instant>,
    /// Scratch: what has come out of the device.
    submitted: VecDeque<(Inner, Class)>,
}

/// How long peers are given to be notified that this end closes.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

impl<O: Outside> PacketThread<O> {
    /// Around a device and the paths.
    pub(crate) fn new(
        poller: Poller,
        waker: Waker,
        commands: Receiver<Command>,
        inside: Inside,
        outside: O,
        output: Output,
    ) -> Result<Self, TunnelError> {
        let system = |error| TunnelError::system("the device cannot be waited for", error);
        poller.add(&inside, DEVICE, false).map_err(system)?;
        poller.add(&waker, WAKE, false).map_err(system)?;
        let now = monotonic_now();
        Ok(Self {
            poller,
            waker,
            commands,
            inside,
            outside,
            output,
            began: now,
            chores_at: now,
            ending: None,
            submitted: VecDeque::new(),
        })
    }

    /// The device's name and MTU, and the threads that move packets.
    pub(crate) fn shape(&self) -> (String, usize, usize) {
        let threads = self.output.status().threads;
        (self.inside.name().to_owned(), self.inside.mtu(), threads)
    }

    /// Runs until it is stopped. All that was to leave has left then.
    ///
    /// # Errors
    /// The device is gone, or there is no second thread where one is needed.
    pub(crate) fn run(mut self) -> Result<(), TunnelError> {
        self.output.start()?;
        let result = self.move_packets();
        self.output.stop();
        result
    }

    fn move_packets(&mut self) -> Result<(), TunnelError> {
        let mut ready = Vec::new();
        loop {
            let now = monotonic_now();
            if self.ending.is_some_and(|until| now >= until) {
                return Ok(());
            }
            let deadline = self.outside.next_deadline(now);
            let held = self.inside.next_deadline();
            let others = [deadline, held].into_iter().flatten();
            let until = others.fold(self.chores_at, Instant::min);
            ready.clear();
            self.poller
                .wait(Some(until.saturating_since(now)), &mut ready)
                .map_err(|error| TunnelError::system("waiting failed", error))?;
            let now = monotonic_now();
            for token in &ready {
                match *token {
                    DEVICE => self.read_device(now)?,
                    WAKE => self.on_call(now),
                    other => self.outside.on_ready(now, other, &self.poller),
                }
            }
            // not before what was received
            let now = monotonic_now();
            if held.is_some_and(|at| at <= now) && !ready.contains(&DEVICE) {
                self.read_device(now)?;
            }
            if deadline.is_some_and(|at| at <= now) {
                self.outside.on_deadline(now);
            }
            if now >= self.chores_at {
                self.chores_at = now + CHORES;
                self.outside.on_chores(now, &self.poller, &mut self.inside);
            }
            self.outside.pump(now, &self.poller, &mut self.inside);
            if self.inside.is_due(self.outside.backlog()) {
                // what waited before it has left
                self.read_device(now)?;
                self.outside.pump(now, &self.poller, &mut self.inside);
            }
            self.inside.flush();
            if self.ending.is_some() && self.outside.close(now) {
                return Ok(());
            }
        }
    }

    /// What has come out of the device goes to the paths.
    fn read_device(&mut self, now: Instant) -> Result<(), TunnelError> {
        let backlog = self.outside.backlog();
        let (outside, submitted) = (&mut self.outside, &mut self.submitted);
        self.inside.read(
            now,
            backlog,
            |headers, bytes| outside.class(now, headers, bytes),
            |packet, class| submitted.push_back((packet, class)),
        )?;
        let mut is_refused = false;
        for (packet, class) in self.submitted.drain(..) {
            if let Some(count) = packet.all_or_none() {
                is_refused = count > 1 && !self.outside.has_room(&packet, count);
            }
            if !(is_refused && packet.1.is_some()) {
                self.outside.submit(now, packet, class);
            }
        }
        Ok(())
    }

    fn on_call(&mut self, now: Instant) {
        self.waker.clear();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Status(answer, _seat) => {
                    let uptime = now.saturating_since(self.began);
                    let mut status = Status::new(&self.inside, &self.output, uptime);
                    self.outside.status(now, &mut status);
                    // the requester may have gone
                    let _ = answer.send(status);
                }
                Command::Change(change, answer, _seat) => {
                    // a whole configuration is logged by who has requested it
                    let is_logged = !matches!(change, Change::Configure(_));
                    // a socket that goes is closed when this returns
                    self.output.settle();
                    let done = self.outside.change(now, change, &self.poller);
                    match &done {
                        Ok(what) if is_logged => tracing::info!("{what}"),
                        Err(error) if is_logged => tracing::error!("nothing is changed: {error}"),
                        _ => {}
                    }
                    let _ = answer.send(done);
                }
                #[cfg(feature = "edge")]
                Command::Radio(states, _seat) => self.outside.on_radio(now, &states),
                Command::Resolved(resolved) => self.outside.on_resolved(now, resolved),
                Command::Stop => {
                    self.ending.get_or_insert(now + CLOSE_TIMEOUT);
                }
            }
        }
    }
}
