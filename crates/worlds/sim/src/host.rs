//! A host's end of a connection, whatever the transport.

use crate::packet::Body;
use crate::quic;
use crate::tcp::{self, ReadChunk, RttSample};
use cc::{RadioState, RateReport, RateView, meld};
use rnis::{RadioReport, UeReport};
use units::{Bytes, Instant, Packets};

/// A host's end of a connection.
pub(crate) enum Host {
    /// TCP.
    Tcp(Box<tcp::Connection>),
    /// QUIC.
    Quic(Box<quic::Connection>),
}

/// The end of a connection as the network reaches it: a host's or the proxy's.
pub(crate) enum End<'a> {
    /// TCP.
    Tcp(&'a mut tcp::Connection),
    /// QUIC.
    Quic(&'a mut quic::Connection),
}

/// What the time series show of a host's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostStats {
    /// Window of the controller.
    pub(crate) cwnd: Bytes,
    /// In flight.
    pub(crate) bytes_in_flight: Bytes,
    /// What the peer's window still allows; unknown over QUIC.
    pub(crate) peer_window: Option<Bytes>,
    /// Segments or packets sent again.
    pub(crate) retransmits: Packets,
}

impl Host {
    /// As the network reaches it.
    pub(crate) fn end(&mut self) -> End<'_> {
        match self {
            Self::Tcp(connection) => End::Tcp(connection),
            Self::Quic(connection) => End::Quic(connection),
        }
    }

    /// A client begins to connect.
    pub(crate) fn open(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.open(now),
            Self::Quic(connection) => connection.open(now),
        }
    }

    /// The application offers `bytes`; returns how many are taken.
    pub(crate) fn write(&mut self, now: Instant, bytes: Bytes) -> Bytes {
        match self {
            Self::Tcp(connection) => connection.write(now, bytes, None),
            Self::Quic(connection) => connection.write(bytes),
        }
    }

    /// Written and not yet sent; unknown over QUIC, where streams share what is sent.
    pub(crate) fn unsent(&self) -> Bytes {
        match self {
            Self::Tcp(connection) => connection.unsent(),
            Self::Quic(_) => Bytes::ZERO,
        }
    }

    /// Takes up to `max` bytes of one origin.
    pub(crate) fn read(&mut self, now: Instant, max: Bytes) -> Option<ReadChunk> {
        match self {
            Self::Tcp(connection) => connection.read(now, max),
            Self::Quic(connection) => connection.read(max),
        }
    }

    /// The application has no more to write.
    pub(crate) fn close(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.close(now),
            Self::Quic(connection) => connection.close(now),
        }
    }

    /// Payload in order that was not read.
    pub(crate) fn readable(&self) -> Bytes {
        match self {
            Self::Tcp(connection) => connection.readable(),
            Self::Quic(connection) => connection.readable(),
        }
    }

    /// Payload that has come, the first time and in any order.
    pub(crate) fn received(&self) -> Bytes {
        match self {
            Self::Tcp(connection) => connection.received(),
            Self::Quic(connection) => connection.received(),
        }
    }

    /// The peer has closed its direction, and all its data has arrived.
    pub(crate) fn peer_closed(&self) -> bool {
        match self {
            Self::Tcp(connection) => connection.peer_closed(),
            Self::Quic(connection) => connection.peer_closed(),
        }
    }

    /// The connection is over.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Tcp(connection) => connection.is_closed(),
            Self::Quic(connection) => connection.is_closed(),
        }
    }

    /// A QUIC server that no packet has reached: it has nothing to close.
    pub(crate) fn has_no_peer(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Quic(connection) => connection.has_no_peer(),
        }
    }

    /// A radio report of the UE reaches the host of a connection with MELD. Returns whether the connection is to be
    /// polled for packets: quinn's controllers receive a report at their next event, if it does not set the pace.
    pub(crate) fn on_radio(
        &mut self,
        now: Instant,
        state: &RadioState,
        meld: meld::Config,
    ) -> bool {
        match self {
            Self::Tcp(connection) => {
                connection.on_radio(now, state);
                true
            }
            Self::Quic(connection) => {
                connection.on_radio(now, state);
                meld.steers_by(now, state)
            }
        }
    }

    /// The modem of the host reports its radio link.
    pub(crate) fn on_modem(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        match self {
            Self::Tcp(connection) => connection.on_modem(now, report, ue),
            Self::Quic(connection) => connection.on_modem(now, report, ue),
        }
    }

    /// The bandwidth that a client measures, if it does.
    pub(crate) fn reported_rate(&self) -> Option<RateReport> {
        match self {
            Self::Tcp(connection) => connection.reported_rate(),
            Self::Quic(connection) => connection.reported_rate(),
        }
    }

    /// What the controller of a sender shows that the client helps.
    pub(crate) fn rate_view(&self) -> Option<RateView> {
        match self {
            Self::Tcp(connection) => connection.rate_view(),
            Self::Quic(connection) => connection.rate_view(),
        }
    }

    /// What the time series show of it.
    pub(crate) fn stats(&self) -> HostStats {
        match self {
            Self::Tcp(connection) => {
                let stats = connection.stats();
                HostStats {
                    cwnd: stats.cwnd,
                    bytes_in_flight: stats.bytes_in_flight,
                    peer_window: Some(stats.peer_window),
                    retransmits: stats.retransmits,
                }
            }
            Self::Quic(connection) => {
                let stats = connection.stats();
                HostStats {
                    cwnd: stats.cwnd,
                    bytes_in_flight: stats.bytes_in_flight,
                    peer_window: None,
                    retransmits: stats.retransmits,
                }
            }
        }
    }
}

impl End<'_> {
    /// The next packet to transmit, if one may leave now.
    pub(crate) fn poll_transmit(&mut self, now: Instant, session: u32) -> Option<Body> {
        match self {
            Self::Tcp(connection) => {
                let segment = connection.poll_transmit(now)?;
                Some(Body::Segment { session, segment })
            }
            Self::Quic(connection) => {
                let datagram = connection.poll_transmit(now)?;
                Some(Body::Quic { session, datagram })
            }
        }
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(connection) => connection.next_deadline(),
            Self::Quic(connection) => connection.next_deadline(),
        }
    }

    /// A deadline has come.
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        match self {
            Self::Tcp(connection) => connection.on_deadline(now),
            Self::Quic(connection) => connection.on_deadline(now),
        }
    }

    /// The round trip that the last acknowledgement completed, if it gave a sample; once.
    pub(crate) fn take_rtt_sample(&mut self) -> Option<RttSample> {
        match self {
            Self::Tcp(connection) => connection.take_rtt_sample(),
            Self::Quic(connection) => connection.take_rtt_sample(),
        }
    }
}
