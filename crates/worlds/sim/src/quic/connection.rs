//! One end of a connection.

mod many;

pub(crate) use many::StreamId;

use super::clock::std_instant;
use super::config::{self, Watch};
use super::parameters::{BuildController, Config};
use super::tap::{Ledgers, Shared, TappedClient, TappedServer};
use super::tls::{SERVER_NAME, tls};
use super::{clock, endpoint};
use crate::tcp::{ReadChunk, RttSample};
use bytes::BytesMut;
use cc::{RadioState, RateReport, RateReporter, RateView};
use queue::Ecn;
use quinn_cc::{Reporting, TraceSink};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent,
    Transmit, VarInt,
};
use rnis::{RadioReport, UeReport};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Bytes, Duration, Instant, Packets, Streams};

/// Datagrams that quinn may build in one call, as its own runtime requests (segmentation offload).
const MAX_DATAGRAMS: usize = 10;
/// The application's data, as much as is handed over at once. Its content does not matter.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Time that a timer waits at least: quinn rounds down, and simulated time stands still meanwhile.
const MIN_WAIT: Duration = Duration::from_micros(1);

/// A UDP datagram.
#[derive(Debug)]
pub(crate) struct Datagram {
    /// Its payload.
    pub(crate) payload: BytesMut,
    /// The ECN field of its IP header.
    pub(crate) ecn: Ecn,
}

/// What the time series and the counts need of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Window of the controller.
    pub(crate) cwnd: Bytes,
    /// In flight as of the last acknowledgement; datagrams' payload.
    pub(crate) bytes_in_flight: Bytes,
    /// Packets sent with stream data that had been sent before.
    pub(crate) retransmits: Packets,
}

/// One end of a QUIC connection. Used as [`crate::tcp::Connection`] is.
pub(crate) struct Connection {
    endpoint: Endpoint,
    /// A client's parameters, until it opens.
    client: Option<ClientConfig>,
    /// The connection, once there is one.
    inner: Option<(ConnectionHandle, quinn_proto::Connection)>,
    stream: Option<StreamId>,
    /// All its streams, if it may have several.
    many: Option<many::Streams>,
    /// What packets are sent as that quinn has ECT(0).
    ecn: Option<Ecn>,
    /// What it sends.
    ledger: Shared,
    /// What its peer sends.
    peers: Shared,
    watch: Watch,
    /// What it reports to its peer.
    reporting: Option<Reporting>,
    /// Round-trip times that were taken.
    rtt_taken: u64,
    /// Payload in order that was not read by the application.
    readable: Bytes,
    /// The peer has finished its direction of the stream.
    peer_finished: bool,
    /// The application has no more to write.
    is_closing: bool,
    has_finished: bool,
    /// Datagrams that may leave.
    outbox: VecDeque<Datagram>,
    buffer: Vec<u8>,
    deadline: Option<Instant>,
}

/// What an end needs of its own.
pub(crate) struct EndSetup {
    /// Its controller.
    pub(crate) controller: BuildController,
    /// Where the controller writes its decisions.
    pub(crate) trace: Option<TraceSink>,
    /// Its random streams.
    pub(crate) streams: Streams,
    /// What it reports to its peer, if [`Config::reports`].
    pub(crate) reporter: Option<Box<dyn RateReporter>>,
}

/// Both ends of a connection: client and server, not yet open.
///
/// # Panics
/// If [`Config::check`] fails: callers check what users give them before.
pub(crate) fn pair(
    config: &Config,
    client: EndSetup,
    server: EndSetup,
) -> (Connection, Connection) {
    let (up, down) = (Shared::default(), Shared::default());
    let client = Connection::client(config, client, up.clone(), down.clone());
    let server = Connection::server(config, server, down, up);
    (client, server)
}

