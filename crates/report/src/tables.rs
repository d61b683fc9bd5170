//! Which tables a report has: flows, queues, link, and variants against the first.

use crate::table::{Column, Table};
use crate::text::number;
use crate::{Report, Variant};
use scenario::{Distribution, FlowResult, QueueResult, RunResult};

/// Most queues of one table: those with the most waiting.
const MOST_QUEUES: usize = 24;

/// All tables of a report: the comparison if there are several variants, then flows, queues and
/// link.
pub fn report_tables(report: &Report<'_>) -> Vec<Table> {
    let mut tables = Vec::new();
    if report.variants.len() > 1 {
        tables.push(comparison_table(&report.variants));
    }
    tables.extend([
        flow_table(&report.variants),
        queue_table(&report.variants),
        link_table(&report.variants),
    ]);
    tables
}

/// The mean of what each repeat gives, where it gives something.
fn mean<'a>(runs: &'a [RunResult], of: impl Fn(&'a RunResult) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}

fn count(value: Option<f64>) -> String {
    match value {
        Some(v) if v.fract() == 0.0 => format!("{v:.0}"),
        other => cell(other),
    }
}

/// "385.2 ± 0.4": the mean with its 95 % confidence interval, where there are several values.
fn with_interval(values: &[f64], factor: f64) -> String {
    if values.is_empty() {
        return String::new();
    }
    let e = scenario::estimate(values);
    if values.len() < 2 {
        return number(e.mean / factor);
    }
    format!("{} ± {}", number(e.mean / factor), number(e.ci95 / factor))
}

/// The rows' names: "flow", and "variant" before it if there is more than one.
fn label_columns(variants: &[Variant<'_>], name: &str) -> Vec<Column> {
    match variants {
        [_] => vec![Column::text(name)],
        _ => vec![Column::text("variant"), Column::text(name)],
    }
}

fn label_cells(variants: &[Variant<'_>], variant: &Variant<'_>, name: &str) -> Vec<String> {
    match variants {
        [_] => vec![name.to_owned()],
        _ => vec![variant.label.clone(), name.to_owned()],
    }
}

type Quantity = fn(&Distribution) -> f64;

/// Title of a column, the flow's distribution, and what the column shows of it, in ms.
type DistributionColumn = (&'static str, fn(&FlowResult) -> &Distribution, Quantity);

const FLOW_DISTRIBUTIONS: [DistributionColumn; 10] = [
    ("RTT min", |f| &f.rtt, |d| d.min),
    ("RTT mean", |f| &f.rtt, |d| d.mean),
    ("RTT p50", |f| &f.rtt, |d| d.p50),
    ("RTT p95", |f| &f.rtt, |d| d.p95),
    ("RTT p99", |f| &f.rtt, |d| d.p99),
    ("OWD mean", |f| &f.owd, |d| d.mean),
    ("OWD p95", |f| &f.owd, |d| d.p95),
    ("OWD p99", |f| &f.owd, |d| d.p99),
    ("load mean", |f| &f.load_time, |d| d.mean),
    ("load p95", |f| &f.load_time, |d| d.p95),
];

/// Flows x goodput, round-trip time, one-way delay, completion, losses. Columns that apply to no
/// flow are left out.
fn flow_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = label_columns(variants, "flow");
    columns.push(Column::text("cc"));
    columns.push(Column::number("goodput", "Mbit/s"));
    columns.push(Column::number("completion", "s"));
    columns.extend(
        FLOW_DISTRIBUTIONS
            .iter()
            .map(|(title, ..)| Column::number(title, "ms")),
    );
    columns.push(Column::number("jitter", "ms"));
    columns.push(Column::number("retransmits", ""));
    columns.push(Column::number("lost", ""));
    let mut rows = Vec::new();
    for variant in variants {
        let Some(first) = variant.runs.first() else {
            continue;
        };
        for (i, flow) in first.flows.iter().enumerate() {
            let mut row = label_cells(variants, variant, &flow.name);
            row.extend(flow_cells(variant.runs, i, flow));
            rows.push(row);
        }
    }
    Table {
        title: "Flows".to_owned(),
        columns,
        rows,
    }
    .without_empty_columns()
}

fn flow_cells(runs: &[RunResult], i: usize, flow: &FlowResult) -> Vec<String> {
    let flows = || runs.iter().filter_map(|r| r.flows.get(i));
    let goodputs: Vec<f64> = flows().map(|f| f.goodput.as_bps() as f64).collect();
    let mut cells = vec![flow.cc.clone(), with_interval(&goodputs, 1e6)];
    let completions: Vec<f64> = flows()
        .filter_map(|f| Some(f.completion?.as_secs_f64()))
        .collect();
    // a mean over only those repeats that ended would flatter the flow
    cells.push(match completions.len() == runs.len() {
        true => with_interval(&completions, 1.0),
        false => String::new(),
    });
    for (_, of, quantity) in FLOW_DISTRIBUTIONS {
        cells.push(cell(mean(runs, |r| {
            let d = of(r.flows.get(i)?);
            (d.count > 0).then(|| quantity(d))
        })));
    }
    let is_udp = flow.cc == "udp";
    cells.push(cell(mean(runs, |r| {
        is_udp.then_some(r.flows.get(i)?.jitter_ms)
    })));
    let sent_again = mean(runs, |r| Some(r.flows.get(i)?.retransmits as f64));
    cells.push(if is_udp {
        String::new()
    } else {
        count(sent_again)
    });
    cells.push(count(mean(runs, |r| Some(r.flows.get(i)?.lost as f64))));
    cells
}

/// Queues x bytes, sojourn time, drops. Queues in which nothing ever waited are left out, and so
/// are, beyond [`MOST_QUEUES`], those with the least.
fn queue_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = label_columns(variants, "queue");
    for title in ["mean", "p99", "max"] {
        columns.push(Column::number(title, "kB"));
    }
    for title in ["sojourn mean", "sojourn p50", "sojourn p95", "sojourn p99"] {
        columns.push(Column::number(title, "ms"));
    }
    columns.push(Column::number("drops", ""));
    let mut queues: Vec<(&Variant<'_>, usize, &QueueResult)> = variants
        .iter()
        .filter_map(|v| Some((v, v.runs.first()?)))
        .flat_map(|(v, run)| run.queues.iter().enumerate().map(move |(i, q)| (v, i, q)))
        .filter(|(_, _, q)| q.max_bytes > 0.0 || q.drops > 0)
        .collect();
    let found = queues.len();
    if found > MOST_QUEUES {
        let mut waiting: Vec<f64> = queues.iter().map(|q| q.2.mean_bytes).collect();
        waiting.sort_by(|a, b| b.total_cmp(a));
        queues.retain(|q| q.2.mean_bytes >= waiting[MOST_QUEUES - 1]);
        queues.truncate(MOST_QUEUES);
    }
    let title = match found > queues.len() {
        true => format!(
            "Queues ({} of {found}, with the most waiting)",
            queues.len()
        ),
        false => "Queues".to_owned(),
    };
    let row = |(variant, i, queue): (&Variant<'_>, usize, &QueueResult)| {
        let mut row = label_cells(variants, variant, &queue.name);
        row.extend(queue_cells(variant.runs, i));
        row
    };
    Table {
        title,
        columns,
        rows: queues.into_iter().map(row).collect(),
    }
}

fn queue_cells(runs: &[RunResult], i: usize) -> Vec<String> {
    let bytes: [fn(&QueueResult) -> f64; 3] = [|q| q.mean_bytes, |q| q.p99_bytes, |q| q.max_bytes];
    let sojourn: [Quantity; 4] = [|d| d.mean, |d| d.p50, |d| d.p95, |d| d.p99];
    let mut cells: Vec<String> = bytes
        .iter()
        .map(|of| cell(mean(runs, |r| Some(of(r.queues.get(i)?) / 1e3))))
        .collect();
    cells.extend(sojourn.iter().map(|of| {
        cell(mean(runs, |r| {
            let d = &r.queues.get(i)?.sojourn;
            (d.count > 0).then(|| of(d))
        }))
    }));
    cells.push(count(mean(runs, |r| Some(r.queues.get(i)?.drops as f64))));
    cells
}

fn link_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = vec![Column::text(if variants.len() > 1 {
        "variant"
    } else {
        "link"
    })];
    columns.push(Column::number("utilisation", "%"));
    columns.push(Column::number("capacity", "Mbit/s"));
    let rows = variants.iter().map(|variant| {
        let name = if variants.len() > 1 {
            &variant.label
        } else {
            "bottleneck"
        };
        let utilisation = mean(variant.runs, |r| Some(r.link.utilisation * 100.0));
        let capacity = mean(variant.runs, |r| Some(r.link.capacity.as_mbps_f64()));
        vec![name.to_owned(), cell(utilisation), cell(capacity)]
    });
    Table {
        title: "Bottleneck".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

/// What a comparison compares: title, unit, value of one repeat.
type Compared = (&'static str, &'static str, fn(&FlowResult) -> Option<f64>);

const COMPARED: [Compared; 5] = [
    ("goodput", "Mbit/s", |f| Some(f.goodput.as_mbps_f64())),
    ("RTT mean", "ms", |f| {
        (f.rtt.count > 0).then_some(f.rtt.mean)
    }),
    ("RTT p95", "ms", |f| (f.rtt.count > 0).then_some(f.rtt.p95)),
    ("OWD p95", "ms", |f| (f.owd.count > 0).then_some(f.owd.p95)),
    ("completion", "s", |f| f.completion.map(|c| c.as_secs_f64())),
];

/// The variants of each flow one below the other, each with its ratio to the first variant of the
/// same seeds and the ratio's 95 % confidence interval.
pub fn comparison_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = vec![Column::text("flow"), Column::text("variant")];
    for (title, unit, _) in COMPARED {
        columns.push(Column::number(title, unit));
        columns.push(Column::number("ratio", ""));
    }
    let mut rows = Vec::new();
    let Some((base, base_run)) = variants.first().and_then(|v| Some((v, v.runs.first()?))) else {
        return Table {
            title: String::new(),
            columns,
            rows,
        };
    };
    for (i, flow) in base_run.flows.iter().enumerate() {
        for (k, variant) in variants.iter().enumerate() {
            let mut row = vec![flow.name.clone(), variant.label.clone()];
            for (_, _, of) in COMPARED {
                let values = samples(variant.runs, i, of);
                let base_values = samples(base.runs, i, of);
                row.push(
                    values
                        .as_deref()
                        .map_or(String::new(), |v| with_interval(v, 1.0)),
                );
                row.push(match (k, values, base_values) {
                    (1.., Some(values), Some(base_values)) => ratio(&values, &base_values),
                    _ => String::new(),
                });
            }
            rows.push(row);
        }
    }
    let title = format!("Compared with {}, 95 % confidence intervals", base.label);
    Table {
        title,
        columns,
        rows,
    }
    .without_empty_columns()
}

/// One value for each repeat, if every repeat has one.
fn samples(
    runs: &[RunResult],
    flow: usize,
    of: fn(&FlowResult) -> Option<f64>,
) -> Option<Vec<f64>> {
    let values: Option<Vec<f64>> = runs.iter().map(|r| of(r.flows.get(flow)?)).collect();
    values.filter(|v| !v.is_empty())
}

/// "×1.23 [1.20, 1.26]"; without several repeats only the ratio.
fn ratio(values: &[f64], base: &[f64]) -> String {
    let r = scenario::paired_ratio(values, base);
    if !r.mean.is_finite() {
        return String::new();
    }
    if values.len() < 2 {
        return format!("×{}", number(r.mean));
    }
    format!(
        "×{} [{}, {}]",
        number(r.mean),
        number(r.mean - r.ci95),
        number(r.mean + r.ci95)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::run;

    fn variant<'a>(label: &str, runs: &'a [RunResult]) -> Variant<'a> {
        Variant {
            label: label.to_owned(),
            runs,
        }
    }

    fn at<'a>(table: &'a Table, row: usize, title: &str) -> &'a str {
        let column = table
            .columns
            .iter()
            .position(|c| c.title == title)
            .expect(title);
        &table.rows[row][column]
    }

    #[test]
    fn repeats_give_means_with_intervals() {
        let mut runs = [run(1, 2.0, 10), run(2, 2.0, 10), run(3, 2.0, 10)];
        for (run, mbps) in runs.iter_mut().zip([10, 20, 30]) {
            run.flows[0].goodput = units::BitRate::from_mbps(mbps);
        }
        let table = flow_table(&[variant("", &runs)]);
        // mean 20, s = 10, half width 4.303 x 10 / sqrt(3)
        assert_eq!(at(&table, 0, "goodput"), "20.00 ± 24.84");
        assert_eq!(at(&table, 0, "RTT mean"), "3.800");
        assert_eq!(at(&table, 0, "retransmits"), "12");
        assert!(
            table.columns.iter().all(|c| c.title != "load mean"),
            "no page was loaded"
        );
    }

    #[test]
    fn a_completion_time_needs_every_repeat_to_end() {
        let mut runs = [run(1, 2.0, 10), run(2, 2.0, 10)];
        assert!(at(&flow_table(&[variant("", &runs)]), 0, "completion").starts_with("4.160"));
        runs[1].flows[0].completion = None;
        assert_eq!(at(&flow_table(&[variant("", &runs)]), 0, "completion"), "");
    }

    #[test]
    fn ratios_are_those_of_equal_seeds() {
        let base = [run(1, 10.0, 10), run(2, 20.0, 10)];
        let other = [run(1, 5.0, 10), run(2, 10.0, 10)];
        let table = comparison_table(&[variant("none", &base), variant("default", &other)]);
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
    }

    #[test]
    fn of_many_queues_those_with_the_most_waiting_are_shown() {
        let mut runs = [run(1, 2.0, 10)];
        let queue = runs[0].queues[0].clone();
        runs[0].queues = (0..100)
            .map(|i| QueueResult {
                name: format!("rlc/ue{i}"),
                mean_bytes: f64::from(i) * 1e3,
                ..queue.clone()
            })
            .collect();
        let table = queue_table(&[variant("", &runs)]);
        assert_eq!(table.rows.len(), MOST_QUEUES);
        assert_eq!(table.rows[0][0], format!("rlc/ue{}", 100 - MOST_QUEUES));
        assert!(table.title.contains("of 100"), "{}", table.title);
    }
}
