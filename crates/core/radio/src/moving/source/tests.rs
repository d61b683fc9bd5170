//! The parts together.

use super::super::*;
use super::*;
use units::Hertz;

const RUN: Duration = Duration::from_secs(60);

fn at(x: f64, y: f64) -> Position {
    Position::at(x, y)
}

fn seconds(s: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(s)
}

/// 28 GHz, 132 PRBs at 120 kHz, 35 dBm, noise figure 9 dB, 10 m and 1.5 m, line of sight; the UE at
/// rest, 100 m away.
fn plain() -> MovingRadioConfig {
    MovingRadioConfig {
        carrier: Hertz::new(28_000_000_000),
        budget: LinkBudgetConfig {
            transmit_power: Dbm::new(35.0),
            transmit_gain: Decibel::new(0.0),
            receive_gain: Decibel::new(0.0),
            noise_figure: Decibel::new(9.0),
            bandwidth: Hertz::new(190_080_000),
        },
        path_loss: PathLoss::UmiStreetCanyon,
        sight: SightRule::Line,
        shadowing: Shadowing::None,
        fading: Fading::None,
        doppler: Doppler::Movement,
        base: BaseStation {
            place: at(0.0, 0.0),
            height: Metres::new(10.0),
        },
        ue_height: Metres::new(1.5),
        mobility: Mobility::Static {
            place: at(100.0, 0.0),
        },
        buildings: Vec::new(),
        building_effect: BuildingEffect::Strongest,
        blockers: Vec::new(),
        interferer: None,
    }
}

fn walk(from: Position, towards: Position, speed: f64) -> Mobility {
    Mobility::Line {
        from,
        towards,
        speed: Speed::new(speed),
    }
}

fn house(x: (f64, f64), y: (f64, f64), height: f64) -> Building {
    Building::new(at(x.0, y.0), at(x.1, y.1), Metres::new(height)).unwrap()
}

fn radio(config: &MovingRadioConfig) -> MovingRadio {
    MovingRadio::new(config, RUN, &Streams::new(7)).unwrap()
}

fn sinr(radio: &mut MovingRadio, at: f64) -> f64 {
    radio.sinr(seconds(at)).sinr.get()
}

/// The sheet at 100 m: LOS 103.38 dB, NLOS 123.88 dB; 35 dBm + 91.21 dB - 9 dB = 117.21 dB.
#[test]
fn at_rest_the_budget_decides() {
    let mut line = radio(&plain());
    let sample = line.sinr(Instant::ZERO);
    assert!((sample.sinr.get() - (117.21 - 103.38)).abs() < 0.01);
    assert_eq!(sample.holds_until, Instant::MAX);
    let mut no_line = radio(&MovingRadioConfig {
        sight: SightRule::NoLine,
        ..plain()
    });
    assert!((sinr(&mut no_line, 1.0) - (117.21 - 123.88)).abs() < 0.01);
}

/// 1 m/s from 50 m on: the loss of the sheet after 0, 50 and 150 s, constant over 5 cm.
#[test]
fn path_loss_follows_the_walk() {
    let mobility = walk(at(50.0, 0.0), at(51.0, 0.0), 1.0);
    let mut radio = radio(&MovingRadioConfig {
        mobility,
        ..plain()
    });
    for (time, loss) in [(0.0, 97.15), (50.0, 103.38), (150.0, 109.67)] {
        assert!(
            (sinr(&mut radio, time) - (117.21 - loss)).abs() < 0.02,
            "{time} s"
        );
    }
    let sample = radio.sinr(seconds(150.01));
    assert_eq!(sample.holds_until, seconds(150.05));
}