impl Connection {
    fn client(config: &Config, setup: EndSetup, ledger: Shared, peers: Shared) -> Self {
        let seed = setup.streams.stream("controller").next_u64();
        let watch = Watch {
            marks: ledger.marks.clone(),
            ..Watch::default()
        };
        let factory = config::factory(setup.controller, &watch, seed, setup.trace);
        let crypto = TappedClient {
            inner: tls().client.clone(),
            ledgers: Ledgers {
                own: ledger.clone(),
                peers: peers.clone(),
            },
        };
        let transport = Arc::new(config.transport(true, factory));
        let client = endpoint::client_config(Arc::new(crypto), transport, &setup.streams);
        let endpoint = endpoint::endpoint(config, None, &setup.streams);
        let reporting = setup.reporter.map(Reporting::new);
        Self {
            client: Some(client),
            reporting,
            ..Self::new(config, endpoint, ledger, peers, watch)
        }
    }

    fn server(config: &Config, setup: EndSetup, ledger: Shared, peers: Shared) -> Self {
        let seed = setup.streams.stream("controller").next_u64();
        let watch = Watch {
            marks: ledger.marks.clone(),
            ..Watch::default()
        };
        let factory = config::factory(setup.controller, &watch, seed, setup.trace);
        let crypto = TappedServer {
            inner: tls().server.clone(),
            ledgers: Ledgers {
                own: ledger.clone(),
                peers: peers.clone(),
            },
        };
        let transport = Arc::new(config.transport(false, factory));
        let server = endpoint::server_config(Arc::new(crypto), transport);
        let endpoint = endpoint::endpoint(config, Some(server), &setup.streams);
        Self::new(config, endpoint, ledger, peers, watch)
    }

    fn new(
        config: &Config,
        endpoint: Endpoint,
        ledger: Shared,
        peers: Shared,
        watch: Watch,
    ) -> Self {
        Self {
            endpoint,
            client: None,
            inner: None,
            stream: None,
            many: (config.streams > 1).then(many::Streams::default),
            ecn: config.ecn,
            ledger,
            peers,
            watch,
            reporting: None,
            rtt_taken: 0,
            readable: Bytes::ZERO,
            peer_finished: false,
            is_closing: false,
            has_finished: false,
            outbox: VecDeque::new(),
            buffer: Vec::new(),
            deadline: None,
        }
    }

    /// A client begins to connect. Without effect otherwise.
    pub(crate) fn open(&mut self, now: Instant) {
        if let Some(client) = self.client.take() {
            let connecting =
                self.endpoint
                    .connect(std_instant(now), client, endpoint::ADDRESS, SERVER_NAME);
            self.inner = Some(connecting.expect("a name and an address that are fit"));
        }
    }

