//! The table of metrics as the dashboard's page has it.

use crate::{Figure, Kind, Metric, Shown, Stroke, Unit};
use std::fmt::Write as _;

impl Unit {
    fn of_page(self) -> &'static str {
        match self {
            Self::BitRate => "bps",
            Self::Milliseconds => "ms",
            Self::Bytes => "bytes",
            Self::Share => "share",
            Self::Prb | Self::Count => "count",
        }
    }
}

impl Stroke {
    fn of_page(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Rate => "rate",
            Self::Stack => "stack",
            Self::Step => "step",
            Self::Lane => "lane",
        }
    }
}

/// What `web/src/base/metrics.ts` holds.
pub fn typescript() -> String {
    let kinds = Kind::ALL.map(|kind| format!("\"{}\"", kind.name()));
    let mut text = HEAD.replace("KINDS", &kinds.join(" | "));
    let names = Metric::ALL
        .iter()
        .map(|of| format!("\n  | \"{}\"", of.name()));
    text = text.replace("NAMES", &names.collect::<String>());
    for metric in Metric::ALL {
        if let Shown::Figure(figure) = &metric.descriptor().shown {
            put(&mut text, *metric, figure);
        }
    }
    text.push_str("};\n");
    let named = |shown: fn(&Shown) -> Option<&str>| {
        let all = Metric::ALL.iter().map(|metric| metric.descriptor());
        let named = all.filter_map(move |of| Some((of.name, shown(&of.shown)?)));
        let lines = named.map(|(name, title)| format!("  [\"{name}\", \"{title}\"],\n"));
        lines.collect::<String>()
    };
    let windows = named(|shown| match shown {
        Shown::Window(title) => Some(title),
        _ => None,
    });
    let decisions = named(|shown| match shown {
        Shown::Decision(title) => Some(title),
        _ => None,
    });
    // writing to a text cannot fail
    let _ = write!(
        text,
        "\n/** Windows of one flow, which share a panel. */\n\
         export const WINDOWS: [string, string][] = [\n{windows}];\n\
         \n/** MELD's decisions, which share a panel. */\n\
         export const LOSSES: [string, string][] = [\n{decisions}];\n\
         \n/** A kind of entity in the plural, for titles. */\n\
         export const KIND_NAMES: Record<EntityKind, string> = {{\n"
    );
    for kind in Kind::ALL {
        let _ = writeln!(text, "  {}: \"{}\",", kind.name(), kind.plural());
    }
    text.push_str("};\n");
    text
}

fn put(text: &mut String, metric: Metric, figure: &Figure) {
    let of = metric.descriptor();
    let _ = write!(
        text,
        "  {}: {{\n    title: \"{}\",\n    axis: \"{}\",\n    unit: \"{}\",\n    kind: \"{}\",\n",
        of.name,
        figure.title,
        figure.axis,
        of.unit.of_page(),
        figure.stroke.of_page()
    );
    let caption = format!("    caption: \"{}\",\n", figure.caption);
    // as the formatter breaks it: 100 columns
    text.push_str(&if caption.len() > 101 {
        format!("    caption:\n      \"{}\",\n", figure.caption)
    } else {
        caption
    });
    if figure.may_be_log {
        text.push_str("    mayBeLog: true,\n");
    }
    if figure.stroke == Stroke::Stack {
        text.push_str("    stacked: true,\n");
    }
    text.push_str("  },\n");
}

const HEAD: &str = r#"// What is known of each metric, printed from crate `metric`, whose tests keep it in step:
// cargo run -p metric --example typescript > web/src/base/metrics.ts

import type { Kind } from "../chart/model";
import type { Unit } from "./format";

/** What a series belongs to. */
export type EntityKind = KINDS;

/** What a series shows: no other name is one of a metric. */
export type MetricName =NAMES;

/** How the metric is drawn. */
export interface Metric {
  title: string;
  axis: string;
  unit: Unit;
  kind: Kind;
  caption: string;
  mayBeLog?: boolean;
  /** Drawn as a sum of all entities' shares. */
  stacked?: boolean;
}

/** In the order of the page. */
export const METRICS: Record<string, Metric> = {
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_page_has_the_same_table() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web/src/base/metrics.ts");
        let text = std::fs::read_to_string(file).expect("the page's sources");
        assert!(
            text == typescript(),
            "web/src/base/metrics.ts is out of step: cargo run -p metric --example typescript > web/src/base/metrics.ts"
        );
    }
}
