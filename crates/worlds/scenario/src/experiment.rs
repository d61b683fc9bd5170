//! A typed experiment: what a scenario file specifies once it has been read, extended, overridden and
//! checked. Both worlds run it.

use crate::apps::{PageSpec, VideoSpec};
use crate::call::CallSpec;
use crate::cells::CellsSpec;
use crate::moving::MovingSpec;
use crate::tunnel::TunnelSpec;
use cc::{BuildConfig, RateReport, Reporter, cdbe, meld};
use edge::marker::MarkerConfig;
use edge::uplink::UplinkConfig;
use edge::{Actuator, EdgeConfig};
use queue::{Capacity, DisciplineConfig};
use ran::{BearerConfig, CellConfig};
use recovery::Validation;
use std::path::PathBuf;
use std::sync::Arc;
use units::{BitRate, Bytes, Cqi, Decibel, Duration, Mcs, Prb};

/// One experiment, with all knobs set: a point of a sweep, to be repeated with several seeds.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of the scenario.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// Seed of the first repeat; repeat k uses seed + k.
    pub seed: u64,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// The run ends at this time at the latest, and before if every finite flow is complete and no
    /// other flow is left running.
    pub duration: Duration,
    /// Step of the time series.
    pub sample_interval: Duration,
    /// The way from the servers to the edge.
    pub path: PathSpec,
    /// The bottleneck. With a tunnel: the radio cell if one of its paths has it, else the first
    /// path's link.
    pub access: AccessSpec,
    /// All cells and the handovers between them, where there are several.
    pub cells: Option<CellsSpec>,
    /// The users, at least one.
    pub ues: Vec<UeSpec>,
    /// The flows, at least one, in the file's order.
    pub flows: Vec<FlowSpec>,
    /// The proxy.
    pub pep: PepSpec,
    /// The radio as servers with MELD see it.
    pub meld: MeldSpec,
    /// Flows whose clients report the bandwidth that they measure.
    pub cdbe: CdbeSpec,
    /// The multipath tunnel between the edge and the users, if there is one.
    pub tunnel: Option<TunnelSpec>,
}

/// The way between the servers and the edge.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    /// End-to-end base round-trip time, the access included. The path's own delay is what the
    /// access leaves of it.
    pub rtt: Duration,
    /// Rate of each direction.
    pub rate: BitRate,
    /// Buffer of each direction.
    pub buffer: Capacity,
    /// How it is managed.
    pub queue: DisciplineConfig,
    /// Random loss of each packet and direction, 0 to 1.
    pub loss: f64,
    /// Largest extra delay, uniform for each packet; packets stay in order.
    pub jitter: Duration,
}

/// The bottleneck.
#[derive(Clone, Debug)]
pub enum AccessSpec {
    /// A radio cell.
    Cell(Box<CellSpec>),
    /// A wired link: the dumbbell.
    Link(LinkSpec),
}

/// A radio cell.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The cell.
    pub config: CellConfig,
    /// Load that belongs to no UE.
    pub background: LoadSpec,
    /// The base station is in two parts with F1-U between them, off which radio reports are read (the lab alone).
    pub has_f1u: bool,
    /// Between the core and the base station is a wire, N3, on which packets pass in GTP-U (the lab alone).
    pub has_n3: bool,
}

/// A wired bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Rate towards the UE, until the first step.
    pub rate: BitRate,
    /// From when on it is which other, in order.
    pub rate_steps: Vec<(Duration, BitRate)>,
    /// Rate from the UE.
    pub uplink_rate: BitRate,
    /// One-way delay of the link itself.
    pub delay: Duration,
    /// Buffer.
    pub buffer: Capacity,
    /// How the buffer of each direction is managed.
    pub queue: DisciplineConfig,
    /// Random loss towards the UE, 0 to 1.
    pub loss: f64,
    /// Largest extra delay in each direction, uniform for each packet; packets stay in order.
    pub jitter: Duration,
    /// When it carries nothing, if ever.
    pub outage: Option<OutageSpec>,
}

