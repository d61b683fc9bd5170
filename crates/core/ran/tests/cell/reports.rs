//! Radio reports.

use crate::harness::*;
use radio::Link;
use ran::{BearerConfig, CellConfig};
use rnis::{LinkQuality, RadioReport, Rnti};
use units::{BitRate, Bytes, Cqi, Instant, Mcs, Prb, Slot};

fn two_ues() -> Bench {
    let config = CellConfig::nr(1, Prb::new(51));
    let (a, b) = (am(&config), am(&config));
    let ues = vec![
        ue(70, Fixed(mcs(20, 0.1)), vec![a]),
        ue(61, Fixed(mcs(9, 0.0)), vec![b]),
    ];
    Bench::new(config, ues, 1)
}

#[test]
fn a_report_states_what_was_allocated() {
    let mut bench = two_ues();
    bench.saturate(Instant::ZERO, at_ms(100), &[0, 1], 60_000, 1480);
    let first = bench.cell.report(at_ms(100));
    bench.saturate(at_ms(100), at_ms(200), &[0, 1], 60_000, 1480);
    let report = bench.cell.report(at_ms(200));
    for report in [&first, &report] {
        report.check().unwrap();
    }
    assert_eq!(report.cell.slots, 200);
    assert_eq!(report.cell.n_prb, Prb::new(51));
    assert_eq!(report.cell.slot, Slot::new(399));
    assert!((report.cell.downlink_share - 1.0).abs() < 1e-12);
    // ascending RNTIs
    assert_eq!(
        report.ues.iter().map(|ue| ue.rnti).collect::<Vec<_>>(),
        [Rnti(61), Rnti(70)]
    );
    let prbs: u16 = report.ues.iter().map(|ue| ue.prb_dl.get()).sum();
    // 51 PRBs, and each of the two means is rounded by half a PRB at most
    assert!((50..=52).contains(&prbs), "{prbs}");
    let [b, a] = [&report.ues[0], &report.ues[1]];
    assert!(matches!(a.quality, LinkQuality::Mcs { mcs, layers: 1, .. } if mcs == Mcs::new(20)));
    assert_eq!(
        (a.cqi, a.timestamp, a.seq, first.ues[1].seq),
        (Cqi::new(15), at_ms(200), 1, 0)
    );
    assert!(a.harq_retx > 0 && b.harq_retx == 0);
    assert!(a.harq_processes > 0);
    // Before each slot the UE is filled to 60,000 B or up to a packet of 1,480 B more. Of those the
    // last slot takes a block at most, and what replaced the blocks of the two slots before may still
    // be above the RLC (downlink processing takes a slot), a packet more for rounding up. The largest
    // block: MCS 20 (TS 38.214 Table 5.1.3.1-1: 6 bit times 567/1024), 144 resource elements, 51 PRBs.
    let block = 6 * 567 * 144 * 51 / 1024 / 8;
    let queue = a.rlc_queue_bytes.get();
    let again = bench.cell.stats().ues[0].bearers[0]
        .downlink
        .rlc_retransmitted
        .get();
    assert!(queue >= 60_000 - 3 * block - 1_480, "{queue}");
    assert!(queue < 60_000 + 1_480 + again, "{queue} {again}");
    // Served payload is what transport blocks carry without headers and padding. With half of the band
    // (MCS 9: 2 bit times 679/1024; 608 B) a block has 1.41 segments, each with headers of 8 B at most,
    // and 0.41 packets, each with 4 B of PDCP and SDAP: 13 B, 2.1 %.
    // A block is padded only where no more than a header is left.
    let share = b.served_bytes.ratio(b.tbs_bytes);
    assert!((0.97..1.0).contains(&share), "{share}");
}

#[test]
fn the_queue_of_each_of_several_bearers_is_reported() {
    let config = CellConfig::nr(1, Prb::new(51));
    let of = |qfis: Vec<u8>| BearerConfig {
        qfis,
        ..am(&config)
    };
    let ues = vec![
        ue(61, Fixed(mcs(9, 0.0)), vec![am(&config)]),
        ue(70, Fixed(mcs(9, 0.0)), vec![of(vec![]), of(vec![7])]),
    ];
    let mut bench = Bench::new(config, ues, 1);
    bench.saturate(Instant::ZERO, at_ms(100), &[0, 1], 60_000, 1480);
    let report = bench.cell.report(at_ms(100));
    let [one, two] = [&report.ues[0], &report.ues[1]];
    assert_eq!(one.bearers, [], "the sum is its queue");
    assert!(one.rlc_queue_bytes > Bytes::ZERO);
    let [first, second] = two.bearers[..] else {
        panic!("{:?}", two.bearers);
    };
    assert_eq!((first.id, second.id), (1, 2));
    // the packets are of the QoS flow that the second does not take
    assert_eq!(first.queue_bytes, two.rlc_queue_bytes);
    assert!(first.queue_bytes > Bytes::ZERO && second.queue_bytes == Bytes::ZERO);
}

#[test]
fn served_and_queued_bytes_account_for_all() {
    let mut bench = two_ues();
    let mut report: Option<RadioReport> = None;
    let mut served = Bytes::ZERO;
    for ms in 0..100 {
        bench.down(at_ms(ms), 0, 0, 20_000);
        bench.run(at_ms(ms));
        match &mut report {
            None => report = Some(bench.cell.report(at_ms(ms))),
            Some(report) => bench.cell.report_into(at_ms(ms), report),
        }
        let ue = &report.as_ref().unwrap().ues[1];
        served += ue.served_bytes;
        let stats = bench.cell.stats().ues[0].bearers[0].downlink;
        let sent = stats.received.bytes - stats.core.bytes;
        assert_eq!(served + ue.rlc_queue_bytes, sent, "{ms} ms");
    }
}

#[test]
fn recorded_capacity_is_reported_as_measured() {
    let config = CellConfig::lte(Prb::new(50));
    let bearer = am(&config);
    let link = Link::Opportunity {
        bytes: Bytes::new(1500),
        mean_rate: BitRate::from_mbps(9),
    };
    let mut bench = Bench::new(config, vec![ue(1, Fixed(link), vec![bearer])], 1);
    let report = bench.cell.report(at_ms(500));
    // 9 Mbit/s are 1125 B each millisecond
    let expected = LinkQuality::Measured {
        full_band_millibytes: 1_125_000,
    };
    assert_eq!(report.ues[0].quality, expected);
    assert_eq!(
        (report.cell.slots, report.ues[0].prb_dl),
        (500, Prb::new(0))
    );
    report.check().unwrap();
}
