//! The scenarios that come with Brimful: each can be read, turned, and has its paper's values.

use queue::{CoDelConfig, DisciplineConfig};
use radio::moving::{Mobility, PathLoss};
use scenario::{
    AccessSpec, AppSpec, Carrier, ChannelSpec, Experiment, LoadSpec, Overrides, PepMode, Point,
    TunnelAccess, knobs, load,
};
use std::path::{Path, PathBuf};
use units::{BitRate, Bytes, Duration, Hertz, Mcs, Prb};

const RAPID: [&str; 10] = [
    "narrow-link",
    "trace-bursty",
    "trace-drive",
    "fast-embb-los",
    "fast-embb-nlos",
    "mixed-nlos",
    "oai-fast",
    "oai-short",
    "oai-udp-8m",
    "oai-udp-150k",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn file(name: &str) -> PathBuf {
    root().join(format!("scenarios/{name}.toml"))
}

fn load_with(name: &str, set: &[(&str, &str)], trace: Option<PathBuf>) -> Point {
    let set = set
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let overrides = Overrides {
        set,
        trace,
        ..Overrides::default()
    };
    match load(&file(name), &overrides) {
        Ok(mut points) => points.remove(0),
        Err(error) => panic!("{error}"),
    }
}

fn experiment(name: &str) -> Experiment {
    load_with(name, &[], None).experiment
}

fn names(experiment: &Experiment) -> Vec<&str> {
    experiment
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect()
}

#[test]
fn the_knobs_rtt_and_pep_turn_on_all_of_them() {
    for name in RAPID {
        let name = format!("rapid/{name}");
        for rtt in ["1 ms", "100 ms"] {
            for pep in ["none", "split", "paper", "default"] {
                let e = load_with(&name, &[("rtt", rtt), ("pep", pep)], None).experiment;
                match (pep, &e.pep.mode) {
                    ("none", PepMode::None) | ("split", PepMode::Split) => {}
                    ("paper", PepMode::Rapid(c)) => {
                        assert_eq!(c.allocator.mode, rapid::Mode::Paper);
                    }
                    ("default", PepMode::Rapid(c)) => {
                        assert_eq!(c.allocator.mode, rapid::Mode::Default);
                    }
                    other => panic!("{name}: {other:?}"),
                }
                // the radio takes its part; what is more than that is as set
                let set: Duration = rtt.parse().expect("a time");
                assert!(e.path.rtt >= set, "{name}: {}", e.path.rtt);
                if rtt == "100 ms" {
                    assert_eq!(e.path.rtt, set);
                }
            }
        }
        let found = knobs(&file(&name)).expect("valid");
        for knob in ["rtt", "pep"] {
            let knob = found.iter().find(|k| k.name == knob).expect("a knob");
            assert!(knob.default.is_some() && !knob.description.is_empty());
        }
    }
}

#[test]
fn fast_embb_los_is_that_of_tables_1_and_2() {
    let e = load_with("rapid/fast-embb-los", &[("rtt", "1 ms")], None).experiment;
    assert_eq!(e.path.rtt, Duration::from_millis(1));
    assert_eq!(e.path.rate, BitRate::from_mbps(10_000));
    let AccessSpec::Cell(cell) = &e.access else {
        panic!("a cell")
    };
    let config = &cell.config;
    assert_eq!(config.n_prb, Prb::new(132));
    assert_eq!(config.rat, ran::Rat::Nr { numerology: 3 });
    assert_eq!(config.data_re_per_prb, 144);
    assert!(
        config.base_rtt() <= Duration::from_millis(1),
        "{}",
        config.base_rtt()
    );
    // channel_models.md section 6: 106576 bit in each of 8000 slots/s
    let tbs = radio::TbsTable::new(config.mcs_table, 1, 144, config.n_prb).expect("a table");
    assert_eq!(
        tbs.bytes(Mcs::new(28), config.n_prb),
        Bytes::new(106_576 / 8)
    );
    assert_eq!(names(&e), ["cubic", "bbr"]);
    for flow in &e.flows {
        assert_eq!(
            flow.app,
            AppSpec::Bulk {
                size: Bytes::new(200_000_000)
            }
        );
        assert_eq!(flow.cc.name, flow.name);
        assert_eq!(
            (flow.tcp.mss, flow.tcp.initial_window),
            (Bytes::new(1440), 10)
        );
        assert!(flow.intercepted);
    }
    let buffer = queue::Capacity::Bytes(Bytes::new(10_000_000));
    assert_eq!(e.ues[0].bearers[0].downlink_buffer, buffer);
}

#[test]
fn fast_embb_nlos_is_that_of_tables_1_and_2() {
    let (los, nlos) = ("rapid/fast-embb-los", "rapid/fast-embb-nlos");
    let e = experiment(nlos);
    let ChannelSpec::Moving(spec) = &e.ues[0].channel else {
        panic!("a moving channel")
    };
    let radio = &spec.radio;
    assert_eq!(radio.carrier, Hertz::new(28_000_000_000));
    assert_eq!(radio.path_loss, PathLoss::UmiStreetCanyon);
    let heights = (radio.base.height.get(), radio.ue_height.get());
    assert_eq!(heights, (10.0, 1.5));
    assert_eq!(radio.buildings.len(), 8);
    let Mobility::Waypoints { points, speed, .. } = &radio.mobility else {
        panic!("{:?}", radio.mobility)
    };
    assert_eq!(speed.get(), 1.0);
    // behind the buildings, none of which covers a point of the way
    assert!(points.iter().all(|point| point.place.y().get() > 63.5));
    // as in line of sight but for the channel
    let other = experiment(los);
    assert_eq!(e.flows, other.flows);
    assert_eq!(e.path, other.path);
    let (AccessSpec::Cell(a), AccessSpec::Cell(b)) = (&e.access, &other.access) else {
        panic!("cells")
    };
    assert_eq!(a.config.n_prb, b.config.n_prb);
    assert_eq!(a.config.data_re_per_prb, b.config.data_re_per_prb);
}

#[test]
fn the_oai_scenarios_are_those_of_table_3() {
    for name in ["oai-fast", "oai-short", "oai-udp-8m", "oai-udp-150k"] {
        let e = experiment(&format!("rapid/{name}"));
        assert_eq!(e.path.rtt, Duration::from_millis(50));
        assert_eq!(e.path.rate, BitRate::from_mbps(1000));
        let AccessSpec::Cell(cell) = &e.access else {
            panic!("a cell")
        };
        assert_eq!(
            (cell.config.rat, cell.config.n_prb),
            (ran::Rat::Lte, Prb::new(25))
        );
        let ChannelSpec::ConstantCqi { cqi, policy, bler } = e.ues[0].channel else {
            panic!("a constant CQI")
        };
        let mcs = policy
            .mcs(cell.config.mcs_table, cqi)
            .expect("covered")
            .expect("sends");
        let tbs = radio::TbsTable::new(cell.config.mcs_table, 1, 132, Prb::new(25)).expect("LTE");
        // "max. RAN capacity 16 Mbit/s": TCP payload that every tenth repetition leaves
        let block = tbs.bytes(mcs, Prb::new(25)).get() as f64;
        let payload = block * 8000.0 / (1.0 + bler) * 1448.0 / 1505.0;
        assert!((payload / 16e6 - 1.0).abs() < 0.02, "{name}: {payload}");
        let buffer = queue::Capacity::Bytes(Bytes::new(1_000_000));
        assert_eq!(e.ues[0].bearers[0].downlink_buffer, buffer);
    }
    assert_eq!(names(&experiment("rapid/oai-fast")), ["cubic", "bbr"]);
    let short = experiment("rapid/oai-short");
    assert_eq!(names(&short), ["bulk", "bulk-2", "ssh"]);
    assert_eq!(short.flows[2].cc.name, "bbr");
    assert_eq!(
        short.flows[2].app,
        AppSpec::Ssh {
            size: Bytes::new(500_000)
        }
    );
    assert!(short.flows[2].start > Duration::from_secs(1));
}

#[test]
fn the_udp_scenarios_have_their_rate_and_the_knob_cc() {
    for (name, rate) in [("oai-udp-8m", 8_000_000), ("oai-udp-150k", 150_000)] {
        let name = format!("rapid/{name}");
        let e = load_with(&name, &[("cc", "bbr")], None).experiment;
        assert_eq!(names(&e), ["udp", "bulk"]);
        let AppSpec::Cbr {
            rate: given,
            packet,
            ..
        } = e.flows[0].app
        else {
            panic!("CBR")
        };
        assert_eq!((given, packet), (BitRate::from_bps(rate), Bytes::new(1470)));
        assert!(!e.flows[0].intercepted && e.flows[1].intercepted);
        assert_eq!(e.flows[1].cc.name, "bbr");
    }
}

#[test]
fn the_dumbbell_is_a_wire_with_two_cubic_flows() {
    let e = experiment("dumbbell");
    let AccessSpec::Link(link) = &e.access else {
        panic!("a wire")
    };
    assert_eq!(link.rate, BitRate::from_mbps(100));
    assert_eq!(e.duration, Duration::from_secs(100));
    assert_eq!(names(&e), ["bulk", "bulk-2"]);
    assert!(e.flows.iter().all(|flow| flow.cc.name == "cubic"));
}

#[test]
fn applications_stand_beside_a_download_and_turn_with_their_knobs() {
    for name in ["applications/video", "applications/page"] {
        for (cc, ecn) in [("cubic", "classic"), ("prague", "l4s")] {
            for transport in ["tcp", "quic"] {
                let set = [("transport", transport), ("cc", cc), ("ecn", ecn)];
                let e = load_with(name, &set, None).experiment;
                assert_eq!(names(&e), ["bulk", "app"], "{name}");
                assert!(e.flows.iter().all(|flow| flow.cc.name == cc));
                assert_eq!(e.flows[0].transport, e.flows[1].transport);
            }
        }
    }
    let e = load_with("applications/video", &[("rule", "rate")], None).experiment;
    let AppSpec::Video(video) = &e.flows[1].app else {
        panic!("a video")
    };
    assert_eq!(video.rule, scenario::AbrRule::Rate);
    let e = load_with("applications/page", &[("unsplit", "mark")], None).experiment;
    assert!(matches!(e.flows[1].app, AppSpec::Page(_)) && e.pep.unsplit.is_some());
}

#[test]
fn trace_drive_runs_on_the_traces_that_come_with_brimful() {
    let traces = root().join("traces");
    let mut count = 0;
    for entry in std::fs::read_dir(traces).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "md") {
            continue;
        }
        let e = load_with("rapid/trace-drive", &[("pep", "default")], Some(path)).experiment;
        assert_eq!(names(&e), ["bulk", "web", "voip"]);
        count += 1;
    }
    assert!(count > 0, "no trace was found");
}

