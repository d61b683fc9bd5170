//! The servers of QUIC flows: `brimful quic serve`, as an operator would run it, one for each flow.

use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::measure::Event;
use crate::names::{SERVER_ADDRESS, flow_port};
use crate::namespace::Namespace;
use crate::traffic::{FlowContext, Losses, Reported};
use cc::{RateReport, RateView, Reporter};
use scenario::{AppSpec, Direction, EcnSpec, Experiment, FlowSpec};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use units::{Bytes, Duration};

/// Name of the socket of the servers' radio reports, in the lab's folder.
pub(crate) const REPORTS: &str = "meld.sock";

/// From one sample of a connection to the next.
const SAMPLES: &str = "10 ms";

/// Connections of a flow of short downloads: one client has them all.
const CONNECTIONS: u32 = 10_000;

/// What a server sends ahead of acknowledgements: the widest path of an experiment is not to wait for it.
const WINDOW: &str = "16 MB";

/// Most payload of a datagram: MTU 1500 less the headers of IPv4 and UDP.
const MAX_DATAGRAM: u64 = 1500 - 28;

/// What a server gives to a flow without end: more than any run takes.
pub(crate) const ENDLESS: Bytes = Bytes::new(1 << 50);

/// That a QUIC flow can be run, with the reason if it cannot.
pub(crate) fn check(flow: &FlowSpec) -> Result<(), String> {
    if flow.direction == Direction::Up {
        return Err("over QUIC the lab has downloads only".to_owned());
    }
    if matches!(flow.app, AppSpec::Web { .. }) {
        return Err(
            "over QUIC the lab's client takes a connection for each object: take app = { kind = \
             \"short\", ... }, or transport = \"tcp\""
                .to_owned(),
        );
    }
    if flow.report == Some(Reporter::Cqic) {
        return Err(
            "the lab's clients have no modem: take report = \"cdbe\", or --world sim".to_owned(),
        );
    }
    if flow.ecn == EcnSpec::L4s {
        return Err("quinn sends ECT(0) only: take ecn = \"classic\"".to_owned());
    }
    let sizes = 1_200..=MAX_DATAGRAM;
    if !sizes.contains(&flow.tcp.mss.get()) {
        return Err(format!(
            "tcp.mss is {}; QUIC datagrams are 1200 B to {MAX_DATAGRAM} B here (RFC 9000 14, MTU \
             1500)",
            flow.tcp.mss
        ));
    }
    Ok(())
}

/// Where servers run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    /// The servers' host.
    pub(crate) servers: &'a Namespace,
    /// The lab's folder.
    pub(crate) folder: &'a Folder,
    /// The `brimful` program.
    pub(crate) program: &'a Path,
    /// The folder that they have for HTTP/3, if any.
    pub(crate) files: Option<&'a Path>,
}

/// Starts the server of a flow, and waits until it listens.
///
/// # Errors
/// What it printed.
pub(crate) fn start(
    experiment: &Experiment,
    index: usize,
    site: &Site<'_>,
) -> Result<Daemon, Error> {
    let (flow, folder) = (&experiment.flows[index], site.folder);
    let config = folder.path().join(format!("quic-{index}.toml"));
    let mut text = configuration(flow, index, experiment, folder.path());
    if let Some(files) = site.files {
        let files = files.canonicalize().unwrap_or_else(|_| files.to_owned());
        text.push_str(&format!(
            "[http]\nroot = {:?}\n",
            files.display().to_string()
        ));
    } else {
        text.push_str(&format!("[http]\nlargest = \"{} B\"\n", ENDLESS.get()));
    }
    fs::write(&config, text).map_err(Error::system(format!("write {}", config.display())))?;
    let mut command = Command::new(site.program);
    command.args(["quic", "serve", "--config"]).arg(&config);
    let listens = |log: &Path| fs::read_to_string(log).is_ok_and(|text| text.contains("listening"));
    let log = format!("quic-{index}.log");
    Daemon::start(
        "brimful quic serve",
        command,
        site.servers,
        folder,
        &log,
        listens,
    )
}

/// Where the server of a flow writes samples.
fn stats(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("quic-{index}.jsonl"))
}

