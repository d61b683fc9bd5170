//! What applications measured: a table for each kind of application.

use crate::Variant;
use crate::table::{Column, Table};
use crate::tables::{label_cells, label_columns, with_interval};
use scenario::{ApplicationSummary, FlowSummary};

/// A table for each kind of application that some flow has, in the order in which they come. Columns of which nothing was
/// measured are left out.
pub(crate) fn application_tables(variants: &[Variant<'_>]) -> Vec<Table> {
    let mut kinds: Vec<&ApplicationSummary> = Vec::new();
    for (_, _, application) in all(variants) {
        if kinds.iter().all(|known| known.kind != application.kind) {
            kinds.push(application);
        }
    }
    let tables = kinds.into_iter().map(|kind| table(variants, kind));
    tables.collect()
}

/// All flows with an application that measures.
fn all<'a>(
    variants: &'a [Variant<'a>],
) -> impl Iterator<Item = (&'a Variant<'a>, &'a FlowSummary, &'a ApplicationSummary)> {
    variants.iter().flat_map(|variant| {
        let flows = variant.summary.flows.iter();
        flows.filter_map(move |flow| Some((variant, flow, flow.application.as_ref()?)))
    })
}

fn title(kind: &str) -> String {
    match kind {
        "video" => "Video".to_owned(),
        "page" => "Pages".to_owned(),
        "call" => "Calls".to_owned(),
        other => other.to_owned(),
    }
}

fn table(variants: &[Variant<'_>], kind: &ApplicationSummary) -> Table {
    let mut columns = label_columns(variants, "flow");
    let measures = kind.measures.iter();
    columns.extend(measures.map(|(of, _)| Column::number(of.title, of.unit)));
    let of_kind = all(variants).filter(|(_, _, application)| application.kind == kind.kind);
    let rows = of_kind.map(|(variant, flow, application)| {
        let mut row = label_cells(variants, variant, &flow.name);
        let repeats = variant.summary.repeats;
        row.extend(application.measures.iter().map(|(_, value)| {
            let cell = value.map(|value| with_interval(value, 1.0, repeats));
            cell.unwrap_or_default()
        }));
        row
    });
    Table {
        title: title(kind.kind),
        rows: rows.collect(),
        columns,
    }
    .without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{run, summary};
    use scenario::{ApplicationResult, VideoResult};
    use units::Duration;

    #[test]
    fn each_kind_has_a_table_with_what_was_measured() {
        let mut runs = [run(1, 2.0, 10), run(2, 2.0, 10)];
        for (run, startup) in runs.iter_mut().zip([1, 3]) {
            run.flows[0].application = Some(ApplicationResult::Video(VideoResult {
                startup_delay: Some(Duration::from_secs(startup)),
                stalls: 2,
                ..VideoResult::default()
            }));
            run.flows[1].application = Some(ApplicationResult::Page(Box::default()));
        }
        let summary = summary(&runs);
        let variant = Variant {
            label: String::new(),
            summary: &summary,
            runs: &runs,
        };
        let tables = application_tables(&[variant]);
        let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles, ["Video", "Pages"]);
        let video = &tables[0];
        let place = |title: &str| video.columns.iter().position(|c| c.title == title);
        let startup = place("start-up").expect("it was measured");
        // 1 and 3: mean 2, half width 12.706 x 1.4142 / 1.4142
        assert_eq!(video.rows[0][startup], "2.000 ± 12.71");
        assert_eq!(place("bitrate"), None, "nothing was played");
    }
}
