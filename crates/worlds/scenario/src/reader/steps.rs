//! Rates that change, a list of pairs of a time and a rate; and rates to choose from, a list that rises.

use super::{Reader, quantity};
use crate::document::{Node, Value};
use crate::error::{Checked, fault};
use crate::keys::{Fallback, Key, Kind, Range};
use crate::resolved::ResolvedValue;
use units::{BitRate, Duration};

/// A rate, and from when on.
type Step = (Duration, BitRate);

impl Reader<'_> {
    /// From when on which rate, at most `max`; none if the key is not given.
    pub(crate) fn rate_steps(&mut self, name: &str, max: usize) -> Checked<Vec<Step>> {
        let Some(steps) = self.value(name, |key, node| steps(key, node, max))? else {
            return Ok(Vec::new());
        };
        let shown = steps.iter().map(|(at, rate)| {
            let texts = [at.to_string(), rate.to_string()];
            ResolvedValue::List(texts.map(ResolvedValue::Text).into())
        });
        self.put(name, ResolvedValue::List(shown.collect()));
        Ok(steps)
    }
}

impl Reader<'_> {
    /// Rates that rise, at least one and at most `max`.
    pub(crate) fn ladder(&mut self, name: &str, max: usize) -> Checked<Vec<BitRate>> {
        let rates = self.value(name, |key, node| ladder(key, node, max))?;
        let rates = self.must(name, rates)?;
        let shown = rates
            .iter()
            .map(|rate| ResolvedValue::Text(rate.to_string()));
        self.put(name, ResolvedValue::List(shown.collect()));
        Ok(rates)
    }
}

fn ladder(key: &'static Key, node: &Node, max: usize) -> Checked<Vec<BitRate>> {
    let Value::Array(items) = &node.value else {
        let what = format!("\"{}\" is {}", key.name, node.kind());
        return Err(fault(node.at, what)
            .allowed("expected rates that rise")
            .hint("for example [\"1 Mbit/s\", \"4 Mbit/s\"]"));
    };
    if items.is_empty() || items.len() > max {
        let what = format!("\"{}\" has {} rates", key.name, items.len());
        return Err(fault(node.at, what).allowed(format!("allowed are 1 to {max}")));
    }
    let mut rates: Vec<BitRate> = Vec::with_capacity(items.len());
    for item in items {
        let rate = quantity::<BitRate>(&RUNG, item)?;
        if let Some(before) = rates.last()
            && rate <= *before
        {
            let what = format!("{rate} in \"{}\" follows {before}", key.name);
            return Err(fault(item.at, what).allowed("rates rise"));
        }
        rates.push(rate);
    }
    Ok(rates)
}

/// A rate of a ladder.
static RUNG: Key = Key {
    name: "rate of the ladder",
    kind: Kind::BitRate,
    fallback: Fallback::Required,
    range: Range::Within(1.0, crate::keys::FASTEST),
    meaning: "A bitrate.",
};

fn steps(key: &'static Key, node: &Node, max: usize) -> Checked<Vec<Step>> {
    let Value::Array(items) = &node.value else {
        let what = format!("\"{}\" is {}", key.name, node.kind());
        return Err(fault(node.at, what)
            .allowed("expected pairs of a time and a rate")
            .hint("for example [[\"5 s\", \"10 Mbit/s\"], [\"10 s\", \"20 Mbit/s\"]]"));
    };
    if items.len() > max {
        let what = format!("\"{}\" has {} steps", key.name, items.len());
        return Err(fault(node.at, what).allowed(format!("allowed are at most {max}")));
    }
    let mut steps: Vec<Step> = Vec::with_capacity(items.len());
    for item in items {
        let step = step(key, item)?;
        if let Some((before, _)) = steps.last()
            && step.0 <= *before
        {
            let what = format!(
                "the step at {} in \"{}\" follows one at {before}",
                step.0, key.name
            );
            return Err(fault(item.at, what).allowed("times rise"));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(key: &'static Key, node: &Node) -> Checked<Step> {
    match &node.value {
        Value::Array(pair) if pair.len() == 2 => {
            Ok((quantity(&AT, &pair[0])?, quantity(&RATE, &pair[1])?))
        }
        _ => Err(
            fault(node.at, format!("a step of \"{}\" is no pair", key.name))
                .allowed("expected a time and a rate, for example [\"5 s\", \"10 Mbit/s\"]"),
        ),
    }
}

/// The first of a pair.
static AT: Key = Key {
    name: "time of a step",
    kind: Kind::Duration,
    fallback: Fallback::Required,
    range: Range::Within(0.0, crate::keys::MAX_TIME),
    meaning: "From when on.",
};
/// The second.
static RATE: Key = Key {
    name: "rate of a step",
    kind: Kind::BitRate,
    fallback: Fallback::Required,
    range: Range::Within(1.0, crate::keys::FASTEST),
    meaning: "The rate.",
};
