//! The traces that drive users' channels.

use super::Context;
use super::channel::policy;
use crate::UeSpec;
use crate::document::{Entry, Node, Table, Value};
use crate::error::{Checked, Fault, fault, trace_fault};
use crate::experiment::{ChannelSpec, LoadSpec};
use crate::keys::section;
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::trace::{
    CellParameters, Content, Format, MAX_FILE, Network, NetworkTimes, Playback, ReadOptions, Trace,
    WithoutCqi,
};
use ran::{CellConfig, Rat};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Duration;

/// Below this share of a trace, another radio is not noted.
const MIN_SHARE: f64 = 0.005;

/// Traces that have been read: each file once, however many users and points use it.
#[derive(Default)]
pub(crate) struct Traces {
    read: Vec<(PathBuf, ReadOptions, Arc<Trace>)>,
    /// What has been played on a cell to see whether it can be.
    played: Vec<(Arc<Trace>, Playback, CellParameters)>,
    /// The trace of the command line, and where it is named.
    pub(crate) instead: Option<(PathBuf, Position)>,
    /// A channel took the trace of the command line.
    pub(crate) instead_used: bool,
    /// The offset of the command line.
    pub(crate) offset: Option<Node>,
    /// A channel took the offset of the command line.
    pub(crate) offset_used: bool,
}

/// A trace and how it is played, whatever the cell.
struct Played {
    path: PathBuf,
    trace: Arc<Trace>,
    /// Without policy.
    playback: Playback,
    /// The seed draws the offset.
    is_random: bool,
    /// Where the file is named.
    at: Position,
}

impl Played {
    fn read(cx: &mut Context<'_>, reader: &mut Reader<'_>) -> Checked<Self> {
        let file = file(cx, reader)?;
        let options = read_options(cx, reader)?;
        let trace = cx.traces.get(&file, options)?;
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
}

/// Reads a channel of kind `trace`.
pub(super) fn channel(
    cx: &mut Context<'_>,
    reader: &mut Reader<'_>,
    cell: &CellConfig,
) -> Checked<ChannelSpec> {
    let Played {
        path,
        trace,
        playback,
        is_random,
        at,
    } = Played::read(cx, reader)?;
    let playback = Playback {
        policy: Some(policy(reader, cell)?),
        ..playback
    };
    let offset_spread = match is_random {
        true => trace.lap(&playback).saturating_sub(cx.duration),
        false => Duration::ZERO,
    };
    let parameters = CellParameters {
        table: cell.mcs_table,
        n_prb: cell.n_prb,
        slot_duration: cell.rat.slot_duration(),
        layers: cell.layers,
        data_re_per_prb: cell.data_re_per_prb,
    };
    cx.traces.check(&trace, &playback, parameters, at)?;
    cx.notes.extend(other_radio(&trace, cell));
    Ok(ChannelSpec::Trace {
        path,
        trace,
        playback,
        offset_spread,
    })
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
        played.push(Played::read(cx, &mut reader)?);
    }
    Ok(played)
}

