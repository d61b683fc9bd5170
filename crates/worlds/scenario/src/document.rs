//! A document: TOML with the place of every key and value, in the file's order.

use crate::error::{Checked, fault};
use crate::source::Position;
use toml_span::value::{Table as TomlTable, Value as TomlValue, ValueInner};
use toml_span::{Error as TomlError, ErrorKind};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Array(Vec<Node>),
    Table(Table),
}

/// A table, in the file's order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) node: Node,
}

impl Node {
    /// What kind of value this is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "a truth value",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
    /// The table, if it is one.
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
    /// A short form for messages and axis values.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::String(s) => s.clone(),
            Value::Integer(i) => i.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(Self::text).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries: Vec<String> = table
                    .entries
                    .iter()
                    .map(|e| format!("{} = {}", e.key, e.node.text()))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
    /// True if both have the same value, whatever their places.
    pub(crate) fn same(&self, other: &Self) -> bool {
        core::mem::discriminant(&self.value) == core::mem::discriminant(&other.value)
            && self.text() == other.text()
    }
}

impl Table {
    /// The entry of a key.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }
    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let i = self.entries.iter().position(|e| e.key == key)?;
        Some(self.entries.remove(i))
    }
    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.key.as_str())
    }

    /// Lays `over` upon this table: tables are merged key by key, everything else is replaced. A
    /// table whose `kind` changes is replaced whole, for its other keys belong to that kind.
    pub(crate) fn merge(&mut self, over: Self) {
        for entry in over.entries {
            let Some(mine) = self.entries.iter_mut().find(|e| e.key == entry.key) else {
                self.entries.push(entry);
                continue;
            };
            mine.at = entry.at;
            match (&mut mine.node.value, entry.node.value) {
                (Value::Table(below), Value::Table(above)) if below.mergeable_with(&above) => {
                    mine.node.at = entry.node.at;
                    below.merge(above);
                }
                (_, value) => {
                    mine.node = Node {
                        at: entry.node.at,
                        value,
                    }
                }
            }
        }
    }

    fn mergeable_with(&self, above: &Self) -> bool {
        match (self.get("kind"), above.get("kind")) {
            (Some(a), Some(b)) => a.same(b),
            _ => true,
        }
    }

    /// The value at a dotted path; a number selects an element of an array.
    pub(crate) fn at_path(&self, path: &[&str]) -> Option<&Entry> {
        let (first, rest) = path.split_first()?;
        let entry = self.entry(first)?;
        if rest.is_empty() {
            Some(entry)
        } else {
            below(&entry.node, rest)
        }
    }

    /// Sets the value at a dotted path, and makes the tables on the way that do not exist.
    ///
    /// `at` is the place of the path itself, for messages.
    pub(crate) fn set_path(&mut self, path: &[&str], at: Position, node: Node) -> Checked<()> {
        let Some((first, rest)) = path.split_first() else {
            return Err(fault(at, "an empty path"));
        };
        let index = match self.entries.iter().position(|e| e.key == *first) {
            Some(index) => index,
            None => {
                let value = Value::Table(Self::default());
                let entry = Entry {
                    key: (*first).to_owned(),
                    at,
                    node: Node { at, value },
                };
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[index];
        if rest.is_empty() {
            *entry = Entry {
                key: (*first).to_owned(),
                at,
                node,
            };
            return Ok(());
        }
        set_below(&mut entry.node, first, rest, at, node)
    }
}

/// The entry of a path inside a node; arrays hold tables only where this is used.
fn below<'a>(node: &'a Node, path: &[&str]) -> Option<&'a Entry> {
    match &node.value {
        Value::Table(table) => table.at_path(path),
        Value::Array(items) => {
            let (first, rest) = path.split_first()?;
            below(items.get(first.parse::<usize>().ok()?)?, rest)
        }
        _ => None,
    }
}

fn set_below(node: &mut Node, name: &str, path: &[&str], at: Position, value: Node) -> Checked<()> {
    match &mut node.value {
        Value::Table(table) => table.set_path(path, at, value),
        Value::Array(items) => {
            let (index, rest) = (path[0], &path[1..]);
            let count = items.len();
            let Some(item) = index.parse::<usize>().ok().and_then(|i| items.get_mut(i)) else {
                return Err(fault(at, format!("\"{name}\" has no element \"{index}\""))
                    .allowed(format!("it has {count}, numbered from 0")));
            };
            if rest.is_empty() {
                *item = value;
                return Ok(());
            }
            set_below(item, index, rest, at, value)
        }
        _ => Err(fault(
            at,
            format!("\"{name}\" is {}, it has no keys inside", node.kind()),
        )),
    }
}

/// Reads a text.
pub(crate) fn parse(text: &str, source: usize) -> Checked<Table> {
    let mut root = toml_span::parse(text).map_err(|e| syntax(&e, source))?;
    match root.take() {
        ValueInner::Table(table) => Ok(table_of(table, source)),
        _ => Err(fault(Position { source, offset: 0 }, "not a TOML document")),
    }
}

/// Reads one value as it stands behind the `=` of an option: TOML where it is that, else a string.
pub(crate) fn parse_value(text: &str, at: Position) -> Node {
    const KEY: &str = "v = ";
    let document = format!("{KEY}{text}");
    // a line break could end the value and begin another key
    if !text.contains(['\n', '\r'])
        && let Ok(mut root) = toml_span::parse(&document)
        && let ValueInner::Table(mut table) = root.take()
        && table.len() == 1
        && let Some(value) = table.remove("v")
    {
        let mut node = node_of(value, at.source);
        shift(&mut node, at.offset, KEY.len());
        return node;
    }
    Node {
        at,
        value: Value::String(text.to_owned()),
    }
}

