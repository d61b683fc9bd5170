use super::*;
use crate::responder::{Channel, Client, LinkId, Responder, ResponderConfig};
use core::net::SocketAddr;

struct Ends {
    now: Instant,
    client: Initiator,
    server: Responder,
    count: u8,
}

fn local(limits: Limits, has_aes: bool) -> Arc<Local> {
    Arc::new(Local {
        key: PrivateKey::from_bytes([1; 32]),
        server: PrivateKey::from_bytes([2; 32]).public(),
        shared: SharedSecret::new(b"both"),
        algorithms: Algorithms::new(has_aes),
        limits,
    })
}

fn server(limits: Limits, shared: &[u8]) -> Responder {
    let config = ResponderConfig {
        key: PrivateKey::from_bytes([2; 32]),
        clients: vec![Client {
            key: PrivateKey::from_bytes([1; 32]).public(),
            shared: SharedSecret::new(shared),
        }],
        algorithms: Algorithms::new(true),
        limits,
    };
    Responder::new(config, &[9; 32], LinkId(7))
}

impl Ends {
    fn new(limits: Limits, has_aes: bool) -> Self {
        Self {
            now: Instant::ZERO + Duration::from_secs(100),
            client: Initiator::new(local(limits, has_aes)),
            server: server(limits, b"both"),
            count: 0,
        }
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        let count = &mut self.count;
        let mut entropy = || {
            *count += 1;
            Some([*count; 32])
        };
        self.client.poll_transmit(self.now, &mut entropy)
    }

    /// What the client has to send goes to the server, and its answers back; the last link that was heard of.
    fn exchange(&mut self) -> Option<LinkId> {
        let mut link = None;
        while let Some(mut bytes) = self.poll() {
            let count = &mut self.count;
            let mut entropy = || {
                *count += 1;
                Some([*count; 32])
            };
            let from = SocketAddr::from(([192, 0, 2, 1], 5));
            let channel = Channel::Datagrams;
            let got = self
                .server
                .receive(self.now, channel, from, &mut bytes, &mut entropy)
                .expect("accepted");
            link = got.data.map(|(link, _)| link).or(link);
            if let Some(mut answer) = got.answer {
                self.client
                    .receive(self.now, &mut answer)
                    .expect("accepted");
            }
        }
        link
    }

    fn pass(&mut self, link: LinkId) {
        let mut bytes = vec![5; 30];
        let session = self.client.session().expect("a session");
        session.seal(self.now, &mut bytes, 0).expect("sealed");
        let from = SocketAddr::from(([192, 0, 2, 1], 5));
        let mut none = || None;
        let channel = Channel::Datagrams;
        let got = self
            .server
            .receive(self.now, channel, from, &mut bytes, &mut none)
            .expect("accepted");
        assert_eq!(got.data, Some((link, 5..30)));
        let mut bytes = vec![6; 30];
        let session = self.server.session(link).expect("a session");
        session.seal(self.now, &mut bytes, 0).expect("sealed");
        let got = self.client.receive(self.now, &mut bytes);
        assert_eq!(got, Ok(Input::Data(5..30)));
    }
}

#[test]
fn packets_pass_both_ways_after_one_round_trip() {
    for (has_aes, name) in [(true, "aes-256-gcm"), (false, "chacha20-poly1305")] {
        let mut ends = Ends::new(Limits::default(), has_aes);
        assert!(!ends.client.is_ready(ends.now));
        let link = ends.exchange().expect("a link");
        assert!(ends.client.is_ready(ends.now) && ends.client.is_confirmed());
        let session = ends.client.current().expect("a session");
        assert_eq!(session.algorithm().name(), name);
        ends.pass(link);
        assert_eq!(ends.server.client(link), Some(0));
    }
}

/// New keys by time: what was sealed before still opens, for as long as is stated, and the link stays the same.
#[test]
fn new_keys_come_without_a_gap() {
    let mut ends = Ends::new(Limits::default(), true);
    let link = ends.exchange().expect("a link");
    let mut late = vec![5; 20];
    let session = ends.server.session(link).expect("a session");
    session.seal(ends.now, &mut late, 0).expect("sealed");
    let mut later = vec![5; 20];
    session.seal(ends.now, &mut later, 0).expect("sealed");
    ends.pass(link);
    assert_eq!(ends.poll(), None, "nothing is due");
    ends.now = ends.client.next_deadline().expect("keys end");
    assert_eq!(ends.exchange(), Some(link));
    assert_eq!(ends.client.established(), 2);
    ends.pass(link);
    assert!(matches!(
        ends.client.receive(ends.now, &mut late),
        Ok(Input::Data(_))
    ));
    ends.now += PREVIOUS_TIME;
    assert_eq!(
        ends.client.receive(ends.now, &mut later),
        Err(Refused::Expired)
    );
}

