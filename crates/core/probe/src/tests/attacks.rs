//! What others may send: nothing is answered at length, and nothing changes.

use super::{AHEAD, NONCE, ue};
use crate::key::Secret;
use crate::message::{
    Control, Data, Malformed, Message, Nonce, Probe, Reason, Report, Request, decode, encode,
};
use crate::plan::tests::PLAN;
use crate::{Event, Server};
use core::net::SocketAddr;
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};

fn server() -> Server {
    Server::new(super::config(b"of both"), &[7; 32])
}

fn now() -> Instant {
    Instant::ZERO + AHEAD
}

fn written(message: &Message, length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    encode(message, &Secret::new(b"of both").opening, length, &mut out);
    out
}

fn hello(length: usize) -> Vec<u8> {
    written(&Message::Hello { client: NONCE }, length)
}

fn answer(server: &mut Server, from: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
    server.receive(now(), from, datagram);
    let mut out = Vec::new();
    let to = server.poll_transmit(now(), &mut out)?;
    assert_eq!(to, from);
    Some(out)
}

/// The Begin that follows a Challenge.
fn begin(server: &mut Server, from: SocketAddr) -> Vec<u8> {
    let challenge = answer(server, from, &hello(160)).expect("a challenge");
    let received = decode(&challenge).expect("a message");
    let Message::Challenge {
        client,
        server: nonce,
        cookie,
    } = received.message
    else {
        panic!("{received:?}");
    };
    written(
        &Message::Begin {
            client,
            server: nonce,
            cookie,
            request: PLAN.request(),
        },
        0,
    )
}

