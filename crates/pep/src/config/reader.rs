//! Reads tables of a TOML file: every key is known, every fault has its place.

use super::ConfigError;
use std::fmt::Display;
use std::str::FromStr;
use toml_span::Span;
use toml_span::value::{Table, Value, ValueInner};

/// The text, to find lines and columns in.
pub(super) struct Text<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// A fault at a place, or in the file as a whole.
    pub(super) fn fault(&self, at: Option<Span>, message: impl Display) -> ConfigError {
        let Some(span) = at else {
            return ConfigError::new(format!("{}: {message}", self.name));
        };
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |l| l.chars().count() + 1);
        ConfigError::new(format!("{}:{line}:{column}: {message}", self.name))
    }
}

/// A table of which keys are taken one by one.
pub(super) struct Reader<'a, 'de> {
    pub(super) source: &'a Text<'a>,
    /// How messages call it: `[reports]`, or nothing for the file itself.
    title: &'static str,
    known: &'static [&'static str],
    table: Table<'de>,
    at: Option<Span>,
}

impl<'a, 'de> Reader<'a, 'de> {
    /// Of a table that may only have these keys. An absent table has none of them.
    pub(super) fn new(
        source: &'a Text<'a>,
        title: &'static str,
        known: &'static [&'static str],
        value: Option<Value<'de>>,
    ) -> Result<Self, ConfigError> {
        let at = value.as_ref().map(|v| v.span);
        let table = match value.map(|mut v| (v.span, v.take())) {
            None => Table::default(),
            Some((_, ValueInner::Table(table))) => table,
            Some((span, other)) => {
                let kind = other.type_str();
                return Err(source.fault(
                    Some(span),
                    format!("{title} is a {kind}, expected a table of keys"),
                ));
            }
        };
        for key in table.keys() {
            if !known.contains(&key.name.as_ref()) {
                return Err(source.fault(Some(key.span), unknown(title, &key.name, known)));
            }
        }
        Ok(Self {
            source,
            title,
            known,
            table,
            at,
        })
    }

    /// Takes a key's value, and where it stands.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'de>> {
        debug_assert!(self.known.contains(&key), "{key} is not in the list");
        self.table.remove(key)
    }

    /// A table inside this one.
    pub(super) fn table(
        &mut self,
        key: &'static str,
        title: &'static str,
        known: &'static [&'static str],
    ) -> Result<Self, ConfigError> {
        let value = self.take(key);
        Reader::new(self.source, title, known, value)
    }

    /// A fault of the table as a whole.
    pub(super) fn fault(&self, message: impl Display) -> ConfigError {
        self.source
            .fault(self.at, format!("{}: {message}", self.title))
    }

    /// A fault of a key that should be there.
    pub(super) fn missing(&self, key: &str, hint: &str) -> ConfigError {
        let place = if self.title.is_empty() {
            "the file"
        } else {
            self.title
        };
        self.source
            .fault(self.at, format!("{place} has no key \"{key}\"; {hint}"))
    }

    /// A text that is parsed, with its place.
    pub(super) fn parsed<T>(&mut self, key: &'static str) -> Result<Option<(T, Span)>, ConfigError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let span = value.span;
        let text = self.text_of(key, value)?;
        match text.parse() {
            Ok(parsed) => Ok(Some((parsed, span))),
            Err(error) => Err(self.source.fault(Some(span), format!("\"{key}\": {error}"))),
        }
    }

    fn text_of(&self, key: &str, mut value: Value<'de>) -> Result<String, ConfigError> {
        let span = value.span;
        match value.take() {
            ValueInner::String(text) => Ok(text.into_owned()),
            other => Err(self.source.fault(
                Some(span),
                format!(
                    "\"{key}\" is a {}, expected a text in quotes",
                    other.type_str()
                ),
            )),
        }
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
        default: T,
    ) -> Result<T, ConfigError> {
        let Some((word, span)) = self.parsed::<String>(key)? else {
            return Ok(default);
        };
        if let Some((_, value)) = words.iter().find(|(name, _)| *name == word) {
            return Ok(*value);
        }
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let mut message = format!("\"{key}\" = \"{word}\" is not known");
        message.push_str(&format!("; expected one of {}", names.join(", ")));
        message.push_str(&suggestion(&word, &names));
        Err(self.source.fault(Some(span), message))
    }

    /// A whole number in a range.
    pub(super) fn count(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(default);
        };
        let span = value.span;
        let number = match value.take() {
            ValueInner::Integer(i) => u64::try_from(i).ok(),
            _ => None,
        };
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let message = format!(
                "\"{key}\": expected a whole number from {} to {}",
                range.start(),
                range.end()
            );
            self.source.fault(Some(span), message)
        })
    }

    /// A number.
    pub(super) fn number(&mut self, key: &'static str, default: f64) -> Result<f64, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(default);
        };
        let span = value.span;
        match value.take() {
            ValueInner::Float(number) => Ok(number),
            ValueInner::Integer(number) => Ok(number as f64),
            _ => Err(self
                .source
                .fault(Some(span), format!("\"{key}\": expected a number"))),
        }
    }

    /// A truth value.
    pub(super) fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(default);
        };
        let span = value.span;
        match value.take() {
            ValueInner::Boolean(flag) => Ok(flag),
            _ => Err(self
                .source
                .fault(Some(span), format!("\"{key}\": expected true or false"))),
        }
    }

    /// A list of texts that are parsed.
    pub(super) fn list<T>(&mut self, key: &'static str) -> Result<Option<Vec<T>>, ConfigError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let Some(mut value) = self.take(key) else {
            return Ok(None);
        };
        let span = value.span;
        let ValueInner::Array(items) = value.take() else {
            return Err(self.source.fault(
                Some(span),
                format!("\"{key}\": expected a list of texts in brackets"),
            ));
        };
        let mut list = Vec::new();
        for item in items {
            let span = item.span;
            let text = self.text_of(key, item)?;
            let parsed = text.parse().map_err(|error: T::Err| {
                self.source.fault(Some(span), format!("\"{key}\": {error}"))
            })?;
            list.push(parsed);
        }
        Ok(Some(list))
    }
}

fn unknown(title: &str, key: &str, known: &[&str]) -> String {
    let place = if title.is_empty() {
        String::new()
    } else {
        format!(" in {title}")
    };
    format!(
        "unknown key \"{key}\"{place}; known keys: {}{}",
        known.join(", "),
        suggestion(key, known)
    )
}

/// "did you mean", if a known word is near.
fn suggestion(word: &str, known: &[&str]) -> String {
    let near = |name: &&&str| strsim::damerau_levenshtein(word, name);
    match known.iter().min_by_key(near) {
        Some(name) if strsim::damerau_levenshtein(word, name) <= 3 => {
            format!("; did you mean \"{name}\"?")
        }
        _ => String::new(),
    }
}
