//! Making a trace's content fit another format.
//!
//! All conversions go through bytes over time, as the trace is played once from its beginning, and
//! carry fractions on, so that no byte is lost over the whole:
//!
//! * **CQI to rate**: TBS(MCS of the policy, all PRBs) / slot x (1 - BLER); needs the cell.
//! * **to rate**: the bytes of each window / window. A last window that the trace does not fill
//!   counts as a whole one.
//! * **to Mahimahi**: the bytes of each millisecond are added up; each time they reach 1500, an
//!   opportunity is written at the end of that millisecond. The file ends with its last one. What
//!   came from such a file stays as it is.
//! * **to packets per tick**: the bytes of each hold time / (ticks x packet), rounded to the
//!   nearest, what the rounding left over carried on.
//!
//! What cannot be converted: a rate states no CQI (that depends on cell, load and demand); a
//! DCI log states what the UE got, not what it could have got.

use super::play::TakeTo;
use super::write::{MAX_LINES, fits_mahimahi, impossible};
use super::{
    CellParameters, Content, Format, MAX_PACKETS_PER_TICK, Opportunities, Opportunity,
    PacketsPerTick, Playback, PlaybackError, RateStep, Rates, Trace,
};
use crate::TableError;
use units::{BitRate, Bytes, Duration, Packets};

/// Mahimahi's packet.
const MAHIMAHI_PACKET: Bytes = Bytes::new(1500);
const MILLISECOND: Duration = Duration::from_millis(1);
/// The most windows that a conversion goes through: a day in milliseconds.
const MAX_WINDOWS: u64 = 86_400_000;

/// How a trace is converted.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertOptions {
    /// Packets, ticks, policy, BLER. Offset and repetition do not matter.
    pub playback: Playback,
    /// The cell, which turns CQI into a rate.
    pub cell: Option<CellParameters>,
    /// Window of a rate, at least 1 ms.
    pub window: Duration,
}

impl Default for ConvertOptions {
    /// The usual playback, no cell, windows of one second.
    fn default() -> Self {
        Self {
            playback: Playback::default(),
            cell: None,
            window: Duration::from_secs(1),
        }
    }
}

/// Why a trace cannot be converted or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The format cannot hold what the trace has, or needs what it does not have.
    #[error("{source_name}: {kind} cannot become {to}: {reason}")]
    Impossible {
        /// The trace.
        source_name: String,
        /// Its content, in words.
        kind: &'static str,
        /// The format.
        to: Format,
        /// Why not.
        reason: String,
    },
    /// A CQI becomes a rate only in a cell.
    #[error(
        "{source_name}: CQI becomes {to} only with a cell: give its PRBs, MCS table and slot \
         duration"
    )]
    NeedsCell {
        /// The trace.
        source_name: String,
        /// The format.
        to: Format,
    },
    /// A window that is too short.
    #[error("the window is {window}: choose at least 1 ms")]
    Window {
        /// The window.
        window: Duration,
    },
    /// The playback is wrong.
    #[error(transparent)]
    Playback(#[from] PlaybackError),
    /// The cell is wrong.
    #[error("the cell of the conversion: {0}")]
    Cell(#[from] TableError),
}

/// Makes a trace's content fit a format, so that [`write`](super::write()) can write it.
///
/// # Errors
/// See [`ConvertError`].
pub fn convert(trace: &Trace, to: Format, options: &ConvertOptions) -> Result<Trace, ConvertError> {
    let content = match (&trace.content, to) {
        (Content::Dci(_), _) => return Err(impossible(trace, to, dci_reason(to))),
        (content, Format::Brimful) => content.clone(),
        (Content::PacketsPerTick(_), Format::PacketsPerTick) => trace.content.clone(),
        (Content::Opportunities(opportunities), Format::Mahimahi)
            if options.playback.packet == MAHIMAHI_PACKET && fits_mahimahi(opportunities) =>
        {
            trace.content.clone()
        }
        (_, Format::RateCsv) => rate_content(trace, to, options)?,
        (_, Format::Mahimahi) => mahimahi_content(trace, to, options)?,
        (_, Format::PacketsPerTick) => packets_content(trace, to, options)?,
        (Content::Quality(_), Format::Ucc) => {
            let reason = "a phone's log has columns that are not in this trace (place, cell, \
                          signal); choose brimful";
            return Err(impossible(trace, to, reason));
        }
        (_, Format::Ucc) => {
            let reason = "a rate states no CQI, which depends on the cell, its load and what \
                          was requested";
            return Err(impossible(trace, to, reason));
        }
        (_, Format::NrScope) => {
            let reason = "a DCI log has grants of all UEs, which are not in this trace";
            return Err(impossible(trace, to, reason));
        }
    };
    let source = if trace.format == to {
        trace.source.clone()
    } else {
        format!("{} ({}), converted to {to}", trace.source, trace.format)
    };
    Ok(Trace {
        source,
        format: to,
        content,
        networks: trace.networks,
        notes: Vec::new(),
    })
}

const fn dci_reason(to: Format) -> &'static str {
    match to {
        Format::NrScope => "the log's other columns were not read; copy the file",
        _ => "a DCI log states what the UE got, not what it could have got; play it as it is",
    }
}

