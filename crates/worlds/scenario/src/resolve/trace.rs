//! The traces that drive users' channels.

use super::Context;
use super::channel::policy;
use super::traces::{Role, TraceFile, file};
use crate::UeSpec;
use crate::document::{Entry, Node, Table, Value};
use crate::error::{Checked, Fault, fault};
use crate::experiment::{ChannelSpec, LoadSpec, TraceSpec};
use crate::keys::section;
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::trace::{
    Content, Format, Network, NetworkTimes, Playback, ReadOptions, Trace, WithoutCqi,
};
use ran::{CellConfig, Rat, UplinkLink};
use std::path::PathBuf;
use std::sync::Arc;
use units::Duration;

/// The series of a phone's log that the uplink plays.
const UPLINK_SERIES: &str = "UL_bitrate";

/// Below this share of a trace, another radio is not noted.
const MIN_SHARE: f64 = 0.005;

/// A trace and how it is played, whatever the cell.
pub(super) struct Played {
    path: PathBuf,
    pub(super) trace: Arc<Trace>,
    /// Without policy, until the cell is known.
    playback: Playback,
    /// The seed draws the offset.
    pub(super) is_random: bool,
    /// Where the file is named.
    pub(super) at: Position,
}

impl Played {
    /// That of a user's channel, or of one of several cells.
    fn read(cx: &mut Context<'_>, reader: &mut Reader<'_>, role: Role) -> Checked<Self> {
        let file = file(cx, reader, role)?;
        let options = read_options(cx, reader, role)?;
        let trace = cx.traces.get(&file, options)?;
        let mut played = Self::of(cx, reader, file, trace)?;
        played.playback.bler = reader.number("bler")?;
        played.playback.without_cqi = match reader.choice("without-cqi")? {
            "hold" => WithoutCqi::Hold,
            "skip" => WithoutCqi::Skip,
            _ => WithoutCqi::OutageOnOlderNetwork,
        };
        Ok(played)
    }

    /// With what any trace is played by.
    fn of(
        cx: &mut Context<'_>,
        reader: &mut Reader<'_>,
        file: TraceFile<'_>,
        trace: Arc<Trace>,
    ) -> Checked<Self> {
        let fixed = offset(cx, reader)?;
        let playback = Playback {
            offset: fixed.unwrap_or(Duration::ZERO),
            ..playback(reader)?
        };
        Ok(Self {
            path: file.path,
            trace,
            playback,
            is_random: fixed.is_none(),
            at: file.at,
        })
    }

    /// How long one lap of it lasts.
    pub(super) fn lap(&self) -> Duration {
        self.trace.lap(&self.playback)
    }

    /// How long it lasts from the stated offset on.
    pub(super) fn rest(&self) -> Duration {
        self.lap().saturating_sub(self.playback.offset)
    }

    /// Played in a run of this length.
    fn into_spec(self, run: Duration) -> TraceSpec {
        let spread = self.lap().saturating_sub(run);
        self.spread(spread)
    }

    /// As it stands, for a look at it.
    pub(super) fn unspread(&self) -> TraceSpec {
        TraceSpec {
            path: self.path.clone(),
            trace: Arc::clone(&self.trace),
            playback: self.playback.clone(),
            offset_spread: Duration::ZERO,
        }
    }

    /// With a random offset of up to so much.
    pub(super) fn spread(self, spread: Duration) -> TraceSpec {
        let offset_spread = match self.is_random {
            true => spread,
            false => Duration::ZERO,
        };
        TraceSpec {
            path: self.path,
            trace: self.trace,
            playback: self.playback,
            offset_spread,
        }
    }
}

/// Reads a channel of kind `trace`.
pub(super) fn channel(
    cx: &mut Context<'_>,
    reader: &mut Reader<'_>,
    cell: &CellConfig,
) -> Checked<ChannelSpec> {
    let played = on_cell(cx, reader, Role::Downlink, cell)?;
    Ok(ChannelSpec::Trace(played.into_spec(cx.duration)))
}

