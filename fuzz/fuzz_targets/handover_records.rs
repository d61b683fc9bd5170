//! What comes on TCP of a proxy that has not shown its key, at both ends of a conversation: no bytes are let in.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    assert!(!pep::admits(bytes));
});
