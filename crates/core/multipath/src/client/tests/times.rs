//! Each rule of the supervision, to the time at which it acts.

use super::bench::{Bench, DELAY};
use crate::client::{
    Action, ClientEvent, ClientPathId, NetworkEvent, PathState, SendFault, Supervision,
};
use crate::tunnel::Carrier::{Dccp, Stream};
use units::{Duration, Instant};

const FIRST: ClientPathId = ClientPathId(0);
const SECOND: ClientPathId = ClientPathId(1);

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

fn gaps(times: &[Instant]) -> Vec<Duration> {
    let pairs = times.windows(2);
    pairs
        .map(|pair| pair[1].saturating_since(pair[0]))
        .collect()
}

fn times() -> Supervision {
    Supervision::default()
}

#[test]
fn the_first_path_makes_the_connection_and_the_others_join() {
    let mut bench = Bench::new(&[Dccp, Dccp, Dccp]);
    bench.pump();
    assert_eq!(bench.state(0), PathState::Down);
    assert_eq!([1, 2].map(|i| bench.state(i)), [PathState::Waiting; 2]);
    bench.run(ms(200));
    assert_eq!([0, 1, 2].map(|i| bench.state(i)), [PathState::Up; 3]);
    let seen: Vec<_> = bench.events.iter().map(|(_, event)| *event).collect();
    assert_eq!(seen[0], ClientEvent::Connected);
    assert_eq!(bench.server.counters().joined, 2);
    assert_eq!(bench.client.counters().opened, 3);
}

/// Eight Requests remain unanswered on the first path, then the second one makes the connection.
#[test]
fn another_path_makes_the_connection_if_the_first_cannot() {
    let mut bench = Bench::new(&[Dccp, Dccp]);
    bench.roads[0].is_up = false;
    // 300 ms, then seven times 600 ms
    bench.run(ms(4_500));
    bench.run(DELAY * 4);
    assert_eq!(bench.state(1), PathState::Up);
    assert_ne!(bench.state(0), PathState::Up);
    bench.roads[0].is_up = true;
    bench.run(ms(3_000));
    assert_eq!(bench.state(0), PathState::Up);
    assert_eq!(bench.client.counters().connections, 1);
}

#[test]
fn a_path_without_an_interface_is_tried_at_its_interval() {
    let mut bench = Bench::new(&[Dccp, Dccp]);
    bench.roads[1].has_interface = false;
    bench.run(ms(9_000));
    let opens = bench.times_of(|action| action == Action::Open(SECOND));
    assert_eq!(opens.len(), 5);
    assert!(
        gaps(&opens)
            .iter()
            .all(|gap| *gap == times().retry_interval)
    );
    assert_eq!(bench.client.counters().failed, 5);
    // the interface is there: it need not wait
    bench.roads[1].has_interface = true;
    let now = bench.now;
    bench.client.on_network(now, SECOND, NetworkEvent::LinkUp);
    bench.run(DELAY * 5);
    assert_eq!(bench.state(1), PathState::Up);
}

#[test]
fn a_path_that_does_not_answer_gets_new_sockets_at_their_intervals() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    bench.roads[0].is_up = false;
    bench.run(ms(16_000));
    let down = bench
        .events
        .iter()
        .find(|(_, e)| *e == ClientEvent::PathDown(FIRST));
    let down = down.expect("it is down").0;
    let renewals = bench.times_of(|action| action == Action::Renew(FIRST));
    assert!(renewals.len() >= 3, "{renewals:?}");
    assert_eq!(renewals[0], down + times().renew_after);
    assert!(
        gaps(&renewals)
            .iter()
            .all(|gap| *gap == times().renew_interval)
    );
    assert!(
        !bench.has_seen(ClientEvent::GivenUp),
        "the other path works"
    );
    bench.roads[0].is_up = true;
    bench.run(ms(1_000));
    assert_eq!(bench.state(0), PathState::Up);
    let renewed = bench.client.counters().renewed;
    bench.run(ms(20_000));
    assert_eq!(bench.client.counters().renewed, renewed);
}

#[test]
fn a_connection_that_is_silent_is_given_up_and_begun_anew() {
    let mut bench = Bench::opened(&[Dccp]);
    bench.roads[0].is_up = false;
    bench.run(ms(20_000));
    let of = |event| {
        bench
            .events
            .iter()
            .find(|(_, e)| *e == event)
            .map(|(at, _)| *at)
    };
    let down = of(ClientEvent::PathDown(FIRST)).expect("it is down");
    let given_up = of(ClientEvent::GivenUp).expect("it is given up");
    assert_eq!(given_up, down + times().connection_timeout);
    bench.roads[0].is_up = true;
    bench.run(ms(3_000));
    assert_eq!(bench.state(0), PathState::Up);
    assert!(bench.works_within(ms(500)));
}

