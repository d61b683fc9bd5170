//! The chart and the image: what can be seen of them without a cluster.

use crate::documented::assert_taken;
use crate::{has, root, text};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

fn chart() -> PathBuf {
    root().join("packaging/helm/brimful")
}

/// The text of a block of the chart's values, `NAME: |` at two spaces.
fn value(name: &str) -> String {
    let values = fs::read_to_string(chart().join("values.yaml")).expect("values");
    let head = format!("\n  {name}: |\n");
    let (_, after) = values.split_once(&head).expect("the block");
    let lines = after.lines();
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    lines
        .map(|line| format!("{}\n", line.trim_start()))
        .collect()
}

#[test]
fn the_charts_configurations_are_taken() {
    for daemon in ["pep", "rnis"] {
        let text = value(daemon);
        assert!(text.contains("/run/brimful/"), "{text}");
        assert_taken(daemon, &text, "values.yaml");
    }
}

fn helm(arguments: &[&str]) -> Output {
    let (verb, options) = arguments.split_first().expect("a verb");
    let mut command = Command::new("helm");
    command.arg(verb);
    if *verb == "template" {
        // a helm that was built from source takes itself for one of old clusters
        command.args(["edge", "--kube-version", "1.30.0"]);
    }
    command.arg(chart()).args(options);
    command.output().expect("helm starts")
}

#[test]
fn the_chart_is_good_and_bad_values_are_refused() {
    if !has("helm", "the_chart_is_good_and_bad_values_are_refused") {
        return;
    }
    let lint = helm(&["lint", "--strict"]);
    assert!(lint.status.success(), "{}", text(&lint.stdout));

    let plain = helm(&["template"]);
    assert!(plain.status.success(), "{}", text(&plain.stderr));
    let plain = text(&plain.stdout);
    for part in [
        "kind: DaemonSet",
        "hostNetwork: true",
        "add: [NET_ADMIN, NET_BIND_SERVICE, SYS_RESOURCE, BPF, PERFMON, SETPCAP]",
        "runAsNonRoot: true",
        "ue-prefixes = [\"10.45.0.0/16\"]",
        "clusterIP: None",
        "/usr/libexec/brimful-health",
    ] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    assert!(!plain.contains("ServiceMonitor"), "{plain}");

    let other = helm(&[
        "template",
        "--set",
        "kind=Deployment,replicas=3,hostNetwork=false,service.proxy=443,serviceMonitor.enabled=true",
        "--set",
        "nodeSelector.edge=yes",
    ]);
    assert!(other.status.success(), "{}", text(&other.stderr));
    let other = text(&other.stdout);
    for part in [
        "kind: Deployment",
        "replicas: 3",
        "hostNetwork: false",
        "kind: ServiceMonitor",
        "port: 443",
        "edge: \"yes\"",
    ] {
        let plain_part = part.replace('"', "");
        assert!(
            other.contains(part) || other.contains(&plain_part),
            "{part}: {other}"
        );
    }

    for (bad, named) in [
        ("kind=Pod", "kind"),
        ("metrics.pep=70000", "pep"),
        ("hostNetwrk=true", "hostNetwrk"),
        ("config.pep=", "config"),
        (
            "service.enabled=false,serviceMonitor.enabled=true",
            "serviceMonitor",
        ),
    ] {
        let refused = helm(&["template", "--set", bad]);
        assert!(!refused.status.success(), "{bad}");
        assert!(
            text(&refused.stderr).contains(named),
            "{bad}: {}",
            text(&refused.stderr)
        );
    }
}

/// The verdict of `packaging/oci/health` on a daemon that answers with this.
fn health(body: &'static str) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // all of it, which comes in pieces: what is closed with something unread is reset
        let mut request = Vec::new();
        let mut piece = [0; 1_024];
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(read) => request.extend_from_slice(&piece[..read]),
            }
        }
        let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{body}");
    });
    let output = Command::new("bash")
        .arg(root().join("packaging/oci/health"))
        .env("BRIMFUL_METRICS", port.to_string())
        .output()
        .expect("bash starts");
    server.join().expect("the server");
    output.status.success()
}

#[test]
fn a_daemon_that_answers_with_metrics_is_healthy() {
    assert!(health(
        "# HELP brimful_pep_connections Open.\nbrimful_pep_connections 0\n"
    ));
    assert!(!health("not found\n"));
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let unused = Command::new("bash")
        .arg(root().join("packaging/oci/health"))
        .env("BRIMFUL_METRICS", port.to_string())
        .status();
    assert!(!unused.expect("bash starts").success());
}
