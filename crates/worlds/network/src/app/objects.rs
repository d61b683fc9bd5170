//! TCP applications: a series of objects (files, pages, transfers).
//!
//! | application | objects | connection |
//! | --- | --- | --- |
//! | bulk | one of N bytes | closed after it |
//! | continuous | one without end | never closed |
//! | web | one every T, the next waits for the one before | one for all |
//! | short | `count`, one every T, not waiting | a new one each |

use scenario::AppSpec;
use units::{BitRate, Bytes, Duration, Instant};

/// How the next object begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// On a new connection.
    OnNewConnection,
    /// On the connection of the one before.
    OnSameConnection,
}

/// A TCP application's objects.
#[derive(Clone, Debug)]
pub struct Objects {
    /// Size of each; `None` is without end.
    size: Option<Bytes>,
    /// The sender's own limit while it sends an object.
    rate: Option<BitRate>,
    /// From one object to the next.
    interval: Duration,
    /// How many; `None` is without end.
    count: Option<u32>,
    /// Each on its own connection.
    has_own_connections: bool,
    /// Objects begun.
    begun: u32,
    /// Objects complete.
    done: u32,
    /// When the next one is due, if one is left.
    due: Option<Instant>,
}

impl Objects {
    /// The objects of an application; `None` for a datagram application.
    pub fn new(app: &AppSpec, start: Instant) -> Option<Self> {
        let one = |size| Self {
            size,
            rate: None,
            interval: Duration::ZERO,
            count: Some(1),
            has_own_connections: true,
            begun: 0,
            done: 0,
            due: Some(start),
        };
        match *app {
            AppSpec::Bulk { size } => Some(one(Some(size))),
            AppSpec::Continuous => Some(one(None)),
            AppSpec::Web {
                size,
                interval,
                rate,
            } => Some(Self {
                rate,
                interval,
                count: None,
                has_own_connections: false,
                ..one(Some(size))
            }),
            AppSpec::Short {
                size,
                interval,
                count,
            } => Some(Self {
                interval,
                count: Some(count),
                ..one(Some(size))
            }),
            AppSpec::Cbr { .. } | AppSpec::Voip { .. } | AppSpec::Gaming { .. } => None,
        }
    }

    /// Size of an object; `None` is without end.
    pub fn size(&self) -> Option<Bytes> {
        self.size
    }

    /// The sender's own limit while it sends an object.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// True if the sender closes the connection after an object.
    pub fn closes_after_object(&self) -> bool {
        self.has_own_connections && self.size.is_some()
    }

    /// When [`Self::begin`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        let waits = !self.has_own_connections && self.begun > self.done;
        if waits { None } else { self.due }
    }

    /// Begins the object that is due.
    pub fn begin(&mut self, now: Instant) -> Option<Begin> {
        let due = self.next_deadline().filter(|&due| due <= now)?;
        let is_first = self.begun == 0;
        self.begun += 1;
        let is_left = self.count.is_none_or(|count| self.begun < count);
        self.due = is_left.then(|| due + self.interval);
        Some(if is_first || self.has_own_connections {
            Begin::OnNewConnection
        } else {
            Begin::OnSameConnection
        })
    }

    /// An object reached its receiver whole.
    pub fn on_object_done(&mut self) {
        self.done += 1;
    }

    /// True if no further object can begin, because the only connection broke.
    pub fn needs_broken_connection(&self) -> bool {
        !self.has_own_connections
    }

    /// True if nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.count.is_some_and(|count| self.done >= count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_page_waits_for_its_predecessor() {
        let app = AppSpec::Web {
            size: Bytes::new(2_000_000),
            interval: Duration::from_millis(1000),
            rate: None,
        };
        let mut web = Objects::new(&app, at(100)).unwrap();
        assert_eq!(web.next_deadline(), Some(at(100)));
        assert_eq!(web.begin(at(100)), Some(Begin::OnNewConnection));
        assert_eq!(web.next_deadline(), None);
        assert_eq!(web.begin(at(1100)), None);
        web.on_object_done(); // at 1400 ms: the second was due at 1100
        assert_eq!(web.next_deadline(), Some(at(1100)));
        assert_eq!(web.begin(at(1400)), Some(Begin::OnSameConnection));
        web.on_object_done();
        assert_eq!(web.next_deadline(), Some(at(2100)));
        assert!(!web.is_complete() && !web.closes_after_object());
    }

    #[test]
    fn short_transfers_overlap_and_end() {
        let app = AppSpec::Short {
            size: Bytes::new(1000),
            interval: Duration::from_millis(10),
            count: 2,
        };
        let mut short = Objects::new(&app, at(0)).unwrap();
        assert_eq!(short.begin(at(0)), Some(Begin::OnNewConnection));
        assert_eq!(short.begin(at(5)), None);
        assert_eq!(short.begin(at(10)), Some(Begin::OnNewConnection));
        assert_eq!(short.next_deadline(), None);
        short.on_object_done();
        assert!(!short.is_complete());
        short.on_object_done();
        assert!(short.is_complete());
    }
}
