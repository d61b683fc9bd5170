//! The tables for a first look in a terminal: what was found, a line for each flow, the longest queues. They fit
//! [`WIDTH`] columns where names are not long; all columns are in [`crate::report_tables`].

use crate::applications::application_tables;
use crate::conditions::conditions_table;
use crate::findings::findings_table;
use crate::handovers;
use crate::table::{Column, Table};
use crate::tables::{Quantity, count, link_table, real_time_table, spread_cell, with_interval};
use crate::text::number;
use crate::{Report, Variant};
use scenario::{FlowSummary, QueueSummary};

/// Columns of a terminal that they are made for.
#[cfg(test)]
const WIDTH: usize = 100;
/// Queues of a variant that have a line.
const MAX_QUEUES: usize = 3;
/// The least mean waiting time of a queue with a line, ms.
const MIN_WAIT_MS: f64 = 0.1;

/// What was found if there are several variants with the same seeds, flows, what their applications measured, the
/// longest queues, the bottleneck, how a run in real time kept time, and what it all ran on.
pub fn headline_tables(report: &Report<'_>) -> Vec<Table> {
    let (found, mut tables) = parts(report);
    tables.insert(0, found);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// What was found, and the other tables.
pub(crate) fn parts(report: &Report<'_>) -> (Table, Vec<Table>) {
    let variants = report.variants.as_slice();
    let mut tables = vec![flow_table(variants)];
    tables.extend(application_tables(variants));
    tables.extend([
        handovers::table(variants),
        queue_table(variants),
        link_table(variants),
        real_time_table(variants),
        conditions_table(report),
    ]);
    (findings_table(report), tables)
}

/// The flows, each with its variants one below the other. A flow of datagrams has one-way delays, every other its
/// round trips.
fn flow_table(variants: &[Variant<'_>]) -> Table {
    let mut columns = vec![Column::text("flow")];
    if variants.len() > 1 {
        columns.push(Column::text("variant"));
    }
    columns.push(Column::number("goodput", "Mbit/s"));
    columns.push(Column::number("completion", "s"));
    for title in ["load mean", "RTT mean", "RTT p95", "OWD mean", "OWD p95"] {
        columns.push(Column::number(title, "ms"));
    }
    columns.push(Column::number("lost", ""));
    let mut names: Vec<&str> = Vec::new();
    for flow in variants.iter().flat_map(|variant| &variant.summary.flows) {
        if !names.contains(&flow.name.as_str()) {
            names.push(&flow.name);
        }
    }
    let rows = names.into_iter().flat_map(|name| {
        variants.iter().filter_map(move |variant| {
            let flow = variant.summary.flows.iter().find(|f| f.name == name)?;
            let mut row = vec![name.to_owned()];
            if variants.len() > 1 {
                row.push(variant.label.clone());
            }
            row.extend(flow_cells(flow, variant.summary.repeats));
            Some(row)
        })
    });
    Table {
        title: "Flows at a glance".to_owned(),
        rows: rows.collect(),
        columns,
    }
    .without_empty_columns()
}

/// What is shown of one-way delays.
const OWD: [Quantity; 2] = [|d| d.mean, |d| d.p95];

fn flow_cells(flow: &FlowSummary, repeats: usize) -> Vec<String> {
    let completion = flow
        .completion_s
        .map(|time| with_interval(time, 1.0, repeats));
    let (rtt, mut owd) = (&flow.rtt_ms, [String::new(), String::new()]);
    if rtt.samples == 0.0 {
        owd = OWD.map(|of| spread_cell(&flow.owd_ms, of));
    }
    let [owd_mean, owd_p95] = owd;
    vec![
        with_interval(flow.goodput_bps, 1e6, repeats),
        completion.unwrap_or_default(),
        spread_cell(&flow.load_time_ms, |d| d.mean),
        spread_cell(rtt, |d| d.mean),
        spread_cell(rtt, |d| d.p95),
        owd_mean,
        owd_p95,
        count(flow.lost),
    ]
}

/// Of each variant the queues in which packets wait longest: how long, and how much waits.
fn queue_table(variants: &[Variant<'_>]) -> Table {
    let several = variants.len() > 1;
    let mut columns = vec![Column::text("queue")];
    if several {
        columns.push(Column::text("variant"));
    }
    for title in ["waits mean", "waits p95"] {
        columns.push(Column::number(title, "ms"));
    }
    columns.push(Column::number("holds mean", "kB"));
    columns.push(Column::number("holds max", "kB"));
    columns.push(Column::number("drops", ""));
    let mut longest: Vec<(&Variant<'_>, &QueueSummary)> = Vec::new();
    for variant in variants {
        let mut queues: Vec<&QueueSummary> = variant.summary.queues.iter().collect();
        queues.retain(|q| q.sojourn_ms.mean >= MIN_WAIT_MS || q.drops > 0.0);
        queues.sort_by(|a, b| b.sojourn_ms.mean.total_cmp(&a.sojourn_ms.mean));
        longest.extend(queues.into_iter().take(MAX_QUEUES).map(|q| (variant, q)));
    }
    let rows = longest.into_iter().map(|(variant, queue)| {
        let mut row = vec![queue.name.clone()];
        if several {
            row.push(variant.label.clone());
        }
        row.extend([
            spread_cell(&queue.sojourn_ms, |d| d.mean),
            spread_cell(&queue.sojourn_ms, |d| d.p95),
            number(queue.bytes.mean / 1e3),
            number(queue.bytes.max / 1e3),
            count(queue.drops),
        ]);
        row
    });
    Table {
        title: "Longest queues".to_owned(),
        rows: rows.collect(),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{run, with};
    use crate::{TextStyle, text};

    #[test]
    fn the_table_of_flows_fits_and_keeps_a_flows_variants_together() {
        let base = [run(1, 100.0, 10), run(2, 101.0, 10)];
        let other = [run(1, 10.0, 10), run(2, 11.0, 10)];
        with(
            &[("pep=none", &base), ("pep=default", &other)],
            |variants| {
                let table = flow_table(variants);
                let names: Vec<_> = table.rows.iter().map(|row| &row[..2]).collect();
                assert_eq!(
                    names,
                    [
                        ["cubic", "pep=none"],
                        ["cubic", "pep=default"],
                        ["bbr", "pep=none"],
                        ["bbr", "pep=default"]
                    ]
                );
                let text = text(&[table], TextStyle::default());
                let widest = text.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(WIDTH), "{text}");
            },
        );
    }

    #[test]
    fn one_way_delays_are_those_of_flows_without_round_trips() {
        let mut runs = [run(1, 10.0, 10)];
        runs[0].flows[0].rtt = scenario::Distribution::default();
        with(&[("", &runs)], |variants| {
            let table = flow_table(variants);
            let at = |title: &str| {
                table
                    .columns
                    .iter()
                    .position(|c| c.title == title)
                    .expect(title)
            };
            assert_eq!(table.rows[0][at("RTT mean")], "");
            assert_ne!(table.rows[0][at("OWD mean")], "");
            assert_ne!(table.rows[1][at("RTT mean")], "");
            assert_eq!(table.rows[1][at("OWD mean")], "");
        });
    }

    #[test]
    fn queues_in_which_nothing_waits_have_no_line() {
        let mut runs = [run(1, 10.0, 10)];
        let queue = runs[0].queues[0].clone();
        runs[0].queues = (0..6u32)
            .map(|n| scenario::QueueResult {
                name: format!("q{n}"),
                sojourn: scenario::Distribution {
                    mean: f64::from(n) * 0.09,
                    ..queue.sojourn.clone()
                },
                drops: 0,
                ..queue.clone()
            })
            .collect();
        with(&[("", &runs)], |variants| {
            let table = queue_table(variants);
            let names: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
            assert_eq!(names, ["q5", "q4", "q3"]);
            runs_without_waiting(variants);
        });
    }

    fn runs_without_waiting(variants: &[Variant<'_>]) {
        let mut summary = variants[0].summary.clone();
        summary.queues.retain(|queue| queue.name.as_str() < "q2");
        let variant = Variant {
            summary: &summary,
            ..variants[0].clone()
        };
        assert!(queue_table(&[variant]).rows.is_empty());
    }
}
