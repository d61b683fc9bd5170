//! Queues of a user above its modem, beside what waits in it.

use crate::*;
use scenario::{Overrides, QueueResult, load_str};

/// LTE with an uplink of 50 PRBs of MCS 16: 15.3 Mbit/s, of which headers take a part. An upload beside a voice call.
fn upload(ue: &str, bearer: &str, flow: &str) -> RunResult {
    run(&experiment(
        "[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n",
        ue,
        bearer,
        flow,
    ))
}

fn experiment(cell: &str, ue: &str, bearer: &str, flow: &str) -> scenario::Experiment {
    let text = format!(
        "duration = \"20 s\"\n[path]\nrtt = \"50 ms\"\nrate = \"1 Gbit/s\"\nbuffer = \"12.5 MB\"\n{cell}\
         [cell.uplink]\ngrants = \"buffer-status\"\nmcs = 16\n\
         [ue.phone]\nchannel = {{ kind = \"constant-mcs\", mcs = 20 }}\n{ue}\n\
         [[ue.phone.bearer]]\nuplink-buffer = \"1.5 MB\"\n{bearer}\n\
         [flow.voice]\napp = {{ kind = \"voip\" }}\ndirection = \"up\"\n\
         [flow.up]\napp = {{ kind = \"continuous\" }}\ndirection = \"up\"\nstart = \"1 s\"\n{flow}\n\
         tcp = {{ send-buffer = \"20 MB\", receive-buffer = \"20 MB\" }}\n"
    );
    let points = load_str(&text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    points[0].experiment.clone()
}

const QUEUE: &str = "uplink-queue = \"queue\"";

fn queue<'a>(result: &'a RunResult, name: &str) -> &'a QueueResult {
    let queue = result.queues.iter().find(|it| it.name == name);
    queue.unwrap_or_else(|| panic!("no queue {name}"))
}

/// The modem's 1.5 MB take 0.8 s at 15.3 Mbit/s: a voice behind Cubic waits a good part of that. Behind a window of 14 ms it
/// waits for that and a report's age at most, and the upload has what it had, within 5 %.
#[test]
fn a_call_waits_for_the_window_and_not_for_the_modems_buffer() {
    let off = upload("", "", "");
    let on = upload(QUEUE, "", "");
    assert!(
        off.flows[0].owd.p95 - off.flows[0].owd.min > 300.0,
        "{:?}",
        off.flows[0].owd
    );
    let wait = on.flows[0].owd.p95 - on.flows[0].owd.min;
    assert!(wait < 25.0, "{wait} ms");
    let kept = on.flows[1].goodput.as_bps() as f64 / off.flows[1].goodput.as_bps() as f64;
    assert!((0.95..1.05).contains(&kept), "{kept}");
    // what waits does so above, and the modem has 14 ms, 25 kB, and some packets
    let (above, modem) = (queue(&on, "ue/phone/up"), queue(&on, "rlc/phone/drb1/up"));
    assert!(modem.p99_bytes < 40_000.0, "{modem:?}");
    assert!(
        above.sojourn.p95 > 1.0 && modem.drops == 0,
        "{above:?}, {modem:?}"
    );
    assert_eq!(on.flows[0].lost, 0);
}

/// Four uploads by Cubic without ECN: what waits in the modem is shortened by early drops, and the radio stays full.
#[test]
fn marks_shorten_what_waits_in_the_modem() {
    let (off, on) = (
        upload("", "", "count = 4"),
        upload("uplink-queue = \"mark\"", "", "count = 4"),
    );
    let (before, after) = (off.flows[0].owd.p95, on.flows[0].owd.p95);
    assert!(after < before / 3.0, "{after} ms of {before}");
    let goodput = |result: &RunResult| -> u64 {
        let uploads = result.flows[1..].iter();
        uploads.map(|flow| flow.goodput.as_bps()).sum()
    };
    let kept = goodput(&on) as f64 / goodput(&off) as f64;
    assert!((0.8..1.05).contains(&kept), "{kept}");
    // nothing waits above, and what is dropped is dropped there
    let above = queue(&on, "ue/phone/up");
    assert!(above.max_bytes == 0.0 && above.drops > 0, "{above:?}");
}

#[test]
fn a_discipline_in_the_modem_drops_there() {
    let codel = upload("", "uplink-discipline = \"codel\"", "");
    assert!(queue(&codel, "rlc/phone/drb1/up").drops > 0);
    assert!(codel.flows[0].owd.p95 - codel.flows[0].owd.min < 150.0);
    let lost: u64 = codel.flows.iter().map(|flow| flow.lost).sum();
    assert_eq!(lost, queue(&codel, "rlc/phone/drb1/up").drops);
}

/// A user that sends little is as without a queue, to the bit: its modem has no rate.
#[test]
fn a_queue_above_a_modem_that_is_no_bottleneck_changes_nothing() {
    let late = "start-jitter = \"0 s\"";
    let of = |ue: &str| {
        let mut experiment = experiment(
            "[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n",
            ue,
            "",
            late,
        );
        experiment.flows.truncate(1);
        run(&experiment)
    };
    let (off, on) = (of(""), of(QUEUE));
    assert_eq!(off.flows[0].owd, on.flows[0].owd);
    assert_eq!(off.flows[0].delivered, on.flows[0].delivered);
    assert!(off.flows[0].delivered.get() > 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for ue in [QUEUE, "uplink-queue = \"mark\""] {
        let (one, other) = (upload(ue, "", ""), upload(ue, "", ""));
        assert_eq!(one.flows[1].goodput, other.flows[1].goodput);
        assert_eq!(one.flows[0].owd, other.flows[0].owd);
        assert_eq!(one.packet_hops, other.packet_hops);
    }
}

/// Across a handover the queue goes along: nothing is lost between cells, and the call is as short in the next cell.
#[test]
fn the_queue_goes_along_between_cells() {
    let cell = |name: &str, x: u32| {
        format!(
            "[[cell]]\nname = \"{name}\"\nrat = \"nr\"\nfrequency = \"3.5 GHz\"\nbandwidth = \"10 MHz\"\n\
             site = {{ position = [\"{x} m\", \"10 m\"] }}\n[cell.uplink]\ngrants = \"buffer-status\"\n"
        )
    };
    let text = format!(
        "duration = \"12 s\"\n[path]\nrtt = \"50 ms\"\n{}{}[ue.car]\nhandovers = [[\"6 s\", \"east\"]]\n{QUEUE}\n\
         channel = {{ kind = \"moving\", path-loss = \"umi-street-canyon\", sight = \"los\" }}\n\
         mobility = {{ kind = \"line\", from = [\"10 m\", \"0 m\"], towards = [\"190 m\", \"0 m\"], speed = \"50 km/h\" }}\n\
         [flow.voice]\napp = {{ kind = \"voip\" }}\ndirection = \"up\"\n\
         [flow.up]\napp = {{ kind = \"continuous\" }}\ndirection = \"up\"\n",
        cell("west", 0),
        cell("east", 200)
    );
    let points = load_str(&text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let result = run(&points[0].experiment);
    assert_eq!(result.handovers.len(), 1);
    assert_eq!(result.flows[0].lost, 0);
    let voice = &result.flows[0].owd;
    assert!(voice.p95 - voice.min < 40.0, "{voice:?}");
    assert!(queue(&result, "ue/car/up").sojourn.p95 > 0.0);
}
