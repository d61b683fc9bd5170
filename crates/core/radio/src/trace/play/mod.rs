//! Playing a trace as a UE's channel, slot by slot.
//!
//! | content | what a slot carries |
//! | --- | --- |
//! | CQI | the MCS of the policy, held until the next sample |
//! | delivery opportunities | the packets whose instants lie in the slot |
//! | packets per tick | in the slot in which a tick begins, the tick's packets; or their share, in the slot in which a part of it begins |
//! | rate | B(end) - B(start), with B the whole bytes since the trace began |
//! | DCI log | the MCS of the chosen UE's last downlink block; others' PRBs are a [`Load`] |
//!
//! Bytes are conserved exactly: the bytes of consecutive slots add up to what the trace carries
//! over them, whatever the slots' duration. A slot that the cell leaves out is wasted, as an
//! opportunity that is not taken is in Mahimahi. Each call costs O(1) amortised and allocates
//! nothing: positions only move forward.

mod bytes;
mod capacity;
mod dci;
mod held;
mod laps;
mod signal;
mod steps;
mod supply;

pub(super) use bytes::TakeTo;
pub use signal::{Signal, Signals};

use super::{Content, MAX_DURATION, Trace};
use crate::{Channel, CqiPolicyError, CqiTable, CqiToMcs, Load, cqi_entry};
use capacity::CapacityChannel;
use core::fmt;
use held::HeldChannel;
use laps::Laps;
use rnis::McsTable;
use supply::{Instants, Stepwise, Ticks};
use units::{BitRate, Bytes, Cqi, Duration, Prb};

/// What rows without a CQI mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WithoutCqi {
    /// Where the phone was on an older network (HSPA+, UMTS, GSM), no LTE or NR cell served it: an
    /// outage. Elsewhere the modem just did not report: the last CQI holds.
    #[default]
    OutageOnOlderNetwork,
    /// The last CQI holds, whatever the network.
    Hold,
    /// The rows are cut out of the trace, which becomes shorter; so did the authors of the
    /// dynamic-buffer paper.
    Skip,
}

/// How a trace is played.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// Begin again at the end; otherwise nothing can be sent any more after it.
    pub repeat: bool,
    /// Where in the trace the run begins, at most [`MAX_DURATION`].
    pub offset: Duration,
    /// CQI to MCS (CQI); `None`: the one of [`default_policy`].
    pub policy: Option<CqiToMcs>,
    /// Error rate of first transmissions, 0 to below 1 (CQI, DCI): a trace gives no SINR. A CQI is
    /// by definition the best at which it is at most 0.1 (TS 36.213 7.2.3, TS 38.214 5.2.2.1).
    pub bler: f64,
    /// Rows without CQI (CQI).
    pub without_cqi: WithoutCqi,
    /// Size of a packet, 1 to 65535 bytes (delivery opportunities, packets per tick).
    pub packet: Bytes,
    /// Duration of a tick, above zero (packets per tick).
    pub tick: Duration,
    /// Ticks for which a value holds, at least 1 (packets per tick).
    pub hold_ticks: u32,
    /// From one opportunity to the next (packets per tick): the tick divided by a whole number, each
    /// opportunity carrying its part of the tick's packets. `None`: one opportunity a tick.
    pub opportunity_period: Option<Duration>,
}

impl Playback {
    /// Into how many parts the opportunity period divides a tick; `None` if it does not.
    pub fn parts_of_tick(&self) -> Option<u64> {
        let period = self.opportunity_period.unwrap_or(self.tick).as_nanos();
        let tick = self.tick.as_nanos();
        let is_whole = period > 0 && tick.is_multiple_of(period);
        is_whole.then(|| tick / period)
    }
}

impl Default for Playback {
    /// Repeated from its beginning, errors as the CQI's definition allows, packets and ticks as
    /// Mahimahi and the dynamic-buffer authors have them (1500 B; 10 ms, held 100 times).
    fn default() -> Self {
        Self {
            repeat: true,
            offset: Duration::ZERO,
            policy: None,
            bler: 0.1,
            without_cqi: WithoutCqi::default(),
            packet: Bytes::new(1500),
            tick: Duration::from_millis(10),
            hold_ticks: 100,
            opportunity_period: None,
        }
    }
}

/// The policy that is used where none is chosen: OpenAirInterface's for the table's technology.
pub const fn default_policy(table: McsTable) -> CqiToMcs {
    match table {
        McsTable::LteQam64 | McsTable::LteQam256 => CqiToMcs::OaiLte,
        McsTable::NrQam64 | McsTable::NrQam256 | McsTable::NrLowSe => CqiToMcs::OaiNr,
    }
}

