//! The OpenAPI documents against the running service, by schemathesis.

use crate::common::{NETWORK, report, rest, usual, world};
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Where `scripts/setup` puts schemathesis.
fn schemathesis() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    root.join("target/schemathesis/bin")
}

/// Runs schemathesis with one document; gives its words if it found something.
async fn run(document: &str, config: &str, examples: u32) -> Result<String, String> {
    let mut world = world("max-age = \"1000 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world
        .cell
        .report(&report(2, 20, &[(5, Some([10, 45, 0, 9].into()), 10)]))
        .await;
    world.accepted(2).await;
    let client = world.client("all").await;
    let program = schemathesis().join("st");
    assert!(
        program.exists(),
        "schemathesis is missing: scripts/setup installs it"
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(program)
        .current_dir(world.folder.path())
        .arg("--config-file")
        .arg(folder.join("tests/service").join(config))
        .arg("run")
        .arg(folder.join("openapi").join(document))
        .arg("--url")
        .arg(format!("http://{}/rni/v2", client.address))
        .arg("--header")
        .arg(format!(
            "Authorization: Bearer {}",
            client.token.expect("a token")
        ))
        .args([
            "--max-examples",
            &examples.to_string(),
            "--seed",
            "1",
            "--no-color",
        ])
        .output()
        .await
        .expect("schemathesis runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{said}\n{complained}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_is_as_the_corrected_document_says() {
    let said = run("mec012-rni-2.2.1-corrected.yaml", "corrected.toml", 10).await;
    let said = said.unwrap_or_else(|text| panic!("{text}"));
    assert!(
        said.contains("9 selected / 9 total") || said.contains("9 passed"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_is_as_the_original_document_says_but_for_its_faults() {
    let said = run("mec012-rni-2.2.1.yaml", "original.toml", 10).await;
    said.unwrap_or_else(|text| panic!("{text}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_corrected_document_is_the_original_with_its_corrections() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi");
    let python = schemathesis().join("python");
    let checked = Command::new(python)
        .arg(folder.join("correct.py"))
        .arg("--check")
        .output()
        .await;
    let checked = checked.expect("python runs: scripts/setup makes its environment");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );

    let world = world("", &rest()).await;
    let client = world.client("asks").await;
    let served = client.get("/rni/v2/openapi.yaml").await;
    assert_eq!(served.status, 200);
    let file = std::fs::read(folder.join("mec012-rni-2.2.1-corrected.yaml")).expect("the document");
    assert_eq!(served.body, file);
}
