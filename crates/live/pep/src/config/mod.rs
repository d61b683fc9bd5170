//! The configuration file of the proxy; `docs/operations/pep.md` describes every key.

mod handover;
mod limits;
mod prefix;
mod rapid;
mod read;
mod unsplit;

pub use daemon::config::ConfigError;
pub use handover::{Handover, Peer, Place};
pub use prefix::Prefix;
pub use unsplit::{Unsplit, UnsplitMode};

use daemon::Log;
use edge::{Actuator, EdgeConfig};
use report_source::ReportSource;
use rnis::Rnti;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use units::{Bytes, Duration};

/// How connections come to the proxy.
#[derive(Clone, Debug, PartialEq)]
pub enum Interception {
    /// Connections of UEs are taken on their way (nftables TPROXY).
    Transparent(Transparent),
    /// Clients connect to the proxy, which connects to one server.
    Explicit(Explicit),
    /// No connection is taken: the proxy marks what passes towards this interface, and nothing more.
    Off {
        /// Interface towards the UEs.
        ran_interface: String,
    },
}

impl Interception {
    /// Its name in status.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Transparent(_) => "transparent",
            Self::Explicit(_) => "explicit",
            Self::Off { .. } => "off",
        }
    }
}

/// Whose connections are taken, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Transparent {
    /// Addresses of the UEs.
    pub ue_prefixes: Vec<Prefix>,
    /// Destinations that are left alone.
    pub bypass: Vec<Prefix>,
    /// Interface towards the UEs.
    pub ran_interface: String,
    /// Interface towards the servers.
    pub wan_interface: String,
    /// Port of the listeners; 0 for any.
    pub port: u16,
    /// Only connections are taken whose like the forward chains have let pass.
    pub follow_forward_policy: bool,
}

/// How sockets towards servers are distinguished from others, and where they go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onward {
    /// Their packets' mark (`SO_MARK`); none for 0.
    pub mark: u32,
    /// The interface that they are bound to (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
}

/// A fixed relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explicit {
    /// Where clients connect to.
    pub listen: SocketAddr,
    /// Where their connections go on to: always this, so that it is no open relay.
    pub upstream: SocketAddr,
    /// Who may connect.
    pub allow: Vec<Prefix>,
}

/// Who decides the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RAPID in this mode.
    Rapid(::rapid::Mode),
    /// No actuator: connections are split and nothing more.
    Split,
}

/// How windows towards servers are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WanActuator {
    /// By `TCP_WINDOW_CLAMP`.
    #[default]
    Clamp,
    /// In each segment that leaves.
    Wire,
    /// The latter where the kernel can, else the former.
    Auto,
}

impl WanActuator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Clamp, Self::Wire, Self::Auto];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clamp => "clamp",
            Self::Wire => "wire",
            Self::Auto => "auto",
        }
    }
}

/// Radio reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Reports {
    /// Where they come from.
    pub source: Option<ReportSource>,
    /// A report older than this is not accepted.
    pub max_age: Duration,
    /// Without a report for this long, connections are spliced and nothing more.
    pub plain_after: Duration,
}

/// Bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Beyond `connections`: those on their way when interception begins to rest; 0 in the explicit
    /// mode, where nothing can pass by.
    pub overflow: usize,
    /// Connections of one UE.
    pub connections_per_ue: usize,
    /// SYNs a second of one UE (IPv4 address, IPv6 /64) that are taken, and as many at once; those beyond
    /// pass by. 0: no limit.
    pub syn_rate_per_ue: u32,
    /// Payload that may wait in the proxy, in all.
    pub memory: Bytes,
    /// Payload of one UE that may wait in the proxy.
    pub memory_per_ue: Bytes,
    /// Until the server has answered.
    pub handshake: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// The same, when one direction has ended.
    pub half_closed: Duration,
    /// For a successor to be ready, once it has copies of the listeners.
    pub hand_over: Duration,
    /// For connections to end, after the listeners were handed over.
    pub drain: Duration,
}

/// TCP keepalive on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Between probes.
    pub interval: Duration,
    /// Unanswered probes until the connection is given up.
    pub probes: u32,
}

/// The data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Threads.
    pub workers: usize,
    /// Capacity of a pipe.
    pub pipe: Bytes,
    /// Receive buffer towards the server, locked.
    pub receive_buffer: Bytes,
    /// The most that a socket holds and has not sent.
    pub unsent: Bytes,
}

