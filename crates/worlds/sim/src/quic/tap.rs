//! When each byte of a stream left its sender first, and what was sent again.
//!
//! One-way delays are measured from there, as for TCP. quinn does not record; so the key that protects the
//! sender's packets reads their STREAM frames before it encrypts them, and notes them in a ledger that
//! the receiver's end reads too. The key that opens packets notes what has come of the peer's streams, and how many of the
//! own packets the peer's acknowledgements count as marked, which quinn does not report. They change nothing of the packets.

use super::frames::StreamFrames;
use crate::tcp::{RangeSet, Span};
use bytes::BytesMut;
use quinn_cc::MarkFeed;
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use units::{Bytes, Instant, Packets};

/// What is known of one direction of a stream.
#[derive(Debug, Default)]
struct StreamLedger {
    /// (end of a part, when it was first sent), in order; what was read is dropped.
    first_sent: VecDeque<(u64, Instant)>,
    /// End of what was sent.
    sent: u64,
    /// End of what was read.
    read: u64,
    /// What has come, in any order.
    come: RangeSet,
}

/// What is known of one direction of a connection's streams.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// When its sender was last polled for packets.
    pub(super) now: Instant,
    /// Each stream by its identifier.
    streams: BTreeMap<u64, StreamLedger>,
    /// Packets with stream data that had been sent before.
    pub(super) retransmits: Packets,
    /// Bytes that have come, in any order.
    pub(super) received: Bytes,
}

impl Ledger {
    fn on_arrival(&mut self, payload: &[u8]) {
        let received = &mut self.received;
        for data in StreamFrames::new(payload).filter(|data| data.len > 0) {
            let span = Span {
                start: data.offset,
                end: data.offset + data.len,
            };
            let come = &mut self.streams.entry(data.id).or_default().come;
            come.insert(span, |new| *received += Bytes::new(new.end - new.start));
        }
    }

    fn on_packet(&mut self, payload: &[u8]) {
        let mut is_repeat = false;
        for data in StreamFrames::new(payload) {
            let end = data.offset + data.len;
            let stream = self.streams.entry(data.id).or_default();
            is_repeat |= data.len > 0 && data.offset < stream.sent;
            if end <= stream.sent {
                continue;
            }
            stream.sent = end;
            match stream.first_sent.back_mut() {
                Some((last, at)) if *at == self.now => *last = end,
                _ => stream.first_sent.push_back((end, self.now)),
            }
        }
        self.retransmits += Packets::new(u64::from(is_repeat));
    }

    /// The receiver of a stream reads on: up to `max` bytes that were first sent together.
    pub(super) fn read(&mut self, id: u64, max: Bytes) -> Option<(Bytes, Instant)> {
        let stream = self.streams.get_mut(&id)?;
        let &(end, at) = stream.first_sent.front()?;
        let bytes = (end - stream.read).min(max.get());
        stream.read += bytes;
        if stream.read == end {
            stream.first_sent.pop_front();
        }
        Some((Bytes::new(bytes), at))
    }
}

/// A ledger that both ends hold, and what its sender's peer reports of marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    ledger: Arc<Mutex<Ledger>>,
    pub(super) marks: MarkFeed,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger
            .lock()
            .expect("no end panics while it holds the ledger")
    }
}

/// A client's TLS with a tap.
pub(super) struct TappedClient {
    pub(super) inner: Arc<dyn ClientConfig>,
    pub(super) ledgers: Ledgers,
}

/// The ledgers of both directions, as one end has them.
#[derive(Clone, Debug)]
pub(super) struct Ledgers {
    /// Of what it sends.
    pub(super) own: Shared,
    /// Of what its peer sends.
    pub(super) peers: Shared,
}

impl ClientConfig for TappedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self
            .inner
            .clone()
            .start_session(version, server_name, params)?;
        let ledgers = self.ledgers.clone();
        Ok(Box::new(TappedSession { inner, ledgers }))
    }
}

/// A server's TLS with a tap.
pub(super) struct TappedServer {
    pub(super) inner: Arc<dyn ServerConfig>,
    pub(super) ledgers: Ledgers,
}

