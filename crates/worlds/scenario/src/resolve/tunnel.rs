//! The multipath tunnel.

use super::{Access, MAX_RATE_STEPS, check_name, outage, queues, reports, window_validation};
use crate::document::Node;
use crate::error::{Checked, either, fault};
use crate::experiment::{ChannelSpec, LinkSpec, UeSpec};
use crate::reader::Reader;
use crate::resolved::{Resolved, ResolvedValue};
use crate::tunnel::{PathEvent, TunnelAccess, TunnelPathSpec, TunnelSpec};
use crate::{PepMode, PepSpec};
use multipath::client::Supervision;
use multipath::parity::UnknownFec;
use multipath::reorder::{Late, ReorderConfig, UnknownWaitRule, WaitRule};
use multipath::scheduler::PathSet;
use multipath::tunnel::{Carrier, Setting, TunnelConfig, UnknownBufferQueue};
use queue::registry::{self, Place};
use units::{BitRate, Bytes, Duration, Packets};

/// Maximum paths.
const MAX_PATHS: usize = PathSet::MAX_PATHS as usize;

/// Maximum events of a path.
const MAX_EVENTS: usize = 10_000;

/// How the paper writes the versions of BBR, which it has over TCP.
const PAPER_NAMES: [(&str, &str); 2] = [("bbrv2", "bbr2"), ("bbrv3", "bbr3")];

/// Between a controller's name and its carrier's.
const OVER: &str = " over ";

/// What the paper calls a path's congestion control, with ours, and what carries it if that is part of the name:
/// `ccid2` and `ccid5` are DCCP's numbers of controllers (RFC 4340 10).
fn paper_names() -> impl Iterator<Item = (String, &'static str, Option<Carrier>)> {
    let numbered = cc::CONTROLLERS.iter().filter_map(|of| {
        let name = format!("ccid{}", of.ccid?);
        Some((name, of.name, Some(Carrier::Dccp)))
    });
    let versions = PAPER_NAMES.map(|(paper, name)| (paper.to_owned(), name, Some(Carrier::Stream)));
    numbered.chain(versions)
}

/// A tunnel that has been read.
pub(super) struct Tunnel {
    pub(super) spec: TunnelSpec,
    is_on: bool,
}

impl Tunnel {
    /// The tunnel, unless it is off.
    pub(super) fn into_spec(self) -> Option<TunnelSpec> {
        self.is_on.then_some(self.spec)
    }
}

/// Reads `[tunnel]`, if there is one.
pub(super) fn read(top: &mut Reader<'_>) -> Checked<Option<Tunnel>> {
    let Some(node) = top.given("tunnel") else {
        return Ok(None);
    };
    if let Some(link) = top.given("link") {
        return Err(fault(link.at, "both [link] and [tunnel] are given")
            .allowed("the links of a tunnel are its paths")
            .hint("move it to a [tunnel.path.<name>]"));
    }
    let rtt = base_rtt(top)?;
    let mut reader = Reader::open("tunnel", "[tunnel]", Some(node), node.at)?;
    let is_on = reader.choice("mode")? == "on";
    let (share, asymmetry) = (reader.number("share")?, reader.quantity("asymmetry")?);
    let defaults = Defaults {
        rtt: rtt.mul_f64(share),
        asymmetry,
        controller: controller(&mut reader, None)?,
    };
    let paths = paths(&mut reader, &defaults)?;
    check_cell(&paths, &reader, top.given("cell"))?;
    let spec = TunnelSpec {
        paths,
        scheduler: reader.choice("scheduler")?,
        connection: connection(&mut reader)?,
        supervision: supervision(&mut reader)?,
        uses_radio: reader.flag("radio")?,
        reports: reports::read(&mut reader)?,
    };
    let has_cell = spec
        .paths
        .iter()
        .any(|path| path.access == TunnelAccess::Cell);
    if spec.uses_radio && !has_cell {
        return Err(fault(reader.place("radio"), "no path goes through a cell")
            .allowed("wires give no radio reports")
            .hint("set radio = false, or give a path access = \"cell\""));
    }
    top.put("tunnel", ResolvedValue::Table(reader.finish()));
    Ok(Some(Tunnel { spec, is_on }))
}

