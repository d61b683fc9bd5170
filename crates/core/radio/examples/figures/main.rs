//! Makes the figures of `docs/radio.md`: `cargo run -p radio --example figures`.

mod plot;

use plot::{Plot, curve};
use radio::SinrSource;
use radio::moving::{
    Area, AtEnd, BaseStation, Blocker, Building, BuildingEffect, CorrelatedShadowing, Dbm, Doppler,
    Fading, InterfererConfig, InterfererPower, LinkBudget, LinkBudgetConfig, Metres, Mobility,
    MovingRadio, MovingRadioConfig, PathLoss, PathLossModel, Position, Screen, Shadowing, Sight,
    SightRule, Speed, Waypoint,
};
use std::error::Error;
use units::{Decibel, Duration, Hertz, Instant, Streams};

const MMWAVE: Hertz = Hertz::new(28_000_000_000);
const LTE: Hertz = Hertz::new(2_000_000_000);
const RUN: Duration = Duration::from_secs(120);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn at(x: f64, y: f64) -> Position {
    Position::new(Metres::new(x), Metres::new(y))
}

fn budget(dbm: f64, bandwidth: u64) -> LinkBudgetConfig {
    LinkBudgetConfig {
        transmit_power: Dbm::new(dbm),
        transmit_gain: Decibel::new(0.0),
        receive_gain: Decibel::new(0.0),
        noise_figure: Decibel::new(9.0),
        bandwidth: Hertz::new(bandwidth),
    }
}

/// 28 GHz, 132 PRBs at 120 kHz, 35 dBm, line of sight, nothing random.
fn plain(mobility: Mobility) -> MovingRadioConfig {
    MovingRadioConfig {
        carrier: MMWAVE,
        budget: budget(35.0, 190_080_000),
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
        mobility,
        buildings: Vec::new(),
        building_effect: BuildingEffect::Strongest,
        blockers: Vec::new(),
        interferer: None,
    }
}

fn line(from: Position, towards: Position) -> Mobility {
    Mobility::Line {
        from,
        towards,
        speed: Speed::new(1.0),
    }
}

/// (time in s, value) every `step` ms.
fn over_time(
    config: &MovingRadioConfig,
    seconds: f64,
    step_ms: f64,
    mut value: impl FnMut(&mut MovingRadio, Instant) -> f64,
) -> Result<Vec<(f64, f64)>> {
    let mut radio = MovingRadio::new(config, RUN, &Streams::new(3))?;
    let n = (seconds * 1e3 / step_ms) as u32;
    let times = (0..n).map(|i| f64::from(i) * step_ms / 1e3);
    Ok(times
        .map(|t| {
            (
                t,
                value(&mut radio, Instant::ZERO + Duration::from_secs_f64(t)),
            )
        })
        .collect())
}

fn sinr(radio: &mut MovingRadio, at: Instant) -> f64 {
    radio.sinr(at).sinr.get()
}

fn path_loss() -> Result<Plot> {
    let model = |model: PathLoss, carrier, base| {
        PathLossModel::new(model, carrier, Metres::new(base), Metres::new(1.5))
    };
    let steps =
        |low: f64, high: f64| (0..=100).map(move |i| low * (high / low).powf(f64::from(i) / 100.0));
    let over = |name, model: PathLossModel, sight, low, high| {
        curve(
            name,
            steps(low, high).map(|d| (d, model.loss(Metres::new(d), sight).get())),
        )
    };
    let umi = model(PathLoss::UmiStreetCanyon, MMWAVE, 10.0)?;
    let free = model(PathLoss::FreeSpace, MMWAVE, 10.0)?;
    let hata = |large_city, metropolitan| PathLoss::Cost231Hata {
        large_city,
        metropolitan,
    };
    Ok(Plot {
        title: "Median path loss",
        x: "distance on the ground, m",
        y: "loss, dB",
        log_x: true,
        x_range: (10.0, 20_000.0),
        y_range: (60.0, 260.0),
        curves: vec![
            over(
                "UMi street canyon NLOS, 28 GHz",
                umi.clone(),
                Sight::NoLine,
                10.0,
                5e3,
            ),
            over("UMi street canyon LOS, 28 GHz", umi, Sight::Line, 10.0, 5e3),
            over("free space, 28 GHz", free, Sight::Line, 10.0, 2e4),
            over(
                "COST231-Hata metropolitan, 2 GHz",
                model(hata(false, true), LTE, 30.0)?,
                Sight::Line,
                1e3,
                2e4,
            ),
            over(
                "COST231-Hata, 2 GHz",
                model(hata(false, false), LTE, 30.0)?,
                Sight::Line,
                1e3,
                2e4,
            ),
        ],
        boxes: Vec::new(),
    })
}

