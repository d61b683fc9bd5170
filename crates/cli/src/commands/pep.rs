//! `brimful pep`: the proxy daemon, and questions to one that runs.

use crate::failure::Failure;
use crate::output::print;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use pep::{Config, PepError, Start};
use serde_json::Value;
use std::fmt::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Help below the options.
pub(crate) const PEP_HELP: &str = "\
Runs in the foreground and logs to stderr. SIGHUP reloads the configuration; SIGTERM ends the proxy:
new connections then pass by it. The configuration's keys are in docs/operations/pep.md.

Examples:
  brimful pep --config /etc/brimful/pep.toml --check
  sudo brimful pep --config /etc/brimful/pep.toml
  sudo brimful pep --config /etc/brimful/pep.toml --upgrade
  sudo brimful pep status --config /etc/brimful/pep.toml
  sudo brimful pep hand-over --config /etc/brimful/pep.toml --ue 10.45.0.2 --to edge-2

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed run.";

/// Options of `pep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PepArgs {
    #[command(subcommand)]
    command: Option<PepCommand>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Take over the listeners of the proxy that runs with this admin socket, and let it drain
    #[arg(long, conflicts_with = "check")]
    upgrade: bool,
}

/// Questions to a running proxy.
#[derive(Debug, Subcommand)]
pub(crate) enum PepCommand {
    /// Say what state the running proxy is in
    Status(SocketArgs),
    /// List the connections of the running proxy
    Flows(SocketArgs),
    /// Move the connections of a UE to another proxy
    HandOver(HandOverArgs),
}

/// Whose connections move, and where to.
#[derive(Debug, Args)]
pub(crate) struct HandOverArgs {
    #[command(flatten)]
    proxy: SocketArgs,
    /// Address of the UE
    #[arg(long, value_name = "ADDRESS")]
    ue: IpAddr,
    /// The other proxy, by its name in [[handover.peer]]
    #[arg(long, value_name = "NAME")]
    to: String,
}

/// Which daemon is queried, and how the answer is printed.
#[derive(Debug, Args)]
pub(crate) struct SocketArgs {
    /// The proxy's configuration file, which names its admin socket
    #[arg(long, value_name = "FILE", required_unless_present = "socket")]
    config: Option<PathBuf>,
    /// Its admin socket itself
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the proxy, or queries it.
pub(crate) fn run(arguments: &PepArgs) -> Result<(), Failure> {
    match (&arguments.command, &arguments.config) {
        (Some(PepCommand::Status(ask)), _) => {
            let status = pep::status(&socket(ask)?).map_err(failure)?;
            answer(ask, &status, status_text)
        }
        (Some(PepCommand::Flows(ask)), _) => {
            let flows = pep::flows(&socket(ask)?).map_err(failure)?;
            answer(ask, &flows, flows_text)
        }
        (Some(PepCommand::HandOver(of)), _) => {
            let report = pep::move_connections(&socket(&of.proxy)?, of.ue, &of.to);
            answer(&of.proxy, &report.map_err(failure)?, moved_text)
        }
        (None, Some(file)) if arguments.check => check(file),
        (None, Some(file)) => pep::run(&Start {
            config: file.clone(),
            upgrade: arguments.upgrade,
        })
        .map_err(failure),
        (None, None) => Err(Failure::Input(anyhow!("--config FILE is missing"))),
    }
}

fn failure(error: PepError) -> Failure {
    match error {
        PepError::Config(_) | PepError::NoUser { .. } => Failure::input(error),
        PepError::Dashboard(of) if of.is_input() => Failure::input(of),
        _ => Failure::run(error),
    }
}

fn check(file: &Path) -> Result<(), Failure> {
    let config = Config::load(file).map_err(Failure::input)?;
    config.dashboard.access().map_err(Failure::input)?;
    print(&format!("{}: valid\n", file.display()))
}

fn socket(ask: &SocketArgs) -> Result<PathBuf, Failure> {
    if let Some(socket) = &ask.socket {
        return Ok(socket.clone());
    }
    let file = ask.config.as_deref().unwrap_or(Path::new(""));
    let config = Config::load(file).map_err(Failure::input)?;
    config.admin.ok_or_else(|| {
        Failure::Input(anyhow!(
            "{}: the proxy has no admin socket; give it one: [admin] socket = \"/run/brimful/pep.sock\"",
            file.display()
        ))
    })
}

fn answer(ask: &SocketArgs, value: &Value, text: fn(&Value) -> String) -> Result<(), Failure> {
    if ask.json {
        print(&format!("{value}\n"))
    } else {
        print(&text(value))
    }
}

/// A value as people read it; nothing where there is none.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn status_text(status: &Value) -> String {
    let mut text = String::new();
    let listeners = status["listeners"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let listeners: Vec<String> = listeners.iter().map(plain).collect();
    let is_split = status["interception"] != "off";
    // writing to a text cannot fail
    let _ = writeln!(
        text,
        "brimful {} (process {}): {} for {:.0} s, {}",
        plain(&status["version"]),
        status["pid"],
        plain(&status["state"]),
        status["uptime_seconds"].as_f64().unwrap_or(0.0),
        match is_split {
            true => format!("at {}", listeners.join(" and ")),
            false => "no connection is split".to_owned(),
        },
    );
    if is_split {
        let _ = writeln!(
            text,
            "{} connections, {} waiting",
            status["connections"],
            bytes(&status["waiting_bytes"]),
        );
    }
    let moved = &status["handover"];
    if !moved.is_null() {
        let _ = writeln!(
            text,
            "{} connections handed over, {} taken over, {} transfers given up, {} reset; frozen for at most {:.1} ms",
            moved["moved"],
            moved["adopted"],
            moved["aborted"],
            moved["reset"],
            moved["max_frozen_seconds"].as_f64().unwrap_or(0.0) * 1e3,
        );
    }
    let control = &status["control"];
    if control.is_null() {
        text.push_str("connections are split; without a look at the radio\n");
        return text;
    }
    let _ = writeln!(
        text,
        "{}; reports {}connected, {} accepted",
        match control["actuator"].as_str() {
            Some("none") => "no windows are decided".to_owned(),
            _ => format!("windows towards UEs by {}", plain(&control["actuator"])),
        },
        if control["source_connected"] == true {
            ""
        } else {
            "not "
        },
        control["reports"]["believed"],
    );
    if !control["unsplit"].is_null() {
        text.push_str(&unsplit_text(&control["unsplit"]));
    }
    let windows = &status["server_windows"];
    if !windows.is_null() {
        let _ = writeln!(
            text,
            "windows towards servers by {}{}",
            plain(&windows["actuator"]),
            windows["actuator_error"]
                .as_str()
                .map_or_else(String::new, |error| format!(" ({error})")),
        );
    }
    for cell in control["cells"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "cell {}: {}, {} flows under control, last report {:.3} s ago",
            cell["cell"],
            plain(&cell["state"]),
            cell["flows"],
            cell["silence_seconds"].as_f64().unwrap_or(f64::NAN),
        );
    }
    for ue in control["ues"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "UE {} (RNTI {}): {:.1} Mbit/s, {} flows ({} slow), {} in flight, {} waiting",
            plain(&ue["address"]),
            ue["rnti"],
            ue["capacity_bps"].as_f64().unwrap_or(0.0) / 1e6,
            ue["flows"],
            ue["slow_flows"],
            bytes(&ue["in_flight_bytes"]),
            bytes(&ue["buffered_bytes"]),
        );
    }
    text
}

