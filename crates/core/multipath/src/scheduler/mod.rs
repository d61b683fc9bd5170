//! Schedulers: which path, or paths, the next packet takes.
//!
//! ```text
//!   waiting packets --> choose(paths as they are now) --> a set of paths, or none: wait
//! ```
//!
//! | name | rule | source |
//! | --- | --- | --- |
//! | [`cpf`](cpf::CheapestPathFirst) | the highest priority whose window has room, ties by lower RTT | Pieska et al. 2024, section 2.3 |
//! | [`srtt`](srtt::ShortestRtt) | the lowest smoothed RTT whose window has room | the same, section 5.4 |
//! | [`rr`](round_robin::RoundRobin) | in turn, among those with room | |
//! | [`redundant`](redundant::Redundant) | all, when all have room | |
//! | [`otias`](otias::Otias) | the earliest arrival, room or not | Yang, Wang and Amer 2014 |
//! | [`aware`](aware::Aware) | as `cpf`, but a path is full at its bandwidth-delay product | ours (future work vi of the paper) |
//! | [`aware-jitter`](aware::Aware) | the same for paths whose round trips differ without a queue | ours |
//! | [`deadline`](deadline::Deadline) | latency-sensitive packets where they arrive first, bulk as `aware` | ours |
//!
//! A path has room if what is in flight and what waits on the path are together less than its cwnd.
//! Pacing does not take room away: a packet that is chosen waits on its path, as it would in a
//! socket.
//!
//! Priorities are the same for all of them (RFC 9897 3.2.10): a path of priority 0 gets no data, one
//! of priority 1 only while there is no other.

mod aware;
mod cpf;
mod deadline;
pub mod leg;
mod otias;
mod redundant;
mod round_robin;
mod srtt;

pub use aware::{Aware, AwareConfig};
pub use cpf::CheapestPathFirst;
pub use deadline::{COPY_SAVED, COPY_SHARE, Deadline, MAX_MISS};
pub use otias::Otias;
pub use redundant::Redundant;
pub use round_robin::RoundRobin;
pub use srtt::ShortestRtt;

use crate::PathId;
use crate::packet::PathPriority;
use units::{BitRate, Bytes, Duration, Instant, Packets};

/// A path as a scheduler sees it. Only paths that are established and not failing are shown.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// Which path.
    pub id: PathId,
    /// Its priority: the lower of both ends' priorities.
    pub priority: PathPriority,
    /// Congestion window.
    pub cwnd: Packets,
    /// Sent and neither acknowledged nor lost.
    pub in_flight: Packets,
    /// Chosen for the path and not sent yet.
    pub queued: Packets,
    /// Smoothed round-trip time; none before the first sample.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// The least of the last two rounds; none where only smoothed times are known (of a carrier).
    pub recent_min_rtt: Option<Duration>,
    /// The rate at which the path delivers, as far as it was used.
    pub delivery_rate: Option<BitRate>,
    /// The rate at which packets leave for the path, where its controller sets one.
    pub pacing_rate: Option<BitRate>,
    /// What the path can carry according to a fresh radio report.
    pub radio_rate: Option<BitRate>,
    /// Size of a full packet on the path.
    pub packet_size: Bytes,
    /// For how long an acknowledgement of data has been due; zero unless the scheduler has classes.
    pub overdue: Duration,
    /// Data packets found lost so far.
    pub lost: Packets,
    /// Data packets known to have arrived so far.
    pub acked: Packets,
}

impl PathView {
    /// In flight or waiting on the path.
    pub fn used(&self) -> Packets {
        self.in_flight + self.queued
    }

    /// How many more packets the window takes.
    pub fn room(&self) -> Packets {
        Packets::new(self.cwnd.get().saturating_sub(self.used().get()))
    }

    /// True if the window takes a packet.
    pub fn has_room(&self) -> bool {
        self.used() < self.cwnd
    }

    /// How long a packet that is chosen now waits on the path for its turn.
    pub fn pacing_wait(&self) -> Duration {
        let before = self.packet_size * self.queued.get();
        match self.pacing_rate {
            Some(rate) if !rate.is_zero() => before / rate,
            _ => Duration::ZERO,
        }
    }

    /// Smoothed RTT for comparisons: a path without a sample is as good as any.
    pub fn srtt_or_zero(&self) -> Duration {
        self.srtt.unwrap_or(Duration::ZERO)
    }
}

/// What is known of the packets that wait.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// How many wait, the next one included.
    pub packets: Packets,
    /// Size of the next one.
    pub next: Bytes,
}

/// A set of paths, by their [`PathId`]: at most 32 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSet(u32);

impl PathSet {
    /// None: the packet waits.
    pub const NONE: Self = Self(0);
    /// Maximum paths of a connection.
    pub const MAX_PATHS: u8 = 32;

    /// One path.
    pub const fn one(path: PathId) -> Self {
        Self(1 << (path.0 % Self::MAX_PATHS))
    }

