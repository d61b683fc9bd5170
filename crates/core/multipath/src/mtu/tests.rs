//! The search over a path of a known MTU.

use super::*;
use proptest::prelude::*;

const CONFIG: DiscoveryConfig = DiscoveryConfig {
    min: Bytes::new(1_232),
    base: Bytes::new(1_356),
    max: Bytes::new(8_972),
};

/// A path that carries datagrams of at most so many bytes, and loses some of them besides.
struct Run {
    search: Discovery,
    now: Instant,
    carries: u64,
    seq: u64,
    /// Every so manyth packet is lost; 0: none.
    loses: u64,
}

impl Run {
    fn new(max: u64, carries: u64) -> Self {
        Self {
            search: Discovery::new(DiscoveryConfig {
                max: Bytes::new(max),
                ..CONFIG
            }),
            now: Instant::ZERO,
            carries,
            seq: 1,
            loses: 0,
        }
    }

    fn next_seq(&mut self) -> (SeqNo, bool) {
        self.seq += 1;
        let is_lost = self.loses > 0 && self.seq.is_multiple_of(self.loses);
        (SeqNo::new(self.seq), is_lost)
    }

    /// Whatever is due is done: a probe leaves and is answered, or a time passes. False: nothing is due any more.
    fn step(&mut self) -> bool {
        if let Some(size) = self.search.poll_probe() {
            let (seq, is_lost) = self.next_seq();
            self.search.on_sent(self.now, seq, MIN_WAIT);
            self.now += Duration::from_millis(20);
            if size.get() <= self.carries && !is_lost {
                self.search.on_answer(self.now, seq);
            }
            return true;
        }
        let Some(at) = self.search.next_deadline() else {
            return false;
        };
        self.now = self.now.max(at);
        if self.search.on_deadline(self.now) {
            // a small packet, and its answer
            let (seq, is_lost) = self.next_seq();
            if !is_lost {
                self.search.on_arrived(self.now, seq);
            }
        }
        true
    }

    /// Until the search rests, or so much time has passed.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.search.next_deadline().is_none_or(|at| at <= until) && self.step() {}
        self.now = until;
    }

    /// Until the search is complete; none: it is not within so many steps.
    fn complete(&mut self) -> Option<u64> {
        for _ in 0..2_000 {
            if self.search.state() == DiscoveryState::SearchComplete && !self.search.is_confirming {
                return Some(self.search.size().get());
            }
            self.step();
        }
        None
    }

    /// Packets of that size leave, and each that is lost is found lost.
    fn send(&mut self, size: u64, count: u32) {
        for _ in 0..count {
            match size <= self.carries {
                true => self.search.on_acked(Bytes::new(size)),
                false => self.search.on_lost(Bytes::new(size)),
            }
        }
    }
}

#[test]
fn a_path_that_carries_what_the_link_takes_is_known_after_two_probes() {
    let mut run = Run::new(1_472, 1_472);
    assert_eq!(run.search.expected(), Bytes::new(1_472));
    assert_eq!(run.search.size(), Bytes::new(1_356));
    assert_eq!(run.search.state().name(), "base");
    assert_eq!(run.complete(), Some(1_472));
    assert_eq!(run.search.counters().probes, 2);
    assert_eq!(run.search.next_deadline(), None, "nothing to raise");
}

#[test]
fn rfc_8899_5_1_2_a_size_is_given_up_after_three_probes() {
    let mut run = Run::new(1_472, 1_356);
    run.step();
    let mut sizes = Vec::new();
    while run.search.high == 1_472 {
        sizes.extend(run.search.poll_probe());
        run.step();
    }
    sizes.dedup();
    assert_eq!(sizes, [Bytes::new(1_472)]);
    assert_eq!(run.search.counters().lost, u64::from(MAX_PROBES));
    assert_eq!(run.search.high, 1_471);
}

#[test]
fn rfc_8899_5_1_1_a_found_size_is_tried_to_be_raised() {
    let mut run = Run::new(1_472, 1_400);
    assert_eq!(run.complete(), Some(1_400));
    let probes = run.search.counters().probes;
    run.run(RAISE_TIMER);
    run.run(Duration::from_secs(5));
    let one_more = run.search.counters().probes - probes;
    assert_eq!(one_more, u64::from(MAX_PROBES), "nothing has changed");
    run.carries = 1_450;
    run.run(RAISE_TIMER);
    assert_eq!(run.complete(), Some(1_450));
}