impl ServerConfig for TappedServer {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(TappedSession {
            inner: self.inner.clone().start_session(version, params),
            ledgers: self.ledgers.clone(),
        })
    }
}

/// A TLS session that hands out tapped keys.
struct TappedSession {
    inner: Box<dyn Session>,
    ledgers: Ledgers,
}

impl TappedSession {
    fn tap(&self, packet: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair {
            local: Box::new(TappedKey {
                inner: packet.local,
                ledgers: self.ledgers.clone(),
            }),
            remote: Box::new(TappedKey {
                inner: packet.remote,
                ledgers: self.ledgers.clone(),
            }),
        }
    }
}

impl Session for TappedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        Some(Keys {
            header: keys.header,
            packet: self.tap(keys.packet),
        })
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.inner.next_1rtt_keys()?;
        Some(self.tap(keys))
    }
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// A key that reads what it encrypts, and what it decrypts.
struct TappedKey {
    inner: Box<dyn PacketKey>,
    ledgers: Ledgers,
}

impl PacketKey for TappedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.inner.tag_len());
        if let Some(payload) = buf.get(header_len..end) {
            self.ledgers.own.lock().on_packet(payload);
        }
        self.inner.encrypt(packet, buf, header_len);
    }
    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        self.ledgers.peers.lock().on_arrival(payload);
        if let Some(count) = StreamFrames::new(payload).count_of_ce() {
            self.ledgers.own.marks.set(count);
        }
        Ok(())
    }
    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }
    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_of_first_transmissions() {
        let at = Instant::from_nanos;
        let stream = |offset: u8, len: u8| {
            [&[0x0e, 0x00, offset, len][..], &vec![0; usize::from(len)]].concat()
        };
        let mut ledger = Ledger::default();
        ledger.on_packet(&stream(0, 10));
        ledger.on_packet(&stream(10, 10));
        ledger.now = at(7);
        ledger.on_packet(&[stream(0, 10), stream(20, 5)].concat());
        assert_eq!(ledger.retransmits, Packets::new(1));
        assert_eq!(
            ledger.read(0, Bytes::new(15)),
            Some((Bytes::new(15), at(0)))
        );
        assert_eq!(ledger.read(0, Bytes::MAX), Some((Bytes::new(5), at(0))));
        assert_eq!(ledger.read(0, Bytes::MAX), Some((Bytes::new(5), at(7))));
        assert_eq!(ledger.read(0, Bytes::MAX), None);
    }

    #[test]
    fn streams_have_positions_of_their_own() {
        let stream = |id: u8, offset: u8, len: u8| {
            [&[0x0e, id, offset, len][..], &vec![0; usize::from(len)]].concat()
        };
        let mut ledger = Ledger::default();
        ledger.on_packet(&[stream(0, 0, 10), stream(4, 0, 20)].concat());
        assert_eq!(ledger.retransmits, Packets::ZERO);
        ledger.on_arrival(&[stream(4, 0, 20), stream(0, 0, 10)].concat());
        assert_eq!(ledger.received, Bytes::new(30));
        let (all, at) = (Bytes::MAX, Instant::ZERO);
        assert_eq!(ledger.read(4, all), Some((Bytes::new(20), at)));
        assert_eq!(ledger.read(0, all), Some((Bytes::new(10), at)));
        assert_eq!(ledger.read(8, all), None);
    }

    #[test]
    fn what_has_come_counts_once_and_in_any_order() {
        let stream = |offset: u8, len: u8| {
            [&[0x0e, 0x00, offset, len][..], &vec![0; usize::from(len)]].concat()
        };
        let mut ledger = Ledger::default();
        let mut after = |payload: &[u8]| {
            ledger.on_arrival(payload);
            ledger.received
        };
        assert_eq!(after(&stream(10, 10)), Bytes::new(10));
        assert_eq!(after(&stream(15, 10)), Bytes::new(15));
        assert_eq!(
            after(&[stream(0, 10), stream(30, 0)].concat()),
            Bytes::new(25)
        );
        assert_eq!(after(&stream(0, 25)), Bytes::new(25));
    }
}
