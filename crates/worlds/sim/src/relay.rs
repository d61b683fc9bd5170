//! The proxy's part in a session: two connections, and the bytes that pass between them.
//!
//! ```text
//!   server <== wan connection ==[ proxy ]== ran connection ==> UE
//! ```
//!
//! Flow control is real on both sides. The proxy reads from one connection only as much as the
//! other's send buffer has room for; what it does not read fills its receive buffer, and the
//! receive window that the far sender sees closes. Half of the proxy's buffer for a flow and
//! direction is receive buffer, half is send buffer, so that their sum is never exceeded.
//!
//! An end of data passes on behind the data (half-close), a reset at once.

use crate::session::Endpoint;
use crate::tcp::{CloseReason, Connection};
use edge::{Change, Passing, ServerWindow, ShownWindow, Windows};
use scenario::Direction;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// What waits in the proxy of one direction, to measure for how long.
#[derive(Debug, Default)]
struct Waiting {
    /// (in-order payload that had arrived, when), in order.
    arrivals: VecDeque<(Bytes, Instant)>,
    /// Payload arrived so far.
    arrived: Bytes,
}

impl Waiting {
    fn on_arrived(&mut self, now: Instant, arrived: Bytes) {
        if arrived > self.arrived {
            self.arrived = arrived;
            self.arrivals.push_back((arrived, now));
        }
    }

    /// The wait of the next part of the payload that has been sent on.
    fn pop_sent(&mut self, now: Instant, sent: Bytes) -> Option<Duration> {
        let &(until, at) = self.arrivals.front()?;
        if until > sent {
            return None;
        }
        self.arrivals.pop_front();
        Some(now.saturating_since(at))
    }
}

/// One direction of a relay.
#[derive(Debug, Default)]
struct Pipe {
    /// Payload read from one side and written to the other.
    passed: Bytes,
    is_closed: bool,
    waiting: Waiting,
    /// The most that the receiving side's connection takes and has not sent.
    max_unsent: Option<Bytes>,
}

impl Pipe {
    /// Passes on what fits, and the end behind it. True if anything moved.
    fn pass(&mut self, now: Instant, from: &mut Connection, to: &mut Connection) -> bool {
        let passed_before = self.passed;
        self.waiting.on_arrived(now, self.passed + from.readable());
        loop {
            let unsent = to.unsent();
            let bound = self.max_unsent.unwrap_or(Bytes::MAX);
            let room = to.send_space().min(bound.saturating_sub(unsent));
            if room.is_zero() {
                break;
            }
            let Some(chunk) = from.read(now, room) else {
                break;
            };
            to.write(now, chunk.bytes, Some(chunk.origin));
            self.passed += chunk.bytes;
        }
        let ends = !self.is_closed && from.peer_closed() && from.readable().is_zero();
        if ends {
            self.is_closed = true;
            to.close(now);
        }
        ends || self.passed > passed_before
    }
}

/// The proxy's two connections of a session.
pub(crate) struct Relay {
    /// Towards the UE.
    pub(crate) ran: Endpoint,
    /// Towards the server.
    pub(crate) wan: Endpoint,
    down: Pipe,
    up: Pipe,
    is_reset: bool,
    was_finished: bool,
    /// What has been announced of it.
    pub(crate) announced: Announced,
    /// The congestion control towards the UE follows decisions.
    pub(crate) is_followed: bool,
    window: Window,
    /// The last decision, if there is one.
    pub(crate) decision: Option<Windows>,
    /// The latest round-trip time of data towards the UE.
    pub(crate) ran_rtt: Option<Duration>,
}

/// What has been announced of a session to what decides for the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Announced {
    /// Nothing yet.
    #[default]
    Nothing,
    /// That it has opened.
    Opened,
    /// That it has ended.
    Ended,
}

/// The receive window towards the server.
#[derive(Debug)]
struct Window {
    /// None: every window is shown at once.
    rule: Option<ServerWindow>,
    /// The receive buffer.
    cap: Bytes,
}

impl Relay {
    /// Between two connections that have just been made.
    pub(crate) fn new(ran: Endpoint, wan: Endpoint) -> Self {
        Self {
            ran,
            wan,
            down: Pipe::default(),
            up: Pipe::default(),
            is_reset: false,
            was_finished: false,
            announced: Announced::default(),
            is_followed: false,
            window: Window {
                rule: None,
                cap: Bytes::MAX,
            },
            decision: None,
            ran_rtt: None,
        }
    }

