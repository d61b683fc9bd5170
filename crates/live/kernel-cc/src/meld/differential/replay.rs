//! Downloads in a closed loop over cells whose rate was recorded: what MELD decides is sent, what the cell
//! makes of it is reported and acknowledged.

use super::{Event, Kernel, Model, Native, Reason, Sequence, VARIANTS};
use cc::meld::{Acked, Config, Variant};
use cc::{AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, RadioState};
use cc::{RecoveryEnd, Sent};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use units::{Bytes, Duration, Instant, Rng, Streams};

const MSS: u64 = 1_448;
/// One way, without the queue.
const WAY: u64 = 20;
/// The base station's buffer, in packets.
const BUFFER: usize = 300;
/// Between reports, and until one arrives.
const PERIOD: u64 = 8;
const DELAY: u64 = 3;
/// How long a download lasts, in milliseconds.
const TIME: u64 = 20_000;

/// Packets that a cell carries in each millisecond.
struct Cell(Vec<u32>);

impl Cell {
    /// From a file of Mahimahi: the millisecond of each packet.
    fn mahimahi(text: &str) -> Self {
        let times = text.lines().map(|line| line.trim().parse().expect("ms"));
        let mut cell = Vec::new();
        for at in times.collect::<Vec<usize>>() {
            cell.resize(cell.len().max(at + 1), 0);
            cell[at] += 1;
        }
        Self(cell)
    }

    /// From packets in 10 ms, a line a second (the first line is their number).
    fn ticks(text: &str) -> Self {
        let mut cell = Vec::new();
        for line in text.lines().skip(1) {
            let packets: u32 = line.trim().parse().expect("packets");
            for ms in 0..1_000 {
                cell.push(packets * (ms % 10 + 1) / 10 - packets * (ms % 10) / 10);
            }
        }
        Self(cell)
    }
}

struct Packet {
    sent_at: u64,
    is_acked: bool,
}

struct Download {
    cell: Cell,
    sequence: Sequence,
    inner: Box<dyn CongestionControl>,
    rng: Rng,
    ms: u64,
    /// From number `first` on.
    packets: VecDeque<Packet>,
    first: u64,
    in_flight: u64,
    /// Last packet sent before the loss of the present episode was found.
    recover: Option<u64>,
    srtt: Duration,
    min_rtt: Duration,
    /// Packets before the cell's queue, with when they come there; in it; acknowledgements on their way.
    down: VecDeque<(u64, u64)>,
    queue: VecDeque<u64>,
    up: VecDeque<(u64, u64)>,
    /// Since the last report.
    served: u64,
    lost: u32,
    /// Reports on their way.
    reports: VecDeque<(u64, RadioState)>,
    is_fading: bool,
}

