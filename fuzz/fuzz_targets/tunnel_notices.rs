//! The kernel's notices of links, addresses and routes: all together as each alone, and no more than there are messages.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut alone = 0;
    while let Some(length) = rest.first_chunk().map(|word| u32::from_ne_bytes(*word) as usize) {
        let Some(message) = rest.get(..length).filter(|message| message.len() >= 16) else {
            break;
        };
        let count = tunnel::count_notices(message);
        assert!(count <= 1);
        alone += count;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    assert_eq!(tunnel::count_notices(bytes), alone);
});
