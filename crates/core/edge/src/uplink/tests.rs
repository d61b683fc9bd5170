use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::{BitRate, Streams};

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn at(ms: u64) -> Instant {
    at_us(ms * 1_000)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    number: u64,
    flow: u64,
    bytes: u64,
    ecn: Ecn,
    sent_at: u64,
}

impl Packet for Sent {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

fn config(mode: UplinkMode) -> UplinkConfig {
    UplinkConfig {
        mode,
        marker: MarkerConfig {
            transit: Duration::ZERO,
            ..MarkerConfig::default()
        },
        buffer: Bytes::new(1_000_000),
        ahead: Duration::from_millis(12),
    }
}

fn queue(mode: UplinkMode) -> UplinkQueue<Sent> {
    UplinkQueue::new(&config(mode), Streams::new(1).stream("flows")).unwrap()
}

fn status(ms: u64, sent: u64, queue: u64) -> ModemStatus {
    ModemStatus {
        at: at(ms),
        sent: Bytes::new(sent),
        queue: Bytes::new(queue),
    }
}

/// The rates that statuses show, each with whether packets wait above, kbit/s.
fn rates(statuses: &[(u64, u64, u64, bool)]) -> Vec<Option<u64>> {
    let mut rate = GrantedRate::default();
    let mut of = |&(ms, sent, queue, waits): &(u64, u64, u64, bool)| {
        let rate = rate.on_status(&status(ms, sent, queue), waits);
        rate.map(|rate| rate.as_bps() / 1_000)
    };
    statuses.iter().map(&mut of).collect()
}

#[test]
fn a_busy_modem_has_the_rate_at_which_it_sends() {
    // 1 MB/s; the first interval in which it sends may have begun before its grants
    let found = rates(&[
        (0, 0, 5_000, false),
        (5, 0, 9_000, false),
        (10, 2_000, 9_000, false),
        (15, 7_000, 9_000, false),
        (20, 12_000, 9_000, false),
    ]);
    assert_eq!(found, [None, None, None, Some(8_000), Some(8_000)]);
    // half of it from then on: a fifth of the way in 5 ms
    let slower = rates(&[
        (0, 1, 9, false),
        (5, 5_001, 9, false),
        (10, 10_001, 9, false),
        (15, 12_501, 9, false),
    ]);
    assert_eq!(slower[2..], [Some(8_000), Some(7_200)]);
}

#[test]
fn a_modem_that_runs_dry_has_more_than_it_sends_and_none_if_it_is_no_bottleneck() {
    let mut all = vec![(0, 1, 9, true), (5, 5_001, 9, true), (10, 10_001, 9, true)];
    // 0.8 MB/s, since it was given no more
    all.push((15, 14_001, 0, true));
    assert_eq!(rates(&all)[3], Some(10_000));
    all.pop();
    all.push((15, 14_001, 0, false));
    assert_eq!(rates(&all)[3], Some(8_000));
    all.extend([(205, 15_000, 0, false), (215, 15_001, 0, false)]);
    assert_eq!(rates(&all)[4..], [Some(8_000), None]);
}

#[test]
fn without_grants_the_rate_stays() {
    let found = rates(&[
        (0, 1, 9, true),
        (5, 5_001, 9, true),
        (10, 10_001, 9, true),
        (15, 10_001, 9, true),
        (60, 10_001, 9, true),
        // grants again, for the last millisecond
        (65, 11_001, 9, true),
        (70, 16_001, 9, true),
    ]);
    assert_eq!(found[2..], [Some(8_000); 5]);
}

#[test]
fn values_out_of_range_are_named() {
    let bad = UplinkConfig {
        ahead: Duration::from_secs(1),
        ..config(UplinkMode::Queue)
    };
    assert!(
        bad.check()
            .unwrap_err()
            .to_string()
            .contains("uplink-ahead")
    );
    let bad = UplinkConfig {
        buffer: Bytes::ZERO,
        ..config(UplinkMode::Queue)
    };
    assert!(
        bad.check()
            .unwrap_err()
            .to_string()
            .contains("uplink-limit")
    );
}

/// A modem whose radio carries so many bytes a millisecond, of what it had so many milliseconds before.
struct Modem {
    buffer: VecDeque<Sent>,
    /// Sent of the first.
    begun: u64,
    sent: u64,
    rate: u64,
    /// What it held in each of the last milliseconds: grants follow it.
    reported: VecDeque<u64>,
    granted: VecDeque<u64>,
    delay: usize,
}

impl Modem {
    fn new(rate: u64, delay: usize) -> Self {
        Self {
            buffer: VecDeque::new(),
            begun: 0,
            sent: 0,
            rate,
            reported: VecDeque::from(vec![0; delay]),
            granted: VecDeque::from(vec![0; delay]),
            delay,
        }
    }