fn line_of_sight() -> Result<Plot> {
    let umi = PathLossModel::new(
        PathLoss::UmiStreetCanyon,
        MMWAVE,
        Metres::new(10.0),
        Metres::new(1.5),
    )?;
    let probability = (0..=300).filter_map(|d| {
        let d = f64::from(d);
        umi.line_of_sight_probability(Metres::new(d))
            .map(|p| (d, p))
    });
    let mut config = plain(line(at(10.0, 0.0), at(11.0, 0.0)));
    config.sight = SightRule::Probability;
    let mut seen = Vec::new();
    for seed in 0..200 {
        let mut radio = MovingRadio::new(&config, Duration::from_secs(300), &Streams::new(seed))?;
        let sights: Vec<f64> = (0..290)
            .map(|t| {
                radio.sinr(Instant::ZERO + Duration::from_secs(t));
                f64::from(u8::from(radio.sight() == Sight::Line))
            })
            .collect();
        seen.push(sights);
    }
    let share = |t: usize| seen.iter().map(|sights| sights[t]).sum::<f64>() / seen.len() as f64;
    Ok(Plot {
        title: "Line of sight in a street canyon",
        x: "distance on the ground, m",
        y: "probability",
        log_x: false,
        x_range: (0.0, 300.0),
        y_range: (0.0, 1.0),
        curves: vec![
            curve("TR 38.901 Table 7.4.2-1", probability),
            curve(
                "share of 200 walks",
                (0..290).map(|t| (10.0 + t as f64, share(t))),
            ),
            curve(
                "one walk (1: line of sight)",
                (0..290).map(|t| (10.0 + t as f64, seen[5][t])),
            ),
        ],
        boxes: Vec::new(),
    })
}

fn shadowing() -> Result<Plot> {
    let walk = |name, deviation, distance, stream| -> Result<plot::Curve> {
        let rng = Streams::new(1).stream(stream);
        let (deviation, distance) = (Decibel::new(deviation), Metres::new(distance));
        let mut process = CorrelatedShadowing::new(deviation, distance, rng)?;
        let points = (0..800).map(|i| {
            process.advance(Metres::new(0.25));
            (f64::from(i) * 0.25, process.loss().get())
        });
        Ok(curve(name, points))
    };
    Ok(Plot {
        title: "Shadowing along a walk",
        x: "way, m",
        y: "loss, dB",
        log_x: false,
        x_range: (0.0, 200.0),
        y_range: (-25.0, 25.0),
        curves: vec![
            walk("NLOS: 7.82 dB over 13 m", 7.82, 13.0, "nlos")?,
            walk("LOS: 4 dB over 10 m", 4.0, 10.0, "los")?,
        ],
        boxes: Vec::new(),
    })
}

fn fading_lte() -> Result<Plot> {
    let faded = |name, fading, hz| -> Result<plot::Curve> {
        let mut config = plain(Mobility::Static {
            place: at(150.0, 0.0),
        });
        config.carrier = LTE;
        config.budget = budget(14.7, 4_500_000);
        config.fading = fading;
        config.doppler = Doppler::Fixed(Hertz::new(hz));
        Ok(curve(name, over_time(&config, 1.0, 1.0, sinr)?))
    };
    Ok(Plot {
        title: "Effective SINR of 25 PRBs, the same mean",
        x: "time, s",
        y: "SINR, dB",
        log_x: false,
        x_range: (0.0, 1.0),
        y_range: (5.0, 45.0),
        curves: vec![
            faded("EPA, 5 Hz", Fading::Epa, 5)?,
            faded("EVA, 70 Hz", Fading::Eva, 70)?,
            faded("ETU, 5 Hz", Fading::Etu, 5)?,
        ],
        boxes: Vec::new(),
    })
}

