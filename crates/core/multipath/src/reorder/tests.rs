use super::*;
use proptest::prelude::*;

const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Payloads are their own numbers.
struct Bench {
    reorder: Reorder<u64>,
    out: Vec<u64>,
}

impl Bench {
    /// Latencies of 10 and 30 ms.
    fn new(config: ReorderConfig) -> Self {
        let mut reorder = Reorder::new(config);
        reorder.on_rtt(FAST, Duration::from_millis(20));
        reorder.on_rtt(SLOW, Duration::from_millis(60));
        Self {
            reorder,
            out: Vec::new(),
        }
    }

    fn insert(&mut self, at: u64, path: PathId, number: u64) -> &mut Self {
        self.insert_after_gap(at, path, number, 0)
    }

    fn insert_after_gap(&mut self, at: u64, path: PathId, number: u64, gap: u64) -> &mut Self {
        let arrived = Arrived {
            path,
            mp_seq: MpSeq::new(number),
            missing_before: gap,
        };
        self.reorder.insert(ms(at), arrived, number);
        self.at(at)
    }

    fn at(&mut self, at: u64) -> &mut Self {
        while let Some(number) = self.reorder.poll(ms(at)) {
            self.out.push(number);
        }
        self
    }
}

fn without_detection(rule: WaitRule) -> ReorderConfig {
    ReorderConfig {
        has_fast_loss_detection: false,
        ..ReorderConfig::new(rule)
    }
}

/// Section 2.1 of the paper and the sheet's formulas, at latencies of 10 and 30 ms.
#[test]
fn waits_are_those_of_the_rules() {
    let wait = |rule, path| Bench::new(ReorderConfig::new(rule)).reorder.wait(path);
    let ms = Duration::from_millis;
    assert_eq!(wait(WaitRule::Off, FAST), Duration::ZERO);
    assert_eq!(wait(WaitRule::Fixed(ms(70)), FAST), ms(70));
    assert_eq!(wait(WaitRule::Adaptive, FAST), ms(30));
    assert_eq!(wait(WaitRule::Adaptive, SLOW), ms(30));
    assert_eq!(wait(WaitRule::Equalised, FAST), ms(30));
    assert_eq!(wait(WaitRule::Equalised, SLOW), ms(10));
    assert_eq!(wait(WaitRule::Static, FAST), ms(170));
    let mut far = Bench::new(ReorderConfig::new(WaitRule::Adaptive));
    far.reorder.on_rtt(PathId(2), ms(2_000));
    assert_eq!(far.reorder.wait(FAST), MAX_WAIT);
}

#[test]
fn early_packets_wait_for_those_before_them() {
    let mut bench = Bench::new(without_detection(WaitRule::Adaptive));
    bench
        .insert(0, FAST, 7)
        .insert(1, FAST, 9)
        .insert(2, FAST, 10);
    assert_eq!(bench.out, [7]);
    bench.insert(20, SLOW, 8);
    assert_eq!(bench.out, [7, 8, 9, 10]);
    assert_eq!(bench.reorder.held(), Packets::ZERO);
}

#[test]
fn a_wait_ends_on_time_and_not_with_the_next_arrival() {
    let mut bench = Bench::new(without_detection(WaitRule::Adaptive));
    bench
        .insert(0, FAST, 0)
        .insert(5, FAST, 2)
        .insert(9, FAST, 4);
    assert_eq!(bench.reorder.next_deadline(), Some(ms(35)));
    bench.at(34);
    assert_eq!(bench.out, [0]);
    bench.at(35);
    assert_eq!(bench.out, [0, 2]);
    assert_eq!(bench.reorder.next_deadline(), Some(ms(39)));
    bench.at(39);
    assert_eq!(bench.out, [0, 2, 4]);
    assert_eq!(bench.reorder.next_deadline(), None);
    assert_eq!(bench.reorder.stats().given_up, Packets::new(2));
}

#[test]
fn late_packets_are_forwarded_or_dropped_and_copies_never_delivered() {
    for (late, out) in [(Late::Forward, vec![0, 2, 1]), (Late::Drop, vec![0, 2])] {
        let mut bench = Bench::new(ReorderConfig {
            late,
            ..without_detection(WaitRule::Adaptive)
        });
        bench.insert(0, FAST, 0).insert(0, FAST, 2).at(50);
        bench
            .insert(60, SLOW, 1)
            .insert(61, FAST, 1)
            .insert(62, SLOW, 2);
        assert_eq!(bench.out, out);
        let stats = bench.reorder.stats();
        assert_eq!(
            (stats.late, stats.duplicates),
            (Packets::new(1), Packets::new(2))
        );
    }
}

#[test]
fn off_delivers_what_comes_as_it_comes() {
    let mut bench = Bench::new(ReorderConfig::new(WaitRule::Off));
    bench
        .insert(0, FAST, 0)
        .insert(0, FAST, 3)
        .insert(1, SLOW, 1)
        .insert(1, FAST, 4);
    assert_eq!(bench.out, [0, 3, 1, 4]);
}

