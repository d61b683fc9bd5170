//! What the cell keeps for each UE and each bearer.

use crate::check::ConfigError;
use crate::config::{BearerConfig, Rat, UeConfig, UplinkSource};
use crate::frame::{Frame, SlotNumber};
use crate::mac::harq::Harq;
use crate::mac::scheduler::Average;
use crate::output::Direction;
use crate::rlc::{RandomLoss, Rlc};
use crate::sdap::QfiMap;
use crate::stats::{BearerStats, DirectionStats};
use crate::timers::EntityId;
use crate::uplink::buffer_status::BufferStatus;
use core::net::IpAddr;
use core::ops::Range;
use queue::{DisciplineConfig, Packet, QueueConfig};
use radio::{Channel, ChannelState, Link, SubBands, UplinkChannel};
use rnis::Rnti;
use units::{Bytes, Instant, Rng};

/// The channel of one UE, and how far its capacity has been counted.
pub(crate) struct UeChannel {
    channel: Box<dyn Channel>,
    /// The last state, and the slot that it was read for.
    last: Option<(SlotNumber, ChannelState)>,
    /// The first slot that is not in the UE's capacity yet.
    pub(crate) accounted: SlotNumber,
}

impl UeChannel {
    /// The state in `slot`, which is not before any slot read earlier.
    pub(crate) fn state(&mut self, frame: &Frame, slot: SlotNumber) -> ChannelState {
        if let Some((read_for, state)) = self.last
            && (read_for == slot || frame.start(slot) < state.holds_until)
        {
            return state;
        }
        let state = self.channel.state(frame.start(slot), frame.slot());
        self.last = Some((slot, state));
        state
    }

    /// The groups of PRBs in `slot`, which is not before any slot read earlier.
    pub(crate) fn sub_bands(&mut self, frame: &Frame, slot: SlotNumber) -> Option<SubBands<'_>> {
        self.channel.sub_bands(frame.start(slot))
    }
}

/// The uplink of one UE, where its blocks have errors.
pub(crate) struct UeUplink {
    pub(crate) channel: Box<dyn UplinkChannel>,
    pub(crate) harq: Harq,
}

/// The uplink of one UE, where what it carries was recorded.
pub(crate) struct RecordedUplink {
    channel: Box<dyn Channel>,
    /// The last uplink slot that was read, and its bytes.
    last: Option<(SlotNumber, u64)>,
}

impl RecordedUplink {
    /// Bytes of the whole carrier in an uplink slot, which is not before any read earlier: those since the uplink slot
    /// before it.
    pub(crate) fn bytes(&mut self, frame: &Frame, slot: SlotNumber) -> u64 {
        if let Some((read_for, bytes)) = self.last
            && read_for == slot
        {
            return bytes;
        }
        let from = frame.after_uplink_before(slot);
        let time = frame.slot() * (slot + 1 - from);
        let bytes = match self.channel.state(frame.start(from), time).link {
            Link::Opportunity { bytes, .. } => bytes.get(),
            Link::Mcs { .. } | Link::Outage => 0,
        };
        self.last = Some((slot, bytes));
        bytes
    }
}

/// Uplink access of one UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    /// The first slot that it may use, while it has something to send.
    pub(crate) usable_from: SlotNumber,
    /// Without new data it keeps being granted until then.
    pub(crate) kept_until: Option<Instant>,
}

/// Totals at the last report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportMark {
    pub(crate) prbs: u64,
    pub(crate) block_bytes: Bytes,
    pub(crate) served: Bytes,
    pub(crate) retransmissions: u64,
    /// Packets that the radio lost.
    pub(crate) lost: u64,
    /// Number of the next report.
    pub(crate) seq: u64,
}

/// One UE.
pub(crate) struct Ue {
    pub(crate) rnti: Rnti,
    pub(crate) ip: Option<IpAddr>,
    pub(crate) channel: UeChannel,
    pub(crate) uplink: Option<UeUplink>,
    pub(crate) recorded: Option<RecordedUplink>,
    pub(crate) sdap: QfiMap,
    /// Its bearers in the cell's list.
    pub(crate) bearers: Range<usize>,
    pub(crate) harq: Harq,
    pub(crate) grant: Grant,
    /// The state of its buffer at the base station, where grants follow that.
    pub(crate) buffer_status: BufferStatus,
    pub(crate) average: Average,
    /// The bearer that fills the next transport block first, by direction.
    pub(crate) turn: [usize; 2],
    pub(crate) mark: ReportMark,
}

