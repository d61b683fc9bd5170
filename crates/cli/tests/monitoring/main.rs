//! The dashboard and the alerts of `packaging/`, on a real Prometheus that asks real daemons: the proxy of a
//! live lab and a tunnel (both as root), the radio information service, and the QUIC server.
//!
//! ```text
//!   lab: curl, proxy --+--> reports --> rnis --> quic serve <--(drops)-- quic get
//!                      |                 |            |
//!   tunnel: ping ------+-----------------+------------+--/metrics--> Prometheus <-- each query
//! ```
#![allow(missing_docs, reason = "tests")]

mod daemons;
mod namespaces;
mod prometheus;
mod queries;

use prometheus::Prometheus;
use queries::Query;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// For the last query to have data: rates need two rounds of questions, and connections must end.
const TIMEOUT: Duration = Duration::from_secs(180);

fn packaging(file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("packaging").join(file)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// `promtool` with arguments, unless there is none.
fn promtool(arguments: &[&str], test: &str) -> Option<std::process::Output> {
    let Some(program) = prometheus::program("promtool") else {
        testing::skip(test, testing::Missing::Program("promtool"));
        return None;
    };
    let output = Command::new(program).args(arguments).output();
    Some(output.expect("promtool starts"))
}

fn assert_good(output: &std::process::Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
}

#[test]
fn the_example_and_the_alerts_are_well_formed() {
    let test = "the_example_and_the_alerts_are_well_formed";
    for (command, file) in [
        ("config", "prometheus/prometheus.yml"),
        ("rules", "prometheus/brimful-rules.yml"),
    ] {
        let path = packaging(file);
        if let Some(output) = promtool(&["check", command, path.to_str().expect("text")], test) {
            assert_good(&output);
        }
    }
}

/// Each alert fires on series that are as it describes, and none on those of a healthy edge.
#[test]
fn each_alert_fires_when_it_should() {
    let test = "each_alert_fires_when_it_should";
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/monitoring/alerts.yml");
    let tried = fs::read_to_string(cases).expect("the cases");
    let rules = fs::read_to_string(packaging("prometheus/brimful-rules.yml")).expect("the rules");
    for alert in queries::alert_names(&rules) {
        assert!(
            tried.contains(&format!("alertname: {alert}\n")),
            "{alert} is not tried"
        );
    }
    if let Some(output) = promtool(&["test", "rules", cases], test) {
        assert_good(&output);
    }
}

#[test]
fn the_dashboard_and_the_alerts_show_what_daemons_measure() {
    let test = "the_dashboard_and_the_alerts_show_what_daemons_measure";
    if prometheus::program("prometheus").is_none() {
        testing::skip(test, testing::Missing::Program("prometheus"));
        return;
    }
    let lab = is_root().then(daemons::Lab::start);
    if lab.is_none() {
        testing::skip(
            "queries about the proxy and the tunnel",
            testing::Missing::Root,
        );
    }
    let tunnel = is_root().then(daemons::Tunnel::start);
    let services = daemons::Services::start(lab.as_ref());
    let mut targets = services.targets();
    targets.extend(lab.iter().map(daemons::Lab::target));
    targets.extend(tunnel.iter().map(daemons::Tunnel::target));
    for target in &targets {
        page_is_coherent(target);
    }
    let prometheus = Prometheus::start(&targets);

    let dashboard = fs::read_to_string(packaging("grafana/brimful.json")).expect("the dashboard");
    let rules = fs::read_to_string(packaging("prometheus/brimful-rules.yml")).expect("the rules");
    let mut wanted = queries::of_dashboard(&dashboard);
    assert!(wanted.len() > 40, "{}", wanted.len());
    wanted.extend(queries::of_alerts(&rules));
    wanted.retain(|query| {
        let needs_root = ["brimful_pep_", "brimful_tunnel_"];
        is_root() || !needs_root.iter().any(|family| query.text.contains(family))
    });

    let since = Instant::now();
    let mut without = wanted;
    while !without.is_empty() && since.elapsed() < TIMEOUT {
        without.retain(|query| !prometheus.has_data(&query.text));
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(
        without.is_empty(),
        "no data within {TIMEOUT:?}: {without:#?}\ntargets: {}",
        prometheus.targets()
    );

    // what the test would say of a name that no daemon has
    let misspelt = dashboard.replace("brimful_quic_connections", "brimful_quic_conections");
    let silent = queries::of_dashboard(&misspelt);
    let silent: Vec<&Query> = silent
        .iter()
        .filter(|query| query.text.contains("brimful_quic_con"))
        .filter(|query| !prometheus.has_data(&query.text))
        .collect();
    assert_eq!(silent.len(), 1, "{silent:?}");
}

/// Names, types, units and help, as Prometheus's own linter wants them.
fn page_is_coherent(target: &daemons::Target) {
    let page = prometheus::get(&target.address, "/metrics").expect("metrics");
    let Some(program) = prometheus::program("promtool") else {
        return;
    };
    let mut child = Command::new(program)
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("promtool starts");
    let mut stdin = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, page.as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_good(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "", "of {}", target.daemon);
    for help in page.lines().filter(|line| line.starts_with("# HELP ")) {
        let sentence = help.splitn(4, ' ').nth(3).unwrap_or_default();
        let begins = sentence.chars().next().is_some_and(|c| !c.is_lowercase());
        assert!(begins && !sentence.is_empty(), "{}: {help}", target.daemon);
    }
}
