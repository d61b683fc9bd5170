//! Reads one table of a document by the table of keys.

mod events;
mod ground;
mod quantity;
mod steps;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use quantity::{Frequency, Quantity};
use values::{
    capacity, choice, count, duration_or, flag, in_range, number, quantity, text, unit_fault_of,
    wrong_type,
};

use crate::document::{Node, Table, Value, parse_value};
use crate::error::{Checked, Fault, either, fault};
use crate::experiment::is_custom;
use crate::keys::{Fallback, Key, Kind, Section, keys, section};
use crate::resolved::{Resolved, ResolvedValue};
use crate::source::Position;
use queue::Capacity;
use units::Duration;

/// What reads a table: it holds the section, gives typed values, and keeps what it gave.
pub(crate) struct Reader<'a> {
    section: &'static Section,
    /// How messages call the table, e.g. `[path]`.
    title: String,
    table: Option<&'a Table>,
    at: Position,
    is_lte: bool,
    resolved: Resolved,
}

impl<'a> Reader<'a> {
    /// Of a table without forms. `node` is none if the file does not have it: all defaults.
    pub(crate) fn open(
        path: &'static str,
        title: impl Into<String>,
        node: Option<&'a Node>,
        otherwise_at: Position,
    ) -> Checked<Self> {
        let title = title.into();
        let table = table_of(node, &title)?;
        let at = node.map_or(otherwise_at, |n| n.at);
        Self::checked(section(path, None), title, table, at)
    }

    /// Of a table whose form is given by its key `kind`. Gives the form too.
    pub(crate) fn open_kind(
        path: &'static str,
        title: impl Into<String>,
        node: &'a Node,
    ) -> Checked<(Self, &'static str)> {
        let title = title.into();
        let table = table_of(Some(node), &title)?;
        let forms = || keys().filter(|s| s.path == path);
        let names = || forms().filter_map(|s| s.kind);
        let Some(kind) = table.and_then(|t| t.get("kind")) else {
            return Err(fault(node.at, format!("{title} has no key \"kind\""))
                .allowed(format!("kind = {}", either(names()))));
        };
        let Value::String(word) = &kind.value else {
            return Err(fault(kind.at, format!("\"kind\" is {}", kind.kind()))
                .allowed(format!("expected {}", either(names()))));
        };
        let Some(form) = forms().find(|s| s.kind == Some(word.as_str())) else {
            return Err(
                fault(kind.at, format!("unknown kind \"{word}\" in {title}"))
                    .allowed(format!("expected {}", either(names())))
                    .nearest(word, names()),
            );
        };
        let mut reader = Self::checked(form, title, table, node.at)?;
        reader
            .resolved
            .put("kind", ResolvedValue::Text(word.clone()));
        Ok((reader, form.kind.unwrap_or_default()))
    }

    fn checked(
        section: &'static Section,
        title: String,
        table: Option<&'a Table>,
        at: Position,
    ) -> Checked<Self> {
        let known =
            |key: &str| section.key(key).is_some() || (key == "kind" && section.kind.is_some());
        let unknown = table.and_then(|t| t.entries.iter().find(|e| !known(&e.key)));
        if let Some(entry) = unknown {
            let names = || section.keys.iter().map(|k| k.name);
            let form = section
                .kind
                .map(|k| format!(" of kind \"{k}\""))
                .unwrap_or_default();
            let listed: Vec<&str> = names().collect();
            let allowed = match listed.as_slice() {
                [] => "it has no keys".to_owned(),
                listed => format!("known keys: {}", listed.join(", ")),
            };
            return Err(fault(
                entry.at,
                format!("unknown key \"{}\" in {title}{form}", entry.key),
            )
            .allowed(allowed)
            .nearest(&entry.key, names()));
        }
        Ok(Self {
            section,
            title,
            table,
            at,
            is_lte: false,
            resolved: Resolved::default(),
        })
    }

    /// Takes LTE's defaults where they differ from NR's.
    pub(crate) fn for_lte(mut self, is_lte: bool) -> Self {
        self.is_lte = is_lte;
        self
    }

