//! Packets to one peer, gathered so that many leave in one call.

use crate::inner::Inner;
use crate::udp::{MAX_BYTES, MAX_SEGMENTS};
use multipath::packet::{Packet, encode};
use std::io::IoSlice;
use units::Ecn;

/// Packets of one size, the last of which may be smaller.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    headers: Vec<u8>,
    /// Where each packet's header ends, and what it carries.
    packets: Vec<(usize, Option<Inner>)>,
    segment: usize,
    total: usize,
    ecn: Ecn,
    is_closed: bool,
}

impl Batch {
    /// Takes a packet; hands it back if it does not go with those that are here, which must then be
    /// sent first.
    pub(crate) fn push(
        &mut self,
        packet: &Packet,
        payload: Option<Inner>,
        ecn: Ecn,
    ) -> Result<(), Option<Inner>> {
        let is_first = self.packets.is_empty();
        let begin = self.headers.len();
        if !is_first && (self.is_closed || ecn != self.ecn || self.packets.len() == MAX_SEGMENTS) {
            return Err(payload);
        }
        if encode(packet, &mut self.headers).is_err() {
            // no packet of ours is too long for its header; a packet to a peer that requests one is dropped
            self.headers.truncate(begin);
            return Ok(());
        }
        let data = payload.as_ref().map_or(0, |inner| inner.0.len());
        let length = self.headers.len() - begin + data;
        if is_first {
            self.segment = length;
            self.ecn = ecn;
        } else if length > self.segment || self.total + length > MAX_BYTES {
            self.headers.truncate(begin);
            return Err(payload);
        }
        self.is_closed = length < self.segment;
        self.total += length;
        self.packets.push((self.headers.len(), payload));
        Ok(())
    }

    /// True if there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What the largest packet carries, if anything: the first, than which none is larger.
    pub(crate) fn largest(&self) -> Option<Inner> {
        self.packets.first().and_then(|(_, inner)| inner.clone())
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
        let mut pieces = [IoSlice::new(&[]); 2 * MAX_SEGMENTS];
        let mut used = 0;
        let mut begin = 0;
        for (end, payload) in &self.packets {
            pieces[used] = IoSlice::new(&self.headers[begin..*end]);
            used += 1;
            begin = *end;
            if let Some(inner) = payload {
                pieces[used] = IoSlice::new(&inner.0);
                used += 1;
            }
        }
        send(&pieces[..used])
    }

    /// The packets one by one: header and payload.
    pub(crate) fn each(&self, mut send: impl FnMut(&[u8], &[u8])) {
        let mut begin = 0;
        for (end, payload) in &self.packets {
            let data = payload.as_ref().map_or(&[][..], |inner| &inner.0);
            send(&self.headers[begin..*end], data);
            begin = *end;
        }
    }

    /// They have been sent.
    pub(crate) fn clear(&mut self) {
        self.headers.clear();
        self.packets.clear();
        self.total = 0;
        self.is_closed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use multipath::packet::{Kind, Options, decode};
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
        Some(Inner(vec![7; length].into()))
    }

    #[test]
    fn packets_of_one_size_go_together_and_a_smaller_one_ends() {
        let mut batch = Batch::default();
        let mut push = |seq, length, ecn| {
            let result = batch.push(&packet(seq), inner(length), ecn);
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
        assert!(batch.push(&packet(9), None, Ecn::NotEct).is_ok());
        assert_eq!(batch.segment(), None);
    }

    #[test]
    fn a_call_holds_so_much_and_no_more() {
        let mut batch = Batch::default();
        let mut count = 0;
        while batch
            .push(&packet(count), inner(1_400), Ecn::NotEct)
            .is_ok()
        {
            count += 1;
        }
        assert_eq!(count, 65_507 / 1_428);
        let mut small = Batch::default();
        let mut count = 0;
        while small.push(&packet(count), inner(60), Ecn::NotEct).is_ok() {
            count += 1;
        }
        assert_eq!(count, MAX_SEGMENTS as u64);
    }
}
