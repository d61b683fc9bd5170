//! Keys of a user's uplink: queues above the modem and in it, grants, power control.

use edge::uplink::UplinkMode;
use queue::DisciplineConfig;
use ran::Grants;
use scenario::{AccessSpec, ChannelSpec, Experiment, Overrides, load_str};
use units::{Bytes, Duration};

/// A user of a cell of this technology, with these keys of its own, of the cell and of its uplink.
fn text(cell: &str, uplink: &str, ue: &str, bearer: &str) -> String {
    format!(
        "duration = \"10 s\"\n[path]\nrtt = \"60 ms\"\n[cell]\n{cell}\n[cell.uplink]\n{uplink}\n[ue.phone]\n{ue}\n\
         [[ue.phone.bearer]]\n{bearer}\n[flow.up]\ndirection = \"up\"\napp = {{ kind = \"continuous\" }}\n"
    )
}

const LTE: &str = "rat = \"lte\"\nbandwidth = \"10 MHz\"";
const NR: &str = "rat = \"nr\"\nnumerology = 1\nbandwidth = \"40 MHz\"\ntdd-pattern = \"DDDSU\"";
const STILL: &str = "channel = { kind = \"constant-mcs\", mcs = 10 }";
const MOVING: &str = "channel = { kind = \"moving\", path-loss = \"umi-street-canyon\" }\n\
    mobility = { kind = \"static\", position = [\"100 m\", \"0 m\"] }";

fn loaded(text: &str) -> Result<Experiment, String> {
    let points = load_str(text, &Overrides::default());
    points
        .map(|mut points| points.remove(0).experiment)
        .map_err(|error| error.to_string())
}

fn valid(text: &str) -> Experiment {
    loaded(text).unwrap_or_else(|error| panic!("{error}"))
}

fn config(experiment: &Experiment) -> &ran::CellConfig {
    match &experiment.access {
        AccessSpec::Cell(cell) => &cell.config,
        AccessSpec::Link(_) => panic!("a cell"),
    }
}

#[test]
fn by_default_nothing_is_above_the_modem_and_grants_follow_demand() {
    let experiment = valid(&text(LTE, "", STILL, ""));
    assert_eq!(experiment.ues[0].uplink_queue, None);
    assert_eq!(config(&experiment).uplink.grants, Grants::Demand);
    let bearer = &experiment.ues[0].bearers[0];
    assert_eq!(bearer.uplink_discipline, DisciplineConfig::DropTail);
}

/// 1.5 grant delays and two periods of uplink slots: 12 + 2 ms; 3 + 5 ms.
#[test]
fn the_window_follows_the_grants_of_the_cell() {
    let ms = Duration::from_millis;
    for (cell, uplink, expected) in [
        (LTE, "", ms(14)),
        (LTE, "grant-delay = \"4 ms\"", ms(8)),
        (NR, "", ms(8)),
    ] {
        let ue = format!("{STILL}\nuplink-queue = \"queue\"");
        let queue = valid(&text(cell, uplink, &ue, "")).ues[0].uplink_queue;
        let queue = queue.expect("a queue");
        assert_eq!(queue.config.mode, UplinkMode::Queue);
        assert_eq!(queue.config.ahead, expected, "{cell} {uplink}");
        assert_eq!(queue.config.buffer, Bytes::new(1_000_000));
        assert_eq!(queue.status_period, ms(5));
    }
}

#[test]
fn all_keys_are_taken() {
    let ue = format!(
        "{STILL}\nuplink-queue = \"mark\"\nuplink-ahead = \"20 ms\"\nuplink-limit = \"2 MB\"\nuplink-status-period = \"2 ms\""
    );
    let experiment = valid(&text(
        LTE,
        "grants = \"buffer-status\"",
        &ue,
        "uplink-discipline = \"codel\"",
    ));
    let queue = experiment.ues[0].uplink_queue.expect("a queue");
    assert_eq!(queue.config.mode, UplinkMode::Mark);
    assert_eq!(queue.config.marker.transit, Duration::ZERO);
    assert_eq!(queue.config.ahead, Duration::from_millis(20));
    assert_eq!(queue.config.buffer, Bytes::new(2_000_000));
    assert_eq!(queue.status_period, Duration::from_millis(2));
    assert_eq!(config(&experiment).uplink.grants, Grants::BufferStatus);
    let discipline = &experiment.ues[0].bearers[0].uplink_discipline;
    assert!(matches!(discipline, DisciplineConfig::CoDel(_)));
}

#[test]
fn power_control_has_the_users_power_and_the_carriers_prbs() {
    let cell = format!("{NR}\nfrequency = \"3.5 GHz\"");
    let uplink = "link = \"budget\"\npower-control = \"fractional\"\np0 = \"-90 dBm\"\nalpha = 0.7\ntransmit-power = \"20 dBm\"";
    let experiment = valid(&text(&cell, uplink, MOVING, ""));
    let ChannelSpec::Moving(moving) = &experiment.ues[0].channel else {
        panic!("a moving channel");
    };
    let uplink = moving.uplink.expect("a link budget");
    let power = uplink.power_control.expect("power control");
    assert_eq!((power.numerology, power.n_prb.get()), (1, 106));
    let parts = [power.p0.get(), power.alpha, power.max.get()];
    assert_eq!(parts, [-90.0, 0.7, 20.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let moving = format!("{LTE}\nfrequency = \"1.8 GHz\"");
    let queue = |more: &str| format!("{STILL}\n{more}");
    for (text, expected) in [
        (
            text(LTE, "", &queue("uplink-ahead = \"10 ms\""), ""),
            "\"uplink-ahead\" without a queue above the modem",
        ),
        (
            text(LTE, "", &queue("uplink-queue = \"fq\""), ""),
            "uplink-queue",
        ),
        (
            text(
                LTE,
                "",
                &queue("uplink-queue = \"queue\"\nuplink-ahead = \"1 s\""),
                "",
            ),
            "uplink-ahead",
        ),
        (
            text(
                LTE,
                "",
                &queue("uplink-queue = \"queue\"\nuplink-limit = \"0 B\""),
                "",
            ),
            "uplink-limit",
        ),
        (
            text(LTE, "", STILL, "uplink-discipline = \"red\""),
            "uplink-discipline",
        ),
        (text(LTE, "grants = \"all\"", STILL, ""), "grants"),
        (
            text(LTE, "power-control = \"fractional\"", STILL, ""),
            "power control without a link budget",
        ),
        (
            text(
                &moving,
                "link = \"budget\"\nmcs-from = \"ns3\"\npower-control = \"fractional\"",
                MOVING,
                "",
            ),
            "power control with mcs-from",
        ),
        (
            text(&moving, "link = \"budget\"\nalpha = 0.5", MOVING, ""),
            "\"alpha\" without power control",
        ),
        (
            text(
                &moving,
                "link = \"budget\"\npower-control = \"fractional\"\nalpha = 1.5",
                MOVING,
                "",
            ),
            "alpha",
        ),
    ] {
        let error = loaded(&text).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
    let wire = "duration = \"10 s\"\n[path]\nrtt = \"60 ms\"\n[link]\nrate = \"10 Mbit/s\"\n[ue.host]\nuplink-queue = \"queue\"\n\
        [flow.up]\ndirection = \"up\"\napp = { kind = \"continuous\" }\n";
    let error = loaded(wire).expect_err("a wire");
    assert!(error.contains("needs a radio cell"), "{error}");
}