/// What both ends have: the values that [`TunnelConfig::settings`] lists, and `mtu`.
fn connection(reader: &mut Reader<'_>) -> Checked<TunnelConfig> {
    let mtu: Bytes = reader.quantity("mtu")?;
    let mut config = TunnelConfig {
        reorder: ReorderConfig::new(wait_rule(reader)?),
        mtu: usize::try_from(mtu.get()).unwrap_or(usize::MAX),
        ..TunnelConfig::default()
    };
    for (key, setting) in config.settings() {
        let key = key.name;
        match setting {
            // all others depend on it
            Setting::Rule(_) => {}
            Setting::Duration(time) => *time = reader.quantity_or(key, *time)?,
            Setting::Optional(time) => *time = reader.duration_or(key)?,
            Setting::Packets(packets) => *packets = Packets::new(reader.count(key)?),
            Setting::Flag(flag) => {
                *flag = reader.optional_flag(key)?.unwrap_or(*flag);
                reader.put(key, ResolvedValue::Flag(*flag));
            }
            Setting::Late(late) => {
                let given = reader.choice(key)?;
                let found = Late::NAMES.iter().find(|(name, _)| *name == given);
                *late = found.map_or(Late::Forward, |(_, late)| *late);
            }
            Setting::Validation(validation) => *validation = window_validation(reader)?,
            Setting::Fec(fec) => {
                let given = reader.choice(key)?.parse();
                *fec = given
                    .map_err(|error: UnknownFec| fault(reader.place(key), error.to_string()))?;
            }
            Setting::Queue(queue) => {
                let given = reader.choice(key)?.parse();
                *queue = given.map_err(|error: UnknownBufferQueue| {
                    fault(reader.place(key), error.to_string())
                })?;
            }
        }
    }
    Ok(config)
}

fn wait_rule(reader: &mut Reader<'_>) -> Checked<WaitRule> {
    let wait = reader.quantity("wait")?;
    match reader.choice("reorder")?.parse() {
        Ok(WaitRule::Fixed(_)) => Ok(WaitRule::Fixed(wait)),
        Ok(rule) => Ok(rule),
        Err(error) => {
            let error: UnknownWaitRule = error;
            Err(fault(reader.place("reorder"), error.to_string()))
        }
    }
}

/// `[tunnel.supervision]`, whose keys are those of the live client.
fn supervision(tunnel: &mut Reader<'_>) -> Checked<Supervision> {
    let mut supervision = Supervision::default();
    let Some(node) = tunnel.given("supervision") else {
        return Ok(supervision);
    };
    let (path, title) = ("tunnel.supervision", "[tunnel.supervision]");
    let mut reader = Reader::open(path, title, Some(node), node.at)?;
    for (key, value) in supervision.keys() {
        *value = reader.quantity(key)?;
    }
    tunnel.put("supervision", ResolvedValue::Table(reader.finish()));
    Ok(supervision)
}

/// The round-trip time of `[path]`; that section is read, and rejected, by itself.
fn base_rtt(top: &Reader<'_>) -> Checked<Duration> {
    let mut reader = Reader::open("path", "[path]", top.given("path"), top.at())?;
    reader.quantity("rtt")
}

/// That the cell is a path's, and one path's.
fn check_cell(paths: &[TunnelPathSpec], tunnel: &Reader<'_>, cell: Option<&Node>) -> Checked<()> {
    let through = paths
        .iter()
        .filter(|path| path.access == TunnelAccess::Cell);
    match (through.count(), cell) {
        (0, None) | (1, Some(_)) => Ok(()),
        (0, Some(cell)) => Err(
            fault(cell.at, "no path of the tunnel goes through the [cell]")
                .hint("give one access = \"cell\", or remove the cell"),
        ),
        (_, None) => Err(fault(
            tunnel.place("path"),
            "a path goes through a cell, and there is none",
        )
        .hint("describe a [cell]")),
        (_, Some(_)) => Err(fault(
            tunnel.place("path"),
            "two paths of the tunnel go through the [cell]",
        )
        .allowed("one may")),
    }
}

