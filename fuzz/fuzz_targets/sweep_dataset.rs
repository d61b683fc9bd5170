//! The dataset of a sweep as a stranger has left it. The first byte selects what is replaced by the rest: the part
//! of the points, that of the queues, the list of failures, or the description.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{Overrides, Plan};
use std::fs;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};
use sweep::{Dataset, Description, Options, READER_THREAD};

const TEXT: &str = include_str!("../seeds/sweep-dataset/scenario.toml");
/// Parts of a sweep of this scenario, each behind the byte that selects it.
const POINTS: &[u8] = include_bytes!("../seeds/sweep-dataset/of-points");
const QUEUES: &[u8] = include_bytes!("../seeds/sweep-dataset/of-queues");

fn folder() -> PathBuf {
    // memory, where there is such a folder
    let shared = PathBuf::from("/dev/shm");
    let above = if shared.is_dir() {
        shared
    } else {
        std::env::temp_dir()
    };
    above.join(format!("brimful-fuzz-sweep-{}", std::process::id()))
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

fn description() -> &'static Description {
    static DESCRIPTION: OnceLock<Description> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let plan = Plan::load_str(TEXT, &Overrides::default()).expect("a sweep");
        Description::new(&plan, "fuzz", "").expect("described")
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    contain();
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    let open = || Dataset::open(&folder, description(), Options::default());
    // makes the folder with its description
    drop(open().expect("begun"));
    for (number, name, whole) in [
        (0, "points/block=0000/part-00000000.parquet", POINTS),
        (1, "queues/block=0000/part-00000000.parquet", QUEUES),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let content = if kind % 4 == number {
            bytes
        } else {
            &whole[1..]
        };
        fs::write(path, content).expect("room");
    }
    match kind % 4 {
        2 => fs::write(folder.join("failed.jsonl"), bytes).expect("room"),
        3 => fs::write(folder.join("_sweep.json"), bytes).expect("room"),
        _ => {}
    }
    match open() {
        Ok(dataset) => {
            let status = dataset.status();
            assert!(status.done + status.failed <= status.points, "{status:?}");
            assert!(dataset.pending(0, 1_000).len() as u64 <= status.pending());
            assert!(dataset.notes().iter().all(|note| note.len() < 64 << 10));
        }
        Err(error) => assert!(error.to_string().len() < 64 << 10),
    }
});
