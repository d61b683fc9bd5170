//! Packets to one peer, gathered so that many leave in one call.
//!
//! What is to be sealed has its number when it is pushed; it is sealed with all others of its batch by [`Batch::finish`], in
//! whichever thread sends them.

use crate::inner::Inner;
use crate::udp::{MAX_BYTES, MAX_SEGMENTS};
use multipath::packet::{Compact, EncodeError, Packet, WHOLE, encode};
use secrecy::message::{DATA_HEADER_LEN, DATA_OVERHEAD};
use secrecy::{Refused, Reserved, Session};
use std::io::IoSlice;
use units::{Ecn, Instant};

/// What seals a packet, and when. A sealed packet is written in compact form where it can be.
pub(crate) type Seal<'a> = Option<(&'a mut Session, Instant)>;

/// Packets of one size, the last of which may be smaller.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Headers, and datagrams that leave as they are.
    headers: Vec<u8>,
    packets: Vec<Pushed>,
    /// What they are sealed by.
    reserved: Option<Reserved>,
    /// They are sealed, or will be.
    is_sealed: bool,
    segment: usize,
    total: usize,
    ecn: Ecn,
    is_closed: bool,
    /// Once they are sealed: their bytes, and where each ends.
    sealed: Vec<u8>,
    ends: Vec<usize>,
}

/// One packet.
#[derive(Debug)]
struct Pushed {
    /// Where its header ends.
    end: usize,
    /// What it carries.
    payload: Option<Inner>,
    /// It is sealed when the batch is.
    is_to_seal: bool,
}

impl Batch {
    /// Takes a packet; hands it back if it does not go with those that are here, which must then be
    /// sent first. One that cannot be sealed any more is dropped.
    pub(crate) fn push(
        &mut self,
        packet: &Packet,
        payload: Option<Inner>,
        ecn: Ecn,
        seal: &mut Seal<'_>,
    ) -> Result<(), Option<Inner>> {
        let begin = self.headers.len();
        if !self.takes(ecn, seal.is_some()) {
            return Err(payload);
        }
        let compact = Compact::of(packet).filter(|_| seal.is_some());
        if let Some(compact) = compact {
            self.headers.extend_from_slice(&compact.bytes());
        } else if write_whole(packet, seal.is_some(), &mut self.headers).is_err() {
            // no packet of ours is too long for its header; a packet to a peer that requests one is dropped
            self.headers.truncate(begin);
            return Ok(());
        }
        let data = payload.as_ref().map_or(0, |inner| inner.0.len());
        let around = if seal.is_some() { DATA_OVERHEAD } else { 0 };
        let length = self.headers.len() - begin + data + around;
        if !self.has_room(length) {
            self.headers.truncate(begin);
            return Err(payload);
        }
        if let Some((session, now)) = seal
            && let Err(refused) = session.reserve(*now, &mut self.reserved)
        {
            self.headers.truncate(begin);
            return match refused {
                // those that are here have keys of before
                Refused::UnknownSession => Err(payload),
                _ => Ok(()),
            };
        }
        self.append(length, payload, ecn, (seal.is_some(), seal.is_some()));
        Ok(())
    }

    /// Takes a packet without data, which is padded so that its datagram has `size` bytes; into an empty batch.
    pub(crate) fn push_padded(&mut self, packet: &Packet, size: usize, seal: &mut Seal<'_>) {
        let around = if seal.is_some() { DATA_OVERHEAD } else { 0 };
        let mut header = Vec::new();
        if write_whole(packet, seal.is_some(), &mut header).is_ok() {
            let padding = size.saturating_sub(around + header.len());
            // the data of a Sync is ignored (RFC 4340 5.1.2)
            let payload = Inner::packet(vec![0; padding].into());
            let _ = self.push(packet, Some(payload), Ecn::NotEct, seal);
        }
    }