/// A time during which something is not carried: a wire's packets, or clients' reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageSpec {
    /// It begins.
    pub from: Duration,
    /// It ends, later; never if none.
    pub until: Option<Duration>,
}

impl OutageSpec {
    /// Whether it lasts, so long after the run's beginning.
    pub fn lasts_at(&self, since_start: Duration) -> bool {
        since_start >= self.from && self.until.is_none_or(|until| since_start < until)
    }
}

/// Load of a cell by others.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// None.
    None,
    /// A fixed number of PRBs in every slot.
    Constant(Prb),
    /// So many PRBs in a random share of the slots.
    Random {
        /// PRBs when active.
        prb: Prb,
        /// Share of active slots, 0 to 1.
        share: f64,
    },
    /// What the DCI trace that also drives the UE shows others to use.
    Trace(Arc<radio::trace::Trace>),
}

/// A user.
#[derive(Clone, Debug)]
pub struct UeSpec {
    /// Name, as flows refer to it.
    pub name: String,
    /// Channel.
    pub channel: ChannelSpec,
    /// What the cell's uplink carries, as recorded; none: blocks follow the cell's configuration.
    pub uplink: Option<TraceSpec>,
    /// Bearers; empty for a wired access.
    pub bearers: Vec<BearerConfig>,
    /// What becomes of its packets above its modem; none: they go into it.
    pub uplink_queue: Option<UplinkQueueSpec>,
}

/// The queue of a user above its modem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkQueueSpec {
    /// What decides.
    pub config: UplinkConfig,
    /// From one status of the modem to the next, above zero.
    pub status_period: Duration,
}

/// A trace, already read, and how it is played.
#[derive(Clone, Debug)]
pub struct TraceSpec {
    /// Its file.
    pub path: PathBuf,
    /// Its contents.
    pub trace: Arc<radio::trace::Trace>,
    /// How it is played.
    pub playback: radio::trace::Playback,
    /// The run begins by up to so much after the playback's offset, as each run's seed draws it.
    pub offset_spread: Duration,
}

/// A UE's channel.
#[derive(Clone, Debug)]
pub enum ChannelSpec {
    /// Always this MCS.
    ConstantMcs {
        /// Index into the cell's table.
        mcs: Mcs,
        /// First-transmission block error rate, 0 to 1.
        bler: f64,
    },
    /// Always this CQI, mapped by the policy.
    ConstantCqi {
        /// The CQI, 1 to 15.
        cqi: Cqi,
        /// Policy.
        policy: radio::CqiToMcs,
        /// First-transmission block error rate, 0 to 1.
        bler: f64,
    },
    /// This SINR, but for fades; CQI, MCS and BLER follow.
    ConstantSinr {
        /// The SINR.
        sinr: Decibel,
        /// Link adaptation.
        adaptation: radio::LinkAdaptationConfig,
        /// What an interferer that comes and goes does to it.
        fades: Option<radio::FadeConfig>,
    },
    /// Driven by a trace.
    Trace(TraceSpec),
    /// Worked out from place and movement.
    Moving(Arc<MovingSpec>),
    /// A wired access has no channel.
    Wired,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// QUIC.
    Quic,
}

/// Which way a flow's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the UE.
    Down,
    /// From the UE.
    Up,
}

/// Explicit congestion notification of a flow, both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnSpec {
    /// None: its packets are not ECN-capable.
    #[default]
    Off,
    /// RFC 3168: ECT(0). TCP answers a mark as a loss (DCTCP: by the share of marked data, RFC 8257).
    Classic,
    /// RFC 9331: ECT(1), for queues of low latency. TCP needs a scalable congestion control.
    L4s,
}

