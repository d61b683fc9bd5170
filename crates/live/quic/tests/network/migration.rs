//! A client that comes from another address: the radio of the UE that it has left no longer concerns it.

use super::{config, until};
use quic::{ALPN, Certificate, Config, Request, Server};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use units::{BitRate, Bytes};

fn client(certificate: &Path) -> quinn::ClientConfig {
    let mut roots = RootCertStore::empty();
    let der = CertificateDer::from_pem_file(certificate).expect("a certificate");
    roots.add(der).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("QUIC")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_moves_is_followed_and_its_download_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = folder.path().join("server.pem");
    let stats = folder.path().join("stats.jsonl");
    let config = Config {
        meld: cc::meld::Variant::from_name("default"),
        certificate: Certificate::SelfSigned {
            names: vec!["localhost".to_owned()],
            write: Some(certificate.clone()),
        },
        stats: Some(quic::StatsTarget::File(stats.clone())),
        ..config()
    };
    let server = Server::start(config).await.expect("a server");
    let bind = |address: &str| UdpSocket::bind(address).expect("an address of loopback");
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a client");
    let connection = endpoint
        .connect_with(client(&certificate), server.addresses()[0], "localhost")
        .expect("to connect")
        .await
        .expect("a connection");
    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
    let request = Request {
        size: Bytes::new(500_000),
        rate: Some(BitRate::from_mbps(4)),
    };
    let written = send.write_all(request.encode().as_bytes()).await;
    written.expect("requested");
    send.finish().expect("open");
    let mut first = vec![0; 50_000];
    receive.read_exact(&mut first).await.expect("the beginning");
    endpoint.rebind(bind("127.0.0.2:0")).expect("moved");
    let rest = receive.read_to_end(1_000_000).await.expect("the rest");
    assert!(
        first.len() + rest.len() > 500_000,
        "the answer, and what was measured of it"
    );
    // the path is a new one, and is followed
    until("the migration", || {
        server.status()["migrations"].as_u64() > Some(0)
    })
    .await;
    let samples = || std::fs::read_to_string(&stats).expect("the samples");
    until("a sample of the new address", || {
        samples().contains("\"ue\":\"127.0.0.2\"")
    })
    .await;
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    server.close().await;
    assert!(samples().contains("\"ue\":\"127.0.0.1\""), "{}", samples());
}
