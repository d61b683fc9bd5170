//! The thread that reads what a modem reports: lines of JSON from a socket or standard input.

use crate::config::Source;
use crate::counts::Counts;
use crate::inbox::Inbox;
use daemon::{LogLimit, clock};
use edge::uplink::{ModemIntake, ModemReport};
use report_source::{Follower, Line, Lines, follow_socket};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::runtime::Builder;

/// Longest line on standard input, bytes.
const MAX_LINE_BYTES: usize = 4_096;

/// Takes lines to what they come to.
pub(crate) struct Reader {
    intake: ModemIntake,
    inbox: Arc<Inbox>,
    counts: Arc<Counts>,
    log: LogLimit,
}

impl Reader {
    pub(crate) fn new(inbox: Arc<Inbox>, counts: Arc<Counts>) -> Self {
        Self {
            intake: ModemIntake::default(),
            inbox,
            counts,
            log: LogLimit::new(),
        }
    }
}

impl Follower for Reader {
    fn up(&mut self, up: bool) {
        let was = self.counts.reports.is_connected.swap(up, Relaxed);
        if up && !was {
            // a counter of another modem, perhaps
            self.intake = ModemIntake::default();
            tracing::info!("the modem's reports come");
        }
    }

    fn message(&mut self, bytes: &[u8]) {
        let reports = &self.counts.reports;
        let report = match ModemReport::decode(bytes) {
            Ok(report) => report,
            Err(error) => {
                reports.malformed();
                if let Some(left_out) = self.log.admit(clock::now()) {
                    tracing::warn!(%error, left_out, "a line of the modem's reports does not count");
                }
                return;
            }
        };
        match self.intake.accept(clock::now(), &report) {
            Ok(status) => {
                reports.accepted(&status);
                self.inbox.leave(status);
            }
            Err(refusal) => {
                reports.refused(refusal);
                tracing::debug!(reason = refusal.name(), "a modem's report does not count");
            }
        }
    }
}

/// Starts the thread. It ends with the process.
///
/// # Errors
/// The system's.
pub(crate) fn start(source: &Source, mut reader: Reader) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("modem".to_owned());
    let source = source.clone();
    let read = move || match read(&source, &mut reader) {
        Ok(()) => tracing::warn!(%source, "the modem's reports have ended; packets pass"),
        Err(error) => tracing::error!(%source, %error, "no reports of the modem; packets pass"),
    };
    thread.spawn(read).map(drop)
}

fn read(source: &Source, reader: &mut Reader) -> io::Result<()> {
    match source {
        Source::Unix { path, users } => {
            let own = [0, rustix::process::geteuid().as_raw()];
            let users = if users.is_empty() {
                &own
            } else {
                users.as_slice()
            };
            follow_socket(path, Some(users), reader, || false)
        }
        Source::Stdin => {
            let stdin = io::stdin().as_fd().try_clone_to_owned()?;
            let runtime = Builder::new_current_thread().build()?;
            let file = tokio::fs::File::from_std(stdin.into());
            reader.up(true);
            let ended = runtime.block_on(lines_of(file, reader));
            reader.up(false);
            ended
        }
    }
}

async fn lines_of(file: tokio::fs::File, reader: &mut Reader) -> io::Result<()> {
    let mut lines = Lines::new(file, MAX_LINE_BYTES);
    loop {
        match lines.next().await? {
            Line::Text(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Line::Text(line) => reader.message(&line),
            Line::TooLong => reader.message(b""),
            Line::End => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::About;

    fn read_all(lines: &[&str]) -> (Arc<Inbox>, serde_json::Value) {
        let inbox = Arc::new(Inbox::new().expect("an eventfd"));
        let counts = Arc::<Counts>::default();
        let mut reader = Reader::new(Arc::clone(&inbox), Arc::clone(&counts));
        reader.up(true);
        for line in lines {
            reader.message(line.as_bytes());
        }
        let about = About {
            interface: "wwan0".to_owned(),
            source: "stdin".to_owned(),
        };
        let status = counts.status(&about, clock::now(), |_| 0);
        (inbox, serde_json::to_value(&status).expect("JSON"))
    }

    #[test]
    fn each_line_is_a_status_or_is_counted_by_the_reason() {
        let now = clock::now().since_start().as_nanos();
        let at = |ns: u64| format!("{{\"queue_bytes\":9,\"sent_bytes\":{ns},\"at_ns\":{ns}}}");
        let (first, second) = (at(now - 6_000_000), at(now - 1_000_000));
        let future = at(now + 3_600_000_000_000);
        let lines = [&first, "{", "", &second, &first, &future, "\u{0}\u{fffd}"];
        let (inbox, status) = read_all(&lines);
        let statuses = inbox.take().statuses;
        assert_eq!(statuses.len(), 2);
        assert_eq!(statuses[1].sent.get(), 5_000_000);
        let modem = &status["modem"];
        assert_eq!(modem["accepted"], 2);
        assert_eq!(modem["is_connected"], true);
        let refused = &modem["refused"];
        assert_eq!(refused["malformed"], 3);
        assert_eq!(
            (&refused["order"], &refused["future"]),
            (&1.into(), &1.into())
        );
        assert_eq!(modem["queue_bytes"], 9);
        assert!(modem["age_s"].as_f64() >= Some(0.001));
    }
}