/// Reads `trace` of one of several cells, if it has one.
pub(super) fn of_cell(
    cx: &mut Context<'_>,
    reader: &mut Reader<'_>,
    cell: &CellConfig,
) -> Checked<Option<Played>> {
    let Some(node) = reader.given("trace") else {
        return Ok(None);
    };
    let of_trace = Reader::open("cell.trace", "[cell.trace]", Some(node), node.at)?;
    let mut of_trace = of_trace.for_lte(cell.rat == Rat::Lte);
    let played = on_cell(cx, &mut of_trace, Role::Cell, cell)?;
    reader.put("trace", ResolvedValue::Table(of_trace.finish()));
    Ok(Some(played))
}

/// A trace that can be played on this cell.
fn on_cell(
    cx: &mut Context<'_>,
    reader: &mut Reader<'_>,
    role: Role,
    cell: &CellConfig,
) -> Checked<Played> {
    let mut played = Played::read(cx, reader, role)?;
    played.playback.policy = Some(policy(reader, cell)?);
    let (trace, playback) = (&played.trace, &played.playback);
    cx.traces
        .check(trace, playback, cell.trace_parameters(), played.at)?;
    cx.notes.extend(other_radio(trace, cell));
    Ok(played)
}

/// Reads `trace` of the cell's uplink, or takes that of the command line; none without either.
pub(super) fn uplink(
    cx: &mut Context<'_>,
    uplink: &mut Reader<'_>,
    cell: &CellConfig,
) -> Checked<Option<TraceSpec>> {
    let node = uplink.given("trace");
    if node.is_none() && cx.traces.uplink.given.is_none() {
        return Ok(None);
    }
    let title = "[cell.uplink.trace]";
    let mut reader = Reader::open("cell.uplink.trace", title, node, uplink.at())?;
    let file = file(cx, &mut reader, Role::Uplink)?;
    let at = file.at;
    if cell.uplink.link != UplinkLink::FixedMcs {
        return Err(fault(at, "the uplink of this cell has a link budget")
            .allowed("a trace needs link = \"fixed-mcs\" in [cell.uplink]"));
    }
    let trace = uplink_trace(cx, &mut reader, &file)?;
    let played = Played::of(cx, &mut reader, file, trace)?;
    let (trace, playback) = (&played.trace, &played.playback);
    let parameters = cell.uplink_trace_parameters();
    cx.traces.check(trace, playback, parameters, at)?;
    cx.notes.extend(other_radio(trace, cell));
    uplink.put("trace", ResolvedValue::Table(reader.finish()));
    Ok(Some(played.into_spec(cx.duration)))
}

/// A trace of what an uplink carries. A phone's log of the downlink's CQI also has what the phone sent.
fn uplink_trace(
    cx: &mut Context<'_>,
    reader: &mut Reader<'_>,
    file: &TraceFile<'_>,
) -> Checked<Arc<Trace>> {
    let options = read_options(cx, reader, Role::Uplink)?;
    let has_series = options.series.is_some();
    let format = options.format;
    let trace = cx.traces.get(file, options)?;
    if !trace.gives_mcs() {
        return Ok(trace);
    }
    let refused = || {
        let what = match trace.content {
            Content::Dci(_) => "grants of the downlink",
            _ => "CQIs, which are of the downlink",
        };
        let name = file.path.display();
        fault(file.at, format!("the trace \"{name}\" holds {what}"))
            .allowed("an uplink is driven by delivery opportunities, packets per tick or rates")
    };
    if has_series || trace.format != Format::Ucc {
        return Err(refused());
    }
    let options = ReadOptions {
        format,
        series: Some(UPLINK_SERIES.to_owned()),
    };
    let trace = cx.traces.get(file, options).map_err(|_| refused())?;
    reader.put("series", ResolvedValue::Text(UPLINK_SERIES.to_owned()));
    Ok(trace)
}

/// The traces that drive users, read before the run and the cell that depend on them.
fn of_users(cx: &mut Context<'_>, users: Option<&Node>) -> Checked<Vec<Played>> {
    let users = users.and_then(Node::table);
    let entries = users.map_or(&[][..], |users| &users.entries);
    let mut played = Vec::new();
    for entry in entries {
        let channel = entry.node.table().and_then(|user| user.get("channel"));
        let Some(channel) = channel else { continue };
        let kind = channel.table().and_then(|channel| channel.get("kind"));
        if kind.is_none_or(|kind| !matches!(&kind.value, Value::String(kind) if kind == "trace")) {
            continue;
        }
        let title = format!("[ue.{}.channel]", entry.key);
        let (mut reader, _) = Reader::open_kind("ue.<name>.channel", title, channel)?;
        played.push(Played::read(cx, &mut reader, Role::Downlink)?);
    }
    Ok(played)
}

