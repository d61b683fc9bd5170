//! Losses: how they are found, repaired, and events from reordering.

use super::super::Connection;
use super::controllers::{Fixed, real};
use super::pipe::{
    CLIENT, MSS, PacketOutcome, Pipe, SERVER, at, config, dropping, ms, observed, position, with,
};
use cc::LossKind;
use units::{BitRate, Bytes, Duration, Instant, Packets};

fn fixed(cwnd: u64) -> Pipe {
    with([config(), config()], Fixed::new(cwnd))
}
/// Transfers 200 segments while those at these places of the sequence are dropped.
fn transfer_dropping(segments: &[u64]) -> Pipe {
    let mut p = fixed(20_000);
    p.establish();
    p.ways[SERVER].outcomes = dropping(segments.iter().map(|&s| position(s)).collect());
    p.transfer(SERVER, 200 * MSS);
    p
}

#[test]
fn a_single_loss_is_repaired_by_one_retransmission() {
    let p = transfer_dropping(&[50]);
    let stats = p.stats(SERVER);
    assert_eq!(
        (stats.retransmits, stats.lost),
        (Packets::new(1), Packets::new(1))
    );
    assert_eq!(
        (stats.timeouts, stats.recoveries),
        (Packets::ZERO, Packets::new(1))
    );
    let sent: Vec<Instant> = transmissions(&p, 50);
    assert_eq!(sent.len(), 2);
    // found by the third SACK, a round trip after it was sent
    assert!(sent[1] - sent[0] <= ms(21), "{sent:?}");
}

fn transmissions(p: &Pipe, segment: u64) -> Vec<Instant> {
    let all = p.data(SERVER).into_iter();
    all.filter(|d| d.segment.seq == position(segment))
        .map(|d| d.at)
        .collect()
}

#[test]
fn a_burst_of_losses_is_repaired_without_a_timeout() {
    let burst: Vec<u64> = (50..62).collect();
    let stats = transfer_dropping(&burst).stats(SERVER);
    assert_eq!(
        (stats.retransmits, stats.lost),
        (Packets::new(12), Packets::new(12))
    );
    assert_eq!(
        (stats.timeouts, stats.recoveries),
        (Packets::ZERO, Packets::new(1))
    );
}

#[test]
fn every_other_segment_lost() {
    let holes: Vec<u64> = (50..90).step_by(2).collect();
    let stats = transfer_dropping(&holes).stats(SERVER);
    assert_eq!(stats.retransmits, Packets::new(20));
    assert_eq!(stats.timeouts, Packets::ZERO);
}

#[test]
fn rfc_8985_6_a_lost_retransmission_is_found_without_a_timeout() {
    let p = transfer_dropping(&[50, 50, 50]);
    let stats = p.stats(SERVER);
    assert_eq!(
        (stats.retransmits, stats.lost),
        (Packets::new(3), Packets::new(3))
    );
    assert_eq!(stats.timeouts, Packets::ZERO);
    let sent = transmissions(&p, 50);
    for pair in sent.windows(2) {
        assert!(
            pair[1] - pair[0] < ms(30),
            "about a round trip each: {sent:?}"
        );
    }
}

#[test]
fn rfc_8985_7_a_probe_repairs_a_lost_tail() {
    // the last one alone, and the last three
    // (a single segment may be waiting for a delayed acknowledgement: up to the timeout)
    for (lost, limit) in [(vec![199], ms(300)), (vec![197, 198, 199], ms(100))] {
        let p = transfer_dropping(&lost);
        let stats = p.stats(SERVER);
        assert_eq!(
            (stats.probes, stats.timeouts),
            (Packets::new(1), Packets::ZERO)
        );
        assert_eq!(stats.retransmits, Packets::new(lost.len() as u64));
        let sent = transmissions(&p, 199);
        let (waited, srtt) = (sent[1] - sent[0], ms(20));
        // 2 srtt and the slack, from when the window before was acknowledged
        assert!(waited >= srtt * 2 && waited < limit, "{waited}");
    }
}

