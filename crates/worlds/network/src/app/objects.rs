//! TCP applications: a series of objects (files, pages, transfers). Adaptive video and pages of many objects have files of
//! their own.
//!
//! | application | objects | connection |
//! | --- | --- | --- |
//! | bulk | one of N bytes | closed after it |
//! | continuous | one without end | never closed |
//! | web | one every T, the next waits for the one before | one for all |
//! | short | `count`, one every T, not waiting | a new one each |
//! | ssh | the answers of [`super::ssh`], each at once after the one before, then one of N bytes | closed after it |

use super::ssh::{self, Exchange};
use scenario::AppSpec;
use units::{BitRate, Bytes, Duration, Instant};

/// Payload of a request for a file, page or transfer.
const REQUEST: Bytes = Bytes::new(200);

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
    /// What is exchanged before the first, each an object of its own.
    exchanges: &'static [Exchange],
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
    /// The objects of an application; `None` for one that has none such.
    pub fn new(app: &AppSpec, start: Instant) -> Option<Self> {
        let one = |size| Self {
            size,
            rate: None,
            interval: Duration::ZERO,
            count: Some(1),
            exchanges: &[],
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
            AppSpec::Ssh { size } => Some(Self {
                count: u32::try_from(ssh::EXCHANGES.len() + 1).ok(),
                exchanges: ssh::EXCHANGES,
                has_own_connections: false,
                ..one(Some(size))
            }),
            AppSpec::Video(_)
            | AppSpec::Page(_)
            | AppSpec::Cbr { .. }
            | AppSpec::Voip { .. }
            | AppSpec::Gaming { .. }
            | AppSpec::Call(_) => None,
        }
    }

    /// The exchange that the object begun last is of, if it is of one.
    fn exchange(&self) -> Option<&'static Exchange> {
        let before = self.begun.checked_sub(1)?;
        self.exchanges.get(usize::try_from(before).ok()?)
    }

    /// Size of the object begun last; `None` is without end.
    pub fn size(&self) -> Option<Bytes> {
        self.exchange().map_or(self.size, |of| Some(of.answer))
    }

    /// Payload of the request that it answers.
    pub fn request(&self) -> Bytes {
        self.exchange().map_or(REQUEST, |of| of.request)
    }

    /// The sender's own limit while it sends an object.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// True if the sender closes the connection after the object begun last.
    pub fn closes_after_object(&self) -> bool {
        let is_last = !self.exchanges.is_empty() && self.exchange().is_none();
        (self.has_own_connections || is_last) && self.size.is_some()
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
    fn over_ssh_each_exchange_is_answered_before_the_next() {
        let size = Bytes::new(500_000);
        let mut ssh = Objects::new(&AppSpec::Ssh { size }, at(100)).unwrap();
        for (i, exchange) in ssh::EXCHANGES.iter().enumerate() {
            let now = at(100 + 50 * i as u64);
            let begin = match i {
                0 => Begin::OnNewConnection,
                _ => Begin::OnSameConnection,
            };
            assert_eq!(ssh.begin(now), Some(begin));
            assert_eq!(ssh.begin(now), None, "it is not answered");
            assert_eq!(ssh.request(), exchange.request);
            assert_eq!(ssh.size(), Some(exchange.answer));
            assert!(!ssh.closes_after_object());
            ssh.on_object_done();
            assert!(!ssh.is_complete());
        }
        assert_eq!(ssh.begin(at(900)), Some(Begin::OnSameConnection));
        assert_eq!((ssh.size(), ssh.request()), (Some(size), REQUEST));
        assert!(ssh.closes_after_object());
        ssh.on_object_done();
        assert!(ssh.is_complete());
        assert_eq!(ssh.next_deadline(), None);
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