    /// Takes a datagram as it is. False if it does not go with those that are here.
    pub(crate) fn push_bytes(&mut self, datagram: &[u8]) -> bool {
        if !self.takes(Ecn::NotEct, true) || !self.has_room(datagram.len()) {
            return false;
        }
        self.headers.extend_from_slice(datagram);
        self.append(datagram.len(), None, Ecn::NotEct, (true, false));
        true
    }

    fn takes(&self, ecn: Ecn, is_sealed: bool) -> bool {
        self.packets.is_empty()
            || !self.is_closed
                && ecn == self.ecn
                && is_sealed == self.is_sealed
                && self.packets.len() < MAX_SEGMENTS
    }

    fn has_room(&self, length: usize) -> bool {
        self.packets.is_empty() || length <= self.segment && self.total + length <= MAX_BYTES
    }

    fn append(
        &mut self,
        length: usize,
        payload: Option<Inner>,
        ecn: Ecn,
        (is_sealed, is_to_seal): (bool, bool),
    ) {
        if self.packets.is_empty() {
            self.segment = length;
            self.ecn = ecn;
            self.is_sealed = is_sealed;
        }
        self.is_closed = length < self.segment;
        self.total += length;
        self.packets.push(Pushed {
            end: self.headers.len(),
            payload,
            is_to_seal,
        });
    }

    /// Seals what is to be sealed: before they are sent.
    pub(crate) fn finish(&mut self) {
        if !self.is_sealed {
            return;
        }
        let mut begin = 0;
        for pushed in &mut self.packets {
            let header = &self.headers[begin..pushed.end];
            begin = pushed.end;
            let start = self.sealed.len();
            if pushed.is_to_seal {
                self.sealed.extend_from_slice(&[0; DATA_HEADER_LEN]);
            }
            self.sealed.extend_from_slice(header);
            if let Some(payload) = pushed.payload.take() {
                self.sealed.extend_from_slice(&payload.0);
            }
            if pushed.is_to_seal {
                let reserved = self.reserved.as_mut();
                let sealed = reserved.map(|reserved| reserved.seal(&mut self.sealed, start));
                if !matches!(sealed, Some(Ok(()))) {
                    // each has its number, and none is too long
                    self.sealed.truncate(start);
                    continue;
                }
            }
            self.ends.push(self.sealed.len());
        }
    }

    /// True if there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.total
    }

    /// Packets here.
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// The ECN codepoint of their IP headers.
    pub(crate) fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Length of each but the last; none if there is only one.
    pub(crate) fn segment(&self) -> Option<u16> {
        // bounded by the bytes of one call
        (self.packets.len() > 1).then_some(self.segment as u16)
    }

    /// The pieces of all packets.
    pub(crate) fn with_pieces<T>(&self, send: impl FnOnce(&[IoSlice<'_>]) -> T) -> T {
        if self.is_sealed {
            return send(&[IoSlice::new(&self.sealed)]);
        }
        let mut pieces = [IoSlice::new(&[]); 2 * MAX_SEGMENTS];
        let mut used = 0;
        self.each(|header, data| {
            for piece in [header, data].into_iter().filter(|piece| !piece.is_empty()) {
                pieces[used] = IoSlice::new(piece);
                used += 1;
            }
        });
        send(&pieces[..used])
    }

    /// The packets one by one: header and payload.
    pub(crate) fn each<'a>(&'a self, mut send: impl FnMut(&'a [u8], &'a [u8])) {
        let mut begin = 0;
        if self.is_sealed {
            for end in &self.ends {
                send(&self.sealed[begin..*end], &[]);
                begin = *end;
            }
            return;
        }
        for pushed in &self.packets {
            let data = pushed.payload.as_ref();
            let data = data.map_or(&[][..], |inner| &inner.0);
            send(&self.headers[begin..pushed.end], data);
            begin = pushed.end;
        }
    }

    /// They have been sent.
    pub(crate) fn clear(&mut self) {
        self.headers.clear();
        self.packets.clear();
        self.reserved = None;
        self.total = 0;
        self.is_closed = false;
        self.sealed.clear();
        self.ends.clear();
    }
}

