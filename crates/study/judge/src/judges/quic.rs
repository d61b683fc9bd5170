//! `quic-aioquic`, `quic-quinn`: a download over QUIC by two implementations, with irtt beside it.

use super::irtt::{self, IRTT};
use super::server;
use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use crate::running::Output;
use crate::stage::Stage;
use lab::Host;
use serde_json::Value;

/// Both ends by aioquic.
pub(super) const AIOQUIC: Judge = Judge {
    name: "quic-aioquic",
    about: "a QUIC download by aioquic with its defaults (NewReno); irtt beside it",
    needs: &[PYTHON, IRTT],
    run: |stage| with_round_trips(stage, aioquic),
};

/// Both ends by quinn, as `brimful quic` has it.
pub(super) const QUINN: Judge = Judge {
    name: "quic-quinn",
    about: "an HTTP/3 download by quinn (brimful quic serve and get, Cubic); irtt beside it",
    needs: &[IRTT],
    run: |stage| with_round_trips(stage, quinn),
};

const PYTHON: Need = Need::Module("aioquic");
const PORT: u16 = 4433;
/// More than any download takes, bytes: as much as the server gives.
const ENDLESS: u64 = 1_000_000_000_000;

fn with_round_trips(
    stage: &mut Stage<'_, '_>,
    download: fn(&mut Stage<'_, '_>) -> Result<Value, Problem>,
) -> Result<Vec<Measure>, Problem> {
    let (report, mut round_trips) = irtt::beside(stage, download)?;
    let mut measures = vec![goodput(&report)?];
    measures.append(&mut round_trips);
    Ok(measures)
}

fn aioquic(stage: &mut Stage<'_, '_>) -> Result<Value, Problem> {
    let script = stage.write("download.py", include_str!("download.py"))?;
    let mut server = stage.command(PYTHON);
    server.arg(&script).args(["serve", &PORT.to_string()]);
    stage.start_service(Host::Server, "aioquic-server", server, is_listening)?;
    let mut client = stage.command(PYTHON);
    client.arg(&script).args([
        "get",
        "server",
        &PORT.to_string(),
        &stage.seconds().to_string(),
    ]);
    let output = stage.run(Host::Ue, "aioquic", client)?;
    parsed(&output)
}

fn quinn(stage: &mut Stage<'_, '_>) -> Result<Value, Problem> {
    server::start_quic(stage, "quinn-server", PORT, None)?;
    let mut client = stage.brimful();
    client.args(["quic", "get", "--insecure", "--json", "--for"]);
    client.arg(format!("{} s", stage.seconds()));
    client.arg(format!("https://server:{PORT}/bytes/{ENDLESS}"));
    let output = stage.run(Host::Ue, "quinn", client)?;
    parsed(&output)
}

fn is_listening(output: &Output) -> bool {
    output.stdout.contains("listening") || output.stderr.contains("listening")
}

fn parsed(output: &Output) -> Result<Value, Problem> {
    serde_json::from_str(&output.stdout).map_err(|_| Problem::missing("the client", "JSON"))
}

/// Both clients print how much came in how long.
fn goodput(report: &Value) -> Result<Measure, Problem> {
    let number = |key: &str| report[key].as_f64().filter(|number| *number > 0.0);
    let of = |key: &str| number(key).ok_or_else(|| Problem::missing("the client", key));
    let rate = of("bytes")? * 8.0 / of("seconds")?;
    Ok(better::higher("goodput", "Mbit/s", rate / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str) -> Value {
        let output = Output {
            stdout: text.to_owned(),
            stderr: String::new(),
        };
        parsed(&output).expect("JSON")
    }

    #[test]
    fn recordings_of_both_clients_give_their_goodput() {
        for text in [
            include_str!("recorded/aioquic.json"),
            include_str!("recorded/quinn.json"),
        ] {
            let report = recorded(text);
            let rate = goodput(&report).expect("readable").value;
            let bytes = report["bytes"].as_f64().expect("bytes");
            let seconds = report["seconds"].as_f64().expect("seconds");
            assert!(
                (rate * 1e6 / 8.0 * seconds / bytes - 1.0).abs() < 1e-9,
                "{rate}"
            );
        }
    }

    #[test]
    fn a_download_of_nothing_is_an_error() {
        let report = recorded("{\"bytes\": 0, \"seconds\": 10.0}");
        let error = goodput(&report).expect_err("nothing came").to_string();
        assert_eq!(error, "the output of the client has no bytes");
    }
}