fn fading_mmwave() -> Result<Plot> {
    let faded = |name, sight, bandwidth, dbm| -> Result<plot::Curve> {
        let mut config = plain(line(at(50.0, 0.0), at(51.0, 0.0)));
        config.sight = sight;
        config.budget = budget(dbm, bandwidth);
        config.fading = Fading::StreetCanyon;
        Ok(curve(name, over_time(&config, 0.25, 0.125, sinr)?))
    };
    Ok(Plot {
        title: "Street canyon at 28 GHz, walking at 1 m/s",
        x: "time, s",
        y: "SINR, dB",
        log_x: false,
        x_range: (0.0, 0.25),
        y_range: (-20.0, 30.0),
        curves: vec![
            faded("LOS, 190 MHz", SightRule::Line, 190_080_000, 35.0)?,
            faded(
                "NLOS, 1.44 MHz (same density)",
                SightRule::NoLine,
                1_440_000,
                13.8,
            )?,
            faded("NLOS, 190 MHz", SightRule::NoLine, 190_080_000, 35.0)?,
        ],
        boxes: Vec::new(),
    })
}

fn buildings() -> Result<Plot> {
    let behind = |name, effect| -> Result<plot::Curve> {
        let mut config = plain(line(at(100.0, -40.0), at(100.0, 40.0)));
        config.buildings = vec![Building::new(
            at(30.0, -5.0),
            at(40.0, 5.0),
            Metres::new(20.0),
        )?];
        config.building_effect = effect;
        Ok(curve(name, over_time(&config, 80.0, 50.0, sinr)?))
    };
    Ok(Plot {
        title: "Walking past a building 10 m x 10 m x 20 m, 30 m from the base station",
        x: "time at 1 m/s, s",
        y: "SINR, dB",
        log_x: false,
        x_range: (0.0, 80.0),
        y_range: (-30.0, 20.0),
        curves: vec![
            behind("nlos", BuildingEffect::NoLineOfSight)?,
            behind("diffraction", BuildingEffect::Diffraction)?,
            behind("strongest", BuildingEffect::Strongest)?,
        ],
        boxes: Vec::new(),
    })
}

fn screens() -> Result<Plot> {
    let past = |name, screen| -> Result<plot::Curve> {
        let points: Result<Vec<(f64, f64)>> = (-200..=200)
            .map(|i| {
                let offset = f64::from(i) * 0.02;
                let mut open = plain(Mobility::Static {
                    place: at(50.0, 0.0),
                });
                open.base.height = Metres::new(1.5);
                open.ue_height = Metres::new(1.2);
                let mut blocked = open.clone();
                blocked.blockers = vec![Blocker {
                    screen,
                    place: at(48.0, offset),
                }];
                let snr = |config: &MovingRadioConfig| -> Result<f64> {
                    Ok(sinr(
                        &mut MovingRadio::new(config, RUN, &Streams::new(1))?,
                        Instant::ZERO,
                    ))
                };
                Ok((offset, snr(&open)? - snr(&blocked)?))
            })
            .collect();
        Ok(curve(name, points?))
    };
    Ok(Plot {
        title: "Somebody 2 m before a UE, 50 m from the base station, 28 GHz",
        x: "offset from the path, m",
        y: "loss, dB",
        log_x: false,
        x_range: (-4.0, 4.0),
        y_range: (0.0, 20.0),
        curves: vec![
            past("vehicle", Screen::Vehicle)?,
            past("person", Screen::Human)?,
        ],
        boxes: Vec::new(),
    })
}