/// The server answers the path's probe, or a packet of a connection that it does not have, by a Reset.
#[test]
fn a_restarted_server_is_found_by_its_answer() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    bench.run(ms(3_000));
    bench.restart();
    assert!(bench.works_within(ms(8_000)));
    assert!(bench.has_seen(ClientEvent::ConnectionUnknown));
    let counters = bench.client.counters();
    assert_eq!((counters.unknown, counters.given_up), (1, 0));
}

/// Twenty restarts within two seconds: at most one new connection a second.
#[test]
fn connections_begin_no_two_times_within_their_interval() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    let before = bench.now;
    for _ in 0..20 {
        bench.restart();
        let now = bench.now;
        for id in [FIRST, SECOND] {
            bench.client.on_send_fault(now, id, SendFault::Refused);
        }
        bench.run(ms(100));
    }
    bench.run(ms(10_000));
    let begun = bench
        .events
        .iter()
        .filter(|(_, e)| *e == ClientEvent::Begun);
    let begun: Vec<_> = begun.map(|(at, _)| *at).collect();
    assert!(begun.len() >= 2, "{begun:?}");
    let elapsed = bench.now.saturating_since(before).as_secs_f64();
    assert!(begun.len() as f64 <= elapsed / times().connection_interval.as_secs_f64());
    assert!(bench.works_within(ms(500)));
}

#[test]
fn a_change_of_address_renews_the_socket_at_once_and_not_too_often() {
    let mut bench = Bench::opened(&[Dccp]);
    bench.run(ms(1_000));
    for _ in 0..10 {
        let now = bench.now;
        bench
            .client
            .on_network(now, FIRST, NetworkEvent::AddressChanged);
        bench.run(ms(50));
    }
    let renewals = bench.times_of(|action| action == Action::Renew(FIRST));
    assert_eq!(renewals[0], Instant::ZERO + ms(1_000 + 1_200));
    assert!(
        gaps(&renewals)
            .iter()
            .all(|gap| *gap >= times().reopen_interval)
    );
    assert!(renewals.len() <= 3, "{renewals:?}");
    bench.run(ms(500));
    assert_eq!(bench.state(0), PathState::Up);
    assert!(
        !bench.has_seen(ClientEvent::PathClosed(FIRST)),
        "it is the same path"
    );
}

/// A Sync leaves from the new socket at once, the server sends its question there, its answer has it follow, and with that
/// answer goes the Sync that it answers.
#[test]
fn a_socket_that_is_gone_costs_two_round_trips() {
    let mut bench = Bench::opened(&[Dccp]);
    bench.run(ms(1_000));
    let now = bench.now;
    bench
        .client
        .on_send_fault(now, FIRST, SendFault::SocketGone);
    bench.pump();
    assert_eq!(bench.state(0), PathState::Down);
    assert_eq!(
        bench.times_of(|action| action == Action::Renew(FIRST)),
        [now]
    );
    bench.run(DELAY * 4);
    assert_eq!(bench.state(0), PathState::Up);
    assert_eq!(bench.server.counters().moved, 1);
}

#[test]
fn a_link_that_goes_down_leaves_its_packets_to_the_others_at_once() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    bench.roads[0].is_up = false;
    let now = bench.now;
    bench.client.on_network(now, FIRST, NetworkEvent::LinkDown);
    bench.pump();
    assert_eq!(
        bench.events.last(),
        Some(&(now, ClientEvent::PathDown(FIRST)))
    );
    // it was down for an instant only
    bench.roads[0].is_up = true;
    bench.client.on_network(now, FIRST, NetworkEvent::LinkUp);
    bench.run(ms(600));
    assert_eq!(bench.state(0), PathState::Up);
}

#[test]
fn faults_that_go_on_cause_no_busy_loop() {
    let mut bench = Bench::opened(&[Dccp]);
    bench.roads[0].is_up = false;
    bench.roads[0].has_interface = false;
    for _ in 0..10_000 {
        let now = bench.now;
        for fault in [
            SendFault::SocketGone,
            SendFault::Unreachable,
            SendFault::Refused,
        ] {
            bench.client.on_send_fault(now, FIRST, fault);
        }
        bench.run(Duration::from_micros(100));
    }
    // at once, and then at its interval
    let renewals = bench.times_of(|action| action == Action::Renew(FIRST));
    assert_eq!(renewals.len(), 1, "{renewals:?}");
}

