//! Recordings of the allocator: any lines, fed to allocators as far as they are entries.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rapid::recording::{Entry, Replay, What};

fuzz_target!(|bytes: &[u8]| {
    let mut replay = Replay::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(entry) = Entry::decode(line) else {
            continue;
        };
        // what was written is read as it was
        assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(&entry));
        // the answers of the allocator do not matter here, only that it lives
        if !matches!(entry.what, What::Decision(_)) && replay.feed(&entry).is_err() {
            return;
        }
    }
});
