//! What a sweep is: `_sweep.json`, and how two sweeps are distinguished.

use crate::error::Error;
use crate::failed::quoted;
use ring::digest::{SHA256, digest};
use scenario::{Bundle, Plan, Point, SweepAxis};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;

/// The form of the dataset that this version writes and reads.
pub const FORMAT: u64 = 1;

/// What a sweep is.
#[derive(Clone, Debug)]
pub struct Description {
    json: Map<String, Value>,
    axes: Vec<SweepAxis>,
    points: u64,
    /// The command that a point is repeated with, up to its axes.
    command: Option<String>,
}

/// What `_sweep.json` holds beside what distinguishes sweeps.
const NOT_COMPARED: [&str; 3] = ["file", "hash", "format"];

impl Description {
    /// Of a plan, run by this version. `code` stands for what else the results depend on, as a
    /// controller written in Python; empty if there is nothing.
    ///
    /// # Errors
    /// If a point or a trace cannot be read any more.
    pub fn new(plan: &Plan, version: &str, code: &str) -> Result<Self, Error> {
        let bundle = plan.bundle()?;
        let points = plan.points();
        let first = plan.point(0)?;
        let last = plan.point(points - 1)?;
        let axes = plan.axes().to_vec();
        let resolved = |point: &Point| {
            let mut value = serde_json::to_value(&point.resolved).expect("plain data");
            without_paths(&mut value);
            value
        };
        let mut json = Map::new();
        let mut put = |key: &str, value: Value| json.insert(key.to_owned(), value);
        put("format", FORMAT.into());
        put("version", version.into());
        put("name", first.experiment.name.clone().into());
        put("points", points.into());
        put("axes", serde_json::to_value(&axes).expect("plain data"));
        put("seed", first.experiment.seed.into());
        put("repeats", first.experiment.repeats.into());
        put("scenario", resolved(&first));
        put("last", resolved(&last));
        put("traces", traces(&bundle));
        put("code", hex(code.as_bytes()).into());
        let hash = hash(&json);
        let mut put = |key: &str, value: Value| json.insert(key.to_owned(), value);
        put("hash", hash.into());
        put(
            "file",
            json!(bundle.file().map(|path| path.display().to_string())),
        );
        Ok(Self {
            json,
            axes,
            points,
            command: bundle.file().map(|file| command(file, &bundle)),
        })
    }

    /// The axes.
    pub fn axes(&self) -> &[SweepAxis] {
        &self.axes
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// A digest of all that the results depend on.
    pub fn hash(&self) -> &str {
        self.json["hash"].as_str().unwrap_or_default()
    }

    /// The name of the scenario.
    pub fn name(&self) -> &str {
        self.json["name"].as_str().unwrap_or_default()
    }

    /// `_sweep.json`.
    pub(crate) fn text(&self) -> String {
        let text = serde_json::to_string_pretty(&self.json).expect("plain data");
        text + "\n"
    }

    /// That a folder holds this sweep, by the text of its `_sweep.json`.
    pub(crate) fn check(&self, text: &str, folder: &Path) -> Result<(), Error> {
        let path = folder.join("_sweep.json");
        let broken = |what: &str| Error::folder(&path, what);
        let there: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| broken(&format!("is no description of a sweep: {error}")))?;
        match there.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            Some(newer) if newer > FORMAT => {
                return Err(broken(&format!(
                    "is of format {newer}, made by a newer version of Brimful; this one reads {FORMAT}"
                )));
            }
            _ => return Err(broken("is no description of a sweep: it has no format")),
        }
        let mut differences = Vec::new();
        for (key, here) in &self.json {
            if !NOT_COMPARED.contains(&key.as_str()) {
                let other = there.get(key).unwrap_or(&Value::Null);
                differ(key, other, here, &mut differences);
            }
        }
        if differences.is_empty() && there.get("hash") == self.json.get("hash") {
            return Ok(());
        }
        const MAX_TOLD: usize = 5;
        // the last point differs where the first does
        let of_last = |text: &String| text.starts_with("last.");
        if !differences.iter().all(of_last) {
            differences.retain(|text| !of_last(text));
        }
        let more = differences.len().saturating_sub(MAX_TOLD);
        differences.truncate(MAX_TOLD);
        if more > 0 {
            differences.push(format!("{more} more"));
        }
        if differences.is_empty() {
            differences.push("its description was changed by hand".to_owned());
        }
        Err(Error::OtherSweep {
            folder: folder.to_owned(),
            differences,
        })
    }

    /// The command that runs a point alone; empty if the scenario is no file.
    pub(crate) fn repeat(&self, axes: &[(String, String)], seed: u64) -> String {
        let Some(command) = &self.command else {
            return String::new();
        };
        let mut text = command.clone();
        for (name, value) in axes {
            let _ = write!(text, " --set {}", quoted(&format!("{name}={value}")));
        }
        let _ = write!(text, " --seed {seed}");
        text
    }
}

