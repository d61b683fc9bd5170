//! The configuration of both ends; `docs/operations/tunnel.md` describes every key.

mod read;
mod remote;

pub use daemon::config::{ConfigError, Network};
pub(crate) use read::parse_priority;
pub use remote::{HostPort, Remote};

use daemon::Log;
use keys::PublicKeyText;
use multipath::client::Supervision;
use multipath::packet::PathPriority;
use multipath::tunnel::{Carrier, TunnelConfig};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use units::Duration;

/// Port of DCCP over UDP (RFC 6773 section 6).
pub const PORT: u16 = 6_511;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens paths.
    Client,
    /// Accepts them.
    Server,
}

impl Role {
    /// As commands and files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Whether packets are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// They are, between ends that have each other's public key.
    #[default]
    On,
    /// They are not; both ends have a shared key, which proves connections and joins.
    None,
}

impl Encryption {
    /// By name.
    pub const NAMES: [(&str, Self); 2] = [("on", Self::On), ("none", Self::None)];
}

/// Processors from which on [`Threads::Auto`] has two threads: on a machine of two that has all ends of a connection a second one
/// made it slower (`docs/results/tunnel.md`).
pub const FOR_TWO: usize = 4;

/// Threads that move packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Two where the process has [`FOR_TWO`] processors or more, by its affinity and its share of the machine.
    Auto,
    /// One does everything.
    #[default]
    One,
    /// A second seals, sends and writes.
    Two,
}

impl Threads {
    /// By name.
    pub const NAMES: [(&str, Self); 3] = [("1", Self::One), ("2", Self::Two), ("auto", Self::Auto)];

    /// There are two, here.
    pub(crate) fn has_second(self) -> bool {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Auto => processors() >= FOR_TWO,
            Self::One => false,
            Self::Two => true,
        }
    }
}

/// An address of the device with the length of its network, e.g. `10.99.0.2/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address itself.
    pub address: IpAddr,
    /// Bits of its network.
    pub length: u8,
}

/// The reason why a text is no address of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an address with the length of its network, for example \"10.99.0.2/24\"")]
pub struct ParseInterfaceAddressError;

impl FromStr for InterfaceAddress {
    type Err = ParseInterfaceAddressError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, length) = text.split_once('/').ok_or(ParseInterfaceAddressError)?;
        let address: IpAddr = address.parse().map_err(|_| ParseInterfaceAddressError)?;
        let length: u8 = length.parse().map_err(|_| ParseInterfaceAddressError)?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        if length > max {
            return Err(ParseInterfaceAddressError);
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// The device that packets come from and go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// Its name.
    pub name: String,
    /// Its addresses; without any, another program sets it up.
    pub addresses: Vec<InterfaceAddress>,
    /// Its MTU in bytes; none: what the paths take.
    pub mtu: Option<usize>,
    /// What is sent into it.
    pub routes: Vec<Network>,
    /// The mark of a client's own packets, and the table of default routes inside; none: as any other route.
    pub fwmark: Option<u32>,
    /// Servers of the DNS that are asked through it.
    pub dns: Vec<IpAddr>,
    /// Domains that they are asked for, or short names are completed by.
    pub dns_search: Vec<String>,
    /// Commands of a shell that are run when it is set up.
    pub post_up: Vec<String>,
    /// And before it is taken down.
    pub pre_down: Vec<String>,
}

/// A path of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// What it is called in the log, in metrics and in commands.
    pub name: String,
    /// Through which interface; none: as the routes select.
    pub interface: Option<String>,
    /// From which address; none: as the routes select.
    pub local: Option<IpAddr>,
    /// The server.
    pub remote: Remote,
    /// Which path is preferred (RFC 9897 `MP_PRIO`).
    pub priority: PathPriority,
    /// How its packets travel.
    pub carrier: Carrier,
    /// Its congestion control: of `cc` for [`Carrier::Dccp`], of the kernel for [`Carrier::Stream`].
    pub controller: String,
    /// The largest IP packet that it carries, of [`Carrier::Dccp`]; none: what probes find (RFC 8899).
    pub path_mtu: Option<usize>,
}

/// A client as the server has it configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// What it is called in the log, in metrics and in commands.
    pub name: String,
    /// Its public key; there with [`Encryption::On`].
    pub public_key: Option<PublicKeyText>,
    /// The secret that both have; there with [`Encryption::None`].
    pub key_file: Option<PathBuf>,
    /// Which addresses packets from it may have, and packets to which go to it.
    pub addresses: Vec<Network>,
}

/// What only a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where it listens, UDP and TCP.
    pub listen: Vec<SocketAddr>,
    /// Further addresses at which clients reach it, signalled to them (RFC 9897 `MP_ADDADDR`).
    pub announce: Vec<SocketAddr>,
    /// Its clients.
    pub clients: Vec<ClientConfig>,
    /// Congestion control towards clients over UDP.
    pub controller: String,
    /// The largest IP packet that paths over UDP carry; none: what probes find (RFC 8899).
    pub path_mtu: Option<usize>,
    /// Handshakes in progress at most.
    pub half_open: usize,
    /// Limits of TCP connections that carry no path yet.
    pub pending: crate::PendingLimits,
    /// Radio reports of the clients' cellular paths.
    #[cfg(feature = "edge")]
    pub reports: Option<crate::ReportsConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            announce: Vec::new(),
            clients: Vec::new(),
            controller: Carrier::Dccp.controllers()[0].to_owned(),
            path_mtu: None,
            half_open: 256,
            pending: crate::PendingLimits::default(),
            #[cfg(feature = "edge")]
            reports: None,
        }
    }
}

