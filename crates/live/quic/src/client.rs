//! A client for downloads: by the plain protocol, or by HTTP/3.

mod connecting;

use crate::metered::{Reported, Reports};
use crate::protocol::{MAX_TRAILER_BYTES, REPORTS_HEADER, Request, RequestError};
use crate::server::H3;
use crate::tls::Trust;
use crate::{ALPN, QuicError, content};
use bytes::Buf;
use cc::cdbe::estimator;
use http::Uri;
use quinn::{Connection, VarInt};
use quinn_cc::{Monitor, RttSummary};
use serde_json::Value;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Instant;
use units::{BitRate, Bytes, Duration};

/// Between looks whether a download is to go on.
const LOOK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);
/// The port of a URL that names none (RFC 9114 3.1).
const HTTPS: u16 = 443;

/// How a client connects.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The servers whose certificates it accepts.
    pub trust: Trust,
    /// Where it sends from; none: any address, as the server's address needs.
    pub bind: Option<SocketAddr>,
    /// The path's MTU in bytes of UDP payload, 1200 to 65527, where it is known.
    pub mtu: Option<u16>,
    /// How it measures its bandwidth, which it reports to servers that take reports (CDBE); none: it
    /// reports nothing.
    pub report: Option<estimator::Config>,
    /// When a download ends with what has come, from the end of the handshake on; none: with its last byte.
    pub limit: Option<Duration>,
}

impl Default for ClientOptions {
    /// Trusts the system's authorities.
    fn default() -> Self {
        Self {
            trust: Trust::System,
            bind: None,
            mtu: None,
            report: None,
            limit: None,
        }
    }
}

/// What is downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// So much, by the plain protocol.
    Plain {
        /// The server: `HOST:PORT`.
        server: String,
        /// How much.
        size: Bytes,
        /// At most so fast.
        rate: Option<BitRate>,
    },
    /// A URL, by HTTP/3.
    Http(Uri),
}

/// Who measured round-trip times and losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenBy {
    /// The server, of what it sent: the plain protocol carries it.
    Server,
    /// The client, of the little that it sent itself.
    Client,
}

impl SeenBy {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// A download that has succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    /// The status of HTTP; none by the plain protocol, and of a download that was ended by its limit.
    pub status: Option<u16>,
    /// Payload that arrived.
    pub bytes: Bytes,
    /// From the first packet of the handshake to the last byte.
    pub took: Duration,
    /// Until the handshake was done.
    pub handshake: Duration,
    /// Until the first byte was there; the whole time if none came.
    pub first_byte: Duration,
    /// Who measured what follows.
    pub seen_by: SeenBy,
    /// Round-trip times; none if there was no sample.
    pub rtt: Option<RttSummary>,
    /// Packets lost.
    pub lost_packets: u64,
    /// Recovery episodes.
    pub congestion_events: u64,
    /// Losses that were repeated silently.
    pub silent_losses: u64,
    /// What was reported of the bandwidth; none if nothing was to be.
    pub reported: Option<Reported>,
}

impl Download {
    /// Payload over the time from the first packet to the last byte.
    pub fn goodput(&self) -> BitRate {
        match self.took.is_zero() {
            true => BitRate::from_bps(0),
            false => BitRate::from_bytes_per(self.bytes, self.took),
        }
    }
}

/// Downloads, each over a connection of its own. Works in the tokio runtime in which it is made.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
}

/// Takes what arrives, in order; an error ends the download.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + Send + 'a;

/// Downloads in a runtime of its own, for programs without one. Blocks.
///
/// # Errors
/// As [`Client::get`].
pub fn download(
    client: &Client,
    target: &Target,
    sink: &mut Sink<'_>,
) -> Result<Download, QuicError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(QuicError::System)?;
    runtime.block_on(client.get(target, sink))
}

/// The same for as long as `goes_on`, which is called several times a second; then it ends at once, also where nothing
/// arrives any more.
///
/// # Errors
/// As [`Client::get`]; [`QuicError::Sink`] once it does not go on.
pub fn download_while(
    client: &Client,
    target: &Target,
    sink: &mut Sink<'_>,
    goes_on: impl Fn() -> bool,
) -> Result<Download, QuicError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(QuicError::System)?;
    let over = async {
        while goes_on() {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            done = client.get(target, sink) => done,
            () = over => Err(QuicError::Sink(io::ErrorKind::Interrupted.into())),
        }
    })
}

/// A download as it goes on.
struct Progress<'a, 'b> {
    began: Instant,
    received: u64,
    first_byte: Option<Duration>,
    sink: &'a mut Sink<'b>,
}

impl Progress<'_, '_> {
    fn elapsed(&self) -> Duration {
        let nanos = self.began.elapsed().as_nanos();
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), QuicError> {
        if self.first_byte.is_none() {
            self.first_byte = Some(self.elapsed());
        }
        self.received += bytes.len() as u64;
        (self.sink)(bytes).map_err(QuicError::Sink)
    }
}

