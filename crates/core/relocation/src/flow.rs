//! The state of a split connection: what another machine needs to go on with it.

use crate::message::Malformed;
use crate::pieces::Pieces;
use crate::reader::{Reader, put_address, put_bytes, put_pieces, put_word};
use std::net::SocketAddr;

/// The greatest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;
/// The smallest segment size that Linux takes (`TCP_MIN_MSS`), bytes.
const MIN_MSS: u32 = 88;

/// Both windows of a leg, as `TCP_REPAIR_WINDOW` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Sequence number of the segment that the peer has shown its last window with.
    pub snd_wl1: u32,
    /// That window, bytes.
    pub snd_wnd: u32,
    /// The largest that it has shown, bytes.
    pub max_window: u32,
    /// The window that the peer was shown last, bytes.
    pub rcv_wnd: u32,
    /// Sequence number that the peer was shown it with.
    pub rcv_wup: u32,
}

/// One of the two TCP connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The proxy's end, whose address is another's.
    pub local: SocketAddr,
    /// The peer.
    pub remote: SocketAddr,
    /// The oldest sequence number that is not acknowledged.
    pub snd_una: u32,
    /// The next sequence number that is expected.
    pub rcv_nxt: u32,
    /// The segment size that was negotiated, bytes.
    pub mss: u32,
    /// Our clock of timestamps, where both ends have agreed on them (RFC 7323).
    pub timestamp: Option<u32>,
    /// Both ends have agreed on selective acknowledgements (RFC 2018).
    pub has_sack: bool,
    /// Scales of the peer's windows and of ours, where both ends have agreed on them.
    pub scales: Option<(u8, u8)>,
    /// Both windows.
    pub window: Window,
    /// Sent, and not acknowledged.
    pub in_flight: Vec<u8>,
}

/// A split connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The UE's end.
    pub client: SocketAddr,
    /// The server's end.
    pub server: SocketAddr,
    /// Towards the UE.
    pub ran: Leg,
    /// Towards the server.
    pub wan: Leg,
    /// Received of the server, acknowledged, and not sent to the UE yet.
    pub down: Pieces,
    /// Received of the UE, acknowledged, and not sent to the server yet.
    pub up: Pieces,
}

impl Flow {
    /// Payload that it carries, bytes.
    pub fn payload(&self) -> usize {
        self.down.len() + self.up.len() + self.ran.in_flight.len() + self.wan.in_flight.len()
    }

    /// Whether a proxy may go on with it: each leg is between those whom the connection is between.
    ///
    /// # Errors
    /// It contradicts itself.
    pub fn check(&self) -> Result<(), Malformed> {
        let is_between = self.ran.remote == self.client
            && self.ran.local == self.server
            && self.wan.remote == self.server
            && self.wan.local.ip() == self.client.ip()
            && self.client.is_ipv4() == self.server.is_ipv4()
            && [self.client, self.server, self.wan.local]
                .iter()
                .all(|address| address.port() != 0);
        if is_between && self.ran.is_possible() && self.wan.is_possible() {
            Ok(())
        } else {
            Err(Malformed::Value)
        }
    }

    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        put_address(to, self.client);
        put_address(to, self.server);
        self.ran.put(to);
        self.wan.put(to);
        put_pieces(to, &self.down);
        put_pieces(to, &self.up);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let flow = Self {
            client: from.address()?,
            server: from.address()?,
            ran: Leg::read(from)?,
            wan: Leg::read(from)?,
            down: from.bytes()?.into(),
            up: from.bytes()?.into(),
        };
        flow.check()?;
        Ok(flow)
    }
}

impl Leg {
    /// What the kernel would refuse, or no two ends agree on.
    fn is_possible(&self) -> bool {
        let scales = self.scales.unwrap_or_default();
        let window = &self.window;
        // how far a number is behind another, modulo 2^32
        let is_behind = |number: u32, of: u32| of.wrapping_sub(number) as i32 >= 0;
        self.mss >= MIN_MSS
            && self.mss <= u32::from(u16::MAX)
            && scales.0 <= MAX_SCALE
            && scales.1 <= MAX_SCALE
            && window.max_window >= window.snd_wnd
            && is_behind(window.rcv_wup, self.rcv_nxt)
            && is_behind(window.snd_wl1, self.rcv_nxt.wrapping_add(window.rcv_wnd))
            && window.rcv_wnd <= 1 << 30
            && window.max_window <= 1 << 30
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_address(to, self.local);
        put_address(to, self.remote);
        let flags = u8::from(self.timestamp.is_some())
            | u8::from(self.has_sack) << 1
            | u8::from(self.scales.is_some()) << 2;
        let scales = self.scales.unwrap_or_default();
        to.extend([flags, scales.0, scales.1]);
        let window = &self.window;
        for word in [
            self.snd_una,
            self.rcv_nxt,
            self.mss,
            self.timestamp.unwrap_or(0),
            window.snd_wl1,
            window.snd_wnd,
            window.max_window,
            window.rcv_wnd,
            window.rcv_wup,
        ] {
            put_word(to, word);
        }
        put_bytes(to, &self.in_flight);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (local, remote) = (from.address()?, from.address()?);
        let (flags, scales) = (from.byte()?, (from.byte()?, from.byte()?));
        if flags > 7 {
            return Err(Malformed::Value);
        }
        let (snd_una, rcv_nxt, mss) = (from.word()?, from.word()?, from.word()?);
        let timestamp = from.word()?;
        Ok(Self {
            local,
            remote,
            snd_una,
            rcv_nxt,
            mss,
            timestamp: (flags & 1 != 0).then_some(timestamp),
            has_sack: flags & 2 != 0,
            scales: (flags & 4 != 0).then_some(scales),
            window: Window {
                snd_wl1: from.word()?,
                snd_wnd: from.word()?,
                max_window: from.word()?,
                rcv_wnd: from.word()?,
                rcv_wup: from.word()?,
            },
            in_flight: from.bytes()?,
        })
    }
}
