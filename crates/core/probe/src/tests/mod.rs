//! Both ends, over paths of a known rate and delay, with clocks that differ.

mod attacks;

use crate::message::Nonce;
use crate::plan::tests::PLAN;
use crate::{Client, Event, Failure, Plan, Recording, Secret, Server, ServerConfig};
use core::net::SocketAddr;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// The server's clock is ahead by this.
const AHEAD: Duration = Duration::from_secs(86_400);
const NONCE: Nonce = [9; 16];
/// IP and UDP headers.
const HEADERS: u64 = 28;

fn ue() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 40_000))
}

fn at_server() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 9], 6_512))
}

fn config(secret: &[u8]) -> ServerConfig {
    ServerConfig {
        secret: Secret::new(secret),
        max_rate: BitRate::from_mbps(100),
        max_duration: Duration::from_secs(60),
        max_sessions: 2,
    }
}

/// One way: a queue of a rate behind which is a delay.
struct Link {
    rate: BitRate,
    delay: Duration,
    free_at: Instant,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    /// Each so many is lost; 0 for none.
    loses: u64,
    count: u64,
    /// With headers.
    delivered: Bytes,
    dead_from: Instant,
}

impl Link {
    fn new(mbps: u64) -> Self {
        Self {
            rate: BitRate::from_mbps(mbps),
            delay: Duration::from_millis(20),
            free_at: Instant::ZERO,
            under_way: VecDeque::new(),
            loses: 0,
            count: 0,
            delivered: Bytes::ZERO,
            dead_from: Instant::MAX,
        }
    }

    fn put(&mut self, now: Instant, datagram: Vec<u8>) {
        self.count += 1;
        let is_lost = self.loses > 0 && self.count.is_multiple_of(self.loses);
        if is_lost || now >= self.dead_from {
            return;
        }
        let bytes = Bytes::new(datagram.len() as u64 + HEADERS);
        self.free_at = self.free_at.max(now) + bytes / self.rate;
        self.under_way
            .push_back((self.free_at + self.delay, datagram));
    }

    fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(at, _)| *at)
    }

    fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.next()? > now {
            return None;
        }
        let (_, datagram) = self.under_way.pop_front()?;
        self.delivered += Bytes::new(datagram.len() as u64 + HEADERS);
        Some(datagram)
    }
}

struct Path {
    client: Client,
    server: Server,
    up: Link,
    down: Link,
    events: Vec<Event>,
}

impl Path {
    fn new(plan: Plan, server: ServerConfig, up: Link, down: Link) -> Self {
        let secret = Secret::new(b"of both");
        let client = Client::new(Instant::ZERO, plan, secret, at_server(), NONCE);
        Self {
            client: client.expect("a plan"),
            server: Server::new(server, &[7; 32]),
            up,
            down,
            events: Vec::new(),
        }
    }

    /// Until the client is over.
    fn run(mut self) -> (Recording, Option<Failure>, Self) {
        let mut now = Instant::ZERO;
        let mut out = Vec::new();
        while !self.client.is_over() {
            while let Some(datagram) = self.up.take(now) {
                self.server.receive(now + AHEAD, ue(), &datagram);
            }
            while let Some(datagram) = self.down.take(now) {
                assert!(self.client.receive(now, &datagram));
            }
            self.server.expire(now + AHEAD);
            while self.client.poll_transmit(now, &mut out) {
                self.up.put(now, out.clone());
            }
            while let Some(to) = self.server.poll_transmit(now + AHEAD, &mut out) {
                assert_eq!(to, ue());
                self.down.put(now, out.clone());
            }
            self.events
                .extend(std::iter::from_fn(|| self.server.poll_event()));
            let server = self.server.next_deadline().map(|at| at - AHEAD);
            let client = self.client.next_deadline();
            let due = [client, server, self.up.next(), self.down.next()];
            let due = due.into_iter().flatten().min().unwrap_or(now);
            // what is due is done at the next microsecond at the latest
            now = due.max(now + Duration::from_micros(1));
            assert!(now < Instant::ZERO + Duration::from_secs(200), "it goes on");
        }
        let replacement = Client::new(now, PLAN, Secret::new(b""), at_server(), NONCE);
        let client = std::mem::replace(&mut self.client, replacement.expect("a plan"));
        let (recording, failure) = client.finish();
        (recording, failure, self)
    }
}