/// Each path is in order: once both have gone past, what is missing is lost.
#[test]
fn a_number_that_every_path_has_passed_is_lost() {
    let mut bench = Bench::new(ReorderConfig::new(WaitRule::Adaptive));
    bench.insert(0, FAST, 0).insert(0, SLOW, 1);
    bench.insert(1, FAST, 3);
    assert_eq!(bench.out, [0, 1], "2 may still come on the slow path");
    bench.insert(2, SLOW, 4);
    assert_eq!(bench.out, [0, 1, 3, 4]);
    assert_eq!(bench.reorder.stats().detected, Packets::new(1));
}

/// One number of the path is missing, and one of the connection: it was that one.
#[test]
fn a_gap_in_the_path_that_explains_the_gap_is_a_loss() {
    let mut bench = Bench::new(ReorderConfig::new(WaitRule::Adaptive));
    bench.insert(0, SLOW, 0).insert(0, FAST, 1);
    bench.insert_after_gap(1, FAST, 3, 1);
    assert_eq!(bench.out, [0, 1, 3]);
    // two are missing of the connection: which one the path lost is open
    bench.insert_after_gap(2, FAST, 6, 1);
    assert_eq!(bench.out, [0, 1, 3]);
    // and without a gap in the path nothing is lost
    bench.insert(3, SLOW, 4).insert(4, SLOW, 5);
    assert_eq!(bench.out, [0, 1, 3, 4, 5, 6]);
}

/// Section 2.1: with delays of 10 and 30 ms the fast path's packets are held for 20 ms.
#[test]
fn delay_equalisation_holds_the_fast_path() {
    let mut bench = Bench::new(ReorderConfig {
        has_delay_equalisation: true,
        ..ReorderConfig::default()
    });
    bench.insert(0, FAST, 0);
    assert_eq!(bench.reorder.next_deadline(), Some(ms(30)));
    bench.at(19);
    assert!(bench.out.is_empty());
    bench.at(20);
    assert_eq!(bench.out, [0]);
    bench.insert(40, SLOW, 1);
    assert_eq!(bench.out, [0, 1]);
}

#[test]
fn a_full_buffer_gives_up_the_first_gap() {
    let mut bench = Bench::new(ReorderConfig {
        buffer: Packets::new(3),
        ..without_detection(WaitRule::Static)
    });
    bench.insert(0, FAST, 0);
    (2..=4).for_each(|number| {
        bench.insert(0, FAST, number);
    });
    assert_eq!(bench.out, [0]);
    bench.insert(0, FAST, 6);
    assert_eq!(bench.out, [0, 2, 3, 4]);
}

#[test]
fn numbers_without_payload_are_no_gap() {
    let mut bench = Bench::new(ReorderConfig::default());
    bench.insert(0, FAST, 0);
    bench.reorder.skip(MpSeq::new(1));
    bench.insert(1, FAST, 2);
    assert_eq!(bench.out, [0, 2]);
    assert_eq!(bench.reorder.stats().given_up, Packets::ZERO);
}

#[test]
fn a_leap_gives_out_what_was_held_and_begins_anew() {
    let mut bench = Bench::new(without_detection(WaitRule::Static));
    bench.insert(0, FAST, 0).insert(0, FAST, 2);
    bench
        .insert(1, FAST, 1 << 40)
        .insert(2, FAST, (1 << 40) + 1);
    assert_eq!(bench.out, [0, 2, 1 << 40, (1 << 40) + 1]);
    assert_eq!(bench.reorder.held(), Packets::ZERO);
}

#[test]
fn the_order_goes_on_beyond_the_last_number() {
    let last = (1 << 48) - 1;
    let mut bench = Bench::new(without_detection(WaitRule::Adaptive));
    bench
        .insert(0, FAST, last - 1)
        .insert(0, FAST, 0)
        .insert(1, SLOW, last);
    assert_eq!(bench.out, [last - 1, last, 0]);
}

proptest! {
    /// Whatever is lost, doubled and shuffled: nothing is delivered twice, nothing that arrived in
    /// the end is missing, and all that was in its turn comes in order.
    #[test]
    fn every_packet_that_arrives_is_delivered_once(
        arrivals in prop::collection::vec((0_u64..60, 0_u8..3, 0_u64..3), 1..200),
        rule in prop::sample::select(vec![
            WaitRule::Off, WaitRule::Fixed(Duration::from_millis(20)), WaitRule::Adaptive,
            WaitRule::Equalised, WaitRule::Static,
        ]),
        detects in any::<bool>(),
        equalises in any::<bool>(),
        buffer in 1_u64..40,
    ) {
        let mut bench = Bench::new(ReorderConfig {
            has_fast_loss_detection: detects,
            has_delay_equalisation: equalises,
            buffer: Packets::new(buffer),
            ..ReorderConfig::new(rule)
        });
        let (mut now, mut sent) = (0, Vec::new());
        for &(number, path, pause) in &arrivals {
            now += pause;
            bench.insert_after_gap(now, PathId(path), number, pause);
            if !sent.contains(&number) {
                sent.push(number);
            }
            prop_assert!(bench.reorder.held().get() <= buffer);
        }
        bench.at(now + 10_000);
        prop_assert_eq!(bench.reorder.held(), Packets::ZERO);
        prop_assert_eq!(bench.reorder.next_deadline(), None);
        let mut out = bench.out.clone();
        out.sort_unstable();
        sent.sort_unstable();
        prop_assert_eq!(out, sent);
    }
}
