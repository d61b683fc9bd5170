//! How large packets on each path may be ([`crate::mtu`]), and what becomes of those that are larger.
//!
//! Probes are Syncs that are padded (RFC 4340 14.1: the data of a Sync is ignored, its SyncAck names it, and no data
//! is risked). A packet that is too large for a path goes by another; one that no usable path takes waits if one is
//! expected to take it in a moment, else it is handed back ([`Tunnel::poll_too_big`]).

use super::path::{Path, Queued};
use super::{Transmit, Tunnel};
use crate::mtu::{Discovery, DiscoveryConfig, DiscoveryCounters, DiscoveryState};
use crate::packet::{Kind, Options};
use crate::path::AckOutcome;
use crate::scheduler::{PathView, keep_allowed};
use crate::{PathId, Payload};
use units::{Bytes, Duration, Instant};

/// Packets that were too large and are kept to be handed back; of more, they are counted only.
const MAX_TOO_BIG: usize = 16;

/// How large datagrams on a path may be, and how that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathMtu {
    /// As large as they come.
    #[default]
    Any,
    /// So large.
    Fixed(Bytes),
    /// What probes find.
    Found(DiscoveryConfig),
}

/// What is known of how large datagrams on a path may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuStats {
    /// The largest; none: as large as they come.
    pub size: Option<Bytes>,
    /// Where the search stands; none: there is none.
    pub state: Option<DiscoveryState>,
    /// What the search has done.
    pub counters: DiscoveryCounters,
}

/// The largest packet that all usable paths take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerMtu {
    /// Its length.
    pub size: Bytes,
    /// No search is under way that may raise it in a moment.
    pub is_settled: bool,
}

/// Of one path.
#[derive(Clone, Debug)]
pub(super) enum Limit {
    Any,
    Fixed(u64),
    Found(Box<Discovery>),
}

impl Limit {
    pub(super) fn new(config: PathMtu) -> Self {
        match config {
            PathMtu::Any => Self::Any,
            PathMtu::Fixed(size) => Self::Fixed(size.get()),
            PathMtu::Found(config) => Self::Found(Box::new(Discovery::new(config))),
        }
    }

    fn discovery(&mut self) -> Option<&mut Discovery> {
        match self {
            Self::Found(discovery) => Some(discovery),
            Self::Any | Self::Fixed(_) => None,
        }
    }

    /// The largest datagram.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Any => u64::MAX,
            Self::Fixed(size) => *size,
            Self::Found(discovery) => discovery.size().get(),
        }
    }

    fn expected(&self) -> u64 {
        match self {
            Self::Found(discovery) => discovery.expected().get(),
            other => other.size(),
        }
    }

    fn is_settled(&self) -> bool {
        match self {
            Self::Found(discovery) => discovery.is_settled(),
            Self::Any | Self::Fixed(_) => true,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Found(discovery) => discovery.next_deadline(),
            Self::Any | Self::Fixed(_) => None,
        }
    }

    pub(super) fn stats(&self) -> MtuStats {
        let size = Some(self.size()).filter(|size| *size < u64::MAX);
        let (state, counters) = match self {
            Self::Found(found) => (Some(found.state()), found.counters()),
            Self::Any | Self::Fixed(_) => (None, DiscoveryCounters::default()),
        };
        MtuStats {
            size: size.map(Bytes::new),
            state,
            counters,
        }
    }
}

impl<P> Path<P> {
    /// The longest payload that the path takes.
    fn max_payload(&self) -> u64 {
        self.limit.size().saturating_sub(self.config.around.get())
    }

    /// The longest that it is expected to take in a moment.
    fn expected_payload(&self) -> u64 {
        let size = self.limit.expected();
        size.saturating_sub(self.config.around.get())
    }

    /// An estimate of the round-trip time is there, and with it a timeout.
    fn probe_wait(&self) -> Duration {
        Discovery::wait(self.srtt().map(|_| self.sender.rto()))
    }
}

impl<P: Payload> Tunnel<P> {
    /// The local link under a path takes datagrams of that size, or routers have reported it: probes are no larger, and what
    /// was found is confirmed if it is. Of a path whose size is fixed, it is that size.
    pub fn on_link_mtu(&mut self, now: Instant, path: PathId, size: Bytes) {
        let Some(state) = self.path_mut(path) else {
            return;
        };
        match &mut state.limit {
            Limit::Any => {}
            Limit::Fixed(fixed) => *fixed = size.get(),
            Limit::Found(discovery) => discovery.on_link(now, size),
        }
        self.withdraw_too_big(usize::from(path.0));
    }

    /// A path leads elsewhere: whether it carries what was found is confirmed, and whether it carries more.
    pub fn on_path_moved(&mut self, now: Instant, path: PathId) {
        let state = self.path_mut(path);
        if let Some(discovery) = state.and_then(|state| state.limit.discovery()) {
            discovery.on_moved(now);
        }
    }

