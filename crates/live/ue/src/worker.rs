//! The thread that holds packets: it moves them, and decides nothing: [`edge::uplink`] does.

use crate::counts::{Counts, Drop};
use crate::inbox::{Inbox, Settings};
use crate::place::Place;
use daemon::clock;
use edge::ConfigError;
use edge::marker::Left;
use edge::uplink::{UplinkMode, UplinkQueue};
use frames::{Frame, Headers, Holds, MAX_BYTES, Memory, pieces};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use units::{Bytes, Duration, Instant, Rng, Streams};

/// Frames that are read before others have their turn.
const MAX_BATCH: usize = 256;
/// A super-packet that takes the radio longer than this is cut.
const MAX_PIECE: Duration = Duration::from_millis(1);
/// The kernel is notified so often that the thread is there.
const ANNOUNCE_INTERVAL: Duration = Duration::from_millis(100);
/// Between looks at the interface and the device.
const PLACE_INTERVAL: Duration = Duration::from_secs(1);

/// What the thread has.
pub(crate) struct Worker {
    place: Place,
    inbox: Arc<Inbox>,
    counts: Arc<Counts>,
    mode: UplinkMode,
    queue: UplinkQueue<Frame>,
    left: Left<Frame>,
    memory: Memory,
    memory_limit: Bytes,
    hash: RandomState,
    buffer: Box<[u8]>,
    /// Nothing is left in the device.
    is_read: bool,
    opens_at: Option<Instant>,
    announce_at: Instant,
    place_at: Instant,
}

impl Worker {
    /// # Errors
    /// A configuration that cannot be.
    pub(crate) fn new(
        place: Place,
        inbox: Arc<Inbox>,
        counts: Arc<Counts>,
        settings: Settings,
    ) -> Result<Self, ConfigError> {
        let hash = RandomState::new();
        let Settings { queue, memory } = settings;
        counts.set_mode(queue.mode);
        Ok(Self {
            place,
            inbox,
            counts,
            mode: queue.mode,
            queue: UplinkQueue::new(&queue, salt(&hash))?,
            left: Left::default(),
            memory: Memory::default(),
            memory_limit: memory,
            hash,
            buffer: vec![0; MAX_BYTES].into(),
            is_read: true,
            opens_at: None,
            announce_at: Instant::ZERO,
            place_at: Instant::ZERO,
        })
    }

    /// Holds packets until it is to stop; then lets all go.
    pub(crate) fn run(mut self) {
        loop {
            self.look(clock::now());
            let now = clock::now();
            let until = self.announce_at.min(self.place_at);
            let until = self.opens_at.map_or(until, |at| at.min(until));
            let time = match self.is_read {
                true => until.saturating_since(now),
                false => Duration::ZERO,
            };
            self.place.port.wait(&*self.inbox, time);
            let now = clock::now();
            if self.take_letters(now) {
                break;
            }
            self.read(now);
            self.release(now);
            self.show();
        }
        self.finish();
    }

    /// True if it is to stop.
    fn take_letters(&mut self, now: Instant) -> bool {
        let letters = self.inbox.take();
        if let Some(settings) = letters.settings {
            self.configure(now, settings);
        }
        for status in &letters.statuses {
            self.queue.on_status(now, status);
        }
        if !letters.statuses.is_empty() {
            self.counts.set_rate(self.queue.rate());
        }
        letters.stops
    }

    /// Goes on by other settings; what waits is not lost.
    fn configure(&mut self, now: Instant, settings: Settings) {
        let Settings { queue, memory } = settings;
        let rng = salt(&self.hash);
        match self.queue.configure(now, &queue, rng, &mut self.left) {
            Ok(()) => {
                self.mode = queue.mode;
                self.memory_limit = memory;
                self.counts.set_mode(queue.mode);
                self.pass();
            }
            Err(error) => tracing::error!(%error, "the settings stay"),
        }
    }

    /// Takes frames from the device into the queue. False if there were none.
    fn read(&mut self, now: Instant) -> bool {
        self.is_read = false;
        for count in 0..MAX_BATCH {
            let Some(length) = self.place.read(&mut self.buffer) else {
                self.is_read = true;
                return count > 0;
            };
            self.take(now, length);
        }
        true
    }