    /// Adds a path.
    pub fn insert(&mut self, path: PathId) {
        self.0 |= Self::one(path).0;
    }

    /// True if it has that path.
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & Self::one(path).0 != 0
    }

    /// True if it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its paths, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = PathId> {
        (0..Self::MAX_PATHS)
            .map(PathId)
            .filter(move |&path| self.contains(path))
    }
}

impl FromIterator<PathId> for PathSet {
    fn from_iter<I: IntoIterator<Item = PathId>>(paths: I) -> Self {
        let mut set = Self::NONE;
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }
}

/// Chooses paths.
pub trait Scheduler: Send {
    /// The name that scenario files and configurations use.
    fn name(&self) -> &'static str;
    /// The paths that the next waiting packet takes; none: it waits until something changes.
    /// `paths` are those that may carry data now, in the order of their numbers; it may be empty.
    fn choose(&mut self, now: Instant, waiting: Waiting, paths: &[PathView]) -> PathSet;
    /// True if the scheduler itself bounds what a path holds by what it measures, so that the window
    /// of a path that was idle may be kept (RFC 7661 4.4).
    fn bounds_paths(&self) -> bool {
        false
    }
    /// How much later than the fastest path another may deliver, so that the receiver can still put
    /// packets in order. Set once, before all else.
    fn set_max_lag(&mut self, _lag: Duration) {}
    /// True if the path carries as much as the scheduler would ever give it: what it delivers then is
    /// what it can.
    fn is_full(&self, _now: Instant, path: &PathView) -> bool {
        !path.has_room()
    }
    /// True if latency-sensitive packets are chosen for by [`Self::choose_latency`], before all others.
    fn has_classes(&self) -> bool {
        false
    }
    /// How long after it came a latency-sensitive packet is of use. Set once, before all else.
    fn set_deadline(&mut self, _deadline: Duration) {}
    /// What the paths are like, before packets are chosen for; the paths that latency-sensitive packets leave now.
    fn observe(&mut self, _now: Instant, _paths: &[PathView]) -> PathSet {
        PathSet::NONE
    }
    /// Where a path is for latency-sensitive packets; none if the scheduler has no classes, or has not seen it.
    fn leg(&self, _path: PathId) -> Option<leg::LegStats> {
        None
    }
    /// Latency-sensitive packets may have parities: the peer rebuilds packets.
    fn allow_parities(&mut self) {}
    /// True if a latency-sensitive packet that has just been given to `path` alone is to be covered by a parity.
    fn wants_parity(&mut self, _now: Instant, _path: PathId, _paths: &[PathView]) -> bool {
        false
    }
    /// The path that a parity of so many bytes takes, of packets on `path`; none: it is not sent.
    fn choose_parity(
        &mut self,
        _now: Instant,
        _bytes: Bytes,
        _path: PathId,
        _paths: &[PathView],
    ) -> Option<PathId> {
        None
    }
    /// The paths that the next latency-sensitive packet takes, as [`Self::choose`].
    fn choose_latency(&mut self, now: Instant, waiting: Waiting, paths: &[PathView]) -> PathSet {
        self.choose(now, waiting, paths)
    }
}

/// No scheduler has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scheduler {name:?}; known are {known}", known = NAMES.join(", "))]
pub struct UnknownScheduler {
    /// The requested name.
    pub name: String,
}

/// A scheduler by its name.
#[derive(Debug)]
pub struct Entry {
    /// As files name it.
    pub name: &'static str,
    /// Which path a packet takes, in few words.
    pub rule: &'static str,
    build: fn() -> Box<dyn Scheduler>,
}

impl Entry {
    const fn new(
        name: &'static str,
        rule: &'static str,
        build: fn() -> Box<dyn Scheduler>,
    ) -> Self {
        Self { name, rule, build }
    }
}

/// All of them, in the order of messages.
pub const SCHEDULERS: &[Entry] = &[
    Entry::new("cpf", "the cheapest with room", || {
        Box::new(CheapestPathFirst)
    }),
    Entry::new("srtt", "the one with the lowest round-trip time", || {
        Box::new(ShortestRtt)
    }),
    Entry::new("rr", "each in turn", || Box::<RoundRobin>::default()),
    Entry::new("redundant", "all", || Box::new(Redundant)),
    Entry::new("otias", "the one on which it arrives first", || {
        Box::new(Otias)
    }),
    Entry::new(
        DEFAULT,
        "the cheapest by what paths carry and flows need",
        || Box::new(Aware::new(AwareConfig::default())),
    ),
    Entry::new("aware-jitter", "the same over paths with jitter", || {
        Box::new(Aware::new(AwareConfig {
            has_jitter: true,
            ..AwareConfig::default()
        }))
    }),
    Entry::new(
        "deadline",
        "as `aware`, with packets of calls where they arrive first",
        || Box::<Deadline>::default(),
    ),
];

