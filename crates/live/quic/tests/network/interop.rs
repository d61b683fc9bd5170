//! Clients of other implementations.

use super::{config, start};
use quic::{Certificate, Config};
use std::path::Path;

/// `make setup` installs it; where it could not, this says so.
#[tokio::test(flavor = "multi_thread")]
async fn aioquic_downloads_from_a_meld_server_what_is_there() {
    let python = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../target/aioquic/bin/python"
    );
    if !Path::new(python).exists() {
        testing::skip(
            "aioquic_downloads_from_a_meld_server_what_is_there",
            testing::Missing::Program("aioquic"),
        );
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = folder.path().join("server.pem");
    let content: Vec<u8> = (0..3_000_000u32).map(|i| (i * 31 % 253) as u8).collect();
    std::fs::write(folder.path().join("file"), &content).expect("written");
    let config = Config {
        cc: "newreno".to_owned(),
        meld: cc::meld::Variant::from_name("default"),
        certificate: Certificate::SelfSigned {
            names: vec!["localhost".to_owned()],
            write: Some(certificate.clone()),
        },
        root: Some(folder.path().to_owned()),
        ..config()
    };
    let (server, address) = start(config).await;
    let output = tokio::process::Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/network/aioquic_get.py"
        ))
        .arg(format!("https://{address}/file"))
        .arg(&certificate)
        .output()
        .await
        .expect("python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        output.stdout == content,
        "{} bytes came: {said}",
        output.stdout.len()
    );
    assert_eq!(server.status()["connections_total"], 1);
    server.close().await;
}
