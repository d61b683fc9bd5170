//! Users and their bearers.

use super::cells::OtherRadios;
use super::{
    Access, Context, channel, check_name, check_unique, copy_name, queues, recorded, uplink_queue,
};
use crate::document::{Node, Value};
use crate::error::{Checked, fault};
use crate::experiment::{ChannelSpec, UeSpec};
use crate::reader::Reader;
use crate::resolved::{Resolved, ResolvedValue};
use crate::source::Position;
use ran::{BearerConfig, CellConfig, RlcAmConfig, RlcMode};

/// Maximum users of a cell: RNTIs of TS 38.321 7.1.
const MAX_UES: usize = 65_519;
/// Maximum bearers of a user (TS 38.331 maxDRB).
const MAX_BEARERS: usize = 29;
/// Highest QoS flow identifier (TS 38.415 5.5.3.3).
const MAX_QFI: i64 = 63;

/// The users of one name: the original and its copies.
pub(super) struct Group {
    pub(super) name: String,
    /// Index of the first in the experiment.
    pub(super) first: usize,
    /// How many.
    pub(super) count: usize,
}

/// Reads `[ue.*]`.
pub(super) fn all(
    cx: &mut Context<'_>,
    top: &mut Reader<'_>,
    access: &Access,
) -> Checked<(Vec<UeSpec>, Vec<Group>, Vec<OtherRadios>)> {
    let Some(node) = top.given("ue") else {
        let (ues, groups) = none(access)?;
        return Ok((ues, groups, Vec::new()));
    };
    let Some(table) = node.table() else {
        return Err(fault(node.at, format!("\"ue\" is {}", node.kind()))
            .allowed("expected tables such as [ue.phone]"));
    };
    let (mut ues, mut groups, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut others = Vec::new();
    let mut resolved = Resolved::default();
    for entry in &table.entries {
        check_name(&entry.key, entry.at, "user")?;
        let (spec, radios, (count, read)) = one(cx, &entry.key, &entry.node, access)?;
        groups.push(Group {
            name: entry.key.clone(),
            first: ues.len(),
            count,
        });
        if ues.len() + count > MAX_UES {
            return Err(fault(entry.at, "too many users")
                .allowed(format!("a cell has at most {MAX_UES} (TS 38.321 7.1)")));
        }
        for n in 0..count {
            let name = copy_name(&entry.key, n);
            names.push((name.clone(), entry.at));
            others.push(radios.clone());
            ues.push(UeSpec {
                name,
                ..spec.clone()
            });
        }
        resolved.put(&entry.key, ResolvedValue::Table(read));
    }
    if ues.is_empty() {
        return Err(fault(node.at, "the scenario has no user").hint("add one as [ue.phone]"));
    }
    check_unique(&names, "user")?;
    top.put("ue", ResolvedValue::Table(resolved));
    Ok((ues, groups, others))
}

/// Without `[ue]`: a wire has a host at its end, a cell needs a list of its UEs.
fn none(access: &Access) -> Checked<(Vec<UeSpec>, Vec<Group>)> {
    match access {
        Access::Cell { at, .. } => Err(fault(*at, "the cell has no user").hint(
            "add one, for example [ue.phone] with channel = { kind = \"constant-cqi\", cqi = 12 }",
        )),
        Access::Link(_) => {
            let name = "host".to_owned();
            let ue = UeSpec {
                name: name.clone(),
                channel: ChannelSpec::Wired,
                uplink: None,
                bearers: Vec::new(),
                uplink_queue: None,
            };
            Ok((
                vec![ue],
                vec![Group {
                    name,
                    first: 0,
                    count: 1,
                }],
            ))
        }
    }
}

fn one(
    cx: &mut Context<'_>,
    name: &str,
    node: &Node,
    access: &Access,
) -> Checked<(UeSpec, OtherRadios, (usize, Resolved))> {
    let mut reader = Reader::open("ue.<name>", format!("[ue.{name}]"), Some(node), node.at)?;
    let count = reader.count::<usize>("count")?;
    let mut others = OtherRadios::default();
    if let Access::Cell { several: None, .. } | Access::Link(_) = access {
        for key in ["cell", "handovers"] {
            if let Some(node) = reader.given(key) {
                return Err(fault(node.at, format!("\"{key}\" without several cells"))
                    .allowed("there is none to choose")
                    .hint("remove the line, or write the cells as [[cell]]"));
            }
        }
    }
    let (channel, uplink, bearers) = match access {
        Access::Cell {
            spec,
            site,
            uplink,
            several,
            ..
        } => {
            let recorded = several.as_ref().and_then(|it| it.recorded());
            let channel = match recorded {
                Some(channel) => recorded::of_user(&reader, name, channel)?,
                None => channel::read(cx, &mut reader, name, &spec.config, site)?,
            };
            queues::check_channel(&spec.config, &channel, node)?;
            if let Some(several) = several {
                others = several.radios(cx, &mut reader, name, &channel)?;
            }
            let uplink = uplink.as_deref().cloned();
            (channel, uplink, bearers(&mut reader, name, &spec.config)?)
        }
        Access::Link(_) => {
            for key in ["channel", "mobility", "bearer"] {
                if let Some(node) = reader.given(key) {
                    return Err(
                        fault(node.at, format!("a user of a wired link has no {key}"))
                            .hint("remove it, or take a [cell] instead of the [link]"),
                    );
                }
            }
            (ChannelSpec::Wired, None, Vec::new())
        }
    };
    let spec = UeSpec {
        name: name.to_owned(),
        channel,
        uplink,
        bearers,
        uplink_queue: uplink_queue::read(&mut reader, access)?,
    };
    Ok((spec, others, (count, reader.finish())))
}

/// The tables of `bearer`. Where none is declared, an option or an axis may set keys of the one that there is then: number 0.
fn declared<'a>(ue: &Reader<'a>, name: &str) -> Checked<&'a [Node]> {
    let Some(node) = ue.given("bearer") else {
        return Ok(&[]);
    };
    let is_number = |key: &str| key.parse::<u32>().is_ok();
    match &node.value {
        Value::Array(items) => Ok(items),
        Value::Table(set) if set.entries.iter().all(|entry| is_number(&entry.key)) => {
            match set.entries.iter().find(|entry| entry.key != "0") {
                None => Ok(set.get("0").map_or(&[][..], core::slice::from_ref)),
                Some(other) => Err(fault(
                    other.at,
                    format!("\"bearer\" has no element \"{}\"", other.key),
                )
                .allowed("the scenario declares none, so that there is one, number 0")),
            }
        }
        _ => Err(fault(
            node.at,
            format!("\"bearer\" of [ue.{name}] is {}", node.kind()),
        )
        .allowed(format!("expected tables as [[ue.{name}.bearer]]"))),
    }
}

