//! Lengths, speeds and powers, and places on the ground, which are pairs of lengths.

use super::{Quantity, Reader, in_range, quantity, unit_fault_of, wrong_type};
use crate::document::{Node, Value};
use crate::error::{Checked, Fault, fault};
use crate::keys::{Fallback, Key, Kind, Range};
use crate::resolved::ResolvedValue;
use core::fmt::{self, Display};
use core::str::FromStr;
use radio::moving::{Dbm, MAX_SPEED, Metres, Position, Speed, Waypoint};
use units::{Duration, ParseUnitError};

impl Quantity for Dbm {
    fn base(self) -> f64 {
        self.get()
    }
}
impl Quantity for Speed {
    fn base(self) -> f64 {
        self.get()
    }
}

/// A length that prints without rounding.
#[derive(Clone, Copy)]
pub(crate) struct Length(pub(crate) Metres);

impl FromStr for Length {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        text.parse().map(Self)
    }
}
impl Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.0.get())
    }
}
impl Quantity for Length {
    fn base(self) -> f64 {
        self.0.get()
    }
}

impl Reader<'_> {
    /// A length.
    pub(crate) fn length(&mut self, name: &str) -> Checked<Metres> {
        Ok(self.quantity::<Length>(name)?.0)
    }

    /// A length, if given or defaulted.
    pub(crate) fn optional_length(&mut self, name: &str) -> Checked<Option<Metres>> {
        Ok(self.optional::<Length>(name)?.map(|length| length.0))
    }

    /// A place on the ground, if given or defaulted.
    pub(crate) fn optional_position(&mut self, name: &str) -> Checked<Option<Position>> {
        let value = self.value(name, position)?;
        if let Some(place) = value {
            self.put(name, shown(place));
        }
        Ok(value)
    }

    /// A place on the ground.
    pub(crate) fn position(&mut self, name: &str) -> Checked<Position> {
        let value = self.optional_position(name)?;
        self.must(name, value)
    }

    /// Two opposite corners of a rectangle, if given or defaulted.
    pub(crate) fn optional_corners(&mut self, name: &str) -> Checked<Option<(Position, Position)>> {
        let value = self.value(name, corners)?;
        if let Some((a, b)) = value {
            self.put(name, ResolvedValue::List(vec![shown(a), shown(b)]));
        }
        Ok(value)
    }

    /// Two opposite corners of a rectangle.
    pub(crate) fn corners(&mut self, name: &str) -> Checked<(Position, Position)> {
        let value = self.optional_corners(name)?;
        self.must(name, value)
    }

    /// Places, each with the rest there and the speed on the way there, at most `max`.
    pub(crate) fn stops(&mut self, name: &str, max: usize) -> Checked<Vec<Waypoint>> {
        let value = self.value(name, |key, node| stops(key, node, max))?;
        let stops = self.must(name, value)?;
        let shown = stops.iter().map(|stop| {
            let mut parts = lengths(stop.place).to_vec();
            if !stop.rest.is_zero() || stop.speed.is_some() {
                parts.push(ResolvedValue::Text(stop.rest.to_string()));
            }
            parts.extend(
                stop.speed
                    .map(|speed| ResolvedValue::Text(speed.to_string())),
            );
            ResolvedValue::List(parts)
        });
        self.put(name, ResolvedValue::List(shown.collect()));
        Ok(stops)
    }
}

/// As it would stand in the file.
fn shown(place: Position) -> ResolvedValue {
    ResolvedValue::List(lengths(place).into())
}

fn lengths(place: Position) -> [ResolvedValue; 2] {
    let lengths = [place.x(), place.y()];
    lengths.map(|length| ResolvedValue::Text(Length(length).to_string()))
}

fn position(key: &'static Key, node: &Node) -> Checked<Position> {
    match elements(node) {
        Some([x, y]) => place_of(key, x, y),
        _ => Err(not_a_place(key, node)),
    }
}

