//! Radio reports in both forms, and events.
#![no_main]

use brimful_fuzz::radio_reports::report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| report(bytes));
