//! Pages of many objects: what a browser requests, and when.
//!
//! ```text
//!   document ---> style sheets, scripts (they block rendering) ---> images, fonts
//!      |first byte      |first rendering: all of them whole           |load: all objects whole
//! ```
//!
//! The document refers to the objects that block rendering, each of these to its share of the others; without any, the
//! document to all. An object is requested as soon as what refers to it is whole. Sizes are lognormal with the given mean: with
//! deviation s of the logarithm, exp(s z - s^2 / 2) times the mean for a standard normal z (Barford and Crovella, SIGMETRICS 1998).
//!
//! *Deviations.* A browser reads references while the document comes, computes between arrivals, has priorities and caches; this
//! one does none of it. Headers count to requests and objects. Over TCP a connection begins with the exchange of
//! [`super::tls`].

use super::ssh::Exchange;
use super::{Begin, tls};
use crate::measure::Samples;
use scenario::{PageResult, PageSpec};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Bytes, Duration, Instant, Rng};

/// Identity of an exchange within a connection.
pub type ObjectId = u32;

/// TLS's handshake among the exchanges.
const HANDSHAKE: ObjectId = ObjectId::MAX;
/// The document.
const DOCUMENT: ObjectId = 0;

/// A request that may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Which object.
    pub id: ObjectId,
    /// Sizes of request and answer.
    pub exchange: Exchange,
    /// From the request's arrival until the answer is ready.
    pub think: Duration,
}

/// The page that is being loaded.
#[derive(Clone, Debug)]
struct Load {
    began_at: Instant,
    sizes: Vec<Bytes>,
    requested_at: Vec<Instant>,
    /// Requests that may be sent.
    ready: VecDeque<ObjectId>,
    /// The document and what blocks rendering, as far as it is not whole.
    blocking_left: u32,
    /// All objects, as far as they are not whole.
    left: u32,
}

/// What was measured.
#[derive(Debug, Default)]
struct Measured {
    load_time: Samples,
    first_byte: Samples,
    first_render: Samples,
    object_time: Samples,
    pages: u64,
    objects: u64,
    bytes: Bytes,
}

/// A browser and its pages.
#[derive(Debug)]
pub struct Page {
    spec: Arc<PageSpec>,
    rng: Rng,
    /// Each connection begins with TLS's handshake.
    has_handshake: bool,
    is_connected: bool,
    load: Option<Load>,
    /// When the next page is due.
    due: Instant,
    /// Pages that are over, loaded or not.
    over: u32,
    measured: Measured,
}

impl Page {
    /// Pages of which the first is due at `start`. `rng` draws sizes; over TCP each connection begins with TLS's handshake.
    pub fn new(spec: &Arc<PageSpec>, start: Instant, rng: Rng, over_tcp: bool) -> Self {
        Self {
            spec: spec.clone(),
            rng,
            has_handshake: over_tcp,
            is_connected: false,
            load: None,
            due: start,
            over: 0,
            measured: Measured::default(),
        }
    }

