//! The same experiments in the simulator and in the lab, side by side.
//!
//! Two things are judged: of each TCP flow, whether goodput and mean round-trip time are as near to each
//! other as the tolerance states; and of each comparison of two variants of an experiment, whether both
//! worlds put them in the same order.

use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{completion, flow, goodput};
use crate::ran::{Ran, Results};
use core::fmt::Write;
use scenario::{Estimate, RunResult};
use serde_json::{Value, json};

/// How far goodput may differ, as a share of the simulator's.
pub const GOODPUT_TOLERANCE: f64 = 0.07;
/// How far a mean round-trip time may differ, as a share of the simulator's ...
pub const RTT_TOLERANCE: f64 = 0.15;
/// ... or in milliseconds, whichever is more.
pub const RTT_TOLERANCE_MS: f64 = 3.0;
/// Two variants that differ by less than this share are not in an order.
const SAME: f64 = 0.05;

/// Something measured in both worlds.
#[derive(Clone, Copy, Debug)]
struct Pair {
    sim: Estimate,
    lab: Estimate,
}

impl Pair {
    /// The lab's, as a share above the simulator's.
    fn excess(self) -> f64 {
        self.lab.mean / self.sim.mean - 1.0
    }

    fn is_measured(self) -> bool {
        self.sim.mean.is_finite() && self.lab.mean.is_finite() && self.sim.mean > 0.0
    }
}

/// A flow of an experiment in both worlds.
#[derive(Debug)]
struct Row {
    experiment: Experiment,
    flow: String,
    /// Mbit/s.
    goodput: Pair,
    /// ms; not measured of UDP.
    rtt: Pair,
    /// s; not measured of flows that last as long as the experiment.
    completion: Pair,
}

impl Row {
    fn goodput_agrees(&self) -> bool {
        self.goodput.excess().abs() <= GOODPUT_TOLERANCE
    }

    fn rtt_agrees(&self) -> bool {
        let by = (self.rtt.lab.mean - self.rtt.sim.mean).abs();
        !self.rtt.is_measured() || by <= RTT_TOLERANCE_MS.max(RTT_TOLERANCE * self.rtt.sim.mean)
    }
}

/// Two variants of an experiment, by one measure of one flow.
#[derive(Debug)]
struct Order {
    scenario: &'static str,
    flow: String,
    measure: &'static str,
    variants: [String; 2],
    /// The second variant's over the first's.
    sim: f64,
    lab: f64,
}

impl Order {
    /// Both worlds have the same order, or one of them that there is no difference.
    fn agrees(&self) -> bool {
        let sign = |ratio: f64| match ratio {
            r if r > 1.0 + SAME => 1,
            r if r < 1.0 - SAME => -1,
            _ => 0,
        };
        sign(self.sim) * sign(self.lab) >= 0
    }
}

/// What both worlds show of the same experiments.
#[derive(Debug)]
pub struct Agreement {
    rows: Vec<Row>,
    orders: Vec<Order>,
    extent: String,
    discussion: &'static str,
}

fn estimates(
    results: &Results,
    ran: &Ran,
    measure: &impl Fn(&RunResult) -> Option<f64>,
) -> Estimate {
    results.mean(&ran.experiment, measure)
}

fn pair(sim: &Results, lab: &Results, ran: &Ran, of: impl Fn(&RunResult) -> Option<f64>) -> Pair {
    Pair {
        sim: estimates(sim, ran, &of),
        lab: estimates(lab, ran, &of),
    }
}

fn mean_rtt(run: &RunResult, name: &str) -> Option<f64> {
    let rtt = &flow(run, name)?.rtt;
    (rtt.count > 0).then_some(rtt.mean)
}

