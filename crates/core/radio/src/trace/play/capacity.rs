//! A channel that states how many bytes fit into a slot.

use super::CqiScale;
use super::laps::{Laps, Supply};
use crate::{Channel, ChannelState, Link};
use units::{BitRate, Bytes, Cqi, Duration, Instant};

/// Where the trace does not state a rate (delivery opportunities), the mean rate is that of the last
/// 90 to 100 ms, counted in steps of 10 ms; in the first 100 ms it is that of all of these, because
/// there is nothing before them.
const BUCKET: Duration = Duration::from_millis(10);
const BUCKETS: usize = 10;
const WINDOW: u64 = BUCKET.as_nanos() * BUCKETS as u64;

/// Bytes of the last 100 ms.
#[derive(Clone, Debug)]
struct Window {
    buckets: [u64; BUCKETS],
    /// Number of the newest bucket since time 0.
    newest: u64,
    total: u64,
    /// When the first slot began, and the rate of the 100 ms from then on.
    start: u64,
    first_rate: u64,
}

impl Window {
    /// Adds what was given by `until`.
    fn add(&mut self, until: u64, bytes: u64) {
        // an end on a bucket's edge still belongs to the bucket before
        let bucket = until.saturating_sub(1) / BUCKET.as_nanos();
        let passed = bucket.saturating_sub(self.newest).min(BUCKETS as u64);
        for i in 0..passed {
            self.buckets[((bucket - i) % BUCKETS as u64) as usize] = 0;
        }
        self.newest = self.newest.max(bucket);
        let slot = (self.newest % BUCKETS as u64) as usize;
        self.buckets[slot] = self.buckets[slot].saturating_add(bytes);
        self.total = self
            .buckets
            .iter()
            .fold(0, |sum, &b| u64::saturating_add(sum, b));
    }

    /// The mean rate up to `now`, in bit/s.
    fn rate(&self, now: u64) -> u64 {
        if now.saturating_sub(self.start) < WINDOW {
            return self.first_rate;
        }
        let oldest = self.newest.saturating_sub(BUCKETS as u64 - 1) * BUCKET.as_nanos();
        let covered = now - oldest.min(now);
        BitRate::from_bytes_per(Bytes::new(self.total), Duration::from_nanos(covered)).as_bps()
    }
}

/// Bytes per slot from a supply.
#[derive(Clone, Debug)]
pub(super) struct CapacityChannel<S> {
    laps: Laps<S>,
    scale: CqiScale,
    window: Option<Window>,
    /// The last rate and its CQI, which are mostly requested again.
    last_cqi: (BitRate, Cqi),
    /// The slot that was requested last, and the answer.
    last: Option<(Instant, ChannelState)>,
}

impl<S: Supply> CapacityChannel<S> {
    pub fn new(laps: Laps<S>, scale: CqiScale) -> Self {
        let window = laps.supply.mean_rate().is_none().then(|| {
            let start = laps.time(Instant::ZERO);
            let mut ahead = laps.clone();
            ahead.take_to(start);
            let bytes = Bytes::new(ahead.take_to(start.saturating_add(WINDOW)));
            let first_rate = BitRate::from_bytes_per(bytes, Duration::from_nanos(WINDOW)).as_bps();
            Window {
                buckets: [0; BUCKETS],
                newest: 0,
                total: 0,
                start,
                first_rate,
            }
        });
        let last_cqi = (BitRate::ZERO, scale.cqi(BitRate::ZERO));
        Self {
            laps,
            scale,
            window,
            last_cqi,
            last: None,
        }
    }

    /// Passes over what was not taken before `start`.
    fn waste_to(&mut self, start: u64) {
        if let Some(window) = &mut self.window {
            self.laps.take_to(start.saturating_sub(WINDOW));
            let mut edge = self.laps.position().next_multiple_of(BUCKET.as_nanos());
            while edge < start {
                window.add(edge, self.laps.take_to(edge));
                edge += BUCKET.as_nanos();
            }
            window.add(start, self.laps.take_to(start));
        } else {
            self.laps.take_to(start);
        }
    }

    fn cqi(&mut self, mean_rate: BitRate) -> Cqi {
        if self.last_cqi.0 != mean_rate {
            self.last_cqi = (mean_rate, self.scale.cqi(mean_rate));
        }
        self.last_cqi.1
    }

    fn fresh_state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        let start = self.laps.time(slot_start);
        let end = start.saturating_add(slot.as_nanos());
        self.waste_to(start);
        let stated_rate = self.laps.supply.mean_rate();
        let changes_at = self.laps.changes_at(slot);
        let ended_before = self.laps.ended();
        let bytes = self.laps.take_to(end);
        if let Some(window) = &mut self.window {
            window.add(end, bytes);
        }
        let mean_rate = match (stated_rate, &self.window) {
            (Some(rate), _) => rate,
            (None, Some(window)) => window.rate(end),
            (None, None) => 0,
        };
        let slot_end = slot_start + slot;
        if ended_before {
            return outage(Instant::MAX);
        }
        if bytes == 0 && mean_rate == 0 {
            return outage(changes_at.max(slot_end));
        }
        let mean_rate = BitRate::from_bps(mean_rate);
        let link = Link::Opportunity {
            bytes: Bytes::new(bytes),
            mean_rate,
        };
        // without anything to give, the next slot is the same unless the supply changes
        let is_unchanging = bytes == 0 && stated_rate.is_some();
        ChannelState {
            cqi: self.cqi(mean_rate),
            link,
            holds_until: if is_unchanging {
                changes_at.max(slot_end)
            } else {
                slot_end
            },
        }
    }
}

/// Nothing can be sent before `holds_until`.
pub(super) const fn outage(holds_until: Instant) -> ChannelState {
    ChannelState {
        cqi: Cqi::new(0),
        link: Link::Outage,
        holds_until,
    }
}

impl<S: Supply> Channel for CapacityChannel<S> {
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        if let Some((at, state)) = self.last
            && at == slot_start
        {
            return state;
        }
        let state = self.fresh_state(slot_start, slot);
        self.last = Some((slot_start, state));
        state
    }
}