    /// Has decisions about its windows: the server is shown this until there is one, and then what the rule
    /// gives, of no more than the receive buffer `cap`.
    pub(crate) fn follow(
        &mut self,
        now: Instant,
        young: Bytes,
        cap: Bytes,
        mss: Bytes,
        rule: Option<ShownWindow>,
    ) {
        let shown = young.min(cap);
        let rule = rule.map(|rule| ServerWindow::new(rule, mss, shown));
        self.window = Window { rule, cap };
        self.wan.connection.set_receive_window(now, Some(shown));
    }

    /// Windows were decided.
    pub(crate) fn decide(&mut self, now: Instant, windows: &Windows) {
        self.decision = Some(*windows);
        if self.window.rule.is_some() {
            self.down.max_unsent = windows.unsent.or(self.down.max_unsent);
        }
        self.show_window(now);
    }

    /// There is no decision any more: the server is shown all of the receive buffer.
    pub(crate) fn release(&mut self, now: Instant) {
        self.decision = None;
        self.down.max_unsent = None;
        let (cap, received) = (self.window.cap, self.wan_arrived());
        if let Some(rule) = &mut self.window.rule
            && let Some(change) = rule.release(cap)
        {
            rule.has_changed(now, change, received);
        }
        self.wan.connection.set_receive_window(now, Some(cap));
    }

    /// What waits for room in the connection towards the UE could move on now.
    pub(crate) fn has_room_for_more(&self) -> bool {
        let is_bounded = self.down.max_unsent;
        is_bounded.is_some_and(|bound| self.ran.connection.unsent() < bound)
            && !self.wan.connection.readable().is_zero()
            && !self.ran.connection.send_space().is_zero()
    }

    /// Passes on what fits, both ways.
    pub(crate) fn run(&mut self, now: Instant) {
        let (ran, wan) = (&mut self.ran.connection, &mut self.wan.connection);
        self.down.pass(now, wan, ran);
        self.up.pass(now, ran, wan);
        self.show_window(now);
        let (ran, wan) = (&mut self.ran.connection, &mut self.wan.connection);
        if !self.is_reset && (is_broken(ran) || is_broken(wan)) {
            self.is_reset = true;
            ran.abort();
            wan.abort();
        }
    }

    /// Shows the server the window that is decided, for what waits here now.
    pub(crate) fn show_window(&mut self, now: Instant) {
        let Some(decision) = self.decision else {
            return;
        };
        let of = Passing {
            waiting: self.buffered(Direction::Down),
            received: self.wan_arrived(),
            cap: self.window.cap,
        };
        let wan = &mut self.wan.connection;
        let Some(rule) = &mut self.window.rule else {
            wan.set_receive_window(now, Some(decision.wan.shown(of.waiting)));
            return;
        };
        let change = rule.change(decision.wan, of).or_else(|| rule.relief(now));
        if let Some(change) = change {
            rule.has_changed(now, change, of.received);
        }
        let shown = Some(rule.shown(of.received));
        match change {
            Some(Change::Credit(_) | Change::Open(_)) => wan.set_receive_window(now, shown),
            Some(Change::Follow(_) | Change::Close) => wan.follow_receive_window(now, shown),
            // of a closed window what is left, less with each byte that arrives
            None if rule.is_closed() => wan.follow_receive_window(now, shown),
            None => {}
        }
    }

