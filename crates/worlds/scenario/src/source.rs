//! The texts that a scenario comes from, and places in them.

/// An offset into one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Index into [`Sources`].
    pub(crate) source: usize,
    /// Byte offset.
    pub(crate) offset: usize,
}

/// A text: a file, or an option of the command line.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    is_option: bool,
    /// The file whose `extends` named this one.
    extended_by: Option<usize>,
}

/// All texts of one scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    texts: Vec<Source>,
}

/// A place as a person reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// Line and column; none in an option.
    pub(crate) position: Option<(usize, usize)>,
    pub(crate) extended_by: Vec<String>,
}

/// `file:line:column`, or `file` alone.
pub(crate) fn written(file: &str, position: Option<(usize, usize)>) -> String {
    match position {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_owned(),
    }
}

impl Sources {
    /// Keeps the text of a file, gives its index.
    pub(crate) fn add(&mut self, name: String, text: String, extended_by: Option<usize>) -> usize {
        self.keep(Source {
            name,
            text,
            is_option: false,
            extended_by,
        })
    }

    /// Keeps an option of the command line, gives its index.
    pub(crate) fn add_option(&mut self, name: String, text: String) -> usize {
        self.keep(Source {
            name,
            text,
            is_option: true,
            extended_by: None,
        })
    }

    fn keep(&mut self, source: Source) -> usize {
        self.texts.push(source);
        self.texts.len() - 1
    }

    /// True if a text is an option of the command line.
    pub(crate) fn is_option(&self, source: usize) -> bool {
        self.texts.get(source).is_some_and(|of| of.is_option)
    }

    /// True if the file `above` extends the file `below`, itself or through others.
    pub(crate) fn extends(&self, above: usize, below: usize) -> bool {
        let next = |source: &usize| self.texts.get(*source)?.extended_by;
        core::iter::successors(next(&below), next).any(|by| by == above)
    }

    /// Names and texts, in the order of their indices.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.texts.iter();
        texts.map(|source| (source.name.as_str(), source.text.as_str()))
    }

    /// Line and column of an offset. One that is outside the text (which nothing in this crate
    /// makes) is taken for its end.
    pub(crate) fn place(&self, at: Position) -> Place {
        let Some(source) = self.texts.get(at.source) else {
            return Place {
                file: String::new(),
                position: None,
                extended_by: Vec::new(),
            };
        };
        let mut offset = at.offset.min(source.text.len());
        while !source.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &source.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let mut extended_by = Vec::new();
        let mut by = source.extended_by;
        while let Some(child) = by.and_then(|i| self.texts.get(i)) {
            extended_by.push(child.name.clone());
            by = child.extended_by;
        }
        Place {
            file: source.name.clone(),
            position: (!source.is_option).then(|| {
                let line = before.matches('\n').count() + 1;
                (line, before[line_start..].chars().count() + 1)
            }),
            extended_by,
        }
    }

    /// `file:line:column`, or the option.
    pub(crate) fn describe(&self, at: Position) -> String {
        let place = self.place(at);
        written(&place.file, place.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_begin_at_one() {
        let mut sources = Sources::default();
        let child = sources.add("child".into(), String::new(), None);
        let base = sources.add(
            "base".into(),
            "a = 1\n\u{b5}\u{b5} = 2\n".into(),
            Some(child),
        );
        let place = |offset| {
            sources.place(Position {
                source: base,
                offset,
            })
        };
        assert_eq!(place(0).position, Some((1, 1)));
        // the second line holds two characters of two bytes each before the space
        assert_eq!(place(10).position, Some((2, 3)));
        // in the middle of a character, and behind the end
        assert_eq!(place(7).position, Some((2, 1)));
        assert_eq!(place(1000).position, Some((3, 1)));
        assert_eq!(place(0).extended_by, ["child"]);
    }
}
