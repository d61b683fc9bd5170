//! TLS of the HTTP server, by a certificate of its own.

use crate::Error;
use crate::names::SERVER_ADDRESS;
use rustls::ServerConfig;
use rustls::crypto::ring;
use std::path::Path;
use std::sync::Arc;
pub(super) use tokio_rustls::TlsAcceptor;

/// Name of the certificate's file (PEM) in the lab's folder.
pub(super) const CERTIFICATE: &str = "server.pem";
/// The name of HTTP/2 in a handshake (RFC 9113 3.1).
pub(super) const HTTP2: &[u8] = b"h2";

/// Makes a certificate for the server's name and address, and writes it to a file.
pub(super) fn acceptor(certificate: &Path) -> Result<TlsAcceptor, Error> {
    let failed = |problem: String| Error::Program {
        program: "the HTTPS server".to_owned(),
        problem,
    };
    let names = ["server".to_owned(), SERVER_ADDRESS.to_string()];
    let (chain, key) =
        quic::self_signed(&names, Some(certificate)).map_err(|error| failed(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(error.to_string()))?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