    /// Where the table begins.
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// The place of a key's value, or that of the table if it is not given.
    pub(crate) fn place(&self, key: &str) -> Position {
        self.given(key).map_or(self.at, |n| n.at)
    }

    /// What the file gives for a key, as it stands.
    pub(crate) fn given(&self, key: &str) -> Option<&'a Node> {
        self.table.and_then(|t| t.get(key))
    }

    /// Ends the reading: what was understood.
    pub(crate) fn finish(self) -> Resolved {
        self.resolved
    }

    /// Adds what was understood of a table inside this one.
    pub(crate) fn put(&mut self, key: &str, value: ResolvedValue) {
        self.resolved.put(key, value);
    }

    fn key(&self, name: &str) -> &'static Key {
        self.section
            .key(name)
            .expect("only keys of the table are requested")
    }

    /// Reads a key or its default, none if it is absent and may be.
    fn value<T>(
        &self,
        name: &str,
        read: impl Fn(&'static Key, &Node) -> Checked<T>,
    ) -> Checked<Option<T>> {
        let key = self.key(name);
        if let Some(node) = self.given(name) {
            return read(key, node).map(Some);
        }
        let default = match key.fallback {
            Fallback::Required => return Err(self.missing(key)),
            Fallback::Absent(_) | Fallback::Preset { .. } => return Ok(None),
            Fallback::Value(text) => text,
            Fallback::ByRat { lte, nr } => {
                if self.is_lte {
                    lte
                } else {
                    nr
                }
            }
        };
        let node = match key.kind {
            Kind::Text | Kind::Choice(_) => Node {
                at: self.at,
                value: Value::String(default.to_owned()),
            },
            _ => parse_value(default, self.at),
        };
        read(key, &node).map(Some)
    }

    /// That a required key is missing.
    pub(crate) fn missing(&self, key: &Key) -> Box<Fault> {
        fault(
            self.at,
            format!("{} has no key \"{}\"", self.title, key.name),
        )
        .allowed(format!("it is required: {}", key.meaning))
    }

    fn must<T>(&self, name: &str, value: Option<T>) -> Checked<T> {
        value.ok_or_else(|| self.missing(self.key(name)))
    }

    /// A quantity, if given or defaulted.
    pub(crate) fn optional<Q: Quantity>(&mut self, name: &str) -> Checked<Option<Q>> {
        let value = self.value(name, quantity::<Q>)?;
        if let Some(value) = value {
            self.put(name, ResolvedValue::Text(value.to_string()));
        }
        Ok(value)
    }

    /// A quantity.
    pub(crate) fn quantity<Q: Quantity>(&mut self, name: &str) -> Checked<Q> {
        let value = self.optional(name)?;
        self.must(name, value)
    }

    /// A quantity, or what crate `ran` presets.
    pub(crate) fn quantity_or<Q: Quantity>(&mut self, name: &str, preset: Q) -> Checked<Q> {
        let value = self.optional(name)?.unwrap_or(preset);
        self.put(name, ResolvedValue::Text(value.to_string()));
        Ok(value)
    }

    /// A time, or none for the word that the key may have instead.
    pub(crate) fn duration_or(&mut self, name: &str) -> Checked<Option<Duration>> {
        let value = self.value(name, duration_or)?;
        let value = self.must(name, value)?;
        self.put_duration_or(name, value);
        Ok(value)
    }

    /// The same of a value that stands elsewhere, for example on the command line.
    pub(crate) fn duration_or_of(&mut self, name: &str, node: &Node) -> Checked<Option<Duration>> {
        let value = duration_or(self.key(name), node)?;
        self.put_duration_or(name, value);
        Ok(value)
    }

    fn put_duration_or(&mut self, name: &str, value: Option<Duration>) {
        let text = match (value, self.key(name).kind) {
            (None, Kind::DurationOr(word)) => word.to_owned(),
            (value, _) => value.unwrap_or_default().to_string(),
        };
        self.put(name, ResolvedValue::Text(text));
    }

    /// A whole number, or what crate `ran` presets.
    pub(crate) fn count_or<T>(&mut self, name: &str, preset: T) -> Checked<T>
    where
        T: TryFrom<u64> + Into<u64> + Copy,
    {
        let value = self.optional_count(name)?.unwrap_or(preset);
        self.put(name, ResolvedValue::Count(value.into()));
        Ok(value)
    }

    /// A text, if given or defaulted.
    pub(crate) fn optional_text(&mut self, name: &str) -> Checked<Option<String>> {
        let value = self.value(name, text)?;
        if let Some(value) = &value {
            self.put(name, ResolvedValue::Text(value.clone()));
        }
        Ok(value)
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> Checked<String> {
        let value = self.optional_text(name)?;
        self.must(name, value)
    }

    /// One of the words that the table of keys allows, if given or defaulted.
    pub(crate) fn optional_choice(&mut self, name: &str) -> Checked<Option<&'static str>> {
        let value = self.value(name, choice)?;
        if let Some(word) = value {
            self.put(name, ResolvedValue::Text(word.to_owned()));
        }
        Ok(value)
    }

    /// One of the words that the table of keys allows.
    pub(crate) fn choice(&mut self, name: &str) -> Checked<&'static str> {
        let value = self.optional_choice(name)?;
        self.must(name, value)
    }

    /// One of the words that the table of keys allows, or the name of what the caller brings along.
    pub(crate) fn choice_or_custom(&mut self, name: &str) -> Checked<&'a str> {
        if let Some(Value::String(custom)) = self.given(name).map(|node| &node.value)
            && is_custom(custom)
        {
            self.put(name, ResolvedValue::Text(custom.clone()));
            return Ok(custom);
        }
        self.choice(name)
    }

    /// A truth value, if given or defaulted.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Checked<Option<bool>> {
        let value = self.value(name, flag)?;
        if let Some(value) = value {
            self.put(name, ResolvedValue::Flag(value));
        }
        Ok(value)
    }

    /// A truth value.
    pub(crate) fn flag(&mut self, name: &str) -> Checked<bool> {
        let value = self.optional_flag(name)?;
        self.must(name, value)
    }

    /// A whole number that fits into `T`, if given or defaulted.
    pub(crate) fn optional_count<T: TryFrom<u64>>(&mut self, name: &str) -> Checked<Option<T>> {
        let Some(value) = self.value(name, count)? else {
            return Ok(None);
        };
        self.put(name, ResolvedValue::Count(value));
        match T::try_from(value) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(fault(
                self.place(name),
                format!("\"{name}\" = {value} is too large"),
            )),
        }
    }

    /// A whole number that fits into `T`.
    pub(crate) fn count<T: TryFrom<u64>>(&mut self, name: &str) -> Checked<T> {
        let value = self.optional_count(name)?;
        self.must(name, value)
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &str) -> Checked<f64> {
        let value = self.value(name, number)?;
        let value = self.must(name, value)?;
        self.put(name, ResolvedValue::Number(value));
        Ok(value)
    }

    /// The room of a buffer.
    pub(crate) fn capacity(&mut self, name: &str) -> Checked<Capacity> {
        let value = self.value(name, capacity)?;
        let value = self.must(name, value)?;
        let text = match value {
            Capacity::Bytes(bytes) => bytes.to_string(),
            Capacity::Packets(packets) => packets.to_string(),
            Capacity::Unlimited => "unlimited".to_owned(),
        };
        self.put(name, ResolvedValue::Text(text));
        Ok(value)
    }
}

/// The table of a node.
fn table_of<'a>(node: Option<&'a Node>, title: &str) -> Checked<Option<&'a Table>> {
    match node {
        None => Ok(None),
        Some(node) => match node.table() {
            Some(table) => Ok(Some(table)),
            None => Err(fault(node.at, format!("{title} is {}", node.kind()))
                .allowed("expected a table with keys")),
        },
    }
}
