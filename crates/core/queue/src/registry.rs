//! Every queue discipline and every limiter by name, each described once, in its own file: what it is called,
//! where it can be used, its parameters, and what is made of their values.
//!
//! What selects algorithms by name (scenario files, their reference, messages) reads them from here.

use crate::{BackpressureConfig, DisciplineConfig, Unit};
use crate::{
    backpressure, codel, codel_emulator, droptail, dualpi2, fq_codel, l4span, late_binding, red,
    sfq,
};
use units::{Bytes, Duration};

/// An algorithm of a queue.
#[derive(Debug)]
pub struct Algorithm {
    /// As files name it.
    pub name: &'static str,
    /// As figures name it.
    pub title: &'static str,
    /// Where it can be used.
    pub places: &'static [Place],
    /// Acts on packets that wait: where nothing waits it does nothing.
    pub is_aqm: bool,
    /// Holds the layer above back, so that packets wait there.
    pub is_backpressure: bool,
    /// In the order of the documentation. Two algorithms that share one have the same.
    pub parameters: &'static [&'static Parameter],
    /// What it is with these values.
    pub(crate) make: fn(&Values) -> Made,
}

/// Where a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before a transmitter of a wired link.
    Link,
    /// In the UPF.
    Upf,
    /// In the SDAP sublayer.
    Sdap,
    /// In the RLC sublayer.
    Rlc,
}

/// Every place: of disciplines that need nothing of the radio.
pub(crate) const ANYWHERE: &[Place] = &[Place::Link, Place::Upf, Place::Sdap, Place::Rlc];

/// A parameter of an algorithm.
#[derive(Debug)]
pub struct Parameter {
    /// As files name it.
    pub name: &'static str,
    /// What its value is.
    pub quantity: Quantity,
    /// Its value where none is given, as it would stand in a file.
    pub default: &'static str,
    /// Least and greatest value: seconds, bytes or the number.
    pub range: (f64, f64),
    /// What it means.
    pub meaning: &'static str,
}

impl Parameter {
    pub(crate) const fn new(
        name: &'static str,
        quantity: Quantity,
        default: &'static str,
        range: (f64, f64),
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            quantity,
            default,
            range,
            meaning,
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time.
    Duration,
    /// A number of bytes.
    Bytes,
    /// A number.
    Number,
    /// A whole number.
    Count,
    /// True or false.
    Flag,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of [`Quantity::Duration`].
    Duration(Duration),
    /// Of [`Quantity::Bytes`].
    Bytes(Bytes),
    /// Of [`Quantity::Number`].
    Number(f64),
    /// Of [`Quantity::Count`].
    Count(u32),
    /// Of [`Quantity::Flag`].
    Flag(bool),
}

/// What all queues of a base station, or a link's, have in common.
#[derive(Clone, Debug)]
pub struct Shared {
    /// What limits count.
    pub unit: Unit,
    /// Bytes of a full packet.
    pub mtu: Bytes,
    /// Packets that allow it are marked instead of dropped.
    pub ecn: bool,
    /// QoS flow identifiers in descending priority.
    pub classes: Vec<Vec<u8>>,
    /// From the last moment at which a packet may come to be sent in a slot, to that slot.
    pub preparation: Duration,
    /// For how long the largest slot is kept.
    pub memory: Duration,
    /// What a flow may keep waiting in the UPF, as time at the rate of the largest slot.
    pub allowance: Duration,
}

impl Default for Shared {
    /// Of a link: bytes, frames of 1514, with ECN; no classes, and late binding's own times.
    fn default() -> Self {
        let late = crate::LateBindingConfig::default();
        Self {
            unit: Unit::Bytes,
            mtu: codel::FRAME,
            ecn: true,
            classes: late.classes,
            preparation: late.preparation,
            memory: late.memory,
            allowance: crate::PacedConfig::default().allowance,
        }
    }
}

/// The values that an algorithm is made with.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// Where the queue is.
    pub place: Place,
    /// What it has in common with others.
    pub shared: &'a Shared,
    given: Vec<(&'static str, Value)>,
}

impl<'a> Values<'a> {
    /// None yet.
    pub fn new(place: Place, shared: &'a Shared) -> Self {
        Self {
            place,
            shared,
            given: Vec::new(),
        }
    }

    /// Sets a parameter's value, which is of its quantity and within its range.
    pub fn set(&mut self, parameter: &'static Parameter, value: Value) {
        self.given.push((parameter.name, value));
    }

    fn find(&self, parameter: &Parameter) -> Value {
        let found = self.given.iter().find(|(name, _)| *name == parameter.name);
        found.expect("a value of each parameter").1
    }

    pub(crate) fn duration(&self, parameter: &Parameter) -> Duration {
        match self.find(parameter) {
            Value::Duration(value) => value,
            other => unreachable!("{} is {other:?}", parameter.name),
        }
    }

    pub(crate) fn bytes(&self, parameter: &Parameter) -> Bytes {
        match self.find(parameter) {
            Value::Bytes(value) => value,
            other => unreachable!("{} is {other:?}", parameter.name),
        }
    }

    pub(crate) fn ratio(&self, parameter: &Parameter) -> crate::Ratio {
        match self.find(parameter) {
            Value::Number(value) => crate::Ratio::from_f64(value),
            other => unreachable!("{} is {other:?}", parameter.name),
        }
    }

    pub(crate) fn count(&self, parameter: &Parameter) -> u32 {
        match self.find(parameter) {
            Value::Count(value) => value,
            other => unreachable!("{} is {other:?}", parameter.name),
        }
    }

    pub(crate) fn flag(&self, parameter: &Parameter) -> bool {
        match self.find(parameter) {
            Value::Flag(value) => value,
            other => unreachable!("{} is {other:?}", parameter.name),
        }
    }
}

/// What an algorithm is of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// Which packet goes next, which one is dropped or marked.
    Discipline(DisciplineConfig),
    /// How much the layer above may hand down; the queue is first in, first out.
    Backpressure(BackpressureConfig),
}

impl Algorithm {
    /// What it is with these values, one for each parameter.
    pub fn make(&self, values: &Values<'_>) -> Made {
        (self.make)(values)
    }

    /// It can be used there.
    pub fn is_for(&self, place: Place) -> bool {
        self.places.contains(&place)
    }
}

/// All of them, in the order of the documentation.
pub const ALGORITHMS: &[&Algorithm] = &[
    &droptail::ALGORITHM,
    &sfq::ALGORITHM,
    &codel::ALGORITHM,
    &codel_emulator::ALGORITHM,
    &fq_codel::ALGORITHM,
    &red::ALGORITHM,
    &dualpi2::ALGORITHM,
    &l4span::ALGORITHM,
    &backpressure::dynrlc::ALGORITHM,
    &backpressure::drql::ALGORITHM,
    &backpressure::five_g_bdp::ALGORITHM,
    &backpressure::usp::ALGORITHM,
    &backpressure::usp::EMULATOR,
    &late_binding::ALGORITHM,
];

/// The algorithm of this name.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().copied().find(|of| of.name == name)
}

/// Those that can be used in a place.
pub fn of(place: Place) -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS.iter().copied().filter(move |a| a.is_for(place))
}

/// The parameters of those, each once.
pub fn parameters(place: Place) -> Vec<&'static Parameter> {
    let mut all: Vec<&'static Parameter> = Vec::new();
    for parameter in of(place).flat_map(|a| a.parameters) {
        if all.iter().all(|known| known.name != parameter.name) {
            all.push(parameter);
        }
    }
    all
}
