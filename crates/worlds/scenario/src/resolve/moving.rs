//! Moving channels and how users move.

use super::site::{Site, UplinkSite};
use crate::error::{Checked, Fault, fault};
use crate::moving::{MovingSpec, Placement, UplinkRadio};
use crate::reader::{Frequency, Reader};
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::moving::{
    Area, AtEnd, BuildingEffect, Doppler, Fading, FadingError, LinkBudgetConfig, Metres, Mobility,
    MovingRadioConfig, MovingRadioError, PathLoss, PathLossError, PathLossModel, RangeWarning,
    Shadowing, Sight, SightRule, Speed, Waypoint,
};
use radio::{LinkAdaptation, LinkAdaptationConfig, PowerControl};
use ran::{CellConfig, Rat};
use units::{Duration, Hertz, Streams};

/// Maximum points of a way.
const MAX_WAYPOINTS: usize = 1_000;
/// Shortest way between two points, m.
const MIN_WAY: f64 = 0.1;
/// Shortest side of a random walk's area, m.
const MIN_AREA: f64 = 1.0;

/// The way of a user and its place in the file.
pub(super) struct Way {
    mobility: Mobility,
    placement: Placement,
    fastest: Option<Speed>,
    at: Position,
}

/// Reads `mobility` of a user.
pub(super) fn way(ue: &mut Reader<'_>, name: &str, site: &Site) -> Checked<Option<Way>> {
    let Some(node) = ue.given("mobility") else {
        return Ok(None);
    };
    let title = format!("[ue.{name}.mobility]");
    let (mut reader, kind) = Reader::open_kind("ue.<name>.mobility", title, node)?;
    let (mobility, placement) = match kind {
        "static" => {
            let place = reader.position("position")?;
            (Mobility::Static { place }, scatter(&mut reader)?)
        }
        "line" => line(&mut reader)?,
        "random-walk" => random_walk(&mut reader, site)?,
        _ => waypoints(&mut reader)?,
    };
    let fastest = match kind {
        "static" => None,
        _ => fastest(&mut reader)?,
    };
    ue.put("mobility", ResolvedValue::Table(reader.finish()));
    Ok(Some(Way {
        mobility,
        placement,
        fastest,
        at: node.at,
    }))
}

/// The upper end of the speeds that are drawn.
fn fastest(reader: &mut Reader<'_>) -> Checked<Option<Speed>> {
    let Some(fastest) = reader.optional::<Speed>("speed-to")? else {
        return Ok(None);
    };
    let slowest = reader.quantity::<Speed>("speed")?;
    if slowest <= fastest {
        return Ok(Some(fastest));
    }
    let what = format!("\"speed-to\" = {fastest} is less than \"speed\" = {slowest}");
    Err(fault(reader.place("speed-to"), what).allowed(format!("allowed is {slowest} and more")))
}

fn scatter(reader: &mut Reader<'_>) -> Checked<Placement> {
    let radius = reader.length("scatter")?;
    Ok(if radius > Metres::new(0.0) {
        Placement::Scattered { radius }
    } else {
        Placement::Fixed
    })
}

fn line(reader: &mut Reader<'_>) -> Checked<(Mobility, Placement)> {
    let from = reader.position("from")?;
    let towards = reader.position("towards")?;
    if from == towards {
        return Err(fault(
            reader.place("towards"),
            format!("\"towards\" is {towards}, where the way begins"),
        )
        .allowed("expected another place on the way"));
    }
    let mobility = Mobility::Line {
        from,
        towards,
        speed: reader.quantity("speed")?,
    };
    Ok((mobility, scatter(reader)?))
}

fn random_walk(reader: &mut Reader<'_>, site: &Site) -> Checked<(Mobility, Placement)> {
    let area = area(reader, site)?;
    let from = reader.optional_position("from")?;
    let mobility = Mobility::RandomWalk {
        from: from.unwrap_or(area.centre()),
        area,
        speed: reader.quantity("speed")?,
        leg: reader.length("leg")?,
    };
    let placement = match from {
        Some(_) => Placement::Fixed,
        None => Placement::InArea,
    };
    Ok((mobility, placement))
}

