//! The dashboard and the alerts of `packaging/`, on a real Prometheus that scrapes real daemons: the proxy of a
//! live lab, a tunnel and the queue above a modem (as root), the radio information service, and the QUIC server.
//!
//! ```text
//!   lab: curl, proxy --+--> reports --> rnis --> quic serve <--(drops)-- quic get
//!                      |                 |            |
//!   tunnel: ping ------+-----------------+------------+--/metrics--> Prometheus <-- each query
//!   ue: ping, reports -'
//! ```
#![allow(missing_docs, reason = "tests")]

mod daemons;
mod modem;
mod namespaces;
mod prometheus;
mod queries;

use prometheus::Prometheus;
use queries::Query;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::{Missing, has_root, skip, wait_until};

fn packaging(file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("packaging").join(file)
}

/// A program of Prometheus, or a recorded skip of the test.
fn program(name: &str, test: &str) -> Option<PathBuf> {
    let found = prometheus::program(name);
    if found.is_none() {
        skip(test, Missing::Program(name));
    }
    found
}

/// `promtool` with arguments, unless there is none.
fn promtool(arguments: &[&str], test: &str) -> Option<std::process::Output> {
    let program = program("promtool", test)?;
    let output = Command::new(program).args(arguments).output();
    Some(output.expect("promtool starts"))
}

fn assert_good(output: &std::process::Output) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
}

#[test]
fn the_example_and_the_alerts_are_well_formed() {
    let test = "the_example_and_the_alerts_are_well_formed";
    for (command, file) in [
        ("config", "prometheus/prometheus.yml"),
        ("rules", "prometheus/brimful-rules.yml"),
    ] {
        let path = packaging(file);
        let Some(output) = promtool(&["check", command, path.to_str().expect("text")], test) else {
            return;
        };
        assert_good(&output);
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
    let programs = (program("prometheus", test), program("promtool", test));
    let (Some(prometheus), Some(promtool)) = programs else {
        return;
    };
    // without root, queries of the proxy, the tunnel and the queue above a modem are left out
    let is_root = has_root(test);
    let lab = is_root.then(daemons::Lab::start);
    let tunnel = is_root.then(daemons::Tunnel::start);
    let modem = is_root.then(modem::Modem::start);
    let services = daemons::Services::start(lab.as_ref());
    let mut targets = services.targets();
    targets.extend(lab.iter().map(daemons::Lab::target));
    targets.extend(tunnel.iter().map(daemons::Tunnel::target));
    targets.extend(modem.iter().map(modem::Modem::target));
    for target in &targets {
        page_is_coherent(&promtool, target);
    }
    let prometheus = Prometheus::start(&prometheus, &targets);

    let dashboard = fs::read_to_string(packaging("grafana/brimful.json")).expect("the dashboard");
    let rules = fs::read_to_string(packaging("prometheus/brimful-rules.yml")).expect("the rules");
    let mut all = queries::of_dashboard(&dashboard);
    assert!(all.len() > 40, "{}", all.len());
    all.extend(queries::of_alerts(&rules));
    all.retain(|query| {
        let needs_root = ["brimful_pep_", "brimful_tunnel_", "brimful_ue_"];
        is_root || !needs_root.iter().any(|family| query.text.contains(family))
    });

    // rates need two scrapes, and connections must end
    let mut without = Without {
        prometheus: &prometheus,
        queries: all,
    };
    wait_until("data of all queries", || without.is_empty());

    // a name that no daemon has is noticed
    let misspelt = dashboard.replace("brimful_quic_connections", "brimful_quic_conections");
    let silent = queries::of_dashboard(&misspelt);
    let silent: Vec<&Query> = silent
        .iter()
        .filter(|query| query.text.contains("brimful_quic_con"))
        .filter(|query| !prometheus.has_data(&query.text))
        .collect();
    assert_eq!(silent.len(), 1, "{silent:?}");
}

/// Queries without data so far, printed if the test fails.
struct Without<'a> {
    prometheus: &'a Prometheus,
    queries: Vec<Query>,
}

impl Without<'_> {
    fn is_empty(&mut self) -> bool {
        self.queries
            .retain(|query| !self.prometheus.has_data(&query.text));
        self.queries.is_empty()
    }
}

impl Drop for Without<'_> {
    fn drop(&mut self) {
        if !self.queries.is_empty() {
            let targets = self.prometheus.targets();
            eprintln!("no data: {:#?}\ntargets: {targets}", self.queries);
        }
    }
}

/// Names, types, units and help, as Prometheus's own linter requires them.
fn page_is_coherent(promtool: &Path, target: &daemons::Target) {
    let page = prometheus::get(&target.address, "/metrics").expect("metrics");
    let mut child = Command::new(promtool)
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
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "of {}", target.daemon);
    for help in page.lines().filter(|line| line.starts_with("# HELP ")) {
        let sentence = help.splitn(4, ' ').nth(3).unwrap_or_default();
        let begins = sentence.chars().next().is_some_and(|c| !c.is_lowercase());
        assert!(begins && !sentence.is_empty(), "{}: {help}", target.daemon);
    }
}
