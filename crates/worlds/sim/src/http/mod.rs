//! HTTP exchanges that run at the same time on one connection.
//!
//! ```text
//!   client: request -> waits for a free stream -> | connection | -> server: thinks -> answers in turn
//!   client: first byte, whole <------------------ | connection | <-- at most a frame at a time
//! ```
//!
//! HTTP/2 ([`byte_stream`], RFC 9113) has all answers in the one byte stream of TCP, frame by frame: what is lost holds up
//! whatever is behind it, of any answer. HTTP/3 ([`streams`], RFC 9114) has a QUIC stream for each exchange, and quinn shares the
//! connection among them.
//!
//! What is sent has no content: which bytes belong to which answer is kept beside the connection.
//!
//! *Deviations.* All exchanges have the same priority. Headers and frame headers count to the sizes that are requested.

mod byte_stream;
mod streams;

use crate::host::Host;
use byte_stream::ByteStream;
use network::app::{ObjectId, Request};
use std::collections::{BTreeMap, VecDeque};
use streams::Streams;
use units::{Bytes, Instant};

/// Exchanges of a connection at a time: the least that a server should allow (RFC 9113 6.5.2, RFC 9114 6.1).
pub(crate) const MAX_STREAMS: usize = 100;

/// An answer has its turn for so much: the initial maximum size of a frame's payload (RFC 9113 6.5.2).
const FRAME: Bytes = Bytes::new(16_384);

/// What a client sees of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// Its first bytes have come.
    FirstByte(ObjectId),
    /// All of it has come.
    Whole(ObjectId),
}

/// An answer that the client expects.
#[derive(Clone, Copy, Debug)]
struct Expected {
    left: Bytes,
    has_begun: bool,
}

/// An answer at the server.
#[derive(Clone, Copy, Debug)]
struct Answer<K> {
    /// What it goes out on.
    key: K,
    left: Bytes,
    /// When it is ready, as long as it is not.
    ready_at: Option<Instant>,
}

/// The answers of a server, in turn.
#[derive(Clone, Debug)]
struct Answers<K> {
    queue: VecDeque<Answer<K>>,
}

impl<K: Copy> Answers<K> {
    fn new() -> Self {
        Self {
            queue: VecDeque::new(),
        }
    }

    /// A request has come whole.
    fn push(&mut self, key: K, request: &Request, now: Instant) {
        self.queue.push_back(Answer {
            key,
            left: request.exchange.answer,
            ready_at: Some(now + request.think),
        });
    }

    /// When the next of those that are not ready is.
    fn next_ready(&self) -> Option<Instant> {
        self.queue.iter().filter_map(|answer| answer.ready_at).min()
    }

    /// Gives each that is ready its turn, over and over, until none gets any further. `write` takes up to so much of one and
    /// returns how much; after the last of one it is called with `true`.
    fn hand_over(&mut self, now: Instant, mut write: impl FnMut(K, Bytes, bool) -> Bytes) {
        let mut stuck = 0;
        while stuck < self.queue.len()
            && let Some(mut answer) = self.queue.pop_front()
        {
            answer.ready_at = answer.ready_at.filter(|&at| at > now);
            let written = match answer.ready_at {
                Some(_) => Bytes::ZERO,
                None => {
                    let turn = answer.left.min(FRAME);
                    write(answer.key, turn, turn == answer.left)
                }
            };
            answer.left = answer.left.saturating_sub(written);
            stuck = if written.is_zero() { stuck + 1 } else { 0 };
            if !answer.left.is_zero() {
                self.queue.push_back(answer);
            }
        }
    }
}

/// How exchanges share a connection.
enum Wire {
    /// HTTP/2.
    ByteStream(ByteStream),
    /// HTTP/3.
    Streams(Streams),
}

/// The exchanges of a connection, of both its ends.
pub(crate) struct Http {
    /// Requests that wait for a free stream.
    waiting: VecDeque<Request>,
    /// Answers that the client expects.
    expected: BTreeMap<ObjectId, Expected>,
    arrived: VecDeque<Arrived>,
    wire: Wire,
}

impl Http {
    /// HTTP/3, or HTTP/2.
    pub(crate) fn new(is_quic: bool) -> Self {
        Self {
            waiting: VecDeque::new(),
            expected: BTreeMap::new(),
            arrived: VecDeque::new(),
            wire: match is_quic {
                true => Wire::Streams(Streams::new()),
                false => Wire::ByteStream(ByteStream::new()),
            },
        }
    }

