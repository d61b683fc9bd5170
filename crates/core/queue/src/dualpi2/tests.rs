//! The coupled queues as a whole: single decisions with p' held, and links of a fixed rate.

use super::*;
use crate::Ratio;
use crate::test_packet::TestPacket;

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}
fn dualpi2(config: DualPi2Config) -> DualPi2<TestPacket> {
    DualPi2::new(config, Capacity::Unlimited).unwrap()
}
fn put_bytes(queue: &mut DualPi2<TestPacket>, now: Instant, ecn: Ecn, bytes: u64) {
    queue
        .enqueue(now, TestPacket::new(bytes).with_ecn(ecn))
        .unwrap();
}
fn put(queue: &mut DualPi2<TestPacket>, now: Instant, ecn: Ecn) {
    put_bytes(queue, now, ecn, 1500);
}

/// With p' held and a hundred packets waiting, how many of 10,000 are marked and dropped.
fn marks_and_drops(base_probability: f64, ecn: Ecn) -> (u32, u32) {
    let mut queue = dualpi2(DualPi2Config::default());
    let (mut marks, mut drops, mut sent) = (0, 0, 0);
    queue.pi.base_probability = base_probability;
    while drops + sent < 10_000 {
        while queue.occupancy().packets < 100 {
            put(&mut queue, at_us(0), ecn);
        }
        let out = queue.dequeue(at_us(0), Bytes::MAX, &mut |_| drops += 1);
        marks += u32::from(out.is_some_and(|out| out.packet.ecn == Ecn::Ce));
        sent += u32::from(out.is_some());
    }
    (marks, drops)
}

#[test]
fn section_2_1_low_latency_marks_are_twice_the_root_of_classic_drops() {
    for p in [0.01_f64, 0.1, 0.3] {
        let (marks, none) = marks_and_drops(p, Ecn::Ect1);
        let (unmarked, drops) = marks_and_drops(p, Ecn::NotEct);
        assert_eq!((none, unmarked), (0, 0));
        assert!((f64::from(marks) - 20_000.0 * p).abs() <= 1.0, "{marks}");
        assert!(
            (f64::from(drops) - 10_000.0 * p * p).abs() <= 1.0,
            "{drops}"
        );
        // a classic packet that can be marked is marked as often as others are dropped
        assert_eq!(marks_and_drops(p, Ecn::Ect0), (drops, 0));
    }
}

#[test]
fn appendix_a_2_overload_drops_from_both_and_marks_all_that_is_left_of_l() {
    let (marks, drops) = marks_and_drops(0.6, Ecn::Ect1);
    assert!(drops.abs_diff(3600) <= 2, "{drops}");
    assert!((marks + drops).abs_diff(10_000) <= 2, "{marks} {drops}");
    assert_eq!(marks_and_drops(0.6, Ecn::Ect0).0, 0);
}

#[test]
fn appendix_a_1_with_less_than_two_full_packets_the_controller_does_nothing() {
    let mtu = DualPi2Config::default().mtu.get();
    for (behind, acts) in [(2 * mtu - 1, false), (2 * mtu, true)] {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let mut queue = dualpi2(DualPi2Config::default());
            put(&mut queue, at_us(0), ecn);
            // the rest waits in the other queue: the floor is of both
            let other = if ecn == Ecn::Ect1 {
                Ecn::NotEct
            } else {
                Ecn::Ect1
            };
            put_bytes(&mut queue, at_us(0), other, behind);
            queue.scheduler.reset(Bytes::new(1500));
            queue.pi.base_probability = 1.0;
            let is_low_latency = ecn == Ecn::Ect1;
            let mut head = TestPacket::new(1500).with_ecn(ecn);
            if is_low_latency {
                queue.low_latency.pop();
                let is_sent = queue.admits_low_latency(&mut head, Duration::ZERO);
                assert_eq!((is_sent, head.ecn == Ecn::Ce), (!acts, false), "{behind}");
            } else {
                queue.classic.pop();
                let is_sent = queue.admits_classic(&mut head);
                assert_eq!((is_sent, head.ecn), (!acts, ecn), "{behind}");
            }
        }
    }
}

#[test]
fn linux_the_step_marks_what_has_waited_longer_and_the_last_of_a_burst_too() {
    for (us, is_marked) in [(1000, false), (1001, true)] {
        let mut queue = dualpi2(DualPi2Config::default());
        put(&mut queue, at_us(0), Ecn::Ect1);
        let out = queue.dequeue(at_us(us), Bytes::MAX, &mut |_| ()).unwrap();
        assert_eq!(out.packet.ecn == Ecn::Ce, is_marked, "{us}");
    }
    // the RFC's Th_len exempts it
    let mut queue = dualpi2(DualPi2Config::rfc9332());
    put(&mut queue, at_us(0), Ecn::Ect1);
    let out = queue.dequeue(at_us(1001), Bytes::MAX, &mut |_| ()).unwrap();
    assert_eq!(out.packet.ecn, Ecn::Ect1);
}

