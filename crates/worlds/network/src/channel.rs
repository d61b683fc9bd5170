//! The radio channels and the load of a cell, from their specification in the experiment.

use crate::Error;
use radio::moving::MovingRadio;
use radio::trace::{CellParameters, Playback, Trace};
use radio::{
    Channel, ConstantChannel, ConstantLoad, ConstantSinr, Fades, LinkAdaptation, RandomLoad,
};
use ran::{Background, CellConfig};
use scenario::{CellSpec, ChannelSpec, LoadSpec, UeSpec};
use std::sync::Arc;
use units::{Duration, Streams};

/// The parameters of the cell that playing a trace depends on.
fn parameters(config: &CellConfig) -> CellParameters {
    CellParameters {
        table: config.mcs_table,
        n_prb: config.n_prb,
        slot_duration: config.rat.slot_duration(),
        layers: config.layers,
        data_re_per_prb: config.data_re_per_prb,
    }
}

/// The channel of a UE, in a run of this length. Its draws are those of its name: other UEs do not
/// change them.
///
/// # Errors
/// What is wrong with it; a wired channel in a cell.
pub fn channel(
    ue: &UeSpec,
    cell: &CellConfig,
    run: Duration,
    streams: &Streams,
) -> Result<Box<dyn Channel>, Error> {
    let error = |problem: String| Error::Channel {
        ue: ue.name.clone(),
        problem,
    };
    let table = cell.mcs_table;
    Ok(match &ue.channel {
        ChannelSpec::ConstantMcs { mcs, bler } => {
            Box::new(ConstantChannel::mcs(table, *mcs, *bler).map_err(|e| error(e.to_string()))?)
        }
        ChannelSpec::ConstantCqi { cqi, policy, bler } => {
            let channel = ConstantChannel::cqi(*policy, table, *cqi, *bler);
            Box::new(channel.map_err(|e| error(e.to_string()))?)
        }
        ChannelSpec::ConstantSinr {
            sinr,
            adaptation,
            fades: None,
        } => {
            let channel = LinkAdaptation::constant(*sinr, *adaptation);
            Box::new(channel.map_err(|e| error(e.to_string()))?)
        }
        ChannelSpec::ConstantSinr {
            sinr,
            adaptation,
            fades: Some(fades),
        } => {
            let rng = streams.child("ue").child(&ue.name).stream("interferer");
            let sinr = Fades::new(ConstantSinr(*sinr), *fades, rng);
            let sinr = sinr.map_err(|e| error(e.to_string()))?;
            let channel = LinkAdaptation::new(sinr, *adaptation);
            Box::new(channel.map_err(|e| error(e.to_string()))?)
        }
        ChannelSpec::Trace {
            trace, playback, ..
        } => trace
            .channel(playback, &parameters(cell))
            .map_err(|e| error(e.to_string()))?,
        ChannelSpec::Moving(moving) => {
            let streams = streams.child("ue").child(&ue.name);
            let radio = moving
                .placed(run, streams.stream("place"))
                .and_then(|radio| MovingRadio::new(&radio, run, &streams.child("radio")))
                .map_err(|e| error(e.to_string()))?;
            let channel = LinkAdaptation::new(radio, moving.adaptation);
            Box::new(channel.map_err(|e| error(e.to_string()))?)
        }
        ChannelSpec::Wired => {
            return Err(error(
                "its channel is wired, but the access is a cell".to_owned(),
            ));
        }
    })
}

/// The load of the cell that belongs to no UE.
///
/// # Errors
/// A share outside 0 to 1; a trace that shows no load.
pub fn background(cell: &CellSpec, ues: &[UeSpec], streams: &Streams) -> Result<Background, Error> {
    Ok(match &cell.background {
        LoadSpec::None => None,
        LoadSpec::Constant(prb) => Some(Box::new(ConstantLoad(*prb))),
        LoadSpec::Random { prb, share } => {
            let load = RandomLoad::new(*prb, *share, streams.stream("background"));
            Some(Box::new(load.map_err(|e| Error::Background {
                problem: e.to_string(),
            })?))
        }
        LoadSpec::Trace(trace) => {
            let load = trace.load(&playback_of(trace, ues), &parameters(&cell.config));
            Some(load.ok_or_else(|| Error::Background {
                problem: format!(
                    "{} does not show what others used: take a DCI log",
                    trace.source
                ),
            })?)
        }
    })
}

/// How the UE that the trace also drives plays it, so that both stay in time.
fn playback_of(load: &Arc<Trace>, ues: &[UeSpec]) -> Playback {
    let of_ue = ues.iter().find_map(|ue| match &ue.channel {
        ChannelSpec::Trace {
            trace, playback, ..
        } if Arc::ptr_eq(trace, load) => Some(playback),
        _ => None,
    });
    of_ue.cloned().unwrap_or_default()
}
