//! The table that compares variants with the first.

use crate::Variant;
use crate::table::{Column, Table};
use crate::tables::with_interval;
use crate::text::number;
use scenario::{Compared, Labelled, compare};

/// How a metric of a comparison is shown: title, unit, and how much of the metric's unit one is.
fn metric_column(
    variants: &[Variant<'_>],
    metric: &'static str,
) -> (&'static str, &'static str, f64) {
    match metric {
        "goodput_bps" => ("goodput", "Mbit/s", 1e6),
        "completion_s" => ("completion", "s", 1.0),
        "rtt_mean_ms" => ("RTT mean", "ms", 1.0),
        "rtt_p95_ms" => ("RTT p95", "ms", 1.0),
        "owd_mean_ms" => ("OWD mean", "ms", 1.0),
        "segment_delay_mean_ms" => ("segment delay", "ms", 1.0),
        "load_time_mean_ms" => ("load mean", "ms", 1.0),
        "jitter_ms" => ("jitter", "ms", 1.0),
        other => measure_column(variants, other).unwrap_or((other, "", 1.0)),
    }
}

/// The same of what an application measured, if a flow of the variants has a measure of that name.
fn measure_column(
    variants: &[Variant<'_>],
    metric: &str,
) -> Option<(&'static str, &'static str, f64)> {
    let flows = variants.iter().flat_map(|variant| &variant.summary.flows);
    let applications = flows.filter_map(|flow| flow.application.as_ref());
    let mut measures = applications.flat_map(|application| &application.measures);
    let (measure, _) = measures.find(|(measure, _)| measure.name == metric)?;
    Some((measure.title, measure.unit, 1.0))
}

/// Every variant against the first, flow by flow; nothing if there is one, or if the seeds are not the same.
pub(crate) fn compared(variants: &[Variant<'_>]) -> Vec<Compared> {
    let labelled: Vec<Labelled<'_>> = variants
        .iter()
        .map(|v| Labelled {
            label: &v.label,
            runs: v.runs,
        })
        .collect();
    compare(&labelled).unwrap_or_default()
}

/// The variants of each flow one below the other, each with its ratio to the first variant of the
/// same seeds and the ratio's 95 % confidence interval. Without rows if there is nothing to
/// compare, or the seeds are not the same.
pub fn comparison_table(variants: &[Variant<'_>]) -> Table {
    let compared = compared(variants);
    let mut metrics: Vec<(&'static str, f64)> = Vec::new();
    let mut columns = vec![Column::text("flow"), Column::text("variant")];
    for row in &compared {
        if metrics.iter().all(|(metric, _)| *metric != row.metric) {
            let (title, unit, factor) = metric_column(variants, row.metric);
            metrics.push((row.metric, factor));
            columns.push(Column::number(title, unit));
            columns.push(Column::number("ratio", "").joined());
        }
    }
    let base = variants.first().filter(|_| !compared.is_empty());
    let flows = base.map_or(&[][..], |v| &v.summary.flows);
    let rows = flows.iter().flat_map(|flow| {
        variants.iter().enumerate().map(|(i, variant)| {
            let mut row = vec![flow.name.clone(), variant.label.clone()];
            for (metric, factor) in &metrics {
                // the base stands in the rows of any other variant
                let of_flow = |c: &&Compared| c.flow == flow.name && c.metric == *metric;
                let found = match i {
                    0 => compared.iter().find(of_flow),
                    _ => compared
                        .iter()
                        .filter(|c| c.variant == variant.label)
                        .find(of_flow),
                };
                row.extend(compared_cells(
                    found,
                    *factor,
                    i == 0,
                    variant.summary.repeats,
                ));
            }
            row
        })
    });
    let label = base.map_or("", |v| &v.label);
    let title = format!("Compared with {label}, 95 % confidence intervals");
    Table {
        title,
        rows: rows.collect(),
        columns,
    }
}

/// The value and, but for the base itself, its ratio: "×1.23 [1.20, 1.26]".
fn compared_cells(
    found: Option<&Compared>,
    factor: f64,
    is_base: bool,
    repeats: usize,
) -> [String; 2] {
    let Some(found) = found else {
        return [String::new(), String::new()];
    };
    if is_base {
        return [with_interval(found.base, factor, repeats), String::new()];
    }
    let ratio = match found.ratio {
        None => String::new(),
        Some(r) if repeats < 2 => format!("×{}", number(r.mean)),
        Some(r) => format!(
            "×{} [{}, {}]",
            number(r.mean),
            number(r.low),
            number(r.high)
        ),
    };
    [with_interval(found.value, factor, repeats), ratio]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{run, with};
    use crate::tables::flow_table;
    use scenario::{ApplicationResult, VideoResult};
    use units::BitRate;

    #[test]
    fn ratios_are_those_of_equal_seeds() {
        let base = [run(1, 10.0, 10), run(2, 20.0, 10)];
        let other = [run(1, 5.0, 10), run(2, 10.0, 10)];
        with(&[("none", &base), ("default", &other)], |variants| {
            let table = comparison_table(variants);
            assert_eq!(table.rows.len(), 4);
            assert_eq!(table.rows[0][..2], ["cubic", "none"]);
            assert_eq!(table.rows[1][..2], ["cubic", "default"]);
            let rtt = table
                .columns
                .iter()
                .position(|c| c.title == "RTT mean")
                .expect("a column");
            assert_eq!(table.rows[0][rtt + 1], "");
            // each seed's ratio is exactly one half, so the interval has no width
            assert_eq!(table.rows[1][rtt + 1], "×0.500 [0.500, 0.500]");
            // 19 ms and 38 ms; 9.5 ms and 19 ms
            assert!(
                table.rows[0][rtt].starts_with("28.50 ±"),
                "{:?}",
                table.rows[0]
            );
            assert!(
                table.rows[1][rtt].starts_with("14.25 ±"),
                "{:?}",
                table.rows[1]
            );
        });
    }

    #[test]
    fn other_seeds_are_not_compared() {
        let (base, other) = ([run(1, 10.0, 10)], [run(2, 10.0, 10)]);
        with(&[("a", &base), ("b", &other)], |variants| {
            assert!(comparison_table(variants).rows.is_empty());
            assert_eq!(flow_table(variants).rows.len(), 4);
        });
    }

    #[test]
    fn what_applications_measure_is_compared_too() {
        let video = |seed, mbps| {
            let mut run = run(seed, 10.0, 10);
            run.flows[0].application = Some(ApplicationResult::Video(VideoResult {
                bitrate: BitRate::from_mbps(mbps),
                played: units::Duration::from_secs(10),
                ..VideoResult::default()
            }));
            run
        };
        let base = [video(1, 2), video(2, 4)];
        let other = [video(1, 4), video(2, 8)];
        with(&[("none", &base), ("default", &other)], |variants| {
            let table = comparison_table(variants);
            let bitrate = table.columns.iter().position(|c| c.title == "bitrate");
            let bitrate = bitrate.expect("a column");
            assert_eq!(table.columns[bitrate].unit, "Mbit/s");
            assert_eq!(table.rows[1][bitrate + 1], "×2.000 [2.000, 2.000]");
            assert_eq!(table.rows[2][bitrate], "", "the other flow has none");
        });
    }
}