    /// When [`Self::begin`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.load.is_none() && !self.is_complete()).then_some(self.due)
    }

    /// Begins the page that is due; what it requests is [`Self::poll_request`]'s.
    pub fn begin(&mut self, now: Instant) -> Option<Begin> {
        self.next_deadline().filter(|&due| due <= now)?;
        let sizes = self.sizes();
        let objects = sizes.len() as u32;
        let is_new = !self.is_connected || self.spec.has_own_connections;
        let first = match is_new && self.has_handshake {
            true => HANDSHAKE,
            false => DOCUMENT,
        };
        self.load = Some(Load {
            began_at: now,
            requested_at: vec![now; sizes.len()],
            sizes,
            ready: VecDeque::from([first]),
            blocking_left: 1 + self.spec.blocking,
            left: objects,
        });
        self.measured.pages += 1;
        self.is_connected = true;
        Some(match is_new {
            true => Begin::OnNewConnection,
            false => Begin::OnSameConnection,
        })
    }

    /// Of the document, what blocks rendering, and the others.
    fn sizes(&mut self) -> Vec<Bytes> {
        let spec = self.spec.clone();
        let document = (1, spec.document);
        let blocking = (spec.blocking, spec.blocking_size);
        let others = (spec.objects, spec.object_size);
        let mut sizes = Vec::new();
        for (count, mean) in [document, blocking, others] {
            for _ in 0..count {
                sizes.push(self.size(mean));
            }
        }
        sizes
    }

    fn size(&mut self, mean: Bytes) -> Bytes {
        let s = self.spec.spread;
        let factor = match s > 0.0 {
            true => (s * self.rng.normal() - s * s / 2.0).exp(),
            false => 1.0,
        };
        mean.mul_f64(factor).max(Bytes::new(1))
    }

    /// The next request that may be sent.
    pub fn poll_request(&mut self, now: Instant) -> Option<Request> {
        let load = self.load.as_mut()?;
        let id = load.ready.pop_front()?;
        if id == HANDSHAKE {
            return Some(Request {
                id,
                exchange: tls::HANDSHAKE,
                think: Duration::ZERO,
            });
        }
        load.requested_at[id as usize] = now;
        Some(Request {
            id,
            exchange: Exchange {
                request: self.spec.request,
                answer: load.sizes[id as usize],
            },
            think: self.spec.think,
        })
    }

    /// The first bytes of an answer have come.
    pub fn on_first_byte(&mut self, now: Instant, id: ObjectId) {
        if let Some(load) = self.load.as_ref().filter(|_| id == DOCUMENT) {
            let time = now.saturating_since(load.began_at);
            self.measured.first_byte.record(time);
        }
    }

    /// An answer has come whole. Returns whether that was the last of its page.
    pub fn on_object_done(&mut self, now: Instant, id: ObjectId) -> bool {
        let (blocking, objects) = (self.spec.blocking, self.spec.objects);
        let Some(load) = self.load.as_mut() else {
            return false;
        };
        if id == HANDSHAKE {
            load.ready.push_back(DOCUMENT);
            return false;
        }
        let measured = &mut self.measured;
        measured.objects += 1;
        measured.bytes += load.sizes[id as usize];
        let requested_at = load.requested_at[id as usize];
        measured
            .object_time
            .record(now.saturating_since(requested_at));
        let since_begin = now.saturating_since(load.began_at);
        let others = 1 + blocking..1 + blocking + objects;
        if id == DOCUMENT {
            load.ready.extend(1..=blocking);
        }
        if id == DOCUMENT && blocking == 0 {
            load.ready.extend(others);
        } else if id != DOCUMENT && id <= blocking {
            // the others are dealt out to what blocks rendering
            load.ready
                .extend(others.skip(id as usize - 1).step_by(blocking as usize));
        }
        if id <= blocking {
            load.blocking_left -= 1;
            if load.blocking_left == 0 {
                measured.first_render.record(since_begin);
            }
        }
        load.left -= 1;
        let is_last = load.left == 0;
        if is_last {
            measured.load_time.record(since_begin);
            self.end_page(now);
        }
        is_last
    }

    fn end_page(&mut self, now: Instant) {
        self.load = None;
        self.over += 1;
        self.due = now + self.spec.gap;
    }

    /// The connection broke: its page is given up.
    pub fn on_connection_lost(&mut self, now: Instant) {
        self.is_connected = false;
        if self.load.is_some() {
            self.end_page(now);
        }
    }

    /// Whether the connection is closed after each page.
    pub fn closes_after_page(&self) -> bool {
        self.spec.has_own_connections
    }

    /// True if nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.spec.count.is_some_and(|count| self.over >= count)
    }

    /// What was measured.
    pub fn result(&mut self) -> PageResult {
        let measured = &mut self.measured;
        PageResult {
            load_time: measured.load_time.distribution(),
            first_byte: measured.first_byte.distribution(),
            first_render: measured.first_render.distribution(),
            object_time: measured.object_time.distribution(),
            pages: measured.pages,
            objects: measured.objects,
            bytes: measured.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn spec(blocking: u32, objects: u32) -> PageSpec {
        PageSpec {
            document: Bytes::new(10_000),
            blocking,
            blocking_size: Bytes::new(20_000),
            objects,
            object_size: Bytes::new(50_000),
            spread: 0.0,
            request: Bytes::new(400),
            think: Duration::from_millis(10),
            gap: Duration::from_secs(1),
            count: Some(2),
            has_own_connections: true,
        }
    }

    fn page(spec: PageSpec, over_tcp: bool) -> Page {
        let rng = Streams::new(4).stream("page");
        Page::new(&Arc::new(spec), Instant::ZERO, rng, over_tcp)
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// All that may be requested.
    fn requests(page: &mut Page, now: Instant) -> Vec<ObjectId> {
        std::iter::from_fn(|| page.poll_request(now).map(|request| request.id)).collect()
    }

    #[test]
    fn objects_wait_for_what_refers_to_them() {
        let mut page = page(spec(2, 3), true);
        assert_eq!(page.begin(at(0)), Some(Begin::OnNewConnection));
        assert_eq!(page.next_deadline(), None);
        let handshake = page.poll_request(at(0)).expect("TLS comes first");
        assert_eq!(handshake.exchange, tls::HANDSHAKE);
        assert!(!page.on_object_done(at(50), handshake.id));
        assert_eq!(requests(&mut page, at(50)), [0]);
        page.on_first_byte(at(100), 0);
        assert!(!page.on_object_done(at(110), 0));
        assert_eq!(requests(&mut page, at(110)), [1, 2]);
        page.on_first_byte(at(150), 2);
        // the first of two refers to the first and third of the others
        assert!(!page.on_object_done(at(160), 1));
        assert_eq!(requests(&mut page, at(160)), [3, 5]);
        assert!(!page.on_object_done(at(170), 2));
        assert_eq!(requests(&mut page, at(170)), [4]);
        assert!(!page.on_object_done(at(200), 5));
        assert!(!page.on_object_done(at(210), 3));
        assert!(page.on_object_done(at(300), 4), "the last");
        assert_eq!(page.next_deadline(), Some(at(1300)));
        let result = page.result();
        assert_eq!(result.load_time.mean, 300.0);
        assert_eq!(result.first_byte.mean, 100.0);
        assert_eq!(result.first_render.mean, 170.0);
        assert_eq!((result.pages, result.objects), (1, 6));
        assert_eq!(result.bytes, Bytes::new(10_000 + 40_000 + 150_000));
        assert_eq!(result.object_time.max, 130.0);
    }

    #[test]
    fn the_document_alone_is_a_page() {
        let mut page = page(spec(0, 0), false);
        for begin in [0, 1010] {
            assert_eq!(page.begin(at(begin)), Some(Begin::OnNewConnection));
            assert_eq!(requests(&mut page, at(begin)), [0]);
            assert!(page.on_object_done(at(begin + 10), 0));
        }
        assert!(page.is_complete());
        assert_eq!(page.next_deadline(), None);
        assert_eq!(page.result().first_render.count, 2);
    }

    #[test]
    fn a_kept_connection_has_one_handshake_until_it_breaks() {
        let kept = PageSpec {
            has_own_connections: false,
            count: None,
            ..spec(0, 1)
        };
        let mut page = page(kept, true);
        assert_eq!(page.begin(at(0)), Some(Begin::OnNewConnection));
        assert_eq!(requests(&mut page, at(0)), [HANDSHAKE]);
        page.on_object_done(at(10), HANDSHAKE);
        assert_eq!(requests(&mut page, at(10)), [DOCUMENT]);
        page.on_object_done(at(20), DOCUMENT);
        assert_eq!(requests(&mut page, at(20)), [1]);
        assert!(page.on_object_done(at(30), 1));
        assert_eq!(page.begin(at(1030)), Some(Begin::OnSameConnection));
        assert_eq!(requests(&mut page, at(1030)), [0]);
        page.on_connection_lost(at(1040));
        assert_eq!(page.begin(at(2040)), Some(Begin::OnNewConnection));
        let result = page.result();
        assert_eq!((result.pages, result.load_time.count), (3, 1));
    }

    #[test]
    fn sizes_are_lognormal_with_their_mean_and_repeat_with_the_seed() {
        let sizes = |seed| {
            let spec = PageSpec {
                spread: 1.0,
                ..spec(0, 10_000)
            };
            let rng = Streams::new(seed).stream("page");
            Page::new(&Arc::new(spec), Instant::ZERO, rng, false).sizes()
        };
        let of = sizes(1);
        assert_eq!(of, sizes(1));
        assert_ne!(of, sizes(2));
        let others: Vec<f64> = of[1..].iter().map(|size| size.get() as f64).collect();
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        assert!((mean / 50e3 - 1.0).abs() < 0.05, "{mean}");
        // the median is exp(-1/2) of the mean
        let below = others.iter().filter(|size| **size < 50e3 * 0.60653).count();
        assert!((4_800..5_200).contains(&below), "{below}");
    }
}
