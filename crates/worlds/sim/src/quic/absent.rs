//! QUIC where it is left out: flows over it are refused as the world is built, so that there is never a connection.
#![allow(
    dead_code,
    reason = "the other form of this module makes what is only named here"
)]

#[path = "parameters.rs"]
mod parameters;

use crate::tcp::{ReadChunk, RttSample};
use cc::{RadioState, RateReport, RateReporter, RateView, Trace};
use core::convert::Infallible;
pub use parameters::ConfigError;
pub(crate) use parameters::{BuildController, Config};
use queue::Ecn;
use rnis::{RadioReport, UeReport};
use std::sync::{Arc, Mutex};
use units::{Bytes, Instant, Packets, Streams};

/// Where a controller writes its decisions.
pub(crate) type TraceSink = Arc<Mutex<dyn Trace + Send>>;

/// The identifier of a stream; there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamId {}

/// A UDP datagram; there is none.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) payload: Vec<u8>,
    pub(crate) ecn: Ecn,
    never: Infallible,
}

/// What the time series and the counts need of a connection.
pub(crate) struct Stats {
    pub(crate) cwnd: Bytes,
    pub(crate) bytes_in_flight: Bytes,
    pub(crate) retransmits: Packets,
}

/// What an end would need of its own.
pub(crate) struct EndSetup {
    pub(crate) controller: BuildController,
    pub(crate) trace: Option<TraceSink>,
    pub(crate) streams: Streams,
    pub(crate) reporter: Option<Box<dyn RateReporter>>,
}

/// One end of a connection; there is none.
pub(crate) struct Connection {
    never: Infallible,
}

/// Both ends of a connection.
///
/// # Panics
/// Always: [`Config::check`] fails, and callers check before.
pub(crate) fn pair(_: &Config, _: EndSetup, _: EndSetup) -> (Connection, Connection) {
    unreachable!("a flow over QUIC was refused as the world was built")
}

/// What [`Connection`] has in the other form of this module.
macro_rules! never {
    ($($name:ident(&mut self $(, $argument:ty)*) $(-> $result:ty)?;)*) => {
        impl Connection {
            $(pub(crate) fn $name(&mut self $(, _: $argument)*) $(-> $result)? {
                match self.never {}
            })*
        }
    };
}

never! {
    open(&mut self, Instant);
    on_datagram(&mut self, Instant, Datagram);
    poll_transmit(&mut self, Instant) -> Option<Datagram>;
    on_deadline(&mut self, Instant);
    write(&mut self, Bytes) -> Bytes;
    close(&mut self, Instant);
    read(&mut self, Bytes) -> Option<ReadChunk>;
    on_modem(&mut self, Instant, &RadioReport, &UeReport);
    take_rtt_sample(&mut self) -> Option<RttSample>;
    open_stream(&mut self) -> Option<StreamId>;
    write_stream(&mut self, StreamId, Bytes) -> Bytes;
    finish_stream(&mut self, StreamId);
    read_stream(&mut self) -> Option<(StreamId, ReadChunk)>;
}

impl Connection {
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match self.never {}
    }
    pub(crate) fn received(&self) -> Bytes {
        match self.never {}
    }
    pub(crate) fn readable(&self) -> Bytes {
        match self.never {}
    }
    pub(crate) fn peer_closed(&self) -> bool {
        match self.never {}
    }
    pub(crate) fn is_closed(&self) -> bool {
        match self.never {}
    }
    pub(crate) fn has_no_peer(&self) -> bool {
        match self.never {}
    }
    pub(crate) fn on_radio(&self, _: Instant, _: &RadioState) {
        match self.never {}
    }
    pub(crate) fn reported_rate(&self) -> Option<RateReport> {
        match self.never {}
    }
    pub(crate) fn rate_view(&self) -> Option<RateView> {
        match self.never {}
    }
    pub(crate) fn stats(&self) -> Stats {
        match self.never {}
    }
}
