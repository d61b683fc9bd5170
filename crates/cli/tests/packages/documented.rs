//! Configurations in the pages about operations are accepted by the daemons.

use crate::root;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Asserts that the daemon of this name accepts this configuration.
pub fn assert_taken(daemon: &str, text: &str, place: &str) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join(format!("{daemon}.toml"));
    fs::write(&file, text).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_brimful"))
        .args([daemon, "--check", "--config"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {stderr}\n{text}");
}

/// Blocks of TOML with what stands in front of them: the text, and the daemon by its first line.
fn configurations(page: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(page).expect("the page");
    let blocks = text.split("\n```toml\n").skip(1);
    blocks
        .map(|block| {
            let (block, _) = block.split_once("\n```").expect("an end");
            let first = block.lines().next().unwrap_or_default();
            let file = first
                .strip_prefix("# /etc/brimful/")
                .and_then(|f| f.strip_suffix(".toml"));
            let daemon = file.unwrap_or_else(|| panic!("{}: {first}", page.display()));
            (daemon.to_owned(), block.to_owned())
        })
        .collect()
}

#[test]
fn each_topology_is_one_that_the_daemons_take() {
    let page = root().join("docs/operations/topologies.md");
    let found = configurations(&page);
    assert_eq!(found.len(), 6, "{found:#?}");
    for (daemon, text) in found {
        assert_taken(&daemon, &text, "topologies.md");
    }
}

/// The rules of several proxies are rules for nft.
#[test]
fn the_rules_of_buckets_are_rules() {
    let page = fs::read_to_string(root().join("docs/operations/topologies.md")).expect("the page");
    let (_, block) = page.split_once("\n```nft\n").expect("rules");
    let (block, _) = block.split_once("\n```").expect("an end");
    let test = "the_rules_of_buckets_are_rules";
    if !testing::has_root(test) || !crate::has("nft", test) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("rules");
    fs::write(&file, block).expect("written");
    let mut command = Command::new("unshare");
    let output = command
        .args(["--net", "nft", "--check", "--file"])
        .arg(&file)
        .output();
    let output = output.expect("unshare starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
