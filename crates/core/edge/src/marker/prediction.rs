//! What a packet that comes now would wait for, for those who watch: nothing is decided by it.

use super::fixed::{DRAIN_SHIFT, delay};
use super::virtual_queue::VirtualQueue;
use super::{Order, UeMarker};
use units::{BitRate, Duration};

/// What the marker holds of a UE's radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// What the radio carries of packets that are not split.
    pub rate: BitRate,
    /// The delay that the virtual queue means at that rate.
    pub delay: Duration,
}

impl UeMarker {
    /// At `now`, ns; none without a valid order. A report that no packet has applied yet does not count.
    pub fn predict(&self, order: &Order, now: u64) -> Option<Prediction> {
        predict(self.queue(), order, now)
    }

    /// The same from the state as words ([`UeMarker::words`]), as a program in the kernel has it; none of fewer words.
    pub fn predict_of(words: &[u64], order: &Order, now: u64) -> Option<Prediction> {
        let queue = VirtualQueue::read(words.get(1..)?)?;
        predict(&queue, order, now)
    }
}

fn predict(queue: &VirtualQueue, order: &Order, now: u64) -> Option<Prediction> {
    if order.number == 0 || order.drain == 0 || now > order.valid_until {
        return None;
    }
    let bits = u128::from(order.drain) * 8 * 1_000_000_000;
    Some(Prediction {
        // a drain is less than 2^31
        rate: BitRate::from_bps((bits >> DRAIN_SHIFT) as u64),
        delay: Duration::from_nanos(delay(queue.ahead(now, order.drain), order.drain)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{Codepoint, Packet};

    /// 8 Mbit/s, a byte a microsecond.
    fn order() -> Order {
        Order {
            number: 1,
            valid_until: 100_000_000,
            drain: 16_777,
            slack: u64::MAX,
            ..Order::default()
        }
    }

    fn after_packets() -> UeMarker {
        let mut marker = UeMarker::default();
        for _ in 0..10 {
            let packet = Packet {
                flow: 7,
                bytes: 1_000,
                segments: 1,
                codepoint: Codepoint::Ect1,
            };
            marker.decide(&order(), 1_000_000, packet);
        }
        marker
    }

    #[test]
    fn what_was_forwarded_and_has_not_drained_is_the_delay() {
        let marker = after_packets();
        let at = |ms: u64| marker.predict(&order(), ms * 1_000_000).expect("valid");
        // 10,000 bytes at a byte a microsecond
        assert_eq!(at(1).delay.as_millis(), 10);
        assert_eq!(at(5).delay.as_millis(), 6);
        assert_eq!(at(50).delay, Duration::ZERO);
        assert!(at(1).rate.as_bps().abs_diff(8_000_000) < 1_000);
    }

    #[test]
    fn words_give_the_same_and_too_few_give_none() {
        let marker = after_packets();
        let words = marker.words();
        let now = 3_000_000;
        let of_words = UeMarker::predict_of(&words, &order(), now);
        assert_eq!(of_words, marker.predict(&order(), now));
        assert_eq!(UeMarker::predict_of(&words[..2], &order(), now), None);
        assert_eq!(UeMarker::predict_of(&[], &order(), now), None);
    }

    #[test]
    fn without_a_valid_order_there_is_none() {
        let marker = after_packets();
        let without = [
            Order {
                number: 0,
                ..order()
            },
            Order {
                drain: 0,
                ..order()
            },
            Order {
                valid_until: 1,
                ..order()
            },
        ];
        for order in without {
            assert_eq!(marker.predict(&order, 2_000_000), None);
        }
    }
}