/// The elements of an array.
fn elements(node: &Node) -> Option<&[Node]> {
    match &node.value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn not_a_place(key: &'static Key, node: &Node) -> Box<Fault> {
    let what = match elements(node) {
        Some(items) => format!("a place in \"{}\" has {}", key.name, counted(items.len())),
        None => format!("\"{}\" is {}", key.name, node.kind()),
    };
    fault(node.at, what).allowed("expected two lengths, for example [\"10 m\", \"-5 m\"]")
}

/// So many elements.
fn counted(count: usize) -> String {
    match count {
        1 => "1 element".to_owned(),
        count => format!("{count} elements"),
    }
}

fn place_of(key: &'static Key, x: &Node, y: &Node) -> Checked<Position> {
    Ok(Position::new(coordinate(key, x)?, coordinate(key, y)?))
}

/// One of the two lengths.
fn coordinate(key: &'static Key, node: &Node) -> Checked<Metres> {
    let expected = "expected a length, for example \"10 m\"";
    match &node.value {
        Value::String(text) => {
            let Length(value) = text
                .parse()
                .map_err(|e| unit_fault_of(Kind::Length, key, node, &e))?;
            in_range(key, node, value.get())?;
            Ok(value)
        }
        Value::Integer(_) | Value::Float(_) => {
            let what = format!("{} in \"{}\" has no unit", node.text(), key.name);
            Err(fault(node.at, what)
                .allowed(expected)
                .hint("write the unit behind the number, and quotes around both"))
        }
        _ => {
            let what = format!("an element of \"{}\" is {}", key.name, node.kind());
            Err(fault(node.at, what).allowed(expected))
        }
    }
}

fn corners(key: &'static Key, node: &Node) -> Checked<(Position, Position)> {
    match elements(node) {
        Some([a, b]) => Ok((position(key, a)?, position(key, b)?)),
        Some(items) => {
            let what = format!("\"{}\" has {}", key.name, counted(items.len()));
            Err(fault(node.at, what)
                .allowed("expected two opposite corners")
                .hint("for example [[\"0 m\", \"0 m\"], [\"80 m\", \"50 m\"]]"))
        }
        None => Err(wrong_type(key, node)),
    }
}

fn stops(key: &'static Key, node: &Node, max: usize) -> Checked<Vec<Waypoint>> {
    let items = elements(node).ok_or_else(|| wrong_type(key, node))?;
    if items.is_empty() {
        return Err(fault(node.at, format!("\"{}\" is empty", key.name))
            .allowed("expected at least one place")
            .hint("for example [[\"0 m\", \"5 m\"], [\"40 m\", \"5 m\"]]"));
    }
    if items.len() > max {
        let what = format!("\"{}\" has {} places", key.name, items.len());
        return Err(fault(node.at, what).allowed(format!("allowed are at most {max}")));
    }
    items.iter().map(|item| stop(key, item)).collect()
}

fn stop(key: &'static Key, node: &Node) -> Checked<Waypoint> {
    let (place, rest, speed) = match elements(node) {
        Some([x, y, rest]) => (place_of(key, x, y)?, Some(rest), None),
        Some([x, y, rest, speed]) => (place_of(key, x, y)?, Some(rest), Some(speed)),
        _ => (position(key, node)?, None, None),
    };
    let rest = rest.map(|rest| quantity(&REST, rest)).transpose()?;
    Ok(Waypoint {
        place,
        rest: rest.unwrap_or(Duration::ZERO),
        speed: speed.map(|speed| quantity(&PACE, speed)).transpose()?,
    })
}

/// The third element of a waypoint.
static REST: Key = Key {
    name: "rest",
    kind: Kind::Duration,
    fallback: Fallback::Required,
    range: Range::Within(0.0, 3_600_000.0),
    meaning: "How long the user rests there.",
};
/// The fourth.
static PACE: Key = Key {
    name: "speed",
    kind: Kind::Speed,
    fallback: Fallback::Required,
    range: Range::Within(0.001, MAX_SPEED.get()),
    meaning: "How fast the user goes there.",
};
