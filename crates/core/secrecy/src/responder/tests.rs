use super::*;
use crate::initiator::{Initiator, Input, Local};
use std::sync::Arc;

const NOW: Instant = Instant::ZERO;

fn key(byte: u8) -> PrivateKey {
    PrivateKey::from_bytes([byte; 32])
}

fn server(clients: &[u8]) -> Responder {
    let of = |byte: &u8| Client {
        key: key(*byte).public(),
        shared: SharedSecret::default(),
    };
    let config = ResponderConfig {
        key: key(200),
        clients: clients.iter().map(of).collect(),
        algorithms: Algorithms::new(true),
        limits: Limits::default(),
    };
    Responder::new(config, &[9; 32], LinkId(0))
}

fn client(byte: u8) -> Initiator {
    Initiator::new(Arc::new(Local {
        key: key(byte),
        server: key(200).public(),
        shared: SharedSecret::default(),
        algorithms: Algorithms::new(true),
        limits: Limits::default(),
    }))
}

struct Counted(u64);

impl Entropy for Counted {
    fn draw(&mut self) -> Option<[u8; 32]> {
        self.0 += 1;
        let mut bytes = [3; 32];
        bytes[..8].copy_from_slice(&(self.0 << 32 | self.0).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.0.to_be_bytes());
        Some(bytes)
    }
}

fn from(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 5))
}

fn hand(
    server: &mut Responder,
    at: (Channel, SocketAddr),
    data: &[u8],
    entropy: &mut Counted,
) -> Result<Received, Refused> {
    server.receive(NOW, at.0, at.1, &mut data.to_vec(), entropy)
}

const UDP: Channel = Channel::Datagrams;

/// A whole handshake; the link, the Init and the first packet.
fn connect(
    server: &mut Responder,
    client: &mut Initiator,
    entropy: &mut Counted,
) -> (LinkId, Vec<u8>, Vec<u8>) {
    let init = client.poll_transmit(NOW, entropy).expect("an Init");
    let got = hand(server, (UDP, from(1)), &init, entropy).expect("accepted");
    let mut answer = got.answer.expect("a Response");
    assert_eq!(client.receive(NOW, &mut answer), Ok(Input::Established));
    let first = client.poll_transmit(NOW, entropy).expect("a packet");
    let got = hand(server, (UDP, from(1)), &first, entropy).expect("accepted");
    assert!(got.is_new);
    let mut answer = got.answer.expect("a confirmation");
    assert!(matches!(
        client.receive(NOW, &mut answer),
        Ok(Input::Data(_))
    ));
    (got.data.expect("a link").0, init, first)
}

#[test]
fn who_has_no_clients_key_is_refused_and_nothing_is_kept() {
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let mut other = client(2);
    let init = other.poll_transmit(NOW, &mut entropy).expect("an Init");
    let got = hand(&mut server, (UDP, from(1)), &init, &mut entropy);
    assert_eq!(got, Err(Refused::UnknownClient));
    // all but the second code, which counts under load only
    for bit in 0..(init.len() - 16) * 8 {
        let mut changed = init.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let got = hand(&mut server, (UDP, from(1)), &changed, &mut entropy);
        assert!(got.is_err(), "bit {bit}");
    }
    assert_eq!(server.half_open(), 0);
}

#[test]
fn a_repeated_init_is_answered_the_same_and_makes_no_second_session() {
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let mut one = client(1);
    let init = one.poll_transmit(NOW, &mut entropy).expect("an Init");
    let first = hand(&mut server, (UDP, from(1)), &init, &mut entropy);
    let again = hand(&mut server, (UDP, from(2)), &init, &mut entropy);
    assert_eq!(first, again);
    assert_eq!(server.half_open(), 1);
    let mut two = client(1);
    let (link, init, packet) = connect(&mut server, &mut two, &mut entropy);
    let got = hand(&mut server, (UDP, from(9)), &init, &mut entropy);
    assert_eq!(got, Err(Refused::Replayed));
    let got = hand(&mut server, (UDP, from(9)), &packet, &mut entropy);
    assert_eq!(got, Err(Refused::Replayed));
    assert_eq!(server.links().collect::<Vec<_>>(), [link]);
}

