//! The configuration file, as `docs/operations/rnis.md` describes it.

mod network;
mod read;

pub use daemon::config::{ConfigError, Network};
pub use report_source::Address;

use rnis::adapters::CellProfile;
use rnis::identity::UeMap;
use rnis::mec012::{LinkForm, NetworkProfile};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The daemon's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where reports come from.
    pub sources: Vec<SourceConfig>,
    /// Identities and addresses of UEs.
    pub ues: UeMap,
    /// Networks, cells and bearers for MEC 012.
    pub network: NetworkProfile,
    /// Reports over a Unix socket.
    pub unix: Option<UnixConfig>,
    /// Reports over AMQP.
    pub amqp: Option<TopicConfig>,
    /// Reports over NATS.
    pub nats: Option<TopicConfig>,
    /// The REST interface.
    pub http: Option<HttpConfig>,
    /// Metrics for Prometheus, and the dashboard.
    pub metrics: Option<SocketAddr>,
    /// The dashboard.
    pub dashboard: dash::Settings,
    /// Registration at a MEC platform.
    pub platform: Option<PlatformConfig>,
    /// A cell without a report for this long is not shown.
    pub max_age: units::Duration,
    /// A UE that its cell's reports leave out for this long has left.
    pub release_after: units::Duration,
}

/// The Unix socket of reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnixConfig {
    /// Where it is.
    pub path: PathBuf,
    /// A reader that does not take a line within this time is closed.
    pub unread_timeout: Duration,
}

/// A source of reports.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// Its name in logs and metrics.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Wait for it to connect rather than connect to it (`unix:` and `tcp:`).
    pub listen: Option<Listening>,
    /// What it sends.
    pub kind: SourceKind,
}

/// The limits of a source that is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listening {
    /// Concurrent connections: when one more comes, the one that has been idle for longest is closed.
    pub max_connections: usize,
    /// A connection whose first message of the source's form has not come after this is closed.
    pub first_line: Duration,
    /// One that has sent neither a message nor an empty line for this is closed.
    pub silence: Duration,
}

impl Default for Listening {
    fn default() -> Self {
        Self {
            max_connections: 16,
            first_line: Duration::from_secs(10),
            silence: Duration::from_secs(300),
        }
    }
}

/// What a source sends.
#[derive(Clone, Debug)]
pub enum SourceKind {
    /// Radio reports and events: lines of JSON, or messages of a broker.
    Reports {
        /// Exchange or subject, of a broker.
        topic: String,
    },
    /// A recording of radio reports.
    Replay {
        /// How much faster than it was recorded.
        speed: f64,
        /// Begin again at the end.
        repeat: bool,
    },
    /// Metrics of srsRAN Project or OCUDU.
    SrsRan {
        /// The cell.
        cell: CellProfile,
        /// Its physical identity, where there are several.
        pci: Option<u16>,
    },
    /// Indications of FlexRIC.
    FlexRic {
        /// The cell.
        cell: CellProfile,
    },
    /// Statistics of FlexRAN.
    FlexRan {
        /// The cell.
        cell: CellProfile,
        /// Its base station, where there are several.
        bs_id: Option<u64>,
    },
    /// KPIs of OAI's rnis-xApp.
    OaiXapp {
        /// The cell.
        cell: CellProfile,
        /// The queue.
        queue: String,
    },
    /// CSV of the RAPID and MELD prototypes.
    LegacyCsv {
        /// The cell.
        cell: CellProfile,
        /// The queue.
        queue: String,
        /// The UE that all messages describe.
        ue: IpAddr,
        /// Its RNTI.
        rnti: rnis::Rnti,
    },
    /// E2SM-KPM indications.
    Kpm {
        /// The cell.
        cell: CellProfile,
    },
    /// What passes on F1-U, captured at an interface or in a file.
    F1u {
        /// What to make of it.
        monitor: f1u::Config,
        /// Bytes of packets that may wait in the kernel.
        buffer: usize,
    },
}

/// The form of published reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON.
    Json,
    /// The compact binary form.
    Binary,
}

/// A topic of a broker.
#[derive(Clone, Debug)]
pub struct TopicConfig {
    /// The broker.
    pub address: Address,
    /// Exchange (AMQP) or beginning of the subject (NATS).
    pub topic: String,
    /// The form.
    pub format: Format,
}

/// The REST interface.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How clients reach it: scheme, host and port.
    pub public_url: String,
    /// Certificate chain and key (PEM); without, plain HTTP, on loopback only.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The clients that may send requests.
    pub clients: Vec<ClientConfig>,
    /// How long a token is good.
    pub token_lifetime: Duration,
    /// Requests of one client in a second, in the long run.
    pub rate: f64,
    /// Requests at once.
    pub burst: f64,
    /// Longest body, in bytes.
    pub max_body: usize,
    /// Maximum number of concurrent connections.
    pub max_connections: usize,
    /// Maximum number of subscriptions of one client.
    pub max_subscriptions: usize,
    /// How long before its end a client is notified of it.
    pub expiry_notice: Duration,
    /// The form of queries' answers and of the list of subscriptions.
    pub answers: AnswerForm,
    /// The form of links in notifications.
    pub notification_links: LinkForm,
    /// Header names of answers in Title-Case rather than in lower case.
    pub title_case: bool,
    /// Networks in which callbacks are allowed; without any, none is. This host's own addresses and those that
    /// only it reaches are not among them unless they are listed themselves.
    pub callback_networks: Vec<Network>,
    /// Authorities for callbacks and the MEC platform (PEM); without, the system's.
    pub ca_file: Option<PathBuf>,
}

/// The form of answers that hold one of a data type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AnswerForm {
    /// In an object with one property of its name, as the OpenAPI document has it.
    #[default]
    Wrapped,
    /// As it is.
    Bare,
}

/// A client of the REST interface.
#[derive(Clone)]
pub struct ClientConfig {
    /// Its name.
    pub id: String,
    /// SHA-256 of its secret.
    pub secret_sha256: [u8; 32],
    /// May query.
    pub query: bool,
    /// May subscribe.
    pub subscribe: bool,
    /// Its application instance.
    pub app_instance: String,
}

impl std::fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientConfig")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A MEC platform at which the service registers (ETSI GS MEC 011).
#[derive(Clone)]
pub struct PlatformConfig {
    /// Its service management, e.g. `https://mep/mec_service_mgmt/v1`.
    pub url: String,
    /// The service's application instance.
    pub app_instance: String,
    /// Bearer token for it.
    pub token: Option<String>,
}

impl std::fmt::Debug for PlatformConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlatformConfig")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Config {
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
}

#[cfg(test)]
mod tests;
