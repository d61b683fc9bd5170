//! The end of a connection: from when both directions have ended until what was sent is acknowledged.
//!
//! ```text
//!   both have ended --> nothing left --> closed
//!          |                 ^
//!          v                 | acknowledged, or its peer has gone
//!       closing -------------'
//!          '--> silent for too long, or its UE holds too much --> reset
//! ```
//!
//! A socket that is closed earlier goes on sending as nobody's. No limit counts what such sockets hold, and of all of
//! them together the kernel permits only so many (`net.ipv4.tcp_max_orphans`) and so much memory; beyond that it
//! resets others'. Therefore a connection stays until then, with its place, its memory and its limit of silence.

use super::connection::Side;
use super::direction::Socket;

/// A connection of which both directions have ended, and not all is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    /// Of the sockets towards the UE and towards the server: its peer has reset it, or the kernel has given it up.
    has_gone: [bool; 2],
    /// Not acknowledged when last looked at, both together, bytes; an end counts as one.
    left: usize,
}

/// What is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// All is.
    Nothing,
    /// Less than when last looked at.
    Less,
    /// As much as then.
    AsMuch,
}

impl Closing {
    /// Of the sockets towards the UE and towards the server; none if there is nothing to wait for.
    pub(super) fn begin<S: Socket>(ran: &S, wan: &S) -> Option<Self> {
        let mut closing = Self {
            left: usize::MAX,
            ..Self::default()
        };
        (closing.look(ran, wan) != Left::Nothing).then_some(closing)
    }

    /// An error of the socket: what was sent there will never be acknowledged.
    pub(super) fn on_gone(&mut self, side: Side) {
        self.has_gone[side as usize] = true;
    }

    /// Looks at both.
    pub(super) fn look<S: Socket>(&mut self, ran: &S, wan: &S) -> Left {
        let of = |side: Side, socket: &S| {
            if self.has_gone[side as usize] {
                0
            } else {
                socket.unacknowledged()
            }
        };
        let left = of(Side::Ran, ran) + of(Side::Wan, wan);
        let before = std::mem::replace(&mut self.left, left);
        match left {
            0 => Left::Nothing,
            left if left < before => Left::Less,
            _ => Left::AsMuch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Result;
    use std::cell::Cell;

    /// So much is not acknowledged.
    struct Unacknowledged(Cell<usize>);

    impl Socket for Unacknowledged {
        fn unread(&self) -> usize {
            0
        }
        fn is_at_mark(&self) -> bool {
            false
        }
        fn read_byte(&self, _: &mut [u8; 1]) -> Result<usize> {
            Ok(0)
        }
        fn send_urgent(&self, _: u8) -> Result<()> {
            Ok(())
        }
        fn end(&self) -> Result<()> {
            Ok(())
        }
        fn unacknowledged(&self) -> usize {
            self.0.get()
        }
    }

    #[test]
    fn it_lasts_until_both_sockets_have_nothing_left() {
        let [ran, wan] = [0, 0].map(|n| Unacknowledged(Cell::new(n)));
        assert!(Closing::begin(&ran, &wan).is_none(), "closed at once");
        ran.0.set(1_000);
        wan.0.set(1);
        let mut closing = Closing::begin(&ran, &wan).expect("it waits");
        assert_eq!(closing.look(&ran, &wan), Left::AsMuch);
        wan.0.set(0);
        assert_eq!(closing.look(&ran, &wan), Left::Less);
        ran.0.set(1);
        assert_eq!(closing.look(&ran, &wan), Left::Less);
        assert_eq!(closing.look(&ran, &wan), Left::AsMuch);
        ran.0.set(0);
        assert_eq!(closing.look(&ran, &wan), Left::Nothing);
    }

    #[test]
    fn what_its_peer_has_reset_is_not_waited_for() {
        let [ran, wan] = [7, 1].map(|n| Unacknowledged(Cell::new(n)));
        let mut closing = Closing::begin(&ran, &wan).expect("it waits");
        closing.on_gone(Side::Ran);
        assert_eq!(closing.look(&ran, &wan), Left::Less, "the server's end");
        wan.0.set(0);
        assert_eq!(closing.look(&ran, &wan), Left::Nothing);
    }
}
