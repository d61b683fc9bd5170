//! Names of choices, as scenario files write them.

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}; known: {known}")]
pub struct UnknownName {
    /// What it should have named.
    pub what: &'static str,
    /// What was given.
    pub name: String,
    /// The names that exist, separated by commas.
    pub known: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self {
            what,
            name: name.to_owned(),
            known: known.join(", "),
        }
    }
}