#[test]
fn trace_drive_runs_on_recorded_traces_of_every_format() {
    // as the variable was when the tests were built; a relative path counts from the workspace
    let Some(named) = option_env!("BRIMFUL_TRACES") else {
        testing::skip(
            "trace_drive_runs_on_recorded_traces_of_every_format",
            testing::Missing::Data("BRIMFUL_TRACES"),
        );
        return;
    };
    let folder = root().join(named);
    if !folder.is_dir() {
        testing::skip(
            "trace_drive_runs_on_recorded_traces_of_every_format",
            testing::Missing::Data("BRIMFUL_TRACES"),
        );
        return;
    }
    for (name, is_log) in [
        ("ucc-5g/Driving/B_2019.12.14_10.16.30.csv", false),
        ("ucc-4g/4G_A_2018.01.27_13.58.29.csv", false),
        ("mahimahi/Verizon-LTE-short.down", false),
        ("dynamic-buffer-packets/packets_train.txt", false),
        (
            "fivegophers/All-Carriers/03-User-Mobility/car-driving-trace-1.csv",
            false,
        ),
        ("nrscope/t_mobile2_ueactivity_night_1.csv", true),
    ] {
        let e = load_with("rapid/trace-drive", &[], Some(folder.join(name))).experiment;
        let AccessSpec::Cell(cell) = &e.access else {
            panic!("a cell")
        };
        let is_nr = cell.config.rat != ran::Rat::Lte;
        assert_eq!(is_nr, name.contains("5g/") || is_log, "{name}");
        assert_eq!(
            matches!(cell.background, LoadSpec::Trace(_)),
            is_log,
            "{name}"
        );
    }
}