/// What becomes of packets that are not split.
fn unsplit_text(unsplit: &Value) -> String {
    let packets = |of: fn(&str) -> bool| -> u64 {
        let counts = unsplit["packets"].as_object().into_iter().flatten();
        let counts = counts.filter(|(verdict, _)| of(verdict));
        counts.filter_map(|(_, packets)| packets.as_u64()).sum()
    };
    if !unsplit["queue"].is_null() {
        return held_text(unsplit);
    }
    format!(
        "not split: {} at {} ({}{}); {} UEs with orders; {} packets, {} marked, {} dropped\n",
        plain(&unsplit["mode"]),
        plain(&unsplit["interface"]),
        plain(&unsplit["way"]),
        unsplit["error"]
            .as_str()
            .map_or_else(String::new, |error| format!(": {error}")),
        unsplit["ues"],
        packets(|_| true),
        packets(|verdict| verdict.starts_with("marked_")),
        packets(|verdict| verdict.starts_with("dropped_")),
    )
}

/// What waits of packets that are not split.
fn held_text(unsplit: &Value) -> String {
    let queue = &unsplit["queue"];
    let dropped = queue["dropped"].as_object().into_iter().flatten();
    let dropped: u64 = dropped.filter_map(|(_, packets)| packets.as_u64()).sum();
    format!(
        "not split: queue at {} ({}{}); {} UEs held, {} waiting; {} packets passed, {} marked, {dropped} dropped\n",
        plain(&unsplit["interface"]),
        plain(&unsplit["way"]),
        unsplit["error"]
            .as_str()
            .map_or_else(String::new, |error| format!(": {error}")),
        queue["held_ues"],
        bytes(&queue["waiting_bytes"]),
        queue["passed"],
        queue["marked"],
    )
}

