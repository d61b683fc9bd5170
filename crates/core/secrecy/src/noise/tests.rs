//! The handshake against the crate `snow`, an independent implementation, in both roles.

use super::*;
use snow::Builder;

const SERVER: [u8; 32] = [3; 32];
const CLIENT: [u8; 32] = [4; 32];

fn snow(own: &[u8; 32], shared: &SharedSecret, server: Option<PublicKey>) -> snow::HandshakeState {
    let params = std::str::from_utf8(NAME).expect("text").parse();
    let mut builder = Builder::new(params.expect("a known name"))
        .local_private_key(own)
        .expect("a key")
        .prologue(PROLOGUE)
        .expect("a prologue")
        .psk(2, shared.bytes())
        .expect("a secret");
    let key = server.map(|key| *key.bytes());
    if let Some(key) = &key {
        builder = builder.remote_public_key(key).expect("a key");
        builder.build_initiator().expect("built")
    } else {
        builder.build_responder().expect("built")
    }
}

#[test]
fn our_client_speaks_with_snow() {
    let (client, server) = (
        PrivateKey::from_bytes(CLIENT),
        PrivateKey::from_bytes(SERVER),
    );
    let shared = SharedSecret::new(b"both have this");
    let ephemeral = PrivateKey::from_bytes([9; 32]);
    let (sent, fields) =
        write_init(&client, server.public(), ephemeral, b"hello").expect("written");
    let init = [
        &fields.ephemeral.bytes()[..],
        &fields.identity,
        &fields.payload,
    ]
    .concat();
    let mut peer = snow(&SERVER, &shared, None);
    let mut out = [0; 200];
    let length = peer.read_message(&init, &mut out).expect("it verifies");
    assert_eq!(&out[..length], b"hello");
    assert_eq!(peer.get_remote_static(), Some(&client.public().bytes()[..]));
    let length = peer.write_message(b"choice", &mut out).expect("written");
    let (ephemeral, payload) = out[..length].split_at(32);
    let ephemeral = PublicKey::from_bytes(ephemeral.try_into().expect("32 bytes"));
    let (payload, agreed) =
        read_response(&sent, &client, &shared, ephemeral, payload).expect("it verifies");
    assert_eq!(payload, b"choice");
    assert_eq!(peer.get_handshake_hash(), agreed.transcript);
    let (to_server, to_client) = peer.dangerously_get_raw_split();
    assert_eq!(
        (to_server, to_client),
        (*agreed.to_server, *agreed.to_client)
    );
}

#[test]
fn our_server_speaks_with_snow() {
    let (client, server) = (
        PrivateKey::from_bytes(CLIENT),
        PrivateKey::from_bytes(SERVER),
    );
    let shared = SharedSecret::default();
    let mut peer = snow(&CLIENT, &shared, Some(server.public()));
    let mut out = [0; 200];
    let length = peer.write_message(b"hello", &mut out).expect("written");
    let ephemeral = PublicKey::from_bytes(out[..32].try_into().expect("32 bytes"));
    let read = read_init(&server, ephemeral, &out[32..80], &out[80..length]).expect("it verifies");
    assert_eq!(
        (read.client, &read.payload[..]),
        (client.public(), &b"hello"[..])
    );
    let own = PrivateKey::from_bytes([8; 32]);
    let (ephemeral, payload, agreed) =
        write_response(read, &shared, &own, b"choice").expect("written");
    let response = [&ephemeral.bytes()[..], &payload].concat();
    let length = peer.read_message(&response, &mut out).expect("it verifies");
    assert_eq!(&out[..length], b"choice");
    assert_eq!(peer.get_handshake_hash(), agreed.transcript);
    let (to_server, to_client) = peer.dangerously_get_raw_split();
    assert_eq!(
        (to_server, to_client),
        (*agreed.to_server, *agreed.to_client)
    );
}

/// Another secret, another client's key, another server: no answer verifies.
#[test]
fn what_one_end_has_otherwise_ends_the_handshake() {
    let (client, server) = (
        PrivateKey::from_bytes(CLIENT),
        PrivateKey::from_bytes(SERVER),
    );
    let other = PrivateKey::from_bytes([5; 32]);
    let shared = SharedSecret::new(b"secret");
    let begin = |to: PublicKey| {
        write_init(&client, to, PrivateKey::from_bytes([9; 32]), b"").expect("written")
    };
    let (_, fields) = begin(other.public());
    let read = read_init(&server, fields.ephemeral, &fields.identity, &fields.payload);
    assert!(read.is_none(), "it is for another server");
    let (sent, fields) = begin(server.public());
    let read = read_init(&server, fields.ephemeral, &fields.identity, &fields.payload);
    let own = PrivateKey::from_bytes([8; 32]);
    let written = write_response(read.expect("it verifies"), &shared, &own, b"");
    let (ephemeral, payload, _) = written.expect("written");
    let wrong = SharedSecret::default();
    assert!(read_response(&sent, &client, &wrong, ephemeral, &payload).is_none());
    assert!(read_response(&sent, &other, &shared, ephemeral, &payload).is_none());
    assert!(read_response(&sent, &client, &shared, own.public(), &payload).is_some());
}
