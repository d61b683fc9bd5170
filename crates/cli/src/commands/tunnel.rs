//! `brimful tunnel`: both ends of the multipath tunnel, and questions to one that runs.

use crate::failure::Failure;
use crate::output::print;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tunnel::{
    ClientConfig, ClientEnd, Config, Encryption, End, InterfaceAddress, Network, PathConfig,
    PublicKeyText, Role, ServerConfig, Start, StaticKey, Supervision, TunnelError,
};
use units::Duration;

/// Help below the options of `client`.
const CLIENT_HELP: &str = "\
Runs in the foreground and logs to stderr, as root or with CAP_NET_ADMIN. SIGHUP takes changed paths;
SIGTERM ends it. The configuration's keys are in docs/operations/tunnel.md.

Examples:
  brimful tunnel client --config /etc/brimful/tunnel-client.toml --check
  brimful tunnel key client.key
  brimful tunnel client --remote 192.0.2.1:6511 --private-key-file client.key --server-key KEY \\
      --address 10.99.0.2/24 --path wlan0 --path wwan0,priority=secondary

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed run.";

/// Help below the options of `server`.
const SERVER_HELP: &str = "\
Runs in the foreground and logs to stderr, as root or with CAP_NET_ADMIN; SIGTERM ends it. The
configuration's keys are in docs/operations/tunnel.md.

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

/// Options of `tunnel key`.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The file; it must not be there yet
    #[arg(value_name = "FILE", required_if_eq_any([("shared", "true"), ("public", "true")]))]
    file: Option<PathBuf>,
    /// Only print the public key of the private key in FILE
    #[arg(long)]
    public: bool,
    /// Write a secret that both ends have besides their keys, or instead with encryption = "none"
    #[arg(long, conflicts_with = "public")]
    shared: bool,
}

/// Commands of the tunnel.
#[derive(Debug, Subcommand)]
pub(crate) enum TunnelCommand {
    /// Open paths to a server, and carry what comes to a TUN device over all of them
    #[command(after_help = crate::help::epilogue(CLIENT_HELP))]
    Client(Box<ClientArgs>),
    /// Serve clients
    #[command(after_help = crate::help::epilogue(SERVER_HELP))]
    Server(Box<ServerArgs>),
    /// Make a private key, and print the public key for the other end
    #[command(after_help = KEY_HELP)]
    Key(KeyArgs),
    /// Say how a running tunnel and its paths stand
    Status(SocketArgs),
    /// Change the paths of a running client
    #[command(subcommand)]
    Path(PathCommand),
}

fn scheduler_help() -> String {
    let names = tunnel::scheduler::names().join(", ");
    let default = tunnel::scheduler::DEFAULT;
    format!("Which path a packet takes: one of {names} [default: {default}]")
}

/// What both ends have.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only check the configuration and the keys
    #[arg(long)]
    check: bool,
    /// Whether packets are encrypted: on or none, the same at both ends [default: on]
    #[arg(long, value_name = "MODE", conflicts_with = "config", value_parser = encryption)]
    encryption: Option<Encryption>,
    /// This end's private key; see `brimful tunnel key`
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    private_key_file: Option<PathBuf>,
    /// A secret that both ends have besides; needed with --encryption none
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    key_file: Option<PathBuf>,
    /// Name of the TUN device [default: brimful0]
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    tun: Option<String>,
    /// Address of the TUN device with the length of its network; may be given several times
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    address: Vec<InterfaceAddress>,
    /// Which path a packet takes
    #[arg(long, value_name = "NAME", help = scheduler_help(), conflicts_with = "config")]
    scheduler: Option<String>,
    /// Send lost packets again until they are so old [default: never]
    #[arg(long, value_name = "TIME", conflicts_with = "config")]
    deadline: Option<Duration>,
    /// Admin socket
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    admin: Option<PathBuf>,
    /// Where /metrics and /status listen, TCP
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config", value_parser = crate::help::address)]
    metrics: Option<SocketAddr>,
}

