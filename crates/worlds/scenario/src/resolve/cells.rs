//! Several cells (`[[cell]]`), and the handovers between them (`[handover]`).

use super::handover::{self, HandoverSpec};
use super::site::Site;
use super::{Access, Context, cell, check_name, outage, queues, recorded, trace};
use crate::cells::{CellsSpec, NamedCell, TriggerQuantity};
use crate::document::{Node, Value};
use crate::error::{Checked, either, fault};
use crate::experiment::{CellSpec, ChannelSpec, OutageSpec, TraceSpec, UeSpec};
use crate::moving::MovingSpec;
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use crate::source::Position;
use ran::CellConfig;
use rnis::CellId;
use std::sync::Arc;
use units::Duration;

/// Maximum cells: each user measures and is disturbed by all.
const MAX_CELLS: usize = 64;

/// Maximum handovers of a user at stated times.
const MAX_HANDOVERS: usize = 10_000;

/// The cells of a file that has several.
pub(crate) struct Several {
    names: Vec<(String, Position)>,
    activities: Vec<f64>,
    outages: Vec<Option<OutageSpec>>,
    /// All but the first.
    others: Vec<(CellSpec, Site)>,
    handover: HandoverSpec,
    /// Of each cell; empty where places are the radio.
    traces: Vec<TraceSpec>,
    quantity: Option<TriggerQuantity>,
}

/// What one user has beside its radio to the first cell.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherRadios {
    /// To each of the other cells, in their order.
    radios: Vec<Arc<MovingSpec>>,
    /// The cell that serves it first.
    first: Option<usize>,
    /// When it leaves its cell for which other, if the file says so.
    handovers: Option<Vec<(Duration, usize)>>,
}

/// That a cell has the wires that the first has, and no others.
fn check_parts(first: Option<&Access>, access: &Access, reader: &Reader<'_>) -> Checked<()> {
    let (Some(Access::Cell { spec: first, .. }), Access::Cell { spec, .. }) = (first, access)
    else {
        return Ok(());
    };
    let wires = [
        (
            "f1-u",
            [first.has_f1u, spec.has_f1u],
            "all are in two parts, or none",
        ),
        ("n3", [first.has_n3, spec.has_n3], "all have N3, or none"),
    ];
    for (key, [of_first, of_this], allowed) in wires {
        if of_first != of_this {
            let what = format!("{key} = {of_this} beside cells of the other kind");
            return Err(fault(reader.place(key), what)
                .allowed(format!("of several cells {allowed}"))
                .hint(format!("give all the same \"{key}\"")));
        }
    }
    Ok(())
}

