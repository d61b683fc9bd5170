//! What a UE's radio carries of traffic that the proxy does not split.
//!
//! Such traffic counts as one more flow beside those of the proxy: its share is max-min fair by demand
//! ([`crate::share::max_min`]), so that it is left what the flows do not request, and an equal part where they request all.

use crate::share::max_min;
use units::{BitRate, Bytes, Duration, Instant};

/// Traffic of one UE that is not split, as of its last report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unsplit {
    /// Rate of IP bytes that the UE could have, all its traffic together.
    pub capacity: BitRate,
    /// The part of it for what is not split: the capacity without flows of the proxy.
    pub share: BitRate,
    /// Flows of the proxy request all that they can have: what is sent beyond the share is taken from them.
    pub is_contested: bool,
    /// Waiting in the base station; of a queue in common with the flows of the proxy the part that the share has of the
    /// capacity, so that over the share it is the time that the whole queue takes.
    pub queue: Bytes,
    /// Of that time, how long what waits of the flows of the proxy takes; zero of a queue apart, and where it is not known.
    pub own_wait: Duration,
    /// When the report was made.
    pub reported_at: Instant,
    /// The report's PRBs are by chance, since several UEs share the cell, and are not averaged.
    pub is_by_chance: bool,
}

/// What waits in the base station, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queue {
    /// Of all of the UE's traffic.
    Common(f64),
    /// Of what is not split alone.
    Apart(f64),
}

impl Unsplit {
    /// `capacity`, and what each flow of the proxy requests, in byte/s; infinite: all.
    pub(crate) fn new(
        capacity: f64,
        mut demands: Vec<f64>,
        queue: Queue,
        reported_at: Instant,
        is_by_chance: bool,
    ) -> Self {
        let is_contested = demands.iter().any(|demand| demand.is_infinite());
        demands.push(f64::INFINITY);
        let mut shares = Vec::new();
        max_min(capacity, &demands, &mut shares);
        let share = shares.last().copied().unwrap_or(0.0);
        let queue = match queue {
            Queue::Common(_) if capacity <= 0.0 => 0.0,
            Queue::Common(bytes) => bytes * share / capacity,
            Queue::Apart(bytes) => bytes,
        };
        let rate = |bytes: f64| BitRate::from_bps((bytes * 8.0) as u64);
        Self {
            capacity: rate(capacity),
            share: rate(share),
            is_contested,
            queue: Bytes::new(queue as u64),
            own_wait: Duration::ZERO,
            reported_at,
            is_by_chance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capacity of 2 MB/s, 16 Mbit/s; 20 kB wait.
    fn of(demands: &[f64], queue: Queue) -> Unsplit {
        Unsplit::new(2e6, demands.to_vec(), queue, Instant::ZERO, false)
    }

    #[test]
    fn it_has_what_the_flows_of_the_proxy_leave_and_an_equal_part_at_least() {
        let share = |demands: &[f64]| {
            let of = of(demands, Queue::Common(20_000.0));
            (of.share.as_bps(), of.is_contested, of.queue.get())
        };
        assert_eq!(share(&[]), (16_000_000, false, 20_000));
        assert_eq!(share(&[0.5e6]), (12_000_000, false, 15_000));
        assert_eq!(share(&[f64::INFINITY]), (8_000_000, true, 10_000));
        // of three that request all each has a third of what the slow one leaves
        assert_eq!(
            share(&[0.5e6, f64::INFINITY, f64::INFINITY]),
            (4_000_000, true, 5_000)
        );
    }

    #[test]
    fn a_queue_apart_is_its_own() {
        let apart = of(&[f64::INFINITY], Queue::Apart(7_000.0));
        assert_eq!(
            (apart.queue.get(), apart.share.as_bps()),
            (7_000, 8_000_000)
        );
    }

    #[test]
    fn a_radio_that_carries_nothing_has_no_share() {
        let none = Unsplit::new(0.0, vec![1.0], Queue::Common(9.0), Instant::ZERO, false);
        assert_eq!((none.share, none.queue), (BitRate::ZERO, Bytes::ZERO));
    }
}
