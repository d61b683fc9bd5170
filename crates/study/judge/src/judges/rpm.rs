//! `rpm`: responsiveness under working conditions by `mach` of crate cf-mach (draft-ietf-ippm-responsiveness-09).

use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use lab::Host;
use serde_json::Value;

/// Round trips a minute under load, down and up.
pub(super) const JUDGE: Judge = Judge {
    name: "rpm",
    about: "responsiveness under working conditions by Cloudflare's mach (HTTP/2 over TLS): round trips a minute",
    needs: &[MACH],
    run: |stage| {
        let mut command = stage.command(MACH);
        let duration = stage.duration().as_millis().to_string();
        command
            .args(["rpm", "--config", "https://server/.well-known/nq"])
            // scores would be sent to its makers
            .args(["--insecure", "--disable-aim-scores"])
            .args(["--test-duration", &duration]);
        let output = stage.run(Host::Ue, "mach", command)?;
        measures(&output.stdout)
    },
};

const MACH: Need = Need::Program("mach");

/// What its JSON says: of each direction the responsiveness, the median round trip of requests on a loaded connection
/// (the draft's self probes), and the goodput of the load.
fn measures(text: &str) -> Result<Vec<Measure>, Problem> {
    let report: Value = serde_json::from_str(text).map_err(|_| Problem::missing("mach", "JSON"))?;
    let number = |of: &Value, key: &str| {
        of[key]
            .as_f64()
            .ok_or_else(|| Problem::missing("mach", key))
    };
    let (down, up) = (&report["download"], &report["upload"]);
    let mut measures = vec![
        better::higher("rpm-down", "1/min", number(down, "rpm")?),
        better::higher("rpm-up", "1/min", number(up, "rpm")?),
    ];
    let loaded = "loaded_latency_ms";
    for (name, unit, value) in [
        ("rtt-idle", "ms", number(&report, "unloaded_latency_ms")?),
        ("rtt-loaded-down", "ms", number(down, loaded)?),
        ("rtt-loaded-up", "ms", number(up, loaded)?),
    ] {
        measures.push(better::lower(name, unit, value));
    }
    for (name, of) in [("goodput-down", down), ("goodput-up", up)] {
        let goodput = number(of, "throughput")? / 1e6;
        measures.push(better::higher(name, "Mbit/s", goodput));
    }
    Ok(measures)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = include_str!("recorded/mach.json");

    #[test]
    fn a_recording_gives_both_directions() {
        let report: Value = serde_json::from_str(RECORDED).expect("JSON");
        let measures = measures(RECORDED).expect("readable");
        let of = |name: &str| {
            let found = measures.iter().find(|measure| measure.name == name);
            found.expect(name).value
        };
        assert_eq!(Some(of("rpm-down")), report["download"]["rpm"].as_f64());
        assert_eq!(Some(of("rpm-up")), report["upload"]["rpm"].as_f64());
        let throughput = report["download"]["throughput"].as_f64().expect("a rate");
        assert_eq!(of("goodput-down"), throughput / 1e6);
        assert_eq!(measures.len(), 7);
    }

    #[test]
    fn a_report_without_a_number_is_an_error_that_names_it() {
        for (text, word) in [
            ("", "JSON"),
            ("{}", "rpm"),
            ("{\"download\":{\"rpm\":1}}", "rpm"),
            (
                "{\"download\":{\"rpm\":1},\"upload\":{\"rpm\":1}}",
                "unloaded_latency_ms",
            ),
        ] {
            let error = measures(text).expect_err(text).to_string();
            assert_eq!(error, format!("the output of mach has no {word}"));
        }
    }
}
