//! The receive window of a connection whose segments' windows can be set as they leave: any window is shown at once.
//!
//! ```text
//!   decided ----> Exact ----> Order ----> field of each segment ----> server
//!                   |                       ^
//!                   '-- update due? --------' (a segment without data)
//! ```
//!
//! A budget is a right edge: what has left towards the UE, and the budget. Data that arrives does not move it, so that
//! acknowledgements that the kernel sends before a program can read show it right; what leaves towards the UE
//! moves it, and is shown by an update where no acknowledgement carries it ([`Exact::is_update_due`]). A window that does
//! not depend on what waits is one beyond what each segment acknowledges.
//!
//! Nothing has to be closed and opened: a window may be less than a segment. Where no update can be sent, windows are as
//! acknowledgements can show them: no less than the least, beyond what is acknowledged.
//!
//! [`field`] is the rule of each segment. The kernel's program (`kernel-cc/bpf/wire_model.h`) is held to it, to the bit.

use crate::{Passing, ServerWindow};
use rapid::WanWindow;
use units::{Bytes, Duration, Instant};

/// An update shows at least what may arrive in this time.
const UPDATE_INTERVAL: Duration = Duration::from_micros(250);
/// And so many segments.
const UPDATE_SEGMENTS: u64 = 2;

/// What the segments of a connection are to show. Bytes are counted from the first of the stream, modulo 2^32; a
/// window is less than 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// What the kernel shows.
    Kernel,
    /// This right edge.
    Edge(u32),
    /// This window beyond what is acknowledged.
    Window(u32),
}

impl Order {
    /// As the program reads it: the bytes in the lower half, what they are in the upper.
    pub fn word(self) -> u64 {
        match self {
            Self::Kernel => 0,
            Self::Edge(bytes) => 1 << 32 | u64::from(bytes),
            Self::Window(bytes) => 2 << 32 | u64::from(bytes),
        }
    }
}

/// The window field of a segment that acknowledges `acked`, in which the kernel has written `kernel`, and the
/// rightmost edge that the server has been shown with it; `shown` was that until now. Windows are multiples of two to
/// the power `scale` (0 to 14), and rounded up.
///
/// The kernel's window is the bound of it: what the server may send is received. Up to there the edge never moves left.
pub fn field(acked: u32, order: Order, kernel: u16, scale: u8, shown: u32) -> (u16, u32) {
    let open = match order {
        Order::Kernel => None,
        Order::Edge(edge) => Some(edge.wrapping_sub(acked).cast_signed()),
        Order::Window(window) => Some(window.cast_signed()),
    };
    let field = open.map_or(kernel, |open| {
        let held = shown.wrapping_sub(acked).cast_signed();
        let open = open.max(held).max(0).cast_unsigned();
        let scaled = open.wrapping_add((1 << scale) - 1) >> scale;
        u16::try_from(scaled).unwrap_or(u16::MAX).min(kernel)
    });
    let edge = acked.wrapping_add(u32::from(field) << scale);
    let is_news = edge.wrapping_sub(shown).cast_signed() > 0;
    (field, if is_news { edge } else { shown })
}

/// What is shown where every window can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The window, bytes.
    pub window: Bytes,
    /// By what.
    pub order: Order,
    /// The right edge, cumulative, where it does not follow what is acknowledged.
    edge: Option<Bytes>,
    /// An update is worth so much.
    step: Bytes,
}

impl Exact {
    /// What a window that was never decided, or is not decided any more, is.
    fn beyond(window: Bytes, order: Order) -> Self {
        Self {
            window,
            order,
            edge: None,
            step: Bytes::ZERO,
        }
    }

    /// The edge has moved so far beyond what was shown, or is about to be, that it is to be shown without data.
    pub fn is_update_due(&self, shown: Bytes) -> bool {
        self.edge.is_some_and(|edge| edge >= shown + self.step)
    }

    /// The same with an edge that is here at least, cumulative.
    pub fn at_least(mut self, floor: Bytes) -> Self {
        if let Some(edge) = &mut self.edge
            && *edge < floor
        {
            self.window += floor - *edge;
            *edge = floor;
            self.order = Order::Edge(low(floor));
        }
        self
    }

    /// The right edge, cumulative, where there is one.
    pub fn edge(&self) -> Option<Bytes> {
        self.edge
    }
}

/// When a server that has been shown less than a segment for too long is shown the least, whatever is decided.
#[derive(Clone, Copy, Debug)]
pub struct Relief {
    /// Size of its segments.
    mss: Bytes,
    /// What it is shown then.
    pub least: Bytes,
    /// For so long.
    max_closed: Duration,
}

