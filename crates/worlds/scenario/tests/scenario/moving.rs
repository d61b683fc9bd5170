//! Moving channels: the keys of a file become a typed radio, placed for each copy.

use radio::moving::{
    Area, AtEnd, BuildingEffect, Dbm, Doppler, Fading, InterfererPower, Metres, Mobility, PathLoss,
    Position, Screen, Shadowing, SightRule, Speed,
};
use scenario::{ChannelSpec, MovingSpec, Overrides, Placement, Point, load_str};
use std::sync::Arc;
use units::{Decibel, Duration, Hertz, Streams};

/// Lines 1 to 11; tests append users, or replace what is here.
pub const CELL: &str = r#"duration = "10 s"
[path]
rtt = "50 ms"
[cell]
rat = "nr"
numerology = 3
frequency = "28 GHz"
bandwidth = "200 MHz"
[flow.bulk]
ue = "phone"
app = { kind = "continuous" }
"#;

/// Lines 12 to 14.
const PHONE: &str = r#"[ue.phone]
channel = { kind = "moving" }
mobility = { kind = "static", position = ["50 m", "0 m"] }
"#;

fn points(text: &str, set: &[(&str, &str)]) -> Result<Vec<Point>, String> {
    let set = set.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    load_str(text, &overrides).map_err(|error| error.to_string())
}

fn point(text: &str, set: &[(&str, &str)]) -> Point {
    match points(text, set) {
        Ok(mut points) => points.remove(0),
        Err(error) => panic!("{error}"),
    }
}

/// The moving channels of a file's users.
fn specs(text: &str, set: &[(&str, &str)]) -> Vec<Arc<MovingSpec>> {
    let ues = point(text, set).experiment.ues.into_iter();
    ues.map(|ue| match ue.channel {
        ChannelSpec::Moving(spec) => spec,
        other => panic!("{other:?}"),
    })
    .collect()
}

fn phone(set: &[(&str, &str)]) -> Arc<MovingSpec> {
    specs(&format!("{CELL}{PHONE}"), set).remove(0)
}

fn at(x: f64, y: f64) -> Position {
    Position::new(Metres::new(x), Metres::new(y))
}

const STATIC: &str = "kind = \"static\", position = [\"50 m\", \"0 m\"]";

#[test]
fn defaults_follow_the_technology() {
    let spec = phone(&[]);
    let radio = &spec.radio;
    assert_eq!(radio.carrier, Hertz::new(28_000_000_000));
    // 132 PRBs x 12 x 120 kHz
    assert_eq!(radio.budget.bandwidth, Hertz::new(190_080_000));
    assert_eq!(radio.budget.transmit_power, Dbm::new(35.0));
    assert_eq!(radio.budget.transmit_gain, Decibel::new(8.0));
    assert_eq!(radio.budget.receive_gain, Decibel::new(0.0));
    assert_eq!(radio.budget.noise_figure, Decibel::new(9.0));
    assert_eq!(radio.path_loss, PathLoss::UmiStreetCanyon);
    assert_eq!(radio.sight, SightRule::Probability);
    assert_eq!(radio.shadowing, Shadowing::OfModel);
    assert_eq!(radio.fading, Fading::StreetCanyon);
    assert_eq!(radio.doppler, Doppler::Movement);
    assert_eq!(
        (radio.base.place, radio.base.height.get()),
        (at(0.0, 0.0), 10.0)
    );
    assert_eq!(radio.ue_height, Metres::new(1.5));
    let place = at(50.0, 0.0);
    assert_eq!(radio.mobility, Mobility::Static { place });
    assert_eq!(spec.placement, Placement::Fixed);
    assert!(radio.buildings.is_empty() && radio.blockers.is_empty() && radio.interferer.is_none());
    let lte = format!("{CELL}{PHONE}")
        .replace("\"nr\"\nnumerology = 3", "\"lte\"")
        .replace("28 GHz", "2 GHz")
        .replace("200 MHz", "10 MHz");
    let spec = specs(&lte, &[]).remove(0);
    assert_eq!(spec.radio.fading, Fading::Epa);
    assert_eq!(spec.radio.budget.transmit_power, Dbm::new(38.0));
    // 50 PRBs x 180 kHz
    assert_eq!(spec.radio.budget.bandwidth, Hertz::new(9_000_000));
}

