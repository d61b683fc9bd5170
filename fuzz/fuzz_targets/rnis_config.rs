//! Configurations of the radio information service.
#![no_main]

use brimful_fuzz::radio_reports::config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| config(bytes));
