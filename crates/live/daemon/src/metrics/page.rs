//! Prometheus' text format, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>).

use std::fmt::{Display, Write};

/// Labels of a value, each with its name.
pub type Labels<'a> = &'a [(&'a str, &'a dyn Display)];

/// A page in the making.
#[derive(Debug)]
pub struct Page {
    /// What all names begin with.
    prefix: &'static str,
    text: String,
}

impl Page {
    /// An empty one, of metrics whose names begin so: `brimful_pep_`.
    pub const fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            text: String::new(),
        }
    }

    /// The head of a metric: its values follow. `kind` is `counter` or `gauge`.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        // writing to a text cannot fail
        let _ = writeln!(
            self.text,
            "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}"
        );
    }

    /// A value of it.
    pub fn value(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.labelled(name, &label_text(labels.iter().copied()), value);
    }

    /// A value whose labels are a text already, as [`label_text`] makes it.
    pub fn labelled(&mut self, name: &str, labels: &str, value: impl Display) {
        let prefix = self.prefix;
        let _ = writeln!(self.text, "{prefix}{name}{labels} {value}");
    }

    /// A metric with one value.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.labelled(name, "", value);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Labels as the format has them, values escaped: `{ue="10.45.0.2",path="wifi"}`; empty without labels.
pub fn label_text<'a, V: Display>(labels: impl IntoIterator<Item = (&'a str, V)>) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let opening = if text.is_empty() { '{' } else { ',' };
        let value = value.to_string();
        let escaped = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        let _ = write!(text, "{opening}{name}=\"{escaped}\"");
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_heads_labels_and_values() {
        let mut page = Page::new("a_");
        page.single("open", "gauge", "Open.", 3);
        page.head("bytes_total", "counter", "Bytes.");
        page.value("bytes_total", &[("ue", &"10.45.0.2"), ("cell", &7)], 0.5);
        page.labelled("bytes_total", &label_text([("ue", "x")]), 1.0);
        let text = "# HELP a_open Open.\n# TYPE a_open gauge\na_open 3\n\
                    # HELP a_bytes_total Bytes.\n# TYPE a_bytes_total counter\n\
                    a_bytes_total{ue=\"10.45.0.2\",cell=\"7\"} 0.5\na_bytes_total{ue=\"x\"} 1\n";
        assert_eq!(page.finish(), text);
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let text = label_text([("name", "a\"b\\c\nd")]);
        assert_eq!(text, "{name=\"a\\\"b\\\\c\\nd\"}");
        assert_eq!(label_text::<&str>([]), "");
    }
}
