//! A small HTTP client: callbacks, polls, the MEC platform. One connection, used again while it
//! lasts; no redirects, no proxies, bounded answers, a limit on time.

use crate::tls;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// A stream, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Longest time for one request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Which addresses may be connected to.
pub(crate) type Permit = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Connects to URIs.
#[derive(Clone)]
pub(crate) struct Client {
    tls: TlsConnector,
    permit: Permit,
    largest: usize,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) uri: &'a Uri,
    pub(crate) token: Option<&'a str>,
    pub(crate) json: Option<Bytes>,
}

impl Client {
    /// With the authorities of a file, or the system's; answers are read up to `largest` bytes.
    pub(crate) fn new(ca_file: Option<&Path>, permit: Permit, largest: usize) -> io::Result<Self> {
        Ok(Self {
            tls: tls::connector(ca_file)?,
            permit,
            largest,
        })
    }

    /// To any address.
    pub(crate) fn anywhere(ca_file: Option<&Path>, largest: usize) -> io::Result<Self> {
        Self::new(ca_file, Arc::new(|_| true), largest)
    }

    /// A stream to the host of a URI, encrypted if its scheme requires it.
    pub(crate) async fn connect(&self, uri: &Uri) -> io::Result<Box<dyn Stream>> {
        let host = uri
            .host()
            .ok_or_else(|| io::Error::other("a URI without a host"))?;
        let encrypted = matches!(uri.scheme_str(), Some("https" | "wss"));
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = lookup_host((bare, port)).await?.collect();
        let permitted: Vec<SocketAddr> = addresses
            .into_iter()
            .filter(|address| (self.permit)(address.ip()))
            .collect();
        if permitted.is_empty() {
            return Err(io::Error::other(
                "its address is not in a permitted network",
            ));
        }
        let stream = TcpStream::connect(permitted.as_slice()).await?;
        stream.set_nodelay(true)?;
        if !encrypted {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(self.tls.connect(name, stream).await?))
    }
}

/// Requests to one server, over one connection while it lasts.
pub(crate) struct Session {
    client: Client,
    sender: Option<SendRequest<Full<Bytes>>>,
    authority: Option<String>,
}

impl Session {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            sender: None,
            authority: None,
        }
    }

    /// Gives up the connection.
    pub(crate) fn into_client(self) -> Client {
        self.client
    }

    /// Sends a request, and reads the answer.
    pub(crate) async fn call(&mut self, call: Call<'_>) -> io::Result<Answer> {
        let answer = timeout(REQUEST_TIMEOUT, self.call_once(call)).await;
        let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if answer.is_err() {
            self.sender = None;
        }
        answer
    }

    async fn call_once(&mut self, call: Call<'_>) -> io::Result<Answer> {
        let authority = call.uri.authority().map(ToString::to_string);
        let open = self
            .sender
            .as_ref()
            .is_some_and(|sender| !sender.is_closed());
        if !open || self.authority != authority {
            self.sender = Some(self.open(call.uri).await?);
            self.authority.clone_from(&authority);
        }
        let Some(sender) = &mut self.sender else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let path = call.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder()
            .method(call.method)
            .uri(path)
            .header(HOST, authority.unwrap_or_default())
            .header("accept", "application/json");
        if let Some(token) = call.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if call.json.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = Full::new(call.json.unwrap_or_default());
        let request = request.body(body).map_err(io::Error::other)?;
        sender.ready().await.map_err(io::Error::other)?;
        let response = sender
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        let location = response.headers().get("location");
        let location = location.and_then(|l| l.to_str().ok()).map(str::to_owned);
        let status = response.status();
        let body = Limited::new(response.into_body(), self.client.largest);
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Answer {
            status,
            location,
            body,
        })
    }

    async fn open(&self, uri: &Uri) -> io::Result<SendRequest<Full<Bytes>>> {
        let stream = self.client.connect(uri).await?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        // its errors come back through the sender
        tokio::spawn(connection);
        Ok(sender)
    }
}
