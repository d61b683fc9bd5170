//! What a cell is made of. Presets are in `presets.rs`, checks in `check.rs`.

use core::net::IpAddr;
use queue::{Capacity, DisciplineConfig, QueueConfig};
use radio::trace::CellParameters;
use radio::{BlerFamily, Channel, Load, PrbGroups, UplinkChannel};
use rnis::{CellId, McsTable, Rnti};
use units::{BitRate, Duration, Hertz, Mcs, Prb};

/// Radio access technology and numerology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rat {
    /// LTE: 15 kHz, transmission time interval 1 ms.
    Lte,
    /// NR numerology mu, 0 to 4: 15 kHz x 2^mu, slots of 1 ms / 2^mu (TS 38.211 Table 4.3.2-1).
    Nr {
        /// mu.
        numerology: u8,
    },
}

impl Rat {
    /// Duration of one slot.
    pub const fn slot_duration(self) -> Duration {
        match self {
            Self::Lte => Duration::from_millis(1),
            Self::Nr { numerology } => Duration::from_nanos(1_000_000 >> numerology),
        }
    }
    /// Sub-carrier spacing.
    pub const fn sub_carrier_spacing(self) -> Hertz {
        match self {
            Self::Lte => Hertz::from_khz(15),
            Self::Nr { numerology } => Hertz::from_khz(15 << numerology),
        }
    }
}

/// How PRBs are divided between UEs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerKind {
    /// Equal PRBs in turn.
    RoundRobin,
    /// Instantaneous rate over average rate; the average decays with this time constant.
    ProportionalFair {
        /// Time constant of the average rate.
        time_constant: Duration,
    },
    /// The best channel first.
    MaximumRate,
}

impl SchedulerKind {
    /// Their names in files.
    pub const NAMES: [&'static str; 3] = ["round-robin", "proportional-fair", "maximum-rate"];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => Self::NAMES[0],
            Self::ProportionalFair { .. } => Self::NAMES[1],
            Self::MaximumRate => Self::NAMES[2],
        }
    }
}

/// How HARQ combines repeated transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combining {
    /// Each attempt stands alone.
    None,
    /// Chase combining: the SINRs of all attempts add up, linearly.
    Chase,
    /// Incremental redundancy: as chase, and the code rate falls with each attempt.
    IncrementalRedundancy,
}

impl Combining {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Chase, Self::IncrementalRedundancy];
    /// Their names in files, in the same order.
    pub const NAMES: [&'static str; 3] = [
        Self::ALL[0].name(),
        Self::ALL[1].name(),
        Self::ALL[2].name(),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Chase => "chase",
            Self::IncrementalRedundancy => "incremental-redundancy",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.name() == name)
    }
}

/// Hybrid ARQ (TS 36.321 5.3.2, TS 38.321 5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqConfig {
    /// Stop-and-wait processes of each UE, 1 to 32 (LTE FDD: 8, NR: 16).
    pub processes: u8,
    /// Slots from a transmission to its earliest retransmission (LTE FDD: 8).
    pub round_trip_slots: u32,
    /// Maximum transmissions of one transport block, first included.
    pub max_transmissions: u8,
    /// Combining.
    pub combining: Combining,
}

/// RLC mode and its timers (TS 36.322, TS 38.322).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Acknowledged mode.
    Am(RlcAmConfig),
    /// Unacknowledged mode.
    Um {
        /// Wait for a missing PDU before going on without it (t-Reassembly, and t-Reordering of PDCP).
        t_reassembly: Duration,
    },
}

/// RLC acknowledged mode (TS 38.322 section 7.4, 7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcAmConfig {
    /// t-PollRetransmit.
    pub t_poll_retransmit: Duration,
    /// t-Reassembly.
    pub t_reassembly: Duration,
    /// t-StatusProhibit.
    pub t_status_prohibit: Duration,
    /// pollPDU: a poll at least every so many PDUs.
    pub poll_pdu: u32,
    /// maxRetxThreshold: retransmissions of one PDU after which it is given up (and counted).
    pub max_retx: u8,
}

