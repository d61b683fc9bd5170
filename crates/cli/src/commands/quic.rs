//! `brimful quic`: a server over QUIC that queries the radio before it slows down, and downloads.

use crate::failure::Failure;
use crate::output::{complain, print};
use anyhow::{Context, anyhow};
use cc::cdbe::{Mode, estimator};
use cc::meld::Variant;
use clap::{Args, Subcommand};
use quic::{
    Certificate, Client, ClientOptions, Config, Download, QuicError, ReportSource, Server,
    StatsTarget, Target, Trust,
};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use units::{BitRate, Bytes};

/// Help below the options of `serve`.
const SERVE_HELP: &str = "\
Runs in the foreground and logs to stderr; SIGTERM ends it. Options go before the file. The
configuration's keys are in docs/operations/quic.md. Without a file and a certificate, one is made for
localhost at each start, for trials.

Examples:
  brimful quic serve --config /etc/brimful/quic.toml --check
  brimful quic serve --listen 0.0.0.0:4433 --cc newreno --meld me --reports unix:/run/brimful/radio.sock
  brimful quic serve --root /srv/www --stats - | jq .rtt_smoothed_seconds

Exit codes: 0 done, 2 bad usage or configuration (nothing was started), 1 failed run.";

/// Help below the options of `get`.
const GET_HELP: &str = "\
An https:// URL is fetched by HTTP/3, HOST:PORT by the plain download protocol of `quic serve`, which
checks what arrives and prints the server's round-trip times and losses.

Examples:
  brimful quic get https://localhost:4433/bytes/20000000 --insecure
  brimful quic get 10.45.0.1:4433 --size \"20 MB\" --insecure --json

Exit codes: 0 done, 2 bad usage, 1 no download, or a status of HTTP that is no success.";

/// Commands over QUIC.
#[derive(Debug, Subcommand)]
pub(crate) enum QuicCommand {
    /// Serve HTTP/3 and plain downloads; losses that the radio explains do not slow it down
    #[command(after_help = crate::help::epilogue(SERVE_HELP))]
    Serve(Box<ServeArgs>),
    /// Download, and print how it went
    #[command(after_help = crate::help::epilogue(GET_HELP))]
    Get(GetArgs),
}

/// Options of `quic serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Where to listen, UDP; may be given several times [default: 0.0.0.0:4433]
    #[arg(long, value_name = "ADDRESS", value_parser = crate::help::address)]
    listen: Vec<SocketAddr>,
    /// Congestion controller [default: cubic]
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,
    /// MELD round it: off, de, me, default or yield [default: off]
    #[arg(long, value_name = "VARIANT", value_parser = meld)]
    meld: Option<Meld>,
    /// Reports older than this explain no loss [default: 40 ms]
    #[arg(long, value_name = "TIME")]
    max_age: Option<units::Duration>,
    /// Radio reports: unix:PATH, or the URL of a broker (amqp, amqps, nats, tls)
    #[arg(long, value_name = "SOURCE")]
    reports: Option<ReportSource>,
    /// Folder of HTTP/3
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Certificate chain (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "key",
        conflicts_with = "write_certificate"
    )]
    certificate: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Names and addresses of the certificate made for trials [default: localhost]
    #[arg(long, value_name = "NAME", conflicts_with = "certificate")]
    name: Vec<String>,
    /// Write the certificate made for trials there, for `quic get --ca`
    #[arg(long, value_name = "FILE")]
    write_certificate: Option<PathBuf>,
    /// The path's MTU in bytes of UDP payload, 1200 to 65527 [default: probed]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1200..=65527))]
    mtu: Option<u16>,
    /// Folder of qlog files, one a connection
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Samples of each connection every 100 ms, one JSON object a line; `-` for stdout
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Where /metrics and /status listen, TCP
    #[arg(long, value_name = "ADDRESS", value_parser = crate::help::address)]
    metrics: Option<SocketAddr>,
    /// Log every connection and request as well
    #[arg(long)]
    verbose: bool,
    /// Log JSON, one object a line
    #[arg(long)]
    log_json: bool,
}

/// A variant of MELD, or none.
#[derive(Clone, Copy, Debug)]
struct Meld(Option<Variant>);

fn meld(text: &str) -> Result<Meld, String> {
    if text == "off" {
        return Ok(Meld(None));
    }
    match Variant::from_name(text) {
        Some(variant) => Ok(Meld(Some(variant))),
        None => Err(format!("expected off, {}", Variant::NAMES.join(", "))),
    }
}

/// The one measurement that needs no modem.
const CDBE: &str = cc::Reporter::Cdbe.name();

/// How a client measures what it reports, if it does.
#[derive(Clone, Copy, Debug)]
struct Reporter(Option<estimator::Config>);

