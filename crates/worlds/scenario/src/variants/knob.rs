//! Knobs: names that a scenario gives to keys, with a default and the values that are allowed.

use super::{Path, assign, checked_path};
use crate::document::{Node, Table, Value};
use crate::error::{Checked, either, fault};
use crate::load::Document;
use crate::reader::Reader;

/// A knob of a scenario, as a user may turn it by `--set <name>=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobInfo {
    /// Its name.
    pub name: String,
    /// Its value while it is not turned; none if the file itself states it.
    pub default: Option<String>,
    /// The only values allowed; empty: any.
    pub one_of: Vec<String>,
    /// The dotted keys that it sets.
    pub sets: Vec<String>,
    /// What it does.
    pub description: String,
}

/// A knob.
pub(super) struct Knob {
    pub(super) name: String,
    pub(super) targets: Vec<Path>,
    one_of: Vec<Node>,
    /// What each of `one_of` stands for; empty: for itself.
    values: Vec<Node>,
    default: Option<Node>,
    description: String,
}

/// Takes `[knobs]` out, and puts the defaults where they belong.
pub(super) fn take_knobs(root: &mut Table, document: &Document) -> Checked<Vec<Knob>> {
    let Some(section) = root.remove("knobs") else {
        return Ok(Vec::new());
    };
    let Value::Table(table) = section.node.value else {
        return Err(fault(
            section.node.at,
            format!("[knobs] is {}", section.node.kind()),
        ));
    };
    let mut knobs: Vec<Knob> = Vec::new();
    for entry in &table.entries {
        let mut knob = read_knob(&entry.key, &entry.node, root)?;
        let twice = knobs
            .iter()
            .find(|k| k.targets.iter().any(|t| knob.targets.contains(t)));
        if let Some(other) = twice {
            return Err(fault(
                entry.at,
                format!(
                    "knobs \"{}\" and \"{}\" set the same key",
                    other.name, knob.name
                ),
            )
            .hint("let one knob set it"));
        }
        put_default(root, &mut knob, document)?;
        knobs.push(knob);
    }
    Ok(knobs)
}

fn read_knob(name: &str, node: &Node, root: &Table) -> Checked<Knob> {
    let title = format!("[knobs.{name}]");
    let mut reader = Reader::open("knobs.<name>", title.as_str(), Some(node), node.at)?;
    let list = |key: &str| match reader.given(key).map(|n| (n, &n.value)) {
        None => Ok(None),
        Some((_, Value::Array(items))) => Ok(Some(items.clone())),
        Some((n, _)) => Err(fault(n.at, format!("\"{key}\" of {title} is {}", n.kind()))
            .allowed("expected a list, for example [\"path.rtt\"]")),
    };
    let Some(sets) = list("sets")?.filter(|s| !s.is_empty()) else {
        return Err(fault(node.at, format!("{title} sets nothing"))
            .hint("give it sets = [\"path.rtt\"] with the keys that it sets"));
    };
    let mut targets = Vec::new();
    for item in sets {
        let Value::String(text) = &item.value else {
            return Err(fault(
                item.at,
                format!("an element of \"sets\" is {}", item.kind()),
            )
            .allowed("expected a dotted key in quotes, for example \"path.rtt\""));
        };
        targets.push(checked_path(text, item.at, root, &[])?);
    }
    let one_of = list("one-of")?.unwrap_or_default();
    let values = list("values")?.unwrap_or_default();
    if !values.is_empty() && values.len() != one_of.len() {
        return Err(fault(
            reader.place("values"),
            format!("\"values\" of {title} has {} elements", values.len()),
        )
        .allowed(format!(
            "as many as \"one-of\" has, {}: what each of these stands for",
            one_of.len()
        )));
    }
    let default = reader.given("default").cloned();
    let description = reader.text("description")?;
    Ok(Knob {
        name: name.to_owned(),
        targets,
        one_of,
        values,
        default,
        description,
    })
}

/// The knobs of a document.
pub(crate) fn knobs(document: &mut Document) -> Checked<Vec<KnobInfo>> {
    let mut root = core::mem::take(&mut document.root);
    let knobs = take_knobs(&mut root, document)?;
    let info = |knob: Knob| KnobInfo {
        name: knob.name,
        default: knob.default.map(|node| node.text()),
        one_of: knob.one_of.iter().map(Node::text).collect(),
        sets: knob.targets.iter().map(|path| path.join(".")).collect(),
        description: knob.description,
    };
    Ok(knobs.into_iter().map(info).collect())
}

/// Puts the knob's default where nothing stands. A value of a file that extends the default's file stands above it:
/// of a knob with one target it is the default from then on.
fn put_default(root: &mut Table, knob: &mut Knob, document: &Document) -> Checked<()> {
    let Some(default) = knob.default.clone() else {
        return Ok(());
    };
    knob.check(&default)?;
    let (mut free, mut above) = (Vec::new(), None);
    for target in &knob.targets {
        let path: Vec<&str> = target.iter().map(String::as_str).collect();
        let Some(entry) = root.at_path(&path) else {
            free.push(target.clone());
            continue;
        };
        let (at, value) = (entry.node.at.source, &entry.node);
        if value.table().is_some() || !document.sources.extends(at, default.at.source) {
            return Err(fault(
                entry.at,
                format!(
                    "\"{}\" is set here and by the default of knob \"{}\" ({})",
                    target.join("."),
                    knob.name,
                    document.sources.describe(default.at)
                ),
            )
            .hint("remove this line, or change the knob's default"));
        }
        above = Some(value.clone());
    }
    let value = knob.meaning(&default).clone();
    assign(root, &free, value.at, &value)?;
    if let ([_], Some(value)) = (knob.targets.as_slice(), above) {
        knob.default = Some(knob.word(&value).unwrap_or(&value).clone());
    }
    Ok(())
}

impl Knob {
    /// What a value stands for.
    pub(super) fn meaning<'a>(&'a self, value: &'a Node) -> &'a Node {
        let position = self.one_of.iter().position(|word| word.same(value));
        position.and_then(|at| self.values.get(at)).unwrap_or(value)
    }

    /// The word that stands for a value.
    fn word(&self, value: &Node) -> Option<&Node> {
        let position = self.values.iter().position(|meaning| meaning.same(value));
        position.and_then(|at| self.one_of.get(at))
    }

    /// That a value is one of those allowed.
    pub(super) fn check(&self, value: &Node) -> Checked<()> {
        if self.one_of.is_empty() || self.one_of.iter().any(|allowed| allowed.same(value)) {
            return Ok(());
        }
        let words: Vec<String> = self.one_of.iter().map(Node::text).collect();
        let given = value.text();
        Err(fault(
            value.at,
            format!("knob \"{}\" has no position \"{given}\"", self.name),
        )
        .allowed(format!(
            "expected {}",
            either(words.iter().map(String::as_str))
        ))
        .nearest(&given, words.iter().map(String::as_str)))
    }
}
