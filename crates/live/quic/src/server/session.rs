//! One connection: its controller, the radio behind its address, and what is reported of it.

use super::budget::{FIRST_WINDOW, RECEIVE_WINDOW, Ticket};
use super::counters::Losses;
use super::qlog::Qlog;
use super::{H3, Shared, http3, plain};
use cc::meld::{LossDecision, Variant};
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, QlogConfig, TransportConfig, VarInt};
use quinn_cc::{AdapterFactory, Monitor, RadioFeed, ReportFeed};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use units::Instant;

/// Between looks whether the client has moved.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A connection is woken by reports no more often.
const BETWEEN_WAKES: Duration = Duration::from_millis(4);
/// Streams in one direction that a client may have: of HTTP/3 control and QPACK (RFC 9114 6.2), and some that are
/// reserved.
const ONE_WAY_STREAMS: u32 = 8;

/// H3_EXCESSIVE_LOAD (RFC 9114 8.1).
const EXCESSIVE_LOAD: u32 = 0x107;

/// A connection's own things.
pub(crate) struct Session {
    number: u64,
    ticket: Ticket,
    shared: Arc<Shared>,
    feed: RadioFeed,
    /// A state of the radio waits in the feed.
    radio_taken: Arc<Notify>,
    reports: ReportFeed,
    monitor: Monitor,
    qlog: Option<Qlog>,
    ue: IpAddr,
    /// What MELD has decided.
    losses: Arc<Losses>,
}

/// Writes decisions down and counts them.
struct Decisions {
    shared: Arc<Shared>,
    qlog: Option<Qlog>,
    began: Instant,
    losses: Arc<Losses>,
}

