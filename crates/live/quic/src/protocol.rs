//! The plain download protocol, ALPN `brimful/1`.
//!
//! ```text
//!   client, on a bidirectional stream:  get SIZE\n          SIZE in bytes
//!                                       get SIZE at RATE\n  RATE in bit/s
//!   server, on the same:                SIZE bytes, then one JSON object, then the end
//! ```
//!
//! The bytes are those of [`crate::content`], so that a client can check them. The object holds what
//! the server saw of the connection until then: round-trip times and losses, which the receiver of a
//! download cannot measure. A request that is none, or one for more than the server gives, is answered
//! by a reset of the stream with [`RequestError::code`].

use units::{BitRate, Bytes};

/// Its name in the handshake.
pub const ALPN: &[u8] = b"brimful/1";
/// Longest request.
pub const MAX_REQUEST_BYTES: usize = 64;
/// The header of HTTP by which a server announces that it takes bandwidth reports ([`quinn_cc::Report`]) as
/// datagrams of this connection. HTTP datagrams (RFC 9297) it takes none.
pub(crate) const REPORTS_HEADER: &str = "brimful-reports";
/// Longest object after the download.
pub(crate) const MAX_TRAILER_BYTES: usize = 1_024;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// So much is requested.
    pub size: Bytes,
    /// Not faster than this; > 0.
    pub rate: Option<BitRate>,
}

/// The reason why bytes are no request, or one that is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Not of the form.
    #[error("no request; expected \"get SIZE\" or \"get SIZE at RATE\" and a line end")]
    Form,
    /// Longer than any request.
    #[error("a request longer than {MAX_REQUEST_BYTES} bytes")]
    TooLong,
    /// More than the server gives.
    #[error("more than the server gives")]
    TooMuch,
}

impl RequestError {
    /// The code that the stream is reset with.
    pub fn code(self) -> u32 {
        match self {
            Self::Form => 1,
            Self::TooLong => 2,
            Self::TooMuch => 3,
        }
    }

    /// From the code of a reset.
    pub fn from_code(code: u64) -> Option<Self> {
        [Self::Form, Self::TooLong, Self::TooMuch]
            .into_iter()
            .find(|error| u64::from(error.code()) == code)
    }
}

impl Request {
    /// Reads a request of any bytes.
    ///
    /// # Errors
    /// They are none.
    pub fn parse(bytes: &[u8]) -> Result<Self, RequestError> {
        if bytes.len() > MAX_REQUEST_BYTES {
            return Err(RequestError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| RequestError::Form)?;
        let line = text.strip_suffix('\n').ok_or(RequestError::Form)?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["get", size] => Ok(Self {
                size: Bytes::new(number(size)?),
                rate: None,
            }),
            ["get", size, "at", rate] => match number(rate)? {
                0 => Err(RequestError::Form),
                rate => Ok(Self {
                    size: Bytes::new(number(size)?),
                    rate: Some(BitRate::from_bps(rate)),
                }),
            },
            _ => Err(RequestError::Form),
        }
    }

    /// As it is sent.
    pub fn encode(&self) -> String {
        match self.rate {
            None => format!("get {}\n", self.size.get()),
            Some(rate) => format!("get {} at {}\n", self.size.get(), rate.as_bps()),
        }
    }
}

/// Digits only: no sign, no space.
fn number(text: &str) -> Result<u64, RequestError> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| is_plain)
        .ok_or(RequestError::Form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sent_is_read(size in any::<u64>(), rate in proptest::option::of(1u64..)) {
            let request = Request { size: Bytes::new(size), rate: rate.map(BitRate::from_bps) };
            prop_assert_eq!(Request::parse(request.encode().as_bytes()), Ok(request));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(request) = Request::parse(&bytes) {
                prop_assert!(bytes.len() <= MAX_REQUEST_BYTES);
                prop_assert!(request.rate != Some(BitRate::from_bps(0)));
            }
        }
    }

    #[test]
    fn what_is_no_request_is_an_error() {
        for bad in [
            "",
            "\n",
            "get\n",
            "get 5",
            "get  5\n",
            "get +5\n",
            "get -1\n",
            "get 5 at\n",
            "get 5 at 0\n",
            "get 5\n\n",
            "GET 5\n",
            "get 99999999999999999999\n",
        ] {
            assert_eq!(
                Request::parse(bad.as_bytes()),
                Err(RequestError::Form),
                "{bad:?}"
            );
        }
        assert_eq!(Request::parse(&[b'x'; 65]), Err(RequestError::TooLong));
        for error in [
            RequestError::Form,
            RequestError::TooLong,
            RequestError::TooMuch,
        ] {
            assert_eq!(RequestError::from_code(error.code().into()), Some(error));
        }
        assert_eq!(RequestError::from_code(0), None);
    }
}
