//! The configuration of CDBE in the kernel's TCP, of any text.
#![no_main]

use kernel_cc::cdbe::{Config, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match Config::parse("cdbe.toml", &text) {
        Err(error) => assert!(error.to_string().starts_with("cdbe.toml"), "{error}"),
        Ok(config) => {
            assert!(!config.ports.contains(&0));
            // what is read may not be attachable, and that is then an error of the input
            if let Err(error) = check(&config.plan()) {
                assert!(error.is_input(), "{error}");
            }
        }
    }
});
