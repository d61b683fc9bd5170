//! What was learnt of a flow that another proxy goes on with.
//!
//! ```text
//!   version u8 | kind of the window u8: 0 none, 1 fixed, 2 budget | window, bytes u64 | least RTT u64 | smoothed RTT u64   (1)
//!   | flags u8: 1 by the allocator, 2 greedy | least RTT towards the UE u64 | rate, bit/s u64 | most of a round trip, bytes u64
//!   | store u64                                                                                                         (2)
//! ```
//!
//! Integers are big-endian, times in nanoseconds, 0 where nothing is known. Version 1 ends before the flags; all that it has is of
//! the server's side. Of the radio's side only the round trip goes along, and [how much it counts](rapid::Learnt) is decided in the
//! new cell: the capacity is what its first report states.

use rapid::WanWindow;
use units::{BitRate, Bytes, Duration};

const VERSION: u8 = 2;
/// Windows are no larger (RFC 7323 section 2.3), and no more arrives in a round trip, bytes.
const MAX_WINDOW: u64 = 1 << 30;
/// Round trips are no longer.
const MAX_RTT: Duration = Duration::from_secs(60);
/// No flow has more.
const MAX_RATE: BitRate = BitRate::from_bps(1_000_000_000_000);
/// Flags.
const BY_ALLOCATOR: u8 = 1;
const GREEDY: u8 = 2;

/// What was learnt of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learnt {
    /// What was decided that the server is shown; none: nothing is.
    pub window: Option<WanWindow>,
    /// The least round trip towards the server.
    pub min_rtt: Option<Duration>,
    /// The smoothed one.
    pub smoothed_rtt: Option<Duration>,
    /// What the allocator has learnt.
    pub flow: Option<rapid::Learnt>,
}

impl Learnt {
    /// Bytes of it.
    pub const LEN: usize = 59;

    /// As another proxy is sent it. What is beyond all bounds is left out.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let (kind, window) = match self.window {
            Some(WanWindow::Fixed(window)) => (1, window.get()),
            Some(WanWindow::Budget(budget)) => (2, budget.get()),
            None => (0, 0),
        };
        let time = |rtt: Option<Duration>| {
            rtt.filter(|rtt| *rtt <= MAX_RTT)
                .map_or(0, Duration::as_nanos)
        };
        let flow = self.flow.unwrap_or_default();
        let flags = match self.flow {
            None => 0,
            Some(flow) if flow.is_greedy => BY_ALLOCATOR | GREEDY,
            Some(_) => BY_ALLOCATOR,
        };
        let mut bytes = [0; Self::LEN];
        (bytes[0], bytes[1], bytes[26]) = (VERSION, kind, flags);
        for (at, number) in [
            (2, window.min(MAX_WINDOW)),
            (10, time(self.min_rtt)),
            (18, time(self.smoothed_rtt)),
            (27, time(flow.ran_min_rtt)),
            (35, flow.rate.min(MAX_RATE).as_bps()),
            (43, flow.round.get().min(MAX_WINDOW)),
            (51, time(Some(flow.store))),
        ] {
            bytes[at..at + 8].copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Of what another proxy has sent; none of a later version, or where a value cannot be.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (first, rest) = rest.split_first_chunk::<25>()?;
        let mut learnt = Self::read(first)?;
        learnt.flow = match (version, rest) {
            (1, []) => None,
            (&VERSION, [flags, rest @ ..]) => read_flow(*flags, rest)?,
            _ => return None,
        };
        Some(learnt)
    }

    /// What version 1 has.
    fn read([kind, numbers @ ..]: &[u8; 25]) -> Option<Self> {
        let (&[window, min, smoothed], []) = numbers.as_chunks::<8>() else {
            return None;
        };
        let window = u64::from_be_bytes(window);
        let bytes = Bytes::new(window);
        let window = match kind {
            0 if window == 0 => None,
            1 if window <= MAX_WINDOW => Some(WanWindow::Fixed(bytes)),
            2 if window <= MAX_WINDOW => Some(WanWindow::Budget(bytes)),
            _ => return None,
        };
        Some(Self {
            window,
            min_rtt: read_time(min)?,
            smoothed_rtt: read_time(smoothed)?,
            flow: None,
        })
    }
}

/// None if it cannot be; in it none if it is not known.
fn read_time(number: [u8; 8]) -> Option<Option<Duration>> {
    match Duration::from_nanos(u64::from_be_bytes(number)) {
        time if time > MAX_RTT => None,
        time => Some((!time.is_zero()).then_some(time)),
    }
}

