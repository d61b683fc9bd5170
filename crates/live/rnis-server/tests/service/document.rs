//! The OpenAPI documents against the running service, by schemathesis.

use crate::common::{NETWORK, report, rest, usual, world};
use std::path::{Path, PathBuf};
use testing::{Missing, skip};
use tokio::process::Command;

/// A program of the environment that `make setup` makes for schemathesis; none if it is not there, and
/// the test is skipped.
fn program(test: &str, name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = root.join("target/schemathesis/bin").join(name);
    if path.exists() {
        return Some(path);
    }
    skip(test, Missing::Program("schemathesis"));
    None
}

/// Runs schemathesis with one document; gives its output, as an error if it found something.
async fn run(
    program: &Path,
    document: &str,
    config: &str,
    examples: u32,
) -> Result<String, String> {
    let mut world = world("max-age = \"1000 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world
        .cell
        .report(&report(2, 20, &[(5, Some([10, 45, 0, 9].into()), 10)]))
        .await;
    world.accepted(2).await;
    let client = world.client("all").await;
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
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{text}\n{errors}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_conforms_to_the_corrected_document() {
    let test = "the_service_conforms_to_the_corrected_document";
    let Some(program) = program(test, "st") else {
        return;
    };
    let document = "mec012-rni-2.2.1-corrected.yaml";
    let text = run(&program, document, "corrected.toml", 10).await;
    let text = text.unwrap_or_else(|text| panic!("{text}"));
    assert!(
        text.contains("9 selected / 9 total") || text.contains("9 passed"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_conforms_to_the_original_document_but_for_its_faults() {
    let test = "the_service_conforms_to_the_original_document_but_for_its_faults";
    let Some(program) = program(test, "st") else {
        return;
    };
    let text = run(&program, "mec012-rni-2.2.1.yaml", "original.toml", 10).await;
    text.unwrap_or_else(|text| panic!("{text}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_corrected_document_is_the_original_with_its_corrections() {
    let test = "the_corrected_document_is_the_original_with_its_corrections";
    let Some(python) = program(test, "python") else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi");
    let checked = Command::new(python)
        .arg(folder.join("correct.py"))
        .arg("--check")
        .output()
        .await;
    let checked = checked.expect("python runs");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );

    let world = world("", &rest()).await;
    let client = world.client("reader").await;
    let served = client.get("/rni/v2/openapi.yaml").await;
    assert_eq!(served.status, 200);
    let file = std::fs::read(folder.join("mec012-rni-2.2.1-corrected.yaml")).expect("the document");
    assert_eq!(served.body, file);
}