#[test]
fn a_path_loss_without_sight_changes_the_defaults() {
    let spec = phone(&[("ue.phone.channel.path-loss", "free-space")]);
    assert_eq!(spec.radio.sight, SightRule::Line);
    assert_eq!(spec.radio.shadowing, Shadowing::None);
    assert_eq!(spec.radio.building_effect, BuildingEffect::Diffraction);
}

#[test]
fn all_that_a_file_may_contain() {
    let text = format!(
        "{CELL}{}",
        r#"[cell.site]
position = ["1 m", "-2 m"]
height = "12 m"
transmit-power = "30 dBm"
antenna-gain = "15 dB"
[[cell.building]]
corners = [["10 m", "10 m"], ["30 m", "20 m"]]
height = "18 m"
[[cell.blocker]]
position = ["5 m", "0 m"]
[[cell.blocker]]
screen = "vehicle"
position = ["6 m", "0 m"]
[cell.interferer]
kind = "transmitter"
position = ["0 m", "200 m"]
power = "40 dBm"
mean-on = "4 ms"
mean-off = "500 ms"
[ue.phone]
channel = { kind = "moving", sight = "los", shadowing = "fixed", shadowing-deviation = "6 dB", shadowing-distance = "50 m", fading = "eva", doppler = "70 Hz", height = "2 m", antenna-gain = "3 dB", noise-figure = "7 dB", cqi-period = "1 ms", cqi-delay = "2 ms", target-bler = 0.2 }
mobility = { kind = "waypoints", points = [["0 m", "-20 m"], ["1.5 km", "-20 m", "2 s"]], speed = "36 km/h", at-end = "loop" }
"#
    );
    let spec = specs(&text, &[]).remove(0);
    let radio = &spec.radio;
    assert_eq!(
        (radio.base.place, radio.base.height.get()),
        (at(1.0, -2.0), 12.0)
    );
    assert_eq!(radio.budget.transmit_power, Dbm::new(30.0));
    assert_eq!(radio.budget.transmit_gain, Decibel::new(15.0));
    assert_eq!(radio.budget.receive_gain, Decibel::new(3.0));
    assert_eq!(radio.budget.noise_figure, Decibel::new(7.0));
    assert!(radio.buildings[0].covers(at(29.0, 11.0)));
    assert_eq!(radio.buildings[0].height(), Metres::new(18.0));
    assert_eq!(radio.building_effect, BuildingEffect::Strongest);
    let screens: Vec<Screen> = radio
        .blockers
        .iter()
        .map(|blocker| blocker.screen)
        .collect();
    assert_eq!(screens, [Screen::Human, Screen::Vehicle]);
    let interferer = radio.interferer.expect("given");
    let power = InterfererPower::Transmitted {
        place: at(0.0, 200.0),
        height: Metres::new(10.0),
        power: Dbm::new(40.0),
    };
    assert_eq!(interferer.power, power);
    assert_eq!(interferer.mean_on, Duration::from_millis(4));
    let shadowing = Shadowing::Fixed {
        deviation: Decibel::new(6.0),
        correlation_distance: Metres::new(50.0),
    };
    assert_eq!(radio.shadowing, shadowing);
    assert_eq!(
        (radio.fading, radio.doppler),
        (Fading::Eva, Doppler::Fixed(Hertz::new(70)))
    );
    assert_eq!(radio.ue_height, Metres::new(2.0));
    let Mobility::Waypoints {
        points,
        speed,
        at_end,
    } = &radio.mobility
    else {
        panic!("{:?}", radio.mobility)
    };
    assert_eq!(
        (points[1].place, points[1].rest),
        (at(1500.0, -20.0), Duration::from_secs(2))
    );
    assert_eq!((*speed, *at_end), (Speed::new(10.0), AtEnd::Loop));
    assert_eq!(spec.adaptation.cqi_period, Duration::from_millis(1));
    assert_eq!(spec.adaptation.target_bler, 0.2);
}