    /// The client requests an object.
    pub(crate) fn request(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// The client sends what it can of its requests.
    pub(crate) fn run_client(&mut self, now: Instant, client: &mut Host) {
        while self.expected.len() < MAX_STREAMS
            && let Some(request) = self.waiting.front()
        {
            let is_begun = match &mut self.wire {
                Wire::ByteStream(wire) => wire.begin(*request),
                Wire::Streams(wire) => wire.begin(*request, client),
            };
            if !is_begun {
                break; // asked again when something has come
            }
            let expected = Expected {
                left: request.exchange.answer,
                has_begun: false,
            };
            self.expected.insert(request.id, expected);
            self.waiting.pop_front();
        }
        match &mut self.wire {
            Wire::ByteStream(wire) => wire.run_client(now, client),
            Wire::Streams(wire) => wire.run_client(client),
        }
    }

    /// The server reads requests and sends what it can of the answers that are ready.
    pub(crate) fn run_server(&mut self, now: Instant, server: &mut Host) {
        match &mut self.wire {
            Wire::ByteStream(wire) => wire.run_server(now, server),
            Wire::Streams(wire) => wire.run_server(now, server),
        }
    }

    /// The client reads: bytes, and when they left the server first.
    pub(crate) fn read(&mut self, now: Instant, client: &mut Host) -> Option<(Bytes, Instant)> {
        let (expected, arrived) = (&mut self.expected, &mut self.arrived);
        let mut on_bytes = |id: ObjectId, bytes: Bytes| {
            let Some(answer) = expected.get_mut(&id) else {
                return;
            };
            if !core::mem::replace(&mut answer.has_begun, true) {
                arrived.push_back(Arrived::FirstByte(id));
            }
            answer.left = answer.left.saturating_sub(bytes);
            if answer.left.is_zero() {
                expected.remove(&id);
                arrived.push_back(Arrived::Whole(id));
            }
        };
        match &mut self.wire {
            Wire::ByteStream(wire) => wire.read(now, client, &mut on_bytes),
            Wire::Streams(wire) => wire.read(client, &mut on_bytes),
        }
    }

    /// What the client has seen of answers, one after the other.
    pub(crate) fn take_arrived(&mut self) -> Option<Arrived> {
        self.arrived.pop_front()
    }

    /// When the server has another answer ready.
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        match &self.wire {
            Wire::ByteStream(wire) => wire.answers.next_ready(),
            Wire::Streams(wire) => wire.answers.next_ready(),
        }
    }

    /// The server has no answer to send.
    pub(crate) fn has_answered(&self) -> bool {
        match &self.wire {
            Wire::ByteStream(wire) => wire.answers.queue.is_empty(),
            Wire::Streams(wire) => wire.answers.queue.is_empty(),
        }
    }

    /// The client waits for something.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.expected.is_empty() || !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::app::ssh::Exchange;
    use units::Duration;

    fn request(id: ObjectId, answer: u64, think: u64) -> Request {
        Request {
            id,
            exchange: Exchange {
                request: Bytes::new(400),
                answer: Bytes::new(answer),
            },
            think: Duration::from_millis(think),
        }
    }

    #[test]
    fn answers_take_turns_frame_by_frame_once_they_are_ready() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut answers = Answers::new();
        for (id, size, think) in [(1, 40_000, 0), (2, 20_000, 0), (3, 1_000, 5)] {
            answers.push(id, &request(id, size, think), at(0));
        }
        let mut sent = Vec::new();
        answers.hand_over(at(0), |id, bytes, is_last| {
            sent.push((id, bytes.get(), is_last));
            bytes
        });
        let frame = FRAME.get();
        assert_eq!(
            sent,
            [
                (1, frame, false),
                (2, frame, false),
                (1, frame, false),
                (2, 20_000 - frame, true),
                (1, 40_000 - 2 * frame, true),
            ]
        );
        assert_eq!(answers.next_ready(), Some(at(5)));
        // it is ready, and nothing is taken: it is asked once, and waits
        let mut asked = 0;
        answers.hand_over(at(5), |_, _, _| {
            asked += 1;
            Bytes::ZERO
        });
        assert_eq!((asked, answers.next_ready()), (1, None));
        assert_eq!(answers.queue.len(), 1);
    }
}
