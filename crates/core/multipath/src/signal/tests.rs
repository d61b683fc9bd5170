//! Signals between an [`Outbox`] and an [`Inbox`], with what the network does to them.

use super::*;
use crate::auth::{Key, SessionKeys};
use crate::packet::{DccpOption, Hmac, Options};
use crate::seq::MpSeq;
use core::net::Ipv4Addr;
use proptest::prelude::*;
use units::{Duration, Instant};

const PATH: PathId = PathId(0);
const ROOM: usize = 500;

fn keys() -> (SessionKeys, SessionKeys) {
    let a = Key::from_random(1);
    let b = Key::from_random(2);
    (SessionKeys::new(a, b, None), SessionKeys::new(b, a, None))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn add(id: u8, last: u8) -> Signal {
    Signal::AddAddress {
        id: AddressId(id),
        address: Ipv4Addr::new(192, 0, 2, last).into(),
        port: None,
    }
}

const fn remove(id: u8) -> Signal {
    Signal::RemoveAddress { id: AddressId(id) }
}

const fn priority(bits: u8) -> Signal {
    Signal::Priority {
        path: PATH,
        priority: PathPriority::from_bits(bits),
    }
}

fn seq(n: u64) -> MpSeq {
    MpSeq::new(n)
}

/// What an outbox puts on a packet of that number.
fn packet(outbox: &mut Outbox, ms: u64, n: u64) -> Options {
    let mut options = Options::default();
    outbox.attach(at(ms), PATH, seq(n), ROOM, &keys().0, &mut options);
    options
}

fn confirms(inbox: &mut Inbox) -> Options {
    let mut options = Options::default();
    inbox.attach(ROOM, &mut options);
    options
}

fn take(inbox: &mut Inbox, options: &Options) -> Vec<Signal> {
    inbox.on_packet(PATH, options, &keys().1).to_vec()
}

/// A packet of that number with that signal and nonce.
fn options_of(signal: Signal, nonce: u32, n: u64) -> Options {
    let mut outbox = Outbox::new(OutboxConfig::default());
    outbox.push(at(0), signal, nonce).expect("it is empty");
    packet(&mut outbox, 0, n)
}

#[test]
fn a_signal_is_sent_confirmed_and_over() {
    let mut outbox = Outbox::new(OutboxConfig::default());
    let mut inbox = Inbox::new();
    outbox.push(at(0), add(2, 1), 77).expect("room");
    outbox.push(at(0), priority(1), 78).expect("room");
    assert!(outbox.needs_packet(at(0), PATH));
    let sent = packet(&mut outbox, 0, 12);
    assert_eq!(sent.mp_seq, Some(seq(12)));
    assert_eq!(sent.list.len(), 3, "address, its HMAC, priority");
    assert!(!outbox.needs_packet(at(0), PATH));
    assert_eq!(take(&mut inbox, &sent), [add(2, 1), priority(1)]);
    let answer = confirms(&mut inbox);
    let [DccpOption::Multipath(MpOption::Confirm(confirmed))] = &answer.list[..] else {
        panic!("{answer:?}");
    };
    let newest_first = [priority(1).option(0), add(2, 1).option(77)].map(|o| (o, seq(12)));
    assert_eq!(confirmed[..], newest_first);
    assert_eq!(outbox.on_packet(&answer)[..], [priority(1), add(2, 1)]);
    assert!(outbox.is_empty() && outbox.next_deadline().is_none());
    assert!(!inbox.needs_packet());
}

#[test]
fn a_signal_is_repeated_with_backoff_and_given_up() {
    let mut outbox = Outbox::new(OutboxConfig::default());
    outbox.push(at(0), remove(3), 1).expect("room");
    let mut sent = Vec::new();
    let mut n = 0;
    let mut given_up = Vec::new();
    while let Some(next) = outbox.next_deadline() {
        let ms = next.as_nanos() / 1_000_000;
        if outbox.needs_packet(next, PATH) {
            assert_eq!(packet(&mut outbox, ms, n).list.len(), 2);
            sent.push(ms);
            n += 1;
        } else {
            given_up.extend(outbox.give_up(next));
            sent.push(ms);
        }
    }
    // eight times, and given up 4 s after the last
    assert_eq!(sent, [0, 500, 1500, 3500, 7500, 11500, 15500, 19500, 23500]);
    assert_eq!(given_up, [remove(3)]);
    assert_eq!((outbox.counts().sent, outbox.counts().given_up), (8, 1));
}

/// A Confirm of an earlier number of the same signal counts; one of another number or of what took
/// the signal's place does not.
#[test]
fn confirms_match_option_and_number() {
    let confirm = |signal: Signal, nonce, n| Options {
        list: vec![DccpOption::Multipath(MpOption::Confirm(vec![(
            signal.option(nonce),
            seq(n),
        )]))],
        ..Options::default()
    };
    let mut outbox = Outbox::new(OutboxConfig::default());
    // RFC 9897 3.2.1: priority 0, then 1, then 0 again
    for (n, bits) in [(1, 0), (2, 1), (3, 0)] {
        outbox.push(at(n), priority(bits), 0).expect("same path");
        packet(&mut outbox, n, n);
    }
    packet(&mut outbox, 503, 4);
    assert!(outbox.on_packet(&confirm(priority(0), 0, 1)).is_empty());
    assert!(outbox.on_packet(&confirm(priority(1), 0, 2)).is_empty());
    assert!(outbox.on_packet(&confirm(priority(0), 0, 9)).is_empty());
    assert_eq!(outbox.counts().unmatched, 3);
    assert_eq!(
        outbox.on_packet(&confirm(priority(0), 0, 3))[..],
        [priority(0)]
    );
    assert!(outbox.is_empty());
}

#[test]
fn a_repeated_signal_is_confirmed_again_and_taken_once() {
    let mut inbox = Inbox::new();
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 7, 10)), [add(2, 1)]);
    assert!(inbox.needs_packet());
    confirms(&mut inbox);
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 7, 11)), []);
    let again = confirms(&mut inbox);
    let confirm = MpOption::Confirm(vec![(add(2, 1).option(7), seq(11))]);
    assert_eq!(again.list, [DccpOption::Multipath(confirm)]);
    // a refresh has a new nonce, and is taken
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 8, 12)), [add(2, 1)]);
    assert_eq!((inbox.counts().taken, inbox.counts().repeated), (2, 1));
}

