//! Events at times: a list of pairs of a time and a word.

use super::{Reader, quantity};
use crate::document::{Node, Value};
use crate::error::{Checked, either, fault};
use crate::keys::{Fallback, Key, Kind, Range};
use crate::resolved::ResolvedValue;
use units::Duration;

/// When, and what.
type Event<T> = (Duration, T);

impl Reader<'_> {
    /// What happens when, of these words, at most `max`; none if the key is not given.
    pub(crate) fn events<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&'static str, T)],
        max: usize,
    ) -> Checked<Vec<Event<T>>> {
        let read = |key: &'static Key, node: &Node| events(key, node, words, max);
        let Some(events) = self.value(name, read)? else {
            return Ok(Vec::new());
        };
        let shown = events.iter().map(|&(at, word)| {
            let texts = [at.to_string(), words[word].0.to_owned()];
            ResolvedValue::List(texts.map(ResolvedValue::Text).into())
        });
        self.put(name, ResolvedValue::List(shown.collect()));
        let all = events.into_iter();
        Ok(all.map(|(at, word)| (at, words[word].1)).collect())
    }
}

/// With the place of each word among all.
fn events<T>(
    key: &'static Key,
    node: &Node,
    words: &[(&'static str, T)],
    max: usize,
) -> Checked<Vec<Event<usize>>> {
    let Value::Array(items) = &node.value else {
        let what = format!("\"{}\" is {}", key.name, node.kind());
        let example = words.first().map_or("", |(word, _)| word);
        return Err(fault(node.at, what)
            .allowed("expected pairs of a time and an event")
            .hint(format!("for example [[\"5 s\", \"{example}\"]]")));
    };
    if items.len() > max {
        let what = format!("\"{}\" has {} events", key.name, items.len());
        return Err(fault(node.at, what).allowed(format!("allowed are at most {max}")));
    }
    let mut events: Vec<Event<usize>> = Vec::with_capacity(items.len());
    for item in items {
        let event = event(key, item, words)?;
        if let Some((before, _)) = events.last()
            && event.0 <= *before
        {
            let what = format!(
                "the event at {} in \"{}\" follows one at {before}",
                event.0, key.name
            );
            return Err(fault(item.at, what).allowed("times rise"));
        }
        events.push(event);
    }
    Ok(events)
}

fn event<T>(key: &'static Key, node: &Node, words: &[(&'static str, T)]) -> Checked<Event<usize>> {
    let names = || words.iter().map(|(word, _)| *word);
    let Value::Array(pair) = &node.value else {
        return Err(not_a_pair(key, node));
    };
    let [at, word] = &pair[..] else {
        return Err(not_a_pair(key, node));
    };
    let Value::String(given) = &word.value else {
        let what = format!("an event of \"{}\" is {}", key.name, word.kind());
        return Err(fault(word.at, what).allowed(format!("expected {}", either(names()))));
    };
    match names().position(|known| known == given) {
        Some(place) => Ok((quantity(&AT, at)?, place)),
        None => Err(fault(
            word.at,
            format!("there is no event \"{given}\" of \"{}\"", key.name),
        )
        .allowed(format!("expected {}", either(names())))
        .nearest(given, names())),
    }
}

fn not_a_pair(key: &Key, node: &Node) -> Box<crate::error::Fault> {
    fault(node.at, format!("an event of \"{}\" is no pair", key.name))
        .allowed("expected a time and an event, for example [\"5 s\", \"link-down\"]")
}

/// The first of a pair.
static AT: Key = Key {
    name: "time of an event",
    kind: Kind::Duration,
    fallback: Fallback::Required,
    range: Range::Within(0.0, crate::keys::MAX_TIME),
    meaning: "When.",
};
