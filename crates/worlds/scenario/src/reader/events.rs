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
    /// What happens when, of these words, each a `noun`, at most `max`; none if the key is not given.
    pub(crate) fn events<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
        (noun, max): (&'static str, usize),
    ) -> Checked<Vec<Event<T>>> {
        let known = Known { words, noun };
        let read = |key: &'static Key, node: &Node| events(key, node, &known, max);
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

/// The words that may stand in a list of events.
struct Known<'a, T> {
    words: &'a [(&'a str, T)],
    /// What each of them is.
    noun: &'static str,
}

impl<'a, T> Known<'a, T> {
    fn names(&self) -> impl Iterator<Item = &'a str> + use<'a, T> {
        self.words.iter().map(|(word, _)| *word)
    }

    fn example(&self) -> &str {
        self.words.first().map_or("", |(word, _)| word)
    }
}

/// With the place of each word among all.
fn events<T>(
    key: &'static Key,
    node: &Node,
    known: &Known<'_, T>,
    max: usize,
) -> Checked<Vec<Event<usize>>> {
    let Value::Array(items) = &node.value else {
        let what = format!("\"{}\" is {}", key.name, node.kind());
        let example = known.example();
        return Err(fault(node.at, what)
            .allowed(format!(
                "expected pairs of a time and {}",
                article(known.noun)
            ))
            .hint(format!("for example [[\"5 s\", \"{example}\"]]")));
    };
    if items.len() > max {
        let what = format!("\"{}\" has {} events", key.name, items.len());
        return Err(fault(node.at, what).allowed(format!("allowed are at most {max}")));
    }
    let mut events: Vec<Event<usize>> = Vec::with_capacity(items.len());
    for item in items {
        let event = event(key, item, known)?;
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

fn event<T>(key: &'static Key, node: &Node, known: &Known<'_, T>) -> Checked<Event<usize>> {
    let not_a_pair = || {
        let (noun, example) = (article(known.noun), known.example());
        fault(node.at, format!("an event of \"{}\" is no pair", key.name)).allowed(format!(
            "expected a time and {noun}, for example [\"5 s\", \"{example}\"]"
        ))
    };
    let Value::Array(pair) = &node.value else {
        return Err(not_a_pair());
    };
    let [at, word] = &pair[..] else {
        return Err(not_a_pair());
    };
    let names = || known.names();
    let Value::String(given) = &word.value else {
        let what = format!("an event of \"{}\" is {}", key.name, word.kind());
        return Err(fault(word.at, what).allowed(format!("expected {}", either(names()))));
    };
    match names().position(|name| name == given) {
        Some(place) => Ok((quantity(&AT, at)?, place)),
        None => Err(fault(
            word.at,
            format!("there is no {} \"{given}\" of \"{}\"", known.noun, key.name),
        )
        .allowed(format!("expected {}", either(names())))
        .nearest(given, names())),
    }
}

fn article(noun: &str) -> String {
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {noun}"),
        false => format!("a {noun}"),
    }
}

/// The first of a pair.
static AT: Key = Key {
    name: "time of an event",
    kind: Kind::Duration,
    fallback: Fallback::Required,
    range: Range::Within(0.0, crate::keys::MAX_TIME),
    meaning: "When.",
};