#[test]
fn buildings_alone_decide_on_the_sight() {
    let building =
        "[[cell.building]]\ncorners = [[\"9 m\", \"9 m\"], [\"8 m\", \"8 m\"]]\nheight = \"9 m\"\n";
    let text = format!("{CELL}{building}{PHONE}");
    let spec = specs(&text, &[]).remove(0);
    assert_eq!(spec.radio.sight, SightRule::Line);
    let shown = serde_json::to_value(&point(&text, &[]).resolved).expect("plain data");
    assert_eq!(
        shown["ue"]["phone"]["channel"]["building-effect"],
        "strongest"
    );
    let spec = specs(
        &format!("{CELL}{building}{PHONE}"),
        &[
            ("ue.phone.channel.path-loss", "cost231-hata"),
            ("cell.frequency", "2 GHz"),
            ("cell.bandwidth", "20 MHz"),
            ("cell.numerology", "0"),
        ],
    )
    .remove(0);
    assert_eq!(spec.radio.building_effect, BuildingEffect::Diffraction);
}

#[test]
fn options_reach_every_key() {
    let spec = phone(&[
        ("ue.phone.channel.fading", "etu"),
        ("ue.phone.channel.doppler", "300 Hz"),
        ("ue.phone.mobility.position", "[\"70 m\", \"1 m\"]"),
        ("cell.site.height", "20 m"),
        ("cell.site.transmit-power", "24 dBm"),
    ]);
    assert_eq!(spec.radio.fading, Fading::Etu);
    assert_eq!(spec.radio.doppler, Doppler::Fixed(Hertz::new(300)));
    let place = at(70.0, 1.0);
    assert_eq!(spec.radio.mobility, Mobility::Static { place });
    assert_eq!(spec.radio.base.height, Metres::new(20.0));
    let spec = phone(&[("ue.phone.mobility.position.0", "\"60 m\"")]);
    let place = at(60.0, 0.0);
    assert_eq!(spec.radio.mobility, Mobility::Static { place });
}

#[test]
fn what_was_understood_is_shown_whole() {
    let point = point(&format!("{CELL}{PHONE}"), &[]);
    let shown = serde_json::to_value(&point.resolved).expect("plain data");
    let site = &shown["cell"]["site"];
    assert_eq!(site["position"], serde_json::json!(["0 m", "0 m"]));
    assert_eq!(site["transmit-power"], "35 dBm");
    assert_eq!(site["antenna-gain"], "8 dB");
    let phone = &shown["ue"]["phone"];
    assert_eq!(
        phone["mobility"]["position"],
        serde_json::json!(["50 m", "0 m"])
    );
    assert_eq!(phone["mobility"]["scatter"], "0 m");
    let channel = &phone["channel"];
    for (key, value) in [
        ("kind", "moving"),
        ("path-loss", "umi-street-canyon"),
        ("sight", "probability"),
        ("shadowing", "model"),
        ("fading", "street-canyon"),
        ("height", "1.5 m"),
        ("noise-figure", "9 dB"),
        ("policy", "oai-nr"),
        ("cqi-period", "5 ms"),
    ] {
        assert_eq!(channel[key], value, "{key}");
    }
    // without buildings, their effect is not in the resolved scenario
    assert!(channel["building-effect"].is_null() && channel["doppler"].is_null());
}

/// Random ways: inside a circle or area, outside buildings, each copy and seed its own.
#[test]
fn copies_have_places_of_their_own() {
    let run = Duration::from_secs(10);
    let building = "[[cell.building]]\ncorners = [[\"50 m\", \"-40 m\"], [\"90 m\", \"40 m\"]]\nheight = \"9 m\"\n";
    let starts = |spec: &MovingSpec, count: u64| -> Vec<Position> {
        (0..count)
            .map(|seed| {
                let rng = Streams::new(seed).stream("place");
                let radio = spec.placed(run, rng).expect("a place");
                radio.mobility.start().expect("it has one")
            })
            .collect()
    };
    let text = format!("{CELL}{building}{PHONE}").replace(
        "position = [\"50 m\", \"0 m\"]",
        "position = [\"49 m\", \"0 m\"], scatter = \"20 m\"",
    );
    let spec = specs(&text, &[]).remove(0);
    let radius = Metres::new(20.0);
    assert_eq!(spec.placement, Placement::Scattered { radius });
    let places = starts(&spec, 400);
    assert!(places.iter().all(|place| place.x().get() < 50.0));
    assert!(
        places
            .iter()
            .all(|place| place.distance(at(49.0, 0.0)) <= radius)
    );
    assert_eq!(places, starts(&spec, 400));
    // uniform in what is nearly a half circle: half of the places are within 20 / sqrt(2) m
    let near = places
        .iter()
        .filter(|place| place.distance(at(49.0, 0.0)).get() < 20.0 / 2f64.sqrt())
        .count();
    assert!((160..240).contains(&near), "{near} of 400");
    let text = text.replace(
        "kind = \"static\", position = [\"49 m\", \"0 m\"], scatter = \"20 m\"",
        "kind = \"random-walk\", area = [[\"100 m\", \"50 m\"], [\"20 m\", \"-50 m\"]]",
    );
    let spec = specs(&text, &[]).remove(0);
    assert_eq!(spec.placement, Placement::InArea);
    let places = starts(&spec, 400);
    for place in &places {
        let (x, y) = (place.x().get(), place.y().get());
        assert!((20.0..=100.0).contains(&x) && (-50.0..=50.0).contains(&y));
        assert!(!spec.radio.buildings[0].covers(*place));
    }
    // the free ground is 8000 - 3200 m2, 3000 of it left of the building
    let left = places.iter().filter(|place| place.x().get() < 50.0).count();
    assert!((210..290).contains(&left), "{left} of 400");
}