impl Download {
    fn new(cell: Cell, variant: Variant) -> Self {
        let config = BuildConfig {
            mss: Bytes::new(MSS),
            initial_window: Bytes::new(10 * MSS),
        };
        Self {
            cell,
            sequence: Sequence::new(Config::new(variant, Bytes::new(MSS))),
            inner: cc::build("newreno", config).expect("known"),
            rng: Streams::new(7).stream("meld-replay"),
            ms: 1_000,
            packets: VecDeque::new(),
            first: 0,
            in_flight: 0,
            recover: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            down: VecDeque::new(),
            queue: VecDeque::new(),
            up: VecDeque::new(),
            served: 0,
            lost: 0,
            reports: VecDeque::new(),
            is_fading: false,
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_millis(self.ms)
    }

    fn with_inner<T>(
        &mut self,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Ctx<'_>) -> T,
    ) -> T {
        let mut cx = Ctx {
            now: Instant::ZERO + Duration::from_millis(self.ms),
            rng: &mut self.rng,
            trace: &mut (),
        };
        call(&mut *self.inner, &mut cx)
    }

    fn step(&mut self) {
        self.ms += 1;
        while self.reports.front().is_some_and(|(at, _)| *at <= self.ms) {
            let (_, state) = self.reports.pop_front().expect("there is one");
            let now = self.now();
            self.sequence.push(now, Event::Report(state));
        }
        while self.up.front().is_some_and(|(at, _)| *at <= self.ms) {
            let (_, number) = self.up.pop_front().expect("there is one");
            self.acknowledge(number);
        }
        self.send();
        self.carry();
        if self.ms.is_multiple_of(PERIOD) {
            self.report();
        }
    }

    fn window(&self) -> u64 {
        self.sequence.core.window(self.inner.cwnd()).get()
    }

    fn send(&mut self) {
        while self.in_flight == 0 || self.in_flight + MSS <= self.window() {
            let sent = Sent {
                bytes: Bytes::new(MSS),
                bytes_in_flight: Bytes::new(self.in_flight),
                is_retransmission: false,
            };
            self.with_inner(|inner, cx| inner.on_sent(cx, &sent));
            let number = self.first + self.packets.len() as u64;
            self.packets.push_back(Packet {
                sent_at: self.ms,
                is_acked: false,
            });
            self.in_flight += MSS;
            // one in a thousand is lost on its way to the cell
            if !self.rng.chance(0.001) {
                self.down.push_back((self.ms + WAY, number));
            }
        }
    }

    /// What the cell carries in a slot, and loses.
    fn carry(&mut self) {
        while self.down.front().is_some_and(|(at, _)| *at <= self.ms) {
            let (_, number) = self.down.pop_front().expect("there is one");
            if self.queue.len() < BUFFER {
                self.queue.push_back(number);
            }
        }
        // fades of 10 ms on average, 2 % of the time
        let turn = if self.is_fading { 0.1 } else { 0.002 };
        self.is_fading ^= self.rng.chance(turn);
        let slot = (self.ms as usize) % self.cell.0.len();
        for _ in 0..self.cell.0[slot] {
            let Some(number) = self.queue.pop_front() else {
                break;
            };
            self.served += MSS;
            if self.is_fading && self.rng.chance(0.3) {
                self.lost += 1;
            } else {
                self.up.push_back((self.ms + WAY, number));
            }
        }
    }

    fn report(&mut self) {
        // for ten seconds losses are counted, for ten they are not
        let is_counted = (self.ms / 10_000).is_multiple_of(2);
        let state = RadioState {
            tbs: Bytes::new(if self.is_fading { 160 } else { 2_292 }),
            best_tbs: Bytes::new(2_292),
            harq_processes: 8,
            queue: Bytes::new(self.queue.len() as u64 * MSS),
            served: Bytes::new(core::mem::take(&mut self.served)),
            harq_retx: self.is_fading.into(),
            lost_packets: is_counted.then_some(self.lost),
            period: Duration::from_millis(PERIOD),
            slots: 8,
            seq: self.ms / PERIOD,
            made_at: self.now(),
        };
        self.lost = 0;
        // two in a hundred do not arrive
        if !self.rng.chance(0.02) {
            self.reports.push_back((self.ms + DELAY, state));
        }
    }

    fn acknowledge(&mut self, number: u64) {
        let Some(packet) = number
            .checked_sub(self.first)
            .and_then(|k| self.packets.get_mut(k as usize))
        else {
            return; // held for lost before
        };
        packet.is_acked = true;
        let rtt = Duration::from_millis(self.ms - packet.sent_at);
        let prior_in_flight = self.in_flight;
        self.in_flight -= MSS;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt.is_zero() {
            rtt
        } else {
            (self.srtt * 7 + rtt) / 8
        };
        let lost = self.find_lost(number);
        if self.recover.is_some_and(|last| self.first > last) {
            self.recover = None;
            let end = RecoveryEnd { is_spurious: false };
            self.with_inner(|inner, cx| inner.on_recovery_end(cx, end));
        }
        if let Some(loss) = lost
            && self.recover.is_none()
        {
            self.lose(&loss);
        }
        self.grow(Bytes::new(prior_in_flight), rtt);
    }

    /// Losses: what was sent three packets before one that is acknowledged, and is not itself.
    fn find_lost(&mut self, acked: u64) -> Option<LossSample> {
        let mut first_sent_at = None;
        let mut lost = 0;
        while let Some(front) = self.packets.front() {
            if !front.is_acked {
                if self.first + 3 > acked {
                    break;
                }
                lost += MSS;
                self.in_flight -= MSS;
                first_sent_at.get_or_insert(front.sent_at);
            }
            self.packets.pop_front();
            self.first += 1;
        }
        first_sent_at.map(|sent_at| LossSample {
            kind: LossKind::Fast,
            lost: Bytes::new(lost),
            bytes_in_flight: Bytes::new(self.in_flight),
            lost_sent_at: Instant::ZERO + Duration::from_millis(sent_at),
        })
    }

    fn lose(&mut self, loss: &LossSample) {
        let now = self.now();
        let outcome = self.sequence.push(now, Event::Loss(*loss));
        let (reason, _) = outcome.verdict.expect("of a loss");
        if reason.is_congestion() {
            self.recover = Some(self.first + self.packets.len() as u64);
            self.sequence.push(now, Event::Congestion);
            self.with_inner(|inner, cx| inner.on_loss(cx, loss));
        }
    }

    fn grow(&mut self, prior_in_flight: Bytes, rtt: Duration) {
        let (now, inner_cwnd) = (self.now(), self.inner.cwnd());
        let ssthresh = self.inner.ssthresh();
        let acked = Acked {
            newly_acked: Bytes::new(MSS),
            prior_in_flight,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            inner_cwnd,
            is_slow_start: ssthresh.is_some_and(|ssthresh| inner_cwnd < ssthresh),
        };
        let outcome = self.sequence.push(now, Event::Ack(acked));
        let ack = AckSample {
            newly_acked: acked.newly_acked,
            newly_lost: Bytes::ZERO,
            bytes_in_flight: Bytes::new(self.in_flight),
            prior_in_flight,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            stamp: None,
            is_recovering: self.recover.is_some(),
            is_cwnd_limited: !outcome.is_held,
            is_round_start: false,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        };
        self.with_inner(|inner, cx| inner.on_ack(cx, &ack));
    }
}

/// Downloads over the project's own cells, and over those that `BRIMFUL_TRACES` has.
fn compare_downloads(model: &mut dyn Model, test: &str) {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../traces");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path);
        text.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let recorded = std::env::var_os("BRIMFUL_TRACES").map(PathBuf::from);
    let mahimahi = recorded.map(|folder| folder.join("mahimahi"));
    let names = ["ATT-LTE-driving-2016.down", "Verizon-LTE-short.down"];
    let files: Vec<_> = match &mahimahi {
        Some(folder) => names.map(|name| folder.join(name)).to_vec(),
        None => Vec::new(),
    };
    if files.is_empty() || !files.iter().all(|file| file.exists()) {
        testing::skip(test, testing::Missing::Data("BRIMFUL_TRACES"));
    }
    let mut reasons = [0; Reason::ALL.len()];
    for variant in VARIANTS {
        let ours = ["train.txt", "pedestrian.txt"].map(|name| ours.join(name));
        let ours = ours.map(|path| (Cell::ticks(&read(path.clone())), path));
        let files = files.iter().filter(|file| file.exists());
        let recorded = files.map(|path| (Cell::mahimahi(&read(path.clone())), path.clone()));
        for (cell, path) in ours.into_iter().chain(recorded) {
            let what = path.display().to_string();
            let mut download = Download::new(cell, variant);
            for _ in 0..TIME {
                download.step();
            }
            let sequence = &download.sequence;
            assert!(sequence.events.len() > 2_000, "{what}");
            let is_steered = sequence.steered > 0 && sequence.held > 0;
            assert_eq!(is_steered, variant == Variant::Default, "{what}");
            sequence.compare(model, &what);
            for (sum, count) in reasons.iter_mut().zip(sequence.reasons) {
                *sum += count;
            }
        }
    }
    for reason in [
        Reason::GoodRadio,
        Reason::LostOnRadio,
        Reason::NotOnRadio,
        Reason::RepeatedOnRadio,
    ] {
        assert!(reasons[reason as usize] > 0, "{reason:?}: {reasons:?}");
    }
}

#[test]
fn downloads_over_recorded_cells_are_decided_the_same() {
    let test = "downloads_over_recorded_cells_are_decided_the_same";
    compare_downloads(
        &mut Native::compile(env!("CARGO_MANIFEST_DIR"), "meld_check", &[], "replay"),
        test,
    );
}

#[test]
fn downloads_over_recorded_cells_are_decided_the_same_in_the_kernel() {
    let test = "downloads_over_recorded_cells_are_decided_the_same_in_the_kernel";
    if let Some(mut kernel) = Kernel::load() {
        compare_downloads(&mut kernel, test);
    }
}
