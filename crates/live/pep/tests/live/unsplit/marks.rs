//! What is marked and dropped, and what is not.

use super::*;
use crate::Test;
use crate::lifecycle::transfer;
use crate::support::daemon::{TRANSPARENT, write_config};
use crate::support::datagrams::{Arrivals, Datagrams, Ecn, Flow};
use crate::support::offload::Offload;
use crate::support::server;
use crate::support::traffic::{accept, connect, listen, receive};
use rustix::process::Signal;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;
use testing::pattern;

pub const TESTS: &[Test] = &[
    (
        "a_flow_beyond_the_rate_is_marked_and_a_sparse_one_is_not",
        a_flow_beyond_the_rate_is_marked_and_a_sparse_one_is_not,
    ),
    (
        "what_is_not_ecn_capable_is_dropped_and_never_marked",
        what_is_not_ecn_capable_is_dropped_and_never_marked,
    ),
    (
        "without_reports_nothing_is_marked",
        without_reports_nothing_is_marked,
    ),
    (
        "a_ue_that_no_report_names_any_more_has_no_order",
        a_ue_that_no_report_names_any_more_has_no_order,
    ),
    (
        "what_the_proxy_splits_is_not_judged",
        what_the_proxy_splits_is_not_judged,
    ),
    (
        "beside_connections_that_are_split_and_nothing_more",
        beside_connections_that_are_split_and_nothing_more,
    ),
    (
        "a_reload_ends_marks_and_begins_again",
        a_reload_ends_marks_and_begins_again,
    ),
    (
        "marks_have_right_checksums_with_any_offload",
        marks_have_right_checksums_with_any_offload,
    ),
];

const HEAVY: u16 = 7_001;
/// Of several: one in 64 has the bucket of the heavy one, and counts as one flow with it.
const SPARSE: [u16; 4] = [7_002, 7_003, 7_004, 7_005];

fn a_flow_beyond_the_rate_is_marked_and_a_sparse_one_is_not() {
    let test = "a_flow_beyond_the_rate_is_marked_and_a_sparse_one_is_not";
    for is_ipv6 in [false, true] {
        let Some(hosts) = Hosts::try_new(test) else {
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let _radio = radio(folder.path());
        let daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &[]);
        let ports = [&[HEAVY][..], &SPARSE].concat();
        let arrivals = Arrivals::count(&hosts, &ports);
        let heavy = Datagrams::heavy(HEAVY, Ecn::Ect1).of(is_ipv6).start(&hosts);
        let sparse = |port| Datagrams::sparse(port, Ecn::Ect1).of(is_ipv6).start(&hosts);
        let flows: Vec<Flow> = [heavy].into_iter().chain(SPARSE.map(sparse)).collect();
        testing::wait_until("the heavy one arrives marked", || {
            arrivals.with(HEAVY, Ecn::Ce) > 100
        });
        testing::wait_until("the sparse ones are distinguished", || {
            packets(&daemon, "sparse") > 50
        });
        for (flow, port) in flows.into_iter().zip(&ports) {
            let sent = flow.stop();
            testing::wait_until("every packet arrives", || arrivals.all(*port) == sent);
        }
        let marked = |port: &u16| arrivals.with(*port, Ecn::Ce);
        assert!(SPARSE.iter().any(|port| marked(port) == 0));
        let all: u64 = ports.iter().map(marked).sum();
        assert_eq!(all, packets(&daemon, "marked_l4s"));
        let unsplit = unsplit(&daemon);
        assert_eq!(
            (&unsplit["mode"], &unsplit["ues"]),
            (&"mark".into(), &2.into())
        );
        assert_eq!(unsplit["error"], Value::Null, "{unsplit}");
        assert!(unsplit["orders"].as_u64() > Some(0), "{unsplit}");
    }
}

fn what_is_not_ecn_capable_is_dropped_and_never_marked() {
    let Some(hosts) = Hosts::try_new("what_is_not_ecn_capable_is_dropped_and_never_marked") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let config = format!("{ALONE}{MARK}").replace("target = \"1 s\"", "target = \"1 ms\"");
    let daemon = start_alone(&hosts, folder, &config, &[]);
    let arrivals = Arrivals::count(&hosts, &[HEAVY]);
    let flow = Datagrams::heavy(HEAVY, Ecn::NotEct).start(&hosts);
    testing::wait_until("some are dropped", || {
        packets(&daemon, "dropped_not_ect") > 20
    });
    let sent = flow.stop();
    testing::wait_until("all others arrive", || {
        arrivals.all(HEAVY) + packets(&daemon, "dropped_not_ect") == sent
    });
    assert_eq!(arrivals.with(HEAVY, Ecn::NotEct), arrivals.all(HEAVY));
    assert_eq!(packets(&daemon, "marked_l4s"), 0);
    assert_eq!(packets(&daemon, "marked_classic"), 0);
}

