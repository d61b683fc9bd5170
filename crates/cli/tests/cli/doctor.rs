//! `brimful doctor`: each part is tried with the real thing.

use super::Place;
use testing::has_root;

#[test]
fn each_part_is_tried_and_what_does_not_work_has_advice() {
    let place = Place::new();
    let run = place.run(&["doctor", "--json"]);
    let findings = run.json();
    let findings = findings.as_array().expect("a list");
    let of = |part: &str| {
        let found = findings.iter().find(|finding| finding["part"] == part);
        found.unwrap_or_else(|| panic!("no {part}: {run:?}"))
    };
    assert_eq!(of("simulator")["works"], true, "{run:?}");
    for finding in findings {
        let has_advice = finding["advice"].is_string();
        assert!(finding["works"] == true || has_advice, "{finding}");
        assert!(!finding["detail"].as_str().expect("a text").is_empty());
    }
    let is_whole = findings.iter().all(|finding| finding["works"] == true);
    assert_eq!(run.code, Some(i32::from(!is_whole)), "{run:?}");
    if has_root("the lab and the proxy, tried by doctor") {
        assert_eq!(of("lab")["works"], true, "{run:?}");
        let proxy = of("proxy")["detail"].as_str().expect("a text").to_owned();
        assert!(proxy.starts_with("windows towards UEs by "), "{run:?}");
    } else {
        let lab = of("lab")["detail"].as_str().expect("a text");
        assert!(lab.contains("needs root"), "{run:?}");
    }
    assert!(place.names().is_empty(), "nothing is left");
}