    /// When a window that is still closed then is opened, whatever was decided.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let rule = self.decision.and(self.window.rule)?;
        rule.relief_at().filter(|_| !self.was_finished)
    }

    /// What arrives is acknowledged with the window of before: Linux sends acknowledgements before a program can read.
    pub(crate) fn acknowledges_first(&self) -> bool {
        self.window.rule.is_some()
    }

    /// True once, when both directions have ended and their ends have been passed on.
    pub(crate) fn take_finished(&mut self) -> bool {
        let is_finished = self.is_reset || (self.down.is_closed && self.up.is_closed);
        is_finished && !core::mem::replace(&mut self.was_finished, true)
    }

    /// Payload that arrived from the server in order.
    pub(crate) fn wan_arrived(&self) -> Bytes {
        self.down.passed + self.wan.connection.readable()
    }

    /// Payload that has arrived and has not yet been sent on, in the direction of the data.
    pub(crate) fn buffered(&self, direction: Direction) -> Bytes {
        let (_, from, to) = self.pipe(direction);
        to.unsent() + from.readable()
    }

    /// The wait in the proxy of the next part of the data that has been sent on.
    pub(crate) fn pop_wait(&mut self, now: Instant, direction: Direction) -> Option<Duration> {
        let (pipe, _, to) = self.pipe(direction);
        let sent = pipe.passed - to.unsent();
        match direction {
            Direction::Down => self.down.waiting.pop_sent(now, sent),
            Direction::Up => self.up.waiting.pop_sent(now, sent),
        }
    }

    fn pipe(&self, direction: Direction) -> (&Pipe, &Connection, &Connection) {
        let (ran, wan) = (&self.ran.connection, &self.wan.connection);
        match direction {
            Direction::Down => (&self.down, wan, ran),
            Direction::Up => (&self.up, ran, wan),
        }
    }
}

