//! Tables of a TOML file, key by key: what is asked for is known, the rest is refused.

use std::fmt::Display;
use std::str::FromStr;
use toml_span::Span;
use toml_span::value::{Table, Value, ValueInner};

/// How alike two names are if one may be meant for the other (Jaro-Winkler, 0 to 1).
const ALIKE: f64 = 0.75;

/// A configuration that cannot be used: where, what, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    place: String,
    message: String,
}

impl ConfigError {
    /// Of a place that is told already.
    pub fn new(place: impl Into<String>, message: impl Display) -> Self {
        Self {
            place: place.into(),
            message: message.to_string(),
        }
    }
}

/// The file, to find lines in.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// As messages call it.
    pub name: &'a str,
    /// All of it.
    pub text: &'a str,
}

impl File<'_> {
    /// A fault at a place.
    pub fn fault(&self, at: Span, message: impl Display) -> ConfigError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let begun = before.rfind('\n').map_or(0, |i| i + 1);
        let column = before[begun..].chars().count() + 1;
        ConfigError::new(format!("{}:{line}:{column}", self.name), message)
    }
}

/// A table whose keys are taken one after the other.
#[derive(Debug)]
pub struct Section<'a, 'de> {
    file: File<'a>,
    /// As messages call it: `[http]`, `[[source]]`.
    title: &'static str,
    at: Span,
    table: Table<'de>,
    /// All keys that were asked for: the known ones.
    asked: Vec<&'static str>,
}

impl<'a, 'de> Section<'a, 'de> {
    /// The file itself.
    ///
    /// # Errors
    /// It is no table.
    pub fn root(file: File<'a>, value: Value<'de>) -> Result<Self, ConfigError> {
        Self::of(file, "the file", value)
    }

    fn of(file: File<'a>, title: &'static str, mut value: Value<'de>) -> Result<Self, ConfigError> {
        let at = value.span;
        match value.take() {
            ValueInner::Table(table) => Ok(Self {
                file,
                title,
                at,
                table,
                asked: Vec::new(),
            }),
            other => Err(file.fault(
                at,
                format!("{title} is a {}, expected a table", other.type_str()),
            )),
        }
    }

    /// The place of the table, or a fault there.
    pub fn fault(&self, message: impl Display) -> ConfigError {
        self.file
            .fault(self.at, format!("{}: {message}", self.title))
    }

    /// A fault at a place of the table.
    pub fn fault_at(&self, at: Span, message: impl Display) -> ConfigError {
        self.file.fault(at, format!("{}: {message}", self.title))
    }

    fn take(&mut self, key: &'static str) -> Option<Value<'de>> {
        self.asked.push(key);
        self.table.remove(key)
    }

    /// A table inside; none if it is absent.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn table(
        &mut self,
        key: &'static str,
        title: &'static str,
    ) -> Result<Option<Self>, ConfigError> {
        let file = self.file;
        self.take(key).map(|v| Self::of(file, title, v)).transpose()
    }