/// A flow: one application over one connection (or several, one after the other).
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Name; states the role.
    pub name: String,
    /// Index into [`Experiment::ues`].
    pub ue: usize,
    /// Transport.
    pub transport: Transport,
    /// Direction of the data.
    pub direction: Direction,
    /// Congestion control of the data's sender (TCP, QUIC).
    pub cc: CcSpec,
    /// MELD round it, if the sender consults the radio about losses.
    pub meld: Option<meld::Variant>,
    /// What its client measures, if anything.
    pub report: Option<Reporter>,
    /// Explicit congestion notification. UDP only has its packets carry it: marks are not answered.
    pub ecn: EcnSpec,
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Time of the first request or packet.
    pub start: Duration,
    /// It begins by up to so much later, as each run's seed draws it.
    pub start_jitter: Duration,
    /// What it does.
    pub app: AppSpec,
    /// Sizes and buffers of both ends (TCP, QUIC).
    pub tcp: TcpSpec,
    /// True if the proxy takes this flow (TCP only).
    pub intercepted: bool,
}

/// How clients report, and servers use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdbeSpec {
    /// Whose equations.
    pub mode: cdbe::Mode,
    /// StartupCount, at least 1.
    pub startup_rounds: u32,
    /// n, at least 1.
    pub queue_up_windows: u32,
    /// m, at least 1.
    pub queue_down_windows: u32,
    /// gamma, 0 to 1.
    pub inflight_share: f64,
    /// Of mode `default`.
    pub constants: cdbe::Constants,
    /// What clients report before they have measured.
    pub initial_report: RateReport,
    /// What the clients' timestamps count in, above zero.
    pub timestamp_tick: Duration,
    /// How often a modem reports the link to its client, above zero.
    pub radio_period: Duration,
    /// Whether clients of CQIC subtract block errors.
    pub cqic_subtracts_errors: bool,
    /// Round-trip time that clients of UDP flows reckon with, above zero.
    pub udp_rtt: Duration,
    /// When a host on the way removes reports from acknowledgements, if ever.
    pub stripped: Option<OutageSpec>,
}

impl CdbeSpec {
    /// The client of CDBE, as configured.
    pub fn estimator(&self) -> cdbe::estimator::Config {
        cdbe::estimator::Config {
            mode: self.mode,
            initial_report: self.initial_report,
        }
    }

    /// The server of CDBE, as configured.
    pub fn server(&self, build: BuildConfig) -> cdbe::Config {
        let mut config = cdbe::Config::new(self.mode, build);
        config.server.startup_rounds = u64::from(self.startup_rounds);
        config.server.ups = u64::from(self.queue_up_windows);
        config.server.downs = u64::from(self.queue_down_windows);
        config.server.inflight_share = (self.inflight_share * 1_000.0).round() as u64;
        config.server.constants = self.constants;
        config
    }
}

/// A congestion control by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CcSpec {
    /// As [`cc::build`] takes it, or behind [`CUSTOM_PREFIX`] that of one which the caller brings along.
    pub name: String,
}

/// What names of controllers and queue managements begin with that are written in Python.
pub const CUSTOM_PREFIX: &str = "python:";

/// Whether a name is that of a mechanism which the caller brings along.
pub fn is_custom(name: &str) -> bool {
    let custom = name.strip_prefix(CUSTOM_PREFIX);
    custom.is_some_and(|custom| !custom.is_empty())
}