#[test]
fn new_keys_come_by_the_volume_of_either_direction() {
    let limits = Limits {
        rekey_packets: 8,
        ..Limits::default()
    };
    let mut ends = Ends::new(limits, true);
    let link = ends.exchange().expect("a link");
    for _ in 0..10 {
        let mut bytes = vec![6; 30];
        let session = ends.server.session(link).expect("a session");
        session.seal(ends.now, &mut bytes, 0).expect("sealed");
        ends.client.receive(ends.now, &mut bytes).expect("accepted");
    }
    assert_eq!(ends.exchange(), Some(link));
    assert_eq!(ends.client.established(), 2);
    ends.pass(link);
}

/// A server that was started anew has no keys: a packet without any answer has new ones agreed on.
#[test]
fn a_server_without_the_session_is_found() {
    let mut ends = Ends::new(Limits::default(), true);
    ends.exchange().expect("a link");
    ends.server = server(Limits::default(), b"both");
    let mut bytes = vec![5; 30];
    let session = ends.client.session().expect("a session");
    session.seal(ends.now, &mut bytes, 0).expect("sealed");
    assert_eq!(ends.poll(), None);
    ends.now += STALE_AFTER;
    let link = ends.exchange().expect("a link");
    ends.pass(link);
}

/// Retransmissions are the same Init, ever less often; after a while it is another.
#[test]
fn an_init_is_repeated_with_longer_pauses() {
    let mut ends = Ends::new(Limits::default(), true);
    let began = ends.now;
    let first = ends.poll().expect("an Init");
    assert_eq!(first.len(), message::INIT_LEN);
    let mut times = Vec::new();
    for _ in 0..6 {
        ends.now = ends.client.next_deadline().expect("it is repeated");
        let again = ends.poll().expect("an Init");
        let since = ends.now.saturating_since(began);
        times.push((since.as_nanos() / 1_000_000, again == first));
    }
    let expected = [
        (500, true),
        (1_500, true),
        (3_500, true),
        (7_500, true),
        (15_500, false),
        (23_500, false),
    ];
    assert_eq!(times, expected);
}

#[test]
fn another_secret_or_another_server_gives_no_session() {
    let mut ends = Ends::new(Limits::default(), true);
    ends.server = server(Limits::default(), b"another");
    let mut init = ends.poll().expect("an Init");
    let mut count = 100;
    let mut entropy = || {
        count += 1;
        Some([count; 32])
    };
    let from = SocketAddr::from(([192, 0, 2, 1], 5));
    let got = ends
        .server
        .receive(ends.now, Channel::Datagrams, from, &mut init, &mut entropy);
    let mut answer = got.expect("accepted").answer.expect("a Response");
    let refused = ends.client.receive(ends.now, &mut answer);
    assert_eq!(refused, Err(Refused::Forged));
    assert!(!ends.client.is_ready(ends.now));
}

/// An answer of an earlier attempt, one's own Init, and a Response that came already.
#[test]
fn what_does_not_belong_to_the_present_attempt_is_refused() {
    let mut ends = Ends::new(Limits::default(), true);
    let mut init = ends.poll().expect("an Init");
    let refused = ends.client.receive(ends.now, &mut init.clone());
    assert_eq!(refused, Err(Refused::Malformed));
    let mut count = 100;
    let mut entropy = || {
        count += 1;
        Some([count; 32])
    };
    let from = SocketAddr::from(([192, 0, 2, 1], 5));
    let got = ends
        .server
        .receive(ends.now, Channel::Datagrams, from, &mut init, &mut entropy);
    let answer = got.expect("accepted").answer.expect("a Response");
    for bit in 0..answer.len() * 8 {
        let mut changed = answer.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(
            ends.client.receive(ends.now, &mut changed).is_err(),
            "bit {bit}"
        );
    }
    let got = ends.client.receive(ends.now, &mut answer.clone());
    assert_eq!(got, Ok(Input::Established));
    let refused = ends.client.receive(ends.now, &mut answer.clone());
    assert_eq!(refused, Err(Refused::UnknownSession));
}