fn mobility() -> Result<Plot> {
    let houses = [((20.0, 10.0), (45.0, 30.0)), ((60.0, -30.0), (80.0, -5.0))];
    let ways = |name, mobility| -> Result<plot::Curve> {
        let mut config = plain(mobility);
        for ((x1, y1), (x2, y2)) in houses {
            let house = Building::new(at(x1, y1), at(x2, y2), Metres::new(15.0))?;
            config.buildings.push(house);
        }
        let mut places = Vec::new();
        over_time(&config, 600.0, 500.0, |radio, at| {
            radio.sinr(at);
            places.push((radio.place().x().get(), radio.place().y().get()));
            0.0
        })?;
        Ok(curve(name, places))
    };
    let point = |x, y| Waypoint {
        place: at(x, y),
        rest: Duration::from_secs(5),
        speed: None,
    };
    Ok(Plot {
        title: "Random walk (10 minutes) and waypoints",
        x: "x, m",
        y: "y, m",
        log_x: false,
        x_range: (-10.0, 130.0),
        y_range: (-40.0, 40.0),
        curves: vec![
            ways(
                "random walk, legs of 15 m",
                Mobility::RandomWalk {
                    from: at(50.0, 0.0),
                    area: Area::Rectangle(at(10.0, -35.0), at(100.0, 35.0)),
                    speed: Speed::new(1.4),
                    leg: Metres::new(15.0),
                },
            )?,
            ways(
                "waypoints",
                Mobility::Waypoints {
                    points: vec![
                        point(10.0, 0.0),
                        point(52.0, 5.0),
                        point(55.0, 32.0),
                        point(110.0, 20.0),
                        point(115.0, -36.0),
                    ],
                    speed: Speed::new(1.4),
                    at_end: AtEnd::Stop,
                },
            )?,
        ],
        boxes: houses.to_vec(),
    })
}

fn interferer() -> Result<Plot> {
    let mut config = plain(Mobility::Static {
        place: at(100.0, 0.0),
    });
    config.interferer = Some(InterfererConfig {
        power: InterfererPower::Received(Dbm::new(-72.0)),
        mean_on: Duration::from_millis(10),
        mean_off: Duration::from_millis(100),
    });
    let alone = over_time(&config, 1.0, 0.5, sinr)?;
    config.fading = Fading::Eva;
    config.doppler = Doppler::Fixed(Hertz::new(5));
    Ok(Plot {
        title: "An interferer, on for 10 ms in 110 ms on average",
        x: "time, s",
        y: "SINR, dB",
        log_x: false,
        x_range: (0.0, 1.0),
        y_range: (-5.0, 20.0),
        curves: vec![
            curve("alone", alone),
            curve(
                "with fading (EVA, 5 Hz)",
                over_time(&config, 1.0, 0.5, sinr)?,
            ),
        ],
        boxes: Vec::new(),
    })
}

fn link_budget() -> Result<Plot> {
    let over = |name, config, carrier, sight| -> Result<plot::Curve> {
        let budget = LinkBudget::new(config)?;
        let (base, ue) = (Metres::new(10.0), Metres::new(1.5));
        let umi = PathLossModel::new(PathLoss::UmiStreetCanyon, carrier, base, ue)?;
        let distances = (0..=100).map(|i| 10f64.powf(1.0 + f64::from(i) / 50.0));
        let snr = |d| budget.snr(umi.loss(Metres::new(d), sight)).get();
        Ok(curve(name, distances.map(|d| (d, snr(d)))))
    };
    let (mmwave, lte) = (budget(35.0, 190_080_000), budget(30.0, 4_500_000));
    Ok(Plot {
        title: "SNR in a street canyon, noise figure 9 dB",
        x: "distance on the ground, m",
        y: "SNR, dB",
        log_x: true,
        x_range: (10.0, 1_000.0),
        y_range: (-50.0, 90.0),
        curves: vec![
            over("2 GHz, 4.5 MHz, 30 dBm, LOS", lte, LTE, Sight::Line)?,
            over("2 GHz, NLOS", lte, LTE, Sight::NoLine)?,
            over("28 GHz, 190 MHz, 35 dBm, LOS", mmwave, MMWAVE, Sight::Line)?,
            over("28 GHz, NLOS", mmwave, MMWAVE, Sight::NoLine)?,
        ],
        boxes: Vec::new(),
    })
}

fn main() -> Result<()> {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/figures/radio");
    std::fs::create_dir_all(&folder)?;
    for (name, plot) in [
        ("path-loss", path_loss()?),
        ("line-of-sight", line_of_sight()?),
        ("shadowing", shadowing()?),
        ("fading-lte", fading_lte()?),
        ("fading-mmwave", fading_mmwave()?),
        ("buildings", buildings()?),
        ("screens", screens()?),
        ("mobility", mobility()?),
        ("interferer", interferer()?),
        ("link-budget", link_budget()?),
    ] {
        std::fs::write(folder.join(format!("{name}.svg")), plot.svg())?;
    }
    Ok(())
}
