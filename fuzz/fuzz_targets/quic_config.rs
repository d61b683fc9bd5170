//! The QUIC server's configuration file, of any text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = quic::Config::parse("quic.toml", &text) {
        assert!(error.to_string().starts_with("quic.toml"), "{error}");
    }
});
