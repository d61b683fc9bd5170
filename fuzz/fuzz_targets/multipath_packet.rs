//! Packets of a tunnel from anywhere, and what reads their options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::PathId;
use multipath::auth::{Key, Offer, PreSharedKey, ProofStep, SessionKeys};
use multipath::features::{Negotiation, Role};
use multipath::join::{ClientJoin, JoinOffer};
use multipath::packet::{ConnectionId, Options, decode, encode};
use multipath::signal::{Inbox, Outbox, OutboxConfig};
use units::Instant;

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
    if let Some(offer) = Offer::among(&packet.options) {
        let shared = PreSharedKey::new(&[1; 16]).expect("long enough");
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
