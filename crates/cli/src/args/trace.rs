//! Options of `brimful trace`.

use super::seed;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Commands on radio traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Say what a trace file holds
    Info(TraceInfoArgs),
    /// Make a trace from a model and a seed
    Generate(TraceGenerateArgs),
    /// Write a trace in another format
    Convert(TraceConvertArgs),
}

/// Options of `trace info`.
#[derive(Debug, Args)]
pub(crate) struct TraceInfoArgs {
    /// Trace file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
    /// Print JSON on stdout instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a trace file is read.
#[derive(Debug, Args)]
pub(crate) struct TraceReadArgs {
    /// Its format [default: found out from its content]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<radio::trace::Format>,
    /// Which series of a file that holds several, e.g. `Verizon_throughput_mbps` or `rnti=25250`
    #[arg(long)]
    pub(crate) series: Option<String>,
}

/// Options of `trace generate`.
#[derive(Debug, Args)]
pub(crate) struct TraceGenerateArgs {
    /// Model: drive-lte, drive-nr, static, pedestrian, train, mmwave, bursty, street-west, street-east
    #[arg(long)]
    pub(crate) kind: radio::trace::Kind,
    /// Length, e.g. "60 s"
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) duration: units::Duration,
    /// Seed
    #[arg(long, default_value_t = 1, value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: u64,
    /// File to write; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Its format [default: that of the kind]
    #[arg(long)]
    pub(crate) format: Option<radio::trace::Format>,
    #[command(flatten)]
    pub(crate) conversion: ConversionArgs,
}

/// Options of `trace convert`.
#[derive(Debug, Args)]
pub(crate) struct TraceConvertArgs {
    /// Trace file
    #[arg(value_name = "IN")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) read: TraceReadArgs,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: radio::trace::Format,
    /// File to write; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) conversion: ConversionArgs,
}

/// What a conversion needs beside the trace.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conversion")]
pub(crate) struct ConversionArgs {
    /// PRBs of the cell in which a CQI becomes a rate
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) n_prb: Option<u16>,
    /// MCS table of that cell
    #[arg(long, value_enum, default_value_t = Table::LteQam64, requires = "n_prb")]
    pub(crate) mcs_table: Table,
    /// Its slots [default: 1 ms for LTE, 500 us for NR]
    #[arg(
        long,
        value_name = "TIME",
        requires = "n_prb",
        allow_hyphen_values = true
    )]
    pub(crate) slot: Option<units::Duration>,
    /// Its spatial layers
    #[arg(long, value_name = "N", default_value_t = 1, requires = "n_prb")]
    pub(crate) layers: u8,
    /// Its resource elements for data, per PRB and slot (NR)
    #[arg(long, value_name = "N", default_value_t = 144, requires = "n_prb")]
    pub(crate) data_re_per_prb: u16,
    /// Share of transport blocks that fail at first, where a CQI becomes a rate
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.1,
        allow_hyphen_values = true
    )]
    pub(crate) bler: f64,
    /// Step of a rate
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1 s",
        allow_hyphen_values = true
    )]
    pub(crate) window: units::Duration,
}

/// MCS tables by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// TS 36.213 Table 7.1.7.1-1
    LteQam64,
    /// TS 36.213 Table 7.1.7.1-1A
    LteQam256,
    /// TS 38.214 Table 5.1.3.1-1
    NrQam64,
    /// TS 38.214 Table 5.1.3.1-2
    NrQam256,
    /// TS 38.214 Table 5.1.3.1-3
    NrLowSe,
}
