//! `brimful tunnel`: both ends of the multipath tunnel, tunnels by their names, and questions to one that runs.
//!
//! ```text
//!   brimful tunnel ... --+
//!                        +--> TunnelCommand -> run -> tunnel (the daemon), or its admin socket
//!   brimful-tunnel ... --+    (for routers: these commands alone)
//! ```
//!
//! What this crate is *not*: it moves no packet and sets nothing up, `tunnel` does.

pub mod help;
mod named;
mod options;
mod output;
mod query;
mod status;

pub use named::UpArgs;
pub use options::{ClientArgs, KeyArgs, ServerArgs};
pub use output::CommandError;
pub use query::{NamedArgs, PathCommand, SocketArgs};

use clap::Subcommand;
use std::fmt::Debug;

/// Help below the options of `client`.
const CLIENT_HELP: &str = "\
Runs in the foreground and logs to stderr, as root or with CAP_NET_ADMIN. SIGHUP applies a changed
file; SIGTERM ends it. The configuration's keys are in docs/operations/tunnel.md.

Examples:
  brimful tunnel client --config /etc/brimful/tunnel-client.toml --check
  brimful tunnel key client.key
  brimful tunnel client --remote 192.0.2.1:6511 --private-key-file client.key --server-key KEY \\
      --address 10.99.0.2/24 --path wlan0 --path wwan0,priority=secondary

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed run.";

/// Help below the options of `server`.
const SERVER_HELP: &str = "\
Runs in the foreground and logs to stderr, as root or with CAP_NET_ADMIN. SIGHUP applies a changed
file; SIGTERM ends it. The configuration's keys are in docs/operations/tunnel.md.

Examples:
  brimful tunnel server --config /etc/brimful/tunnel-server.toml --check
  brimful tunnel key server.key
  brimful tunnel server --listen 0.0.0.0:6511 --private-key-file server.key --client-key KEY \\
      --address 10.99.0.1/24 --client-addresses 10.99.0.2/32

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed run.";

/// Help below the options of `key`.
const KEY_HELP: &str = "\
Examples:
  brimful tunnel key /etc/brimful/tunnel.key      # writes a private key, prints the public one
  brimful tunnel key --public /etc/brimful/tunnel.key
  brimful tunnel key                              # prints both, writes nothing
  brimful tunnel key --shared shared.key          # a secret for both ends, for key-file";

/// Help below the options of `up`.
const UP_HELP: &str = "\
NAME is the file /etc/brimful/tunnel-NAME.toml, or a path. The daemon goes to the background once the device, its
addresses, routes, rules and names are set up; `brimful tunnel down NAME` ends it and undoes them.

Examples:
  brimful tunnel up client --dry-run
  brimful tunnel up client && brimful tunnel status client
  brimful tunnel reload client
  brimful tunnel down client

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed.";

/// Commands of the tunnel.
#[derive(Debug, Subcommand)]
pub enum TunnelCommand {
    /// Open paths to a server, and carry what comes to a TUN device over all of them
    #[command(after_help = help::epilogue(CLIENT_HELP))]
    Client(Box<ClientArgs>),
    /// Serve clients
    #[command(after_help = help::epilogue(SERVER_HELP))]
    Server(Box<ServerArgs>),
    /// Make a private key, and print the public key for the other end
    #[command(after_help = KEY_HELP)]
    Key(KeyArgs),
    /// Set a configured tunnel up, of either end, and run it in the background
    #[command(after_help = help::epilogue(UP_HELP))]
    Up(UpArgs),
    /// End a tunnel, and undo what was set up
    Down {
        /// As with `brimful tunnel up`
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Have a running tunnel apply its changed configuration: clients, keys, addresses, paths
    Reload(NamedArgs),
    /// Say how a running tunnel and its paths stand
    Status(NamedArgs),
    /// Change the paths of a running client
    #[command(subcommand)]
    Path(PathCommand),
}

/// Runs a command. `program` is what stands before it on a command line beside the program itself.
///
/// # Errors
/// What was wrong, and what to do.
pub fn run(command: &TunnelCommand, program: &[&str]) -> Result<(), CommandError> {
    match command {
        TunnelCommand::Client(arguments) => options::run_client(arguments),
        TunnelCommand::Server(arguments) => options::run_server(arguments),
        TunnelCommand::Key(arguments) => options::key(arguments),
        TunnelCommand::Up(arguments) => named::up(arguments, program),
        TunnelCommand::Down { name } => named::down(name),
        TunnelCommand::Reload(ask) => query::reload(ask),
        TunnelCommand::Status(ask) => query::status(ask),
        TunnelCommand::Path(command) => query::path(command),
    }
}
