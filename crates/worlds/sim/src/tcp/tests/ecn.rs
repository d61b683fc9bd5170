//! Marks: RFC 3168's sequences, RFC 8257's echo, and what a window makes of them.

use super::super::{Config, EcnConfig, Flags};
use super::controllers::{Events, Fixed, real};
use super::pipe::{
    CLIENT, Departure, MSS, PacketOutcome, PacketOutcomes, Pipe, SERVER, at, config, ms, position,
};
use cc::{CongestionControl, LossKind};
use queue::Ecn;
use std::sync::{Arc, Mutex};
use units::{BitRate, Bytes, Duration, Instant, Packets};

fn pipe(ecn: [Option<EcnConfig>; 2], sender: Box<dyn CongestionControl>) -> Pipe {
    let configs = ecn.map(|ecn| Config { ecn, ..config() });
    Pipe::new(configs, Box::new(Fixed::new(10_000)), sender)
}

/// A server with a window of 20 segments, 10 after a reduction, and what it is events.
fn reducing(ecn: EcnConfig) -> (Pipe, Arc<Mutex<Events>>) {
    let sender = Fixed::new(20 * MSS).reducing_to(10 * MSS);
    let events = sender.events();
    let mut p = pipe([Some(ecn); 2], Box::new(sender));
    p.establish();
    (p, events)
}

/// Marks first transmissions of the segments at these places of the sequence.
fn marking(segments: &[u64]) -> PacketOutcomes {
    let positions: Vec<u64> = segments.iter().map(|&s| position(s)).collect();
    Box::new(move |_, _, segment| {
        let is_marked = segment.len > 0 && positions.contains(&segment.seq);
        if is_marked && !segment.is_retransmission {
            PacketOutcome::Mark
        } else {
            PacketOutcome::Pass
        }
    })
}

fn having(departures: &[&Departure], flag: Flags) -> usize {
    let all = departures.iter();
    all.filter(|d| d.segment.flags.contains(flag)).count()
}

#[test]
fn rfc_3168_6_1_1_the_handshake_agrees_on_ecn() {
    let classic = Some(EcnConfig::CLASSIC);
    for (ecn, syn, syn_ack) in [
        ([classic, classic], Flags::ECE | Flags::CWR, Flags::ECE),
        ([classic, None], Flags::ECE | Flags::CWR, Flags::NONE),
        ([None, classic], Flags::NONE, Flags::NONE),
    ] {
        let mut p = pipe(ecn, Box::new(Fixed::new(10_000)));
        p.run_until(at(40));
        assert_eq!(p.log[0].segment.flags, Flags::SYN | syn, "{ecn:?}");
        let answer = p.log[1].segment.flags;
        assert_eq!(answer, Flags::SYN | Flags::ACK | syn_ack, "{ecn:?}");
        p.transfer(SERVER, 20 * MSS);
        let is_agreed = ecn == [classic, classic];
        let expected = if is_agreed { Ecn::Ect0 } else { Ecn::NotEct };
        let is_expected = |d: &&Departure| d.segment.ecn == expected;
        assert!(p.data(SERVER).iter().all(is_expected), "{ecn:?}");
        assert!(p.acks(CLIENT).iter().all(|d| d.segment.ecn == Ecn::NotEct));
        assert_eq!(p.log[0].segment.ecn, Ecn::NotEct);
    }
}