/// True if a connection ended otherwise than by both sides closing it.
fn is_broken(connection: &Connection) -> bool {
    connection
        .close_reason()
        .is_some_and(|reason| reason != CloseReason::Finished)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::tcp::Config;
    use rapid::{FlowId, WanWindow};
    use units::Streams;

    const BUFFER: Bytes = Bytes::new(20_000);
    const CLIENT_BUFFER: Bytes = Bytes::new(1_000_000);

    /// Client, proxy and server without a network: segments arrive at once.
    struct Chain {
        now: Instant,
        client: Connection,
        server: Connection,
        relay: Relay,
    }

    impl Chain {
        fn new() -> Self {
            let config = Config {
                nodelay: true,
                receive_buffer: CLIENT_BUFFER,
                ..Config::default()
            };
            let proxy = Config {
                receive_buffer: BUFFER,
                send_buffer: BUFFER,
                ..config
            };
            let cc = || {
                let build = cc::BuildConfig {
                    mss: config.mss,
                    initial_window: config.initial_cwnd(),
                };
                cc::build("newreno", build).expect("there is NewReno")
            };
            let rng = |name| Streams::new(1).stream(name);
            let mut schedule = Schedule::default();
            let mut end = |connection| Endpoint {
                connection,
                timer: schedule.add_entity(),
            };
            let ran = end(Connection::server(proxy, cc(), rng("ran")));
            let wan = end(Connection::client(proxy, cc(), rng("wan")));
            let mut chain = Self {
                now: Instant::ZERO,
                client: Connection::client(config, cc(), rng("client")),
                server: Connection::server(config, cc(), rng("server")),
                relay: Relay::new(ran, wan),
            };
            chain.client.open(chain.now);
            chain.relay.wan.connection.open(chain.now);
            chain.run();
            chain
        }

        /// Lets segments pass, and timers fire, until all is quiet for a second.
        fn run(&mut self) {
            for _ in 0..1_000 {
                self.now += Duration::from_millis(1);
                let now = self.now;
                let relay = &mut self.relay;
                let (ran, wan) = (&mut relay.ran.connection, &mut relay.wan.connection);
                for end in [&mut self.client, &mut self.server, &mut *ran, &mut *wan] {
                    if end.next_deadline().is_some_and(|at| at <= now) {
                        end.on_deadline(now);
                    }
                }
                exchange(now, &mut self.client, ran);
                exchange(now, wan, &mut self.server);
                relay.run(now);
            }
        }
    }

    fn exchange(now: Instant, a: &mut Connection, b: &mut Connection) {
        while let Some(segment) = a.poll_transmit(now) {
            b.on_segment(now, &segment);
        }
        while let Some(segment) = b.poll_transmit(now) {
            a.on_segment(now, &segment);
        }
    }

    fn read_all(connection: &mut Connection, now: Instant) -> (Bytes, Option<Instant>) {
        let (mut bytes, mut first) = (Bytes::ZERO, None);
        while let Some(chunk) = connection.read(now, Bytes::MAX) {
            bytes += chunk.bytes;
            first.get_or_insert(chunk.origin);
        }
        (bytes, first)
    }

    #[test]
    fn an_end_of_data_passes_on_behind_the_data_and_the_other_way_stays_open() {
        let mut chain = Chain::new();
        let sent_at = chain.now + Duration::from_millis(1);
        chain.client.write(chain.now, Bytes::new(200), None);
        chain.client.close(chain.now);
        chain.run();
        assert!(chain.server.peer_closed() || chain.server.readable() == Bytes::new(200));
        let (bytes, origin) = read_all(&mut chain.server, chain.now);
        assert_eq!(
            (bytes, origin),
            (Bytes::new(200), Some(sent_at)),
            "origins are carried"
        );
        assert!(chain.server.peer_closed() && !chain.client.peer_closed());
        // the server answers on its own half
        chain.server.write(chain.now, Bytes::new(5_000), None);
        chain.server.close(chain.now);
        chain.run();
        assert_eq!(read_all(&mut chain.client, chain.now).0, Bytes::new(5_000));
        chain.run();
        assert!(chain.client.is_closed() && chain.server.is_closed());
        assert!(chain.relay.take_finished() && !chain.relay.take_finished());
    }

    #[test]
    fn a_reset_passes_on_both_ways() {
        for client_resets in [true, false] {
            let mut chain = Chain::new();
            let (one, other) = match client_resets {
                true => (&mut chain.client, false),
                false => (&mut chain.server, true),
            };
            one.abort();
            chain.run();
            let far = if other { &chain.client } else { &chain.server };
            assert_eq!(far.close_reason(), Some(CloseReason::Reset));
            assert!(chain.relay.take_finished());
        }
    }

    /// Arrived from a server whose window is closed from the beginning, in a second; and when the relay is to be called.
    fn arrived_while_closed(max_closed: Duration) -> (Bytes, Duration) {
        let mut chain = Chain::new();
        let rule = ShownWindow {
            max_closed,
            ..ShownWindow::default()
        };
        let mss = Config::default().mss;
        chain
            .relay
            .follow(chain.now, mss * 10, BUFFER, mss, Some(rule));
        let windows = Windows {
            flow: FlowId(1),
            wan: WanWindow::Budget(Bytes::ZERO),
            ran_window: mss * 10,
            pacing_bps: None,
            unsent: None,
            pace_bps: None,
            is_slow: false,
        };
        chain.relay.decide(chain.now, &windows);
        chain
            .server
            .write(chain.now, Bytes::new(1_000_000_000), None);
        chain.run();
        let deadline = chain.relay.next_deadline().expect("it is closed");
        let arrived = chain.relay.wan_arrived();
        (arrived, deadline.saturating_since(chain.now))
    }

    #[test]
    fn a_window_that_is_closed_for_long_is_opened_to_the_least() {
        let hour = Duration::from_secs(3_600);
        let (alone, deadline) = arrived_while_closed(hour);
        assert!(deadline > hour / 2);
        let (relieved, deadline) = arrived_while_closed(Duration::from_millis(100));
        assert!(deadline <= Duration::from_millis(100));
        // nine or ten times two segments, but for what was left of the first window
        let mss = Config::default().mss;
        let more = relieved - alone;
        assert!(more >= mss * 16 && more <= mss * 20, "{more}");
    }

    #[test]
    fn a_client_that_does_not_read_stops_the_server() {
        let mut chain = Chain::new();
        let much = Bytes::new(1_000_000_000);
        let written = chain.server.write(chain.now, much, None);
        chain.run();
        let client = chain.client.readable();
        let held = chain.relay.buffered(Direction::Down);
        // what is not with the client is in the proxy's two buffers or still with the server
        assert!(held <= BUFFER * 2, "{held}");
        assert!(client >= CLIENT_BUFFER - Bytes::new(100_000), "{client}");
        // (its send buffer was full, and what is acknowledged has left it)
        let acknowledged = chain.server.send_space();
        assert!(
            acknowledged <= client + held && acknowledged < written,
            "{acknowledged} of {written}; {client} with the client, {held} in the proxy"
        );
        // reading lets it go on
        let (first, _) = read_all(&mut chain.client, chain.now);
        chain.run();
        assert!(read_all(&mut chain.client, chain.now).0 + first > first);
    }
}
