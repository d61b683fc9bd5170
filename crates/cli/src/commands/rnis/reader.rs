//! Radio reports from a Unix socket, until it is interrupted.

use crate::failure::Failure;
use anyhow::anyhow;
use rnis::RadioReport;
use rnis::codec::{MAX_ENCODED_BYTES, decode_json};
use rnis::event::RadioEvent;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// By Ctrl-C, or because the time was over.
    Requested,
    /// The other side closed the socket.
    Closed,
}

/// What reading came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) end: End,
    /// Lines that were no radio reports.
    pub(crate) refused: u64,
}

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Reports.
    Reports,
    /// Reports and events.
    All,
}

/// Hands every report of a socket to `take`, with its line and whether more waits already, until
/// Ctrl-C, SIGTERM, or the end of `time`. An event is a line without a report.
pub(crate) fn follow(
    socket: &Path,
    time: Option<units::Duration>,
    content: Content,
    mut take: impl FnMut(Option<&RadioReport>, &[u8], bool) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    let failed = |error: std::io::Error| {
        let place = socket.display();
        Failure::Run(anyhow!(
            "{place}: {error}; does a service or a lab run that has this socket?"
        ))
    };
    let stream = UnixStream::connect(socket).map_err(failed)?;
    if content == Content::All {
        // a lab's socket has no events, and does not read; one that is closed already is read to its end
        let _ = (&stream).write_all(b"events\n");
    }
    let requested = Arc::new(AtomicBool::new(false));
    let stop = stopper(&stream, &requested).map_err(failed)?;
    // where it cannot be set, Ctrl-C ends the command as it ends others
    let _ = ctrlc::set_handler(stop);
    if let Some(time) = time {
        let stop = stopper(&stream, &requested).map_err(failed)?;
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_nanos(time.as_nanos()));
            stop();
        });
    }
    let mut reader = BufReader::new(stream);
    let mut refused = 0;
    let mut line = Vec::new();
    let mut passing = false;
    loop {
        line.clear();
        let longest = MAX_ENCODED_BYTES as u64 + 1;
        let read = (&mut reader).take(longest).read_until(b'\n', &mut line);
        let ended = match read {
            Ok(_) => line.pop_if(|last| *last == b'\n').is_none(),
            // a socket that was shut down by its other side in the middle of a line
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => true,
            Err(error) => return Err(failed(error)),
        };
        if ended && line.len() > MAX_ENCODED_BYTES {
            // the rest of a line that no report can be
            refused += u64::from(!passing);
            passing = true;
        } else if ended {
            let end = match requested.load(Ordering::Relaxed) {
                true => End::Requested,
                false => End::Closed,
            };
            return Ok(Followed { end, refused });
        } else if std::mem::take(&mut passing) || line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            match decode_json(&line) {
                Ok(report) => take(Some(&report), &line, !reader.buffer().is_empty())?,
                Err(_) if content == Content::All && RadioEvent::from_json(&line).is_ok() => {
                    take(None, &line, !reader.buffer().is_empty())?;
                }
                Err(_) => refused += 1,
            }
        }
    }
}

/// What ends the reading of a stream.
fn stopper(
    stream: &UnixStream,
    requested: &Arc<AtomicBool>,
) -> std::io::Result<impl Fn() + Send + 'static> {
    let stream = stream.try_clone()?;
    let requested = Arc::clone(requested);
    Ok(move || {
        requested.store(true, Ordering::Relaxed);
        // it may be closed already
        let _ = stream.shutdown(Shutdown::Both);
    })
}
