//! Any packet that leaves towards a server, through what the program that sets windows reads of it: the same as its bytes mean,
//! and nothing beyond it is read.
#![no_main]

// the C is linked with it
use brimful_fuzz as _;
use libfuzzer_sys::fuzz_target;
use testing::Outgoing;

#[path = "../../crates/live/kernel-cc/src/wire/model.rs"]
mod model;

unsafe extern "C" {
    fn read_wire_segment(asked: *const u32, bytes: *const u8, result: *mut u32);
}

fuzz_target!(|bytes: &[u8]| {
    let Some(packet) = Outgoing::of_any(bytes) else {
        return;
    };
    let (words, mut result) = (packet.words(), [0; model::WORDS]);
    // SAFETY: the words are a `struct asked` of as many bytes as there are, the result a `struct result`
    unsafe { read_wire_segment(words.as_ptr(), packet.bytes.as_ptr(), result.as_mut_ptr()) };
    assert_eq!(result, model::read(&packet), "{packet:x?}");
});
