//! Options of `brimful trace`.

use super::record::{RECORD_HELP, TraceRecordArgs};
use super::seed;
use crate::help::epilogue;
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
    /// Make a trace of a table with any columns
    #[command(after_help = epilogue(IMPORT_HELP))]
    Import(TraceImportArgs),
    /// Record a trace: from radio reports, or between this machine and a server
    #[command(after_help = epilogue(RECORD_HELP))]
    Record(TraceRecordArgs),
}

/// Help below the options of `trace import`.
const IMPORT_HELP: &str = "\
Columns are named as the table's first line has them, whatever their case; nothing of them is guessed. Rows without a
value are passed over, and what the row before states holds on. --as reads what is documented by its makers:
iperf3 (its intervals), fused-trace-a and -b (SIGMETRICS 2026, two operators). docs/traces.md has more.

Examples:
  brimful trace import starlink.csv --time-column ts --time-unit date --rate-column dl --rate-unit Mbit/s --out dish.csv
  brimful trace import downlink.out --as iperf3 --out drive.csv
  brimful trace import modem.tsv --separator tab --time-column unix_ms --time-unit ms --cqi-column cqi --rsrp-column rsrp \\
    --only operator=A --out drive.csv

Exit codes: 0 done, 2 bad usage or input (nothing written), 1 cannot be written.";

/// Options of `trace import`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("value").required(true).args(["rate_column", "cqi_column", "layout"]))]
pub(crate) struct TraceImportArgs {
    /// Table with a line of names above its rows
    #[arg(value_name = "IN")]
    pub(crate) file: PathBuf,
    /// What made it, in place of columns: iperf3, fused-trace-a, fused-trace-b
    #[arg(
        long = "as",
        value_name = "NAME",
        conflicts_with_all = ["time_column", "separator"]
    )]
    pub(crate) layout: Option<radio::trace::Layout>,
    /// Column of times [default: each row is a second]
    #[arg(long, value_name = "NAME")]
    pub(crate) time_column: Option<String>,
    /// What it holds: s, ms, us or ns since any moment, or date (ISO 8601)
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "s",
        requires = "time_column"
    )]
    pub(crate) time_unit: radio::trace::TimeUnit,
    /// Column of a rate
    #[arg(long, value_name = "NAME", requires = "rate_unit")]
    pub(crate) rate_column: Option<String>,
    /// Its unit: bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s or GB/s
    #[arg(long, value_name = "UNIT", requires = "rate_column")]
    pub(crate) rate_unit: Option<radio::trace::RateUnit>,
    /// Column of a CQI, 0 to 15
    #[arg(long, value_name = "NAME")]
    pub(crate) cqi_column: Option<String>,
    /// Column of the signal-to-noise ratio in dB, beside a CQI
    #[arg(long, value_name = "NAME", requires = "cqi_column")]
    pub(crate) snr_column: Option<String>,
    /// Column of the reference signal received power in dBm, beside a CQI
    #[arg(long, value_name = "NAME", requires = "cqi_column")]
    pub(crate) rsrp_column: Option<String>,
    /// Take rows alone whose column has this value; may be given several times
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub(crate) only: Vec<String>,
    /// What divides fields [default: comma]
    #[arg(long, value_enum)]
    pub(crate) separator: Option<Divider>,
    /// File to write; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Format to write [default: brimful]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<radio::trace::Format>,
    #[command(flatten)]
    pub(crate) conversion: ConversionArgs,
}

/// What divides fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Divider {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab
    Tab,
}

impl From<Divider> for radio::trace::Separator {
    fn from(divider: Divider) -> Self {
        match divider {
            Divider::Comma => Self::Comma,
            Divider::Semicolon => Self::Semicolon,
            Divider::Tab => Self::Tab,
        }
    }
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
    /// Write a figure over time as SVG as well; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a page with the table and the figure as HTML as well; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
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