/// A data radio bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerConfig {
    /// QoS flow identifiers that SDAP maps onto it (0 to 63). The first bearer takes all others.
    pub qfis: Vec<u8>,
    /// RLC mode.
    pub rlc: RlcMode,
    /// Downlink RLC buffer; drop-tail unless [`CellConfig::queues`] sets another.
    pub downlink_buffer: Capacity,
    /// Uplink buffer in the UE.
    pub uplink_buffer: Capacity,
    /// Its discipline, as it is in the modem.
    pub uplink_discipline: DisciplineConfig,
    /// Random loss of each downlink packet that neither HARQ nor RLC repair, 0 to 1.
    pub loss: f64,
}

/// Uplink access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkConfig {
    /// PRBs of the uplink carrier.
    pub n_prb: Prb,
    /// MCS of uplink transport blocks (same table as downlink).
    pub mcs: Mcs,
    /// Period of scheduling-request opportunities; zero: configured grants, no request is needed.
    pub sr_period: Duration,
    /// From a scheduling request to the first slot that it may use (request, grant, preparation), and from a buffer status
    /// report to the first slot whose grant follows it; no shorter than decoding.
    pub grant_delay: Duration,
    /// What grants follow.
    pub grants: Grants,
    /// How long after its last data a UE keeps being granted without a new request.
    pub inactivity: Duration,
    /// What decides on MCS and errors of its blocks.
    pub link: UplinkLink,
}

/// What grants of the uplink follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grants {
    /// What the UE has, which the base station is shown at once.
    #[default]
    Demand,
    /// Buffer status reports (TS 38.321 5.4.5): what the UE had the grant delay before, by levels.
    BufferStatus,
}

impl Grants {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Demand, Self::BufferStatus];
    /// Their names in files, in the same order.
    pub const NAMES: [&'static str; 2] = ["demand", "buffer-status"];

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|of| *of == name);
        at.map(|at| Self::ALL[at])
    }
}

/// What decides on MCS and errors of uplink blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UplinkLink {
    /// The configured MCS, free of errors.
    FixedMcs,
    /// The UE's [`UplinkChannel`], its power being spread over the PRBs that it is granted. The MCS is that of the SINR
    /// on these PRBs: the base station is informed of the power headroom (TS 36.213 5.1.1.2).
    PowerHeadroom,
    /// As ns-3's schedulers do: all UEs that have anything to send are granted equally many adjoining PRBs, three at
    /// least, and the MCS is the robust one ([`UplinkChannel::robust_mcs`]) of the worst of them, as the SINR was
    /// measured with the power spread over the whole carrier.
    Ns3,
    /// So many bytes for the whole carrier in each slot, free of errors and headers, as was recorded. An uplink slot of
    /// a TDD pattern carries what was recorded since the one before: the pattern changes when bytes go, not how many.
    Recorded,
}

impl UplinkLink {
    /// Names of those with a link budget in files.
    pub const MCS_FROM: [&'static str; 2] = ["power-headroom", "ns3"];
}

/// Whether and how the downlink is scheduled by groups of PRBs ([`radio::PrbGroups`]), each with a CQI and an SINR of
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubBands {
    /// Not: the channel of a UE has one CQI, and all PRBs are alike.
    None,
    /// A block on several groups has the MCS of the highest CQI whose efficiency is no more than the mean of theirs.
    Mean,
    /// It has the MCS of the worst of their CQIs: as ns-3 does.
    Worst,
}

impl SubBands {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Mean, Self::Worst];
    /// Their names in files, in the same order.
    pub const NAMES: [&'static str; 3] = ["none", "mean", "worst"];

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|of| *of == name);
        at.map(|at| Self::ALL[at])
    }
}

/// Queue management of the downlink, layer by layer; every bearer has these three queues.
///
/// ```text
///   N3 -> [ UPF ] -> [ SDAP ] -> [ RLC ] -> MAC
///            ^ room     ^ room      ^ on_slot
/// ```
///
/// UPF and SDAP each forward some packets at fixed times, as far as the layer below has room.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuesConfig {
    /// The UPF's queue.
    pub upf: QueueConfig,
    /// The queues of the SDAP sublayer. None: packets stay in the RLC's queue until the MAC pulls
    /// them, and what UPF hands down goes there (late binding).
    pub sdap: Option<QueueConfig>,
    /// The RLC's queue; its capacity is the bearer's downlink buffer, save with late binding, where
    /// what waits is not in the RLC yet.
    pub rlc: QueueConfig,
    /// From one time that a layer forwards to the next; the SDAP sublayer half a period after the
    /// UPF. Zero: each packet at once.
    pub forward_period: Duration,
    /// Maximum packets of a bearer that a layer forwards at a time.
    pub forward_packets: u32,
    /// The transmission time interval that queue management reckons with: from one slot that the
    /// MAC fills to the next.
    pub tti: Duration,
}