#[test]
fn a_path_is_recorded_in_both_directions_although_clocks_differ() {
    let path = Path::new(PLAN, config(b"of both"), Link::new(4), Link::new(8));
    let (recording, failure, path) = path.run();
    assert_eq!(failure, None);
    let down = recording.down.as_ref().expect("recorded");
    let up = recording.up.as_ref().expect("recorded");
    assert_eq!(down.duration, up.duration);
    // the heavy workload's 3 s and the queues that drained, less the round trip at its beginning
    let seconds = down.duration.as_secs_f64();
    assert!((2.9..4.2).contains(&seconds), "{seconds}");
    // of the link's rate is what Controls and Reports leave: 50 of each a second, of 93 and up to 2^10 bytes
    for (direction, mbps, others) in [(down, 8.0, 0.35), (up, 4.0, 0.1)] {
        let rate = direction.recorded.get() as f64 * 8.0 / seconds / 1e6;
        assert!((mbps - others..=mbps + 0.02).contains(&rate), "{rate}");
        assert_eq!(direction.lost, 0);
        assert!(direction.unqueued < 0.1, "{direction:?}");
    }
    // every byte that the link has delivered is there, in or out of the trace, beside other messages
    let of_down = down.recorded + down.outside;
    assert_eq!(of_down, Bytes::new(1_400) * down.received);
    assert!(recording.bytes > of_down);
    assert_eq!(recording.bytes, path.down.delivered);
    let of_up = up.recorded + up.outside;
    assert_eq!(of_up, Bytes::new(1_400) * up.received);

    let trace = down.trace("test").expect("a trace");
    let packets = match &trace.content {
        radio::trace::Content::Opportunities(opportunities) => opportunities.packets().get(),
        other => panic!("{other:?}"),
    };
    assert_eq!(packets, down.recorded.get() / 1_500);

    // 5 trains of 5 packets of 1400 bytes, of which each waits for those before it: 2.8 and 1.4 ms to send
    assert_eq!((recording.probes, recording.round_trips.len()), (25, 25));
    for trip in &recording.round_trips {
        let ms = trip.rtt.as_millis_f64();
        let expected = 44.2 + 2.8 * f64::from(trip.index);
        assert!((ms - expected).abs() < 0.01, "{trip:?}");
        assert!((trip.up.as_millis_f64() - 2.8 * f64::from(trip.index)).abs() < 0.01);
        assert!(trip.down.as_millis_f64() < 0.01);
    }
    let table = recording.round_trips_csv();
    assert!(table.starts_with("time_s,train,packet,rtt_ms,up_ms,down_ms\n0.000000,0,0,44.2"));
    assert_eq!(table.lines().count(), 26);

    let began = path
        .events
        .iter()
        .any(|event| matches!(event, Event::Began { .. }));
    let done = path.events.iter().any(|event| {
        matches!(event, Event::Ended { how: crate::Ended::Done, sent, .. } if *sent == down.received)
    });
    assert!(began && done, "{:?}", path.events);
    assert_eq!((path.server.sessions(), path.server.refused()), (0, 0));
}

#[test]
fn rounds_follow_each_other_and_losses_are_counted() {
    let plan = Plan {
        duration: Duration::from_secs(5),
        light: Duration::from_millis(500),
        heavy: Duration::from_secs(1),
        ..PLAN
    };
    let mut down = Link::new(8);
    down.loses = 50;
    let mut up = Link::new(4);
    up.loses = 50;
    let (recording, failure, _) = Path::new(plan, config(b"of both"), up, down).run();
    // 5 s are 0.5 and 1 s three times, and 0.5 s
    assert_eq!((failure, recording.rounds), (None, 3));
    let (down, up) = (recording.down.expect("it"), recording.up.expect("it"));
    let ratio = |d: &crate::Direction| d.lost as f64 / (d.lost + d.received) as f64;
    assert!((0.01..0.03).contains(&ratio(&down)), "{}", ratio(&down));
    assert!((0.01..0.03).contains(&ratio(&up)), "{}", ratio(&up));
    // what was lost on the way back was sent again
    assert_eq!(up.recorded + up.outside, Bytes::new(1_400) * up.received);
    let times = down.deliveries.windows(2).all(|two| two[0].0 <= two[1].0);
    assert!(times, "times increase over the rounds");
}