impl Client {
    /// A client of these options.
    pub fn new(options: ClientOptions) -> Self {
        Self { options }
    }

    /// Downloads; what arrives goes to `sink`.
    ///
    /// # Errors
    /// No connection, one that is lost, an answer that is none, or a sink that takes no more.
    pub async fn get(&self, target: &Target, sink: &mut Sink<'_>) -> Result<Download, QuicError> {
        let began = Instant::now();
        let mut progress = Progress {
            began,
            received: 0,
            first_byte: None,
            sink,
        };
        let monitor = Monitor::new();
        let (host, port, protocol) = target.server()?;
        let made = self.connect(&host, port, protocol, &monitor).await?;
        let (endpoint, connection) = (made.endpoint, made.connection);
        let mut reports = Reports::new(made.meter);
        progress.began = made.began;
        let handshake = progress.elapsed();
        let exchange = exchange(&connection, target, &mut reports, &mut progress);
        let done = match self.options.limit {
            None => exchange.await,
            Some(limit) => {
                let limit = std::time::Duration::from_nanos(limit.as_nanos());
                let done = tokio::time::timeout(limit, exchange).await;
                done.unwrap_or(Ok((None, None)))
            }
        };
        let took = progress.elapsed();
        let done = done.map(|(status, summary)| {
            let mut download = Download {
                status,
                bytes: Bytes::new(progress.received),
                took,
                handshake,
                first_byte: progress.first_byte.unwrap_or(took),
                seen_by: SeenBy::Client,
                rtt: monitor.rtts(),
                lost_packets: connection.stats().path.lost_packets,
                congestion_events: monitor.totals().congestion_events,
                silent_losses: 0,
                reported: reports.reported(),
            };
            if let Some(summary) = summary {
                download.set_summary(&summary);
            }
            download
        });
        // after a refusal too: the server would keep the connection until it is idle for too long
        connection.close(VarInt::from_u32(0), b"");
        // the close is sent before the socket goes
        let parting = std::time::Duration::from_secs(1);
        let _ = tokio::time::timeout(parting, endpoint.wait_idle()).await;
        done
    }
}

impl Download {
    /// What the server measured.
    fn set_summary(&mut self, summary: &Value) {
        let time = |key: &str| summary[key].as_f64().map(Duration::from_secs_f64);
        let count = |key: &str| summary[key].as_u64().unwrap_or(0);
        let rtt = || {
            Some(RttSummary {
                samples: count("rtt_samples"),
                min: time("rtt_min_seconds")?,
                mean: time("rtt_mean_seconds")?,
                p95: time("rtt_p95_seconds")?,
            })
        };
        self.seen_by = SeenBy::Server;
        self.rtt = rtt();
        self.lost_packets = count("lost_packets");
        self.congestion_events = count("congestion_events");
        self.silent_losses = count("silent_losses");
    }
}

fn lost(connection: &Connection, problem: impl std::fmt::Display) -> QuicError {
    QuicError::Connection {
        address: connection.remote_address(),
        problem: problem.to_string(),
    }
}

/// The request and its answer: the status of HTTP, and what the server measured of the download.
async fn exchange(
    connection: &Connection,
    target: &Target,
    reports: &mut Reports,
    progress: &mut Progress<'_, '_>,
) -> Result<(Option<u16>, Option<Value>), QuicError> {
    match target {
        Target::Plain { size, rate, .. } => {
            let (size, rate) = (*size, *rate);
            reports.start(connection);
            let summary = plain(connection, Request { size, rate }, progress).await?;
            Ok((None, summary))
        }
        Target::Http(uri) => {
            let status = http3(connection, uri, reports, progress).await?;
            Ok((Some(status), None))
        }
    }
}

/// A download by the plain protocol, and what the server measured of it.
async fn plain(
    connection: &Connection,
    request: Request,
    progress: &mut Progress<'_, '_>,
) -> Result<Option<Value>, QuicError> {
    let fault = |error: &dyn std::fmt::Display| lost(connection, error);
    let (mut send, mut receive) = connection.open_bi().await.map_err(|e| fault(&e))?;
    let written = send.write_all(request.encode().as_bytes()).await;
    written.map_err(|e| fault(&e))?;
    // it has not been finished before
    let _ = send.finish();
    let size = request.size.get();
    let mut trailer = Vec::new();
    loop {
        let chunk = match receive.read_chunk(usize::MAX, true).await {
            Ok(Some(chunk)) => chunk.bytes,
            Ok(None) => break,
            Err(quinn::ReadError::Reset(code)) => {
                return Err(match RequestError::from_code(code.into_inner()) {
                    Some(error) => QuicError::Answer(format!("the server refuses: {error}")),
                    None => fault(&format!("the server broke off with code {code}")),
                });
            }
            Err(error) => return Err(fault(&error)),
        };
        let left = usize::try_from(size - progress.received).unwrap_or(usize::MAX);
        let (body, more) = chunk.split_at(left.min(chunk.len()));
        if !content::is_at(progress.received, body) {
            let at = progress.received;
            let text = format!("what came after {at} bytes is not what the protocol defines");
            return Err(QuicError::Answer(text));
        }
        if !body.is_empty() {
            progress.take(body)?;
        }
        if trailer.len() + more.len() > MAX_TRAILER_BYTES {
            let text = format!("more than {size} bytes came");
            return Err(QuicError::Answer(text));
        }
        trailer.extend_from_slice(more);
    }
    if progress.received < size {
        let text = format!("only {} of {size} bytes came", progress.received);
        return Err(QuicError::Answer(text));
    }
    Ok(serde_json::from_slice(&trailer).ok())
}

