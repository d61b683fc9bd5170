//! `irtt`: round-trip times and loss of small UDP packets, idle or beside a load.

use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use crate::running::Output;
use crate::stage::Stage;
use lab::Host;
use serde_json::Value;
use std::fs;

/// Round-trip times without a load.
pub(super) const JUDGE: Judge = Judge {
    name: "irtt",
    about: "irtt alone: round-trip times and loss of 50 UDP packets a second on an idle path",
    needs: &[IRTT],
    run: |stage| {
        let ((), round_trips) = beside(stage, idle)?;
        Ok(round_trips)
    },
};

/// The program.
pub(super) const IRTT: Need = Need::Program("irtt");

/// As a voice call sends: every 20 ms, 172 bytes.
const INTERVAL: &str = "20ms";
const LENGTH: &str = "172";

/// The file of the client's results.
const RESULTS: &str = "irtt.json";

fn idle(_: &mut Stage<'_, '_>) -> Result<(), Problem> {
    Ok(())
}

/// Runs irtt from the UE to the server for the stage's duration, and a load beside it, which begins as soon as irtt has
/// reached its server. What the load gave, and irtt's measures.
pub(super) fn beside<T>(
    stage: &mut Stage<'_, '_>,
    load: impl FnOnce(&mut Stage<'_, '_>) -> Result<T, Problem>,
) -> Result<(T, Vec<Measure>), Problem> {
    let address = stage.address(Host::Server);
    let mut server = stage.command(IRTT);
    server.args(["server", "-b", &format!("{address}:2112")]);
    stage.start_service(Host::Server, "irtt-server", server, |output| {
        has(output, "ListenerStart")
    })?;
    let mut client = stage.command(IRTT);
    client
        .args(["client", "-q", "-i", INTERVAL, "-l", LENGTH])
        .args(["-d", &format!("{}s", stage.seconds()), "-o", RESULTS])
        .arg(address.to_string());
    let mut client = stage.start(Host::Ue, "irtt", client)?;
    stage.wait_for(&mut client, |output| has(output, "[Connected]"))?;
    let loaded = load(stage)?;
    stage.wait(client)?;
    let path = stage.scratch().join(RESULTS);
    let text = fs::read_to_string(&path).map_err(|source| Problem::File {
        path: path.display().to_string(),
        source,
    })?;
    Ok((loaded, measures(&text)?))
}

fn has(output: &Output, text: &str) -> bool {
    output.stdout.contains(text) || output.stderr.contains(text)
}

/// What irtt's JSON says.
fn measures(text: &str) -> Result<Vec<Measure>, Problem> {
    let missing = |what: &str| Problem::missing("irtt", what);
    let report: Value = serde_json::from_str(text).map_err(|_| missing("JSON"))?;
    let trips = report["round_trips"].as_array();
    let mut rtts: Vec<f64> = trips
        .ok_or_else(|| missing("round_trips"))?
        .iter()
        .filter_map(|trip| trip["delay"]["rtt"].as_f64())
        .map(|nanoseconds| nanoseconds / 1e6)
        .collect();
    rtts.sort_by(f64::total_cmp);
    let loss = report["stats"]["packet_loss_percent"].as_f64();
    let mut measures = Vec::new();
    if !rtts.is_empty() {
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        measures.push(better::lower("rtt-mean", "ms", mean));
        measures.push(better::lower("rtt-p50", "ms", quantile(&rtts, 0.5)));
        measures.push(better::lower("rtt-p99", "ms", quantile(&rtts, 0.99)));
    }
    let loss = loss.ok_or_else(|| missing("packet_loss_percent"))?;
    measures.push(better::lower("loss", "%", loss));
    Ok(measures)
}

/// The smallest of the sorted values that is at least as large as this share of them (nearest rank).
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = include_str!("recorded/irtt.json");

    #[test]
    fn a_recording_gives_its_round_trips_and_loss() {
        let measures = measures(RECORDED).expect("readable");
        let of = |name: &str| {
            let found = measures.iter().find(|measure| measure.name == name);
            found.expect(name).value
        };
        // two of 142 did not come back
        assert!((of("loss") - 200.0 / 142.0).abs() < 1e-9);
        assert_eq!(of("rtt-p50"), 72.129651);
        assert_eq!(of("rtt-p99"), 219.594658);
        // what irtt itself gives, rounded to whole nanoseconds
        assert!((of("rtt-mean") - 83.422706).abs() < 1e-5);
    }

    #[test]
    fn nearest_ranks() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 100.0);
        assert_eq!(quantile(&values, 0.99), 198.0);
        assert_eq!(quantile(&values[..1], 0.99), 1.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        for text in ["", "{}", "[]", "{\"round_trips\": []}"] {
            let error = measures(text).expect_err(text).to_string();
            assert!(error.starts_with("the output of irtt has no"), "{error}");
        }
    }
}
