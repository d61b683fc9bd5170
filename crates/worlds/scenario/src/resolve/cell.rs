//! The radio cell.

use super::site::UplinkBudget;
use super::{Access, Context, cells, handover, queues, site, trace};
use crate::document::{Node, Value};
use crate::error::{Checked, fault};
use crate::experiment::{CellSpec, LoadSpec, TraceSpec};
use crate::reader::{Frequency, Reader};
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::moving::Dbm;
use radio::{BandwidthError, Carrier, FrequencyRange, McsTable};
use ran::{
    CellConfig, Combining, Grants, HarqConfig, Rat, SchedulerKind, SubBands, UplinkConfig,
    UplinkLink,
};
use rnis::CellId;
use units::{BitRate, Hertz, Mcs, Prb};

/// Maximum data resource elements of a PRB and slot (TS 38.214 5.1.3.2).
const MAX_DATA_RE: u64 = 156;

/// Reads `[cell]`, or `[[cell]]`.
pub(super) fn read(cx: &mut Context<'_>, top: &mut Reader<'_>, node: &Node) -> Checked<Access> {
    if let Value::Array(items) = &node.value {
        return cells::read(cx, top, items, node.at);
    }
    handover::check_single(top)?;
    let (access, reader) = one(cx, node, "[cell]")?;
    for key in ["off-at", "on-at"] {
        if let Some(given) = reader.given(key) {
            return Err(fault(given.at, format!("{key:?} without several cells"))
                .allowed("a single cell is always on")
                .hint("remove the line, or write the cells as [[cell]]"));
        }
    }
    if let Some(given) = reader.given("trace") {
        return Err(fault(given.at, "\"trace\" without several cells")
            .allowed("the trace of a single cell is its users' channel")
            .hint("write channel = { kind = \"trace\", file = ... } into the user, or the cells as [[cell]]"));
    }
    top.put("cell", ResolvedValue::Table(reader.finish()));
    Ok(access)
}

/// One cell, and its reader.
pub(super) fn one<'a>(
    cx: &mut Context<'_>,
    node: &'a Node,
    title: &str,
) -> Checked<(Access, Reader<'a>)> {
    let mut reader = Reader::open("cell", title, Some(node), node.at)?;
    let is_lte = reader.choice("rat")? == "lte";
    let mut reader = reader.for_lte(is_lte);
    let rat = rat(&mut reader, is_lte)?;
    let (n_prb, carrier) = n_prb(&mut reader, rat)?;
    let mut config = match rat {
        Rat::Lte => CellConfig::lte(n_prb),
        Rat::Nr { numerology } => CellConfig::nr(numerology, n_prb),
    };
    config.id = CellId(reader.count("id")?);
    config.mcs_table = mcs_table(&mut reader, is_lte)?;
    layers(&mut reader, &mut config)?;
    if !is_lte {
        config.data_re_per_prb = data_re(&mut reader)?;
    }
    config.scheduler = scheduler(&mut reader)?;
    config.sub_bands = SubBands::from_name(reader.choice("sub-bands")?).unwrap_or(SubBands::None);
    config.tdd_pattern = reader.text("tdd-pattern")?;
    config.bler = bler(&mut reader, config.mcs_table)?;
    config.downlink_processing =
        reader.quantity_or("downlink-processing", config.downlink_processing)?;
    config.receive_processing =
        reader.quantity_or("receive-processing", config.receive_processing)?;
    config.harq_feedback_error = reader.number("harq-feedback-error")?;
    config.n3_rate = reader.optional::<BitRate>("n3-rate")?;
    config.n3_buffer = reader.capacity("n3-buffer")?;
    config.harq = harq(&mut reader, config.harq)?;
    let Uplink { trace, budget } = uplink(cx, &mut reader, &mut config)?;
    config.queues = queues::read(&mut reader, &config)?;
    let has_f1u = has_wire(&mut reader, &config, &F1U)?;
    let has_n3 = has_wire(&mut reader, &config, &N3)?;
    if let Err(error) = config.check() {
        return Err(fault(node.at, error.to_string()));
    }
    let site = site::read(&mut reader, &config, carrier, budget)?;
    let (background, background_trace) = background(&mut reader, n_prb)?;
    let access = Access::Cell {
        spec: Box::new(CellSpec {
            config,
            background,
            has_f1u,
            has_n3,
        }),
        at: node.at,
        site: Box::new(site),
        background_trace,
        uplink: trace.map(Box::new),
        several: None,
    };
    Ok((access, reader))
}

/// A wire that the lab has, and why nothing of the cell's may wait above it.
struct Wire {
    key: &'static str,
    reason: &'static str,
}

