//! Clients of other implementations.

use super::{config, start};
use quic::{Certificate, Config};
use std::path::Path;
use testing::{Missing, skip};

#[tokio::test(flavor = "multi_thread")]
async fn aioquic_downloads_from_a_meld_server_what_is_there() {
    let python = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../target/aioquic/bin/python"
    );
    if !Path::new(python).exists() {
        let test = "aioquic_downloads_from_a_meld_server_what_is_there";
        return skip(test, Missing::Program("aioquic"));
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
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        output.stdout == content,
        "{} bytes came: {errors}",
        output.stdout.len()
    );
    assert_eq!(server.status()["connections_total"], 1);
    server.close().await;
}
