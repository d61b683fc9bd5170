//! What the flows of a UE have sent lately: which of them have less than their fair share.
//!
//! Bytes are counted in windows of this epoch and the last (2^25 ns each: 34 to 67 ms), of each flow and of the UE. A flow
//! counts as heavy from a quarter of an equal part among the heavy ones on; a fair share is an equal part among those.
//!
//! ```text
//!   has its fair share:  4 n x flow >= 3 x all,   and   8 n x flow >= spared x what the radio carries in the window
//! ```
//! The second test is for flows that are alone in what they do, such as a call; and for those beside flows of the proxy,
//! whose queue is not theirs to shorten as long as they have less than their part.
//!
//! Flows share a bucket where their hashes meet; one that was quiet for two epochs leaves it to another.

use super::Order;
use super::fixed::{BYTE_SHIFT, drained};

/// An epoch is 2^25 ns.
const EPOCH_SHIFT: u32 = 25;
/// Buckets of a UE.
const BUCKETS: usize = 64;
/// Golden ratio: spreads numbers in a row over the buckets.
const SPREAD: u32 = 0x9e37_79b9;
/// Of so many packets the counts of a flow are halved.
const MAX_PACKETS: u32 = 1 << 30;

/// Bytes of this epoch and the last.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Window {
    epoch: u64,
    now: u64,
    before: u64,
}

impl Window {
    fn roll(&mut self, epoch: u64) {
        if epoch > self.epoch {
            self.before = if epoch == self.epoch + 1 { self.now } else { 0 };
            self.now = 0;
            self.epoch = epoch;
        }
    }

    fn add(&mut self, epoch: u64, amount: u64) {
        self.roll(epoch);
        // 2^40: a thousand times what a window of the fastest radio carries
        self.now = (self.now + amount).min(1 << 40);
    }

    fn sum(&self) -> u64 {
        self.now + self.before
    }

    fn words(&self) -> [u64; 3] {
        [self.epoch, self.now, self.before]
    }
}

/// A flow, or several that share a bucket.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Bucket {
    /// Hash of the flow that began it.
    tag: u32,
    /// Packets so far.
    pub(crate) packets: u32,
    /// Packets with ECT(0), and how many of them were marked.
    ect0: u32,
    marked: u32,
    /// The last epoch in which it was counted as heavy, and one.
    heavy: u64,
    window: Window,
}

impl Bucket {
    /// RFC 9000 13.4.2.1: a path on which all is marked counts as broken. True while so many more marks leave three
    /// quarters of the ECT(0) packets unmarked.
    pub(crate) fn admits_marks(&self, packets: u32) -> bool {
        (u64::from(self.marked) + u64::from(packets)) * 4 <= u64::from(self.ect0)
    }

    pub(crate) fn mark(&mut self, packets: u32) {
        self.marked += packets;
    }

    fn words(&self) -> [u64; 6] {
        let pair = |a: u32, b: u32| {
            let mut word = [0; 8];
            word[..4].copy_from_slice(&a.to_ne_bytes());
            word[4..].copy_from_slice(&b.to_ne_bytes());
            u64::from_ne_bytes(word)
        };
        let [epoch, now, before] = self.window.words();
        [
            pair(self.tag, self.packets),
            pair(self.ect0, self.marked),
            self.heavy,
            epoch,
            now,
            before,
        ]
    }
}

/// All flows of a UE.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Flows {
    all: Window,
    /// Of heavy flows that are not L4S.
    classic: Window,
    /// Heavy flows.
    heavy: Window,
    buckets: [Bucket; BUCKETS],
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            all: Window::default(),
            classic: Window::default(),
            heavy: Window::default(),
            buckets: [Bucket::default(); BUCKETS],
        }
    }
}

/// What a packet is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: u64,
    /// Hash of addresses, protocol and ports.
    pub(crate) flow: u32,
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
    pub(crate) is_ect0: bool,
    pub(crate) is_l4s: bool,
}

impl Flows {
    pub(crate) const WORDS: usize = 3 * 3 + BUCKETS * 6;

    pub(crate) fn write(&self, words: &mut Vec<u64>) {
        for window in [&self.all, &self.classic, &self.heavy] {
            words.extend(window.words());
        }
        words.extend(self.buckets.iter().flat_map(Bucket::words));
    }

