//! Channels of users.

use super::Context;
use super::cell::check_mcs;
use super::site::Site;
use super::{moving, trace};
use crate::error::{Checked, fault};
use crate::experiment::ChannelSpec;
use crate::moving::{MovingSpec, merge};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use radio::{CqiToMcs, FadeConfig, LinkAdaptation, LinkAdaptationConfig};
use ran::CellConfig;
use std::sync::Arc;
use units::{Cqi, Mcs};

/// Reads `channel` of a user in a cell.
pub(super) fn read(
    cx: &mut Context<'_>,
    ue: &mut Reader<'_>,
    name: &str,
    cell: &CellConfig,
    site: &Site,
) -> Checked<ChannelSpec> {
    let Some(node) = ue.given("channel") else {
        return Err(
            fault(ue.at(), format!("[ue.{name}] has no key \"channel\""))
                .allowed("it describes what the radio gives this user")
                .hint("for example channel = { kind = \"constant-cqi\", cqi = 12 }"),
        );
    };
    let way = moving::way(ue, name, site)?;
    let title = format!("[ue.{name}.channel]");
    let (reader, kind) = Reader::open_kind("ue.<name>.channel", title, node)?;
    let mut reader = reader.for_lte(cell.rat == ran::Rat::Lte);
    if way.is_some() && kind != "moving" {
        cx.notes.push(format!(
            "the mobility of {name} does nothing: its channel is \"{kind}\", which does not move"
        ));
    }
    if site.uplink.is_some() && kind != "moving" {
        return Err(fault(
            node.at,
            format!("the channel of {name} is \"{kind}\", which has no link budget for the uplink"),
        )
        .allowed("expected kind = \"moving\", or link = \"fixed-mcs\" in [cell.uplink]"));
    }
    let spec = match kind {
        "constant-mcs" => constant_mcs(&mut reader, cell)?,
        "constant-cqi" => constant_cqi(&mut reader, cell)?,
        "constant-sinr" => constant_sinr(&mut reader, cell)?,
        "moving" => {
            let (spec, warnings) = moving::channel(&mut reader, cell, site, way, cx.duration)?;
            for warning in warnings {
                merge(&mut cx.warnings, warning);
            }
            ChannelSpec::Moving(Arc::new(spec))
        }
        _ => trace::channel(cx, &mut reader, cell)?,
    };
    ue.put("channel", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// The radio of a moving user to another cell than the first.
pub(super) fn beside(
    cx: &mut Context<'_>,
    ue: &mut Reader<'_>,
    name: &str,
    cell: &CellConfig,
    site: &Site,
) -> Checked<Arc<MovingSpec>> {
    let way = moving::way(ue, name, site)?;
    let Some(node) = ue.given("channel") else {
        return Err(fault(
            ue.at(),
            format!("[ue.{name}] has no key \"channel\""),
        ));
    };
    let title = format!("[ue.{name}.channel]");
    let (reader, _) = Reader::open_kind("ue.<name>.channel", title, node)?;
    let mut reader = reader.for_lte(cell.rat == ran::Rat::Lte);
    let (spec, warnings) = moving::channel(&mut reader, cell, site, way, cx.duration)?;
    for warning in warnings {
        merge(&mut cx.warnings, warning);
    }
    Ok(Arc::new(spec))
}

fn constant_mcs(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<ChannelSpec> {
    let mcs = Mcs::new(reader.count("mcs")?);
    check_mcs(mcs, cell.mcs_table, reader.place("mcs"))?;
    Ok(ChannelSpec::ConstantMcs {
        mcs,
        bler: reader.number("bler")?,
    })
}

fn constant_cqi(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<ChannelSpec> {
    let cqi = Cqi::new(reader.count("cqi")?);
    let policy = policy(reader, cell)?;
    Ok(ChannelSpec::ConstantCqi {
        cqi,
        policy,
        bler: reader.number("bler")?,
    })
}

fn constant_sinr(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<ChannelSpec> {
    let sinr = reader.quantity("sinr")?;
    let adaptation = adaptation(reader, cell)?;
    if let Err(error) = LinkAdaptation::constant(sinr, adaptation) {
        return Err(fault(reader.at(), error.to_string()));
    }
    Ok(ChannelSpec::ConstantSinr {
        sinr,
        adaptation,
        fades: fades(reader)?,
    })
}

/// What an interferer does to a constant SINR.
fn fades(channel: &mut Reader<'_>) -> Checked<Option<FadeConfig>> {
    let Some(node) = channel.given("interferer") else {
        return Ok(None);
    };
    let path = "ue.<name>.channel.interferer";
    let title = "\"interferer\" of the channel";
    let mut reader = Reader::open(path, title, Some(node), node.at)?;
    let fades = FadeConfig {
        drop: reader.quantity("drop")?,
        mean_on: reader.quantity("mean-on")?,
        mean_off: reader.quantity("mean-off")?,
    };
    let checked = fades.check();
    channel.put("interferer", ResolvedValue::Table(reader.finish()));
    match checked {
        Ok(()) => Ok(Some(fades)),
        Err(error) => Err(fault(node.at, error.to_string())),
    }
}

/// How MCS follow from SINR.
pub(super) fn adaptation(
    reader: &mut Reader<'_>,
    cell: &CellConfig,
) -> Checked<LinkAdaptationConfig> {
    Ok(LinkAdaptationConfig {
        policy: policy(reader, cell)?,
        table: cell.mcs_table,
        family: cell.bler,
        cqi_period: reader.quantity("cqi-period")?,
        cqi_delay: reader.quantity("cqi-delay")?,
        target_bler: reader.number("target-bler")?,
    })
}

/// A policy, after a look whether it covers the cell's table.
pub(super) fn policy(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<CqiToMcs> {
    let text = reader.text("policy")?;
    let at = reader.place("policy");
    let policy: CqiToMcs = text.parse().map_err(|error: radio::UnknownName| {
        fault(at, format!("unknown policy \"{}\"", error.name))
            .allowed(format!("known: {}", error.known))
            .nearest(&text, CqiToMcs::NAMES)
    })?;
    match policy.mcs(cell.mcs_table, Cqi::new(1)) {
        Ok(_) => Ok(policy),
        Err(error) => Err(fault(at, error.to_string())),
    }
}