/// The rectangle or the disc of a random walk.
fn area(reader: &mut Reader<'_>, site: &Site) -> Checked<Area> {
    let rectangle = reader.optional_corners("area")?;
    let radius = reader.optional_length("disc-radius")?;
    let centre = reader.optional_position("disc-centre")?;
    let (a, b) = match (rectangle, radius, centre) {
        (None, Some(radius), centre) => {
            let centre = centre.unwrap_or(site.base.place);
            return Ok(Area::Disc { centre, radius });
        }
        (Some(corners), None, None) => corners,
        (None, None, None) => {
            return Err(fault(reader.at(), "a random walk needs an area")
                .allowed("expected \"area\" or \"disc-radius\"")
                .hint("for example disc-radius = \"400 m\""));
        }
        (None, None, Some(_)) => {
            return Err(fault(
                reader.place("disc-centre"),
                "\"disc-centre\" without \"disc-radius\"",
            )
            .hint("for example disc-radius = \"400 m\""));
        }
        (Some(_), ..) => {
            return Err(fault(
                reader.place("area"),
                "both a rectangle (\"area\") and a disc (\"disc-...\") are given",
            )
            .hint("remove one"));
        }
    };
    let sides = [(a.x(), b.x()), (a.y(), b.y())].map(|(a, b)| (b.get() - a.get()).abs());
    if sides.iter().any(|side| *side < MIN_AREA) {
        let [x, y] = sides.map(Metres::new);
        return Err(
            fault(reader.place("area"), format!("\"area\" is {x} by {y}"))
                .allowed(format!("allowed is {MIN_AREA} m and more on each side")),
        );
    }
    Ok(Area::Rectangle(a, b))
}

fn waypoints(reader: &mut Reader<'_>) -> Checked<(Mobility, Placement)> {
    let stops = reader.stops("points", MAX_WAYPOINTS)?;
    let at_end = match reader.choice("at-end")? {
        "loop" => AtEnd::Loop,
        _ => AtEnd::Stop,
    };
    check_distances(&stops, at_end, reader.place("points"))?;
    let mobility = Mobility::Waypoints {
        points: stops,
        speed: reader.quantity("speed")?,
        at_end,
    };
    Ok((mobility, scatter(reader)?))
}

/// That no way between two points is so short that it would take no time.
fn check_distances(stops: &[Waypoint], at_end: AtEnd, at: Position) -> Checked<()> {
    let back = match (at_end, stops) {
        (AtEnd::Loop, [first, .., last]) => Some((last, first)),
        _ => None,
    };
    let ways = stops.windows(2).map(|pair| (&pair[0], &pair[1]));
    for (Waypoint { place: from, .. }, Waypoint { place: to, .. }) in ways.chain(back) {
        let distance = from.distance(*to).get();
        if distance > 0.0 && distance < MIN_WAY {
            let what = format!("the points {from} and {to} are only {distance:.1e} m apart");
            return Err(fault(at, what).allowed(format!("allowed is {MIN_WAY} m and more, or 0 m")));
        }
    }
    Ok(())
}