    /// A datagram arrived from the peer.
    pub(crate) fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        let at = std_instant(now);
        let ecn = codepoint(datagram.ecn);
        let bytes = Bytes::new(datagram.payload.len() as u64);
        self.buffer.clear();
        let event = self.endpoint.handle(
            at,
            endpoint::ADDRESS,
            None,
            ecn,
            datagram.payload,
            &mut self.buffer,
        );
        match event {
            Some(DatagramEvent::NewConnection(incoming)) if self.inner.is_none() => {
                match self.endpoint.accept(incoming, at, &mut self.buffer, None) {
                    Ok(connection) => self.inner = Some(connection),
                    Err(error) => self.push_response(error.response),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.inner {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(response)) => self.push_response(Some(response)),
            None => {}
        }
        self.run();
        self.report(now, bytes);
    }

    /// So much has arrived: it counts for the report, which leaves with the acknowledgement if one is due.
    fn report(&mut self, now: Instant, arrived: Bytes) {
        let (Some(reporting), Some((_, connection))) = (&mut self.reporting, &mut self.inner)
        else {
            return;
        };
        let path = self.watch.monitor.path();
        let rtt = (path.rtt_samples > 0).then_some(path.srtt);
        if let Some(report) = reporting.on_datagram(now, arrived, rtt) {
            let payload = bytes::Bytes::copy_from_slice(&report.encode());
            // before the handshake is done, or to a server that takes none, it cannot leave
            let _ = connection.datagrams().send(payload, true);
        }
    }

    fn push_response(&mut self, response: Option<Transmit>) {
        if let Some(response) = response {
            self.push(&response);
        }
    }

    /// What quinn wrote into the buffer becomes datagrams.
    fn push(&mut self, transmit: &Transmit) {
        let ecn = match transmit.ecn {
            Some(EcnCodepoint::Ect0) => self.ecn.unwrap_or(Ecn::NotEct),
            _ => Ecn::NotEct,
        };
        let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let datagrams = self.buffer[..transmit.size].chunks(size);
        self.outbox.extend(datagrams.map(|payload| Datagram {
            payload: BytesMut::from(payload),
            ecn,
        }));
    }

    /// Carries quinn's events between connection, endpoint and application.
    fn run(&mut self) {
        let Some((handle, connection)) = &mut self.inner else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(event) if self.many.is_some() => {
                    if let Some(many) = &mut self.many {
                        many.on_event(connection, &event);
                    }
                }
                Event::Connected if connection.side().is_client() && self.many.is_none() => {
                    self.stream = connection.streams().open(Dir::Bi);
                }
                Event::Stream(StreamEvent::Opened { dir }) => {
                    self.stream = connection.streams().accept(dir);
                }
                Event::DatagramReceived => {
                    while let Some(datagram) = connection.datagrams().recv() {
                        self.watch.reports.on_datagram(&datagram);
                    }
                }
                _ => {}
            }
        }
        self.take_arrived();
        self.finish_if_due();
    }

    /// The application reads at once what has arrived in order.
    fn take_arrived(&mut self) {
        if let (Some((_, connection)), Some(many)) = (&mut self.inner, &mut self.many) {
            return many.take_arrived(connection);
        }
        let (Some((_, connection)), Some(stream)) = (&mut self.inner, self.stream) else {
            return;
        };
        let mut receive = connection.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else {
            return; // nothing more can come
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.readable += Bytes::new(chunk.bytes.len() as u64),
                Ok(None) => {
                    self.peer_finished = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // quinn is polled for packets after every event anyway
        let _ = chunks.finalize();
    }

    /// The next datagram to transmit, if one may leave now.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        if let Some(datagram) = self.outbox.pop_front() {
            return Some(datagram);
        }
        let (_, connection) = self.inner.as_mut()?;
        self.ledger.lock().now = now;
        self.buffer.clear();
        let transmit = connection.poll_transmit(std_instant(now), MAX_DATAGRAMS, &mut self.buffer);
        if let Some(transmit) = transmit {
            self.push(&transmit);
            return self.outbox.pop_front();
        }
        let due = connection.poll_timeout().map(clock::instant);
        self.deadline = due.map(|at| at.max(now + MIN_WAIT));
        None
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// A deadline has come. Early calls are without effect.
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.inner {
            connection.handle_timeout(std_instant(now));
        }
        self.run();
    }

    /// The application offers `bytes`; returns how many quinn takes: none before the handshake is
    /// complete.
    pub(crate) fn write(&mut self, bytes: Bytes) -> Bytes {
        match self.stream {
            Some(stream) => self.write_to(stream, bytes),
            None => Bytes::ZERO,
        }
    }

    /// The same, on one stream.
    fn write_to(&mut self, stream: StreamId, bytes: Bytes) -> Bytes {
        let Some((_, connection)) = &mut self.inner else {
            return Bytes::ZERO;
        };
        let mut stream = connection.send_stream(stream);
        let mut left = bytes.get();
        while left > 0 {
            let len = left.min(ZEROS.len() as u64) as usize;
            let mut chunk = [bytes::Bytes::from_static(&ZEROS[..len])];
            match stream.write_chunks(&mut chunk) {
                Ok(written) if written.bytes > 0 => left -= written.bytes as u64,
                _ => break,
            }
        }
        Bytes::new(bytes.get() - left)
    }

    /// The application has no more to write. A client that has read everything closes the connection.
    pub(crate) fn close(&mut self, now: Instant) {
        self.is_closing = true;
        self.peer_finished |= self.many.is_some();
        self.finish_if_due();
        if let Some((_, connection)) = &mut self.inner
            && connection.side().is_client()
            && self.peer_finished
            && !connection.is_closed()
        {
            connection.close(std_instant(now), VarInt::from_u32(0), bytes::Bytes::new());
        }
    }

    fn finish_if_due(&mut self) {
        if !self.is_closing || self.has_finished {
            return;
        }
        if let (Some((_, connection)), Some(stream)) = (&mut self.inner, self.stream) {
            self.has_finished = true;
            // it fails only if the peer has stopped the stream, which is an end too
            let _ = connection.send_stream(stream).finish();
        }
    }

    /// Payload that has come, the first time and in any order.
    pub(crate) fn received(&self) -> Bytes {
        self.peers.lock().received
    }

    /// Payload in order that was not read.
    pub(crate) fn readable(&self) -> Bytes {
        self.readable
    }

    /// Takes up to `max` bytes that were first sent together.
    pub(crate) fn read(&mut self, max: Bytes) -> Option<ReadChunk> {
        let max = max.min(self.readable);
        if max.is_zero() {
            return None;
        }
        let (bytes, origin) = self.peers.lock().read(self.stream?.into(), max)?;
        self.readable -= bytes;
        Some(ReadChunk { bytes, origin })
    }

    /// The peer has closed its direction, and all its data has arrived (it may still be readable).
    pub(crate) fn peer_closed(&self) -> bool {
        self.peer_finished
    }

    /// The connection is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(|(_, connection)| connection.is_closed())
    }

    /// There is no peer yet: a server before the first packet.
    pub(crate) fn has_no_peer(&self) -> bool {
        self.inner.is_none()
    }

    /// A radio report of the UE: the controller receives reports on it before its next event, and when it is polled.
    pub(crate) fn on_radio(&self, now: Instant, state: &RadioState) {
        self.watch.feed.push(now, *state);
    }

    /// The client's modem reports its radio link.
    pub(crate) fn on_modem(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        if let Some(reporting) = &mut self.reporting {
            reporting.on_radio(now, report, ue);
        }
    }

    /// The bandwidth that it measures, if it does.
    pub(crate) fn reported_rate(&self) -> Option<RateReport> {
        self.reporting.as_ref().map(Reporting::rate)
    }

    /// What its controller makes of its peer's reports.
    pub(crate) fn rate_view(&self) -> Option<RateView> {
        self.watch.monitor.rate_view()
    }

    /// The round trip that the last acknowledgement completed, if it gave a sample; once.
    pub(crate) fn take_rtt_sample(&mut self) -> Option<RttSample> {
        let path = self.watch.monitor.path();
        if path.rtt_samples == self.rtt_taken {
            return None;
        }
        self.rtt_taken = path.rtt_samples;
        Some(RttSample {
            rtt: path.latest_rtt,
            origin: Instant::ZERO,
        })
    }

    /// State and counters.
    pub(crate) fn stats(&self) -> Stats {
        let cwnd = self
            .inner
            .as_ref()
            .map_or(0, |(_, connection)| connection.congestion_state().window());
        Stats {
            cwnd: Bytes::new(cwnd),
            bytes_in_flight: self.watch.monitor.path().bytes_in_flight,
            retransmits: self.ledger.lock().retransmits,
        }
    }
}

/// The ECN field, as quinn has it, which sends ECT(0) only and takes ECT(1) for a broken path: what it sends as ECT(0) may
/// be ECT(1) between the two ends.
fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 | Ecn::Ect1 => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
