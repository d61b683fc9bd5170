//! What can be wrong with a scenario, and how it is reported.

use crate::source::{Position, Sources, written};
use core::fmt;

/// Why a scenario is refused. Nothing has run and nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file itself cannot be read.
    #[error("{path}: the scenario file cannot be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something in it, in a file that it extends, or in an option is wrong.
    #[error(transparent)]
    Invalid(Box<Problem>),
    /// A trace that it names is wrong. The error reports the place inside the trace.
    #[error("{error} (the trace that {used_at} names)")]
    Trace {
        /// Why the trace is refused.
        error: Box<radio::trace::TraceError>,
        /// The place that names it, as `file:line:column`, or the option.
        used_at: String,
    },
}

/// One fault and its place. Prints as
/// `file:line:column: what is wrong; what is allowed; what to do`; an option without line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// The file, or the option (`--set rtt=1`).
    pub file: String,
    /// Line and column in characters, both from 1; none in an option, which is one short line.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and why.
    pub what: String,
    /// What would have been allowed.
    pub allowed: Option<String>,
    /// What to do, usually the nearest key or value.
    pub suggestion: Option<String>,
    /// The files through which `file` was reached by `extends`, nearest first.
    pub extended_by: Vec<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", written(&self.file, self.position), self.what)?;
        if let Some(allowed) = &self.allowed {
            write!(f, "; {allowed}")?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; {suggestion}")?;
        }
        for file in &self.extended_by {
            write!(f, " (extended by {file})")?;
        }
        Ok(())
    }
}

/// A fault whose place is still an offset into a source.
#[derive(Debug)]
pub(crate) struct Fault {
    at: Position,
    what: String,
    allowed: Option<String>,
    suggestion: Option<String>,
    /// The fault is inside a trace; then nothing else but `at` counts.
    trace: Option<Box<radio::trace::TraceError>>,
}

/// The result of a step of reading.
pub(crate) type Checked<T> = Result<T, Box<Fault>>;

/// A fault at a place.
pub(crate) fn fault(at: Position, what: impl Into<String>) -> Box<Fault> {
    Box::new(Fault {
        at,
        what: what.into(),
        allowed: None,
        suggestion: None,
        trace: None,
    })
}

/// A fault inside a trace that is named at `at`.
pub(crate) fn trace_fault(at: Position, error: radio::trace::TraceError) -> Box<Fault> {
    Box::new(Fault {
        trace: Some(Box::new(error)),
        ..*fault(at, "")
    })
}

impl Fault {
    /// Adds what would have been allowed.
    pub(crate) fn allowed(mut self: Box<Self>, allowed: impl Into<String>) -> Box<Self> {
        self.allowed = Some(allowed.into());
        self
    }
    /// Adds what to do.
    pub(crate) fn hint(mut self: Box<Self>, suggestion: impl Into<String>) -> Box<Self> {
        self.suggestion = Some(suggestion.into());
        self
    }
    /// Proposes the candidate that looks most like `given`, if one does.
    pub(crate) fn nearest<'a>(
        self: Box<Self>,
        given: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Box<Self> {
        match suggestion::did_you_mean(given, candidates) {
            Some(question) => self.hint(question),
            None => self,
        }
    }
    /// With file, line and column.
    pub(crate) fn locate(self, sources: &Sources) -> ScenarioError {
        if let Some(error) = self.trace {
            return ScenarioError::Trace {
                error,
                used_at: sources.describe(self.at),
            };
        }
        let place = sources.place(self.at);
        ScenarioError::Invalid(Box::new(Problem {
            file: place.file,
            position: place.position,
            what: self.what,
            allowed: self.allowed,
            suggestion: self.suggestion,
            extended_by: place.extended_by,
        }))
    }
}

/// Words in a sentence: `a, b or c`.
pub(crate) fn either<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|w| format!("\"{w}\"")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_prints_in_one_line() {
        let problem = Problem {
            file: "a.toml".into(),
            position: Some((3, 7)),
            what: "unknown key \"rttt\"".into(),
            allowed: Some("known: rtt".into()),
            suggestion: Some("did you mean \"rtt\"?".into()),
            extended_by: vec!["b.toml".into()],
        };
        assert_eq!(
            problem.to_string(),
            "a.toml:3:7: unknown key \"rttt\"; known: rtt; did you mean \"rtt\"? \
             (extended by b.toml)"
        );
    }

    #[test]
    fn words_make_one_sentence() {
        assert_eq!(either([]), "nothing");
        assert_eq!(either(["a"]), "\"a\"");
        assert_eq!(either(["a", "b", "c"]), "\"a\", \"b\" or \"c\"");
    }
}
