//! The configuration file of the queue above a modem, of any text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = ue::Config::parse("ue.toml", &text) {
        assert!(error.to_string().starts_with("ue.toml"), "{error}");
    }
});
