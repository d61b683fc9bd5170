//! `brimful ue`, as a process. What it does with packets is tested in its crate.

use super::Place;

#[test]
fn the_shipped_configuration_is_good() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/ue.toml");
    let run = place.run(&["ue", "--config", file, "--check"]).succeeded();
    assert_eq!(run.stdout, format!("{file}: valid\n"));
    assert!(place.names().is_empty(), "a check makes nothing");
}

#[test]
fn what_cannot_be_used_is_named_with_its_place_in_a_line() {
    let source = "[modem]\nsource = \"stdin\"\n";
    for (text, expected) in [
        (
            format!("interface = \"wwan0\"\nmode = 3\n{source}"),
            "bad.toml:2:1: unknown key \"mode\"",
        ),
        (
            format!("interface = \"wwan0\"\n[queue]\nahead = \"2 s\"\n{source}"),
            "bad.toml:2:1: [queue]: ahead is 2 s",
        ),
        (
            "interface = \"wwan0\"\n[modem]\nsource = \"none\"\n".to_owned(),
            "bad.toml:3:11: [modem]: source = \"none\": without its counters",
        ),
        (source.to_owned(), "no key \"interface\""),
    ] {
        let place = Place::new().with("bad.toml", &text);
        for check in [&["--check"][..], &[]] {
            let run = place.run(&[&["ue", "--config", "bad.toml"], check].concat());
            assert_eq!(run.code, Some(2), "{}", run.stderr);
            assert!(run.stderr.contains(expected), "{}", run.stderr);
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        }
    }
    let run = Place::new().run(&["ue"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--config"), "{}", run.stderr);
}

#[test]
fn an_interface_that_is_not_there_is_refused() {
    if !testing::has_root("an_interface_that_is_not_there_is_refused") {
        return;
    }
    let text = "interface = \"nowhere9\"\n[modem]\nsource = \"stdin\"\n";
    let place = Place::new().with("ue.toml", text);
    let run = place.run(&["ue", "--config", "ue.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("interface nowhere9: there is none of this name"),
        "{}",
        run.stderr
    );
}
