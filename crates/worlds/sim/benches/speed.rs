//! How fast the simulator is, on one core.
//!
//! `cargo bench -p sim` prints a line for each case; `cargo bench -p sim --bench speed -- --record` appends
//! it, as one object of JSON, to `docs/results/bench-history.jsonl`. A word selects cases by name.
//!
//! The time is the best of three (of a thousand UEs: one run) by the processor's count: on a machine with other work, wall-clock
//! time depends more on that work. Both are recorded.
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

#[path = "../tests/sim/experiments.rs"]
mod experiments;

use experiments::*;
use scenario::{AppSpec, Experiment, PepMode, RunResult, Transport, UeSpec};
use std::io::Write as _;
use std::time::{Instant, SystemTime};
use units::{Bytes, Duration, Mcs};

/// The plain dumbbell: 100 Mbit/s, two Cubic flows, 100 s.
fn plain_dumbbell() -> Experiment {
    let (rate, rtt) = (mbps(100), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(100));
    experiment
        .flows
        .push(flow("a", "cubic", AppSpec::Continuous));
    experiment
        .flows
        .push(flow("b", "cubic", AppSpec::Continuous));
    experiment
}

/// Cubic and BBR, each with half of so many MB, over the cell of fast-embb at 1 ms.
fn fast_embb(megabytes: u64, mode: PepMode) -> Experiment {
    let mut experiment = fast_cell(ms(1), Duration::from_secs(60));
    experiment.sample_interval = ms(10);
    experiment.pep.mode = mode;
    experiment
        .flows
        .push(flow("cubic", "cubic", bulk(megabytes * 500_000)));
    experiment
        .flows
        .push(flow("bbr", "bbr", bulk(megabytes * 500_000)));
    experiment
}

/// So many UEs, each with a Cubic flow of 10 Mbit/s for 10 s.
fn many_ues(count: usize) -> Experiment {
    let mut experiment = fast_cell(ms(10), Duration::from_secs(60));
    let ue = experiment.ues[0].clone();
    experiment.ues = (0..count)
        .map(|i| UeSpec {
            name: format!("ue{i}"),
            ..ue.clone()
        })
        .collect();
    if let scenario::AccessSpec::Cell(cell) = &mut experiment.access {
        // 1 Gbit/s for 100 UEs
        cell.config.layers = 2;
        cell.config.uplink.mcs = Mcs::new(16);
    }
    for index in 0..count {
        let page = AppSpec::Web {
            size: Bytes::new(12_500_000),
            interval: ms(20_000),
            rate: Some(mbps(10)),
        };
        let mut flow = flow(&format!("flow{index}"), "cubic", page);
        flow.ue = index;
        experiment.flows.push(flow);
    }
    experiment.duration = Duration::from_secs(10);
    experiment
}

/// As many UEs in each of ten NR cells on a street, which disturb one another, each UE on foot with a Cubic flow of 10 Mbit/s
/// for 10 s.
fn ten_cells(ues_of_cell: usize) -> Experiment {
    let mut text = String::from(
        "name = \"ten-cells\"\nduration = \"10 s\"\nrepeats = 1\nsample-interval = \"100 ms\"\n\
         path = { rtt = \"30 ms\", rate = \"100 Gbit/s\", buffer = \"1 GB\" }\n",
    );
    for cell in 0..10 {
        let at = cell * 500;
        text += &format!(
            "[[cell]]\nname = \"c{cell}\"\nrat = \"nr\"\nfrequency = \"3.5 GHz\"\nbandwidth = \"100 MHz\"\n\
             mcs-table = \"qam256\"\nlayers = 4\nactivity = 0.3\n\
             site = {{ position = [\"{at} m\", \"10 m\"], height = \"10 m\", transmit-power = \"44 dBm\" }}\n\
             [ue.u{cell}]\ncount = {ues_of_cell}\ncell = \"c{cell}\"\n\
             channel = {{ kind = \"moving\", path-loss = \"umi-street-canyon\", sight = \"los\", fading = \"none\" }}\n\
             mobility = {{ kind = \"line\", from = [\"{} m\", \"0 m\"], towards = [\"{} m\", \"0 m\"], \
             speed = \"4 km/h\", scatter = \"20 m\" }}\n\
             [flow.f{cell}]\nue = \"u{cell}\"\ncount = {ues_of_cell}\ncc = \"cubic\"\n\
             app = {{ kind = \"web\", size = \"12.5 MB\", interval = \"20 s\", rate = \"10 Mbit/s\" }}\n",
            at + 20,
            at + 120,
        );
    }
    let points = scenario::load_str(&text, &scenario::Overrides::default());
    let mut points = points.expect("a scenario that can be read");
    points.remove(0).experiment
}

/// Five walking LTE UEs with EPA fading download 10 MB each: `scenarios/lte-epa.toml`.
fn lte_epa() -> Experiment {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../scenarios/lte-epa.toml"
    );
    let points = scenario::load(file.as_ref(), &scenario::Overrides::default());
    let mut points = points.expect("a scenario that comes with Brimful can be read");
    points.remove(0).experiment
}

/// One flow over the dumbbell of 100 Mbit/s and 20 ms.
fn one_flow(transport: Transport, app: AppSpec) -> Experiment {
    let (rate, rtt) = (mbps(100), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt) * 2, Duration::from_secs(600));
    let mut flow = flow("flow", "cubic", app);
    flow.transport = transport;
    experiment.flows.push(flow);
    experiment
}

