//! What 200 flows at 50 frames a second cost the server: processor time of the whole process over
//! wall-clock time, with no, one and ten viewers over real WebSockets.
//!
//! `cargo bench -p dash` (a few seconds). Readers are in a process of their own, so that only the
//! server is measured.

use dash::{About, Access, Client, Dash, Feed, Kind, Server, Source, Target, World};
use rustix::time::{ClockId, clock_gettime};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const FLOWS: usize = 200;
const RATE: u32 = 50;
const MEASURED: Duration = Duration::from_secs(5);
const METRICS: [&str; 6] = [
    "goodput_bps",
    "rtt_ms",
    "bytes_in_flight",
    "cwnd_bytes",
    "receive_window_bytes",
    "ran_window_bytes",
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, url] = arguments.as_slice()
        && flag == "--read"
    {
        return read(url);
    }
    println!(
        "{FLOWS} flows with {} series each, {RATE} frames a second",
        METRICS.len()
    );
    for viewers in [0, 1, 10] {
        let (share, bytes) = measure(viewers);
        println!(
            "{viewers:>2} watch: {:5.2} % of a core, {:.0} kB a frame",
            share * 100.0,
            bytes / 1e3
        );
    }
}

/// Processor time of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Share of a core, and bytes of a frame.
fn measure(viewers: usize) -> (f64, f64) {
    let feed = Feed::new(About {
        title: "bench".into(),
        world: World::Live,
        source: Source::Pep,
    });
    let dash = Dash::live(feed.clone(), Access::new(None, Vec::new()));
    let server = Server::bind("127.0.0.1:0".parse().expect("an address"), dash).expect("a port");
    let url = server.address().to_string();
    server.spawn().expect("a thread");
    let readers: Vec<Child> = (0..viewers).map(|_| reader(&url)).collect();
    while feed.viewers() < viewers {
        std::thread::sleep(Duration::from_millis(10));
    }
    let names: Vec<String> = (0..FLOWS).map(|flow| format!("flow{flow}")).collect();
    // values that change all the time, as measured ones do
    let value = |flow: usize, metric: usize, k: u32| {
        1e5 * (1.0 + flow as f64) + 1234.567 * f64::from(k) + metric as f64 * 0.123_456
    };
    let (began, used) = (Instant::now(), processor_time());
    let frames = RATE * MEASURED.as_secs() as u32;
    for k in 0..frames {
        let mut round = feed.round(f64::from(k) / f64::from(RATE));
        for (flow, name) in names.iter().enumerate() {
            for (metric, of) in METRICS.iter().enumerate() {
                round.put(Kind::Flow, name, Some("ue1"), of, value(flow, metric, k));
            }
        }
        round.finish_complete();
        let next = began + Duration::from_secs(1) / RATE * (k + 1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let share = (processor_time() - used).as_secs_f64() / began.elapsed().as_secs_f64();
    for mut reader in readers {
        // it has no other end
        let _ = reader.kill();
        let _ = reader.wait();
    }
    let mut position = dash::Position::start();
    let (mut count, mut bytes) = (0, 0);
    loop {
        let texts = feed.next(&mut position);
        if texts.is_empty() {
            break;
        }
        count += texts.len();
        bytes += texts.iter().map(|text| text.len()).sum::<usize>();
    }
    (share, bytes as f64 / count as f64)
}

fn reader(url: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let reader = Command::new(program).args(["--read", url]).spawn();
    reader.expect("a reader")
}

fn read(address: &str) {
    let target = Target::parse(address).expect("an address");
    let mut client = Client::connect(target, None).expect("a connection");
    while client.next(Duration::from_secs(60)).is_ok() {}
}