/// What holds for paths that do not set it.
struct Defaults {
    /// Of the first path.
    rtt: Duration,
    asymmetry: Duration,
    controller: (String, Carrier),
}

fn paths(tunnel: &mut Reader<'_>, defaults: &Defaults) -> Checked<Vec<TunnelPathSpec>> {
    let none = |at| {
        fault(at, "the tunnel has no path")
            .hint("add one, for example [tunnel.path.wifi] with rate = \"50 Mbit/s\"")
    };
    let Some(node) = tunnel.given("path") else {
        return Err(none(tunnel.at()));
    };
    let Some(table) = node.table() else {
        return Err(
            fault(node.at, format!("\"path\" of [tunnel] is {}", node.kind()))
                .allowed("expected tables such as [tunnel.path.wifi]"),
        );
    };
    if table.entries.len() > MAX_PATHS {
        return Err(fault(node.at, format!("{} paths", table.entries.len()))
            .allowed(format!("a tunnel has at most {MAX_PATHS}")));
    }
    let (mut paths, mut resolved) = (Vec::new(), Resolved::default());
    for entry in &table.entries {
        check_name(&entry.key, entry.at, "path")?;
        let (path, read) = path(&entry.key, &entry.node, paths.len(), defaults)?;
        paths.push(path);
        resolved.put(&entry.key, ResolvedValue::Table(read));
    }
    if paths.is_empty() {
        return Err(none(node.at));
    }
    tunnel.put("path", ResolvedValue::Table(resolved));
    Ok(paths)
}

fn path(
    name: &str,
    node: &Node,
    index: usize,
    defaults: &Defaults,
) -> Checked<(TunnelPathSpec, Resolved)> {
    let title = format!("[tunnel.path.{name}]");
    let mut reader = Reader::open("tunnel.path.<name>", title, Some(node), node.at)?;
    let (cc, carrier) = controller(&mut reader, Some(&defaults.controller))?;
    let priority = reader.count("priority")?;
    let access = match reader.choice("access")? {
        "cell" => cell(&reader)?,
        _ => TunnelAccess::Link(link(&mut reader, index, defaults)?),
    };
    let spec = TunnelPathSpec {
        name: name.to_owned(),
        access,
        carrier,
        cc,
        priority,
        events: reader.events("events", &PathEvent::NAMES, ("event", MAX_EVENTS))?,
    };
    Ok((spec, reader.finish()))
}

/// A path through the cell has no key of a wire.
fn cell(reader: &Reader<'_>) -> Checked<TunnelAccess> {
    let of_wires = [
        "rate",
        "rate-steps",
        "uplink-rate",
        "rtt",
        "buffer",
        "queue",
        "ecn",
        "loss",
        "jitter",
        "down-at",
        "up-at",
    ];
    let of_queues = registry::parameters(Place::Link);
    let of_queues = of_queues.into_iter().map(|parameter| parameter.name);
    match of_wires
        .into_iter()
        .chain(of_queues)
        .find_map(|key| Some((key, reader.given(key)?)))
    {
        None => Ok(TunnelAccess::Cell),
        Some((key, node)) => Err(fault(
            node.at,
            format!("a path through the cell has no \"{key}\""),
        )
        .allowed("the [cell] and the users' channels determine it")
        .hint("remove the line, or set access = \"link\"")),
    }
}

fn link(reader: &mut Reader<'_>, index: usize, defaults: &Defaults) -> Checked<LinkSpec> {
    let Some(rate) = reader.optional::<BitRate>("rate")? else {
        return Err(fault(reader.at(), "this path has no key \"rate\"")
            .allowed("a wire needs one, for example \"50 Mbit/s\""));
    };
    let further = u64::try_from(index).unwrap_or(u64::MAX);
    let rtt = reader.quantity_or("rtt", defaults.rtt + defaults.asymmetry * further)?;
    Ok(LinkSpec {
        rate,
        rate_steps: reader.rate_steps("rate-steps", MAX_RATE_STEPS)?,
        uplink_rate: reader.quantity_or("uplink-rate", rate)?,
        delay: rtt / 2,
        buffer: reader.capacity("buffer")?,
        queue: queues::of_wire(reader)?,
        loss: reader.number("loss")?,
        jitter: reader.quantity("jitter")?,
        outage: outage(reader, ["down-at", "up-at"])?,
    })
}

