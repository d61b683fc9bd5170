//! Flows and their applications.

use super::apps;
use super::call;
use super::ue::{Group, user_of};
use super::{check_name, check_unique, copy_name, window_validation};
use crate::document::Node;
use crate::error::{Checked, Fault, either, fault};
use crate::experiment::{
    AppSpec, CcSpec, Direction, EcnSpec, FlowSpec, TcpSpec, Transport, is_custom,
};
use crate::reader::Reader;
use crate::resolved::{Resolved, ResolvedValue};
use cc::{Reporter, meld};
use units::Duration;

/// Maximum flows of one experiment.
const MAX_FLOWS: usize = 1_000_000;

/// Reads `[flow.*]`, in the file's order.
pub(super) fn all(
    top: &mut Reader<'_>,
    groups: &[Group],
    duration: Duration,
) -> Checked<Vec<FlowSpec>> {
    let none = |at| {
        fault(at, "the scenario has no flow")
            .allowed("at least one is needed")
            .hint("add one, for example [flow.bulk] with app = { kind = \"continuous\" }")
    };
    let Some(node) = top.given("flow") else {
        return Err(none(top.at()));
    };
    let Some(table) = node.table() else {
        return Err(fault(node.at, format!("\"flow\" is {}", node.kind()))
            .allowed("expected tables such as [flow.bulk]"));
    };
    let (mut flows, mut names, mut resolved) = (Vec::new(), Vec::new(), Resolved::default());
    for entry in &table.entries {
        check_name(&entry.key, entry.at, "flow")?;
        let read = one(&entry.key, &entry.node, groups, duration)?;
        if flows.len() + read.count > MAX_FLOWS {
            return Err(fault(entry.at, "too many flows")
                .allowed(format!("at most {MAX_FLOWS} in one scenario")));
        }
        for n in 0..read.count {
            let name = copy_name(&entry.key, n);
            names.push((name.clone(), entry.at));
            let ue = user_of(groups, read.ue, entry.at, n)?;
            flows.push(FlowSpec {
                name,
                ue,
                ..read.spec.clone()
            });
        }
        resolved.put(&entry.key, ResolvedValue::Table(read.resolved));
    }
    if flows.is_empty() {
        return Err(none(node.at));
    }
    check_unique(&names, "flow")?;
    top.put("flow", ResolvedValue::Table(resolved));
    Ok(flows)
}

/// One `[flow.<name>]`.
struct Read<'a> {
    spec: FlowSpec,
    ue: Option<(&'a str, crate::source::Position)>,
    count: usize,
    resolved: Resolved,
}

fn one<'a>(name: &str, node: &'a Node, groups: &[Group], duration: Duration) -> Checked<Read<'a>> {
    let mut reader = Reader::open("flow.<name>", format!("[flow.{name}]"), Some(node), node.at)?;
    let count = reader.count("count")?;
    reader.optional_text("ue")?;
    let ue = reader.given("ue").and_then(|n| match &n.value {
        crate::document::Value::String(ue) => Some((ue.as_str(), n.at)),
        _ => None,
    });
    let first = user_of(groups, ue, node.at, 0)?;
    let (app, transport) = app(&mut reader, name)?;
    let transport = transport_of(&mut reader, transport)?;
    let direction = match reader.choice("direction")? {
        "up" => Direction::Up,
        _ => Direction::Down,
    };
    let is_download = (transport, direction) == (Transport::Tcp, Direction::Down);
    if matches!(app, AppSpec::Ssh { .. }) && !is_download {
        return Err(fault(
            reader.place("app"),
            "\"ssh\" is neither over QUIC nor from the user",
        )
        .allowed("the output of a command comes to the user over TCP"));
    }
    let is_for_users = matches!(app, AppSpec::Video(_) | AppSpec::Page(_));
    if is_for_users && direction == Direction::Up {
        return Err(fault(
            reader.place("direction"),
            "videos and pages do not come from the user",
        )
        .allowed("they are towards the user")
        .hint("remove the line, or take another \"app\""));
    }
    let start = reader.quantity::<Duration>("start")?;
    let start_jitter = reader.quantity::<Duration>("start-jitter")?;
    let never = |key, text: String| {
        fault(reader.place(key), text)
            .allowed(format!("the run ends at {duration}"))
            .hint("start the flow earlier, or give a longer \"duration\"")
    };
    if start >= duration {
        return Err(never(
            "start",
            format!("\"start\" = {start} is never reached"),
        ));
    }
    if start + start_jitter >= duration {
        let text = format!("\"start-jitter\" = {start_jitter} after {start} may be beyond the end");
        return Err(never("start-jitter", text));
    }
    let qfi = reader.count("qfi")?;
    let (cc, tcp, intercepted) = sender(&mut reader, name, transport)?;
    let ecn = ecn(&mut reader, transport, &cc)?;
    call::check_ecn(&reader, &app, ecn)?;
    let meld = meld(&mut reader, transport, direction)?;
    let report = report(&mut reader, transport, direction, &cc)?;
    let spec = FlowSpec {
        name: name.to_owned(),
        ue: first,
        transport,
        direction,
        cc,
        meld,
        report,
        ecn,
        qfi,
        start,
        start_jitter,
        app,
        tcp,
        intercepted,
    };
    Ok(Read {
        spec,
        ue,
        count,
        resolved: reader.finish(),
    })
}

