//! Accurate feedback between two ends: what they agree on, marks through loss, and nodes that change headers.

use super::super::{Config, EcnConfig, Flags, Segment};
use super::controllers::{Events, Fixed};
use super::pipe::{
    CLIENT, Departure, MSS, PacketOutcome, PacketOutcomes, Pipe, Rewriting, SERVER, at, config, ms,
};
use queue::Ecn;
use std::sync::{Arc, Mutex};
use units::{Bytes, Packets};

const ACE: [Flags; 3] = [Flags::AE, Flags::CWR, Flags::ECE];

fn bits(ae: u8, cwr: u8, ece: u8) -> Flags {
    let [a, c, e] = ACE;
    a.when(ae == 1) | c.when(cwr == 1) | e.when(ece == 1)
}

/// The three flags alone.
fn ace(segment: &Segment) -> Flags {
    let is_set = |flag| flag_of(segment, flag);
    ACE.into_iter()
        .map(is_set)
        .fold(Flags::NONE, |all, flag| all | flag)
}

fn flag_of(segment: &Segment, flag: Flags) -> Flags {
    flag.when(segment.flags.contains(flag))
}

/// A connection whose server has a window of 20 segments, and what its controller is told.
fn pipe(ecn: [Option<EcnConfig>; 2]) -> (Pipe, Arc<Mutex<Events>>) {
    let sender = Fixed::new(20 * MSS);
    let events = sender.events();
    let configs = ecn.map(|ecn| Config { ecn, ..config() });
    let pipe = Pipe::new(configs, Box::new(Fixed::new(20 * MSS)), Box::new(sender));
    (pipe, events)
}

fn l4s() -> (Pipe, Arc<Mutex<Events>>) {
    pipe([Some(EcnConfig::L4S); 2])
}

/// RFC 9768 table 2, its columns of SYN and SYN-ACK, and what data is then: of the client, of the server.
#[test]
fn rfc_9768_table_2_the_negotiation() {
    const L4S: Option<EcnConfig> = Some(EcnConfig::L4S);
    const ACCURATE: Option<EcnConfig> = Some(EcnConfig::ACCURATE);
    const CLASSIC: Option<EcnConfig> = Some(EcnConfig::CLASSIC);
    use Ecn::{Ect0, Ect1, NotEct};
    let (accurate, classic, none) = (bits(1, 1, 1), bits(0, 1, 1), Flags::NONE);
    let (agreed, ece) = (bits(0, 1, 0), bits(0, 0, 1));
    for (ends, syn, syn_ack, data) in [
        ([L4S, L4S], accurate, agreed, [Ect1, Ect1]),
        ([ACCURATE, ACCURATE], accurate, agreed, [Ect0, Ect0]),
        ([L4S, ACCURATE], accurate, agreed, [Ect1, Ect0]),
        // an L4S sender has nothing to send to a peer that cannot count
        ([L4S, CLASSIC], accurate, ece, [NotEct, Ect0]),
        ([ACCURATE, CLASSIC], accurate, ece, [Ect0, Ect0]),
        ([L4S, None], accurate, none, [NotEct, NotEct]),
        ([CLASSIC, L4S], classic, ece, [Ect0, NotEct]),
        ([CLASSIC, ACCURATE], classic, ece, [Ect0, Ect0]),
        ([CLASSIC, CLASSIC], classic, ece, [Ect0, Ect0]),
        ([None, L4S], none, none, [NotEct, NotEct]),
        ([None, None], none, none, [NotEct, NotEct]),
    ] {
        let (mut p, _) = pipe(ends);
        p.run_until(at(60));
        assert_eq!(ace(&p.log[0].segment), syn, "{ends:?}");
        assert_eq!(ace(&p.log[1].segment), syn_ack, "{ends:?}");
        for end in [CLIENT, SERVER] {
            p.transfer(end, 20 * MSS);
            let sent = p.data(end);
            assert!(sent.iter().all(|d| d.segment.ecn == data[end]), "{ends:?}");
            assert_eq!(p.stats(end).codepoint, data[end], "{ends:?}");
        }
    }
}

