//! The sending half of a path: what is in flight, what became of it, and how much may follow.
//!
//! ```text
//!   room, send_time <- [ cc ] <- episodes <- loss detection <- Ack Vectors
//!   on_sent -> [ flight: a record for each packet number ] -> acked, lost, late
//! ```
//!
//! Source: RFC 4341 (CCID 2) for what is counted and when a loss is one, with any controller of
//! [`cc`] in the place of its section 5; RFC 4340 section 11 for acknowledgements.
//!
//! | section | here |
//! | --- | --- |
//! | RFC 4341 5: packets are counted, not bytes | [`Counting`] |
//! | RFC 4341 5: acknowledgements are not congestion controlled | [`SentPacket::is_data`] |
//! | RFC 4341 5: a packet is lost when three after it were acknowledged | `../detection.rs` |
//! | RFC 4341 5: one halving a window of data; ECN marks as losses | `../episode.rs` |
//! | RFC 4341 5.1, RFC 6298: timeout, cwnd one packet, backoff | [`recovery::rto`], [`Sender::on_deadline`] |
//! | RFC 4340 11.4: Ack Vectors; each packet's mark is in them | `../flight.rs` |
//! | RFC 4340 13.2: Elapsed Time | `../rtt.rs` |
//! | RFC 7661: the window grows only while it is used | [`recovery::usage`] |
//! | RFC 5681 4.1, RFC 2861, RFC 7661: windows that are not used | [`recovery::validation`] |
//!
//! The order of calls into the controller is that of [`CongestionControl`]: the end of an episode, its
//! beginning, the acknowledgement.
//!
//! *Deviations*
//! - There is no PRR (RFC 6937): after a reduction nothing leaves until less than the window is in
//!   flight, as in RFC 4341 and Linux's CCID 2.
//! - Linux's CCID 2 has the window grow right after a reduction; here, as in TCP, when something sent
//!   after it has arrived.
//! - RFC 4341 5.1 has the timer restarted by each acknowledgement of new data, and so here; nothing
//!   is sent on its expiry by the path itself, for it has nothing of its own: the next packet that the
//!   scheduler chooses it for is the probe.
//! - ECN nonces (RFC 4340 12.2) are not sent; RFC 8311 has made them historic.

mod acknowledging;
mod config;
mod losses;
mod outcome;
mod sending;
mod view;

pub use config::{Counting, SenderConfig};
pub use outcome::{AckOutcome, Acknowledgement, SenderCounters, SentInfo, SentPacket};

use super::detection::Detection;
use super::episode::Episode;
use super::flight::{Flight, Record};
use super::numbering::Numbering;
use super::rate::RateMeter;
use super::rtt::RecentMinimum;
use acknowledging::Delivery;
use cc::{CongestionControl, Ctx, RadioState, ValidatedWindow};
use recovery::{
    Pacer, RtoConfig, RttEstimator, ValidationConfig, WindowState, WindowUsage, WindowValidation,
};
use units::{Bytes, Duration, Instant, Rng};

/// How much lateness of the timer that paces is made up for.
const PACING_CREDIT: Duration = Duration::from_millis(1);

/// Timers; [`Instant::MAX`] is off.
#[derive(Clone, Copy, Debug)]
struct Timers {
    /// RFC 6298 5.
    retransmission: Instant,
    /// The oldest packet in flight has not had its time yet (RFC 8985 6.2 step 5).
    reordering: Instant,
}

/// Congestion control, loss detection and measurements of one direction of one path.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    cc: Box<dyn CongestionControl>,
    rng: Rng,
    numbering: Numbering,
    flight: Flight,
    rtt: RttEstimator,
    recent_min: RecentMinimum,
    detection: Detection,
    pacer: Pacer,
    meter: RateMeter,
    usage: WindowUsage,
    validation: WindowValidation,
    episode: Option<Episode>,
    /// Losses and marks below this number are of a window that was reduced already.
    reduced_until: u64,
    /// A round trip ends as this number or a greater one arrives.
    round_end: u64,
    /// The number at which the round trip before began: lost packets below it expire with
    /// the next.
    round_start: u64,
    timers: Timers,
    timeouts_in_a_row: u32,
    /// When data was sent last.
    last_sent_at: Instant,
    /// Found lost by a timer: it is reported to the controller with the next acknowledgement.
    unreported_lost: Bytes,
    /// Given up for lack of memory, and not reported yet.
    given_up: Vec<(u64, Record)>,
    /// The window in packets, rounded down, at least 1.
    window: u64,
    counters: SenderCounters,
}

