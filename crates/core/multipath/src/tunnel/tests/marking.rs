//! Paths with a scalable controller: their outer field, their marks, and networks that do not let them pass.

use super::*;

/// A tunnel whose paths have Prague, once both ends have agreed on it.
fn scalable() -> Pair {
    Pair::opened("cpf", TunnelConfig::default(), controller("prague"))
}

fn server(pair: &mut Pair) -> &mut Tunnel<Data> {
    pair.server.as_mut().expect("accepted")
}

#[test]
fn both_ends_agree_that_the_outer_field_is_the_paths_own() {
    let mut pair = scalable();
    for end in [&pair.client, pair.server.as_ref().expect("accepted")] {
        let own = end
            .paths
            .iter()
            .map(|path| (path.own_ecn.local, path.own_ecn.remote));
        assert!(
            own.clone().all(|own| own == (true, true)),
            "{:?}",
            own.collect::<Vec<_>>()
        );
    }
    let other = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    let is_own = |path: &Path<Data>| path.own_ecn.local || path.own_ecn.remote;
    assert!(!other.client.paths.iter().any(is_own));
    // whatever is inside
    for (number, inner) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
        .into_iter()
        .enumerate()
    {
        // Prague paces
        pair.now += Duration::from_millis(5);
        let now = pair.now;
        let data = Data {
            number: number as u64,
            bytes: 100,
            ecn: inner,
        };
        server(&mut pair).send(now, data).expect("there is room");
        let mut transmit = server(&mut pair).poll_transmit(now).expect("leaves");
        assert_eq!(transmit.ecn, Ecn::Ect1);
        transmit.ecn = Ecn::Ce;
        pair.down[0].offer(now, transmit);
    }
    pair.run(Duration::from_millis(100), 0);
    let out: Vec<Ecn> = pair.delivered.iter().map(|data| data.ecn).collect();
    assert_eq!(
        out,
        [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce],
        "as they came in"
    );
    let stats = pair.client.stats();
    assert_eq!(
        (stats.marked_without_ecn, stats.suspicious_ecn),
        Default::default()
    );
    let now = pair.now;
    let path = server(&mut pair)
        .path_stats(now, PathId(0))
        .expect("a path");
    assert_eq!(
        path.sender.marked,
        Packets::new(4),
        "the marks are the path's"
    );
}

/// One end has Prague, the other another controller: each direction is by itself.
#[test]
fn a_direction_without_a_scalable_controller_copies() {
    let mut pair = Pair::new("cpf", TunnelConfig::default(), controller("bbr2"));
    pair.server_path = Some(controller("prague"));
    pair.open(0);
    pair.open(1);
    pair.run(Duration::from_millis(300), 0);
    let own = |end: &Tunnel<Data>| (end.paths[0].own_ecn.local, end.paths[0].own_ecn.remote);
    assert_eq!(own(&pair.client), (false, true));
    assert_eq!(own(server(&mut pair)), (true, false));
}

/// A step of 1 ms: two paths of 50 Mbit/s are used well, nothing is lost, and what waits waits in the tunnel.
#[test]
fn a_queue_that_marks_is_kept_short() {
    let mut pair = scalable();
    for wire in &mut pair.down {
        wire.marks_beyond = Some(Duration::from_millis(1));
    }
    pair.run(Duration::from_secs(4), 100);
    let since = pair.delivered.len();
    for wire in &mut pair.down {
        wire.longest_wait = Duration::ZERO;
    }
    let time = Duration::from_secs(4);
    pair.run(time, 100);
    let goodput = pair.delivered_mbps(since, time);
    // 1,400 bytes in 240 us, twice
    assert!((80.0..=93.4).contains(&goodput), "{goodput}");
    for wire in &pair.down {
        assert!(
            wire.longest_wait < Duration::from_millis(6),
            "{:?}",
            wire.longest_wait
        );
        assert!(wire.marked > 20, "{}", wire.marked);
    }
    let now = pair.now;
    for path in [PathId(0), PathId(1)] {
        let stats = server(&mut pair)
            .path_stats(now, path)
            .expect("a path")
            .sender;
        assert_eq!(stats.lost, Packets::ZERO);
        assert!(stats.marked >= Packets::new(20) && stats.marked_windows > Packets::new(10));
    }
    assert!(pair.delivered.iter().all(|data| data.ecn == Ecn::NotEct));
}