/// The scheduler where none is given.
pub const DEFAULT: &str = "aware";

const NAMES: &[&str] = &{
    let mut names = [""; SCHEDULERS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SCHEDULERS[i].name;
        i += 1;
    }
    names
};

/// The names that [`build`] accepts.
pub const fn names() -> &'static [&'static str] {
    NAMES
}

/// What each scheduler does, as one sentence: for help texts and the reference of keys.
pub fn rules() -> String {
    let rules = SCHEDULERS
        .iter()
        .map(|of| format!("{} (`{}`)", of.rule, of.name));
    format!(
        "Which path a packet takes: {}.",
        rules.collect::<Vec<_>>().join(", ")
    )
}

/// Makes the scheduler of that name, one of [`SCHEDULERS`].
///
/// # Errors
/// [`UnknownScheduler`] if no scheduler has that name.
pub fn build(name: &str) -> Result<Box<dyn Scheduler>, UnknownScheduler> {
    match SCHEDULERS.iter().find(|of| of.name == name) {
        Some(found) => Ok((found.build)()),
        None => Err(UnknownScheduler {
            name: name.to_owned(),
        }),
    }
}

/// Drops the paths that priorities forbid to use now (RFC 9897 3.2.10): those of priority 0, and
/// standby paths as long as there is any other.
pub fn keep_allowed(paths: &mut Vec<PathView>) {
    let has_regular = paths
        .iter()
        .any(|path| path.priority > PathPriority::STANDBY);
    paths.retain(|path| match path.priority {
        PathPriority::NEVER => false,
        PathPriority::STANDBY => !has_regular,
        _ => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with a window of `cwnd` packets, `used` of them in flight.
    pub(super) fn path(id: u8, priority: u8, cwnd: u64, used: u64, rtt_ms: u64) -> PathView {
        PathView {
            id: PathId(id),
            priority: PathPriority::from_bits(priority),
            cwnd: Packets::new(cwnd),
            in_flight: Packets::new(used),
            queued: Packets::ZERO,
            srtt: Some(Duration::from_millis(rtt_ms)),
            min_rtt: Some(Duration::from_millis(rtt_ms)),
            recent_min_rtt: None,
            delivery_rate: None,
            pacing_rate: None,
            radio_rate: None,
            packet_size: Bytes::new(1_500),
            overdue: Duration::ZERO,
            lost: Packets::ZERO,
            acked: Packets::ZERO,
        }
    }

    pub(super) fn choose(scheduler: &mut dyn Scheduler, paths: &[PathView]) -> Vec<u8> {
        let waiting = Waiting {
            packets: Packets::new(10),
            next: Bytes::new(1_400),
        };
        scheduler
            .choose(Instant::ZERO, waiting, paths)
            .iter()
            .map(|path| path.0)
            .collect()
    }

    #[test]
    fn every_name_builds_the_scheduler_of_that_name() {
        for &name in names() {
            assert_eq!(build(name).expect(name).name(), name);
            assert!(
                include_str!("mod.rs").contains(&format!("//! | [`{name}`](")),
                "the table above has no {name}"
            );
        }
        assert!(names().contains(&DEFAULT));
        let error = build("minrtt").err().expect("unknown");
        assert_eq!(
            error.to_string(),
            "unknown scheduler \"minrtt\"; known are cpf, srtt, rr, redundant, otias, aware, \
             aware-jitter, deadline"
        );
    }

    /// Whatever the scheduler: without a path the packet waits, and no scheduler but OTIAS chooses a path
    /// without room.
    #[test]
    fn no_room_means_waiting() {
        for &name in names() {
            let mut scheduler = build(name).expect(name);
            assert!(choose(&mut *scheduler, &[]).is_empty(), "{name}");
            let full = [path(0, 4, 10, 10, 20), path(1, 3, 10, 12, 40)];
            assert_eq!(
                choose(&mut *scheduler, &full).is_empty(),
                name != "otias",
                "{name}"
            );
        }
    }

    #[test]
    fn standby_paths_wait_for_the_others_to_fail() {
        let mut paths = vec![
            path(0, 0, 9, 0, 1),
            path(1, 1, 9, 0, 1),
            path(2, 2, 9, 0, 1),
        ];
        let mut without = paths[..2].to_vec();
        keep_allowed(&mut paths);
        keep_allowed(&mut without);
        let ids = |paths: &[PathView]| paths.iter().map(|path| path.id.0).collect::<Vec<_>>();
        assert_eq!((ids(&paths), ids(&without)), (vec![2], vec![1]));
    }

    #[test]
    fn sets_hold_paths() {
        let set: PathSet = [PathId(0), PathId(31)].into_iter().collect();
        assert!(set.contains(PathId(31)) && !set.contains(PathId(1)) && !set.is_empty());
        assert_eq!(set.iter().map(|path| path.0).collect::<Vec<_>>(), [0, 31]);
    }
}
