//! Reads one table of a document by the table of keys.

mod ground;
mod steps;

use crate::document::{Node, Table, Value, parse_value};
use crate::error::{Checked, Fault, either, fault};
use crate::experiment::is_custom;
use crate::keys::{Fallback, Key, Kind, Range, Section, keys, section};
use crate::resolved::{Resolved, ResolvedValue};
use crate::source::Position;
use core::fmt::Display;
use core::str::FromStr;
use queue::Capacity;
use units::{BitRate, Bytes, Decibel, Duration, Hertz, Packets, ParseUnitError, UnitProblem};

/// A quantity with a unit.
pub(crate) trait Quantity: FromStr<Err = ParseUnitError> + Display + Copy {
    /// Its value in the base unit of the ranges in the table of keys.
    fn base(self) -> f64;
}

impl Quantity for Duration {
    fn base(self) -> f64 {
        self.as_secs_f64()
    }
}
impl Quantity for Bytes {
    fn base(self) -> f64 {
        self.get() as f64
    }
}
impl Quantity for BitRate {
    fn base(self) -> f64 {
        self.as_bps() as f64
    }
}
impl Quantity for Decibel {
    fn base(self) -> f64 {
        self.get()
    }
}

/// A frequency that prints as people write it.
#[derive(Clone, Copy)]
pub(crate) struct Frequency(pub(crate) Hertz);

impl FromStr for Frequency {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        text.parse().map(Self)
    }
}
impl Display for Frequency {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.get() {
            hz if hz >= 1_000_000_000 => write!(f, "{} GHz", hz as f64 / 1e9),
            hz if hz >= 1_000_000 => write!(f, "{} MHz", hz as f64 / 1e6),
            hz => write!(f, "{hz} Hz"),
        }
    }
}
impl Quantity for Frequency {
    fn base(self) -> f64 {
        self.0.get() as f64
    }
}

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

/// What a quantity is, in words, and an example.
fn described(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Duration => ("a time", "10 ms"),
        Kind::Bytes => ("a size", "200 MB"),
        Kind::BitRate => ("a data rate", "15 Mbit/s"),
        Kind::Frequency => ("a frequency", "28 GHz"),
        Kind::Decibel => ("a ratio", "17.5 dB"),
        Kind::Power => ("a power", "35 dBm"),
        Kind::Length => ("a length", "10 m"),
        Kind::Speed => ("a speed", "1 m/s"),
        Kind::Place => ("a place", "[\"10 m\", \"-5 m\"]"),
        Kind::Corners => ("two places", "[[\"0 m\", \"0 m\"], [\"80 m\", \"50 m\"]]"),
        Kind::Capacity => ("a size or a number of packets", "250 packets"),
        Kind::Flag => ("a truth value", "true"),
        Kind::Count => ("a whole number without unit", "10"),
        Kind::Number => ("a number without unit", "0.5"),
        Kind::Text | Kind::Choice(_) => ("a text in quotes", "cubic"),
        Kind::List(_) => ("a list", "[1, 2]"),
        Kind::Table => ("a table", "{ kind = \"bulk\" }"),
    }
}

/// That a value is of the wrong type.
fn wrong_type(key: &Key, node: &Node) -> Box<Fault> {
    let (what, example) = described(key.kind);
    let quoted = !matches!(
        key.kind,
        Kind::Flag
            | Kind::Count
            | Kind::Number
            | Kind::Place
            | Kind::Corners
            | Kind::List(_)
            | Kind::Table
    );
    let example = if quoted {
        format!("\"{example}\"")
    } else {
        example.to_owned()
    };
    let expected = format!("expected {what}, for example {example}");
    match node.value {
        Value::Integer(_) | Value::Float(_) if quoted && !matches!(key.kind, Kind::Text) => fault(
            node.at,
            format!("\"{}\" = {} has no unit", key.name, node.text()),
        )
        .allowed(expected)
        .hint("write the unit behind the number, and quotes around both"),
        _ => fault(node.at, format!("\"{}\" is {}", key.name, node.kind())).allowed(expected),
    }
}

/// That a value is outside its range.
fn in_range(key: &Key, node: &Node, value: f64) -> Checked<()> {
    if key.range.contains(value) {
        return Ok(());
    }
    let below_zero = matches!(key.range, Range::Within(low, _) if low < 0.0);
    let negative = value < 0.0 && !below_zero;
    let what = if negative {
        "is negative"
    } else {
        "is out of range"
    };
    Err(fault(
        node.at,
        format!("\"{}\" = {} {what}", key.name, node.text()),
    )
    .allowed(format!("allowed is {}", key.range_text())))
}