#[test]
fn a_late_signal_is_outdated() {
    let mut inbox = Inbox::new();
    inbox.add_peer_address(AddressId(2));
    assert_eq!(take(&mut inbox, &options_of(remove(2), 2, 20)), [remove(2)]);
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 1, 19)), []);
    assert_eq!(
        take(&mut inbox, &options_of(priority(1), 0, 20)),
        [priority(1)]
    );
    assert_eq!(take(&mut inbox, &options_of(priority(4), 0, 18)), []);
    assert_eq!(inbox.counts().outdated, 2);
    // numbers wrap
    let mut inbox = Inbox::new();
    let last = (1 << 48) - 1;
    assert_eq!(
        take(&mut inbox, &options_of(priority(1), 0, last)),
        [priority(1)]
    );
    assert_eq!(
        take(&mut inbox, &options_of(priority(2), 0, 0)),
        [priority(2)]
    );
}

#[test]
fn an_id_belongs_to_one_address_until_it_is_removed() {
    let mut inbox = Inbox::new();
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 1, 1)), [add(2, 1)]);
    confirms(&mut inbox);
    assert_eq!(take(&mut inbox, &options_of(add(2, 99), 2, 2)), []);
    assert_eq!(inbox.counts().id_in_use, 1);
    assert!(!inbox.needs_packet(), "what is rejected is not confirmed");
    // the same address with a port is fine
    let with_port = Signal::AddAddress {
        id: AddressId(2),
        address: Ipv4Addr::new(192, 0, 2, 1).into(),
        port: Some(9),
    };
    assert_eq!(take(&mut inbox, &options_of(with_port, 3, 3)), [with_port]);
    assert_eq!(take(&mut inbox, &options_of(remove(2), 4, 4)), [remove(2)]);
    // an attacker who saw the first one repeats it later
    assert_eq!(take(&mut inbox, &options_of(add(2, 1), 1, 5)), []);
    assert_eq!(inbox.counts().replayed, 1);
    assert_eq!(
        take(&mut inbox, &options_of(add(2, 99), 6, 6)),
        [add(2, 99)]
    );
    assert_eq!(take(&mut inbox, &options_of(remove(7), 7, 7)), []);
    assert_eq!(inbox.counts().unknown_id, 1);
}

#[test]
fn what_is_not_proved_or_numbered_is_passed_over() {
    let mut inbox = Inbox::new();
    let mut unnumbered = options_of(add(2, 1), 1, 1);
    unnumbered.mp_seq = None;
    assert_eq!(take(&mut inbox, &unnumbered), []);
    let mut without = options_of(add(2, 1), 1, 1);
    without.list.pop();
    assert_eq!(take(&mut inbox, &without), []);
    let mut wrong = options_of(add(2, 1), 1, 1);
    wrong.list[1] = DccpOption::Multipath(MpOption::Hmac(Hmac([0; 20])));
    assert_eq!(take(&mut inbox, &wrong), []);
    // an HMAC that is not right behind belongs to no option
    let mut apart = options_of(add(2, 1), 1, 1);
    apart.list.insert(1, DccpOption::SlowReceiver);
    assert_eq!(take(&mut inbox, &apart), []);
    let counts = inbox.counts();
    assert_eq!(
        (counts.unnumbered, counts.unproved, counts.taken),
        (1, 3, 0)
    );
    assert!(!inbox.needs_packet());
}

