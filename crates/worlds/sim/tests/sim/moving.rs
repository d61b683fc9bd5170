//! Users whose channels move, from scenario text to results.

use crate::*;
use proptest::prelude::*;
use radio::{CqiTable, cqi_entry};
use scenario::{ChannelSpec, Experiment, Metric, Overrides, RunResult, load_str};
use units::{Cqi, Duration};

/// The cell of fast-embb at 28 GHz, with a UDP stream that offers more than it carries.
const CELL: &str = r#"duration = "12 s"
sample-interval = "100 ms"
[path]
rtt = "4 ms"
[cell]
rat = "nr"
frequency = "28 GHz"
bandwidth = "200 MHz"
numerology = 3
bler-family = "5g-lena"
scheduler = "round-robin"
[cell.site]
antenna-gain = "14 dB"
[flow.udp]
ue = "phone"
app = { kind = "cbr", rate = "900 Mbit/s" }
"#;

fn experiment(text: &str) -> Experiment {
    match load_str(text, &Overrides::default()) {
        Ok(mut points) => points.remove(0).experiment,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn experiment_with(ues: &str) -> Experiment {
    experiment(&format!("{CELL}{ues}"))
}

/// The values of one series.
fn series(result: &RunResult, entity: &str, metric: Metric) -> Vec<f64> {
    let found = result
        .series
        .iter()
        .find(|series| series.entity == entity && series.metric == metric);
    let points = &found.expect("it is measured").points;
    points.iter().map(|&(_, value)| value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The best rate of the cell: 106576 bit x 8000 slots/s.
const BEST: f64 = 852.608e6;
/// Its payload: 1470 B in 1505 B with IP, SDAP, PDCP, RLC and MAC.
const BEST_PAYLOAD: f64 = BEST * 1470.0 / 1505.0;

/// Bits per resource element that these CQIs stand for, as a share of those of CQI 15 (TS 38.214 table
/// 5.2.2.1-2); none for CQI 0.
fn share_of_best(cqis: &[f64]) -> f64 {
    let efficiency =
        |cqi| cqi_entry(CqiTable::NrQam64, Cqi::new(cqi)).map_or(0.0, |e| e.efficiency());
    let all: Vec<f64> = cqis.iter().map(|cqi| efficiency(*cqi as u8)).collect();
    mean(&all) / efficiency(15)
}

/// 20 m from a base station of 49 dBm with its gain, in sight: SNR 49 - 89.2 + 82.2 = 42 dB.
#[test]
fn near_the_base_station_the_best_mcs_is_used() {
    let mut experiment = experiment_with(
        r#"[ue.phone]
channel = { kind = "moving", sight = "los" }
mobility = { kind = "static", position = ["20 m", "0 m"] }
"#,
    );
    experiment.duration = Duration::from_secs(2);
    let result = run(&experiment);
    let capacity = result.link.capacity.as_bps() as f64;
    assert!((capacity / BEST - 1.0).abs() < 1e-3, "{capacity}");
    assert!(
        series(&result, "phone", Metric::Cqi)
            .iter()
            .all(|&cqi| cqi == 15.0)
    );
    let goodput = result.flows[0].goodput.as_bps() as f64;
    assert!((goodput / BEST_PAYLOAD - 1.0).abs() < 0.02, "{goodput}");
}

/// A user walks along a street, 50 m away, past a building 4 m wide: shadow from 4 s to 8 s or so.
#[test]
fn behind_a_building_the_rate_falls_and_comes_back() {
    let mut experiment = experiment_with(
        r#"[[cell.building]]
corners = [["40 m", "-1.6 m"], ["45 m", "1.6 m"]]
height = "20 m"
[ue.phone]
channel = { kind = "moving", shadowing = "none" }
mobility = { kind = "line", from = ["50 m", "-6 m"], towards = ["50 m", "0 m"], speed = "1 m/s" }
"#,
    );
    for effect in ["strongest", "nlos", "diffraction"] {
        if let ChannelSpec::Moving(spec) = &mut experiment.ues[0].channel {
            let spec = std::sync::Arc::make_mut(spec);
            spec.radio.building_effect = effect.parse().expect("a name");
        }
        let result = run(&experiment);
        let rates = series(&result, "udp", Metric::Goodput);
        let (before, behind, after) = (&rates[5..30], &rates[50..70], &rates[90..115]);
        for in_sight in [mean(before), mean(after)] {
            let share = in_sight / BEST_PAYLOAD;
            assert!((share - 1.0).abs() < 0.01, "{effect}: {share}");
        }
        // LOS 97.2 dB, NLOS 113.4 dB, SNR 18 dB; diffraction costs some 20 dB: no more than the CQIs of the
        // time allow, and it is served in every step
        let cqis = series(&result, "phone", Metric::Cqi);
        assert!(cqis[60] < cqis[10] && cqis[110] == cqis[10], "{effect}");
        let ceiling = BEST_PAYLOAD * share_of_best(&cqis[50..70]);
        assert!(
            mean(behind) <= ceiling,
            "{effect}: {} of {ceiling}",
            mean(behind)
        );
        assert!(
            behind.iter().all(|&rate| rate > 0.0),
            "{effect}: {behind:?}"
        );
    }
}

/// The user of RAPID's scenarios without line of sight is 2 s in sight, 6 s behind a building, and 6 s in
/// sight again: the best rate, less than half of it, and the best rate again.
#[test]
fn rapids_user_walks_in_and_out_of_sight() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../scenarios/rapid/mixed-nlos.toml"
    );
    let mut experiment = match scenario::load(file.as_ref(), &Overrides::default()) {
        Ok(mut points) => points.remove(0).experiment,
        Err(error) => panic!("{error}"),
    };
    assert!(experiment.duration >= Duration::from_secs(14));
    experiment.duration = Duration::from_secs(14);
    experiment.sample_interval = Duration::from_millis(10);
    for seed in [1, 2] {
        let result = sim::run(&experiment, seed).expect("valid");
        let rates = series(&result, "phone", Metric::Capacity);
        let between = |from: usize, to: usize| {
            let step = rates.len() / 14;
            mean(&rates[from * step..to * step])
        };
        for (from, to) in [(0, 1), (9, 13)] {
            let share = between(from, to) / BEST;
            assert!((share - 1.0).abs() < 0.01, "{seed}: {share}");
        }
        // as much as the CQIs of the time allow, which fall to 0 where the shadow is deepest
        let cqis = series(&result, "phone", Metric::Cqi);
        let step = cqis.len() / 14;
        let ceiling = BEST * share_of_best(&cqis[3 * step..7 * step]);
        let behind = between(3, 7);
        assert!(
            behind > 0.0 && behind <= ceiling,
            "{seed}: {behind} of {ceiling}"
        );
        assert!(ceiling < 0.5 * BEST, "{seed}: {ceiling}");
    }
}

/// Two users with everything that is random.
fn random(ues: &[&str]) -> Experiment {
    let mut text = CELL
        .replace("\"12 s\"", "\"2 s\"")
        .replace("900", "20")
        .to_owned()
        + "[cell.interferer]\nkind = \"received\"\npower = \"-70 dBm\"\nmean-on = \"20 ms\"\nmean-off = \"50 ms\"\n";
    for ue in ues {
        text += &format!(
            "[ue.{ue}]\nchannel = {{ kind = \"moving\" }}\n\
             mobility = {{ kind = \"random-walk\", area = [[\"-90 m\", \"-90 m\"], [\"90 m\", \"90 m\"]], speed = \"20 m/s\" }}\n"
        );
    }
    experiment(&text)
}

#[test]
fn a_seed_gives_one_channel_and_another_seed_another() {
    let experiment = random(&["phone"]);
    let exactly = |seed| format!("{:?}", sim::run(&experiment, seed).expect("valid"));
    assert_eq!(exactly(1), exactly(1));
    let cqis = |seed| {
        series(
            &sim::run(&experiment, seed).expect("valid"),
            "phone",
            Metric::Cqi,
        )
    };
    assert_ne!(cqis(1), cqis(2));
}

/// The channel is that of the user's name, wherever the user stands in the file. (HARQ's draws are those
/// of the RNTI, which follows the order of users.)
#[test]
fn another_user_does_not_change_a_users_channel() {
    let alone = run(&random(&["phone"]));
    let cqis = |result: &RunResult, user| series(result, user, Metric::Cqi);
    for more in [["phone", "other"], ["other", "phone"]] {
        let both = run(&random(&more));
        assert_eq!(cqis(&alone, "phone"), cqis(&both, "phone"), "{more:?}");
        assert_ne!(cqis(&both, "phone"), cqis(&both, "other"));
        if more[0] == "phone" {
            let goodput = |result| series(result, "udp", Metric::Goodput);
            assert_eq!(goodput(&alone), goodput(&both));
        }
    }
}

#[test]
fn copies_are_scattered_by_name_and_seed() {
    let experiment = experiment_with(
        r#"[ue.phone]
count = 4
channel = { kind = "moving", fading = "none" }
mobility = { kind = "static", position = ["100 m", "0 m"], scatter = "90 m" }
"#,
    );
    let experiment = Experiment {
        duration: ms(300),
        ..experiment
    };
    let cqis = |seed| -> Vec<f64> {
        let result = sim::run(&experiment, seed).expect("valid");
        let names = ["phone", "phone-2", "phone-3", "phone-4"];
        names
            .map(|name| series(&result, name, Metric::Cqi)[0])
            .into()
    };
    let seeds: Vec<Vec<f64>> = (1..=5).map(cqis).collect();
    assert!(
        seeds
            .iter()
            .any(|places| places.iter().any(|cqi| *cqi != places[0]))
    );
    assert!(seeds.iter().any(|places| *places != seeds[0]));
    assert_eq!(cqis(3), seeds[2]);
}

/// What is found only when a run begins: the channel's user is named.
#[test]
fn a_user_without_a_place_is_refused() {
    let mut experiment = random(&["phone"]);
    if let ChannelSpec::Moving(spec) = &mut experiment.ues[0].channel {
        let spec = std::sync::Arc::make_mut(spec);
        let at = |x| {
            radio::moving::Position::new(
                radio::moving::Metres::new(x),
                radio::moving::Metres::new(x),
            )
        };
        let everywhere =
            radio::moving::Building::new(at(-95.0), at(95.0), radio::moving::Metres::new(5.0));
        spec.radio.buildings.push(everywhere.expect("a building"));
    }
    let Err(error) = sim::run(&experiment, 1) else {
        panic!("accepted")
    };
    let message = error.to_string();
    assert!(
        message.contains("ue \"phone\"") && message.contains("inside building 1"),
        "{message}"
    );
}

fn length() -> impl Strategy<Value = String> {
    prop_oneof![
        (-200i32..200).prop_map(|m| format!("\"{m} m\"")),
        Just("\"0.000001 m\"".to_owned()),
        Just("\"-100 km\"".to_owned()),
        Just("\"99.9 km\"".to_owned()),
    ]
}

fn place() -> impl Strategy<Value = String> {
    (length(), length()).prop_map(|(x, y)| format!("[{x}, {y}]"))
}

fn speed() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "0 m/s",
        "0.0000000000001 m/s",
        "1 m/s",
        "120 km/h",
        "500 m/s",
    ])
}

