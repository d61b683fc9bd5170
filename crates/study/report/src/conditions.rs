//! What a result was made on, how it varied and what its intervals are of, in words.

use crate::table::{Column, Table};
use crate::text::number;
use crate::{Report, Variant};
use core::fmt::Write;
use scenario::{Summary, TraceSummary};
use std::collections::BTreeSet;

/// Most traces that are listed of a variant.
const MAX_TRACES: usize = 8;
/// Most offsets that are listed of a trace.
const MAX_OFFSETS: usize = 10;

/// The table: a row for each condition that all variants share, and for one in which they differ a row
/// for each variant.
pub(crate) fn conditions_table(report: &Report<'_>) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    if let [first, ..] = report.variants.as_slice() {
        for name in names(&report.variants) {
            let of = |variant: &Variant<'_>| value(&conditions(variant.summary), &name);
            let shared = of(first);
            if report.variants.iter().all(|variant| of(variant) == shared) {
                rows.push(vec![name, shared]);
                continue;
            }
            let differing = report.variants.iter().map(|variant| (variant, of(variant)));
            let filled = differing.filter(|(_, value)| !value.is_empty());
            rows.extend(
                filled.map(|(variant, value)| vec![format!("{name}, {}", variant.label), value]),
            );
        }
    }
    Table {
        title: "What it ran on".to_owned(),
        columns: vec![Column::text(""), Column::text("")],
        rows,
    }
}

/// A name and what holds.
type Condition = (String, String);

/// The names of all variants' conditions, in order.
fn names(variants: &[Variant<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for (name, _) in variants.iter().flat_map(|v| conditions(v.summary)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // notes are last, however few variants have them
    names.sort_by_key(|name| name.starts_with("note"));
    names
}

fn value(conditions: &[Condition], name: &str) -> String {
    let found = conditions.iter().find(|(of, _)| of == name);
    found.map_or(String::new(), |(_, value)| value.clone())
}

fn conditions(summary: &Summary) -> Vec<Condition> {
    let mut all: Vec<Condition> = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("base RTT", format!("{} ms", trimmed(summary.path_rtt_ms)));
    add("duration", format!("{} s", trimmed(summary.elapsed_s)));
    if let Some(radio) = &summary.radio {
        add("radio", radio.clone());
    }
    let by_trace = summary.unit == "trace";
    let users: BTreeSet<&str> = summary
        .traces
        .iter()
        .map(|trace| trace.ue.as_str())
        .collect();
    let mut number = 0;
    for trace in summary.traces.iter().take(MAX_TRACES) {
        let is_uplink = trace.direction == "up";
        // an uplink's trace is played beside the one before it
        number += u32::from(!is_uplink);
        let of = |what: &str| {
            let way = if is_uplink { "uplink " } else { "" };
            match (by_trace, &trace.cell, users.len() > 1) {
                (true, ..) => format!("{way}{what} {number}"),
                (false, None, true) => format!("{way}{what} of {}", trace.ue),
                (false, None, false) => format!("{way}{what}"),
                (false, Some(cell), true) => format!("{way}{what} of {} in {cell}", trace.ue),
                (false, Some(cell), false) => format!("{way}{what} of {cell}"),
            }
        };
        add(
            &of("trace"),
            format!("{}, recorded on: {}", tidy(&trace.file), trace.recorded_on),
        );
        add(&of("span"), span(trace));
    }
    if summary.traces.len() > MAX_TRACES {
        let more = summary.traces.len() - MAX_TRACES;
        add("traces", format!("{more} more: in the JSON"));
    }
    add("seeds", seeds(summary));
    add("each seed draws", drawn(summary));
    add("intervals", intervals(summary));
    for (i, note) in summary.notes.iter().enumerate() {
        let name = match i {
            0 => "note".to_owned(),
            i => format!("note {}", i + 1),
        };
        add(&name, note.clone());
    }
    all
}

fn seeds(summary: &Summary) -> String {
    let (repeats, each) = match summary.unit {
        "trace" => (summary.repeats / summary.units.max(1), ", for each trace"),
        _ => (summary.repeats, ""),
    };
    let last = summary
        .seed
        .saturating_add((repeats as u64).saturating_sub(1));
    match repeats {
        0 | 1 => format!("{}{each}", summary.seed),
        _ => format!("{} to {last}{each}", summary.seed),
    }
}

/// `60 of 2597 s used in each of 3 repeats, from 17.2, 810.9, 1204 s; 180 s in all`.
fn span(trace: &TraceSummary) -> String {
    let (used, duration) = (trimmed(trace.used_s), trimmed(trace.duration_s));
    let offsets = &trace.offsets_s;
    let Some(first) = offsets.first() else {
        return format!("{used} of {duration} s used");
    };
    let is_fixed = offsets.iter().all(|offset| offset == first);
    if is_fixed {
        let same = match offsets.len() {
            1 => "",
            _ => ", the same in every repeat",
        };
        return format!(
            "{used} of {duration} s used, from {} s{same}",
            trimmed(*first)
        );
    }
    let from = match offsets.len() {
        few if few <= MAX_OFFSETS => {
            let listed: Vec<String> = offsets.iter().map(|offset| trimmed(*offset)).collect();
            listed.join(", ")
        }
        _ => {
            let low = offsets.iter().copied().fold(f64::INFINITY, f64::min);
            let high = offsets.iter().copied().fold(0.0, f64::max);
            format!("{} to {}", trimmed(low), trimmed(high))
        }
    };
    format!(
        "{used} of {duration} s used in each of {} repeats, from {from} s; {} s in all",
        offsets.len(),
        trimmed(trace.covered_s)
    )
}

/// A path as it reads: without `name/..` in it, which scenario files that lie elsewhere bring in.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if !["", ".", ".."].contains(last) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// To three decimals, without zeros that say nothing.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

fn drawn(summary: &Summary) -> String {
    match (summary.drawn.as_slice(), summary.distinct_repeats) {
        ([], 0 | 1) => "nothing".to_owned(),
        ([], _) if summary.real_time.is_some() => "nothing; real time differs by itself".to_owned(),
        ([], _) => "nothing that the scenario states".to_owned(),
        (drawn, _) => drawn.join(", "),
    }
}

fn intervals(summary: &Summary) -> String {
    let (repeats, distinct) = (summary.repeats, summary.distinct_repeats);
    if repeats < 2 {
        return "none: one repeat (--repeats 10 gives some)".to_owned();
    }
    if distinct < 2 {
        return format!("of no meaning: all {repeats} repeats are alike");
    }
    if summary.unit == "trace" {
        let units = summary.units;
        let each = match repeats / units.max(1) {
            0 | 1 => String::new(),
            each => format!(", each the mean of {each} repeats"),
        };
        return format!(
            "95 %, Student's t over {units} traces{each}; they hold for traces like these"
        );
    }
    let mut text = format!("95 %, Student's t over {repeats} repeats");
    if distinct < repeats {
        let _ = write!(text, ", of which {distinct} differ");
    }
    match summary.traces.as_slice() {
        [] => {}
        [trace] => {
            let share = trace.covered_s / trace.duration_s * 100.0;
            let share = number(share.min(100.0));
            let _ = write!(
                text,
                "; they hold for this trace, of which {share} % was played, and for no other"
            );
        }
        _ => text.push_str("; they hold for these traces, and for no others"),
    }
    text
}

#[cfg(test)]
mod tests;