#[test]
fn rfc_8985_7_4_a_repaired_tail_is_a_congestion_event() {
    let (mut p, events) = observed(Fixed::new(20_000));
    p.ways[SERVER].outcomes = dropping(vec![position(9)]);
    p.transfer(SERVER, 10 * MSS);
    p.run_until(p.now + ms(100));
    assert!(events.lock().unwrap().losses.is_empty(), "not decided yet");
    p.transfer(SERVER, 10 * MSS);
    p.run_until(p.now + ms(100));
    let events = events.lock().unwrap();
    assert_eq!(
        (&events.losses[..], &events.recovery_ends[..]),
        (&[LossKind::Fast][..], &[false][..])
    );
}

#[test]
fn rfc_8985_7_4_a_needless_probe_is_no_congestion_event() {
    let (mut p, events) = observed(Fixed::new(20_000));
    // the acknowledgement of the last segments is lost, not the data
    p.write(SERVER, 2 * MSS);
    p.ways[CLIENT].outcomes = Box::new(|now, _, _| {
        if now < at(60) {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    });
    p.run_until(at(800));
    p.transfer(SERVER, 10 * MSS);
    p.run_until(p.now + ms(100));
    let stats = p.stats(SERVER);
    assert_eq!(
        (stats.probes, stats.retransmits),
        (Packets::new(1), Packets::new(1))
    );
    assert_eq!(stats.timeouts, Packets::ZERO);
    assert!(
        events.lock().unwrap().losses.is_empty(),
        "a DSACK showed that both arrived"
    );
}

#[test]
fn rfc_3042_sacked_segments_let_new_ones_go() {
    let mut p = fixed(10_000);
    p.establish();
    p.ways[SERVER].outcomes = dropping(vec![position(0)]);
    p.write(SERVER, 100 * MSS);
    p.run_until(at(62));
    let later: Vec<u64> = p.data(SERVER)[10..].iter().map(|d| d.segment.seq).collect();
    // the first two duplicates send new data, the third the lost segment
    assert_eq!(later[..2], [position(10), position(11)]);
    assert!(later[2..4].contains(&position(0)), "{later:?}");
}

#[test]
fn rfc_6298_5_timeouts_double_and_recovery_follows() {
    let (mut p, events) = observed(Fixed::new(10_000));
    p.transfer(SERVER, 50 * MSS);
    p.ways[SERVER].outcomes = Box::new(|now, _, _| {
        if now < at(8_000) {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    });
    p.run_until(at(1_000));
    let rto = p.stats(SERVER).rto;
    assert!(rto >= ms(220) && rto < ms(240), "{rto}");
    p.log.clear();
    p.write(SERVER, 20 * MSS);
    p.run_until(at(8_000));
    let head: Vec<Instant> = transmissions(&p, 50);
    // the probe moves the timer of the first timeout
    let gaps: Vec<Duration> = head.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps.len(), 4, "{head:?}");
    for (k, gap) in gaps.iter().enumerate().skip(1) {
        assert_eq!(*gap, rto * (1 << k), "{gaps:?}");
    }
    assert_eq!(
        events.lock().unwrap().losses,
        [LossKind::Timeout],
        "one event"
    );
    p.run_until(at(20_000));
    assert_eq!(p.bytes_read(CLIENT), 70 * MSS);
    assert_eq!(events.lock().unwrap().recovery_ends, [false]);
    assert_eq!(
        p.stats(SERVER).rto,
        p.stats(SERVER).srtt.unwrap() + ms(200),
        "no backoff left"
    );
}

#[test]
fn a_dead_path_ends_the_connection() {
    let mut p = fixed(10_000);
    p.establish();
    p.ways[SERVER].outcomes = Box::new(|_, _, _| PacketOutcome::Drop);
    p.write(SERVER, 5 * MSS);
    p.run_until(at(3_000_000));
    assert!(p.ends[SERVER].is_closed());
    assert_eq!(p.stats(SERVER).timeouts, Packets::new(15));
    assert_eq!(p.ends[SERVER].next_deadline(), None);
}

#[test]
fn rfc_4015_a_fast_recovery_for_reordering_is_undone() {
    let (mut p, events) = observed(Fixed::new(20_000).reducing_to(10_000));
    p.ways[SERVER].outcomes = Box::new(|_, _, segment| {
        if segment.seq == position(50) && !segment.is_retransmission {
            PacketOutcome::Late(ms(3))
        } else {
            PacketOutcome::Pass
        }
    });
    p.transfer(SERVER, 200 * MSS);
    let stats = p.stats(SERVER);
    assert_eq!(stats.recoveries, Packets::new(1));
    assert_eq!(stats.spurious_recoveries, Packets::new(1));
    assert_eq!(stats.cwnd, Bytes::new(20_000), "restored");
    assert_eq!(events.lock().unwrap().recovery_ends, [true]);
}

#[test]
fn rfc_8985_6_2_reordering_seen_once_makes_room_for_it() {
    let mut p = fixed(20_000);
    p.establish();
    // a tenth of the segments is 3 ms late, which is less than a quarter of the round trip
    p.ways[SERVER].outcomes = Box::new(|_, seen, _| {
        if seen % 10 == 0 {
            PacketOutcome::Late(ms(3))
        } else {
            PacketOutcome::Pass
        }
    });
    p.transfer(SERVER, 500 * MSS);
    let stats = p.stats(SERVER);
    assert!(
        stats.retransmits <= Packets::new(2),
        "{}",
        stats.retransmits
    );
    assert!(stats.recoveries <= Packets::new(1));
}

#[test]
fn rfc_4015_a_timeout_for_delay_is_undone() {
    let mut p = Pipe::new(
        [config(), config()],
        real("newreno", MSS),
        real("newreno", MSS),
    );
    p.ways[SERVER].rate = BitRate::from_mbps(10);
    p.establish();
    p.write(SERVER, 400 * MSS);
    p.run_until(at(150));
    let before = p.stats(SERVER).cwnd;
    // the path stands still for a second, then delivers all
    p.ways[SERVER].free_at = at(1_150);
    p.run_until(at(3_000));
    assert_eq!(p.bytes_read(CLIENT), 400 * MSS);
    let stats = p.stats(SERVER);
    assert!(stats.timeouts >= Packets::new(1), "{stats:?}");
    assert!(stats.spurious_recoveries >= Packets::new(1), "{stats:?}");
    assert!(
        stats.cwnd >= before,
        "{} before, {} after",
        before,
        stats.cwnd
    );
}

#[test]
fn rfc_6937_recovery_leads_to_ssthresh_without_a_burst() {
    // RecoverFS 40 segments, ssthresh 20
    let mut p = with([config(), config()], Fixed::new(40_000).reducing_to(20_000));
    p.ways[SERVER].rate = BitRate::from_mbps(20);
    p.establish();
    p.ways[SERVER].outcomes = dropping(vec![position(80)]);
    p.ends[SERVER].write(p.now, Bytes::new(400 * MSS), None);
    p.pump(SERVER);
    let mut sends_per_ack = Vec::new();
    let mut in_recovery = false;
    while p.step(at(2_000)) {
        let stats = p.stats(SERVER);
        if stats.recoveries > Packets::ZERO && !in_recovery {
            in_recovery = true;
            p.log.clear();
        } else if in_recovery && stats.bytes_acked < Bytes::new(120 * MSS) {
            let sent = p.data(SERVER).len();
            if p.log.iter().any(|d| d.from == SERVER) || sent == 0 {
                sends_per_ack.push(sent);
            }
            p.log.clear();
            assert!(stats.bytes_in_flight <= Bytes::new(40 * MSS));
        }
    }
    assert!(sends_per_ack.iter().all(|&n| n <= 2), "{sends_per_ack:?}");
    assert_eq!(p.bytes_read(CLIENT), 400 * MSS);
    assert_eq!(p.stats(SERVER).retransmits, Packets::new(1));
}

/// PRR end to end: what leaves during recovery is what the equations allow.
#[test]
fn rfc_6937_3_1_half_of_what_is_delivered_is_sent() {
    let mut p = with([config(), config()], Fixed::new(40_000).reducing_to(20_000));
    p.ways[SERVER].rate = BitRate::from_mbps(20);
    p.establish();
    p.ways[SERVER].outcomes = dropping(vec![position(80)]);
    p.ends[SERVER].write(p.now, Bytes::new(400 * MSS), None);
    p.pump(SERVER);
    while p.stats(SERVER).recoveries == Packets::ZERO {
        assert!(p.step(at(2_000)));
    }
    // the acknowledgement that began it let the retransmission go
    let began = p.data(SERVER).len();
    let flight = p.stats(SERVER).bytes_in_flight;
    while p.stats(SERVER).bytes_acked < Bytes::new(81 * MSS) {
        assert!(p.step(at(2_000)));
    }
    let sent = (p.data(SERVER).len() - began) as u64;
    let delivered = flight.get() / MSS + sent - p.stats(SERVER).bytes_in_flight.get() / MSS;
    assert!(
        sent.abs_diff(delivered / 2) <= 2,
        "{sent} sent for {delivered} delivered"
    );
    assert!(p.stats(SERVER).bytes_in_flight <= Bytes::new(21 * MSS));
}

#[test]
fn newreno_and_cubic_and_bbr_finish_over_a_small_buffer() {
    for controller in ["newreno", "cubic", "bbr"] {
        let mut p = Pipe::new(
            [config(), config()],
            real(controller, MSS),
            real(controller, MSS),
        );
        p.ways[SERVER].rate = BitRate::from_mbps(20);
        p.ways[SERVER].buffer = ms(20);
        p.establish();
        let time = p.transfer(SERVER, 10_000_000);
        // 10 MB with 52 bytes of headers for each kB take 4.21 s at 20 Mbit/s
        assert!(
            time >= ms(4_200) && time < ms(5_000),
            "{controller}: {time}"
        );
        let stats = p.stats(SERVER);
        assert_eq!(stats.timeouts, Packets::ZERO, "{controller}");
        let dropped = stats.lost;
        assert!(
            stats.retransmits <= dropped + stats.probes,
            "{controller}: {stats:?}"
        );
    }
}

#[test]
fn lost_acknowledgements_do_no_harm() {
    let mut p = fixed(20_000);
    p.establish();
    p.ways[CLIENT].outcomes = Box::new(|_, seen, _| {
        if seen % 3 == 0 {
            PacketOutcome::Pass
        } else {
            PacketOutcome::Drop
        }
    });
    p.transfer(SERVER, 500 * MSS);
    let stats = p.stats(SERVER);
    assert_eq!(
        (stats.recoveries, stats.timeouts),
        (Packets::ZERO, Packets::ZERO)
    );
    assert!(p.ends.iter().all(Connection::is_established));
}

#[test]
fn a_loss_in_recovery_is_part_of_it() {
    let (mut p, events) = observed(Fixed::new(40_000).reducing_to(20_000));
    p.ways[SERVER].outcomes = dropping([50, 55, 60, 65, 65].map(position).to_vec());
    p.transfer(SERVER, 200 * MSS);
    let events = events.lock().unwrap();
    assert_eq!(
        (&events.losses[..], &events.recovery_ends[..]),
        (&[LossKind::Fast][..], &[false][..])
    );
    assert!(events.in_recovery > 0);
}