/// Where the field is cleared on the way no mark comes: losses govern the window, as with NewReno.
#[test]
fn without_marks_losses_govern_the_window() {
    let mut pair = scalable();
    for wire in &mut pair.down {
        wire.loses = 400;
    }
    pair.run(Duration::from_secs(3), 100);
    let now = pair.now;
    let stats = server(&mut pair)
        .path_stats(now, PathId(0))
        .expect("a path")
        .sender;
    assert_eq!(stats.marked, Packets::ZERO);
    assert!(stats.recoveries > Packets::new(3), "{stats:?}");
    assert!(pair.delivered.len() > 2_000);
}

#[test]
fn a_network_that_drops_what_is_ecn_capable_gets_what_is_not() {
    let mut pair = scalable();
    for wire in &mut pair.down {
        wire.drops_ect = true;
    }
    pair.run(Duration::from_secs(3), 20);
    assert!(
        pair.down
            .iter()
            .all(|wire| wire.last_ecn == Some(Ecn::NotEct))
    );
    assert!(pair.delivered.len() > 2_000, "{}", pair.delivered.len());
    // one that begins later is a loss like others
    let mut pair = scalable();
    pair.run(Duration::from_secs(1), 20);
    for wire in &mut pair.down {
        wire.is_cut = true;
    }
    pair.run(Duration::from_secs(1), 20);
    for wire in &mut pair.down {
        wire.is_cut = false;
    }
    pair.run(Duration::from_secs(2), 20);
    assert!(
        pair.down
            .iter()
            .all(|wire| wire.last_ecn == Some(Ecn::Ect1))
    );
}

/// RFC 6040 figures 3 and 4 through the tunnel, for latency-sensitive packets, which have a way of their own, and for
/// others: the field is copied on the way in, and what a queue on the way has set comes out.
#[test]
fn the_field_of_every_class_is_copied_in_and_marks_come_out() {
    let fields = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for bytes in [300, 1_400] {
        let mut pair = Pair::opened("deadline", TunnelConfig::default(), controller("newreno"));
        for (row, inner) in fields.into_iter().enumerate() {
            for (column, outer) in [inner, Ecn::Ce].into_iter().enumerate() {
                pair.now += Duration::from_millis(5);
                let now = pair.now;
                let data = Data {
                    number: (row * 2 + column) as u64,
                    bytes,
                    ecn: inner,
                };
                server(&mut pair).send(now, data).expect("there is room");
                let mut transmit = server(&mut pair).poll_transmit(now).expect("leaves");
                assert_eq!(transmit.ecn, inner, "normal mode copies");
                transmit.ecn = outer;
                let path = usize::from(transmit.path.0);
                pair.down[path].offer(now, transmit);
                assert_eq!(server(&mut pair).poll_transmit(now).map(|_| ()), None);
                pair.run(Duration::from_millis(60), 0);
            }
        }
        let out: Vec<(u64, Ecn)> = pair.delivered.iter().map(|d| (d.number, d.ecn)).collect();
        let expected = [
            (0, Ecn::NotEct), // the one that was marked and is not ECN-capable is dropped
            (2, Ecn::Ect0),
            (3, Ecn::Ce),
            (4, Ecn::Ect1),
            (5, Ecn::Ce),
            (6, Ecn::Ce),
            (7, Ecn::Ce),
        ];
        assert_eq!(out, expected, "{bytes}");
        let stats = pair.client.stats();
        assert_eq!(
            (stats.marked_without_ecn.get(), stats.suspicious_ecn.get()),
            (1, 1)
        );
        let unordered = if bytes == 300 { 7 } else { 0 };
        assert_eq!(stats.latency.unordered, Packets::new(unordered));
    }
}