#[test]
fn a_probe_counts_as_lost_only_where_something_arrives() {
    let mut run = Run::new(1_472, 1_472);
    let size = run.search.poll_probe().expect("the base");
    run.search.on_sent(run.now, SeqNo::new(7), MIN_WAIT);
    for round in 1..50u64 {
        assert!(run.search.on_deadline(Instant::ZERO + MIN_WAIT * round));
        assert_eq!(run.search.poll_probe(), None, "its answer may still come");
    }
    assert_eq!(run.search.counters().lost, 0);
    run.search.on_arrived(run.now, SeqNo::new(6));
    assert_eq!(run.search.counters().lost, 0, "sent before it");
    run.search.on_arrived(run.now, SeqNo::new(8));
    assert_eq!(run.search.counters().lost, 1);
    assert_eq!(run.search.poll_probe(), Some(size));
}

#[test]
fn the_base_that_is_not_carried_is_an_error_and_less_is_found() {
    let mut run = Run::new(1_472, 1_300);
    while run.search.state() == DiscoveryState::Base {
        run.step();
    }
    assert_eq!(run.search.state(), DiscoveryState::Error);
    assert_eq!(run.search.size(), Bytes::new(1_232));
    assert_eq!(run.complete(), Some(1_300));
    // and what carries nothing of it is tried again
    let mut run = Run::new(1_472, 1_000);
    run.run(Duration::from_secs(60));
    assert_eq!(run.search.size(), Bytes::new(1_232));
    assert_ne!(run.search.state(), DiscoveryState::SearchComplete);
    run.carries = 1_472;
    assert_eq!(run.complete(), Some(1_472));
}

#[test]
fn rfc_8899_4_3_large_packets_that_are_lost_in_a_row_reveal_a_black_hole() {
    let mut run = Run::new(1_472, 1_472);
    run.complete();
    run.carries = 1_400;
    // small packets arrive, and show nothing of large ones
    for _ in 0..SUSPICIOUS_LOSSES {
        run.send(1_472, 1);
        run.send(100, 1);
    }
    assert_eq!(run.search.size(), Bytes::new(1_472), "confirmed first");
    assert_eq!(run.complete(), Some(1_400));
    assert_eq!(run.search.counters().black_holes, 1);
}

#[test]
fn losses_that_have_nothing_to_do_with_the_size_cost_a_probe() {
    let mut run = Run::new(1_472, 1_472);
    run.complete();
    let before = run.search.counters();
    for _ in 0..100 {
        run.search.on_lost(Bytes::new(1_472));
        run.search.on_lost(Bytes::new(1_472));
        run.send(1_472, 1);
    }
    assert_eq!(run.search.poll_probe(), None, "never three in a row");
    run.search.on_lost(Bytes::new(1_472));
    run.search.on_lost(Bytes::new(1_300));
    run.search.on_lost(Bytes::new(1_472));
    assert_eq!(run.complete(), Some(1_472));
    let after = run.search.counters();
    assert_eq!((after.probes - before.probes, after.black_holes), (1, 0));
}

#[test]
fn rfc_8899_4_6_what_icmp_reports_bounds_probes_and_is_confirmed() {
    // true: the size is found with the next probe
    let mut run = Run::new(8_972, 1_420);
    run.step();
    run.step();
    run.search.on_link(run.now, Bytes::new(1_420));
    let probes = run.search.counters().probes;
    assert_eq!(run.complete(), Some(1_420));
    assert_eq!(run.search.counters().probes, probes + 1);
    // false: by itself it lowers nothing that was found
    let mut run = Run::new(1_472, 1_472);
    run.complete();
    run.search.on_link(run.now, Bytes::new(1_300));
    assert_eq!(run.search.size(), Bytes::new(1_472));
    assert_eq!(run.complete(), Some(1_472));
    assert_eq!(run.search.counters().black_holes, 0);
    // a link that has become narrower, and one that has become wider
    run.carries = 1_380;
    run.search.on_link(run.now, Bytes::new(1_380));
    assert_eq!(run.complete(), Some(1_380));
    run.carries = 8_972;
    run.search.on_link(run.now, Bytes::new(8_972));
    assert_eq!(run.complete(), Some(8_972));
    run.carries = 1_240;
    run.search.on_link(run.now, Bytes::new(1_240));
    assert_eq!(run.complete(), Some(1_240), "below the base");
}