/// Reads a channel of kind `moving`; gives what its path loss model is extrapolated to.
pub(super) fn channel(
    reader: &mut Reader<'_>,
    cell: &CellConfig,
    site: &Site,
    way: Option<Way>,
    run: Duration,
) -> Checked<(MovingSpec, Vec<RangeWarning>)> {
    let Some(way) = way else {
        return Err(
            fault(reader.at(), "a moving channel needs the user's position")
                .allowed("expected \"mobility\" beside \"channel\"")
                .hint(
                    "for example mobility = { kind = \"static\", position = [\"50 m\", \"0 m\"] }",
                ),
        );
    };
    let Some(carrier) = site.carrier else {
        return Err(fault(
            reader.at(),
            "a moving channel needs the cell's carrier frequency",
        )
        .allowed("expected \"frequency\" in [cell]")
        .hint("for example frequency = \"28 GHz\""));
    };
    let at = way.at;
    let radio = radio(reader, site, carrier, way.mobility)?;
    let adaptation = adaptation(reader, cell)?;
    let uplink = site
        .uplink
        .map(|UplinkSite { budget, bandwidth }| UplinkRadio {
            carrier: budget.carrier.unwrap_or(carrier),
            budget: LinkBudgetConfig {
                transmit_power: budget.transmit_power,
                transmit_gain: radio.budget.receive_gain,
                receive_gain: radio.budget.transmit_gain,
                noise_figure: budget.noise_figure,
                bandwidth,
            },
            power_control: budget.power_control.map(|(p0, alpha)| PowerControl {
                p0,
                alpha,
                max: budget.transmit_power,
                n_prb: cell.uplink.n_prb,
                numerology: numerology(cell.rat),
            }),
        });
    let spec = MovingSpec {
        radio,
        uplink,
        placement: way.placement,
        fastest: way.fastest,
        adaptation,
    };
    check_interferer(&spec.radio, site)?;
    // what a run will draw is not known here, but whether there is anything to be drawn
    let placed = spec.placed(run, Streams::new(0).stream("check"));
    placed
        .and_then(|radio| {
            if let Some(uplink) = &spec.uplink {
                uplink.beside(&radio).check(run)?;
            }
            radio.check(run)
        })
        .map_err(|error| located(&error, spec.placement, reader, site, at))?;
    let warnings = spec.warnings(run);
    Ok((spec, warnings))
}

/// mu; LTE has the sub-carriers of numerology 0.
fn numerology(rat: Rat) -> u8 {
    match rat {
        Rat::Lte => 0,
        Rat::Nr { numerology } => numerology,
    }
}

