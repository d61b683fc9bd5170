//! `stream`, `srt`: media towards the UE, by UDP alone and by SRT, with what becomes of each packet; alone and beside a
//! download.

mod statistics;

use super::browser::download::{CURL, Download, Downloaded};
use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use crate::stage::Stage;
use lab::Host;
use serde::Deserialize;
use std::process::Command;

/// As a call's packets are sent, and nothing repairs them.
pub(super) const STREAM: Judge = Judge {
    name: "stream",
    about: "a stream of UDP as a call sends it, 30 frames and 2 Mbit/s: delays, loss, freezes",
    needs: &[PYTHON],
    run: |stage| stream(stage, Download::None),
};

/// The same beside a download.
pub(super) const STREAM_BESIDE_DOWNLOAD: Judge = Judge {
    name: "stream-beside-download",
    about: "the stream of UDP beside a download over TCP of the same UE",
    needs: &[PYTHON, CURL],
    run: |stage| stream(stage, Download::Tcp),
};

/// By SRT.
pub(super) const SRT: Judge = Judge {
    name: "srt",
    about: "a live stream of 2 Mbit/s by SRT (srt-live-transmit, latency 120 ms)",
    needs: &[PYTHON, TRANSMIT],
    run: |stage| srt(stage, Download::None),
};

/// The same beside a download.
pub(super) const SRT_BESIDE_DOWNLOAD: Judge = Judge {
    name: "srt-beside-download",
    about: "the live stream by SRT beside a download over TCP of the same UE",
    needs: &[PYTHON, TRANSMIT, CURL],
    run: |stage| srt(stage, Download::Tcp),
};

const PYTHON: Need = Need::Program("python3");
const TRANSMIT: Need = Need::Program("srt-live-transmit");

/// Milliseconds, packets and bytes: 30 frames a second of seven packets, 2 Mbit/s.
const FRAMES: [&str; 3] = ["33.333", "7", "1200"];
/// Seven packets of MPEG-TS in each datagram, 2 Mbit/s.
const TRANSPORT_STREAM: [&str; 3] = ["5.264", "1", "1316"];
/// Ports of what goes into SRT, of SRT, and of what comes out.
const IN: u16 = 7_001;
const BETWEEN: u16 = 7_002;
const OUT: u16 = 7_003;
/// What SRT's receiver waits for repairs: its default.
const LATENCY_MS: u32 = 120;
/// Packets between two statistics of SRT: about a second.
const REPORT_EACH: &str = "190";
/// The file of SRT's statistics.
const STATISTICS: &str = "srt-statistics.json";

/// What the receiver prints.
#[derive(Debug, Deserialize)]
struct Report {
    delays: [f64; 4],
    sent: f64,
    came: f64,
    twice: f64,
    freezes: f64,
    /// For how long the picture stood, and of what time, s.
    frozen: f64,
    seconds: f64,
    download: Option<Downloaded>,
}

fn script(stage: &Stage<'_, '_>) -> Result<Command, Problem> {
    stage.write("download.py", include_str!("browser/scripts/download.py"))?;
    let script = stage.write("stream.py", include_str!("stream.py"))?;
    let mut python = stage.command(PYTHON);
    python.arg("-B").arg(script);
    Ok(python)
}

/// Sends from the server to a host and port, until the judge is done.
fn send(stage: &mut Stage<'_, '_>, to: (&str, u16), what: [&str; 3]) -> Result<(), Problem> {
    let mut sender = script(stage)?;
    sender.args(["send", to.0, &to.1.to_string()]).args(what);
    stage.start_service(Host::Server, "sender", sender, |output| {
        output.stdout.contains("sending")
    })
}

