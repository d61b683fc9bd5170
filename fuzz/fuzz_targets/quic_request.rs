//! What clients of the plain download protocol send, what they may request in a path of HTTP, and frames of HTTP/3.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quic::{MAX_REQUEST_BYTES, Request};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = Request::parse(bytes) {
        assert!(bytes.len() <= MAX_REQUEST_BYTES);
        assert_eq!(Request::parse(request.encode().as_bytes()), Ok(request));
    }
    let text = String::from_utf8_lossy(bytes);
    quic::check_path(&text);
    quic::check_frames(bytes);
});
