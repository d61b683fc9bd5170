//! `iperf3`: a download, and downloads beside uploads, with irtt beside them.

use super::irtt::{self, IRTT};
use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use crate::running::Output;
use crate::stage::Stage;
use lab::Host;
use serde_json::Value;

/// A download.
pub(super) const DOWNLOAD: Judge = Judge {
    name: "iperf3",
    about: "a TCP download by iperf3: goodput, the sender's retransmissions; irtt beside it",
    needs: &[IPERF3, IRTT],
    run: |stage| {
        let (report, mut round_trips) = irtt::beside(stage, |stage| run(stage, &["-R"]))?;
        let mut measures = download(&report)?;
        measures.append(&mut round_trips);
        Ok(measures)
    },
};

/// The load of flent's test of that name (without marked classes), by iperf3.
pub(super) const RRUL: Judge = Judge {
    name: "rrul",
    about: "four TCP downloads and four uploads at once by iperf3; irtt beside them",
    needs: &[IPERF3, IRTT],
    run: |stage| {
        let load = |stage: &mut Stage<'_, '_>| run(stage, &["--bidir", "-P", "4"]);
        let (report, mut round_trips) = irtt::beside(stage, load)?;
        let mut measures = both_ways(&report)?;
        measures.append(&mut round_trips);
        Ok(measures)
    },
};

/// The program, of which the lab runs a server.
const IPERF3: Need = Need::Program("iperf3");

fn run(stage: &mut Stage<'_, '_>, options: &[&str]) -> Result<Value, Problem> {
    let mut command = stage.command(IPERF3);
    command
        .args(["-c", "server", "-J", "-t", &stage.seconds().to_string()])
        .args(options);
    let output = stage.run(Host::Ue, "iperf3", command)?;
    parsed(&output)
}

fn parsed(output: &Output) -> Result<Value, Problem> {
    serde_json::from_str(&output.stdout).map_err(|_| Problem::missing("iperf3", "JSON"))
}

fn download(report: &Value) -> Result<Vec<Measure>, Problem> {
    let end = &report["end"];
    Ok(vec![
        better::higher("goodput", "Mbit/s", rate(end, "sum_received")?),
        better::lower("retransmissions", "", count(end, "sum_sent")?),
    ])
}

/// The UE is the client: what it sends goes up.
fn both_ways(report: &Value) -> Result<Vec<Measure>, Problem> {
    let end = &report["end"];
    let down = rate(end, "sum_received_bidir_reverse")?;
    Ok(vec![
        better::higher("goodput-down", "Mbit/s", down),
        better::higher("goodput-up", "Mbit/s", rate(end, "sum_received")?),
    ])
}

fn rate(end: &Value, sum: &str) -> Result<f64, Problem> {
    let rate = end[sum]["bits_per_second"].as_f64();
    let rate = rate.ok_or_else(|| Problem::missing("iperf3", format!("{sum}.bits_per_second")))?;
    Ok(rate / 1e6)
}

fn count(end: &Value, sum: &str) -> Result<f64, Problem> {
    let count = end[sum]["retransmits"].as_f64();
    count.ok_or_else(|| Problem::missing("iperf3", format!("{sum}.retransmits")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    fn value(measures: &[Measure], name: &str) -> f64 {
        let found = measures.iter().find(|measure| measure.name == name);
        found.expect(name).value
    }

    #[test]
    fn a_recorded_download_gives_its_goodput_and_retransmissions() {
        let report = recorded(include_str!("recorded/iperf3-down.json"));
        let measures = download(&report).expect("readable");
        assert!((value(&measures, "goodput") - 1.047460454615834).abs() < 1e-12);
        assert_eq!(value(&measures, "retransmissions"), 0.0);
    }

    #[test]
    fn a_recording_of_both_ways_tells_them_apart() {
        let report = recorded(include_str!("recorded/iperf3-both.json"));
        let measures = both_ways(&report).expect("readable");
        let (down, up) = (
            value(&measures, "goodput-down"),
            value(&measures, "goodput-up"),
        );
        assert!((20.63..20.64).contains(&down), "{down}");
        assert!((16.03..16.04).contains(&up), "{up}");
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        let error = download(&recorded("{\"error\": \"x\"}")).expect_err("no report");
        assert_eq!(
            error.to_string(),
            "the output of iperf3 has no sum_received.bits_per_second"
        );
    }
}
