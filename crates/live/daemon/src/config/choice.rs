//! Words of which some are numbers.

use super::{ConfigError, Section};
use toml_span::value::ValueInner;

impl Section<'_, '_> {
    /// One of these words; those that are whole numbers may stand without quotes.
    ///
    /// # Errors
    /// Place, fault, and what is allowed.
    pub fn number_or_word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some(mut value) = self.take(key) else {
            return Ok(None);
        };
        let at = value.span;
        let given = match value.take() {
            ValueInner::Integer(number) => number.to_string(),
            other => {
                value.set(other);
                self.text_of(key, value)?
            }
        };
        if let Some((_, value)) = words.iter().find(|(name, _)| *name == given) {
            return Ok(Some(*value));
        }
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = format!("{key} = {given:?}; expected {}", names.join(", "));
        Err(self.fault_at(at, text))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    #[test]
    fn numbers_stand_with_quotes_or_without() {
        let read = |line: &str| {
            let words = [("1", 1), ("auto", 0)];
            parse("f", line, |top| top.number_or_word("n", &words)).map_err(|e| e.to_string())
        };
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("n = 1"), Ok(Some(1)));
        assert_eq!(read("n = \"1\""), Ok(Some(1)));
        assert_eq!(read("n = \"auto\""), Ok(Some(0)));
        for (line, part) in [
            ("n = 3", "n = \"3\"; expected 1, auto"),
            ("n = \"two\"", "n = \"two\"; expected 1, auto"),
            ("n = true", "n is a truth value"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.starts_with("f:1:") && error.contains(part), "{error}");
        }
    }
}