/// The same upwards: both ends copy and pass on.
#[test]
fn the_field_of_what_the_client_sends_is_copied_in_and_marks_come_out() {
    let mut pair = Pair::opened("aware", TunnelConfig::default(), controller("newreno"));
    let fields = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let mut out = Vec::new();
    for inner in fields {
        for outer in [inner, Ecn::Ce] {
            pair.now += Duration::from_millis(5);
            let now = pair.now;
            let data = Data {
                number: 0,
                bytes: 1_400,
                ecn: inner,
            };
            pair.client.send(now, data).expect("there is room");
            let mut transmit = pair.client.poll_transmit(now).expect("leaves");
            assert_eq!(transmit.ecn, inner, "normal mode copies");
            transmit.ecn = outer;
            let path = usize::from(transmit.path.0);
            pair.up[path].offer(now, transmit);
            pair.run(Duration::from_millis(60), 0);
            let now = pair.now;
            let came = server(&mut pair).poll_delivery(now);
            out.push(came.map(|data| data.ecn));
        }
    }
    let marked = Some(Ecn::Ce);
    let expected = [
        [Some(Ecn::NotEct), None],
        [Some(Ecn::Ect0), marked],
        [Some(Ecn::Ect1), marked],
        [marked, marked],
    ];
    assert_eq!(out, expected.concat());
    assert_eq!(server(&mut pair).stats().marked_without_ecn.get(), 1);
}

/// A tunnel with CoDel before its paths, which always has packets of this field waiting, for two seconds.
fn waiting_long(ecn: Ecn) -> Pair {
    let mut pair = Pair::new("aware", TunnelConfig::default(), controller("newreno"));
    pair.config.scheduler_queue = BufferQueue::CoDel;
    pair.backlog_ecn = ecn;
    pair.open(0);
    pair.open(1);
    pair.run(Duration::from_millis(300), 0);
    pair.run(Duration::from_secs(2), 400);
    pair.run(Duration::from_secs(1), 0);
    assert!(server(&mut pair).waiting.is_empty());
    pair
}

/// What waits too long for a path is signalled: by a mark inside, which the outer field copies and the other end passes on.
#[test]
fn what_waits_too_long_for_a_path_is_marked_inside_and_outside() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let mut pair = waiting_long(ecn);
        let marked = pair.delivered.iter().filter(|data| data.ecn == Ecn::Ce);
        let marked = Packets::new(marked.count() as u64);
        let stats = server(&mut pair).stats();
        assert!(marked > Packets::new(3), "{marked}");
        assert_eq!(
            (stats.bulk.marked, stats.bulk.dropped),
            (marked, Packets::ZERO)
        );
        assert_eq!(stats.bulk.packets.get(), pair.delivered.len() as u64);
        let others = pair.delivered.iter().filter(|data| data.ecn != Ecn::Ce);
        assert!(others.clone().all(|data| data.ecn == ecn));
        let (marked_drops, suspicious) = {
            let stats = pair.client.stats();
            (stats.marked_without_ecn, stats.suspicious_ecn)
        };
        assert_eq!((marked_drops, suspicious), (Packets::ZERO, Packets::ZERO));
        // what was marked before it left is no signal of its path
        let now = pair.now;
        for path in [PathId(0), PathId(1)] {
            let stats = server(&mut pair).path_stats(now, path).expect("a path");
            assert_eq!(stats.sender.marked, Packets::ZERO);
        }
    }
}

#[test]
fn what_waits_too_long_and_cannot_be_marked_is_dropped_before_it_has_a_number() {
    let mut pair = waiting_long(Ecn::NotEct);
    let stats = server(&mut pair).stats();
    assert!(stats.bulk.dropped > Packets::new(3) && stats.bulk.marked == Packets::ZERO);
    assert_eq!(stats.bulk.dropped, stats.dropped);
    let came = pair.delivered.len() as u64;
    assert_eq!(stats.bulk.packets.get(), came);
    assert_eq!(came + stats.bulk.dropped.get(), pair.next);
    assert!(pair.delivered.iter().all(|data| data.ecn == Ecn::NotEct));
}
