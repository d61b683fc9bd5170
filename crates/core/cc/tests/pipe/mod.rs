//! A small deterministic path for one flow: a link of fixed rate with a drop-tail buffer, a fixed
//! delay, and, if needed, random losses. The sender always has data; every packet is acknowledged.

use cc::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent, Trace,
};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant, Rng, Streams};

pub const MSS: Bytes = Bytes::new(1_448);

/// The path.
#[derive(Clone, Copy)]
pub struct Path {
    pub rate: BitRate,
    pub base_rtt: Duration,
    pub buffer: Bytes,
    pub loss: f64,
}

impl Path {
    /// A path with a buffer of so many bandwidth-delay products.
    pub fn new(mbps: u64, base_rtt: Duration, buffer_bdp: f64) -> Self {
        let rate = BitRate::from_mbps(mbps);
        Self {
            rate,
            base_rtt,
            buffer: rate.bytes_in(base_rtt).mul_f64(buffer_bdp),
            loss: 0.0,
        }
    }
    pub fn bdp(&self) -> Bytes {
        self.rate.bytes_in(self.base_rtt)
    }
}

/// What a controller wrote to its trace.
#[derive(Default)]
pub struct Log(pub Vec<(Instant, &'static str, u64)>);

impl Trace for Log {
    fn event(&mut self, now: Instant, name: &'static str, value: u64) {
        self.0.push((now, name, value));
    }
}

impl Log {
    pub fn times(&self, name: &str) -> Vec<Instant> {
        self.0.iter().filter(|e| e.1 == name).map(|e| e.0).collect()
    }
}

struct Packet {
    id: u64,
    stamp: PacketStamp,
    is_acked: bool,
}

/// The state of the window at the start of a round trip.
#[derive(Clone, Copy)]
pub struct RoundRecord {
    pub at: Instant,
    pub cwnd: Bytes,
    pub is_recovering: bool,
}

/// One flow over a path.
pub struct Flow {
    pub path: Path,
    pub cc: Box<dyn CongestionControl>,
    pub now: Instant,
    pub log: Log,
    pub delivered: Bytes,
    pub drops: u64,
    pub timeouts: u64,
    /// Largest and summed backlog that packets found, with their number.
    pub max_queue: Bytes,
    pub queue_sum: u128,
    pub sent: u64,
    pub rounds: Vec<RoundRecord>,
    rng: Rng,
    loss_rng: Rng,
    link_free: Instant,
    outstanding: VecDeque<Packet>,
    acks: VecDeque<(Instant, u64)>,
    in_flight: Bytes,
    next_id: u64,
    round_end: u64,
    was_limited: [bool; 2],
    /// Last packet sent before the loss that is being repaired was found.
    recover: Option<u64>,
    next_send: Instant,
    last_send: Instant,
    srtt: Duration,
    min_rtt: Duration,
}

impl Flow {
    pub fn new(name: &str, path: Path, seed: u64) -> Self {
        let config = BuildConfig {
            mss: MSS,
            initial_window: MSS * 10,
        };
        let streams = Streams::new(seed);
        Self {
            path,
            cc: cc::build(name, config).expect("known controller"),
            now: Instant::ZERO,
            log: Log::default(),
            delivered: Bytes::ZERO,
            drops: 0,
            timeouts: 0,
            max_queue: Bytes::ZERO,
            queue_sum: 0,
            sent: 0,
            rounds: Vec::new(),
            rng: streams.stream("cc"),
            loss_rng: streams.stream("loss"),
            link_free: Instant::ZERO,
            outstanding: VecDeque::new(),
            acks: VecDeque::new(),
            in_flight: Bytes::ZERO,
            next_id: 0,
            round_end: 0,
            was_limited: [false; 2],
            recover: None,
            next_send: Instant::ZERO,
            last_send: Instant::ZERO,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
        }
    }

    /// Begins a new measurement: counts from now on.
    pub fn reset_statistics(&mut self) {
        self.delivered = Bytes::ZERO;
        self.max_queue = Bytes::ZERO;
        self.queue_sum = 0;
        self.sent = 0;
        self.drops = 0;
        self.timeouts = 0;
        self.rounds.clear();
        self.log.0.clear();
    }

    pub fn mean_queue(&self) -> Bytes {
        Bytes::new(u64::try_from(self.queue_sum / u128::from(self.sent.max(1))).expect("small"))
    }

    /// Runs until `end`; returns the goodput over the time passed.
    pub fn run_until(&mut self, end: Instant) -> BitRate {
        let start = self.now;
        let before = self.delivered;
        while self.now < end {
            self.send_all();
            let ack = self.acks.front().map_or(Instant::MAX, |a| a.0);
            let send = if self.cwnd_allows() {
                self.next_send
            } else {
                Instant::MAX
            };
            let timeout = if self.acks.is_empty() && !self.in_flight.is_zero() {
                self.last_send + (self.srtt * 2).max(Duration::from_millis(200))
            } else {
                Instant::MAX
            };
            self.now = ack.min(send).min(timeout);
            assert!(self.now < Instant::MAX, "nothing happens any more");
            if self.now == ack {
                self.receive_ack();
            } else if self.now == timeout {
                self.time_out();
            }
        }
        BitRate::from_bytes_per(self.delivered - before, self.now - start)
    }

    fn cwnd_allows(&self) -> bool {
        self.in_flight.is_zero() || self.in_flight + MSS <= self.cc.cwnd()
    }

    fn send_all(&mut self) {
        while self.cwnd_allows() && self.next_send <= self.now {
            self.send();
        }
        self.was_limited[1] |= !self.cwnd_allows();
    }

    fn send(&mut self) {
        let packet = Sent {
            bytes: MSS,
            bytes_in_flight: self.in_flight,
            is_retransmission: false,
        };
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.log,
        };
        let stamp = self.cc.on_sent(&mut cx, &packet);
        if let Some(rate) = self.cc.pacing_rate() {
            self.next_send = self.now + MSS / rate;
        }
        self.outstanding.push_back(Packet {
            id: self.next_id,
            stamp,
            is_acked: false,
        });
        self.in_flight += MSS;
        self.last_send = self.now;
        self.transmit(self.next_id);
        self.next_id += 1;
    }

    fn transmit(&mut self, id: u64) {
        let backlog = self
            .path
            .rate
            .bytes_in(self.link_free.saturating_since(self.now));
        self.sent += 1;
        self.queue_sum += u128::from(backlog.get());
        self.max_queue = self.max_queue.max(backlog);
        if backlog + MSS > self.path.buffer + MSS || self.loss_rng.chance(self.path.loss) {
            self.drops += 1;
            return;
        }
        self.link_free = self.link_free.max(self.now) + MSS / self.path.rate;
        let arrival = self.link_free + self.path.base_rtt;
        let in_order = self.acks.back().map_or(arrival, |last| arrival.max(last.0));
        self.acks.push_back((in_order, id));
    }

    /// Losses: whatever was sent three packets before one that is acknowledged, and is not itself.
    fn receive_ack(&mut self) {
        let (_, id) = self.acks.pop_front().expect("due");
        let prior_in_flight = self.in_flight;
        let Some(position) = self.outstanding.iter().position(|p| p.id == id) else {
            return; // given up by a timeout
        };
        self.outstanding[position].is_acked = true;
        let stamp = self.outstanding[position].stamp;
        self.in_flight -= MSS;
        self.delivered += MSS;
        let newly_lost = self.collect(id);
        let rtt = self.now - stamp.sent_at;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt.is_zero() {
            rtt
        } else {
            (self.srtt * 7 + rtt) / 8
        };
        let is_round_start = id >= self.round_end;
        if is_round_start {
            self.round_end = self.next_id;
            self.was_limited = [self.was_limited[1], false];
            let (at, cwnd) = (self.now, self.cc.cwnd());
            self.rounds.push(RoundRecord {
                at,
                cwnd,
                is_recovering: self.recover.is_some(),
            });
        }
        let is_new_loss = !newly_lost.is_zero() && self.recover.is_none();
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.log,
        };
        // recovery ends when the outcome of all that was sent before it is known
        let known = self
            .outstanding
            .front()
            .map_or(self.next_id, |first| first.id);
        if self.recover.is_some_and(|last| known > last) {
            self.recover = None;
            self.cc
                .on_recovery_end(&mut cx, RecoveryEnd { is_spurious: false });
        }
        if is_new_loss {
            self.recover = Some(self.next_id - 1);
            let loss = LossSample {
                kind: LossKind::Fast,
                lost: newly_lost,
                bytes_in_flight: self.in_flight,
                lost_sent_at: stamp.sent_at,
            };
            self.cc.on_loss(&mut cx, &loss);
        }
        let ack = AckSample {
            newly_acked: MSS,
            newly_lost,
            bytes_in_flight: self.in_flight,
            prior_in_flight,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            stamp: Some(stamp),
            is_recovering: self.recover.is_some(),
            is_cwnd_limited: self.was_limited[0] || self.was_limited[1],
            is_round_start,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        };
        self.cc.on_ack(&mut cx, &ack);
    }

    /// Removes what is acknowledged or lost from the front; returns the newly lost.
    fn collect(&mut self, acked: u64) -> Bytes {
        let mut lost = Bytes::ZERO;
        while let Some(first) = self.outstanding.front() {
            if !first.is_acked {
                if first.id + 3 > acked {
                    break;
                }
                lost += MSS;
                self.in_flight -= MSS;
            }
            self.outstanding.pop_front();
        }
        lost
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        let loss = LossSample {
            kind: LossKind::Timeout,
            lost: self.in_flight,
            bytes_in_flight: Bytes::ZERO,
            lost_sent_at: self.last_send,
        };
        self.outstanding.clear();
        self.in_flight = Bytes::ZERO;
        self.recover = Some(self.next_id - 1);
        self.next_send = self.now;
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut self.log,
        };
        self.cc.on_loss(&mut cx, &loss);
    }
}

/// So many seconds after the start.
pub fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}