#[test]
fn rfc_9768_3_2_2_1_the_third_segment_states_how_the_syn_ack_arrived() {
    for (arrives, code) in [
        (Ecn::NotEct, bits(0, 1, 0)),
        (Ecn::Ect1, bits(0, 1, 1)),
        (Ecn::Ect0, bits(1, 0, 0)),
        (Ecn::Ce, bits(1, 1, 0)),
    ] {
        let (mut p, _) = l4s();
        p.ways[SERVER].rewriting = Box::new(move |segment| {
            if segment.flags.contains(Flags::SYN) {
                segment.ecn = arrives;
            }
        });
        // data that is there at once waits for that segment
        p.ends[CLIENT].write(at(0), Bytes::new(MSS), None);
        p.run_until(at(60));
        let third = &p.log[2].segment;
        assert_eq!((ace(third), third.len), (code, 0));
        assert!(third.accecn.is_some(), "the path is tested");
        // 5, or 6 with the marked SYN-ACK
        let counter = if arrives == Ecn::Ce {
            bits(1, 1, 0)
        } else {
            bits(1, 0, 1)
        };
        assert_eq!(ace(&p.log[3].segment), counter);
        // a codepoint that was not sent: the server sends none
        p.transfer(SERVER, 20 * MSS);
        let expected = if arrives == Ecn::NotEct {
            Ecn::Ect1
        } else {
            Ecn::NotEct
        };
        assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == expected));
        assert_eq!(p.stats(SERVER).codepoint, expected);
    }
}

#[test]
fn rfc_9768_3_2_2_3_a_syn_that_became_ecn_capable_stops_the_client() {
    let (mut p, _) = l4s();
    p.ways[CLIENT].rewriting = Box::new(|segment| {
        if segment.flags.contains(Flags::SYN) {
            segment.ecn = Ecn::Ect0;
        }
    });
    p.run_until(at(60));
    assert_eq!(ace(&p.log[1].segment), bits(1, 0, 0));
    p.transfer(CLIENT, 20 * MSS);
    assert!(p.data(CLIENT).iter().all(|d| d.segment.ecn == Ecn::NotEct));
    p.transfer(SERVER, 20 * MSS);
    assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == Ecn::Ect1));
}

/// Drops the first segments with or without SYN.
fn dropping_first(mut count: u32) -> PacketOutcomes {
    Box::new(move |_, _, _| {
        if count == 0 {
            return PacketOutcome::Pass;
        }
        count -= 1;
        PacketOutcome::Drop
    })
}

#[test]
fn rfc_9768_3_1_4_1_the_third_syn_is_without() {
    let (mut p, _) = l4s();
    p.ways[CLIENT].outcomes = dropping_first(1);
    p.run_until(at(1_100));
    assert_eq!(ace(&p.log[1].segment), bits(1, 1, 1), "the second");
    assert_eq!(ace(&p.log[2].segment), bits(0, 1, 0));
    let (mut p, _) = l4s();
    p.ways[CLIENT].outcomes = dropping_first(2);
    p.run_until(at(3_200));
    assert_eq!(ace(&p.log[2].segment), Flags::NONE, "the third");
    assert_eq!(ace(&p.log[3].segment), Flags::NONE);
    p.transfer(SERVER, 20 * MSS);
    assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == Ecn::NotEct));
}

#[test]
fn rfc_9768_3_2_3_2_2_a_syn_ack_that_is_repeated_has_no_option_then_no_flags() {
    let syn_acks = |p: &Pipe| -> Vec<(Flags, bool)> {
        let answers = p.log.iter().filter(|d| d.from == SERVER);
        let answers = answers.filter(|d| d.segment.flags.contains(Flags::SYN));
        let of = |d: &Departure| (ace(&d.segment), d.segment.accecn.is_some());
        answers.map(of).collect()
    };
    let (mut p, _) = l4s();
    p.ways[SERVER].outcomes = dropping_first(3);
    p.run_until(at(900));
    assert_eq!(syn_acks(&p)[..], [(bits(0, 1, 0), true)]);
    p.run_until(at(1_100));
    assert_eq!(syn_acks(&p)[1], (bits(0, 1, 0), false));
    p.run_until(at(10_000));
    assert_eq!(
        syn_acks(&p)[2..].iter().map(|of| of.0).collect::<Vec<_>>(),
        vec![Flags::NONE; syn_acks(&p).len() - 2]
    );
    // 3.1.5: having sent that, the server is never ECN-capable
    p.run_until(at(100_000));
    p.transfer(SERVER, 20 * MSS);
    assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == Ecn::NotEct));
}