#[test]
fn an_outbox_is_bounded_and_frees_ids_late() {
    let config = OutboxConfig {
        capacity: 2,
        ..OutboxConfig::default()
    };
    let mut outbox = Outbox::new(config);
    outbox.push(at(0), remove(1), 1).expect("room");
    let error = outbox.push(at(0), add(1, 1), 2).expect_err("not free");
    assert_eq!(
        error.to_string(),
        "address id 1 is being removed, and not free before the peer confirms that"
    );
    outbox.push(at(0), add(2, 2), 3).expect("room");
    let error = outbox.push(at(0), priority(2), 4).expect_err("full");
    assert_eq!(error, OutboxError::Full { capacity: 2 });
    // what takes the place of another needs no room
    outbox.push(at(0), remove(2), 5).expect("same id");
    assert_eq!(outbox.len(), 2);
}

#[test]
fn a_priority_goes_on_its_own_path_and_with_it() {
    let mut outbox = Outbox::new(OutboxConfig::default());
    outbox.push(at(0), priority(2), 0).expect("room");
    let other = PathId(1);
    assert!(!outbox.needs_packet(at(0), other));
    let mut options = Options::default();
    let added = outbox.attach(at(0), other, seq(1), ROOM, &keys().0, &mut options);
    assert_eq!((added, options), (0, Options::default()));
    outbox.remove_path(PATH);
    assert!(outbox.is_empty());
}

/// Options take the room that is given, and no more.
#[test]
fn room_is_kept_to() {
    let mut outbox = Outbox::new(OutboxConfig::default());
    let mut inbox = Inbox::new();
    for id in 0..10 {
        outbox
            .push(at(0), add(id, id), u32::from(id))
            .expect("room");
    }
    let size = |options: &Options| {
        let packet = crate::packet::Packet {
            source: 1,
            destination: 2,
            ccval: 0,
            seq: crate::seq::SeqNo::new(1),
            kind: crate::packet::Kind::Data,
            options: options.clone(),
        };
        crate::packet::encoded_len(&packet) - 16
    };
    let mut n = 0;
    while !outbox.is_empty() {
        let mut sent = Options::default();
        outbox.attach(at(0), PATH, seq(n), 100, &keys().0, &mut sent);
        // its number, and up to a word of padding
        assert!(size(&sent) <= 100 + 9 + 3, "{sent:?}");
        take(&mut inbox, &sent);
        let mut answer = Options::default();
        inbox.attach(60, &mut answer);
        assert!(size(&answer) <= 60 + 3, "{answer:?}");
        outbox.on_packet(&answer);
        n += 1;
        assert!(n < 30);
    }
    assert_eq!(inbox.counts().taken, 10);
}

proptest! {
    /// Whatever is lost, delayed or doubled: in the end the inbox has received the last signal of each
    /// dataset last, and the outbox is empty.
    #[test]
    fn the_last_signal_of_each_path_wins(
        bits in proptest::collection::vec(0..16u8, 1..8),
        outcomes in proptest::collection::vec(0..4u8, 0..40),
    ) {
        let mut outbox = Outbox::new(OutboxConfig { tries: 100, ..OutboxConfig::default() });
        let mut inbox = Inbox::new();
        let mut outcomes = outcomes.into_iter();
        let mut late: Vec<Options> = Vec::new();
        let mut received = None;
        let mut ms = 0;
        for (n, step) in bits.iter().map(Some).chain([None; 60]).enumerate() {
            if let Some(bits) = step {
                outbox.push(at(ms), priority(*bits), 0).expect("one path");
            }
            let sent = packet(&mut outbox, ms, n as u64);
            let arriving = match outcomes.next().unwrap_or(3) {
                0 => vec![],
                1 => { late.push(sent); vec![] }
                2 => { let mut all = vec![sent]; all.append(&mut late); all }
                _ => vec![sent.clone(), sent],
            };
            for options in arriving {
                received = take(&mut inbox, &options).pop().or(received);
            }
            let answer = confirms(&mut inbox);
            if outcomes.next().unwrap_or(3) > 0 {
                outbox.on_packet(&answer);
            }
            ms += 1000;
        }
        prop_assert!(outbox.is_empty());
        prop_assert_eq!(received, bits.last().map(|bits| priority(*bits)));
    }
}
