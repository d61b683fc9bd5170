//! What comes to a tunnel beside packets: requests to its admin socket, the paths in them, and `/metrics`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tunnel::PathConfig;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = tunnel::check_request(bytes) {
        assert!(error.contains("a request is"), "{error}");
    }
    assert!(tunnel::metrics_status(bytes).is_ascii());
    let text = String::from_utf8_lossy(bytes);
    for remote in [None, Some(([192, 0, 2, 1], 6_511).into())] {
        match PathConfig::parse(&text, remote) {
            Ok(path) => assert!(text.starts_with(&path.name), "{path:?}"),
            Err(error) => assert!(!error.is_empty()),
        }
    }
});
