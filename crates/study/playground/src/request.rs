//! What a page requests.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Scenario files and traces: their paths, and their contents.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A scenario, and how it is varied.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Request {
    /// The path of the scenario among the files.
    pub scenario: PathBuf,
    /// What is run, in this order; the others are compared with the first. One at least.
    pub variants: Vec<Variant>,
    /// As `--seed`.
    #[serde(default)]
    pub seed: Option<u64>,
    /// As `--repeats`.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// As `--trace`: the path of a trace among the files.
    #[serde(default)]
    pub trace: Option<PathBuf>,
}

/// One of the variants of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What distinguishes it from the others.
    pub label: String,
    /// Keys or knobs with their values, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<(String, String)>,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let request: Self =
            serde_json::from_slice(text).map_err(|error| format!("the request: {error}"))?;
        match request.variants.is_empty() {
            true => Err("the request: there is no variant".to_owned()),
            false => Ok(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_needs_a_scenario_and_a_variant() {
        let of = |text: &str| Request::from_json(text.as_bytes());
        let request = of(
            r#"{"scenario":"a.toml","variants":[{"label":"without","set":[["pep","none"]]}],"seed":7}"#,
        );
        let request = request.expect("a request");
        assert_eq!(request.seed, Some(7));
        assert_eq!(
            request.variants[0].set,
            [("pep".to_owned(), "none".to_owned())]
        );
        for wrong in [
            "",
            "{}",
            r#"{"scenario":"a","variants":[]}"#,
            r#"{"scenario":"a","variants":[{"label":"x"}],"sed":1}"#,
        ] {
            let message = of(wrong).expect_err(wrong);
            assert!(message.starts_with("the request: "), "{message}");
        }
    }
}
