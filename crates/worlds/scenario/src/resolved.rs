//! The scenario as it was understood: every key with its value, defaults included.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// A table of understood keys, in the order of reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    entries: Vec<(String, ResolvedValue)>,
}

/// A value of [`Resolved`]. Quantities are texts with their unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ResolvedValue {
    /// A text or a quantity.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A truth value.
    Flag(bool),
    /// A list.
    List(Vec<ResolvedValue>),
    /// A table.
    Table(Resolved),
}

impl Resolved {
    /// The entries.
    pub fn entries(&self) -> &[(String, ResolvedValue)] {
        &self.entries
    }
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&ResolvedValue> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    pub(crate) fn put(&mut self, key: &str, value: ResolvedValue) {
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }
}

impl Serialize for Resolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (key, value) in &self.entries {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_serialize_in_the_order_of_reading() {
        let mut inner = Resolved::default();
        inner.put("z", ResolvedValue::Count(1));
        inner.put("a", ResolvedValue::Text("4 ms".into()));
        let mut outer = Resolved::default();
        outer.put("path", ResolvedValue::Table(inner));
        let json = serde_json::to_string(&outer).expect("plain data");
        assert_eq!(json, r#"{"path":{"z":1,"a":"4 ms"}}"#);
    }
}