#[test]
fn an_answer_before_the_session_is_no_longer_than_its_question() {
    let mut server = server();
    // not padded: it might ask for more than it has sent
    assert_eq!(answer(&mut server, ue(), &hello(0)), None);
    let challenge = answer(&mut server, ue(), &hello(160)).expect("a challenge");
    assert!(challenge.len() < 160);
    let begin = begin(&mut server, ue());
    let accept = answer(&mut server, ue(), &begin).expect("accepted");
    assert!(accept.len() < begin.len());
    assert_eq!((server.sessions(), server.refused()), (1, 1));
    // the same once more, since the answer may have been lost
    assert_eq!(answer(&mut server, ue(), &begin), Some(accept));
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_begin_from_another_address_opens_nothing() {
    let mut server = server();
    let begin = begin(&mut server, ue());
    for other in [
        SocketAddr::from(([192, 0, 2, 1], 40_001)),
        SocketAddr::from(([198, 51, 100, 1], 40_000)),
    ] {
        assert_eq!(answer(&mut server, other, &begin), None);
    }
    assert_eq!(server.sessions(), 0);
}

#[test]
fn a_recorded_begin_opens_no_second_session() {
    let mut server = server();
    let begin = begin(&mut server, ue());
    answer(&mut server, ue(), &begin).expect("accepted");
    let later = now() + Duration::from_secs(31);
    server.expire(later);
    assert_eq!(server.sessions(), 0);
    server.receive(later, ue(), &begin);
    assert_eq!(server.sessions(), 0);
    // nor when the server has forgotten it: the cookie is too old
    let later = later + Duration::from_secs(121);
    server.expire(later);
    server.receive(later, ue(), &begin);
    assert_eq!(server.sessions(), 0);
    let began = std::iter::from_fn(|| server.poll_event());
    let began = began.filter(|event| matches!(event, Event::Began { .. }));
    assert_eq!(began.count(), 1);
}

#[test]
fn a_control_of_an_older_time_changes_nothing() {
    let mut server = server();
    let begin = begin(&mut server, ue());
    let accept = answer(&mut server, ue(), &begin).expect("accepted");
    let (Message::Accept { session, .. }, Message::Begin { server: nonce, .. }) = (
        decode(&accept).expect("a message").message,
        decode(&begin).expect("a message").message,
    ) else {
        panic!("no session");
    };
    let keys = Secret::new(b"of both").session(&NONCE, &nonce);
    let control = |counter: u64, send: bool| {
        let control = Control {
            session,
            counter,
            at: Instant::ZERO,
            send,
            round: 1,
            next: 0,
            arrivals: 0,
        };
        let mut out = Vec::new();
        encode(&Message::Control(control), &keys.up, 0, &mut out);
        out
    };
    let sends = |server: &mut Server| {
        let mut out = Vec::new();
        let all = std::iter::from_fn(|| server.poll_transmit(now(), &mut out).map(|_| out.len()));
        all.filter(|length| *length > 1_000).count()
    };
    server.receive(now(), ue(), &control(5, true));
    assert!(sends(&mut server) > 0);
    server.receive(now(), ue(), &control(6, false));
    server.receive(now(), ue(), &control(5, true));
    assert_eq!(sends(&mut server), 0);
    // of the right session, from elsewhere
    let elsewhere = SocketAddr::from(([198, 51, 100, 1], 40_000));
    server.receive(now(), elsewhere, &control(7, true));
    assert_eq!(sends(&mut server), 0);
}

fn nonce() -> impl Strategy<Value = Nonce> {
    any::<[u8; 16]>()
}

fn instant() -> impl Strategy<Value = Instant> + Clone {
    any::<u64>().prop_map(Instant::from_nanos)
}

fn arrival() -> impl Strategy<Value = crate::message::Arrival> {
    (any::<u64>(), any::<u32>(), any::<i64>(), any::<u32>()).prop_map(
        |(at_ms, bytes, delay_ns, round)| crate::message::Arrival {
            at_ms,
            bytes: Bytes::new(bytes.into()),
            delay_ns,
            round,
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let request = (any::<[u64; 4]>()).prop_map(|[down, up, duration, packet]| Request {
        down: units::BitRate::from_bps(down),
        up: units::BitRate::from_bps(up),
        duration: Duration::from_nanos(duration),
        packet: Bytes::new(packet),
    });
    let reason = prop_oneof![
        Just(Reason::Busy),
        Just(Reason::Rate),
        Just(Reason::Duration),
        Just(Reason::Packet)
    ];
    let control = (any::<[u64; 4]>(), instant(), any::<bool>(), any::<u32>());
    let report = (
        any::<[u64; 5]>(),
        [instant(), instant(), instant()],
        prop::collection::vec(arrival(), 0..=40),
    );
    let probe = (
        any::<u64>(),
        any::<u32>(),
        any::<u16>(),
        instant(),
        instant(),
    )
        .prop_map(|(session, train, index, at, turned)| Probe {
            session,
            train,
            index,
            at,
            turned,
        });
    prop_oneof![
        nonce().prop_map(|client| Message::Hello { client }),
        (nonce(), nonce(), nonce()).prop_map(|(client, server, cookie)| Message::Challenge {
            client,
            server,
            cookie
        }),
        (nonce(), nonce(), nonce(), request).prop_map(|(client, server, cookie, request)| {
            Message::Begin {
                client,
                server,
                cookie,
                request,
            }
        }),
        (nonce(), any::<u64>()).prop_map(|(client, session)| Message::Accept { client, session }),
        (nonce(), reason, any::<u64>()).prop_map(|(client, reason, limit)| Message::Refuse {
            client,
            reason,
            limit
        }),
        control.prop_map(|([session, counter, next, arrivals], at, send, round)| {
            Message::Control(Control {
                session,
                counter,
                at,
                send,
                round,
                next,
                arrivals,
            })
        }),
        report.prop_map(
            |([session, counter, next, received, first], [echo, came, sent], arrivals)| {
                Message::Report(Report {
                    session,
                    counter,
                    echo,
                    came,
                    sent,
                    next,
                    received,
                    first,
                    arrivals,
                })
            }
        ),
        (any::<[u64; 2]>(), any::<u32>(), instant()).prop_map(|([session, number], round, at)| {
            Message::Data(Data {
                session,
                number,
                round,
                at,
            })
        }),
        probe.clone().prop_map(Message::Probe),
        probe.prop_map(Message::Echo),
        any::<u64>().prop_map(|session| Message::End { session }),
        any::<u64>().prop_map(|session| Message::Ended { session }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_a_changed_bit_is_noticed(
        message in message(),
        length in 0_usize..1_500,
        place: prop::sample::Index,
        bit in 0_u8..8,
    ) {
        let key = Secret::new(b"a").opening;
        let is_padded = matches!(
            message,
            Message::Hello { .. } | Message::Data(_) | Message::Probe(_) | Message::Echo(_)
        );
        let mut bytes = Vec::new();
        encode(&message, &key, if is_padded { length } else { 0 }, &mut bytes);
        let received = decode(&bytes).expect("a message");
        prop_assert!(received.is_by(&key));
        prop_assert!(!received.is_by(&Secret::new(b"b").opening));
        prop_assert_eq!(&received.message, &message);
        let mut end = Vec::new();
        encode(&message, &key, 0, &mut end);
        let place = place.index(end.len());
        bytes[place] ^= 1 << bit;
        prop_assert!(!decode(&bytes).is_ok_and(|changed| changed.is_by(&key)));
        bytes[place] ^= 1 << bit;
        // cut, or longer: another message, or none
        let longer = [&bytes[..], &[0]].concat();
        prop_assert!(!decode(&longer).is_ok_and(|changed| changed.is_by(&key)));
        let shorter = &bytes[..bytes.len() - 1];
        prop_assert!(!decode(shorter).is_ok_and(|changed| changed.is_by(&key)));
    }

    #[test]
    fn any_bytes_are_refused_without_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut server = server();
        prop_assert_eq!(answer(&mut server, ue(), &bytes), None);
        prop_assert_eq!(server.refused(), 1);
        prop_assert!(decode(&bytes).is_err() || bytes.len() >= 20);
    }
}

#[test]
fn messages_of_another_version_or_kind_are_none() {
    let mut bytes = hello(0);
    bytes[2] += 1;
    assert_eq!(decode(&bytes).map(drop), Err(Malformed::Value));
    let mut bytes = hello(0);
    bytes[3] = 99;
    assert_eq!(decode(&bytes).map(drop), Err(Malformed::Value));
    assert_eq!(decode(&[]).map(drop), Err(Malformed::Short));
    let long = vec![0; 70_000];
    assert_eq!(decode(&long).map(drop), Err(Malformed::Long));
}
