use super::egress::Prediction;
use super::rule::{classic_probability, l4s_probability, required_rate, sojourn};
use super::*;
use crate::test_packet::TestPacket;
use units::Streams;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * expected.abs().max(1.0)
}

fn queue(config: L4SpanConfig, capacity: Capacity) -> L4Span<TestPacket> {
    L4Span::new(config, capacity, Streams::new(1).stream("l4span")).expect("in range")
}

#[test]
fn predicted_sojourn_time_and_required_rate() {
    // 20 kB at 2 MB/s; within 10 ms
    assert!(close(sojourn(Bytes::new(20_000), 2e6), 0.01));
    let required = required_rate(Bytes::new(20_000), Duration::from_millis(10));
    assert!(close(required, 2e6));
}

#[test]
fn the_l4s_rule_is_a_ramp_as_wide_as_the_rate_is_uncertain() {
    let of = |required| {
        let predicted = Prediction {
            rate: 2e6,
            deviation: 0.5e6,
        };
        l4s_probability(required, predicted)
    };
    assert_eq!(of(1.4e6), 0.0);
    // (1.75 - 2 + 0.5) / 1
    assert!(close(of(1.75e6), 0.25));
    assert!(close(of(2e6), 0.5));
    assert!(close(of(2.5e6), 1.0));
    assert_eq!(of(2.6e6), 1.0);
}

#[test]
fn a_rate_without_deviation_makes_a_step() {
    let predicted = Prediction {
        rate: 2e6,
        deviation: 0.0,
    };
    let of = |required| l4s_probability(required, predicted);
    assert_eq!([of(1.9e6), of(2e6), of(2.1e6)], [0.0, 0.0, 1.0]);
}

#[test]
fn the_classic_rule_is_of_the_standing_queue_whatever_the_rate() {
    // 1460 x 8 x 1.75 / 2 = 10,220 bytes over 225,000: 0.04542, squared
    let p = classic_probability(2e6, Bytes::new(225_000));
    assert!((p - 0.002_063_18).abs() < 1e-8, "{p}");
    let faster = classic_probability(9e6, Bytes::new(225_000));
    assert!(close(p, faster));
    // half of the queue: four times
    assert!(close(
        classic_probability(2e6, Bytes::new(112_500)),
        4.0 * p
    ));
    assert_eq!(classic_probability(2e6, Bytes::new(5_000)), 1.0);
}

#[test]
fn the_egress_rate_is_of_what_a_report_shows_since_the_one_before() {
    let mut egress = Egress::new(50);
    let mut sent = |packets: u32, ms| {
        for _ in 0..packets {
            egress.on_transmitted(Bytes::new(1_000));
        }
        let is_new = egress.report(at(ms));
        (is_new, egress.predict())
    };
    assert_eq!(sent(0, 10), (false, None));
    // nothing came before these
    assert_eq!(sent(5, 20), (true, None));
    // 20 kB in 10 ms
    let (is_new, predicted) = sent(20, 30);
    let predicted = predicted.expect("a rate");
    assert!(is_new && close(predicted.rate, 2e6) && predicted.deviation == 0.0);
    // a report that shows nothing leaves the head where it was: 10 kB in 20 ms then
    assert!(!sent(0, 40).0);
    let predicted = sent(10, 50).1.expect("a rate");
    // 20 packets of 2 MB/s and 10 of 0.5: mean 1.5, deviation sqrt(2/3 x 0.25 + 1/3 x 1) = 0.7071
    assert!(close(predicted.rate, 1.5e6), "{predicted:?}");
    assert!((predicted.deviation - 0.707_106_78e6).abs() < 1.0);
}

#[test]
fn the_rates_of_the_last_fifty_packets_count() {
    let mut egress = Egress::new(50);
    for (batch, packets) in [(1_u64, 1), (2, 40), (3, 30), (4, 0), (5, 40)] {
        for _ in 0..packets {
            egress.on_transmitted(Bytes::new(1_000));
        }
        egress.report(at(10 * batch));
    }
    // 40 of 40 kB in 20 ms, and 10 of the 30 of 30 kB in 10 ms: (40 x 2 + 10 x 3) / 50
    let predicted = egress.predict().expect("a rate");
    assert!(close(predicted.rate, 2.2e6), "{predicted:?}");
    assert!((predicted.deviation - 0.4e6).abs() < 1.0);
}