#[test]
fn rfc_3168_6_1_1_1_a_syn_that_was_lost_is_repeated_without_ecn() {
    let mut p = pipe([Some(EcnConfig::CLASSIC); 2], Box::new(Fixed::new(10_000)));
    p.ways[CLIENT].outcomes = Box::new(|_, n, _| {
        if n == 1 {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    });
    p.run_until(at(1_100));
    let flags: Vec<Flags> = p.log.iter().map(|d| d.segment.flags).collect();
    assert_eq!(flags[0], Flags::SYN | Flags::ECE | Flags::CWR);
    assert_eq!(flags[1], Flags::SYN);
    assert_eq!(flags[2], Flags::SYN | Flags::ACK);
}

/// 6.1.2 and 6.1.3: a mark; ECE in all acknowledgements until CWR comes; one reduction; one CWR, on new
/// data; nothing is sent again.
#[test]
fn rfc_3168_6_1_the_whole_sequence_of_one_mark() {
    let (mut p, events) = reducing(EcnConfig::CLASSIC);
    p.ways[SERVER].outcomes = marking(&[50]);
    p.transfer(SERVER, 200 * MSS);
    assert_eq!(events.lock().unwrap().losses, [LossKind::Ecn]);
    let stats = p.stats(SERVER);
    assert_eq!(stats.marked_windows, Packets::new(1));
    assert_eq!((stats.retransmits, stats.recoveries), Default::default());
    assert_eq!(p.stats(CLIENT).marks_received, Packets::new(1));

    let data = p.data(SERVER);
    let reduced: Vec<_> = data
        .iter()
        .filter(|d| d.segment.flags.contains(Flags::CWR))
        .collect();
    assert_eq!(reduced.len(), 1, "one CWR");
    // it leaves with the first new data after the echo, a round trip after the marked segment
    let marked = data.iter().find(|d| d.segment.seq == position(50)).unwrap();
    let cwr = reduced[0];
    assert!(cwr.at - marked.at >= ms(20) && cwr.at - marked.at <= ms(24));
    for ack in p.acks(CLIENT) {
        let covers_mark = ack.segment.ack > position(50);
        let has_cwr = ack.segment.ack > cwr.segment.seq;
        let is_echo = ack.segment.flags.contains(Flags::ECE);
        assert_eq!(is_echo, covers_mark && !has_cwr, "{ack:?}");
    }
    let ends = &events.lock().unwrap().recovery_ends;
    assert_eq!(&ends[..], [false], "the reduction came to its end");
}

#[test]
fn rfc_3168_6_1_2_a_window_full_of_marks_reduces_once() {
    let (mut p, events) = reducing(EcnConfig::CLASSIC);
    let window: Vec<u64> = (50..68).collect();
    p.ways[SERVER].outcomes = marking(&window);
    p.transfer(SERVER, 300 * MSS);
    assert_eq!(events.lock().unwrap().losses, [LossKind::Ecn]);
    assert_eq!(p.stats(CLIENT).marks_received, Packets::new(18));
    // two marks three windows apart are two events
    let (mut p, events) = reducing(EcnConfig::CLASSIC);
    p.ways[SERVER].outcomes = marking(&[50, 110]);
    p.transfer(SERVER, 300 * MSS);
    assert_eq!(
        events.lock().unwrap().losses,
        [LossKind::Ecn, LossKind::Ecn]
    );
    assert_eq!(having(&p.data(SERVER), Flags::CWR), 2);
}

#[test]
fn rfc_6937_prr_leads_to_the_reduced_window() {
    let (mut p, _) = reducing(EcnConfig::CLASSIC);
    p.ways[SERVER].outcomes = marking(&[50]);
    let total = 400 * MSS;
    p.write(SERVER, total);
    let mut max_after = 0;
    let mut since = None;
    while p.bytes_read(CLIENT) < total && p.step(at(100_000)) {
        let stats = p.stats(SERVER);
        if stats.marked_windows > Packets::ZERO {
            let since = *since.get_or_insert(p.now);
            let in_flight = stats.bytes_in_flight.get();
            assert!(in_flight <= 20 * MSS);
            if p.now > since + ms(25) {
                max_after = max_after.max(in_flight);
            }
        }
    }
    assert_eq!(max_after, 10 * MSS);
}

#[test]
fn rfc_3168_6_1_5_what_is_sent_again_is_not_ecn_capable() {
    let (mut p, events) = reducing(EcnConfig::CLASSIC);
    let mut has_dropped = false;
    p.ways[SERVER].outcomes = Box::new(move |_, _, segment| {
        if segment.seq == position(50) && !core::mem::replace(&mut has_dropped, true) {
            return PacketOutcome::Drop;
        }
        PacketOutcome::Pass
    });
    p.transfer(SERVER, 200 * MSS);
    let resent: Vec<_> = p.data(SERVER);
    let resent = resent.iter().filter(|d| d.segment.is_retransmission);
    let ecn: Vec<Ecn> = resent.map(|d| d.segment.ecn).collect();
    assert_eq!(ecn, [Ecn::NotEct]);
    assert_eq!(events.lock().unwrap().losses, [LossKind::Fast]);
    // 6.1: any reduction is events
    assert_eq!(having(&p.data(SERVER), Flags::CWR), 1);
}

/// 6.1.5: a mark on data that has arrived before, which may be forged, is not echoed.
#[test]
fn rfc_3168_6_1_5_marks_outside_of_the_window_are_ignored() {
    let (mut p, events) = reducing(EcnConfig::CLASSIC);
    p.transfer(SERVER, 20 * MSS);
    let mut old = p.data(SERVER)[3].segment;
    old.ecn = Ecn::Ce;
    p.ends[CLIENT].on_segment(p.now, &old);
    p.pump(CLIENT);
    p.transfer(SERVER, 20 * MSS);
    assert_eq!(having(&p.acks(CLIENT), Flags::ECE), 0);
    assert_eq!(events.lock().unwrap().losses, []);
}

#[test]
fn rfc_3168_6_1_2_a_mark_and_a_loss_of_one_window_reduce_once() {
    for (marked, lost, expected) in [(50, 55, LossKind::Ecn), (55, 50, LossKind::Fast)] {
        let (mut p, events) = reducing(EcnConfig::CLASSIC);
        let mut has_dropped = false;
        p.ways[SERVER].outcomes = Box::new(move |_, _, segment| match segment.seq {
            seq if seq == position(marked) => PacketOutcome::Mark,
            seq if seq == position(lost) && !core::mem::replace(&mut has_dropped, true) => {
                PacketOutcome::Drop
            }
            _ => PacketOutcome::Pass,
        });
        p.transfer(SERVER, 300 * MSS);
        assert_eq!(events.lock().unwrap().losses, [expected]);
        let stats = p.stats(SERVER);
        assert_eq!(stats.retransmits, Packets::new(1), "{expected:?}");
        assert_eq!(stats.recoveries, Packets::new(1), "{expected:?}");
        assert_eq!(stats.timeouts, Packets::ZERO);
    }
}

#[test]
fn rfc_3168_6_1_6_a_window_probe_is_not_ecn_capable() {
    let (mut p, _) = reducing(EcnConfig::CLASSIC);
    p.reads[CLIENT] = false;
    p.write(SERVER, 2_000_000);
    p.run_until(at(10_000));
    let probes = p
        .log
        .iter()
        .filter(|d| d.from == SERVER && d.at > at(1_500));
    let probes: Vec<_> = probes.collect();
    assert!(!probes.is_empty(), "the window closed");
    assert!(probes.iter().all(|d| d.segment.ecn == Ecn::NotEct));
}

/// RFC 8257 3.2, RFC 9768: whatever the pattern, and although acknowledgements are delayed, the sender counts
/// exactly the bytes that were marked.
#[test]
fn rfc_8257_3_2_and_rfc_9768_are_exact() {
    let runs: Vec<u64> = [40..41, 60..63, 80..100, 101..102, 103..104, 150..151]
        .into_iter()
        .flatten()
        .collect();
    for ecn in [EcnConfig::DCTCP, EcnConfig::L4S] {
        let (mut p, events) = reducing(ecn);
        p.ways[SERVER].outcomes = marking(&runs);
        p.transfer(SERVER, 300 * MSS);
        assert!(p.run_to_quiet(p.now + ms(1_000)));
        let events = events.lock().unwrap();
        assert_eq!(events.echoed, runs.len() as u64 * MSS, "{ecn:?}");
        assert_eq!(events.acked, 300 * MSS);
        let expected = if ecn == EcnConfig::L4S {
            Ecn::Ect1
        } else {
            Ecn::Ect0
        };
        assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == expected));
        assert_eq!(p.stats(SERVER).retransmits, Packets::ZERO);
        // acknowledgements are still delayed where nothing changes
        assert!(p.acks(CLIENT).len() < 200, "{}", p.acks(CLIENT).len());
    }
}