#[test]
fn the_largest_size_is_expected_until_two_probes_are_lost() {
    let mut run = Run::new(1_472, 1_400);
    run.step();
    assert_eq!(run.search.expected(), Bytes::new(1_472));
    assert!(run.search.is_settled());
    while run.search.counters().lost < 2 {
        assert_eq!(run.search.expected(), Bytes::new(1_472));
        run.step();
    }
    assert_eq!(run.search.expected(), Bytes::new(1_356));
    assert!(!run.search.is_settled());
    run.complete();
    assert_eq!(run.search.expected(), Bytes::new(1_400));
}

#[test]
fn a_path_that_leads_elsewhere_is_searched_again_from_where_it_was() {
    for carries in [1_360, 1_400, 1_450, 1_472] {
        let mut run = Run::new(1_472, 1_400);
        run.complete();
        run.carries = carries;
        run.search.on_moved(run.now);
        assert_eq!(run.search.size(), Bytes::new(1_400));
        run.run(Duration::from_secs(30));
        assert_eq!(run.search.size(), Bytes::new(carries));
    }
}

proptest! {
    /// Whatever the link takes and the path carries, the search ends at the lesser of the two.
    #[test]
    fn the_search_ends_at_what_the_path_carries(max in 1_232u64..=9_000, carries in 1_232u64..=9_000) {
        let mut run = Run::new(max, carries);
        prop_assert_eq!(run.complete(), Some(max.min(carries)));
        // halves: of each size at most MAX_PROBES, and the small packets cost no probe
        prop_assert!(run.search.counters().probes <= 3 * (2 + 13 + 2));
        prop_assert!(run.now < Instant::ZERO + Duration::from_secs(20));
    }

    /// With losses it may take a raise more; what may be sent is never more than the path carries, once something was lost.
    #[test]
    fn losses_delay_the_search_and_do_not_falsify_it(
        max in 1_400u64..=9_000, carries in 1_400u64..=9_000, loses in 3u64..40,
    ) {
        let mut run = Run::new(max, carries);
        run.loses = loses;
        for _ in 0..40 {
            run.run(RAISE_TIMER);
            prop_assert!(run.search.size().get() <= carries.min(max));
        }
        prop_assert_eq!(run.complete(), Some(max.min(carries)));
    }

    /// The path carries less, or more, in the middle of whatever the search does, and traffic goes on.
    #[test]
    fn a_path_that_changes_is_followed(
        changes in prop::collection::vec((1_232u64..=9_000, 0u64..3_000), 1..5),
    ) {
        let mut run = Run::new(9_000, 9_000);
        for (carries, ms) in changes {
            run.carries = carries;
            for _ in 0..ms / 100 {
                run.step();
                let size = run.search.size().get();
                run.send(size, 1);
            }
            // what fits is sent, whatever that is: it arrives, or the search falls
            for _ in 0..3_000 {
                let size = run.search.size().get();
                run.send(size, 1);
                run.step();
            }
            prop_assert_eq!(run.complete(), Some(carries));
        }
    }

    /// Any order of calls keeps the bounds, and neither panics nor hangs.
    #[test]
    fn any_order_of_calls_keeps_the_bounds(
        calls in prop::collection::vec((0u8..8, 0u64..70_000, 0u64..12), 0..200),
    ) {
        let mut search = Discovery::new(CONFIG);
        let (mut now, mut seq) = (Instant::ZERO, 0u64);
        for (call, size, number) in calls {
            let back = SeqNo::new(seq.saturating_sub(number));
            now += Duration::from_millis(size % 400);
            match call {
                0 | 1 => {
                    if let Some(probe) = search.poll_probe() {
                        prop_assert!(probe.get() >= 1);
                        seq += 1;
                        search.on_sent(now, SeqNo::new(seq), MIN_WAIT);
                        prop_assert_eq!(search.poll_probe(), None, "one at a time");
                    }
                }
                2 => search.on_answer(now, back),
                3 => search.on_arrived(now, SeqNo::new(seq + number)),
                4 => drop(search.on_deadline(now)),
                5 => search.on_link(now, Bytes::new(size)),
                6 => search.on_lost(Bytes::new(size)),
                _ => search.on_acked(Bytes::new(size)),
            }
            prop_assert!(search.size <= search.high);
            prop_assert!(search.expected() >= search.size());
            let is_complete = search.state() == DiscoveryState::SearchComplete;
            prop_assert!(!is_complete || search.size == search.high || search.is_confirming
                || search.max < search.size);
        }
    }
}
