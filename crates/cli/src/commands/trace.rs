//! `brimful trace`: measure, make, record, import and convert radio traces.

mod figure;
mod import;
mod record;

use crate::args::{
    ConversionArgs, Table, TraceCommand, TraceConvertArgs, TraceGenerateArgs, TraceImportArgs,
    TraceInfoArgs, TraceReadArgs,
};
use crate::failure::Failure;
use crate::output::{complain, print};
use crate::single_file::replace_file;
use anyhow::{Context, anyhow};
use radio::McsTable;
use radio::trace::{
    CellParameters, ConvertError, ConvertOptions, Format, MAX_FILE, Network, NetworkTimes,
    PERCENTILES, Playback, ReadOptions, Summary, Trace, TraceInfo, Values,
};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use units::{BitRate, Duration, Prb};

/// Runs a command on traces.
pub(crate) fn run(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(arguments) => info(arguments),
        TraceCommand::Generate(arguments) => generate(arguments),
        TraceCommand::Convert(arguments) => convert(arguments),
        TraceCommand::Import(arguments) => imported(arguments),
        TraceCommand::Record(arguments) => record::run(arguments),
    }
}

fn info(arguments: &TraceInfoArgs) -> Result<(), Failure> {
    let trace = read(&arguments.file, &arguments.read)?;
    let info = trace.info();
    if let Some(path) = &arguments.svg {
        put(&figure::svg(&trace), path)?;
    }
    if let Some(path) = &arguments.html {
        put(&figure::html(&trace, &info), path)?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    match arguments.json {
        true => print(&format!("{}\n", info_json(&info))),
        false => print(&format!("{info}{}", figure::lines(&trace))),
    }
}

fn generate(arguments: &TraceGenerateArgs) -> Result<(), Failure> {
    let trace = radio::trace::generate(arguments.kind, arguments.duration, arguments.seed)
        .map_err(Failure::input)?;
    let format = arguments.format.unwrap_or(trace.format);
    write(&trace, format, &arguments.conversion, &arguments.out)
}

fn convert(arguments: &TraceConvertArgs) -> Result<(), Failure> {
    let trace = read(&arguments.file, &arguments.read)?;
    write(&trace, arguments.to, &arguments.conversion, &arguments.out)
}

fn imported(arguments: &TraceImportArgs) -> Result<(), Failure> {
    let trace = import::read(&arguments.file, arguments)?;
    for note in &trace.notes {
        complain(&format!("note: {note}"));
    }
    let format = arguments.to.unwrap_or(trace.format);
    write(&trace, format, &arguments.conversion, &arguments.out)
}

/// The bytes of a file, of which no more than the largest allowed are taken into memory.
fn load(path: &Path) -> Result<Vec<u8>, Failure> {
    let load = || {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(MAX_FILE.get() + 1)
            .read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    load()
        .with_context(|| format!("{}: the trace cannot be read", path.display()))
        .map_err(Failure::Input)
}

/// Reads a trace file.
fn read(path: &Path, arguments: &TraceReadArgs) -> Result<Trace, Failure> {
    let name = path.display().to_string();
    let bytes = load(path)?;
    let options = ReadOptions {
        format: arguments.format,
        series: arguments.series.clone(),
    };
    radio::trace::read(&name, &bytes, &options).map_err(Failure::input)
}

/// Writes a trace in a format, whole or not at all.
fn write(
    trace: &Trace,
    format: Format,
    arguments: &ConversionArgs,
    out: &Path,
) -> Result<(), Failure> {
    let converted = radio::trace::convert(trace, format, &options(arguments)?).map_err(refusal)?;
    let text = radio::trace::write(&converted, format).map_err(Failure::input)?;
    put(&text, out)
}

/// Writes a text into a file, or to stdout for `-`.
fn put(text: &str, out: &Path) -> Result<(), Failure> {
    if out == Path::new("-") {
        return print(text);
    }
    replace_file(out, text.as_bytes()).map_err(Failure::Run)
}

/// A conversion that is refused, with the options that would help.
fn refusal(error: ConvertError) -> Failure {
    let message = match error {
        ConvertError::NeedsCell { .. } => {
            format!("{error}, for example --n-prb 50 --mcs-table lte-qam64 --slot \"1 ms\"")
        }
        other => other.to_string(),
    };
    Failure::Input(anyhow!(message))
}

fn options(arguments: &ConversionArgs) -> Result<ConvertOptions, Failure> {
    if !(0.0..1.0).contains(&arguments.bler) {
        let message = format!("--bler {}: expected 0 to below 1", arguments.bler);
        return Err(Failure::Input(anyhow!(message)));
    }
    let (table, slot) = match arguments.mcs_table {
        Table::LteQam64 => (McsTable::LteQam64, Duration::from_millis(1)),
        Table::LteQam256 => (McsTable::LteQam256, Duration::from_millis(1)),
        Table::NrQam64 => (McsTable::NrQam64, Duration::from_micros(500)),
        Table::NrQam256 => (McsTable::NrQam256, Duration::from_micros(500)),
        Table::NrLowSe => (McsTable::NrLowSe, Duration::from_micros(500)),
    };
    let cell = arguments.n_prb.map(|n_prb| CellParameters {
        table,
        n_prb: Prb::new(n_prb),
        slot_duration: arguments.slot.unwrap_or(slot),
        layers: arguments.layers,
        data_re_per_prb: arguments.data_re_per_prb,
    });
    let playback = Playback {
        bler: arguments.bler,
        ..Playback::default()
    };
    Ok(ConvertOptions {
        playback,
        cell,
        window: arguments.window,
    })
}

/// The information as JSON: `duration_s`, `outage_share`, and `cqi`, `mcs` or `rate_bps` with
/// `mean`, `min`, `max` and percentiles (`null` where the trace has no such values).
fn info_json(info: &TraceInfo) -> Value {
    let number = |value: f64| json!(value);
    let bps = |rate: BitRate| json!(rate.as_bps());
    let (mut cqi, mut mcs, mut rate) = (Value::Null, Value::Null, Value::Null);
    match &info.values {
        Some(Values::Cqi(summary)) => cqi = summary_json(summary, number),
        Some(Values::Mcs(summary)) => mcs = summary_json(summary, number),
        Some(Values::Rate(summary)) => rate = summary_json(summary, bps),
        _ => {}
    }
    json!({
        "source": info.source,
        "format": info.format.name(),
        "content": info.kind,
        "duration_s": info.duration.as_secs_f64(),
        "networks": networks_json(&info.networks),
        "samples": info.samples,
        "outage_share": info.outage_share,
        "cqi": cqi,
        "mcs": mcs,
        "rate_bps": rate,
        "notes": info.notes,
    })
}

/// The share of the trace on each network, 0 to 1; `null` if the trace states none.
fn networks_json(networks: &NetworkTimes) -> Value {
    if !networks.is_known() {
        return Value::Null;
    }
    json!({
        "lte": networks.share(Network::Lte),
        "nr": networks.share(Network::Nr),
        "older": networks.share(Network::Older),
        "unknown": networks.share(Network::Unknown),
    })
}

fn summary_json<T: Copy>(summary: &Summary<T>, show: impl Fn(T) -> Value) -> Value {
    let mut map = Map::new();
    map.insert("mean".to_owned(), show(summary.mean));
    map.insert("min".to_owned(), show(summary.min));
    for (percentile, value) in PERCENTILES.iter().zip(summary.percentiles) {
        map.insert(format!("p{percentile}"), show(value));
    }
    map.insert("max".to_owned(), show(summary.max));
    Value::Object(map)
}