    /// The largest packet that all usable paths take, or are expected to in a moment; none: no usable path has a limit.
    pub fn inner_mtu(&self) -> Option<InnerMtu> {
        let usable = || self.paths.iter().filter(|path| path.is_usable());
        let size = usable().map(Path::expected_payload).min()?;
        // a path without limit leaves room for what is around a payload
        (size < u64::MAX / 2).then(|| InnerMtu {
            size: Bytes::new(size),
            is_settled: usable().all(|path| path.limit.is_settled()),
        })
    }

    /// The next packet that no path takes; its sender is to be notified of [`Self::inner_mtu`].
    pub fn poll_too_big(&mut self) -> Option<P> {
        self.too_big.pop_front()
    }

    /// A probe of a path's MTU, if one is to leave.
    pub(super) fn mtu_probe(&mut self, now: Instant, index: usize) -> Option<Transmit<P>> {
        let path = &mut self.paths[index];
        if !path.is_usable() {
            return None;
        }
        let size = path.limit.discovery()?.poll_probe()?;
        let ack = path.numbers.greatest_received()?;
        let wait = path.probe_wait();
        let probe = self.control(now, index, Kind::Sync { ack }, Options::default());
        if let Some(discovery) = self.paths[index].limit.discovery() {
            discovery.on_sent(now, probe.packet.seq, wait);
        }
        Some(Transmit {
            size: Some(size),
            ..probe
        })
    }

    /// A path's probe may have had its time.
    pub(super) fn on_mtu_deadline(&mut self, now: Instant, index: usize) {
        let path = &mut self.paths[index];
        let Some(discovery) = path.limit.discovery() else {
            return;
        };
        if discovery.next_deadline().is_some_and(|at| at <= now) {
            if discovery.on_deadline(now) && path.is_usable() {
                path.sync = path.numbers.greatest_received();
            }
            self.withdraw_too_big(index);
        }
    }

    /// A SyncAck has named this packet of a path.
    pub(super) fn on_mtu_answer(&mut self, now: Instant, index: usize, seq: crate::seq::SeqNo) {
        if let Some(discovery) = self.paths[index].limit.discovery() {
            discovery.on_answer(now, seq);
            self.withdraw_too_big(index);
        }
    }

    /// What an acknowledgement or a timer has shown of a path's MTU.
    pub(super) fn note_mtu(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let path = &mut self.paths[index];
        let around = path.config.around;
        let Some(discovery) = path.limit.discovery() else {
            return;
        };
        for info in &outcome.lost {
            if info.is_data {
                discovery.on_lost(info.bytes + around);
            }
        }
        let mut latest = None;
        for info in outcome.acked.iter().chain(&outcome.late) {
            if info.is_data {
                discovery.on_acked(info.bytes + around);
            }
            latest = Some(latest.map_or(info.seq, |seq: crate::seq::SeqNo| seq.later(info.seq)));
        }
        if let Some(seq) = latest {
            discovery.on_arrived(now, seq);
        }
        self.withdraw_too_big(index);
    }

    /// What waits on a path and is too large for it by now goes elsewhere.
    fn withdraw_too_big(&mut self, index: usize) {
        let path = &mut self.paths[index];
        let max = path.max_payload();
        let before = core::mem::replace(&mut path.taken, max);
        if max == before {
            return;
        }
        self.settled_at = None;
        let is_too_big = |queued: &Queued<P>| queued.payload.len() as u64 > max;
        if !path.queue.iter().any(is_too_big) {
            return;
        }
        let all = core::mem::take(&mut path.queue);
        let (too_big, others) = all.into_iter().partition(is_too_big);
        path.queue = others;
        self.put_back(too_big);
    }

    /// The views of the paths that take a payload of that size, if not all of `views` do; none: all do.
    pub(super) fn fitting(
        &self,
        now: Instant,
        size: Bytes,
        views: &[PathView],
    ) -> Option<Vec<PathView>> {
        let takes = |path: &Path<P>| path.max_payload() >= size.get();
        if views
            .iter()
            .all(|view| takes(&self.paths[usize::from(view.id.0)]))
        {
            return None;
        }
        let known = |id: PathId| views.iter().find(|view| view.id == id).copied();
        let max_age = self.config.report_max_age;
        let usable = self
            .paths
            .iter()
            .filter(|path| path.is_usable() && takes(path));
        let mut fitting: Vec<_> = usable
            .map(|path| known(path.id).unwrap_or_else(|| path.view(now, max_age)))
            .collect();
        keep_allowed(&mut fitting);
        Some(fitting)
    }

    /// True if a usable path is expected to take a payload of that size in a moment.
    pub(super) fn may_fit(&self, size: Bytes) -> bool {
        let mut usable = self.paths.iter().filter(|path| path.is_usable());
        usable.any(|path| path.expected_payload() >= size.get())
    }

    /// A packet that no path takes.
    pub(super) fn refuse_too_big(&mut self, payload: P) {
        self.counters.too_big += 1;
        if self.too_big.len() < MAX_TOO_BIG {
            self.too_big.push_back(payload);
        }
    }
}
