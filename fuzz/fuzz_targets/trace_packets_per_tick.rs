//! The reader of one format, forced upon any bytes.
#![no_main]

use brimful_fuzz::trace;
use libfuzzer_sys::fuzz_target;
use radio::trace::Format;

fuzz_target!(|bytes: &[u8]| trace(bytes, Some(Format::PacketsPerTick)));