/// The traces of several cells, read before the run that depends on them.
fn of_cells(cx: &mut Context<'_>, cells: Option<&Node>) -> Checked<Vec<Played>> {
    let mut played = Vec::new();
    let Some(Value::Array(cells)) = cells.map(|cells| &cells.value) else {
        return Ok(played);
    };
    for cell in cells {
        let trace = cell.table().and_then(|cell| cell.get("trace"));
        let Some(trace) = trace else { continue };
        let mut reader = Reader::open("cell.trace", "[cell.trace]", Some(trace), trace.at)?;
        played.push(Played::read(cx, &mut reader, Role::Cell)?);
    }
    Ok(played)
}

/// How long the users' traces last: the longest, from its offset to its end; of several cells the shortest.
pub(super) fn duration(
    cx: &mut Context<'_>,
    (users, cells): (Option<&Node>, Option<&Node>),
    at: Position,
) -> Checked<Duration> {
    let of_users = of_users(cx, users)?;
    let of_cells = of_cells(cx, cells)?;
    let shortest = of_cells.iter().map(Played::rest).min();
    match of_users.iter().map(Played::rest).max().or(shortest) {
        Some(rest) if !rest.is_zero() => Ok(rest),
        Some(_) => Err(fault(at, "the trace's offset is beyond its end")
            .hint("give a smaller offset, or a duration")),
        None => Err(undriven(at)),
    }
}

fn undriven(at: Position) -> Box<Fault> {
    fault(at, "no user of this scenario is driven by a trace")
        .hint("take a scenario with a channel of kind \"trace\"")
}

/// Resolves `rat = "trace"` of the cell, and lays the cell on its table for that radio, `[cell.lte]` or
/// `[cell.nr]`.
pub(super) fn choose_radio(cx: &mut Context<'_>, root: &mut Table) -> Checked<()> {
    let users = root.get("ue").cloned();
    let Some(cell) = root.entries.iter_mut().find(|entry| entry.key == "cell") else {
        return Ok(());
    };
    let Value::Table(cell) = &mut cell.node.value else {
        // the reader of the cell refuses it
        return Ok(());
    };
    let lte = of_radio(cell, "lte")?;
    let nr = of_radio(cell, "nr")?;
    let rat = cell.entries.iter_mut().find(|entry| entry.key == "rat");
    let Some(Entry { node, .. }) = rat else {
        return Ok(());
    };
    if matches!(&node.value, Value::String(rat) if rat == "trace") {
        let rat = recorded_on(cx, users.as_ref(), node.at)?;
        node.value = Value::String(rat.to_owned());
    }
    let is_nr = matches!(&node.value, Value::String(rat) if rat == "nr");
    let below = if is_nr { nr } else { lte };
    let above = std::mem::replace(cell, below);
    cell.merge(above);
    Ok(())
}

/// Takes the table of a radio out of the cell's.
fn of_radio(cell: &mut Table, name: &str) -> Checked<Table> {
    let Some(Entry { node, .. }) = cell.remove(name) else {
        return Ok(Table::default());
    };
    let (at, kind) = (node.at, node.kind());
    let Value::Table(table) = node.value else {
        return Err(fault(at, format!("[cell.{name}] is {kind}"))
            .allowed("expected a table with keys of [cell]"));
    };
    let keys = section("cell", None).keys;
    let is_known = |key: &str| key != "rat" && keys.iter().any(|known| known.name == key);
    match table.entries.iter().find(|entry| !is_known(&entry.key)) {
        Some(entry) => Err(fault(
            entry.at,
            format!("unknown key \"{}\" in [cell.{name}]", entry.key),
        )
        .allowed("keys of [cell], save \"rat\"")
        .nearest(&entry.key, keys.iter().map(|known| known.name))),
        None => Ok(table),
    }
}

