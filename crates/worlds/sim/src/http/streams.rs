//! HTTP/3: a stream of its own for each exchange.

use super::Answers;
use crate::host::Host;
use crate::quic::{Connection, StreamId};
use network::app::{ObjectId, Request};
use std::collections::BTreeMap;
use units::{Bytes, Instant};

/// A stream with its request.
struct Stream {
    request: Request,
    /// Of the request, not yet taken by the client's connection.
    unsent: Bytes,
    /// Of the request, not yet read by the server.
    unread: Bytes,
    /// Of the answer, not yet read by the client.
    expected: Bytes,
}

/// The streams of a connection.
pub(super) struct Streams {
    open: BTreeMap<StreamId, Stream>,
    pub(super) answers: Answers<StreamId>,
}

/// The QUIC connection of a host; another never gets here.
fn quic(host: &mut Host) -> Option<&mut Connection> {
    match host {
        Host::Quic(connection) => Some(connection),
        Host::Tcp(_) => None,
    }
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            open: BTreeMap::new(),
            answers: Answers::new(),
        }
    }

    /// Opens a stream for a request; false while there can be none.
    pub(super) fn begin(&mut self, request: Request, client: &mut Host) -> bool {
        let Some(id) = quic(client).and_then(Connection::open_stream) else {
            return false;
        };
        let stream = Stream {
            request,
            unsent: request.exchange.request,
            unread: request.exchange.request,
            expected: request.exchange.answer,
        };
        self.open.insert(id, stream);
        true
    }

    pub(super) fn run_client(&mut self, client: &mut Host) {
        let Some(client) = quic(client) else { return };
        for (&id, stream) in &mut self.open {
            if stream.unsent.is_zero() {
                continue;
            }
            stream.unsent -= client.write_stream(id, stream.unsent);
            if stream.unsent.is_zero() {
                client.finish_stream(id);
            }
        }
    }

    pub(super) fn run_server(&mut self, now: Instant, server: &mut Host) {
        let Some(server) = quic(server) else { return };
        while let Some((id, chunk)) = server.read_stream() {
            if let Some(stream) = self.open.get_mut(&id) {
                stream.unread = stream.unread.saturating_sub(chunk.bytes);
                if stream.unread.is_zero() {
                    self.answers.push(id, &stream.request, now);
                }
            }
        }
        self.answers.hand_over(now, |id, bytes, is_last| {
            let taken = server.write_stream(id, bytes);
            if is_last && taken == bytes {
                server.finish_stream(id);
            }
            taken
        });
    }

    pub(super) fn read(
        &mut self,
        client: &mut Host,
        on_bytes: &mut impl FnMut(ObjectId, Bytes),
    ) -> Option<(Bytes, Instant)> {
        let (id, chunk) = quic(client)?.read_stream()?;
        if let Some(stream) = self.open.get_mut(&id) {
            on_bytes(stream.request.id, chunk.bytes);
            stream.expected = stream.expected.saturating_sub(chunk.bytes);
            if stream.expected.is_zero() {
                self.open.remove(&id);
            }
        }
        Some((chunk.bytes, chunk.origin))
    }
}
