//! Tables of a TOML file, key by key: what is taken is known, the rest is rejected.

use super::ConfigError;
use super::file::File;
use super::interface::{MAX_NAME_BYTES, is_interface};
use std::fmt::Display;
use std::str::FromStr;
use toml_span::Span;
use toml_span::value::{Key, Table, Value, ValueInner};
use units::Duration;

/// A name and its text, each with its place.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub name_at: Span,
    /// The text.
    pub text: String,
    /// Where that stands.
    pub text_at: Span,
}

/// A table whose keys are taken one after the other.
#[derive(Debug)]
pub struct Section<'a, 'de> {
    file: File<'a>,
    /// As messages call it: `[http]`, `[[source]]`; nothing for the file itself.
    title: &'static str,
    /// None of a table that the file does not have.
    at: Option<Span>,
    table: Table<'de>,
    /// All keys that were taken or declared: the known ones.
    known: Vec<&'static str>,
}

impl<'a, 'de> Section<'a, 'de> {
    /// The file itself.
    ///
    /// # Errors
    /// It is no table.
    pub(crate) fn root(file: File<'a>, value: Value<'de>) -> Result<Self, ConfigError> {
        Self::of(file, "", value)
    }

    fn of(file: File<'a>, title: &'static str, mut value: Value<'de>) -> Result<Self, ConfigError> {
        let at = value.span;
        match value.take() {
            ValueInner::Table(table) => Ok(Self {
                file,
                title,
                at: Some(at),
                table,
                known: Vec::new(),
            }),
            other => Err(file.fault(at, format!("{title} is {}, expected a table", kind(&other)))),
        }
    }

    /// A fault of the table as a whole.
    pub fn fault(&self, message: impl Display) -> ConfigError {
        let message = self.titled(message);
        match self.at {
            Some(at) => self.file.fault(at, message),
            None => ConfigError::new(self.file.name, message),
        }
    }

    /// A fault at a place of the table.
    pub fn fault_at(&self, at: Span, message: impl Display) -> ConfigError {
        self.file.fault(at, self.titled(message))
    }

    fn titled(&self, message: impl Display) -> String {
        match self.title {
            "" => message.to_string(),
            title => format!("{title}: {message}"),
        }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'de>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
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

    /// As [`Self::table`]; one that is absent has no keys.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn table_or_empty(
        &mut self,
        key: &'static str,
        title: &'static str,
    ) -> Result<Self, ConfigError> {
        let file = self.file;
        Ok(self.table(key, title)?.unwrap_or(Self {
            file,
            title,
            at: None,
            table: Table::default(),
            known: Vec::new(),
        }))
    }

    /// Names of any kind with their texts: `17921 = "10.45.0.2"`; empty if the table is absent.
    ///
    /// # Errors
    /// It is no table, or a value is no text.
    pub fn texts(
        &mut self,
        key: &'static str,
        title: &'static str,
    ) -> Result<Vec<Named>, ConfigError> {
        let mut section = self.table_or_empty(key, title)?;
        std::mem::take(&mut section.table)
            .into_iter()
            .map(|(key, value)| {
                let text_at = value.span;
                Ok(Named {
                    text: section.text_of(&key.name, value)?,
                    name: key.name.into_owned(),
                    name_at: key.span,
                    text_at,
                })
            })
            .collect()
    }