#[test]
fn nested_cc_turns_into_every_combination_of_the_paper() {
    let carriers = [
        ("newreno", "newreno", Carrier::Stream),
        ("bbr", "bbr", Carrier::Stream),
        ("bbrv2", "bbr2", Carrier::Stream),
        ("bbrv3", "bbr3", Carrier::Stream),
        ("ccid2", "newreno", Carrier::Dccp),
        ("ccid5", "bbr", Carrier::Dccp),
    ];
    for server in ["cubic", "bbr"] {
        for (knob, cc, carrier) in carriers {
            let set = [("server-cc", server), ("tunnel-cc", knob)];
            let e = load_with("nested-cc/default", &set, None).experiment;
            assert_eq!(e.flows[0].cc.name, server);
            let tunnel = e.tunnel.expect("a tunnel");
            assert!(
                (tunnel.paths.iter()).all(|path| path.cc == cc && path.carrier == carrier),
                "{knob}"
            );
        }
    }
}

/// Tables 1 and 2.
#[test]
fn nested_cc_has_the_papers_round_trips() {
    let rtts = |set: &[(&str, &str)]| {
        let e = load_with("nested-cc/default", set, None).experiment;
        let paths = e.tunnel.expect("a tunnel").paths.into_iter();
        let path_rtts = paths.map(|path| match path.access {
            TunnelAccess::Link(link) => (link.delay * 2).as_millis(),
            TunnelAccess::Cell => panic!("a wire"),
        });
        let mut all = vec![e.path.rtt.as_millis()];
        all.extend(path_rtts);
        all
    };
    assert_eq!(rtts(&[]), [40, 20, 40]);
    assert_eq!(rtts(&[("rtt", "80 ms")]), [80, 40, 60]);
    assert_eq!(
        rtts(&[("rtt", "50 ms"), ("tunnel-share", "0.2")]),
        [50, 10, 30]
    );
    assert_eq!(
        rtts(&[("rtt", "50 ms"), ("tunnel-share", "0.8")]),
        [50, 40, 60]
    );
    assert_eq!(rtts(&[("asymmetry", "0 s")]), [40, 20, 20]);
    assert_eq!(rtts(&[("asymmetry", "200 ms")]), [40, 20, 220]);
    let set = [
        ("codel", "on"),
        ("buffer", "250 packets"),
        ("tunnel", "off"),
    ];
    let AccessSpec::Link(link) = load_with("nested-cc/default", &set, None).experiment.access
    else {
        panic!("a wire")
    };
    assert_eq!(link.queue, DisciplineConfig::CoDel(CoDelConfig::default()));
    assert_eq!(
        link.buffer,
        queue::Capacity::Packets(units::Packets::new(250))
    );
}