/// The radio that most of the users' traces were recorded on; LTE if they do not state it.
fn recorded_on(cx: &mut Context<'_>, users: Option<&Node>, at: Position) -> Checked<&'static str> {
    let played = of_users(cx, users)?;
    if played.is_empty() {
        return Err(undriven(at));
    }
    let sum = |of: fn(&NetworkTimes) -> Duration| -> Duration {
        played.iter().map(|played| of(&played.trace.networks)).sum()
    };
    Ok(match sum(|times| times.nr) > sum(|times| times.lte) {
        true => "nr",
        false => "lte",
    })
}

/// Where in the trace the run begins, as the command line or else the scenario states it; none if
/// each seed draws it.
fn offset(cx: &mut Context<'_>, reader: &mut Reader<'_>) -> Checked<Option<Duration>> {
    match &cx.traces.offset {
        Some(node) => {
            cx.traces.offset_used = true;
            reader.duration_or_of("offset", node)
        }
        None => reader.duration_or("offset"),
    }
}

/// What there is to note of a trace that was recorded on another radio than the cell's, if any of it was.
fn other_radio(trace: &Trace, cell: &CellConfig) -> Option<String> {
    let (other, cell, key) = match cell.rat {
        Rat::Lte => (Network::Nr, "LTE", "nr"),
        Rat::Nr { .. } => (Network::Lte, "5G", "lte"),
    };
    if trace.networks.share(other) < MIN_SHARE {
        return None;
    }
    let effect = match trace.gives_mcs() {
        true => "its rates are those of this cell's carrier, not those of the recorded one",
        false => "its rates hold, the delays are this cell's",
    };
    Some(format!(
        "{} was recorded on {}, and the cell is {cell}: {effect} (--set cell.rat={key} takes another cell)",
        trace.source, trace.networks
    ))
}

/// How to read the file. What the scenario sets for its own trace does not hold for the one that the
/// command line puts in its place.
fn read_options(cx: &Context<'_>, reader: &mut Reader<'_>, role: Role) -> Checked<ReadOptions> {
    let replaced = cx.traces.instead(role).given.is_some();
    let holds =
        |node: Option<&Node>| node.is_some_and(|n| !replaced || cx.document.is_option(n.at));
    let mut options = ReadOptions::default();
    if holds(reader.given("format"))
        && let Some(name) = reader.optional_choice("format")?
    {
        options.format = name.parse::<Format>().ok();
    }
    if holds(reader.given("series")) {
        options.series = reader.optional_text("series")?;
    }
    Ok(options)
}

/// Ticks for which a value holds, given as their number or as a time.
fn hold_ticks(reader: &mut Reader<'_>, tick: Duration) -> Checked<u32> {
    let Some(hold) = reader.optional::<Duration>("hold")? else {
        return reader.count("hold-ticks");
    };
    if let Some(node) = reader.given("hold-ticks") {
        return Err(fault(node.at, "\"hold\" is given too").hint("remove one of the two"));
    }
    let ticks = hold / tick;
    match u32::try_from(ticks) {
        Ok(whole) if whole > 0 && tick * ticks == hold => Ok(whole),
        _ => Err(fault(
            reader.place("hold"),
            format!("{hold} is not a whole number of ticks of {tick}"),
        )),
    }
}

/// How it is played, but for the offset and what holds for CQIs alone.
fn playback(reader: &mut Reader<'_>) -> Checked<Playback> {
    let tick = reader.quantity("tick")?;
    Ok(Playback {
        repeat: reader.flag("repeat")?,
        packet: reader.quantity("packet")?,
        tick,
        hold_ticks: hold_ticks(reader, tick)?,
        opportunity_period: reader.optional("opportunity-period")?,
        ..Playback::default()
    })
}

/// The load that the first trace-driven user's trace shows: none, unless it is a log of the cell.
pub(super) fn load_of(ues: &[UeSpec], at: Position) -> Checked<LoadSpec> {
    let trace = ues.iter().find_map(|ue| match &ue.channel {
        ChannelSpec::Trace(TraceSpec { trace, .. }) => Some(trace),
        _ => None,
    });
    match trace {
        None => Err(fault(at, "no user is driven by a trace")
            .hint("give a user a channel of kind \"trace\", or the background another kind")),
        Some(trace) if matches!(trace.content, Content::Dci(_)) => {
            Ok(LoadSpec::Trace(Arc::clone(trace)))
        }
        Some(_) => Ok(LoadSpec::None),
    }
}
