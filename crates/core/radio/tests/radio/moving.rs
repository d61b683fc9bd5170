//! Link adaptation on a moving radio.

use radio::moving::{
    BaseStation, BuildingEffect, Dbm, Doppler, Fading, InterfererConfig, InterfererPower,
    LinkBudgetConfig, Metres, Mobility, MovingRadio, MovingRadioConfig, PathLoss, Position,
    Shadowing, SightRule, Speed,
};
use radio::{
    BlerFamily, Channel, CqiToMcs, Link, LinkAdaptation, LinkAdaptationConfig, McsTable, SinrSource,
};
use units::{Cqi, Decibel, Duration, Hertz, Instant, Streams};

const RUN: Duration = Duration::from_secs(100);
const SLOT: Duration = Duration::from_millis(1);

fn at(x: f64) -> Position {
    Position::new(Metres::new(x), Metres::new(0.0))
}

/// LTE, 25 PRBs at 2 GHz in free space, 100 m: loss 78.47 dB + noise -98.47 dBm; the power makes
/// the SNR.
fn lte(snr: f64) -> MovingRadioConfig {
    MovingRadioConfig {
        carrier: Hertz::new(2_000_000_000),
        budget: LinkBudgetConfig {
            transmit_power: Dbm::new(snr + 78.47 - 98.47),
            transmit_gain: Decibel::new(0.0),
            receive_gain: Decibel::new(0.0),
            noise_figure: Decibel::new(9.0),
            bandwidth: Hertz::new(4_500_000),
        },
        path_loss: PathLoss::FreeSpace,
        sight: SightRule::Line,
        shadowing: Shadowing::None,
        fading: Fading::None,
        doppler: Doppler::Movement,
        base: BaseStation {
            place: at(0.0),
            height: Metres::new(1.5),
        },
        ue_height: Metres::new(1.5),
        mobility: Mobility::Static { place: at(100.0) },
        buildings: Vec::new(),
        building_effect: BuildingEffect::Diffraction,
        blockers: Vec::new(),
        interferer: None,
    }
}

fn adapted(config: &MovingRadioConfig, seed: u64) -> LinkAdaptation<MovingRadio> {
    let radio = MovingRadio::new(config, RUN, &Streams::new(seed)).unwrap();
    let adaptation = LinkAdaptationConfig {
        policy: CqiToMcs::OaiLte,
        table: McsTable::LteQam64,
        family: BlerFamily::OaiLte,
        cqi_period: Duration::from_millis(5),
        cqi_delay: Duration::from_millis(4),
        target_bler: 0.1,
    };
    LinkAdaptation::new(radio, adaptation).unwrap()
}

/// CQI and block error rate of every slot; an outage counts as lost.
fn slots(channel: &mut impl Channel, n: u64) -> Vec<(Cqi, f64)> {
    (0..n)
        .map(|i| {
            let state = channel.state(Instant::ZERO + SLOT * i, SLOT);
            match state.link {
                Link::Mcs { bler, .. } => (state.cqi, bler),
                _ => (state.cqi, 1.0),
            }
        })
        .collect()
}

/// Bursts of 2 ms, shorter than the CSI period of 5 ms, at 18 dB: while it is on, the interferer
/// takes the SINR to about -2 dB, and what is sent is lost. On for 2 ms in 250 ms: 0.8 % of the
/// slots. Most bursts are over before a report of them arrives; the few that are measured cost a low
/// MCS afterwards, not loss. Losses come in runs longer than one slot.
#[test]
fn an_interferer_makes_bursts_of_0_8_percent_loss() {
    let mut config = lte(18.0);
    config.interferer = Some(InterfererConfig {
        power: InterfererPower::Received(Dbm::new(-98.47 + 20.0)),
        mean_on: Duration::from_millis(2),
        mean_off: Duration::from_millis(248),
    });
    let seen = slots(&mut adapted(&config, 1), 400_000);
    let share = seen.iter().map(|(_, bler)| bler).sum::<f64>() / seen.len() as f64;
    assert!((0.005..0.0095).contains(&share), "{share}");
    let lost: Vec<bool> = seen.iter().map(|(_, bler)| *bler > 0.5).collect();
    let slots = lost.iter().filter(|lost| **lost).count() as f64;
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    // bursts of exponential length that a slot a millisecond samples: 1 / (1 - exp(-1/2)) = 2.54 slots of
    // those that are seen; slots of a low MCS after a measured one are not lost
    let sampled = 1.0 / (1.0 - (-0.5f64).exp());
    assert!(
        (0.6 * sampled..=1.05 * sampled).contains(&(slots / bursts)),
        "{slots} slots in {bursts} bursts"
    );
    let clean = slots_share_of_cqi(&seen);
    assert!(clean > 0.95, "{clean}");
}

