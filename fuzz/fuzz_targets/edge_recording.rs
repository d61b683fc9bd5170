//! Recordings of the proxy's decisions: any lines, decided again as far as they are entries.
#![no_main]

use edge::recording::{Entry, Replay, What};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut replay = Replay::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(entry) = Entry::decode(line) else {
            continue;
        };
        // what was written is read as it was
        assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(&entry));
        // the actions do not matter here, only that the machine lives
        if matches!(entry.what, What::In(_)) && replay.feed(&entry).is_err() {
            return;
        }
    }
});
