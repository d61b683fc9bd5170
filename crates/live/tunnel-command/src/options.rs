//! Both ends by the options of a command line, and keys.

use crate::help;
use crate::output::{CommandError, print};
use anyhow::anyhow;
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tunnel::{
    ClientConfig, ClientEnd, Config, Encryption, End, InterfaceAddress, Network, PathConfig,
    PublicKeyText, Remote, Role, ServerConfig, Start, StaticKey, Supervision, TunnelError,
};
use units::Duration;

/// Options of `tunnel key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
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

fn scheduler_help() -> String {
    let names = tunnel::scheduler::names().join(", ");
    let default = tunnel::scheduler::DEFAULT;
    format!("Which path a packet takes: one of {names} [default: {default}]")
}

/// What both ends have.
#[derive(Debug, Args)]
pub struct CommonArgs {
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
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config", value_parser = help::address)]
    metrics: Option<SocketAddr>,
}

/// Options of `tunnel client`.
#[derive(Debug, Args)]
pub struct ClientArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The server: an address or a name, with its port
    #[arg(
        long,
        value_name = "SERVER",
        required_unless_present = "config",
        conflicts_with = "config",
        value_parser = help::server,
    )]
    remote: Option<Remote>,
    /// The server's public key
    #[arg(long, value_name = "KEY", conflicts_with = "config")]
    server_key: Option<PublicKeyText>,
    /// The paths, in the form that the help names
    #[arg(
        long,
        value_name = "PATH",
        help = "A path: NAME[,interface=I][,local=A][,remote=A][,priority=P][,carrier=C][,controller=N][,path-mtu=BYTES]; a name \
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
pub struct ServerArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Where to listen, UDP and TCP; may be given several times
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "config",
        conflicts_with = "config",
        value_parser = help::address,
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

/// Runs a client.
pub(crate) fn run_client(arguments: &ClientArgs) -> Result<(), CommandError> {
    let common = &arguments.common;
    let config = match &common.config {
        Some(file) => Config::load(file, Role::Client).map_err(CommandError::input)?,
        None => client(arguments)?,
    };
    start(common, config)
}

/// Runs a server.
pub(crate) fn run_server(arguments: &ServerArgs) -> Result<(), CommandError> {
    let common = &arguments.common;
    let config = match &common.config {
        Some(file) => Config::load(file, Role::Server).map_err(CommandError::input)?,
        None => with_common(common, End::Server(server(arguments)?))?,
    };
    start(common, config)
}

/// Makes keys, and prints public ones.
pub(crate) fn key(arguments: &KeyArgs) -> Result<(), CommandError> {
    let Some(file) = &arguments.file else {
        let key = StaticKey::new().map_err(CommandError::input)?;
        let (private, public) = (key.secret_text(), key.public_text());
        return print(&format!(
            "private-key = \"{private}\"\npublic-key = \"{public}\"\n"
        ));
    };
    if arguments.public {
        let key = StaticKey::load(file).map_err(CommandError::input)?;
        return print(&format!("{}\n", key.public_text()));
    }
    let name = file.display();
    if arguments.shared {
        tunnel::Key::write_new(file).map_err(CommandError::input)?;
        return print(&format!(
            "{name}: a new secret; give it to the other end only\n"
        ));
    }
    let key = StaticKey::new().map_err(CommandError::input)?;
    key.write(file).map_err(CommandError::input)?;
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
) -> Result<(), CommandError> {
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
    Err(CommandError::Input(anyhow!("{mode}: give {missing}")))
}

fn start(common: &CommonArgs, config: Config) -> Result<(), CommandError> {
    if common.check {
        let name = common.config.as_deref().unwrap_or(Path::new("the options"));
        return check(&config, name);
    }
    run_daemon(config, common.config.clone())
}

/// Only checks a configuration and its keys.
pub(crate) fn check(config: &Config, name: &Path) -> Result<(), CommandError> {
    config.check_keys().map_err(CommandError::input)?;
    config.check_dashboard().map_err(CommandError::input)?;
    print(&format!("{}: valid\n", name.display()))
}

/// Runs until it is stopped.
pub(crate) fn run_daemon(config: Config, file: Option<PathBuf>) -> Result<(), CommandError> {
    tunnel::run(&Start { config, file }).map_err(failure)
}

fn failure(error: TunnelError) -> CommandError {
    match error.is_input() {
        true => CommandError::input(error),
        false => CommandError::run(error),
    }
}

fn client(arguments: &ClientArgs) -> Result<Config, CommandError> {
    check_keys(&arguments.common, arguments.server_key, "--server-key")?;
    let paths = arguments.path.iter().map(|path| {
        PathConfig::parse(path, arguments.remote.as_ref())
            .map_err(|error| CommandError::Input(anyhow!("--path {path}: {error}")))
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

fn server(arguments: &ServerArgs) -> Result<ServerConfig, CommandError> {
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

fn with_common(common: &CommonArgs, end: End) -> Result<Config, CommandError> {
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
    config.check().map_err(CommandError::input)?;
    Ok(config)
}
