//! What was found, a line for each flow of each variant: the first thing that a report states.

use crate::comparison::compared;
use crate::table::{Column, Table};
use crate::text::number;
use crate::{Report, Variant};
use scenario::{Compared, FlowSummary};

/// Flows that have a line, in the file's order; more are in the tables.
const MAX_FLOWS: usize = 8;
/// Variants that have lines.
const MAX_VARIANTS: usize = 6;

/// Of several variants with the same seeds: what each flow keeps of its goodput, and what became of its delays, beside the
/// first variant: variant, flow, sentence. Nothing if there is one variant, or if the seeds are not the same.
pub fn findings(report: &Report<'_>) -> Vec<[String; 3]> {
    let variants = report.variants.as_slice();
    let compared = compared(variants);
    let base = variants.first().filter(|_| !compared.is_empty());
    let others = variants.iter().skip(1).take(MAX_VARIANTS);
    base.into_iter()
        .flat_map(|base| others.clone().flat_map(|v| rows(&compared, base, v)))
        .collect()
}

/// [`findings`], and where there are none because there is one variant or the seeds differ, what was measured: of each
/// flow its goodput and its delays. What stands beside a result in a list of results.
pub fn sentences(report: &Report<'_>) -> Vec<[String; 3]> {
    let found = findings(report);
    if !found.is_empty() {
        return found;
    }
    let variants = report.variants.iter().take(MAX_VARIANTS);
    variants.flat_map(measured_rows).collect()
}

/// The lines of a variant by itself.
fn measured_rows(variant: &Variant<'_>) -> Vec<[String; 3]> {
    let flows = variant.summary.flows.iter().take(MAX_FLOWS);
    let line = |flow: &FlowSummary| [variant.label.clone(), flow.name.clone(), measured(flow)];
    let mut rows: Vec<_> = flows.map(line).collect();
    rows.extend(left_out(variant));
    let used = number(100.0 * variant.summary.link.utilisation);
    let used = format!("{used} % used");
    rows.push([variant.label.clone(), "bottleneck".to_owned(), used]);
    rows
}

/// A flow by itself: goodput, then times.
fn measured(flow: &FlowSummary) -> String {
    let mut parts = vec![format!("{} Mbit/s", rounded(flow.goodput_bps.mean / 1e6))];
    let mut add = |name: &str, value: f64, unit| {
        parts.push(format!("{name} {} {unit}", rounded(value)));
    };
    if let Some(time) = flow.completion_s {
        add("done", time.mean, "s");
    }
    if flow.load_time_ms.samples > 0.0 {
        add("loads in", flow.load_time_ms.mean, "ms");
    }
    if flow.rtt_ms.samples > 0.0 {
        add("RTT", flow.rtt_ms.mean, "ms");
        add("p95", flow.rtt_ms.p95, "ms");
    } else if flow.owd_ms.samples > 0.0 {
        add("one-way delay", flow.owd_ms.mean, "ms");
    }
    parts.join(", ")
}

/// Of many flows, how many have no line.
fn left_out(variant: &Variant<'_>) -> Option<[String; 3]> {
    let more = variant.summary.flows.len().saturating_sub(MAX_FLOWS);
    let text = format!("{more} more flows: in the tables below");
    (more > 0).then(|| [variant.label.clone(), String::new(), text])
}

/// [`findings`] as a table.
pub(crate) fn findings_table(report: &Report<'_>) -> Table {
    let variants = report.variants.as_slice();
    let rows = findings(report);
    let table = Table {
        title: title(variants),
        columns: ["variant", "flow", ""].map(Column::text).to_vec(),
        rows: rows.into_iter().map(Vec::from).collect(),
    };
    match variants {
        // the title names it
        [_, _] => table.without_column(0),
        _ => table,
    }
}

/// What was measured as a table, where nothing is compared.
pub(crate) fn measured_table(report: &Report<'_>) -> Table {
    let columns: &[&str] = match report.variants.as_slice() {
        [_] => &["flow", ""],
        _ => &["variant", "flow", ""],
    };
    let without_variant = |row: [String; 3]| Vec::from(row).split_off(3 - columns.len());
    Table {
        title: "Measured".to_owned(),
        columns: columns.iter().copied().map(Column::text).collect(),
        rows: sentences(report).into_iter().map(without_variant).collect(),
    }
}

fn title(variants: &[Variant<'_>]) -> String {
    match variants {
        [] => String::new(),
        [base, other] => format!("Found: {} beside {}", other.label, base.label),
        [base, ..] => format!("Found, beside {}", base.label),
    }
}

/// The lines of a variant: its flows, and how much of the bottleneck was used.
fn rows(compared: &[Compared], base: &Variant<'_>, variant: &Variant<'_>) -> Vec<[String; 3]> {
    let label = || variant.label.clone();
    let flows = variant.summary.flows.iter().take(MAX_FLOWS);
    let mut rows: Vec<[String; 3]> = flows
        .filter_map(|flow| {
            let of = |metric: &str| {
                compared.iter().find(|c| {
                    c.variant == variant.label && c.flow == flow.name && c.metric == metric
                })
            };
            let found = sentence(of);
            (!found.is_empty()).then(|| [label(), flow.name.clone(), found])
        })
        .collect();
    rows.extend(left_out(variant));
    let used = |of: &Variant<'_>| 100.0 * of.summary.link.utilisation;
    let used = format!("{} -> {} % used", number(used(base)), number(used(variant)));
    rows.push([label(), "bottleneck".to_owned(), used]);
    rows
}

/// What became of a flow: goodput as a part of the base's with its interval, then times.
fn sentence<'a>(of: impl Fn(&str) -> Option<&'a Compared>) -> String {
    let mut parts = Vec::new();
    let ratio = of("goodput_bps").and_then(|goodput| goodput.ratio);
    if let Some(ratio) = ratio {
        let percent = |value: f64| format!("{:.0}", 100.0 * value);
        let mut part = format!("{} % of the goodput", percent(ratio.mean));
        if ratio.pairs > 1 && percent(ratio.low) != percent(ratio.high) {
            part += &format!(" ({} to {})", percent(ratio.low), percent(ratio.high));
        }
        parts.push(part);
    }
    let mut step = |name: &str, metric, unit| {
        if let Some(found) = of(metric) {
            let (from, to) = (rounded(found.base.mean), rounded(found.value.mean));
            parts.push(format!("{name} {from} -> {to} {unit}"));
        }
    };
    step("done", "completion_s", "s");
    step("loads in", "load_time_mean_ms", "ms");
    if of("rtt_mean_ms").is_some() {
        step("RTT", "rtt_mean_ms", "ms");
        step("p95", "rtt_p95_ms", "ms");
    } else {
        step("one-way delay", "owd_mean_ms", "ms");
    }
    parts.join(", ")
}