/// The bytes of a trace's first lap, in order.
struct Flow {
    take_to: TakeTo,
    duration: u64,
}

impl Flow {
    fn new(trace: &Trace, to: Format, options: &ConvertOptions) -> Result<Self, ConvertError> {
        let once = Playback {
            repeat: false,
            offset: Duration::ZERO,
            ..options.playback.clone()
        };
        let needs_cell = matches!(trace.content, Content::Quality(_));
        let (take_to, duration) = match (&options.cell, needs_cell) {
            (None, true) => {
                let source_name = trace.source.clone();
                return Err(ConvertError::NeedsCell { source_name, to });
            }
            (Some(cell), true) => trace.quality_bytes(&once, cell)?,
            (_, false) => trace.capacity_bytes(&once)?,
        };
        Ok(Self {
            take_to,
            duration: duration.as_nanos(),
        })
    }

    /// The bytes of each window of `width` ns, the last one filled up with nothing.
    fn windows(self, width: u64) -> impl Iterator<Item = u64> {
        let Self {
            mut take_to,
            duration,
        } = self;
        let windows = duration.div_ceil(width);
        (1..=windows).map(move |i| {
            // what comes at the very end belongs to the last window
            let end = if i == windows { u64::MAX } else { i * width };
            take_to(end)
        })
    }

    /// Refuses more windows than a conversion goes through.
    fn check(&self, trace: &Trace, to: Format, width: u64) -> Result<(), ConvertError> {
        let windows = self.duration.div_ceil(width);
        if windows > MAX_WINDOWS {
            let reason = format!("it would take {windows} steps, at most {MAX_WINDOWS} are done");
            return Err(impossible(trace, to, &reason));
        }
        Ok(())
    }
}

fn rate_content(
    trace: &Trace,
    to: Format,
    options: &ConvertOptions,
) -> Result<Content, ConvertError> {
    let window = options.window;
    if window < MILLISECOND {
        return Err(ConvertError::Window { window });
    }
    let flow = Flow::new(trace, to, options)?;
    flow.check(trace, to, window.as_nanos())?;
    let steps: Vec<_> = (0u64..)
        .zip(flow.windows(window.as_nanos()))
        .map(|(i, bytes)| RateStep {
            at: window * i,
            rate: BitRate::from_bytes_per(Bytes::new(bytes), window),
        })
        .collect();
    let duration = window * steps.len() as u64;
    Ok(Content::Rate(Rates {
        steps: steps.into(),
        duration,
    }))
}

fn mahimahi_content(
    trace: &Trace,
    to: Format,
    options: &ConvertOptions,
) -> Result<Content, ConvertError> {
    let flow = Flow::new(trace, to, options)?;
    flow.check(trace, to, MILLISECOND.as_nanos())?;
    let (mut steps, mut left, mut lines) = (Vec::new(), 0u64, 0u64);
    for (ms, bytes) in (1u64..).zip(flow.windows(MILLISECOND.as_nanos())) {
        left = left.saturating_add(bytes);
        let packets = left / MAHIMAHI_PACKET.get();
        left %= MAHIMAHI_PACKET.get();
        lines = lines.saturating_add(packets);
        if lines > MAX_LINES {
            let reason = format!("it would have more than {MAX_LINES} lines");
            return Err(impossible(trace, to, &reason));
        }
        if packets > 0 {
            steps.push(Opportunity {
                at: MILLISECOND * ms,
                packets: Packets::new(packets),
            });
        }
    }
    let Some(last) = steps.last() else {
        let reason = "not one packet of 1500 bytes fits into the whole trace";
        return Err(impossible(trace, to, reason));
    };
    let duration = last.at;
    Ok(Content::Opportunities(Opportunities {
        steps: steps.into(),
        duration,
    }))
}

fn packets_content(
    trace: &Trace,
    to: Format,
    options: &ConvertOptions,
) -> Result<Content, ConvertError> {
    let Playback {
        packet,
        tick,
        hold_ticks,
        ..
    } = options.playback;
    let flow = Flow::new(trace, to, options)?;
    let hold = tick * u64::from(hold_ticks);
    flow.check(trace, to, hold.as_nanos())?;
    let unit = i128::from(packet.get()) * i128::from(hold_ticks);
    let (mut values, mut left) = (Vec::new(), 0i128);
    for bytes in flow.windows(hold.as_nanos()) {
        left += i128::from(bytes);
        let value = (2 * left + unit).div_euclid(2 * unit).max(0);
        left -= value * unit;
        match u32::try_from(value) {
            Ok(value) if u64::from(value) <= MAX_PACKETS_PER_TICK.get() => values.push(value),
            _ => {
                let reason = format!("{value} packets in a tick, at most {MAX_PACKETS_PER_TICK}");
                return Err(impossible(trace, to, &reason));
            }
        }
    }
    if values.iter().all(|&value| value == 0) {
        let reason = "it is always less than half a packet per tick";
        return Err(impossible(trace, to, reason));
    }
    Ok(Content::PacketsPerTick(PacketsPerTick {
        values: values.into(),
    }))
}

#[cfg(test)]
mod tests;