fn configuration(flow: &FlowSpec, index: usize, experiment: &Experiment, folder: &Path) -> String {
    let meld = flow.meld.map_or("off", |variant| variant.name());
    let reports = match flow.meld {
        Some(_) => format!(
            "[reports]\nsource = \"unix:{}\"\nmax-age = \"{} ns\"\n",
            folder.join(REPORTS).display(),
            experiment.meld.max_age.as_nanos()
        ),
        None => String::new(),
    };
    format!(
        "listen = [\"{SERVER_ADDRESS}:{port}\"]\ncc = \"{cc}\"\nmeld = \"{meld}\"\n\
         [certificate]\nself-signed = [\"server\", \"{SERVER_ADDRESS}\"]\nwrite = \"{certificate}\"\n\
         {reports}[transport]\nmtu = {mtu}\n\
         [cdbe]\nmode = \"{mode}\"\n\
         [stats]\nfile = \"{stats}\"\ninterval = \"{SAMPLES}\"\n\
         [limits]\nconnections-per-address = {CONNECTIONS}\nwindow = \"{WINDOW}\"\n",
        port = flow_port(index),
        cc = flow.cc.name,
        certificate = folder.join(format!("quic-{index}.pem")).display(),
        mtu = flow.tcp.mss.get(),
        mode = experiment.cdbe.mode.name(),
        stats = stats(folder, index).display(),
    )
}

/// Follows what the server reports of a flow's connections, until the run is over.
///
/// # Errors
/// If its file cannot be read.
pub(crate) fn follow(context: &FlowContext, folder: &Path) -> Result<JoinHandle<()>, Error> {
    let path = stats(folder, context.index);
    let file = fs::File::open(&path).map_err(Error::system(format!("read {}", path.display())))?;
    let context = context.clone();
    let work = move || {
        let mut lines = BufReader::new(file);
        let mut line = String::new();
        let mut seen = Seen::default();
        loop {
            // at the end of what has been written it returns what there is, perhaps a part of a line
            match lines.read_line(&mut line) {
                Ok(_) if line.ends_with('\n') => {
                    seen.take(&context, &line);
                    line.clear();
                }
                Ok(_) if context.has_stopped() => break,
                Ok(_) => std::thread::sleep(core::time::Duration::from_millis(5)),
                Err(error) => {
                    crate::note::note(format_args!(
                        "samples of flow {:?}: {error}",
                        context.spec.name
                    ));
                    break;
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("samples".to_owned());
    thread.spawn(work).map_err(Error::system("start a thread"))
}

/// What has been reported of the latest connection.
#[derive(Debug, Default)]
struct Seen {
    connection: u64,
    rtt_samples: u64,
    lost_packets: u64,
    /// What MELD decided, of earlier connections and of this one.
    past_losses: Losses,
    losses: Losses,
}

impl Seen {
    fn take(&mut self, context: &FlowContext, line: &str) {
        // the server is ours, and of this version: a line that is none is a defect, and has no sample
        let Ok(sample) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let count = |field: &str| sample[field].as_u64().unwrap_or(0);
        if count("connection") != self.connection {
            *self = Self {
                connection: count("connection"),
                past_losses: self.past_losses + self.losses,
                ..Self::default()
            };
        }
        if count("rtt_samples") > self.rtt_samples {
            self.rtt_samples = count("rtt_samples");
            if let Some(seconds) = sample["rtt_latest_seconds"].as_f64() {
                context.report(Event::Rtt(Duration::from_nanos((seconds * 1e9) as u64)));
            }
        }
        let lost = count("lost_packets");
        context.report(Event::Retransmits(lost.saturating_sub(self.lost_packets)));
        self.lost_packets = self.lost_packets.max(lost);
        context.senders.set(context.index, reported(&sample));
        if context.spec.meld.is_some() {
            self.losses = losses(&sample);
            let all = self.past_losses + self.losses;
            context.senders.set_losses(context.index, all);
        }
        context.report(Event::Sender {
            cwnd: Bytes::new(count("cwnd_bytes")),
            in_flight: Bytes::new(count("in_flight_bytes")),
        });
    }
}

/// What MELD has decided of a connection's losses.
fn losses(sample: &serde_json::Value) -> Losses {
    let count = |of: &str| sample["losses"][of].as_u64().unwrap_or(0);
    Losses {
        congestion: count("congestion"),
        radio: count("radio"),
        unknown: count("unknown"),
    }
}

/// What the server of a connection that goes on has been reported, if it has been, and makes of it.
fn reported(sample: &serde_json::Value) -> Option<Reported> {
    let number = |field: &str| sample[field].as_f64();
    let report = sample["client_report_bytes_per_second"].as_u64()?;
    let is_open = sample["event"] == "sample";
    is_open.then_some(Reported {
        report: RateReport::saturating(report),
        view: RateView {
            used: RateReport::saturating(sample["used_bytes_per_second"].as_u64()?),
            bounded: sample["client_reports_bounded"].as_u64()?,
            gain: number("pacing_gain")?,
            delay_ms: number("delay_seconds")? * 1e3,
            least_delay_ms: number("least_delay_seconds")? * 1e3,
        },
    })
}
