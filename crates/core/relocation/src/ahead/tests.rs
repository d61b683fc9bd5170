use super::*;
use crate::flow::{Leg, Window};
use proptest::prelude::*;

fn flow() -> Flow {
    let (client, server) = ("10.45.0.2:40000", "10.99.0.2:443");
    let [client, server]: [SocketAddr; 2] = [client, server].map(|a| a.parse().expect("valid"));
    let leg = |local, remote| Leg {
        local,
        remote,
        snd_una: 1,
        rcv_nxt: 1,
        mss: 1_448,
        timestamp: None,
        has_sack: true,
        scales: None,
        window: Window::default(),
        in_flight: Vec::new(),
    };
    Flow {
        client,
        server,
        ran: leg(server, client),
        wan: leg(client, server),
        down: Pieces::default(),
        up: Pieces::default(),
    }
}

fn ahead(towards: Towards, at: u64, acknowledged: u64, bytes: Vec<u8>) -> Ahead {
    let Flow { client, server, .. } = flow();
    Ahead {
        way: Way {
            client,
            server,
            towards,
        },
        at,
        acknowledged,
        bytes,
    }
}

/// A connection that runs: what is handed to its socket, what of that is acknowledged, and what was copied.
#[derive(Debug, Default)]
struct Running {
    /// All bytes of the direction, those of before 0 first.
    all: Vec<u8>,
    /// Of these, before 0.
    before: usize,
    handed_on: usize,
    sent: usize,
    acknowledged: usize,
    copied: usize,
}

impl Running {
    fn at(&self, index: usize) -> u64 {
        index.saturating_sub(self.before) as u64
    }
}

proptest! {
    #[test]
    fn what_was_sent_ahead_and_the_rest_are_the_whole(
        before in 0usize..3_000,
        steps in proptest::collection::vec((0usize..3_000, 0usize..3_000, 0usize..3_000, 0usize..3_000, any::<bool>()), 0..12),
    ) {
        let mut run = Running {
            all: (0..before).map(|n| n as u8).collect(),
            before,
            handed_on: before,
            sent: 0,
            acknowledged: 0,
            copied: before,
        };
        let mut streams = Streams::default();
        let take = |streams: &mut Streams, run: &mut Running| {
            let bytes = run.all[run.copied..].to_vec();
            let ahead = ahead(Towards::Ue, run.at(run.copied), run.at(run.acknowledged), bytes);
            run.copied = run.all.len();
            streams.take(ahead, usize::MAX, 1)
        };
        prop_assert_eq!(take(&mut streams, &mut run), Ok(()));
        for (n, (read, handed, sent, acknowledged, copies)) in steps.into_iter().enumerate() {
            run.all.extend((0..read).map(|at| (at * 7 + n) as u8));
            run.handed_on = (run.handed_on + handed).min(run.all.len());
            run.sent = (run.sent + sent).min(run.handed_on);
            run.acknowledged = (run.acknowledged + acknowledged).min(run.sent);
            if copies {
                prop_assert_eq!(take(&mut streams, &mut run), Ok(()));
                prop_assert!(streams.held() <= run.all.len() - run.acknowledged.max(run.before));
            }
        }
        let head = run.all[run.acknowledged..run.before.max(run.acknowledged)].to_vec();
        let tail = run.all[run.copied.max(run.acknowledged)..].to_vec();
        let copied = run.at(run.copied);
        let rest = Rest {
            down: Part {
                begin: run.at(run.acknowledged).min(copied),
                copied,
                in_flight: (run.sent - run.acknowledged) as u32,
            },
            up: Part::default(),
            learnt: Vec::new(),
            flow: Flow {
                ran: Leg { in_flight: head, ..flow().ran },
                down: tail.into(),
                ..flow()
            },
        };
        let whole = streams.complete(rest).expect("a whole");
        prop_assert_eq!(&whole.ran.in_flight, &run.all[run.acknowledged..run.sent]);
        prop_assert_eq!(whole.down, Pieces::from(run.all[run.sent..].to_vec()));
        prop_assert_eq!(streams.held(), 0);
    }

    #[test]
    fn no_bytes_that_came_ahead_make_it_panic_or_hold_more_than_it_may(
        messages in proptest::collection::vec((any::<bool>(), 0u64..50, any::<u64>(), 0usize..60), 0..20),
        (begin, more, in_flight) in (0u64..60, 0u64..60, any::<u32>()),
    ) {
        let mut streams = Streams::default();
        for (is_up, at, acknowledged, n) in messages {
            let towards = if is_up { Towards::Server } else { Towards::Ue };
            let _ = streams.take(ahead(towards, at, acknowledged % 100, vec![1; n]), 100, 1);
            prop_assert!(streams.held() <= 100);
        }
        let part = Part { begin, copied: begin + more, in_flight };
        let _ = streams.complete(Rest { flow: flow(), down: part, up: part, learnt: Vec::new() });
        prop_assert_eq!(streams.held(), 0);
    }
}

#[test]
fn what_does_not_fit_stays() {
    let mut streams = Streams::default();
    let mut take = |at, bytes| streams.take(ahead(Towards::Ue, at, 0, vec![1; bytes]), 100, 1);
    assert_eq!(take(0, 60), Ok(()));
    assert_eq!(take(61, 1), Err(Malformed::Value));
    assert_eq!(take(60, 60), Ok(()));
    // what follows is forgotten too
    assert_eq!(take(120, 60), Ok(()));
    assert_eq!(streams.held(), 0);
    let mut other = ahead(Towards::Ue, 0, 0, vec![1]);
    other.way.server = "10.99.0.2:80".parse().expect("valid");
    assert_eq!(streams.take(other, 100, 1), Ok(()));
    assert_eq!(streams.held(), 0, "a connection too many");
    let rest = || Rest {
        flow: flow(),
        down: Part::default(),
        up: Part::default(),
        learnt: Vec::new(),
    };
    assert_eq!(streams.complete(rest()), Err(Outcome::NoRoom));
    assert_eq!(streams.complete(rest()), Err(Outcome::NoRoom));
}
