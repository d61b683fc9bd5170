//! A file as a whole.

use super::Section;
use std::fmt::Display;
use std::path::Path;
use toml_span::Span;

/// A configuration that cannot be used: where, what, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    place: String,
    message: String,
}

impl ConfigError {
    /// At a place that is found already.
    pub fn new(place: impl Into<String>, message: impl Display) -> Self {
        Self {
            place: place.into(),
            message: message.to_string(),
        }
    }
}

/// The file, to find lines in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File<'a> {
    /// As messages call it.
    pub(crate) name: &'a str,
    /// All of it.
    pub(crate) text: &'a str,
}

impl File<'_> {
    /// A fault at a place.
    pub(crate) fn fault(&self, at: Span, message: impl Display) -> ConfigError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let begun = before.rfind('\n').map_or(0, |i| i + 1);
        let column = before[begun..].chars().count() + 1;
        ConfigError::new(format!("{}:{line}:{column}", self.name), message)
    }
}

/// Reads a file: `read` takes its keys, of which none may be left.
///
/// # Errors
/// The file cannot be read; else as [`parse`].
pub fn load<T>(
    path: &Path,
    read: impl FnOnce(&mut Section<'_, '_>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&name, &text, read),
        Err(error) => Err(ConfigError::new(name, format!("cannot be read: {error}"))),
    }
}

/// Reads a text; `name` is what messages call it.
///
/// # Errors
/// It is not TOML, `read` refuses it, or it has keys that `read` did not take.
pub fn parse<T>(
    name: &str,
    text: &str,
    read: impl FnOnce(&mut Section<'_, '_>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let file = File { name, text };
    let root = toml_span::parse(text)
        .map_err(|error| file.fault(error.span, format!("not TOML: {error}")))?;
    let mut top = Section::root(file, root)?;
    let done = read(&mut top)?;
    top.finish()?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_is_read_whole_or_rejected() {
        let port = |top: &mut Section<'_, '_>| top.whole::<u16>("port", 1..=9);
        assert_eq!(parse("f", "port = 7", port), Ok(Some(7)));
        let error = |text| parse("f", text, port).expect_err(text).to_string();
        assert!(error("port = 7\nprot = 8").starts_with("f:2:1: "));
        assert!(error("port = ").starts_with("f:1:"));
        assert!(error("port = ").contains("not TOML"));
        let missing = load(Path::new("/nowhere/f.toml"), port).expect_err("no file");
        let text = missing.to_string();
        assert!(
            text.starts_with("/nowhere/f.toml: cannot be read: "),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn places_are_found_in_any_text(text in "\\PC{0,40}(\n\\PC{0,40}){0,4}", at in 0usize..300) {
            let error = File { name: "f", text: &text }.fault(Span::new(at, at), "x").to_string();
            prop_assert!(error.starts_with("f:"));
        }
    }
}
