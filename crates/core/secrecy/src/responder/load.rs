//! How many handshakes are computed: each takes four agreements of X25519.

use core::net::IpAddr;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Handshakes at once, and one more each [`INTERVAL`], without a cookie; as many again with one.
pub const BURST: u64 = 64;
/// See [`BURST`].
pub const INTERVAL: Duration = Duration::from_millis(5);
/// Of so many handshakes with a cookie no address has more than a quarter.
pub const RECENT: usize = 64;

/// A bucket of tokens, as the time by which it is full again.
#[derive(Clone, Copy, Debug)]
struct Bucket(Instant);

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        let full_at = self.0.max(now) + INTERVAL;
        let is_there = full_at.saturating_since(now) <= INTERVAL * BURST;
        if is_there {
            self.0 = full_at;
        }
        is_there
    }
}

#[derive(Clone, Debug)]
pub(super) struct Load {
    any: Bucket,
    proven: Bucket,
    recent: VecDeque<(IpAddr, Instant)>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            any: Bucket(Instant::ZERO),
            proven: Bucket(Instant::ZERO),
            recent: VecDeque::new(),
        }
    }
}

impl Load {
    /// A handshake of any address. False under load.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.any.take(now)
    }

    /// A handshake of an address that is proven, under load.
    pub(super) fn take_proven(&mut self, now: Instant, from: IpAddr) -> bool {
        let from = network(from);
        let oldest = INTERVAL * RECENT as u64;
        while let Some((_, at)) = self.recent.front()
            && (now.saturating_since(*at) > oldest || self.recent.len() >= RECENT)
        {
            self.recent.pop_front();
        }
        let of_it = self.recent.iter().filter(|(of, _)| *of == from).count();
        if of_it >= RECENT / 4 || !self.proven.take(now) {
            return false;
        }
        self.recent.push_back((from, now));
        true
    }
}

/// An address of IPv4, or the /64 of one of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_room_for_others() {
        let mut load = Load::default();
        let now = Instant::ZERO;
        let (flood, single) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let taken = (0..1_000).filter(|_| load.take_proven(now, flood)).count();
        assert_eq!(taken, RECENT / 4);
        assert!(load.take_proven(now, single));
        let v6 = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
        let taken = (0..1_000).filter(|i| load.take_proven(now, v6(*i))).count();
        assert_eq!(taken, RECENT / 4, "a /64 is one");
    }

    #[test]
    fn without_a_cookie_there_is_a_burst_and_a_rate() {
        let mut load = Load::default();
        let taken = |load: &mut Load, now| (0..1_000).filter(|_| load.take(now)).count() as u64;
        assert_eq!(taken(&mut load, Instant::ZERO), BURST);
        assert_eq!(taken(&mut load, Instant::ZERO + INTERVAL * 3), 3);
    }
}
