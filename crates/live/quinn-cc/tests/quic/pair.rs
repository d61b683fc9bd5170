//! Two real QUIC endpoints in memory: a server that sends, a client that requests, and between them a
//! link with a rate, a delay, a queue and losses. Time is simulated.

use bytes::{Bytes as Buffer, BytesMut};
use quinn_cc::{AdapterFactory, Monitor};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::rustls;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamId, Transmit, TransportConfig, VarInt,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use units::{Rng, Streams};

/// The way from server to client; the way back has the delay only.
#[derive(Clone, Copy)]
pub struct Link {
    pub bits_per_second: u64,
    pub one_way: Duration,
    pub queue_bytes: u64,
    /// Share of datagrams lost at random.
    pub loss: f64,
    /// Marks instead of losing when so many bytes wait.
    pub mark_above: Option<u64>,
}

/// Nothing is lost but by overflow.
pub const CLEAN: Link = Link {
    bits_per_second: 15_000_000,
    one_way: Duration::from_micros(27_500),
    queue_bytes: 200_000,
    loss: 0.0,
    mark_above: None,
};

/// What a download has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub received: u64,
    pub took: Duration,
    pub lost_datagrams: u64,
    pub marked: u64,
    /// Longest wait in the queue.
    pub max_queued: u64,
    /// Every datagram of the server, by its time of leaving: for comparison.
    pub departures: Vec<(Duration, usize)>,
}

struct Identity {
    certificate: rustls::pki_types::CertificateDer<'static>,
    key: rustls::pki_types::PrivateKeyDer<'static>,
}

/// Ed25519: its signatures are all of one length, so that a seed repeats a run.
static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".into()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    Identity {
        certificate: certificate.der().clone(),
        key: rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    }
});

struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

/// A datagram under way, or a moment in which something is done.
enum Happening {
    Arrival {
        to_client: bool,
        ecn: Option<EcnCodepoint>,
        data: Vec<u8>,
    },
    Tick,
}

/// The two of them.
pub struct Pair {
    zero: Instant,
    now: Duration,
    client: Peer,
    server: Peer,
    server_config: Arc<ServerConfig>,
    link: Link,
    rng: Rng,
    /// When the link has sent all that waits.
    free_at: Duration,
    agenda: BTreeMap<(Duration, u64), Happening>,
    order: u64,
    left: u64,
    request: Option<StreamId>,
    started: bool,
    outcome: Outcome,
    size: u64,
    /// From when to when nothing passes to the client.
    pub outage: Option<(Duration, Duration)>,
    /// Called at each millisecond.
    pub each_millisecond: Box<dyn FnMut(Duration)>,
}

pub const SERVER: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    443,
);
const CLIENT: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
    50_000,
);

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(1_440)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .stream_receive_window(VarInt::from_u32(8 << 20))
        .send_window(8 << 20);
    transport
}

fn endpoint_config(seed: u8) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([seed; 32]));
    Arc::new(config)
}

