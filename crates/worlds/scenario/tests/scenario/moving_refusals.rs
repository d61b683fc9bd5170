//! Moving channels that cannot be: what is refused, the place in the message, and its text.

use crate::moving::CELL;
use scenario::{Overrides, load_str};

const MOVING: &str = r#"kind = "moving""#;
const STATIC: &str = r#"kind = "static", position = ["50 m", "0 m"]"#;

/// The cell with a phone.
fn with_phone(channel: &str, mobility: &str) -> String {
    format!("{CELL}[ue.phone]\nchannel = {{ {channel} }}\nmobility = {{ {mobility} }}\n")
}

fn good() -> String {
    with_phone(MOVING, STATIC)
}

fn accepted(text: &str) {
    if let Err(error) = load_str(text, &Overrides::default()) {
        panic!("{error}\n{text}");
    }
}

/// Line and column, from 1, of the first occurrence of a part of the text.
#[track_caller]
fn place_of(text: &str, part: &str) -> String {
    let offset = text.find(part).expect("the part occurs");
    let before = &text[..offset];
    let column = offset - before.rfind('\n').map_or(0, |i| i + 1) + 1;
    format!("{}:{column}", before.matches('\n').count() + 1)
}

/// That a file is refused, with a message that points at the first occurrence of `part` and holds the
/// words.
#[track_caller]
fn refused(text: &str, part: &str, words: &[&str]) {
    let message = match load_str(text, &Overrides::default()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    };
    let place = place_of(text, part);
    assert!(
        message.starts_with(&format!("<text>:{place}: ")),
        "{part}: {message}"
    );
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn the_good_one_is_accepted() {
    accepted(&good());
}

#[test]
fn places_that_are_none() {
    for (value, part, words) in [
        (
            r#"["nan m", "0 m"]"#,
            "nan m",
            &["has no number", "expected a length"][..],
        ),
        (r#"["inf m", "0 m"]"#, "inf m", &["has no number"]),
        (
            r#"["1e9 m", "0 m"]"#,
            "1e9 m",
            &["unknown unit", "known units: m, km, cm"],
        ),
        (
            r#"["0 m", "200 km"]"#,
            "200 km",
            &["out of range", "-100 km to 100 km"],
        ),
        (
            r#"["0 m", "-200 km"]"#,
            "-200 km",
            &["out of range", "-100 km to 100 km"],
        ),
        (
            r#"[57, "0 m"]"#,
            "57",
            &["57 in \"position\" has no unit", "\"10 m\""],
        ),
        (
            r#"[nan, "0 m"]"#,
            "nan",
            &["NaN in \"position\" has no unit"],
        ),
        (
            r#"["50 m"]"#,
            "[\"50 m\"]",
            &["has 1 element", "expected two lengths"],
        ),
        ("[]", "[] }", &["has 0 elements"]),
        (
            r#""57 m""#,
            "57 m",
            &["is a string", "expected two lengths"],
        ),
        ("[[], []]", "[], []", &["is an array", "expected a length"]),
    ] {
        let text = with_phone(MOVING, &format!("kind = \"static\", position = {value}"));
        refused(&text, part, words);
    }
    refused(
        &with_phone(MOVING, "kind = \"static\""),
        "{ kind = \"static\"",
        &["[ue.phone.mobility] has no key \"position\""],
    );
}

#[test]
fn waypoints_and_lines_that_are_none() {
    for (mobility, part, words) in [
        (
            r#"kind = "waypoints", points = []"#,
            "[] }",
            &["is empty", "at least one place"][..],
        ),
        (
            r#"kind = "waypoints", points = 57"#,
            "57",
            &["is an integer", "expected a list"],
        ),
        (
            r#"kind = "waypoints", points = [["1 m", "1 m", "5"]]"#,
            "5\"]]",
            &["\"rest\" = \"5\" has no unit"],
        ),
        (
            r#"kind = "waypoints", points = [["20 m", "1 m"], ["20.001 m", "1 m"]]"#,
            "[[\"20 m",
            &[
                "the points (20 m, 1 m) and (20.001 m, 1 m)",
                "allowed is 0.1 m and more",
            ],
        ),
        (
            r#"kind = "waypoints", at-end = "loop", points = [["20 m", "1 m"], ["9 m", "1 m"], ["20 m", "1.05 m"]]"#,
            "[[\"20 m",
            &["apart"],
        ),
        (
            r#"kind = "flying""#,
            "flying",
            &["unknown kind", "\"line\""],
        ),
        (
            r#"position = ["5 m", "5 m"]"#,
            "{ position",
            &["has no key \"kind\""],
        ),
        (
            r#"kind = "line", from = ["20 m", "5 m"], towards = [ "20 m", "5 m"]"#,
            "[ \"20 m",
            &["where the way begins"],
        ),
    ] {
        refused(&with_phone(MOVING, mobility), part, words);
    }
    let far = "[\"9 m\", \"1 m\"], ".repeat(1001);
    let many = with_phone(MOVING, &format!("kind = \"waypoints\", points = [{far}]"));
    refused(&many, "[[\"9 m", &["has 1001 places", "at most 1000"]);
}

#[test]
fn walks_that_are_none() {
    let walk = r#"kind = "random-walk", area = [["1 m", "1 m"], ["90 m", "50 m"]]"#;
    for (more, part, words) in [
        (
            r#"from = ["0 m", "3 m"]"#,
            "{ kind = \"random",
            &["outside its area"][..],
        ),
        (
            r#"leg = "1 cm""#,
            "1 cm",
            &["out of range", "0.1 m to 100 km"],
        ),
        (
            r#"scatter = "1 m""#,
            "scatter",
            &["unknown key \"scatter\"", "known keys: area, disc-radius"],
        ),
        (
            r#"speed = "299792458 m/s""#,
            "299792458",
            &["out of range", "0 m/s to 500 m/s"],
        ),
        (
            r#"speed = "1079252849 km/h""#,
            "1079252849",
            &["out of range", "0 m/s to 500 m/s"],
        ),
        (r#"speed = "-1 m/s""#, "-1 m/s", &["is negative"]),
        (
            r#"speed = "5 knots""#,
            "5 knots",
            &["unknown unit", "m/s, km/h"],
        ),
        (r#"speed = 57"#, "57", &["has no unit", "\"1 m/s\""]),
    ] {
        refused(&with_phone(MOVING, &format!("{walk}, {more}")), part, words);
    }
    for (area, words) in [
        (
            r#"[["1 m", "1 m"], ["1.5 m", "50 m"]]"#,
            &["\"area\" is 0.5 m by 49 m", "1 m and more"][..],
        ),
        (
            r#"[["1 m", "1 m"]]"#,
            &["has 1 element", "two opposite corners"],
        ),
    ] {
        let walk = format!("kind = \"random-walk\", area = {area}");
        refused(&with_phone(MOVING, &walk), area, words);
    }
}

#[test]
fn channels_that_cannot_be() {
    for (more, part, words) in [
        (
            r#"fading = "evva""#,
            "evva",
            &["\"evva\" is not known", "did you mean \"eva\"?"][..],
        ),
        (r#"sight = "loss""#, "loss", &["did you mean \"los\"?"]),
        (
            r#"path-loss = "uma""#,
            "uma",
            &["is not known", "\"cost231-hata\""],
        ),
        (
            r#"path-loss = "free-space", sight = "probability""#,
            "probability",
            &[
                "free-space has no probability of line of sight",
                "los or nlos",
            ],
        ),
        (
            r#"path-loss = "free-space", shadowing = "model""#,
            "model\"",
            &["comes with no shadowing"],
        ),
        (
            r#"shadowing = "fixed""#,
            "fixed",
            &["needs \"shadowing-deviation\""],
        ),
        (
            r#"shadowing = "fixed", shadowing-deviation = "3 dB""#,
            "fixed",
            &["needs \"shadowing-distance\""],
        ),
        (
            r#"shadowing-deviation = "3 dB""#,
            "3 dB",
            &["takes no numbers", "shadowing = \"fixed\""],
        ),
        (r#"doppler = "0 Hz""#, "0 Hz", &["1 Hz to 166783 Hz"]),
        (
            r#"height = "1 m""#,
            "1 m",
            &["UE is 1 m", "needs more than 1 m"],
        ),
        (r#"height = "-1 m""#, "-1 m", &["is negative"]),
        (
            r#"noise-figure = "-1 dB""#,
            "-1 dB",
            &["is negative", "0 dB to 100 dB"],
        ),
        (
            r#"antenna-gain = "-101 dB""#,
            "-101",
            &["out of range", "-100 dB to 100 dB"],
        ),
        (r#"policy = "oai""#, "oai", &["unknown policy"]),
        (r#"target-bler = 1"#, "1 }", &["0.000001 to 0.999"]),
        (
            r#"mcs = 3"#,
            "mcs",
            &["unknown key \"mcs\"", "known keys: path-loss"],
        ),
        (
            r#"path-loss = "cost231-hata""#,
            "28 GHz",
            &["28 GHz is outside the range of cost231-hata, 1.5 GHz to 2.69 GHz"],
        ),
    ] {
        let channel = format!("{MOVING}, {more}");
        refused(&with_phone(&channel, STATIC), part, words);
    }
}

/// 0.45 GHz is a carrier of NR, but not of TR 38.901.
#[test]
fn a_carrier_outside_the_models_range() {
    let text = good()
        .replace("28 GHz", "450 MHz")
        .replace("200 MHz", "10 MHz")
        .replace("numerology = 3", "numerology = 0");
    let words = "0.45 GHz is outside the range of umi-street-canyon, 0.5 GHz to 100 GHz";
    refused(&text, "450 MHz", &[words]);
}

#[test]
fn what_a_moving_channel_needs() {
    refused(
        &good().replace("frequency = \"28 GHz\"\n", ""),
        "{ kind = \"moving\"",
        &[
            "needs the cell's carrier frequency",
            "\"frequency\" in [cell]",
        ],
    );
    refused(
        &good().replace("mobility = {", "#"),
        "{ kind = \"moving\"",
        &[
            "the user's position",
            "expected \"mobility\"",
            "kind = \"static\"",
        ],
    );
    refused(
        "[path]\nrtt = \"1 ms\"\n[link]\nrate = \"1 Mbit/s\"\n[ue.pc]\n\
         mobility = { kind = \"static\" }\n[flow.a]\napp = { kind = \"continuous\" }\n",
        "{ kind = \"static\"",
        &["a user of a wired link has no mobility"],
    );
}

#[test]
fn base_stations_that_cannot_be() {
    let site = |lines: &str| format!("{}[cell.site]\n{lines}\n", good());
    let near = "position = [\"50.5 m\", \"0 m\"]\nheight = \"2 m\"";
    refused(
        &site(near),
        "{ kind = \"static\"",
        &[
            "as near as 0.707 m to the base station's antenna",
            "keep 1 m away",
        ],
    );
    refused(
        &site("height = \"1 m\""),
        "1 m\"\n",
        &["base station is 1 m", "more than 1 m"],
    );
    refused(&site("height = \"11 km\""), "11 km", &["0.01 m to 10 km"]);
    refused(
        &site("transmit-power = \"35 dB\""),
        "35 dB",
        &["unknown unit \"dB\"", "dBm"],
    );
    refused(
        &site("transmit-power = \"200 dBm\""),
        "200 dBm",
        &["-100 dBm to 100 dBm"],
    );
    refused(
        &site("transmitpower = \"3 dBm\""),
        "transmitpower",
        &["did you mean \"transmit-power\"?"],
    );
}

#[test]
fn buildings_in_the_way() {
    let building = |corners: &str| {
        format!(
            "{}[[cell.building]]\ncorners = {corners}\nheight = \"9 m\"\n",
            good()
        )
    };
    let round_the_ue = r#"[["40 m", "-5 m"], ["60 m", "5 m"]]"#;
    refused(
        &building(round_the_ue),
        "{ kind = \"static\"",
        &["the UE would be inside building 1 of the list at (50 m, 0 m)"],
    );
    let round_the_base = r#"[["-4 m", "-5 m"], ["6 m", "5 m"]]"#;
    refused(
        &building(round_the_base).replace("9 m", "11 m"),
        "[cell]",
        &[
            "the base station at (0 m, 0 m) is inside building 1",
            "on the roof",
        ],
    );
    accepted(&building(round_the_base));
    let flat = r#"[["4 m", "-5 m"], ["4 m", "5 m"]]"#;
    refused(&building(flat), flat, &["covers no ground"]);
    let half = r#"[["4 m", "-5 m"]]"#;
    refused(&building(half), half, &["has 1 element"]);
    let text = building(round_the_base).replace("9 m", "0 m");
    refused(&text, "0 m\"\n", &["out of range", "0.01 m to 10 km"]);
    refused(
        &format!("{}[cell.building]\nheight = \"3 m\"\n", good()),
        "[cell.building]",
        &["expected tables as [[cell.building]]"],
    );
}

/// What comes only at the end of a run counts too: 70 m at 10 m/s.
#[test]
fn ways_into_buildings() {
    let line =
        r#"kind = "line", from = ["20 m", "0 m"], towards = ["21 m", "0 m"], speed = "10 m/s""#;
    let text = with_phone(MOVING, line)
        + "[[cell.building]]\ncorners = [[\"90 m\", \"-9 m\"], [\"95 m\", \"9 m\"]]\nheight = \"9 m\"\n";
    let words = "the UE would be inside building 1 of the list at (90 m, 0 m)";
    refused(&text, "{ kind = \"line\"", &[words]);
    accepted(&text.replace("\"10 s\"", "\"6 s\""));
    let points = r#"kind = "waypoints", points = [["80 m", "0 m"], ["100 m", "0 m"]]"#;
    let walks = text.replace(line, points);
    refused(
        &walks,
        "{ kind = \"waypoints\"",
        &["(90 m, 0 m)", "move the building or the UE's way"],
    );
    let area = r#"kind = "random-walk", area = [["91 m", "-8 m"], ["94 m", "8 m"]]"#;
    let words = ["no place was found for the UE", "inside building 1"];
    refused(
        &text.replace(line, area),
        "{ kind = \"random-walk\"",
        &words,
    );
    let scattered = r#"kind = "static", position = ["92 m", "0 m"], scatter = "1 m""#;
    refused(
        &text.replace(line, scattered),
        "{ kind = \"static\"",
        &words,
    );
}

#[test]
fn obstacles_and_interferers_that_are_none() {
    let many = "[[cell.blocker]]\nposition = [\"1 m\", \"1 m\"]\n".repeat(1001);
    refused(
        &(good() + &many),
        "[[cell.blocker",
        &["1001 tables", "at most 1000"],
    );
    refused(
        &(good() + "[[cell.blocker]]\nscreen = \"dog\"\nposition = [\"9 m\", \"9 m\"]\n"),
        "dog",
        &["\"human\" or \"vehicle\""],
    );
    let received = "[cell.interferer]\nkind = \"received\"\n";
    let text = good() + received;
    refused(&text, "[cell.interferer", &["has no key \"power\""]);
    let text = text + "power = \"-80 dBm\"\n";
    accepted(&text);
    refused(
        &format!("{text}mean-on = \"0 us\"\n"),
        "0 us",
        &["out of range"],
    );
    refused(
        &format!("{text}mean-off = \"1 ns\"\n"),
        "[cell.interferer",
        &["off for 1 ns", "at least 1 us"],
    );
    refused(
        &(good()
            + "[cell.interferer]\nkind = \"transmitter\"\nposition = [\"9 m\", \"9 m\"]\n\
          power = \"3 dBm\"\nheight = \"1 m\"\n"),
        "[cell.interferer",
        &["for the interferer, the height", "more than 1 m"],
    );
}

#[test]
fn walks_that_cannot_be() {
    let walk = |rest: &str| with_phone(MOVING, &format!("kind = \"random-walk\"{rest}"));
    accepted(&walk(", disc-radius = \"400 m\""));
    accepted(&walk(
        ", disc-radius = \"40 m\", disc-centre = [\"60 m\", \"0 m\"]",
    ));
    refused(
        &walk(""),
        "{ kind = \"random-walk\"",
        &["\"area\" or \"disc-radius\""],
    );
    let centre_only = walk(", disc-centre = [\"60 m\", \"0 m\"]");
    refused(&centre_only, "[\"60 m\"", &["without \"disc-radius\""]);
    let area = "[[\"20 m\", \"20 m\"], [\"40 m\", \"40 m\"]]";
    let both = walk(&format!(", area = {area}, disc-radius = \"40 m\""));
    refused(&both, "[[\"20 m\"", &["both a rectangle", "and a disc"]);
    let outside = walk(", disc-radius = \"40 m\", from = [\"41 m\", \"0 m\"]");
    refused(&outside, "{ kind = \"random-walk\"", &["outside its area"]);
    let slower = walk(", disc-radius = \"40 m\", speed = \"5 m/s\", speed-to = \"1 m/s\"");
    refused(&slower, "1 m/s\"", &["less than \"speed\" = 5 m/s"]);
    let never = "kind = \"waypoints\", points = [[\"50 m\", \"0 m\"], [\"60 m\", \"0 m\", \"0 s\", \"0 m/s\"]]";
    refused(&with_phone(MOVING, never), "0 m/s\"", &["out of range"]);
}

#[test]
fn an_uplink_budget_needs_a_moving_channel() {
    let cell = CELL.replace(
        "bandwidth = \"200 MHz\"\n",
        "bandwidth = \"200 MHz\"\nuplink = { link = \"budget\" }\n",
    );
    let text = format!("{cell}[ue.phone]\nchannel = {{ kind = \"constant-mcs\", mcs = 10 }}\n");
    refused(
        &text,
        "{ kind = \"constant-mcs\"",
        &["constant-mcs", "no link budget", "fixed-mcs"],
    );
    accepted(&text.replace("budget", "fixed-mcs"));
}

#[test]
fn groups_are_not_for_round_robin() {
    let sub_bands = "bandwidth = \"200 MHz\"\nsub-bands = \"mean\"\nscheduler = \"round-robin\"\n";
    let text = good().replace("bandwidth = \"200 MHz\"\n", sub_bands);
    let error = load_str(&text, &Overrides::default())
        .expect_err("refused")
        .to_string();
    assert!(error.contains("dealt out by groups"), "{error}");
    accepted(&text.replace("round-robin", "maximum-rate"));
}