/// Options of `tunnel client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The server
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "config",
        conflicts_with = "config",
        value_parser = crate::help::address,
    )]
    remote: Option<SocketAddr>,
    /// The server's public key
    #[arg(long, value_name = "KEY", conflicts_with = "config")]
    server_key: Option<PublicKeyText>,
    /// The paths, in the form that the help names
    #[arg(
        long,
        value_name = "PATH",
        help = "A path: NAME[,interface=I][,local=A][,remote=A][,priority=P][,carrier=C][,controller=N]; a name \
                alone is that of the interface. May be given several times",
        required_unless_present = "config",
        conflicts_with = "config"
    )]
    path: Vec<String>,
    /// What is sent into the tunnel, e.g. 0.0.0.0/0; may be given several times
    #[arg(long, value_name = "NETWORK", conflicts_with = "config")]
    route: Vec<Network>,
}

/// Options of `tunnel server`.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Where to listen, UDP and TCP; may be given several times
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "config",
        conflicts_with = "config",
        value_parser = crate::help::address,
    )]
    listen: Vec<SocketAddr>,
    /// Which addresses the client may use, e.g. 10.99.0.2/32; may be given several times
    #[arg(
        long,
        value_name = "NETWORK",
        required_unless_present = "config",
        conflicts_with = "config"
    )]
    client_addresses: Vec<Network>,
    /// The client's public key
    #[arg(long, value_name = "KEY", conflicts_with = "config")]
    client_key: Option<PublicKeyText>,
}

/// Which daemon is queried.
#[derive(Debug, Args)]
pub(crate) struct SocketArgs {
    /// The tunnel's admin socket
    #[arg(long, value_name = "PATH", default_value = "/run/brimful/tunnel.sock")]
    socket: PathBuf,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
}

/// Changes of paths.
#[derive(Debug, Subcommand)]
pub(crate) enum PathCommand {
    /// Open one more path
    Add {
        /// As with `brimful tunnel client --path`
        #[arg(value_name = "PATH")]
        path: String,
        #[command(flatten)]
        ask: SocketArgs,
    },
    /// Close a path
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        ask: SocketArgs,
    },
    /// Give a path another priority
    Priority {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// never, standby, secondary, primary, or 0 to 15
        #[arg(value_name = "PRIORITY")]
        priority: String,
        #[command(flatten)]
        ask: SocketArgs,
    },
}

/// Runs an end of the tunnel, or queries it.
pub(crate) fn run(command: &TunnelCommand) -> Result<(), Failure> {
    match command {
        TunnelCommand::Client(arguments) => {
            let common = &arguments.common;
            let config = match &common.config {
                Some(file) => Config::load(file, Role::Client).map_err(Failure::input)?,
                None => client(arguments)?,
            };
            start(common, config)
        }
        TunnelCommand::Server(arguments) => {
            let common = &arguments.common;
            let config = match &common.config {
                Some(file) => Config::load(file, Role::Server).map_err(Failure::input)?,
                None => with_common(common, End::Server(server(arguments)?))?,
            };
            start(common, config)
        }
        TunnelCommand::Key(arguments) => key(arguments),
        TunnelCommand::Status(ask) => {
            let status = request_over(&ask.socket, &json!({ "command": "status" }))?;
            match ask.json {
                true => print(&format!("{status}\n")),
                false => print(&status_text(&status)),
            }
        }
        TunnelCommand::Path(command) => path(command),
    }
}

fn key(arguments: &KeyArgs) -> Result<(), Failure> {
    let Some(file) = &arguments.file else {
        let key = StaticKey::new().map_err(Failure::input)?;
        let (private, public) = (key.secret_text(), key.public_text());
        return print(&format!(
            "private-key = \"{private}\"\npublic-key = \"{public}\"\n"
        ));
    };
    if arguments.public {
        let key = StaticKey::load(file).map_err(Failure::input)?;
        return print(&format!("{}\n", key.public_text()));
    }
    let name = file.display();
    if arguments.shared {
        tunnel::Key::write_new(file).map_err(Failure::input)?;
        return print(&format!(
            "{name}: a new secret; give it to the other end only\n"
        ));
    }
    let key = StaticKey::new().map_err(Failure::input)?;
    key.write(file).map_err(Failure::input)?;
    let public = key.public_text();
    print(&format!(
        "{name}: a new private key, which stays here; for the other end:\npublic-key = \"{public}\"\n"
    ))
}

