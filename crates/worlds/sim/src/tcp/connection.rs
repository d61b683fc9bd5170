//! One end of a connection: its states (RFC 9293 3.3.2), and the two halves that it joins.

mod handshake;

use super::accecn::Agreement;
use super::config::{Config, EcnConfig};
use super::receiver::{Receiver, Reporting};
use super::segment::{Flags, SackBlocks, Segment};
use super::sender::{Outgoing, Sender};
use super::stats::{ReadChunk, RttSample, Stats};
use cc::cdbe::cadence::Cadence;
use cc::{Allocation, CongestionControl, RadioState, RateReport, RateReporter, RateView, Trace};
use handshake::{Handshake, SYN_RETRIES};
use queue::Ecn;
use rnis::{RadioReport, UeReport};
use units::{BitRate, Bytes, Duration, Instant, Packets, Rng};

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed, and everything was acknowledged.
    Finished,
    /// The peer reset it.
    Reset,
    /// [`Connection::abort`] was called.
    Aborted,
    /// The peer stopped answering.
    TimedOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A client before [`Connection::open`].
    Idle,
    Listen,
    SynSent,
    SynReceived,
    /// Established or half closed: each half holds what it has finished.
    Open,
    /// Both directions are finished; late segments are still answered, as in TIME-WAIT.
    Closed(CloseReason),
}

/// One end of a TCP connection.
///
/// After each call that may change what can be sent ([`Self::on_segment`], [`Self::on_deadline`],
/// [`Self::write`], [`Self::read`], [`Self::close`], [`Self::open`], [`Self::abort`],
/// [`Self::set_receive_window`], [`Self::set_allocation`], [`Self::on_radio`]), call [`Self::poll_transmit`] until it
/// returns `None`; then [`Self::next_deadline`] is valid. Times must not decrease.
#[derive(Debug)]
pub struct Connection {
    state: State,
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
    /// A reset must be sent.
    is_reset_due: bool,
    /// The ECN configuration of this end.
    ecn: Option<EcnConfig>,
    /// What both ends use of ECN.
    agreement: Agreement,
    /// What its timestamps count in.
    timestamp_tick: Duration,
}

impl Connection {
    /// The end that opens the connection by [`Self::open`]. `rng` is the stream of its controller.
    ///
    /// # Panics
    /// If [`Config::check`] fails: callers check what users give them before.
    pub fn client(config: Config, cc: Box<dyn CongestionControl>, rng: Rng) -> Self {
        Self::new(&config, cc, rng, State::Idle)
    }

    /// The end that waits to be opened. `rng` is the stream of its controller.
    ///
    /// # Panics
    /// If [`Config::check`] fails: callers check what users give them before.
    pub fn server(config: Config, cc: Box<dyn CongestionControl>, rng: Rng) -> Self {
        Self::new(&config, cc, rng, State::Listen)
    }

    fn new(config: &Config, cc: Box<dyn CongestionControl>, rng: Rng, state: State) -> Self {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        Self {
            state,
            handshake: Handshake::default(),
            sender: Sender::new(config, cc, rng),
            receiver: Receiver::new(config),
            is_reset_due: false,
            ecn: config.ecn,
            agreement: Agreement::None,
            timestamp_tick: config.timestamp_tick,
        }
    }

    /// Measures the bandwidth at which data arrives, and reports it to the peer.
    pub fn set_reporter(&mut self, reporter: Box<dyn RateReporter>, cadence: Cadence) {
        let reporting = Reporting::new(reporter, cadence);
        self.receiver.set_reporting(reporting);
    }

    /// The present estimate of that bandwidth, if it is measured.
    pub fn reported_rate(&self) -> Option<RateReport> {
        self.receiver.rate()
    }

    /// The modem of this end reports its radio link.
    pub fn on_modem(&mut self, now: Instant, report: &RadioReport, ue: &UeReport) {
        self.receiver.on_modem(now, report, ue);
    }