#[test]
fn what_is_dropped_is_not_charged() {
    let mut queue = dualpi2(DualPi2Config::default());
    for _ in 0..20 {
        put(&mut queue, at_us(0), Ecn::Ect1);
        put(&mut queue, at_us(0), Ecn::Ect0);
    }
    let untouched = format!("{:?}", queue.scheduler);
    // all is dropped, of L first, then of C, until less than two packets are left, which go
    queue.pi.base_probability = 1.0;
    let mut drops = 0;
    let mut next =
        |queue: &mut DualPi2<TestPacket>| queue.dequeue(at_us(0), Bytes::MAX, &mut |_| drops += 1);
    assert!(next(&mut queue).is_some());
    assert_eq!(format!("{:?}", queue.scheduler), untouched);
    assert!(drops >= 37, "{drops}");
}

#[test]
fn a_head_that_does_not_fit_does_not_block_the_other_queue() {
    let mut queue = dualpi2(DualPi2Config::default());
    let out = |queue: &mut DualPi2<TestPacket>, budget| {
        let next = queue.dequeue(at_us(0), Bytes::new(budget), &mut |_| ());
        next.map(|next| (next.packet.ecn, next.packet.bytes))
    };
    for _ in 0..30 {
        put_bytes(&mut queue, at_us(0), Ecn::Ect1, 200);
        put(&mut queue, at_us(0), Ecn::Ect0);
    }
    // it becomes C's turn sooner or later, and L is served all the same
    assert!((0..20).all(|_| out(&mut queue, 1000) == Some((Ecn::Ect1, 200))));
    assert_eq!(out(&mut queue, 100), None);
    // the other way round: a large head of L
    let mut queue = dualpi2(DualPi2Config::default());
    put(&mut queue, at_us(0), Ecn::Ect1);
    put_bytes(&mut queue, at_us(0), Ecn::Ect0, 200);
    assert_eq!(out(&mut queue, 1000), Some((Ecn::Ect0, 200)));
    assert_eq!(out(&mut queue, 1000), None);
    assert_eq!(out(&mut queue, 1500), Some((Ecn::Ect1, 1500)));
}

/// A packet of 1500 bytes of each codepoint as often as its share of a link of 10 Mbit/s, and what the link
/// carries of it.
struct Link {
    queue: DualPi2<TestPacket>,
    /// Offered, as parts of the link's rate, and what is due of them.
    offered: Vec<(Ecn, f64)>,
    due: Vec<f64>,
}

/// What has become of the packets of one codepoint.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    sent: u32,
    dropped: u32,
    /// The longest sojourn time, ms.
    longest: f64,
    /// Their sum, ms.
    sum: f64,
}

impl Outcome {
    fn mean(&self) -> f64 {
        self.sum / f64::from(self.sent)
    }
}

/// Of a packet.
const TIME: Duration = Duration::from_micros(1_200);

impl Link {
    fn new(config: DualPi2Config, offered: &[(Ecn, f64)]) -> Self {
        Self {
            queue: dualpi2(config),
            offered: offered.to_vec(),
            due: vec![0.0; offered.len()],
        }
    }

    /// From one packet's time to another; outcomes in the order of the offers.
    fn run(&mut self, packets: std::ops::Range<u64>, hold_p: Option<f64>) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::default(); self.offered.len()];
        for n in packets {
            let now = Instant::ZERO + TIME * n;
            if let Some(p) = hold_p {
                self.queue.catch_up(now);
                self.queue.pi.base_probability = p;
            }
            for (flow, (ecn, part)) in self.offered.iter().enumerate() {
                self.due[flow] += part;
                while self.due[flow] >= 1.0 {
                    self.due[flow] -= 1.0;
                    let packet = TestPacket::new(1500).with_ecn(*ecn).of_flow(flow as u64);
                    self.queue.enqueue(now, packet).unwrap();
                }
            }
            let mut drop = |packet: TestPacket| outcomes[packet.flow as usize].dropped += 1;
            let Some(out) = self.queue.dequeue(now, Bytes::MAX, &mut drop) else {
                continue;
            };
            let of = &mut outcomes[out.packet.flow as usize];
            let ms = now.saturating_since(out.enqueued_at).as_secs_f64() * 1e3;
            of.sent += 1;
            of.longest = of.longest.max(ms);
            of.sum += ms;
        }
        outcomes
    }
}

