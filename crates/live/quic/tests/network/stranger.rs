//! A client that is not ours: quinn as it is, which accepts any server.

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A client of this protocol on this machine.
pub fn stranger(protocol: &[u8], transport: TransportConfig) -> Endpoint {
    stranger_at([127, 0, 0, 1].into(), protocol, transport)
}

/// The same at an address.
pub fn stranger_at(from: IpAddr, protocol: &[u8], transport: TransportConfig) -> Endpoint {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny))
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.to_vec()];
    let tls = QuicClientConfig::try_from(tls).expect("TLS 1.3");
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client(SocketAddr::new(from, 0)).expect("a port");
    endpoint.set_default_client_config(config);
    endpoint
}

/// A request of HTTP/3 for a path of less than 128 bytes: its HEADERS, all of them literals or of QPACK's static table
/// (RFC 9204 4.5, appendix A).
pub fn get_request(path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).expect("a short path");
    assert!(length < 127, "a length of one byte");
    // no dynamic table; :method GET (17), :scheme https (23), :authority (0) and :path (1) with values
    let mut fields = vec![0, 0, 0xc0 | 17, 0xc0 | 23, 0x50, 1, b'a', 0x51, length];
    fields.extend_from_slice(path.as_bytes());
    let frame_length = u16::try_from(fields.len()).expect("short") | 1 << 14;
    [&[1][..], &frame_length.to_be_bytes(), &fields].concat()
}

/// Accepts any certificate and any signature.
#[derive(Debug)]
struct AcceptAny;

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
