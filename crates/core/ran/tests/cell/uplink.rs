//! Uplink blocks whose MCS and errors follow from an SINR.

use crate::harness::*;
use radio::{Channel, ChannelState, Link, UplinkChannel, UplinkState};
use ran::{CellConfig, ConfigError, Direction, UeConfig, UplinkLink, UplinkSource};
use units::{BitRate, Bytes, Cqi, Decibel, Duration, Instant, Mcs, Prb};

/// An SINR that does not change, as measured and as it is; MCS 10 from 0 dB on, MCS 20 from 10 dB on.
struct Steady {
    measured: f64,
    sinr: f64,
}

impl UplinkChannel for Steady {
    fn state(&mut self, _: Instant) -> UplinkState<'_> {
        UplinkState {
            measured: Decibel::new(self.measured),
            sinr: Decibel::new(self.sinr),
            measured_groups: &[],
            groups: &[],
            density_limit: None,
        }
    }
    fn mcs(&self, sinr: Decibel) -> Option<Mcs> {
        match sinr.get() {
            10.0.. => Some(Mcs::new(20)),
            0.0.. => Some(Mcs::new(10)),
            _ => None,
        }
    }
    fn robust_mcs(&self, sinr: Decibel) -> Option<Mcs> {
        self.mcs(sinr)
    }
}

fn config(link: UplinkLink) -> CellConfig {
    let mut config = CellConfig::lte(Prb::new(50));
    config.uplink.link = link;
    config.bler = radio::BlerFamily::Ns3LteMi;
    config
}

fn with_uplink(config: &CellConfig, uplink: Steady) -> UeConfig {
    UeConfig {
        uplink: Some(UplinkSource::Sinr(Box::new(uplink))),
        ..ue(1, Fixed(mcs(20, 0.1)), vec![am(config)])
    }
}

/// One UE sends packets of 1,000 bytes, one each millisecond for a second; what it has sent 2 s later.
fn run(link: UplinkLink, uplink: Steady, packets: u64) -> Bench {
    let config = config(link);
    let ues = vec![with_uplink(&config, uplink)];
    let mut bench = Bench::new(config, ues, 5);
    for ms in 0..packets {
        bench.run(at_ms(ms));
        bench.up(at_ms(ms), 0, 0, 1_000);
    }
    bench.run(at_ms(packets + 2_000));
    bench.cell.check_conservation().unwrap();
    bench
}

fn arrived(bench: &Bench) -> usize {
    let up = bench
        .arrived
        .iter()
        .filter(|a| a.direction == Direction::Uplink);
    up.count()
}

/// Over 50 PRBs -12 dB, so 5 dB on one and 2 dB on two (MCS 10), 0.2 dB on three, -1 dB on four: three at most.
#[test]
fn power_headroom_limits_the_prbs_of_a_block() {
    let weak = || Steady {
        measured: -12.0,
        sinr: 12.0,
    };
    let bench = run(UplinkLink::PowerHeadroom, weak(), 100);
    let mac = bench.cell.stats().ues[0].uplink;
    assert_eq!(arrived(&bench), 100);
    assert!(mac.errors == 0 && mac.prbs == 3 * mac.blocks, "{mac:?}");
    // I_TBS 9 on three PRBs: 456 bits (TS 36.213 Table 7.1.7.2.1-1)
    assert_eq!(mac.block_bytes.get(), 57 * mac.blocks);
}

#[test]
fn ns3_decides_by_the_power_on_the_whole_carrier() {
    let at = |measured, sinr| run(UplinkLink::Ns3, Steady { measured, sinr }, 20);
    // out of range by sounding, whatever its power would do on few PRBs
    let bench = at(-1.0, 12.0);
    assert_eq!(
        (arrived(&bench), bench.cell.stats().ues[0].uplink.blocks),
        (0, 0)
    );
    // MCS 10, I_TBS 9: room for 1,000 bytes and their headers in a slot
    let bench = at(5.0, 12.0);
    let mac = bench.cell.stats().ues[0].uplink;
    assert!(arrived(&bench) == 20 && mac.errors == 0, "{mac:?}");
}

/// MCS 10 at an SINR where the first transmission mostly fails: HARQ and RLC deliver all, and errors are counted.
#[test]
fn errors_are_repaired() {
    let fading = Steady {
        measured: 0.0,
        sinr: 3.0,
    };
    let config = config(UplinkLink::Ns3);
    let ues = vec![with_uplink(&config, fading)];
    let mut bench = Bench::new(config, ues, 5);
    // packets that fill the carrier, so that the power is thin
    for ms in 0..200 {
        bench.run(at_ms(ms));
        bench.up(at_ms(ms), 0, 0, 1_500);
    }
    bench.run(at_ms(5_000));
    bench.cell.check_conservation().unwrap();
    let mac = bench.cell.stats().ues[0].uplink;
    assert_eq!(arrived(&bench), 200);
    assert!(mac.errors > 20 && mac.retransmissions > 20, "{mac:?}");
    assert!(bench.dropped.is_empty());
}

/// Draws of one direction are not those of the other.
#[test]
fn uplink_errors_do_not_change_the_downlink() {
    let run = |sinr| {
        let mut config = config(UplinkLink::Ns3);
        config.bler = radio::BlerFamily::Ns3LteMi;
        let uplink = Steady {
            measured: 0.0,
            sinr,
        };
        let bearer = um(&config, Duration::from_millis(50));
        let ue = UeConfig {
            bearers: vec![bearer],
            ..with_uplink(&config, uplink)
        };
        let mut bench = Bench::new(config, vec![ue], 7);
        for ms in 0..300 {
            bench.run(at_ms(ms));
            bench.down(at_ms(ms), 0, 0, 1_000);
            bench.up(at_ms(ms), 0, 0, 1_500);
        }
        bench.run(at_ms(1_000));
        let ue = &bench.cell.stats().ues[0];
        (ue.downlink, ue.uplink.errors)
    };
    let ((down, none), (same, some)) = (run(30.0), run(-6.0));
    assert!(none == 0 && some > 20, "{none}, {some}");
    assert_eq!(down, same);
    assert!(down.errors > 0);
}