/// Downlink load that belongs to no simulated UE.
pub type Background = Option<Box<dyn Load>>;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// Identity in reports.
    pub id: CellId,
    /// Technology.
    pub rat: Rat,
    /// PRBs of the downlink carrier.
    pub n_prb: Prb,
    /// TDD pattern of `D`, `U` and `S` (special, counted as downlink of 10/14) slots, or empty for FDD.
    pub tdd_pattern: String,
    /// MCS table of the downlink.
    pub mcs_table: McsTable,
    /// Spatial layers, 1 to 8 (NR), 1 (LTE).
    pub layers: u8,
    /// Data resource elements per PRB and slot (NR; TS 38.214 5.1.3.2 N'_RE), 1 to 156.
    pub data_re_per_prb: u16,
    /// Scheduler.
    pub scheduler: SchedulerKind,
    /// Scheduling by groups of PRBs.
    pub sub_bands: SubBands,
    /// HARQ.
    pub harq: HarqConfig,
    /// Link-level curves for the block error rate.
    pub bler: BlerFamily,
    /// From a packet's arrival at the UPF to the earliest slot that may carry it.
    pub downlink_processing: Duration,
    /// From the end of a slot to the delivery of what it carried (decoding, upper layers).
    pub receive_processing: Duration,
    /// Uplink.
    pub uplink: UplinkConfig,
    /// Residual probability that a transport block's failure is taken for success (NACK read as
    /// ACK), left to RLC; 0 to 1.
    pub harq_feedback_error: f64,
    /// Forward rate limit of the N3/S1 interface into the cell, if any.
    pub n3_rate: Option<BitRate>,
    /// Room for what that interface has not passed on; counts with a rate alone.
    pub n3_buffer: Capacity,
    /// Queue management of the downlink; none: a drop-tail RLC buffer for each bearer, and nothing
    /// waits above it.
    pub queues: Option<Box<QueuesConfig>>,
}

impl CellConfig {
    /// The groups of PRBs of the downlink carrier.
    pub fn prb_groups(&self) -> PrbGroups {
        self.groups_of(self.n_prb)
    }
    /// Those of the uplink carrier.
    pub fn uplink_groups(&self) -> PrbGroups {
        self.groups_of(self.uplink.n_prb)
    }
    /// What playing a trace of the downlink needs of the cell.
    pub fn trace_parameters(&self) -> CellParameters {
        CellParameters {
            table: self.mcs_table,
            n_prb: self.n_prb,
            slot_duration: self.rat.slot_duration(),
            layers: self.layers,
            data_re_per_prb: self.data_re_per_prb,
        }
    }
    /// The same of the uplink.
    pub fn uplink_trace_parameters(&self) -> CellParameters {
        CellParameters {
            n_prb: self.uplink.n_prb,
            layers: 1,
            ..self.trace_parameters()
        }
    }
    fn groups_of(&self, n_prb: Prb) -> PrbGroups {
        match self.rat {
            Rat::Lte => PrbGroups::lte(n_prb.get()),
            Rat::Nr { .. } => PrbGroups::nr(n_prb.get()),
        }
    }
}

/// What a UE's uplink follows.
pub enum UplinkSource {
    /// An SINR ([`UplinkLink::PowerHeadroom`], [`UplinkLink::Ns3`]).
    Sinr(Box<dyn UplinkChannel>),
    /// Opportunities of the whole uplink carrier ([`UplinkLink::Recorded`]); in any other state of the channel's link
    /// nothing can be sent.
    Recorded(Box<dyn Channel>),
}

/// One UE of a cell.
pub struct UeConfig {
    /// Identity in reports, unique in the cell.
    pub rnti: Rnti,
    /// Address in reports.
    pub ip: Option<IpAddr>,
    /// Its downlink channel.
    pub channel: Box<dyn Channel>,
    /// Its uplink, where [`UplinkConfig::link`] asks for one.
    pub uplink: Option<UplinkSource>,
    /// Its bearers, at least one.
    pub bearers: Vec<BearerConfig>,
}
