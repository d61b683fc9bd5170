//! The configuration of a server; `docs/operations/quic.md` describes every key of its file.

mod read;

use cc::meld::Variant;
use daemon::Log;
use daemon::config::ConfigError;
pub use report_source::ReportSource;
use rnis::identity::UeMap;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use units::{Bytes, Duration};

/// Who the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// A chain and its key, PEM.
    Files {
        /// The chain, the server's own first.
        chain: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// Made at the start, for trials.
    SelfSigned {
        /// Names and addresses that it is for.
        names: Vec<String>,
        /// Where it is written for clients to trust, PEM.
        write: Option<PathBuf>,
    },
}

/// Where the stream of samples goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsTarget {
    /// Standard output.
    Stdout,
    /// A file; one that is there is written over.
    File(PathBuf),
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens, UDP; port 0 for any.
    pub listen: Vec<SocketAddr>,
    /// The congestion controller, by its name in [`cc::names`].
    pub cc: String,
    /// MELD round it, or none.
    pub meld: Option<Variant>,
    /// Whose equations a controller follows that paces by its client's reports.
    pub cdbe: cc::cdbe::Mode,
    /// Reports older than this explain no loss.
    pub max_age: Duration,
    /// Who the server is.
    pub certificate: Certificate,
    /// Where reports come from; none: only from the program itself.
    pub reports: Option<ReportSource>,
    /// Addresses of UEs whose reports carry none.
    pub ues: UeMap,
    /// Where a connection's remote address is not its UE's (behind a translation of addresses): from
    /// the one to the other.
    pub addresses: BTreeMap<IpAddr, IpAddr>,
    /// The folder of HTTP/3; none: only `/bytes/N`.
    pub root: Option<PathBuf>,
    /// Maximum bytes that one request for a number of them gets.
    pub largest: Bytes,
    /// The folder of qlog files, one for each connection.
    pub qlog: Option<PathBuf>,
    /// Where `/metrics` and `/status` listen, TCP, and the dashboard.
    pub metrics: Option<SocketAddr>,
    /// The dashboard.
    pub dashboard: dash::Settings,
    /// Where each connection's samples go.
    pub stats: Option<StatsTarget>,
    /// Time between two samples of a connection.
    pub stats_interval: Duration,
    /// The path's MTU in bytes of UDP payload, where it is known: 1200 to 65527. None: 1200 at first, and
    /// what probes find afterwards.
    pub mtu: Option<u16>,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// Maximum number of those from one address; of IPv6 from one /64.
    pub connections_per_address: usize,
    /// What all connections together can make the server hold, at least [`Config::MIN_MEMORY`]. Each is counted with
    /// what `streams` requests of it can.
    pub memory: Bytes,
    /// What one connection may send ahead of its client, [`Config::MIN_WINDOW`] to [`Config::MAX_WINDOW`].
    pub window: Bytes,
    /// Maximum number of concurrent requests of one connection.
    pub streams: u32,
    /// The log.
    pub log: Log,
}

impl Default for Config {
    /// A server for trials on every address, port 4433.
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 4433)],
            cc: "cubic".to_owned(),
            meld: None,
            cdbe: cc::cdbe::Mode::Default,
            max_age: cc::meld::Config::MAX_AGE,
            certificate: Certificate::SelfSigned {
                names: vec!["localhost".to_owned()],
                write: None,
            },
            reports: None,
            ues: UeMap::default(),
            addresses: BTreeMap::new(),
            root: None,
            largest: Bytes::new(10_000_000_000),
            qlog: None,
            metrics: None,
            dashboard: dash::Settings::default(),
            stats: None,
            stats_interval: Duration::from_millis(100),
            mtu: None,
            connections: 10_000,
            connections_per_address: 100,
            memory: Bytes::new(1_000_000_000),
            window: Bytes::new(1_000_000),
            streams: 100,
            log: Log::default(),
        }
    }
}

impl Config {
    /// Minimum of `memory`: one connection with 100 concurrent requests. With more of them it is what one takes.
    pub const MIN_MEMORY: Bytes = Bytes::new(1_000_000);
    /// Minimum of `window`.
    pub const MIN_WINDOW: Bytes = Bytes::new(crate::server::FIRST_WINDOW);
    /// Maximum of `window`.
    pub const MAX_WINDOW: Bytes = Bytes::new(64_000_000);

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, and one that cannot be used: place, fault and what is allowed.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        daemon::config::load(path, read::config)
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// A text that cannot be used.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        daemon::config::parse(name, text, read::config)
    }

    /// The minimum of `memory` with these `streams`.
    fn min_memory(&self) -> Bytes {
        Self::MIN_MEMORY.max(Bytes::new(crate::server::base(self.streams)))
    }

    /// Whether its controller paces by bandwidth that clients report.
    pub(crate) fn takes_reports(&self) -> bool {
        cc::find(&self.cc).is_some_and(|of| of.reporter.is_some())
    }

    /// Its controller for a path. The name has been checked.
    pub(crate) fn controller(&self, build: cc::BuildConfig) -> Box<dyn cc::CongestionControl> {
        use cc::cdbe::{self, Cdbe};
        match self.cc.as_str() {
            "cdbe" => Box::new(Cdbe::new(cdbe::Config::new(self.cdbe, build))),
            "cqic-s" => Box::new(Cdbe::new(cdbe::Config::new(self.cdbe, build).for_cqic())),
            name => cc::build(name, build).expect("checked as the server starts"),
        }
    }

    /// The UE behind a remote address.
    pub(crate) fn ue_of(&self, remote: IpAddr) -> IpAddr {
        let remote = remote.to_canonical();
        self.addresses.get(&remote).copied().unwrap_or(remote)
    }
}
