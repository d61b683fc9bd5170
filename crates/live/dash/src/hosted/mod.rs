//! The dashboard inside a daemon: a thread that measures while there is a viewer, and the page below
//! `/dash/` of the HTTP server that the daemon has anyway.
//!
//! ```text
//!   Settings --> Prepared --start--> Hosted
//!   the daemon's counters --measure--> Sample --> Feed --> Mount <--offer-- the daemon's server
//!   radio reports --> RadioMeter --------^
//! ```
//!
//! Without viewers, nothing is measured.

mod prepared;
mod radio;
mod sample;
mod settings;

pub use prepared::Prepared;
pub use radio::RadioMeter;
pub use sample::Sample;
pub use settings::Settings;

use crate::DashError;
use crate::access::Access;
use crate::dash::Dash;
use crate::feed::Feed;
use crate::http::Mount;
use crate::http::system;
use daemon::metrics::ConnectionTaker;
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between checks whether there is still a dashboard, without viewers.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Measuring takes at most one part in so many of the time; a slower measurement is made less often.
const PART: u32 = 10;

/// The dashboard of a daemon. When it is dropped, viewers lose their connections: they try
/// again, and find the daemon's successor if there is one.
#[derive(Debug)]
pub struct Hosted {
    mount: Mount,
    has_ended: Arc<AtomicBool>,
}

impl Hosted {
    /// Shows what `measure` puts into samples, `rate` times a second while there is a viewer. What
    /// it does not name has ended.
    ///
    /// # Errors
    /// [`DashError::System`] if there are no threads to be had.
    pub fn start(
        feed: Feed,
        access: Access,
        rate: f64,
        mut measure: impl FnMut(&mut Sample) + Send + 'static,
    ) -> Result<Self, DashError> {
        let mount = Mount::start(&Dash::live(feed.clone(), access))?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let (shown, ended) = (feed, Arc::clone(&has_ended));
        let period =
            Duration::from_secs_f64(1.0 / rate.clamp(Settings::MIN_RATE, Settings::MAX_RATE));
        let work = move || {
            let began = Instant::now();
            let mut sample = Sample::default();
            while !ended.load(Ordering::Relaxed) {
                if shown.viewers() == 0 {
                    sample.clear();
                    shown.wait_for_viewer(POLL_INTERVAL);
                    continue;
                }
                let at = Instant::now();
                sample.begin(at);
                measure(&mut sample);
                sample.send(&shown, at.duration_since(began).as_secs_f64());
                let worked = at.elapsed();
                let pause = period.saturating_sub(worked);
                std::thread::sleep(pause.max(worked * (PART - 1)));
            }
        };
        let thread = std::thread::Builder::new().name("dash-sampler".to_owned());
        thread.spawn(work).map_err(system("start a thread"))?;
        Ok(Self { mount, has_ended })
    }

    /// Takes a connection that is for the dashboard, as [`Mount::offer`].
    pub fn offer(&self, stream: TcpStream, timeout: Duration) -> Option<TcpStream> {
        self.mount.offer(stream, timeout)
    }

    /// As [`Hosted::offer`], of a connection on a tokio runtime.
    pub async fn offer_async(
        &self,
        stream: tokio::net::TcpStream,
        timeout: Duration,
    ) -> Option<tokio::net::TcpStream> {
        self.mount.offer_async(stream, timeout).await
    }
}

impl ConnectionTaker for Hosted {
    fn path(&self) -> &'static str {
        "/dash/"
    }

    fn offer(
        &self,
        stream: tokio::net::TcpStream,
        timeout: Duration,
    ) -> Pin<Box<dyn Future<Output = Option<tokio::net::TcpStream>> + Send + '_>> {
        Box::pin(self.offer_async(stream, timeout))
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
