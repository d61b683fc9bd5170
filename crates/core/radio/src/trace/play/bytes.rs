//! The bytes that a trace carries, for conversions.

use super::laps::{Laps, Supply};
use super::supply::{BIT_NS_PER_BYTE, Instants, Stepwise, Ticks};
use super::{CellParameters, Playback, PlaybackError, held};
use crate::TbsTable;
use crate::trace::convert::ConvertError;
use crate::trace::{Content, Trace};
use units::{BitRate, Duration};

/// Bytes from the last call's time up to another, in ns since the trace began.
pub(in crate::trace) type TakeTo = Box<dyn FnMut(u64) -> u64>;

fn take_to<S: Supply + 'static>(supply: S, period: Duration, playback: &Playback) -> TakeTo {
    let mut laps = Laps::new(supply, period, playback);
    Box::new(move |to| laps.take_to(to))
}

impl Trace {
    /// The bytes of a trace of capacity or rate, and its duration. A trace that states an MCS
    /// carries none.
    pub(in crate::trace) fn capacity_bytes(
        &self,
        playback: &Playback,
    ) -> Result<(TakeTo, Duration), PlaybackError> {
        self.check_playback(playback)?;
        let period = self.duration_with(playback);
        let take_to = match &self.content {
            Content::Opportunities(opportunities) => take_to(
                Instants::new(opportunities.clone(), playback.packet),
                period,
                playback,
            ),
            Content::PacketsPerTick(packets) => {
                take_to(Ticks::new(packets.clone(), playback), period, playback)
            }
            Content::Rate(rates) => take_to(Stepwise::of_rates(rates), period, playback),
            Content::Quality(_) | Content::Dci(_) => Box::new(|_| 0),
        };
        Ok((take_to, period))
    }

    /// The bytes that all PRBs of a cell would carry at the trace's CQIs, without the share that
    /// fails, and the trace's duration.
    pub(in crate::trace) fn quality_bytes(
        &self,
        playback: &Playback,
        cell: &CellParameters,
    ) -> Result<(TakeTo, Duration), ConvertError> {
        self.check_playback(playback)?;
        self.check_cell(cell)?;
        let Content::Quality(quality) = &self.content else {
            return Ok(self.capacity_bytes(playback)?);
        };
        let (steps, period) = held::quality_steps(self, quality, playback, cell)?;
        let table = TbsTable::new(cell.table, cell.layers, cell.data_re_per_prb, cell.n_prb)?;
        let rate = |step: &held::HeldStep| {
            let bytes = step.state.map(|(_, mcs)| table.bytes(mcs, cell.n_prb));
            let full = BitRate::from_bytes_per(bytes.unwrap_or_default(), cell.slot_duration);
            (step.at, full.mul_f64(1.0 - playback.bler).as_bps())
        };
        let supply = Stepwise::new(steps.iter().map(rate), period.as_nanos(), BIT_NS_PER_BYTE);
        Ok((take_to(supply, period, playback), period))
    }
}
