//! The sending half of a connection.
//!
//! ```text
//!   write -> send_buffer -> transmit -> scoreboard <- on_ack
//!                              ^            |            |
//!        cwnd, pacing, PRR ----+            +--> rack -> recovery -> cc
//! ```

mod controller;
mod marks;
mod probe;
mod prr;
mod rack;
mod recovery;
mod scoreboard;
mod send_buffer;
mod transmit;
mod validation;
mod view;

use super::config::{Config, TICK};
use super::ranges::Span;
use super::segment::{Flags, Segment};
use super::stats::RttSample;
use ::recovery::{Pacer, RtoConfig, RttEstimator, ValidationConfig, WindowUsage, WindowValidation};
use cc::{
    AckSample, Allocation, CongestionControl, Feedback, RadioState, RateView, Timestamps, Trace,
};
use controller::Controller;
use marks::Marks;
use probe::TailProbe;
use prr::PrrAck;
use rack::{Rack, ReorderingContext};
use recovery::Episode;
use scoreboard::{Delivery, Losses, Scoreboard};
use send_buffer::SendBuffer;
pub(super) use transmit::Outgoing;
use transmit::Urgent;
use units::{BitRate, Bytes, Duration, Instant, Packets, Rng};

/// Timers; [`Instant::MAX`] is off.
#[derive(Clone, Copy, Debug)]
struct Timers {
    /// Retransmission (RFC 6298 5).
    retransmission: Instant,
    /// Tail loss probe (RFC 8985 7.2).
    probe: Instant,
    /// Reordering (RFC 8985 6.2 step 5).
    reordering: Instant,
    /// Pacing.
    pacing: Instant,
    /// Zero-window probe (RFC 9293 3.8.6.1).
    persist: Instant,
}

impl Timers {
    const OFF: Self = Self {
        retransmission: Instant::MAX,
        probe: Instant::MAX,
        reordering: Instant::MAX,
        pacing: Instant::MAX,
        persist: Instant::MAX,
    };

    fn next(&self) -> Instant {
        let loss = self.retransmission.min(self.probe).min(self.reordering);
        loss.min(self.pacing).min(self.persist)
    }
}

/// Counters since the connection opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) segments_sent: Packets,
    pub(super) retransmits: Packets,
    pub(super) bytes_resent: Bytes,
    pub(super) timeouts: Packets,
    pub(super) probes: Packets,
    pub(super) recoveries: Packets,
    pub(super) spurious_recoveries: Packets,
    pub(super) marked_windows: Packets,
}

/// What an acknowledgement showed, besides what it delivered.
#[derive(Clone, Copy, Debug)]
struct AckFacts {
    now: Instant,
    ack: u64,
    ts_ecr: Instant,
    /// It moved SND.UNA.
    is_advance: bool,
    /// What it reports as received twice.
    dsack: Option<Span>,
    /// It reports a mark.
    is_echo: bool,
    /// Payload in flight before it.
    prior_in_flight: u64,
}

/// Data in, segments out.
#[derive(Debug)]
pub(super) struct Sender {
    mss: u64,
    nodelay: bool,
    controller: Controller,
    buffer: SendBuffer,
    board: Scoreboard,
    rtt: RttEstimator,
    rack: Rack,
    pacer: Pacer,
    tail_probe: TailProbe,
    /// The recovery, or the reduction after a mark, under way.
    episode: Option<Episode>,
    marks: Marks,
    usage: WindowUsage,
    validation: WindowValidation,
    timers: Timers,
    /// SND.NXT.
    snd_nxt: u64,
    /// Right edge of the peer's window; never decreases.
    peer_edge: u64,
    /// The largest window that the peer ever offered (RFC 1122 4.2.3.4).
    max_peer_window: u64,
    /// End of the last segment sent that was not full (Minshall's rule).
    last_small_end: u64,
    /// When data was sent last.
    last_sent_at: Instant,
    /// The round trip ends as a segment of this number or above is delivered.
    round_end: u64,
    /// Retransmission timeouts since SND.UNA moved last.
    timeouts_in_a_row: u32,
    /// Zero-window probes since the window was open.
    window_probes: u32,
    /// Those among them that were not answered.
    unanswered_window_probes: u32,
    /// What must be sent whatever cwnd and pacing allow.
    urgent: Urgent,
    /// Something happened since [`Self::poll`] last had nothing to send.
    is_active: bool,
    /// Something was sent since then.
    has_sent: bool,
    is_closing: bool,
    is_fin_sent: bool,
    has_given_up: bool,
    rtt_sample: Option<RttSample>,
    counters: Counters,
}

