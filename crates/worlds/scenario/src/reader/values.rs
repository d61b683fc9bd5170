//! Reads one value by its key: its type, its unit, its range.

use super::Quantity;
use crate::document::{Node, Value};
use crate::error::{Checked, Fault, either, fault};
use crate::keys::{Key, Kind, Range};
use queue::Capacity;
use units::{Bytes, Duration, Packets, ParseUnitError, UnitProblem};

/// What a quantity is, in words, and an example.
fn described(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Duration => ("a time", "10 ms"),
        Kind::DurationOr(_) => ("a time", "10 ms"),
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
pub(super) fn wrong_type(key: &Key, node: &Node) -> Box<Fault> {
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
    let expected = match key.kind {
        Kind::DurationOr(word) => format!("expected {what}, for example {example}, or \"{word}\""),
        _ => format!("expected {what}, for example {example}"),
    };
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
pub(super) fn in_range(key: &Key, node: &Node, value: f64) -> Checked<()> {
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

pub(super) fn quantity<Q: Quantity>(key: &'static Key, node: &Node) -> Checked<Q> {
    let Value::String(text) = &node.value else {
        return Err(wrong_type(key, node));
    };
    let value: Q = text.parse().map_err(|e| unit_fault(key, node, &e))?;
    in_range(key, node, value.base())?;
    Ok(value)
}

/// A time, or none for the word that the key may have instead.
pub(super) fn duration_or(key: &'static Key, node: &Node) -> Checked<Option<Duration>> {
    match (&node.value, key.kind) {
        (Value::String(text), Kind::DurationOr(word)) if text == word => Ok(None),
        _ => quantity(key, node).map(Some),
    }
}

/// That a quantity's text is wrong.
pub(super) fn unit_fault(key: &Key, node: &Node, error: &ParseUnitError) -> Box<Fault> {
    unit_fault_of(key.kind, key, node, error)
}

/// The same where the key holds several quantities of this kind.
pub(super) fn unit_fault_of(
    kind: Kind,
    key: &Key,
    node: &Node,
    error: &ParseUnitError,
) -> Box<Fault> {
    let (what, example) = described(kind);
    let given = format!("\"{}\" = \"{}\"", key.name, error.text);
    let expected = match kind {
        Kind::DurationOr(word) => {
            format!("expected {what}, for example \"{example}\", or \"{word}\"")
        }
        _ => format!("expected {what}, for example \"{example}\""),
    };
    match &error.problem {
        UnitProblem::UnknownUnit { unit, known } => {
            fault(node.at, format!("{given} has the unknown unit \"{unit}\""))
                .allowed(format!("known units: {known}"))
                .nearest(unit, known.split(", "))
        }
        problem => fault(node.at, format!("{given} {problem}")).allowed(expected),
    }
}

pub(super) fn text(key: &'static Key, node: &Node) -> Checked<String> {
    match &node.value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(wrong_type(key, node)),
    }
}

pub(super) fn choice(key: &'static Key, node: &Node) -> Checked<&'static str> {
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

pub(super) fn flag(key: &'static Key, node: &Node) -> Checked<bool> {
    match node.value {
        Value::Boolean(b) => Ok(b),
        _ => Err(wrong_type(key, node)),
    }
}

pub(super) fn count(key: &'static Key, node: &Node) -> Checked<u64> {
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

pub(super) fn number(key: &'static Key, node: &Node) -> Checked<f64> {
    let value = match node.value {
        Value::Integer(i) => i as f64,
        Value::Float(x) if !x.is_nan() => x,
        _ => return Err(wrong_type(key, node)),
    };
    in_range(key, node, value)?;
    Ok(value)
}

pub(super) fn capacity(key: &'static Key, node: &Node) -> Checked<Capacity> {
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