fn flows_text(flows: &Value) -> String {
    let mut text = String::new();
    for flow in flows.as_array().into_iter().flatten() {
        let milliseconds = |key: &str| match flow[key].as_f64() {
            Some(seconds) => format!("{:.1} ms", seconds * 1e3),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            "{} {} <- {}: {}{}, {} down, {} up, {} waiting, window {} / {}, RTT {} / {}",
            flow["id"],
            plain(&flow["client"]),
            plain(&flow["server"]),
            plain(&flow["handling"]),
            if flow["slow"] == true { " (slow)" } else { "" },
            bytes(&flow["bytes_down"]),
            bytes(&flow["bytes_up"]),
            bytes(&flow["waiting_bytes"]),
            bytes(&flow["wan_window_bytes"]),
            bytes(&flow["ran_window_bytes"]),
            milliseconds("wan_rtt_seconds"),
            milliseconds("ran_rtt_seconds"),
        );
    }
    if text.is_empty() {
        text.push_str("no connections\n");
    }
    text
}

/// What became of connections that were to move.
fn moved_text(report: &Value) -> String {
    let mut text = format!(
        "{} connections handed over with {}, frozen for {:.1} ms\n",
        report["moved"],
        bytes(&report["payload_bytes"]),
        report["frozen_seconds"].as_f64().unwrap_or(0.0) * 1e3,
    );
    for (reason, number) in report["stay"].as_object().into_iter().flatten() {
        // writing to a text cannot fail
        let _ = writeln!(text, "{number} stay: {reason}");
    }
    text
}

fn bytes(value: &Value) -> String {
    match value.as_u64() {
        Some(n) => units::Bytes::new(n).to_string(),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_printed_with_and_without_the_radio() {
        let split = serde_json::json!({
            "version": "0.1.0", "pid": 1, "state": "running", "uptime_seconds": 2.0,
            "listeners": ["0.0.0.0:40001"], "connections": 3, "waiting_bytes": 1500,
        });
        let text = status_text(&split);
        assert!(text.contains("3 connections, 1.5 kB waiting"), "{text}");
        assert!(text.contains("without a look at the radio"), "{text}");
        let mut moving = split.clone();
        moving["handover"] = serde_json::json!({
            "moved": 3, "adopted": 4, "aborted": 1, "reset": 0, "max_frozen_seconds": 0.0042,
        });
        let text = status_text(&moving);
        let line = "3 connections handed over, 4 taken over, 1 transfers given up, 0 reset; frozen for at most 4.2 ms\n";
        assert!(text.contains(line), "{text}");
        let report = serde_json::json!({
            "moved": 2, "payload_bytes": 1500, "frozen_seconds": 0.003, "stay": { "half_closed": 1 },
        });
        let expected =
            "2 connections handed over with 1.5 kB, frozen for 3.0 ms\n1 stay: half_closed\n";
        assert_eq!(moved_text(&report), expected);
        let mut controlled = split;
        controlled["control"] = serde_json::json!({
            "actuator": "bpf", "source_connected": true, "reports": { "believed": 7 },
            "cells": [{ "cell": 1, "state": "following", "flows": 2, "silence_seconds": 0.001 }],
            "ues": [{ "address": "10.45.0.2", "rnti": 5, "capacity_bps": 16_000_000, "flows": 2,
                      "slow_flows": 1, "in_flight_bytes": 90_000, "buffered_bytes": 0 }],
        });
        controlled["server_windows"] = serde_json::json!({
            "actuator": "clamp", "actuator_error": "no right", "updates": 0,
        });
        controlled["control"]["unsplit"] = serde_json::json!({
            "mode": "mark", "interface": "ran0", "way": "tcx", "ues": 1, "orders": 7,
            "packets": { "sparse": 5, "marked_l4s": 3, "marked_classic": 1, "already_marked": 1,
                         "dropped_not_ect": 2, "dropped_overload": 0 },
        });
        let text = status_text(&controlled);
        let line =
            "not split: mark at ran0 (tcx); 1 UEs with orders; 12 packets, 4 marked, 2 dropped\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("servers by clamp (no right)"), "{text}");
        assert!(text.contains("cell 1: following, 2 flows"), "{text}");
        assert!(text.contains("16.0 Mbit/s, 2 flows (1 slow)"), "{text}");
        let mut held = controlled.clone();
        held["control"]["unsplit"]["queue"] = serde_json::json!({
            "held_ues": 1, "waiting_bytes": 3_000, "passed": 9, "marked": 2,
            "dropped": { "codel": 3, "buffer": 1 },
        });
        let text = status_text(&held);
        let line = "not split: queue at ran0 (tcx); 1 UEs held, 3 kB waiting; 9 packets passed, 2 marked, 4 dropped\n";
        assert!(text.contains(line), "{text}");
        let mut alone = controlled;
        alone["interception"] = "off".into();
        alone["listeners"] = serde_json::json!([]);
        alone["control"]["actuator"] = "none".into();
        alone["control"]["unsplit"]["error"] = "no interface".into();
        let text = status_text(&alone);
        assert!(text.contains("for 2 s, no connection is split\n"), "{text}");
        assert!(text.contains("no windows are decided; reports"), "{text}");
        assert!(text.contains("ran0 (tcx: no interface)"), "{text}");
    }
}
