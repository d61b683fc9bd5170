//! Makes controllers for quinn.

use crate::adapter::{Adapter, Parts};
use crate::{MarkFeed, Monitor, RadioFeed, ReportFeed};
use cc::meld::{Meld, Variant};
use cc::{BuildConfig, CongestionControl, Trace, UnknownController};
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::{Bytes, Duration, Instant, Streams};

/// RFC 9002 7.2: the initial window is of so many datagrams ...
const INITIAL_WINDOW_DATAGRAMS: u64 = 10;
/// ... while that is not more than this, or two datagrams.
const INITIAL_WINDOW_LIMIT: Bytes = Bytes::new(14_720);

/// Where decisions go.
pub type TraceSink = Arc<Mutex<dyn Trace + Send>>;

type Build = dyn Fn(BuildConfig) -> Box<dyn CongestionControl> + Send + Sync;

/// The origin of a connection's time: [`Instant::ZERO`] in quinn's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(std::time::Instant);

impl Epoch {
    /// That moment is zero.
    pub fn new(zero: std::time::Instant) -> Self {
        Self(zero)
    }

    /// A moment of quinn's clock; zero if it was before the epoch.
    pub fn at(self, moment: std::time::Instant) -> Instant {
        Instant::from_nanos(nanos(moment.saturating_duration_since(self.0)))
    }
}

/// Whole nanoseconds, at most 584 years of them.
fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn span(span: std::time::Duration) -> Duration {
    Duration::from_nanos(nanos(span))
}

/// RFC 9002 7.2.
pub(crate) fn initial_window(mtu: Bytes) -> Bytes {
    (mtu * INITIAL_WINDOW_DATAGRAMS).min(INITIAL_WINDOW_LIMIT.max(mtu * 2))
}

/// Makes a controller for each path of a connection.
///
/// With a [`RadioFeed`], a [`ReportFeed`], a [`MarkFeed`] or a [`Monitor`] it is of one connection: a server gives each its own by
/// `quinn::Incoming::accept_with`. Without them it may serve any number.
///
/// Amounts are of datagrams' payload: QUIC's headers and authentication tags count, those of UDP and
/// IP do not. `mss` is the path's MTU as it is known when the path is made
/// ([`quinn_proto::TransportConfig::initial_mtu`]).
pub struct AdapterFactory {
    epoch: Epoch,
    build: Box<Build>,
    feed: Option<RadioFeed>,
    reports: Option<ReportFeed>,
    marks: Option<MarkFeed>,
    trace: Option<TraceSink>,
    monitor: Option<Monitor>,
    streams: Streams,
    built: AtomicU64,
}

impl AdapterFactory {
    /// Controllers that `build` makes, with times counted from `epoch`.
    pub fn new(
        epoch: std::time::Instant,
        build: impl Fn(BuildConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        Self {
            epoch: Epoch::new(epoch),
            build: Box::new(build),
            feed: None,
            reports: None,
            marks: None,
            trace: None,
            monitor: None,
            streams: Streams::new(0),
            built: AtomicU64::new(0),
        }
    }

    /// Controllers of that name (see [`cc::build`]), with MELD round them or without.
    ///
    /// # Errors
    /// [`UnknownController`] if no controller has that name.
    pub fn named(
        epoch: std::time::Instant,
        name: &str,
        meld: Option<Variant>,
    ) -> Result<Self, UnknownController> {
        let config = meld.map(|variant| cc::meld::Config::new(variant, Bytes::ZERO));
        Self::named_with(epoch, name, config)
    }

    /// The same with MELD set up otherwise. Its `pdu` is replaced by the path's MTU.
    ///
    /// # Errors
    /// [`UnknownController`] if no controller has that name.
    pub fn named_with(
        epoch: std::time::Instant,
        name: &str,
        meld: Option<cc::meld::Config>,
    ) -> Result<Self, UnknownController> {
        let probe = BuildConfig {
            mss: Bytes::new(1),
            initial_window: Bytes::new(1),
        };
        cc::build(name, probe)?;
        let name = name.to_owned();
        let build = move |config| cc::build(&name, config).expect("the name was found before");
        Ok(Self::melded(epoch, build, meld))
    }

    /// Controllers that `build` makes, with MELD round them or without. Its `pdu` is replaced by the
    /// path's MTU.
    pub fn melded(
        epoch: std::time::Instant,
        build: impl Fn(BuildConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
        meld: Option<cc::meld::Config>,
    ) -> Self {
        Self::new(epoch, move |config| {
            let inner = build(config);
            match meld {
                Some(meld) => Box::new(Meld::new(
                    inner,
                    cc::meld::Config {
                        pdu: config.mss,
                        ..meld
                    },
                )),
                None => inner,
            }
        })
    }

    /// With radio states of the UE behind the connection.
    #[must_use]
    pub fn with_feed(mut self, feed: RadioFeed) -> Self {
        self.feed = Some(feed);
        self
    }

    /// With bandwidth reports of the client.
    #[must_use]
    pub fn with_reports(mut self, reports: ReportFeed) -> Self {
        self.reports = Some(reports);
        self
    }

    /// With counts of marked packets, which quinn does not report to controllers.
    #[must_use]
    pub fn with_marks(mut self, marks: MarkFeed) -> Self {
        self.marks = Some(marks);
        self
    }

    /// With a place where decisions go.
    #[must_use]
    pub fn with_trace(mut self, trace: TraceSink) -> Self {
        self.trace = Some(trace);
        self
    }

    /// With a monitor.
    #[must_use]
    pub fn with_monitor(mut self, monitor: Monitor) -> Self {
        self.monitor = Some(monitor);
        self
    }

    /// With another seed than 0 of the controllers' random streams. Two factories of the same seed
    /// make controllers that decide alike.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.streams = Streams::new(seed);
        self
    }

    /// The origin of time of its controllers.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl core::fmt::Debug for AdapterFactory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AdapterFactory")
            .field("epoch", &self.epoch)
            .field("built", &self.built)
            .finish_non_exhaustive()
    }
}

impl ControllerFactory for AdapterFactory {
    fn build(self: Arc<Self>, _now: std::time::Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mtu = Bytes::new(u64::from(current_mtu));
        let built = self.built.fetch_add(1, Ordering::Relaxed);
        if built > 0
            && let Some(feed) = &self.feed
        {
            // another path of the same connection: whose radio is behind it is to be learned
            feed.unbind();
        }
        if let Some(monitor) = &self.monitor {
            monitor.on_path();
        }
        let controller = (self.build)(BuildConfig {
            mss: mtu,
            initial_window: initial_window(mtu),
        });
        Box::new(Adapter::new(
            controller,
            Parts {
                epoch: self.epoch,
                mtu,
                rng: self.streams.stream(&format!("path {built}")),
                feed: self.feed.clone(),
                reports: self.reports.clone(),
                marks: self.marks.clone(),
                trace: self.trace.clone(),
                monitor: self.monitor.clone(),
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9002_7_2_initial_window() {
        assert_eq!(initial_window(Bytes::new(1_200)), Bytes::new(12_000));
        assert_eq!(initial_window(Bytes::new(1_500)), Bytes::new(14_720));
        assert_eq!(initial_window(Bytes::new(9_000)), Bytes::new(18_000));
    }
}
