//! Places for connections: a bounded number. When all are taken, the oldest connection of the source that has
//! the most of them gives way to a new one, so that no stranger keeps others out.

use crate::source_network;
use std::net::IpAddr;

/// The places that are taken, the oldest first.
#[derive(Debug)]
pub(crate) struct Places<T> {
    max: usize,
    taken: Vec<(IpAddr, T)>,
}

impl<T> Places<T> {
    /// So many, at least one.
    pub(crate) fn new(max: usize) -> Self {
        let max = max.max(1);
        Self {
            max,
            taken: Vec::with_capacity(max),
        }
    }

    /// Takes a place for a connection from this address; gives the one that gives way to it, if all were
    /// taken.
    pub(crate) fn enter(&mut self, from: IpAddr, connection: T) -> Option<T> {
        let evicted = (self.taken.len() >= self.max).then(|| self.taken.remove(self.victim()).1);
        self.taken.push((source_network(from), connection));
        evicted
    }

    /// Frees the place of the connection for which this holds, if it has one.
    pub(crate) fn leave(&mut self, is_it: impl Fn(&T) -> bool) {
        self.taken.retain(|(_, connection)| !is_it(connection));
    }

    /// The oldest of the source with the most; of several such sources, of the one that came first.
    fn victim(&self) -> usize {
        let count = |of: IpAddr| self.taken.iter().filter(|(from, _)| *from == of).count();
        // max_by_key takes the last of equals
        let all = self.taken.iter().enumerate().rev();
        all.max_by_key(|(_, (from, _))| count(*from))
            .map_or(0, |(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
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
            assert_eq!(places.enter(ip(from), n), None);
        }
        assert_eq!(places.enter(ip("10.0.0.4"), 5), Some(2));
        assert_eq!(places.enter(ip("10.0.0.4"), 6), Some(1), "all had one");
        assert_eq!(places.enter(ip("10.0.0.3"), 7), Some(5));
        places.leave(|n| *n == 3);
        assert_eq!(places.enter(ip("10.0.0.9"), 8), None);
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
            assert_eq!(places.enter(ip(from), n), None);
        }
        assert_eq!(places.enter(ip("2001:db8:1:3::5"), 4), Some(2));
    }
}
