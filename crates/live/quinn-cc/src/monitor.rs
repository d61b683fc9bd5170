//! What a connection's controller sees and does, for readers in another thread.

use cc::RateView;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Duration};

/// Classes of round-trip times in each octave of microseconds: they are at most 6 % wide.
const CLASSES_PER_OCTAVE: u32 = 16;
/// Octaves, to 67 s.
const OCTAVES: u32 = 26;
const CLASSES: usize = (OCTAVES * CLASSES_PER_OCTAVE) as usize;

/// Shows the controller's view of a connection: a handle, cheap to clone. A connection that has
/// moved to another address goes on with the same counts.
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Cells>);

#[derive(Debug)]
struct Classes([AtomicU32; CLASSES]);

impl Default for Classes {
    fn default() -> Self {
        Self(core::array::from_fn(|_| AtomicU32::new(0)))
    }
}

/// The class of a round-trip time: the octave and the four bits below the first.
fn class(rtt: Duration) -> usize {
    let micros = rtt.as_micros().max(CLASSES_PER_OCTAVE.into());
    let octave = micros.ilog2();
    let below = (micros >> (octave - CLASSES_PER_OCTAVE.ilog2())) as u32 % CLASSES_PER_OCTAVE;
    let index = (octave * CLASSES_PER_OCTAVE + below) as usize;
    index.min(CLASSES - 1)
}

/// The middle of a class.
fn middle(class: usize) -> Duration {
    let (octave, below) = (
        class as u32 / CLASSES_PER_OCTAVE,
        class as u64 % u64::from(CLASSES_PER_OCTAVE),
    );
    let nanos = 1_000 << octave;
    let width = nanos / u64::from(CLASSES_PER_OCTAVE);
    Duration::from_nanos(nanos + width * below + width / 2)
}

#[derive(Debug, Default)]
struct Cells {
    rtt_sum: AtomicU64,
    rtt_classes: Classes,
    cwnd: AtomicU64,
    bytes_in_flight: AtomicU64,
    latest_rtt: AtomicU64,
    srtt: AtomicU64,
    min_rtt: AtomicU64,
    rtt_samples: AtomicU64,
    paths: AtomicU64,
    congestion_events: AtomicU64,
    persistent_congestion: AtomicU64,
    ecn_events: AtomicU64,
    silent_losses: AtomicU64,
    silent_bytes: AtomicU64,
    lost_bytes: AtomicU64,
    radio_states: AtomicU64,
    rate_view: Mutex<Option<RateView>>,
}

/// The state of the path as its last acknowledgement left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSample {
    /// The window.
    pub cwnd: Bytes,
    /// In flight.
    pub bytes_in_flight: Bytes,
    /// The last sample of the round-trip time; zero before the first.
    pub latest_rtt: Duration,
    /// Smoothed (RFC 9002 5.3).
    pub srtt: Duration,
    /// The minimum.
    pub min_rtt: Duration,
    /// Samples so far: shows whether [`Self::latest_rtt`] is new.
    pub rtt_samples: u64,
}

/// The round-trip times of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSummary {
    /// Samples.
    pub samples: u64,
    /// The minimum.
    pub min: Duration,
    /// The mean of all samples.
    pub mean: Duration,
    /// 95 % of the samples are not longer, to 3 %.
    pub p95: Duration,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Paths that a controller was made for: 1 and one for each new address of the peer.
    pub paths: u64,
    /// Episodes that the controller was notified of: [`Self::ecn_events`] and
    /// [`Self::persistent_congestion`] among them.
    pub congestion_events: u64,
    /// Times of persistent congestion (RFC 9002 7.6).
    pub persistent_congestion: u64,
    /// Episodes that a mark began.
    pub ecn_events: u64,
    /// Times that losses were repeated silently.
    pub silent_losses: u64,
    /// Bytes repeated silently.
    pub silent_bytes: Bytes,
    /// Bytes found lost, silently or not.
    pub lost_bytes: Bytes,
    /// Radio states that reached the controller.
    pub radio_states: u64,
}

impl Monitor {
    /// A monitor that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The path, as the last acknowledgement left it. Read while the connection goes on, the values
    /// may be of two consecutive acknowledgements.
    pub fn path(&self) -> PathSample {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let cells = &*self.0;
        PathSample {
            cwnd: Bytes::new(get(&cells.cwnd)),
            bytes_in_flight: Bytes::new(get(&cells.bytes_in_flight)),
            latest_rtt: Duration::from_nanos(get(&cells.latest_rtt)),
            srtt: Duration::from_nanos(get(&cells.srtt)),
            min_rtt: Duration::from_nanos(get(&cells.min_rtt)),
            rtt_samples: get(&cells.rtt_samples),
        }
    }

