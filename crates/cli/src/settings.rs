//! `--set KEY=VALUE` and `--vary KEY=A,B,...`.

use crate::failure::Failure;
use anyhow::{Result, anyhow, bail};
pub(crate) use runner::{Setting, label};

/// Reads `KEY=VALUE`.
///
/// # Errors
/// If there is no `=` or no key before it.
pub(crate) fn set(text: &str) -> Result<Setting> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => bail!("--set {text}: expected KEY=VALUE, for example --set rtt=\"10 ms\""),
    }
}

/// Reads the values of all `--set`, in their order.
///
/// # Errors
/// The first that is none.
pub(crate) fn all(texts: &[String]) -> std::result::Result<Vec<Setting>, Failure> {
    let settings: Result<Vec<Setting>> = texts.iter().map(|text| set(text)).collect();
    settings.map_err(Failure::Input)
}

/// Reads `KEY=A,B,...`.
///
/// # Errors
/// If there is no key.
fn vary(option: &str, text: &str) -> Result<(String, Vec<String>)> {
    let Some((key, list)) = text
        .split_once('=')
        .filter(|(key, _)| !key.trim().is_empty())
    else {
        bail!("--{option} {text}: expected KEY=A,B,..., for example --{option} pep=none,default");
    };
    let values = split(list);
    Ok((key.trim().to_owned(), values))
}

/// Splits at commas outside of double quotes and brackets; quotes around a whole value go away.
fn split(list: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0u32);
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match values.last_mut() {
            Some(value) if c != ',' || quoted || depth > 0 => value.push(c),
            _ => values.push(String::new()),
        }
    }
    for value in &mut values {
        let trimmed = value.trim();
        let inner = trimmed.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        *value = inner
            .filter(|v| !v.contains('"'))
            .unwrap_or(trimmed)
            .to_owned();
    }
    values
}

/// Reads all `--grid KEY=A,B,...`.
///
/// # Errors
/// The first that is none.
pub(crate) fn grid(options: &[String]) -> std::result::Result<Vec<(String, Vec<String>)>, Failure> {
    let axes: Result<Vec<_>> = options.iter().map(|option| vary("grid", option)).collect();
    axes.map_err(Failure::Input)
}

/// All combinations of the values of several `--vary`, the last one varying fastest.
///
/// # Errors
/// If one of them cannot be read, or is nothing to compare.
pub(crate) fn combinations(options: &[String]) -> Result<Vec<Vec<Setting>>> {
    let axes: Result<Vec<_>> = options.iter().map(|option| vary("vary", option)).collect();
    runner::combinations(&axes?).map_err(|error| anyhow!("--vary {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commas_in_quotes_and_lists_do_not_split() {
        assert_eq!(split("a,b , c"), ["a", "b", "c"]);
        assert_eq!(split("\"a, b\",c"), ["a, b", "c"]);
        assert_eq!(split("[1,2],[3]"), ["[1,2]", "[3]"]);
        assert_eq!(split("1 ms,2 ms"), ["1 ms", "2 ms"]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn what_is_no_variation_is_refused() {
        for (text, word) in [
            ("pep", "KEY=A,B"),
            ("=a,b", "KEY=A,B"),
            ("pep=", "empty"),
            ("pep=a,", "empty"),
            ("pep=a", "several"),
            ("pep=a,b,a", "twice"),
        ] {
            let error = combinations(&[text.to_owned()])
                .expect_err(text)
                .to_string();
            assert!(error.contains(word), "{error}");
        }
        let many: Vec<String> = (0..4).map(|i| format!("k{i}=1,2,3,4,5,6,7,8,9")).collect();
        assert!(
            combinations(&many)
                .expect_err("6561")
                .to_string()
                .contains("6561 variants")
        );
        assert!(combinations(&["a=1,2".to_owned(), "a=3,4".to_owned()]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = set(&text);
            let _ = combinations(&[text]);
        }
    }
}
