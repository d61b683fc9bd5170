//! A UE leaves the cell and comes back.

use crate::harness::*;
use proptest::prelude::*;
use ran::{CellConfig, UeIndex};
use units::{Duration, Prb};

fn ids(packets: impl IntoIterator<Item = Pkt>) -> Vec<u64> {
    packets.into_iter().map(|packet| packet.id).collect()
}

proptest! {
    #[test]
    fn all_that_is_not_delivered_is_handed_out_once_and_in_order(
        lte in any::<bool>(),
        is_um in any::<bool>(),
        bler in 0.0f64..0.6,
        count in 1u64..200,
        leaves_at_us in 0u64..40_000,
        seed in 0u64..1_000,
    ) {
        let config = match lte {
            true => CellConfig::lte(Prb::new(25)),
            false => CellConfig::nr(1, Prb::new(51)),
        };
        let bearer = || match is_um {
            true => um(&config, Duration::from_millis(20)),
            false => am(&config),
        };
        let ues = (1..3).map(|rnti| ue(rnti, Fixed(mcs(10, bler)), vec![bearer()]));
        let mut bench = Bench::new(config.clone(), ues.collect(), seed);
        for n in 0..count {
            let at = at_us(n * 100);
            bench.run(at);
            bench.down(at, 0, 0, 1_000);
            bench.up(at, 0, 0, 200);
            bench.down(at, 1, 0, 1_000);
        }
        let leaves = at_us(count * 100 + leaves_at_us);
        bench.run(leaves);
        let left = bench.cell.let_go(leaves, UeIndex(0));
        prop_assert!(!bench.cell.serves(UeIndex(0)));
        bench.cell.check_conservation().unwrap();
        prop_assert_eq!(bench.cell.report(leaves).ues.len(), 1);
        // in each direction what has arrived, was dropped and was handed out is all, each once
        for (number, of) in [&left[0].downlink, &left[0].uplink].into_iter().enumerate() {
            let direction = [ran::Direction::Downlink, ran::Direction::Uplink][number];
            let handed = ids(of.sent.iter().map(|sent| sent.packet).chain(of.waiting.clone()));
            prop_assert!(handed.is_sorted_by(|a, b| a < b), "{:?}", handed);
            let arrived = bench.arrived.iter().filter(|it| it.ue == UeIndex(0) && it.direction == direction);
            let mut all = ids(arrived.map(|it| it.packet));
            let dropped = bench.dropped.iter().filter(|it| it.0 == UeIndex(0) && it.1 == direction);
            all.extend(ids(dropped.map(|it| it.2)));
            all.extend(handed);
            all.sort_unstable();
            prop_assert_eq!(all.len() as u64, count);
            all.dedup();
            prop_assert_eq!(all.len() as u64, count);
        }
        // the other goes on, and the one that comes back is served as before
        let back = leaves + Duration::from_millis(50);
        bench.run(back);
        bench.cell.take_in(back, UeIndex(0));
        let before = bench.arrived.len();
        bench.down(back, 0, 0, 1_000);
        bench.up(back, 0, 0, 200);
        bench.run(back + Duration::from_secs(3));
        bench.cell.check_conservation().unwrap();
        let of_first = bench.arrived[before..].iter().filter(|it| it.ue == UeIndex(0));
        let lost = bench.dropped.iter().filter(|it| it.2.sent_at == back).count();
        prop_assert_eq!(of_first.count() + lost, 2);
        prop_assert_eq!(bench.cell.report(back + Duration::from_secs(3)).ues.len(), 2);
    }
}

#[test]
fn what_the_receiver_has_is_marked_among_what_was_sent() {
    // blocks fail often, so that some packets wait for others at the UE
    let config = CellConfig::lte(Prb::new(25));
    let bearers = vec![am(&config)];
    let one = ue(1, Fixed(mcs(10, 0.5)), bearers);
    let mut bench = Bench::new(config, vec![one], 5);
    let mut seen = [false; 2];
    for n in 0..400 {
        let at = at_us(n * 500);
        bench.run(at);
        bench.down(at, 0, 0, 1_000);
        if n % 40 == 39 {
            let left = bench.cell.let_go(at, UeIndex(0));
            let sent = &left[0].downlink.sent;
            for packet in sent {
                seen[usize::from(packet.is_received)] = true;
            }
            // the first is missing: otherwise it would have been delivered
            assert!(sent.first().is_none_or(|first| !first.is_received));
            bench.cell.take_in(at, UeIndex(0));
        }
    }
    assert_eq!(seen, [true; 2]);
}
