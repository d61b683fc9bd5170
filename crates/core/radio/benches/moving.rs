//! What the moving radio costs per slot and UE, on one core.
//!
//! `cargo bench -p radio --bench moving` prints a line for each case. A word selects cases by name.
//!
//! Twenty UEs are queried slot by slot, each only when its last answer no longer holds, as the
//! cell does: so there is a cost per slot and a cost per call. `source` is the SINR alone,
//! `adapted` link adaptation on it, and the first case a constant SINR, the least that a slot can cost.
//!
//! The time is the best of a hundred rounds of some ms: on a machine with other work, the others measure
//! more of that work.
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

use radio::moving::{
    Area, BaseStation, Building, BuildingEffect, Dbm, Doppler, Fading, LinkBudgetConfig, Metres,
    Mobility, MovingRadio, MovingRadioConfig, PathLoss, Position, Shadowing, SightRule, Speed,
};
use radio::{
    BlerFamily, Channel, ConstantSinr, CqiToMcs, LinkAdaptation, LinkAdaptationConfig, McsTable,
    SinrSource,
};
use std::hint::black_box;
use units::{Decibel, Duration, Hertz, Instant, Streams};

const UES: u64 = 20;
/// Slots of a timed round.
const SLOTS: u64 = 2_000;
const ROUNDS: u64 = 100;
const LTE_SLOT: Duration = Duration::from_millis(1);
const NR_SLOT: Duration = Duration::from_micros(125);

/// One case: a radio in a cell.
struct Case {
    name: &'static str,
    slot: Duration,
    adaptation: LinkAdaptationConfig,
    /// None: a constant SINR.
    config: Option<MovingRadioConfig>,
}

fn at(x: f64, y: f64) -> Position {
    Position::new(Metres::new(x), Metres::new(y))
}

/// LTE, so many PRBs at 2 GHz, 150 m away in a street canyon without line of sight: about 13 dB.
fn lte(prbs: u64, fading: Fading, doppler: u64) -> MovingRadioConfig {
    let bandwidth = prbs * 180_000;
    MovingRadioConfig {
        carrier: Hertz::new(2_000_000_000),
        budget: LinkBudgetConfig {
            transmit_power: Dbm::new(20.0 + 10.0 * (prbs as f64 / 25.0).log10()),
            transmit_gain: Decibel::new(0.0),
            receive_gain: Decibel::new(0.0),
            noise_figure: Decibel::new(9.0),
            bandwidth: Hertz::new(bandwidth),
        },
        path_loss: PathLoss::UmiStreetCanyon,
        sight: SightRule::NoLine,
        shadowing: Shadowing::None,
        fading,
        doppler: Doppler::Fixed(Hertz::new(doppler)),
        base: BaseStation {
            place: at(0.0, 0.0),
            height: Metres::new(10.0),
        },
        ue_height: Metres::new(1.5),
        mobility: Mobility::Static {
            place: at(150.0, 0.0),
        },
        buildings: Vec::new(),
        building_effect: BuildingEffect::Strongest,
        blockers: Vec::new(),
        interferer: None,
    }
}

/// 132 PRBs at 28 GHz; everything that moves does: path loss, line of sight by chance, shadowing,
/// fading.
fn mmwave(speed: f64) -> MovingRadioConfig {
    MovingRadioConfig {
        carrier: Hertz::new(28_000_000_000),
        budget: LinkBudgetConfig {
            transmit_power: Dbm::new(35.0),
            bandwidth: Hertz::new(132 * 12 * 120_000),
            ..lte(25, Fading::Epa, 5).budget
        },
        sight: SightRule::Probability,
        shadowing: Shadowing::OfModel,
        fading: Fading::StreetCanyon,
        doppler: Doppler::Movement,
        mobility: Mobility::RandomWalk {
            from: at(60.0, 0.0),
            area: Area::Rectangle(at(20.0, -60.0), at(140.0, 60.0)),
            speed: Speed::new(speed),
            leg: Metres::new(30.0),
        },
        ..lte(25, Fading::Epa, 5)
    }
}

/// The same with eight buildings, to both sides of a street.
fn with_buildings(config: MovingRadioConfig) -> MovingRadioConfig {
    let buildings = (0..8).map(|i| {
        let (x, side) = (25.0 + 28.0 * f64::from(i / 2), f64::from(1 - 2 * (i % 2)));
        let corners = (at(x, 12.0 * side), at(x + 20.0, 30.0 * side));
        Building::new(corners.0, corners.1, Metres::new(20.0)).expect("a building")
    });
    MovingRadioConfig {
        buildings: buildings.collect(),
        ..config
    }
}

/// A vehicle in LTE, its Doppler from its movement, with all that moves and eight buildings.
fn vehicle() -> MovingRadioConfig {
    let still = lte(25, Fading::Eva, 1);
    with_buildings(MovingRadioConfig {
        carrier: still.carrier,
        budget: still.budget,
        fading: still.fading,
        ..mmwave(30.0)
    })
}