/// Packets of a second.
const SECOND: u64 = 833;

/// RFC 9332 section 4.2.3, RFC 9331 section 5.1: 3,000 ms and no drop while the controller had the
/// delay of C alone.
#[test]
fn section_4_2_3_unresponsive_ect1_at_twice_the_rate_waits_about_the_target() {
    let mut link = Link::new(DualPi2Config::default(), &[(Ecn::Ect1, 2.0)]);
    let begin = link.run(0..3 * SECOND, None)[0];
    let then = link.run(3 * SECOND..13 * SECOND, None)[0];
    // the queue grows for the first updates; the fixed point is p'^2 = 1/2
    assert!(begin.longest < 300.0, "{begin:?}");
    assert!((12.0..18.0).contains(&then.mean()), "{then:?}");
    assert!(then.longest < 30.0, "{then:?}");
    let part = f64::from(then.dropped) / f64::from(then.dropped + then.sent);
    assert!((0.49..0.51).contains(&part), "{part}");
    assert!(u64::from(then.sent) >= 10 * SECOND - 1, "{then:?}");
}

/// Between a third above the rate and the rate there is no fixed point: none is dropped below p' = 1/2, a
/// quarter above.
#[test]
fn section_4_2_3_every_unresponsive_load_is_bounded() {
    for load in [1.05, 1.2, 1.33, 1.5, 4.0, 10.0] {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let mut link = Link::new(DualPi2Config::default(), &[(ecn, load)]);
            let begin = link.run(0..10 * SECOND, None)[0];
            let then = link.run(10 * SECOND..30 * SECOND, None)[0];
            assert!(begin.longest < 700.0, "{load} {ecn:?}: {begin:?}");
            assert!(
                then.longest < 60.0 && then.mean() < 30.0,
                "{load} {ecn:?}: {then:?}"
            );
            let used = f64::from(then.sent) / (20 * SECOND) as f64;
            assert!(used > 0.97, "{load} {ecn:?}: {used}");
        }
    }
}

/// Appendix A.2: in overload both queues drop with the same probability, and C keeps its part.
#[test]
fn section_4_2_3_a_classic_flow_beside_unresponsive_ect1_is_served() {
    let offered = [(Ecn::Ect1, 2.0), (Ecn::NotEct, 0.05)];
    let mut link = Link::new(DualPi2Config::default(), &offered);
    link.run(0..10 * SECOND, None);
    let then = link.run(10 * SECOND..40 * SECOND, None);
    let part = |of: &Outcome| f64::from(of.dropped) / f64::from(of.dropped + of.sent);
    assert!((part(&then[0]) - part(&then[1])).abs() < 0.05, "{then:?}");
    assert!(then[1].longest < 60.0, "{then:?}");
}

/// The part of the link of a classic flow that has always more to send, beside low-latency traffic below
/// the rate, with p' held at zero.
fn classic_part(low_latency: f64) -> f64 {
    let offered = [(Ecn::Ect1, low_latency), (Ecn::NotEct, 1.0)];
    let mut link = Link::new(DualPi2Config::default(), &offered);
    let outcomes = link.run(0..60 * SECOND, Some(0.0));
    f64::from(outcomes[1].sent) / (60 * SECOND) as f64
}

/// 3.0 and 1.0 % while the account was cleared whenever a queue was empty.
#[test]
fn appendix_a_1_the_classic_queue_has_its_tenth_although_the_other_runs_empty() {
    for low_latency in [0.95, 0.97, 0.99, 1.5] {
        let part = classic_part(low_latency);
        assert!((0.0995..0.101).contains(&part), "{low_latency}: {part}");
    }
    // what the low-latency queue does not use is the classic queue's
    let part = classic_part(0.6);
    assert!((0.399..0.401).contains(&part), "{part}");
}

#[test]
fn the_weights_are_those_of_the_configuration() {
    for classic in [0.0625, 0.5, 0.9] {
        let config = DualPi2Config {
            scheduler: DualScheduler::Weighted {
                classic: Ratio::from_f64(classic),
            },
            ..DualPi2Config::default()
        };
        let mut link = Link::new(config, &[(Ecn::Ect1, 1.0), (Ecn::Ect0, 1.0)]);
        let sent = link.run(0..10_000, Some(0.0))[1].sent;
        assert!(
            (f64::from(sent) / 10_000.0 - classic).abs() < 0.001,
            "{classic}: {sent}"
        );
    }
}
