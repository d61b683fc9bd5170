//! A client of `/dash/live`: what `brimful top` and the tests read by. It blocks.
//!
//! After a lost connection it resumes where it was: what it has read it does not get again, and what
//! it missed it gets, as long as the server still has it.

use serde_json::{Map, Value, json};
use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

/// The longest message that is read, bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// For a connection to be made.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The port of `brimful dash`.
const PORT: u16 = 8080;

/// The reason why there is nothing to be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An address that is none.
    #[error("{url}: {problem}; give it as 127.0.0.1:8080 or http://127.0.0.1:8080/dash/")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No server is there, or no longer.
    #[error("{url}: {problem}")]
    Away {
        /// Where.
        url: String,
        /// What is known of it.
        problem: String,
    },
    /// It answers, and refuses.
    #[error("{url}: refuses: {problem}")]
    Refused {
        /// Where.
        url: String,
        /// The reason.
        problem: String,
    },
    /// It sends something else than it should.
    #[error("{url}: is no dashboard of this version: {problem}")]
    Strange {
        /// Where.
        url: String,
        /// What is wrong.
        problem: String,
    },
}

/// A series that is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesInfo {
    /// Its number in frames.
    pub id: u64,
    /// The flow, UE, queue ... that it belongs to.
    pub entity: String,
    /// What that is, as [`crate::Kind::name`] gives it.
    pub kind: String,
    /// The UE of a flow, the cell of a UE.
    pub parent: Option<String>,
    /// What it shows.
    pub metric: String,
}

/// A message of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Its identity. With another session than before, all that was known is over.
    Hello {
        /// The session.
        session: String,
        /// For people.
        title: String,
        /// Where it happens.
        world: String,
        /// The program that measures.
        source: String,
    },
    /// New series.
    Series(Vec<SeriesInfo>),
    /// Values of a moment.
    Frame {
        /// Its number.
        seq: u64,
        /// Seconds since the beginning.
        t: f64,
        /// Values by the number of their series; none for what has ended.
        values: Vec<(u64, Option<f64>)>,
    },
    /// The flows, one object each.
    Table(Vec<Map<String, Value>>),
    /// Nothing more comes.
    End(String),
}

impl Event {
    /// Reads a message of any text; none of what is no message.
    pub fn parse(text: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(text).ok()?;
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        Some(match message.get("type")?.as_str()? {
            "hello" => Self::Hello {
                session: text(&message, "session")?,
                title: text(&message, "title")?,
                world: text(&message, "world")?,
                source: text(&message, "source")?,
            },
            "series" => {
                let series = message.get("series")?.as_array()?.iter();
                let series = series.map(|series| {
                    Some(SeriesInfo {
                        id: series.get("id")?.as_u64()?,
                        entity: text(series, "entity")?,
                        kind: text(series, "kind")?,
                        parent: text(series, "parent"),
                        metric: text(series, "metric")?,
                    })
                });
                Self::Series(series.collect::<Option<_>>()?)
            }
            "frame" => {
                let values = message.get("v")?.as_array()?.iter();
                let values = values.map(|pair| match pair.as_array()?.as_slice() {
                    [id, value] => Some((id.as_u64()?, value.as_f64())),
                    _ => None,
                });
                Self::Frame {
                    seq: message.get("seq")?.as_u64()?,
                    t: message.get("t")?.as_f64()?,
                    values: values.collect::<Option<_>>()?,
                }
            }
            "table" => {
                let flows = message.get("flows")?.as_array()?.iter();
                Self::Table(flows.filter_map(|flow| flow.as_object().cloned()).collect())
            }
            "end" => Self::End(text(&message, "reason")?),
            _ => return None,
        })
    }
}

/// Where a dashboard is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    authority: String,
}