/// How long the users' traces last: the longest, from its offset to its end.
pub(super) fn duration(
    cx: &mut Context<'_>,
    users: Option<&Node>,
    at: Position,
) -> Checked<Duration> {
    let played = of_users(cx, users)?;
    let rests = played.iter().map(|played| {
        let lap = played.trace.lap(&played.playback);
        lap.saturating_sub(played.playback.offset)
    });
    match rests.max() {
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

/// A trace's file.
struct TraceFile<'a> {
    path: PathBuf,
    /// Its content if it is at hand.
    text: Option<&'a str>,
    /// Where it is named.
    at: Position,
}

/// The trace's file: that of the command line if there is one, else the scenario's.
fn file<'a>(cx: &mut Context<'a>, reader: &mut Reader<'_>) -> Checked<TraceFile<'a>> {
    let document = cx.document;
    let file = if let Some((path, at)) = cx.traces.instead.clone() {
        cx.traces.instead_used = true;
        let text = document.held(&path);
        TraceFile { path, text, at }
    } else {
        let named = reader.text("file")?;
        let at = reader.place("file");
        let (path, text) = document.path(&named, at)?;
        TraceFile { path, text, at }
    };
    let name = file.path.display().to_string();
    reader.put("file", ResolvedValue::Text(name));
    Ok(file)
}

/// How to read the file. What the scenario sets for its own trace does not hold for the one that the
/// command line puts in its place.
fn read_options(cx: &Context<'_>, reader: &mut Reader<'_>) -> Checked<ReadOptions> {
    let replaced = cx.traces.instead.is_some();
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

/// How it is played, but for policy and offset.
fn playback(reader: &mut Reader<'_>) -> Checked<Playback> {
    let without_cqi = match reader.choice("without-cqi")? {
        "hold" => WithoutCqi::Hold,
        "skip" => WithoutCqi::Skip,
        _ => WithoutCqi::OutageOnOlderNetwork,
    };
    let tick = reader.quantity("tick")?;
    Ok(Playback {
        repeat: reader.flag("repeat")?,
        bler: reader.number("bler")?,
        without_cqi,
        packet: reader.quantity("packet")?,
        tick,
        hold_ticks: hold_ticks(reader, tick)?,
        opportunity_period: reader.optional("opportunity-period")?,
        ..Playback::default()
    })
}

impl Traces {
    /// The files that traces were read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.read.iter().map(|(path, _, _)| path.as_path())
    }

    /// A trace, read once.
    fn get(&mut self, file: &TraceFile<'_>, options: ReadOptions) -> Checked<Arc<Trace>> {
        let TraceFile { path, text, at } = file;
        let earlier = self
            .read
            .iter()
            .find(|(p, o, _)| p == path && *o == options);
        if let Some((_, _, trace)) = earlier {
            return Ok(Arc::clone(trace));
        }
        let name = path.display().to_string();
        let bytes = match text {
            Some(text) => text.as_bytes().to_vec(),
            None if path.is_dir() => {
                return Err(
                    fault(*at, format!("the trace \"{name}\" is a folder")).hint(
                        "brimful compare takes a folder of traces; elsewhere name one of its files",
                    ),
                );
            }
            None => bytes(path).map_err(|error| {
                let what = format!("the trace \"{name}\" cannot be read: {error}");
                match self.instead {
                    // as the command line names it, so it is
                    Some((ref given, _)) if given == path => fault(*at, what),
                    _ => {
                        fault(*at, what).hint("a path in a scenario file is relative to that file")
                    }
                }
            })?,
        };
        let trace = radio::trace::read(&name, &bytes, &options).map_err(|e| trace_fault(*at, e))?;
        let trace = Arc::new(trace);
        self.read.push((path.clone(), options, Arc::clone(&trace)));
        Ok(trace)
    }

    /// That a trace can be played on a cell.
    fn check(
        &mut self,
        trace: &Arc<Trace>,
        playback: &Playback,
        cell: CellParameters,
        at: Position,
    ) -> Checked<()> {
        let is_same =
            |(t, p, c): &(_, Playback, _)| Arc::ptr_eq(t, trace) && p == playback && *c == cell;
        if self.played.iter().any(is_same) {
            return Ok(());
        }
        match trace.channel(playback, &cell) {
            Ok(_) => {
                self.played
                    .push((Arc::clone(trace), playback.clone(), cell));
                Ok(())
            }
            Err(error) => Err(fault(at, error.to_string())),
        }
    }
}

/// The content of a trace's file.
pub(crate) fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // one byte more than is read as a trace, so that the reader can report that it is too large
    std::fs::File::open(path)?
        .take(MAX_FILE.get() + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The load that the first trace-driven user's trace shows: none, unless it is a log of the cell.
pub(super) fn load_of(ues: &[UeSpec], at: Position) -> Checked<LoadSpec> {
    let trace = ues.iter().find_map(|ue| match &ue.channel {
        ChannelSpec::Trace { trace, .. } => Some(trace),
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
