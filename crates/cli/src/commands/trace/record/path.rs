//! `brimful trace record --server` and `--client`: the path between a UE and a server.

use crate::args::{ClientEndArgs, TraceRecordArgs};
use crate::failure::Failure;
use crate::output::{complain, print};
use anyhow::{Context, anyhow};
use keys::Key;
use probe::{
    Client, Direction, Event, Plan, Recording, Secret, Server, ServerConfig, server::Ended,
};
use radio::trace::Format;
use serde_json::{Value, json};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{BitRate, Duration};

/// How long is recorded where it is not stated.
const DURATION: Duration = Duration::from_secs(60);
/// Share of the time without a queue above which a rate was too low.
const MAX_UNQUEUED: f64 = 0.1;

/// Serves clients until Ctrl-C.
pub(super) fn serve(listen: SocketAddr, arguments: &TraceRecordArgs) -> Result<(), Failure> {
    let options = &arguments.server_end;
    let config = ServerConfig {
        secret: secret(&arguments.client_end)?,
        max_rate: options.max_rate,
        max_duration: options.max_duration,
        max_sessions: options.max_recordings.into(),
    };
    let mut random = [0; 32];
    keys::random::fill(&mut random).map_err(Failure::run)?;
    let socket = prober::bind(listen)
        .with_context(|| format!("{listen}: cannot listen (UDP)"))
        .map_err(Failure::Run)?;
    let address = socket.local_addr().map_err(Failure::run)?;
    let mut server = Server::new(config, &random);
    let stop = stop();
    complain(&format!("listening on {address} (UDP)"));
    prober::serve(&socket, &mut server, &stop, |event| {
        complain(&line(&event));
    })
    .map_err(Failure::run)?;
    complain(&format!("{} datagrams were not answered", server.refused()));
    Ok(())
}

/// What has happened, in words.
fn line(event: &Event) -> String {
    match event {
        Event::Began { peer, request } => format!(
            "{peer}: records for {}, {} down, {} up",
            request.duration, request.down, request.up
        ),
        Event::Refused { peer, reason } => format!("{peer}: refused ({reason:?})"),
        Event::Stranger { peer } => format!(
            "{peer}: not answered: no message of a client with this key; further ones are counted"
        ),
        Event::Ended {
            peer,
            how,
            sent,
            received,
        } => {
            let how = match how {
                Ended::Done => "done",
                Ended::Silent => "ended: nothing came any more",
                Ended::Overdue => "ended: it went on after its time",
                Ended::Behind => "ended: it did not take what was counted",
            };
            format!("{peer}: {how}; {sent} packets sent, {received} received")
        }
    }
}

/// Set by Ctrl-C and SIGTERM.
fn stop() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // where it cannot be set, Ctrl-C ends the command as it ends others
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    stop
}

fn secret(options: &ClientEndArgs) -> Result<Secret, Failure> {
    let Some(path) = &options.key_file else {
        let text =
            "--server and --client need --key-file, which `brimful tunnel key --shared FILE` makes";
        return Err(Failure::Input(anyhow!(text)));
    };
    let key = Key::load(path).map_err(Failure::input)?;
    Ok(Secret::new(key.bytes()))
}

/// Records the path to a server.
pub(super) fn record(arguments: &TraceRecordArgs) -> Result<(), Failure> {
    let options = &arguments.client_end;
    let plan = plan(arguments)?;
    plan.check().map_err(Failure::input)?;
    let secret = secret(options)?;
    let name = options.client.as_deref().unwrap_or_default();
    let server = resolve(name)?;
    let socket = prober::connect(server)
        .with_context(|| format!("{name}: cannot be reached"))
        .map_err(Failure::Run)?;
    let mut nonce = [0; 16];
    keys::random::fill(&mut nonce).map_err(Failure::run)?;
    let client = Client::new(daemon::clock::now(), plan, secret, server, nonce);
    let client = client.map_err(Failure::input)?;
    let stop = stop();
    let begun = || complain(&format!("recording the path to {server}"));
    let (recording, failure) = prober::record(&socket, client, &stop, begun)
        .with_context(|| format!("{name}: packets of {} cannot be exchanged", plan.packet))
        .map_err(Failure::Run)?;
    put(&recording, arguments, name)?;
    match failure {
        None => Ok(()),
        Some(failure) => Err(Failure::Run(anyhow!("{name}: {failure}"))),
    }
}

/// What the options ask for.
fn plan(arguments: &TraceRecordArgs) -> Result<Plan, Failure> {
    let options = &arguments.client_end;
    let outs = [&arguments.out, &options.uplink_out, &options.light_out];
    let outs: Vec<&PathBuf> = outs.into_iter().flatten().collect();
    if outs.is_empty() {
        let text = "--client needs --out, --uplink-out or --light-out";
        return Err(Failure::Input(anyhow!(text)));
    }
    let dashes = outs.iter().filter(|out| out.as_path() == Path::new("-"));
    if dashes.count() + usize::from(options.json) > 1 {
        let text = "only one of --out, --uplink-out, --light-out and --json can be on stdout";
        return Err(Failure::Input(anyhow!(text)));
    }
    if !matches!(options.to, Format::Brimful | Format::Mahimahi) {
        let text = format!(
            "--to {}: opportunities are written as brimful or mahimahi; `brimful trace convert` makes others",
            options.to.name()
        );
        return Err(Failure::Input(anyhow!(text)));
    }
    let rate = |out: &Option<PathBuf>, rate| match out {
        Some(_) => rate,
        None => BitRate::ZERO,
    };
    Ok(Plan {
        down: rate(&arguments.out, options.rate),
        up: rate(&options.uplink_out, options.uplink_rate),
        packet: options.packet,
        duration: arguments.duration.unwrap_or(DURATION),
        light: options.light,
        heavy: options.heavy,
        train: options.train,
        interval: options.interval,
    })
}