/// A UE walks behind a building: with the effect NLOS the loss is that of NLOS there and LOS
/// elsewhere; the strongest signal is between the two others and the open.
#[test]
fn behind_a_building() {
    // along x = 100, y from -30 to 30; the house shades |y| < 12.5 (5 x 100 / 40)
    let base = MovingRadioConfig {
        mobility: walk(at(100.0, -30.0), at(100.0, 30.0), 1.0),
        buildings: vec![house((30.0, 40.0), (-5.0, 5.0), 20.0)],
        ..plain()
    };
    let of = |effect| {
        let mut radio = radio(&MovingRadioConfig {
            building_effect: effect,
            ..base.clone()
        });
        move |time| sinr(&mut radio, time)
    };
    let mut diffracted = of(BuildingEffect::Diffraction);
    let mut no_line = of(BuildingEffect::NoLineOfSight);
    let mut strongest = of(BuildingEffect::Strongest);
    let mut open = radio(&MovingRadioConfig {
        buildings: Vec::new(),
        ..base.clone()
    });
    let shade = 5.0 / 30.0 * 100.0;
    for step in 0..600 {
        let time = f64::from(step) * 0.1;
        let place = (time - 30.0).abs();
        let free = sinr(&mut open, time);
        let values = (diffracted(time), no_line(time), strongest(time));
        if place < shade - 0.1 {
            assert!(
                (free - values.1 - 20.5).abs() < 0.3,
                "NLOS at {place}: {values:?}"
            );
            assert!(values.0 < free - 6.0, "{values:?}");
        }
        if place > shade + 0.1 {
            assert_eq!(values.1, free);
        }
        assert!(
            values.2 <= free + 1e-9 && values.2 >= values.0 - 1e-9,
            "{values:?} {free}"
        );
        if place < 10.0 {
            // far inside, diffraction is weaker than what NLOS finds
            assert!((values.2 - values.1).abs() < 1e-9, "{values:?}");
        }
    }
}

/// A person 2 m before the UE, in the middle of a level path 1.5 m high and 100 m long. Detours over
/// the head (0.2 m) 10.18 mm, under the feet (1.5 m) 0.5115 m, past a shoulder (0.15 m) 5.73 mm: F =
/// 0.3877, 0.4835, 0.3547, L = -20 log10(1 - 0.8711 x 0.7095) = 8.36 dB.
#[test]
fn a_person_in_the_way() {
    let base = BaseStation {
        place: at(0.0, 0.0),
        height: Metres::new(1.5),
    };
    let level = MovingRadioConfig { base, ..plain() };
    let blocker = Blocker {
        screen: Screen::Human,
        place: at(98.0, 0.0),
    };
    let mut blocked = radio(&MovingRadioConfig {
        blockers: vec![blocker],
        ..level.clone()
    });
    let drop = sinr(&mut radio(&level), 0.0) - sinr(&mut blocked, 0.0);
    assert!((drop - 8.36).abs() < 0.05, "{drop} dB");
}

/// Noise -82.21 dBm; interference of -72.21 dBm is ten times as much: 10 log10(11) = 10.41 dB.
#[test]
fn the_interferer_takes_its_share() {
    let interferer = InterfererConfig {
        power: InterfererPower::Received(Dbm::new(-72.21)),
        mean_on: Duration::from_millis(5),
        mean_off: Duration::from_millis(45),
    };
    let mut radio = radio(&MovingRadioConfig {
        interferer: Some(interferer),
        ..plain()
    });
    let (mut now, mut low) = (Instant::ZERO, 0.0);
    while now < seconds(200.0) {
        let sample = radio.sinr(now);
        assert!(sample.holds_until > now);
        let drop = 117.21 - 103.38 - sample.sinr.get();
        if drop > 1.0 {
            assert!((drop - 10.41).abs() < 0.02, "{drop}");
            low += (sample.holds_until - now).as_secs_f64();
        } else {
            assert!(drop.abs() < 0.01);
        }
        now = sample.holds_until;
    }
    // a tenth; 4000 bursts
    assert!((low / now.as_secs_f64() - 0.1).abs() < 0.01, "{low}");
}

/// A transmitter as far as the base station and as strong: 35 dBm over the same loss.
#[test]
fn an_interfering_transmitter() {
    let interferer = InterfererConfig {
        power: InterfererPower::Transmitted {
            place: at(200.0, 0.0),
            height: Metres::new(10.0),
            power: Dbm::new(35.0),
        },
        mean_on: Duration::from_millis(5),
        mean_off: Duration::ZERO,
    };
    let mut radio = radio(&MovingRadioConfig {
        interferer: Some(interferer),
        ..plain()
    });
    // S / (N + S): 13.83 dB SNR leave 10 log10(24.15 / 25.15) = -0.18 dB
    assert!((sinr(&mut radio, 0.0) + 0.18).abs() < 0.01);
}