    /// Takes a frame, which is in the buffer, into the queue.
    fn take(&mut self, now: Instant, length: usize) {
        let frame = &self.buffer[..length];
        let is_ethernet = self.place.port.is_ethernet();
        let Some(headers) = Headers::of(frame, is_ethernet, &self.hash) else {
            return self.counts.count_drop(Drop::Malformed, 1);
        };
        let pieces = pieces(frame, &headers, self.segments_at_once(&headers));
        if pieces.len() > 1 {
            self.counts.cut.fetch_add(1, Relaxed);
        }
        for bytes in pieces {
            let headers = Headers::of(&bytes, is_ethernet, &self.hash);
            let most = self.memory_limit;
            let frame = headers.and_then(|of| Frame::new(bytes, of, &self.memory, most));
            match frame {
                None => self.counts.count_drop(Drop::Memory, 1),
                // without it nothing of the interface could be sent
                Some(frame) if frame.headers.is_discovery => self.place.port.put([frame]),
                Some(frame) => {
                    self.opens_at = self.queue.send(now, frame, &mut self.left);
                }
            }
        }
    }

    /// How many segments of a super-packet are one packet here; none if all are. Each has a mark of its own.
    fn segments_at_once(&self, headers: &Headers) -> Option<usize> {
        let rate = self.queue.rate()?;
        if headers.segments < 2 {
            return None;
        }
        let most = match self.mode {
            UplinkMode::Mark => 1,
            UplinkMode::Queue => {
                let segment = (headers.wire / headers.segments).max(1);
                (rate.bytes_in(MAX_PIECE).get() / segment).max(1)
            }
        };
        (most < headers.segments).then_some(most as usize)
    }

    /// Lets packets go on as far as the window is open.
    fn release(&mut self, now: Instant) {
        self.opens_at = self.queue.release(now, &mut self.left);
        self.pass();
    }

    /// Counts what has left the queue, and sends what goes on.
    fn pass(&mut self) {
        let overflowed = std::mem::take(&mut self.left.overflowed);
        let dropped = self.left.dropped.drain(..).count();
        self.counts.count_drop(Drop::Limit, overflowed);
        let by_law = dropped.saturating_sub(overflowed);
        self.counts.count_drop(Drop::Law, by_law);
        self.place.port.put(self.left.passed.drain(..));
        let counts = &self.counts;
        self.place.port.send(|frame, sent| match sent {
            Ok(()) => {
                let segments = frame.headers.segments;
                counts.passed.fetch_add(segments, Relaxed);
                counts.passed_bytes.fetch_add(frame.headers.wire, Relaxed);
                if frame.is_marked {
                    counts.marked.fetch_add(segments, Relaxed);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a packet could not be sent");
                counts.count_drop(Drop::Interface, 1);
            }
        });
    }

    fn look(&mut self, now: Instant) {
        if now >= self.place_at {
            self.place_at = now + PLACE_INTERVAL;
            self.place.refresh(&self.counts);
            self.announce_at = now;
        }
        if now >= self.announce_at {
            self.announce_at = now + ANNOUNCE_INTERVAL;
            if let Err(error) = self.place.announce(now, true) {
                self.counts.set_error(Some(error.to_string()));
            }
        }
    }

    fn show(&self) {
        let (waits, counts) = (self.queue.waits(), &self.counts);
        counts.waiting_packets.store(waits.packets as u64, Relaxed);
        counts.waiting_bytes.store(waits.bytes.get(), Relaxed);
        counts.memory.store(self.memory.used(), Relaxed);
    }

    /// Packets pass from now on; what waits goes on at once, before those that come.
    fn finish(mut self) {
        if let Err(error) = self.place.announce(clock::now(), false) {
            tracing::debug!(%error, "packets are handed over for a while yet");
        }
        let unsent = frames::finish(&mut self);
        self.counts.count_drop(Drop::Interface, unsent);
        self.show();
    }
}

impl Holds for Worker {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn pass_all(&mut self) -> bool {
        let now = clock::now();
        let has_come = self.read(now);
        self.queue.empty(now, &mut self.left);
        self.pass();
        has_come
    }

    fn unsent(&self) -> usize {
        self.place.port.unsent()
    }

    fn wait(&mut self, time: Duration) {
        self.place.port.wait(&*self.inbox, time);
        self.inbox.take();
    }
}

/// Which flows share a queue is not to be foreseen.
fn salt(hash: &RandomState) -> Rng {
    Streams::new(hash.build_hasher().finish()).stream("uplink-queue")
}
