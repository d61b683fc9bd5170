//! HTTP/3 over quinn, with frames of a bounded length: h3 keeps a frame until it is whole, however long it is
//! declared to be. A stream with a longer one is stopped as soon as its length has come. Of a request only the head
//! is handed on, as a copy: h3 would keep what follows, which no answer depends on, and the packets that it came in,
//! as long as the request lasts.
//!
//! ```text
//!   quinn -- h3_quinn --> [Bounded] -- bytes --> h3
//!                            '-- Scan: type, length, payload passed over; what follows a head is discarded
//! ```

use super::budget::MAX_HEAD_BYTES;
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use std::task::{Context, Poll, ready};

/// Type of the frame whose payload h3 hands on as it comes (RFC 9114 7.2.1).
const DATA: u64 = 0;
/// Type of the stream that has frames, of those in one direction (RFC 9114 6.2.1).
const CONTROL: u64 = 0;
/// Type of the frame with the head of a request (RFC 9114 7.2.2).
const HEADERS: u64 = 1;

/// A frame longer than any may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of more than {MAX_HEAD_BYTES} bytes")]
pub(super) struct TooLong;

/// Reads the lengths of frames in the bytes of a stream.
#[derive(Debug)]
pub(super) struct Scan {
    next: Next,
    varint: Varint,
    /// Nothing is handed on that follows the first HEADERS.
    is_request: bool,
}

/// What comes next on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The type of the stream.
    StreamType,
    FrameType,
    Length {
        frame_type: u64,
    },
    Payload {
        frame_type: u64,
        left: u64,
    },
    /// What follows the head of a request.
    Body,
    /// No frames: quinn bounds what of it is not read.
    Other,
}

/// A variable-length integer as far as it came (RFC 9000 16).
#[derive(Clone, Copy, Debug, Default)]
struct Varint {
    value: u64,
    /// Bytes that are missing; of none, the first.
    left: Option<u8>,
}

impl Varint {
    /// The integer, if it ends with this byte.
    fn push(&mut self, byte: u8) -> Option<u64> {
        let left = match self.left {
            None => {
                self.value = u64::from(byte & 0x3f);
                (1 << (byte >> 6)) - 1
            }
            Some(left) => {
                self.value = self.value << 8 | u64::from(byte);
                left - 1
            }
        };
        if left > 0 {
            self.left = Some(left);
            return None;
        }
        self.left = None;
        Some(self.value)
    }
}

impl Scan {
    /// Of a stream with a request: frames from its first byte on.
    pub(super) fn request() -> Self {
        Self::from(Next::FrameType, true)
    }

    /// Of a stream in one direction, which begins with its type.
    pub(super) fn one_way() -> Self {
        Self::from(Next::StreamType, false)
    }

    fn from(next: Next, is_request: bool) -> Self {
        Self {
            next,
            varint: Varint::default(),
            is_request,
        }
    }

    /// Bytes that come next: so many of them are to be handed on.
    pub(super) fn push(&mut self, all: &[u8]) -> Result<usize, TooLong> {
        let mut bytes = all;
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.next {
                Next::Other => return Ok(all.len()),
                Next::Body => return Ok(all.len() - bytes.len()),
                Next::Payload { frame_type, left } => {
                    let passed = left.min(bytes.len() as u64);
                    bytes = &bytes[passed as usize..];
                    self.next = self.payload(frame_type, left - passed);
                    continue;
                }
                Next::StreamType => {
                    if let Some(stream_type) = self.varint.push(byte) {
                        self.next = match stream_type {
                            CONTROL => Next::FrameType,
                            _ => Next::Other,
                        };
                    }
                }
                Next::FrameType => {
                    if let Some(frame_type) = self.varint.push(byte) {
                        self.next = Next::Length { frame_type };
                    }
                }
                Next::Length { frame_type } => {
                    if let Some(length) = self.varint.push(byte) {
                        if frame_type != DATA && length > MAX_HEAD_BYTES {
                            return Err(TooLong);
                        }
                        self.next = self.payload(frame_type, length);
                    }
                }
            }
            bytes = rest;
        }
        Ok(all.len())
    }

    /// What comes next in a frame of which so many bytes are left.
    fn payload(&self, frame_type: u64, left: u64) -> Next {
        match (frame_type, left) {
            (HEADERS, 0) if self.is_request => Next::Body,
            (_, 0) => Next::FrameType,
            (frame_type, left) => Next::Payload { frame_type, left },
        }
    }
}

/// What it receives is scanned before h3 has it.
pub(super) struct Bounded<T> {
    inner: T,
    scan: Scan,
}

impl<T> Bounded<T> {
    fn new(inner: T, scan: Scan) -> Self {
        Self { inner, scan }
    }
}

impl<T: quic::RecvStream<Buf = Bytes>> quic::RecvStream for Bounded<T> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            let Some(bytes) = ready!(self.inner.poll_data(cx))? else {
                return Poll::Ready(Ok(None));
            };
            match self.scan.push(&bytes) {
                Ok(0) => {}
                Ok(length) => {
                    let copy = Bytes::copy_from_slice(&bytes[..length]);
                    return Poll::Ready(Ok(Some(copy)));
                }
                Err(error) => {
                    self.inner.stop_sending(Code::H3_EXCESSIVE_LOAD.value());
                    return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error))));
                }
            }
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.inner.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl<B: Buf, T: quic::SendStream<B>> quic::SendStream<B> for Bounded<T> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(cx)
    }

    fn send_data<D: Into<WriteBuf<B>>>(&mut self, data: D) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.inner.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}

