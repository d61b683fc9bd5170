//! Which tables a report has: flows, queues, link, and variants against the first.

use crate::applications::application_tables;
use crate::comparison::comparison_table;
use crate::conditions::conditions_table;
use crate::findings::findings_table;
use crate::handovers;
use crate::table::{Column, Table};
use crate::text::number;
use crate::{Report, Variant};
use scenario::{Estimate, FlowSummary, QueueSummary, Spread};

/// Most queues of one table: those with the most waiting.
const MAX_QUEUES: usize = 24;

/// All tables of a report: what was found and the comparison if there are several variants with the same seeds, then
/// flows, what their applications measured, queues and link, how a run in real time kept time, and what it all ran on.
pub fn report_tables(report: &Report<'_>) -> Vec<Table> {
    let variants = report.variants.as_slice();
    let before = [
        findings_table(report),
        comparison_table(variants),
        flow_table(variants),
    ];
    let after = [
        burst_table(variants),
        queue_table(variants),
        link_table(variants),
        unsplit_table(variants),
        handovers::table(variants),
        real_time_table(variants),
        conditions_table(report),
    ];
    before
        .into_iter()
        .chain(application_tables(variants))
        .chain(after)
        .filter(|table| !table.rows.is_empty())
        .collect()
}

pub(crate) fn count(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        number(value)
    }
}

/// "385.2 ± 0.4": the mean with its 95 % confidence interval, if it is one of several values.
pub(crate) fn with_interval(estimate: Estimate, factor: f64, repeats: usize) -> String {
    let mean = number(estimate.mean / factor);
    if repeats < 2 {
        mean
    } else {
        format!("{mean} ± {}", number(estimate.ci95 / factor))
    }
}