    /// A packet of a flow has come. Gives the bucket's place.
    pub(crate) fn on_packet(&mut self, arrival: Arrival) -> usize {
        let epoch = arrival.now >> EPOCH_SHIFT;
        let place = (arrival.flow.wrapping_mul(SPREAD) >> 26) as usize % BUCKETS;
        for window in [&mut self.all, &mut self.classic, &mut self.heavy] {
            window.roll(epoch);
        }
        self.all.add(epoch, arrival.bytes);
        let (all, flows) = (self.all.sum(), self.heavy_flows());
        let bucket = &mut self.buckets[place];
        if bucket.tag != arrival.flow && epoch > bucket.window.epoch + 2 {
            *bucket = Bucket {
                tag: arrival.flow,
                ..Bucket::default()
            };
        }
        if bucket.packets >= MAX_PACKETS {
            bucket.packets /= 2;
            bucket.ect0 /= 2;
            bucket.marked /= 2;
        }
        bucket.packets += arrival.segments;
        if arrival.is_ect0 {
            bucket.ect0 += arrival.segments;
        }
        bucket.window.add(epoch, arrival.bytes);
        if bucket.window.sum() * 4 * flows >= all {
            if bucket.heavy != epoch + 1 {
                bucket.heavy = epoch + 1;
                self.heavy.add(epoch, 1);
            }
            if !arrival.is_l4s {
                self.classic.add(epoch, arrival.bytes);
            }
        }
        place
    }

    pub(crate) fn bucket(&mut self, place: usize) -> &mut Bucket {
        &mut self.buckets[place % BUCKETS]
    }

    /// Heavy flows, as of the last epoch and this one; at least one.
    fn heavy_flows(&self) -> u64 {
        self.heavy.now.max(self.heavy.before).max(1)
    }

    /// Whether the flow that has just sent has its fair share of what came, and of the drain what is not spared.
    pub(crate) fn has_fair_share(&self, place: usize, now: u64, order: &Order) -> bool {
        let of_flow = self.buckets[place % BUCKETS].window.sum() * self.heavy_flows();
        let window = (1 << EPOCH_SHIFT) + (now & ((1 << EPOCH_SHIFT) - 1));
        let carried = drained(window, order.drain) >> BYTE_SHIFT;
        of_flow * 4 >= self.all.sum() * 3 && of_flow * 8 >= carried * order.spared.min(8)
    }

    /// More than an eighth of what came lately is of heavy flows that are not L4S.
    pub(crate) fn has_classic(&self) -> bool {
        self.classic.sum() * 8 > self.all.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// 2 MB/s.
    const DRAIN: u64 = 33_554;

    /// Each of the flows sends its bytes each millisecond, for 200 ms; whether each has its fair share at the end.
    fn shares(flows: &[u64], spared: u64) -> Vec<bool> {
        let mut of = Flows::default();
        let mut places = vec![0; flows.len()];
        for ms in 0..200 {
            for (number, bytes) in flows.iter().enumerate() {
                places[number] = of.on_packet(Arrival {
                    now: ms * MS,
                    flow: number as u32,
                    bytes: *bytes,
                    segments: 1,
                    is_ect0: false,
                    is_l4s: true,
                });
            }
        }
        let order = Order {
            drain: DRAIN,
            spared,
            ..Order::default()
        };
        let share = |place: &usize| of.has_fair_share(*place, 200 * MS, &order);
        places.iter().map(share).collect()
    }

    #[test]
    fn flows_below_their_fair_share_are_distinguished() {
        assert_eq!(shares(&[2_000], 4), [true]);
        assert_eq!(shares(&[1_000, 1_000], 4), [true, true]);
        assert_eq!(shares(&[1_900, 100], 4), [true, false], "a call");
        assert_eq!(shares(&[1_400, 600], 4), [true, false]);
        // of the two that fill it each has its share, whatever others there are
        let mut many = vec![10; 20];
        many.extend([900, 850]);
        let found = shares(&many, 4);
        assert!(found[..20].iter().all(|is_fair| !is_fair));
        assert_eq!(found[20..], [true, true]);
    }

    #[test]
    fn a_call_alone_has_less_than_its_share_of_the_radio() {
        assert_eq!(shares(&[20], 4), [false]);
        assert_eq!(shares(&[1_100], 4), [true]);
        // beside flows of the proxy that request all
        assert_eq!(shares(&[1_600], 7), [false]);
        assert_eq!(shares(&[1_900], 7), [true]);
    }

    #[test]
    fn a_quarter_of_ect0_may_be_marked() {
        let mut bucket = Bucket::default();
        for packets in 1..=8 {
            bucket.ect0 = packets;
            if bucket.admits_marks(1) {
                bucket.mark(1);
            }
            assert_eq!(bucket.marked, packets / 4, "of {packets}");
        }
    }

    #[test]
    fn a_bucket_is_left_to_another_flow_once_it_was_quiet() {
        let mut flows = Flows::default();
        let mut sent = |now, flow| {
            let place = flows.on_packet(Arrival {
                now,
                flow,
                bytes: 100,
                segments: 1,
                is_ect0: false,
                is_l4s: false,
            });
            (place, flows.bucket(place).packets)
        };
        // 64 buckets: some two of 65 flows meet
        let (place, _) = sent(0, 0);
        let other = (1..1_000)
            .find(|flow| sent(0, *flow).0 == place)
            .expect("65 flows");
        assert_eq!(sent(10 * MS, other).1, 3, "they share it");
        assert_eq!(sent(20 * MS, 0).1, 4);
        assert_eq!(sent(500 * MS, other).1, 1, "begun anew");
    }
}
