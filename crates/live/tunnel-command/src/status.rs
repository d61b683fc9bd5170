//! How a tunnel stands, as text: no line is longer than 100 columns with names and addresses of usual length.

use serde_json::Value;
use std::fmt::Write;

/// Of the answer to a request.
pub(crate) fn status_text(status: &Value) -> String {
    let mut text = String::new();
    let device = &status["device"];
    // writing to a text cannot fail
    let _ = writeln!(
        text,
        "brimful {} (process {}): {} for {}\ndevice {} of MTU {}: {} in, {} out",
        word(&status["version"]),
        status["pid"],
        word(&status["role"]),
        age(&status["uptime_seconds"]),
        word(&device["name"]),
        device["mtu"],
        bytes(&device["read_bytes"]),
        bytes(&device["written_bytes"]),
    );
    let packets = &status["packets"];
    if packets["threads"] == 2 {
        let _ = writeln!(
            text,
            "two threads: {} calls handed over, {} waits for room",
            packets["handed_over"], packets["waits"],
        );
    }
    for connection in status["connections"].as_array().into_iter().flatten() {
        let state = match connection["established"] == true {
            true => "connected",
            false => "not connected",
        };
        let _ = writeln!(
            text,
            "{}: {state}, {} packets waiting, {} held, {} late, {} lost",
            word(&connection["peer"]),
            connection["waiting_packets"],
            connection["held_packets"],
            connection["late_packets"],
            connection["lost_packets"],
        );
        for (class, counters) in connection["classes"].as_object().into_iter().flatten() {
            write_class(&mut text, class, counters);
        }
        for path in connection["paths"].as_array().into_iter().flatten() {
            write_path(&mut text, path);
        }
    }
    text
}

/// What this end has sent of a class, where it has sent any.
fn write_class(text: &mut String, class: &str, counters: &Value) {
    let of = |key: &str| counters[key].as_u64().unwrap_or(0);
    if of("packets") == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "  class {class}: {} packets, {} duplicated, {} sent again\n    \
         deadline  {} late, {} given up\n    \
         queue     {} marked, {} dropped",
        of("packets"),
        of("duplicated_packets"),
        of("repeated_packets"),
        of("late_packets"),
        of("given_up_packets"),
        of("marked_packets"),
        of("dropped_packets"),
    );
}

