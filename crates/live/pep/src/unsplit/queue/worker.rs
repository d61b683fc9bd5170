//! The thread that holds packets: it moves them, and decides nothing: [`edge::marker`] does.

use super::Settings;
use super::counts::{Counts, Reason};
use super::inbox::Inbox;
use super::place::Place;
use super::ues::{Context, Ues};
use daemon::clock;
use edge::marker::{Holder, Left};
use frames::{Frame, Headers, Holds, MAX_BYTES, Memory, pieces};
use kernel_marker::Way;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use units::{Duration, Instant, Streams};

/// Frames that are read before others have their turn.
const MAX_BATCH: usize = 256;
/// A super-packet that takes the radio longer than this is cut.
const MAX_PIECE: Duration = Duration::from_millis(1);
/// Between looks while UEs are held; the kernel is told that the thread is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Between looks at the interface and the device.
const PLACE_INTERVAL: Duration = Duration::from_secs(1);

/// What the thread has.
#[derive(Debug)]
pub(super) struct Worker {
    place: Place,
    inbox: Arc<Inbox>,
    counts: Arc<Counts>,
    settings: Settings,
    ues: Ues,
    holder: Holder<Frame>,
    left: Left<Frame>,
    memory: Memory,
    hash: RandomState,
    buffer: Box<[u8]>,
    /// UEs of which something has come.
    touched: Vec<IpAddr>,
    /// Nothing is left in the device.
    is_read: bool,
    opens_at: Option<Instant>,
    look_at: Instant,
    place_at: Instant,
}

impl Worker {
    pub(super) fn new(
        mut place: Place,
        inbox: Arc<Inbox>,
        counts: Arc<Counts>,
        settings: Settings,
    ) -> Self {
        place.set_max_age(settings.marker.max_age);
        let hash = RandomState::new();
        // which flows share a queue is not to be foreseen
        let rng = Streams::new(hash.build_hasher().finish()).stream("held");
        Self {
            place,
            inbox,
            counts,
            ues: Ues::new(settings.max_ues),
            holder: Holder::new(settings.marker, settings.buffer, rng),
            settings,
            left: Left::default(),
            memory: Memory::default(),
            hash,
            buffer: vec![0; MAX_BYTES].into(),
            touched: Vec::new(),
            is_read: true,
            opens_at: None,
            look_at: Instant::ZERO,
            place_at: clock::now() + PLACE_INTERVAL,
        }
    }

    /// Holds packets until it is told to stop; then lets all go.
    pub(super) fn run(mut self) {
        loop {
            let now = clock::now();
            let until = self
                .opens_at
                .map_or(self.look_at, |at| at.min(self.look_at));
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
            self.look(now);
        }
        self.finish();
    }

    fn context(&mut self, now: Instant) -> (&mut Ues, Context<'_>) {
        let context = Context {
            now,
            marker: &self.place.marker,
            holder: &mut self.holder,
            memory: &self.memory,
            memory_limit: self.settings.memory,
            counts: &self.counts,
        };
        (&mut self.ues, context)
    }

    /// True if it is to stop.
    fn take_letters(&mut self, now: Instant) -> bool {
        let letters = self.inbox.take();
        if let Some(settings) = letters.settings {
            self.holder.configure(settings.marker, settings.buffer);
            self.place.set_max_age(settings.marker.max_age);
            self.settings = settings;
        }
        let before = self.ues.held();
        let (ues, mut context) = self.context(now);
        for (address, radio) in &letters.reports {
            ues.on_report(&mut context, *address, radio);
        }
        if before == 0 && self.ues.held() > 0 {
            self.look_at = now;
        }
        if !letters.reports.is_empty() && self.place.marker.way() == Way::Waiting {
            // a successor's program begins as soon as its predecessor's has gone
            self.counts
                .note(self.place.announce(now, self.ues.held() > 0));
        }
        letters.stops
    }

    /// Takes frames from the device into their queues. False if there were none.
    fn read(&mut self, now: Instant) -> bool {
        self.is_read = false;
        for count in 0..MAX_BATCH {
            let Some(length) = self.place.read(&mut self.buffer, &self.counts) else {
                self.is_read = true;
                return count > 0;
            };
            self.take(now, length);
        }
        true
    }