/// Congestion control and carrier: of the tunnel, or of a path whose tunnel has these.
fn controller(
    reader: &mut Reader<'_>,
    inherited: Option<&(String, Carrier)>,
) -> Checked<(String, Carrier)> {
    let (name, implied) = match (reader.optional_text("cc")?, inherited) {
        (None, Some((name, _))) => (name.clone(), None),
        (given, _) => named(&given.unwrap_or_default(), reader)?,
    };
    let given = reader.optional_choice("carrier")?.and_then(Carrier::named);
    let inherited = inherited.map(|(_, carrier)| *carrier);
    let carrier = given.or(implied).or(inherited).unwrap_or_default();
    reader.put("cc", ResolvedValue::Text(name.clone()));
    reader.put("carrier", ResolvedValue::Text(carrier.name().to_owned()));
    Ok((name, carrier))
}

/// A congestion control by our name or the paper's, and what carries it if that is part of the name.
fn named(given: &str, reader: &Reader<'_>) -> Checked<(String, Option<Carrier>)> {
    if let Some((name, carrier)) = given.split_once(OVER)
        && let Some(carrier) = Carrier::named(carrier)
    {
        return named(name, reader).map(|(name, _)| (name, Some(carrier)));
    }
    if let Some((_, name, carrier)) = paper_names().find(|(paper, ..)| *paper == given) {
        return Ok((name.to_owned(), carrier));
    }
    if let Some(found) = cc::find(given) {
        return Ok((found.name.to_owned(), None));
    }
    let papers: Vec<String> = paper_names().map(|(paper, ..)| paper).collect();
    let names = || {
        let papers = papers.iter().map(String::as_str);
        cc::names().iter().copied().chain(papers)
    };
    Err(fault(
        reader.place("cc"),
        format!("there is no congestion control \"{given}\""),
    )
    .allowed(format!("expected {}", either(names())))
    .nearest(given, names()))
}

/// The access where there is no `[link]`: that of the first path.
pub(super) fn first_access(tunnel: &Tunnel, cell: Option<Access>) -> Option<Access> {
    match (cell, tunnel.spec.paths.first().map(|path| &path.access)) {
        (Some(cell), _) => Some(cell),
        (None, Some(TunnelAccess::Link(link))) => Some(Access::Link(link.clone())),
        (None, _) => None,
    }
}

/// With the tunnel off its first path is the access; the users of a wire have no radio.
pub(super) fn turned_off(tunnel: &Tunnel, access: Access, ues: &mut [UeSpec]) -> Access {
    match tunnel.spec.paths.first().map(|path| &path.access) {
        Some(TunnelAccess::Link(link)) if !tunnel.is_on => {
            for ue in ues {
                ue.channel = ChannelSpec::Wired;
                ue.uplink = None;
                ue.bearers.clear();
            }
            Access::Link(link.clone())
        }
        _ => access,
    }
}

/// What the path from the servers must leave: the first path's own round-trip time.
pub(super) fn first_rtt(tunnel: &Tunnel) -> Option<Duration> {
    match tunnel.spec.paths.first().map(|path| &path.access) {
        Some(TunnelAccess::Link(link)) => Some(link.delay * 2),
        _ => None,
    }
}

/// That nothing else is placed at the edge.
pub(super) fn check_proxy(tunnel: &Tunnel, pep: &PepSpec, top: &Reader<'_>) -> Checked<()> {
    if !tunnel.is_on || (pep.mode == PepMode::None && pep.unsplit.is_none()) {
        return Ok(());
    }
    Err(fault(
        top.place("pep"),
        "both a proxy and a tunnel are at the edge",
    )
    .allowed("connections through a tunnel run end to end")
    .hint("set pep.mode = \"none\" and pep.unsplit = \"off\", or tunnel.mode = \"off\""))
}