/// Share of the slots with the CQI that is the most frequent.
fn slots_share_of_cqi(seen: &[(Cqi, f64)]) -> f64 {
    let mut counts = [0usize; 16];
    seen.iter()
        .for_each(|(cqi, _)| counts[usize::from(cqi.get())] += 1);
    counts.into_iter().max().unwrap_or(0) as f64 / seen.len() as f64
}

/// Fading with a fast Doppler makes reports stale: more loss at 70 Hz than at 5 Hz, where the CQI
/// holds the target; and the CQI moves over several values.
#[test]
fn stale_reports_cost_blocks() {
    let loss = |hz| {
        let config = MovingRadioConfig {
            fading: Fading::Eva,
            doppler: Doppler::Fixed(Hertz::new(hz)),
            ..lte(12.0)
        };
        let seen = slots(&mut adapted(&config, 2), 100_000);
        let (low, high) = (
            seen.iter().map(|s| s.0).min(),
            seen.iter().map(|s| s.0).max(),
        );
        assert!(
            high.unwrap().get() >= low.unwrap().get() + 3,
            "{low:?} to {high:?}"
        );
        seen.iter().map(|(_, bler)| bler).sum::<f64>() / seen.len() as f64
    };
    let (slow, fast) = (loss(5), loss(70));
    assert!(slow < 0.12, "at 5 Hz {slow}");
    assert!(
        fast > 1.5 * slow && fast < 0.5,
        "at 5 Hz {slow}, at 70 Hz {fast}"
    );
}

/// A UE that walks away: CQI falls, but for fading never rises (none here).
#[test]
fn walking_away_lowers_the_cqi() {
    let config = MovingRadioConfig {
        mobility: Mobility::Line {
            from: at(10.0),
            towards: at(20.0),
            speed: Speed::new(30.0),
        },
        ..lte(5.0)
    };
    let seen = slots(&mut adapted(&config, 3), 100_000);
    assert!(seen.windows(2).all(|pair| pair[1].0 <= pair[0].0));
    assert_eq!((seen[0].0.get(), seen[99_999].0.get()), (15, 0));
}

/// Five UEs in one cell with the streams of their names: different fading, the same statistics; and
/// the same again.
#[test]
fn streams_of_ues_differ() {
    let config = MovingRadioConfig {
        fading: Fading::Epa,
        doppler: Doppler::Fixed(Hertz::new(5)),
        ..lte(15.0)
    };
    let mean = |ue: &str| {
        let streams = Streams::new(1).child(ue);
        let mut radio = MovingRadio::new(&config, RUN, &streams).unwrap();
        let sinr = |i| radio.sinr(Instant::ZERO + SLOT * i).sinr.to_linear();
        (0..100_000).step_by(10).map(sinr).sum::<f64>() / 10_000.0
    };
    let means: Vec<f64> = (0..5).map(|i| mean(&format!("ue{i}"))).collect();
    for (i, a) in means.iter().enumerate() {
        // capacity is concave: the effective SINR is a little below the mean of 15 dB
        let db = 10.0 * a.log10();
        assert!((13.3..15.3).contains(&db), "ue{i}: {db} dB");
        assert!(means[i + 1..].iter().all(|b| a != b));
    }
    assert_eq!(mean("ue0"), means[0]);
}