/// The same of what the allocator has learnt.
fn read_flow(flags: u8, numbers: &[u8]) -> Option<Option<rapid::Learnt>> {
    let (&[ran_min_rtt, rate, round, store], []) = numbers.as_chunks::<8>() else {
        return None;
    };
    let flow = rapid::Learnt {
        ran_min_rtt: read_time(ran_min_rtt)?,
        rate: BitRate::from_bps(u64::from_be_bytes(rate)),
        round: Bytes::new(u64::from_be_bytes(round)),
        is_greedy: flags & GREEDY != 0,
        store: read_time(store)?.unwrap_or_default(),
    };
    if flow.rate > MAX_RATE || flow.round > Bytes::new(MAX_WINDOW) {
        return None;
    }
    match flags {
        0 if flow == rapid::Learnt::default() => Some(None),
        BY_ALLOCATOR | 3 => Some(Some(flow)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learnt() -> Learnt {
        Learnt {
            window: Some(WanWindow::Budget(Bytes::new(258))),
            min_rtt: Some(Duration::from_nanos(3)),
            smoothed_rtt: None,
            flow: Some(rapid::Learnt {
                ran_min_rtt: Some(Duration::from_nanos(4)),
                rate: BitRate::from_bps(5),
                round: Bytes::new(6),
                is_greedy: true,
                store: Duration::from_nanos(7),
            }),
        }
    }

    #[test]
    fn it_has_these_bytes() {
        let mut bytes = [0; Learnt::LEN];
        (bytes[0], bytes[1], bytes[8], bytes[9], bytes[17]) = (2, 2, 1, 2, 3);
        (bytes[26], bytes[34], bytes[42], bytes[50], bytes[58]) = (3, 4, 5, 6, 7);
        assert_eq!(learnt().encode(), bytes);
        assert_eq!(Learnt::decode(&bytes), Some(learnt()));
        for (at, value) in [
            (0, 1),
            (0, 3),
            (1, 0),
            (1, 3),
            (2, 1),
            (10, 1),
            (18, 1),
            (26, 0),
            (26, 2),
            (26, 4),
            (27, 1),
            (35, 1),
            (43, 1),
            (51, 1),
        ] {
            let mut other = bytes;
            other[at] = value;
            assert_eq!(Learnt::decode(&other), None, "{at}");
        }
        assert_eq!(Learnt::decode(&bytes[1..]), None);
        assert_eq!(Learnt::decode(&bytes[..58]), None);
        assert_eq!(Learnt::decode(&[]), None);
        let of_none = Learnt::default();
        assert_eq!(Learnt::decode(&of_none.encode()), Some(of_none));
    }

    /// A proxy of before sends no more.
    #[test]
    fn what_version_1_has_is_read() {
        let mut bytes = learnt().encode();
        bytes[0] = 1;
        let before = Learnt {
            flow: None,
            ..learnt()
        };
        assert_eq!(Learnt::decode(&bytes[..26]), Some(before));
        for length in (0..26).chain(27..Learnt::LEN) {
            assert_eq!(Learnt::decode(&bytes[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            window in proptest::option::of((any::<bool>(), 0u64..=MAX_WINDOW)),
            times in any::<[Option<u32>; 4]>(),
            flow in proptest::option::of((any::<bool>(), 0u64..=MAX_RATE.as_bps(), 0u64..=MAX_WINDOW)),
        ) {
            let [min_rtt, smoothed_rtt, ran_min_rtt, store] = times.map(|time| {
                time.map(|nanos| Duration::from_nanos(u64::from(nanos) + 1))
            });
            let window = window.map(|(is_fixed, bytes)| match is_fixed {
                true => WanWindow::Fixed(Bytes::new(bytes)),
                false => WanWindow::Budget(Bytes::new(bytes)),
            });
            let flow = flow.map(|(is_greedy, rate, round)| rapid::Learnt {
                ran_min_rtt,
                rate: BitRate::from_bps(rate),
                round: Bytes::new(round),
                is_greedy,
                store: store.unwrap_or_default(),
            });
            let learnt = Learnt { window, min_rtt, smoothed_rtt, flow };
            prop_assert_eq!(Learnt::decode(&learnt.encode()), Some(learnt));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            version in 0u8..4,
            bytes in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..64),
        ) {
            let bytes = [&[version][..], &bytes].concat();
            if let Some(learnt) = Learnt::decode(&bytes) {
                let written = learnt.encode();
                prop_assert_eq!(&written[1..bytes.len()], &bytes[1..]);
                prop_assert!(learnt.flow.is_none() || version == 2);
            }
        }
    }
}
