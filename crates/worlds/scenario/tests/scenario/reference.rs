//! The reference of keys, the guide's example, and the reader agree.

use scenario::{Overrides, load_str, markdown};
use std::path::{Path, PathBuf};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name)
}

#[test]
fn the_reference_of_keys_is_in_step() {
    let path = docs("scenario-keys.md");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    // not assert_eq: two pages of text do not help
    assert!(
        text == markdown(),
        "{} differs from the table of keys: write it anew with `brimful scenario keys > {}`",
        path.display(),
        path.display()
    );
}

#[test]
fn every_example_of_the_guide_can_be_read() {
    let text = std::fs::read_to_string(docs("scenario-files.md")).expect("the guide");
    let mut examples = 0;
    for block in text.split("```toml scenario\n").skip(1) {
        let example = block.split("```").next().expect("an end");
        if let Err(error) = load_str(example, &Overrides::default()) {
            panic!("{error}\n{example}");
        }
        examples += 1;
    }
    assert!(examples > 0);
}

#[test]
fn presets_are_as_in_the_reference() {
    let text = "[path]\nrtt = \"50 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
        [ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n\
        [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n";
    for (rat, text) in [
        ("lte", text.to_owned()),
        ("nr", text.replace("\"lte\"", "\"nr\"\nnumerology = 0")),
    ] {
        let points = load_str(&text, &Overrides::default()).expect("valid");
        let resolved = serde_json::to_value(&points[0].resolved).expect("plain data");
        let cell = &resolved["cell"];
        let bearer = &resolved["ue"]["phone"]["bearer"][0];
        let mut checked = 0;
        for section in scenario::keys() {
            let table = match section.path {
                "cell" => cell,
                "cell.harq" => &cell["harq"],
                "cell.uplink" => &cell["uplink"],
                "ue.<name>.bearer" => bearer,
                _ => continue,
            };
            for key in section.keys {
                let scenario::Fallback::Preset { lte, nr } = key.fallback else {
                    continue;
                };
                let text = if rat == "lte" { lte } else { nr };
                let value = &table[key.name];
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                // what depends on the slot is worked out for numerology 0
                let expected = match text {
                    "one slot" => "1 ms",
                    "4 slots" => "4 ms",
                    text if text.starts_with("10 slots") => "10 ms",
                    "35, 20, 10, 5 ms for numerology 0, 1, 2, from 3 on" => "35 ms",
                    "15, 10, 5 ms for numerology 0, 1, from 2 on" => "15 ms",
                    text => text,
                };
                assert_eq!(value, expected, "{} of {rat}", key.name);
                checked += 1;
            }
        }
        assert_eq!(checked, 15, "{rat}");
    }
}

#[test]
fn the_allocators_defaults_are_those_of_its_crate() {
    let text = "[path]\nrtt = \"50 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
        [ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n\
        [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n[pep]\nmode = \"MODE\"\n";
    for (name, mode) in [
        ("paper", rapid::Mode::Paper),
        ("default", rapid::Mode::Default),
    ] {
        let text = text.replace("MODE", name);
        let points = load_str(&text, &Overrides::default()).expect("valid");
        let expected = scenario::PepMode::Rapid(Box::new(edge::EdgeConfig::new(mode)));
        assert_eq!(points[0].experiment.pep.mode, expected);
    }
}

/// What a key's values mean is written beside the key: of each that a registry has.
#[test]
fn meanings_name_all_that_the_registries_have() {
    let modes = [cc::cdbe::Mode::Paper, cc::cdbe::Mode::Default].map(cc::cdbe::Mode::name);
    let registries = [
        ("tunnel", "scheduler", multipath::scheduler::names()),
        ("tunnel", "reorder", multipath::reorder::WaitRule::NAMES),
        ("flow.<name>", "meld", cc::meld::Variant::NAMES),
        ("cdbe", "mode", &modes),
    ];
    for (path, name, all) in registries {
        let section = scenario::keys().find(|of| of.path == path);
        let keys = section.expect(path).keys;
        let key = keys.iter().find(|key| key.name == name).expect(name);
        let scenario::Kind::Choice(choices) = key.kind else {
            panic!("{name} is a choice")
        };
        for one in all {
            assert!(choices.contains(one), "{name} has {one}");
            let quoted = format!("`{one}`");
            assert!(key.meaning.contains(&quoted), "{name} explains {quoted}");
        }
    }
}
