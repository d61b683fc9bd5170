//! From a document to a typed experiment.

mod apps;
mod call;
mod cell;
mod cells;
mod channel;
mod flow;
mod handover;
mod moving;
mod pep;
mod queues;
mod recorded;
mod reports;
mod site;
mod trace;
mod traces;
mod tunnel;
mod ue;
mod uplink_queue;

use crate::Experiment;
use crate::document::{Node, Table};
use crate::error::{Checked, fault};
use crate::experiment::{AccessSpec, CellSpec, LinkSpec, OutageSpec, PathSpec, TraceSpec};
use crate::load::Document;
use crate::reader::Reader;
use crate::resolved::{Resolved, ResolvedValue};
use crate::source::Position;
use radio::moving::RangeWarning;
use recovery::{UnknownValidation, Validation};
use site::Site;
pub(crate) use traces::{Instead, Traces, bytes};
use tunnel::Tunnel;
use units::{BitRate, Duration};

/// Maximum steps of a time series.
const MAX_SAMPLES: u64 = 10_000_000;

/// Maximum changes of a link's rate.
const MAX_RATE_STEPS: usize = 10_000;

/// Round-trip time from the edge to a server next door, where a shorter one than the access's own is
/// given.
const NEXT_DOOR: Duration = Duration::from_millis(1);

/// What resolving needs beside the document's tables.
pub(crate) struct Context<'a> {
    pub(crate) document: &'a Document,
    pub(crate) traces: &'a mut Traces,
    /// Length of a run.
    pub(crate) duration: Duration,
    /// What was done otherwise than the file specifies, because the file allows it.
    pub(crate) notes: Vec<String>,
    /// What radio models are extrapolated to.
    pub(crate) warnings: Vec<RangeWarning>,
}

/// An experiment and what was understood.
pub(crate) struct Made {
    pub(crate) experiment: Experiment,
    pub(crate) resolved: Resolved,
}

/// The experiment that a document describes.
pub(crate) fn experiment(cx: &mut Context<'_>, root: &Table) -> Checked<Made> {
    let start = Position {
        source: 0,
        offset: 0,
    };
    let mut root = root.clone();
    trace::choose_radio(cx, &mut root)?;
    let node = Node {
        at: start,
        value: crate::document::Value::Table(root),
    };
    let mut top = Reader::open("", "the scenario", Some(&node), start)?;
    let name = match top.optional_text("name")? {
        Some(name) => name,
        None => cx.document.stem.clone(),
    };
    top.put("name", ResolvedValue::Text(name.clone()));
    let description = top.text("description")?;
    let seed = top.count("seed")?;
    let repeats = top.count("repeats")?;
    let duration = match top.duration_or("duration")? {
        Some(duration) => duration,
        None => {
            let of = (top.given("ue"), top.given("cell"));
            let duration = trace::duration(cx, of, top.place("duration"))?;
            top.put("duration", ResolvedValue::Text(duration.to_string()));
            duration
        }
    };
    cx.duration = duration;
    let sample_interval = top.quantity::<Duration>("sample-interval")?;
    samples(&top, duration, sample_interval)?;
    let tunnel = tunnel::read(&mut top)?;
    let access = access(cx, &mut top, tunnel.as_ref())?;
    let path = path(cx, &mut top, &access, tunnel.as_ref())?;
    let (mut ues, groups, others) = ue::all(cx, &mut top, &access)?;
    let access = match &tunnel {
        Some(tunnel) => tunnel::turned_off(tunnel, access, &mut ues),
        None => access,
    };
    let flows = flow::all(&mut top, &groups, duration)?;
    let pep = pep::read(&mut top, &access, &ues)?;
    if let Some(tunnel) = &tunnel {
        tunnel::check_proxy(tunnel, &pep, &top)?;
    }
    let cdbe = reports::cdbe(&mut top, &access, &flows, path.rtt)?;
    let meld = reports::meld(&mut top, &access, &flows, &pep, &cdbe)?;
    let mut access = access;
    let cells = match &mut access {
        Access::Cell { spec, several, .. } => several
            .take()
            .map(|several| several.into_spec(spec, &ues, &others)),
        Access::Link(_) => None,
    };
    let access = with_background(access, &ues)?;
    let experiment = Experiment {
        name,
        description,
        seed,
        repeats,
        duration,
        sample_interval,
        path,
        access,
        cells,
        ues,
        flows,
        pep,
        meld,
        cdbe,
        tunnel: tunnel.and_then(Tunnel::into_spec),
    };
    Ok(Made {
        experiment,
        resolved: top.finish(),
    })
}

