//! What is read of a request before anything is known of its client: for fuzz targets.

use super::{gate, token};
use crate::auth::{Client, sha256};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// What a request shows of its client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// The token of `Authorization: Bearer`.
    pub bearer: Option<String>,
    /// Name and secret of `Authorization: Basic`.
    pub basic: Option<(String, String)>,
    /// Whether answers in JSON are accepted.
    pub accepts_json: bool,
    /// The scope that a client that may do all gets for the body's: query and subscribe; none if the
    /// body is no token request, or the scope none.
    pub scope: Option<(bool, bool)>,
}

/// Reads what is a request's head without its first line, up to an empty line, and a body after that.
/// Lines that are no header are left out.
pub fn credentials(bytes: &[u8]) -> Credentials {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((bytes, &b""[..]), |end| (&bytes[..end], &bytes[end + 2..]));
    let mut headers = HeaderMap::new();
    for line in head.split(|&byte| byte == b'\n').take(100) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let all = Client::of_all_scopes(sha256(b""));
    let narrowed = token::form(body).and_then(|form| all.narrowed(form.scope.as_deref()).ok());
    Credentials {
        bearer: gate::bearer(&headers).map(str::to_owned),
        basic: token::basic(&headers),
        accepts_json: gate::accepts_json(&headers),
        scope: narrowed.map(|client| (client.query, client.subscribe)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_read() {
        let read = credentials(
            b"Authorization: Basic YTpiJTIw\nAccept: text/html\n\nscope=query&client_id=x",
        );
        let expected = Credentials {
            bearer: None,
            basic: Some(("a".into(), "b ".into())),
            accepts_json: false,
            scope: Some((true, false)),
        };
        assert_eq!(read, expected);
        assert_eq!(credentials(b"\n\nscope=a&scope=b").scope, None);
        assert_eq!(credentials(b"\n\n").scope, Some((true, true)));
    }
}
