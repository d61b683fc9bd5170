use super::*;
use crate::marker::two_slots;
use proptest::prelude::*;
use queue::Ecn;
use units::{BitRate, Streams};

const SLOT: Duration = Duration::from_millis(1);

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    number: u64,
    flow: u64,
    bytes: u64,
}

impl Packet for Sent {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
}

/// Of 1,000 bytes.
fn packet(number: u64, flow: u64) -> Sent {
    Sent {
        number,
        flow,
        bytes: 1_000,
    }
}

fn ue() -> IpAddr {
    IpAddr::from([10, 0, 0, 1])
}

/// 16 Mbit/s, 2 bytes a microsecond.
fn unsplit(queue: u64, us: u64) -> Unsplit {
    Unsplit {
        capacity: BitRate::from_mbps(16),
        share: BitRate::from_mbps(16),
        is_contested: false,
        queue: Bytes::new(queue),
        reported_at: at(us),
        own_wait: Duration::ZERO,
        is_by_chance: false,
    }
}

fn holder(buffer: u64) -> Holder<Sent> {
    let config = MarkerConfig {
        transit: Duration::ZERO,
        ..MarkerConfig::default()
    };
    Holder::new(config, Bytes::new(buffer), Streams::new(1).stream("held"))
}

#[test]
fn packets_wait_for_the_window_and_flows_take_turns() {
    let mut holder = holder(30_000);
    holder.on_report(at(10_000), ue(), &unsplit(0, 9_000), two_slots(SLOT));
    let mut left = Left::default();
    for number in 0..40 {
        holder.enqueue(at(10_000), ue(), packet(number, 1), &mut left);
    }
    // 30 fit
    assert_eq!((left.passed.len(), left.dropped.len()), (0, 10));
    assert_eq!(left.overflowed, 10);
    let next = holder.release(at(10_000), &mut left).expect("more wait");
    // two slots: 4,000 bytes
    assert_eq!(left.passed.len(), 4);
    assert!(next > at(10_000) && next < at(10_010), "{next:?}");
    // a sparse flow goes before what waits
    holder.enqueue(at(10_600), ue(), packet(40, 2), &mut left);
    holder.release(at(10_600), &mut left);
    assert_eq!(left.passed.len(), 6, "1,200 bytes have been sent");
    assert_eq!(left.passed[4].flow, 2);
    assert_eq!(holder.release(at(200_000), &mut left), None, "no report");
    assert_eq!(left.passed.len(), 31);
    assert_eq!(left.overflowed, 10);
}

