//! The radios of a user to several cells: one way, and for each cell a path loss, a shadowing and a fading of its own.

use super::measured::{Measured, Recorded};
use crate::Error;
use crate::cell::Radio;
use crate::channel::with_power_control;
use radio::moving::{Fading, MovingRadio, MovingRadioConfig, MovingRadioError};
use radio::{LinkAdaptation, OffChannel, SoundedUplink};
use ran::{SubBands, UplinkSource};
use scenario::{CellsSpec, NamedCell, TraceSpec};
use units::{Duration, Instant, Streams};

/// The radios of one user.
pub(super) struct UeRadios<'a> {
    cells: &'a CellsSpec,
    /// Its index.
    ue: usize,
    name: &'a str,
    run: Duration,
    /// Of its name.
    streams: Streams,
}

impl<'a> UeRadios<'a> {
    /// `streams` are those of all cells.
    pub(super) fn new(
        cells: &'a CellsSpec,
        (ue, name): (usize, &'a str),
        run: Duration,
        streams: &Streams,
    ) -> Self {
        Self {
            cells,
            ue,
            name,
            run,
            streams: streams.child("ue").child(name),
        }
    }

    fn error(&self, error: &impl ToString) -> Error {
        Error::Channel {
            ue: self.name.to_owned(),
            problem: error.to_string(),
        }
    }

    /// The radio to a cell, on the way that the user goes in this run.
    fn config(&self, cell: &NamedCell) -> Result<MovingRadioConfig, MovingRadioError> {
        let first = &self.cells.cells[0].radios[self.ue];
        let placed = first.placed(self.run, self.streams.stream("place"))?;
        Ok(MovingRadioConfig {
            mobility: placed.mobility,
            ..cell.radios[self.ue].radio.clone()
        })
    }

    /// With draws of this cell, but for the way.
    fn radio(
        &self,
        cell: &NamedCell,
        config: &MovingRadioConfig,
        fading: &str,
    ) -> Result<MovingRadio, MovingRadioError> {
        let radio = self.streams.child("radio");
        let of_cell = radio.child(&cell.name);
        let rngs = (of_cell.stream(fading), radio.stream("mobility"));
        let mut radio = MovingRadio::on_way(config, self.run, &of_cell, rngs)?;
        if let Some((from, until)) = off(cell) {
            radio.switch_off(from, until);
        }
        Ok(radio)
    }

    /// What the user measures of a cell.
    pub(super) fn measured(&self, cell: &NamedCell) -> Result<Measured, Error> {
        if let Some(TraceSpec {
            trace, playback, ..
        }) = cell.traces.get(self.ue)
        {
            let (signals, quantity) = (trace.signals(playback), self.cells.quantity);
            let recorded = Recorded::new(signals, quantity, off(cell));
            return Ok(Measured::Recorded(recorded));
        }
        let elements = 12.0 * f64::from(cell.spec.config.n_prb.get());
        let radio = Box::new(self.mean(cell)?);
        Ok(Measured::Moving(radio, 10.0 * elements.log10()))
    }

    /// The radio to a cell without fading: what disturbs.
    fn mean(&self, cell: &NamedCell) -> Result<MovingRadio, Error> {
        let mean = || {
            let config = MovingRadioConfig {
                fading: Fading::None,
                ..self.config(cell)?
            };
            self.radio(cell, &config, "fading")
        };
        mean().map_err(|error| self.error(&error))
    }

    /// The channel to a cell that was recorded; the uplink follows the cell's configuration.
    fn recorded(&self, cell: &NamedCell, spec: &TraceSpec) -> Result<Radio, Error> {
        let parameters = cell.spec.config.trace_parameters();
        let channel = spec.trace.channel(&spec.playback, &parameters);
        let channel = channel.map_err(|error| self.error(&error))?;
        Ok(match off(cell) {
            None => (channel, None),
            Some((from, until)) => (Box::new(OffChannel::new(channel, from, until)), None),
        })
    }

    /// Channel and uplink to a cell, disturbed by the others on its carrier.
    pub(super) fn of(&self, cell: &NamedCell) -> Result<Radio, Error> {
        if let Some(trace) = cell.traces.get(self.ue) {
            return self.recorded(cell, trace);
        }
        let (spec, moving) = (&cell.spec.config, &cell.radios[self.ue]);
        let config = self.config(cell).map_err(|error| self.error(&error))?;
        let mut radio = self
            .radio(cell, &config, "fading")
            .map_err(|error| self.error(&error))?;
        for other in &self.cells.cells {
            if let Some(share) = share(cell, other, self.ue) {
                radio.disturbed_by(self.mean(other)?, share);
            }
        }
        if spec.sub_bands != SubBands::None {
            radio.divide(spec.prb_groups(), spec.rat.sub_carrier_spacing());
        }
        let channel = LinkAdaptation::new(radio, moving.adaptation);
        let channel = Box::new(channel.map_err(|error| self.error(&error))?);
        let Some(uplink) = &moving.uplink else {
            return Ok((channel, None));
        };
        let fading = match uplink.carrier == config.carrier {
            true => "fading",
            false => "fading/up",
        };
        let back = self.radio(cell, &uplink.beside(&config), fading);
        let mut back = back.map_err(|error| self.error(&error))?;
        if spec.sub_bands != SubBands::None {
            back.divide(spec.uplink_groups(), spec.rat.sub_carrier_spacing());
        }
        let back = SoundedUplink::new(back, moving.adaptation);
        let back = back.map_err(|error| self.error(&error))?;
        let back = with_power_control(back, uplink).map_err(|error| self.error(&error))?;
        Ok((channel, Some(UplinkSource::Sinr(Box::new(back)))))
    }
}

/// From when to when a cell is off.
fn off(cell: &NamedCell) -> Option<(Instant, Instant)> {
    let outage = cell.outage.as_ref()?;
    let until = outage.until.map_or(Instant::MAX, |at| Instant::ZERO + at);
    Some((Instant::ZERO + outage.from, until))
}

/// The part of another cell's power that disturbs a cell; none if they are one, or of different carriers.
pub(super) fn share(cell: &NamedCell, other: &NamedCell, ue: usize) -> Option<f64> {
    let (ours, theirs) = (&cell.radios.get(ue)?.radio, &other.radios.get(ue)?.radio);
    if other.name == cell.name || theirs.carrier != ours.carrier {
        return None;
    }
    // of a wider carrier only what lies in this one
    let (here, there) = (ours.budget.bandwidth, theirs.budget.bandwidth);
    let overlap = (here.get() as f64 / there.get() as f64).min(1.0);
    Some(other.activity * overlap)
}
