//! Several cells that were recorded: each has a trace, and all are played together.

use super::Access;
use super::trace::Played;
use crate::cells::TriggerQuantity;
use crate::document::Node;
use crate::error::{Checked, Fault, fault};
use crate::experiment::{ChannelSpec, TraceSpec};
use crate::reader::Reader;
use crate::source::Position;
use units::Duration;

/// By which the lengths of traces that were recorded together may differ: a Mahimahi trace ends with its last opportunity.
const MAX_DIFFERENCE: Duration = Duration::from_secs(1);

/// What is noted where event A3 compares another quantity than usual.
pub(super) const BY_SNR: &str = "not all cells' traces have RSRP: event A3 compares their SNR";

/// Whether one of several cells has a trace.
pub(super) fn has_trace(node: &Node) -> bool {
    node.table().is_some_and(|cell| cell.get("trace").is_some())
}

/// That a cell has a trace, as others have, and nothing of places beside it.
pub(super) fn check((node, access): (&Node, &Access), name: &str) -> Checked<()> {
    if !has_trace(node) {
        return Err(fault(node.at, format!("the cell \"{name}\" has no trace"))
            .allowed("others have one: all cells have a trace, or none")
            .hint("for example trace = { file = \"cell.csv\" }"));
    }
    if let Access::Cell { site, .. } = access
        && site.uplink.is_some()
    {
        return Err(fault(
            node.at,
            format!("the uplink of the cell \"{name}\" has a link budget, and the cell a trace"),
        )
        .allowed("a cell with a trace needs link = \"fixed-mcs\" in [cell.uplink]"));
    }
    let cell = node.table();
    let of_places = ["site", "activity", "building", "blocker", "interferer"];
    let given = |key| Some((key, cell.and_then(|cell| cell.get(key))?));
    match of_places.into_iter().find_map(given) {
        None => Ok(()),
        Some((key, at)) => Err(fault(
            at.at,
            format!("the cell \"{name}\" has a trace and a \"{key}\""),
        )
        .allowed("what it is to a user is as recorded, wherever it stands")
        .hint("remove one of the two")),
    }
}

/// What all cells' traces have that event A3 can compare.
pub(super) fn quantity(played: &[Played]) -> Option<TriggerQuantity> {
    let all = |has: fn(&radio::trace::Trace) -> bool| {
        !played.is_empty() && played.iter().all(|it| has(&it.trace))
    };
    if all(radio::trace::Trace::has_rsrp) {
        return Some(TriggerQuantity::Rsrp);
    }
    all(radio::trace::Trace::has_snr).then_some(TriggerQuantity::Snr)
}

/// The traces, each of which begins as far into it as the others where the seed draws that.
pub(super) fn together<'a>(
    run: Duration,
    names: impl Iterator<Item = &'a str>,
    played: Vec<Played>,
) -> Checked<Vec<TraceSpec>> {
    let named: Vec<(&str, &Played)> = names.zip(&played).collect();
    let laps = || named.iter().map(|(_, it)| it.lap());
    let (Some(shortest), Some(longest)) = (laps().min(), laps().max()) else {
        return Ok(Vec::new());
    };
    check_offsets(&named)?;
    let is_within = named.iter().all(|(_, it)| run <= it.rest());
    let is_stated = named.iter().all(|(_, it)| !it.is_random);
    let may_differ = match (is_within, is_stated) {
        (true, true) => Duration::MAX,
        (true, false) => MAX_DIFFERENCE,
        (false, _) => Duration::ZERO,
    };
    if longest - shortest > may_differ {
        let length = |at: Duration| named.iter().find(|(_, it)| it.lap() == at);
        if let (Some((short, _)), Some((long, it))) = (length(shortest), length(longest)) {
            return Err(fault(
                it.at,
                format!("the trace of the cell \"{long}\" lasts {longest}, that of \"{short}\" {shortest}"),
            )
            .allowed("traces that are played together, or again from their beginning, are of one length")
            .hint("cut the longer one, or state the offset of each and a run that no trace is too short for"));
        }
    }
    let spread = shortest.saturating_sub(run);
    Ok(played.into_iter().map(|it| it.spread(spread)).collect())
}

/// That all traces begin where the seed draws it, or none.
fn check_offsets(named: &[(&str, &Played)]) -> Checked<()> {
    let stated = named.iter().find(|(_, it)| !it.is_random);
    let drawn = named.iter().find(|(_, it)| it.is_random);
    match (stated, drawn) {
        (Some((stated, _)), Some((drawn, it))) => Err(fault(
            it.at,
            format!("where the trace of the cell \"{drawn}\" begins is drawn, that of \"{stated}\" is stated"),
        )
        .allowed("all have an offset, or none")
        .hint("state the offset of each, or of none")),
        _ => Ok(()),
    }
}

/// The channel of a user, who states none of its own.
pub(super) fn of_user(ue: &Reader<'_>, name: &str, channel: ChannelSpec) -> Checked<ChannelSpec> {
    for key in ["channel", "mobility"] {
        if let Some(given) = ue.given(key) {
            return Err(fault(
                given.at,
                format!("[ue.{name}] has a \"{key}\", and the cells have traces"),
            )
            .allowed("what each cell is to a user is as recorded")
            .hint("remove one of the two"));
        }
    }
    Ok(channel)
}

/// That nothing says when a user is handed over.
pub(super) fn no_handovers(
    at: Position,
    name: &str,
    cell: Option<&(String, Position)>,
) -> Box<Fault> {
    let cell = cell.map_or("east", |(cell, _)| cell.as_str());
    fault(at, format!("nothing says when {name} is handed over"))
        .allowed("event A3 needs RSRP, or SNR, in the traces of all cells")
        .hint(format!(
            "state the times, for example handovers = [[\"12 s\", \"{cell}\"]]"
        ))
}
