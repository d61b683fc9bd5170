//! Channels of users, and the traces that drive them.

use super::Context;
use super::cell::check_mcs;
use super::moving;
use super::site::Site;
use crate::UeSpec;
use crate::document::Node;
use crate::error::{Checked, fault, trace_fault};
use crate::experiment::{ChannelSpec, LoadSpec};
use crate::moving::merge;
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::trace::{
    CellParameters, Content, Format, MAX_FILE, Playback, ReadOptions, Trace, WithoutCqi,
};
use radio::{CqiToMcs, FadeConfig, LinkAdaptation, LinkAdaptationConfig};
use ran::CellConfig;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{Cqi, Duration, Mcs};

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
}

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
        _ => trace(cx, &mut reader, cell)?,
    };
    ue.put("channel", ResolvedValue::Table(reader.finish()));
    Ok(spec)
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
fn policy(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<CqiToMcs> {
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

fn trace(cx: &mut Context<'_>, reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<ChannelSpec> {
    let file = file(cx, reader)?;
    let options = read_options(cx, reader)?;
    let trace = cx.traces.get(&file, options)?;
    let playback = playback(reader, cell)?;
    let parameters = CellParameters {
        table: cell.mcs_table,
        n_prb: cell.n_prb,
        slot_duration: cell.rat.slot_duration(),
        layers: cell.layers,
        data_re_per_prb: cell.data_re_per_prb,
    };
    cx.traces.check(&trace, &playback, parameters, file.at)?;
    Ok(ChannelSpec::Trace {
        path: file.path,
        trace,
        playback,
    })
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

fn playback(reader: &mut Reader<'_>, cell: &CellConfig) -> Checked<Playback> {
    let without_cqi = match reader.choice("without-cqi")? {
        "hold" => WithoutCqi::Hold,
        "skip" => WithoutCqi::Skip,
        _ => WithoutCqi::OutageOnOlderNetwork,
    };
    let tick = reader.quantity("tick")?;
    Ok(Playback {
        repeat: reader.flag("repeat")?,
        offset: reader.quantity("offset")?,
        policy: Some(policy(reader, cell)?),
        bler: reader.number("bler")?,
        without_cqi,
        packet: reader.quantity("packet")?,
        tick,
        hold_ticks: hold_ticks(reader, tick)?,
        opportunity_period: reader.optional("opportunity-period")?,
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