impl Relief {
    /// It is due, for a server that has so much of its window left; `blocked_at` is since when that has been too little.
    pub fn is_due(&self, now: Instant, left: Bytes, blocked_at: &mut Option<Instant>) -> bool {
        if left >= self.mss {
            *blocked_at = None;
            return false;
        }
        let since = *blocked_at.get_or_insert(now);
        let is_due = now.saturating_since(since) >= self.max_closed;
        if is_due {
            *blocked_at = None;
        }
        is_due
    }
}

/// The low bits of a number of bytes.
fn low(bytes: Bytes) -> u32 {
    bytes.get() as u32
}

impl ServerWindow {
    /// What is shown of a decided window, where every window can be; `rtt` is that of the connection to the server.
    pub fn exact(&self, decided: WanWindow, of: Passing, rtt: Option<Duration>) -> Exact {
        let (whole, is_fixed) = match decided {
            WanWindow::Fixed(whole) => (whole, true),
            WanWindow::Budget(whole) => (whole, false),
        };
        let least = self.min_bytes();
        let mut window = decided.shown(of.waiting);
        // no flow stands still for being small
        let is_least = !whole.is_zero() && of.waiting.is_zero();
        if is_fixed || is_least || !self.closes() {
            window = window.max(least);
        }
        let window = window.min(of.cap).min(Bytes::new(i32::MAX as u64));
        if is_fixed || !self.closes() {
            return Exact::beyond(window, Order::Window(low(window)));
        }
        let edge = of.received + window;
        Exact {
            window,
            order: Order::Edge(low(edge)),
            edge: Some(edge),
            step: self.update_step(whole.min(of.cap), rtt),
        }
    }

    /// What ends a window that has been closed for too long, where every window can be shown.
    pub fn exact_relief(&self) -> Relief {
        Relief {
            mss: self.mss(),
            least: self.min_bytes(),
            max_closed: self.max_closed(),
        }
    }

    /// What is shown before anything is decided.
    pub fn exact_young(young: Bytes) -> Exact {
        Exact::beyond(young, Order::Window(low(young)))
    }

    /// What is shown where nothing is decided any more: all of the receive buffer.
    pub fn exact_release(cap: Bytes) -> Exact {
        Exact::beyond(cap, Order::Kernel)
    }