#[test]
fn a_link_budget_needs_a_channel() {
    let config = config(UplinkLink::PowerHeadroom);
    let ues = vec![ue(1, Fixed(mcs(20, 0.0)), vec![am(&config)])];
    let error = ran::Cell::<Pkt>::new(config, ues, None, &units::Streams::new(1));
    assert!(matches!(
        error,
        Err(ConfigError::Ue {
            field: "its uplink",
            ..
        })
    ));
}

/// So many bytes a millisecond, whatever the slot's duration.
struct Recorded(u64);

impl Channel for Recorded {
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        let bytes = Bytes::new(self.0 * slot.as_nanos() / 1_000_000);
        ChannelState {
            cqi: Cqi::new(1),
            link: Link::Opportunity {
                bytes,
                mean_rate: BitRate::from_bytes_per(bytes, slot),
            },
            holds_until: slot_start + slot,
        }
    }
}

/// So many UEs with 1.5 MB each to be sent from the beginning on; how many bytes of each have come within a second.
fn recorded(mut config: CellConfig, bytes_a_ms: u64, ues: u16) -> Vec<u64> {
    config.uplink.link = UplinkLink::Recorded;
    let mut bearer = am(&config);
    bearer.uplink_buffer = queue::Capacity::Unlimited;
    let ue = |number| UeConfig {
        uplink: Some(UplinkSource::Recorded(Box::new(Recorded(bytes_a_ms)))),
        ..ue(number, Fixed(mcs(20, 0.1)), vec![bearer.clone()])
    };
    let mut bench = Bench::new(config, (1..=ues).map(ue).collect(), 5);
    for _ in 0..1_500 {
        (0..usize::from(ues)).for_each(|ue| _ = bench.up(at_ms(0), ue, 0, 1_000));
    }
    bench.run(at_ms(1_000));
    bench.cell.check_conservation().unwrap();
    let of = |ue| bench.arrived.iter().filter(move |a| a.ue.0 == ue);
    let bytes = (0..usize::from(ues)).map(|ue| of(ue).map(|a| a.packet.bytes).sum());
    bytes.collect()
}

/// LTE: a request at 0, the grant 8 ms later, decoded 1 + 3 ms after the slot began: what was sent in the slots from 8 ms
/// to 996 ms, 989 of them, is there at 1 s. Nothing is taken by headers.
#[test]
fn a_recorded_uplink_carries_its_bytes_exactly() {
    let lte = || CellConfig::lte(Prb::new(50));
    assert_eq!(recorded(lte(), 500, 1), [989 * 500 / 1_000 * 1_000]);
    // two UEs have 25 PRBs each
    let shares = recorded(lte(), 500, 2);
    assert!(
        shares
            .iter()
            .all(|bytes| bytes.abs_diff(989 * 250) <= 2_000),
        "{shares:?}"
    );
    assert_eq!(recorded(lte(), 0, 1), [0]);
}

/// A TDD pattern with one uplink slot of five carries what was recorded over all five in it.
#[test]
fn a_tdd_pattern_changes_when_recorded_bytes_go_but_not_how_many() {
    let mut config = CellConfig::nr(1, Prb::new(51));
    let fdd = recorded(config.clone(), 500, 1)[0];
    "DDDSU".clone_into(&mut config.tdd_pattern);
    let tdd = recorded(config, 500, 1)[0];
    // at most two patterns of 2.5 ms differ in when they are granted and decoded
    assert!(fdd.abs_diff(tdd) <= 2_500, "{fdd}, {tdd}");
    assert!(tdd > 970 * 500, "{tdd}");
}

/// Reports of the radio link control in the uplink get through beside data.
#[test]
fn a_recorded_uplink_carries_the_downlinks_status_reports() {
    let mut config = CellConfig::lte(Prb::new(50));
    config.uplink.link = UplinkLink::Recorded;
    let ues = vec![UeConfig {
        uplink: Some(UplinkSource::Recorded(Box::new(Recorded(20)))),
        ..ue(1, Fixed(mcs(20, 0.1)), vec![am(&config)])
    }];
    let mut bench = Bench::new(config, ues, 5);
    for ms in 0..200 {
        bench.run(at_ms(ms));
        bench.down(at_ms(ms), 0, 0, 1_000);
    }
    bench.run(at_ms(2_000));
    bench.cell.check_conservation().unwrap();
    assert_eq!(bench.arrived.len(), 200);
    let stats = &bench.cell.stats().ues[0].bearers[0].downlink;
    assert!(
        stats.rlc_statuses > 0 && stats.in_flight.packets.get() == 0,
        "{stats:?}"
    );
}

#[test]
fn a_recorded_uplink_needs_a_recording() {
    let config = config(UplinkLink::Recorded);
    let steady = Steady {
        measured: 0.0,
        sinr: 0.0,
    };
    for ue in [
        ue(1, Fixed(mcs(20, 0.0)), vec![am(&config)]),
        with_uplink(&config, steady),
    ] {
        let error = ran::Cell::<Pkt>::new(config.clone(), vec![ue], None, &units::Streams::new(1));
        let error = error.err().unwrap().to_string();
        assert!(error.contains("its uplink is"), "{error}");
    }
}
