//! What is refused of tunnels, and how what is accepted is understood.

use multipath::client::Supervision;
use multipath::reorder::{ReorderConfig, WaitRule};
use multipath::tunnel::{CONTROLLER, TunnelConfig};
use queue::{CoDelConfig, DisciplineConfig};
use scenario::{
    AccessSpec, Carrier, ChannelSpec, Experiment, LinkSpec, Overrides, PathEvent, TunnelAccess,
    TunnelPathSpec, load_str,
};
use units::Duration;

const CELL: &str = "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n[ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n";
const PATHS: &str =
    "[tunnel.path.wifi]\nrate = \"50 Mbit/s\"\n[tunnel.path.other]\nrate = \"20 Mbit/s\"\n";

fn read(text: &str) -> Result<Experiment, String> {
    let text = format!(
        "[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = {{ kind = \"bulk\", size = \"1 MB\" }}\n{text}"
    );
    match load_str(&text, &Overrides::default()) {
        Ok(mut points) => Ok(points.remove(0).experiment),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let error = read(text).expect_err("refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

fn links(experiment: &Experiment) -> Vec<LinkSpec> {
    let paths = &experiment.tunnel.as_ref().expect("a tunnel").paths;
    let link = |path: &TunnelPathSpec| match &path.access {
        TunnelAccess::Link(link) => Some(link.clone()),
        TunnelAccess::Cell => None,
    };
    paths.iter().filter_map(link).collect()
}

#[test]
fn defaults_are_those_of_table_1() {
    let text = format!("[tunnel]\nasymmetry = \"20 ms\"\n{PATHS}");
    let experiment = read(&text).unwrap();
    let tunnel = experiment.tunnel.as_ref().unwrap();
    assert_eq!(tunnel.scheduler, multipath::scheduler::DEFAULT);
    let connection = &tunnel.connection;
    assert_eq!(connection.reorder, ReorderConfig::new(WaitRule::Adaptive));
    assert_eq!(connection.reorder.margin, Duration::from_millis(10));
    let buffers = [connection.scheduler_buffer, connection.reorder.buffer];
    assert_eq!(buffers.map(|buffer| buffer.get()), [1500, 1500]);
    let links = links(&experiment);
    // path 1 has 20 ms, path 2 40 ms
    assert_eq!(links[0].delay, Duration::from_millis(10));
    assert_eq!(links[1].delay, Duration::from_millis(20));
    assert_eq!(links[0].queue, DisciplineConfig::DropTail);
    let priorities: Vec<u8> = tunnel.paths.iter().map(|path| path.priority).collect();
    assert_eq!(priorities, [3, 3]);
}

#[test]
fn static_reordering_waits_for_retransmissions() {
    let of = |lines: &str| {
        let experiment = read(&format!("[tunnel]\n{lines}\n{PATHS}")).unwrap();
        experiment.tunnel.unwrap().connection.reorder
    };
    let reorder = of("reorder = \"static\"");
    assert_eq!(reorder, ReorderConfig::new(WaitRule::Static));
    assert_eq!(reorder.margin, Duration::from_millis(150));
    assert!(!reorder.has_fast_loss_detection);
    let reorder = of("reorder = \"fixed\"\nwait = \"30 ms\"\nlate = \"drop\"");
    assert_eq!(reorder.rule, WaitRule::Fixed(Duration::from_millis(30)));
    assert_eq!(reorder.late, multipath::reorder::Late::Drop);
}

#[test]
fn names_of_the_paper_give_controller_and_carrier() {
    let of = |lines: &str| {
        let experiment = read(&format!("[tunnel]\n{lines}\n{PATHS}")).unwrap();
        let path = &experiment.tunnel.unwrap().paths[1];
        (path.cc.clone(), path.carrier)
    };
    assert_eq!(of("cc = \"ccid2\""), ("newreno".into(), Carrier::Dccp));
    assert_eq!(of("cc = \"ccid5\""), ("bbr".into(), Carrier::Dccp));
    // as the live tunnel, whose paths are DCCP unless they are given another carrier
    assert_eq!(of(""), (CONTROLLER.into(), Carrier::Dccp));
    assert_eq!(of("cc = \"bbr\""), ("bbr".into(), Carrier::Dccp));
    assert_eq!(of("cc = \"bbr over tcp\""), ("bbr".into(), Carrier::Stream));
    assert_eq!(
        of("cc = \"ccid2 over tcp\""),
        ("newreno".into(), Carrier::Stream)
    );
    assert_eq!(of("cc = \"bbrv2\""), ("bbr2".into(), Carrier::Stream));
    assert_eq!(
        of("cc = \"bbrv3\"\ncarrier = \"dccp\""),
        ("bbr3".into(), Carrier::Dccp)
    );
    // set on the path itself
    let of_path = |cc: &str| {
        let text = format!("[tunnel]\ncc = \"ccid5\"\n{PATHS}cc = \"{cc}\"\n");
        let path = read(&text).unwrap().tunnel.unwrap().paths.remove(1);
        (path.cc, path.carrier)
    };
    assert_eq!(of_path("cubic"), ("cubic".into(), Carrier::Dccp));
    assert_eq!(of_path("ccid2"), ("newreno".into(), Carrier::Dccp));
}

#[test]
fn without_the_tunnel_the_first_path_is_the_access() {
    let text = format!(
        "[tunnel]\nmode = \"off\"\nshare = 0.25\n{PATHS}[tunnel.path.cellular]\naccess = \"cell\"\n{CELL}"
    );
    let experiment = read(&text).unwrap();
    assert!(experiment.tunnel.is_none());
    let AccessSpec::Link(link) = &experiment.access else {
        panic!("a wire");
    };
    assert_eq!(link.delay, Duration::from_millis(5));
    assert!(matches!(experiment.ues[0].channel, ChannelSpec::Wired));
    let on = read(&text.replace("\"off\"", "\"on\"")).unwrap();
    assert!(matches!(on.access, AccessSpec::Cell(_)));
    assert_eq!(on.tunnel.unwrap().paths[2].access, TunnelAccess::Cell);
}

#[test]
fn wrong_tunnels_are_refused_where_they_are_wrong() {
    refused("[tunnel]\n", &[":5:1", "the tunnel has no path"]);
    let with = |line: &str| format!("[tunnel]\n{line}\n{PATHS}");
    refused(
        &with("schedular = \"cpf\""),
        &[
            ":6:1",
            "unknown key \"schedular\"",
            "did you mean \"scheduler\"?",
        ],
    );
    refused(
        &with("scheduler = \"fastest\""),
        &[":6:14", "\"cpf\"", "\"aware\""],
    );
    refused(
        &with("cc = \"ccid3\""),
        &[
            ":6:7",
            "no congestion control \"ccid3\"",
            "did you mean \"ccid",
        ],
    );
    refused(&with("share = 1.5"), &[":6:9", "0 to 1"]);
    refused(
        &with("radio = true"),
        &[":6:9", "no path goes through a cell"],
    );
    refused(
        &format!("{}[link]\nrate = \"1 Mbit/s\"\n", with("")),
        &["both [link] and [tunnel]"],
    );
    refused(
        &format!("{}{CELL}", with("")),
        &["no path of the tunnel goes through the [cell]"],
    );
    let on_path = |line: &str| format!("[tunnel]\n{PATHS}{line}\n");
    refused(&on_path("access = \"cell\""), &["no \"rate\""]);
    refused(
        &on_path("up-at = \"3 s\""),
        &[":10:10", "there is no \"down-at\""],
    );
    refused(
        &on_path("down-at = \"3 s\"\nup-at = \"3 s\""),
        &["is not after"],
    );
    refused(&on_path("priority = 16"), &[":10:12", "0 to 15"]);
    refused(
        "[tunnel]\n[tunnel.path.wifi]\nrtt = \"5 ms\"\n",
        &["no key \"rate\""],
    );
    refused(
        "[tunnel]\n[tunnel.path.a]\naccess = \"cell\"\n[tunnel.path.b]\naccess = \"cell\"\n",
        &["there is none"],
    );
    refused(
        "[tunnel]\n[tunnel.path.wifi]\nrate = \"5 Mbit/s\"\nrtt = \"50 ms\"\n",
        &["less than the access itself takes", "40 ms"],
    );
    refused(
        &format!("{}[pep]\nmode = \"split\"\n", with("")),
        &["both a proxy and a tunnel"],
    );
}

#[test]
fn a_path_goes_down_and_comes_back() {
    let text = format!("[tunnel]\n{PATHS}down-at = \"3 s\"\nup-at = \"5 s\"\nqueue = \"codel\"\n");
    let experiment = read(&text).unwrap();
    let link = links(&experiment).remove(1);
    let outage = link.outage.unwrap();
    assert_eq!(outage.from, Duration::from_secs(3));
    assert_eq!(outage.until, Some(Duration::from_secs(5)));
    assert_eq!(link.queue, DisciplineConfig::CoDel(CoDelConfig::default()));
}

#[test]
fn events_of_a_path_are_read_in_order_of_time() {
    let events = r#"events = [["3 s", "link-down"], ["5 s", "link-up"], ["6.5 s", "rebind"], ["7 s", "socket-gone"]]"#;
    let experiment = read(&format!("[tunnel]\n{PATHS}{events}\n")).unwrap();
    let paths = experiment.tunnel.unwrap().paths;
    let ms = |ms| Duration::from_millis(ms);
    let expected = [
        (ms(3_000), PathEvent::LinkDown),
        (ms(5_000), PathEvent::LinkUp),
        (ms(6_500), PathEvent::Rebind),
        (ms(7_000), PathEvent::SocketGone),
    ];
    assert_eq!(paths[1].events, expected);
    assert!(paths[0].events.is_empty());
}

#[test]
fn wrong_events_are_refused_where_they_are_wrong() {
    let on_path = |line: &str| format!("[tunnel]\n{PATHS}{line}\n");
    for (line, parts) in [
        (
            r#"events = [["3 s", "link-donw"]]"#,
            &[
                ":10:20",
                "no event \"link-donw\"",
                "did you mean \"link-down\"?",
            ][..],
        ),
        (
            r#"events = "rebind""#,
            &[":10:11", "pairs of a time and an event"],
        ),
        (r#"events = ["rebind"]"#, &[":10:12", "is no pair"]),
        (
            r#"events = [["3 s", "rebind", 1]]"#,
            &[":10:11", "is no pair"],
        ),
        (r#"events = [["3 s", 4]]"#, &[":10:19", "\"socket-gone\""]),
        (
            r#"events = [["3", "rebind"]]"#,
            &[":10:13", "time of an event"],
        ),
        (
            r#"events = [["3 s", "rebind"], ["3 s", "rebind"]]"#,
            &[":10:30", "follows one at 3 s", "times rise"],
        ),
    ] {
        refused(&on_path(line), parts);
    }
}

/// Keys and defaults are those of the live client.
#[test]
fn the_supervision_is_that_of_the_live_client() {
    let of = |lines: &str| {
        let experiment = read(&format!("[tunnel]\n{lines}\n{PATHS}")).unwrap();
        experiment.tunnel.unwrap()
    };
    assert_eq!(of("").supervision, Supervision::default());
    assert_eq!(of("keepalive = \"never\"").connection.keepalive, None);
    // a table with one key: all others have the defaults that the table of keys states
    for (key, value) in Supervision::default().keys() {
        let given = of(&format!("supervision = {{ {key} = \"77 ms\" }}")).supervision;
        let mut expected = Supervision::default();
        for (other, time) in expected.keys() {
            if other == key {
                *time = Duration::from_millis(77);
            }
        }
        assert_eq!(given, expected, "{key}, by default {value}");
    }
    let text = |line: &str| {
        format!("[tunnel]\nkeepalive = \"2 s\"\n{PATHS}[tunnel.supervision]\n{line}\n")
    };
    assert_eq!(
        read(&text(""))
            .unwrap()
            .tunnel
            .unwrap()
            .connection
            .keepalive,
        Some(Duration::from_secs(2))
    );
    refused(
        &text("renew-after = \"1 ms\""),
        &[":12:16", "10 ms to 3600 s"],
    );
    refused(
        &text("renew = \"1 s\""),
        &[":12:1", "did you mean \"renew-after\"?"],
    );
}

/// `[tunnel]` has every value of a connection under its key, with its default.
#[test]
fn every_setting_of_a_connection_is_a_key_with_its_default() {
    let of = |line: &str| {
        let experiment = read(&format!("[tunnel]\n{line}\n{PATHS}"));
        let experiment = experiment.unwrap_or_else(|error| panic!("{line}: {error}"));
        experiment.tunnel.expect("a tunnel").connection
    };
    assert_eq!(of(""), TunnelConfig::default());
    let keys = TunnelConfig::default().settings().map(|(key, _)| key);
    for changed in keys {
        let mut config = TunnelConfig::default();
        let mut line = String::new();
        for (key, mut setting) in config.settings() {
            if key == changed {
                setting.alter();
                let value = setting.toml();
                line = format!("{} = {value}", key.name);
            }
        }
        assert_eq!(of(&line), config, "{line}");
    }
}

#[test]
fn each_wire_has_a_jitter_of_its_own_and_a_cell_none() {
    let path = |lines: &str| format!("[tunnel]\n[tunnel.path.wifi]\n{lines}\n{CELL}");
    let of = |lines: &str| {
        let experiment = read(&format!("[tunnel]\n{PATHS}{lines}")).unwrap();
        links(&experiment).iter().map(|link| link.jitter).collect()
    };
    let jitters: Vec<Duration> = of("jitter = \"300 us\"");
    assert_eq!(jitters, [Duration::ZERO, Duration::from_micros(300)]);
    refused(
        &path("access = \"cell\"\njitter = \"1 ms\""),
        &["a path through the cell has no \"jitter\""],
    );
    let experiment = read("[link]\nrate = \"9 Mbit/s\"\njitter = \"2 ms\"").unwrap();
    let AccessSpec::Link(link) = &experiment.access else {
        panic!("the access is a wire");
    };
    assert_eq!(link.jitter, Duration::from_millis(2));
    refused(
        "[link]\nrate = \"9 Mbit/s\"\njitter = \"101 s\"",
        &["\"jitter\" = 101 s is out of range"],
    );
}