#[test]
fn all_that_waits_can_be_taken_and_the_ue_be_forgotten() {
    let mut holder = holder(30_000);
    holder.on_report(at(10_000), ue(), &unsplit(50_000, 10_000), two_slots(SLOT));
    let ms = Duration::from_millis(1);
    // 2,000 less one in 2^24 ns
    assert!((1_999..=2_000).contains(&holder.carried(ue(), ms).expect("a rate").get()));
    let mut left = Left::default();
    for number in 0..5 {
        holder.enqueue(at(10_000), ue(), packet(number, number % 2), &mut left);
    }
    assert!(holder.release(at(10_000), &mut left).is_some());
    assert!(left.passed.is_empty(), "25 ms are ahead");
    assert!(!holder.forget(ue()));
    holder.empty(at(10_000), &mut left);
    let mut numbers: Vec<u64> = left.passed.iter().map(|sent| sent.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    assert!(holder.forget(ue()) && holder.is_empty());
    assert_eq!(holder.carried(ue(), ms), None);
}

proptest! {
    /// What a UE is held or not makes no difference as long as its queue is empty and its window open: each packet goes on as it
    /// comes.
    #[test]
    fn a_radio_that_is_no_bottleneck_delays_nothing(
        gaps in prop::collection::vec(600_u64..5_000, 1..200),
        flows in 1_u64..5,
    ) {
        let mut holder = holder(30_000);
        let mut now = 10_000;
        for (number, gap) in gaps.into_iter().enumerate() {
            // a packet takes 500 us
            now += gap;
            holder.on_report(at(now), ue(), &unsplit(0, now - 500), two_slots(SLOT));
            let sent = packet(number as u64, number as u64 % flows);
            let mut left = Left::default();
            holder.enqueue(at(now), ue(), sent, &mut left);
            prop_assert_eq!(holder.release(at(now), &mut left), None);
            prop_assert_eq!(left.passed, vec![sent]);
            prop_assert!(left.dropped.is_empty());
        }
    }

    /// Each packet leaves once, and those of a flow that are not dropped in order.
    #[test]
    fn packets_are_conserved_and_flows_in_order(
        steps in prop::collection::vec((0_u64..4_000, 0_u64..4, any::<bool>()), 1..300),
    ) {
        let mut holder = holder(20_000);
        let (mut now, mut all) = (10_000, Left::default());
        for (number, (gap, flow, is_reported)) in steps.iter().enumerate() {
            now += gap;
            if *is_reported {
                holder.on_report(at(now), ue(), &unsplit(gap * 3, now), two_slots(SLOT));
            }
            holder.enqueue(at(now), ue(), packet(number as u64, *flow), &mut all);
            holder.release(at(now), &mut all);
        }
        let waits = holder.waits(ue()).packets;
        holder.empty(at(now), &mut all);
        prop_assert_eq!(holder.waits(ue()).packets, 0);
        prop_assert_eq!(all.passed.len() + all.dropped.len(), steps.len());
        prop_assert!(all.overflowed <= all.dropped.len() && waits <= 20);
        for flow in 0..4 {
            let of: Vec<u64> = all.passed.iter().filter(|p| p.flow == flow).map(|p| p.number).collect();
            prop_assert!(of.is_sorted(), "{:?}", of);
        }
    }
}

/// Reports each millisecond from `from` on, with so many bytes waiting: when it is held.
fn held_at(switch: &mut Switch, from: u64, queues: &[u64]) -> Option<u64> {
    for (ms, queue) in (from..).zip(queues) {
        if switch.on_report(at(ms * 1_000), &unsplit(*queue, ms * 1_000), SLOT) {
            return Some(ms);
        }
    }
    None
}

#[test]
fn a_ue_is_held_whose_queue_is_long_for_a_while() {
    let mut switch = Switch::default();
    // 2 ms are 4,000 bytes
    assert_eq!(held_at(&mut switch, 10, &[4_000; 20]), None);
    assert_eq!(held_at(&mut switch, 30, &[4_001, 9_000, 9_000, 0]), None);
    assert!(!switch.is_held());
    assert_eq!(held_at(&mut switch, 50, &[4_100; 20]), Some(54));
    assert!(switch.is_held());
    assert_eq!(
        held_at(&mut switch, 60, &[4_100; 20]),
        None,
        "it is already"
    );
}

#[test]
fn what_waits_of_the_proxys_flows_and_a_radio_without_a_rate_hold_nothing() {
    let mut switch = Switch::default();
    let own = Unsplit {
        own_wait: Duration::from_millis(5),
        ..unsplit(13_000, 0)
    };
    let none = Unsplit {
        share: BitRate::ZERO,
        ..unsplit(13_000, 0)
    };
    for of in [own, none] {
        for ms in 10..30 {
            let of = Unsplit {
                reported_at: at(ms * 1_000),
                ..of
            };
            assert!(!switch.on_report(at(ms * 1_000), &of, SLOT), "{of:?}");
        }
    }
}

#[test]
fn it_is_free_once_nothing_has_waited_for_a_while() {
    let mut switch = Switch::default();
    assert_eq!(held_at(&mut switch, 50, &[9_000; 5]), Some(54));
    assert!(!switch.on_time(at(253_999)));
    assert!(!switch.on_waiting(at(200_000)), "it is held already");
    assert!(!switch.on_time(at(399_999)));
    assert!(switch.on_time(at(400_000)));
    assert!(!switch.is_held() && !switch.on_time(at(900_000)));
    assert!(switch.on_waiting(at(900_001)), "before the last has passed");
}