impl Agreement {
    pub(crate) fn new(
        sim: &Results,
        lab: &Results,
        extent: String,
        discussion: &'static str,
    ) -> Self {
        let mut rows = Vec::new();
        for ran in &sim.ran {
            for flow in &ran.summary.flows {
                let name = flow.name.as_str();
                rows.push(Row {
                    experiment: ran.experiment.clone(),
                    flow: flow.name.clone(),
                    goodput: pair(sim, lab, ran, goodput(name)),
                    rtt: pair(sim, lab, ran, |run| mean_rtt(run, name)),
                    completion: pair(sim, lab, ran, completion(name)),
                });
            }
        }
        Self {
            orders: orders(&rows),
            rows,
            extent,
            discussion,
        }
    }

    /// Flows, and how many of them agree in goodput and in round-trip time; comparisons, and how
    /// many come out in the same order.
    pub fn counts(&self) -> [usize; 5] {
        [
            self.rows.len(),
            self.rows.iter().filter(|r| r.goodput_agrees()).count(),
            self.rows.iter().filter(|r| r.rtt_agrees()).count(),
            self.orders.len(),
            self.orders.iter().filter(|o| o.agrees()).count(),
        ]
    }

    fn statements(&self) -> String {
        let [flows, goodput, rtt, orders, same] = self.counts();
        format!(
            "Of {flows} flows {goodput} agree in goodput (within {:.0} %) and {rtt} in mean RTT (within \
             {:.0} % or {RTT_TOLERANCE_MS:.0} ms); {same} of {orders} comparisons come out in the same \
             order.\n",
            100.0 * GOODPUT_TOLERANCE,
            100.0 * RTT_TOLERANCE,
        )
    }

    /// The tables, in Markdown.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}", self.flow_table(), self.statements());
        let differing: Vec<&Order> = self.orders.iter().filter(|o| !o.agrees()).collect();
        if !differing.is_empty() {
            text.push_str("\nIn another order:\n\n");
            text.push_str(&order_table(&differing));
        }
        text
    }

    fn flow_table(&self) -> String {
        let heads = [
            "experiment",
            "flow",
            "goodput Mbit/s: sim",
            "goodput: lab",
            "goodput differs by",
            "RTT mean ms: sim",
            "RTT: lab",
            "RTT differs by",
            "completion s: sim",
            "completion: lab",
            "agrees",
        ];
        let rows = self.rows.iter().map(|row| {
            let mut cells = vec![label(&row.experiment), row.flow.clone()];
            for pair in [row.goodput, row.rtt] {
                cells.extend(shown(pair));
                cells.push(if pair.is_measured() {
                    format!("{:+.1} %", 100.0 * pair.excess())
                } else {
                    "-".to_owned()
                });
            }
            cells.extend(shown(row.completion));
            cells.push(
                match (row.goodput_agrees(), row.rtt_agrees()) {
                    (true, true) => "yes",
                    (true, false) => "goodput",
                    (false, true) => "RTT",
                    (false, false) => "no",
                }
                .to_owned(),
            );
            cells
        });
        markdown::table(&heads, rows)
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut page = format!(
            "# The simulator beside the kernel\n\nThe same scenario files in the simulator and in the lab: \
             the kernel's TCP, our live proxy, the same cell in real time. {}. Means over the repeats \
             with 95 % confidence intervals.\n\n{}",
            self.extent,
            self.text()
        );
        let _ = write!(page, "\n{}", self.discussion);
        page
    }

    /// All numbers as one JSON object.
    pub fn json(&self) -> Value {
        let estimate = |e: Estimate| json!({"mean": number(e.mean), "ci95": number(e.ci95)});
        let pair = |p: Pair| json!({"sim": estimate(p.sim), "lab": estimate(p.lab)});
        let rows = self.rows.iter().map(|row| {
            json!({
                "experiment": label(&row.experiment),
                "flow": row.flow,
                "goodput_mbps": pair(row.goodput),
                "rtt_ms": pair(row.rtt),
                "completion_s": pair(row.completion),
                "goodput_agrees": row.goodput_agrees(),
                "rtt_agrees": row.rtt_agrees(),
            })
        });
        let orders = self.orders.iter().map(|order| {
            json!({
                "scenario": order.scenario,
                "flow": order.flow,
                "measure": order.measure,
                "variants": order.variants,
                "sim": number(order.sim),
                "lab": number(order.lab),
                "agrees": order.agrees(),
            })
        });
        json!({
            "extent": self.extent,
            "flows": rows.collect::<Vec<_>>(),
            "orders": orders.collect::<Vec<_>>(),
        })
    }
}