/// What playing needs of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellParameters {
    /// MCS table of the downlink.
    pub table: McsTable,
    /// PRBs of the carrier, at least 1.
    pub n_prb: Prb,
    /// Duration of a slot, above zero.
    pub slot_duration: Duration,
    /// Spatial layers, 1 to 8.
    pub layers: u8,
    /// Data resource elements per PRB and slot (NR), 1 to 156. LTE tables do not use it.
    pub data_re_per_prb: u16,
}

/// Why a trace cannot be played.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaybackError {
    /// A setting outside its range.
    #[error("{source_name}: {field} is {value}: choose {allowed}")]
    Setting {
        /// The trace.
        source_name: String,
        /// The setting's name.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The run would begin after the trace's end.
    #[error(
        "{source_name}: the offset {offset} is beyond the end of the trace ({duration}): choose a \
         smaller offset, or repeat the trace"
    )]
    OffsetBeyondEnd {
        /// The trace.
        source_name: String,
        /// The offset.
        offset: Duration,
        /// The trace's duration.
        duration: Duration,
    },
    /// The policy has no MCS for the trace's CQIs in the cell's table.
    #[error("{source_name}: {error}")]
    Policy {
        /// The trace.
        source_name: String,
        /// What the policy states.
        error: CqiPolicyError,
    },
    /// Skipping the rows without CQI leaves none.
    #[error("{source_name}: no row has a CQI: play it with the last CQI held, or another trace")]
    NoCqi {
        /// The trace.
        source_name: String,
    },
}

impl Trace {
    /// The channel of one UE that has this trace's quality or capacity.
    ///
    /// A trace of capacity or rate has no CQI; its channel states the highest CQI whose spectral
    /// efficiency (TS 36.213 7.2.3, TS 38.214 5.2.2.1) on the whole carrier is at most the mean
    /// rate, at least 1, or 0 in an outage.
    ///
    /// # Errors
    /// See [`PlaybackError`].
    pub fn channel(
        &self,
        playback: &Playback,
        cell: &CellParameters,
    ) -> Result<Box<dyn Channel>, PlaybackError> {
        self.check_playback(playback)?;
        self.check_cell(cell)?;
        let period = self.duration_with(playback);
        let packet = playback.packet;
        let scale = CqiScale::new(cell);
        Ok(match &self.content {
            Content::Quality(quality) => {
                let (steps, period) = held::quality_steps(self, quality, playback, cell)?;
                Box::new(HeldChannel::new(steps, period, playback))
            }
            Content::Dci(log) => Box::new(HeldChannel::new(
                dci::mcs_steps(log, playback, cell),
                period,
                playback,
            )),
            Content::Opportunities(opportunities) => {
                let supply = Instants::new(opportunities.clone(), packet);
                Box::new(CapacityChannel::new(
                    Laps::new(supply, period, playback),
                    scale,
                ))
            }
            Content::PacketsPerTick(packets) => {
                let supply = Ticks::new(packets.clone(), playback);
                Box::new(CapacityChannel::new(
                    Laps::new(supply, period, playback),
                    scale,
                ))
            }
            Content::Rate(rates) => {
                let supply = Stepwise::of_rates(rates);
                Box::new(CapacityChannel::new(
                    Laps::new(supply, period, playback),
                    scale,
                ))
            }
        })
    }

    /// The PRBs that UEs other than the chosen one had in the downlink, in time with
    /// [`Self::channel`]; `None` unless this is a DCI log (or its settings cannot be played). In a
    /// slot that is not the log's own, the mean over the slot, rounded to the nearest.
    pub fn load(&self, playback: &Playback, cell: &CellParameters) -> Option<Box<dyn Load>> {
        self.check_playback(playback).ok()?;
        self.check_cell(cell).ok()?;
        match &self.content {
            Content::Dci(log) => {
                let supply = dci::load_steps(log, cell.n_prb);
                let laps = Laps::new(supply, self.duration_with(playback), playback);
                Some(Box::new(dci::DciLoad::new(laps, cell.n_prb)))
            }
            _ => None,
        }
    }

    /// How long the trace lasts when it is played so (rows that are skipped still counted).
    pub fn duration_with(&self, playback: &Playback) -> Duration {
        self.content
            .duration(playback.tick * u64::from(playback.hold_ticks))
    }