/// A download by HTTP/3, and its status. A server that takes reports announces it in its answer.
async fn http3(
    connection: &Connection,
    uri: &Uri,
    reports: &mut Reports,
    progress: &mut Progress<'_, '_>,
) -> Result<u16, QuicError> {
    let fault = |error: &dyn std::fmt::Display| lost(connection, error);
    let transport = h3_quinn::Connection::new(connection.clone());
    let (mut driver, mut sender) = h3::client::new(transport).await.map_err(|e| fault(&e))?;
    // ends with the connection; its errors come through the request as well
    let driving = tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
    let request = http::Request::get(uri.clone())
        .header(http::header::USER_AGENT, "brimful")
        .body(())
        .map_err(|error| QuicError::Answer(error.to_string()))?;
    let mut stream = sender.send_request(request).await.map_err(|e| fault(&e))?;
    // a server may answer, and stop listening, before all of the request is there (RFC 9114 4.1)
    let _ = stream.finish().await;
    let response = stream.recv_response().await.map_err(|e| fault(&e))?;
    if response.headers().contains_key(REPORTS_HEADER) {
        reports.start(connection);
    }
    while let Some(mut data) = stream.recv_data().await.map_err(|e| fault(&e))? {
        while data.has_remaining() {
            let length = data.chunk().len();
            progress.take(data.chunk())?;
            data.advance(length);
        }
    }
    driving.abort();
    Ok(response.status().as_u16())
}

impl Target {
    /// Host, port and protocol.
    fn server(&self) -> Result<(String, u16, &'static [u8]), QuicError> {
        let fault = |target: &dyn std::fmt::Display, problem: &str| QuicError::Target {
            target: target.to_string(),
            problem: problem.to_owned(),
        };
        let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
        match self {
            Self::Plain { server, .. } => {
                let expected = "expected HOST:PORT";
                let split = server.rsplit_once(':');
                let (host, port) = split.ok_or_else(|| fault(server, expected))?;
                let port = port.parse().map_err(|_| fault(server, expected))?;
                match host.is_empty() {
                    true => Err(fault(server, expected)),
                    false => Ok((bare(host), port, ALPN)),
                }
            }
            Self::Http(uri) => match (uri.scheme_str(), uri.host()) {
                (Some("https"), Some(host)) => {
                    Ok((bare(host), uri.port_u16().unwrap_or(HTTPS), H3))
                }
                _ => Err(fault(uri, "expected https://HOST[:PORT]/PATH")),
            },
        }
    }
}

/// A URL, or `HOST:PORT` for 20 MB by the plain protocol.
impl FromStr for Target {
    type Err = QuicError;
    fn from_str(text: &str) -> Result<Self, QuicError> {
        let target = match text.contains("://") {
            true => {
                let uri: Uri = text.parse().map_err(|error| QuicError::Target {
                    target: text.to_owned(),
                    problem: format!("{error}"),
                })?;
                Self::Http(uri)
            }
            false => Self::Plain {
                server: text.to_owned(),
                size: Bytes::new(20_000_000),
                rate: None,
            },
        };
        target.server()?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_urls_or_hosts_with_a_port() {
        let server = |text: &str| text.parse::<Target>().map(|t| t.server().expect("checked"));
        let of = |host: &str, port, protocol: &'static [u8]| (host.to_owned(), port, protocol);
        assert_eq!(
            server("https://a.example/x?y").ok(),
            Some(of("a.example", 443, H3))
        );
        assert_eq!(
            server("https://[::1]:4433/").ok(),
            Some(of("::1", 4433, H3))
        );
        assert_eq!(
            server("10.0.0.1:4433").ok(),
            Some(of("10.0.0.1", 4433, ALPN))
        );
        assert_eq!(server("[::1]:4433").ok(), Some(of("::1", 4433, ALPN)));
        for bad in [
            "",
            "host",
            "host:",
            ":1",
            "host:99999",
            "http://a/",
            "ftp://a/",
            "https://",
        ] {
            assert!(server(bad).is_err(), "{bad}");
        }
    }
}