#[test]
fn ways_are_shifted_whole() {
    let text = format!("{CELL}{PHONE}").replace(
        STATIC,
        "kind = \"line\", from = [\"20 m\", \"0 m\"], towards = [\"20 m\", \"9 m\"], scatter = \"5 m\"",
    );
    let spec = specs(&text, &[]).remove(0);
    let radio = spec
        .placed(Duration::from_secs(1), Streams::new(3).stream("place"))
        .expect("free ground");
    let Mobility::Line { from, towards, .. } = radio.mobility else {
        panic!("{:?}", radio.mobility)
    };
    assert!(from != at(20.0, 0.0));
    assert!((towards.x().get() - from.x().get()).abs() < 1e-9);
    assert!((towards.y().get() - from.y().get() - 9.0).abs() < 1e-9);
}

/// Two users, a sweep over heights and copies: one note for each model and quantity, with the range
/// that covers all users and points.
#[test]
fn what_is_extrapolated_is_noted_once() {
    let text = format!(
        "{CELL}{PHONE}[ue.far]\ncount = 5\nchannel = {{ kind = \"moving\" }}\n\
         mobility = {{ kind = \"static\", position = [\"9 km\", \"0 m\"], scatter = \"100 m\" }}\n\
         [sweep]\n\"ue.phone.mobility.position\" = [[\"5 m\", \"0 m\"], [\"7 m\", \"0 m\"], [\"9.5 km\", \"0 m\"]]\n"
    );
    let points = points(&text, &[]).expect("valid");
    assert_eq!(points.len(), 3);
    for point in points {
        assert_eq!(
            point.notes,
            [
                "umi-street-canyon is for distances of 10 m to 5 km, not 5 m to 9.5 km: \
              beyond, it is extrapolated"
            ]
        );
    }
    let inside = point(&format!("{CELL}{PHONE}"), &[]);
    assert!(inside.notes.is_empty(), "{:?}", inside.notes);
    let high = point(&format!("{CELL}{PHONE}"), &[("cell.site.height", "25 m")]);
    assert_eq!(high.notes.len(), 1);
    assert!(high.notes[0].starts_with("umi-street-canyon is for a height of the base station"));
}

#[test]
fn a_mobility_without_a_moving_channel_is_noted() {
    let cqi = "{ kind = \"constant-cqi\", cqi = 9 }";
    let point = point(&format!("{CELL}{PHONE}"), &[("ue.phone.channel", cqi)]);
    assert_eq!(point.notes.len(), 1);
    assert!(
        point.notes[0].contains("the mobility of phone does nothing"),
        "{:?}",
        point.notes
    );
}