fn write_path(text: &mut String, path: &Value) {
    let sealed = match path["cipher"].as_str() {
        Some(cipher) => format!(
            "{cipher}, keys {} old, {} rekeys",
            age(&path["keys_age_seconds"]),
            path["sessions"].as_u64().unwrap_or(0).saturating_sub(1)
        ),
        None => "none".to_owned(),
    };
    let mtu = match (path["path_mtu"].as_u64(), path["path_mtu_state"].as_str()) {
        (Some(mtu), Some(state)) => format!("\n    MTU       {mtu} ({state})"),
        _ => String::new(),
    };
    let leg = match path["leg"].as_str() {
        Some(state) => format!(
            "\n    leg       {state}, left {} times, back {}",
            path["departures"], path["returns"]
        ),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "  path {}: {}, priority {}\n    \
         endpoint  {} ({}, {})\n    \
         cipher    {sealed}\n    \
         RTT       {} (least {}), loss {}, window {} packets{mtu}\n    \
         transfer  {} sent, {} received{leg}",
        word(&path["name"]),
        word(&path["state"]),
        path["priority"],
        word(&path["remote"]),
        word(&path["carrier"]),
        word(&path["controller"]),
        milliseconds(&path["rtt_seconds"]),
        milliseconds(&path["min_rtt_seconds"]),
        loss(path),
        path["cwnd_packets"],
        bytes(&path["sent_bytes"]),
        bytes(&path["received_bytes"]),
    );
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn bytes(value: &Value) -> String {
    units::Bytes::new(value.as_u64().unwrap_or(0)).to_string()
}

fn milliseconds(value: &Value) -> String {
    match value.as_f64() {
        Some(seconds) => format!("{:.1} ms", seconds * 1e3),
        None => "-".to_owned(),
    }
}

/// Of the packets that were sent.
fn loss(path: &Value) -> String {
    let of = |key: &str| path[key].as_u64().unwrap_or(0) as f64;
    match of("sent_packets") {
        0.0 => "-".to_owned(),
        sent => format!("{:.2} %", 100.0 * of("lost_packets") / sent),
    }
}

fn age(value: &Value) -> String {
    let Some(seconds) = value.as_f64() else {
        return "-".to_owned();
    };
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status() -> Value {
        let remote = "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535";
        json!({
            "version": "0.2.0", "pid": 4_194_304, "role": "client", "uptime_seconds": 90_061.0,
            "device": { "name": "brimful0", "mtu": 1396, "read_bytes": 1500, "written_bytes": 3000 },
            "packets": { "threads": 2, "handed_over": 123_456_789, "waits": 12 },
            "connections": [{ "peer": "server", "established": true, "waiting_packets": 1_500,
                "held_packets": 1_500, "late_packets": 123_456_789, "lost_packets": 123_456_789,
                "classes": { "bulk": { "packets": 0 }, "latency": { "packets": 123_456_789_012_u64,
                    "duplicated_packets": 123_456_789, "repeated_packets": 123_456_789, "late_packets": 3,
                    "given_up_packets": 4, "marked_packets": 5, "dropped_packets": 6 } },
                "paths": [{ "name": "wifi", "leg": "returning", "departures": 7, "returns": 6, "remote": remote, "carrier": "dccp",
                    "controller": "bbr2", "state": "up", "priority": 3, "cwnd_packets": 100_000,
                    "rtt_seconds": 0.0205, "min_rtt_seconds": 0.018, "sent_packets": 400, "lost_packets": 1,
                    "cipher": "chacha20-poly1305", "keys_age_seconds": 61.0, "sessions": 12_346,
                    "path_mtu": 1500, "path_mtu_state": "search-complete", "sent_bytes": 10, "received_bytes": 20 },
                    { "name": "lte", "remote": "192.0.2.1:6511", "carrier": "tcp",
                    "controller": "cubic", "state": "down", "priority": 2, "cwnd_packets": 0,
                    "rtt_seconds": null, "min_rtt_seconds": null, "sent_packets": 0, "lost_packets": 0,
                    "cipher": null, "sessions": 0, "sent_bytes": 0, "received_bytes": 0 }] }],
        })
    }

    #[test]
    fn a_status_shows_each_path() {
        let text = status_text(&status());
        for part in [
            "client for 1 d 1 h\n",
            "device brimful0 of MTU 1396: 1.5 kB in, 3 kB out\n",
            "two threads: 123456789 calls handed over, 12 waits for room\n",
            "  class latency: 123456789012 packets, 123456789 duplicated, 123456789 sent again\n",
            "    deadline  3 late, 4 given up\n    queue     5 marked, 6 dropped\n",
            "  path wifi: up, priority 3\n",
            "    leg       returning, left 7 times, back 6\n  path lte",
            "    cipher    chacha20-poly1305, keys 1 min 1 s old, 12345 rekeys\n",
            "    RTT       20.5 ms (least 18.0 ms), loss 0.25 %, window 100000 packets\n    MTU       1500 (search-complete)\n",
            "    transfer  10 B sent, 20 B received\n",
            "  path lte: down, priority 2\n    endpoint  192.0.2.1:6511 (tcp, cubic)\n    cipher    none\n",
            "    RTT       - (least -), loss -, window 0 packets\n",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
        assert!(!text.contains("class bulk"), "{text}");
        let widest = text.lines().map(str::len).max();
        assert!(widest <= Some(100), "{widest:?} columns:\n{text}");
    }
}
