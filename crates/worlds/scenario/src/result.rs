//! What one run of an experiment gives, in either world.

mod application;
mod handover;

pub use application::{ApplicationResult, CallResult, Measure, PageResult, VideoResult};
use cc::meld::LossDecision;
pub use handover::HandoverResult;
use metric::Metric;
use units::{BitRate, Bytes, Duration, Instant};

/// One run.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// Its seed.
    pub seed: u64,
    /// The unit of variation that it belongs to with other repeats, such as a trace, by its number; none:
    /// it is one itself (filled in by the caller).
    pub unit: Option<usize>,
    /// Simulated (or real) time that passed.
    pub elapsed: Duration,
    /// Flows, in the experiment's order.
    pub flows: Vec<FlowResult>,
    /// Queues.
    pub queues: Vec<QueueResult>,
    /// The bottleneck.
    pub link: LinkResult,
    /// Time series.
    pub series: Vec<Series>,
    /// Events that the engine handled.
    pub events: u64,
    /// Packets that crossed a link, counted once each link.
    pub packet_hops: u64,
    /// Wall-clock time that the run took (filled in by the caller; cores have no clock).
    pub wall: core::time::Duration,
    /// How a run in real time kept time; none of the simulator.
    pub real_time: Option<RealTime>,
    /// What the tunnel did, if there was one; of all users together.
    pub tunnel: Option<TunnelResult>,
    /// What became of packets that are not split, where they are marked.
    pub unsplit: Option<edge::marker::Counts>,
    /// Handovers between cells that were begun, in the order of their commands.
    pub handovers: Vec<HandoverResult>,
}

impl RunResult {
    /// The repeats of one experiment over several traces, for each trace its own: a trace becomes the unit. Those of one
    /// trace are units themselves.
    pub fn joined(mut traces: Vec<Vec<Self>>) -> Vec<Self> {
        if traces.len() > 1 {
            for (number, runs) in traces.iter_mut().enumerate() {
                runs.iter_mut().for_each(|run| run.unit = Some(number));
            }
        }
        traces.into_iter().flatten().collect()
    }

    /// The unit of each of several runs, as numbers from 0: two that are alike belong together.
    pub fn units(runs: &[Self]) -> Vec<usize> {
        let mut units: Vec<usize> = Vec::with_capacity(runs.len());
        for (i, run) in runs.iter().enumerate() {
            let last = units.last().copied();
            let same = i > 0 && run.unit.is_some() && run.unit == runs[i - 1].unit;
            units.push(last.map_or(0, |last| if same { last } else { last + 1 }));
        }
        units
    }
}

/// How a run in real time kept time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RealTime {
    /// How late the cell's slots were run, ms.
    pub lateness: Distribution,
    /// Rates and sizes of the scenario were multiplied by this, 0 to 1: below 1, the machine is too
    /// slow for the whole.
    pub scale: f64,
    /// Packets that the kernel of a host did not take.
    pub refused: u64,
    /// What was run otherwise than the scenario specifies, one sentence each.
    pub notes: Vec<String>,
}

/// A measured distribution. Quantiles are within 0.2 % of the samples; mean, min and max are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Number of samples; with none, all else is zero and stands for "not measured".
    pub count: u64,
    /// Minimum, ms.
    pub min: f64,
    /// Mean, ms.
    pub mean: f64,
    /// Median, ms.
    pub p50: f64,
    /// 90th percentile, ms.
    pub p90: f64,
    /// 95th percentile, ms.
    pub p95: f64,
    /// 99th percentile, ms.
    pub p99: f64,
    /// Maximum, ms.
    pub max: f64,
    /// The distribution function at up to 200 points: (ms, share of samples at most that), rising.
    pub cdf: Vec<(f64, f64)>,
}

