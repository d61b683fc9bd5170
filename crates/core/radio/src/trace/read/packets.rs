//! Packets per tick, the form of the authors of the dynamic-buffer paper.
//!
//! The first line is the number of values; each further line is a value: how many packets of 1500
//! bytes the MAC may pull in one tick of 10 ms, held for 100 ticks. Packet size, tick and ticks
//! per value are not in the file and are stated when the trace is played.

use super::{Found, Input, MAX_PACKETS_PER_TICK};
use crate::trace::text::{Line, Place, empty, lines};
use crate::trace::{Content, PacketsPerTick, TraceError};

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    input.refuse_series()?;
    let mut rows = lines(input.text);
    let Some(first) = rows.next() else {
        return Err(empty(
            input.file,
            "the number of values, then one value on each line",
        ));
    };
    let count = number(input, first, "number of values", u64::MAX)?;
    let mut values = Vec::new();
    for line in rows {
        let value = number(input, line, "packets per tick", MAX_PACKETS_PER_TICK.get())?;
        // the limit is far below 2^32
        values.push(u32::try_from(value).unwrap_or(u32::MAX));
    }
    if values.is_empty() {
        return Err(empty(input.file, "one value on each line after the first"));
    }
    if count != values.len() as u64 {
        let place = Place {
            file: input.file,
            line: first.number,
            column: 1,
            field: "number of values",
        };
        let expected = format!(
            "{}, the number of lines that follow (is the file cut off?)",
            values.len()
        );
        return Err(place.not(first.text, expected));
    }
    if values.iter().all(|&value| value == 0) {
        return Err(TraceError::NothingUsable {
            file: input.file.into(),
            what: "all values are 0".into(),
            expected: "at least one tick in which a packet may leave".into(),
            help: "".into(),
        });
    }
    let content = Content::PacketsPerTick(PacketsPerTick {
        values: values.into(),
    });
    Ok(Found::new(content, Vec::new()))
}

fn number(input: &Input<'_>, line: Line<'_>, field: &str, max: u64) -> Result<u64, TraceError> {
    let text = line.text.trim();
    let column = line.text.len() - line.text.trim_start().len() + 1;
    Place {
        file: input.file,
        line: line.number,
        column,
        field,
    }
    .whole(text, max)
}