/// The rows' names: "flow", and "variant" before it if there is more than one.
pub(crate) fn label_columns(variants: &[Variant<'_>], name: &str) -> Vec<Column> {
    match variants {
        [_] => vec![Column::text(name)],
        _ => vec![Column::text("variant"), Column::text(name)],
    }
}

pub(crate) fn label_cells(
    variants: &[Variant<'_>],
    variant: &Variant<'_>,
    name: &str,
) -> Vec<String> {
    match variants {
        [_] => vec![name.to_owned()],
        _ => vec![variant.label.clone(), name.to_owned()],
    }
}

pub(crate) type Quantity = fn(&Spread) -> f64;

/// Title of a column, the flow's distribution, and what the column shows of it, in ms.
type SpreadColumn = (&'static str, fn(&FlowSummary) -> &Spread, Quantity);

const FLOW_SPREADS: [SpreadColumn; 11] = [
    ("RTT min", |f| &f.rtt_ms, |d| d.min),
    ("RTT mean", |f| &f.rtt_ms, |d| d.mean),
    ("RTT p50", |f| &f.rtt_ms, |d| d.p50),
    ("RTT p95", |f| &f.rtt_ms, |d| d.p95),
    ("RTT p99", |f| &f.rtt_ms, |d| d.p99),
    ("OWD mean", |f| &f.owd_ms, |d| d.mean),
    ("OWD p95", |f| &f.owd_ms, |d| d.p95),
    ("OWD p99", |f| &f.owd_ms, |d| d.p99),
    ("segment delay", |f| &f.segment_delay_ms, |d| d.mean),
    ("load mean", |f| &f.load_time_ms, |d| d.mean),
    ("load p95", |f| &f.load_time_ms, |d| d.p95),
];

/// A number of a distribution; nothing if nothing was measured.
pub(crate) fn spread_cell(spread: &Spread, quantity: Quantity) -> String {
    if spread.samples > 0.0 {
        number(quantity(spread))
    } else {
        String::new()
    }
}

/// Flows x goodput, completion, round-trip time, one-way delay, losses. Columns that apply to no
/// flow are left out.
pub(crate) fn flow_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = label_columns(variants, "flow");
    columns.push(Column::text("cc"));
    columns.push(Column::number("goodput", "Mbit/s"));
    columns.push(Column::number("completion", "s"));
    columns.extend(
        FLOW_SPREADS
            .iter()
            .map(|(title, ..)| Column::number(title, "ms")),
    );
    columns.push(Column::number("jitter", "ms"));
    columns.push(Column::number("retransmits", ""));
    columns.push(Column::number("lost", ""));
    let rows = variants.iter().flat_map(|variant| {
        variant.summary.flows.iter().map(|flow| {
            let mut row = label_cells(variants, variant, &flow.name);
            row.extend(flow_cells(flow, variant.summary.repeats));
            row
        })
    });
    Table {
        title: "Flows".to_owned(),
        rows: rows.collect(),
        columns,
    }
    .without_empty_columns()
}

fn flow_cells(flow: &FlowSummary, repeats: usize) -> Vec<String> {
    let is_udp = flow.cc == "udp";
    let completion = flow
        .completion_s
        .map(|time| with_interval(time, 1.0, repeats));
    let mut cells = vec![
        flow.cc.clone(),
        with_interval(flow.goodput_bps, 1e6, repeats),
        completion.unwrap_or_default(),
    ];
    cells.extend(
        FLOW_SPREADS
            .iter()
            .map(|(_, of, quantity)| spread_cell(of(flow), *quantity)),
    );
    cells.push(if is_udp {
        number(flow.jitter_ms)
    } else {
        String::new()
    });
    cells.push(if is_udp {
        String::new()
    } else {
        count(flow.retransmits)
    });
    cells.push(count(flow.lost));
    cells
}

/// Lengths of bursts that have a column of their own; the last is of all longer ones too.
const BURST_LENGTHS: usize = 5;

/// Of flows of datagrams that lost some: how many in a row. Not part of the table of flows, whose
/// columns are for all.
fn burst_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = label_columns(variants, "flow");
    columns.push(Column::number("lost", "%"));
    columns.push(Column::number("bursts", ""));
    columns.push(Column::number("mean", "packets"));
    for length in 1..=BURST_LENGTHS {
        let title = match length {
            BURST_LENGTHS => format!("of {length} or more"),
            _ => format!("of {length}"),
        };
        columns.push(Column::number(&title, "%"));
    }
    let lossy = |variant: &Variant<'_>, flow: &FlowSummary| {
        let bursts = flow.loss_bursts.as_ref().filter(|b| b.bursts > 0.0)?;
        let mut row = label_cells(variants, variant, &flow.name);
        row.push(number(bursts.loss_rate * 100.0));
        row.push(count(bursts.bursts));
        row.push(number(bursts.mean_length));
        let share = |lengths: &dyn Fn(usize) -> bool| {
            let of = bursts.by_length.iter().filter(|b| lengths(b.length));
            number(of.map(|b| b.share * 100.0).sum())
        };
        row.extend((1..BURST_LENGTHS).map(|length| share(&|l| l == length)));
        row.push(share(&|l| l >= BURST_LENGTHS));
        Some(row)
    };
    let rows = variants.iter().flat_map(|variant| {
        let flows = variant.summary.flows.iter();
        flows.filter_map(move |flow| lossy(variant, flow))
    });
    Table {
        title: "Lost in a row: share of bursts by their packets".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

/// Queues x bytes, sojourn time, drops. Queues in which nothing ever waited are left out, and so
/// are, beyond [`MAX_QUEUES`], those with the least.
fn queue_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = label_columns(variants, "queue");
    columns.extend(["mean", "p99", "max"].map(|title| Column::number(title, "kB")));
    let titles = ["sojourn mean", "sojourn p50", "sojourn p95", "sojourn p99"];
    columns.extend(titles.map(|title| Column::number(title, "ms")));
    columns.push(Column::number("drops", ""));
    let mut queues: Vec<(&Variant<'_>, &QueueSummary)> = variants
        .iter()
        .flat_map(|v| v.summary.queues.iter().map(move |q| (v, q)))
        .filter(|(_, q)| q.bytes.max > 0.0 || q.drops > 0.0)
        .collect();
    let found = queues.len();
    let most = MAX_QUEUES * variants.len();
    if found > most {
        let mut waiting: Vec<f64> = queues.iter().map(|(_, q)| q.bytes.mean).collect();
        waiting.sort_by(|a, b| b.total_cmp(a));
        queues.retain(|(_, q)| q.bytes.mean >= waiting[most - 1]);
        queues.truncate(most);
    }
    let title = match found > queues.len() {
        true => format!(
            "Queues ({} of {found}, with the most waiting)",
            queues.len()
        ),
        false => "Queues".to_owned(),
    };
    let rows = queues.into_iter().map(|(variant, queue)| {
        let mut row = label_cells(variants, variant, &queue.name);
        row.extend(queue_cells(queue));
        row
    });
    Table {
        title,
        rows: rows.collect(),
        columns,
    }
}

fn queue_cells(queue: &QueueSummary) -> Vec<String> {
    const SOJOURN: [Quantity; 4] = [|d| d.mean, |d| d.p50, |d| d.p95, |d| d.p99];
    let bytes = [queue.bytes.mean, queue.bytes.p99, queue.bytes.max];
    let mut cells: Vec<String> = bytes.iter().map(|b| number(b / 1e3)).collect();
    cells.extend(
        SOJOURN
            .iter()
            .map(|quantity| spread_cell(&queue.sojourn_ms, *quantity)),
    );
    cells.push(count(queue.drops));
    cells
}

pub(crate) fn link_table(variants: &[Variant<'_>]) -> Table {
    let several = variants.len() > 1;
    let columns = vec![
        Column::text(if several { "variant" } else { "link" }),
        Column::number("utilisation", "%"),
        Column::number("capacity", "Mbit/s"),
    ];
    let rows = variants.iter().map(|variant| {
        let name = if several {
            variant.label.as_str()
        } else {
            "bottleneck"
        };
        let link = &variant.summary.link;
        let utilisation = number(link.utilisation * 100.0);
        vec![
            name.to_owned(),
            utilisation,
            number(link.capacity_bps / 1e6),
        ]
    });
    Table {
        title: "Bottleneck".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

/// Packets that are not split by what became of them, where they are marked.
fn unsplit_table(variants: &[Variant<'_>]) -> Table {
    let several = variants.len() > 1;
    let reasons = [
        ("marked L4S", "marked_l4s"),
        ("marked classic", "marked_classic"),
        ("dropped", "dropped_not_ect"),
        ("in overload", "dropped_overload"),
        ("undue", "undue"),
        ("short queue", "short"),
        ("sparse", "sparse"),
        ("young", "young"),
        ("capped", "capped"),
    ];
    let mut columns = vec![Column::text(if several { "variant" } else { "not split" })];
    columns.extend(reasons.map(|(title, _)| Column::number(title, "")));
    columns.push(Column::number("no report", ""));
    let rows = variants.iter().filter_map(|variant| {
        let counts = &variant.summary.unsplit;
        if counts.is_empty() {
            return None;
        }
        let of = |name: &str| counts.get(name).copied().unwrap_or(0.0);
        let name = if several {
            variant.label.as_str()
        } else {
            "packets"
        };
        let mut row = vec![name.to_owned()];
        row.extend(reasons.map(|(_, name)| count(of(name))));
        row.push(count(
            ["no_report", "stale", "no_rate"].map(of).iter().sum(),
        ));
        Some(row)
    });
    Table {
        title: "Packets that are not split".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

/// How late the cell's slots were in real time. Without rows for runs of the simulator.
pub(crate) fn real_time_table(variants: &[Variant<'_>]) -> Table {
    let columns = vec![
        Column::text("real time"),
        Column::number("late p50", "ms"),
        Column::number("late p99", "ms"),
        Column::number("late max", "ms"),
        Column::number("scale", ""),
    ];
    let rows = variants.iter().filter_map(|variant| {
        let time = variant.summary.real_time.as_ref()?;
        let name = if variants.len() > 1 {
            variant.label.as_str()
        } else {
            "slots"
        };
        let late = &time.lateness_ms;
        Some(vec![
            name.to_owned(),
            number(late.p50),
            number(late.p99),
            number(late.max),
            number(time.scale),
        ])
    });
    Table {
        title: "Timing".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{run, with};

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
        with(&[("", &runs)], |variants| {
            let table = flow_table(variants);
            // mean 20, s = 10, half width 4.303 x 10 / sqrt(3)
            assert_eq!(at(&table, 0, "goodput"), "20.00 ± 24.84");
            assert_eq!(at(&table, 0, "RTT mean"), "3.800");
            assert_eq!(at(&table, 0, "retransmits"), "12");
            assert!(
                table.columns.iter().all(|c| c.title != "load mean"),
                "no page was loaded"
            );
        });
    }

    #[test]
    fn only_flows_that_lost_datagrams_have_bursts() {
        let mut runs = [run(1, 2.0, 10)];
        with(&[("", &runs)], |variants| {
            assert!(burst_table(variants).rows.is_empty());
        });
        let mut bursts = scenario::LossBursts {
            packets: 1000,
            ..Default::default()
        };
        for length in [1, 1, 2, 7, 12] {
            bursts.add(length);
        }
        runs[0].flows[0].loss_bursts = Some(bursts);
        with(&[("", &runs)], |variants| {
            let table = burst_table(variants);
            assert_eq!(table.rows.len(), 1);
            assert_eq!(at(&table, 0, "lost"), "2.300");
            assert_eq!(at(&table, 0, "mean"), "4.600");
            assert_eq!(at(&table, 0, "of 1"), "40.00");
            assert_eq!(at(&table, 0, "of 5 or more"), "40.00");
        });
    }

    #[test]
    fn a_completion_time_needs_every_repeat_to_end() {
        let mut runs = [run(1, 2.0, 10), run(2, 2.0, 10)];
        with(&[("", &runs)], |variants| {
            assert_eq!(at(&flow_table(variants), 0, "completion"), "4.160 ± 0.000");
        });
        runs[1].flows[0].completion = None;
        with(&[("", &runs)], |variants| {
            assert_eq!(at(&flow_table(variants), 0, "completion"), "");
        });
    }

    #[test]
    fn of_many_queues_those_with_the_most_waiting_are_shown() {
        let mut runs = [run(1, 2.0, 10)];
        let queue = runs[0].queues[0].clone();
        runs[0].queues = (0..100)
            .map(|i| scenario::QueueResult {
                name: format!("rlc/ue{i}"),
                mean_bytes: f64::from(i) * 1e3,
                ..queue.clone()
            })
            .collect();
        with(&[("", &runs)], |variants| {
            let table = queue_table(variants);
            assert_eq!(table.rows.len(), MAX_QUEUES);
            assert_eq!(table.rows[0][0], format!("rlc/ue{}", 100 - MAX_QUEUES));
            assert!(table.title.contains("of 100"), "{}", table.title);
        });
    }
}