fn quantity<Q: Quantity>(key: &'static Key, node: &Node) -> Checked<Q> {
    let Value::String(text) = &node.value else {
        return Err(wrong_type(key, node));
    };
    let value: Q = text.parse().map_err(|e| unit_fault(key, node, &e))?;
    in_range(key, node, value.base())?;
    Ok(value)
}

/// That a quantity's text is wrong.
fn unit_fault(key: &Key, node: &Node, error: &ParseUnitError) -> Box<Fault> {
    unit_fault_of(key.kind, key, node, error)
}

/// The same where the key holds several quantities of this kind.
fn unit_fault_of(kind: Kind, key: &Key, node: &Node, error: &ParseUnitError) -> Box<Fault> {
    let (what, example) = described(kind);
    let given = format!("\"{}\" = \"{}\"", key.name, error.text);
    let expected = format!("expected {what}, for example \"{example}\"");
    match &error.problem {
        UnitProblem::UnknownUnit { unit, known } => {
            fault(node.at, format!("{given} has the unknown unit \"{unit}\""))
                .allowed(format!("known units: {known}"))
                .nearest(unit, known.split(", "))
        }
        problem => fault(node.at, format!("{given} {problem}")).allowed(expected),
    }
}

fn text(key: &'static Key, node: &Node) -> Checked<String> {
    match &node.value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(wrong_type(key, node)),
    }
}

fn choice(key: &'static Key, node: &Node) -> Checked<&'static str> {
    let Kind::Choice(words) = key.kind else {
        return Err(wrong_type(key, node));
    };
    let Value::String(given) = &node.value else {
        return Err(
            fault(node.at, format!("\"{}\" is {}", key.name, node.kind()))
                .allowed(format!("expected {}", either(words.iter().copied()))),
        );
    };
    match words.iter().find(|w| *w == given) {
        Some(word) => Ok(word),
        None => Err(fault(
            node.at,
            format!("\"{}\" = \"{given}\" is not known", key.name),
        )
        .allowed(format!("expected {}", either(words.iter().copied())))
        .nearest(given, words.iter().copied())),
    }
}

fn flag(key: &'static Key, node: &Node) -> Checked<bool> {
    match node.value {
        Value::Boolean(b) => Ok(b),
        _ => Err(wrong_type(key, node)),
    }
}

fn count(key: &'static Key, node: &Node) -> Checked<u64> {
    let Value::Integer(value) = node.value else {
        return Err(wrong_type(key, node));
    };
    in_range(key, node, value as f64)?;
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => Err(fault(
            node.at,
            format!("\"{}\" = {value} is negative", key.name),
        )),
    }
}

fn number(key: &'static Key, node: &Node) -> Checked<f64> {
    let value = match node.value {
        Value::Integer(i) => i as f64,
        Value::Float(x) if !x.is_nan() => x,
        _ => return Err(wrong_type(key, node)),
    };
    in_range(key, node, value)?;
    Ok(value)
}

