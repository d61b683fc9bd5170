//! A tunnel of which one path goes over several cells.

use scenario::{Experiment, Metric, Overrides, RunResult};
use sim::Simulation;
use std::path::Path;
use units::{Bytes, Duration};

/// `mobility/tunnel`, as fast as takes the phone past all three cells in 17 s.
fn tram(set: &[(&str, &str)]) -> Experiment {
    let file = format!(
        "{}/../../../scenarios/mobility/tunnel.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let fast = [("speed", "100 km/h"), ("duration", "17 s")];
    let overrides = Overrides {
        set: fast.iter().chain(set).map(owned).collect(),
        ..Overrides::default()
    };
    match scenario::load(Path::new(&file), &overrides) {
        Ok(mut points) => points.remove(0).experiment,
        Err(error) => panic!("{error}"),
    }
}

fn run(set: &[(&str, &str)]) -> RunResult {
    let experiment = tram(set);
    let mut simulation = Simulation::new(&experiment, 1).expect("can be run");
    simulation.run();
    let counts = simulation.packet_counts();
    let accounted = counts.delivered + counts.dropped + counts.in_network;
    assert_eq!(counts.sent, accounted, "{set:?}: {counts:?}");
    simulation.finish()
}

fn download_mbps(run: &RunResult) -> f64 {
    run.flows[1].goodput.as_bps() as f64 / 1e6
}

/// What Wi-Fi's path carried in a time, of its 20 Mbit/s.
fn wifi_mbps(run: &RunResult, from: Duration, to: Duration) -> f64 {
    let mut all = run.series.iter();
    let series = all.find(|s| s.entity == "path/wifi" && s.metric == Metric::PathRate);
    let points = series.expect("it is measured").points.iter();
    let within = points.filter(|(at, _)| at.since_start() > from && at.since_start() <= to);
    let values: Vec<f64> = within.map(|(_, value)| *value).collect();
    values.iter().sum::<f64>() / values.len() as f64 / 1e6
}

#[test]
fn the_phone_of_a_tunnel_is_handed_over_and_both_paths_carry() {
    for (cc, scheduler) in [("ccid5", "aware"), ("bbr", "cpf")] {
        let run = run(&[("tunnel-cc", cc), ("scheduler", scheduler)]);
        let to: Vec<&str> = run.handovers.iter().map(|it| it.to.as_str()).collect();
        assert_eq!(to, ["middle", "east"], "{cc}");
        assert!(
            run.handovers.iter().all(|it| it.lost == 0),
            "{cc}: forwarded"
        );
        let tunnel = run.tunnel.as_ref().expect("a tunnel");
        let carried = |name: &str| {
            let path = tunnel.paths.iter().find(|path| path.name == name);
            path.expect("that path").carried
        };
        for path in ["cellular", "wifi"] {
            assert!(
                carried(path) > Bytes::new(10_000_000),
                "{cc}, {path}: {tunnel:?}"
            );
        }
    }
}

/// While no cell serves for half a second, what goes over Wi-Fi goes on.
#[test]
fn wifi_carries_on_while_no_cell_serves() {
    let run = run(&[("interruption", "500 ms")]);
    assert_eq!(run.handovers.len(), 2);
    for handover in &run.handovers {
        let at = handover.at.since_start();
        let found = wifi_mbps(&run, at, at + handover.interruption);
        assert!((8.0..=20.1).contains(&found), "{at}: {found} Mbit/s");
    }
}

#[test]
fn a_tunnel_carries_more_than_the_cells_alone_and_less_than_both_paths() {
    let alone = download_mbps(&run(&[("tunnel", "off")]));
    let both = download_mbps(&run(&[]));
    // Wi-Fi's 20 Mbit/s, without what its headers take
    assert!(
        (alone + 5.0..=alone + 20.0).contains(&both),
        "{alone} and {both} Mbit/s"
    );
}

#[test]
fn a_run_is_the_same_bit_for_bit() {
    let text = || {
        format!(
            "{:?}",
            run(&[("scheduler", "deadline"), ("duration", "10 s")])
        )
    };
    assert!(text() == text());
}
