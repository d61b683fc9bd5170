//! HTTP/3: files below a folder, and `/bytes/N` for trials.

use super::budget::{HEADS, MAX_HEAD_BYTES};
use super::frames::{Bounded, Http3};
use super::is_below;
use super::paths::{self, Named};
use super::session::Session;
use crate::content;
use crate::protocol::REPORTS_HEADER;
use bytes::{Bytes, BytesMut};
use h3::error::StreamError;
use h3::server::{RequestResolver, RequestStream};
use h3_quinn::BidiStream;
use http::{Method, Request, Response, StatusCode, header};
use quinn::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::Semaphore;

/// Read of a file at once.
const CHUNK: usize = 65_536;

/// For the rest of a request that is answered already.
const TIMEOUT: Duration = Duration::from_secs(1);

/// For the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

type Stream = RequestStream<Bounded<BidiStream<Bytes>>, Bytes>;

/// Serves requests until the connection ends.
pub(super) async fn serve(connection: Connection, session: Arc<Session>) {
    let remote = connection.remote_address();
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_HEAD_BYTES);
    let mut http = match builder.build(Http3::new(connection)).await {
        Ok(http) => http,
        Err(error) => return tracing::debug!(%remote, %error, "no HTTP/3"),
    };
    let heads = Arc::new(Semaphore::new(HEADS));
    loop {
        match http.accept().await {
            Ok(Some(resolver)) => {
                tokio::spawn(answer(resolver, Arc::clone(&heads), Arc::clone(&session)));
            }
            Ok(None) => return,
            Err(error) => return tracing::debug!(%remote, %error, "HTTP/3 ended"),
        }
    }
}

/// The head of a request, of which few are kept at once, and none for long: the others wait unread.
async fn resolve(
    resolver: RequestResolver<Http3, Bytes>,
    heads: &Semaphore,
) -> Option<(Request<()>, Stream)> {
    let _permit = heads.acquire().await.ok()?;
    match tokio::time::timeout(HEAD_TIMEOUT, resolver.resolve_request()).await {
        Ok(Ok(resolved)) => Some(resolved),
        Ok(Err(error)) => {
            tracing::debug!(%error, "no request");
            None
        }
        Err(_) => {
            tracing::debug!("no request in time");
            None
        }
    }
}

async fn answer(
    resolver: RequestResolver<Http3, Bytes>,
    heads: Arc<Semaphore>,
    session: Arc<Session>,
) {
    let Some((request, mut stream)) = resolve(resolver, &heads).await else {
        return;
    };
    let counters = &session.shared().counters;
    match respond(&request, &mut stream, &session).await {
        Ok(status) => {
            counters.request(status.as_u16());
            // a request that is dropped before its end is one that the client is requested to stop
            let rest = async { while let Ok(Some(_)) = stream.recv_data().await {} };
            let _ = tokio::time::timeout(TIMEOUT, rest).await;
        }
        Err(error) => {
            counters.request(499);
            tracing::debug!(%error, "a client has gone");
        }
    }
}

/// What a request is answered with.
enum Body {
    Nothing,
    Bytes(u64),
    File { file: File, length: u64 },
}

struct Answer {
    status: StatusCode,
    body: Body,
    media_type: &'static str,
    /// First, last and length of the whole.
    range: Option<(u64, u64, u64)>,
}

impl Answer {
    fn nothing(status: StatusCode) -> Self {
        Self {
            status,
            body: Body::Nothing,
            media_type: "text/plain",
            range: None,
        }
    }

    fn length(&self) -> u64 {
        match self.body {
            Body::Nothing => 0,
            Body::Bytes(length) | Body::File { length, .. } => length,
        }
    }
}

