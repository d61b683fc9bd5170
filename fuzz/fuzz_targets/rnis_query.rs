//! Queries of MEC 012.
#![no_main]

use brimful_fuzz::radio_reports::query;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| query(bytes));