/// Everything at once: what is requested seldom is as if it had been requested in every slot.
#[test]
fn the_answer_follows_from_the_time_alone() {
    let config = MovingRadioConfig {
        sight: SightRule::Probability,
        shadowing: Shadowing::OfModel,
        fading: Fading::StreetCanyon,
        mobility: Mobility::RandomWalk {
            from: at(60.0, 0.0),
            area: Area::Rectangle(at(20.0, -40.0), at(120.0, 40.0)),
            speed: Speed::new(3.0),
            leg: Metres::new(4.0),
        },
        buildings: vec![house((30.0, 40.0), (-5.0, 5.0), 20.0)],
        interferer: Some(InterfererConfig {
            power: InterfererPower::Received(Dbm::new(-80.0)),
            mean_on: Duration::from_millis(2),
            mean_off: Duration::from_millis(50),
        }),
        ..plain()
    };
    let (mut often, mut seldom, mut again) = (radio(&config), radio(&config), radio(&config));
    let slot = Duration::from_micros(125);
    let mut held = often.sinr(Instant::ZERO);
    let mut values = 0;
    for n in 0..80_000 {
        let now = Instant::ZERO + slot * n;
        let sample = often.sinr(now);
        if now < held.holds_until {
            assert_eq!(sample.sinr, held.sinr, "it was to hold, at {now}");
        } else {
            values += 1;
        }
        assert!(sample.holds_until > now && sample.sinr.get().is_finite());
        held = sample;
        if n % 1_009 == 0 {
            assert_eq!(seldom.sinr(now), sample, "at {now}");
        }
        assert_eq!(again.sinr(now), sample);
    }
    // 3 m/s: 0.595 ms for a sixth of a wavelength, so 0.5 ms, 4 slots; the place every 16.7 ms; 400 changes
    // of the interferer
    assert!((20_000..22_000).contains(&values), "{values}");
    let other = MovingRadio::new(&config, RUN, &Streams::new(8))
        .unwrap()
        .sinr(Instant::ZERO);
    assert_ne!(other.sinr, radio(&config).sinr(Instant::ZERO).sinr);
}

fn refused(config: &MovingRadioConfig) -> MovingRadioError {
    config.check(RUN).unwrap_err()
}

#[test]
fn a_ue_in_a_building_is_refused() {
    let buildings = vec![
        house((30.0, 40.0), (-5.0, 5.0), 20.0),
        house((90.0, 110.0), (-5.0, 5.0), 20.0),
    ];
    let inside = MovingRadioConfig {
        buildings: buildings.clone(),
        ..plain()
    };
    assert_eq!(
        refused(&inside).to_string(),
        "the UE would be inside building 2 of the list at (100 m, 0 m); \
         move the building or the UE's way"
    );
    // it begins outside and gets to the wall, 20 m on, after 20 s
    let mobility = walk(at(60.0, 0.0), at(40.0, 0.0), 1.0);
    let into = MovingRadioConfig {
        mobility,
        buildings: buildings.clone(),
        ..plain()
    };
    let place = at(40.0, 0.0);
    assert_eq!(
        refused(&into),
        MovingRadioError::UeInBuilding { place, building: 0 }
    );
    assert!(into.check(Duration::from_secs(19)).is_ok());
    let points = [at(60.0, 0.0), at(20.0, 0.0)];
    let points = points
        .map(|place| Waypoint {
            place,
            rest: Duration::ZERO,
            speed: None,
        })
        .to_vec();
    let mobility = Mobility::Waypoints {
        points,
        speed: Speed::new(1.0),
        at_end: AtEnd::Stop,
    };
    let through = MovingRadioConfig {
        mobility,
        buildings,
        ..plain()
    };
    assert!(matches!(
        refused(&through),
        MovingRadioError::UeInBuilding { building: 0, .. }
    ));
}

#[test]
fn a_base_station_belongs_on_the_roof() {
    let tower = |height| MovingRadioConfig {
        buildings: vec![house((-5.0, 5.0), (-5.0, 5.0), height)],
        ..plain()
    };
    assert!(matches!(
        refused(&tower(12.0)),
        MovingRadioError::BaseInBuilding { building: 0, .. }
    ));
    assert!(tower(9.0).check(RUN).is_ok());
}

