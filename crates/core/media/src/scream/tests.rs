use super::*;
use crate::{PacketReport, Received};

fn scream(ecn: EcnMode) -> Scream {
    let bps = BitRate::from_bps;
    let limits = RateLimits::new(bps(150_000), bps(960_000), bps(8_000_000));
    Scream::new(ScreamConfig {
        limits: limits.unwrap(),
        ecn,
        mss: Bytes::new(1000),
        frame_period: Duration::from_millis(40),
    })
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn send(scream: &mut Scream, ms: u64, seqs: core::ops::Range<u64>) {
    for seq in seqs {
        let bytes = Bytes::new(1000);
        scream.on_packet_sent(at(ms), SentPacket { seq, bytes });
    }
}

/// Of packets that came at `ms`, reported then and known 25 ms later.
fn report(scream: &mut Scream, ms: u64, packets: &[(u64, Option<Ecn>)]) {
    let packets = packets.iter().map(|&(seq, ecn)| PacketReport {
        seq,
        received: ecn.map(|ecn| Received { at: at(ms), ecn }),
    });
    let feedback = Feedback {
        made_at: at(ms),
        packets: packets.collect(),
    };
    scream.on_feedback(at(ms + 25), &feedback);
}

#[test]
fn section_4_1_1_bytes_in_flight_are_beyond_the_highest_that_came() {
    let mut scream = scream(EcnMode::Off);
    send(&mut scream, 0, 0..6);
    assert_eq!(scream.bytes_in_flight(), 6000.0);
    report(
        &mut scream,
        25,
        &[(0, Some(Ecn::NotEct)), (1, None), (2, Some(Ecn::NotEct))],
    );
    assert_eq!(scream.bytes_in_flight(), 3000.0);
    report(&mut scream, 30, &[(1, Some(Ecn::NotEct))]);
    assert_eq!(
        scream.bytes_in_flight(),
        3000.0,
        "a late one changes nothing"
    );
}

/// 0.96 Mbit/s x 50 ms / 8 x 1.2 = 7,200 bytes; their MSS is 0.139 of it, so the target is 0.961 of that.
#[test]
fn the_first_round_trip_time_gives_the_window_of_the_first_rate() {
    let mut scream = scream(EcnMode::Off);
    assert_eq!(scream.target_bitrate(), BitRate::from_bps(960_000));
    send(&mut scream, 0, 0..2);
    report(
        &mut scream,
        25,
        &[(0, Some(Ecn::NotEct)), (1, Some(Ecn::NotEct))],
    );
    assert_eq!(scream.rtt(), Some(Duration::from_millis(50)));
    let target = scream.target_bitrate().as_bps();
    assert!((900_000..1_100_000).contains(&target), "{target}");
}

#[test]
fn section_4_3_1_a_closed_window_lets_one_packet_go_at_rate_pace_min() {
    let mut scream = scream(EcnMode::Off);
    // 12,000 bytes of 100 ms, three times
    send(&mut scream, 10, 0..36);
    let opens = scream.window_opens_at(Bytes::new(1000));
    assert_eq!(opens, at(10 + 160), "1,000 bytes at 50 kbit/s");
    report(&mut scream, 35, &[(35, Some(Ecn::NotEct))]);
    assert_eq!(scream.window_opens_at(Bytes::new(1000)), Instant::ZERO);
}

#[test]
fn marks_count_as_the_mode_has_it() {
    let window_after = |ecn| {
        let mut scream = scream(ecn);
        send(&mut scream, 200, 0..10);
        let marked: Vec<_> = (0..10).map(|seq| (seq, Some(Ecn::Ce))).collect();
        report(&mut scream, 225, &marked);
        scream.window.ref_wnd()
    };
    let begun = window_after(EcnMode::Off);
    // classic: 0.8; L4S: alpha of 1/8, so 1 - 1/16, halved for the round-trip time of twice 25 ms
    let (classic, l4s) = (window_after(EcnMode::Classic), window_after(EcnMode::L4s));
    assert!(
        classic < 0.81 * begun && classic > 0.6 * begun,
        "{classic} {begun}"
    );
    assert!(l4s < begun && l4s > 0.8 * begun, "{l4s} {begun}");
}

#[test]
fn a_lost_packet_is_one_reduction_after_the_reordering_window() {
    let mut scream = scream(EcnMode::Off);
    send(&mut scream, 200, 0..10);
    report(
        &mut scream,
        225,
        &[(0, Some(Ecn::NotEct)), (1, None), (2, Some(Ecn::NotEct))],
    );
    let before = scream.window.ref_wnd();
    // a quarter of 50 ms later
    report(&mut scream, 240, &[(3, Some(Ecn::NotEct))]);
    let after = scream.window.ref_wnd();
    assert!(after < 0.8 * before, "{after} after {before}");
    report(&mut scream, 270, &[(4, Some(Ecn::NotEct))]);
    assert!(scream.window.ref_wnd() >= after);
}