    /// The tables of a list; empty if it is absent.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn tables(
        &mut self,
        key: &'static str,
        title: &'static str,
    ) -> Result<Vec<Self>, ConfigError> {
        let file = self.file;
        let values = self.values(key)?;
        values
            .into_iter()
            .map(|v| Self::of(file, title, v))
            .collect()
    }

    fn values(&mut self, key: &'static str) -> Result<Vec<Value<'de>>, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(Vec::new());
        };
        let at = value.span;
        match value.take() {
            ValueInner::Array(values) => Ok(values),
            other => Err(self.fault_at(
                at,
                format!("{key} is a {}, expected a list", other.type_str()),
            )),
        }
    }

    /// Text.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn text(&mut self, key: &'static str) -> Result<Option<(String, Span)>, ConfigError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let at = value.span;
        Ok(Some((self.text_of(key, value)?, at)))
    }

    fn text_of(&self, key: &str, mut value: Value<'de>) -> Result<String, ConfigError> {
        let at = value.span;
        match value.take() {
            ValueInner::String(text) => Ok(text.into_owned()),
            other => {
                let kind = other.type_str();
                Err(self.fault_at(at, format!("{key} is a {kind}, expected text in quotes")))
            }
        }
    }

    /// Text that must be there.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn needed_text(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Result<(String, Span), ConfigError> {
        match self.text(key)? {
            Some(found) => Ok(found),
            None => Err(self.missing(key, example)),
        }
    }

    /// A key that must be there is not; one that looks like it may be meant.
    pub fn missing(&self, key: &str, example: &str) -> ConfigError {
        let alike = |name: &str| strsim::jaro_winkler(key, name) > ALIKE;
        match self.table.keys().find(|given| alike(&given.name)) {
            Some(given) => {
                let text = format!("unknown key \"{}\"; did you mean \"{key}\"?", given.name);
                self.fault_at(given.span, text)
            }
            None => self.fault(format!("no key \"{key}\"; for example {key} = {example}")),
        }
    }

    /// Text that is parsed.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn parsed<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, at)) = self.text(key)? else {
            return Ok(None);
        };
        let parsed = text.parse();
        parsed
            .map(Some)
            .map_err(|e| self.fault_at(at, format!("{key} = {text:?}: {e}")))
    }

    /// As [`Self::parsed`], of a key that must be there; `example` is a value as it is written.
    ///
    /// # Errors
    /// It is missing or cannot be read.
    pub fn needed_parsed<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Result<T, ConfigError> {
        match self.parsed(key)? {
            Some(value) => Ok(value),
            None => Err(self.missing(key, example)),
        }
    }

    /// A list of text, each parsed.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn parsed_list<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<T>, ConfigError> {
        let values = self.values(key)?;
        values
            .into_iter()
            .map(|value| {
                let at = value.span;
                let text = self.text_of(key, value)?;
                let parsed = text.parse();
                parsed.map_err(|e| self.fault_at(at, format!("{key}: {text:?}: {e}")))
            })
            .collect()
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn whole<T: TryFrom<i64>>(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<i64>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(None);
        };
        let at = value.span;
        let wrong = |what: &str| {
            let (least, most) = (allowed.start(), allowed.end());
            let text = format!("{key} is {what}; allowed is a whole number {least} to {most}");
            Err(self.fault_at(at, text))
        };
        match value.take() {
            ValueInner::Integer(n) if allowed.contains(&n) => match T::try_from(n) {
                Ok(number) => Ok(Some(number)),
                Err(_) => wrong(&n.to_string()),
            },
            ValueInner::Integer(n) => wrong(&n.to_string()),
            other => wrong(&format!("a {}", other.type_str())),
        }
    }

    /// A number within bounds.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn number(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<f64>,
    ) -> Result<Option<f64>, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(None);
        };
        let at = value.span;
        let number = match value.take() {
            ValueInner::Integer(n) => Some(n as f64),
            ValueInner::Float(x) => Some(x),
            _ => None,
        };
        match number.filter(|n| allowed.contains(n)) {
            Some(number) => Ok(Some(number)),
            None => {
                let (least, most) = (allowed.start(), allowed.end());
                Err(self.fault_at(at, format!("{key}: allowed is a number {least} to {most}")))
            }
        }
    }

    /// A truth value.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn truth(&mut self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(None);
        };
        let at = value.span;
        match value.take() {
            ValueInner::Boolean(truth) => Ok(Some(truth)),
            other => Err(self.fault_at(
                at,
                format!("{key} is a {}, expected true or false", other.type_str()),
            )),
        }
    }

    /// Ends the table: what was not asked for is not known.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn finish(self) -> Result<(), ConfigError> {
        let Some(key) = self.table.keys().min_by_key(|key| key.span.start) else {
            return Ok(());
        };
        let nearest = self
            .asked
            .iter()
            .map(|known| (strsim::jaro_winkler(known, &key.name), *known))
            .filter(|(likeness, _)| *likeness > ALIKE)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = match nearest {
            Some((_, name)) => format!("did you mean \"{name}\"?"),
            None => format!("known keys: {}", self.asked.join(", ")),
        };
        Err(self.fault_at(key.span, format!("unknown key \"{}\"; {hint}", key.name)))
    }
}
