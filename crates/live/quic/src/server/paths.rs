//! What a path of HTTP names.

use std::path::{Path, PathBuf};

/// Longest path that is looked at.
const MAX_PATH_BYTES: usize = 4_096;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// `/bytes/N`.
    Bytes(u64),
    /// A file below the folder.
    File(PathBuf),
}

/// Reads a path of any text; none if it names nothing: not absolute, a number that is none, parts that
/// lead out of the folder, or characters that no file has.
pub(super) fn named(path: &str) -> Option<Named> {
    if path.len() > MAX_PATH_BYTES {
        return None;
    }
    let rest = path.strip_prefix('/')?;
    if let Some(number) = rest.strip_prefix("bytes/") {
        let is_plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        return number.parse().ok().filter(|_| is_plain).map(Named::Bytes);
    }
    let mut file = PathBuf::new();
    for part in rest.split('/').filter(|part| !part.is_empty()) {
        let part = decoded(part)?;
        let is_plain = part != "." && part != ".." && !part.contains(['/', '\0']);
        if !is_plain {
            return None;
        }
        file.push(part);
    }
    if rest.is_empty() || rest.ends_with('/') {
        file.push("index.html");
    }
    Some(Named::File(file))
}

/// Percent decoding (RFC 3986 2.1).
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The part of a range of bytes that a file of this length has (RFC 9110 14.1.2): first and last.
/// None if there is no range that can be read, or several: all is sent then.
///
/// # Errors
/// A range beyond the end.
pub(super) fn range(header: &str, length: u64) -> Result<Option<(u64, u64)>, ()> {
    let Some(range) = header.strip_prefix("bytes=") else {
        return Ok(None);
    };
    let Some((first, last)) = range.split_once('-') else {
        return Ok(None);
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let found = match (first, last) {
        ("", suffix) => match number(suffix) {
            Some(0) => return Err(()),
            Some(count) => (length.saturating_sub(count), length.saturating_sub(1)),
            None => return Ok(None),
        },
        (first, "") => match number(first) {
            Some(first) => (first, length.saturating_sub(1)),
            None => return Ok(None),
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                (first, last.min(length.saturating_sub(1)))
            }
            _ => return Ok(None),
        },
    };
    match found.0 < length {
        true => Ok(Some(found)),
        false => Err(()),
    }
}

/// What a file of this name holds.
pub(super) fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_but_below() {
        let file = |path: &str| Some(Named::File(path.into()));
        assert_eq!(named("/"), file("index.html"));
        assert_eq!(named("/a//b%20c.txt"), file("a/b c.txt"));
        assert_eq!(named("/bytes/20000"), Some(Named::Bytes(20_000)));
        for bad in [
            "",
            "a",
            "/..",
            "/a/../../b",
            "/%2e%2e/x",
            "/a%2fb",
            "/a%00b",
            "/%zz",
            "/%2",
            "/%ff",
            "/bytes/",
            "/bytes/-1",
            "/bytes/+1",
            "/bytes/99999999999999999999",
        ] {
            assert_eq!(named(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn rfc9110_14_1_2_ranges() {
        assert_eq!(range("bytes=0-499", 10_000), Ok(Some((0, 499))));
        assert_eq!(range("bytes=9500-", 10_000), Ok(Some((9_500, 9_999))));
        assert_eq!(range("bytes=-500", 10_000), Ok(Some((9_500, 9_999))));
        assert_eq!(range("bytes=-500", 100), Ok(Some((0, 99))));
        assert_eq!(range("bytes=5-99999", 100), Ok(Some((5, 99))));
        assert_eq!(range("bytes=100-", 100), Err(()));
        assert_eq!(range("bytes=-0", 100), Err(()));
        assert_eq!(range("bytes=0-", 0), Err(()));
        for ignored in [
            "bytes=5-1",
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes=x-",
            "bytes=5",
        ] {
            assert_eq!(range(ignored, 100), Ok(None), "{ignored}");
        }
    }
}
