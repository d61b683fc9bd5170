//! Paths that carry packets up to a size, which is not known at first.

use super::*;
use crate::mtu::{DiscoveryConfig, DiscoveryState};
use proptest::prelude::*;

/// What a shell puts around a packet that it seals.
const SEALED: u64 = 28;

/// The size of a packet's datagram.
pub(super) fn datagram(transmit: &Transmit<Data>) -> u64 {
    let mut header = Vec::new();
    let length = crate::packet::encode(&transmit.packet, &mut header).expect("a packet of ours");
    let payload = transmit.payload.as_ref().map_or(0, Payload::len);
    let own = (length + payload) as u64 + SEALED;
    transmit.size.map_or(own, |size| size.get().max(own))
}

fn found(max: u64) -> PathConfig {
    PathConfig {
        mtu: PathMtu::Found(DiscoveryConfig {
            min: Bytes::new(1_232),
            base: Bytes::new(1_356),
            max: Bytes::new(max),
        }),
        around: Bytes::new(48 + SEALED),
        ..controller("bbr")
    }
}

/// A pair whose paths carry so much both ways, and whose source follows what its end states.
fn pair(max: u64, carries: [u64; 2]) -> Pair {
    let mut pair = Pair::new("aware", TunnelConfig::default(), found(max));
    pair.bytes = None;
    for (index, carries) in carries.into_iter().enumerate() {
        pair.up[index].carries = carries;
        pair.down[index].carries = carries;
    }
    pair.open(0);
    pair.open(1);
    pair
}

impl Pair {
    fn server(&self) -> &Tunnel<Data> {
        self.server.as_ref().expect("accepted")
    }

    fn found(&self, index: u8) -> (u64, DiscoveryState) {
        let stats = self.server().path_stats(self.now, PathId(index));
        let mtu = stats.expect("a path").mtu;
        (
            mtu.size.expect("a limit").get(),
            mtu.state.expect("a search"),
        )
    }

    /// Until both of the server's searches are through and at what the paths carry.
    fn search(&mut self, max: u64, backlog: usize) {
        for _ in 0..600 {
            self.run(Duration::from_millis(50), backlog);
            let is_found = |index: usize| {
                let carries = self.down[index].carries.min(max);
                self.found(index as u8) == (carries, DiscoveryState::SearchComplete)
            };
            if is_found(0) && is_found(1) {
                return;
            }
        }
        panic!("{:?} {:?}", self.found(0), self.found(1));
    }
}

#[test]
fn both_paths_are_searched_and_the_lesser_of_them_counts() {
    let mut pair = pair(8_972, [8_972, 1_432]);
    pair.run(Duration::from_millis(100), 0);
    let first = pair.server().inner_mtu().expect("a limit");
    assert_eq!(first.size.get(), 8_972 - 76, "nothing has been lost");
    pair.search(8_972, 20);
    let inner = pair.server().inner_mtu().expect("a limit");
    assert_eq!((inner.size.get(), inner.is_settled), (1_432 - 76, true));
    // what is sent by it arrives by both paths
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(2), 50);
    assert!(pair.delivered.len() > since);
    assert!(
        pair.delivered[since + 1_000..]
            .iter()
            .all(|data| data.bytes == 1_432 - 76)
    );
}

#[test]
fn a_probe_that_is_lost_is_no_congestion() {
    let mut pair = pair(8_972, [1_432; 2]);
    pair.search(8_972, 0);
    for path in &pair.server().paths {
        let counters = path.sender.counters();
        assert_eq!(
            (counters.lost, counters.recoveries),
            (Packets::ZERO, Packets::ZERO)
        );
        assert!(path.limit.stats().counters.lost > 10);
    }
}

#[test]
fn a_packet_that_is_too_large_for_a_path_goes_by_another_or_comes_back() {
    let mut pair = Pair::new(
        "aware",
        TunnelConfig::default(),
        PathConfig {
            mtu: PathMtu::Fixed(Bytes::new(1_472)),
            around: Bytes::new(76),
            ..controller("bbr")
        },
    );
    pair.open(0);
    pair.open(1);
    pair.run(Duration::from_millis(300), 0);
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    server.on_link_mtu(now, PathId(0), Bytes::new(1_300));
    assert_eq!(server.inner_mtu().expect("a limit").size, Bytes::new(1_224));
    pair.bytes = Some(1_396);
    pair.run(Duration::from_secs(1), 20);
    assert!(pair.delivered.len() > 1_000 && pair.too_big.is_empty());
    let sent = |pair: &Pair, index: usize| pair.server().paths[index].counters.sent;
    assert_eq!(sent(&pair, 0), Packets::ZERO);
    // smaller ones go by both
    pair.bytes = Some(1_224);
    pair.run(Duration::from_secs(1), 20);
    assert!(sent(&pair, 0) > Packets::new(100));
    // and what no path takes comes back, while the others go on
    let delivered = pair.delivered.len();
    pair.bytes = Some(1_397);
    pair.run(Duration::from_millis(100), 20);
    assert!(pair.too_big.iter().all(|data| data.bytes == 1_397) && !pair.too_big.is_empty());
    pair.bytes = Some(1_396);
    pair.run(Duration::from_secs(1), 20);
    assert!(pair.delivered.len() > delivered + 500);
    assert!(pair.delivered.iter().all(|data| data.bytes <= 1_396));
    let stats = pair.server().stats();
    assert!(stats.too_big >= Packets::new(pair.too_big.len() as u64));
}