/// A bottleneck whose load may still wait for the users' traces.
pub(crate) enum Access {
    Cell {
        spec: Box<CellSpec>,
        at: Position,
        site: Box<Site>,
        background_trace: Option<Position>,
        /// What all users' uplinks play.
        uplink: Option<Box<TraceSpec>>,
        /// All cells, where there are several.
        several: Option<Box<cells::Several>>,
    },
    Link(LinkSpec),
}

fn samples(top: &Reader<'_>, duration: Duration, interval: Duration) -> Checked<()> {
    if duration / interval <= MAX_SAMPLES {
        return Ok(());
    }
    Err(fault(
        top.place("sample-interval"),
        format!("{duration} in steps of {interval} are more than {MAX_SAMPLES} samples"),
    )
    .hint("choose a longer \"sample-interval\""))
}

/// The path. Its round-trip time must leave the access what that needs itself; `raise` lifts it.
fn path(
    cx: &mut Context<'_>,
    top: &mut Reader<'_>,
    access: &Access,
    tunnel: Option<&Tunnel>,
) -> Checked<PathSpec> {
    let node = top.given("path");
    let mut reader = Reader::open("path", "[path]", node, top.at())?;
    let given = reader.quantity::<Duration>("rtt")?;
    let raise = reader.choice("rtt-too-short")? == "raise";
    let (min, hint) = match (access, tunnel.and_then(tunnel::first_rtt)) {
        (_, Some(first)) => (first, "shorten the tunnel's first path"),
        (Access::Cell { spec, .. }, None) => (
            spec.config.base_rtt(),
            "shorten the cell's processing times, or take configured grants (sr-period = \"0 s\")",
        ),
        (Access::Link(link), None) => (link.delay * 2, "shorten the link's delay"),
    };
    let rtt = match (given < min, raise) {
        (false, _) => given,
        (true, true) => {
            let raised = min + NEXT_DOOR;
            cx.notes.push(format!(
                "the round-trip time of {given} is less than the access itself takes ({min}): \
                 raised to {raised}"
            ));
            reader.put("rtt", ResolvedValue::Text(raised.to_string()));
            raised
        }
        (true, false) => {
            return Err(fault(
                reader.place("rtt"),
                format!("\"rtt\" = {given} is less than the access itself takes"),
            )
            .allowed(format!("allowed is {min} and more"))
            .hint(hint));
        }
    };
    let spec = PathSpec {
        rtt,
        rate: reader.quantity("rate")?,
        buffer: reader.capacity("buffer")?,
        queue: queues::of_wire(&mut reader)?,
        loss: reader.number("loss")?,
        jitter: reader.quantity("jitter")?,
    };
    top.put("path", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

fn access(cx: &mut Context<'_>, top: &mut Reader<'_>, tunnel: Option<&Tunnel>) -> Checked<Access> {
    if let Some(tunnel) = tunnel {
        let cell = match top.given("cell") {
            Some(node) => Some(cell::read(cx, top, node)?),
            None => None,
        };
        if let Some(access) = tunnel::first_access(tunnel, cell) {
            return Ok(access);
        }
    }
    match (top.given("cell"), top.given("link")) {
        (Some(cell), None) => cell::read(cx, top, cell),
        (None, Some(link)) => {
            handover::check_single(top)?;
            read_link(top, link).map(Access::Link)
        }
        (Some(_), Some(link)) => Err(fault(link.at, "both [cell] and [link] are given")
            .allowed("the bottleneck is one of the two")
            .hint("remove one")),
        (None, None) => Err(fault(top.at(), "the scenario has no bottleneck")
            .allowed("a radio [cell], a wired [link], or a [tunnel] of several paths")),
    }
}

fn read_link(top: &mut Reader<'_>, node: &Node) -> Checked<LinkSpec> {
    let mut reader = Reader::open("link", "[link]", Some(node), node.at)?;
    let rate = reader.quantity::<BitRate>("rate")?;
    let spec = LinkSpec {
        rate,
        rate_steps: reader.rate_steps("rate-steps", MAX_RATE_STEPS)?,
        uplink_rate: reader.quantity_or("uplink-rate", rate)?,
        delay: reader.quantity("delay")?,
        buffer: reader.capacity("buffer")?,
        queue: queues::of_wire(&mut reader)?,
        loss: reader.number("loss")?,
        jitter: reader.quantity("jitter")?,
        outage: None,
    };
    top.put("link", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// Gives the cell the load that the first trace-driven user's trace shows.
fn with_background(access: Access, ues: &[crate::UeSpec]) -> Checked<AccessSpec> {
    match access {
        Access::Link(link) => Ok(AccessSpec::Link(link)),
        Access::Cell {
            mut spec,
            background_trace,
            ..
        } => {
            if let Some(at) = background_trace {
                spec.background = trace::load_of(ues, at)?;
            }
            Ok(AccessSpec::Cell(spec))
        }
    }
}

/// Names of users and flows: they stand in file names and tables.
fn check_name(name: &str, at: Position, what: &str) -> Checked<()> {
    /// Longest name.
    const MAX_NAME_BYTES: usize = 64;
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(fine) {
        return Ok(());
    }
    Err(
        fault(at, format!("{name:?} is no name of a {what}")).allowed(format!(
            "letters, digits, \"-\" and \"_\" are allowed, at most {MAX_NAME_BYTES} of them"
        )),
    )
}

/// The name of the n-th copy (from 0) of something with a count.
fn copy_name(name: &str, n: usize) -> String {
    if n == 0 {
        name.to_owned()
    } else {
        format!("{name}-{}", n + 1)
    }
}

/// That no two have the same name, which copies may cause.
fn check_unique(names: &[(String, Position)], what: &str) -> Checked<()> {
    let mut sorted: Vec<&(String, Position)> = names.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => Err(fault(
            pair[0].1.max(pair[1].1),
            format!("two {what}s have the name \"{}\"", pair[0].0),
        )
        .hint("copies are numbered from 2 on: give one of the two another name")),
    }
}

/// A time from the first of these keys on until the second.
fn outage(reader: &mut Reader<'_>, [begin, end]: [&str; 2]) -> Checked<Option<OutageSpec>> {
    let from: Option<Duration> = reader.optional(begin)?;
    let until: Option<Duration> = reader.optional(end)?;
    match (from, until) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(fault(reader.place(end), format!("there is no {begin:?}"))
            .hint(format!("give it {begin:?} too, or remove the line"))),
        (Some(from), Some(until)) if until <= from => Err(fault(
            reader.place(end),
            format!("{end:?} = {until} is not after {begin:?} = {from}"),
        )),
        (Some(from), until) => Ok(Some(OutageSpec { from, until })),
    }
}

/// The key `window-validation` of a flow's TCP or of a tunnel.
fn window_validation(reader: &mut Reader<'_>) -> Checked<Validation> {
    let given = reader.choice("window-validation")?.parse();
    given.map_err(|error: UnknownValidation| {
        fault(reader.place("window-validation"), error.to_string())
    })
}