#[test]
fn a_rate_below_the_capacity_is_stated() {
    let plan = Plan {
        down: BitRate::from_mbps(2),
        up: BitRate::ZERO,
        light: Duration::ZERO,
        ..PLAN
    };
    let (recording, failure, _) =
        Path::new(plan, config(b"of both"), Link::new(10), Link::new(50)).run();
    assert_eq!(failure, None);
    let down = recording.down.expect("recorded");
    assert!(down.unqueued > 0.99, "{}", down.unqueued);
    assert_eq!(recording.up, None);
    assert_eq!((recording.probes, recording.round_trips.len()), (0, 0));
}

#[test]
fn a_light_workload_alone_is_enough() {
    let plan = Plan {
        heavy: Duration::ZERO,
        duration: Duration::from_secs(3),
        ..PLAN
    };
    let (recording, failure, path) =
        Path::new(plan, config(b"of both"), Link::new(10), Link::new(50)).run();
    assert_eq!(failure, None);
    assert_eq!((recording.down, recording.up), (None, None));
    assert_eq!(recording.round_trips.len(), 75);
    assert_eq!(path.server.sessions(), 0);
}

#[test]
fn what_a_server_does_not_allow_is_refused_with_the_limit() {
    let cases = [
        (
            Plan {
                down: BitRate::from_mbps(101),
                ..PLAN
            },
            "the server refuses: it allows rates of 100 Mbit/s at most",
        ),
        (
            Plan {
                duration: Duration::from_secs(61),
                ..PLAN
            },
            "the server refuses: it allows 60 s at most",
        ),
    ];
    for (plan, text) in cases {
        let path = Path::new(plan, config(b"of both"), Link::new(4), Link::new(8));
        let (recording, failure, path) = path.run();
        assert_eq!(failure.expect("refused").to_string(), text);
        assert_eq!(recording.down.expect("asked for").recorded, Bytes::ZERO);
        assert!(matches!(path.events[..], [Event::Refused { .. }]));
    }
    let none = ServerConfig {
        max_sessions: 0,
        ..config(b"of both")
    };
    let (_, failure, _) = Path::new(PLAN, none, Link::new(4), Link::new(8)).run();
    let text = failure.expect("refused").to_string();
    assert!(text.contains("it has 0 recordings already"), "{text}");
}

#[test]
fn a_server_with_another_key_does_not_answer() {
    let path = Path::new(PLAN, config(b"of others"), Link::new(4), Link::new(8));
    let (_, failure, path) = path.run();
    assert_eq!(failure, Some(Failure::NoAnswer));
    assert_eq!((path.server.refused(), path.down.count), (5, 0));
}

#[test]
fn both_ends_notice_that_the_other_is_gone() {
    let dead = |link: &mut Link| link.dead_from = Instant::ZERO + Duration::from_secs(3);
    let (mut up, mut down) = (Link::new(4), Link::new(8));
    dead(&mut up);
    dead(&mut down);
    let (recording, failure, mut path) = Path::new(PLAN, config(b"of both"), up, down).run();
    assert_eq!(failure, Some(Failure::Silent));
    // what had come is there
    assert!(recording.down.expect("recorded").recorded > Bytes::new(1_000_000));
    // no more was sent into the void than the window: half a second at 20 Mbit/s
    assert!(path.down.count * 1_400 < 3_500_000, "{}", path.down.count);
    path.server
        .expire(Instant::ZERO + AHEAD + Duration::from_secs(60));
    assert!(matches!(
        path.server.poll_event().or(path.events.last().copied()),
        Some(Event::Ended {
            how: crate::Ended::Silent,
            ..
        })
    ));
    assert_eq!(path.server.sessions(), 0);
}
