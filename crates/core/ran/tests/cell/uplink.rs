//! Uplink blocks whose MCS and errors follow from an SINR.

use crate::harness::*;
use radio::{UplinkChannel, UplinkState};
use ran::{CellConfig, ConfigError, Direction, UeConfig, UplinkLink};
use units::{Decibel, Duration, Instant, Mcs, Prb};

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
        uplink: Some(Box::new(uplink)),
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