/// The connection.
pub(super) struct Http3(h3_quinn::Connection);

/// Opens streams of it.
pub(super) struct Opener(h3_quinn::OpenStreams);

impl Http3 {
    pub(super) fn new(connection: quinn::Connection) -> Self {
        Self(h3_quinn::Connection::new(connection))
    }
}

impl quic::Connection<Bytes> for Http3 {
    type RecvStream = Bounded<h3_quinn::RecvStream>;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(quic::Connection::<Bytes>::poll_accept_recv(&mut self.0, cx))?;
        Poll::Ready(Ok(Bounded::new(stream, Scan::one_way())))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let stream = ready!(self.0.poll_accept_bidi(cx))?;
        Poll::Ready(Ok(Bounded::new(stream, Scan::request())))
    }

    fn opener(&self) -> Opener {
        Opener(quic::Connection::<Bytes>::opener(&self.0))
    }
}

/// Of both, the same: what is opened has nothing to be scanned before the client answers.
macro_rules! opens_streams {
    ($type:ty) => {
        impl quic::OpenStreams<Bytes> for $type {
            type BidiStream = Bounded<h3_quinn::BidiStream<Bytes>>;
            type SendStream = h3_quinn::SendStream<Bytes>;

            fn poll_open_bidi(
                &mut self,
                cx: &mut Context<'_>,
            ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
                let stream = ready!(self.0.poll_open_bidi(cx))?;
                Poll::Ready(Ok(Bounded::new(stream, Scan::request())))
            }

            fn poll_open_send(
                &mut self,
                cx: &mut Context<'_>,
            ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
                self.0.poll_open_send(cx)
            }

            fn close(&mut self, code: Code, reason: &[u8]) {
                quic::OpenStreams::<Bytes>::close(&mut self.0, code, reason);
            }
        }
    };
}

opens_streams!(Http3);
opens_streams!(Opener);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As RFC 9000 16 has it, in 8 bytes.
    fn varint(value: u64) -> [u8; 8] {
        (value | 3 << 62).to_be_bytes()
    }

    fn frame(frame_type: u64, length: u64) -> Vec<u8> {
        [varint(frame_type), varint(length)].concat()
    }

    #[test]
    fn integers_of_rfc_9000_a_1_are_read() {
        for (bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            let mut varint = Varint::default();
            let read: Vec<u64> = bytes.iter().filter_map(|byte| varint.push(*byte)).collect();
            assert_eq!(read, [value]);
        }
    }

    #[test]
    fn frames_are_bounded_but_for_data() {
        let headers = |length| frame(1, length);
        assert_eq!(Scan::request().push(&headers(MAX_HEAD_BYTES)), Ok(16));
        assert_eq!(
            Scan::request().push(&headers(MAX_HEAD_BYTES + 1)),
            Err(TooLong)
        );
        assert_eq!(Scan::request().push(&headers(1_000_000_000)), Err(TooLong));
        assert_eq!(Scan::request().push(&frame(0, 1 << 60)), Ok(16));
        assert_eq!(Scan::request().push(&frame(0x21, 1 << 60)), Err(TooLong));
        // after a whole frame the next one
        let mut two = frame(0x21, 3);
        two.extend_from_slice(b"abc");
        two.extend_from_slice(&headers(1 << 30));
        assert_eq!(Scan::request().push(&two), Err(TooLong));
        let mut control = varint(CONTROL).to_vec();
        control.extend_from_slice(&frame(4, 1 << 30));
        assert_eq!(Scan::one_way().push(&control), Err(TooLong));
        let mut encoder = varint(2).to_vec();
        encoder.extend_from_slice(&frame(4, 1 << 30));
        assert_eq!(Scan::one_way().push(&encoder), Ok(24));
    }

    #[test]
    fn of_a_request_the_head_alone_is_handed_on() {
        let mut request = frame(0x21, 2);
        request.extend_from_slice(b"xx");
        request.extend_from_slice(&frame(HEADERS, 3));
        request.extend_from_slice(b"abc");
        let head = request.len();
        request.extend_from_slice(&frame(HEADERS, 1 << 30));
        let mut scan = Scan::request();
        assert_eq!(scan.push(&request), Ok(head));
        assert_eq!(scan.push(&request), Ok(0));
        let empty = [frame(HEADERS, 0), vec![0; 9]].concat();
        assert_eq!(Scan::request().push(&empty), Ok(16));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_are_cut(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cuts in proptest::collection::vec(0_usize..20, 0..20),
        ) {
            let whole = Scan::request().push(&bytes);
            let (mut scan, mut left, mut cut) = (Scan::request(), &bytes[..], Ok(0));
            for size in cuts.into_iter().chain([usize::MAX]) {
                let (now, later) = left.split_at(size.min(left.len()));
                cut = cut.and_then(|sum| Ok(sum + scan.push(now)?));
                left = later;
            }
            prop_assert_eq!(cut, whole);
        }
    }
}