    /// TSval of a segment that leaves now; wraps.
    fn ticks(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.timestamp_tick.as_nanos()) as u32
    }

    /// Where the controller writes its decisions; nowhere without this call.
    pub fn set_trace(&mut self, trace: Box<dyn Trace + Send>) {
        self.sender.set_trace(trace);
    }

    /// A client begins to connect: its SYN becomes ready. Without effect in any other state.
    pub fn open(&mut self, _now: Instant) {
        if self.state == State::Idle {
            self.state = State::SynSent;
            self.handshake.is_due = true;
        }
    }

    /// A segment arrived from the peer.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            if !matches!(self.state, State::Idle | State::Listen) {
                self.finish(CloseReason::Reset);
            }
            return;
        }
        match self.state {
            State::Idle => {}
            State::Listen => self.on_first_syn(now, segment),
            State::SynSent => self.on_syn_ack(now, segment),
            State::SynReceived => self.on_third_segment(now, segment),
            State::Open => self.on_open_segment(now, segment),
            State::Closed(CloseReason::Finished) => {
                // RFC 9293 3.10.7.4, TIME-WAIT: the acknowledgement of the peer's FIN was lost
                if segment.len > 0 || segment.flags.contains(Flags::FIN) {
                    self.receiver.require_ack();
                }
            }
            State::Closed(_) => {}
        }
    }

    fn on_open_segment(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            if segment.flags.contains(Flags::ACK) {
                self.receiver.on_repeated_syn_ack(segment.ecn);
            }
            self.receiver.require_ack(); // RFC 9293 3.10.7.4, fourth check: our ACK was lost
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.sender.on_ack(now, segment);
        }
        self.receiver.on_segment(now, segment, self.sender.rto());
        if self.sender.is_finished() && self.receiver.is_finished() {
            self.finish(CloseReason::Finished);
        }
    }

    fn finish(&mut self, reason: CloseReason) {
        self.state = State::Closed(reason);
        self.handshake.deadline = Instant::MAX;
        self.handshake.is_due = false;
    }

    /// The next segment to transmit, if one may leave now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.is_reset_due {
            self.is_reset_due = false;
            return Some(self.reset(now));
        }
        match self.state {
            State::SynSent | State::SynReceived if self.handshake.is_due => {
                Some(self.handshake_segment(now))
            }
            State::Open => {
                if self.receiver.is_former_ack_due() {
                    return Some(self.pure_ack(now));
                }
                if let Some(outgoing) = self.sender.poll(now) {
                    return Some(self.data_segment(now, &outgoing));
                }
                self.receiver.is_ack_due().then(|| self.pure_ack(now))
            }
            State::Closed(CloseReason::Finished) if self.receiver.is_ack_due() => {
                Some(self.pure_ack(now))
            }
            _ => None,
        }
    }

    fn data_segment(&mut self, now: Instant, outgoing: &Outgoing) -> Segment {
        let fields = self.receiver.ack_fields(false);
        Segment {
            seq: outgoing.seq,
            ack: fields.ack,
            window: fields.window,
            ts_val: now,
            ts_ecr: fields.ts_ecr,
            ts_ticks: self.ticks(now),
            report: fields.report,
            accecn: fields.accecn,
            origin: outgoing.origin,
            len: outgoing.len,
            sack: fields.sack,
            flags: Flags::ACK
                | fields.echo
                | Flags::FIN.when(outgoing.is_fin)
                | Flags::CWR.when(outgoing.has_reduced),
            ecn: outgoing.ecn,
            is_retransmission: outgoing.is_retransmission,
        }
    }

    fn pure_ack(&mut self, now: Instant) -> Segment {
        let fields = self.receiver.ack_fields(true);
        Segment {
            seq: self.sender.snd_nxt(),
            ack: fields.ack,
            window: fields.window,
            ts_val: now,
            ts_ecr: fields.ts_ecr,
            ts_ticks: self.ticks(now),
            report: fields.report,
            accecn: fields.accecn,
            origin: now,
            len: 0,
            sack: fields.sack,
            flags: Flags::ACK | fields.echo,
            ecn: Ecn::NotEct,
            is_retransmission: false,
        }
    }

    fn reset(&mut self, now: Instant) -> Segment {
        Segment {
            seq: self.sender.snd_nxt(),
            ack: self.receiver.next(),
            window: 0,
            ts_val: now,
            ts_ecr: Instant::ZERO,
            ts_ticks: self.ticks(now),
            report: None,
            accecn: None,
            origin: now,
            len: 0,
            sack: SackBlocks::NONE,
            flags: Flags::RST | Flags::ACK,
            ecn: Ecn::NotEct,
            is_retransmission: false,
        }
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives. Cheap.
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadline = match self.state {
            State::Open => self.sender.deadline().min(self.receiver.deadline()),
            State::SynSent | State::SynReceived => self.handshake.deadline,
            _ => Instant::MAX,
        };
        (deadline < Instant::MAX).then_some(deadline)
    }

    /// A deadline has come. Early calls are without effect.
    pub fn on_deadline(&mut self, now: Instant) {
        match self.state {
            State::Open => {
                self.sender.on_deadline(now);
                self.receiver.on_deadline(now);
                if self.sender.has_given_up() {
                    self.finish(CloseReason::TimedOut);
                }
            }
            State::SynSent | State::SynReceived if self.handshake.deadline <= now => {
                self.handshake.deadline = Instant::MAX;
                if self.handshake.sent > SYN_RETRIES {
                    self.finish(CloseReason::TimedOut);
                } else {
                    self.handshake.is_due = true;
                }
            }
            _ => {}
        }
    }

    /// The application offers `bytes`; returns how many the send buffer takes. `origin` is that of
    /// relayed data; without, each byte's origin is the time of its first transmission. May be called
    /// before the connection is established; nothing is taken after [`Self::close`].
    pub fn write(&mut self, _now: Instant, bytes: Bytes, origin: Option<Instant>) -> Bytes {
        if matches!(self.state, State::Closed(_)) {
            return Bytes::ZERO;
        }
        self.sender.write(bytes, origin)
    }

    /// What [`Self::write`] would take now.
    pub fn send_space(&self) -> Bytes {
        self.sender.space()
    }

    /// Written and not yet sent.
    pub fn unsent(&self) -> Bytes {
        Bytes::new(self.sender.unsent())
    }

    /// Payload in flight: sent, and neither acknowledged nor found lost.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.sender.in_flight()
    }

    /// The application has no more to write: a FIN follows the data (half close).
    pub fn close(&mut self, _now: Instant) {
        self.sender.close();
    }

    /// Gives the connection up; the peer is sent a reset if it has the connection.
    pub fn abort(&mut self) {
        self.is_reset_due = matches!(self.state, State::Open | State::SynReceived);
        if !matches!(self.state, State::Closed(_)) {
            self.finish(CloseReason::Aborted);
        }
    }

    /// Payload that has come, the first time and in any order.
    pub fn received(&self) -> Bytes {
        self.receiver.received()
    }

    /// Payload in order that was not read.
    pub fn readable(&self) -> Bytes {
        self.receiver.readable()
    }

    /// Takes up to `max` bytes of one origin. `None` if nothing is readable or `max` is zero. With
    /// [`Config::auto_read`] take everything after each segment, or the record of it piles up.
    pub fn read(&mut self, _now: Instant, max: Bytes) -> Option<ReadChunk> {
        self.receiver.read(max)
    }

    /// The handshake is complete and the connection not yet closed.
    pub fn is_established(&self) -> bool {
        self.state == State::Open
    }

    /// The connection is over, see [`Self::close_reason`].
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// Why it is over, if it is.
    pub fn close_reason(&self) -> Option<CloseReason> {
        match self.state {
            State::Closed(reason) => Some(reason),
            _ => None,
        }
    }

    /// The peer has closed its direction, and all its data has arrived (it may still be readable).
    pub fn peer_closed(&self) -> bool {
        self.receiver.is_finished()
    }

    /// All that was written has been acknowledged, and so has the FIN after [`Self::close`].
    pub fn is_all_acked(&self) -> bool {
        self.sender.is_all_acked()
    }

    /// Limits the advertised window (`None` lifts the limit): it becomes the minimum of buffer space
    /// and limit, rounded up to the scaling granularity.
    ///
    /// A lower limit comes into force as data arrives and uses up what was advertised: the right edge
    /// never moves back. A higher one is advertised immediately by a window update if it opens the window by a
    /// segment or more, else with the next acknowledgement.
    pub fn set_receive_window(&mut self, _now: Instant, limit: Option<Bytes>) {
        self.receiver.set_limit(limit);
        self.receiver.show_window();
    }

    /// The same, but a higher limit is advertised by the next acknowledgement only, as Linux does with
    /// `TCP_WINDOW_CLAMP`.
    pub fn follow_receive_window(&mut self, _now: Instant, limit: Option<Bytes>) {
        self.receiver.set_limit(limit);
    }

    /// Has another congestion controller from now on (`TCP_CONGESTION`); in flight stays what is.
    pub fn set_controller(&mut self, controller: Box<dyn CongestionControl>) {
        self.sender.set_controller(controller);
    }

    /// Paces no faster than this, whatever the controller sets (`SO_MAX_PACING_RATE`).
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.sender.set_max_pacing_rate(rate);
    }

    /// Hands an allocator's grant to the congestion controller.
    pub fn set_allocation(&mut self, now: Instant, allocation: Allocation) {
        self.sender.set_allocation(now, allocation);
    }

    /// Hands a radio report of the UE to the congestion controller.
    pub fn on_radio(&mut self, now: Instant, state: &RadioState) {
        self.sender.on_radio(now, state);
    }

    /// What a controller that the peer helps shows of itself.
    pub fn rate_view(&self) -> Option<RateView> {
        self.sender.rate_view()
    }

    /// The round trip that the last acknowledgement completed, if it gave a sample; once.
    pub fn take_rtt_sample(&mut self) -> Option<RttSample> {
        self.sender.take_rtt_sample()
    }

    /// Smoothed round-trip time, once there is a sample. (Cheaper than [`Self::stats`].)
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.rtt().0
    }

    /// Name of the congestion controller.
    pub fn congestion_control(&self) -> &'static str {
        self.sender.controller_name()
    }

    /// State and counters.
    pub fn stats(&self) -> Stats {
        let (srtt, min_rtt) = self.sender.rtt();
        let (cwnd, ssthresh, pacing_rate) = self.sender.windows();
        let counters = self.sender.counters();
        let (codepoint, marks_reported) = self.sender.marks();
        let syn_repeats = u64::from(self.handshake.sent.saturating_sub(1));
        Stats {
            srtt,
            min_rtt,
            rto: self.sender.rto(),
            cwnd,
            ssthresh,
            pacing_rate,
            bytes_in_flight: self.sender.in_flight(),
            peer_window: self.sender.peer_window(),
            receive_window: self.receiver.open_window(),
            segments_sent: counters.segments_sent,
            retransmits: counters.retransmits + Packets::new(syn_repeats),
            bytes_resent: counters.bytes_resent,
            lost: self.sender.lost(),
            timeouts: counters.timeouts,
            probes: counters.probes,
            recoveries: counters.recoveries,
            spurious_recoveries: counters.spurious_recoveries,
            marked_windows: counters.marked_windows,
            marks_received: self.receiver.marks_received(),
            marks_reported,
            codepoint,
            pure_acks_sent: self.receiver.pure_acks_sent(),
            bytes_acked: self.sender.acked(),
            bytes_received_in_order: self.receiver.received_in_order(),
        }
    }

    /// Compares what is counted with what is listed.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.sender.check();
    }
}