/// What waits above the RLC would wait in the first of the two parts, and read the room in the second.
const F1U: Wire = Wire {
    key: "f1-u",
    reason: "between the units nothing waits, and F1-U does not show what waits before it",
};

/// What waits in the core, or for the interface, would wait behind the wire, at the base station.
const N3: Wire = Wire {
    key: "n3",
    reason: "on the wire nothing waits, and what the cell models of the core and N3 is not before it",
};

/// Whether the base station has this wire.
fn has_wire(reader: &mut Reader<'_>, config: &CellConfig, wire: &Wire) -> Checked<bool> {
    let has_wire = reader.flag(wire.key)?;
    let above = match config {
        CellConfig {
            queues: Some(_), ..
        } => "[cell.queues]",
        CellConfig {
            n3_rate: Some(_), ..
        } => "\"n3-rate\"",
        _ => return Ok(has_wire),
    };
    if !has_wire {
        return Ok(false);
    }
    let what = format!("\"{}\" with {above}", wire.key);
    Err(fault(reader.place(wire.key), what)
        .allowed(wire.reason)
        .hint("leave out one of the two"))
}

fn rat(reader: &mut Reader<'_>, is_lte: bool) -> Checked<Rat> {
    let numerology = reader.count("numerology")?;
    match (is_lte, numerology) {
        (false, numerology) => Ok(Rat::Nr { numerology }),
        (true, 0) => Ok(Rat::Lte),
        (true, _) => Err(fault(reader.place("numerology"), "LTE has no numerology")
            .hint("remove the line, or take rat = \"nr\"")),
    }
}

/// PRBs: as given, or as many as the bandwidth has, never more than that; and the carrier's frequency.
fn n_prb(reader: &mut Reader<'_>, rat: Rat) -> Checked<(Prb, Option<Frequency>)> {
    let frequency = reader.optional::<Frequency>("frequency")?;
    let bandwidth = reader.optional::<Frequency>("bandwidth")?;
    let given = reader.optional_count::<u16>("n-prb")?;
    let max = match bandwidth {
        Some(bandwidth) => Some(bandwidth_prb(reader, rat, frequency, bandwidth.0)?),
        None => None,
    };
    let n_prb = match (given, max) {
        (Some(given), Some((max, carrier))) if given > max.get() => {
            return Err(
                fault(reader.place("n-prb"), format!("{given} PRBs are too many"))
                    .allowed(format!("{carrier} of this bandwidth has {max} PRBs"))
                    .hint("remove \"n-prb\" to take all that the bandwidth has"),
            );
        }
        (Some(given), _) => Prb::new(given),
        (None, Some((max, _))) => max,
        (None, None) => {
            return Err(fault(
                reader.at(),
                "[cell] has neither \"bandwidth\" nor \"n-prb\"",
            )
            .hint("give one of them, for example bandwidth = \"20 MHz\""));
        }
    };
    reader.put("n-prb", ResolvedValue::Count(u64::from(n_prb.get())));
    Ok((n_prb, frequency))
}

/// Maximum PRBs of a bandwidth, and the carrier that has them.
fn bandwidth_prb(
    reader: &Reader<'_>,
    rat: Rat,
    frequency: Option<Frequency>,
    bandwidth: Hertz,
) -> Checked<(Prb, Carrier)> {
    let carriers = match (rat, frequency) {
        (Rat::Lte, _) => vec![Carrier::Lte],
        (Rat::Nr { .. }, None) => [FrequencyRange::Fr1, FrequencyRange::Fr2_1]
            .map(|range| Carrier::Nr {
                range,
                scs: rat.sub_carrier_spacing(),
            })
            .to_vec(),
        (Rat::Nr { .. }, Some(frequency)) => {
            let Some(range) = FrequencyRange::of(frequency.0) else {
                return Err(fault(
                    reader.place("frequency"),
                    format!("{frequency} is in no frequency range of NR"),
                )
                .allowed("410 MHz to 7.125 GHz (FR1), 24.25 to 71 GHz (FR2)"));
            };
            vec![Carrier::Nr {
                range,
                scs: rat.sub_carrier_spacing(),
            }]
        }
    };
    let mut errors = Vec::new();
    for carrier in carriers {
        match radio::max_prb(carrier, bandwidth) {
            Ok(prb) => return Ok((prb, carrier)),
            Err(error) => errors.push(error),
        }
    }
    // of the errors, that of a range which has this spacing lists the bandwidths there are
    let better = |e: &BandwidthError| matches!(e, BandwidthError::NoSuchBandwidth { .. });
    let error = errors.iter().find(|e| better(e)).or(errors.first());
    let what = error.map_or(String::new(), ToString::to_string);
    Err(fault(reader.place("bandwidth"), what))
}