/// The command, up to the axes.
fn command(file: &Path, bundle: &Bundle) -> String {
    let mut text = format!("brimful run {}", quoted(&file.display().to_string()));
    let overrides = bundle.overrides();
    // axes of the sweep are not settings of a point
    let settings = overrides
        .set
        .iter()
        .filter(|(key, _)| !key.starts_with("sweep."));
    for (key, value) in settings {
        let _ = write!(text, " --set {}", quoted(&format!("{key}={value}")));
    }
    if let Some(trace) = &overrides.trace {
        let _ = write!(text, " --trace {}", quoted(&trace.display().to_string()));
    }
    if let Some(trace) = &overrides.uplink_trace {
        let trace = trace.display().to_string();
        let _ = write!(text, " --uplink-trace {}", quoted(&trace));
    }
    if let Some(offset) = &overrides.trace_offset {
        let _ = write!(text, " --trace-offset {}", quoted(offset));
    }
    if let Some(repeats) = overrides.repeats {
        let _ = write!(text, " --repeats {repeats}");
    }
    text
}

/// The digests of the traces, in the order of their paths. Where they lie does not count.
fn traces(bundle: &Bundle) -> Value {
    let is_scenario = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str());
        // a text that stands for a file is kept under its name, <scenario>
        let name = path.to_string_lossy();
        matches!(extension, Some("toml" | "inc")) || name.starts_with('<')
    };
    let files = bundle.files().iter().filter(|(path, _)| !is_scenario(path));
    let digests = files.map(|(path, text)| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        json!([name, hex(text.as_bytes())])
    });
    digests.collect()
}

/// Paths of traces depend on the folder that the command was given in.
fn without_paths(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // no other table has such a key
            if let Some(Value::String(file)) = map.get_mut("file") {
                let name = Path::new(file.as_str()).file_name();
                *file = name
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default();
            }
            map.values_mut().for_each(without_paths);
        }
        Value::Array(items) => items.iter_mut().for_each(without_paths),
        _ => {}
    }
}

fn hash(json: &Map<String, Value>) -> String {
    hex(serde_json::to_string(json).expect("plain data").as_bytes())
}

/// SHA-256, in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    let mut text = String::new();
    for byte in digest.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What differs between two values, one phrase each.
fn differ(name: &str, there: &Value, here: &Value, found: &mut Vec<String>) {
    if there == here {
        return;
    }
    let inner = |key: &str| match name {
        "scenario" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differ(&inner(key), &of(a), &of(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                let key = a.get("name").and_then(Value::as_str);
                let key = key.map_or(i.to_string(), str::to_owned);
                differ(&inner(&key), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => found.push(format!(
            "{name} has {} elements there, {} here",
            a.len(),
            b.len()
        )),
        (a, b) => found.push(format!("{name} is {} there, {} here", shown(a), shown(b))),
    }
}

/// A value in a message.
fn shown(value: &Value) -> String {
    const MAX_CHARACTERS: usize = 60;
    let text = match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