impl cc::Trace for Decisions {
    fn event(&mut self, _: Instant, _: &'static str, _: u64) {}
    fn loss_decision(&mut self, now: Instant, decision: &LossDecision) {
        self.shared.counters.decision(decision);
        self.losses.count(decision.reason);
        if let Some(qlog) = &self.qlog {
            qlog.decision(now.saturating_since(self.began), now, decision);
        }
    }
}

impl Session {
    /// Of a client at this address, with the transport that quinn is to use.
    pub(crate) fn new(
        ticket: Ticket,
        remote: SocketAddr,
        shared: Arc<Shared>,
    ) -> (Self, TransportConfig) {
        let (config, number) = (&shared.config, ticket.number());
        let ue = config.ue_of(remote.ip());
        let (feed, monitor) = (RadioFeed::new(), Monitor::new());
        let reports = ReportFeed::new();
        let losses = Arc::<Losses>::default();
        let began = std::time::Instant::now();
        let mut transport = TransportConfig::default();
        transport
            .send_window(FIRST_WINDOW)
            .receive_window(RECEIVE_WINDOW.into())
            .stream_receive_window((RECEIVE_WINDOW / 2).into())
            .max_concurrent_uni_streams(ONE_WAY_STREAMS.into())
            .max_concurrent_bidi_streams(config.streams.into());
        if let Some(mtu) = config.mtu {
            transport.initial_mtu(mtu).mtu_discovery_config(None);
        }
        if config.takes_reports() {
            quinn_cc::allow_reports(&mut transport);
        } else {
            // datagrams are not read: RFC 9221 3, none may be sent
            transport.datagram_receive_buffer_size(None);
        }
        let mut qlog = None;
        if let Some(folder) = &config.qlog {
            let path = folder.join(format!("{number:08}-{}.sqlog", remote.ip()));
            match shared.qlogs.create(&path) {
                Ok(file) => {
                    let mut stream = QlogConfig::default();
                    stream
                        .writer(Box::new(file.writer()))
                        .title(Some(format!("connection {number}")))
                        .start_time(began);
                    transport.qlog_stream(stream.into_stream());
                    qlog = Some(file);
                }
                // a full disk, or as many connections as logs may be open, is to end the logs and not the service
                Err(error) => shared.qlog_failures.report(number, folder, &error),
            }
        }
        let epoch = quinn_cc::Epoch::new(shared.epoch);
        let decisions = Decisions {
            shared: Arc::clone(&shared),
            qlog: qlog.clone(),
            began: epoch.at(began),
            losses: Arc::clone(&losses),
        };
        let meld = config.meld.map(|variant| cc::meld::Config {
            max_age: config.max_age,
            ..cc::meld::Config::new(variant, units::Bytes::ZERO)
        });
        let settings = Arc::clone(&shared);
        let build = move |build| settings.config.controller(build);
        let factory = AdapterFactory::melded(shared.epoch, build, meld)
            .with_seed(number)
            .with_feed(feed.clone())
            .with_reports(reports.clone())
            .with_monitor(monitor.clone())
            .with_trace(Arc::new(Mutex::new(decisions)));
        transport.congestion_controller_factory(Arc::new(factory));
        let radio_taken = Arc::new(Notify::new());
        shared.reporter.bind(ue, number, &feed, &radio_taken);
        let session = Self {
            number,
            ticket,
            feed,
            radio_taken,
            reports,
            monitor,
            qlog,
            ue,
            losses,
            shared,
        };
        (session, transport)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The client has taken some of what is sent.
    pub(crate) fn progress(&self) {
        self.ticket.progress(std::time::Instant::now());
    }

    /// Its number since the start.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How its path is, as its controller measures it.
    pub(crate) fn path(&self) -> quinn_cc::PathSample {
        self.monitor.path()
    }

    /// What MELD has decided of its losses.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Serves the connection to its end.
    pub(crate) async fn run(self, connection: Connection) {
        let shared = Arc::clone(&self.shared);
        shared.counters.connections.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(Mutex::new(self.ue));
        let this = Arc::new(self);
        let is_h3 = connection
            .handshake_data()
            .and_then(|data| data.downcast::<HandshakeData>().ok())
            .is_some_and(|data| data.protocol.as_deref() == Some(H3));
        tracing::debug!(connection = this.number, remote = %connection.remote_address(), ue = %this.ue, h3 = is_h3, "connected");
        let _shown = shared.shown.add(&this, &connection);
        let serving = async {
            match is_h3 {
                true => http3::serve(connection.clone(), Arc::clone(&this)).await,
                false => plain::serve(connection.clone(), Arc::clone(&this)).await,
            }
        };
        let (code, why): (_, &[u8]) = tokio::select! {
            () = serving => (0, b""),
            () = this.watch(&connection, &session) => (0, b""),
            () = this.take_reports(&connection) => (0, b""),
            () = this.follow_radio(&connection) => (0, b""),
            () = this.ticket.evicted() => (EXCESSIVE_LOAD, b"no progress, and memory is short"),
        };
        connection.close(VarInt::from_u32(code), why);
        let reason = connection.closed().await;
        let ue = *session
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        tracing::debug!(connection = this.number, %reason, "closed");
        this.end(&connection, ue);
    }

    /// Hands the client's datagrams to the controller, to the end of the connection. Does not end where
    /// none may come.
    async fn take_reports(&self, connection: &Connection) {
        if !self.shared.config.takes_reports() {
            return std::future::pending().await;
        }
        while let Ok(datagram) = connection.read_datagram().await {
            let outcome = self.reports.on_datagram(&datagram);
            self.shared.counters.report(outcome);
        }
    }

    /// Lets the connection send by reports of the radio, as they come: while the receiver holds acknowledgements back
    /// quinn has no event of its own. Does not end.
    async fn follow_radio(&self, connection: &Connection) {
        if !self.shared.config.meld.is_some_and(Variant::steers) {
            return std::future::pending().await;
        }
        loop {
            self.radio_taken.notified().await;
            if !self.monitor.path().bytes_in_flight.is_zero() {
                // quinn wakes the connection by any change of its limits: here none
                connection.set_max_concurrent_uni_streams(ONE_WAY_STREAMS.into());
            }
            tokio::time::sleep(BETWEEN_WAKES).await;
        }
    }

    fn end(&self, connection: &Connection, ue: IpAddr) {
        let counters = &self.shared.counters;
        let path = connection.stats();
        let totals = self.monitor.totals();
        let add = |to: &std::sync::atomic::AtomicU64, n| to.fetch_add(n, Ordering::Relaxed);
        add(&counters.sent_bytes, path.udp_tx.bytes);
        add(&counters.lost_packets, path.path.lost_packets);
        add(&counters.congestion_events, totals.congestion_events);
        add(&counters.silent_losses, totals.silent_losses);
        let bounded = self.monitor.rate_view().map_or(0, |view| view.bounded);
        add(&counters.reports_bounded, bounded);
        self.shared.reporter.unbind(ue, self.number, &self.feed);
        if let Some(stats) = &self.shared.stats {
            stats.line(&self.sample("closed", connection, ue));
        }
        if let Some(qlog) = &self.qlog
            && let Some(folder) = &self.shared.config.qlog
            && let Err(error) = qlog.flush()
        {
            let failures = &self.shared.qlog_failures;
            failures.report(self.number, folder, &error);
        }
    }

    /// Follows the client's address, lets the send window follow the congestion window, and writes samples of
    /// the connection. Does not end.
    async fn watch(&self, connection: &Connection, ue: &Mutex<IpAddr>) {
        let mut remote = connection.remote_address();
        let mut look = tokio::time::interval(POLL_INTERVAL);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let between = Duration::from_nanos(self.shared.config.stats_interval.as_nanos());
        let mut sample_at = std::time::Instant::now();
        let mut window = FIRST_WINDOW;
        loop {
            look.tick().await;
            let now = std::time::Instant::now();
            window = self.widen(window, connection, now);
            let mut ue = ue.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let address = connection.remote_address();
            if address != remote || self.feed.is_unbound() {
                *ue = self.moved(remote, address, *ue);
                remote = address;
            }
            if let Some(stats) = &self.shared.stats
                && now >= sample_at
            {
                stats.line(&self.sample("sample", connection, *ue));
                sample_at = (sample_at + between).max(now);
            }
        }
    }

    /// The send window, from what it was: as wide as the congestion window needs while it doubles. Who takes
    /// nothing stays at the first one.
    fn widen(&self, window: u64, connection: &Connection, now: std::time::Instant) -> u64 {
        let max = self.shared.config.window.get();
        if window >= max {
            return window;
        }
        let wanted = (2 * connection.stats().path.cwnd).min(max);
        if wanted <= window || !self.ticket.grow(wanted, now) {
            return window;
        }
        connection.set_send_window(wanted);
        wanted
    }

    /// The client comes from another address: the radio behind it is another, or none that is configured.
    fn moved(&self, from: SocketAddr, to: SocketAddr, ue: IpAddr) -> IpAddr {
        if from.ip() != to.ip() || self.feed.is_unbound() {
            self.shared
                .counters
                .migrations
                .fetch_add(1, Ordering::Relaxed);
            let new = self.shared.config.ue_of(to.ip());
            tracing::info!(connection = self.number, %from, %to, %ue, now = %new, "client has moved");
            self.shared.reporter.unbind(ue, self.number, &self.feed);
            let reporter = &self.shared.reporter;
            reporter.bind(new, self.number, &self.feed, &self.radio_taken);
            return new;
        }
        ue
    }

    /// What the server sees of the connection.
    pub(crate) fn summary(&self, connection: &Connection) -> Value {
        let stats = connection.stats();
        let totals = self.monitor.totals();
        let rtts = self.monitor.rtts();
        json!({
            "rtt_min_seconds": rtts.map(|rtts| rtts.min.as_secs_f64()),
            "rtt_mean_seconds": rtts.map(|rtts| rtts.mean.as_secs_f64()),
            "rtt_p95_seconds": rtts.map(|rtts| rtts.p95.as_secs_f64()),
            "rtt_samples": rtts.map_or(0, |rtts| rtts.samples),
            "sent_packets": stats.path.sent_packets,
            "lost_packets": stats.path.lost_packets,
            "lost_bytes": stats.path.lost_bytes,
            "congestion_events": totals.congestion_events,
            "persistent_congestion": totals.persistent_congestion,
            "silent_losses": totals.silent_losses,
            "radio_states": totals.radio_states,
            "client_reports": self.reports.counts().taken,
            "client_reports_bounded": self.monitor.rate_view().map(|view| view.bounded),
        })
    }

    /// The client's last report, if it has reported.
    fn last_report(&self) -> Option<u32> {
        let counts = self.reports.counts();
        (counts.taken > 0).then(|| counts.last.bytes_per_second())
    }

    fn sample(&self, event: &str, connection: &Connection, ue: IpAddr) -> Value {
        let stats = connection.stats();
        let path = self.monitor.path();
        let has_rtt = path.rtt_samples > 0;
        let seconds = |time: units::Duration| has_rtt.then(|| time.as_secs_f64());
        let view = self.monitor.rate_view();
        let mut sample = self.summary(connection);
        let more = json!({
            "event": event,
            "monotonic_seconds": daemon::clock::now().as_secs_f64(),
            "connection": self.number,
            "remote": connection.remote_address().to_string(),
            "ue": ue.to_string(),
            "rtt_latest_seconds": seconds(path.latest_rtt),
            "rtt_smoothed_seconds": seconds(path.srtt),
            "cwnd_bytes": stats.path.cwnd,
            "in_flight_bytes": path.bytes_in_flight.get(),
            "sent_bytes": stats.udp_tx.bytes,
            "mtu_bytes": stats.path.current_mtu,
            "client_report_bytes_per_second": self.last_report(),
            "used_bytes_per_second": view.map(|view| view.used.bytes_per_second()),
            "pacing_gain": view.map(|view| view.gain),
            "delay_seconds": view.map(|view| view.delay_ms / 1e3),
            "least_delay_seconds": view.map(|view| view.least_delay_ms / 1e3),
            "losses": {
                "congestion": self.losses.congestion.load(Ordering::Relaxed),
                "radio": self.losses.radio.load(Ordering::Relaxed),
                "unknown": self.losses.unknown.load(Ordering::Relaxed),
            },
        });
        if let (Value::Object(sample), Value::Object(more)) = (&mut sample, more) {
            sample.extend(more);
        }
        sample
    }
}

/// A handshake that comes to nothing leaves nothing behind.
impl Drop for Session {
    fn drop(&mut self) {
        self.shared
            .reporter
            .unbind(self.ue, self.number, &self.feed);
    }
}