/// Measures at the UE what comes to a port while `start` has the rest run.
fn receive(
    stage: &mut Stage<'_, '_>,
    port: u16,
    download: Download,
    start: impl FnOnce(&mut Stage<'_, '_>) -> Result<(), Problem>,
) -> Result<Vec<Measure>, Problem> {
    let mut receiver = script(stage)?;
    receiver.args(["receive", &port.to_string(), &stage.seconds().to_string()]);
    download.add(&mut receiver, stage)?;
    let mut receiver = stage.start(Host::Ue, "receiver", receiver)?;
    stage.wait_for(&mut receiver, |output| output.stderr.contains("listening"))?;
    start(stage)?;
    let output = stage.wait(receiver)?;
    measures(&output.stdout)
}

fn stream(stage: &mut Stage<'_, '_>, download: Download) -> Result<Vec<Measure>, Problem> {
    receive(stage, OUT, download, |stage| {
        send(stage, ("ue", OUT), FRAMES)
    })
}

fn srt(stage: &mut Stage<'_, '_>, download: Download) -> Result<Vec<Measure>, Problem> {
    let latency = format!("latency={LATENCY_MS}");
    let mut measures = receive(stage, OUT, download, |stage| {
        let from = format!("udp://127.0.0.1:{IN}");
        let listener = format!("srt://:{BETWEEN}?mode=listener&{latency}");
        let mut sender = stage.command(TRANSMIT);
        sender.args([from, listener]);
        stage.start_service(Host::Server, "srt-server", sender, |_| true)?;
        let caller = format!("srt://server:{BETWEEN}?mode=caller&{latency}");
        let mut receiver = stage.command(TRANSMIT);
        receiver.args(["-f", "-pf:json", &format!("-s:{REPORT_EACH}")]);
        receiver.args([format!("-statsout:{STATISTICS}"), caller]);
        receiver.arg(format!("udp://127.0.0.1:{OUT}"));
        stage.start_service(Host::Ue, "srt-client", receiver, |_| true)?;
        send(stage, ("127.0.0.1", IN), TRANSPORT_STREAM)
    })?;
    let path = stage.scratch().join(STATISTICS);
    let text = std::fs::read_to_string(&path).map_err(|source| Problem::File {
        path: path.display().to_string(),
        source,
    })?;
    measures.extend(statistics::read(&text)?);
    Ok(measures)
}

/// What the receiver has printed.
fn measures(text: &str) -> Result<Vec<Measure>, Problem> {
    let report: Report =
        serde_json::from_str(text).map_err(|_| Problem::missing("the receiver", "report"))?;
    let [p50, p95, p99, max] = report.delays;
    let mut measures = vec![
        better::lower("delay-p50", "ms", p50),
        better::lower("delay-p95", "ms", p95),
        better::lower("delay-p99", "ms", p99),
        better::lower("delay-max", "ms", max),
        better::lower("loss", "%", 100.0 * (1.0 - report.came / report.sent)),
        better::lower("twice", "", report.twice),
        better::lower("freezes", "1/min", 60.0 * report.freezes / report.seconds),
        better::lower("frozen", "%", 100.0 * report.frozen / report.seconds),
    ];
    measures.extend(report.download.map(Downloaded::goodput));
    Ok(measures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_gives_delays_loss_and_freezes() {
        let text = "{\"delays\": [40.5, 45.0, 60.0, 140.0], \"sent\": 2000, \"came\": 1999, \"twice\": 0, \
                    \"freezes\": 1, \"frozen\": 0.25, \"seconds\": 20, \"download\": {\"bytes\": 5000000, \"seconds\": 4.0}}";
        let measures = measures(text).expect("readable");
        let of = |name: &str| {
            let found = measures.iter().find(|measure| measure.name == name);
            found.expect(name).value
        };
        assert_eq!(
            (of("delay-p50"), of("delay-p95"), of("delay-max")),
            (40.5, 45.0, 140.0)
        );
        assert!((of("loss") - 0.05).abs() < 1e-9);
        assert_eq!(
            (of("freezes"), of("frozen"), of("download-goodput")),
            (3.0, 1.25, 10.0)
        );
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        for text in ["", "{}", "[]"] {
            let error = measures(text).expect_err(text).to_string();
            assert_eq!(error, "the output of the receiver has no report");
        }
    }
}
