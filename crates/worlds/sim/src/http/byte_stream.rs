//! HTTP/2: all exchanges in the two directions of one byte stream.

use super::Answers;
use crate::host::Host;
use network::app::{ObjectId, Request};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// The server hands no more over while so much is written and not sent, so that a later answer need not wait behind all of an
/// earlier one (Linux: `TCP_NOTSENT_LOWAT`, as servers set it).
const MAX_UNSENT: Bytes = Bytes::new(128 * 1024);

/// The frames of both directions.
pub(super) struct ByteStream {
    /// Of the requests, not yet taken by the client's connection.
    unsent: Bytes,
    /// (end in the client's stream, request) of requests on their way.
    requests: VecDeque<(u64, Request)>,
    /// End of the client's stream.
    requested: u64,
    /// The server has read so much.
    server_read: u64,
    pub(super) answers: Answers<ObjectId>,
    /// (end in the server's stream, whose) of frames on their way.
    frames: VecDeque<(u64, ObjectId)>,
    /// End of the server's stream.
    written: u64,
    /// The client has read so much.
    client_read: u64,
}

impl ByteStream {
    pub(super) fn new() -> Self {
        Self {
            unsent: Bytes::ZERO,
            requests: VecDeque::new(),
            requested: 0,
            server_read: 0,
            answers: Answers::new(),
            frames: VecDeque::new(),
            written: 0,
            client_read: 0,
        }
    }

    /// A request follows those before it.
    pub(super) fn begin(&mut self, request: Request) -> bool {
        self.requested += request.exchange.request.get();
        self.unsent += request.exchange.request;
        self.requests.push_back((self.requested, request));
        true
    }

    pub(super) fn run_client(&mut self, now: Instant, client: &mut Host) {
        if !self.unsent.is_zero() {
            self.unsent -= client.write(now, self.unsent);
        }
    }

    pub(super) fn run_server(&mut self, now: Instant, server: &mut Host) {
        while let Some(chunk) = server.read(now, Bytes::MAX) {
            self.server_read += chunk.bytes.get();
        }
        while let Some((end, request)) = self.requests.front()
            && *end <= self.server_read
        {
            self.answers.push(request.id, request, now);
            self.requests.pop_front();
        }
        let (frames, written) = (&mut self.frames, &mut self.written);
        self.answers.hand_over(now, |id, bytes, _| {
            if server.unsent() >= MAX_UNSENT {
                return Bytes::ZERO;
            }
            let taken = server.write(now, bytes);
            *written += taken.get();
            match frames.back_mut() {
                Some((end, last)) if *last == id => *end = *written,
                _ if taken.is_zero() => {}
                _ => frames.push_back((*written, id)),
            }
            taken
        });
    }

    pub(super) fn read(
        &mut self,
        now: Instant,
        client: &mut Host,
        on_bytes: &mut impl FnMut(ObjectId, Bytes),
    ) -> Option<(Bytes, Instant)> {
        let chunk = client.read(now, Bytes::MAX)?;
        let end_of_chunk = self.client_read + chunk.bytes.get();
        while let Some(&(end, id)) = self.frames.front()
            && self.client_read < end_of_chunk
        {
            let until = end.min(end_of_chunk);
            on_bytes(id, Bytes::new(until - self.client_read));
            self.client_read = until;
            if until == end {
                self.frames.pop_front();
            }
        }
        Some((chunk.bytes, chunk.origin))
    }
}