/// What an application does.
#[derive(Clone, Debug, PartialEq)]
pub enum AppSpec {
    /// So many bytes, then done.
    Bulk {
        /// Size.
        size: Bytes,
    },
    /// Data without end.
    Continuous,
    /// A page of `size` every `interval`, on one connection; the load time of each is measured. A
    /// page whose predecessor is still loading waits for it.
    Web {
        /// Bytes of a page.
        size: Bytes,
        /// From one request to the next.
        interval: Duration,
        /// The server sends a page no faster than this, if set.
        rate: Option<BitRate>,
    },
    /// Transfers of `size`, each on a new connection, one every `interval`.
    Short {
        /// Bytes of a transfer.
        size: Bytes,
        /// From one start to the next.
        interval: Duration,
        /// How many.
        count: u32,
    },
    /// The output of a command over SSH: so many bytes after the handshake's exchanges, on one connection.
    Ssh {
        /// Bytes of the output.
        size: Bytes,
    },
    /// Adaptive video, its segments one after the other on one connection.
    Video(Arc<VideoSpec>),
    /// Pages of many objects, several of which are loaded at a time: over HTTP/2 (TCP) or HTTP/3 (QUIC).
    Page(Arc<PageSpec>),
    /// UDP at a constant rate.
    Cbr {
        /// Rate of the payload.
        rate: BitRate,
        /// Payload of a packet.
        packet: Bytes,
        /// Ends after this time, if set.
        stop: Option<Duration>,
    },
    /// UDP voice: `packet` every `interval`.
    Voip {
        /// Payload of a packet.
        packet: Bytes,
        /// Interval.
        interval: Duration,
    },
    /// UDP gaming: normally distributed intervals (cut at zero).
    Gaming {
        /// Payload of a packet.
        packet: Bytes,
        /// Mean interval.
        interval: Duration,
        /// Standard deviation of the interval.
        deviation: Duration,
    },
    /// A video call over UDP whose rate adapts.
    Call(Arc<CallSpec>),
}

/// TCP parameters of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// Maximum segment size (payload).
    pub mss: Bytes,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Largest receive buffer.
    pub receive_buffer: Bytes,
    /// Largest send buffer.
    pub send_buffer: Bytes,
    /// Delayed acknowledgements (RFC 1122 4.2.3.2).
    pub delayed_ack: bool,
    /// Which rules validate a congestion window that is not used.
    pub validation: Validation,
}

/// Radio reports on their way to their readers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportSpec {
    /// From one report to the next, above zero.
    pub period: Duration,
    /// Age of a report when it reaches its reader.
    pub delay: Duration,
    /// Probability that a report is lost, 0 to 1.
    pub loss: f64,
    /// All reports made during so long are lost, at the end of every `gap_interval`; less than that.
    pub gap: Duration,
    /// From the end of one gap to the end of the next, above zero.
    pub gap_interval: Duration,
}

/// What servers whose flows use MELD receive reports on the radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeldSpec {
    /// Radio reports to the servers.
    pub reports: ReportSpec,
    /// Reports older than this explain no loss.
    pub max_age: Duration,
}

/// The proxy at the edge.
#[derive(Clone, Debug, PartialEq)]
pub struct PepSpec {
    /// What it does.
    pub mode: PepMode,
    /// Radio reports to it.
    pub reports: ReportSpec,
    /// Maximum bytes that the proxy buffers for one flow and direction.
    pub buffer: Bytes,
    /// How windows towards UEs are set.
    pub actuator: Actuator,
    /// What the simulated proxy's TCP can show and bound between two decisions.
    pub windows: WindowControl,
    /// How packets that are not split are marked on their way to users, if they are.
    pub unsplit: Option<MarkerConfig>,
    /// How they wait at the edge instead, if they do.
    pub held: Option<MarkerConfig>,
    /// They are marked in GTP-U on N3, and not at the edge (the lab alone).
    pub marks_on_n3: bool,
}

/// What the simulated proxy's TCP can show and bound between two decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowControl {
    /// Every window at once, a closed one too; what it holds unsent is bounded by its buffer alone.
    Exact,
    /// What the daemon does on Linux: the rules of [`edge::ShownWindow`] and [`edge::UnsentBound`].
    Linux,
}

/// What the proxy does.
#[derive(Clone, Debug, PartialEq)]
pub enum PepMode {
    /// There is none: connections run end to end.
    None,
    /// It splits connections, without looking at the radio (Cubic towards the UE).
    Split,
    /// RAPID: how the proxy decides.
    Rapid(Box<EdgeConfig>),
}
