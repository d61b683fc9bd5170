//! `rpm`: responsiveness under working conditions by `mach` of crate cf-mach (draft-ietf-ippm-responsiveness-09), with
//! nginx for TLS and HTTP/2 before the lab's own server.

use super::certificate::Certificate;
use super::server::NGINX;
use crate::judge::{Judge, Measure, Problem, better};
use crate::need::Need;
use crate::stage::Stage;
use lab::Host;
use serde_json::Value;

/// Round trips a minute under load, down and up.
pub(super) const JUDGE: Judge = Judge {
    name: "rpm",
    about: "responsiveness under working conditions by Cloudflare's mach (HTTP/2 over TLS): round trips a minute",
    needs: &[MACH, NGINX],
    run: |stage| {
        serve(stage)?;
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

/// What sockets of the server's host hold that has not been sent, bytes: a request does not wait behind more of a load.
const UNSENT: u32 = 128 * 1024;

/// The configuration of nginx: it hands on what comes, and holds neither downloads nor uploads.
const CONFIGURATION: &str = "\
daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen SERVER:443 ssl http2;
    ssl_certificate CHAIN;
    ssl_certificate_key KEY;
    ssl_protocols TLSv1.2 TLSv1.3;
    keepalive_requests 1000000;
    client_max_body_size 0;
    http2_body_preread_size 16m;
    location / {
      proxy_pass http://SERVER:80;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
    }
  }
}
";

/// Starts nginx on the server's host.
fn serve(stage: &mut Stage<'_, '_>) -> Result<(), Problem> {
    let address = stage.address(Host::Server).to_string();
    let certificate = Certificate::write(stage.scratch())?;
    let text = CONFIGURATION
        .replace("SERVER", &address)
        .replace("CHAIN", &certificate.chain.display().to_string())
        .replace("KEY", &certificate.key.display().to_string());
    let file = stage.write("nginx.conf", &text)?;
    // the namespace's own parameter
    let script =
        format!("echo {UNSENT} > /proc/sys/net/ipv4/tcp_notsent_lowat && exec \"$0\" \"$@\"");
    let nginx = stage.command(NGINX);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script])
        .arg(nginx.get_program())
        .arg("-e")
        .arg("stderr")
        .arg("-p")
        .arg(stage.scratch())
        .arg("-c")
        .arg(file);
    let pid = stage.scratch().join("nginx.pid");
    // it writes its number once it listens
    stage.start_service(Host::Server, "nginx", command, |_| pid.exists())
}

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

    /// Of mach 0.4.0 in a lab of `rapid/oai-unsplit`.
    const REPORT: &str = include_str!("recorded/mach.json");

    #[test]
    fn a_report_gives_both_directions() {
        let report: Value = serde_json::from_str(REPORT).expect("JSON");
        let measures = measures(REPORT).expect("readable");
        let of = |name: &str| {
            let found = measures.iter().find(|measure| measure.name == name);
            found.expect(name).value
        };
        assert_eq!(Some(of("rpm-down")), report["download"]["rpm"].as_f64());
        assert_eq!(Some(of("rpm-up")), report["upload"]["rpm"].as_f64());
        let throughput = report["download"]["throughput"].as_f64().expect("a rate");
        assert_eq!(of("goodput-down"), throughput / 1e6);
        assert_eq!(of("rtt-loaded-up"), 916.251);
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
