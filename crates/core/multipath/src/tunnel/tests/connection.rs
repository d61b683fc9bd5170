//! A connection: its handshake, keys and ends.

use super::*;

/// RFC 9897 3.3: the first path, then the second joins, and both ends have both.
#[test]
fn two_paths_make_one_connection() {
    let pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    let server = pair.server.expect("accepted");
    assert!(pair.client.is_established() && server.is_established());
    assert_eq!(server.paths[1].remote_address, AddressId(1));
    assert!(pair.events.contains(&Event::Established));
    // the wires' 20 ms, their 240 us a packet, and steps of 50 us
    for path in pair.client.paths.iter().chain(&server.paths) {
        let wire = Duration::from_millis(20 * (u64::from(path.id.0) + 1));
        let rtt = path.srtt().expect("measured by the handshake");
        assert!(
            (wire..wire + Duration::from_millis(2)).contains(&rtt),
            "{rtt}"
        );
    }
    let expected = PathPriority::from_bits(3);
    assert_eq!(
        server.paths[1].priority(),
        expected,
        "the client's priority reached the server"
    );
}

#[test]
fn a_close_ends_both_ends() {
    for is_fast in [false, true] {
        let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
        pair.run(Duration::from_millis(500), 20);
        let now = pair.now;
        match is_fast {
            true => pair.client.fast_close(now),
            false => pair.client.close(now),
        }
        pair.run(Duration::from_secs(1), 0);
        assert!(pair.client.is_closed());
        assert!(
            pair.server.as_ref().is_some_and(Tunnel::is_closed),
            "fast: {is_fast}"
        );
        let closed = pair.events.iter().filter(|event| **event == Event::Closed);
        assert_eq!(closed.count(), 2);
    }
}

#[test]
fn a_pre_shared_key_must_be_the_right_one() {
    let key = |text: &str| PreSharedKey::new(text.as_bytes()).expect("long enough");
    for (clients, servers, is_accepted) in [
        (
            Some("0123456789abcdef"),
            vec!["another key of 16", "0123456789abcdef"],
            true,
        ),
        (Some("0123456789abcdeF"), vec!["0123456789abcdef"], false),
        (None, vec!["0123456789abcdef"], false),
        (Some("0123456789abcdef"), vec![], false),
        (None, vec![], true),
    ] {
        let mut pair = Pair::new("cpf", TunnelConfig::default(), controller("bbr"));
        let build = scheduler::build("cpf").expect("known");
        pair.client = Tunnel::client(TunnelConfig::default(), build, clients.map(key), 1);
        pair.shared = servers.iter().map(|text| key(text)).collect();
        pair.open(0);
        pair.run(Duration::from_millis(500), 0);
        assert_eq!(
            pair.client.is_established(),
            is_accepted,
            "{clients:?} {servers:?}"
        );
    }
}

#[test]
fn a_closed_path_leaves_the_other() {
    let mut pair = Pair::opened("srtt", TunnelConfig::default(), controller("cubic"));
    pair.run(Duration::from_secs(1), 100);
    let now = pair.now;
    pair.client.close_path(now, PathId(0));
    pair.run(Duration::from_secs(1), 100);
    assert!(pair.events.contains(&Event::PathClosed(PathId(0))));
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((40.0..=47.5).contains(&mbps), "{mbps}");
    // its number is free for a new path
    pair.open(0);
    pair.server.as_mut().expect("accepted").paths.truncate(2);
}
