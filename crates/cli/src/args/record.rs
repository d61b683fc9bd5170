//! Options of `brimful trace record`.

use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use units::{BitRate, Bytes, Duration};

/// Help below the options.
pub(super) const RECORD_HELP: &str = "\
Between this machine and a server, packets above the path's capacity show when it delivers (--out, --uplink-out), and
trains of few packets what it delays at rest (--light-out). Both ends need the same key file. docs/traces.md has more.

Examples:
  brimful trace record --socket /run/brimful/radio.sock --duration \"10 min\" --out drive.csv
  brimful tunnel key --shared record.key                     # once; then copied to the other end
  brimful trace record --server --key-file record.key
  brimful trace record --client server.example:6512 --key-file record.key --rate \"300 Mbit/s\" --out drive.down \\
    --uplink-out drive.up --light-out drive.csv

Exit codes: 0 done, 1 the recording failed or ended early (what had come is written), 2 bad usage or input.";

/// Options of `trace record`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["socket", "server", "client"]))]
pub(crate) struct TraceRecordArgs {
    /// Socket of radio reports
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The UE by its address [default: the first that is reported]
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with = "rnti",
        requires = "socket"
    )]
    pub(crate) ue: Option<IpAddr>,
    /// The UE by its RNTI
    #[arg(long, value_name = "N", requires = "socket")]
    pub(crate) rnti: Option<u16>,
    /// File to write, of the downlink; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) out: Option<PathBuf>,
    /// How long to record, e.g. "60 s" [default: 60 s with --client, else until Ctrl-C or the end of the service]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "server"
    )]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) server_end: ServerEndArgs,
    #[command(flatten)]
    pub(crate) client_end: ClientEndArgs,
}

/// Options of the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Between a UE and a server: the server")]
pub(crate) struct ServerEndArgs {
    /// Serve clients that have the key, until Ctrl-C [default address: 0.0.0.0:6512, UDP]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.0.0.0:6512"
    )]
    pub(crate) server: Option<SocketAddr>,
    /// Highest rate that a client may ask for, of either direction
    #[arg(
        long,
        value_name = "RATE",
        default_value = "1 Gbit/s",
        requires = "server"
    )]
    pub(crate) max_rate: BitRate,
    /// Longest recording
    #[arg(
        long,
        value_name = "TIME",
        default_value = "600 s",
        requires = "server"
    )]
    pub(crate) max_duration: Duration,
    /// Recordings at one time
    #[arg(long, value_name = "N", default_value_t = 2, requires = "server")]
    pub(crate) max_recordings: u8,
}

/// Options of the client.
#[derive(Debug, Args)]
#[command(next_help_heading = "Between a UE and a server: the UE")]
pub(crate) struct ClientEndArgs {
    /// Record the path to a server
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) client: Option<String>,
    /// The key of both ends, which `brimful tunnel key --shared FILE` makes
    #[arg(long, value_name = "FILE", conflicts_with = "socket")]
    pub(crate) key_file: Option<PathBuf>,
    /// File to write, of the uplink; `-` for stdout
    #[arg(long, value_name = "FILE", requires = "client")]
    pub(crate) uplink_out: Option<PathBuf>,
    /// File to write, of the round trips under the light workload, as CSV; `-` for stdout
    #[arg(long, value_name = "FILE", requires = "client")]
    pub(crate) light_out: Option<PathBuf>,
    /// Format of the traces: brimful or mahimahi
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "brimful",
        requires = "client"
    )]
    pub(crate) to: radio::trace::Format,
    /// What the server sends under the heavy workload: more than the path carries
    #[arg(
        long,
        value_name = "RATE",
        default_value = "100 Mbit/s",
        requires = "client"
    )]
    pub(crate) rate: BitRate,
    /// What this end sends
    #[arg(
        long,
        value_name = "RATE",
        default_value = "50 Mbit/s",
        requires = "client"
    )]
    pub(crate) uplink_rate: BitRate,
    /// Of each round, under the light workload
    #[arg(long, value_name = "TIME", default_value = "2 s", requires = "client")]
    pub(crate) light: Duration,
    /// Of each round, under the heavy one
    #[arg(long, value_name = "TIME", default_value = "20 s", requires = "client")]
    pub(crate) heavy: Duration,
    /// Size of a packet, with IP and UDP headers
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1400 B",
        requires = "client"
    )]
    pub(crate) packet: Bytes,
    /// Packets of a train
    #[arg(long, value_name = "N", default_value_t = 5, requires = "client")]
    pub(crate) train: u16,
    /// From train to train
    #[arg(
        long,
        value_name = "TIME",
        default_value = "500 ms",
        requires = "client"
    )]
    pub(crate) interval: Duration,
    /// Print what was recorded as JSON on stdout
    #[arg(long, requires = "client")]
    pub(crate) json: bool,
}
