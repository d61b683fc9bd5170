//! A result folder that a stranger made: manifest, summary and time series, each before a zero byte.
#![no_main]

use dash::{Library, READER_THREAD};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::PathBuf;
use std::sync::Once;

fn folder() -> PathBuf {
    // memory, where there is such a folder
    let shared = PathBuf::from("/dev/shm");
    let above = if shared.is_dir() {
        shared
    } else {
        std::env::temp_dir()
    };
    above.join(format!("brimful-fuzz-{}", std::process::id()))
}

/// A panic of the reader of Parquet is contained by its thread; any other is a finding.
fn contain() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(READER_THREAD) {
                abort(panic);
            }
        }));
    });
}

fuzz_target!(|bytes: &[u8]| {
    contain();
    let mut parts = bytes.splitn(3, |&byte| byte == 0);
    let folder = folder();
    fs::create_dir_all(&folder).expect("a folder");
    for name in ["manifest.json", "summary.json", "samples.parquet"] {
        fs::write(folder.join(name), parts.next().unwrap_or_default()).expect("room");
    }
    let library = Library::open(&folder).expect("it looks like a result");
    for problem in library.problems() {
        assert!(problem.len() < 64 << 10, "{} bytes", problem.len());
    }
});
