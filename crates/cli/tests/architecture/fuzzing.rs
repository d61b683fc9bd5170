//! `fuzz/` is a workspace of its own, which these tests do not build: what its targets do with bytes is compiled here,
//! so that it keeps up with the crates, and does it with the seeds.

#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

/// The files of a folder below `fuzz/seeds`.
fn each_seed(folder: &Path, with: &mut impl FnMut(&[u8])) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => each_seed(&path, with),
            false => with(&fs::read(&path).expect("readable")),
        }
    }
}

#[test]
fn what_fuzz_targets_do_with_bytes_is_done_with_every_seed() {
    use targets::radio_reports::{Source, config, messages, query, report, subscription};
    let mut seeds = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    each_seed(&folder, &mut |bytes| {
        seeds += 1;
        targets::trace(bytes, None);
        for source in Source::ALL {
            messages(source, bytes);
        }
        config(bytes);
        query(bytes);
        report(bytes);
        subscription(bytes);
    });
    assert!(seeds > 20, "{seeds}");
}
