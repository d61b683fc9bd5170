//! Radio reports from a Unix socket, until it is interrupted.

use crate::failure::Failure;
use anyhow::anyhow;
use rnis::RadioReport;
use rnis::codec::{MAX_ENCODED_BYTES, decode_json};
use std::io::{BufRead, BufReader, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// By Ctrl-C, or because the time was over.
    Asked,
    /// The other side closed the socket.
    Closed,
}

/// What reading came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub(super) end: End,
    /// Lines that were no radio reports.
    pub(super) refused: u64,
}

/// Hands every report of a socket to `take`, with its line and whether more waits already, until
/// Ctrl-C, SIGTERM, or the end of `time`.
pub(super) fn follow(
    socket: &Path,
    time: Option<units::Duration>,
    mut take: impl FnMut(&RadioReport, &[u8], bool) -> Result<(), Failure>,
) -> Result<Followed, Failure> {
    let failed = |error: std::io::Error| {
        let place = socket.display();
        Failure::Run(anyhow!(
            "{place}: {error}; does a service or a lab run that has this socket?"
        ))
    };
    let stream = UnixStream::connect(socket).map_err(failed)?;
    let asked = Arc::new(AtomicBool::new(false));
    let stop = stopper(&stream, &asked).map_err(failed)?;
    // where it cannot be set, Ctrl-C ends the command as it ends others
    let _ = ctrlc::set_handler(stop);
    if let Some(time) = time {
        let stop = stopper(&stream, &asked).map_err(failed)?;
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
            let end = match asked.load(Ordering::Relaxed) {
                true => End::Asked,
                false => End::Closed,
            };
            return Ok(Followed { end, refused });
        } else if std::mem::take(&mut passing) || line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            match decode_json(&line) {
                Ok(report) => take(&report, &line, !reader.buffer().is_empty())?,
                Err(_) => refused += 1,
            }
        }
    }
}

/// What ends the reading of a stream.
fn stopper(
    stream: &UnixStream,
    asked: &Arc<AtomicBool>,
) -> std::io::Result<impl Fn() + Send + 'static> {
    let stream = stream.try_clone()?;
    let asked = Arc::clone(asked);
    Ok(move || {
        asked.store(true, Ordering::Relaxed);
        // it may be closed already
        let _ = stream.shutdown(Shutdown::Both);
    })
}