impl Ue {
    /// `rngs` are for HARQ of the downlink and of the uplink.
    pub(crate) fn new(config: UeConfig, first_bearer: usize, rngs: [Rng; 2]) -> Self {
        let [rng, uplink_rng] = rngs;
        let (uplink, recorded) = match config.uplink {
            None => (None, None),
            Some(UplinkSource::Sinr(channel)) => {
                let harq = Harq::new(uplink_rng);
                (Some(UeUplink { channel, harq }), None)
            }
            Some(UplinkSource::Recorded(channel)) => (
                None,
                Some(RecordedUplink {
                    channel,
                    last: None,
                }),
            ),
        };
        Self {
            rnti: config.rnti,
            ip: config.ip,
            channel: UeChannel {
                channel: config.channel,
                last: None,
                accounted: 0,
            },
            uplink,
            recorded,
            sdap: QfiMap::new(&config.bearers),
            bearers: first_bearer..first_bearer + config.bearers.len(),
            harq: Harq::new(rng),
            grant: Grant {
                usable_from: 0,
                kept_until: None,
            },
            buffer_status: BufferStatus::default(),
            average: Average::default(),
            turn: [0; 2],
            mark: ReportMark::default(),
        }
    }

    /// The HARQ processes of a direction: the uplink's where its blocks have errors.
    pub(crate) fn harq_mut(&mut self, direction: Direction) -> &mut Harq {
        match (direction, &mut self.uplink) {
            (Direction::Uplink, Some(uplink)) => &mut uplink.harq,
            _ => &mut self.harq,
        }
    }
}

/// One bearer.
#[derive(Debug)]
pub(crate) struct Bearer<P> {
    pub(crate) ue: u32,
    /// Its number within the UE.
    pub(crate) number: usize,
    downlink: Rlc<P>,
    uplink: Rlc<P>,
}

impl<P: Packet + Send> Bearer<P> {
    pub(crate) fn new(
        rat: Rat,
        (ue, number): (u32, usize),
        config: &BearerConfig,
        downlink: &QueueConfig,
        stream: impl Fn(&str) -> Rng,
    ) -> Result<Self, ConfigError> {
        let entity = |buffer: &QueueConfig, name| {
            Rlc::new(rat, &config.rlc, buffer, stream(name)).map_err(ConfigError::Queue)
        };
        let mut downlink = downlink.clone();
        if !matches!(downlink.discipline, DisciplineConfig::LateBinding(_)) {
            downlink.capacity = config.downlink_buffer;
        }
        let mut downlink = entity(&downlink, "rlc")?;
        if config.loss > 0.0 {
            downlink.lose(RandomLoss::new(config.loss, stream("loss")));
        }
        let uplink = QueueConfig {
            discipline: config.uplink_discipline.clone(),
            ..QueueConfig::drop_tail(config.uplink_buffer)
        };
        Ok(Self {
            ue,
            number,
            downlink,
            uplink: entity(&uplink, "rlc/up")?,
        })
    }
    pub(crate) fn rlc(&self, direction: Direction) -> &Rlc<P> {
        match direction {
            Direction::Downlink => &self.downlink,
            Direction::Uplink => &self.uplink,
        }
    }
    pub(crate) fn rlc_mut(&mut self, direction: Direction) -> &mut Rlc<P> {
        match direction {
            Direction::Downlink => &mut self.downlink,
            Direction::Uplink => &mut self.uplink,
        }
    }
}

impl BearerStats {
    pub(crate) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionStats {
        match direction {
            Direction::Downlink => &mut self.downlink,
            Direction::Uplink => &mut self.uplink,
        }
    }
}

impl EntityId {
    pub(crate) fn new(bearer: usize, direction: Direction) -> Self {
        Self(bearer as u32 * 2 + direction as u32)
    }
    pub(crate) fn bearer(self) -> usize {
        self.0 as usize / 2
    }
    pub(crate) fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) {
            Direction::Downlink
        } else {
            Direction::Uplink
        }
    }
}