fn bearers(ue: &mut Reader<'_>, name: &str, cell: &CellConfig) -> Checked<Vec<BearerConfig>> {
    let items = declared(ue, name)?;
    if items.len() > MAX_BEARERS {
        return Err(
            fault(ue.place("bearer"), format!("{} bearers", items.len()))
                .allowed(format!("a user has at most {MAX_BEARERS} (TS 38.331)")),
        );
    }
    let nodes: Vec<Option<&Node>> = if items.is_empty() {
        vec![None]
    } else {
        items.iter().map(Some).collect()
    };
    let (mut bearers, mut resolved, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for node in nodes {
        let title = format!("[[ue.{name}.bearer]]");
        let mut reader = Reader::open("ue.<name>.bearer", title, node, ue.at())?;
        let qfis = qfis(&mut reader, &mut taken)?;
        bearers.push(BearerConfig {
            qfis,
            rlc: rlc(&mut reader, cell)?,
            downlink_buffer: reader.capacity("downlink-buffer")?,
            uplink_buffer: reader.capacity("uplink-buffer")?,
            uplink_discipline: uplink_queue::discipline(&mut reader)?,
            loss: reader.number("loss")?,
        });
        resolved.push(ResolvedValue::Table(reader.finish()));
    }
    ue.put("bearer", ResolvedValue::List(resolved));
    Ok(bearers)
}

/// The QoS flows of a bearer; none belongs to two.
fn qfis(reader: &mut Reader<'_>, taken: &mut Vec<u8>) -> Checked<Vec<u8>> {
    let Some(node) = reader.given("qfis") else {
        return Ok(Vec::new());
    };
    let Value::Array(items) = &node.value else {
        return Err(fault(node.at, format!("\"qfis\" is {}", node.kind()))
            .allowed("expected a list of numbers, for example [5, 9]"));
    };
    let mut qfis = Vec::new();
    for item in items {
        let qfi = match item.value {
            Value::Integer(qfi @ 0..=MAX_QFI) => qfi as u8,
            _ => {
                return Err(fault(
                    item.at,
                    format!("{} is no QoS flow identifier", item.text()),
                )
                .allowed(format!("allowed is 0 to {MAX_QFI}")));
            }
        };
        if taken.contains(&qfi) {
            return Err(fault(item.at, format!("QoS flow {qfi} is mapped twice"))
                .hint("map each to one bearer"));
        }
        taken.push(qfi);
        qfis.push(qfi);
    }
    let list = qfis
        .iter()
        .map(|q| ResolvedValue::Count(u64::from(*q)))
        .collect();
    reader.put("qfis", ResolvedValue::List(list));
    Ok(qfis)
}

fn rlc(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<RlcMode> {
    let preset = RlcAmConfig::of(cell.rat);
    let t_reassembly = reader.quantity_or("t-reassembly", preset.t_reassembly);
    if reader.choice("rlc")? == "am" {
        return Ok(RlcMode::Am(RlcAmConfig {
            t_poll_retransmit: reader.quantity_or("t-poll-retransmit", preset.t_poll_retransmit)?,
            t_reassembly: t_reassembly?,
            t_status_prohibit: reader.quantity_or("t-status-prohibit", preset.t_status_prohibit)?,
            poll_pdu: reader.count_or("poll-pdu", preset.poll_pdu)?,
            max_retx: reader.count_or("max-retx", preset.max_retx)?,
        }));
    }
    let only_am = [
        "t-poll-retransmit",
        "t-status-prohibit",
        "poll-pdu",
        "max-retx",
    ];
    if let Some((key, node)) = only_am.iter().find_map(|k| reader.given(k).map(|n| (k, n))) {
        return Err(
            fault(node.at, format!("unacknowledged mode has no \"{key}\""))
                .hint("remove the line, or take rlc = \"am\""),
        );
    }
    Ok(RlcMode::Um {
        t_reassembly: t_reassembly?,
    })
}

/// The index of the user of a flow: its copies are dealt out to the user's copies in turn.
pub(super) fn user_of(
    groups: &[Group],
    named: Option<(&str, Position)>,
    flow_at: Position,
    copy: usize,
) -> Checked<usize> {
    let names = || groups.iter().map(|g| g.name.as_str());
    let group = match (named, groups) {
        (None, [only]) => only,
        (None, _) => {
            return Err(fault(
                flow_at,
                "this flow has no key \"ue\", and there are several users",
            )
            .allowed(format!("\"ue\" is {}", crate::error::either(names()))));
        }
        (Some((name, at)), _) => match groups.iter().find(|g| g.name == name) {
            Some(group) => group,
            None => {
                return Err(fault(at, format!("there is no user \"{name}\""))
                    .allowed(format!(
                        "the scenario has {}",
                        crate::error::either(names())
                    ))
                    .nearest(name, names()));
            }
        },
    };
    Ok(group.first + copy % group.count)
}
