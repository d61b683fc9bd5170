//! The downlink by groups of PRBs.

use crate::harness::*;
use radio::{
    BlerFamily, Channel, ChannelState, CqiToMcs, LinkAdaptation, LinkAdaptationConfig, McsTable,
    SinrSample, SinrSource,
};
use ran::{CellConfig, ConfigError, SchedulerKind, SubBands};
use units::{Decibel, Duration, Instant, Prb, Streams};

/// 50 PRBs are 17 groups.
const GROUPS: usize = 17;

/// SINRs of the groups that never change, dB; their mean capacity is that of the carrier.
struct Bands {
    whole: f64,
    groups: Vec<f32>,
}

impl Bands {
    fn new(db: impl Fn(usize) -> f64) -> Self {
        let linear = |group| 10f64.powf(db(group) / 10.0);
        let bits: f64 = (0..GROUPS).map(|group| linear(group).ln_1p()).sum();
        Self {
            whole: 10.0 * (bits / GROUPS as f64).exp_m1().log10(),
            groups: (0..GROUPS).map(|group| linear(group) as f32).collect(),
        }
    }
}

impl SinrSource for Bands {
    fn sinr(&mut self, _: Instant) -> SinrSample {
        SinrSample {
            sinr: Decibel::new(self.whole),
            holds_until: Instant::MAX,
        }
    }
    fn groups(&mut self, _: Instant) -> &[f32] {
        &self.groups
    }
}

fn channel(bands: Bands) -> LinkAdaptation<Bands> {
    let config = LinkAdaptationConfig {
        policy: CqiToMcs::Ns3Lte,
        table: McsTable::LteQam64,
        family: BlerFamily::Ns3LteMi,
        cqi_period: Duration::from_millis(5),
        cqi_delay: Duration::from_millis(4),
        target_bler: 0.1,
    };
    LinkAdaptation::new(bands, config).unwrap()
}

fn config(sub_bands: SubBands) -> CellConfig {
    let mut config = CellConfig::lte(Prb::new(50));
    config.bler = BlerFamily::Ns3LteMi;
    config.sub_bands = sub_bands;
    config
}

/// Rates of UEs that always have something to receive, Mbit/s.
fn rates<C: Channel + 'static>(config: CellConfig, channels: Vec<C>) -> Vec<f64> {
    let n = channels.len();
    let ues = (1..)
        .zip(channels)
        .map(|(rnti, it)| ue(rnti, it, vec![am(&config)]));
    let ues = ues.collect();
    let mut bench = Bench::new(config, ues, 3);
    let all: Vec<usize> = (0..n).collect();
    bench.saturate(Instant::ZERO, at_ms(3_000), &all, 100_000, 1_480);
    bench.cell.check_conservation().unwrap();
    all.iter()
        .map(|ue| bench.goodput_mbps(*ue, at_ms(500), at_ms(3_000)))
        .collect()
}

/// On a flat carrier groups change nothing but the 17th, of two PRBs, which is a group as well.
#[test]
fn a_flat_carrier_is_as_without_groups() {
    let at = |sub_bands| rates(config(sub_bands), vec![channel(Bands::new(|_| 12.0))])[0];
    let whole = at(SubBands::None);
    for sub_bands in [SubBands::Mean, SubBands::Worst] {
        assert_near(at(sub_bands), whole, 0.001, "a flat carrier");
    }
    // a channel without groups
    let fixed = |sub_bands| rates(config(sub_bands), vec![Fixed(mcs(20, 0.0))])[0];
    assert_near(
        fixed(SubBands::Worst),
        fixed(SubBands::None),
        0.001,
        "no groups",
    );
}

/// Two UEs, each with 20 dB in half of the groups and 0 dB in the others: each is given its own half, and both have
/// twice what they have where PRBs are alike.
#[test]
fn each_ue_is_sent_where_it_is_best() {
    let halves = || {
        let at = |low: bool| move |group: usize| if (group < 8) == low { 20.0 } else { 0.0 };
        vec![
            channel(Bands::new(at(true))),
            channel(Bands::new(at(false))),
        ]
    };
    let by_groups = rates(config(SubBands::Worst), halves());
    let alike = rates(config(SubBands::None), halves());
    for (groups, alike) in by_groups.iter().zip(&alike) {
        assert!(
            groups / alike > 1.5,
            "{groups} Mbit/s, {alike} without groups"
        );
    }
}

/// One UE with one group of -10 dB and the others at 20 dB: the worst CQI is that of nearly nothing, the mean nearly
/// that of 20 dB. With -20 dB (CQI 0) the group is left out, and nothing is lost but its PRBs.
#[test]
fn a_block_has_the_mcs_of_the_worst_or_of_the_mean() {
    let at = |sub_bands, notch: f64| {
        let bands = Bands::new(move |group| if group == 3 { notch } else { 20.0 });
        rates(config(sub_bands), vec![channel(bands)])[0]
    };
    let clean = at(SubBands::Worst, 20.0);
    let (worst, mean) = (at(SubBands::Worst, -5.0), at(SubBands::Mean, -5.0));
    assert!(
        worst < 0.2 * clean && mean > 0.8 * clean,
        "{worst}, {mean} of {clean}"
    );
    assert_near(
        at(SubBands::Worst, -20.0) / clean,
        47.0 / 50.0,
        0.02,
        "without the group",
    );
}

#[test]
fn round_robin_has_no_groups() {
    let mut config = config(SubBands::Mean);
    config.scheduler = SchedulerKind::RoundRobin;
    let ues = vec![ue(1, Fixed(mcs(20, 0.0)), vec![am(&config)])];
    let error = ran::Cell::<Pkt>::new(config, ues, None, &Streams::new(1));
    assert!(matches!(
        error,
        Err(ConfigError::Cell {
            field: "scheduler",
            ..
        })
    ));
}

/// Blocks that fail are sent again on groups, and all arrives.
#[test]
fn retransmissions_go_out_on_groups() {
    /// What the base station uses is 3 dB too good.
    struct Optimist(LinkAdaptation<Bands>, Vec<f32>);
    impl Channel for Optimist {
        fn state(&mut self, at: Instant, slot: Duration) -> ChannelState {
            self.0.state(at, slot)
        }
        fn sub_bands(&mut self, at: Instant) -> Option<radio::SubBands<'_>> {
            let bands = self.0.sub_bands(at)?;
            Some(radio::SubBands {
                sinr: &self.1,
                ..bands
            })
        }
    }
    let good = channel(Bands::new(|_| 12.0));
    let bad = Bands::new(|_| 9.0).groups;
    let config = config(SubBands::Mean);
    let ues = vec![ue(1, Optimist(good, bad), vec![am(&config)])];
    let mut bench = Bench::new(config, ues, 3);
    bench.saturate(Instant::ZERO, at_ms(500), &[0], 100_000, 1_480);
    bench.run(at_ms(3_000));
    bench.cell.check_conservation().unwrap();
    let mac = bench.cell.stats().ues[0].downlink;
    assert!(mac.errors > 50 && mac.retransmissions > 50, "{mac:?}");
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.arrived.len() as u64, bench.next_id);
}