#[test]
fn a_ue_at_the_base_station_is_refused() {
    let same = MovingRadioConfig {
        ue_height: Metres::new(10.0),
        mobility: Mobility::Static {
            place: at(0.0, 0.0),
        },
        ..plain()
    };
    assert_eq!(
        refused(&same).to_string(),
        "the UE comes as near as 0 m to the base station's antenna; keep 1 m away: \
         path loss is for the far field"
    );
    let mobility = walk(at(30.0, 0.0), at(-30.0, 0.0), 1.0);
    let passes = MovingRadioConfig {
        mobility,
        ..same.clone()
    };
    assert!(matches!(refused(&passes), MovingRadioError::AtBase { .. }));
    assert!(passes.check(Duration::from_secs(20)).is_ok());
    let mobility = Mobility::RandomWalk {
        from: at(30.0, 0.0),
        area: Area::Rectangle(at(-40.0, -40.0), at(40.0, 40.0)),
        speed: Speed::new(1.0),
        leg: Metres::new(5.0),
    };
    let around = MovingRadioConfig {
        mobility: mobility.clone(),
        ..same
    };
    assert!(matches!(refused(&around), MovingRadioError::AtBase { .. }));
    // below it is no place to refuse, but one to warn of
    let below = MovingRadioConfig {
        mobility,
        ..plain()
    };
    let warnings = below.check(RUN).unwrap();
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "umi-street-canyon is for distances of 10 m to 5 km, not 0 m to 56.569 m: \
          beyond, it is extrapolated"
        ]
    );
}

#[test]
fn impossible_radios_are_refused() {
    let fast = MovingRadioConfig {
        mobility: walk(at(50.0, 0.0), at(51.0, 0.0), 2.9e8),
        ..plain()
    };
    assert!(matches!(
        refused(&fast),
        MovingRadioError::Mobility(MobilityError::Speed { .. })
    ));
    let low = MovingRadioConfig {
        carrier: Hertz::new(100_000_000),
        ..plain()
    };
    assert!(matches!(
        refused(&low),
        MovingRadioError::PathLoss(PathLossError::Carrier { .. })
    ));
    let free = MovingRadioConfig {
        path_loss: PathLoss::FreeSpace,
        ..plain()
    };
    let sight = SightRule::Probability;
    let chance = MovingRadioConfig {
        sight,
        ..free.clone()
    };
    assert!(matches!(
        refused(&chance),
        MovingRadioError::NoProbability { .. }
    ));
    let buildings = vec![house((30.0, 40.0), (-5.0, 5.0), 20.0)];
    let shaded = MovingRadioConfig {
        buildings,
        ..free.clone()
    };
    assert!(matches!(
        refused(&shaded),
        MovingRadioError::NoSightToLose { .. }
    ));
    let shadowing = Shadowing::OfModel;
    let shadowed = MovingRadioConfig {
        shadowing,
        ..free.clone()
    };
    let not_of_model = MovingRadioError::Shadowing(ShadowingError::NotOfModel);
    assert_eq!(refused(&shadowed), not_of_model);
    let carrier = Hertz::new(400_000_000);
    let fading = Fading::StreetCanyon;
    let faded = MovingRadioConfig {
        carrier,
        fading,
        ..free
    };
    assert!(matches!(
        refused(&faded),
        MovingRadioError::FadingCarrier { .. }
    ));
    let doppler = Doppler::Fixed(Hertz::new(0));
    let frozen = MovingRadioConfig { doppler, ..plain() };
    assert!(matches!(refused(&frozen), MovingRadioError::Fading(_)));
    let place = at(f64::NAN, 0.0);
    let lost = MovingRadioConfig {
        base: BaseStation {
            place,
            height: Metres::new(10.0),
        },
        ..plain()
    };
    assert!(matches!(
        refused(&lost),
        MovingRadioError::Place {
            of: "base station",
            ..
        }
    ));
    let blockers = vec![Blocker {
        screen: Screen::Vehicle,
        place,
    }];
    let lost = MovingRadioConfig {
        blockers,
        ..plain()
    };
    assert!(matches!(
        refused(&lost),
        MovingRadioError::Place { of: "blocker", .. }
    ));
}

/// Without fading all groups have the carrier's SINR; with fading they differ, and each slot's are those of its time.
#[test]
fn groups_of_a_carrier() {
    let groups = PrbGroups::nr(132);
    let spacing = Hertz::new(120_000);
    let mut flat = radio(&plain());
    assert!(flat.groups(Instant::ZERO).is_empty());
    flat.divide(groups, spacing);
    let expected = flat.sinr(Instant::ZERO).sinr.to_linear() as f32;
    let seen = flat.groups(Instant::ZERO);
    assert_eq!(seen.len(), groups.count());
    assert!(seen.iter().all(|it| (it / expected - 1.0).abs() < 1e-5));

    let moving = MovingRadioConfig {
        fading: Fading::StreetCanyon,
        sight: SightRule::NoLine,
        mobility: walk(at(100.0, 0.0), at(200.0, 0.0), 10.0),
        ..plain()
    };
    let mut faded = radio(&moving);
    faded.divide(groups, spacing);
    let first = faded.groups(seconds(0.0)).to_vec();
    assert!(first.iter().any(|it| (it / first[0] - 1.0).abs() > 0.3));
    let later = faded.groups(seconds(1.0)).to_vec();
    assert!(first != later);
    // however often they are requested
    let mut again = radio(&moving);
    again.divide(groups, spacing);
    assert_eq!(again.groups(seconds(1.0)), later);
}

