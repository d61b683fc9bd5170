//! The head of a request: of its lines, only the first is read.

pub(crate) const OK: &str = "200 OK";
const BAD_REQUEST: &str = "400 Bad Request";
const NOT_FOUND: &str = "404 Not Found";
const NOT_ALLOWED: &str = "405 Method Not Allowed";
pub(crate) const TOO_LONG: &str = "431 Request Header Fields Too Large";
pub(crate) const FAILED: &str = "500 Internal Server Error";
pub(crate) const UNAVAILABLE: &str = "503 Service Unavailable";

/// How a head ends.
const END: &[u8] = b"\r\n\r\n";

/// What a request with this head is answered at a server of these paths; of any bytes.
pub fn status_of(head: &[u8], paths: &[&str]) -> &'static str {
    match requested(head, |path| paths.contains(&path)) {
        Ok(_) => OK,
        Err(status) => status,
    }
}

/// The path that is requested by GET, without its query; else the status of the answer.
pub(crate) fn requested(head: &[u8], has: impl Fn(&str) -> bool) -> Result<&str, &'static str> {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    let line = std::str::from_utf8(line.unwrap_or_default()).map_err(|_| BAD_REQUEST)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(BAD_REQUEST);
    };
    let path = target.split('?').next().unwrap_or_default();
    match (method, has(path)) {
        ("GET", true) => Ok(path),
        ("GET", false) => Err(NOT_FOUND),
        (_, true) => Err(NOT_ALLOWED),
        (_, false) => Err(BAD_REQUEST),
    }
}

/// Whether a head has come whole, of which the first `searched` bytes were searched already.
pub(crate) fn is_whole(head: &[u8], searched: usize) -> bool {
    let from = searched.saturating_sub(END.len() - 1).min(head.len());
    head[from..].windows(END.len()).any(|four| four == END)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATHS: [&str; 2] = ["/metrics", "/healthz"];

    #[test]
    fn requests_are_answered_by_method_and_path() {
        for (head, status) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", OK),
            ("GET /metrics?name=x HTTP/1.1\r\n\r\n", OK),
            ("GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n", OK),
            ("GET /metrics", OK),
            ("GET / HTTP/1.1\r\n\r\n", NOT_FOUND),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", NOT_FOUND),
            ("POST /metrics HTTP/1.1\r\n\r\n", NOT_ALLOWED),
            ("POST / HTTP/1.1\r\n\r\n", BAD_REQUEST),
            ("get /metrics HTTP/1.1\r\n\r\n", NOT_ALLOWED),
            ("\r\nGET /metrics HTTP/1.1\r\n\r\n", BAD_REQUEST),
            ("", BAD_REQUEST),
        ] {
            assert_eq!(status_of(head.as_bytes(), &PATHS), status, "{head:?}");
        }
        assert_eq!(status_of(b"GET /\xff", &PATHS), BAD_REQUEST);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_status(head in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(status_of(&head, &PATHS).is_ascii());
        }

        #[test]
        fn an_end_is_found_wherever_it_is_cut(before in 0_usize..20, cut in 0_usize..30) {
            let mut head = vec![b'x'; before];
            head.extend_from_slice(b"\r\n\r\n");
            let cut = cut.min(head.len());
            prop_assert!(is_whole(&head[..cut], 0) == (cut == head.len()));
            prop_assert!(cut == head.len() || is_whole(&head, cut));
        }
    }
}
