//! The example of `docs/operations/rnis.md`, as it stands there, but for its ports.

use super::Place;
use std::path::Path;
use std::process::Command;
use testing::{Missing, free_port, skip};

/// Blocks of code of the example, of this language.
fn blocks(language: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/rnis.md");
    let text = std::fs::read_to_string(file).expect("the document");
    let (_, example) = text
        .split_once("## An example on one machine")
        .expect("an example");
    let (example, _) = example.split_once("\n## ").expect("its end");
    let begin = format!("```{language}\n");
    let blocks = example.split(begin.as_str()).skip(1);
    blocks
        .filter_map(|block| block.split("```").next())
        .collect()
}

#[test]
fn the_example_of_the_document_runs() {
    for program in ["bash", "curl", "python3", "timeout"] {
        let is_there = Command::new(program).arg("--version").output().is_ok();
        if !is_there {
            skip(
                "the_example_of_the_document_runs",
                Missing::Program(program),
            );
            return;
        }
    }
    let ports = ["7801", "7802", "8443", "9464"].map(|port| (port, free_port().to_string()));
    let with_ports = |text: String| {
        let replaced = ports.iter().fold(text, |text, (from, to)| {
            text.replace(&format!(":{from}"), &format!(":{to}"))
                .replace(&format!("/{from}"), &format!("/{to}"))
                .replace(&format!(", {from})"), &format!(", {to})"))
        });
        assert!(
            ports
                .iter()
                .all(|(from, _)| !replaced.contains(&format!(":{from}")))
        );
        replaced
    };
    let place = Place::new()
        .with("example.toml", &with_ports(blocks("toml")))
        .with("callback.py", &with_ports(blocks("python")))
        .with("run.sh", &with_ports(blocks("bash")));
    let program = Path::new(env!("CARGO_BIN_EXE_brimful"));
    let mut path = program.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    // after a hang all that it has started ends with it
    let run = Command::new("timeout")
        .args(["-k", "5", "90", "bash", "-e", "run.sh"])
        .current_dir(place.path(""))
        .env("PATH", path)
        .output()
        .expect("it runs");
    let (out, log) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{out}\n{log}");
    for expected in [
        "HTTP/1.1 201 Created",
        "\r\nLocation: http://127.0.0.1:",
        "TestNotification",
        "{\"RabInfo\":{",
        "\"value\":\"10.45.0.2\"",
        "\"notificationType\":\"MeasRepUeNotification\"",
    ] {
        assert!(out.contains(expected), "no {expected}: {out}\n{log}");
    }
}
