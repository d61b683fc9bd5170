//! Several cells: what is read, and what is refused.

use scenario::{CellsSpec, Overrides, load_str};
use units::Duration;

const WEST: &str = "[[cell]]\nname = \"west\"\nrat = \"nr\"\nfrequency = \"3.5 GHz\"\nbandwidth = \"20 MHz\"\nsite = { position = [\"0 m\", \"10 m\"] }\n";
const EAST: &str = "[[cell]]\nname = \"east\"\nrat = \"nr\"\nfrequency = \"3.5 GHz\"\nbandwidth = \"20 MHz\"\nsite = { position = [\"200 m\", \"10 m\"] }\n";
const USER: &str = "[ue.phone]\nchannel = { kind = \"moving\", path-loss = \"umi-street-canyon\" }\nmobility = { kind = \"line\", from = [\"10 m\", \"0 m\"], towards = [\"200 m\", \"0 m\"] }\n";

fn read(text: &str) -> Result<CellsSpec, String> {
    let text = format!(
        "duration = \"1 s\"\n[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = {{ kind = \"bulk\", size = \"1 MB\" }}\n{text}"
    );
    match load_str(&text, &Overrides::default()) {
        Ok(mut points) => Ok(points.remove(0).experiment.cells.expect("several cells")),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let error = read(text).expect_err("refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn cells_have_names_numbers_and_places() {
    let cells = read(&format!("{WEST}{EAST}{USER}cell = \"east\"\n")).expect("valid");
    let names: Vec<&str> = cells.cells.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["west", "east"]);
    let ids: Vec<u32> = cells.cells.iter().map(|it| it.spec.config.id.0).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(cells.first, [Some(1)]);
    let places = cells.cells.iter().map(|it| it.radios[0].radio.base.place);
    let places: Vec<f64> = places.map(|place| place.x().get()).collect();
    assert_eq!(places, [0.0, 200.0]);
    assert_eq!(cells.timing.interruption, Duration::from_millis(62));
    assert!(cells.is_forwarding);
}

#[test]
fn an_option_names_a_cell_by_its_number() {
    let text = format!(
        "duration = \"1 s\"\n[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = {{ kind = \"bulk\", size = \"1 MB\" }}\n{WEST}{EAST}{USER}"
    );
    let with = |key: &str| {
        let overrides = Overrides {
            set: vec![(key.to_owned(), "0.25".to_owned())],
            ..Overrides::default()
        };
        load_str(&text, &overrides)
    };
    let points = with("cell.1.activity").expect("valid");
    let cells = points[0].experiment.cells.as_ref().expect("several cells");
    let activities: Vec<f64> = cells.cells.iter().map(|it| it.activity).collect();
    assert_eq!(activities, [0.5, 0.25]);
    let error = with("cell.1.activty").expect_err("refused").to_string();
    assert!(
        error.contains("unknown key \"activty\" in [[cell]]"),
        "{error}"
    );
    let error = with("cell.2.activity").expect_err("refused").to_string();
    assert!(error.contains("\"cell\" has no element \"2\""), "{error}");
}

#[test]
fn any_time_to_trigger_is_taken() {
    let text = format!("{WEST}{EAST}{USER}[handover]\ntime-to-trigger = \"33 ms\"\n");
    let cells = read(&text).expect("valid");
    let again = read(&text.replace("33 ms", "0 s")).expect("valid");
    assert_ne!(cells.measurements.a3, again.measurements.a3);
}

#[test]
fn a_cell_without_a_name_or_with_that_of_another_is_refused() {
    let twice = WEST.replace("\"0 m\"", "\"100 m\"");
    refused(
        &format!("{WEST}{twice}{USER}"),
        &["two cells have the name \"west\""],
    );
    let nameless = EAST.replace("name = \"east\"\n", "");
    refused(
        &format!("{WEST}{nameless}{USER}"),
        &["[[cell]] has no key \"name\"", "name = \"west\""],
    );
    let alike = EAST.replace("rat =", "id = 1\nrat =");
    refused(
        &format!("{WEST}{alike}{USER}"),
        &["two cells have the id 1"],
    );
}

#[test]
fn a_cell_that_no_site_serves_is_refused() {
    let nowhere = EAST.replace("site = { position = [\"200 m\", \"10 m\"] }\n", "");
    refused(
        &format!("{WEST}{nowhere}{USER}"),
        &["no site serves the cell \"east\""],
    );
    let high = EAST.replace("position = [\"200 m\", \"10 m\"]", "height = \"10 m\"");
    refused(
        &format!("{WEST}{high}{USER}"),
        &["no site serves the cell \"east\""],
    );
}

#[test]
fn of_several_cells_all_are_in_two_parts_or_none() {
    let split = |cell: &str| cell.replace("rat =", "f1-u = true\nrat =");
    for [west, east] in [
        [WEST.to_owned(), split(EAST)],
        [split(WEST), EAST.to_owned()],
    ] {
        refused(
            &format!("{west}{east}{USER}"),
            &[
                "beside cells of the other kind",
                "all are in two parts, or none",
            ],
        );
    }
    let cells = read(&format!("{}{}{USER}", split(WEST), split(EAST))).expect("valid");
    assert!(cells.cells.iter().all(|cell| cell.spec.has_f1u));
}

#[test]
fn of_several_cells_all_have_n3_or_none() {
    let with_n3 = |cell: &str| cell.replace("rat =", "n3 = true\nrat =");
    refused(
        &format!("{WEST}{}{USER}", with_n3(EAST)),
        &[
            "n3 = true beside cells of the other kind",
            "all have N3, or none",
            "give all the same \"n3\"",
        ],
    );
    refused(
        &format!("{}{EAST}{USER}", with_n3(WEST)),
        &["n3 = false beside cells of the other kind"],
    );
    let cells = read(&format!("{}{}{USER}", with_n3(WEST), with_n3(EAST))).expect("valid");
    assert!(cells.cells.iter().all(|cell| cell.spec.has_n3));
}

#[test]
fn a_user_of_an_unknown_cell_is_refused() {
    refused(
        &format!("{WEST}{EAST}{USER}cell = \"est\"\n"),
        &["there is no cell \"est\"", "west", "east"],
    );
}

#[test]
fn a_hysteresis_below_zero_and_a_filter_of_no_standard_are_refused() {
    let with = |line: &str| format!("{WEST}{EAST}{USER}[handover]\n{line}\n");
    refused(
        &with("hysteresis = \"-1 dB\""),
        &["hysteresis", "-1 dB", "0 dB"],
    );
    refused(
        &with("filter-coefficient = 10"),
        &["filter coefficient is 10", "0 to 9"],
    );
    refused(&with("time-to-trigger = \"-5 ms\""), &["time-to-trigger"]);
}

#[test]
fn a_user_of_a_cell_that_is_off_is_refused() {
    let off =
        |cell: &str, from: &str| cell.replace("rat =", &format!("off-at = \"{from}\"\nrat ="));
    refused(
        &format!("{WEST}{}{USER}cell = \"east\"\n", off(EAST, "0 s")),
        &["the cell \"east\" is off as the run begins", "off-at"],
    );
    refused(
        &format!("{}{}{USER}", off(WEST, "0 s"), off(EAST, "0 s")),
        &["all cells are off"],
    );
    let backwards = off(EAST, "1 s").replace("rat =", "on-at = \"500 ms\"\nrat =");
    refused(
        &format!("{WEST}{backwards}{USER}"),
        &["\"on-at\" = 500 ms is not after \"off-at\" = 1 s"],
    );
    let later = format!("{WEST}{}{USER}cell = \"east\"\n", off(EAST, "500 ms"));
    let cells = read(&later).expect("valid");
    let outage = cells.cells[1].outage.expect("off");
    assert_eq!(
        (outage.from, outage.until),
        (Duration::from_millis(500), None)
    );
}

#[test]
fn thresholds_that_cross_and_no_indications_are_refused() {
    let with = |line: &str| format!("{WEST}{EAST}{USER}[handover]\n{line}\n");
    refused(&with("q-in = \"-9 dB\""), &["q-in", "-9 dB", "-8 dB"]);
    refused(&with("n310 = 0"), &["n310"]);
    refused(&with("n311 = 21"), &["n311", "20"]);
    refused(&with("t310 = \"-1 s\""), &["t310"]);
}

#[test]
fn what_needs_several_cells_is_refused_with_one() {
    let one = "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n[ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 9 }\n";
    refused(
        &format!("{one}[handover]\n"),
        &["[handover] without several cells"],
    );
    refused(
        &format!("{one}cell = \"west\"\n"),
        &["\"cell\" without several cells"],
    );
    let off = one.replace("rat =", "off-at = \"1 s\"\nrat =");
    refused(&off, &["\"off-at\" without several cells"]);
    refused(&format!("{WEST}{USER}"), &["1 tables [[cell]]", "[cell]"]);
}

#[test]
fn a_radio_that_does_not_follow_from_places_is_refused() {
    let still = "[ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 9 }\n";
    refused(
        &format!("{WEST}{EAST}{still}"),
        &["does not follow from its place", "moving"],
    );
    let lte = EAST
        .replace("\"nr\"", "\"lte\"")
        .replace("20 MHz", "10 MHz");
    refused(
        &format!("{WEST}{lte}{USER}"),
        &["another technology", "rat = \"nr\""],
    );
}
