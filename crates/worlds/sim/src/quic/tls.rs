//! TLS of the simulated hosts: one certificate, one cipher suite, no clock.
//!
//! The certificate is made by rcgen from a key in this file. It protects nothing and never leaves the
//! simulator: what matters is that it is checked as any other would be, and that it has the same length
//! in every run. Ed25519 signatures have (RFC 8032 5.1.6).

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::{Arc, OnceLock};

/// The server's name in its certificate (RFC 6761 6.4: `invalid` never resolves).
pub(super) const SERVER_NAME: &str = "server.invalid";
/// The application's protocol (RFC 7301).
const ALPN: &[u8] = b"simulated";
/// PKCS #8 of an Ed25519 key (RFC 8410 7), without its last 32 bytes: the key.
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// The server's key.
const KEY: [u8; 32] = *b"of the simulator; protects none.";
/// When certificates are checked: 2026-01-01. (rcgen's are valid from 1975 to 4096.)
const CHECKED_AT: u64 = 1_767_225_600;

/// A clock that stands still.
#[derive(Debug)]
struct Standing;

impl TimeProvider for Standing {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            CHECKED_AT,
        )))
    }
}

/// TLS of both hosts.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) client: Arc<QuicClientConfig>,
    pub(super) server: Arc<QuicServerConfig>,
}

/// TLS of both hosts: made once, the same for every connection.
pub(super) fn tls() -> &'static Tls {
    static TLS: OnceLock<Tls> = OnceLock::new();
    TLS.get_or_init(build)
}

fn build() -> Tls {
    let key = PrivatePkcs8KeyDer::from([&PKCS8_HEAD[..], &KEY].concat());
    let certificate = certificate(&key);
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    });
    let versions = &[&rustls::version::TLS13];
    let mut roots = RootCertStore::empty();
    roots
        .add(certificate.clone())
        .expect("a certificate as rcgen makes them");
    let mut client = ClientConfig::builder_with_details(provider.clone(), Arc::new(Standing))
        .with_protocol_versions(versions)
        .expect("the cipher suite is one of TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![ALPN.to_vec()];
    client.resumption = Resumption::disabled();
    let mut server = ServerConfig::builder_with_details(provider, Arc::new(Standing))
        .with_protocol_versions(versions)
        .expect("the cipher suite is one of TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .expect("the key is the certificate's");
    server.alpn_protocols = vec![ALPN.to_vec()];
    server.send_tls13_tickets = 0;
    Tls {
        client: Arc::new(QuicClientConfig::try_from(client).expect("QUIC's initial cipher suite")),
        server: Arc::new(QuicServerConfig::try_from(server).expect("QUIC's initial cipher suite")),
    }
}

fn certificate(key: &PrivatePkcs8KeyDer<'static>) -> CertificateDer<'static> {
    let key = KeyPair::try_from(key).expect("a key of RFC 8410");
    let params =
        CertificateParams::new([SERVER_NAME.to_owned()]).expect("a name in letters and dots");
    let certificate = params.self_signed(&key).expect("Ed25519 signs anything");
    certificate.der().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_is_the_same_each_time() {
        let key = PrivatePkcs8KeyDer::from([&PKCS8_HEAD[..], &KEY].concat());
        assert_eq!(certificate(&key), certificate(&key));
    }
}
