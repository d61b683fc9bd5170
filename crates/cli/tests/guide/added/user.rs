//! Uses what was added to a copy of the cores, each by its name. Prints nothing if all is there.

use cc::BuildConfig;
use metric::Unit;
use multipath::scheduler;
use queue::DisciplineConfig;
use scenario::{AccessSpec, Overrides, load_str};
use units::Bytes;

const LINK: &str = r#"
duration = "1 s"
[path]
rtt = "10 ms"
[flow.bulk]
cc = "fast"
app = { kind = "continuous" }
[link]
rate = "1 Mbit/s"
"#;

const CELL: &str = r#"
duration = "1 s"
[path]
rtt = "50 ms"
rate = "1 Gbit/s"
[ue.phone]
channel = { kind = "constant-cqi", cqi = 14 }
[flow.bulk]
ue = "phone"
app = { kind = "continuous" }
[cell]
rat = "lte"
bandwidth = "5 MHz"
[cell.queues.rlc]
algorithm = "drop-front"
drop-front-length = "20 kB"
"#;

fn access(text: &str) -> Result<AccessSpec, String> {
    let points = load_str(text, &Overrides::default());
    let mut points = points.map_err(|error| error.to_string())?;
    Ok(points.remove(0).experiment.access)
}

fn link(lines: &str) -> Result<DisciplineConfig, String> {
    match access(&format!("{LINK}{lines}"))? {
        AccessSpec::Link(link) => Ok(link.queue),
        AccessSpec::Cell(_) => Err("a cell".to_owned()),
    }
}

fn length(of: &DisciplineConfig) -> Bytes {
    match of {
        DisciplineConfig::DropFront(config) => config.length,
        other => panic!("{other:?}"),
    }
}

fn main() {
    // the discipline: at a link and in a cell, with its parameter, its range, its messages and its size
    let mut queue = link("queue = \"drop-front\"").expect("a discipline");
    assert_eq!(length(&queue), Bytes::new(30_000));
    queue.scale(0.1);
    assert_eq!(length(&queue), Bytes::new(3_000));
    access(CELL).expect("a discipline of a cell");
    let error = link("queue = \"drop-frnt\"").expect_err("no discipline");
    assert!(error.contains("drop-front"), "{error}");
    let error = link("queue = \"drop-front\"\ndrop-front-length = \"0 B\"").expect_err("too short");
    assert!(error.contains("drop-front-length"), "{error}");
    let page = scenario::markdown();
    assert!(
        page.contains("`drop-front-length`"),
        "no documentation of its parameter"
    );

    // the controller
    let config = BuildConfig {
        mss: Bytes::new(1_000),
        initial_window: Bytes::new(10_000),
    };
    let fast = cc::build("fast", config).expect("a controller");
    assert_eq!(fast.cwnd(), Bytes::new(10_000));

    // the scheduler
    assert_eq!(
        scheduler::build("fewest").expect("a scheduler").name(),
        "fewest"
    );

    // the metric, and its line of the page's table
    let silence = metric::find("silence_ms").expect("a metric");
    assert_eq!((silence.unit, silence.is_averaged), (Unit::Milliseconds, false));
    assert!(metric::typescript().contains("silence_ms"));
}