fn resolve(name: &str) -> Result<SocketAddr, Failure> {
    let mut found = name
        .to_socket_addrs()
        .with_context(|| format!("--client {name}: expected HOST:PORT of a host that there is"))
        .map_err(Failure::Input)?;
    let address = found.next();
    address.ok_or_else(|| Failure::Input(anyhow!("--client {name}: the host has no address")))
}

/// Writes what was recorded, and says what it is.
fn put(recording: &Recording, arguments: &TraceRecordArgs, name: &str) -> Result<(), Failure> {
    let options = &arguments.client_end;
    let directions = [
        ("down", "--rate", &arguments.out, &recording.down),
        ("up", "--uplink-rate", &options.uplink_out, &recording.up),
    ];
    for (way, option, out, direction) in directions {
        let (Some(out), Some(direction)) = (out, direction) else {
            continue;
        };
        complain(&format!("{way}: {}", in_words(direction)));
        if direction.unqueued > MAX_UNQUEUED {
            complain(&format!(
                "note: {way}: for {:.0} % of the time no queue was seen: there the trace is what was sent, not what \
                 the path could have carried; a higher {option} fills it",
                direction.unqueued * 100.0
            ));
        }
        let source = format!("recorded {way} from {name}, heavy workload");
        if let Some(trace) = direction.trace(&source) {
            super::write(&trace, options.to, out)?;
        }
    }
    if let Some(text) = trips_in_words(recording) {
        complain(&text);
    }
    if let Some(out) = &options.light_out
        && !recording.round_trips.is_empty()
    {
        super::super::put(&recording.round_trips_csv(), out)?;
    }
    match options.json {
        true => print(&format!("{}\n", in_json(recording))),
        false => Ok(()),
    }
}

fn rate(direction: &Direction) -> BitRate {
    match direction.duration.is_zero() {
        true => BitRate::ZERO,
        false => BitRate::from_bytes_per(direction.recorded, direction.duration),
    }
}

fn in_words(direction: &Direction) -> String {
    format!(
        "{} in {} ({:.2} Mbit/s), {} before and after; {} packets, {} lost",
        direction.recorded,
        direction.duration,
        rate(direction).as_mbps_f64(),
        direction.outside,
        direction.received,
        direction.lost
    )
}

/// Of sorted values the one at a share, milliseconds.
fn at_share(sorted: &[Duration], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = (last as f64 * share).round() as usize;
    sorted.get(place).map(|value| value.as_millis_f64())
}

/// Round trips in order: of the first packets of trains, which find the radio at rest, and of the others.
fn trips(recording: &Recording) -> [Vec<Duration>; 2] {
    let of = |is_first: bool| {
        let trips = recording.round_trips.iter();
        let trips = trips.filter(|trip| (trip.index == 0) == is_first);
        let mut sorted: Vec<Duration> = trips.map(|trip| trip.rtt).collect();
        sorted.sort_unstable();
        sorted
    };
    [of(true), of(false)]
}

fn trips_in_words(recording: &Recording) -> Option<String> {
    let [first, others] = trips(recording);
    let of = |sorted: &[Duration]| {
        let [min, median, high] = [0.0, 0.5, 0.95].map(|share| at_share(sorted, share));
        Some(format!("{:.1}, {:.1}, {:.1} ms", min?, median?, high?))
    };
    let others = match of(&others) {
        Some(others) => format!("; of the others {others}"),
        None => String::new(),
    };
    Some(format!(
        "light: {} of {} packets came back; round trip (min, median, 95 %) of the first of a train {}{others}",
        recording.round_trips.len(),
        recording.probes,
        of(&first)?
    ))
}

fn in_json(recording: &Recording) -> Value {
    let direction = |direction: &Option<Direction>| match direction {
        None => Value::Null,
        Some(direction) => json!({
            "duration_s": direction.duration.as_secs_f64(),
            "rate_bps": rate(direction).as_bps(),
            "recorded_bytes": direction.recorded.get(),
            "outside_bytes": direction.outside.get(),
            "packets": direction.received,
            "lost": direction.lost,
            "unqueued_share": direction.unqueued,
        }),
    };
    let [first, others] = trips(recording);
    let rtt = |sorted: &[Duration]| {
        json!({
            "min": at_share(sorted, 0.0),
            "p50": at_share(sorted, 0.5),
            "p95": at_share(sorted, 0.95),
            "max": at_share(sorted, 1.0),
            "samples": sorted.len(),
        })
    };
    json!({
        "down": direction(&recording.down),
        "up": direction(&recording.up),
        "rounds": recording.rounds,
        "probes": recording.probes,
        "first_rtt_ms": rtt(&first),
        "later_rtt_ms": rtt(&others),
        "received_bytes": recording.bytes.get(),
    })
}
