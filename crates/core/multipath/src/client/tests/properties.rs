//! Whatever goes wrong: a client whose path works again is connected, and it has not attempted too much.

use super::bench::Bench;
use crate::client::{Action, ClientEvent, ClientPathId, NetworkEvent, SendFault, Supervision};
use crate::tunnel::Carrier;
use proptest::prelude::*;
use units::Duration;

/// Something that goes wrong, on that path.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Cut(usize),
    Mend(usize),
    /// The interface is gone or back, and the kernel reports it.
    Interface(usize, bool),
    Rebind(usize),
    SocketGone(usize),
    Unreachable(usize),
    /// Requests and Responses are lost, or pass again.
    Handshakes(usize, bool),
    /// The TCP connection ends.
    Lose(usize),
    Routes(usize),
    Restart,
}

const PATHS: usize = 3;
const CARRIERS: [Carrier; PATHS] = [Carrier::Dccp, Carrier::Dccp, Carrier::Stream];

fn faults() -> impl Strategy<Value = Vec<(Fault, u64)>> {
    let path = || 0..PATHS;
    let fault = prop_oneof![
        3 => path().prop_map(Fault::Cut),
        3 => path().prop_map(Fault::Mend),
        2 => (path(), any::<bool>()).prop_map(|(path, is)| Fault::Interface(path, is)),
        2 => (0..2usize).prop_map(Fault::Rebind),
        1 => (0..2usize).prop_map(Fault::SocketGone),
        1 => path().prop_map(Fault::Unreachable),
        2 => (path(), any::<bool>()).prop_map(|(path, is)| Fault::Handshakes(path, is)),
        1 => Just(Fault::Lose(2)),
        1 => path().prop_map(Fault::Routes),
        2 => Just(Fault::Restart),
    ];
    // how long until the next one, ms: mostly short
    let wait = prop_oneof![3 => 0u64..300, 2 => 300u64..3_000, 1 => 3_000u64..20_000];
    prop::collection::vec((fault, wait), 1..40)
}

fn apply(bench: &mut Bench, fault: Fault) {
    let now = bench.now;
    let id = |index: usize| ClientPathId(index as u16);
    match fault {
        Fault::Cut(index) => bench.roads[index].is_up = false,
        Fault::Mend(index) => bench.roads[index].is_up = true,
        Fault::Interface(index, is_there) => {
            bench.roads[index].has_interface = is_there;
            bench.roads[index].is_up = is_there;
            let event = match is_there {
                true => NetworkEvent::LinkUp,
                false => NetworkEvent::LinkDown,
            };
            bench.client.on_network(now, id(index), event);
        }
        Fault::Rebind(index) => bench.rebind(index),
        Fault::SocketGone(index) => {
            // nothing arrives at it any more either
            bench.rebind(index);
            bench
                .client
                .on_send_fault(now, id(index), SendFault::SocketGone);
        }
        Fault::Unreachable(index) => {
            bench
                .client
                .on_send_fault(now, id(index), SendFault::Unreachable);
        }
        Fault::Handshakes(index, pass) => bench.roads[index].loses_handshakes = !pass,
        Fault::Lose(index) => {
            if bench.roads[index].socket.take().is_some() {
                bench.client.on_socket_lost(now, id(index));
            }
        }
        Fault::Routes(index) => {
            bench
                .client
                .on_network(now, id(index), NetworkEvent::RouteChanged);
        }
        Fault::Restart => bench.restart(),
    }
}

fn mend(bench: &mut Bench, index: usize) {
    let road = &mut bench.roads[index];
    road.is_up = true;
    road.has_interface = true;
    road.loses_handshakes = false;
}

/// What a client may attempt within a time: for each path an attempt each `reopen_interval`, and one
/// more for each new connection and each report of the network.
fn check_budgets(
    bench: &Bench,
    since: units::Instant,
    reports: usize,
) -> Result<(), TestCaseError> {
    let times = Supervision::default();
    let elapsed = bench.now.saturating_since(since).as_secs_f64();
    let within = |interval: Duration| (elapsed / interval.as_secs_f64()) as usize + 1;
    let begun = bench
        .events
        .iter()
        .filter(|(_, e)| *e == ClientEvent::Begun)
        .count();
    prop_assert!(
        begun <= within(times.connection_interval),
        "{begun} connections"
    );
    for index in 0..PATHS {
        let id = ClientPathId(index as u16);
        let is_it = |action| action == Action::Open(id) || action == Action::Renew(id);
        let attempts = bench.times_of(is_it).len();
        let max = within(times.reopen_interval) + begun + reports;
        prop_assert!(
            attempts <= max,
            "{attempts} of {max} attempts on path {index}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// One path works in the end, whichever. `Bench::run` has checked that deadlines lie ahead.
    #[test]
    fn a_client_recovers_once_a_path_works(faults in faults(), mended in 0..PATHS) {
        let mut bench = Bench::new(&CARRIERS);
        let since = bench.now;
        for (fault, wait) in &faults {
            apply(&mut bench, *fault);
            bench.run(Duration::from_millis(*wait));
        }
        mend(&mut bench, mended);
        // a connection that is silent is given up after 12 s; then an attempt, and a handshake on a path
        // that does not work before the one on the path that does: 4.5 s each
        prop_assert!(bench.works_within(Duration::from_secs(30)), "{:?}", bench.events);
        check_budgets(&bench, since, faults.len())?;
    }

    /// Nothing works for minutes: the client's attempts stay within their budget, and it recovers.
    #[test]
    fn a_long_outage_costs_attempts_at_their_intervals(minutes in 1u64..10, has_interface: bool) {
        let mut bench = Bench::opened(&CARRIERS);
        for index in 0..PATHS {
            bench.roads[index].is_up = false;
            bench.roads[index].has_interface = has_interface;
        }
        let since = bench.now;
        let before = bench.actions.len();
        bench.run(Duration::from_secs(60 * minutes));
        let times = Supervision::default();
        // an attempt opens or renews, and most of them close as well
        let slowest = times.retry_interval.min(times.renew_interval);
        let each = bench.now.saturating_since(since).as_secs_f64() / slowest.as_secs_f64();
        let max = (2.0 * each + 20.0) as usize * PATHS;
        let attempts = bench.actions.len() - before;
        prop_assert!(attempts <= max, "{attempts} of {max}");
        mend(&mut bench, 0);
        prop_assert!(bench.works_within(Duration::from_secs(30)), "{:?}", bench.events);
    }
}
