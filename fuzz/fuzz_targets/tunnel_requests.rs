//! What comes to a tunnel beside packets: requests to its admin socket, the paths in them, and `/metrics`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use tunnel::{PathConfig, Remote};

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = tunnel::check_request(bytes) {
        assert!(error.contains("a request is"), "{error}");
    }
    assert!(tunnel::metrics_status(bytes).is_ascii());
    let text = String::from_utf8_lossy(bytes);
    if let Ok(remote) = text.parse::<Remote>() {
        assert_eq!(remote.to_string().parse::<Remote>(), Ok(remote), "{text:?}");
    }
    for remote in [None, Some(Remote::from(SocketAddr::from(([192, 0, 2, 1], 6_511))))] {
        match PathConfig::parse(&text, remote.as_ref()) {
            Ok(path) => assert!(text.starts_with(&path.name), "{path:?}"),
            Err(error) => assert!(!error.is_empty()),
        }
    }
});
