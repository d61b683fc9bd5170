//! Queue management in the cell.

use crate::document::{Node, Value};
use crate::error::{Checked, either, fault};
use crate::experiment::{ChannelSpec, TraceSpec, is_custom};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use queue::registry::{self, Made, Place, Quantity, Shared, Values};
use queue::{
    BackpressureConfig, Capacity, ClassConfig, ClassScheduler, ClassesConfig, CustomConfig,
    DisciplineConfig, QueueConfig, Unit,
};
use radio::trace::Content;
use ran::{CellConfig, QueuesConfig};
use units::Duration;

/// Highest QoS flow identifier (TS 38.415 5.5.3.3).
const MAX_QFI: i64 = 63;

/// What all layers share.
struct Common {
    shared: Shared,
    scheduler: ClassScheduler,
    /// One more than there are classes: the last is that of all others.
    weights: Vec<u32>,
}

/// Reads `[cell.queues]`.
pub(super) fn read(
    cell: &mut Reader<'_>,
    config: &CellConfig,
) -> Checked<Option<Box<QueuesConfig>>> {
    let Some(node) = cell.given("queues") else {
        return Ok(None);
    };
    let mut reader = Reader::open("cell.queues", "[cell.queues]", Some(node), node.at)?;
    let slot = config.rat.slot_duration();
    let tti = reader.quantity_or("tti", slot)?;
    let forward_period = reader.quantity_or("forward-period", tti / 10)?;
    let forward_packets = reader.count("forward-packets")?;
    let common = common(&mut reader, slot)?;

    let mut rlc = table(&reader, "rlc", "cell.queues.rlc", "[cell.queues.rlc]")?;
    let mut sdap = table(&reader, "sdap", "cell.queues.sdap", "[cell.queues.sdap]")?;
    let mut upf = table(&reader, "upf", "cell.queues.upf", "[cell.queues.upf]")?;
    let names = Algorithms::choose(&mut rlc, &mut sdap, &mut upf)?;
    names.check(&sdap, &upf)?;
    let is_late = names.rlc == "default";
    let shared = &common.shared;
    let (upf_discipline, upf_backpressure) = parts(&mut upf, Place::Upf, names.upf, shared)?;
    let upf_capacity = upf.capacity("capacity")?;
    let sdap_queue = if is_late {
        None
    } else {
        Some(sdap_queue(&mut sdap, names.sdap, &common)?)
    };
    let (rlc_discipline, rlc_backpressure) = parts(&mut rlc, Place::Rlc, names.rlc, shared)?;
    let queues = QueuesConfig {
        upf: QueueConfig {
            discipline: upf_discipline,
            capacity: upf_capacity,
            backpressure: upf_backpressure,
        },
        sdap: sdap_queue,
        rlc: QueueConfig {
            discipline: rlc_discipline,
            // of late binding, which takes SDAP's place; the RLC's own is the bearer's
            capacity: sdap.capacity("capacity")?,
            backpressure: rlc_backpressure,
        },
        forward_period: if is_late {
            Duration::ZERO
        } else {
            forward_period
        },
        forward_packets: if is_late { u32::MAX } else { forward_packets },
        tti,
    };
    for (layer, queue, place) in [
        ("upf", Some(&queues.upf), upf.at()),
        ("sdap", queues.sdap.as_ref(), sdap.at()),
        ("rlc", Some(&queues.rlc), rlc.at()),
    ] {
        if let Some(Err(error)) = queue.map(QueueConfig::check) {
            return Err(fault(place, format!("[cell.queues.{layer}]: {error}")));
        }
    }
    for (layer, read) in [("upf", upf), ("sdap", sdap), ("rlc", rlc)] {
        reader.put(layer, ResolvedValue::Table(read.finish()));
    }
    cell.put("queues", ResolvedValue::Table(reader.finish()));
    Ok(Some(Box::new(queues)))
}

/// That the channels report what the algorithms need.
pub(super) fn check_channel(cell: &CellConfig, channel: &ChannelSpec, node: &Node) -> Checked<()> {
    let needs_cqi = cell
        .queues
        .as_ref()
        .is_some_and(|queues| matches!(queues.rlc.backpressure, BackpressureConfig::FiveGBdp(_)));
    let has_none = match channel {
        ChannelSpec::Trace(TraceSpec { trace, .. }) => {
            matches!(trace.content, Content::Opportunities(_) | Content::Rate(_))
        }
        _ => false,
    };
    if !needs_cqi || !has_none {
        return Ok(());
    }
    Err(fault(
        node.at,
        "5G-BDP works out the capacity from CQIs, and this trace has none",
    )
    .hint("take a trace with CQIs, MCSs or packets per tick, or another rlc.algorithm"))
}

fn table<'a>(
    queues: &Reader<'a>,
    key: &str,
    path: &'static str,
    title: &str,
) -> Checked<Reader<'a>> {
    Reader::open(path, title, queues.given(key), queues.at())
}

