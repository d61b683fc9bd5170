//! `fuzz/` is a workspace of its own, which these tests do not build: what its targets do with bytes is compiled here,
//! so that it keeps up with the crates, and does it with the seeds.

#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

/// Longest seed.
const MAX_SEED_BYTES: usize = 20_000;

fn seed_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

/// The seeds of a target.
fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    each_seed(
        &seed_folder().join(target.replace('_', "-")),
        &mut |bytes| {
            all.push(bytes.to_vec());
        },
    );
    all
}

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
    each_seed(&seed_folder(), &mut |bytes| {
        seeds += 1;
        targets::trace(bytes, None);
        targets::imported(bytes);
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

#[test]
fn every_fuzz_target_has_small_seeds_of_its_own() {
    let manifest = seed_folder().join("../Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("readable");
    let (_, binaries) = manifest.split_once("[[bin]]").expect("targets");
    let names = binaries.lines().filter_map(|line| {
        line.strip_prefix("name = ")?
            .strip_prefix('"')?
            .strip_suffix('"')
    });
    let mut targets: Vec<String> = names.map(|name| name.replace('_', "-")).collect();
    for target in &targets {
        assert!(seed_folder().join(target).is_dir(), "{target} has no seeds");
        let seeds = seeds_of(target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        let longest = seeds.iter().map(Vec::len).max();
        assert!(longest <= Some(MAX_SEED_BYTES), "{target}: {longest:?}");
    }
    targets.sort();
    let folders = fs::read_dir(seed_folder()).expect("a folder");
    let names = folders.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, targets);
}

/// A seed that its reader refuses at the first byte would be no beginning.
#[test]
fn seeds_are_what_their_targets_read() {
    use targets::radio_reports::{Source, reports_in};
    for seed in seeds_of("tunnel_notices") {
        assert!(tunnel::count_notices(&seed) > 0);
    }
    let sources = [
        "srsran",
        "flexric",
        "flexran",
        "oai_xapp",
        "legacy_csv",
        "kpm",
    ];
    for (source, name) in Source::ALL.into_iter().zip(sources) {
        for seed in seeds_of(&format!("rnis_{name}")) {
            assert!(reports_in(source, &seed) > 0, "{source:?}");
        }
    }
    for seed in seeds_of("rnis_report") {
        let is_event = rnis::event::RadioEvent::from_json(&seed).is_ok();
        assert!(is_event || rnis::codec::decode(&seed).is_ok());
    }
    for seed in seeds_of("rnis_subscription") {
        let body = seed.split(|&byte| byte == 0).next().expect("one");
        let now = rnis::mec012::TimeStamp::default();
        rnis::mec012::Subscription::from_json(body, now).expect("a subscription");
    }
    for seed in seeds_of("edge_recording") {
        let lines = seed.split(|&byte| byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            edge::recording::Entry::decode(line).expect("an entry");
        }
    }
    for seed in seeds_of("trace_import") {
        targets::imported(&seed);
        let table = seed.get(1..).expect("a table behind the choice");
        assert!(table.contains(&b'\n'));
    }
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    for seed in seeds_of("pep_config") {
        pep::Config::parse("seed", &text(seed)).expect("the proxy's");
    }
    for seed in seeds_of("quic_config") {
        quic::Config::parse("seed", &text(seed)).expect("the QUIC server's");
    }
    for seed in seeds_of("ue_config") {
        ue::Config::parse("seed", &text(seed)).expect("the queue's above a modem");
    }
    for seed in seeds_of("modem_reports") {
        let lines = seed.split(|&byte| byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            edge::uplink::ModemReport::decode(line).expect("a report");
        }
    }
    for seed in seeds_of("tunnel_config").into_iter().map(text) {
        let is_of = |role| tunnel::Config::parse("seed", &seed, role).is_ok();
        assert!(is_of(tunnel::Role::Client) || is_of(tunnel::Role::Server));
    }
}