    /// What makes an update worth a segment: what arrives in 250 us, two segments at least; but no more than half of
    /// what may be on its way, lest nothing is.
    fn update_step(&self, whole: Bytes, rtt: Option<Duration>) -> Bytes {
        let interval = rtt.map_or(0, |rtt| {
            let share = u128::from(whole.get()) * u128::from(UPDATE_INTERVAL.as_nanos());
            (share / u128::from(rtt.as_nanos().max(1))) as u64
        });
        let two = self.mss() * UPDATE_SEGMENTS;
        Bytes::new(interval)
            .max(two)
            .min(whole / 2)
            .max(self.mss())
            .max(Bytes::new(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShownWindow;

    const MSS: u64 = 1_448;

    fn rule(closed_windows: bool) -> ServerWindow {
        let rule = ShownWindow {
            closed_windows,
            ..ShownWindow::default()
        };
        ServerWindow::new(rule, Bytes::new(MSS), Bytes::new(14_600))
    }

    #[test]
    fn a_server_that_has_been_shown_too_little_for_too_long_is_shown_the_least() {
        let relief = rule(true).exact_relief();
        assert_eq!(relief.least, Bytes::new(2 * MSS));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut blocked_at = None;
        let mut is_due = |ms, left| relief.is_due(at(ms), Bytes::new(left), &mut blocked_at);
        assert!(!is_due(0, MSS - 1) && !is_due(999, 0));
        assert!(is_due(1_000, 0));
        // it counts anew from then on, and after each whole segment
        assert!(!is_due(1_500, 0) && !is_due(2_499, 0) && !is_due(2_499, MSS));
        assert!(!is_due(2_500, 0) && !is_due(3_499, 0) && is_due(3_500, 0));
    }

    fn exact(decided: WanWindow, waiting: u64, received: u64) -> Exact {
        let of = Passing {
            waiting: Bytes::new(waiting),
            received: Bytes::new(received),
            cap: Bytes::new(4_000_000),
        };
        rule(true).exact(decided, of, Some(Duration::from_millis(40)))
    }

    fn budget(bytes: u64) -> WanWindow {
        WanWindow::Budget(Bytes::new(bytes))
    }

    #[test]
    fn a_budget_is_an_edge_that_data_does_not_move_and_what_leaves_does() {
        let first = exact(budget(100_000), 10_000, 50_000);
        assert_eq!(first.order, Order::Edge(140_000));
        // more has come, and waits
        assert_eq!(
            exact(budget(100_000), 13_000, 53_000).order,
            Order::Edge(140_000)
        );
        // some of it has left
        assert_eq!(
            exact(budget(100_000), 8_000, 53_000).order,
            Order::Edge(145_000)
        );
        // all of the budget waits
        assert_eq!(
            exact(budget(100_000), 100_000, 53_000).order,
            Order::Edge(53_000)
        );
    }

    #[test]
    fn edges_are_counted_beyond_32_bits() {
        let gigabytes = 5u64 << 30;
        let exact = exact(budget(100_000), 0, gigabytes);
        assert_eq!(exact.edge(), Some(Bytes::new(gigabytes + 100_000)));
        assert_eq!(exact.order, Order::Edge((1 << 30) + 100_000));
    }

    #[test]
    fn a_fixed_window_is_beyond_what_is_acknowledged() {
        let fixed = WanWindow::Fixed(Bytes::new(60_000));
        let shown = exact(fixed, 50_000, 9_000);
        assert_eq!(shown.order, Order::Window(60_000));
        assert!(!shown.is_update_due(Bytes::ZERO));
    }

    #[test]
    fn never_more_than_the_receive_buffer() {
        let shown = exact(budget(100_000_000), 0, 1_000);
        assert_eq!(shown.order, Order::Edge(4_001_000));
    }

    #[test]
    fn a_small_budget_is_the_least_while_nothing_waits() {
        assert_eq!(exact(budget(MSS), 0, 0).order, Order::Edge(2 * MSS as u32));
        assert_eq!(exact(budget(MSS), MSS, MSS).order, Order::Edge(MSS as u32));
        assert_eq!(exact(budget(0), 0, 500).order, Order::Edge(500));
    }

    #[test]
    fn where_no_update_can_be_sent_acknowledgements_show_the_least() {
        let of = Passing {
            waiting: Bytes::new(100_000),
            received: Bytes::new(200_000),
            cap: Bytes::new(4_000_000),
        };
        let shown = rule(false).exact(budget(100_000), of, None);
        assert_eq!(shown.order, Order::Window(2 * MSS as u32));
    }

    #[test]
    fn an_update_is_due_by_two_segments_or_what_comes_in_250_us() {
        // 250 us of 40 ms: 1/160
        let slow = exact(budget(100_000), 0, 0);
        assert!(slow.is_update_due(Bytes::new(100_000 - 2 * MSS)));
        assert!(!slow.is_update_due(Bytes::new(100_000 - 2 * MSS + 1)));
        let fast = exact(budget(1_600_000), 0, 0);
        assert!(fast.is_update_due(Bytes::new(1_590_000)));
        assert!(!fast.is_update_due(Bytes::new(1_590_001)));
        // of which two segments are more than half
        let small = exact(budget(3 * MSS), 0, 0);
        assert!(small.is_update_due(Bytes::new(3 * MSS / 2)));
        assert!(!small.is_update_due(Bytes::new(3 * MSS / 2 + 1)));
    }

    #[test]
    fn a_floor_moves_an_edge_and_no_window() {
        let closed = exact(budget(0), 0, 500).at_least(Bytes::new(3_396));
        assert_eq!(closed.order, Order::Edge(3_396));
        assert!(closed.is_update_due(Bytes::new(500)));
        let open = exact(budget(50_000), 0, 500);
        assert_eq!(open.at_least(Bytes::new(3_396)), open);
        let fixed = exact(WanWindow::Fixed(Bytes::new(9_000)), 0, 500);
        assert_eq!(fixed.at_least(Bytes::new(50_000)), fixed);
    }

    #[test]
    fn a_field_is_the_edge_less_what_is_acknowledged_rounded_up() {
        assert_eq!(
            field(1_000, Order::Edge(2_000), 65_535, 6, 0),
            (16, 1_000 + 16 * 64)
        );
        assert_eq!(
            field(1_000, Order::Edge(2_000), 65_535, 0, 0),
            (1_000, 2_000)
        );
        assert_eq!(field(1_000, Order::Window(640), 65_535, 6, 0), (10, 1_640));
    }

    #[test]
    fn the_edge_never_moves_left_and_the_kernel_is_the_bound() {
        // decided is less than what was shown
        assert_eq!(
            field(1_000, Order::Edge(1_100), 900, 0, 1_500),
            (500, 1_500)
        );
        assert_eq!(field(1_200, Order::Window(0), 900, 0, 1_500), (300, 1_500));
        // the kernel has no room
        assert_eq!(
            field(1_000, Order::Edge(9_000), 100, 0, 1_500),
            (100, 1_500)
        );
        assert_eq!(field(1_000, Order::Kernel, 700, 0, 1_500), (700, 1_700));
        // all of what was shown has come, and more
        assert_eq!(field(2_000, Order::Edge(1_000), 900, 0, 1_500), (0, 2_000));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let before = u32::MAX - 999;
        assert_eq!(
            field(before, Order::Edge(1_000), 65_535, 0, before),
            (2_000, 1_000)
        );
        assert_eq!(field(before, Order::Edge(0), 65_535, 0, 500), (1_500, 500));
    }
}