/// Three digits: what a sentence needs.
fn rounded(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{run, summary};
    use scenario::RunResult;

    fn table(variants: &[(&str, &[RunResult])]) -> Table {
        of_report(variants, findings_table)
    }

    fn of_report<T>(variants: &[(&str, &[RunResult])], of_it: impl Fn(&Report<'_>) -> T) -> T {
        let summaries: Vec<_> = variants.iter().map(|(_, runs)| summary(runs)).collect();
        let of = |((label, runs), summary)| Variant {
            label: str::to_owned(label),
            summary,
            runs,
        };
        let variants: Vec<Variant<'_>> = variants
            .iter()
            .map(|(label, runs)| (*label, *runs))
            .zip(&summaries)
            .map(of)
            .collect();
        of_it(&Report {
            title: "t",
            description: "",
            world: "sim",
            version: "0",
            command: &[],
            seed: 1,
            repeats: 2,
            settings: Vec::new(),
            variants,
        })
    }

    #[test]
    fn each_flow_has_what_it_keeps_and_what_it_waits() {
        let base = [run(1, 100.0, 10), run(2, 100.0, 10)];
        let mut other = [run(1, 10.0, 10), run(2, 10.0, 10)];
        for run in &mut other {
            run.flows[0].goodput = units::BitRate::from_bps(run.flows[0].goodput.as_bps() / 2);
            run.link.utilisation = 0.5;
        }
        let table = table(&[("pep=none", &base), ("pep=default", &other)]);
        assert_eq!(table.title, "Found: pep=default beside pep=none");
        assert_eq!(
            table.rows,
            [
                [
                    "cubic",
                    "50 % of the goodput, done 4.16 -> 4.16 s, RTT 190 -> 19.0 ms, p95 410 -> 41.0 ms"
                ],
                [
                    "bbr",
                    "100 % of the goodput, done 4.16 -> 4.16 s, RTT 190 -> 19.0 ms, p95 410 -> 41.0 ms"
                ],
                ["bottleneck", "97.40 -> 50.00 % used"],
            ]
        );
    }

    #[test]
    fn one_variant_and_other_seeds_have_none() {
        let base = [run(1, 10.0, 10)];
        assert!(table(&[("", &base)]).rows.is_empty());
        let other = [run(2, 10.0, 10)];
        assert!(table(&[("a", &base), ("b", &other)]).rows.is_empty());
    }

    #[test]
    fn what_cannot_be_compared_has_what_was_measured() {
        let base = [run(1, 10.0, 10)];
        let alone = of_report(&[("", &base)], sentences);
        let goodput = base[0].flows[0].goodput.as_bps() as f64 / 1e6;
        let goodput = rounded(goodput);
        assert_eq!(
            alone,
            [
                [
                    "",
                    "cubic",
                    &format!("{goodput} Mbit/s, done 4.16 s, RTT 19.0 ms, p95 41.0 ms")
                ],
                [
                    "",
                    "bbr",
                    &format!("{goodput} Mbit/s, done 4.16 s, RTT 19.0 ms, p95 41.0 ms")
                ],
                ["", "bottleneck", "97.40 % used"],
            ]
        );
        let compared: [(&str, &[RunResult]); 2] = [("a", &base), ("b", &base)];
        assert_eq!(
            of_report(&compared, sentences),
            of_report(&compared, findings)
        );
        let other = [run(2, 10.0, 10)];
        let apart = of_report(&[("a", &base), ("b", &other)], sentences);
        let names: Vec<_> = apart.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["a", "a", "a", "b", "b", "b"]);
    }

    #[test]
    fn of_many_flows_the_first_have_lines() {
        let many = |seed| {
            let mut run = run(seed, 10.0, 10);
            let flow = run.flows[0].clone();
            run.flows = (0..50)
                .map(|n| scenario::FlowResult {
                    name: format!("f{n}"),
                    ..flow.clone()
                })
                .collect();
            [run]
        };
        let table = table(&[("a", &many(1)), ("b", &many(1))]);
        assert_eq!(table.rows.len(), MAX_FLOWS + 2);
        assert!(table.rows[MAX_FLOWS][1].starts_with("42 more flows"));
    }

    #[test]
    fn of_several_variants_each_is_named() {
        let (a, b, c) = ([run(1, 10.0, 10)], [run(1, 20.0, 10)], [run(1, 30.0, 10)]);
        let table = table(&[("a", &a), ("b", &b), ("c", &c)]);
        assert_eq!(table.title, "Found, beside a");
        let names: Vec<_> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["b", "b", "b", "c", "c", "c"]);
    }
}