fn capacity(key: &'static Key, node: &Node) -> Checked<Capacity> {
    let Value::String(text) = &node.value else {
        return Err(wrong_type(key, node));
    };
    if text.trim() == "unlimited" {
        return Ok(Capacity::Unlimited);
    }
    let (value, capacity) = match (text.parse::<Packets>(), text.parse::<Bytes>()) {
        (Ok(packets), _) => (packets.get(), Capacity::Packets(packets)),
        (_, Ok(bytes)) => (bytes.get(), Capacity::Bytes(bytes)),
        (Err(error), _) if error.problem == UnitProblem::Fraction => {
            return Err(unit_fault(key, node, &error));
        }
        (_, Err(mut error)) => {
            if let UnitProblem::UnknownUnit { known, .. } = &mut error.problem {
                known.push_str(", packets, or \"unlimited\"");
            }
            return Err(unit_fault(key, node, &error));
        }
    };
    in_range(key, node, value as f64)?;
    Ok(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::source::Sources;

    const START: Position = Position {
        source: 0,
        offset: 0,
    };

    /// The message of reading `[path]` of this text.
    fn message<T>(text: &str, read: impl Fn(&mut Reader<'_>) -> Checked<T>) -> String {
        let mut sources = Sources::default();
        sources.add("f".into(), text.into(), None);
        let table = parse(text, 0).expect("valid TOML");
        let result = Reader::open("path", "[path]", table.get("path"), START)
            .and_then(|mut reader| read(&mut reader));
        match result {
            Ok(_) => "ok".to_owned(),
            Err(fault) => fault.locate(&sources).to_string(),
        }
    }

    #[test]
    fn a_missing_unit_is_an_error() {
        let rtt = |r: &mut Reader<'_>| r.quantity::<Duration>("rtt");
        assert_eq!(
            message("[path]\nrtt = 10\n", rtt),
            "f:2:7: \"rtt\" = 10 has no unit; expected a time, for example \"10 ms\"; write the \
             unit behind the number, and quotes around both"
        );
        assert_eq!(
            message("[path]\nrtt = \"10\"\n", rtt),
            "f:2:8: \"rtt\" = \"10\" has no unit; expected a time, for example \"10 ms\""
        );
        assert_eq!(
            message("[path]\nrtt = \"10 msec\"\n", rtt),
            "f:2:8: \"rtt\" = \"10 msec\" has the unknown unit \"msec\"; known units: ns, us, ms, \
             s, min, h; did you mean \"ms\"?"
        );
        assert_eq!(message("[path]\nrtt = \"10 ms\"\n", rtt), "ok");
    }

    #[test]
    fn unknown_and_missing_keys_are_errors() {
        let rtt = |r: &mut Reader<'_>| r.quantity::<Duration>("rtt");
        assert_eq!(
            message("[path]\nrttt = \"10 ms\"\n", rtt),
            "f:2:1: unknown key \"rttt\" in [path]; known keys: rtt, rtt-too-short, rate, buffer, loss, jitter; \
             did you mean \"rtt\"?"
        );
        let missing = message("x = 1\n[path]\nrate = \"1 Gbit/s\"\n", rtt);
        assert!(missing.starts_with("f:2:"), "{missing}");
        assert!(missing.contains("[path] has no key \"rtt\""), "{missing}");
        assert!(message("path = 3\n", rtt).starts_with("f:1:8: [path] is an integer"));
    }

    #[test]
    fn ranges_and_types_are_named() {
        let rate = |r: &mut Reader<'_>| r.quantity::<BitRate>("rate");
        let negative = message("[path]\nrate = \"-1 Mbit/s\"\n", rate);
        assert_eq!(
            negative,
            "f:2:9: \"rate\" = \"-1 Mbit/s\" is negative; expected a data rate, for example \
             \"15 Mbit/s\""
        );
        let zero = message("[path]\nrate = \"0 Mbit/s\"\n", rate);
        assert!(
            zero.contains("is out of range; allowed is 1 bit/s to 10 Tbit/s"),
            "{zero}"
        );
        let loss = |r: &mut Reader<'_>| r.number("loss");
        assert!(message("[path]\nloss = 1.5\n", loss).contains("allowed is 0 to 1"));
        assert!(message("[path]\nloss = nan\n", loss).contains("without unit"));
        assert_eq!(message("[path]\nloss = 1\n", loss), "ok");
        let buffer = |r: &mut Reader<'_>| r.capacity("buffer");
        assert!(message("[path]\nbuffer = \"0 packets\"\n", buffer).contains("more than 0"));
        assert!(message("[path]\nbuffer = \"1.5 packets\"\n", buffer).contains("no whole number"));
        assert_eq!(message("[path]\nbuffer = \"unlimited\"\n", buffer), "ok");
        let pkts = message("[path]\nbuffer = \"5 pkts\"\n", buffer);
        assert!(
            pkts.contains("unknown unit \"pkts\"") && pkts.contains("packets"),
            "{pkts}"
        );
    }

    #[test]
    fn what_was_understood_is_kept_with_defaults() {
        let table = parse("[path]\nrtt = \"10 ms\"\n", 0).expect("valid");
        let mut reader =
            Reader::open("path", "[path]", table.get("path"), START).expect("known keys");
        reader.quantity::<Duration>("rtt").expect("given");
        reader.quantity::<BitRate>("rate").expect("defaulted");
        let resolved = reader.finish();
        assert_eq!(
            resolved.get("rtt"),
            Some(&ResolvedValue::Text("10 ms".into()))
        );
        assert_eq!(
            resolved.get("rate"),
            Some(&ResolvedValue::Text("10 Gbit/s".into()))
        );
    }
}
