//! `manifest.json` and `summary.json`.

use super::{ResultsError, written_s};
use crate::VERSION;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
const SUMMARY: &str = "summary.json";
/// The largest file that is read at once, bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Whether a folder is meant as a result, whole or not.
pub(super) fn looks_like_results(path: &Path) -> bool {
    [MANIFEST, SUMMARY]
        .iter()
        .any(|name| path.join(name).is_file())
}

/// A point of a sweep, or a variant of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PointInfo {
    pub(super) label: String,
    pub(super) seeds: Vec<u64>,
    axes: Value,
}

/// A result folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    scenario: String,
    world: String,
    version: String,
    points: Vec<PointInfo>,
    /// The summary of each point.
    summaries: Vec<Value>,
    /// What was found, as the program that wrote it has put it.
    findings: Vec<Value>,
}

impl Folder {
    pub(super) fn read(path: &Path) -> Result<Self, ResultsError> {
        let manifest = read_json(path, MANIFEST)?;
        let text = |name: &str| {
            let text = manifest.get(name).and_then(Value::as_str);
            text.map(str::to_owned)
                .ok_or_else(|| damaged(MANIFEST, &format!("has no {name}")))
        };
        let version = text("version")?;
        if is_newer(&version, VERSION) {
            return Err(ResultsError::Newer {
                theirs: version,
                ours: VERSION,
            });
        }
        let summaries = summaries(read_json(path, SUMMARY)?);
        let points = manifest.get("points").and_then(Value::as_array);
        let points = points.ok_or_else(|| damaged(MANIFEST, "has no points"))?;
        if points.len() != summaries.len() {
            let (points, summaries) = (points.len(), summaries.len());
            let text = format!("{summaries} summaries of {points} points");
            return Err(damaged(SUMMARY, &text));
        }
        let points = points.iter().zip(&summaries);
        let points = points.map(|(point, (axes, _))| point_info(point, axes));
        Ok(Self {
            path: path.to_owned(),
            scenario: text("scenario")?,
            world: text("world")?,
            version,
            points: points.collect::<Result<_, _>>()?,
            findings: findings(&manifest),
            summaries: summaries.into_iter().map(|(_, summary)| summary).collect(),
        })
    }

    /// What a list of results shows of it.
    pub(super) fn listed(&self) -> Map<String, Value> {
        let points = self.points.iter().zip(&self.summaries).enumerate();
        let points = points.map(|(id, (point, summary))| {
            let axes = &point.axes;
            json!({
                "id": id, "label": point.label, "axes": axes, "seeds": point.seeds,
                "goodput_bps": goodput(summary), "rtt_p95_ms": rtt_p95(summary),
            })
        });
        let points: Vec<Value> = points.collect();
        let first = self.points.first();
        let mut listed = Map::new();
        listed.insert("scenario".into(), self.scenario.as_str().into());
        listed.insert("world".into(), self.world.as_str().into());
        let seed = first.and_then(|point| point.seeds.first());
        listed.insert("seed".into(), seed.copied().into());
        let repeats = first.map_or(0, |point| point.seeds.len());
        listed.insert("repeats".into(), repeats.into());
        listed.insert("version".into(), self.version.as_str().into());
        listed.insert(
            "written".into(),
            written_s(&self.path.join(MANIFEST)).into(),
        );
        listed.insert("points".into(), points.into());
        listed.insert("findings".into(), self.findings.clone().into());
        listed
    }

    pub(super) fn points(&self) -> &[PointInfo] {
        &self.points
    }

    pub(super) fn point(&self, point: usize) -> Result<&PointInfo, ResultsError> {
        let found = self.points.get(point);
        found.ok_or_else(|| ResultsError::unknown(format!("point {point} of this result")))
    }

    pub(super) fn summary(&self, point: usize) -> Result<&Value, ResultsError> {
        let found = self.summaries.get(point);
        found.ok_or_else(|| ResultsError::unknown(format!("point {point} of this result")))
    }

    /// The time series.
    pub(super) fn samples(&self) -> PathBuf {
        self.path.join("samples.parquet")
    }
}

/// Maximum number of sentences that are handed on, and of characters of each of their parts.
const MAX_FINDINGS: usize = 200;
const MAX_FINDING_CHARS: usize = 1_000;

/// The sentences of a manifest, without what is none; older ones have none.
fn findings(manifest: &Value) -> Vec<Value> {
    let found = manifest.get("findings").and_then(Value::as_array);
    let found = found.into_iter().flatten().filter_map(|finding| {
        let part = |name: &str| {
            let text = finding.get(name).and_then(Value::as_str)?;
            Some(text.chars().take(MAX_FINDING_CHARS).collect::<String>())
        };
        Some(json!({
            "variant": part("variant")?, "flow": part("flow")?, "text": part("text")?,
        }))
    });
    found.take(MAX_FINDINGS).collect()
}

/// The flows of a summary.
fn flows(summary: &Value) -> impl Iterator<Item = &Value> {
    let flows = summary.get("flows").and_then(Value::as_array);
    flows.into_iter().flatten()
}

