//! Queue management in the cell.

use crate::document::{Node, Value};
use crate::error::{Checked, fault};
use crate::experiment::{ChannelSpec, is_custom};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use queue::{
    BackpressureConfig, Capacity, ClassConfig, ClassScheduler, ClassesConfig, CoDelConfig,
    CustomConfig, DisciplineConfig, DrqlConfig, DualPi2Config, DynRlcConfig, FiveGBdpConfig,
    FqCoDelConfig, LateBindingConfig, PacedConfig, QueueConfig, Ratio, RedConfig, SfqConfig, Unit,
    UspConfig,
};
use radio::trace::Content;
use ran::{CellConfig, QueuesConfig};
use units::{Bytes, Duration};

/// Highest QoS flow identifier (TS 38.415 5.5.3.3).
const HIGHEST_QFI: i64 = 63;

/// What all layers share.
struct Common {
    unit: Unit,
    mtu: Bytes,
    classes: Vec<Vec<u8>>,
    scheduler: ClassScheduler,
    /// One more than there are classes: the last is that of all others.
    weights: Vec<u32>,
    preparation: Duration,
    memory: Duration,
    allowance: Duration,
    /// Marks instead of drops, where packets allow it.
    ecn: bool,
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
    let queues = QueuesConfig {
        upf: QueueConfig {
            discipline: discipline(&mut upf, names.upf, &common)?,
            capacity: upf.capacity("capacity")?,
            backpressure: BackpressureConfig::None,
        },
        sdap: if is_late {
            None
        } else {
            Some(sdap_queue(&mut sdap, names.sdap, &common)?)
        },
        rlc: QueueConfig {
            discipline: if is_late {
                DisciplineConfig::LateBinding(late_binding(&mut rlc, &common)?)
            } else {
                discipline(&mut rlc, names.rlc, &common)?
            },
            // of late binding, which takes SDAP's place; the RLC's own is the bearer's
            capacity: sdap.capacity("capacity")?,
            backpressure: rlc_backpressure(&mut rlc, names.rlc, &common)?,
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
        ChannelSpec::Trace { trace, .. } => {
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
        unit,
        mtu,
        weights: weights(reader, classes.len() + 1)?,
        classes,
        scheduler,
        preparation: reader.quantity_or("preparation", slot / 2)?,
        memory: reader.quantity("memory")?,
        allowance: reader.quantity("allowance")?,
        ecn: reader.flag("ecn")?,
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
        let contains = matches!(below, "dynrlc" | "drql" | "5g-bdp" | "default");
        if !contains && middle != "drop-tail" {
            return Err(fault(
                place(sdap),
                format!("sdap = \"{middle}\" above rlc = \"{below}\""),
            )
            .allowed(format!(
                "\"{below}\" exerts no backpressure: every packet passes on to the RLC at once, \
                     and nothing ever waits in SDAP (4.2 of the paper)"
            ))
            .hint("take rlc = \"dynrlc\", \"drql\" or \"5g-bdp\", or sdap = \"drop-tail\""));
        }
        let is_contained = matches!(middle, "usp" | "default");
        if !is_contained && is_aqm(above) {
            return Err(fault(
                place(upf),
                format!("upf = \"{above}\" above sdap = \"{middle}\""),
            )
            .allowed(format!(
                "\"{middle}\" exerts no backpressure: every packet passes on to SDAP at once, and \
                 nothing ever waits in the UPF"
            ))
            .hint("take sdap = \"usp\", or upf = \"sfq\" or \"drop-tail\""));
        }
        Ok(())
    }
}

/// Whether an algorithm acts on packets that wait in its queue.
fn is_aqm(name: &str) -> bool {
    matches!(name, "codel" | "fq-codel" | "red" | "dualpi2" | "default") || is_custom(name)
}

fn sdap_queue(reader: &mut Reader<'_>, name: &str, common: &Common) -> Checked<QueueConfig> {
    let capacity = reader.capacity("capacity")?;
    let each = discipline(reader, name, common)?;
    let others = core::iter::once(Vec::new());
    let classes = common.classes.iter().cloned().chain(others);
    let classes: Vec<ClassConfig> = classes
        .zip(&common.weights)
        .map(|(qfis, &weight)| ClassConfig {
            qfis,
            weight,
            discipline: Box::new(each.clone()),
            capacity,
        })
        .collect();
    Ok(QueueConfig {
        discipline: if common.classes.is_empty() {
            each
        } else {
            DisciplineConfig::Classes(ClassesConfig {
                scheduler: common.scheduler,
                classes,
            })
        },
        capacity: if common.classes.is_empty() {
            capacity
        } else {
            Capacity::Unlimited
        },
        backpressure: if name == "usp" {
            let max = reader.quantity("usp-maximum")?;
            BackpressureConfig::Usp(UspConfig {
                unit: common.unit,
                interval: None,
                min: common.mtu,
                max,
            })
        } else {
            BackpressureConfig::None
        },
    })
}

fn discipline(reader: &mut Reader<'_>, name: &str, common: &Common) -> Checked<DisciplineConfig> {
    Ok(match name {
        "codel" => DisciplineConfig::CoDel(codel(reader, common)?),
        "fq-codel" => DisciplineConfig::FqCoDel(FqCoDelConfig {
            codel: codel(reader, common)?,
            queues: reader.count("fq-flows")?,
            quantum: reader.quantity("quantum")?,
        }),
        "sfq" => DisciplineConfig::Sfq(SfqConfig {
            queues: reader.count("fq-flows")?,
            ..SfqConfig::default()
        }),
        "red" => DisciplineConfig::Red(RedConfig {
            unit: common.unit,
            min_threshold: reader.quantity("red-minimum")?,
            max_threshold: reader.quantity("red-maximum")?,
            max_probability: Ratio::from_f64(reader.number("red-probability")?),
            weight: Ratio::from_f64(reader.number("red-weight")?),
            ecn: common.ecn,
            ..RedConfig::default()
        }),
        "dualpi2" => DisciplineConfig::DualPi2(DualPi2Config {
            target: reader.quantity("dualpi2-target")?,
            ramp_from: reader.quantity("dualpi2-threshold")?,
            ramp_range: reader.quantity("dualpi2-range")?,
            ..DualPi2Config::default()
        }),
        "default" => DisciplineConfig::Paced(PacedConfig {
            classes: common.classes.clone(),
            quantum: reader.quantity("quantum")?,
            memory: common.memory,
            allowance: common.allowance,
            ecn: common.ecn,
        }),
        custom if is_custom(custom) => DisciplineConfig::Custom(CustomConfig::new(custom)),
        _ => DisciplineConfig::DropTail,
    })
}

fn codel(reader: &mut Reader<'_>, common: &Common) -> Checked<CoDelConfig> {
    Ok(CoDelConfig {
        target: reader.quantity("codel-target")?,
        interval: reader.quantity("codel-interval")?,
        mtu: common.mtu,
        ecn: common.ecn,
    })
}

fn late_binding(reader: &mut Reader<'_>, common: &Common) -> Checked<LateBindingConfig> {
    Ok(LateBindingConfig {
        preparation: common.preparation,
        classes: common.classes.clone(),
        quantum: reader.quantity("quantum")?,
        memory: common.memory,
    })
}

fn rlc_backpressure(
    reader: &mut Reader<'_>,
    name: &str,
    common: &Common,
) -> Checked<BackpressureConfig> {
    let (unit, mtu) = (common.unit, common.mtu);
    Ok(match name {
        "dynrlc" => BackpressureConfig::DynRlc(DynRlcConfig {
            unit,
            interval: reader.quantity("dynrlc-interval")?,
            target: reader.quantity("dynrlc-target")?,
            step: Ratio::from_f64(reader.number("dynrlc-step")?),
            min: reader.quantity("dynrlc-minimum")?,
            max: reader.quantity("dynrlc-maximum")?,
            ..DynRlcConfig::default()
        }),
        "drql" => {
            let max = reader.quantity("drql-maximum")?;
            BackpressureConfig::Drql(DrqlConfig {
                unit,
                interval: reader.quantity("drql-interval")?,
                growth: Ratio::from_f64(reader.number("drql-growth")?),
                min: mtu,
                max,
                initial: max,
            })
        }
        "5g-bdp" => BackpressureConfig::FiveGBdp(FiveGBdpConfig {
            unit,
            offset: Ratio::from_f64(reader.number("bdp-offset")?),
            at_least_one: reader.flag("bdp-at-least-one")?,
        }),
        _ => BackpressureConfig::None,
    })
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
                Value::Integer(qfi @ 0..=HIGHEST_QFI) => qfi as u8,
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
