//! The plain download protocol, [`crate::protocol`].

use super::session::Session;
use crate::content;
use crate::protocol::{MAX_REQUEST_BYTES, Request, RequestError};
use quinn::{Connection, RecvStream, SendStream, VarInt};
use std::sync::Arc;
use std::time::Duration;
use units::{BitRate, Bytes};

/// How much is written at once of a download with a rate: so much time's worth.
const STEP: Duration = Duration::from_millis(5);
/// For a request to come in whole.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Serves requests until the connection ends.
pub(super) async fn serve(connection: Connection, session: Arc<Session>) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(answer(
            connection.clone(),
            send,
            receive,
            Arc::clone(&session),
        ));
    }
}

async fn request(receive: &mut RecvStream) -> Result<Request, RequestError> {
    let reading = receive.read_to_end(MAX_REQUEST_BYTES);
    match tokio::time::timeout(TIMEOUT, reading).await {
        Ok(Ok(bytes)) => Request::parse(&bytes),
        Ok(Err(quinn::ReadToEndError::TooLong)) => Err(RequestError::TooLong),
        _ => Err(RequestError::Form),
    }
}

async fn answer(
    connection: Connection,
    mut send: SendStream,
    mut receive: RecvStream,
    session: Arc<Session>,
) {
    let largest = session.shared().config.largest;
    let requested = match request(&mut receive).await {
        Ok(request) if request.size > largest => Err(RequestError::TooMuch),
        other => other,
    };
    let counters = &session.shared().counters;
    match requested {
        Ok(request) => {
            let sent = download(&mut send, &request, &session).await;
            let summary = session.summary(&connection).to_string();
            let is_whole = sent.is_ok() && send.write_all(summary.as_bytes()).await.is_ok();
            counters.request(if is_whole { 200 } else { 499 });
            // a client that has gone does not mind
            let _ = send.finish();
        }
        Err(error) => {
            counters.request(400);
            tracing::debug!(remote = %connection.remote_address(), "{error}");
            let _ = send.reset(VarInt::from_u32(error.code()));
        }
    }
}

/// Writes what is requested, no faster than requested.
async fn download(
    send: &mut SendStream,
    request: &Request,
    session: &Session,
) -> Result<(), quinn::WriteError> {
    let size = request.size.get();
    let began = tokio::time::Instant::now();
    let mut sent = 0;
    while sent < size {
        let mut max = size - sent;
        if let Some(rate) = request.rate {
            let due = due(rate, began.elapsed());
            if due <= sent {
                tokio::time::sleep(STEP).await;
                continue;
            }
            max = max.min(due - sent);
        }
        let chunk = content::at(sent, max);
        sent += chunk.len() as u64;
        send.write_chunk(chunk).await?;
        session.progress();
    }
    Ok(())
}

/// What a rate has sent after this time.
fn due(rate: BitRate, elapsed: Duration) -> u64 {
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let due: Bytes = rate.bytes_in(units::Duration::from_nanos(nanos));
    due.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_allows_its_bytes_and_no_more() {
        let rate = BitRate::from_mbps(10);
        assert_eq!(due(rate, Duration::ZERO), 0);
        assert_eq!(due(rate, Duration::from_millis(400)), 500_000);
        assert_eq!(due(rate, Duration::from_nanos(799)), 0, "not a byte yet");
    }
}