/// A line that marks what would wait for longer than `threshold`.
fn marking_line(rate: BitRate, threshold: Duration) -> PacketOutcomes {
    let mut free_at = Instant::ZERO;
    Box::new(move |now, _, segment| {
        let start = free_at.max(now);
        free_at = start + segment.wire_bytes() / rate;
        if start > now + threshold && segment.ecn != Ecn::NotEct {
            PacketOutcome::Mark
        } else {
            PacketOutcome::Pass
        }
    })
}

/// A flow over a queue that marks keeps the line busy, loses nothing and sends nothing again; and the
/// queue stays near its threshold.
#[test]
fn a_marking_queue_is_obeyed_without_losses() {
    let rate = BitRate::from_mbps(20);
    // how long the queue may become once the flow has settled, and the minimum use of the line
    for (name, ecn, threshold, longest, busy) in [
        ("cubic", EcnConfig::CLASSIC, ms(20), ms(30), 0.95),
        ("newreno", EcnConfig::CLASSIC, ms(30), ms(40), 0.95),
        ("dctcp", EcnConfig::L4S, ms(5), ms(12), 0.93),
        ("dctcp", EcnConfig::DCTCP, ms(5), ms(12), 0.93),
        ("prague", EcnConfig::L4S, ms(5), ms(12), 0.93),
        ("cubic", EcnConfig::ACCURATE, ms(20), ms(30), 0.95),
    ] {
        let mut p = pipe([Some(ecn); 2], real(name, MSS));
        p.ways[SERVER].rate = rate;
        p.ways[SERVER].outcomes = marking_line(rate, threshold);
        p.establish();
        p.transfer(SERVER, 2_000_000);
        p.log.clear();
        let bytes = 20_000_000;
        let took = p.transfer(SERVER, bytes);
        let stats = p.stats(SERVER);
        assert_eq!(stats.retransmits, Packets::ZERO, "{name}");
        assert!(stats.marked_windows >= Packets::new(5), "{name}: {stats:?}");
        let min = Bytes::new(bytes / MSS * (MSS + 52)) / rate;
        let share = min.as_secs_f64() / took.as_secs_f64();
        assert!((busy..=1.0).contains(&share), "{name}: {share}");
        let srtt = stats.srtt.unwrap();
        assert!(srtt < ms(20) + longest, "{name}: {srtt}");
    }
}