/// Marks data segments whose place in the sequence leaves one of these remainders of 20.
fn marking(places: &'static [u64]) -> PacketOutcomes {
    Box::new(move |_, _, segment| {
        let place = segment.seq / MSS % 20;
        if segment.len > 0 && !segment.is_retransmission && places.contains(&place) {
            PacketOutcome::Mark
        } else {
            PacketOutcome::Pass
        }
    })
}

/// Lets one of `n` acknowledgements pass.
fn thinning(n: u64) -> PacketOutcomes {
    let mut count = 0;
    Box::new(move |_, _, segment| {
        count += u64::from(segment.len == 0);
        if count > 2 && !count.is_multiple_of(n) {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    })
}

fn stripping_options() -> Rewriting {
    Box::new(|segment| segment.accecn = None)
}

/// What the client received marked, what the peer reported of it, and what the controller was given, in segments.
fn counted(p: &Pipe, events: &Arc<Mutex<Events>>) -> [u64; 3] {
    let received = p.stats(CLIENT).marks_received.get();
    let reported = p.stats(SERVER).marks_reported.get();
    [received, reported, events.lock().unwrap().echoed / MSS]
}

const RUNS: [&[u64]; 4] = [
    &[3],
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    &[0, 2, 4, 6, 8],
    &[
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    ],
];

#[test]
fn marks_are_exact_while_acknowledgements_arrive() {
    for has_options in [true, false] {
        for places in RUNS {
            let (mut p, events) = l4s();
            p.ways[SERVER].outcomes = marking(places);
            if !has_options {
                p.ways[CLIENT].rewriting = stripping_options();
            }
            p.establish();
            p.transfer(SERVER, 400 * MSS);
            p.run_until(p.now + ms(500));
            let marks = places.len() as u64 * 20;
            assert_eq!(counted(&p, &events), [marks; 3], "{places:?} {has_options}");
        }
    }
}

#[test]
fn with_options_marks_are_exact_through_thinned_acknowledgements() {
    for n in [2, 3, 5, 9] {
        for places in RUNS {
            let (mut p, events) = l4s();
            p.establish();
            p.ways[SERVER].outcomes = marking(places);
            p.transfer(SERVER, 20 * MSS);
            p.ways[CLIENT].outcomes = thinning(n);
            p.transfer(SERVER, 1_000 * MSS);
            p.ways[CLIENT].outcomes = Box::new(|_, _, _| PacketOutcome::Pass);
            p.transfer(SERVER, 20 * MSS);
            p.run_until(p.now + ms(1_000));
            let [received, reported, given] = counted(&p, &events);
            assert_eq!(
                (reported, given),
                (received, received),
                "1 of {n}, {places:?}"
            );
        }
    }
}

#[test]
fn rfc_9768_3_2_2_5_2_without_options_thinned_acknowledgements_show_no_fewer_marks() {
    for n in [2, 3, 5, 9] {
        for places in RUNS {
            let (mut p, events) = l4s();
            p.ways[CLIENT].rewriting = stripping_options();
            p.establish();
            p.ways[SERVER].outcomes = marking(places);
            p.transfer(SERVER, 20 * MSS);
            p.ways[CLIENT].outcomes = thinning(n);
            p.transfer(SERVER, 1_000 * MSS);
            p.ways[CLIENT].outcomes = Box::new(|_, _, _| PacketOutcome::Pass);
            p.transfer(SERVER, 20 * MSS);
            p.run_until(p.now + ms(1_000));
            let [received, reported, given] = counted(&p, &events);
            assert!(
                reported >= received,
                "1 of {n}, {places:?}: {reported} {received}"
            );
            assert!(
                given >= received,
                "1 of {n}, {places:?}: {given} {received}"
            );
            if n <= 2 {
                assert_eq!((reported, given), (received, received), "{places:?}");
            }
        }
    }
}

/// 3.2: what was lost was not counted; what is sent again is not ECN-capable.
#[test]
fn with_options_marks_are_exact_through_lost_data() {
    for places in RUNS {
        let (mut p, events) = l4s();
        let mut mark = marking(places);
        let mut count = 0;
        p.ways[SERVER].outcomes = Box::new(move |now, n, segment| {
            count += u64::from(segment.len > 0);
            if segment.len > 0 && count.is_multiple_of(37) {
                return PacketOutcome::Drop;
            }
            mark(now, n, segment)
        });
        p.establish();
        p.transfer(SERVER, 600 * MSS);
        p.run_until(p.now + ms(1_000));
        assert!(p.stats(SERVER).retransmits > Packets::ZERO);
        let [received, reported, given] = counted(&p, &events);
        assert_eq!((reported, given), (received, received), "{places:?}");
    }
}

/// 3.2.2.5.1 and 3.2.3.3.
#[test]
fn acknowledgements_carry_the_counters_of_what_has_arrived() {
    let (mut p, _) = l4s();
    p.ways[SERVER].outcomes = marking(&[10]);
    p.run_until(at(60));
    p.transfer(SERVER, 60 * MSS);
    let acks: Vec<Segment> = p.acks(CLIENT).iter().map(|d| d.segment).collect();
    let data: Vec<&Segment> = acks.iter().filter(|ack| ack.ack > MSS).collect();
    for ack in &data {
        let option = ack.accecn.expect("something has arrived");
        let [e0b, ceb, e1b] = option.counts();
        let marks = (ack.ack - 1) / MSS / 20 + u64::from((ack.ack - 1) / MSS % 20 > 10);
        // before the first mark the field is left out
        assert_eq!(ceb, (marks > 0).then_some(marks * MSS), "{ack:?}");
        assert_eq!((e0b, e1b), (None, Some(ack.ack - marks * MSS)), "{ack:?}");
        assert_eq!(ack.wire_bytes(), Bytes::new(52 + 8));
    }
    assert!(data.len() >= 30, "{}", data.len());
}

#[test]
fn a_node_that_clears_the_flags_leaves_a_sender_without_ecn() {
    let (mut p, events) = l4s();
    p.ways[CLIENT].rewriting = Box::new(|segment| {
        if !segment.flags.contains(Flags::SYN) {
            segment.flags = Flags::ACK | flag_of(segment, Flags::FIN);
        }
    });
    p.ways[SERVER].outcomes = marking(&[3]);
    p.run_until(at(60));
    p.transfer(SERVER, 100 * MSS);
    assert!(p.data(SERVER).iter().all(|d| d.segment.ecn == Ecn::NotEct));
    assert_eq!(events.lock().unwrap().echoed, 0);
}

#[test]
fn a_path_that_clears_the_codepoint_is_found_by_options_that_stay_away() {
    let (mut p, events) = l4s();
    p.ways[SERVER].rewriting = Box::new(|segment| segment.ecn = Ecn::NotEct);
    p.establish();
    p.transfer(SERVER, 200 * MSS);
    let data = p.data(SERVER);
    assert_eq!(data[0].segment.ecn, Ecn::Ect1);
    let capable = data.iter().filter(|d| d.segment.ecn == Ecn::Ect1).count();
    assert!((10..=40).contains(&capable), "{capable}");
    assert_eq!(data.last().unwrap().segment.ecn, Ecn::NotEct);
    assert_eq!(events.lock().unwrap().echoed, 0);
}

/// 3.1.5: CWR means nothing but a bit of the counter.
#[test]
fn a_sender_that_reduces_does_not_announce_it() {
    let sender = Fixed::new(20 * MSS).reducing_to(10 * MSS);
    let configs = [Some(EcnConfig::L4S); 2].map(|ecn| Config { ecn, ..config() });
    let mut p = Pipe::new(configs, Box::new(Fixed::new(10_000)), Box::new(sender));
    p.establish();
    p.ways[SERVER].outcomes = marking(&[3]);
    p.transfer(SERVER, 200 * MSS);
    assert!(p.stats(SERVER).marked_windows > Packets::ZERO);
    let five = bits(1, 0, 1);
    assert!(p.data(SERVER).iter().all(|d| ace(&d.segment) == five));
}