/// 20 MB on one connection.
fn download(transport: Transport) -> Experiment {
    one_flow(transport, bulk(20_000_000))
}

/// 1,000 connections, one after the other, each of 1 kB: what a connection costs.
fn many_connections(transport: Transport) -> Experiment {
    let short = AppSpec::Short {
        size: Bytes::new(1_000),
        interval: ms(100),
        count: 1_000,
    };
    one_flow(transport, short)
}

/// The peak of the process's resident memory, in MB, as the kernel counts it.
fn peak_resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) * 1024.0 / 1e6
}

/// Has the kernel count the peak anew.
fn reset_peak() {
    // fails only where the kernel does not support it: then peaks are those of all cases so far
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Time that the process has spent on a processor, in seconds, as the kernel counts it.
fn processor_seconds() -> Option<f64> {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let ns: f64 = schedule.split_whitespace().next()?.parse().ok()?;
    Some(ns / 1e9)
}

/// One timed run.
struct Timed {
    wall: f64,
    /// As the wall clock where the kernel does not count it.
    processor: f64,
    result: RunResult,
}

/// The best of `rounds`.
fn measure(experiment: &Experiment, rounds: u32) -> Timed {
    let timed = (0..rounds).map(|_| {
        let (began, before) = (Instant::now(), processor_seconds());
        let result = run(experiment);
        let wall = began.elapsed().as_secs_f64();
        let used = processor_seconds()
            .zip(before)
            .map(|(now, before)| now - before);
        Timed {
            wall,
            processor: used.unwrap_or(wall),
            result,
        }
    });
    timed
        .min_by(|a, b| a.processor.total_cmp(&b.processor))
        .expect("at least one round")
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let record = arguments.iter().any(|argument| argument == "--record");
    let machine = testing::Machine::for_bench(record).unwrap_or_else(|problem| panic!("{problem}"));
    println!("{machine}");
    let is_selected = |name: &str| {
        let mut words = arguments
            .iter()
            .filter(|word| !word.starts_with("--"))
            .peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    let rapid = |mode| PepMode::Rapid(Box::new(edge::EdgeConfig::new(mode)));
    let cases: Vec<(&str, Experiment)> = vec![
        ("dumbbell-2-cubic-100s", plain_dumbbell()),
        ("fast-embb-100mb", fast_embb(100, PepMode::None)),
        ("fast-embb-200mb", fast_embb(200, PepMode::None)),
        ("fast-embb-400mb", fast_embb(400, PepMode::None)),
        ("fast-embb-400mb-split", fast_embb(400, PepMode::Split)),
        (
            "fast-embb-400mb-rapid-paper",
            fast_embb(400, rapid(rapid::Mode::Paper)),
        ),
        (
            "fast-embb-400mb-rapid-default",
            fast_embb(400, rapid(rapid::Mode::Default)),
        ),
        ("25-ues-10mbit-10s", many_ues(25)),
        ("50-ues-10mbit-10s", many_ues(50)),
        ("100-ues-10mbit-10s", many_ues(100)),
        ("100-ues-10-cells-10mbit-10s", ten_cells(10)),
        ("1000-ues-10-cells-10mbit-10s", ten_cells(100)),
        ("5-lte-ues-epa-10mb-15s", lte_epa()),
        ("download-20mb-tcp", download(Transport::Tcp)),
        ("download-20mb-quic", download(Transport::Quic)),
        ("1000-connections-tcp", many_connections(Transport::Tcp)),
        ("1000-connections-quic", many_connections(Transport::Quic)),
    ];
    for (name, experiment) in cases.into_iter().filter(|(name, _)| is_selected(name)) {
        reset_peak();
        let Timed {
            wall,
            processor,
            result,
        } = measure(
            &experiment,
            if experiment.ues.len() < 1_000 { 3 } else { 1 },
        );
        let hops = result.packet_hops as f64 / processor / 1e6;
        let events = result.events;
        let memory = peak_resident_mb();
        println!(
            "{name:30} {processor:7.3} s ({wall:7.3} s wall)  {:8} hops  {hops:5.2} M hops/s  \
             {events:8} events  {memory:5.1} MB peak",
            result.packet_hops
        );
        if record {
            let at = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |since| since.as_secs());
            append(&format!(
                "{{\"at_unix_s\":{at},\"case\":\"{name}\",\"wall_s\":{wall:.4},\
                 \"processor_s\":{processor:.4},\"packet_hops\":{},\"hops_per_s\":{:.0},\"events\":{events},\
                 \"peak_rss_mb\":{memory:.1},\"version\":\"{}\",\"commit\":{:?},\"kernel\":{:?},\"load\":{:.2},\"calibration_s\":{:.4}}}\n",
                result.packet_hops,
                hops * 1e6,
                env!("CARGO_PKG_VERSION"),
                machine.commit,
                machine.kernel,
                machine.load,
                machine.calibration.as_secs_f64(),
            ));
        }
    }
}

/// Appends a line to the history file.
fn append(line: &str) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/results/bench-history.jsonl"
    );
    if let Some(folder) = std::path::Path::new(path).parent() {
        std::fs::create_dir_all(folder).expect("the folder of results can be made");
    }
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    let file = file.as_mut().expect("the history file can be opened");
    file.write_all(line.as_bytes())
        .expect("the history file can be written");
}