/// What the application is, and the transport that it uses.
fn app(flow: &mut Reader<'_>, name: &str) -> Checked<(AppSpec, Transport)> {
    let Some(node) = flow.given("app") else {
        return Err(
            fault(flow.at(), format!("[flow.{name}] has no key \"app\""))
                .allowed("it describes what the flow does")
                .hint("for example app = { kind = \"bulk\", size = \"200 MB\" }"),
        );
    };
    let title = format!("[flow.{name}.app]");
    let (mut reader, kind) = Reader::open_kind("flow.<name>.app", title, node)?;
    let r = &mut reader;
    let (app, transport) = match kind {
        "bulk" => (
            AppSpec::Bulk {
                size: r.quantity("size")?,
            },
            Transport::Tcp,
        ),
        "web" => {
            let (size, interval) = (r.quantity("size")?, r.quantity("interval")?);
            (
                AppSpec::Web {
                    size,
                    interval,
                    rate: r.optional("rate")?,
                },
                Transport::Tcp,
            )
        }
        "short" => {
            let (size, interval) = (r.quantity("size")?, r.quantity("interval")?);
            (
                AppSpec::Short {
                    size,
                    interval,
                    count: r.count("count")?,
                },
                Transport::Tcp,
            )
        }
        "ssh" => (
            AppSpec::Ssh {
                size: r.quantity("size")?,
            },
            Transport::Tcp,
        ),
        "video" => (apps::video(r)?, Transport::Tcp),
        "page" => (apps::page(r)?, Transport::Tcp),
        "cbr" => {
            let (rate, packet) = (r.quantity("rate")?, r.quantity("packet")?);
            (
                AppSpec::Cbr {
                    rate,
                    packet,
                    stop: r.optional("stop")?,
                },
                Transport::Udp,
            )
        }
        "voip" => {
            let (packet, interval) = (r.quantity("packet")?, r.quantity("interval")?);
            (AppSpec::Voip { packet, interval }, Transport::Udp)
        }
        "gaming" => {
            let (packet, interval) = (r.quantity("packet")?, r.quantity("interval")?);
            (
                AppSpec::Gaming {
                    packet,
                    interval,
                    deviation: r.quantity("deviation")?,
                },
                Transport::Udp,
            )
        }
        "call" => (call::call(r)?, Transport::Udp),
        _ => (AppSpec::Continuous, Transport::Tcp),
    };
    flow.put("app", ResolvedValue::Table(reader.finish()));
    Ok((app, transport))
}

/// The transport need not be given; if it is, the application must run over it.
fn transport_of(reader: &mut Reader<'_>, of_app: Transport) -> Checked<Transport> {
    let (name, also) = match of_app {
        Transport::Udp => ("udp", None),
        _ => ("tcp", Some("quic")),
    };
    let given = reader.optional_choice("transport")?;
    reader.put(
        "transport",
        ResolvedValue::Text(given.unwrap_or(name).to_owned()),
    );
    match given {
        Some(given) if given == name => Ok(of_app),
        Some(given) if Some(given) == also => Ok(Transport::Quic),
        Some(given) => Err(fault(
            reader.place("transport"),
            format!("this application does not run over {given}"),
        )
        .allowed(format!(
            "it uses {}",
            either([name].into_iter().chain(also))
        ))
        .hint("remove the line, or take another \"app\"")),
        None => Ok(of_app),
    }
}

/// Whether the sender of the data consults the radio about losses.
fn meld(
    reader: &mut Reader<'_>,
    transport: Transport,
    direction: Direction,
) -> Checked<Option<meld::Variant>> {
    let name = reader.choice("meld")?;
    let variant = meld::Variant::from_name(name);
    let problem = match (variant, transport, direction) {
        (None, _, _) | (Some(_), Transport::Tcp | Transport::Quic, Direction::Down) => {
            return Ok(variant);
        }
        (Some(_), Transport::Udp, _) => "a UDP flow has no congestion control to put MELD round",
        (Some(_), _, Direction::Up) => "MELD is for data towards the user",
    };
    Err(fault(reader.place("meld"), problem)
        .allowed("\"off\"")
        .hint("remove the line"))
}

/// What the client measures of its bandwidth.
fn report(
    reader: &mut Reader<'_>,
    transport: Transport,
    direction: Direction,
    cc: &CcSpec,
) -> Checked<Option<Reporter>> {
    let needed = cc::find(&cc.name).and_then(|of| of.reporter);
    let needed = needed.filter(|_| direction == Direction::Down);
    let reporter = match reader.optional_choice("report")? {
        Some(given) => Reporter::from_name(given),
        None => needed,
    };
    let name = reporter.map_or("off", Reporter::name);
    reader.put("report", ResolvedValue::Text(name.to_owned()));
    if reporter.is_none() {
        return Ok(None);
    }
    if direction == Direction::Up && transport != Transport::Udp {
        let problem = "reports are for data towards the user";
        return Err(fault(reader.place("report"), problem)
            .allowed("\"off\"")
            .hint("remove the line"));
    }
    Ok(reporter)
}