#[test]
fn a_tcp_connection_that_ends_is_opened_again_with_its_path() {
    let mut bench = Bench::opened(&[Stream, Dccp]);
    bench.run(ms(1_000));
    bench.roads[0].socket = None;
    let now = bench.now;
    bench.client.on_socket_lost(now, FIRST);
    bench.pump();
    assert_eq!(
        bench.events.last(),
        Some(&(now, ClientEvent::PathClosed(FIRST)))
    );
    let opens = bench.times_of(|action| action == Action::Open(FIRST));
    assert_eq!(opens.last(), Some(&now), "it had been up for long");
    bench.run(ms(200));
    assert_eq!(bench.state(0), PathState::Up);
    assert_eq!(bench.client.counters().connections, 1);
}

/// A path over TCP that does not answer ends, and with it its connection; datagrams would be renewed.
#[test]
fn a_tcp_connection_that_does_not_answer_is_replaced() {
    let mut bench = Bench::opened(&[Stream, Dccp]);
    bench.roads[0].is_up = false;
    // found by the keep-alive of 5 s, which is given 500 ms
    bench.run(ms(20_000));
    let down = bench
        .events
        .iter()
        .find(|(_, e)| *e == ClientEvent::PathDown(FIRST));
    let down = down.expect("it is down").0;
    let opens = bench.times_of(|action| action == Action::Open(FIRST));
    assert_eq!(opens[1], down + times().renew_interval);
    assert!(
        bench
            .times_of(|action| action == Action::Renew(FIRST))
            .is_empty()
    );
    bench.roads[0].is_up = true;
    bench.run(ms(6_000));
    assert_eq!(bench.state(0), PathState::Up);
}

#[test]
fn a_removed_path_is_closed_at_the_server_and_its_number_is_free() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    let now = bench.now;
    bench.client.remove_path(now, FIRST);
    assert_eq!(bench.client.paths().count(), 1);
    bench.run(DELAY * 3);
    let closes = bench.times_of(|action| action == Action::Close(FIRST));
    assert_eq!(closes, [now + DELAY * 2], "once the server has answered");
    assert!(bench.has_seen(ClientEvent::PathClosed(FIRST)));
    let (key, _) = bench.server.connections().next().expect("it lives");
    let tunnel = bench.server.tunnel(key).expect("it lives");
    let stats = tunnel.path_stats(now, crate::PathId(0)).expect("there");
    assert!(!stats.is_usable);
    let config = crate::tunnel::PathConfig::default();
    let now = bench.now;
    assert_eq!(bench.client.add_path(now, config, 6_511), Ok(FIRST));
    bench.run(ms(200));
    assert_eq!(bench.state(0), PathState::Up);
}

/// Without a path there is nothing to be given up, and nothing to wait for.
#[test]
fn a_client_without_paths_rests() {
    let mut bench = Bench::opened(&[Dccp]);
    let now = bench.now;
    bench.client.remove_path(now, FIRST);
    bench.run(ms(60_000));
    assert_eq!(bench.client.counters().connections, 1);
    let now = bench.now;
    let config = crate::tunnel::PathConfig::default();
    let added = bench.client.add_path(now, config, 6_511);
    assert_eq!(added, Ok(FIRST));
    assert!(bench.works_within(ms(3_000)));
}

#[test]
fn there_are_at_most_32_paths() {
    let mut bench = Bench::new(&[Dccp; 32]);
    let now = bench.now;
    let config = crate::tunnel::PathConfig::default();
    let error = bench.client.add_path(now, config, 6_511).expect_err("full");
    assert_eq!(error.to_string(), "there are 32 paths already");
}

#[test]
fn a_client_that_ends_opens_nothing_any_more() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    let now = bench.now;
    bench.client.close(now);
    bench.run(DELAY * 3);
    assert!(bench.client.is_closed());
    let opened = bench.client.counters().opened;
    bench.run(ms(60_000));
    assert_eq!(bench.client.counters().opened, opened);
    assert_eq!(bench.server.connections().count(), 0);
}

#[test]
fn another_key_begins_another_connection() {
    let mut bench = Bench::opened(&[Dccp, Dccp]);
    let now = bench.now;
    let same = super::bench::key();
    bench.client.set_shared(now, Some(same));
    assert_eq!(bench.client.counters().connections, 1);
    let other = crate::auth::PreSharedKey::new(b"another pre-shared key").expect("long enough");
    bench.client.set_shared(now, Some(other.clone()));
    bench.run(ms(3_000));
    assert!(bench.has_seen(ClientEvent::Begun));
    assert_eq!([0, 1].map(|i| bench.state(i) == PathState::Up), [false; 2]);
    assert_eq!(bench.server.connections().count(), 0, "it was ended");
    // the server gets it too
    let now = bench.now;
    bench.server.set_keys(now, vec![other], 100);
    bench.run(ms(15_000));
    assert_eq!([0, 1].map(|i| bench.state(i)), [PathState::Up; 2]);
}