/// Null for what is no number.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn shown(pair: Pair) -> [String; 2] {
    [pair.sim, pair.lab].map(crate::claim::with_interval)
}

/// The scenario with its settings.
fn label(experiment: &Experiment) -> String {
    let settings = experiment.settings().iter();
    let settings: Vec<String> = settings.map(|(k, v)| format!("{k}={v}")).collect();
    format!("{} {}", experiment.name(), settings.join(" "))
}

/// Every two variants of a scenario, by every measure of every flow.
fn orders(rows: &[Row]) -> Vec<Order> {
    let mut orders = Vec::new();
    for (i, first) in rows.iter().enumerate() {
        for second in &rows[i + 1..] {
            let is_same =
                first.experiment.name() == second.experiment.name() && first.flow == second.flow;
            if !is_same {
                continue;
            }
            let measures = [
                ("goodput", first.goodput, second.goodput),
                ("mean RTT", first.rtt, second.rtt),
                ("completion", first.completion, second.completion),
            ];
            for (measure, a, b) in measures {
                if a.is_measured() && b.is_measured() {
                    orders.push(Order {
                        scenario: first.experiment.name(),
                        flow: first.flow.clone(),
                        measure,
                        variants: [label(&first.experiment), label(&second.experiment)],
                        sim: b.sim.mean / a.sim.mean,
                        lab: b.lab.mean / a.lab.mean,
                    });
                }
            }
        }
    }
    orders
}

fn order_table(orders: &[&Order]) -> String {
    let heads = ["flow", "measure", "of", "over that of", "sim", "lab"];
    let rows = orders.iter().map(|order| {
        let [first, second] = order.variants.clone();
        vec![
            order.flow.clone(),
            order.measure.to_owned(),
            second,
            first,
            format!("{:.2}", order.sim),
            format!("{:.2}", order.lab),
        ]
    });
    markdown::table(&heads, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64) -> Estimate {
        Estimate { mean, ci95: 0.0 }
    }

    fn pair(sim: f64, lab: f64) -> Pair {
        let [sim, lab] = [sim, lab].map(estimate);
        Pair { sim, lab }
    }

    fn row(pep: &str, goodput: Pair, rtt: Pair) -> Row {
        Row {
            experiment: Experiment::of("rapid/oai-fast").set("pep", pep),
            flow: "bulk".to_owned(),
            goodput,
            rtt,
            completion: pair(f64::NAN, f64::NAN),
        }
    }

    #[test]
    fn tolerances_are_shares_and_for_short_round_trips_milliseconds() {
        let near = row("none", pair(10.0, 10.69), pair(10.0, 12.9));
        assert!(near.goodput_agrees() && near.rtt_agrees());
        let far = row("none", pair(10.0, 9.2), pair(400.0, 465.0));
        assert!(!far.goodput_agrees() && !far.rtt_agrees());
        let udp = row("none", pair(8.0, 8.0), pair(f64::NAN, f64::NAN));
        assert!(udp.rtt_agrees(), "what is not measured does not disagree");
    }

    #[test]
    fn orders_agree_unless_the_worlds_contradict_each_other() {
        let of = |sim: [f64; 2], lab: [f64; 2]| {
            let none = row("none", pair(sim[0], lab[0]), pair(1.0, 1.0));
            let ours = row("default", pair(sim[1], lab[1]), pair(1.0, 1.0));
            let all = orders(&[none, ours]);
            assert_eq!(all.len(), 2, "goodput and RTT");
            all[0].agrees()
        };
        assert!(of([4.0, 8.0], [5.0, 7.0]));
        assert!(!of([4.0, 8.0], [8.0, 4.0]));
        assert!(
            of([4.0, 8.0], [8.0, 8.1]),
            "nearly equal contradicts nothing"
        );
    }
}