impl Target {
    /// Reads `HOST:PORT`, `HOST`, or `http://HOST:PORT/` with whatever path.
    ///
    /// # Errors
    /// [`ClientError::Url`].
    pub fn parse(url: &str) -> Result<Self, ClientError> {
        let wrong = |problem| ClientError::Url {
            url: url.to_owned(),
            problem,
        };
        let rest = match url.split_once("://") {
            Some(("http" | "ws", rest)) => rest,
            Some(("https" | "wss", _)) => {
                let text = "there is no TLS here: go through ssh -L, to http://";
                return Err(wrong(text));
            }
            Some(_) => return Err(wrong("is no http:// address")),
            None => url,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = match authority.parse::<Ipv6Addr>() {
            Ok(bare) => (format!("[{bare}]"), None),
            Err(_) => match authority.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host.to_owned(), Some(port)),
                _ => (authority.to_owned(), None),
            },
        };
        if !is_host(&host) {
            return Err(wrong("names no host"));
        }
        let port = port.map_or(Ok(PORT), str::parse);
        let port: u16 = port.map_err(|_| wrong("names no port of 0 to 65535"))?;
        Ok(Self {
            authority: format!("{host}:{port}"),
        })
    }

    /// The address of the live values.
    pub fn url(&self) -> String {
        format!("ws://{}/dash/live", self.authority)
    }
}

/// A name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            !host.is_empty() && host.chars().all(is_plain)
        }
    }
}

/// A connection, or one that is to be made again.
#[derive(Debug)]
pub struct Client {
    target: Target,
    token: Option<String>,
    socket: Option<WebSocket<Steady<TcpStream>>>,
    /// The session and the last frame that was read.
    read: Option<(String, u64)>,
}

/// A stream on which reading and writing go on after a signal. With a timeout the kernel does not
/// see to that itself (signal(7)): a terminal's new size would look like a lost connection.
#[derive(Debug)]
struct Steady<S>(S);

/// Again, until no signal came in between.
fn steadily<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl<S: Read> Read for Steady<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        steadily(|| self.0.read(buffer))
    }
}

impl<S: Write> Write for Steady<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        steadily(|| self.0.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        steadily(|| self.0.flush())
    }
}

impl Client {
    /// Connects; `token` is shown if the server requires it.
    ///
    /// # Errors
    /// No server is there, it is no dashboard, or it requires another token.
    pub fn connect(target: Target, token: Option<String>) -> Result<Self, ClientError> {
        let mut client = Self {
            target,
            token,
            socket: None,
            read: None,
        };
        client.reconnect()?;
        Ok(client)
    }

