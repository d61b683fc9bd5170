//! Statistics of FlexRAN.
#![no_main]

use brimful_fuzz::radio_reports::{Source, messages};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| messages(Source::FlexRan, bytes));
