//! Places for connections: a bounded number. When all are taken, the oldest connection of the source that has
//! the most of them gives way to a new one, so that no stranger keeps others out. One whose client has shown that it
//! may use what is served gives way only where there is no other.

use crate::source_network;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::{AbortHandle, JoinSet};

/// Of things in the order in which they came, each of the source that is given, the one that gives way: the oldest of the
/// source with the most; of several such sources, of the one whose oldest came first. `counts` has how many each
/// source has. None if there is nothing.
///
/// Which addresses the sources have does not matter: otherwise a stranger could choose its own so that another always gives
/// way.
pub fn gives_way<S: Ord>(
    oldest_first: impl IntoIterator<Item = S>,
    counts: &BTreeMap<S, usize>,
) -> Option<usize> {
    let most = counts.values().max()?;
    let mut sources = oldest_first.into_iter();
    sources.position(|source| counts.get(&source) == Some(most))
}

/// Whether a connection's client has shown that it may use what is served. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Standing(Arc<AtomicBool>);

impl Standing {
    /// Of a client that has shown nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// It has shown it: a token that is right.
    pub fn prove(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub fn is_proven(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The places that are taken, the oldest first.
#[derive(Debug)]
struct Places<T> {
    max: usize,
    taken: Vec<Place<T>>,
}

#[derive(Debug)]
struct Place<T> {
    source: IpAddr,
    standing: Standing,
    connection: T,
}

impl<T> Places<T> {
    /// So many, at least one.
    fn new(max: usize) -> Self {
        let max = max.max(1);
        Self {
            max,
            taken: Vec::with_capacity(max),
        }
    }

    /// Takes a place for a connection from this address; gives the one that gives way to it, if all were
    /// taken.
    fn enter(&mut self, from: IpAddr, standing: Standing, connection: T) -> Option<T> {
        let is_full = self.taken.len() >= self.max;
        let evicted = is_full.then(|| self.taken.remove(self.victim()).connection);
        self.taken.push(Place {
            source: source_network(from),
            standing,
            connection,
        });
        evicted
    }

    /// Frees the place of the connection for which this holds, if it has one.
    fn leave(&mut self, is_it: impl Fn(&T) -> bool) {
        self.taken.retain(|place| !is_it(&place.connection));
    }

    fn victim(&self) -> usize {
        let all = || self.taken.iter().enumerate();
        let mut candidates: Vec<(usize, IpAddr)> = all()
            .filter(|(_, place)| !place.standing.is_proven())
            .map(|(index, place)| (index, place.source))
            .collect();
        if candidates.is_empty() {
            candidates = all().map(|(index, place)| (index, place.source)).collect();
        }
        let mut counts = BTreeMap::new();
        for (_, source) in &candidates {
            *counts.entry(*source).or_default() += 1;
        }
        let sources = candidates.iter().map(|(_, source)| *source);
        gives_way(sources, &counts).map_or(0, |of_these| candidates[of_these].0)
    }
}

/// Connections that are served, each by a task, in a bounded number of places. All of them end when this is dropped.
#[derive(Debug)]
pub struct Connections {
    places: Places<AbortHandle>,
    tasks: JoinSet<()>,
}

impl Connections {
    /// In so many places, at least one.
    pub fn new(max: usize) -> Self {
        Self {
            places: Places::new(max),
            tasks: JoinSet::new(),
        }
    }

    /// Serves a connection from this address; ends the one that gives way to it, if all places were taken. Within a
    /// tokio runtime only.
    pub fn spawn(
        &mut self,
        from: IpAddr,
        standing: Standing,
        serve: impl Future<Output = ()> + Send + 'static,
    ) {
        let connection = self.tasks.spawn(serve);
        if let Some(evicted) = self.places.enter(from, standing, connection) {
            evicted.abort();
        }
    }

    /// Frees the place of a connection that has ended, when the next one has. Nothing is lost if it is dropped before. Does
    /// not end while there is no connection.
    pub async fn ended(&mut self) {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => return std::future::pending().await,
        };
        self.places.leave(|connection| connection.id() == id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A connection of a client that has shown nothing.
    fn enter(places: &mut Places<u32>, from: &str, n: u32) -> Option<u32> {
        places.enter(ip(from), Standing::new(), n)
    }

    #[test]
    fn the_oldest_of_the_source_with_the_most_gives_way() {
        let mut places = Places::new(4);
        for (from, n) in [
            ("10.0.0.1", 1),
            ("10.0.0.2", 2),
            ("10.0.0.2", 3),
            ("10.0.0.3", 4),
        ] {
            assert_eq!(enter(&mut places, from, n), None);
        }
        assert_eq!(enter(&mut places, "10.0.0.4", 5), Some(2));
        assert_eq!(enter(&mut places, "10.0.0.4", 6), Some(1), "all had one");
        assert_eq!(enter(&mut places, "10.0.0.3", 7), Some(5));
        places.leave(|n| *n == 3);
        assert_eq!(enter(&mut places, "10.0.0.9", 8), None);
        places.leave(|n| *n == 99);
        assert_eq!(places.taken.len(), 4);
    }

    #[test]
    fn a_network_of_ipv6_is_one_source() {
        let mut places = Places::new(3);
        for (from, n) in [
            ("10.0.0.1", 1),
            ("2001:db8:1:2::5", 2),
            ("2001:db8:1:2:3::", 3),
        ] {
            assert_eq!(enter(&mut places, from, n), None);
        }
        assert_eq!(enter(&mut places, "2001:db8:1:3::5", 4), Some(2));
    }

    #[test]
    fn what_has_shown_a_token_gives_way_last() {
        let mut places = Places::new(3);
        let standings = [(); 3].map(|()| Standing::new());
        for (n, standing) in (1..).zip(&standings) {
            assert_eq!(places.enter(ip("10.0.0.1"), standing.clone(), n), None);
        }
        standings[0].prove();
        standings[1].prove();
        assert_eq!(enter(&mut places, "10.0.0.2", 4), Some(3));
        assert_eq!(enter(&mut places, "10.0.0.3", 5), Some(4));
        places.leave(|n| *n == 5);
        let proven = Standing::new();
        proven.prove();
        assert_eq!(places.enter(ip("10.0.0.4"), proven, 6), None);
        assert_eq!(enter(&mut places, "10.0.0.5", 7), Some(1), "all have");
        assert_eq!(enter(&mut places, "10.0.0.5", 8), Some(7));
    }
}