    /// Takes a frame, which is in the buffer, into the queue of its UE.
    fn take(&mut self, now: Instant, length: usize) {
        let frame = &self.buffer[..length];
        let headers = Headers::of(frame, self.place.port.is_ethernet(), &self.hash);
        let Some(headers) = headers.filter(|of| self.ues.is_named(of.ue)) else {
            return self.counts.count_drop(Reason::Stray, 1);
        };
        let pieces = pieces(frame, &headers, self.segments_at_once(&headers));
        if pieces.len() > 1 {
            self.counts.cut.fetch_add(1, Relaxed);
        }
        for bytes in pieces {
            let headers = Headers::of(&bytes, self.place.port.is_ethernet(), &self.hash);
            let most = self.settings.memory;
            let frame = headers.and_then(|of| Frame::new(bytes, of, &self.memory, most));
            match frame {
                None => self.counts.count_drop(Reason::Memory, 1),
                // or it was handed over as its UE ceased to be held
                Some(frame)
                    if frame.headers.is_discovery || !self.ues.is_held(frame.headers.ue) =>
                {
                    self.place.port.put([frame]);
                }
                Some(frame) => {
                    let ue = frame.headers.ue;
                    if self.touched.last() != Some(&ue) {
                        self.touched.push(ue);
                    }
                    self.holder.enqueue(now, ue, frame, &mut self.left);
                }
            }
        }
    }

    /// How many segments of a super-packet may go on at once; none if all may.
    fn segments_at_once(&self, headers: &Headers) -> Option<usize> {
        if headers.segments < 2 {
            return None;
        }
        let most = self.holder.carried(headers.ue, MAX_PIECE)?.get();
        let segment = (headers.wire / headers.segments).max(1);
        let segments = (most / segment).max(1);
        (segments < headers.segments).then_some(segments as usize)
    }

    /// Lets packets go on as far as the windows are open.
    fn release(&mut self, now: Instant) {
        self.opens_at = self.holder.release(now, &mut self.left);
        for ue in std::mem::take(&mut self.touched) {
            if self.holder.waits(ue).packets > 0 {
                let (ues, context) = self.context(now);
                ues.on_waiting(&context, ue);
            }
        }
        self.pass();
    }

    /// Counts what has left the queues, and sends what goes on.
    fn pass(&mut self) {
        let overflowed = std::mem::take(&mut self.left.overflowed);
        let dropped = self.left.dropped.drain(..).count();
        self.counts.count_drop(Reason::Buffer, overflowed);
        self.counts
            .count_drop(Reason::Codel, dropped.saturating_sub(overflowed));
        self.place.port.put(self.left.passed.drain(..));
        let counts = &self.counts;
        self.place.port.send(|frame, sent| match sent {
            Ok(()) => {
                let segments = frame.headers.segments;
                counts.passed.fetch_add(segments, Relaxed);
                if frame.is_marked {
                    counts.marked.fetch_add(segments, Relaxed);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a packet could not be sent");
                counts.count_drop(Reason::Interface, 1);
            }
        });
    }

    fn look(&mut self, now: Instant) {
        if now >= self.place_at {
            self.place_at = now + PLACE_INTERVAL;
            self.counts.on_time();
            self.place.refresh(&self.counts);
            self.counts
                .note(self.place.announce(now, self.ues.held() > 0));
            self.ues.expire(now, self.settings.gone_after);
        }
        if now < self.look_at {
            return;
        }
        let is_read = self.is_read;
        let (ues, mut context) = self.context(now);
        ues.on_time(&mut context, is_read);
        let held = self.ues.held();
        self.look_at = now
            + if held > 0 {
                LOOK_INTERVAL
            } else {
                PLACE_INTERVAL
            };
        if held > 0 {
            self.counts.note(self.place.announce(now, true));
        }
        self.show();
    }

    fn show(&self) {
        self.counts.held.store(self.ues.held() as u64, Relaxed);
        let waits = self.holder.all_waits().bytes.get();
        self.counts.waiting_bytes.store(waits, Relaxed);
        self.counts.memory.store(self.memory.used(), Relaxed);
    }

    /// Packets pass from now on; what waits goes on at once, before those that come.
    fn finish(mut self) {
        self.counts.note(self.place.announce(clock::now(), false));
        let unsent = frames::finish(&mut self);
        self.counts.count_drop(Reason::Interface, unsent);
        let (ues, mut context) = self.context(clock::now());
        ues.end_all(&mut context);
        self.place.leave();
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
        self.holder.empty(now, &mut self.left);
        self.touched.clear();
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
