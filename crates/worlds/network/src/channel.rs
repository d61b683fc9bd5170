//! The radio channels and the load of a cell, from their specification in the experiment.

use crate::Error;
use radio::moving::MovingRadio;
use radio::trace::{Playback, Trace};
use radio::{
    Channel, ConstantChannel, ConstantLoad, ConstantSinr, Fades, LinkAdaptation, PowerControlError,
    RandomLoad, SinrSource, SoundedUplink,
};
use ran::{Background, CellConfig, SubBands, UplinkSource};
use scenario::{CellSpec, ChannelSpec, LoadSpec, TraceSpec, UeSpec, UplinkRadio};
use std::sync::Arc;
use units::{Duration, Streams};

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
        ChannelSpec::Trace(TraceSpec {
            trace, playback, ..
        }) => trace
            .channel(playback, &cell.trace_parameters())
            .map_err(|e| error(e.to_string()))?,
        ChannelSpec::Moving(moving) => {
            let streams = streams.child("ue").child(&ue.name);
            let mut radio = moving
                .placed(run, streams.stream("place"))
                .and_then(|radio| MovingRadio::new(&radio, run, &streams.child("radio")))
                .map_err(|e| error(e.to_string()))?;
            if cell.sub_bands != SubBands::None {
                radio.divide(cell.prb_groups(), cell.rat.sub_carrier_spacing());
            }
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

/// What the uplink of a UE follows, beside the cell's configuration: what was recorded, or a link budget. With a budget,
/// place, line of sight and shadowing are the downlink's; fading is so where the carrier is.
///
/// # Errors
/// What is wrong with it.
pub fn uplink(
    ue: &UeSpec,
    cell: &CellConfig,
    run: Duration,
    streams: &Streams,
) -> Result<Option<UplinkSource>, Error> {
    if let Some(TraceSpec {
        trace, playback, ..
    }) = &ue.uplink
    {
        let channel = trace.channel(playback, &cell.uplink_trace_parameters());
        let channel = channel.map_err(|e| Error::Channel {
            ue: ue.name.clone(),
            problem: e.to_string(),
        })?;
        return Ok(Some(UplinkSource::Recorded(channel)));
    }
    let ChannelSpec::Moving(moving) = &ue.channel else {
        return Ok(None);
    };
    let Some(uplink) = &moving.uplink else {
        return Ok(None);
    };
    let error = |problem: String| Error::Channel {
        ue: ue.name.clone(),
        problem,
    };
    let streams = streams.child("ue").child(&ue.name);
    let downlink = moving
        .placed(run, streams.stream("place"))
        .map_err(|e| error(e.to_string()))?;
    let radio_streams = streams.child("radio");
    let fading = match uplink.carrier == downlink.carrier {
        true => radio_streams.stream("fading"),
        false => radio_streams.stream("fading/up"),
    };
    let radio = uplink.beside(&downlink);
    let mut radio = MovingRadio::with_fading(&radio, run, &radio_streams, fading)
        .map_err(|e| error(e.to_string()))?;
    if cell.sub_bands != SubBands::None {
        radio.divide(cell.uplink_groups(), cell.rat.sub_carrier_spacing());
    }
    let channel = SoundedUplink::new(radio, moving.adaptation);
    let channel = channel.map_err(|e| error(e.to_string()))?;
    let channel = with_power_control(channel, uplink).map_err(|e| error(e.to_string()))?;
    Ok(Some(UplinkSource::Sinr(Box::new(channel))))
}

/// A sounded uplink with its power control, if there is any.
pub(crate) fn with_power_control<S: SinrSource>(
    channel: SoundedUplink<S>,
    uplink: &UplinkRadio,
) -> Result<SoundedUplink<S>, PowerControlError> {
    match uplink.power_control {
        Some(power) => channel.with_power_control(power),
        None => Ok(channel),
    }
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
            let load = trace.load(&playback_of(trace, ues), &cell.config.trace_parameters());
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
        ChannelSpec::Trace(TraceSpec {
            trace, playback, ..
        }) if Arc::ptr_eq(trace, load) => Some(playback),
        _ => None,
    });
    of_ue.cloned().unwrap_or_default()
}