/// What the sender's transport does; a UDP flow must not have any of these keys.
fn sender(
    reader: &mut Reader<'_>,
    name: &str,
    transport: Transport,
) -> Checked<(CcSpec, TcpSpec, bool)> {
    if transport == Transport::Udp {
        for key in ["cc", "tcp"] {
            if let Some(node) = reader.given(key) {
                return Err(
                    fault(node.at, format!("a UDP flow has no \"{key}\"")).hint("remove it")
                );
            }
        }
        if reader.optional_flag("intercepted")? == Some(true) {
            return Err(not_intercepted(reader));
        }
        reader.put("intercepted", ResolvedValue::Flag(false));
        let none = Reader::open("flow.<name>.tcp", "[tcp]", None, reader.at());
        let tcp = none.and_then(|mut r| tcp_spec(&mut r))?;
        return Ok((
            CcSpec {
                name: "udp".to_owned(),
            },
            tcp,
            false,
        ));
    }
    let mut cc = reader.text("cc")?;
    if let Some(found) = cc::find(&cc) {
        found.name.clone_into(&mut cc);
        reader.put("cc", ResolvedValue::Text(cc.clone()));
    } else if !is_custom(&cc) {
        return Err(fault(
            reader.place("cc"),
            format!("unknown congestion control \"{cc}\""),
        )
        .allowed(format!("known are {}", either(cc::names().iter().copied())))
        .nearest(&cc, cc::names().iter().copied()));
    }
    let title = format!("[flow.{name}.tcp]");
    let mut tcp = Reader::open("flow.<name>.tcp", title, reader.given("tcp"), reader.at())?;
    let spec = tcp_spec(&mut tcp)?;
    if spec.receive_buffer < spec.mss || spec.send_buffer < spec.mss {
        return Err(fault(tcp.at(), "a TCP buffer is smaller than a segment")
            .allowed(format!("allowed is at least \"mss\" = {}", spec.mss)));
    }
    reader.put("tcp", ResolvedValue::Table(tcp.finish()));
    let is_tcp = transport == Transport::Tcp;
    let intercepted = reader.optional_flag("intercepted")?;
    if intercepted == Some(true) && !is_tcp {
        return Err(not_intercepted(reader));
    }
    let intercepted = intercepted.unwrap_or(is_tcp);
    reader.put("intercepted", ResolvedValue::Flag(intercepted));
    Ok((CcSpec { name: cc }, spec, intercepted))
}

fn not_intercepted(reader: &Reader<'_>) -> Box<Fault> {
    fault(
        reader.place("intercepted"),
        "the proxy takes TCP flows only",
    )
    .hint("remove the line")
}

/// RFC 9331 4.3: only a scalable congestion control may send ECT(1), and Prague always does.
fn ecn(reader: &mut Reader<'_>, transport: Transport, chosen: &CcSpec) -> Checked<EcnSpec> {
    let is_prague = transport != Transport::Udp && chosen.name == "prague";
    let default = if is_prague { "l4s" } else { "off" };
    let name = reader.optional_choice("ecn")?.unwrap_or(default);
    reader.put("ecn", ResolvedValue::Text(name.to_owned()));
    let ecn = match name {
        "classic" => EcnSpec::Classic,
        "l4s" => EcnSpec::L4s,
        _ => EcnSpec::Off,
    };
    if is_prague && ecn != EcnSpec::L4s {
        return Err(fault(
            reader.place("ecn"),
            format!("\"{name}\" with cc = \"prague\", whose packets are ECT(1)"),
        )
        .allowed("with it goes \"l4s\"")
        .hint("remove the line, or set cc = \"dctcp\""));
    }
    let is_scalable = |of: &cc::Controller| of.is_scalable;
    let is_fit = transport == Transport::Udp || cc::find(&chosen.name).is_some_and(is_scalable);
    if ecn == EcnSpec::L4s && !is_fit {
        let problem = format!(
            "\"l4s\" needs a scalable congestion control, which \"{}\" is not: ECT(1) promises a \
             window that falls in proportion to the marks",
            chosen.name
        );
        return Err(fault(reader.place("ecn"), problem)
            .allowed(format!("with it go {}", either(cc::names_of(is_scalable))))
            .hint("set cc = \"prague\", or ecn = \"classic\""));
    }
    Ok(ecn)
}

fn tcp_spec(reader: &mut Reader<'_>) -> Checked<TcpSpec> {
    Ok(TcpSpec {
        mss: reader.quantity("mss")?,
        initial_window: reader.count("initial-window")?,
        receive_buffer: reader.quantity("receive-buffer")?,
        send_buffer: reader.quantity("send-buffer")?,
        delayed_ack: reader.flag("delayed-ack")?,
        validation: window_validation(reader)?,
    })
}