fn encryption(text: &str) -> Result<Encryption, String> {
    let found = Encryption::NAMES.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, encryption)| *encryption)
        .ok_or_else(|| "expected on or none".to_owned())
}

/// The keys that an end must have, by its options.
fn check_keys(
    common: &CommonArgs,
    peer: Option<PublicKeyText>,
    option: &str,
) -> Result<(), Failure> {
    let missing = match common.encryption.unwrap_or_default() {
        Encryption::On if common.private_key_file.is_none() => {
            "--private-key-file, which `brimful tunnel key FILE` makes".to_owned()
        }
        Encryption::On if peer.is_none() => {
            format!("{option}, which `brimful tunnel key` has printed at the other end")
        }
        Encryption::None if common.key_file.is_none() => {
            "--key-file, which `brimful tunnel key --shared FILE` makes".to_owned()
        }
        _ => return Ok(()),
    };
    let mode = match common.encryption.unwrap_or_default() {
        Encryption::On => "packets are encrypted unless --encryption none",
        Encryption::None => "with --encryption none",
    };
    Err(Failure::Input(anyhow!("{mode}: give {missing}")))
}

fn start(common: &CommonArgs, config: Config) -> Result<(), Failure> {
    if common.check {
        config.check_keys().map_err(Failure::input)?;
        config.dashboard.access().map_err(Failure::input)?;
        let name = common.config.as_deref().unwrap_or(Path::new("the options"));
        return print(&format!("{}: valid\n", name.display()));
    }
    let start = Start {
        config,
        file: common.config.clone(),
    };
    tunnel::run(&start).map_err(failure)
}

fn failure(error: TunnelError) -> Failure {
    match error {
        TunnelError::Config(_) | TunnelError::Key(_) => Failure::input(error),
        TunnelError::Dashboard(of) if of.is_input() => Failure::input(of),
        _ => Failure::run(error),
    }
}

fn client(arguments: &ClientArgs) -> Result<Config, Failure> {
    check_keys(&arguments.common, arguments.server_key, "--server-key")?;
    let paths = arguments.path.iter().map(|path| {
        PathConfig::parse(path, arguments.remote)
            .map_err(|error| Failure::Input(anyhow!("--path {path}: {error}")))
    });
    let end = End::Client(ClientEnd {
        server_key: arguments.server_key,
        key_file: arguments.common.key_file.clone(),
        paths: paths.collect::<Result<_, _>>()?,
        use_announced: false,
        supervision: Supervision::default(),
    });
    let mut config = with_common(&arguments.common, end)?;
    config.tun.routes.clone_from(&arguments.route);
    Ok(config)
}

fn server(arguments: &ServerArgs) -> Result<ServerConfig, Failure> {
    check_keys(&arguments.common, arguments.client_key, "--client-key")?;
    Ok(ServerConfig {
        listen: arguments.listen.clone(),
        clients: vec![ClientConfig {
            name: "client".to_owned(),
            public_key: arguments.client_key,
            key_file: arguments.common.key_file.clone(),
            addresses: arguments.client_addresses.clone(),
        }],
        ..ServerConfig::default()
    })
}

fn with_common(common: &CommonArgs, end: End) -> Result<Config, Failure> {
    let mut config = Config::new(end);
    config.encryption = common.encryption.unwrap_or_default();
    config.private_key_file.clone_from(&common.private_key_file);
    if let Some(name) = &common.tun {
        config.tun.name.clone_from(name);
    }
    config.tun.addresses.clone_from(&common.address);
    if let Some(name) = &common.scheduler {
        config.scheduler.clone_from(name);
    }
    config.connection.reliability = common.deadline;
    config.admin.clone_from(&common.admin);
    config.metrics = common.metrics;
    config.check().map_err(Failure::input)?;
    Ok(config)
}

