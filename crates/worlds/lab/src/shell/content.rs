//! What the HTTP server of a shell has: objects of any size, or the files of a folder.

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Response, StatusCode};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes handed over at a time.
const CHUNK: usize = 128 * 1024;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// `/20M` has 20,000,000 bytes.
    Sizes,
    /// The files below this folder.
    Files(PathBuf),
}

impl Content {
    /// The answer to a request for a path.
    pub(super) fn get(&self, path: &str) -> Response<Body> {
        match self {
            Self::Sizes => match size(path.trim_start_matches('/')) {
                Some(size) => whole(Source::Zeros, size, "application/octet-stream"),
                None => text(
                    StatusCode::NOT_FOUND,
                    "name a size: /20M has 20,000,000 bytes; k, M and G are decimal\n".to_owned(),
                ),
            },
            Self::Files(folder) => match open(folder, path) {
                Ok((file, size)) => whole(Source::File(file), size, "application/octet-stream"),
                Err(error) => text(StatusCode::NOT_FOUND, format!("{path}: {error}\n")),
            },
        }
    }
}

/// A number of bytes: `500k`, `20M`, `1G`, `1500`. Multiples are decimal.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let multiple: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "k" | "K" | "kB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(multiple)
}

/// The place below the served folder that a request's path names, whatever the path; none if a part of it is
/// no name of a file. Public for the tests of it.
pub fn content_path(path: &str) -> Option<PathBuf> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let is_name = |name: &String| {
                !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '\0'])
            };
            decoded(part).filter(is_name)
        })
        .collect()
}

/// A file below `folder`, and its size. `index.html` stands for its folder.
fn open(folder: &Path, path: &str) -> io::Result<(File, u64)> {
    let below = content_path(path)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file's name"))?;
    let mut place = folder.join(below);
    if place.is_dir() {
        place.push("index.html");
    }
    let file = File::open(place)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// With `%20` and the like as what they stand for (RFC 3986 2.1); nothing if that is no text.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        let digits = core::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// An answer of a line or two.
pub(super) fn text(status: StatusCode, text: String) -> Response<Body> {
    let size = text.len() as u64;
    let mut response = whole(Source::Text(text.into()), size, "text/plain; charset=utf-8");
    *response.status_mut() = status;
    response
}

/// A document of JSON.
pub(super) fn json(text: String) -> Response<Body> {
    let size = text.len() as u64;
    whole(Source::Text(text.into()), size, "application/json")
}

fn whole(source: Source, size: u64, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(Body { source, left: size });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    headers.insert(CONTENT_LENGTH, size.into());
    response
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Body {
    source: Source,
    /// Bytes that have not been handed over.
    left: u64,
}

/// Where it comes from.
#[derive(Debug)]
enum Source {
    Zeros,
    Text(Bytes),
    File(File),
}

impl Body {
    fn next(&mut self) -> io::Result<Bytes> {
        let length = self.left.min(CHUNK as u64) as usize;
        Ok(match &mut self.source {
            Source::Zeros => Bytes::from_static(&ZEROS[..length]),
            Source::Text(text) => core::mem::take(text),
            Source::File(file) => {
                // from memory, mostly: this thread serves one lab
                let mut chunk = vec![0; length];
                let read = file.read(&mut chunk)?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                chunk.truncate(read);
                chunk.into()
            }
        })
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let next = self.next();
        if let Ok(bytes) = &next {
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        Poll::Ready(Some(next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_and_nothing_else_is_a_size() {
        assert_eq!(size("20M"), Some(20_000_000));
        assert_eq!(size("500k"), Some(500_000));
        assert_eq!(size("1G"), Some(1_000_000_000));
        assert_eq!(size("1500"), Some(1_500));
        for wrong in ["", "M", "-1k", "1.5M", "20m", "99999999999G", "1 M", "20MM"] {
            assert_eq!(size(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn files_are_served_from_below_the_folder_only() {
        let name = format!("brimful-content-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join("sub")).expect("a folder");
        std::fs::write(folder.join("a b"), b"12345").expect("a file");
        std::fs::write(folder.join("sub/index.html"), b"<p>").expect("a file");
        let sub = folder.join("sub");
        assert_eq!(open(&folder, "/a%20b").expect("a file").1, 5);
        assert_eq!(open(&folder, "/sub/").expect("a file").1, 3);
        let content = Content::Files(folder.clone());
        assert_eq!(content.get("/sub").status(), StatusCode::OK);
        for wrong in [
            "/../a%20b",
            "/%2e%2e/a%20b",
            "/%2fetc/passwd",
            "/%zz",
            "/none",
            "/%",
        ] {
            let outside = Content::Files(sub.clone());
            assert_eq!(
                outside.get(wrong).status(),
                StatusCode::NOT_FOUND,
                "{wrong}"
            );
        }
        std::fs::remove_dir_all(folder).expect("put away");
    }
}
