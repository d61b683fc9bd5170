//! Packets of a tunnel from anywhere, what reads their options, and what a server without a connection answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::{PathId, Payload};
use multipath::auth::{Key, KeyType, Offer, PreSharedKey, PrivateKey, ProofStep, SessionKeys};
use multipath::features::{Negotiation, Role};
use multipath::join::{ClientJoin, JoinOffer};
use multipath::packet::{ConnectionId, Options, decode, encode};
use multipath::provision::Builtin;
use multipath::server::{Flow, Server, ServerConfig};
use multipath::signal::{Inbox, Outbox, OutboxConfig};
use multipath::tunnel::{PathConfig, TunnelConfig};
use units::{Ecn, Instant};

#[derive(Clone, Debug)]
struct Data;

impl Payload for Data {
    fn len(&self) -> usize {
        0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// One that answers by cookies from the first Request on (`after` 0), or from the second on.
fn server(after: usize) -> Server<Data> {
    let config = ServerConfig {
        tunnel: TunnelConfig {
            key_types: &[KeyType::Ecdhe, KeyType::Plain],
            ..TunnelConfig::default()
        },
        path: PathConfig::default(),
        shared: Vec::new(),
        connections: 2,
        path_v6: None,
        half_open: 2,
    };
    let provision = Builtin::new("rr", 2).expect("known");
    Server::new(config, Box::new(provision)).guarded(after)
}

fuzz_target!(|bytes: &[u8]| {
    let (packet, header) = match decode(bytes) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            return;
        }
    };
    assert!(header <= bytes.len());
    let mut again = Vec::new();
    let written = encode(&packet, &mut again).expect("what was read has a form");
    assert_eq!(written, again.len());
    let (reread, _) = decode(&again).expect("what was written is a packet");
    if packet.options.fault().is_none() {
        assert_eq!(reread, packet);
    }

    let mut features = Negotiation::new(Role::Server);
    let _ = features.on_packet(&packet);
    let mut answer = Options::default();
    features.attach(Instant::ZERO, packet.seq, packet.kind, &mut answer);
    let keys = SessionKeys::new(Key::from_random(1), Key::from_random(2), None);
    let mut inbox = Inbox::new();
    for path in 0..2 {
        inbox.on_packet(PathId(path), &packet.options, &keys);
    }
    inbox.attach(500, &mut answer);
    Outbox::new(OutboxConfig::default()).on_packet(&packet.options);
    for after in [0, 1] {
        let mut server = server(after);
        let from = Flow {
            socket: 1,
            remote: ([192, 0, 2, 1], 9).into(),
        };
        server.receive(Instant::ZERO, from, &packet, None, Ecn::NotEct);
        let mut answered = 0;
        while let Some(out) = server.poll_transmit(Instant::ZERO) {
            let mut answer = Vec::new();
            encode(&out.packet, &mut answer).expect("answers are bounded");
            answered += answer.len();
        }
        assert!(answered <= written, "{answered} bytes for {written}");
    }
    if let Some(offer) = Offer::among(&packet.options) {
        let _ = PrivateKey::from_bytes([1; 32]).agree(&offer.key);
        let shared = PreSharedKey::new(&[0xA5; 16]).expect("long enough");
        assert!(!shared.is_proved(&packet.options, ProofStep::Request, offer, None));
    }
    if let Some(offer) = JoinOffer::among(&packet.options) {
        let join = ClientJoin {
            nonce: 3,
            connection: ConnectionId(offer.connection.0),
        };
        assert!(join.on_response(&keys, &packet.options).is_err());
    }
    let mut written = packet.clone();
    written.options = answer;
    encode(&written, &mut again).expect("answers are bounded");
});
