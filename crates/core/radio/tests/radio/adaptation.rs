//! Link adaptation: SINR to CQI to MCS with reporting period and delay.

use proptest::prelude::*;
use radio::{
    BlerCurves, BlerFamily, Channel, ChannelState, CqiTable, CqiToMcs, Link, LinkAdaptation,
    LinkAdaptationConfig, LinkAdaptationError, McsTable, SinrSample, SinrSource, cqi_entry,
};
use units::{Cqi, Decibel, Duration, Instant, Mcs, Prb};

const SLOT: Duration = Duration::from_millis(1);

fn lte() -> LinkAdaptationConfig {
    LinkAdaptationConfig {
        policy: CqiToMcs::OaiLte,
        table: McsTable::LteQam64,
        family: BlerFamily::Ns3LteMi,
        cqi_period: Duration::from_millis(5),
        cqi_delay: Duration::from_millis(8),
        target_bler: 0.1,
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// SINR in steps: (from, value), the first from zero.
#[derive(Clone, Debug)]
struct Steps(Vec<(Instant, f64)>);

impl SinrSource for Steps {
    fn sinr(&mut self, at: Instant) -> SinrSample {
        let above = self.0.partition_point(|(from, _)| *from <= at);
        SinrSample {
            sinr: Decibel::new(self.0[above - 1].1),
            holds_until: self.0.get(above).map_or(Instant::MAX, |(from, _)| *from),
        }
    }
}

fn steps(steps: &[(u64, f64)], config: LinkAdaptationConfig) -> LinkAdaptation<Steps> {
    let steps = steps.iter().map(|&(ms, db)| (at(ms), db)).collect();
    LinkAdaptation::new(Steps(steps), config).unwrap()
}

fn mcs(state: &ChannelState) -> Option<u8> {
    match state.link {
        Link::Mcs { mcs, .. } => Some(mcs.get()),
        _ => None,
    }
}

/// ns-3 curves, OAI policy: MCS 27 (CQI 14) needs 18.909 dB for 10 %, MCS 28 (CQI 15) 19.617 dB.
#[test]
fn cqi_is_the_highest_that_meets_the_target() {
    let channel = |sinr| LinkAdaptation::constant(Decibel::new(sinr), lte()).unwrap();
    let cqi = |sinr| channel(sinr).cqi(Decibel::new(sinr)).get();
    assert_eq!(
        [cqi(18.85), cqi(18.97), cqi(19.55), cqi(19.68)],
        [13, 14, 14, 15]
    );
    assert_eq!(cqi(60.0), 15);
    // CQI 1 is MCS 0: 10 % at -6.814 dB
    assert_eq!([cqi(-6.87), cqi(-6.76)], [0, 1]);
}

#[test]
fn constant_sinr_holds_for_ever() {
    let mut channel = LinkAdaptation::constant(Decibel::new(19.0), lte()).unwrap();
    let state = channel.state(Instant::ZERO, SLOT);
    assert_eq!(state.cqi, Cqi::new(14));
    assert_eq!(state.holds_until, Instant::MAX);
    let Link::Mcs {
        mcs,
        sinr: Some(sinr),
        bler,
    } = state.link
    else {
        panic!("{state:?}")
    };
    assert_eq!((mcs, sinr), (Mcs::new(27), Decibel::new(19.0)));
    // published sample: 4.119 % at 19.0 dB
    assert!((bler - 0.04119).abs() < 0.005, "{bler}");
    assert_eq!(channel.state(at(100_000), SLOT), state);
}

#[test]
fn cqi_0_is_an_outage_or_mcs_0_by_the_policy() {
    let state = |policy| {
        let config = LinkAdaptationConfig { policy, ..lte() };
        LinkAdaptation::constant(Decibel::new(-15.0), config)
            .unwrap()
            .state(Instant::ZERO, SLOT)
    };
    assert_eq!(mcs(&state(CqiToMcs::OaiLte)), Some(0));
    let srsran = CqiToMcs::SrsranLte {
        n_prb: Prb::new(25),
        cfi: 1,
    };
    assert_eq!(state(srsran).link, Link::Outage);
}

/// Down from 25 to 10 dB at 12 ms: measured at 15 ms, used from 23 ms. Until then the old MCS meets
/// the new SINR and fails.
#[test]
fn reports_take_effect_after_period_and_delay() {
    let mut channel = steps(&[(0, 25.0), (12, 10.0)], lte());
    let states: Vec<ChannelState> = (0..40).map(|ms| channel.state(at(ms), SLOT)).collect();
    for (ms, state) in states.iter().enumerate() {
        let expected = if ms < 23 { 28 } else { 16 };
        assert_eq!(mcs(state), Some(expected), "{ms} ms");
        let Link::Mcs { bler, .. } = state.link else {
            panic!()
        };
        assert_eq!(bler > 0.99, (12..23).contains(&ms), "{ms} ms: {bler}");
    }
    assert_eq!(states[0].holds_until, at(12));
    assert_eq!(states[12].holds_until, at(23));
    assert_eq!(states[20].holds_until, at(23));
    assert_eq!(states[23].holds_until, Instant::MAX);
}

/// A dip between two measurements is never reported.
#[test]
fn what_happens_between_measurements_is_not_seen() {
    let mut channel = steps(&[(0, 25.0), (11, 0.0), (14, 25.0)], lte());
    for ms in 0..60 {
        assert_eq!(mcs(&channel.state(at(ms), SLOT)), Some(28), "{ms} ms");
    }
}

#[test]
fn before_the_first_report_the_first_measurement_serves() {
    let mut channel = steps(&[(0, 10.0), (1, 25.0)], lte());
    // measured at 0: in use until the report of 5 ms arrives at 13 ms
    let seen: Vec<_> = (0..15)
        .map(|ms| mcs(&channel.state(at(ms), SLOT)).unwrap())
        .collect();
    assert_eq!(
        seen,
        [16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 28, 28]
    );
}

/// With the error-free family: log2(1 + SINR / Gamma), Gamma = -ln(2.5e-4) / 1.5 = 5.529. At 20 dB
/// 4.254 bits per resource element: CQI 12 (3.9023), not 13 (4.5234).
#[test]
fn error_free_family_goes_by_efficiency() {
    let config = LinkAdaptationConfig {
        family: BlerFamily::None,
        ..lte()
    };
    let mut channel = LinkAdaptation::constant(Decibel::new(20.0), config).unwrap();
    let state = channel.state(Instant::ZERO, SLOT);
    assert_eq!(state.cqi, Cqi::new(12));
    let expected = Link::Mcs {
        mcs: Mcs::new(23),
        sinr: Some(Decibel::new(20.0)),
        bler: 0.0,
    };
    assert_eq!(state.link, expected);
}

#[test]
fn impossible_configurations_are_refused() {
    let error = |config| LinkAdaptation::constant(Decibel::new(10.0), config).unwrap_err();
    let zero = LinkAdaptationConfig {
        cqi_period: Duration::ZERO,
        ..lte()
    };
    assert_eq!(error(zero), LinkAdaptationError::Period);
    for target_bler in [0.0, 1.0, -1.0, f64::NAN] {
        let config = LinkAdaptationConfig {
            target_bler,
            ..lte()
        };
        assert!(matches!(error(config), LinkAdaptationError::Target { .. }));
    }
    let slow = LinkAdaptationConfig {
        cqi_delay: Duration::from_secs(100),
        ..lte()
    };
    assert!(matches!(error(slow), LinkAdaptationError::Delay { .. }));
    let table = LinkAdaptationConfig {
        table: McsTable::NrQam64,
        ..lte()
    };
    assert!(matches!(error(table), LinkAdaptationError::Bler(_)));
    let policy = LinkAdaptationConfig {
        policy: CqiToMcs::OaiNr,
        ..lte()
    };
    assert!(matches!(error(policy), LinkAdaptationError::Policy(_)));
    let sinr = LinkAdaptation::constant(Decibel::new(f64::NAN), lte());
    assert!(matches!(sinr, Err(LinkAdaptationError::Sinr { .. })));
}

fn configurations() -> impl Strategy<Value = LinkAdaptationConfig> {
    let choices = prop::sample::select(vec![
        (CqiToMcs::OaiLte, McsTable::LteQam64, BlerFamily::OaiLte),
        (CqiToMcs::Ns3Lte, McsTable::LteQam64, BlerFamily::Ns3LteMi),
        (CqiToMcs::OaiNr, McsTable::NrQam64, BlerFamily::OaiNr),
        (CqiToMcs::Lena5g, McsTable::NrQam256, BlerFamily::LenaEesm),
        (
            CqiToMcs::Srsran4gNr,
            McsTable::NrLowSe,
            BlerFamily::SionnaNr,
        ),
        (CqiToMcs::SrsranProject, McsTable::NrQam64, BlerFamily::None),
    ]);
    (choices, 1u64..20, 0u64..30).prop_map(|((policy, table, family), period, delay)| {
        LinkAdaptationConfig {
            policy,
            table,
            family,
            cqi_period: Duration::from_millis(period),
            cqi_delay: Duration::from_millis(delay),
            target_bler: 0.1,
        }
    })
}

fn waves() -> impl Strategy<Value = Vec<(u64, f64)>> {
    prop::collection::vec((1u64..40, -15.0f64..35.0), 1..12).prop_map(|waves| {
        let mut from = 0;
        waves
            .into_iter()
            .map(|(length, db)| {
                let start = from;
                from += length;
                (start, db)
            })
            .collect()
    })
}

proptest! {
    /// Reading only when `holds_until` has passed gives what reading in every slot gives; so does
    /// leaving out any slots.
    #[test]
    fn holds_until_can_be_relied_on(
        config in configurations(), waves in waves(), skip in prop::collection::vec(1u64..9, 1..60)
    ) {
        let mut every = steps(&waves, config);
        let all: Vec<ChannelState> = (0..500).map(|ms| every.state(at(ms), SLOT)).collect();
        for (ms, state) in (0u64..).zip(&all) {
            prop_assert!(state.holds_until > at(ms));
        }

        let mut lazy = steps(&waves, config);
        let mut known = lazy.state(at(0), SLOT);
        for (ms, state) in (0u64..).zip(&all) {
            if known.holds_until <= at(ms) {
                known = lazy.state(at(ms), SLOT);
            }
            prop_assert_eq!((known.cqi, known.link), (state.cqi, state.link), "{} ms", ms);
        }

        let mut some = steps(&waves, config);
        let mut ms = 0;
        for step in skip {
            let (seen, full) = (some.state(at(ms), SLOT), &all[ms as usize]);
            prop_assert_eq!((seen.cqi, seen.link), (full.cqi, full.link), "{} ms", ms);
            ms += step;
        }
    }

    /// The CQI in use is that of the latest measurement at least `cqi_delay` ago; it meets the
    /// target at that SINR, and no higher CQI does.
    #[test]
    fn cqi_in_use_is_the_latest_that_has_arrived(
        config in configurations().prop_filter("has curves", |c| c.family != BlerFamily::None),
        waves in waves(),
    ) {
        let curves = BlerCurves::new(config.family, config.table).unwrap();
        let mut channel = steps(&waves, config);
        let period = config.cqi_period.as_millis();
        for ms in 0..300u64 {
            let state = channel.state(at(ms), SLOT);
            let measured = ms.saturating_sub(config.cqi_delay.as_millis()) / period * period;
            let sinr = waves.iter().rfind(|(from, _)| *from <= measured).unwrap().1;
            let meets = |cqi: u8| {
                let mcs = config.policy.mcs(config.table, Cqi::new(cqi)).unwrap().unwrap();
                curves.bler(mcs, Decibel::new(sinr)) <= config.target_bler
            };
            let cqi = state.cqi.get();
            prop_assert!(cqi == 0 || meets(cqi), "{} ms", ms);
            prop_assert!((cqi + 1..=15).all(|higher| !meets(higher)), "{} ms", ms);
        }
    }

    /// With the ideal case of no delay and a measurement in every slot, the block error rate of the
    /// first transmission never exceeds the target, unless nothing meets it.
    #[test]
    fn target_is_kept_when_reports_are_immediate(config in configurations(), waves in waves()) {
        let ideal = LinkAdaptationConfig {
            cqi_period: SLOT, cqi_delay: Duration::ZERO, ..config
        };
        let mut channel = steps(&waves, ideal);
        for ms in 0..300 {
            let state = channel.state(at(ms), SLOT);
            if let (true, Link::Mcs { bler, .. }) = (state.cqi > Cqi::new(0), state.link) {
                prop_assert!(bler <= 0.1, "{} ms: {}", ms, bler);
            }
        }
    }
}

/// The CQI is found from thresholds; a search over the curves, from CQI 15 down, finds the same for
/// every family, policy and target: over the whole range, and at the last bit on both sides of each
/// SINR where the answer changes.
#[test]
fn thresholds_agree_with_a_search_over_the_curves() {
    let policies = [
        (CqiToMcs::OaiLte, McsTable::LteQam64),
        (CqiToMcs::Ns3Lte, McsTable::LteQam64),
        (CqiToMcs::OaiNr, McsTable::NrQam64),
        (CqiToMcs::SrsranProject, McsTable::NrQam256),
        (CqiToMcs::Lena5g, McsTable::NrQam64),
    ];
    let mut changes = 0;
    for (policy, table) in policies {
        let covers = |family: &BlerFamily| family.tables().contains(&table);
        for family in BlerFamily::ALL.into_iter().filter(covers) {
            for target_bler in [0.001, 0.1, 0.5] {
                let config = LinkAdaptationConfig {
                    policy,
                    table,
                    family,
                    target_bler,
                    ..lte()
                };
                changes += compare_with_search(config);
            }
        }
    }
    assert!(changes > 15 * 30, "{changes}");
}

/// How often the CQI changes from -20 to 40 dB.
fn compare_with_search(config: LinkAdaptationConfig) -> u32 {
    let channel = LinkAdaptation::constant(Decibel::new(0.0), config).unwrap();
    let curves = BlerCurves::new(config.family, config.table).unwrap();
    let gamma = -(5.0 * 5e-5f64).ln() / 1.5;
    let search = |sinr: f64| {
        let meets = |cqi: &u8| match config.policy.mcs(config.table, Cqi::new(*cqi)) {
            Ok(Some(_)) if config.family == BlerFamily::None => {
                let entry = cqi_entry(CqiTable::matching(config.table), Cqi::new(*cqi)).unwrap();
                entry.efficiency() <= (1.0 + Decibel::new(sinr).to_linear() / gamma).log2()
            }
            Ok(Some(mcs)) => curves.bler(mcs, Decibel::new(sinr)) <= config.target_bler,
            _ => false,
        };
        (1..=15).rev().find(meets).unwrap_or(0)
    };
    let agrees = |sinr: f64| {
        let (seen, searched) = (channel.cqi(Decibel::new(sinr)).get(), search(sinr));
        assert_eq!(seen, searched, "{config:?} at {sinr} dB");
        searched
    };
    let mut changes = 0;
    let mut before = agrees(-20.0);
    for step in 1..=6_000 {
        let (mut low, mut high) = (
            -20.0 + 0.01 * f64::from(step - 1),
            -20.0 + 0.01 * f64::from(step),
        );
        let now = agrees(high);
        if now != before {
            changes += 1;
            // between two neighbouring numbers
            while low.next_up() < high {
                let middle = 0.5 * (low + high);
                if search(middle) == before {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            for sinr in [low.next_down(), low, high, high.next_up()] {
                agrees(sinr);
            }
        }
        before = now;
    }
    for sinr in [
        f64::NEG_INFINITY,
        -1e300,
        -0.0,
        0.0,
        1e300,
        f64::INFINITY,
        f64::NAN,
    ] {
        agrees(sinr);
    }
    changes
}

/// Two groups, one of which changes at 20 ms.
struct TwoGroups([f32; 2]);

impl SinrSource for TwoGroups {
    fn sinr(&mut self, at: Instant) -> SinrSample {
        let change = Instant::ZERO + Duration::from_millis(20);
        self.0[1] = if at < change { 100.0 } else { 1.0 };
        SinrSample {
            sinr: Decibel::new(15.0),
            holds_until: if at < change { change } else { Instant::MAX },
        }
    }
    fn groups(&mut self, at: Instant) -> &[f32] {
        self.sinr(at);
        &self.0
    }
}

/// CQI of groups travel as that of the carrier does: measured at 20 ms, used from 28 ms on. The SINR is that of now.
#[test]
fn groups_have_reports_of_their_own() {
    let mut channel = LinkAdaptation::new(TwoGroups([100.0, 100.0]), lte()).unwrap();
    let of = |db| {
        LinkAdaptation::constant(Decibel::new(0.0), lte())
            .unwrap()
            .cqi(Decibel::new(db))
    };
    let (good, bad) = (of(20.0), of(0.0));
    assert!(good > bad);
    for (ms, cqi, sinr) in [(19, good, 100.0), (27, good, 1.0), (28, bad, 1.0)] {
        let bands = channel.sub_bands(at(ms)).unwrap();
        assert_eq!((bands.cqi[0], bands.cqi[1]), (good, cqi), "{ms} ms");
        assert!((bands.sinr[1] - sinr).abs() < 1e-6);
        assert_eq!(channel.state(at(ms), SLOT).cqi, of(15.0));
    }
    let mut flat = LinkAdaptation::constant(Decibel::new(15.0), lte()).unwrap();
    assert!(flat.sub_bands(Instant::ZERO).is_none());
}

/// ns-3's rule: log2(1 + SINR / 5.53) bits. CQI 1 (0.1523) from -2.1 dB on, CQI 15 (5.5547) from 24.2 dB on; the mean of
/// CQI 1 and 15 is 2.853, above CQI 10 (2.7305).
#[test]
fn efficiency_decides_robust_and_mean_cqi() {
    let mut channel = LinkAdaptation::new(TwoGroups([100.0, 100.0]), lte()).unwrap();
    let rule = channel.sub_bands(at(0)).unwrap().rule;
    let robust = |db| rule.robust_cqi(Decibel::new(db)).get();
    assert_eq!(
        [robust(-2.3), robust(-2.0), robust(24.0), robust(24.3)],
        [0, 1, 14, 15]
    );
    let mean = |cqis: &[u8]| rule.mean(cqis.iter().map(|cqi| Cqi::new(*cqi))).get();
    assert_eq!(
        [mean(&[1, 15]), mean(&[7, 7, 7]), mean(&[0, 0])],
        [10, 7, 0]
    );
}