fn common(reader: &mut Reader<'_>, slot: Duration) -> Checked<Common> {
    let mtu = reader.quantity("mtu")?;
    let unit = match reader.choice("unit")? {
        "packets" => Unit::Packets { mtu },
        _ => Unit::Bytes,
    };
    let classes = classes(reader)?;
    let scheduler = match reader.choice("scheduler")? {
        "weighted" => ClassScheduler::Weighted,
        _ => ClassScheduler::StrictPriority,
    };
    Ok(Common {
        weights: weights(reader, classes.len() + 1)?,
        scheduler,
        shared: Shared {
            unit,
            mtu,
            classes,
            preparation: reader.quantity_or("preparation", slot / 2)?,
            memory: reader.quantity("memory")?,
            allowance: reader.quantity("allowance")?,
            ecn: reader.flag("ecn")?,
        },
    })
}

/// The algorithms of the three layers.
struct Algorithms<'a> {
    rlc: &'a str,
    sdap: &'a str,
    upf: &'a str,
}

impl<'a> Algorithms<'a> {
    fn choose(rlc: &mut Reader<'a>, sdap: &mut Reader<'a>, upf: &mut Reader<'a>) -> Checked<Self> {
        let below = rlc.choice_or_custom("algorithm")?;
        let is_late = below == "default";
        let chosen = |reader: &mut Reader<'a>, otherwise| {
            let name = match reader.choice_or_custom("algorithm")? {
                "auto" if is_late => "default",
                "auto" => otherwise,
                name => name,
            };
            reader.put("algorithm", ResolvedValue::Text(name.to_owned()));
            Ok::<_, Box<crate::error::Fault>>(name)
        };
        Ok(Self {
            rlc: below,
            sdap: chosen(sdap, "drop-tail")?,
            upf: chosen(upf, "sfq")?,
        })
    }

    /// That each layer's algorithm can do something above the one below it.
    fn check(&self, sdap: &Reader<'_>, upf: &Reader<'_>) -> Checked<()> {
        let Self {
            rlc: below,
            sdap: middle,
            upf: above,
        } = *self;
        let place = |reader: &Reader<'_>| reader.place("algorithm");
        let is_late = below == "default";
        if is_late && middle != "default" {
            return Err(fault(
                place(sdap),
                format!("sdap = \"{middle}\" under rlc = \"default\""),
            )
            .allowed("with late binding the RLC pulls from SDAP's own queues")
            .hint("leave sdap to \"auto\""));
        }
        if !is_late && (middle == "default" || above == "default") {
            let reader = if middle == "default" { sdap } else { upf };
            return Err(fault(
                place(reader),
                format!("\"default\" above rlc = \"{below}\""),
            )
            .allowed("it works on what late binding leaves waiting above the RLC")
            .hint("take rlc = \"default\" as well"));
        }
        if !is_backpressure(below) && middle != "drop-tail" {
            return Err(fault(
                place(sdap),
                format!("sdap = \"{middle}\" above rlc = \"{below}\""),
            )
            .allowed(format!(
                "\"{below}\" exerts no backpressure: every packet passes on to the RLC at once, \
                     and nothing ever waits in SDAP (4.2 of the paper)"
            ))
            .hint(format!(
                "take rlc = {}, or sdap = \"drop-tail\"",
                either(limiters(Place::Rlc))
            )));
        }
        if !is_backpressure(middle) && is_aqm(above) {
            return Err(fault(
                place(upf),
                format!("upf = \"{above}\" above sdap = \"{middle}\""),
            )
            .allowed(format!(
                "\"{middle}\" exerts no backpressure: every packet passes on to SDAP at once, and \
                 nothing ever waits in the UPF"
            ))
            .hint(format!(
                "take sdap = {}, or upf = \"sfq\" or \"drop-tail\"",
                either(limiters(Place::Sdap))
            )));
        }
        Ok(())
    }
}

/// Whether an algorithm acts on packets that wait in its queue.
fn is_aqm(name: &str) -> bool {
    registry::find(name).is_some_and(|of| of.is_aqm) || is_custom(name)
}

/// Whether an algorithm holds the layer above back.
fn is_backpressure(name: &str) -> bool {
    registry::find(name).is_some_and(|of| of.is_backpressure)
}

/// What holds the layer above back in a place, but late binding, which takes all places.
fn limiters(place: Place) -> impl Iterator<Item = &'static str> {
    let all = registry::of(place).filter(|of| of.is_backpressure && of.name != "default");
    all.map(|of| of.name)
}

