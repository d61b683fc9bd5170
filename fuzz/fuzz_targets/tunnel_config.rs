//! The tunnel's configuration file of either end, of any text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tunnel::{Config, Role};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for role in [Role::Client, Role::Server] {
        if let Err(error) = Config::parse("tunnel.toml", &text, role) {
            assert!(error.to_string().starts_with("tunnel.toml"), "{error}");
        }
    }
});