async fn respond(
    request: &Request<()>,
    stream: &mut Stream,
    session: &Session,
) -> Result<StatusCode, StreamError> {
    let config = &session.shared().config;
    let answer = match *request.method() {
        Method::GET | Method::HEAD => match paths::named(request.uri().path()) {
            Some(Named::Bytes(size)) if size > config.largest.get() => {
                Answer::nothing(StatusCode::FORBIDDEN)
            }
            Some(Named::Bytes(size)) => Answer {
                body: Body::Bytes(size),
                media_type: "application/octet-stream",
                ..Answer::nothing(StatusCode::OK)
            },
            Some(Named::File(path)) => file(config.root.as_deref(), &path, request).await,
            None => Answer::nothing(StatusCode::NOT_FOUND),
        },
        _ => Answer::nothing(StatusCode::METHOD_NOT_ALLOWED),
    };
    let status = answer.status;
    let mut head = head(&answer);
    if config.takes_reports() {
        let version = http::HeaderValue::from_static("1");
        head.headers_mut().insert(REPORTS_HEADER, version);
    }
    stream.send_response(head).await?;
    if *request.method() != Method::HEAD {
        send(stream, answer.body, session).await?;
    }
    stream.finish().await?;
    Ok(status)
}

fn head(answer: &Answer) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, answer.length().into());
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, http::HeaderValue::from_static("GET, HEAD"));
    }
    if answer.status.is_success() {
        let media_type = http::HeaderValue::from_static(answer.media_type);
        headers.insert(header::CONTENT_TYPE, media_type);
    }
    if matches!(answer.body, Body::File { .. }) {
        let ranges = http::HeaderValue::from_static("bytes");
        headers.insert(header::ACCEPT_RANGES, ranges);
    }
    if let Some((first, last, whole)) = answer.range {
        let range = format!("bytes {first}-{last}/{whole}");
        if let Ok(range) = range.parse() {
            headers.insert(header::CONTENT_RANGE, range);
        }
    }
    response
}

/// A file below the root, or the part of it that is requested.
async fn file(root: Option<&Path>, path: &Path, request: &Request<()>) -> Answer {
    let Some(root) = root else {
        return Answer::nothing(StatusCode::NOT_FOUND);
    };
    let Some((mut file, length)) = open(root.to_owned(), root.join(path)).await else {
        return Answer::nothing(StatusCode::NOT_FOUND);
    };
    let mut answer = Answer {
        media_type: paths::media_type(path),
        ..Answer::nothing(StatusCode::OK)
    };
    let range = request.headers().get(header::RANGE);
    let range = range.and_then(|range| range.to_str().ok());
    let mut requested = length;
    match range.map(|range| paths::range(range, length)) {
        Some(Err(())) => return Answer::nothing(StatusCode::RANGE_NOT_SATISFIABLE),
        Some(Ok(Some((first, last)))) => {
            if file.seek(std::io::SeekFrom::Start(first)).await.is_err() {
                return Answer::nothing(StatusCode::INTERNAL_SERVER_ERROR);
            }
            requested = last - first + 1;
            answer.status = StatusCode::PARTIAL_CONTENT;
            answer.range = Some((first, last, length));
        }
        Some(Ok(None)) | None => {}
    }
    answer.body = Body::File {
        file,
        length: requested,
    };
    answer
}

/// A plain file that is below the folder when all links are followed.
async fn open(root: PathBuf, path: PathBuf) -> Option<(File, u64)> {
    let looked = {
        let path = path.clone();
        tokio::task::spawn_blocking(move || is_below(&path, &root)).await
    };
    if !looked.unwrap_or(false) {
        return None;
    }
    let file = File::open(path).await.ok()?;
    let found = file.metadata().await.ok()?;
    found.is_file().then_some((file, found.len()))
}

async fn send(stream: &mut Stream, body: Body, session: &Session) -> Result<(), StreamError> {
    match body {
        Body::Nothing => {}
        Body::Bytes(size) => {
            let mut sent = 0;
            while sent < size {
                let chunk = content::at(sent, size - sent);
                sent += chunk.len() as u64;
                stream.send_data(chunk).await?;
                session.progress();
            }
        }
        Body::File { file, length } => {
            let mut part = file.take(length);
            let mut left = length;
            while left > 0 {
                let mut chunk = BytesMut::with_capacity(CHUNK);
                match part.read_buf(&mut chunk).await {
                    // shorter than it was: what was promised does not come
                    Ok(0) | Err(_) => {
                        stream.stop_stream(h3::error::Code::H3_INTERNAL_ERROR);
                        return Ok(());
                    }
                    Ok(read) => left -= read as u64,
                }
                stream.send_data(chunk.freeze()).await?;
                session.progress();
            }
        }
    }
    Ok(())
}