impl Sender {
    /// The sending half of a path that begins. The controller must have been made with
    /// [`SenderConfig::packet_size`] as its segment size; `rng` is its random stream.
    pub fn new(cc: Box<dyn CongestionControl>, config: SenderConfig, rng: Rng) -> Self {
        let config = SenderConfig {
            packet_size: config.packet_size.max(Bytes::new(1)),
            failing_after: config.failing_after.max(1),
            ..config
        };
        let max = usize::try_from(config.max_outstanding.get()).unwrap_or(usize::MAX >> 8);
        let mut sender = Self {
            flight: Flight::new(max.clamp(64, 1 << 24)),
            rtt: RttEstimator::new(RtoConfig {
                min: config.min_rto,
                max: config.max_rto,
            }),
            recent_min: RecentMinimum::default(),
            detection: Detection::default(),
            pacer: Pacer::new(config.packet_size, PACING_CREDIT),
            validation: WindowValidation::new(ValidationConfig {
                validation: config.validation,
                restart_window: cc.cwnd(),
                keeps_idle_window: config.keeps_idle_window,
            }),
            meter: RateMeter::default(),
            usage: WindowUsage::default(),
            episode: None,
            reduced_until: 0,
            round_end: 0,
            round_start: 0,
            timers: Timers {
                retransmission: Instant::MAX,
                reordering: Instant::MAX,
            },
            timeouts_in_a_row: 0,
            last_sent_at: Instant::ZERO,
            unreported_lost: Bytes::ZERO,
            given_up: Vec::new(),
            window: 0,
            counters: SenderCounters::default(),
            numbering: Numbering::default(),
            config,
            cc,
            rng,
        };
        sender.refresh_window();
        sender
    }

    fn with<T>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>) -> T,
    ) -> T {
        let mut cx = Ctx {
            now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        call(&mut *self.cc, &mut cx)
    }

    /// Hands what validation leaves of the window to the controller.
    fn limit_window(&mut self, now: Instant, limit: Option<ValidatedWindow>) {
        if let Some(limit) = limit {
            self.with(now, |cc, cx| cc.on_window_validation(cx, limit));
            self.refresh_window();
        }
    }

    fn window_state(&self) -> WindowState {
        WindowState::of(&*self.cc)
    }

    fn refresh_window(&mut self) {
        self.window = (self.cc.cwnd().get() / self.config.packet_size.get()).max(1);
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives. Pacing is not among
    /// its reasons ([`Self::send_time`]).
    pub fn next_deadline(&self) -> Option<Instant> {
        let own = self.timers.retransmission.min(self.timers.reordering);
        let next = own.min(self.cc.next_deadline().unwrap_or(Instant::MAX));
        (next < Instant::MAX).then_some(next)
    }

    /// A timer may have run out.
    pub fn on_deadline(&mut self, now: Instant, outcome: &mut AckOutcome) {
        outcome.clear();
        self.report_given_up(outcome);
        if self.timers.reordering <= now {
            let losses = self.detect_losses(now, outcome);
            if losses.packets > 0 {
                self.unreported_lost += Bytes::new(losses.counted);
                self.on_losses(now, &losses);
                self.rearm(now, &Delivery::default());
            }
        }
        if self.timers.retransmission <= now {
            self.on_timeout(now, outcome);
        }
        if self.cc.next_deadline().is_some_and(|at| at <= now) {
            self.with(now, |cc, cx| cc.on_deadline(cx));
        }
        self.refresh_window();
    }

    /// A radio report of the path's link arrived.
    pub fn on_radio(&mut self, now: Instant, state: &RadioState) {
        self.with(now, |cc, cx| cc.on_radio(cx, state));
        self.refresh_window();
    }
}