/// What only a client has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientEnd {
    /// The server's public key; there with [`Encryption::On`].
    pub server_key: Option<PublicKeyText>,
    /// The secret that it shares with the server; there with [`Encryption::None`].
    pub key_file: Option<PathBuf>,
    /// Its paths.
    pub paths: Vec<PathConfig>,
    /// Whether further paths are opened to addresses that the server signals.
    pub use_announced: bool,
    /// When paths are opened again, and connections begun anew.
    pub supervision: Supervision,
}

/// What only one end has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Of a client.
    Client(ClientEnd),
    /// Of a server.
    Server(ServerConfig),
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What only this end has.
    pub end: End,
    /// Whether packets are encrypted.
    pub encryption: Encryption,
    /// This end's private key; there with [`Encryption::On`].
    pub private_key_file: Option<PathBuf>,
    /// New keys are agreed on after so long.
    pub rekey_after: Duration,
    /// Threads that move packets.
    pub threads: Threads,
    /// The device.
    pub tun: TunConfig,
    /// Which path a packet takes: a name of [`multipath::scheduler::names`].
    pub scheduler: String,
    /// What a connection is configured with; its longest payload is that of the device.
    pub connection: TunnelConfig,
    /// The admin socket.
    pub admin: Option<PathBuf>,
    /// Where `/metrics` listens, and the dashboard.
    pub metrics: Option<SocketAddr>,
    /// The dashboard.
    #[cfg(feature = "edge")]
    pub dashboard: dash::Settings,
    /// The log.
    pub log: Log,
}

impl Config {
    /// With defaults for everything that both ends have.
    pub fn new(end: End) -> Self {
        Self {
            end,
            encryption: Encryption::default(),
            private_key_file: None,
            rekey_after: secrecy::Limits::default().rekey_after,
            threads: Threads::default(),
            tun: TunConfig {
                name: "brimful0".to_owned(),
                addresses: Vec::new(),
                mtu: None,
                routes: Vec::new(),
                fwmark: Some(u32::from(PORT)),
                dns: Vec::new(),
                dns_search: Vec::new(),
                post_up: Vec::new(),
                pre_down: Vec::new(),
            },
            scheduler: multipath::scheduler::DEFAULT.to_owned(),
            connection: TunnelConfig::default(),
            admin: None,
            metrics: None,
            #[cfg(feature = "edge")]
            dashboard: dash::Settings::default(),
            log: Log::default(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Names file, line and column, what was wrong, and what is allowed.
    pub fn load(path: &Path, role: Role) -> Result<Self, ConfigError> {
        daemon::config::load(path, |top| read::config(top, role))
    }

    /// Reads a file of either end: by its key `role`, otherwise a server's has `listen`.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_either(path: &Path) -> Result<Self, ConfigError> {
        daemon::config::load(path, |top| {
            let role = read::role_of(top)?;
            read::config(top, role)
        })
    }

    /// Reads a text; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, text: &str, role: Role) -> Result<Self, ConfigError> {
        daemon::config::parse(name, text, |top| read::config(top, role))
    }

    /// Checks what options of a command line can get wrong, as a file is checked while it is read.
    ///
    /// # Errors
    /// What was wrong, and what is allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fault = |error: String| ConfigError::new("the options", error);
        multipath::scheduler::build(&self.scheduler).map_err(|e| fault(e.to_string()))?;
        if !daemon::config::is_interface(&self.tun.name) {
            return Err(fault(format!(
                "{:?} is no name of an interface",
                self.tun.name
            )));
        }
        Ok(())
    }

    /// Which end it is of.
    pub fn role(&self) -> Role {
        match self.end {
            End::Client(_) => Role::Client,
            End::Server(_) => Role::Server,
        }
    }

    /// Reads what decides who may see the dashboard.
    ///
    /// # Errors
    /// Its token cannot be used.
    pub fn check_dashboard(&self) -> Result<(), crate::TunnelError> {
        #[cfg(feature = "edge")]
        self.dashboard.access()?;
        Ok(())
    }

    /// Reads all keys, to see that they can be used.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_keys(&self) -> Result<(), crate::KeyError> {
        crate::sealing::Keys::load(self).map(drop)
    }
}

impl PathConfig {
    /// From one word of a command line: `NAME`, then `interface=`, `local=`, `remote=`, `priority=`,
    /// `carrier=`, `controller=`, `path-mtu=` behind commas; a name alone is that of the interface as well.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn parse(text: &str, remote: Option<&Remote>) -> Result<Self, String> {
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default();
        let mut lines = vec![format!("name = {name:?}")];
        for word in words.clone() {
            match word.split_once('=') {
                // a number is one in a file, too
                Some(("path-mtu", value)) if value.parse::<u32>().is_ok() => {
                    lines.push(format!("path-mtu = {value}"));
                }
                Some((key, value)) => lines.push(format!("{key} = {value:?}")),
                None => return Err(format!("{word:?} in path {text:?}: expected KEY=VALUE")),
            }
        }
        if words.next().is_none() {
            lines.push(format!("interface = {name:?}"));
        }
        let remote = remote.map_or(String::new(), |remote| format!("remote = \"{remote}\"\n"));
        let text = format!(
            "encryption = \"none\"\nkey-file = \"/\"\n{remote}[[path]]\n{}\n",
            lines.join("\n")
        );
        let config = Config::parse("path", &text, Role::Client).map_err(|e| e.to_string())?;
        match config.end {
            End::Client(ClientEnd { mut paths, .. }) if paths.len() == 1 => Ok(paths.remove(0)),
            _ => Err(format!("{text:?} is no path")),
        }
    }
}
