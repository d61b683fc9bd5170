//! Requests by rate: a bucket of tokens for each name (a client; an address and the client that it claims to be).

use daemon::source_network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Buckets that are kept. Full ones are discarded first, then the half that was used least recently.
const MAX_KEYS: usize = 10_000;

/// A bucket: requests left, and when that was so.
struct Bucket {
    left: f64,
    at: Instant,
}

/// Buckets by name.
pub(crate) struct Limiter {
    buckets: Mutex<HashMap<String, Bucket>>,
    rate: f64,
    burst: f64,
}

impl Limiter {
    /// `rate` requests a second in the long run, `burst` at once.
    pub(crate) fn new(rate: f64, burst: f64) -> Self {
        Self {
            buckets: Mutex::new(HashMap::new()),
            rate,
            burst,
        }
    }

    /// Takes one request of this name.
    ///
    /// # Errors
    /// None is left: the whole seconds until there is one, at least 1.
    pub(crate) fn take(&self, name: &str, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |bucket: &Bucket| {
            let waited = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.left + waited * self.rate).min(self.burst)
        };
        if !buckets.contains_key(name) && buckets.len() >= MAX_KEYS {
            buckets.retain(|_, bucket| filled(bucket) < self.burst);
            if buckets.len() >= MAX_KEYS {
                discard_older_half(&mut buckets);
            }
        }
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket {
            left: self.burst,
            at: now,
        });
        let left = filled(bucket);
        bucket.at = now;
        if left < 1.0 {
            bucket.left = left;
            let seconds = ((1.0 - left) / self.rate).ceil();
            return Err((seconds as u64).max(1));
        }
        bucket.left = left - 1.0;
        Ok(())
    }

    /// Gives back one request that [`Self::take`] took: it is not to count.
    pub(crate) fn give_back(&self, name: &str) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(name) {
            bucket.left = (bucket.left + 1.0).min(self.burst);
        }
    }
}

/// Refusing newcomers instead would let strangers with many addresses lock others out.
fn discard_older_half(buckets: &mut HashMap<String, Bucket>) {
    let mut times: Vec<Instant> = buckets.values().map(|bucket| bucket.at).collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    let before = buckets.len();
    buckets.retain(|_, bucket| bucket.at > middle);
    if buckets.len() == before {
        buckets.clear();
    }
}

/// What one source of requests is: an IPv4 address, or a /64 of IPv6, of which one host can have all
/// addresses.
pub(crate) fn source_key(address: IpAddr) -> String {
    match source_network(address) {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(network) => format!("{network}/64"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let limiter = Limiter::new(2.0, 3.0);
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.take("a", now), Ok(()));
        }
        assert_eq!(limiter.take("a", now), Err(1));
        assert_eq!(limiter.take("b", now), Ok(()), "another client's is full");
        let later = now + Duration::from_millis(500);
        assert_eq!(limiter.take("a", later), Ok(()));
        assert_eq!(limiter.take("a", later), Err(1));
    }

    #[test]
    fn what_is_given_back_does_not_count() {
        let limiter = Limiter::new(0.1, 2.0);
        let now = Instant::now();
        for _ in 0..10 {
            assert_eq!(limiter.take("a", now), Ok(()));
            limiter.give_back("a");
        }
        limiter.give_back("a");
        assert_eq!(limiter.take("a", now), Ok(()));
        assert_eq!(limiter.take("a", now), Ok(()));
        assert_eq!(limiter.take("a", now), Err(10), "no more than the burst");
    }

    #[test]
    fn a_slow_rate_returns_how_long_to_wait() {
        let limiter = Limiter::new(0.1, 1.0);
        let now = Instant::now();
        assert_eq!(limiter.take("a", now), Ok(()));
        assert_eq!(limiter.take("a", now), Err(10));
    }

    #[test]
    fn the_number_of_buckets_is_limited_and_newcomers_are_not_locked_out() {
        let limiter = Limiter::new(1.0, 1.0);
        let start = Instant::now();
        let at = |i: usize| start + Duration::from_micros(i as u64);
        for i in 0..MAX_KEYS {
            assert_eq!(limiter.take(&i.to_string(), at(i)), Ok(()));
        }
        let now = at(MAX_KEYS);
        assert_eq!(limiter.take("one more", now), Ok(()));
        assert!(limiter.buckets.lock().expect("whole").len() <= MAX_KEYS);
        let last = (MAX_KEYS - 1).to_string();
        assert_eq!(limiter.take(&last, now), Err(1), "recent ones are kept");
    }
}
