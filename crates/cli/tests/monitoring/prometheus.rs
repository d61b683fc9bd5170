//! A Prometheus of the test's own, and queries of it.

use crate::daemons::{Process, Target, free_port};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use testing::{HANG_LIMIT, wait_until};

/// A program of Prometheus: as `scripts/setup` unpacks it, or installed.
pub fn program(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unpacked = root.join("target/prometheus/usr/bin").join(name);
    let installed = Path::new("/usr/bin").join(name);
    [unpacked, installed]
        .into_iter()
        .find(|path| path.is_file())
}

/// GET of a path at an address; `None` if nothing answers, or not with 200.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(HANG_LIMIT)).ok()?;
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    // the reason for rejecting a query is in the body
    (status == "200" || status == "400").then(|| body.to_owned())
}

/// A running server.
pub struct Prometheus {
    _process: Process,
    _folder: TempDir,
    address: String,
}

impl Prometheus {
    /// Scrapes the targets each half second.
    pub fn start(program: &Path, targets: &[Target]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut config = "global:\n  scrape_interval: 500ms\n  scrape_timeout: 450ms\n\
                          scrape_configs:\n  - job_name: brimful\n    static_configs:\n"
            .to_owned();
        for target in targets {
            let _ = writeln!(
                config,
                "      - targets: [\"{}\"]\n        labels: {{daemon: {}}}",
                target.address, target.daemon
            );
        }
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config).expect("written");
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}/data",
                folder.path().display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = Process::start(&mut command);
        wait_until("Prometheus", || {
            get(&address, "/-/ready").is_some_and(|body| body.contains("Ready"))
        });
        Self {
            _process: process,
            _folder: folder,
            address,
        }
    }

    /// Whether a query has a value now that is a number.
    pub fn has_data(&self, query: &str) -> bool {
        let mut encoded = String::new();
        for byte in query.bytes() {
            if byte.is_ascii_alphanumeric() {
                encoded.push(char::from(byte));
            } else {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        let Some(body) = get(&self.address, &format!("/api/v1/query?query={encoded}")) else {
            return false;
        };
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().expect("a vector");
        series
            .iter()
            .any(|one| one["value"][1].as_str().is_some_and(|value| value != "NaN"))
    }

    /// The targets, with the outcome of the last scrape.
    pub fn targets(&self) -> String {
        let body = get(&self.address, "/api/v1/targets?state=active").unwrap_or_default();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let targets = body["data"]["activeTargets"].as_array().cloned();
        let lines = targets.unwrap_or_default().into_iter().map(|target| {
            let labels = &target["labels"];
            format!(
                "{} {} {}",
                labels["daemon"], target["health"], target["lastError"]
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
