//! The live model: series, the frames of the last minute, and the positions of their readers.
//!
//! A source fills a [`Round`] with the values of a moment. Rounds become frames, at most 50 a second
//! of wall-clock time; what several rounds put within a frame is averaged, or the last is taken. A
//! frame is encoded once, and all readers share its text. No reader has a queue: each has a
//! [`Position`], so one that does not read costs nothing.

mod encode;
mod position;
mod ring;
mod state;

pub use position::Position;

use axum::extract::ws::Utf8Bytes;
use metric::Kind;
use state::State;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Frames are kept for this long, for readers that connect or reconnect.
pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// Where what is shown happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The simulator.
    Sim,
    /// The lab.
    Lab,
    /// A daemon.
    Live,
}

impl World {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Lab => "lab",
            Self::Live => "live",
        }
    }
}

/// The program that measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A run of the simulator.
    Run,
    /// A run in the lab.
    Lab,
    /// The proxy.
    Pep,
    /// The tunnel.
    Tunnel,
    /// The radio information service.
    Rnis,
    /// The QUIC server.
    Quic,
    /// The queue above a modem.
    Ue,
}

impl Source {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Lab => "lab",
            Self::Pep => "pep",
            Self::Tunnel => "tunnel",
            Self::Rnis => "rnis",
            Self::Quic => "quic",
            Self::Ue => "ue",
        }
    }
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// For people.
    pub title: String,
    /// Where it happens.
    pub world: World,
    /// The program that measures it.
    pub source: Source,
}

/// Live values. Clones are the same feed.
#[derive(Clone, Debug)]
pub struct Feed {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notifies readers that there is something new.
    news: watch::Sender<()>,
    viewers: AtomicUsize,
    /// Notifies a source that there is a viewer.
    watched: Condvar,
}

impl Feed {
    /// A feed without values.
    pub fn new(about: About) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::new(about, 1)),
                news: watch::Sender::new(()),
                viewers: AtomicUsize::new(0),
                watched: Condvar::new(),
            }),
        }
    }

    /// Another run begins: all that came before is over, also for viewers.
    pub fn begin(&self, about: About) {
        let mut state = self.state();
        let generation = state.generation() + 1;
        *state = State::new(about, generation);
        drop(state);
        self.shared.news.send_replace(());
    }

    /// Values of the moment `t`, in seconds since the beginning.
    pub fn round(&self, t: f64) -> Round<'_> {
        let mut state = self.state();
        state.begin_round(t);
        Round { feed: self, state }
    }

    /// Ends the run, with the reason.
    pub fn end(&self, reason: &str) {
        self.state().end(reason, Instant::now());
        self.shared.news.send_replace(());
    }

    /// The number of viewers.
    pub fn viewers(&self) -> usize {
        self.shared.viewers.load(Ordering::Relaxed)
    }

    /// Waits until there is a viewer, for so long at most; whether there is one.
    pub fn wait_for_viewer(&self, timeout: Duration) -> bool {
        let state = self.state();
        let is_unwatched = |_: &mut State| self.viewers() == 0;
        // what the state is does not matter here
        drop(
            self.shared
                .watched
                .wait_timeout_while(state, timeout, is_unwatched),
        );
        self.viewers() > 0
    }

    /// What is shown.
    pub fn about(&self) -> About {
        self.state().about().clone()
    }

    /// One more viewer, until it is dropped.
    pub(crate) fn viewer(&self) -> Viewer {
        let state = self.state();
        self.shared.viewers.fetch_add(1, Ordering::Relaxed);
        drop(state);
        self.shared.watched.notify_all();
        Viewer { feed: self.clone() }
    }

    /// Notifies of news.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.shared.news.subscribe()
    }

    /// What a reader at this position has not seen, a part of it at most; nothing if it has seen
    /// all.
    pub fn next(&self, position: &mut Position) -> Vec<Utf8Bytes> {
        self.state().next(position)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts as a viewer.
#[derive(Debug)]
pub(crate) struct Viewer {
    feed: Feed,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.feed.shared.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The values of a moment. Others wait while there is one: measure first.
#[derive(Debug)]
pub struct Round<'a> {
    feed: &'a Feed,
    state: MutexGuard<'a, State>,
}

impl Round<'_> {
    /// A value. `parent` is the UE of a flow, the cell of a UE. What is no finite number is left out.
    pub fn put(
        &mut self,
        kind: Kind,
        entity: &str,
        parent: Option<&str>,
        metric: &'static str,
        value: f64,
    ) {
        if value.is_finite() {
            self.state.put(kind, entity, parent, metric, value);
        }
    }

    /// What the table of flows shows beside the values: congestion control.
    pub fn describe(&mut self, flow: &str, cc: &str) {
        self.state.describe(flow, cc);
    }

    /// That is all of it; what was not named keeps its values.
    pub fn finish(mut self) {
        if self.state.finish_round(Instant::now()) {
            self.feed.shared.news.send_replace(());
        }
    }

    /// That is all there is: what was not named has ended.
    pub fn finish_complete(mut self) {
        self.state.end_unnamed(Instant::now());
        self.finish();
    }
}

#[cfg(test)]
mod tests;