fn without_reports_nothing_is_marked() {
    let Some(hosts) = Hosts::try_new("without_reports_nothing_is_marked") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let radio = radio(folder.path());
    let daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &[]);
    let arrivals = Arrivals::count(&hosts, &[HEAVY]);
    let flow = Datagrams::heavy(HEAVY, Ecn::Ect1).start(&hosts);
    testing::wait_until("it is marked", || arrivals.with(HEAVY, Ecn::Ce) > 0);
    radio.silent.store(true, Relaxed);
    must_pass_unmarked(&daemon, "stale");
    radio.silent.store(false, Relaxed);
    let before = arrivals.with(HEAVY, Ecn::Ce);
    testing::wait_until("it is marked again", || {
        arrivals.with(HEAVY, Ecn::Ce) > before
    });
    drop(radio);
    must_pass_unmarked(&daemon, "stale");
    let sent = flow.stop();
    testing::wait_until("every packet arrives", || arrivals.all(HEAVY) == sent);
}

fn a_ue_that_no_report_names_any_more_has_no_order() {
    let Some(hosts) = Hosts::try_new("a_ue_that_no_report_names_any_more_has_no_order") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let radio = radio(folder.path());
    let daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &[]);
    daemon.wait_until("orders", || unsplit(&daemon)["ues"] == 2);
    let flow = Datagrams::heavy(HEAVY, Ecn::Ect1).start(&hosts);
    radio.silent.store(true, Relaxed);
    daemon.wait_until("they are removed", || unsplit(&daemon)["ues"] == 0);
    let before = packets(&daemon, "no_report");
    daemon.wait_until("its packets have none", || {
        packets(&daemon, "no_report") > before + 100
    });
    drop(flow);
}

fn what_the_proxy_splits_is_not_judged() {
    let Some(hosts) = Hosts::try_new("what_the_proxy_splits_is_not_judged") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let more = "[reports]\nsource = \"unix:{dir}/radio\"\nplain-after = \"600 s\"\n\
                [metrics]\nlisten = \"127.0.0.1:9464\"\n";
    let config = format!("{TRANSPARENT}{more}{MARK}");
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    let arrivals = Arrivals::count(&hosts, &[HEAVY]);
    transfer(&hosts, 5_601);
    assert_eq!(daemon.count("accepted"), 1);
    daemon.wait_until("its segments are seen", || {
        unsplit(&daemon)["unjudged"]["own_tcp"].as_u64() > Some(0)
    });
    let flow = Datagrams::heavy(HEAVY, Ecn::Ect1).start(&hosts);
    testing::wait_until("what passes is marked", || {
        arrivals.with(HEAVY, Ecn::Ce) > 0
    });
    drop(flow);
    let page = hosts.proxy.sh("curl -s 127.0.0.1:9464/metrics");
    let value = |name: &str| {
        let name = format!("brimful_pep_{name} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{page}"));
        line.parse::<u64>().expect("a number")
    };
    for verdict in edge::marker::Verdict::ALL {
        value(&format!(
            "unsplit_packets_total{{verdict=\"{}\"}}",
            verdict.name()
        ));
    }
    assert!(value("unsplit_packets_total{verdict=\"marked_l4s\"}") > 0);
    assert!(value("unsplit_unjudged_packets_total{reason=\"own_tcp\"}") > 0);
    assert_eq!(value("unsplit_ues"), 2);
    assert!(value("unsplit_orders_total") > 0);
    assert!(
        page.contains("brimful_pep_unsplit_info{mode=\"mark\",way=\""),
        "{page}"
    );
}

fn beside_connections_that_are_split_and_nothing_more() {
    let Some(hosts) = Hosts::try_new("beside_connections_that_are_split_and_nothing_more") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let more = "[reports]\nsource = \"unix:{dir}/radio\"\n";
    let daemon = Daemon::start_in(&hosts.proxy, folder, &(crate::split(more) + MARK), &[]);
    let arrivals = Arrivals::count(&hosts, &[HEAVY]);
    let flow = Datagrams::heavy(HEAVY, Ecn::Ect1).start(&hosts);
    testing::wait_until("what passes is marked", || {
        arrivals.with(HEAVY, Ecn::Ce) > 0
    });
    transfer(&hosts, 5_602);
    drop(flow);
    assert_eq!(daemon.count("accepted"), 1);
    let status = daemon.status();
    assert_eq!(status["control"]["actuator"], "none", "{status}");
    assert_eq!(status["server_windows"], Value::Null, "{status}");
}