/// Two carriers between the same antennas: the same place, shadowing and way; fading of each its own.
#[test]
fn a_second_carrier_is_at_the_same_place() {
    let config = MovingRadioConfig {
        shadowing: Shadowing::OfModel,
        mobility: Mobility::RandomWalk {
            from: at(50.0, 50.0),
            area: Area::Disc {
                centre: at(0.0, 80.0),
                radius: Metres::new(60.0),
            },
            speed: Speed::new(3.0),
            leg: Metres::new(10.0),
        },
        ..plain()
    };
    let streams = Streams::new(9);
    let mut one = MovingRadio::new(&config, RUN, &streams).unwrap();
    let other = streams.stream("another fading");
    let mut two = MovingRadio::with_fading(&config, RUN, &streams, other).unwrap();
    for s in 0..60 {
        assert_eq!(
            one.sinr(seconds(f64::from(s))),
            two.sinr(seconds(f64::from(s)))
        );
        assert_eq!(one.place(), two.place());
    }
    let faded = MovingRadioConfig {
        fading: Fading::StreetCanyon,
        ..config
    };
    let mut one = MovingRadio::new(&faded, RUN, &streams).unwrap();
    let other = streams.stream("another fading");
    let mut two = MovingRadio::with_fading(&faded, RUN, &streams, other).unwrap();
    assert!(sinr(&mut one, 5.0) != sinr(&mut two, 5.0));
    assert_eq!(one.place(), two.place());
}

#[test]
fn another_base_station_disturbs_with_the_share_of_its_power() {
    let radio = |x: f64| {
        let base = BaseStation {
            place: at(x, 0.0),
            ..plain().base
        };
        let config = MovingRadioConfig { base, ..plain() };
        MovingRadio::new(&config, RUN, &Streams::new(1)).unwrap()
    };
    // the UE is half-way between two, so that both are received alike
    let sinr = |share: f64| {
        let mut here = radio(0.0);
        here.disturbed_by(radio(200.0), share);
        here.sinr(seconds(1.0)).sinr.to_linear()
    };
    let snr = radio(0.0).mean_snr().to_linear();
    for share in [0.0, 0.25, 1.0] {
        let expected = 1.0 / (1.0 / snr + share);
        let measured = sinr(share);
        assert!(
            (measured / expected - 1.0).abs() < 1e-9,
            "{share}: {measured}, expected {expected}"
        );
    }
    let (mut near, mut far) = (radio(90.0), radio(0.0));
    assert!(near.received(seconds(1.0)) > far.received(seconds(1.0)));
}

#[test]
fn a_base_station_that_is_off_is_not_received_and_disturbs_nobody() {
    let radio = |x: f64| {
        let base = BaseStation {
            place: at(x, 0.0),
            ..plain().base
        };
        let config = MovingRadioConfig { base, ..plain() };
        MovingRadio::new(&config, RUN, &Streams::new(1)).unwrap()
    };
    let off_from_1_to_2_s = |mut radio: MovingRadio| {
        radio.switch_off(seconds(1.0), seconds(2.0));
        radio
    };
    let snr = radio(0.0).mean_snr().to_linear();
    let mut here = off_from_1_to_2_s(radio(0.0));
    for (time, is_off) in [(0.5, false), (1.0, true), (1.999, true), (2.0, false)] {
        assert_eq!(
            here.received(seconds(time)).get().is_finite(),
            !is_off,
            "{time} s"
        );
        assert_eq!(sinr(&mut here, time) < -100.0, is_off, "{time} s");
    }
    let mut beside = radio(0.0);
    beside.disturbed_by(off_from_1_to_2_s(radio(200.0)), 1.0);
    let mut undisturbed = |time: f64| {
        let sample = beside.sinr(seconds(time));
        assert!(sample.holds_until > seconds(time));
        sample.sinr.to_linear() / snr
    };
    assert!(undisturbed(0.5) < 0.9);
    assert!((undisturbed(1.5) - 1.0).abs() < 1e-9);
    assert!(undisturbed(2.5) < 0.9);
}