fn mobility() -> impl Strategy<Value = String> {
    prop_oneof![
        (place(), length()).prop_map(|(p, s)| {
            let s = s.replace('-', "");
            format!("kind = \"static\", position = {p}, scatter = {s}")
        }),
        (place(), place(), speed())
            .prop_map(|(a, b, v)| format!("kind = \"line\", from = {a}, towards = {b}, speed = \"{v}\"")),
        (place(), place(), speed(), prop::sample::select(vec!["10 cm", "30 m", "100 km"])).prop_map(
            |(a, b, v, leg)| {
                format!("kind = \"random-walk\", area = [{a}, {b}], speed = \"{v}\", leg = \"{leg}\"")
            }
        ),
        (place(), place(), place(), speed(), prop::sample::select(vec!["stop", "loop"])).prop_map(
            |(a, b, c, v, end)| {
                format!("kind = \"waypoints\", points = [{a}, {b}, {c}], speed = \"{v}\", at-end = \"{end}\"")
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever the places, ways, powers and models of a file: it is refused, or it runs.
    #[test]
    fn whatever_is_accepted_runs(
        mobility in mobility(),
        site in place(),
        building in (place(), place()),
        path_loss in prop::sample::select(radio::moving::PathLoss::NAMES.to_vec()),
        fading in prop::sample::select(radio::moving::Fading::NAMES.to_vec()),
        effect in prop::sample::select(radio::moving::BuildingEffect::NAMES.to_vec()),
        power in prop::sample::select(vec!["-100 dBm", "35 dBm", "100 dBm"]),
        family in prop::sample::select(vec!["none", "5g-lena"]),
        frequency in prop::sample::select(vec!["2 GHz", "2.6 GHz", "6 GHz"]),
        seed in 0u64..1000,
    ) {
        let text = format!(
            "duration = \"60 ms\"\nsample-interval = \"10 ms\"\n[path]\nrtt = \"30 ms\"\n\
             [cell]\nrat = \"nr\"\nfrequency = \"{frequency}\"\nbandwidth = \"20 MHz\"\n\
             bler-family = \"{family}\"\nbuilding-effect = \"{effect}\"\n\
             [cell.site]\nposition = {site}\nheight = \"30 m\"\ntransmit-power = \"{power}\"\n\
             [[cell.building]]\ncorners = [{}, {}]\nheight = \"20 m\"\n\
             [ue.phone]\nchannel = {{ kind = \"moving\", path-loss = \"{path_loss}\", fading = \"{fading}\" }}\n\
             mobility = {{ {mobility} }}\n\
             [flow.bulk]\napp = {{ kind = \"continuous\" }}\n",
            building.0, building.1,
        );
        match load_str(&text, &Overrides::default()) {
            Ok(points) => {
                // random places may fail where next to nothing is free, and only so
                if let Err(error) = sim::run(&points[0].experiment, seed) {
                    let message = error.to_string();
                    prop_assert!(message.contains("inside building"), "{}\n{}", message, text);
                }
            }
            Err(error) => prop_assert!(error.to_string().starts_with("<text>:"), "{}", error),
        }
    }
}