/// The main experiment of CDBE (section V-A): drops in a disc of 400 m, 1 to 5 m/s.
#[test]
fn each_copy_and_repeat_is_dropped_in_the_disc_at_its_own_speed() {
    let walk =
        "kind = \"random-walk\", disc-radius = \"400 m\", speed = \"1 m/s\", speed-to = \"5 m/s\"";
    let text = format!("{CELL}{PHONE}").replace(STATIC, walk);
    let spec = specs(&text, &[]).remove(0);
    assert_eq!(spec.placement, Placement::InArea);
    assert_eq!(spec.fastest, Some(Speed::new(5.0)));
    let centre = at(0.0, 0.0);
    let (mut inner, mut slow) = (0, 0);
    for drop in 0..400 {
        let rng = Streams::new(drop).stream("phone");
        let radio = spec.placed(Duration::from_secs(10), rng).expect("a place");
        let Mobility::RandomWalk {
            from, area, speed, ..
        } = radio.mobility
        else {
            panic!("{:?}", radio.mobility)
        };
        let radius = Metres::new(400.0);
        assert_eq!(area, Area::Disc { centre, radius });
        assert!(from.distance(centre) <= radius && (1.0..=5.0).contains(&speed.get()));
        inner += u32::from(from.distance(centre).get() < 200.0);
        slow += u32::from(speed.get() < 2.0);
    }
    // a quarter each, 4 standard deviations
    assert!(
        inner.abs_diff(100) < 35 && slow.abs_diff(100) < 35,
        "{inner}, {slow}"
    );
}

#[test]
fn ways_between_points_have_speeds_of_their_own() {
    let way = "kind = \"waypoints\", points = [[\"50 m\", \"0 m\"], [\"110 m\", \"0 m\", \"0 s\", \"6 m/s\"]]";
    let text = format!("{CELL}{PHONE}").replace(STATIC, way);
    let spec = specs(&text, &[]).remove(0);
    let Mobility::Waypoints { points, .. } = &spec.radio.mobility else {
        panic!("{:?}", spec.radio.mobility)
    };
    let speeds: Vec<_> = points.iter().map(|point| point.speed).collect();
    assert_eq!(speeds, [None, Some(Speed::new(6.0))]);
    let shown = serde_json::to_value(&point(&text, &[]).resolved).expect("plain data");
    let points = serde_json::json!([["50 m", "0 m"], ["110 m", "0 m", "0 s", "6 m/s"]]);
    assert_eq!(shown["ue"]["phone"]["mobility"]["points"], points);
}

/// The way back of a moving user: powers the other way round, on its own carrier, at the same place.
#[test]
fn an_uplink_has_a_budget_of_its_own() {
    assert_eq!(phone(&[]).uplink, None);
    let set = [
        ("cell.uplink.link", "budget"),
        ("cell.uplink.frequency", "27 GHz"),
        ("cell.uplink.transmit-power", "24 dBm"),
        ("cell.uplink.n-prb", "66"),
        ("cell.site.antenna-gain", "8 dB"),
        ("ue.phone.channel.antenna-gain", "3 dB"),
    ];
    let spec = phone(&set);
    let uplink = spec.uplink.expect("asked for");
    assert_eq!(uplink.carrier, Hertz::new(27_000_000_000));
    let budget = uplink.budget;
    assert_eq!(budget.transmit_power, Dbm::new(24.0));
    assert_eq!(
        (budget.transmit_gain.get(), budget.receive_gain.get()),
        (3.0, 8.0)
    );
    assert_eq!(
        (budget.noise_figure.get(), budget.bandwidth.get()),
        (5.0, 66 * 12 * 120_000)
    );
    let beside = uplink.beside(&spec.radio);
    assert_eq!(
        (beside.base, beside.mobility),
        (spec.radio.base, spec.radio.mobility.clone())
    );
    let text = format!("{CELL}{PHONE}");
    let link = |set: &[(&str, &str)]| {
        let access = point(&text, set).experiment.access;
        match access {
            scenario::AccessSpec::Cell(cell) => (cell.config.uplink.link, cell.config.sub_bands),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(link(&[]), (ran::UplinkLink::FixedMcs, ran::SubBands::None));
    assert_eq!(link(&set).0, ran::UplinkLink::PowerHeadroom);
    let ns3 = [
        set[0],
        ("cell.uplink.mcs-from", "ns3"),
        ("cell.sub-bands", "worst"),
    ];
    assert_eq!(link(&ns3), (ran::UplinkLink::Ns3, ran::SubBands::Worst));
    // without a budget its keys do nothing
    assert_eq!(link(&ns3[1..]).0, ran::UplinkLink::FixedMcs);
}
