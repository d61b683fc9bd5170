//! Heads of requests, of any bytes: at the metrics of the daemons, behind a reverse proxy, and the paths of a lab's
//! HTTP server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Component;

const PATHS: [&str; 3] = ["/metrics", "/status", "/healthz"];

fuzz_target!(|bytes: &[u8]| {
    let status = daemon::metrics::status_of(bytes, &PATHS);
    let is_path = |path: &&str| {
        let start = format!("GET {path}");
        let after = bytes.strip_prefix(start.as_bytes());
        after.is_some_and(|after| after.first().is_none_or(|b| b" ?\r\n".contains(b)))
    };
    let line = bytes.split(|b| matches!(b, b'\r' | b'\n')).next();
    let is_text = std::str::from_utf8(line.unwrap_or_default()).is_ok();
    let is_good = is_text && PATHS.iter().any(|path| is_path(&path));
    assert_eq!(status == "200 OK", is_good, "{status}");

    let text = String::from_utf8_lossy(bytes);
    let last_line = |name: &str| {
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        let named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.last().map(|(_, value)| value)
    };
    let far = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(daemon::client_address(far, last_line), far);
    let near = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if daemon::client_address(near, last_line) != near {
        assert!(text.to_ascii_lowercase().contains("forwarded"));
    }

    if let Some(path) = lab::content_path(&text) {
        // nothing leads out of the folder
        let mut parts = path.components();
        assert!(
            parts.all(|part| matches!(part, Component::Normal(_))),
            "{path:?}"
        );
        assert!(!path.as_os_str().as_encoded_bytes().contains(&0));
    }
});