fn request_over(socket: &Path, request: &Value) -> Result<Value, Failure> {
    tunnel::request(socket, request).map_err(Failure::run)
}

fn path(command: &PathCommand) -> Result<(), Failure> {
    let (ask, request) = match command {
        PathCommand::Add { path, ask } => (ask, json!({ "command": "path-add", "path": path })),
        PathCommand::Remove { name, ask } => {
            (ask, json!({ "command": "path-remove", "name": name }))
        }
        PathCommand::Priority {
            name,
            priority,
            ask,
        } => (
            ask,
            json!({ "command": "path-priority", "name": name, "priority": priority }),
        ),
    };
    let done = request_over(&ask.socket, &request)?;
    match ask.json {
        true => print(&format!("{done}\n")),
        false => print(&format!("{}\n", done["done"].as_str().unwrap_or("done"))),
    }
}

fn status_text(status: &Value) -> String {
    let mut text = String::new();
    let text_of = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let bytes = |value: &Value| units::Bytes::new(value.as_u64().unwrap_or(0)).to_string();
    let device = &status["device"];
    // writing to a text cannot fail
    let _ = writeln!(
        text,
        "brimful {} (process {}): {} for {:.0} s, device {} of MTU {}: {} in, {} out",
        text_of(&status["version"]),
        status["pid"],
        text_of(&status["role"]),
        status["uptime_seconds"].as_f64().unwrap_or(0.0),
        text_of(&device["name"]),
        device["mtu"],
        bytes(&device["read_bytes"]),
        bytes(&device["written_bytes"]),
    );
    for connection in status["connections"].as_array().into_iter().flatten() {
        let state = match connection["established"] == true {
            true => "connected",
            false => "not connected",
        };
        let _ = writeln!(
            text,
            "{}: {state}, {} packets waiting, {} held, {} late, {} lost",
            text_of(&connection["peer"]),
            connection["waiting_packets"],
            connection["held_packets"],
            connection["late_packets"],
            connection["lost_packets"],
        );
        for path in connection["paths"].as_array().into_iter().flatten() {
            let rtt = match path["rtt_seconds"].as_f64() {
                Some(seconds) => format!("{:.1} ms", seconds * 1e3),
                None => "-".to_owned(),
            };
            let _ = writeln!(
                text,
                "  path {} to {} ({}, {}): {}, priority {}, window {} packets, RTT {rtt}, {} sent, {} received",
                text_of(&path["name"]),
                text_of(&path["remote"]),
                text_of(&path["carrier"]),
                text_of(&path["controller"]),
                text_of(&path["state"]),
                path["priority"],
                path["cwnd_packets"],
                bytes(&path["sent_bytes"]),
                bytes(&path["received_bytes"]),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_lists_each_path() {
        let status = json!({
            "version": "0.1.0", "pid": 1, "role": "client", "uptime_seconds": 2.0,
            "device": { "name": "brimful0", "mtu": 1424, "read_bytes": 1500, "written_bytes": 3000 },
            "connections": [{ "peer": "server", "established": true, "waiting_packets": 1,
                "held_packets": 2, "late_packets": 3, "lost_packets": 4,
                "paths": [{ "name": "wifi", "remote": "192.0.2.1:6511", "carrier": "dccp",
                    "controller": "bbr2", "state": "up", "priority": 3, "cwnd_packets": 40,
                    "rtt_seconds": 0.0205, "sent_bytes": 10, "received_bytes": 20 }] }],
        });
        let text = status_text(&status);
        assert!(
            text.contains("device brimful0 of MTU 1424: 1.5 kB in"),
            "{text}"
        );
        assert!(
            text.contains("path wifi to 192.0.2.1:6511 (dccp, bbr2): up"),
            "{text}"
        );
        assert!(text.contains("RTT 20.5 ms"), "{text}");
    }
}