/// Goodput of all flows together, bit/s; none without flows.
fn goodput(summary: &Value) -> Option<f64> {
    let mean = |flow: &Value| flow.pointer("/goodput_bps/mean").and_then(Value::as_f64);
    let all: Vec<f64> = flows(summary).filter_map(mean).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// The greatest p95 of the round trips of a flow, ms; none where no flow has any.
fn rtt_p95(summary: &Value) -> Option<f64> {
    let p95 = |flow: &Value| {
        let samples = flow.pointer("/rtt_ms/samples").and_then(Value::as_f64)?;
        let p95 = flow.pointer("/rtt_ms/p95").and_then(Value::as_f64)?;
        (samples > 0.0).then_some(p95)
    };
    flows(summary).filter_map(p95).reduce(f64::max)
}

pub(super) fn damaged(file: &str, problem: &str) -> ResultsError {
    ResultsError::File {
        file: file.to_owned(),
        problem: format!("{problem}: the folder is damaged"),
    }
}

/// Axes and summary of each point: of a run, of a sweep's list, or of a comparison's variants.
fn summaries(summary: Value) -> Vec<(Value, Value)> {
    let axes = |value: &Value, name: &str| {
        let axes = value.get(name).filter(|axes| axes.is_object());
        axes.cloned().unwrap_or_else(|| json!({}))
    };
    match summary {
        Value::Array(points) => {
            let points = points.into_iter();
            points.map(|point| (axes(&point, "axes"), point)).collect()
        }
        Value::Object(mut object) => match object.remove("variants") {
            Some(Value::Array(variants)) => {
                let variants = variants.into_iter();
                variants
                    .map(|mut variant| {
                        let summary = variant.get_mut("summary").map(Value::take);
                        (axes(&variant, "settings"), summary.unwrap_or_default())
                    })
                    .collect()
            }
            _ => {
                let one = Value::Object(object);
                vec![(axes(&one, "axes"), one)]
            }
        },
        other => vec![(json!({}), other)],
    }
}

fn point_info(point: &Value, axes: &Value) -> Result<PointInfo, ResultsError> {
    let label = point.get("label").and_then(Value::as_str);
    let seeds = point.get("seeds").and_then(Value::as_array);
    let (Some(label), Some(seeds)) = (label, seeds) else {
        return Err(damaged(MANIFEST, "a point has no label or no seeds"));
    };
    Ok(PointInfo {
        label: label.to_owned(),
        seeds: seeds.iter().filter_map(Value::as_u64).collect(),
        axes: axes.clone(),
    })
}

pub(super) fn read_json(folder: &Path, name: &str) -> Result<Value, ResultsError> {
    let wrong = |problem: String| ResultsError::File {
        file: name.to_owned(),
        problem,
    };
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    let file = File::open(folder.join(name)).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        return Err(wrong(format!("has {size} bytes: too many to be shown")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("is no JSON: {error}; the folder is damaged")))
}

/// Whether a version, as 1.2.3, is newer than another.
pub(super) fn is_newer(theirs: &str, ours: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let plain = text.split(['-', '+']).next().unwrap_or_default();
        plain
            .split('.')
            .map(|part| part.parse().unwrap_or(0))
            .collect()
    };
    numbers(theirs) > numbers(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert!(is_newer("1.0.0", "0.1.0"));
        assert!(!is_newer("0.1.0", "0.1.0"));
        assert!(!is_newer("0.1.0-pre", "0.1.0"));
        assert!(!is_newer("nonsense", "0.1.0"));
    }

    #[test]
    fn a_list_has_what_was_found_and_what_it_sorts_by() {
        let finding = json!({"variant": "a", "flow": "bulk", "text": "98 % of the goodput"});
        let manifest = json!({"findings": [finding.clone(), 7, {"variant": "a", "flow": 3}, {}]});
        assert_eq!(findings(&manifest), [finding]);
        assert!(findings(&json!({"findings": "none"})).is_empty());
        assert!(findings(&json!([])).is_empty());
        let flow = |bps: f64, p95: f64, samples: u64| {
            let rtt = json!({"p95": p95, "samples": samples});
            json!({"goodput_bps": {"mean": bps, "ci95": 0.0}, "rtt_ms": rtt})
        };
        let summary =
            json!({"flows": [flow(1e6, 20.0, 5), flow(2e6, 10.0, 5), flow(0.0, 99.0, 0)]});
        assert_eq!(
            (goodput(&summary), rtt_p95(&summary)),
            (Some(3e6), Some(20.0))
        );
        assert_eq!(
            (goodput(&json!({})), rtt_p95(&json!({"flows": [1]}))),
            (None, None)
        );
    }

    #[test]
    fn runs_sweeps_and_comparisons_have_their_points() {
        let run = json!({"scenario": "s", "axes": {"a": "1"}});
        assert_eq!(summaries(run.clone()), [(json!({"a": "1"}), run.clone())]);
        assert_eq!(summaries(json!([run, {"scenario": "s"}])).len(), 2);
        let comparison = json!({"variants": [
            {"label": "pep=none", "settings": {"pep": "none"}, "summary": {"seed": 1}},
        ]});
        let expected = (json!({"pep": "none"}), json!({"seed": 1}));
        assert_eq!(summaries(comparison), [expected]);
    }
}