    /// How long one lap of the trace lasts when it is played so: without the rows that are skipped.
    pub fn lap(&self, playback: &Playback) -> Duration {
        let whole = self.duration_with(playback);
        match (&self.content, playback.without_cqi) {
            (Content::Quality(quality), WithoutCqi::Skip) => whole - held::skipped(quality),
            _ => whole,
        }
    }

    /// How long the trace lasts with the usual playback.
    pub fn duration(&self) -> Duration {
        self.duration_with(&Playback::default())
    }

    /// The error for a setting outside its range, if it is.
    fn setting(
        &self,
        ok: bool,
        field: &'static str,
        value: &dyn fmt::Display,
        allowed: &str,
    ) -> Result<(), PlaybackError> {
        if ok {
            return Ok(());
        }
        Err(PlaybackError::Setting {
            source_name: self.source.clone(),
            field,
            value: value.to_string(),
            allowed: allowed.to_owned(),
        })
    }

    fn check_playback(&self, playback: &Playback) -> Result<(), PlaybackError> {
        let &Playback {
            bler,
            packet,
            tick,
            hold_ticks,
            offset,
            ..
        } = playback;
        let some_bler = (0.0..1.0).contains(&bler);
        self.setting(some_bler, "bler", &bler, "a number from 0 to below 1")?;
        let some_packet = (1..=65_535).contains(&packet.get());
        self.setting(some_packet, "packet", &packet, "1 B to 65535 B")?;
        let some_tick = !tick.is_zero() && tick <= MAX_DURATION;
        self.setting(
            some_tick,
            "tick",
            &tick,
            "a time above zero, for example 10 ms",
        )?;
        self.setting(
            hold_ticks > 0,
            "hold_ticks",
            &hold_ticks,
            "at least 1 (usual: 100)",
        )?;
        let period = playback.opportunity_period.unwrap_or(tick);
        self.setting(
            playback.parts_of_tick().is_some(),
            "opportunity_period",
            &period,
            &format!("the tick of {tick} divided by a whole number"),
        )?;
        let most = format!("at most {MAX_DURATION}");
        self.setting(offset <= MAX_DURATION, "offset", &offset, &most)?;
        let duration = self.duration_with(playback);
        if !playback.repeat && offset >= duration {
            let source_name = self.source.clone();
            return Err(PlaybackError::OffsetBeyondEnd {
                source_name,
                offset,
                duration,
            });
        }
        Ok(())
    }

    fn check_cell(&self, cell: &CellParameters) -> Result<(), PlaybackError> {
        self.setting(cell.n_prb > Prb::new(0), "n_prb", &cell.n_prb, "at least 1")?;
        self.setting(
            (1..=8).contains(&cell.layers),
            "layers",
            &cell.layers,
            "1 to 8",
        )?;
        let slot = cell.slot_duration;
        self.setting(!slot.is_zero(), "slot_duration", &slot, "a time above zero")
    }

    /// True if the channel states an MCS, false if it states bytes.
    pub const fn gives_mcs(&self) -> bool {
        matches!(self.content, Content::Quality(_) | Content::Dci(_))
    }
}

/// The rates at which the whole carrier would be worth CQI 1 to 15.
#[derive(Clone, Copy, Debug)]
struct CqiScale {
    least: [BitRate; 15],
}

/// Resource elements of a PRB and slot for which LTE's transport block sizes are made.
const LTE_DATA_RE: f64 = 120.0;
/// The cap of TS 38.214 5.1.3.2, step 1.
const NR_MAX_DATA_RE: u16 = 156;

impl CqiScale {
    fn new(cell: &CellParameters) -> Self {
        let data_re = match cell.table {
            McsTable::LteQam64 | McsTable::LteQam256 => LTE_DATA_RE,
            _ => f64::from(cell.data_re_per_prb.min(NR_MAX_DATA_RE)),
        };
        let symbols = data_re * f64::from(cell.n_prb.get()) * f64::from(cell.layers);
        let per_second = symbols / cell.slot_duration.as_secs_f64();
        let table = CqiTable::matching(cell.table);
        let least = core::array::from_fn(|i| {
            let entry = cqi_entry(table, Cqi::new(i as u8 + 1));
            BitRate::from_bps(entry.map_or(u64::MAX, |e| (e.efficiency() * per_second) as u64))
        });
        Self { least }
    }

    fn cqi(&self, mean_rate: BitRate) -> Cqi {
        let reached = self.least.partition_point(|&least| least <= mean_rate);
        Cqi::new(reached.max(1) as u8)
    }
}

#[cfg(test)]
mod tests;
