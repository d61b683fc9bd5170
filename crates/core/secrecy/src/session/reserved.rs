//! Numbers that are taken in the order of packets, for packets that are sealed later, by whatever thread.

use super::{Session, seal_in_place};
use crate::Refused;
use core::fmt;
use ring::aead::LessSafeKey;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Instant;

/// Numbers of one session, with what seals by them. Each seals one packet: a number is taken out of the session once,
/// and out of this once, and there is no copy of this.
pub struct Reserved {
    key: Arc<LessSafeKey>,
    peer_id: u32,
    numbers: VecDeque<u64>,
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reserved({} to {:08x})", self.len(), self.peer_id)
    }
}

impl Session {
    /// Takes a number for one more packet of `reserved`, which begins with it if there is none.
    ///
    /// # Errors
    /// [`Refused::Expired`]; [`Refused::UnknownSession`] if `reserved` has numbers of another session. Nothing is taken
    /// then.
    pub fn reserve(
        &mut self,
        now: Instant,
        reserved: &mut Option<Reserved>,
    ) -> Result<(), Refused> {
        if self.is_expired(now) {
            return Err(Refused::Expired);
        }
        let reserved = reserved.get_or_insert_with(|| Reserved {
            key: Arc::clone(&self.seal),
            peer_id: self.peer_id,
            numbers: VecDeque::new(),
        });
        if !Arc::ptr_eq(&reserved.key, &self.seal) {
            return Err(Refused::UnknownSession);
        }
        reserved.numbers.push_back(self.next);
        self.next += 1;
        self.unanswered.get_or_insert(now);
        Ok(())
    }
}

impl Reserved {
    /// Packets that it can seal.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// It can seal none any more.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Seals by the first number that is left, as [`Session::seal`] does.
    ///
    /// # Errors
    /// [`Refused::Expired`] if no number is left; [`Refused::Malformed`] if there is no room for the header: the number is
    /// of no use then.
    pub fn seal(&mut self, buffer: &mut Vec<u8>, begin: usize) -> Result<(), Refused> {
        let number = self.numbers.pop_front().ok_or(Refused::Expired)?;
        seal_in_place(&self.key, (self.peer_id, number), buffer, begin)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, opened, pair, sealed};
    use super::*;
    use crate::message::DATA_HEADER_LEN;
    use crate::session::{Algorithm, Limits};

    fn seal(reserved: &mut Reserved, text: &[u8]) -> Result<Vec<u8>, Refused> {
        let mut buffer = [&[0; DATA_HEADER_LEN][..], text].concat();
        reserved.seal(&mut buffer, 0)?;
        Ok(buffer)
    }

    #[test]
    fn what_is_sealed_later_has_the_number_that_was_taken() {
        for algorithm in [Algorithm::ChaCha20Poly1305, Algorithm::Aes256Gcm] {
            let (mut client, mut server) = pair(algorithm, Limits::default());
            let mut reserved = None;
            client.reserve(START, &mut reserved).expect("a number");
            let between = sealed(&mut client, START, b"between").expect("sealed");
            client.reserve(START, &mut reserved).expect("a number");
            assert_eq!(client.sealed(), 3);
            let mut reserved = reserved.expect("numbers");
            // by another thread, and when the session is gone
            drop(client);
            let (first, second, none) = std::thread::spawn(move || {
                let first = seal(&mut reserved, b"first");
                let second = seal(&mut reserved, b"second");
                (first, second, seal(&mut reserved, b"none"))
            })
            .join()
            .expect("it ends");
            assert_eq!(none, Err(Refused::Expired), "each number once");
            let number = |data: &[u8]| match crate::message::parse(data) {
                Ok(crate::message::Message::Data(header)) => header.number,
                other => panic!("{other:?}"),
            };
            let (first, second) = (first.expect("sealed"), second.expect("sealed"));
            assert_eq!(
                [&first, &between, &second].map(|data| number(data)),
                [0, 1, 2]
            );
            for (data, text) in [
                (second, &b"second"[..]),
                (between, b"between"),
                (first, b"first"),
            ] {
                assert_eq!(opened(&mut server, START, &data), Ok(text.to_vec()));
                assert_eq!(opened(&mut server, START, &data), Err(Refused::Replayed));
            }
        }
    }

    #[test]
    fn numbers_of_two_sessions_do_not_go_together_and_of_none_that_has_expired() {
        let limits = Limits {
            expire_packets: 2,
            ..Limits::default()
        };
        let (mut client, mut server) = pair(Algorithm::ChaCha20Poly1305, limits);
        let mut reserved = None;
        client.reserve(START, &mut reserved).expect("a number");
        assert_eq!(
            server.reserve(START, &mut reserved),
            Err(Refused::UnknownSession)
        );
        assert_eq!(server.sealed(), 0, "none is taken");
        client.reserve(START, &mut reserved).expect("a number");
        assert_eq!(client.reserve(START, &mut reserved), Err(Refused::Expired));
        assert_eq!(reserved.map(|reserved| reserved.len()), Some(2));
        let late = START + limits.expire_after;
        let mut none = None;
        assert_eq!(server.reserve(late, &mut none), Err(Refused::Expired));
        assert!(none.is_none());
    }
}
