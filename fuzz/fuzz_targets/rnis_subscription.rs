//! Subscriptions of MEC 012.
#![no_main]

use brimful_fuzz::radio_reports::subscription;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| subscription(bytes));