/// One flow.
#[derive(Clone, Debug, Default)]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// Its congestion control, or "udp".
    pub cc: String,
    /// Payload that reached the receiving application.
    pub delivered: Bytes,
    /// Payload delivered over the time from the flow's start to its completion (or the run's end).
    pub goodput: BitRate,
    /// End-to-end round-trip times, ms: from the data's first leaving the sending host to the
    /// arrival there of the acknowledgement (through a proxy: of that of its far side).
    pub rtt: Distribution,
    /// One-way delays of data from its leaving the sending host to the receiving host, ms.
    pub owd: Distribution,
    /// One-way delays of TCP segments through the network, ms: up to a segment's own arrival, where
    /// [`Self::owd`] waits for what precedes it. Without a proxy only.
    pub segment_delay: Distribution,
    /// From the flow's start until all was delivered, if it is finite and ended.
    pub completion: Option<Duration>,
    /// Load times of pages or short transfers, ms.
    pub load_time: Distribution,
    /// RFC 3550 6.4.1 interarrival jitter at the end, ms (UDP).
    pub jitter_ms: f64,
    /// Segments sent again by the sender (on both sides of a proxy).
    pub retransmits: u64,
    /// Packets of the flow that the network dropped.
    pub lost: u64,
    /// Packets lost in a row, of UDP.
    pub loss_bursts: Option<LossBursts>,
    /// What MELD decided of the flow's losses, and from what.
    pub loss_decisions: Vec<(Instant, LossDecision)>,
    /// What its application measured, of those that do.
    pub application: Option<ApplicationResult>,
}

/// Packets of a flow that were lost in a row, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossBursts {
    /// Packets up to the last that came.
    pub packets: u64,
    /// Packets lost among them.
    pub lost: u64,
    /// How many bursts of 1, 2, 3 ... packets there were; the last are those of
    /// [`Self::MAX_LENGTH`] or more.
    pub by_length: [u64; Self::MAX_LENGTH],
}

impl LossBursts {
    /// Bursts are distinguished up to this length.
    pub const MAX_LENGTH: usize = 10;

    /// One more burst of `length` packets.
    pub fn add(&mut self, length: u64) {
        let Some(above) = length.checked_sub(1) else {
            return;
        };
        self.lost += length;
        let index = usize::try_from(above).unwrap_or(usize::MAX);
        self.by_length[index.min(Self::MAX_LENGTH - 1)] += 1;
    }

    /// How many bursts there were.
    pub fn bursts(&self) -> u64 {
        self.by_length.iter().sum()
    }
}

/// What a tunnel did, towards the users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelResult {
    /// Its paths, in the experiment's order.
    pub paths: Vec<TunnelPathResult>,
    /// Packets that were delivered in turn without having been held.
    pub in_order: u64,
    /// Packets that were held for others, then delivered.
    pub held: u64,
    /// Packets of those that were released by a wait that ran out.
    pub timed_out: u64,
    /// Packets that were given up as lost.
    pub given_up: u64,
    /// Packets that came after they had been given up.
    pub late: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Packets that did not fit into the scheduler's buffer.
    pub refused: u64,
    /// Packets that CoDel dropped there.
    pub dropped: u64,
}

/// What a path of a tunnel did, towards the users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelPathResult {
    /// Its name.
    pub name: String,
    /// Bytes of packets inside that it has delivered.
    pub carried: Bytes,
    /// Packets inside that it has delivered.
    pub packets: u64,
    /// Packets that it lost, as its sender found.
    pub lost: u64,
    /// Packets sent again: by the tunnel, or by the TCP connection that carries the path.
    pub retransmits: u64,
}

/// One queue.
#[derive(Clone, Debug, Default)]
pub struct QueueResult {
    /// Its name, e.g. `"rlc/ue1/drb1"`, `"wan/down"`, `"pep/cubic"`.
    pub name: String,
    /// Mean over time, bytes.
    pub mean_bytes: f64,
    /// 99th percentile over time, bytes.
    pub p99_bytes: f64,
    /// Greatest, bytes.
    pub max_bytes: f64,
    /// Sojourn times, ms.
    pub sojourn: Distribution,
    /// Packets dropped.
    pub drops: u64,
}

/// The bottleneck.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkResult {
    /// What it carried of what it could have carried while any flow was active, 0 to 1.
    pub utilisation: f64,
    /// What it could have carried, on average over that time.
    pub capacity: BitRate,
}

/// A time series.
#[derive(Clone, Debug)]
pub struct Series {
    /// The flow, queue or UE that it belongs to.
    pub entity: String,
    /// What it shows.
    pub metric: Metric,
    /// Points, in time order.
    pub points: Vec<(Instant, f64)>,
}
