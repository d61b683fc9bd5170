//! Why there is no result.

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bad input: nothing has run, nothing was written.
    #[error("{0}")]
    Input(String),
    /// A run, or the writing of its results, failed.
    #[error("{0}")]
    Run(String),
    /// The user, or the system, has ended it.
    #[error("interrupted: nothing was written")]
    Interrupted,
}

impl Error {
    /// Bad input, with its causes.
    pub fn input(error: &(dyn core::error::Error + 'static)) -> Self {
        Self::Input(message(error))
    }
    /// A failed run, with its causes.
    pub fn run(error: &(dyn core::error::Error + 'static)) -> Self {
        Self::Run(message(error))
    }
}

/// An error with its causes, except those that its own text contains.
pub fn message(error: &(dyn core::error::Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Outer {
        text: &'static str,
        source: io::Error,
    }

    #[test]
    fn a_cause_is_printed_once() {
        let of = |text| Outer {
            text,
            source: io::Error::other("no space left"),
        };
        assert_eq!(
            message(&of("a.json cannot be written")),
            "a.json cannot be written: no space left"
        );
        assert_eq!(
            message(&of("a.json: no space left; free some")),
            "a.json: no space left; free some"
        );
    }
}
