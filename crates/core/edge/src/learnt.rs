//! What was learnt of a flow that another proxy goes on with.
//!
//! ```text
//!   version u8 | kind of the window u8: 0 none, 1 fixed, 2 budget | window, bytes u64 | least RTT u64 | smoothed RTT u64
//! ```
//!
//! All is of the server's side; integers are big-endian, times in nanoseconds, 0 where nothing is known. The radio's side is the new
//! cell's, which its first report states, and what the allocator learns of it is of that cell alone.

use rapid::WanWindow;
use units::{Bytes, Duration};

const VERSION: u8 = 1;
/// Windows are no larger (RFC 7323 section 2.3), bytes.
const MAX_WINDOW: u64 = 1 << 30;
/// Round trips are no longer.
const MAX_RTT: Duration = Duration::from_secs(60);

/// What was learnt of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learnt {
    /// What was decided that the server is shown; none: nothing is.
    pub window: Option<WanWindow>,
    /// The least round trip towards the server.
    pub min_rtt: Option<Duration>,
    /// The smoothed one.
    pub smoothed_rtt: Option<Duration>,
}

impl Learnt {
    /// Bytes of it.
    pub const LEN: usize = 26;

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
        let mut bytes = [0; Self::LEN];
        bytes[0] = VERSION;
        bytes[1] = kind;
        bytes[2..10].copy_from_slice(&window.min(MAX_WINDOW).to_be_bytes());
        bytes[10..18].copy_from_slice(&time(self.min_rtt).to_be_bytes());
        bytes[18..].copy_from_slice(&time(self.smoothed_rtt).to_be_bytes());
        bytes
    }

    /// Of what another proxy has sent; none of another version, or where a value cannot be.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [VERSION, kind, rest @ ..] = bytes else {
            return None;
        };
        let (numbers, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let [window, min, smoothed] = numbers else {
            return None;
        };
        let window = u64::from_be_bytes(*window);
        let bytes = Bytes::new(window);
        let window = match kind {
            0 if window == 0 => None,
            1 if window <= MAX_WINDOW => Some(WanWindow::Fixed(bytes)),
            2 if window <= MAX_WINDOW => Some(WanWindow::Budget(bytes)),
            _ => return None,
        };
        let time = |number: &[u8; 8]| match Duration::from_nanos(u64::from_be_bytes(*number)) {
            rtt if rtt > MAX_RTT => None,
            rtt => Some((!rtt.is_zero()).then_some(rtt)),
        };
        Some(Self {
            window,
            min_rtt: time(min)?,
            smoothed_rtt: time(smoothed)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_has_these_bytes() {
        let learnt = Learnt {
            window: Some(WanWindow::Budget(Bytes::new(258))),
            min_rtt: Some(Duration::from_nanos(3)),
            smoothed_rtt: None,
        };
        let mut bytes = [0; Learnt::LEN];
        (bytes[0], bytes[1], bytes[8], bytes[9], bytes[17]) = (1, 2, 1, 2, 3);
        assert_eq!(learnt.encode(), bytes);
        assert_eq!(Learnt::decode(&bytes), Some(learnt));
        for (at, value) in [(0, 2), (1, 0), (1, 3), (2, 1), (10, 1), (18, 1)] {
            let mut other = bytes;
            other[at] = value;
            assert_eq!(Learnt::decode(&other), None, "{at}");
        }
        assert_eq!(Learnt::decode(&bytes[1..]), None);
        assert_eq!(Learnt::decode(&[]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            window in proptest::option::of((any::<bool>(), 0u64..=MAX_WINDOW)),
            rtts in any::<[Option<u32>; 2]>(),
        ) {
            let [min_rtt, smoothed_rtt] = rtts.map(|rtt| {
                rtt.map(|nanos| Duration::from_nanos(u64::from(nanos) + 1))
            });
            let window = window.map(|(is_fixed, bytes)| match is_fixed {
                true => WanWindow::Fixed(Bytes::new(bytes)),
                false => WanWindow::Budget(Bytes::new(bytes)),
            });
            let learnt = Learnt { window, min_rtt, smoothed_rtt };
            prop_assert_eq!(Learnt::decode(&learnt.encode()), Some(learnt));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(learnt) = Learnt::decode(&bytes) {
                prop_assert_eq!(&learnt.encode()[..], &bytes[..]);
            }
        }
    }
}
