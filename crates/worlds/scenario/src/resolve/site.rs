//! The base station's antenna and what stands around it, as moving channels see them.

use crate::document::{Node, Value};
use crate::error::{Checked, fault};
use crate::reader::{Frequency, Reader};
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::moving::{
    BaseStation, Blocker, Building, BuildingEffect, Dbm, InterfererConfig, InterfererPower, Screen,
};
use ran::CellConfig;
use units::{Decibel, Hertz};

/// Maximum buildings and maximum blockers: each costs time at every step of every user.
const MAX_OBSTACLES: usize = 1_000;

/// The base station and its surroundings.
pub(crate) struct Site {
    pub(super) carrier: Option<Hertz>,
    /// PRBs x 12 x sub-carrier spacing.
    pub(super) bandwidth: Hertz,
    pub(super) base: BaseStation,
    pub(super) transmit_power: Dbm,
    pub(super) transmit_gain: Decibel,
    pub(super) buildings: Vec<Building>,
    /// None: it depends on the path loss.
    pub(super) effect: Option<BuildingEffect>,
    pub(super) blockers: Vec<Blocker>,
    pub(super) interferer: Option<InterfererConfig>,
    /// The way back, where it has a link budget.
    pub(super) uplink: Option<UplinkSite>,
    pub(super) at: Places,
}

/// What a cell's file has of an uplink's link budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct UplinkBudget {
    /// None: the downlink's.
    pub(super) carrier: Option<Hertz>,
    pub(super) transmit_power: Dbm,
    pub(super) noise_figure: Decibel,
    /// P0 and alpha of power control; none: full power.
    pub(super) power_control: Option<(Dbm, f64)>,
}

/// The same with the bandwidth that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct UplinkSite {
    pub(super) budget: UplinkBudget,
    pub(super) bandwidth: Hertz,
}

/// Places in the file.
pub(super) struct Places {
    pub(super) frequency: Position,
    pub(super) position: Position,
    pub(super) height: Position,
    pub(super) effect: Position,
    pub(super) interferer: Position,
}

/// Reads their keys of `[cell]`.
pub(super) fn read(
    cell: &mut Reader<'_>,
    config: &CellConfig,
    carrier: Option<Frequency>,
    uplink: Option<UplinkBudget>,
) -> Checked<Site> {
    let node = cell.given("site");
    let is_lte = config.rat == ran::Rat::Lte;
    let mut reader = Reader::open("cell.site", "[cell.site]", node, cell.at())?.for_lte(is_lte);
    let base = BaseStation {
        place: reader.position("position")?,
        height: reader.length("height")?,
    };
    let transmit_power = reader.quantity("transmit-power")?;
    let transmit_gain = reader.quantity("antenna-gain")?;
    let at = Places {
        frequency: cell.place("frequency"),
        position: reader.place("position"),
        height: reader.place("height"),
        effect: cell.place("building-effect"),
        interferer: cell.place("interferer"),
    };
    cell.put("site", ResolvedValue::Table(reader.finish()));
    let spacing = config.rat.sub_carrier_spacing().get();
    Ok(Site {
        carrier: carrier.map(|carrier| carrier.0),
        bandwidth: Hertz::new(u64::from(config.n_prb.get()) * 12 * spacing),
        base,
        transmit_power,
        transmit_gain,
        buildings: list(cell, "building", building)?,
        effect: match cell.optional_choice("building-effect")? {
            Some(name) => name.parse().ok(),
            None => None,
        },
        blockers: list(cell, "blocker", blocker)?,
        interferer: interferer(cell)?,
        uplink: uplink.map(|budget| UplinkSite {
            budget,
            bandwidth: Hertz::new(u64::from(config.uplink.n_prb.get()) * 12 * spacing),
        }),
        at,
    })
}

/// Reads the tables of `[[cell.<key>]]`.
fn list<T>(
    cell: &mut Reader<'_>,
    key: &'static str,
    read: impl Fn(&Node) -> Checked<(T, ResolvedValue)>,
) -> Checked<Vec<T>> {
    let items = match cell.given(key).map(|node| (node, &node.value)) {
        None => return Ok(Vec::new()),
        Some((_, Value::Array(items))) => items,
        Some((node, _)) => {
            return Err(
                fault(node.at, format!("\"{key}\" of [cell] is {}", node.kind()))
                    .allowed(format!("expected tables as [[cell.{key}]]")),
            );
        }
    };
    if items.len() > MAX_OBSTACLES {
        return Err(fault(
            cell.place(key),
            format!("{} tables [[cell.{key}]]", items.len()),
        )
        .allowed(format!("allowed are at most {MAX_OBSTACLES}")));
    }
    let read: Vec<_> = items.iter().map(read).collect::<Checked<_>>()?;
    let (made, resolved) = read.into_iter().unzip();
    cell.put(key, ResolvedValue::List(resolved));
    Ok(made)
}

fn building(node: &Node) -> Checked<(Building, ResolvedValue)> {
    let mut reader = Reader::open("cell.building", "[[cell.building]]", Some(node), node.at)?;
    let (from, to) = reader.corners("corners")?;
    let height = reader.length("height")?;
    match Building::new(from, to, height) {
        Ok(building) => Ok((building, ResolvedValue::Table(reader.finish()))),
        Err(error) => Err(fault(reader.place("corners"), error.to_string())),
    }
}

fn blocker(node: &Node) -> Checked<(Blocker, ResolvedValue)> {
    let mut reader = Reader::open("cell.blocker", "[[cell.blocker]]", Some(node), node.at)?;
    let screen = match reader.choice("screen")? {
        "vehicle" => Screen::Vehicle,
        _ => Screen::Human,
    };
    let place = reader.position("position")?;
    let blocker = Blocker { screen, place };
    Ok((blocker, ResolvedValue::Table(reader.finish())))
}

fn interferer(cell: &mut Reader<'_>) -> Checked<Option<InterfererConfig>> {
    let Some(node) = cell.given("interferer") else {
        return Ok(None);
    };
    let (mut reader, kind) = Reader::open_kind("cell.interferer", "[cell.interferer]", node)?;
    let power = match kind {
        "received" => InterfererPower::Received(reader.quantity("power")?),
        _ => InterfererPower::Transmitted {
            place: reader.position("position")?,
            height: reader.length("height")?,
            power: reader.quantity("power")?,
        },
    };
    let interferer = InterfererConfig {
        power,
        mean_on: reader.quantity("mean-on")?,
        mean_off: reader.quantity("mean-off")?,
    };
    cell.put("interferer", ResolvedValue::Table(reader.finish()));
    Ok(Some(interferer))
}