    /// The round-trip times so far; none before the first.
    pub fn rtts(&self) -> Option<RttSummary> {
        let cells = &*self.0;
        let samples = cells.rtt_samples.load(Ordering::Relaxed);
        if samples == 0 {
            return None;
        }
        let counts = || {
            let counts = cells.rtt_classes.0.iter();
            counts.map(|count| u64::from(count.load(Ordering::Relaxed)))
        };
        let below = (counts().sum::<u64>() * 95).div_ceil(100);
        let mut seen = 0;
        let p95 = counts().position(|count| {
            seen += count;
            seen >= below
        });
        Some(RttSummary {
            samples,
            min: Duration::from_nanos(cells.min_rtt.load(Ordering::Relaxed)),
            mean: Duration::from_nanos(cells.rtt_sum.load(Ordering::Relaxed) / samples),
            p95: middle(p95.unwrap_or(CLASSES - 1)),
        })
    }

    /// What has happened so far.
    pub fn totals(&self) -> Totals {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let cells = &*self.0;
        Totals {
            paths: get(&cells.paths),
            congestion_events: get(&cells.congestion_events),
            persistent_congestion: get(&cells.persistent_congestion),
            ecn_events: get(&cells.ecn_events),
            silent_losses: get(&cells.silent_losses),
            silent_bytes: Bytes::new(get(&cells.silent_bytes)),
            lost_bytes: Bytes::new(get(&cells.lost_bytes)),
            radio_states: get(&cells.radio_states),
        }
    }

    /// What a controller that paces by reports of its peer makes of them; none of any other.
    pub fn rate_view(&self) -> Option<RateView> {
        let view = self.0.rate_view.lock();
        *view.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn on_rate_view(&self, seen: RateView) {
        let view = self.0.rate_view.lock();
        *view.unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    pub(crate) fn on_path(&self) {
        self.0.paths.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn on_radio(&self) {
        self.0.radio_states.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn on_ack(&self, sample: &PathSample, has_rtt: bool) {
        let set = |cell: &AtomicU64, value| cell.store(value, Ordering::Relaxed);
        let cells = &*self.0;
        set(&cells.cwnd, sample.cwnd.get());
        set(&cells.bytes_in_flight, sample.bytes_in_flight.get());
        set(&cells.srtt, sample.srtt.as_nanos());
        if has_rtt {
            set(&cells.latest_rtt, sample.latest_rtt.as_nanos());
            set(&cells.min_rtt, sample.min_rtt.as_nanos());
            cells
                .rtt_sum
                .fetch_add(sample.latest_rtt.as_nanos(), Ordering::Relaxed);
            cells.rtt_classes.0[class(sample.latest_rtt)].fetch_add(1, Ordering::Relaxed);
            cells.rtt_samples.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn on_window(&self, cwnd: Bytes) {
        self.0.cwnd.store(cwnd.get(), Ordering::Relaxed);
    }

    pub(crate) fn on_lost(&self, bytes: Bytes) {
        self.0.lost_bytes.fetch_add(bytes.get(), Ordering::Relaxed);
    }

    pub(crate) fn on_silent(&self, bytes: Bytes) {
        self.0.silent_losses.fetch_add(1, Ordering::Relaxed);
        self.0
            .silent_bytes
            .fetch_add(bytes.get(), Ordering::Relaxed);
    }

    pub(crate) fn on_congestion(&self, kind: cc::LossKind) {
        self.0.congestion_events.fetch_add(1, Ordering::Relaxed);
        let own = match kind {
            cc::LossKind::Fast => return,
            cc::LossKind::Timeout => &self.0.persistent_congestion,
            cc::LossKind::Ecn => &self.0.ecn_events,
        };
        own.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_is_near_its_middle() {
        for micros in [16, 17, 100, 999, 55_640, 1_000_000, 60_000_000] {
            let rtt = Duration::from_micros(micros);
            let found = middle(class(rtt));
            let off = found.ratio(rtt);
            assert!((0.965..=1.035).contains(&off), "{rtt} became {found}");
        }
        assert_eq!(class(Duration::ZERO), class(Duration::from_micros(16)));
        assert_eq!(class(Duration::MAX), CLASSES - 1);
    }

    #[test]
    fn the_summary_is_of_all_samples() {
        let monitor = Monitor::new();
        assert_eq!(monitor.rtts(), None);
        for ms in 1..=100 {
            let rtt = Duration::from_millis(ms);
            let sample = PathSample {
                cwnd: Bytes::new(1),
                bytes_in_flight: Bytes::ZERO,
                latest_rtt: rtt,
                srtt: rtt,
                min_rtt: Duration::from_millis(1),
                rtt_samples: ms,
            };
            monitor.on_ack(&sample, true);
        }
        let rtts = monitor.rtts().expect("samples");
        assert_eq!((rtts.samples, rtts.min), (100, Duration::from_millis(1)));
        assert_eq!(rtts.mean, Duration::from_micros(50_500));
        assert!((0.96..=1.04).contains(&rtts.p95.ratio(Duration::from_millis(95))));
    }
}
