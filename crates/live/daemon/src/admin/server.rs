//! The daemon's end of the admin socket.

use crate::seats::Seats;
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

/// Name of the threads that answer requests. A panic in one ends its request only: a program that aborts at
/// panics excludes these threads.
pub const THREAD: &str = "admin-request";
/// The longest request, bytes.
pub const MAX_REQUEST_BYTES: u64 = 4_096;

/// A request or an answer that takes longer is dropped.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Connections served concurrently; more are closed.
const MAX_CONNECTIONS: usize = 8;
/// After an error of accept, before the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until the process ends, each request on a thread of its own. `answer` gets the line without its end,
/// any bytes, and the stream to answer on.
pub fn serve<A>(listener: &UnixListener, answer: A)
where
    A: Fn(&[u8], &mut UnixStream) -> io::Result<()> + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    let places = Seats::new(MAX_CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(RETRY_INTERVAL);
            continue;
        };
        let Some(place) = places.take() else {
            continue;
        };
        let answer = Arc::clone(&answer);
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let spawned = thread.spawn(move || {
            let _place = place;
            // the client may have gone
            let _ = one(stream, &*answer);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "a request at the admin socket is not answered");
        }
    }
}

fn one(
    mut stream: UnixStream,
    answer: &dyn Fn(&[u8], &mut UnixStream) -> io::Result<()>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut line = Vec::new();
    BufReader::new((&mut stream).take(MAX_REQUEST_BYTES)).read_until(b'\n', &mut line)?;
    line.pop_if(|last| *last == b'\n');
    answer(&line, &mut stream)
}

/// Answers with a line.
///
/// # Errors
/// A value that is no JSON, and those of the stream.
pub fn write_json(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::super::{ClientError, MODE, request};
    use super::*;
    use crate::socket::bind;
    use serde_json::{Value, json};
    use std::path::Path;

    /// Answers with the length of the request; `x` is a request whose code panics, `no` one without JSON.
    fn start(path: &Path) {
        let listener = bind(path, MODE).expect("a socket");
        std::thread::spawn(move || {
            serve(&listener, |line, stream| match line {
                b"\"x\"" => panic!("a request that cannot be answered"),
                b"\"no\"" => stream.write_all(b"no\n"),
                line => write_json(stream, &json!({ "length": line.len() })),
            });
        });
    }

    #[test]
    fn requests_are_answered_and_one_that_panics_ends_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let error = request(&path, &Value::Null).expect_err("no file");
        assert!(matches!(error, ClientError::Connect(_)), "{error}");
        assert!(error.to_string().contains("is it running"), "{error}");
        start(&path);
        let length = |query: Value| request(&path, &query).map(|answer| answer["length"].clone());
        assert_eq!(length(json!("abc")).expect("an answer"), 5);
        // more than there are places: each is given back
        for _ in 0..2 * MAX_CONNECTIONS {
            assert!(length(json!("x")).is_err());
        }
        testing::wait_until("a place is free", || length(json!("abc")).is_ok());
        let error = length(json!("no")).expect_err("no JSON");
        assert!(matches!(error, ClientError::NoJson(_)), "{error}");
        let long = "a".repeat(2 * MAX_REQUEST_BYTES as usize);
        let cut = length(json!(long));
        // what was sent beyond the longest request may reset the connection under the answer
        assert!(cut.is_err() || cut.is_ok_and(|n| n == MAX_REQUEST_BYTES));
        assert_eq!(length(json!("abc")).expect("an answer"), 5);
    }
}