fn reporter(text: &str) -> Result<Reporter, String> {
    match text {
        "off" => Ok(Reporter(None)),
        _ if text == CDBE => Ok(Reporter(Some(estimator::Config::new(Mode::Default)))),
        _ => Err(format!("expected off or {CDBE}")),
    }
}

/// Options of `quic get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// `https://HOST[:PORT]/PATH`, or `HOST:PORT`
    #[arg(value_name = "URL|HOST:PORT")]
    target: String,
    /// How much, by the plain protocol [default: 20 MB]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// At most so fast, by the plain protocol
    #[arg(long, value_name = "RATE")]
    rate: Option<BitRate>,
    /// End after this time, with what has come by then
    #[arg(long = "for", value_name = "TIME")]
    limit: Option<units::Duration>,
    /// Accept any certificate: for trials
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// Accept certificates of the authorities, or the one certificate, of this file (PEM) [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Send from this address
    #[arg(long, value_name = "ADDRESS", value_parser = crate::help::address)]
    bind: Option<SocketAddr>,
    /// Report the bandwidth at which data arrives, to a server that paces by it: off or cdbe
    /// [default: off]
    #[arg(long, value_name = "KIND", value_parser = reporter)]
    report: Option<Reporter>,
    /// Write what arrives there; `-` for stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs a command over QUIC.
pub(crate) fn run(command: &QuicCommand) -> Result<(), Failure> {
    match command {
        QuicCommand::Serve(arguments) => serve(arguments),
        QuicCommand::Get(arguments) => get(arguments),
    }
}

fn failure(error: QuicError) -> Failure {
    match error {
        QuicError::Config(_)
        | QuicError::Controller(_)
        | QuicError::Certificate { .. }
        | QuicError::File { .. }
        | QuicError::Folder { .. }
        | QuicError::Target { .. } => Failure::input(error),
        QuicError::Dashboard(of) if of.is_input() => Failure::input(of),
        QuicError::Untrusted { .. } => Failure::Run(anyhow!(
            "{error}; for trials: --ca FILE with the file of `quic serve --write-certificate FILE`, or --insecure"
        )),
        _ => Failure::run(error),
    }
}

fn serve(arguments: &ServeArgs) -> Result<(), Failure> {
    let config = configuration(arguments)?;
    if arguments.check {
        config.dashboard.access().map_err(Failure::input)?;
        let name = arguments.config.as_ref();
        let name = name.map_or_else(|| "options".to_owned(), |file| file.display().to_string());
        return print(&format!("{name}: valid\n"));
    }
    quic::run(config, printed).map_err(failure)
}

/// Prints where the server listens.
fn printed(server: &Server) {
    for address in server.addresses() {
        complain(&format!("listening on {address} (UDP)"));
    }
    if let Some(address) = server.metrics_address() {
        complain(&format!("metrics on http://{address}/metrics"));
    }
}

/// The file, and the options above it.
fn configuration(arguments: &ServeArgs) -> Result<Config, Failure> {
    let mut config = match &arguments.config {
        Some(file) => Config::load(file).map_err(Failure::input)?,
        None => Config::default(),
    };
    if !arguments.listen.is_empty() {
        config.listen.clone_from(&arguments.listen);
    }
    if let Some(name) = &arguments.cc {
        let found = cc::named(name).map_err(Failure::input)?;
        found.name.clone_into(&mut config.cc);
    }
    if let Some(Meld(variant)) = arguments.meld {
        config.meld = variant;
    }
    config.max_age = arguments.max_age.unwrap_or(config.max_age);
    if let (Some(chain), Some(key)) = (&arguments.certificate, &arguments.key) {
        config.certificate = Certificate::Files {
            chain: chain.clone(),
            key: key.clone(),
        };
    } else if !arguments.name.is_empty() || arguments.write_certificate.is_some() {
        let names = match arguments.name.is_empty() {
            true => vec!["localhost".to_owned()],
            false => arguments.name.clone(),
        };
        config.certificate = Certificate::SelfSigned {
            names,
            write: arguments.write_certificate.clone(),
        };
    }
    let or = |option: &Option<PathBuf>, or: Option<PathBuf>| option.clone().or(or);
    config.reports = arguments.reports.clone().or(config.reports);
    config.root = or(&arguments.root, config.root);
    config.qlog = or(&arguments.qlog, config.qlog);
    config.metrics = arguments.metrics.or(config.metrics);
    config.mtu = arguments.mtu.or(config.mtu);
    if let Some(file) = &arguments.stats {
        config.stats = Some(match file.to_str() {
            Some("-") => StatsTarget::Stdout,
            _ => StatsTarget::File(file.clone()),
        });
    }
    config.log = config.log.at_debug(arguments.verbose);
    config.log.json |= arguments.log_json;
    Ok(config)
}