/// Reads `[[cell]]` and `[handover]`.
pub(super) fn read(
    cx: &mut Context<'_>,
    top: &mut Reader<'_>,
    items: &[Node],
    at: Position,
) -> Checked<Access> {
    if items.len() > MAX_CELLS {
        return Err(fault(at, format!("{} tables [[cell]]", items.len()))
            .allowed(format!("allowed are at most {MAX_CELLS}")));
    }
    let (mut names, mut activities, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let (mut outages, mut played) = (Vec::new(), Vec::new());
    let has_traces = items.iter().any(recorded::has_trace);
    let (mut first, mut resolved) = (None, Vec::new());
    let mut ids: Vec<CellId> = Vec::new();
    for (number, node) in items.iter().enumerate() {
        check_radio(node)?;
        let (mut access, mut reader) = cell::one(cx, node, "[[cell]]")?;
        check_parts(first.as_ref(), &access, &reader)?;
        let name = name(&mut reader, &names)?;
        match has_traces {
            true => recorded::check((node, &access), &name)?,
            false => check_site(node, &name)?,
        }
        activities.push(reader.number("activity")?);
        outages.push(outage(&mut reader, ["off-at", "on-at"])?);
        let Access::Cell {
            spec,
            background_trace,
            uplink,
            ..
        } = &mut access
        else {
            continue;
        };
        check_traces(&name, node.at, *background_trace, uplink.is_some())?;
        if let Some(trace) = trace::of_cell(cx, &mut reader, &spec.config)? {
            let channel = ChannelSpec::Trace(trace.unspread());
            queues::check_channel(&spec.config, &channel, node)?;
            played.push(trace);
        }
        if reader.given("id").is_none() {
            spec.config.id = CellId(number as u32 + 1);
            reader.put("id", ResolvedValue::Count(number as u64 + 1));
        }
        if ids.contains(&spec.config.id) {
            let id = spec.config.id.0;
            return Err(
                fault(reader.place("id"), format!("two cells have the id {id}"))
                    .hint("give each its own, or leave \"id\" out"),
            );
        }
        ids.push(spec.config.id);
        names.push((name, node.at));
        resolved.push(ResolvedValue::Table(reader.finish()));
        match access {
            access if first.is_none() => first = Some(access),
            Access::Cell { spec, site, .. } => {
                if let Some(first) = &first {
                    check_alike(first, &spec.config, &names)?;
                }
                others.push((*spec, *site));
            }
            Access::Link(_) => {}
        }
    }
    top.put("cell", ResolvedValue::List(resolved));
    if outages.iter().all(|it| is_off_at_first(Some(it))) {
        return Err(fault(at, "all cells are off as the run begins")
            .allowed("at least one is on")
            .hint("give one a later \"off-at\""));
    }
    let Some(mut access) = first.filter(|_| items.len() > 1) else {
        return Err(fault(at, format!("{} tables [[cell]]", items.len()))
            .allowed("expected two and more")
            .hint("write a single cell as [cell]"));
    };
    if let Access::Cell { spec, several, .. } = &mut access {
        let handover = handover::read(top, &spec.config)?;
        let quantity = recorded::quantity(&played);
        if quantity == Some(TriggerQuantity::Snr) {
            cx.notes.push(recorded::BY_SNR.to_owned());
        }
        let of_name = names.iter().map(|(name, _)| name.as_str());
        let traces = recorded::together(cx.duration, of_name, played)?;
        *several = Some(Box::new(Several {
            names,
            activities,
            outages,
            others,
            handover,
            traces,
            quantity,
        }));
    }
    Ok(access)
}

/// The name of a cell, which no other has.
fn name(reader: &mut Reader<'_>, before: &[(String, Position)]) -> Checked<String> {
    let Some(name) = reader.optional_text("name")? else {
        return Err(fault(reader.at(), "[[cell]] has no key \"name\"")
            .allowed("each of several cells has one")
            .hint("for example name = \"west\""));
    };
    let at = reader.place("name");
    check_name(&name, at, "cell")?;
    match before.iter().any(|(other, _)| *other == name) {
        false => Ok(name),
        true => Err(fault(at, format!("two cells have the name \"{name}\""))
            .hint("give one of the two another name")),
    }
}

/// That the place of a cell's antenna is given: among several, none is the origin by default.
fn check_site(node: &Node, name: &str) -> Checked<()> {
    let site = node.table().and_then(|cell| cell.get("site"));
    match site.map(|site| (site, site.table())) {
        Some((_, Some(site))) if site.get("position").is_some() => Ok(()),
        site => {
            let at = site.map_or(node.at, |(site, _)| site.at);
            Err(fault(at, format!("no site serves the cell \"{name}\""))
                .allowed("each of several cells has a place")
                .hint("for example site = { position = [\"0 m\", \"0 m\"] }"))
        }
    }
}

/// That a cell states its technology: none of several takes that of a trace.
fn check_radio(node: &Node) -> Checked<()> {
    let given = |key| node.table().and_then(|cell| cell.get(key));
    for key in ["lte", "nr"] {
        if let Some(given) = given(key) {
            let what = format!("[cell.{key}] in one of several cells");
            return Err(fault(given.at, what)
                .allowed("it is for a single cell of either technology")
                .hint("write its keys into [[cell]]"));
        }
    }
    match given("rat") {
        Some(rat) if matches!(&rat.value, Value::String(rat) if rat == "trace") => {
            Err(fault(rat.at, "rat = \"trace\" in one of several cells")
                .allowed("expected \"lte\" or \"nr\""))
        }
        _ => Ok(()),
    }
}

/// That nothing else of a cell follows a trace, which one cell's users alone have.
fn check_traces(
    name: &str,
    at: Position,
    background: Option<Position>,
    has_uplink: bool,
) -> Checked<()> {
    let (at, what) = match (background, has_uplink) {
        (Some(at), _) => (at, "the load"),
        (None, true) => (at, "the uplink"),
        (None, false) => return Ok(()),
    };
    Err(
        fault(at, format!("{what} of the cell \"{name}\" follows a trace"))
            .allowed("with several cells their downlink alone may (\"trace\" of [[cell]])"),
    )
}

/// That a cell is of the first one's technology.
fn check_alike(first: &Access, config: &CellConfig, names: &[(String, Position)]) -> Checked<()> {
    let (Access::Cell { spec, .. }, Some((name, at))) = (first, names.last()) else {
        return Ok(());
    };
    let is_lte = |config: &CellConfig| config.rat == ran::Rat::Lte;
    if is_lte(&spec.config) == is_lte(config) {
        return Ok(());
    }
    let of_first = if is_lte(&spec.config) { "lte" } else { "nr" };
    Err(fault(
        *at,
        format!("the cell \"{name}\" is of another technology than the first"),
    )
    .allowed("users are handed over between cells of one technology")
    .hint(format!("take rat = \"{of_first}\"")))
}

/// Whether a cell sends nothing at the beginning.
fn is_off_at_first(outage: Option<&Option<OutageSpec>>) -> bool {
    let outage = outage.and_then(Option::as_ref);
    outage.is_some_and(|it| it.lasts_at(Duration::ZERO))
}

impl Several {
    /// What a user has beside its radio to the first cell.
    pub(super) fn radios(
        &self,
        cx: &mut Context<'_>,
        ue: &mut Reader<'_>,
        name: &str,
        channel: &ChannelSpec,
    ) -> Checked<OtherRadios> {
        let mut others = OtherRadios {
            radios: Vec::with_capacity(self.others.len()),
            first: self.first(ue)?,
            handovers: self.handovers(ue, name)?,
        };
        if !self.traces.is_empty() {
            return Ok(others);
        }
        if !matches!(channel, ChannelSpec::Moving(_)) {
            return Err(fault(
                ue.place("channel"),
                format!("the channel of {name} does not follow from its place"),
            )
            .allowed("with several cells it is kind = \"moving\", or each cell has a \"trace\""));
        }
        for (spec, site) in &self.others {
            let radio = super::channel::beside(cx, ue, name, &spec.config, site)?;
            others.radios.push(radio);
        }
        Ok(others)
    }

    /// The channel of users where cells have traces: that of the first cell stands for all.
    pub(super) fn recorded(&self) -> Option<ChannelSpec> {
        self.traces.first().cloned().map(ChannelSpec::Trace)
    }

    /// When a user leaves its cell, if the file says so; it must where the traces do not.
    fn handovers(
        &self,
        ue: &mut Reader<'_>,
        name: &str,
    ) -> Checked<Option<Vec<(Duration, usize)>>> {
        let Some(node) = ue.given("handovers") else {
            return match self.traces.is_empty() || self.quantity.is_some() {
                true => Ok(None),
                false => Err(recorded::no_handovers(ue.at(), name, self.names.last())),
            };
        };
        let cells = self.names.iter().enumerate();
        let cells: Vec<(&str, usize)> = cells
            .map(|(cell, (name, _))| (name.as_str(), cell))
            .collect();
        let handovers = ue.events("handovers", &cells, ("cell", MAX_HANDOVERS))?;
        let mut serving = self.first(ue)?;
        let mut free: Option<Duration> = None;
        for &(at, to) in &handovers {
            let refused = |what: String| {
                let (to, _) = cells[to];
                fault(
                    node.at,
                    format!("{name} is handed over to \"{to}\" at {at}, {what}"),
                )
            };
            if serving == Some(to) {
                return Err(refused("where it is already".to_owned())
                    .hint("name another cell, or leave the handover out"));
            }
            if self.outages[to].is_some_and(|it| it.lasts_at(at)) {
                return Err(refused("when that cell is off".to_owned())
                    .hint("name a cell that is on, or another time"));
            }
            if let Some(free) = free.filter(|free| at < *free) {
                return Err(
                    refused("when the handover before is not complete".to_owned())
                        .allowed(format!("allowed is {free} and later")),
                );
            }
            (serving, free) = (Some(to), Some(at + self.handover.timing.from_command()));
        }
        Ok(Some(handovers))
    }

    /// The cell that serves a user first, if the file names it.
    fn first(&self, ue: &mut Reader<'_>) -> Checked<Option<usize>> {
        let Some(name) = ue.optional_text("cell")? else {
            return Ok(None);
        };
        let names = || self.names.iter().map(|(name, _)| name.as_str());
        match names().position(|of| of == name) {
            Some(cell) if is_off_at_first(self.outages.get(cell)) => Err(fault(
                ue.place("cell"),
                format!("the cell \"{name}\" is off as the run begins"),
            )
            .allowed("a user is first served by a cell that is on")
            .hint("name another one, or give the cell a later \"off-at\"")),
            Some(cell) => Ok(Some(cell)),
            None => Err(
                fault(ue.place("cell"), format!("there is no cell \"{name}\""))
                    .allowed(format!("the scenario has {}", either(names())))
                    .nearest(&name, names()),
            ),
        }
    }

    /// What a run needs, given the users.
    pub(super) fn into_spec(
        self,
        first: &CellSpec,
        ues: &[UeSpec],
        others: &[OtherRadios],
    ) -> CellsSpec {
        let to_first = ues.iter().filter_map(|ue| match &ue.channel {
            ChannelSpec::Moving(moving) => Some(Arc::clone(moving)),
            _ => None,
        });
        let mut radios: Vec<Vec<Arc<MovingSpec>>> = vec![to_first.collect()];
        for cell in 0..self.others.len() {
            let of_cell = others.iter().filter_map(|ue| ue.radios.get(cell).cloned());
            radios.push(of_cell.collect());
        }
        let specs = core::iter::once(first.clone());
        let specs = specs.chain(self.others.into_iter().map(|(spec, _)| spec));
        let named = self.names.into_iter().zip(self.activities);
        let named = named.zip(self.outages);
        let mut traces = self.traces.into_iter();
        CellsSpec {
            cells: named
                .zip(specs)
                .zip(radios)
                .map(
                    |(((((name, _), activity), outage), spec), radios)| NamedCell {
                        name,
                        spec,
                        activity,
                        outage,
                        radios,
                        traces: traces
                            .next()
                            .map_or_else(Vec::new, |it| vec![it; ues.len()]),
                    },
                )
                .collect(),
            measurements: self.handover.measurements,
            timing: self.handover.timing,
            is_forwarding: self.handover.is_forwarding,
            link_monitor: self.handover.link_monitor,
            reestablishment: self.handover.reestablishment,
            first: others.iter().map(|ue| ue.first).collect(),
            handovers: others.iter().map(|ue| ue.handovers.clone()).collect(),
            quantity: self.quantity,
        }
    }
}
