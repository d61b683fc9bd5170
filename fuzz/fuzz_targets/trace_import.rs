//! Any bytes as a table of any columns.
#![no_main]

use brimful_fuzz::imported;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| imported(bytes));