fn mcs_table(reader: &mut Reader<'_>, is_lte: bool) -> Checked<McsTable> {
    match (is_lte, reader.choice("mcs-table")?) {
        (true, "qam64") => Ok(McsTable::LteQam64),
        (true, "qam256") => Ok(McsTable::LteQam256),
        (false, "qam64") => Ok(McsTable::NrQam64),
        (false, "qam256") => Ok(McsTable::NrQam256),
        (false, _) => Ok(McsTable::NrLowSe),
        (true, other) => Err(fault(
            reader.place("mcs-table"),
            format!("LTE has no MCS table \"{other}\""),
        )
        .allowed("expected \"qam64\" or \"qam256\"")),
    }
}

fn layers(reader: &mut Reader<'_>, config: &mut CellConfig) -> Checked<()> {
    config.layers = reader.count("layers")?;
    if config.rat == Rat::Lte && config.layers > 1 {
        let at = reader.place("layers");
        return Err(fault(at, format!("{} layers with LTE", config.layers))
            .allowed("LTE has one layer here"));
    }
    Ok(())
}

/// Data resource elements of a PRB and slot (TS 38.214 5.1.3.2 step 1).
fn data_re(reader: &mut Reader<'_>) -> Checked<u16> {
    if let Some(given) = reader.optional_count::<u16>("data-re-per-prb")? {
        let twice = ["symbols", "dmrs-re"]
            .iter()
            .find_map(|key| reader.given(key));
        return match twice {
            None => Ok(given),
            Some(node) => Err(fault(node.at, "\"data-re-per-prb\" is given too")
                .hint("remove it, or \"symbols\" and \"dmrs-re\"")),
        };
    }
    let symbols = reader.count::<u64>("symbols")?;
    let dmrs = reader.count::<u64>("dmrs-re")?;
    let elements = 12 * symbols;
    if dmrs >= elements {
        return Err(fault(
            reader.place("dmrs-re"),
            format!("{symbols} symbols have {elements} resource elements, {dmrs} are taken"),
        )
        .allowed("some must be left for data"));
    }
    let elements = (elements - dmrs).min(MAX_DATA_RE);
    reader.put("data-re-per-prb", ResolvedValue::Count(elements));
    Ok(elements as u16)
}

fn scheduler(reader: &mut Reader<'_>) -> Checked<SchedulerKind> {
    let kind = reader.choice("scheduler")?;
    let others = [SchedulerKind::RoundRobin, SchedulerKind::MaximumRate];
    let Some(other) = others.into_iter().find(|of| of.name() == kind) else {
        let time_constant = reader.quantity("pf-time-constant")?;
        return Ok(SchedulerKind::ProportionalFair { time_constant });
    };
    if let Some(node) = reader.given("pf-time-constant") {
        return Err(fault(
            node.at,
            format!("the scheduler \"{kind}\" has no time constant"),
        )
        .hint("remove the line, or take scheduler = \"proportional-fair\""));
    }
    Ok(other)
}

fn bler(reader: &mut Reader<'_>, table: McsTable) -> Checked<radio::BlerFamily> {
    let name = reader.choice("bler-family")?;
    let family = radio::BlerFamily::ALL
        .into_iter()
        .zip(radio::BlerFamily::NAMES)
        .find(|(_, n)| *n == name)
        .map_or(radio::BlerFamily::None, |(family, _)| family);
    if family.tables().contains(&table) {
        return Ok(family);
    }
    let fitting = radio::BlerFamily::ALL
        .into_iter()
        .zip(radio::BlerFamily::NAMES)
        .filter(|(family, _)| family.tables().contains(&table))
        .map(|(_, name)| name);
    Err(fault(
        reader.place("bler-family"),
        format!("\"{name}\" has no curves for the cell's MCS table"),
    )
    .allowed(format!(
        "those that have are {}",
        crate::error::either(fitting)
    )))
}

fn harq(cell: &mut Reader<'_>, preset: HarqConfig) -> Checked<HarqConfig> {
    let mut reader = Reader::open("cell.harq", "[cell.harq]", cell.given("harq"), cell.at())?;
    let given = reader.optional_choice("combining")?;
    let combining = given
        .and_then(Combining::from_name)
        .unwrap_or(preset.combining);
    reader.put(
        "combining",
        ResolvedValue::Text(combining.name().to_owned()),
    );
    let harq = HarqConfig {
        processes: reader.count_or("processes", preset.processes)?,
        round_trip_slots: reader.count_or("round-trip-slots", preset.round_trip_slots)?,
        max_transmissions: reader.count_or("max-transmissions", preset.max_transmissions)?,
        combining,
    };
    cell.put("harq", ResolvedValue::Table(reader.finish()));
    Ok(harq)
}