fn adaptation(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<LinkAdaptationConfig> {
    let adaptation = super::channel::adaptation(reader, cell)?;
    // any SINR does to see whether the rest fits
    match LinkAdaptation::constant(units::Decibel::new(0.0), adaptation) {
        Ok(_) => Ok(adaptation),
        Err(error) => Err(fault(reader.at(), error.to_string())),
    }
}

fn radio(
    reader: &mut Reader<'_>,
    site: &Site,
    carrier: Hertz,
    mobility: Mobility,
) -> Checked<MovingRadioConfig> {
    let path_loss: PathLoss = word(reader, "path-loss")?;
    let ue_height = reader.length("height")?;
    let model = PathLossModel::new(path_loss, carrier, site.base.height, ue_height)
        .map_err(|error| path_loss_fault(&error, reader, site))?;
    let has_sight_probability = model.line_of_sight_probability(Metres::new(0.0)).is_some();
    let budget = LinkBudgetConfig {
        transmit_power: site.transmit_power,
        transmit_gain: site.transmit_gain,
        receive_gain: reader.quantity("antenna-gain")?,
        noise_figure: reader.quantity("noise-figure")?,
        bandwidth: site.bandwidth,
    };
    let effect = site.effect.unwrap_or(if has_sight_probability {
        BuildingEffect::Strongest
    } else {
        BuildingEffect::Diffraction
    });
    if !site.buildings.is_empty() {
        // it depends on the path loss, so that it may differ between users
        reader.put("building-effect", ResolvedValue::Text(effect.to_string()));
    }
    Ok(MovingRadioConfig {
        carrier,
        budget,
        path_loss,
        sight: sight(reader, site, has_sight_probability)?,
        shadowing: shadowing(reader, &model)?,
        fading: word::<Fading>(reader, "fading")?,
        doppler: match reader.optional::<Frequency>("doppler")? {
            Some(doppler) => Doppler::Fixed(doppler.0),
            None => Doppler::Movement,
        },
        base: site.base,
        ue_height,
        mobility,
        buildings: site.buildings.clone(),
        building_effect: effect,
        blockers: site.blockers.clone(),
        interferer: site.interferer,
    })
}

/// One of the words of a key, as what it names.
fn word<T: core::str::FromStr<Err = radio::UnknownName>>(
    reader: &mut Reader<'_>,
    key: &str,
) -> Checked<T> {
    let text = reader.choice(key)?;
    text.parse()
        .map_err(|error: radio::UnknownName| fault(reader.place(key), error.to_string()))
}

fn sight(reader: &mut Reader<'_>, site: &Site, has_sight_probability: bool) -> Checked<SightRule> {
    let rule = match reader.optional_choice("sight")? {
        Some(_) => word(reader, "sight")?,
        None if has_sight_probability && site.buildings.is_empty() => SightRule::Probability,
        None => SightRule::Line,
    };
    reader.put("sight", ResolvedValue::Text(rule.to_string()));
    Ok(rule)
}

fn shadowing(reader: &mut Reader<'_>, model: &PathLossModel) -> Checked<Shadowing> {
    let given = reader.optional_choice("shadowing")?;
    let word = given.unwrap_or(match model.shadowing(Sight::Line) {
        Some(_) => "model",
        None => "none",
    });
    reader.put("shadowing", ResolvedValue::Text(word.to_owned()));
    let numbers = ["shadowing-deviation", "shadowing-distance"];
    if word == "fixed" {
        if let Some(missing) = numbers.iter().find(|key| reader.given(key).is_none()) {
            return Err(fault(
                reader.place("shadowing"),
                format!("shadowing = \"fixed\" needs \"{missing}\""),
            )
            .hint("for example shadowing-deviation = \"8 dB\", shadowing-distance = \"50 m\""));
        }
        return Ok(Shadowing::Fixed {
            deviation: reader.quantity(numbers[0])?,
            correlation_distance: reader.length(numbers[1])?,
        });
    }
    if let Some(node) = numbers.iter().find_map(|key| reader.given(key)) {
        return Err(
            fault(node.at, format!("shadowing = \"{word}\" takes no numbers"))
                .hint("remove the line, or take shadowing = \"fixed\""),
        );
    }
    Ok(match word {
        "model" => Shadowing::OfModel,
        _ => Shadowing::None,
    })
}

/// That the path loss model holds for an interferer's antenna too.
fn check_interferer(radio: &MovingRadioConfig, site: &Site) -> Checked<()> {
    use radio::moving::{InterfererConfig, InterfererPower};
    if let Some(InterfererConfig {
        power: InterfererPower::Transmitted { height, .. },
        ..
    }) = radio.interferer
        && let Err(error) =
            PathLossModel::new(radio.path_loss, radio.carrier, height, radio.ue_height)
    {
        return Err(fault(
            site.at.interferer,
            format!("for the interferer, {error}"),
        ));
    }
    Ok(())
}

fn path_loss_fault(error: &PathLossError, reader: &Reader<'_>, site: &Site) -> Box<Fault> {
    let at = match error {
        PathLossError::Carrier { .. } | PathLossError::NoCarrier => site.at.frequency,
        PathLossError::Height { of: "UE", .. } => reader.place("height"),
        PathLossError::Height { .. } => site.at.height,
        _ => reader.place("path-loss"),
    };
    fault(at, error.to_string())
}

/// What is wrong with a moving radio, at its place in the file.
fn located(
    error: &MovingRadioError,
    placement: Placement,
    reader: &Reader<'_>,
    site: &Site,
    way: Position,
) -> Box<Fault> {
    let no_place = matches!(
        error,
        MovingRadioError::UeInBuilding { .. } | MovingRadioError::AtBase { .. }
    );
    if no_place && placement != Placement::Fixed {
        return fault(
            way,
            format!("no place was found for the UE: in the end, {error}"),
        );
    }
    let at = match error {
        MovingRadioError::PathLoss(error) => return path_loss_fault(error, reader, site),
        MovingRadioError::Shadowing(_) => reader.place("shadowing"),
        MovingRadioError::Fading(FadingError::Doppler { .. }) => reader.place("doppler"),
        MovingRadioError::Fading(_) | MovingRadioError::FadingCarrier { .. } => {
            reader.place("fading")
        }
        MovingRadioError::Interferer(_) => site.at.interferer,
        MovingRadioError::NoProbability { .. } => reader.place("sight"),
        MovingRadioError::NoSightToLose { .. } => site.at.effect,
        MovingRadioError::BaseInBuilding { .. } => site.at.position,
        MovingRadioError::Mobility(_)
        | MovingRadioError::UeInBuilding { .. }
        | MovingRadioError::AtBase { .. } => way,
        _ => reader.at(),
    };
    fault(at, error.to_string())
}
