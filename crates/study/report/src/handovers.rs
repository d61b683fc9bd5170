//! The handovers of a report: each of a single variant's first repeat, or the means of several variants.

use crate::Variant;
use crate::table::{Column, Table};
use crate::text::number;
use scenario::HandoverSummary;

/// Most handovers of one table: the first.
const MAX_EVENTS: usize = 24;

/// Without rows where there is one cell.
pub(crate) fn table(variants: &[Variant<'_>]) -> Table {
    let title = "Handovers".to_owned();
    match variants {
        [one] => {
            let of = one.summary.handovers.as_ref();
            events(title, of, one.summary.seed)
        }
        several => means(title, several),
    }
}

fn events(title: String, of: Option<&HandoverSummary>, seed: u64) -> Table {
    let columns = vec![
        Column::text("user"),
        Column::text("kind"),
        Column::text("from"),
        Column::text("to"),
        Column::number("at", "s"),
        Column::number("interruption", "ms"),
        Column::number("forwarded", ""),
        Column::number("lost", ""),
        Column::text("ping-pong"),
    ];
    let events = of.into_iter().flat_map(|of| &of.events);
    let of_first = events.filter(|it| it.seed == seed).take(MAX_EVENTS);
    let rows = of_first.map(|it| {
        vec![
            it.ue.clone(),
            it.kind.to_owned(),
            it.from.clone(),
            it.to.clone(),
            number(it.at_s),
            number(it.interruption_ms),
            it.forwarded.to_string(),
            it.lost.to_string(),
            if it.ping_pong { "yes" } else { "no" }.to_owned(),
        ]
    });
    Table {
        title,
        rows: rows.collect(),
        columns,
    }
}

fn means(title: String, variants: &[Variant<'_>]) -> Table {
    let columns = vec![
        Column::text("variant"),
        Column::number("handovers", ""),
        Column::number("ping-pongs", ""),
        Column::number("radio link failures", ""),
        Column::number("too late", ""),
        Column::number("too early", ""),
        Column::number("forwarded", ""),
        Column::number("lost", ""),
    ];
    let rows = variants.iter().filter_map(|variant| {
        let of = variant.summary.handovers.as_ref()?;
        let mut row = vec![variant.label.clone()];
        let counts = [of.count, of.ping_pongs, of.failures, of.too_late];
        row.extend(counts.map(number));
        row.extend([of.too_early, of.forwarded, of.lost].map(number));
        Some(row)
    });
    Table {
        title,
        rows: rows.collect(),
        columns,
    }
}
