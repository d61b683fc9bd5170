//! TLS by rustls with ring: certificates in, acceptors and connectors out.

use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

fn other(what: impl std::fmt::Display) -> io::Error {
    io::Error::other(what.to_string())
}

/// An acceptor with a certificate chain and its key, both PEM.
///
/// # Errors
/// Files that cannot be read or do not belong together.
pub fn acceptor(certificate: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let named =
        |path: &Path, error: &dyn std::fmt::Display| other(format!("{}: {error}", path.display()));
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(|error| named(certificate, &error))?
        .collect();
    let chain = chain.map_err(|error| named(certificate, &error))?;
    daemon::config::check_secret(key).map_err(|error| named(key, &error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| named(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| named(certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A connector that accepts the authorities of a file (PEM), or the system's.
///
/// # Errors
/// A file that cannot be read.
pub fn connector(ca_file: Option<&Path>) -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            let named = |error| other(format!("{}: {error}", path.display()));
            for certificate in CertificateDer::pem_file_iter(path).map_err(named)? {
                let certificate = certificate.map_err(named)?;
                roots.add(certificate).map_err(other)?;
            }
        }
        None => {
            // a store without one or the other is still good
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
