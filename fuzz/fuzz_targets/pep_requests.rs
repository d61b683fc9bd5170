//! What strangers send to a proxy: requests to its admin socket and to `/metrics`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = pep::check_request(bytes) {
        assert!(error.contains("a request is"), "{error}");
    }
    assert!(pep::metrics_status(bytes).is_ascii());
});
