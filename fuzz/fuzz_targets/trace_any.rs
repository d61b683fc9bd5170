//! Any bytes, whose format is found out.
#![no_main]

use brimful_fuzz::trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| trace(bytes, None));