    /// Connects again, and goes on where it was.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn reconnect(&mut self) -> Result<(), ClientError> {
        self.socket = None;
        let url = self.target.url();
        let strange = |problem: String| ClientError::Strange {
            url: url.clone(),
            problem,
        };
        let mut request = url
            .as_str()
            .into_client_request()
            .map_err(|error| strange(error.to_string()))?;
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let value = value.map_err(|_| strange("the token is none".to_owned()))?;
            request.headers_mut().insert("authorization", value);
        }
        let stream = Steady(self.open()?);
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(MAX_MESSAGE_BYTES);
        config.max_frame_size = Some(MAX_MESSAGE_BYTES);
        let shaken = client::client_with_config(request, stream, Some(config));
        let mut socket = match shaken {
            Ok((socket, _)) => socket,
            Err(HandshakeError::Interrupted(_)) => {
                return Err(self.away(&"does not answer"));
            }
            Err(HandshakeError::Failure(Error::Http(answer))) => {
                return Err(self.refused(&answer));
            }
            Err(HandshakeError::Failure(error)) => return Err(self.away(&error)),
        };
        let first = match &self.read {
            None => json!({"type": "start"}),
            Some((session, after)) => {
                json!({"type": "resume", "session": session, "after": after})
            }
        };
        socket
            .send(Message::text(first.to_string()))
            .map_err(|error| self.away(&error))?;
        self.socket = Some(socket);
        Ok(())
    }

    fn open(&self) -> Result<TcpStream, ClientError> {
        let addresses = self.target.authority.to_socket_addrs();
        let mut problem = "has no address".to_owned();
        for address in addresses.map_err(|error| self.away(&error))? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    // what does not answer is noticed; that answers come at once is not needed
                    let _ = stream.set_nodelay(true);
                    for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
                        set(&stream, Some(TIMEOUT)).map_err(|error| self.away(&error))?;
                    }
                    return Ok(stream);
                }
                Err(error) => problem = error.to_string(),
            }
        }
        Err(self.away(&problem))
    }

    fn away(&self, problem: &impl ToString) -> ClientError {
        ClientError::Away {
            url: self.target.url(),
            problem: problem.to_string(),
        }
    }

    fn refused(
        &self,
        answer: &tokio_tungstenite::tungstenite::http::Response<Option<Vec<u8>>>,
    ) -> ClientError {
        let body: Option<Value> = answer
            .body()
            .as_ref()
            .and_then(|body| serde_json::from_slice(body).ok());
        let error = body.as_ref().and_then(|body| body.get("error")?.as_str());
        let status = answer.status();
        ClientError::Refused {
            url: self.target.url(),
            problem: error.map_or_else(|| format!("{status}"), str::to_owned),
        }
    }

    /// The next event of the server, if it comes within this time.
    ///
    /// # Errors
    /// The connection is lost ([`Client::reconnect`]), or the server is none.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Event>, ClientError> {
        let until = Instant::now() + timeout;
        loop {
            let Some(socket) = &mut self.socket else {
                return Err(self.away(&"is not connected"));
            };
            let left = until.saturating_duration_since(Instant::now());
            let left = left.max(Duration::from_millis(1));
            let waits = socket.get_ref().0.set_read_timeout(Some(left));
            let message = match waits.map_err(Error::Io).and_then(|()| socket.read()) {
                Ok(message) => message,
                Err(Error::Io(error))
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => {
                    self.socket = None;
                    return Err(self.away(&error));
                }
            };
            match message {
                Message::Text(text) => return self.understand(text.as_str()),
                Message::Close(_) => {
                    self.socket = None;
                    return Err(self.away(&"has closed the connection"));
                }
                // pings are answered as they are read
                _ if Instant::now() >= until => return Ok(None),
                _ => {}
            }
        }
    }

    fn understand(&mut self, text: &str) -> Result<Option<Event>, ClientError> {
        let Some(event) = Event::parse(text) else {
            let problem = "a message is not understood".to_owned();
            let url = self.target.url();
            return Err(ClientError::Strange { url, problem });
        };
        match &event {
            Event::Hello { session, .. } => match &self.read {
                Some((known, _)) if known == session => {}
                _ => self.read = Some((session.clone(), 0)),
            },
            Event::Frame { seq, .. } => {
                if let Some((_, after)) = &mut self.read {
                    *after = *seq;
                }
            }
            _ => {}
        }
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_as_people_give_them() {
        let url = |text: &str| Target::parse(text).map(|target| target.url());
        for (given, url_of) in [
            ("127.0.0.1:9", "ws://127.0.0.1:9/dash/live"),
            ("localhost", "ws://localhost:8080/dash/live"),
            ("http://[::1]:80/dash/", "ws://[::1]:80/dash/live"),
            ("[::1]", "ws://[::1]:8080/dash/live"),
            ("::1", "ws://[::1]:8080/dash/live"),
        ] {
            assert_eq!(url(given).expect(given), url_of);
        }
        for bad in [
            "",
            "https://a",
            "ftp://a",
            "http:///x",
            "a b",
            "a@b",
            ":",
            "a:b:c",
            "[::1",
            "a:",
            "a:65536",
        ] {
            let error = url(bad).expect_err(bad).to_string();
            assert!(error.contains("give it as"), "{error}");
        }
    }

    /// A stream that a signal comes into before every act.
    struct Disturbed {
        is_next: bool,
        data: Vec<u8>,
    }

    impl Disturbed {
        fn disturb(&mut self) -> io::Result<()> {
            self.is_next = !self.is_next;
            match self.is_next {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => Ok(()),
            }
        }
    }

    impl Read for Disturbed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.disturb()?;
            match self.data.pop() {
                Some(byte) => {
                    buffer[0] = byte;
                    Ok(1)
                }
                None => Err(io::ErrorKind::WouldBlock.into()),
            }
        }
    }

    impl Write for Disturbed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.disturb()?;
            self.data.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.disturb()
        }
    }

    #[test]
    fn a_signal_is_no_lost_connection() {
        let mut stream = Steady(Disturbed {
            is_next: false,
            data: Vec::new(),
        });
        assert_eq!(stream.write(b"ab").expect("goes on"), 2);
        stream.flush().expect("goes on");
        let mut buffer = [0; 4];
        assert_eq!(stream.read(&mut buffer).expect("goes on"), 1);
        assert_eq!(stream.read(&mut buffer).expect("goes on"), 1);
        let end = stream.read(&mut buffer).expect_err("nothing more");
        assert_eq!(end.kind(), io::ErrorKind::WouldBlock);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = Event::parse(&text);
            let _ = Target::parse(&text);
        }
    }
}
