//! What the authors' code does and the RFC's does not, line by line.

use super::*;
use crate::CoDel;
use crate::test_packet::TestPacket;

const MTU_BYTES: u64 = 1500;
/// The authors' MAC pulls every 10 ms.
const PULL_MS: u64 = 10;

/// The authors' CoDel at the RLC: 15 ms and 300 ms.
fn config() -> EmulatorCoDelConfig {
    EmulatorCoDelConfig {
        target: Duration::from_millis(15),
        interval: Duration::from_millis(300),
        ..EmulatorCoDelConfig::default()
    }
}

/// All three changes undone.
fn undone() -> EmulatorCoDelConfig {
    EmulatorCoDelConfig {
        loses_two: false,
        tests_mtu: true,
        from_now: false,
        ..config()
    }
}

fn rfc() -> CoDel<TestPacket> {
    let config = CoDelConfig {
        target: config().target,
        interval: config().interval,
        mtu: MTU,
        ecn: false,
    };
    CoDel::new(config, Capacity::Unlimited).unwrap()
}

fn of(config: EmulatorCoDelConfig) -> EmulatorCoDel<TestPacket> {
    EmulatorCoDel::new(config, Capacity::Unlimited).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn number(number: u64) -> TestPacket {
    TestPacket {
        number,
        ..TestPacket::new(MTU_BYTES)
    }
}

/// One packet leaves at each pull from a queue that is kept at `standing` packets: the time in ms and the
/// numbers of what was dropped then, and what left at the pull.
type Drops = Vec<(u64, Vec<u64>, Option<u64>)>;

fn run(queue: &mut impl QueueManagement<TestPacket>, standing: usize, pulls: u64) -> Drops {
    let mut numbers = 0..;
    let mut drops = Drops::new();
    for ms in (0..=pulls).map(|pull| pull * PULL_MS) {
        let mut lost = Vec::new();
        let out = queue.dequeue(at(ms), Bytes::MAX, &mut |packet: TestPacket| {
            lost.push(packet.number);
        });
        if !lost.is_empty() {
            drops.push((ms, lost, out.map(|out| out.packet.number)));
        }
        while queue.occupancy().packets < standing {
            let next = numbers.next().unwrap();
            queue.enqueue(at(ms), number(next)).unwrap();
        }
    }
    drops
}

#[test]
fn line_1_the_judged_packet_and_the_next_are_lost_and_the_third_leaves() {
    let drops = run(&mut of(config()), 8, 200);
    assert!(drops.len() > 5, "{drops:?}");
    for (ms, lost, left) in &drops {
        let [judged, next] = lost[..] else {
            panic!("{lost:?} at {ms} ms");
        };
        assert_eq!((next, *left), (judged + 1, Some(judged + 2)), "{ms} ms");
    }
    let drops = run(&mut rfc(), 8, 200);
    assert!(drops.iter().all(|(_, lost, _)| lost.len() == 1));
}

#[test]
fn line_2_a_packet_that_is_alone_is_dropped() {
    // one packet waits at each pull, 20 ms each: standing since 20 ms, the interval is over at 320 ms
    let alone = |queue: &mut dyn QueueManagement<TestPacket>| {
        let mut lost = Vec::new();
        for k in 0..=20 {
            queue.enqueue(at(20 * k), number(k)).unwrap();
            queue.dequeue(at(20 * k + 20), Bytes::MAX, &mut |packet| {
                lost.push(packet.number);
            });
        }
        lost
    };
    assert_eq!(alone(&mut rfc()), []);
    let tested = EmulatorCoDelConfig {
        tests_mtu: true,
        ..config()
    };
    assert_eq!(alone(&mut of(tested)), []);
    // line 5: it leaves the queue empty, so that no state is entered, and all begins anew: the next would
    // be lost at 340 + 300 ms
    assert_eq!(alone(&mut of(config())), [15]);
}

#[test]
fn line_3_the_next_drop_is_reckoned_from_now() {
    // eight packets, a pull every 10 ms: the first to have waited 15 ms leaves at 20 ms, the first drop is
    // at 320 ms. From then on each at the first pull after interval / sqrt(count), from the last one.
    let mut expected = vec![320];
    for count in 1.. {
        let last: u64 = *expected.last().unwrap();
        let wait = (300.0 / f64::from(count).sqrt() / PULL_MS as f64).ceil() as u64 * PULL_MS;
        if last + wait > 3000 {
            break;
        }
        expected.push(last + wait);
    }
    let times = |drops: Drops| drops.into_iter().map(|(ms, ..)| ms).collect::<Vec<_>>();
    let pulls = 3000 / PULL_MS;
    let emulator = times(run(&mut of(config()), 8, pulls));
    assert_eq!(emulator, expected);
    // the RFC's makes up for what the pulls delay: it drops more often
    let rfc = times(run(&mut rfc(), 8, pulls));
    assert_eq!(rfc[..2], emulator[..2]);
    assert!(rfc.len() > emulator.len(), "{rfc:?} {emulator:?}");
}

#[test]
fn with_lines_1_to_3_undone_a_standing_queue_is_dropped_from_as_by_the_rfc() {
    let same = run(&mut of(undone()), 8, 1000);
    assert!(same.len() > 100);
    assert_eq!(same, run(&mut rfc(), 8, 1000));
}

#[test]
fn line_4_a_drop_counts_if_the_next_packet_has_waited_too_long() {
    let mut queue = of(config());
    let mut lost = 0;
    (0..6).for_each(|k| queue.enqueue(at(0), number(k)).unwrap());
    queue.dequeue(at(20), Bytes::MAX, &mut |_| panic!("dropped"));
    queue.dequeue(at(320), Bytes::MAX, &mut |_| lost += 1);
    assert_eq!((lost, queue.law.count, queue.law.is_dropping), (2, 1, true));
    // packets 4 and 5 are due at 620 ms and lost, 6 is fresh
    queue.enqueue(at(610), number(6)).unwrap();
    let out = queue.dequeue(at(620), Bytes::MAX, &mut |_| lost += 1);
    assert_eq!(out.map(|out| out.packet.number), Some(6));
    assert_eq!(
        (lost, queue.law.count, queue.law.is_dropping),
        (4, 1, false)
    );
}

#[test]
fn section_5_6_the_rate_of_a_recent_dropping_state_is_taken_up_again() {
    let mut queue = of(config());
    run(&mut queue, 8, 100);
    let (count, begun) = (queue.law.count, queue.law.last_count);
    assert!(count > begun + 1);
    // all leave and fresh packets stand again
    while queue.dequeue(at(1001), Bytes::MAX, &mut |_| {}).is_some() {}
    queue.law.is_dropping = false;
    (0..9).for_each(|k| queue.enqueue(at(1001), number(k)).unwrap());
    queue.dequeue(at(1020), Bytes::MAX, &mut |_| panic!("dropped"));
    queue.dequeue(at(1320), Bytes::MAX, &mut |_| {});
    assert_eq!(queue.law.count, count - begun);
}

#[test]
fn a_head_that_does_not_fit_stays_and_is_not_examined() {
    let mut queue = of(config());
    (0..10).for_each(|k| queue.enqueue(at(0), number(k)).unwrap());
    for pull in 1..100 {
        let out = queue.dequeue(at(pull * PULL_MS), Bytes::new(1499), &mut |_| {
            panic!("dropped")
        });
        assert!(out.is_none());
    }
    assert_eq!(queue.occupancy().packets, 10);
    assert_eq!(queue.law.first_above, None);
}

#[test]
fn times_of_zero_are_rejected() {
    for broken in [
        EmulatorCoDelConfig {
            target: Duration::ZERO,
            ..config()
        },
        EmulatorCoDelConfig {
            interval: Duration::ZERO,
            ..config()
        },
    ] {
        assert!(EmulatorCoDel::<TestPacket>::new(broken, Capacity::Unlimited).is_err());
    }
}
