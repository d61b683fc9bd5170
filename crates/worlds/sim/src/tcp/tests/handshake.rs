//! Opening and closing.

use super::super::{CloseReason, Connection, Flags};
use super::controllers::Fixed;
use super::pipe::{CLIENT, PacketOutcome, Pipe, SERVER, at, config, ms};
use units::{Duration, Instant};

fn pipe() -> Pipe {
    Pipe::new(
        [config(), config()],
        Box::new(Fixed::new(10_000)),
        Box::new(Fixed::new(10_000)),
    )
}

/// Drops the first `count` segments with all of these bits.
fn drop_first(flags: Flags, mut count: u32) -> super::pipe::PacketOutcomes {
    Box::new(move |_, _, segment| {
        if count > 0 && segment.flags.contains(flags) {
            count -= 1;
            return PacketOutcome::Drop;
        }
        PacketOutcome::Pass
    })
}

#[test]
fn rfc_9293_3_5_three_segments_open_a_connection() {
    let mut p = pipe();
    p.run_until(at(15));
    assert!(!p.ends[CLIENT].is_established() && !p.ends[SERVER].is_established());
    p.run_until(at(21));
    assert!(p.ends[CLIENT].is_established() && !p.ends[SERVER].is_established());
    p.run_until(at(31));
    assert!(p.ends[SERVER].is_established());
    let flags: Vec<Flags> = p.log.iter().map(|d| d.segment.flags).collect();
    assert_eq!(flags, [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK]);
    // 20 ms of delay and 2 x 60 bytes at 1 Gbit/s; the client's ACK has 52
    let srtt = p.stats(CLIENT).srtt.unwrap();
    assert_eq!(srtt, ms(20) + Duration::from_nanos(960));
    assert!(p.run_to_quiet(at(5_000)), "nothing is left to do");
}

#[test]
fn rfc_7323_2_2_a_syn_is_not_scaled() {
    let mut p = pipe();
    p.run_until(at(40));
    let windows: Vec<u64> = p.log.iter().map(|d| d.segment.window).collect();
    assert_eq!(windows, [65_535, 65_535, 1 << 20]);
}

#[test]
fn a_lost_syn_is_repeated_after_one_second_then_two() {
    let mut p = pipe();
    p.ways[CLIENT].outcomes = drop_first(Flags::SYN, 2);
    p.run_until(at(4_000));
    let sent: Vec<Instant> = p
        .log
        .iter()
        .filter(|d| d.segment.flags == Flags::SYN)
        .map(|d| d.at)
        .collect();
    assert_eq!(sent, [at(0), at(1_000), at(3_000)]);
    assert!(p.ends.iter().all(Connection::is_established));
    // RFC 7323 4.1: the echo reports which of them was answered
    assert!(p.stats(CLIENT).srtt.unwrap() < ms(21));
    assert_eq!(p.stats(CLIENT).retransmits.get(), 2);
}

#[test]
fn a_lost_syn_ack_is_repeated() {
    let mut p = pipe();
    p.ways[SERVER].outcomes = drop_first(Flags::SYN | Flags::ACK, 1);
    p.run_until(at(2_000));
    assert!(p.ends.iter().all(Connection::is_established));
}

#[test]
fn a_lost_third_segment_is_made_up_by_data() {
    let mut p = pipe();
    p.ways[CLIENT].outcomes = drop_first(Flags::ACK, 1);
    p.run_until(at(25));
    p.write(CLIENT, 500);
    p.run_until(at(40));
    assert!(p.ends[SERVER].is_established());
    assert_eq!(p.bytes_read(SERVER), 500);
}

#[test]
fn without_an_answer_the_client_gives_up() {
    let mut p = pipe();
    p.ways[CLIENT].outcomes = Box::new(|_, _, _| PacketOutcome::Drop);
    p.run_until(at(200_000));
    assert_eq!(p.log.len(), 7, "a SYN and six repeats");
    // 1 + 2 + 4 + 8 + 16 + 32 + 64 s
    assert_eq!(p.ends[CLIENT].close_reason(), Some(CloseReason::TimedOut));
}

#[test]
fn data_written_before_the_handshake_follows_it() {
    let mut p = pipe();
    p.write(CLIENT, 5_000);
    p.write(SERVER, 5_000);
    p.run_until(at(60));
    assert_eq!((p.bytes_read(CLIENT), p.bytes_read(SERVER)), (5_000, 5_000));
}

#[test]
fn rfc_9293_3_6_each_direction_closes_by_itself() {
    let mut p = pipe();
    p.establish();
    p.write(CLIENT, 2_500);
    p.ends[CLIENT].close(p.now);
    p.pump(CLIENT);
    p.run_until(at(80));
    assert!(p.ends[SERVER].peer_closed() && !p.ends[CLIENT].peer_closed());
    assert!(!p.ends[CLIENT].is_closed());
    assert!(p.ends[CLIENT].is_all_acked());
    // the other direction still works
    p.write(SERVER, 3_000);
    p.ends[SERVER].close(p.now);
    p.pump(SERVER);
    p.run_until(at(200));
    assert_eq!(p.bytes_read(CLIENT), 3_000);
    for end in &p.ends {
        assert_eq!(end.close_reason(), Some(CloseReason::Finished));
        assert_eq!(end.next_deadline(), None);
    }
    assert_eq!(
        p.ends[CLIENT]
            .write(p.now, units::Bytes::new(1), None)
            .get(),
        0
    );
}

#[test]
fn a_fin_leaves_with_the_last_data_and_is_repeated_if_lost() {
    let mut p = pipe();
    p.establish();
    p.ways[CLIENT].outcomes = drop_first(Flags::FIN, 1);
    p.ends[CLIENT].write(p.now, units::Bytes::new(2_500), None);
    p.ends[CLIENT].close(p.now);
    p.pump(CLIENT);
    p.run_until(at(1_000));
    assert!(p.ends[SERVER].peer_closed());
    let fins = p
        .log
        .iter()
        .filter(|d| d.from == CLIENT && d.segment.flags.contains(Flags::FIN));
    let lens: Vec<u32> = fins.map(|d| d.segment.len).collect();
    assert_eq!(lens, [500, 500]);
    assert_eq!(p.stats(CLIENT).bytes_acked.get(), 2_500);
}

#[test]
fn the_acknowledgement_of_a_fin_is_repeated_after_the_end() {
    let mut p = pipe();
    p.establish();
    for end in [CLIENT, SERVER] {
        p.ends[end].close(p.now);
    }
    p.pump(CLIENT);
    p.run_until(at(55));
    // the server's FIN arrives, but the client's acknowledgements from now on are lost for a while
    p.ways[CLIENT].outcomes = Box::new(|now, _, _| {
        if now < at(400) {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    });
    p.pump(SERVER);
    p.run_until(at(5_000));
    for end in &p.ends {
        assert_eq!(end.close_reason(), Some(CloseReason::Finished));
    }
}

#[test]
fn an_abort_resets_the_peer() {
    let mut p = pipe();
    p.establish();
    p.write(SERVER, 50_000);
    p.run_until(at(45));
    p.ends[CLIENT].abort();
    p.pump(CLIENT);
    p.run_until(at(100));
    assert_eq!(p.ends[CLIENT].close_reason(), Some(CloseReason::Aborted));
    assert_eq!(p.ends[SERVER].close_reason(), Some(CloseReason::Reset));
    assert!(p.ends.iter().all(|e| e.next_deadline().is_none()));
}