fn target(arguments: &GetArgs) -> Result<Target, Failure> {
    let mut target: Target = arguments.target.parse().map_err(failure)?;
    match &mut target {
        Target::Plain { size, rate, .. } => {
            *size = arguments.size.unwrap_or(*size);
            *rate = arguments.rate;
            if *rate == Some(BitRate::from_bps(0)) {
                return Err(Failure::Input(anyhow!("--rate is 0; expected more")));
            }
        }
        Target::Http(_) if arguments.size.is_some() || arguments.rate.is_some() => {
            return Err(Failure::Input(anyhow!(
                "--size and --rate are of the plain protocol (HOST:PORT); a URL has its own size, \
                 for example https://HOST/bytes/20000000"
            )));
        }
        Target::Http(_) => {}
    }
    Ok(target)
}

fn get(arguments: &GetArgs) -> Result<(), Failure> {
    let target = target(arguments)?;
    let mut out: Box<dyn Write + Send> = match &arguments.out {
        None => Box::new(std::io::sink()),
        Some(file) if file.as_os_str() == "-" => Box::new(stdout()),
        Some(file) => {
            let made =
                File::create(file).with_context(|| format!("{} cannot be written", file.display()));
            Box::new(BufWriter::new(made.map_err(Failure::Input)?))
        }
    };
    let trust = match (&arguments.ca, arguments.insecure) {
        (Some(file), _) => Trust::File(file.clone()),
        (None, true) => Trust::Any,
        (None, false) => Trust::System,
    };
    let client = Client::new(ClientOptions {
        trust,
        bind: arguments.bind,
        mtu: None,
        report: arguments.report.and_then(|Reporter(config)| config),
        limit: arguments.limit,
    });
    let download = quic::download(&client, &target, &mut |bytes| out.write_all(bytes));
    let download = download.map_err(failure)?;
    out.flush().map_err(Failure::run)?;
    let text = match arguments.json {
        true => format!("{}\n", as_json(&download)),
        false => as_text(&download),
    };
    if arguments
        .out
        .as_ref()
        .is_some_and(|file| file.as_os_str() == "-")
    {
        complain(text.trim_end());
    } else {
        print(&text)?;
    }
    match download.status {
        Some(status) if !(200..300).contains(&status) => Err(Failure::Run(anyhow!(
            "the server answers with status {status}"
        ))),
        _ => Ok(()),
    }
}

fn as_json(download: &Download) -> serde_json::Value {
    let rtt = download.rtt;
    let seconds = |time: units::Duration| time.as_secs_f64();
    json!({
        "status": download.status,
        "bytes": download.bytes.get(),
        "seconds": seconds(download.took),
        "handshake_seconds": seconds(download.handshake),
        "first_byte_seconds": seconds(download.first_byte),
        "goodput_bps": download.goodput().as_bps(),
        "seen_by": download.seen_by.name(),
        "rtt_min_seconds": rtt.map(|rtt| seconds(rtt.min)),
        "rtt_mean_seconds": rtt.map(|rtt| seconds(rtt.mean)),
        "rtt_p95_seconds": rtt.map(|rtt| seconds(rtt.p95)),
        "rtt_samples": rtt.map_or(0, |rtt| rtt.samples),
        "lost_packets": download.lost_packets,
        "congestion_events": download.congestion_events,
        "silent_losses": download.silent_losses,
        "reports": download.reported.map(|reported| reported.count),
        "report_bps": download.reported.map(|reported| reported.last.rate().as_bps()),
    })
}

fn as_text(download: &Download) -> String {
    let rtt = match &download.rtt {
        Some(rtt) => format!(
            "RTT {:.1} / {:.1} / {:.1} ms (least, mean, 95th percentile), ",
            rtt.min.as_millis_f64(),
            rtt.mean.as_millis_f64(),
            rtt.p95.as_millis_f64()
        ),
        None => String::new(),
    };
    let status = download.status.map(|status| format!("status {status}: "));
    let reported = download.reported.map(|reported| match reported.count {
        0 => "nothing reported: the server takes no reports\n".to_owned(),
        count => format!(
            "{count} reports of the bandwidth, the last of {:.2} Mbit/s\n",
            reported.last.rate().as_mbps_f64()
        ),
    });
    format!(
        "{}{} in {:.3} s, {:.2} Mbit/s (handshake {:.1} ms, first byte after {:.1} ms)\n\
         as the {} saw it: {rtt}{} packets lost, {} congestion events, {} losses repeated silently\n{}",
        status.unwrap_or_default(),
        download.bytes,
        download.took.as_secs_f64(),
        download.goodput().as_mbps_f64(),
        download.handshake.as_millis_f64(),
        download.first_byte.as_millis_f64(),
        download.seen_by.name(),
        download.lost_packets,
        download.congestion_events,
        download.silent_losses,
        reported.unwrap_or_default(),
    )
}