#[test]
fn what_waits_on_a_path_that_takes_less_goes_by_the_other() {
    let mut pair = Pair::opened(
        "cpf",
        TunnelConfig::default(),
        PathConfig {
            mtu: PathMtu::Fixed(Bytes::new(1_472)),
            around: Bytes::new(76),
            ..controller("bbr")
        },
    );
    pair.bytes = Some(1_396);
    pair.run(Duration::from_millis(500), 100);
    let queued = |pair: &Pair| pair.server().paths[0].queue.len();
    for _ in 0..20_000 {
        pair.run(Duration::from_micros(50), 100);
        if queued(&pair) > 0 {
            break;
        }
    }
    assert!(queued(&pair) > 0);
    let now = pair.now;
    let server = pair.server.as_mut().expect("accepted");
    server.on_link_mtu(now, PathId(0), Bytes::new(1_300));
    assert_eq!(queued(&pair), 0);
    pair.run(Duration::from_secs(1), 100);
    let last = pair.next - pair.server().waiting.len() as u64;
    pair.run(Duration::from_secs(2), 0);
    let mut numbers: Vec<u64> = pair.delivered.iter().map(|data| data.number).collect();
    numbers.sort_unstable();
    assert!(
        numbers.iter().copied().eq(1..=numbers.len() as u64),
        "none is lost"
    );
    assert!(numbers.len() as u64 >= last);
}

#[test]
fn a_path_that_takes_less_while_a_download_runs_is_found_and_the_download_goes_on() {
    let mut pair = pair(1_472, [1_472; 2]);
    pair.search(1_472, 20);
    pair.run(Duration::from_secs(1), 50);
    pair.down[0].carries = 1_372;
    let mut silent = 0;
    for _ in 0..100 {
        let before = pair.delivered.len();
        pair.run(Duration::from_millis(50), 50);
        silent = if pair.delivered.len() > before {
            0
        } else {
            silent + 1
        };
        assert!(silent < 20, "no packet for a second");
    }
    pair.search(1_472, 50);
    let black_holes = pair.server().paths[0].limit.stats().counters.black_holes;
    assert_eq!(black_holes, 1);
    assert_eq!(
        pair.server().inner_mtu().expect("a limit").size,
        Bytes::new(1_372 - 76)
    );
}

/// The other end need not search, nor have anything of it: it answers Syncs.
#[test]
fn an_end_that_does_not_search_answers_probes() {
    let mut pair = pair(1_472, [1_400; 2]);
    pair.server_path = Some(found(1_472));
    pair.client = Tunnel::client(
        TunnelConfig::default(),
        scheduler::build("aware").expect("known"),
        None,
        1,
    );
    pair.path = controller("bbr");
    pair.open(0);
    pair.open(1);
    pair.search(1_472, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]
    /// Whatever two paths carry, with losses, and whatever one of them falls to while packets flow: the searches end there,
    /// and the traffic goes on.
    #[test]
    fn any_mtu_is_found_and_traffic_goes_on(
        max in 1_400u64..=8_972,
        carries in prop::array::uniform2(1_356u64..=8_972),
        falls_to in 1_240u64..=8_972,
        loses in prop::sample::select(vec![0u64, 0, 200, 60]),
    ) {
        let mut pair = pair(max, carries);
        for wire in pair.down.iter_mut().chain(&mut pair.up) {
            wire.loses = loses;
        }
        pair.search(max, 8);
        pair.down[0].carries = falls_to.min(carries[0]);
        // if no packet is too large, none shows that the path carries less
        let fits = |pair: &Pair| {
            let (size, state) = pair.found(0);
            let sent = pair.server().inner_mtu().map_or(0, |mtu| mtu.size.get() + 76);
            let carries = pair.down[0].carries.min(max);
            sent <= carries || (size, state) == (carries, DiscoveryState::SearchComplete)
        };
        for _ in 0..600 {
            pair.run(Duration::from_millis(50), 8);
            if fits(&pair) {
                break;
            }
        }
        prop_assert!(fits(&pair), "{:?}", pair.found(0));
        let since = pair.delivered.len();
        pair.run(Duration::from_secs(1), 8);
        prop_assert!(pair.delivered.len() > since + 50);
    }
}