fn cases() -> Vec<Case> {
    let adaptation = |policy, table, family, period| LinkAdaptationConfig {
        policy,
        table,
        family,
        cqi_period: period,
        cqi_delay: Duration::from_millis(4),
        target_bler: 0.1,
    };
    let (lte_policy, nr_policy) = (CqiToMcs::OaiLte, CqiToMcs::OaiNr);
    let of_lte = adaptation(
        lte_policy,
        McsTable::LteQam64,
        BlerFamily::OaiLte,
        Duration::from_millis(5),
    );
    let of_nr = adaptation(
        nr_policy,
        McsTable::NrQam64,
        BlerFamily::LenaEesm,
        Duration::from_micros(2_500),
    );
    let in_lte = |name, config| Case {
        name,
        slot: LTE_SLOT,
        adaptation: of_lte,
        config,
    };
    let in_nr = |name, config| Case {
        name,
        slot: NR_SLOT,
        adaptation: of_nr,
        config,
    };
    vec![
        in_lte("constant-sinr", None),
        in_lte("lte-epa-5hz", Some(lte(25, Fading::Epa, 5))),
        in_lte("lte-eva-70hz", Some(lte(25, Fading::Eva, 70))),
        in_lte("lte-etu-300hz", Some(lte(25, Fading::Etu, 300))),
        in_lte("lte-etu-300hz-100prb", Some(lte(100, Fading::Etu, 300))),
        in_lte("lte-eva-30mps-8-buildings", Some(vehicle())),
        in_nr("nr-28ghz-1mps", Some(mmwave(1.0))),
        in_nr(
            "nr-28ghz-1mps-8-buildings",
            Some(with_buildings(mmwave(1.0))),
        ),
        in_nr("nr-28ghz-10mps", Some(mmwave(10.0))),
        in_nr(
            "nr-28ghz-10mps-8-buildings",
            Some(with_buildings(mmwave(10.0))),
        ),
        in_nr(
            "nr-28ghz-30mps-8-buildings",
            Some(with_buildings(mmwave(30.0))),
        ),
    ]
}

/// What a case costs.
struct Cost {
    /// ns per slot and UE.
    slot: f64,
    /// ns per call.
    call: f64,
    /// Calls per slot and UE.
    calls: f64,
}

/// Queries every UE in every slot whose state no longer holds. `ask` states until when its answer does.
fn measure<S>(
    ues: &mut [S],
    slot: Duration,
    mut ask: impl FnMut(&mut S, Instant) -> Instant,
) -> Cost {
    let mut held = vec![Instant::ZERO; ues.len()];
    let mut calls = 0u64;
    let mut best = f64::INFINITY;
    for round in 0..ROUNDS {
        let began = std::time::Instant::now();
        for n in round * SLOTS..(round + 1) * SLOTS {
            let now = Instant::ZERO + slot * n;
            for (ue, held) in ues.iter_mut().zip(&mut held) {
                if now >= *held {
                    *held = ask(ue, now);
                    calls += 1;
                }
            }
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    let slots = (SLOTS * UES) as f64;
    let calls = calls as f64 / ROUNDS as f64 / slots;
    let slot = best * 1e9 / slots;
    Cost {
        slot,
        call: slot / calls,
        calls,
    }
}

fn radio(config: &MovingRadioConfig, slot: Duration, ue: u64) -> MovingRadio {
    let run = slot * (SLOTS * ROUNDS);
    let streams = Streams::new(1).child(&format!("ue{ue}"));
    MovingRadio::new(config, run, &streams).expect("a radio")
}

/// The SINR alone, and link adaptation on it.
fn costs(case: &Case) -> (Cost, Cost) {
    let sinr = |source: &mut dyn SinrSource, now| black_box(source.sinr(now)).holds_until;
    let (slot, adaptation) = (case.slot, case.adaptation);
    let adapted = |mut ues: Vec<Box<dyn Channel>>| {
        measure(&mut ues, slot, |ue, now| {
            black_box(ue.state(now, slot)).holds_until
        })
    };
    match &case.config {
        None => {
            let constant = ConstantSinr(Decibel::new(13.0));
            let mut sources: Vec<_> = (0..UES).map(|_| constant).collect();
            let channels = (0..UES).map(|_| -> Box<dyn Channel> {
                let channel = LinkAdaptation::new(constant, adaptation);
                Box::new(channel.expect("link adaptation"))
            });
            let source = measure(&mut sources, slot, |it, now| sinr(it, now));
            (source, adapted(channels.collect()))
        }
        Some(config) => {
            let mut sources: Vec<_> = (0..UES).map(|ue| radio(config, slot, ue)).collect();
            let channels = (0..UES).map(|ue| -> Box<dyn Channel> {
                let channel = LinkAdaptation::new(radio(config, slot, ue), adaptation);
                Box::new(channel.expect("link adaptation"))
            });
            let source = measure(&mut sources, slot, |it, now| sinr(it, now));
            (source, adapted(channels.collect()))
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = || arguments.iter().filter(|word| !word.starts_with("--"));
    let is_selected =
        |name: &str| words().next().is_none() || words().any(|w| name.contains(w.as_str()));
    println!(
        "{:28} ns per slot and UE      ns per call       calls per slot",
        ""
    );
    println!(
        "{:28} source  adapted      source  adapted     source  adapted",
        ""
    );
    for case in cases().iter().filter(|case| is_selected(case.name)) {
        let (source, adapted) = costs(case);
        println!(
            "{:28} {:6.1}  {:7.1}      {:6.1}  {:7.1}     {:6.3}  {:7.3}",
            case.name,
            source.slot,
            adapted.slot,
            source.call,
            adapted.call,
            source.calls,
            adapted.calls
        );
    }
}