impl Sender {
    pub(super) fn new(config: &Config, cc: Box<dyn CongestionControl>, rng: Rng) -> Self {
        let mss = config.mss.get();
        let validation = WindowValidation::new(ValidationConfig {
            validation: config.validation,
            restart_window: cc.cwnd(),
            keeps_idle_window: false,
        });
        Self {
            mss,
            nodelay: config.nodelay,
            controller: Controller::new(cc, rng),
            buffer: SendBuffer::new(config.send_buffer),
            board: Scoreboard::new(mss),
            rtt: RttEstimator::new(RtoConfig::LINUX),
            rack: Rack::default(),
            // a simulated timer is never late
            pacer: Pacer::new(config.mss, Duration::ZERO),
            tail_probe: TailProbe::default(),
            episode: None,
            marks: Marks::default(),
            usage: WindowUsage::default(),
            validation,
            timers: Timers::OFF,
            snd_nxt: 1,
            peer_edge: 1,
            max_peer_window: 0,
            last_small_end: 0,
            last_sent_at: Instant::ZERO,
            round_end: 0,
            timeouts_in_a_row: 0,
            window_probes: 0,
            unanswered_window_probes: 0,
            urgent: Urgent::None,
            is_active: false,
            has_sent: false,
            is_closing: false,
            is_fin_sent: false,
            has_given_up: false,
            rtt_sample: None,
            counters: Counters::default(),
        }
    }

