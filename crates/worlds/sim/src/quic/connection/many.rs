//! A connection whose client opens a stream for each request.

use super::Connection;
use crate::tcp::ReadChunk;
pub(crate) use quinn_proto::StreamId;
use quinn_proto::{Dir, StreamEvent};
use std::collections::{BTreeMap, BTreeSet};
use units::Bytes;

/// The streams of an end.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Those that may have data.
    to_read: BTreeSet<StreamId>,
    /// Payload in order that was not read by the application.
    readable: BTreeMap<StreamId, Bytes>,
}

impl Streams {
    /// What quinn says of a stream.
    pub(super) fn on_event(
        &mut self,
        connection: &mut quinn_proto::Connection,
        event: &StreamEvent,
    ) {
        match *event {
            StreamEvent::Opened { dir } => {
                while let Some(id) = connection.streams().accept(dir) {
                    self.to_read.insert(id);
                }
            }
            StreamEvent::Readable { id } => {
                self.to_read.insert(id);
            }
            _ => {}
        }
    }

    /// Reads what has arrived in order.
    pub(super) fn take_arrived(&mut self, connection: &mut quinn_proto::Connection) {
        while let Some(id) = self.to_read.pop_first() {
            let mut receive = connection.recv_stream(id);
            let Ok(mut chunks) = receive.read(true) else {
                continue; // nothing more can come
            };
            let mut bytes = Bytes::ZERO;
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                bytes += Bytes::new(chunk.bytes.len() as u64);
            }
            // quinn is polled for packets after every event anyway
            let _ = chunks.finalize();
            if !bytes.is_zero() {
                *self.readable.entry(id).or_default() += bytes;
            }
        }
    }
}

/// Of connections that may have several streams.
impl Connection {
    /// A new stream; none before the handshake is complete, or while there are as many as there may be.
    pub(crate) fn open_stream(&mut self) -> Option<StreamId> {
        let (_, connection) = self.inner.as_mut()?;
        connection.streams().open(Dir::Bi)
    }

    /// The application offers `bytes` for a stream; returns how many quinn takes.
    pub(crate) fn write_stream(&mut self, id: StreamId, bytes: Bytes) -> Bytes {
        self.write_to(id, bytes)
    }

    /// The application has no more to write to a stream.
    pub(crate) fn finish_stream(&mut self, id: StreamId) {
        if let Some((_, connection)) = &mut self.inner {
            // it fails only if the peer has stopped the stream, which is an end too
            let _ = connection.send_stream(id).finish();
        }
    }

    /// Takes bytes of a stream that were first sent together; of the oldest stream that has some.
    pub(crate) fn read_stream(&mut self) -> Option<(StreamId, ReadChunk)> {
        let many = self.many.as_mut()?;
        let (&id, &max) = many.readable.first_key_value()?;
        let (bytes, origin) = self.peers.lock().read(id.into(), max)?;
        let left = max.saturating_sub(bytes);
        match left.is_zero() {
            true => many.readable.remove(&id),
            false => many.readable.insert(id, left),
        };
        Some((id, ReadChunk { bytes, origin }))
    }
}