#[test]
fn all_of_nested_cc_can_be_read() {
    for name in ["udp", "fade", "roaming", "walkaway"] {
        let name = format!("nested-cc/{name}");
        assert_eq!(experiment(&name).tunnel.expect("a tunnel").paths.len(), 2);
        assert!(
            load_with(&name, &[("tunnel", "off")], None)
                .experiment
                .tunnel
                .is_none()
        );
    }
}

#[test]
fn all_of_mobility_can_be_read() {
    let all = [
        ("street", 3, 2),
        ("train", 3, 5),
        ("crowd", 2, 20),
        ("recorded", 2, 1),
    ];
    for (name, cells, users) in all {
        let e = experiment(&format!("mobility/{name}"));
        assert_eq!((e.ues.len(), e.flows.len()), (users, users), "{name}");
        assert_eq!(e.cells.expect("several cells").cells.len(), cells, "{name}");
    }
}

#[test]
fn a_tunnel_goes_over_several_cells() {
    let e = experiment("mobility/tunnel");
    assert_eq!(e.cells.expect("several cells").cells.len(), 3);
    assert_eq!(e.tunnel.expect("a tunnel").paths.len(), 2);
    let off = load_with("mobility/tunnel", &[("tunnel", "off")], None).experiment;
    assert!(off.tunnel.is_none());
    assert_eq!(off.cells.expect("the cells alone").cells.len(), 3);
}