#[test]
fn sessions_of_one_channel_are_none_of_another() {
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let mut one = client(1);
    connect(&mut server, &mut one, &mut entropy);
    let mut packet = vec![0; 20];
    one.session()
        .expect("a session")
        .seal(NOW, &mut packet, 0)
        .expect("sealed");
    let stream = (Channel::Stream(4), from(1));
    let got = hand(&mut server, stream, &packet, &mut entropy);
    assert_eq!(got, Err(Refused::UnknownSession));
    // nor is a link of one client taken over by another's Init
    let got = hand(&mut server, (UDP, from(3)), &packet, &mut entropy);
    assert!(got.expect("accepted").data.is_some());
}

/// Under load the cookie is wanted of each address; who shows it is served, whatever others send.
#[test]
fn a_flood_keeps_no_one_out() {
    let (mut server, mut entropy) = (server(&[1, 2]), Counted(0));
    let mut cookies = 0;
    let mut last = 0;
    for i in 0..300 {
        let mut flood = client(1);
        let init = flood.poll_transmit(NOW, &mut entropy).expect("an Init");
        let at = (UDP, from(50 + (i % 100) as u8));
        let answer = hand(&mut server, at, &init, &mut entropy)
            .expect("answered")
            .answer;
        let length = answer.expect("an answer").len();
        cookies += u64::from(length == message::COOKIE_LEN);
        last = length;
    }
    assert_eq!(last, message::COOKIE_LEN);
    assert_eq!(server.counters().1, cookies);
    assert!(server.half_open() <= MAX_HALF_OPEN);
    let before = server.half_open();
    let mut one = client(2);
    let init = one.poll_transmit(NOW, &mut entropy).expect("an Init");
    let got = hand(&mut server, (UDP, from(1)), &init, &mut entropy).expect("answered");
    let mut cookie = got.answer.expect("a Cookie");
    assert_eq!(one.receive(NOW, &mut cookie.clone()), Ok(Input::Cookie));
    assert_eq!(one.receive(NOW, &mut cookie), Err(Refused::Replayed));
    let again = one
        .poll_transmit(NOW, &mut entropy)
        .expect("an Init with it");
    assert_eq!(init[..136], again[..136], "the same but for mac2");
    let got = hand(&mut server, (UDP, from(2)), &again, &mut entropy).expect("answered");
    let length = got.answer.expect("a Cookie").len();
    assert_eq!(length, message::COOKIE_LEN, "of another address");
    let got = hand(&mut server, (UDP, from(1)), &again, &mut entropy).expect("answered");
    let mut response = got.answer.expect("a Response");
    assert_eq!(response.len(), message::RESPONSE_LEN);
    assert_eq!(one.receive(NOW, &mut response), Ok(Input::Established));
    assert_eq!(server.half_open(), before + 1, "no one was displaced");
}

/// An observer that repeats a client's Inits from one address displaces its own.
#[test]
fn of_a_client_with_too_many_handshakes_the_address_with_the_most_gives_way() {
    let mut table = Table::default();
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let mut of = |last: u8, n: u64| {
        let mut one = client(1);
        let init = one.poll_transmit(NOW, &mut entropy).expect("an Init");
        server.load = Load::default();
        let at = (Channel::Stream(1), from(last));
        hand(&mut server, at, &init, &mut entropy).expect("answered");
        let id = *server.half_open.ids().next().expect("it is there");
        let mut entry = server.half_open.take(id).expect("it is there");
        entry.until = NOW + Duration::from_secs(n);
        entry
    };
    let own = of(1, 1);
    let own_id = own.session.id();
    table.insert(own);
    for n in 0..200 {
        table.insert(of(9, 2 + n));
    }
    assert_eq!(table.len(), MAX_HALF_OPEN);
    assert!(
        table.contains(own_id),
        "the oldest of all, but of another address"
    );
}