    /// The key must not be there, for this reason.
    ///
    /// # Errors
    /// It is there.
    pub fn refuse(&mut self, key: &'static str, reason: impl Display) -> Result<(), ConfigError> {
        match self.table.remove(key) {
            None => Ok(()),
            Some(value) => Err(self.fault_at(value.span, format!("{key} {reason}"))),
        }
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
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
            other => Err(self.fault_at(at, format!("{key} is {}, expected a list", kind(&other)))),
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

    pub(super) fn text_of(&self, key: &str, mut value: Value<'de>) -> Result<String, ConfigError> {
        let at = value.span;
        match value.take() {
            ValueInner::String(text) => Ok(text.into_owned()),
            other => {
                let kind = kind(&other);
                Err(self.fault_at(at, format!("{key} is {kind}, expected text in quotes")))
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

    /// A key that must be there is not; an unknown one that looks like it may be meant.
    pub fn missing(&self, key: &str, example: &str) -> ConfigError {
        let unknown = || self.table.keys().filter(|given| self.is_unknown(given));
        let nearest = suggestion::nearest(key, unknown().map(|given| &*given.name));
        match unknown().find(|given| Some(&*given.name) == nearest) {
            Some(given) => {
                let question = suggestion::question(key);
                self.fault_at(
                    given.span,
                    format!("unknown key \"{}\"; {question}", given.name),
                )
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
        Ok(self.parsed_at(key)?.map(|(value, _)| value))
    }

    /// As [`Self::parsed`], with its place.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn parsed_at<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<(T, Span)>, ConfigError> {
        let Some((text, at)) = self.text(key)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) => Ok(Some((value, at))),
            Err(error) => Err(self.fault_at(at, format!("{key} = {text:?}: {error}"))),
        }
    }

    /// A time above zero.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn time(&mut self, key: &'static str) -> Result<Option<Duration>, ConfigError> {
        match self.parsed_at::<Duration>(key)? {
            Some((Duration::ZERO, at)) => {
                Err(self.fault_at(at, format!("{key} is 0 s, expected more")))
            }
            other => Ok(other.map(|(time, _)| time)),
        }
    }

    /// The name of a network interface.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn interface(&mut self, key: &'static str) -> Result<Option<String>, ConfigError> {
        let Some((name, at)) = self.text(key)? else {
            return Ok(None);
        };
        if !is_interface(&name) {
            let text = format!(
                "{key} = {name:?} is no name of an interface; expected 1 to {MAX_NAME_BYTES} letters, \
                 digits, and any of -_.@"
            );
            return Err(self.fault_at(at, text));
        }
        Ok(Some(name))
    }

    /// One of these words.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, at)) = self.text(key)? else {
            return Ok(None);
        };
        if let Some((_, value)) = words.iter().find(|(name, _)| *name == text) {
            return Ok(Some(*value));
        }
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let hint = match suggestion::did_you_mean(&text, names.iter().copied()) {
            Some(question) => format!("; {question}"),
            None => String::new(),
        };
        let text = format!("{key} = {text:?}; expected {}{hint}", names.join(", "));
        Err(self.fault_at(at, text))
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
            let (min, max) = (allowed.start(), allowed.end());
            let text = format!("{key} is {what}; allowed is a whole number {min} to {max}");
            Err(self.fault_at(at, text))
        };
        match value.take() {
            ValueInner::Integer(n) if allowed.contains(&n) => match T::try_from(n) {
                Ok(number) => Ok(Some(number)),
                Err(_) => wrong(&n.to_string()),
            },
            ValueInner::Integer(n) => wrong(&n.to_string()),
            other => wrong(kind(&other)),
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
                let (min, max) = (allowed.start(), allowed.end());
                Err(self.fault_at(at, format!("{key}: allowed is a number {min} to {max}")))
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
                format!("{key} is {}, expected true or false", kind(&other)),
            )),
        }
    }

    /// Declares all keys before any is read, so that one that is misspelt is reported first, not what is
    /// missing without it. Each is then to be taken or refused.
    ///
    /// # Errors
    /// Another key is there.
    pub fn declare(&mut self, keys: &[&'static str]) -> Result<(), ConfigError> {
        self.known.extend(keys);
        self.check_known()
    }

    /// Ends the table: what was not taken is not known.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn finish(self) -> Result<(), ConfigError> {
        self.check_known()
    }

    fn is_unknown(&self, key: &Key<'_>) -> bool {
        !self.known.contains(&key.name.as_ref())
    }

    fn check_known(&self) -> Result<(), ConfigError> {
        let keys = self.table.keys().filter(|key| self.is_unknown(key));
        let Some(key) = keys.min_by_key(|key| key.span.start) else {
            return Ok(());
        };
        let hint = suggestion::did_you_mean(&key.name, self.known.iter().copied())
            .unwrap_or_else(|| format!("known keys: {}", self.known.join(", ")));
        Err(self.fault_at(key.span, format!("unknown key \"{}\"; {hint}", key.name)))
    }
}

