//! Mahimahi's link traces (Netravali et al., USENIX ATC 2015; format in its `mm-link` manual).
//!
//! Each line is a time in whole milliseconds since the beginning and is one opportunity for one
//! packet of 1500 bytes; a repeated time is several opportunities in that millisecond. The trace's
//! duration is its last time: when it is repeated, the next lap begins at that instant. A file of
//! the single line `1` is thus one packet per millisecond, 12 Mbit/s.

use super::{Found, Input, MAX_DURATION, MAX_PACKETS_PER_TICK};
use crate::trace::text::{Place, empty, lines};
use crate::trace::{Content, Opportunities, Opportunity, TraceError};
use units::{Duration, Packets};

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    input.refuse_series()?;
    let mut steps: Vec<Opportunity> = Vec::new();
    for line in lines(input.text) {
        let text = line.text.trim();
        let column = line.text.len() - line.text.trim_start().len() + 1;
        let place = Place {
            file: input.file,
            line: line.number,
            column,
            field: "time",
        };
        let Ok(ms) = text.parse::<u64>() else {
            return Err(place.not(text, "a time in whole milliseconds"));
        };
        let at = Duration::from_millis(ms);
        if at > MAX_DURATION {
            return Err(super::too_long(input.file, at));
        }
        match steps.last_mut() {
            Some(last) if last.at == at => {
                if last.packets >= MAX_PACKETS_PER_TICK {
                    return Err(place.not(text, format!("at most {MAX_PACKETS_PER_TICK} per ms")));
                }
                last.packets += Packets::new(1);
            }
            Some(last) if at < last.at => {
                return Err(place.decreases(text, &last.at.as_millis().to_string()));
            }
            _ => steps.push(Opportunity {
                at,
                packets: Packets::new(1),
            }),
        }
    }
    let Some(last) = steps.last() else {
        return Err(empty(input.file, "one time in milliseconds on each line"));
    };
    let duration = last.at;
    if duration.is_zero() {
        return Err(TraceError::NothingUsable {
            file: input.file.into(),
            what: "all opportunities are at 0 ms, so the trace has no duration".into(),
            expected: "a last time above 0 ms, at which the trace ends or begins again".into(),
            help: "".into(),
        });
    }
    let content = Content::Opportunities(Opportunities {
        steps: steps.into(),
        duration,
    });
    Ok(Found::new(content, Vec::new()))
}
