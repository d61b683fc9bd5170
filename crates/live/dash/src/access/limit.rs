//! How often an address may show a wrong token: five times, then once in ten seconds.

use daemon::source_network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tokens in a row that are not held up.
const FREE_TRIES: u32 = 5;
/// After so long one more is.
const TRY_INTERVAL: Duration = Duration::from_secs(10);
/// Addresses that are kept.
const MAX_ADDRESSES: usize = 4_096;

/// Wrong tokens by address.
#[derive(Debug, Default)]
pub(super) struct Limiter {
    /// Until when an address has to wait for all its tries to expire.
    until: Mutex<HashMap<IpAddr, Instant>>,
}

impl Limiter {
    /// That the address may try.
    ///
    /// # Errors
    /// It may not: for so many seconds.
    pub(super) fn check(&self, peer: IpAddr, now: Instant) -> Result<(), u64> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = until
            .get(&source_network(peer))
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let free = TRY_INTERVAL * (FREE_TRIES - 1);
        match owed > free {
            true => Err((owed - free).as_secs().max(1)),
            false => Ok(()),
        }
    }

    /// The address has shown a wrong token.
    pub(super) fn failed(&self, peer: IpAddr, now: Instant) {
        let mut all = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = source_network(peer);
        if all.len() >= MAX_ADDRESSES && !all.contains_key(&peer) {
            all.retain(|_, until| *until > now);
            if all.len() >= MAX_ADDRESSES {
                // many addresses at once: the one that is soonest done makes room
                let soonest = all.iter().min_by_key(|(_, until)| **until);
                let soonest = soonest.map(|(peer, _)| *peer);
                soonest.map(|peer| all.remove(&peer));
            }
        }
        let until = all.entry(peer).or_insert(now);
        *until = (*until).max(now) + TRY_INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_neighbours_count_as_one() {
        let limiter = Limiter::default();
        let now = Instant::now();
        for k in 0..10_000_u32 {
            limiter.failed(IpAddr::V4(k.into()), now);
        }
        let kept = limiter.until.lock().expect("no panic").len();
        assert_eq!(kept, MAX_ADDRESSES);
        let neighbours = ["2001:db8::1", "2001:db8::2"].map(|a| a.parse().expect("an address"));
        (0..5).for_each(|_| limiter.failed(neighbours[0], now));
        assert!(limiter.check(neighbours[1], now).is_err());
    }
}