#[test]
fn of_too_many_links_the_silent_one_is_removed() {
    let (mut server, mut entropy) = (server(&[1, 2]), Counted(0));
    let mut other = client(2);
    let (kept, ..) = connect(&mut server, &mut other, &mut entropy);
    for _ in 0..MAX_LINKS + 3 {
        server.load = Load::default();
        connect(&mut server, &mut client(1), &mut entropy);
    }
    assert_eq!(server.links().count(), MAX_LINKS + 1);
    assert!(server.current(kept).is_some(), "another client's stays");
    let last = server.links().last().expect("links");
    server.remove(last);
    assert_eq!(server.links().count(), MAX_LINKS);
    assert_eq!(server.by_id.len(), MAX_LINKS);
}

#[test]
fn handshakes_that_are_not_finished_end() {
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let init = client(1).poll_transmit(NOW, &mut entropy).expect("an Init");
    hand(&mut server, (UDP, from(1)), &init, &mut entropy).expect("answered");
    server.expire(NOW + HALF_OPEN_TIME);
    assert_eq!(server.half_open(), 0);
    let stream = (Channel::Stream(4), from(1));
    let init = client(1).poll_transmit(NOW, &mut entropy).expect("an Init");
    hand(&mut server, stream, &init, &mut entropy).expect("answered");
    server.remove_stream(4);
    assert_eq!(server.half_open(), 0);
}

#[test]
fn a_client_whose_key_stays_goes_on_and_others_are_over() {
    let (mut server, mut entropy) = (server(&[1, 2]), Counted(0));
    let (mut one, mut two) = (client(1), client(2));
    let (of_one, ..) = connect(&mut server, &mut one, &mut entropy);
    let (of_two, ..) = connect(&mut server, &mut two, &mut entropy);
    let as_client = |byte: u8| Client {
        key: key(byte).public(),
        shared: SharedSecret::default(),
    };
    server.set_clients(vec![as_client(3), as_client(2)], Limits::default());
    assert_eq!(server.links().collect::<Vec<_>>(), [of_two]);
    assert_eq!(server.client(of_two), Some(1));
    let mut send = |server: &mut Responder, of: &mut Initiator| {
        let mut packet = vec![0; 20];
        let session = of.session().expect("a session");
        session.seal(NOW, &mut packet, 0).expect("sealed");
        hand(server, (UDP, from(1)), &packet, &mut entropy)
    };
    assert!(send(&mut server, &mut two).is_ok());
    assert_eq!(send(&mut server, &mut one), Err(Refused::UnknownSession));
    assert!(server.session(of_one).is_none());
    let mut entropy = Counted(90);
    let init = client(1).poll_transmit(NOW, &mut entropy).expect("an Init");
    let got = hand(&mut server, (UDP, from(1)), &init, &mut entropy);
    assert_eq!(got, Err(Refused::UnknownClient));
    connect(&mut server, &mut client(3), &mut entropy);
    // the same key with another secret is another client
    let with_secret = Client {
        shared: SharedSecret::new(b"another"),
        ..as_client(2)
    };
    server.set_clients(vec![with_secret, as_client(3)], Limits::default());
    assert_eq!(server.links().count(), 1);
}

#[test]
fn a_handshake_in_progress_of_a_removed_client_is_over() {
    let (mut server, mut entropy) = (server(&[1]), Counted(0));
    let init = client(1).poll_transmit(NOW, &mut entropy).expect("an Init");
    hand(&mut server, (UDP, from(1)), &init, &mut entropy).expect("accepted");
    assert_eq!(server.half_open(), 1);
    server.set_clients(Vec::new(), Limits::default());
    assert_eq!(server.half_open(), 0);
}