    fn waits(&self) -> u64 {
        let all: u64 = self.buffer.iter().map(|it| it.bytes).sum();
        all - self.begun
    }

    /// One millisecond; what it has sent whole.
    fn run(&mut self) -> Vec<Sent> {
        self.reported.push_back(self.waits());
        let reported = self.reported.pop_front().unwrap_or(0);
        let since: u64 = self.granted.iter().sum();
        let owed = match self.delay {
            0 => reported,
            _ => reported.saturating_sub(since),
        };
        let mut grant = owed.min(self.rate).min(self.waits());
        self.granted.push_back(grant);
        self.granted.pop_front();
        self.sent += grant;
        let mut whole = Vec::new();
        while let Some(first) = self.buffer.front() {
            let left = first.bytes - self.begun;
            if left > grant {
                self.begun += grant;
                break;
            }
            grant -= left;
            self.begun = 0;
            whole.extend(self.buffer.pop_front());
        }
        whole
    }
}

/// What of two flows went out: flow 1 always has packets of 1,200 bytes to send, `most` not yet sent; flow 2 sends one of 200
/// bytes each 20 ms. Bytes of the first after a second, and the longest that one of the second took after it, ms.
fn beside_a_greedy_flow(
    mode: Option<UplinkMode>,
    rate: u64,
    delay: usize,
    most: u64,
) -> (u64, u64) {
    let mut above = mode.map(queue);
    let mut modem = Modem::new(rate, delay);
    let (mut number, mut under_way, mut carried, mut longest) = (0, 0, 0, 0);
    for ms in 0..4_000_u64 {
        let mut left = Left::default();
        let mut send = |flow, bytes| {
            number += 1;
            let packet = Sent {
                number,
                flow,
                bytes,
                ecn: Ecn::NotEct,
                sent_at: ms,
            };
            match &mut above {
                Some(above) => {
                    above.send(at(ms), packet, &mut left);
                }
                None => left.passed.push(packet),
            }
        };
        while under_way < most {
            under_way += 1_200;
            send(1, 1_200);
        }
        if ms % 20 == 0 {
            send(2, 200);
        }
        if let Some(above) = &mut above {
            if ms % 5 == 0 {
                above.on_status(at(ms), &status(ms, modem.sent, modem.waits()));
            }
            above.release(at(ms), &mut left);
        }
        under_way -= left
            .dropped
            .iter()
            .filter(|it| it.flow == 1)
            .map(|it| it.bytes)
            .sum::<u64>();
        modem.buffer.extend(left.passed);
        for packet in modem.run() {
            match packet.flow {
                1 => {
                    under_way -= packet.bytes;
                    carried += if ms >= 1_000 { packet.bytes } else { 0 };
                }
                _ if ms >= 1_000 => longest = longest.max(ms + 1 - packet.sent_at),
                _ => {}
            }
        }
    }
    (carried, longest)
}

/// 1,000 bytes a millisecond, 120 kB under way: without a queue above, what comes behind them waits 120 ms. With it, a packet
/// waits for what the modem has (12 ms) and its grant at most, and the radio is as full as it was.
#[test]
fn what_waits_is_above_the_modem_and_the_radio_stays_full() {
    for delay in [0, 8] {
        let (all, wait) = beside_a_greedy_flow(None, 1_000, delay, 120_000);
        assert!(wait >= 115, "{wait} ms");
        let (carried, wait) = beside_a_greedy_flow(Some(UplinkMode::Queue), 1_000, delay, 120_000);
        assert!(
            carried <= all && carried * 100 >= all * 97,
            "{carried} of {all}"
        );
        assert!((delay as u64..=12 + 5 + 2).contains(&wait), "{wait} ms");
    }
}

/// A window shorter than the delay of grants limits the rate: what is not in the modem is not reported, and not granted.
#[test]
fn a_window_shorter_than_the_delay_of_grants_costs_rate() {
    let (all, _) = beside_a_greedy_flow(None, 1_000, 20, 120_000);
    let (carried, _) = beside_a_greedy_flow(Some(UplinkMode::Queue), 1_000, 20, 120_000);
    assert!(carried * 10 < all * 9, "{carried} of {all}");
}

#[test]
fn marks_where_packets_wait_in_the_modem() {
    let mut above = queue(UplinkMode::Mark);
    let mut left = Left::default();
    for ms in 0..500 {
        if ms % 5 == 0 {
            // 1 MB/s, 60 kB wait
            above.on_status(at(ms), &status(ms, ms * 1_000 + 1, 60_000));
        }
        let packet = Sent {
            number: ms,
            flow: 1,
            bytes: 1_000,
            ecn: Ecn::Ect1,
            sent_at: ms,
        };
        assert_eq!(above.send(at(ms), packet, &mut left), None);
    }
    assert_eq!((left.passed.len(), left.dropped.len()), (500, 0));
    let marked = left.passed.iter().filter(|it| it.ecn == Ecn::Ce).count();
    assert!(marked > 400, "{marked}");
    assert_eq!(above.waits().packets, 0);
    let counts = above.counts().expect("it marks");
    let all = [Fate::Forward, Fate::Mark, Fate::Drop].map(|fate| counts.with(fate));
    assert_eq!(all, [500 - marked as u64, marked as u64, 0]);
}

/// What is dropped or marked in two seconds of a flow of which 40 ms stand, as the radio has carried 2 MB/s and carries `then`
/// bytes a millisecond. It is configured anew after half a second of that, where that is to be.
fn signalled_after(then: u64, ecn: Ecn, is_configured: bool) -> usize {
    let mut above = queue(UplinkMode::Queue);
    let mut left = Left::default();
    let (mut sent, mut number) = (1, 0);
    let mut signalled = 0;
    for ms in 0..5_000_u64 {
        let rate = if ms < 3_000 { 2_000 } else { then };
        sent += rate;
        if ms % 5 == 0 {
            above.on_status(at(ms), &status(ms, sent, rate));
        }
        if is_configured && ms == 3_503 {
            let rng = Streams::new(2).stream("flows");
            let again = config(UplinkMode::Queue);
            above.configure(at(ms), &again, rng, &mut left).unwrap();
        }
        while ms >= 3_000 && above.waits().bytes.get() < 40 * then {
            number += 1;
            let packet = Sent {
                number,
                flow: 1,
                bytes: 1_000,
                ecn,
                sent_at: ms,
            };
            above.send(at(ms), packet, &mut left);
        }
        above.release(at(ms), &mut left);
        let passed = left.passed.drain(..);
        signalled += passed.filter(|it| it.ecn == Ecn::Ce).count();
        signalled += left.dropped.drain(..).len();
    }
    signalled
}

/// A radio that has fallen to a half lets a round trip of what it carried before stand; a steady one does not.
#[test]
fn what_the_fall_of_a_radio_leaves_is_not_dropped() {
    let after = |then, is_configured| signalled_after(then, Ecn::NotEct, is_configured);
    let (steady, fallen) = (after(2_000, false), after(1_000, false));
    assert!(steady > 10, "{steady}");
    assert!(fallen * 3 < steady, "{fallen} of {steady}");
    // nor does another configuration forget it
    assert_eq!(after(1_000, true), fallen);
}

/// The threshold for ECT(1) follows the radio, too: over a steady one all that waits for 40 ms is marked.
#[test]
fn what_the_fall_of_a_radio_leaves_is_not_marked() {
    let after = |then, is_configured| signalled_after(then, Ecn::Ect1, is_configured);
    let (steady, fallen) = (after(2_000, false), after(1_000, false));
    assert!(steady > 3_000, "{steady}");
    assert!(fallen * 20 < steady, "{fallen} of {steady}");
    // another configuration has the configured threshold until the next status
    let configured = after(1_000, true);
    assert!(configured < fallen + 10, "{configured}, {fallen}");
}

#[test]
fn another_configuration_loses_nothing_that_waits_and_keeps_the_rate() {
    let mut above = queue(UplinkMode::Queue);
    let mut left = Left::default();
    let rng = || Streams::new(2).stream("flows");
    for ms in (0..=15).step_by(5) {
        above.on_status(at(ms), &status(ms, 1_000 * ms + 1, 500_000));
    }
    let mut number = 0;
    let mut send = |above: &mut UplinkQueue<Sent>, ms, left: &mut Left<Sent>| {
        number += 1;
        let packet = Sent {
            number,
            flow: number % 2,
            bytes: 1_000,
            ecn: Ecn::NotEct,
            sent_at: ms,
        };
        above.send(at(ms), packet, left);
    };
    for _ in 0..10 {
        send(&mut above, 16, &mut left);
    }
    let waits = |above: &UplinkQueue<Sent>| above.waits().packets;
    assert_eq!((waits(&above), left.passed.len()), (10, 0));
    // a bound that is below what waits: that stays, what comes does not
    let small = UplinkConfig {
        buffer: Bytes::new(4_000),
        ..config(UplinkMode::Queue)
    };
    above.configure(at(16), &small, rng(), &mut left).unwrap();
    send(&mut above, 16, &mut left);
    assert_eq!((waits(&above), left.dropped.len()), (10, 1));
    assert_eq!(left.overflowed, 1);
    let bad = UplinkConfig {
        ahead: Duration::from_secs(1),
        ..config(UplinkMode::Mark)
    };
    assert!(above.configure(at(16), &bad, rng(), &mut left).is_err());
    assert_eq!(waits(&above), 10);
    // another mode: all goes on, in order
    let mark = config(UplinkMode::Mark);
    above.configure(at(16), &mark, rng(), &mut left).unwrap();
    assert_eq!((waits(&above), left.passed.len()), (0, 10));
    let odd = left.passed.iter().filter(|it| it.flow == 1);
    assert!(odd.map(|it| it.number).is_sorted());
    assert_eq!(above.rate(), Some(BitRate::from_mbps(8)));
    send(&mut above, 16, &mut left);
    assert_eq!(left.passed.len(), 11);
    above.configure(at(16), &small, rng(), &mut left).unwrap();
    above.on_status(at(20), &status(20, 20_001, 500_000));
    for _ in 0..5 {
        send(&mut above, 21, &mut left);
    }
    // of five, four fit
    assert_eq!((waits(&above), left.passed.len()), (4, 11));
    assert_eq!(left.dropped.len(), 2);
}

/// The bound counts again as soon as it is kept.
#[test]
fn a_bound_that_was_exceeded_is_kept_from_then_on() {
    let mut above = queue(UplinkMode::Queue);
    let mut left = Left::default();
    for ms in (0..=15).step_by(5) {
        above.on_status(at(ms), &status(ms, 1_000 * ms + 1, 1));
    }
    let packet = |number| Sent {
        number,
        flow: 1,
        bytes: 1_000,
        ecn: Ecn::NotEct,
        sent_at: 16,
    };
    // some go on at once, into the window
    for number in 0..40 {
        above.send(at(16), packet(number), &mut left);
    }
    let small = UplinkConfig {
        buffer: Bytes::new(5_000),
        ..config(UplinkMode::Queue)
    };
    let rng = Streams::new(2).stream("flows");
    above.configure(at(16), &small, rng, &mut left).unwrap();
    assert!(above.waits().bytes > Bytes::new(5_000));
    // the report is too old by then: all goes on
    above.release(at(200), &mut left);
    assert_eq!((above.waits().packets, left.dropped.len()), (0, 0));
    above.on_status(at(200), &status(200, 15_001, 500_000));
    above.on_status(at(205), &status(205, 20_001, 500_000));
    for number in 40..50 {
        above.send(at(206), packet(number), &mut left);
    }
    assert_eq!((above.waits().packets, left.dropped.len()), (5, 5));
}

proptest! {
    /// Nothing appears and nothing vanishes, whatever the modem shows and however it is configured anew; each flow keeps its
    /// order.
    #[test]
    fn packets_are_conserved_and_in_order(
        steps in prop::collection::vec((0_u64..4, 60_u64..1_500, 0_u64..9_000, 0_u64..40_000), 1..200),
        is_queue: bool,
        changes in prop::collection::vec((0_usize..200, any::<bool>(), 1_u64..9_000), 0..4),
    ) {
        let mode = if is_queue { UplinkMode::Queue } else { UplinkMode::Mark };
        let mut above = queue(mode);
        let mut left = Left::default();
        let (mut sent, mut shown) = (0, 0);
        for (ms, &(flow, bytes, carried, waits)) in steps.iter().enumerate() {
            let ms = ms as u64;
            let packet = Sent { number: ms, flow, bytes, ecn: Ecn::Ect0, sent_at: ms };
            sent += 1;
            above.send(at(ms), packet, &mut left);
            for &(_, is_queue, buffer) in changes.iter().filter(|change| change.0 as u64 == ms) {
                let mode = if is_queue { UplinkMode::Queue } else { UplinkMode::Mark };
                let new = UplinkConfig { buffer: Bytes::new(buffer), ..config(mode) };
                let before = above.waits().packets + left.passed.len();
                above.configure(at(ms), &new, Streams::new(ms).stream("flows"), &mut left).unwrap();
                // but those that the law drops as they go on
                let after = above.waits().packets + left.passed.len();
                prop_assert!(after <= before && (!is_queue || after == before));
            }
            if ms.is_multiple_of(3) {
                shown += carried;
                above.on_status(at(ms), &status(ms, shown, waits));
            }
            above.release(at(ms), &mut left);
            prop_assert_eq!(left.passed.len() + left.dropped.len() + above.waits().packets, sent);
        }
        // statuses have ended, and the last one is too old
        above.release(at(steps.len() as u64 + 10_000), &mut left);
        prop_assert_eq!(left.passed.len() + left.dropped.len(), sent);
        for flow in 0..4 {
            let of = left.passed.iter().filter(|it| it.flow == flow);
            prop_assert!(of.map(|it| it.number).is_sorted());
        }
    }

    /// The rate that a busy modem is found to have is between the least and the most that it sent.
    #[test]
    fn a_rate_is_within_what_was_sent(sent in prop::collection::vec(1_u64..50_000, 2..50)) {
        let mut rate = GrantedRate::default();
        let (mut all, mut found) = (0, None);
        for (step, &bytes) in sent.iter().enumerate() {
            all += bytes;
            found = rate.on_status(&status(step as u64 * 5, all, 1), true).or(found);
        }
        let of = |bytes: &u64| BitRate::from_bytes_per(Bytes::new(*bytes), Duration::from_millis(5)).as_bps();
        let (least, most) = (sent.iter().map(of).min(), sent.iter().map(of).max());
        if let Some(found) = found {
            prop_assert!(found.as_bps() + 1 >= least.unwrap_or(0));
            prop_assert!(found.as_bps() <= most.unwrap_or(0) + 1);
        }
    }
}