/// What an uplink follows beside its configuration.
struct Uplink {
    /// What was recorded.
    trace: Option<TraceSpec>,
    /// What its link budget is made of.
    budget: Option<UplinkBudget>,
}

/// Configures the uplink.
fn uplink(cx: &mut Context<'_>, cell: &mut Reader<'_>, config: &mut CellConfig) -> Checked<Uplink> {
    let preset = config.uplink;
    let mut reader = Reader::open(
        "cell.uplink",
        "[cell.uplink]",
        cell.given("uplink"),
        cell.at(),
    )?;
    config.uplink = UplinkConfig {
        n_prb: Prb::new(reader.count_or("n-prb", preset.n_prb.get())?),
        mcs: Mcs::new(reader.count_or("mcs", preset.mcs.get())?),
        sr_period: reader.quantity_or("sr-period", preset.sr_period)?,
        grant_delay: reader.quantity_or("grant-delay", preset.grant_delay)?,
        grants: Grants::from_name(reader.choice("grants")?).unwrap_or_default(),
        inactivity: reader.quantity_or("inactivity", preset.inactivity)?,
        link: preset.link,
    };
    let budget = UplinkBudget {
        carrier: reader.optional::<Frequency>("frequency")?.map(|it| it.0),
        transmit_power: reader.quantity("transmit-power")?,
        noise_figure: reader.quantity("noise-figure")?,
        power_control: power_control(&mut reader)?,
    };
    let measured = match reader.choice("mcs-from")? {
        "ns3" => UplinkLink::Ns3,
        _ => UplinkLink::PowerHeadroom,
    };
    let is_measured = reader.choice("link")? == "budget";
    if is_measured {
        config.uplink.link = measured;
    }
    check_mcs(config.uplink.mcs, config.mcs_table, reader.place("mcs"))?;
    let trace = trace::uplink(cx, &mut reader, config)?;
    if trace.is_some() {
        config.uplink.link = UplinkLink::Recorded;
    }
    cell.put("uplink", ResolvedValue::Table(reader.finish()));
    Ok(Uplink {
        trace,
        budget: is_measured.then_some(budget),
    })
}

/// P0 and alpha, where the uplink has power control.
fn power_control(reader: &mut Reader<'_>) -> Checked<Option<(Dbm, f64)>> {
    let given = (reader.quantity("p0")?, reader.number("alpha")?);
    if reader.choice("power-control")? == "none" {
        if let Some((key, node)) = ["p0", "alpha"]
            .iter()
            .find_map(|key| reader.given(key).map(|node| (key, node)))
        {
            return Err(fault(node.at, format!("\"{key}\" without power control"))
                .allowed("a user sends at full power")
                .hint("remove the line, or take power-control = \"fractional\""));
        }
        return Ok(None);
    }
    let at = reader.place("power-control");
    if reader.choice("link")? != "budget" {
        return Err(fault(at, "power control without a link budget")
            .allowed("needs link = \"budget\" in [cell.uplink]"));
    }
    if reader.choice("mcs-from")? == "ns3" {
        return Err(fault(at, "power control with mcs-from = \"ns3\"")
            .allowed("ns-3's rule has the power spread over the whole carrier")
            .hint("take mcs-from = \"power-headroom\""));
    }
    Ok(Some(given))
}

/// That an MCS is in the table.
pub(super) fn check_mcs(mcs: Mcs, table: McsTable, at: Position) -> Checked<()> {
    let highest = radio::max_mcs(table);
    if mcs <= highest {
        return Ok(());
    }
    Err(fault(at, format!("MCS {mcs} is not in the cell's table"))
        .allowed(format!("the table has 0 to {highest}")))
}

/// The load, and the place of a load that waits for the users' traces.
fn background(cell: &mut Reader<'_>, n_prb: Prb) -> Checked<(LoadSpec, Option<Position>)> {
    let Some(node) = cell.given("background") else {
        return Ok((LoadSpec::None, None));
    };
    let (mut reader, kind) = Reader::open_kind("cell.background", "[cell.background]", node)?;
    let prb = |reader: &mut Reader<'_>| {
        let prb = Prb::new(reader.count("prb")?);
        if prb > n_prb {
            return Err(
                fault(reader.place("prb"), format!("{prb} PRBs are too many"))
                    .allowed(format!("the cell has {n_prb}")),
            );
        }
        Ok(prb)
    };
    let load = match kind {
        "constant" => LoadSpec::Constant(prb(&mut reader)?),
        "random" => LoadSpec::Random {
            prb: prb(&mut reader)?,
            share: reader.number("share")?,
        },
        _ => LoadSpec::None,
    };
    let waits = (kind == "trace").then_some(node.at);
    cell.put("background", ResolvedValue::Table(reader.finish()));
    Ok((load, waits))
}
