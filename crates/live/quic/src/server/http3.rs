//! HTTP/3: files below a folder, and `/bytes/N` for trials.

use super::budget::{HEADS, MAX_HEAD_BYTES};
use super::files::Refusal;
use super::frames::{Bounded, Http3};
use super::paths::{self, Named};
use super::pieces::{FilePart, Pieces};
use super::session::Session;
use crate::content;
use crate::protocol::REPORTS_HEADER;
use bytes::Bytes;
use h3::error::StreamError;
use h3::server::{RequestResolver, RequestStream};
use h3_quinn::BidiStream;
use http::{Method, Request, Response, StatusCode, header};
use quinn::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// For the rest of a request that is answered already.
const TIMEOUT: Duration = Duration::from_secs(1);

/// For the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

type Stream = RequestStream<Bounded<BidiStream<Bytes>>, Bytes>;

/// What the requests of a connection share.
struct Shares {
    heads: Semaphore,
    pieces: Pieces,
}

/// Serves requests until the connection ends.
pub(super) async fn serve(connection: Connection, session: Arc<Session>) {
    let remote = connection.remote_address();
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_HEAD_BYTES);
    let mut http = match builder.build(Http3::new(connection)).await {
        Ok(http) => http,
        Err(error) => return tracing::debug!(%remote, %error, "no HTTP/3"),
    };
    let shares = Arc::new(Shares {
        heads: Semaphore::new(HEADS),
        pieces: Pieces::new(),
    });
    loop {
        match http.accept().await {
            Ok(Some(resolver)) => {
                tokio::spawn(answer(resolver, Arc::clone(&shares), Arc::clone(&session)));
            }
            Ok(None) => return,
            Err(error) => return tracing::debug!(%remote, %error, "HTTP/3 ended"),
        }
    }
}

/// What a request is to be answered with. Few heads are kept at once, and none for long: the others wait unread. None is
/// kept beside its answer.
async fn read(
    resolver: RequestResolver<Http3, Bytes>,
    heads: &Semaphore,
    session: &Session,
) -> Option<(Answer, Stream)> {
    let _permit = heads.acquire().await.ok()?;
    let (request, stream) = resolve(resolver).await?;
    let answer = decide(&request, session).await;
    Some((answer, stream))
}

async fn resolve(resolver: RequestResolver<Http3, Bytes>) -> Option<(Request<()>, Stream)> {
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
    shares: Arc<Shares>,
    session: Arc<Session>,
) {
    let Some((answer, mut stream)) = read(resolver, &shares.heads, &session).await else {
        return;
    };
    let status = answer.status;
    let counters = &session.shared().counters;
    match respond(answer, &mut stream, &shares.pieces, &session).await {
        Ok(()) => {
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
    File(FilePart),
}

struct Answer {
    status: StatusCode,
    body: Body,
    media_type: &'static str,
    /// First, last and length of the whole.
    range: Option<(u64, u64, u64)>,
    /// The body is not requested (HEAD).
    is_head_only: bool,
}

impl Answer {
    fn nothing(status: StatusCode) -> Self {
        Self {
            status,
            body: Body::Nothing,
            media_type: "text/plain",
            range: None,
            is_head_only: false,
        }
    }

    fn length(&self) -> u64 {
        match &self.body {
            Body::Nothing => 0,
            Body::Bytes(length) => *length,
            Body::File(part) => part.left(),
        }
    }
}

async fn decide(request: &Request<()>, session: &Session) -> Answer {
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
            Some(Named::File(path)) => file(session, &path, request).await,
            None => Answer::nothing(StatusCode::NOT_FOUND),
        },
        _ => Answer::nothing(StatusCode::METHOD_NOT_ALLOWED),
    };
    Answer {
        is_head_only: *request.method() == Method::HEAD,
        ..answer
    }
}

async fn respond(
    answer: Answer,
    stream: &mut Stream,
    pieces: &Pieces,
    session: &Session,
) -> Result<(), StreamError> {
    let mut head = head(&answer);
    if session.shared().config.takes_reports() {
        let version = http::HeaderValue::from_static("1");
        head.headers_mut().insert(REPORTS_HEADER, version);
    }
    stream.send_response(head).await?;
    if !answer.is_head_only {
        send(stream, answer.body, pieces, session).await?;
    }
    stream.finish().await
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
    if matches!(answer.body, Body::File(_)) {
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
async fn file(session: &Session, path: &Path, request: &Request<()>) -> Answer {
    let shared = session.shared();
    let Some(root) = &shared.config.root else {
        return Answer::nothing(StatusCode::NOT_FOUND);
    };
    let (file, length) = match shared.files.open(root.clone(), root.join(path)).await {
        Ok(opened) => opened,
        Err(Refusal::NotFound) => return Answer::nothing(StatusCode::NOT_FOUND),
        Err(Refusal::Exhausted) => return Answer::nothing(StatusCode::SERVICE_UNAVAILABLE),
    };
    let mut answer = Answer {
        media_type: paths::media_type(path),
        ..Answer::nothing(StatusCode::OK)
    };
    let range = request.headers().get(header::RANGE);
    let range = range.and_then(|range| range.to_str().ok());
    let mut requested = (0, length);
    match range.map(|range| paths::range(range, length)) {
        Some(Err(())) => return Answer::nothing(StatusCode::RANGE_NOT_SATISFIABLE),
        Some(Ok(Some((first, last)))) => {
            requested = (first, last - first + 1);
            answer.status = StatusCode::PARTIAL_CONTENT;
            answer.range = Some((first, last, length));
        }
        Some(Ok(None)) | None => {}
    }
    let (first, length) = requested;
    answer.body = Body::File(FilePart::new(file, first, length));
    answer
}

async fn send(
    stream: &mut Stream,
    body: Body,
    pieces: &Pieces,
    session: &Session,
) -> Result<(), StreamError> {
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
        Body::File(mut part) => {
            while part.left() > 0 {
                // held until the client's windows have taken the piece
                let (_permit, size) = pieces.next(part.left());
                let Ok(piece) = part.read(size).await else {
                    // shorter than it was, or replaced: what was promised does not come
                    stream.stop_stream(h3::error::Code::H3_INTERNAL_ERROR);
                    return Ok(());
                };
                stream.send_data(piece).await?;
                session.progress();
            }
        }
    }
    Ok(())
}
