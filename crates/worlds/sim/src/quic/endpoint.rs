//! quinn's endpoints without a source of randomness of their own.

use super::parameters::Config;
use quinn_proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, NoneTokenStore,
    ServerConfig, TransportConfig, ValidationTokenConfig,
};
use ring::{hkdf, hmac};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use units::{Rng, Streams};

/// Length of connection identifiers: quinn's default.
const CID_LEN: usize = 8;
/// The peer's address, of both ends: the simulator delivers by session, not by address. (RFC 5737)
pub(super) const ADDRESS: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4433);

/// Draws connection identifiers from a random stream.
struct Identifiers(Rng);

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_u64().to_be_bytes())
    }
    fn cid_len(&self) -> usize {
        CID_LEN
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// An endpoint of one connection: a server's with `server`, a client's without.
pub(super) fn endpoint(
    config: &Config,
    server: Option<ServerConfig>,
    streams: &Streams,
) -> Endpoint {
    let mut rng = streams.stream("endpoint");
    let reset_key = hmac::Key::new(hmac::HMAC_SHA256, &seed(&mut rng));
    let mut endpoint = EndpointConfig::new(Arc::new(reset_key));
    let identifiers = streams.stream("identifiers");
    endpoint
        .rng_seed(Some(seed(&mut rng)))
        .cid_generator(move || Box::new(Identifiers(identifiers.clone())))
        .max_udp_payload_size(u16::try_from(config.mtu.get()).expect("checked"))
        .expect("at least 1,200");
    Endpoint::new(Arc::new(endpoint), server.map(Arc::new), false, None)
}

/// A client's parameters.
pub(super) fn client_config(
    crypto: Arc<dyn ClientCrypto>,
    transport: Arc<TransportConfig>,
    streams: &Streams,
) -> ClientConfig {
    let mut client = ClientConfig::new(crypto);
    let first = streams.stream("first identifier").next_u64();
    let first = ConnectionId::new(&first.to_be_bytes());
    client
        .transport_config(transport)
        .token_store(Arc::new(NoneTokenStore))
        .initial_dst_cid_provider(Arc::new(move || first));
    client
}

/// A server's parameters: it sends no tokens, and so needs no clock.
pub(super) fn server_config(
    crypto: Arc<dyn ServerCrypto>,
    transport: Arc<TransportConfig>,
) -> ServerConfig {
    let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&[0; 32]);
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    let mut server = ServerConfig::new(crypto, Arc::new(token_key));
    server
        .transport_config(transport)
        .validation_token_config(tokens)
        .migration(false);
    server
}

fn seed(rng: &mut Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    for part in seed.chunks_exact_mut(8) {
        part.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    seed
}
