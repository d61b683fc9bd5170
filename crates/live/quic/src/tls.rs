//! Certificates, keys and whom to trust; rustls with ring.

use crate::QuicError;
use crate::config::Certificate;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The servers whose certificates a client accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those of the system's authorities.
    System,
    /// Those of the authorities of a file (PEM), or the one with that very certificate.
    File(PathBuf),
    /// Any. For trials only: no certificate is verified.
    Any,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn tls(error: impl std::fmt::Display) -> QuicError {
    QuicError::Tls(error.to_string())
}

fn named(path: &Path, problem: impl std::fmt::Display) -> QuicError {
    QuicError::Certificate {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, QuicError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| named(path, error))?
        .collect();
    let chain = found.map_err(|error| named(path, error))?;
    if chain.is_empty() {
        return Err(named(path, "holds no certificate"));
    }
    Ok(chain)
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// ECDSA on P-256, which every browser takes.
fn self_signed(names: &[String], write: Option<&Path>) -> Result<Identity, QuicError> {
    let made = rcgen::generate_simple_self_signed(names).map_err(tls)?;
    if let Some(path) = write {
        std::fs::write(path, made.cert.pem()).map_err(|source| QuicError::File {
            path: path.to_owned(),
            source,
        })?;
    }
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

/// The server's side, for connections of these protocols.
pub(crate) fn server(
    certificate: &Certificate,
    protocols: &[&[u8]],
) -> Result<QuicServerConfig, QuicError> {
    let (chain, key, path) = match certificate {
        Certificate::Files { chain: path, key } => {
            let chain = chain(path)?;
            daemon::config::check_secret(key).map_err(|error| named(key, error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| named(key, error))?;
            (chain, key, path.clone())
        }
        Certificate::SelfSigned { names, write } => {
            let (chain, key) = self_signed(names, write.as_deref())?;
            (chain, key, PathBuf::from("self-signed certificate"))
        }
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(tls)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| named(&path, error))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    QuicServerConfig::try_from(config).map_err(tls)
}

/// The client's side.
pub(crate) fn client(trust: &Trust, protocol: &[u8]) -> Result<QuicClientConfig, QuicError> {
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(tls)?;
    let mut config = match trust {
        Trust::Any => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAny(provider())))
            .with_no_client_auth(),
        Trust::System => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::File(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in chain(path)? {
                roots.add(certificate).map_err(|error| named(path, error))?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    QuicClientConfig::try_from(config).map_err(tls)
}

/// Accepts every certificate, but still requires the signature of its key.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