/// Moves all places by `plus - minus`.
fn shift(node: &mut Node, plus: usize, minus: usize) {
    let moved = |p: &mut Position| p.offset = (p.offset + plus).saturating_sub(minus);
    moved(&mut node.at);
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|n| shift(n, plus, minus)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                moved(&mut entry.at);
                shift(&mut entry.node, plus, minus);
            }
        }
        _ => {}
    }
}

fn table_of(table: TomlTable<'_>, source: usize) -> Table {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            at: Position {
                source,
                offset: key.span.start,
            },
            key: key.name.into_owned(),
            node: node_of(value, source),
        })
        .collect();
    // the parser sorts by name, people order by place
    entries.sort_by_key(|e| e.at.offset);
    Table { entries }
}

fn node_of(mut value: TomlValue<'_>, source: usize) -> Node {
    let at = Position {
        source,
        offset: value.span.start,
    };
    let value = match value.take() {
        ValueInner::String(s) => Value::String(s.into_owned()),
        ValueInner::Integer(i) => Value::Integer(i),
        ValueInner::Float(x) => Value::Float(x),
        ValueInner::Boolean(b) => Value::Boolean(b),
        ValueInner::Array(items) => {
            Value::Array(items.into_iter().map(|v| node_of(v, source)).collect())
        }
        ValueInner::Table(table) => Value::Table(table_of(table, source)),
    };
    Node { at, value }
}

/// A fault of TOML's grammar.
fn syntax(error: &TomlError, source: usize) -> Box<crate::error::Fault> {
    let at = Position {
        source,
        offset: error.span.start,
    };
    match &error.kind {
        ErrorKind::DuplicateKey { key, .. } => {
            fault(at, format!("\"{key}\" is given twice")).hint("remove one of the two")
        }
        ErrorKind::DuplicateTable { name, .. } => {
            fault(at, format!("the table \"{name}\" is given twice"))
                .hint("give one of the two another name, or write its keys into the first")
        }
        ErrorKind::UnquotedString => {
            fault(at, "a text without quotes").hint("put quotes around it, as in rtt = \"10 ms\"")
        }
        ErrorKind::InvalidNumber => fault(at, "not a number")
            .hint("a quantity with a unit is a text: put quotes around it, as in \"10 ms\""),
        _ => fault(at, format!("not TOML: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        parse(text, 0).expect("valid")
    }

    #[test]
    fn keys_keep_the_order_of_the_file() {
        let t = table("[flow.zebra]\nx = 1\n[flow.ant]\ny = 2\n[flow.zebra.tcp]\nz = 3\n");
        let flows = t.get("flow").and_then(Node::table).expect("a table");
        assert_eq!(flows.keys().collect::<Vec<_>>(), ["zebra", "ant"]);
    }

    #[test]
    fn merging_replaces_values_and_joins_tables() {
        let mut t = table("a = 1\n[b]\nx = 1\ny = 2\nlist = [1, 2]\n");
        t.merge(table("[b]\ny = 3\nlist = [9]\nz = 4\n[c]\nw = 5\n"));
        let text = Node {
            at: Position {
                source: 0,
                offset: 0,
            },
            value: Value::Table(t),
        }
        .text();
        assert_eq!(
            text,
            "{ a = 1, b = { x = 1, y = 3, list = [9], z = 4 }, c = { w = 5 } }"
        );
    }

    #[test]
    fn a_table_of_another_kind_replaces_the_whole() {
        let mut t = table("channel = { kind = \"trace\", file = \"a\" }\n");
        t.merge(table("channel = { kind = \"constant-cqi\", cqi = 9 }\n"));
        assert_eq!(
            t.get("channel").expect("kept").text(),
            "{ kind = constant-cqi, cqi = 9 }"
        );
    }

    #[test]
    fn paths_reach_into_tables_and_arrays() {
        let mut t = table("[[ue.a.bearer]]\nbuffer = \"1 MB\"\n");
        let at = Position {
            source: 0,
            offset: 0,
        };
        let value = parse_value("2 MB", at);
        t.set_path(&["ue", "a", "bearer", "0", "buffer"], at, value.clone())
            .expect("exists");
        let entry = t
            .at_path(&["ue", "a", "bearer", "0", "buffer"])
            .expect("exists");
        assert_eq!(entry.node.text(), "2 MB");
        assert!(
            t.set_path(&["ue", "a", "bearer", "1", "buffer"], at, value.clone())
                .is_err()
        );
        assert!(
            t.set_path(
                &["ue", "a", "bearer", "0", "buffer", "x"],
                at,
                value.clone()
            )
            .is_err()
        );
        t.set_path(&["pep", "mode"], at, value).expect("made");
        assert!(t.at_path(&["pep", "mode"]).is_some());
    }

    #[test]
    fn option_values_are_toml_or_text() {
        let at = Position {
            source: 0,
            offset: 6,
        };
        assert!(matches!(parse_value("3", at).value, Value::Integer(3)));
        assert!(matches!(
            parse_value("true", at).value,
            Value::Boolean(true)
        ));
        assert!(matches!(parse_value("1 ms", at).value, Value::String(s) if s == "1 ms"));
        assert!(matches!(parse_value("\"3\"", at).value, Value::String(s) if s == "3"));
        assert!(matches!(
            parse_value("3\nw = 4", at).value,
            Value::String(_)
        ));
        let list = parse_value("[1, 22]", at);
        let Value::Array(items) = &list.value else {
            panic!("an array")
        };
        assert_eq!(items[1].at.offset, 10);
    }
}
