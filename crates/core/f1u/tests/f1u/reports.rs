//! Radio reports of what passed.

use crate::common::{World, acknowledged, at_ms, at_us, cell_config, fading, profile, ue_address};
use rnis::LinkQuality;
use rnis::intake::CheckedReport;
use units::{Bytes, Slot};

#[test]
fn reports_state_queues_rates_and_what_was_served() {
    let config = cell_config();
    let bearer = acknowledged(&config);
    let channels = vec![fading(18.0, 5.0, 1), fading(18.0, 5.0, 2)];
    let mut world = World::new(config, channels, &bearer);
    let (mut served, mut reports, mut last_slot) = ([Bytes::ZERO; 2], 0, Slot::new(0));
    for slot in 0..8_000_u64 {
        let now = at_us(slot * 500);
        if slot < 6_000 {
            for ue in 0..2 {
                world.send(now, ue, if slot % 2 == 0 { 1_400 } else { 600 });
            }
        }
        world.run(now);
        if slot % 20 != 19 {
            continue;
        }
        let report = CheckedReport::new(world.monitor.report(now)).expect("possible");
        assert!(report.cell.slot > last_slot, "slots go up");
        last_slot = report.cell.slot;
        assert_eq!(
            (report.cell.id, report.cell.n_prb),
            (profile().id, profile().n_prb)
        );
        for ue in &report.ues {
            let of = (0..2)
                .find(|of| ue.ip == Some(ue_address(*of)))
                .expect("its address");
            served[of] += ue.served_bytes;
            assert_eq!(ue.seq, reports_of(reports, ue.seq), "numbers count up");
            assert_eq!(ue.timestamp, now);
            assert!(matches!(
                ue.quality,
                LinkQuality::Measured { full_band_millibytes } if full_band_millibytes > 0
            ));
        }
        reports += 1;
        if slot > 2_000 && slot < 6_000 {
            assert_eq!(report.ues.len(), 2);
            assert_eq!(report.cell.slots, 20);
        }
    }
    for (of, served) in served.into_iter().enumerate() {
        let down = world.cell.stats().ues[of].bearers[0].downlink;
        assert_eq!(
            world.backlog(of),
            0,
            "two seconds are enough for what waited"
        );
        // what was served before the tunnels were paired is counted when the UE is first reported
        assert_eq!(served, down.served);
    }
    // nothing has passed for so long: the bearers are gone
    assert!(world.monitor.report(at_ms(40_000)).ues.is_empty());
    assert_eq!(
        (world.monitor.followed(), world.monitor.counts().idle),
        ((0, 0), 2)
    );
}

/// The number of a UE's report: those of reports before it was in one are not counted.
fn reports_of(reports: u64, seq: u64) -> u64 {
    assert!(seq <= reports);
    seq
}