impl Pair {
    /// A download of that size; `factory` makes the server's controllers.
    pub fn new(zero: Instant, link: Link, size: u64, seed: u8, factory: AdapterFactory) -> Self {
        let identity = &*IDENTITY;
        let mut server_config = ServerConfig::with_single_cert(
            vec![identity.certificate.clone()],
            identity.key.clone_key(),
        )
        .expect("a server");
        let mut server_transport = transport();
        server_transport.congestion_controller_factory(Arc::new(factory));
        server_config.transport_config(Arc::new(server_transport));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(identity.certificate.clone()).expect("a root");
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
        let mut client_config =
            ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("QUIC")));
        client_config.transport_config(Arc::new(transport()));
        let server_config = Arc::new(server_config);
        let mut client = Endpoint::new(endpoint_config(seed), None, false, None);
        let connected = client
            .connect(zero, client_config, SERVER, "localhost")
            .expect("to connect");
        Self {
            zero,
            now: Duration::ZERO,
            client: Peer {
                endpoint: client,
                connection: Some(connected),
            },
            server: Peer {
                endpoint: Endpoint::new(
                    endpoint_config(seed ^ 0xff),
                    Some(server_config.clone()),
                    false,
                    None,
                ),
                connection: None,
            },
            server_config,
            link,
            rng: Streams::new(u64::from(seed)).stream("link"),
            free_at: Duration::ZERO,
            agenda: BTreeMap::new(),
            order: 0,
            left: size,
            request: None,
            started: false,
            outcome: Outcome {
                received: 0,
                took: Duration::ZERO,
                lost_datagrams: 0,
                marked: 0,
                max_queued: 0,
                departures: Vec::new(),
            },
            size,
            outage: None,
            each_millisecond: Box::new(|_| {}),
        }
    }

    fn at(&mut self, when: Duration, what: Happening) {
        self.order += 1;
        self.agenda.insert((when, self.order), what);
    }

    /// Runs until all has arrived, at most so long.
    pub fn run(mut self, longest: Duration) -> Outcome {
        self.at(Duration::ZERO, Happening::Tick);
        while self.outcome.received < self.size && self.now < longest {
            self.turn();
            let timeout = [&mut self.client, &mut self.server]
                .into_iter()
                .filter_map(|peer| peer.connection.as_mut()?.1.poll_timeout())
                .min()
                .map(|moment| moment.saturating_duration_since(self.zero).max(self.now));
            let next = self.agenda.keys().next().map(|&(when, _)| when);
            match (next, timeout) {
                (Some(next), Some(timeout)) if timeout < next => self.time_out(timeout),
                (None, Some(timeout)) => self.time_out(timeout),
                (Some(_), _) => self.happen(),
                (None, None) => break,
            }
        }
        self.outcome.took = self.now;
        self.outcome
    }

    fn time_out(&mut self, when: Duration) {
        self.now = when;
        for peer in [&mut self.client, &mut self.server] {
            if let Some((_, connection)) = &mut peer.connection {
                connection.handle_timeout(self.zero + when);
            }
        }
    }

    fn happen(&mut self) {
        let Some(((when, _), happening)) = self.agenda.pop_first() else {
            return;
        };
        self.now = when;
        match happening {
            Happening::Tick => {
                (self.each_millisecond)(when);
                self.at(when + Duration::from_millis(1), Happening::Tick);
            }
            Happening::Arrival {
                to_client,
                ecn,
                data,
            } => self.arrive(to_client, ecn, &data),
        }
    }

    fn arrive(&mut self, to_client: bool, ecn: Option<EcnCodepoint>, data: &[u8]) {
        let now = self.zero + self.now;
        let (peer, from) = match to_client {
            true => (&mut self.client, SERVER),
            false => (&mut self.server, CLIENT),
        };
        let mut answer = Vec::new();
        match peer
            .endpoint
            .handle(now, from, None, ecn, BytesMut::from(data), &mut answer)
        {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let config = Some(self.server_config.clone());
                let accepted = peer.endpoint.accept(incoming, now, &mut answer, config);
                peer.connection = Some(accepted.expect("a connection"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut peer.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }

    /// Applications and what leaves.
    fn turn(&mut self) {
        for to_server in [true, false] {
            self.events(to_server);
        }
        self.application();
        for to_client in [false, true] {
            loop {
                let peer = match to_client {
                    true => &mut self.server,
                    false => &mut self.client,
                };
                let Some((_, connection)) = &mut peer.connection else {
                    break;
                };
                let mut buffer = Vec::new();
                match connection.poll_transmit(self.zero + self.now, 1, &mut buffer) {
                    Some(transmit) => self.send(to_client, &transmit, &buffer),
                    None => break,
                }
            }
        }
    }

    fn events(&mut self, of_client: bool) {
        let peer = match of_client {
            true => &mut self.client,
            false => &mut self.server,
        };
        let Some((handle, connection)) = &mut peer.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = peer.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            if let Event::ConnectionLost { reason } = event {
                panic!("connection lost: {reason}");
            }
        }
    }

    /// The client requests with one byte; the server answers with all it has.
    fn application(&mut self) {
        if let Some((_, connection)) = &mut self.client.connection
            && !connection.is_handshaking()
        {
            if self.request.is_none() {
                let stream = connection.streams().open(Dir::Bi).expect("a stream");
                connection
                    .send_stream(stream)
                    .write(b"?")
                    .expect("a request");
                self.request = Some(stream);
            }
            let stream = self.request.expect("opened");
            if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    self.outcome.received += chunk.bytes.len() as u64;
                }
                let _ = chunks.finalize();
            }
        }
        let Some((_, connection)) = &mut self.server.connection else {
            return;
        };
        if !self.started {
            if let Some(stream) = connection.streams().accept(Dir::Bi) {
                self.request = Some(stream);
                self.started = true;
            } else {
                return;
            }
        }
        let stream = self.request.expect("accepted");
        static ZEROS: [u8; 65_536] = [0; 65_536];
        while self.left > 0 {
            let size = self.left.min(ZEROS.len() as u64) as usize;
            let mut chunk = [Buffer::from_static(&ZEROS[..size])];
            match connection.send_stream(stream).write_chunks(&mut chunk) {
                Ok(written) => self.left -= written.bytes as u64,
                Err(_) => break,
            }
        }
    }

    fn send(&mut self, to_client: bool, transmit: &Transmit, buffer: &[u8]) {
        let data = buffer[..transmit.size].to_vec();
        let mut ecn = transmit.ecn;
        let mut arrives = self.now + self.link.one_way;
        if to_client {
            self.outcome.departures.push((self.now, data.len()));
            let is_out = |(from, to)| from <= self.now && self.now < to;
            if self.outage.is_some_and(is_out) || self.rng.chance(self.link.loss) {
                self.outcome.lost_datagrams += 1;
                return;
            }
            let bits = data.len() as u64 * 8;
            let waiting = self.free_at.saturating_sub(self.now);
            let queued = waiting.as_nanos() as u64 * self.link.bits_per_second / 8_000_000_000;
            if queued + data.len() as u64 > self.link.queue_bytes {
                self.outcome.lost_datagrams += 1;
                return;
            }
            if ecn.is_some() && self.link.mark_above.is_some_and(|max| queued > max) {
                ecn = Some(EcnCodepoint::Ce);
                self.outcome.marked += 1;
            }
            self.outcome.max_queued = self.outcome.max_queued.max(queued);
            let takes = Duration::from_nanos(bits * 1_000_000_000 / self.link.bits_per_second);
            self.free_at = self.free_at.max(self.now) + takes;
            arrives = self.free_at + self.link.one_way;
        }
        self.at(
            arrives,
            Happening::Arrival {
                to_client,
                ecn,
                data,
            },
        );
    }
}

/// The usual: a controller by its name, and its monitor.
pub fn named(zero: Instant, name: &str) -> (AdapterFactory, Monitor) {
    let monitor = Monitor::new();
    let factory = AdapterFactory::named(zero, name, None)
        .expect(name)
        .with_monitor(monitor.clone());
    (factory, monitor)
}