    /// The handshake is complete; `rtt` was measured by it.
    pub(super) fn on_established(&mut self, rtt: Option<Duration>) {
        self.board.on_syn_acked();
        self.is_active = true;
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt);
            self.rtt.on_min_sample(rtt);
        }
    }

    /// The peer's window from `ack` on.
    pub(super) fn on_peer_window(&mut self, ack: u64, window: u64) {
        if ack + window > self.peer_edge {
            self.peer_edge = ack + window;
            self.is_active = true;
        }
        self.max_peer_window = self.max_peer_window.max(window);
    }

    /// An acknowledgement arrived.
    pub(super) fn on_ack(&mut self, now: Instant, segment: &Segment) {
        self.rtt_sample = None;
        if segment.ack > self.snd_nxt {
            return; // of data never sent (RFC 9293 3.10.7.4, fifth check)
        }
        self.on_peer_window(segment.ack, segment.window);
        self.on_feedback(now, segment);
        self.unanswered_window_probes = 0;
        let mut facts = AckFacts {
            now,
            ack: segment.ack,
            ts_ecr: segment.ts_ecr,
            is_advance: segment.ack > self.board.una(),
            dsack: None,
            is_echo: self.marks.has_echo()
                && segment.flags.contains(Flags::ECE)
                && segment.ack >= self.board.una(),
            prior_in_flight: self.board.in_flight(),
        };
        let is_old = segment.ack < self.board.una();
        let mut delivery = Delivery::new(
            now,
            segment.ts_ecr,
            facts.is_advance,
            self.rtt.min_rtt().unwrap_or(Duration::MAX),
        );
        if facts.is_advance {
            self.timeouts_in_a_row = 0;
            self.board.on_cumulative(segment.ack, &mut delivery);
        }
        if !segment.sack.is_empty() {
            facts.dsack = self.on_sack_blocks(segment, &mut delivery);
        }
        facts.is_echo |= self.reads_marks(segment, is_old, &delivery);
        let is_new =
            facts.is_advance || delivery.segments > 0 || facts.dsack.is_some() || facts.is_echo;
        if is_new || self.tail_probe.is_outstanding() {
            self.is_active = true;
            self.on_new_data(&facts, &delivery);
        }
    }

    /// Enters the blocks into the scoreboard, lowest first; returns the DSACK (RFC 2883 4: a first
    /// block below the acknowledgement or within the second).
    fn on_sack_blocks(&mut self, segment: &Segment, delivery: &mut Delivery) -> Option<Span> {
        let mut blocks = [Span::default(); super::segment::SackBlocks::MAX];
        let mut count = 0;
        for block in segment.sack.iter(segment.ack) {
            if block.start < block.end && block.end <= self.snd_nxt {
                blocks[count] = block;
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let first = blocks[0];
        let is_within_second =
            count > 1 && blocks[1].start <= first.start && first.end <= blocks[1].end;
        let is_dsack = first.end <= segment.ack || is_within_second;
        let blocks = &mut blocks[usize::from(is_dsack)..count];
        blocks.sort_unstable_by_key(|b| b.start);
        for &block in &*blocks {
            self.board.on_sack(block, delivery);
        }
        is_dsack.then_some(first)
    }

    fn on_new_data(&mut self, facts: &AckFacts, delivery: &Delivery) {
        let now = facts.now;
        let rtt = self.measure_rtt(facts, delivery);
        if delivery.is_reordered {
            self.rack.on_reordering();
        }
        if let Some(order) = delivery.rack {
            self.rack.on_delivered(now, order);
        }
        self.on_dsack(facts);
        self.on_probe_acked(facts, delivery.segments > 0);
        let found = self.detect_losses(now);
        let losses = self.update_episode(facts, delivery, found);
        self.inform_controller(facts, delivery, &losses, rtt);
        self.rearm(facts, delivery.segments > 0);
    }

    /// Returns the round trip of the last sent segment among those never resent.
    fn measure_rtt(&mut self, facts: &AckFacts, delivery: &Delivery) -> Option<Duration> {
        let now = facts.now;
        if let Some(sent_at) = delivery.oldest_clean {
            self.rtt.on_sample(now.saturating_since(sent_at));
        } else if facts.is_advance && facts.ts_ecr > Instant::ZERO {
            // RFC 7323 4.1: only timestamps record after a retransmission
            self.rtt.on_sample(now.saturating_since(facts.ts_ecr));
        }
        let (sent_at, origin) = delivery.newest_clean?;
        let rtt = now.saturating_since(sent_at);
        self.rtt.on_min_sample(rtt);
        self.rtt_sample = Some(RttSample { rtt, origin });
        Some(rtt)
    }

    fn reordering_window(&self) -> Duration {
        self.rack.reordering_window(&ReorderingContext {
            is_recovering: self.is_repairing(),
            sacked_segments: self.board.sacked_segments(),
            min_rtt: self.rtt.min_rtt(),
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
        })
    }

    /// RFC 8985 6.2 step 5.
    fn detect_losses(&mut self, now: Instant) -> Losses {
        let mut losses = Losses::default();
        let reo_wnd = self.reordering_window();
        let is_waiting = self
            .board
            .detect_losses(now, &self.rack, reo_wnd, &mut losses);
        self.timers.reordering = if is_waiting {
            self.rack.deadline(now, reo_wnd)
        } else {
            Instant::MAX
        };
        losses
    }

    fn inform_controller(
        &mut self,
        facts: &AckFacts,
        delivery: &Delivery,
        losses: &Losses,
        rtt: Option<Duration>,
    ) {
        let in_flight = self.board.in_flight();
        if let Some(episode) = &mut self.episode {
            episode.on_ack(&PrrAck {
                delivered: delivery.bytes,
                in_flight,
                is_safe: facts.is_advance && losses.segments == 0,
            });
        }
        if delivery.segments == 0 && losses.segments == 0 && !facts.is_advance {
            return;
        }
        let is_round_start = delivery.segments > 0 && delivery.greatest >= self.round_end;
        if is_round_start {
            self.round_end = self.board.next_number();
        }
        let newly_marked = self.marked(facts, Bytes::new(delivery.bytes));
        let sample = AckSample {
            newly_acked: Bytes::new(delivery.bytes),
            newly_lost: Bytes::new(losses.bytes),
            bytes_in_flight: Bytes::new(in_flight),
            prior_in_flight: Bytes::new(facts.prior_in_flight),
            rtt,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: self.rtt.min_rtt().unwrap_or(Duration::ZERO),
            stamp: delivery.latest.map(|(_, stamp)| stamp),
            is_recovering: self.episode.is_some(),
            is_cwnd_limited: self.is_cwnd_limited(),
            is_round_start,
            ecn_echo: facts.is_echo,
            newly_marked,
        };
        self.controller.on_ack(facts.now, &sample);
        self.validate_acked(facts.now, &sample);
    }

    /// RFC 6298 5.2 and 5.3, RFC 8985 7.2.
    fn rearm(&mut self, facts: &AckFacts, has_delivered: bool) {
        if self.board.is_empty() {
            self.timers.retransmission = Instant::MAX;
            self.timers.probe = Instant::MAX;
            self.timers.reordering = Instant::MAX;
            return;
        }
        if facts.is_advance {
            self.timers.retransmission = self.rtt.deadline(facts.now);
        }
        if facts.is_advance || has_delivered {
            self.schedule_probe(facts.now);
        }
    }

    /// When [`Self::on_deadline`] is to be called; [`Instant::MAX`] for never.
    pub(super) fn deadline(&self) -> Instant {
        self.timers.next().min(self.controller.deadline())
    }

    /// A timer may have run out.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.is_active = true;
        if self.timers.pacing <= now {
            self.timers.pacing = Instant::MAX;
        }
        if self.timers.reordering <= now {
            self.on_reordering_timer(now);
        }
        if self.timers.probe <= now {
            self.on_probe_timer(now);
        }
        if self.timers.retransmission <= now {
            self.on_retransmission_timer(now);
        }
        if self.timers.persist <= now {
            self.on_persist_timer();
        }
        if self.controller.deadline() <= now {
            self.controller.on_deadline(now);
        }
    }

    /// The application offers data; returns how much fits.
    pub(super) fn write(&mut self, bytes: Bytes, origin: Option<Instant>) -> Bytes {
        if self.is_closing {
            return Bytes::ZERO;
        }
        self.is_active = true;
        Bytes::new(self.buffer.write(self.board.una(), bytes.get(), origin))
    }

    /// No more data will come.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
        self.is_active = true;
    }

    pub(super) fn set_controller(&mut self, cc: Box<dyn CongestionControl>) {
        self.controller.replace(cc);
        self.is_active = true;
    }

    pub(super) fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.controller.set_max_pacing_rate(rate);
        self.is_active = true;
    }

    pub(super) fn set_allocation(&mut self, now: Instant, allocation: Allocation) {
        self.controller.set_allocation(now, allocation);
        self.is_active = true;
    }
    /// What else a segment from the peer carries.
    pub(super) fn on_feedback(&mut self, now: Instant, segment: &Segment) {
        let has_echo = segment.ts_ecr > Instant::ZERO;
        let timestamps = has_echo.then(|| Timestamps {
            val: segment.ts_ticks,
            ecr: (segment.ts_ecr.as_nanos() / TICK.as_nanos()) as u32,
        });
        self.controller.on_feedback(
            now,
            &Feedback {
                report: segment.report,
                timestamps,
            },
        );
    }
    pub(super) fn rate_view(&self) -> Option<RateView> {
        self.controller.rate_view()
    }
    pub(super) fn on_radio(&mut self, now: Instant, state: &RadioState) {
        self.controller.on_radio(now, state);
        self.is_active = true;
    }
    pub(super) fn set_trace(&mut self, trace: Box<dyn Trace + Send>) {
        self.controller.set_trace(trace);
    }
    pub(super) fn take_rtt_sample(&mut self) -> Option<RttSample> {
        self.rtt_sample.take()
    }
}