fn a_reload_ends_marks_and_begins_again() {
    let Some(hosts) = Hosts::try_new("a_reload_ends_marks_and_begins_again") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let more = "[reports]\nsource = \"unix:{dir}/radio\"\n";
    let config = crate::split(more) + MARK;
    let off = config.replace("\"mark\"", "\"off\"");
    let daemon = Daemon::start_in(&hosts.proxy, folder, &off, &[]);
    let arrivals = Arrivals::count(&hosts, &[HEAVY]);
    let _flow = Datagrams::heavy(HEAVY, Ecn::Ect1).start(&hosts);
    must_pass_unmarked(&daemon, "no_report");
    assert_eq!(arrivals.with(HEAVY, Ecn::Ce), 0);
    let reloaded = |config: &str| {
        let times = || daemon.log().matches("configuration reloaded").count();
        let before = times();
        write_config(&daemon.folder, config);
        daemon.signal(Signal::HUP);
        daemon.wait_until("it has reloaded", || times() > before);
    };
    reloaded(&config);
    testing::wait_until("it is marked", || arrivals.with(HEAVY, Ecn::Ce) > 0);
    reloaded(&off);
    daemon.wait_until("it is off", || unsplit(&daemon)["mode"] == "off");
    assert_eq!(unsplit(&daemon)["ues"], 0);
    must_pass_unmarked(&daemon, "no_report");
    reloaded(&config.replace("ramp-to = \"1 ms\"", "ramp-to = \"2 ms\""));
    let before = arrivals.with(HEAVY, Ecn::Ce);
    testing::wait_until("it is marked again", || {
        arrivals.with(HEAVY, Ecn::Ce) > before
    });
    // what cannot change while it runs
    write_config(&daemon.folder, &crate::split(more));
    daemon.signal(Signal::HUP);
    daemon.wait_until("it is refused", || {
        daemon.log().contains("this key needs --upgrade")
    });
    assert_eq!(unsplit(&daemon)["mode"], "mark");
}

/// Checksums that are complete, to be completed, of super-packets and of their segments; TCP and UDP, both families.
fn marks_have_right_checksums_with_any_offload() {
    let Some(hosts) = Hosts::try_new("marks_have_right_checksums_with_any_offload") else {
        return;
    };
    // segments of any connection may be marked
    for family in ["ip", "ip6"] {
        hosts.server.sh(&format!(
            "nft 'add table {family} e; add chain {family} e o {{ type filter hook output priority 0; }}; \
             add rule {family} e o meta l4proto tcp {family} ecn set ect1'"
        ));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &[]);
    for (offload, number) in Offload::of_both_directions().zip(0_u16..) {
        for (host, interface) in [
            (&hosts.server, "s0"),
            (&hosts.proxy, "ran0"),
            (&hosts.client, "c0"),
        ] {
            offload.set(host, interface);
        }
        // both families with each of the two
        let is_ipv6 = number.count_ones() & 1 == 1;
        must_mark(&hosts, &daemon, 5_751 + number, is_ipv6);
    }
    for name in ["TcpInCsumErrors", "UdpInCsumErrors", "IpInHdrErrors"] {
        assert_eq!(hosts.client.counter(name), 0, "{name}");
    }
    assert_eq!(unsplit(&daemon)["unwritten_marks"], 0);
}

/// Datagrams and a download that passes by, each until some of it is marked.
fn must_mark(hosts: &Hosts, daemon: &Daemon, port: u16, is_ipv6: bool) {
    let arrivals = Arrivals::count(hosts, &[port]);
    let flow = Datagrams::heavy(port, Ecn::Ect1).of(is_ipv6).start(hosts);
    testing::wait_until("it is marked", || arrivals.with(port, Ecn::Ce) > 20);
    drop(flow);
    drop(arrivals);
    hosts.client.sh("nft delete table inet t");
    let marked = || packets(daemon, "marked_l4s");
    let before = marked();
    let address = SocketAddr::new(server(is_ipv6), port);
    let listener = listen(&hosts.server, address);
    let near = connect(&hosts.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    std::thread::scope(|scope| {
        let receives = scope.spawn(|| receive(&near).expect("received"));
        let mut sent = 0;
        while sent < 300_000 || marked() == before {
            far.write_all(&pattern(sent, 100_000)).expect("sent");
            sent += 100_000;
        }
        far.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receives.join().expect("no panic"), sent);
    });
}