/// Where the allocators' calls and answers are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The file; one that is there is written over.
    pub file: PathBuf,
    /// Its greatest length.
    pub limit: Bytes,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How connections come.
    pub interception: Interception,
    /// How they go on.
    pub onward: Onward,
    /// Who decides.
    pub control: Control,
    /// How; none where connections are split and nothing more.
    pub edge: Option<EdgeConfig>,
    /// How windows towards UEs are set, where the kernel permits it.
    pub actuator: Actuator,
    /// How windows towards servers are set, where the kernel permits it.
    pub wan_actuator: WanActuator,
    /// What is done to packets that are not split; none without the table.
    pub unsplit: Option<Unsplit>,
    /// How connections move to other proxies, if they do.
    pub handover: Option<Handover>,
    /// Radio reports.
    pub reports: Reports,
    /// Addresses of UEs whose reports carry none.
    pub ues: BTreeMap<Rnti, IpAddr>,
    /// The admin socket.
    pub admin: Option<PathBuf>,
    /// Where `/metrics` listens, and the dashboard.
    pub metrics: Option<SocketAddr>,
    /// The dashboard.
    pub dashboard: dash::Settings,
    /// Bounds.
    pub limits: Limits,
    /// Keepalive.
    pub keepalive: Keepalive,
    /// Data path.
    pub relay: Relay,
    /// The log.
    pub log: Log,
    /// What is recorded, if anything.
    pub record: Option<Recording>,
    /// Give up every privilege that is not needed any more once all is set up.
    pub drop_privileges: bool,
    /// The user to run as from then on, by name or number.
    pub user: Option<String>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Says file, line and column, what was wrong, and what is allowed.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        daemon::config::load(path, read::config)
    }

    /// Reads a text; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        daemon::config::parse(name, text, read::config)
    }

    /// The UEs' connections are taken on their way.
    pub(crate) fn is_transparent(&self) -> bool {
        matches!(self.interception, Interception::Transparent(_))
    }

    /// Connections are split.
    pub(crate) fn splits(&self) -> bool {
        !matches!(self.interception, Interception::Off { .. })
    }

    /// How radio reports are read, if they are: as what decides windows has it; for packets that are not split alone, with
    /// defaults.
    pub(crate) fn reading(&self) -> Option<EdgeConfig> {
        let for_marks = || {
            let mut edge = EdgeConfig::new(::rapid::Mode::Default);
            edge.allocator.report_max_age = self.reports.max_age;
            edge.plain_after = self.reports.plain_after;
            edge
        };
        let can_mark = |unsplit: &Unsplit| unsplit.interface.is_some();
        let marks = self.unsplit.as_ref().is_some_and(can_mark);
        let mut peers = self.handover.iter().flat_map(|of| &of.peers);
        let follows = peers.any(|peer| !peer.cells.is_empty());
        let is_read = (marks || follows) && self.reports.source.is_some();
        self.edge.clone().or_else(|| is_read.then(for_marks))
    }

    /// The first key that cannot be changed while the proxy runs, if it differs.
    pub(crate) fn needs_restart(&self, new: &Self) -> Option<&'static str> {
        let where_from = |config: &Self| match &config.interception {
            Interception::Transparent(t) => (Some((t.ran_interface.clone(), t.port)), None),
            Interception::Explicit(e) => (None, Some(e.listen)),
            Interception::Off { ran_interface } => (Some((ran_interface.clone(), 0)), None),
        };
        let max_ues = |config: &Self| config.unsplit.as_ref().map(|unsplit| unsplit.max_ues);
        let inside = |config: &Self| config.unsplit.as_ref().map(|unsplit| unsplit.inside);
        // plain-after can be changed
        let decides = |config: &Self| {
            config.edge.clone().map(|edge| EdgeConfig {
                plain_after: edge.allocator.report_max_age,
                ..edge
            })
        };
        let checks = [
            ("[split]", self.splits() != new.splits()),
            (
                "[unsplit], which was not there at the start or is not there any more,",
                self.unsplit.is_some() != new.unsplit.is_some(),
            ),
            ("max-ues", max_ues(self) != max_ues(new)),
            ("inside", inside(self) != inside(new)),
            (
                "mode, ran-interface, port, listen",
                where_from(self) != where_from(new),
            ),
            ("control", self.control != new.control),
            (
                "source, topic, users",
                self.reports.source != new.reports.source,
            ),
            ("max-age", self.reports.max_age != new.reports.max_age),
            (
                "[rapid]",
                decides(self) != decides(new)
                    || self.actuator != new.actuator
                    || self.wan_actuator != new.wan_actuator,
            ),
            ("[record]", self.record != new.record),
            ("[handover]", self.handover != new.handover),
            ("socket", self.admin != new.admin),
            ("[metrics]", self.metrics != new.metrics),
            ("[dashboard]", self.dashboard != new.dashboard),
            ("workers", self.relay.workers != new.relay.workers),
            ("[log]", self.log != new.log),
            (
                "drop-privileges",
                self.drop_privileges != new.drop_privileges,
            ),
            ("user", self.user != new.user),
        ];
        checks
            .into_iter()
            .find(|(_, differs)| *differs)
            .map(|(key, _)| key)
    }
}