fn sdap_queue(reader: &mut Reader<'_>, name: &str, common: &Common) -> Checked<QueueConfig> {
    let capacity = reader.capacity("capacity")?;
    let (each, backpressure) = parts(reader, Place::Sdap, name, &common.shared)?;
    let others = core::iter::once(Vec::new());
    let classes = common.shared.classes.iter().cloned().chain(others);
    let classes: Vec<ClassConfig> = classes
        .zip(&common.weights)
        .map(|(qfis, &weight)| ClassConfig {
            qfis,
            weight,
            discipline: Box::new(each.clone()),
            capacity,
        })
        .collect();
    let has_classes = !common.shared.classes.is_empty();
    Ok(QueueConfig {
        discipline: if has_classes {
            DisciplineConfig::Classes(ClassesConfig {
                scheduler: common.scheduler,
                classes,
            })
        } else {
            each
        },
        capacity: if has_classes {
            Capacity::Unlimited
        } else {
            capacity
        },
        backpressure,
    })
}

/// What an algorithm is in a place, with the values that the table gives.
fn parts(
    reader: &mut Reader<'_>,
    place: Place,
    name: &str,
    shared: &Shared,
) -> Checked<(DisciplineConfig, BackpressureConfig)> {
    if is_custom(name) {
        let custom = DisciplineConfig::Custom(CustomConfig::new(name));
        return Ok((custom, BackpressureConfig::None));
    }
    let algorithm = registry::find(name).expect("the keys allow these names alone");
    let mut values = Values::new(place, shared);
    for parameter in algorithm.parameters {
        let name = parameter.name;
        let value = match parameter.quantity {
            Quantity::Duration => registry::Value::Duration(reader.quantity(name)?),
            Quantity::Bytes => registry::Value::Bytes(reader.quantity(name)?),
            Quantity::Number => registry::Value::Number(reader.number(name)?),
            Quantity::Count => registry::Value::Count(reader.count(name)?),
            Quantity::Flag => registry::Value::Flag(reader.flag(name)?),
        };
        values.set(parameter, value);
    }
    Ok(match algorithm.make(&values) {
        Made::Discipline(discipline) => (discipline, BackpressureConfig::None),
        Made::Backpressure(backpressure) => (DisciplineConfig::DropTail, backpressure),
    })
}

/// The key `queue` of a wire, and what its algorithm has.
pub(super) fn of_wire(reader: &mut Reader<'_>) -> Checked<DisciplineConfig> {
    let name = reader.choice_or_custom("queue")?;
    let shared = Shared {
        ecn: reader.flag("ecn")?,
        ..Shared::default()
    };
    let (discipline, _) = parts(reader, Place::Link, name, &shared)?;
    match discipline.check() {
        Ok(()) => Ok(discipline),
        Err(error) => Err(fault(
            reader.place("queue"),
            format!("queue = \"{name}\": {error}"),
        )),
    }
}

/// The classes; no QoS flow belongs to two.
fn classes(reader: &mut Reader<'_>) -> Checked<Vec<Vec<u8>>> {
    let Some(node) = reader.given("classes") else {
        return Ok(Vec::new());
    };
    let expected = "expected lists of numbers from 0 to 63, for example [[1], [5, 6]]";
    let not_so = |node: &Node| fault(node.at, format!("\"classes\" has {}", node.text()));
    let Value::Array(items) = &node.value else {
        return Err(not_so(node).allowed(expected));
    };
    let (mut classes, mut taken) = (Vec::new(), Vec::new());
    for item in items {
        let Value::Array(members) = &item.value else {
            return Err(not_so(item).allowed(expected));
        };
        let mut class = Vec::new();
        for member in members {
            let qfi = match member.value {
                Value::Integer(qfi @ 0..=MAX_QFI) => qfi as u8,
                _ => return Err(not_so(member).allowed(expected)),
            };
            if taken.contains(&qfi) {
                return Err(
                    fault(member.at, format!("QoS flow {qfi} is in two classes"))
                        .hint("put each into one"),
                );
            }
            taken.push(qfi);
            class.push(qfi);
        }
        classes.push(class);
    }
    let count = |&qfi: &u8| ResolvedValue::Count(u64::from(qfi));
    let list = |class: &Vec<u8>| ResolvedValue::List(class.iter().map(count).collect());
    let resolved = classes.iter().map(list).collect();
    reader.put("classes", ResolvedValue::List(resolved));
    Ok(classes)
}

fn weights(reader: &mut Reader<'_>, expected: usize) -> Checked<Vec<u32>> {
    let Some(node) = reader.given("weights") else {
        return Ok(vec![1; expected]);
    };
    let problem = |node: &Node| {
        fault(node.at, format!("\"weights\" has {}", node.text())).allowed(format!(
            "expected {expected} whole numbers from 1: one for each class, and one for all others"
        ))
    };
    let Value::Array(items) = &node.value else {
        return Err(problem(node));
    };
    let mut weights = Vec::new();
    for item in items {
        match item.value {
            Value::Integer(weight @ 1..=1_000_000) => weights.push(weight as u32),
            _ => return Err(problem(item)),
        }
    }
    if weights.len() != expected {
        return Err(problem(node));
    }
    let list = weights.iter().map(|&w| ResolvedValue::Count(u64::from(w)));
    reader.put("weights", ResolvedValue::List(list.collect()));
    Ok(weights)
}