/// A queue that holds `standing` packets of 1000 bytes throughout and sends two each millisecond, for 200 ms: of what
/// comes how many were marked, and how many not taken.
fn marked(config: L4SpanConfig, standing: u64, ecn: Ecn) -> (usize, usize, usize) {
    let mut queue = queue(config, Capacity::Unlimited);
    let packet = TestPacket::new(1_000).with_ecn(ecn);
    let (mut came, mut marked, mut dropped) = (0, 0, 0);
    for ms in 0..200 {
        while queue.occupancy().packets < (standing + 2) as usize {
            came += 1;
            dropped += usize::from(queue.enqueue(at(ms), packet).is_err());
        }
        for _ in 0..2 {
            let next = queue.dequeue(at(ms), Bytes::MAX, &mut |_| ());
            marked += usize::from(next.is_some_and(|next| next.packet.ecn == Ecn::Ce));
        }
    }
    (came, marked, dropped)
}

#[test]
fn l4s_is_marked_above_ten_milliseconds_of_queue_and_not_below() {
    // 2 MB/s: 10 ms are 20 packets
    let of = |standing| marked(L4SpanConfig::default(), standing, Ecn::Ect1);
    let (_, below, _) = of(15);
    assert_eq!(below, 0);
    let (came, above, _) = of(40);
    // all but the 80 that came before the first rate, which takes two reports, and those that wait
    assert_eq!(above, came - 80 - 40);
}

#[test]
fn classic_is_marked_above_its_threshold_and_dropped_only_where_configured() {
    let config = L4SpanConfig {
        classic_threshold: Bytes::new(30_000),
        ..L4SpanConfig::default()
    };
    // (10,220 / 38,000)^2 to (10,220 / 40,000)^2: some 7 %
    let (came, of_forty, dropped) = marked(config.clone(), 40, Ecn::Ect0);
    let share = of_forty as f64 / came as f64;
    assert!((0.02..0.12).contains(&share), "{share}");
    assert_eq!(dropped, 0);
    assert_eq!(marked(config.clone(), 20, Ecn::Ect0).1, 0);
    // of two UEs half of the queue is allowed
    let two = L4SpanConfig {
        ues: 2,
        ..config.clone()
    };
    assert!(marked(two, 20, Ecn::Ect0).1 > 0);
    assert_eq!(marked(config.clone(), 40, Ecn::NotEct).2, 0);
    let drops = L4SpanConfig {
        drops: true,
        ..config
    };
    assert!(marked(drops, 40, Ecn::NotEct).2 > 0);
}

#[test]
fn a_probability_holds_until_the_head_moves_and_is_of_live_flows() {
    let mut queue = queue(L4SpanConfig::default(), Capacity::Unlimited);
    let packet = TestPacket::new(1_000).with_ecn(Ecn::Ect1);
    for ms in 0..100 {
        for _ in 0..4 {
            queue.enqueue(at(ms), packet).expect("room");
        }
        queue.dequeue(at(ms), Bytes::MAX, &mut |_| ());
        queue.dequeue(at(ms), Bytes::MAX, &mut |_| ());
    }
    assert_eq!(queue.l4s.probability, 1.0);
    assert_eq!(queue.classic.probability, 0.0);
    // nothing is transmitted: reports show nothing
    queue.enqueue(at(150), packet).expect("room");
    assert_eq!(queue.l4s.probability, 1.0);
    // a short queue later: 0, but only while a packet of the kind was seen in the last second
    while queue.dequeue(at(151), Bytes::MAX, &mut |_| ()).is_some() {}
    let classic = TestPacket::new(1_000).with_ecn(Ecn::Ect0);
    queue.enqueue(at(2_000), classic).expect("room");
    assert_eq!(queue.l4s.probability, 0.0, "as of 160 ms");
    queue.l4s.probability = 0.5;
    queue.dequeue(at(2_001), Bytes::MAX, &mut |_| ());
    queue.enqueue(at(2_020), classic).expect("room");
    assert_eq!(queue.l4s.probability, 0.5, "as it was");
}

#[test]
fn what_does_not_fit_is_dropped_unmarked() {
    let mut queue = queue(L4SpanConfig::default(), Capacity::Bytes(Bytes::new(1_500)));
    let packet = TestPacket::new(1_000).with_ecn(Ecn::Ect1);
    assert!(queue.enqueue(at(0), packet).is_ok());
    assert_eq!(queue.enqueue(at(0), packet), Err(packet));
}

#[test]
fn values_that_cannot_work_are_refused() {
    let refused = |config: L4SpanConfig| config.check().expect_err("out of range").to_string();
    let config = L4SpanConfig::default();
    let often = L4SpanConfig {
        report_period: Duration::from_micros(500),
        ..config.clone()
    };
    assert!(refused(often).contains("report period"));
    let none = L4SpanConfig {
        window: 0,
        ..config.clone()
    };
    assert!(refused(none).contains("window"));
    let at_once = L4SpanConfig {
        threshold: Duration::ZERO,
        ..config.clone()
    };
    assert!(refused(at_once).contains("threshold"));
    assert!(refused(L4SpanConfig { ues: 0, ..config }).contains("ues"));
}