/// What a value is, in words.
fn kind(value: &ValueInner<'_>) -> &'static str {
    match value {
        ValueInner::String(_) => "text",
        ValueInner::Integer(_) => "a whole number",
        ValueInner::Float(_) => "a number",
        ValueInner::Boolean(_) => "a truth value",
        ValueInner::Array(_) => "a list",
        ValueInner::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn error<T: std::fmt::Debug>(
        text: &str,
        read: impl FnOnce(&mut Section<'_, '_>) -> Result<T, ConfigError>,
    ) -> String {
        parse("f", text, read).expect_err(text).to_string()
    }

    #[test]
    fn values_are_taken_and_what_is_wrong_has_its_place() {
        let words = [("text", 1), ("json", 2)];
        let of = |text| parse("f", text, |top| top.word("format", &words));
        assert_eq!((of(""), of("format = 'json'")), (Ok(None), Ok(Some(2))));
        let wrong = error("\nformat = 'jsno'", |top| top.word("format", &words));
        let text = "f:2:11: format = \"jsno\"; expected text, json; did you mean \"json\"?";
        assert_eq!(wrong, text);

        let time = |text| parse("f", text, |top| top.time("idle"));
        assert_eq!(time("idle = '2 s'"), Ok(Some(Duration::from_secs(2))));
        let wrong = error("idle = '0 s'", |top| top.time("idle"));
        assert_eq!(wrong, "f:1:9: idle is 0 s, expected more");

        let wrong = error("i = 'a b'", |top| top.interface("i"));
        assert!(wrong.contains("no name of an interface"), "{wrong}");
        assert!(error("x = 1", |top| top.refuse("x", "is not for this")).contains("1:5: x is not"));
        assert_eq!(
            error("t = 1", |top| top.table("t", "[t]").map(drop)),
            "f:1:5: [t] is a whole number, expected a table"
        );
    }

    #[test]
    fn an_absent_table_has_no_keys_and_its_faults_no_line() {
        let wrong = error("", |top| {
            let mut table = top.table_or_empty("explicit", "[explicit]")?;
            table.needed_parsed::<u16>("port", "80")
        });
        assert_eq!(
            wrong,
            "f: [explicit]: no key \"port\"; for example port = 80"
        );
        let given = error("[explicit]\nprot = 1", |top| {
            let mut table = top.table_or_empty("explicit", "[explicit]")?;
            table.needed_parsed::<u16>("port", "80")
        });
        let text = "f:2:1: [explicit]: unknown key \"prot\"; did you mean \"port\"?";
        assert_eq!(given, text);
    }

    #[test]
    fn names_of_any_kind_have_texts() {
        let named = parse("f", "[ues]\n7 = 'a'\nx = 'b'", |top| {
            top.texts("ues", "[ues]")
        });
        let named = named.expect("texts");
        let pairs: Vec<_> = named.iter().map(|n| (&*n.name, &*n.text)).collect();
        assert_eq!(pairs, [("7", "a"), ("x", "b")]);
        assert_eq!(named[1].name_at.start, 14);
        let wrong = error("[ues]\n7 = 8", |top| top.texts("ues", "[ues]").map(drop));
        assert!(
            wrong.starts_with("f:2:5: [ues]: 7 is a whole number"),
            "{wrong}"
        );
    }

    #[test]
    fn a_key_that_was_not_read_is_unknown() {
        let read = |top: &mut Section<'_, '_>| {
            assert!(top.has("listn") && !top.has("listen"));
            top.text("listen").map(drop)
        };
        assert!(error("listn = 'a'", read).ends_with("did you mean \"listen\"?"));
        let read = |top: &mut Section<'_, '_>| {
            top.declare(&["listen", "control"])?;
            top.needed_text("listen", "\"a\"")
        };
        assert!(error("contorl = 'a'", read).ends_with("did you mean \"control\"?"));
        assert!(error("control = 'a'", read).contains("no key \"listen\""));
        // a key that is known is not taken for another
        let read = |top: &mut Section<'_, '_>| {
            top.declare(&["key-file", "token-file"])?;
            top.needed_text("key-file", "\"a\"")
        };
        assert!(error("token-file = 'a'", read).contains("no key \"key-file\""));
        let read = |top: &mut Section<'_, '_>| top.text("listen").map(drop);
        assert!(error("z = 1", read).ends_with("known keys: listen"));
    }
}