fn write_whole(packet: &Packet, is_sealed: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if is_sealed {
        out.push(WHOLE);
    }
    encode(packet, out).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use multipath::packet::{Form, Kind, Options, Reference, decode, decode_form};
    use multipath::{MpSeq, SeqNo};

    fn packet(seq: u64) -> Packet {
        Packet {
            source: 1,
            destination: 2,
            ccval: 0,
            seq: SeqNo::new(seq),
            kind: Kind::Data,
            options: Options {
                mp_seq: Some(MpSeq::new(seq)),
                ..Options::default()
            },
        }
    }

    fn inner(length: usize) -> Option<Inner> {
        Some(Inner::packet(vec![7; length].into()))
    }

    #[test]
    fn packets_of_one_size_go_together_and_a_smaller_one_ends() {
        let mut batch = Batch::default();
        let mut push = |seq, length, ecn| {
            let result = batch.push(&packet(seq), inner(length), ecn, &mut None);
            result.map_err(|back| back.map(|inner| inner.0.len()))
        };
        assert_eq!(push(1, 1_400, Ecn::Ect0), Ok(()));
        assert_eq!(push(2, 1_400, Ecn::Ect0), Ok(()));
        assert_eq!(push(3, 1_400, Ecn::Ce), Err(Some(1_400)), "another mark");
        assert_eq!(push(4, 1_401, Ecn::Ect0), Err(Some(1_401)), "larger");
        assert_eq!(push(5, 100, Ecn::Ect0), Ok(()));
        assert_eq!(push(6, 100, Ecn::Ect0), Err(Some(100)), "after the last");
        assert_eq!((batch.len(), batch.ecn()), (3, Ecn::Ect0));
        let size = usize::from(batch.segment().expect("several"));
        let bytes = batch.with_pieces(|pieces| {
            pieces
                .iter()
                .flat_map(|piece| piece.to_vec())
                .collect::<Vec<u8>>()
        });
        let lengths: Vec<usize> = bytes
            .chunks(size)
            .map(|datagram| {
                let (_, header) = decode(datagram).expect("a packet");
                datagram.len() - header
            })
            .collect();
        assert_eq!(lengths, [1_400, 1_400, 100]);
        batch.clear();
        assert!(batch.is_empty());
        assert!(batch.push(&packet(9), None, Ecn::NotEct, &mut None).is_ok());
        assert_eq!(batch.segment(), None);
    }

    #[test]
    fn a_call_holds_so_much_and_no_more() {
        let mut batch = Batch::default();
        let mut count = 0;
        while batch
            .push(&packet(count), inner(1_400), Ecn::NotEct, &mut None)
            .is_ok()
        {
            count += 1;
        }
        assert_eq!(count, 65_507 / 1_428);
        let mut small = Batch::default();
        let mut count = 0;
        while small
            .push(&packet(count), inner(60), Ecn::NotEct, &mut None)
            .is_ok()
        {
            count += 1;
        }
        assert_eq!(count, MAX_SEGMENTS as u64);
    }

    #[test]
    fn a_probe_has_the_size_that_is_required_sealed_or_not() {
        use multipath::packet::DccpOption;
        let mut probe = packet(7);
        probe.kind = Kind::Sync { ack: SeqNo::new(5) };
        probe.options = Options::default();
        let (mut client, _) = ends();
        for is_long in [false, true] {
            if is_long {
                let option =
                    DccpOption::Multipath(multipath::packet::MpOption::Experimental(vec![1, 2, 3]));
                probe.options.list.push(option);
            }
            for is_sealed in [false, true] {
                let mut batch = Batch::default();
                let session = client.session().filter(|_| is_sealed);
                let mut seal = session.map(|session| (session, Instant::ZERO));
                batch.push_padded(&probe, 1_472, &mut seal);
                batch.finish();
                let sent =
                    batch.with_pieces(|pieces| pieces.iter().map(|p| p.len()).sum::<usize>());
                assert_eq!((batch.len(), sent), (1, 1_472));
            }
        }
    }

    /// Both ends of a session, after a handshake.
    fn ends() -> (secrecy::Initiator, secrecy::Responder) {
        use keys::System;
        use secrecy::{Algorithms, Channel, Limits, LinkId, Local, PrivateKey, SharedSecret};
        let (client, server) = (
            PrivateKey::from_bytes([1; 32]),
            PrivateKey::from_bytes([2; 32]),
        );
        let config = secrecy::ResponderConfig {
            clients: vec![secrecy::Client {
                key: client.public(),
                shared: SharedSecret::default(),
            }],
            key: server.clone(),
            algorithms: Algorithms::new(true),
            limits: Limits::default(),
        };
        let local = Local {
            key: client,
            server: server.public(),
            shared: SharedSecret::default(),
            algorithms: Algorithms::new(true),
            limits: Limits::default(),
        };
        let mut client = secrecy::Initiator::new(std::sync::Arc::new(local));
        let mut server = secrecy::Responder::new(config, &[3; 32], LinkId(1));
        let now = Instant::ZERO;
        while let Some(mut out) = client.poll_transmit(now, &mut System) {
            let from = std::net::SocketAddr::from(([192, 0, 2, 1], 5));
            let got = server.receive(now, Channel::Datagrams, from, &mut out, &mut System);
            if let Some(mut answer) = got.expect("accepted").answer {
                client.receive(now, &mut answer).expect("accepted");
            }
        }
        (client, server)
    }

    /// What is sealed has no byte of what was put in, is cut where a packet begins, and opens as it was.
    #[test]
    fn sealed_packets_go_together_and_open_as_they_were() {
        use secrecy::Channel;
        let (mut client, mut server) = ends();
        let mut batch = Batch::default();
        for (seq, length) in [(1, 1_400), (2, 1_400), (3, 100)] {
            let mut seal = client.session().map(|session| (session, Instant::ZERO));
            let pushed = batch.push(&packet(seq), inner(length), Ecn::Ect0, &mut seal);
            assert!(pushed.is_ok(), "{seq}");
        }
        let mut seal = client.session().map(|session| (session, Instant::ZERO));
        let pushed = batch.push(&packet(4), inner(100), Ecn::Ect0, &mut seal);
        assert!(pushed.is_err(), "after the last");
        let pushed = batch.push(&packet(4), None, Ecn::Ect0, &mut None);
        assert!(pushed.is_err(), "not sealed");
        assert!(!batch.push_bytes(b"handshake"), "another mark");
        let size = usize::from(batch.segment().expect("several"));
        batch.finish();
        let bytes = batch.with_pieces(|pieces| {
            assert_eq!(pieces.len(), 1);
            pieces[0].to_vec()
        });
        assert!(!bytes.windows(8).any(|part| part == [7; 8]));
        let mut one_by_one = Vec::new();
        batch.each(|header, data| {
            assert!(data.is_empty());
            one_by_one.extend_from_slice(header);
        });
        assert_eq!(one_by_one, bytes);
        let from = std::net::SocketAddr::from(([192, 0, 2, 1], 5));
        let mut lengths = Vec::new();
        for chunk in bytes.chunks(size) {
            let mut data = chunk.to_vec();
            let mut none = || None;
            let got = server
                .receive(
                    Instant::ZERO,
                    Channel::Datagrams,
                    from,
                    &mut data,
                    &mut none,
                )
                .expect("accepted");
            let plain = &data[got.data.expect("a packet").1];
            let (form, header) = decode_form(plain).expect("a packet");
            let Form::Compact(compact) = form else {
                panic!("{form:?}")
            };
            let reference = Reference {
                ports: (1, 2),
                seq: SeqNo::new(1),
                mp_seq: MpSeq::new(1),
            };
            let seq = lengths.len() as u64 + 1;
            assert_eq!(compact.expand(&reference), packet(seq));
            assert!(plain[header..].iter().all(|byte| *byte == 7));
            lengths.push(plain.len() - header);
            assert_eq!(chunk.len(), plain.len() + DATA_OVERHEAD);
        }
        assert_eq!(lengths, [1_400, 1_400, 100]);
    }
}
