//! What is measured of a flow.

use super::Samples;
use super::bursts::Bursts;
use scenario::FlowResult;
use units::{BitRate, Bytes, Duration, Instant};

/// Steps that a packet may have waited at most, so that memory is bounded; what waited longer counts there.
const MAX_BACK: usize = 1 << 16;

/// Interarrival jitter of RFC 3550 6.4.1 and A.8, in nanoseconds.
#[derive(Debug, Default)]
struct InterarrivalJitter {
    /// Transit time of the packet before.
    transit: Option<Duration>,
    /// J.
    jitter_ns: f64,
}

impl InterarrivalJitter {
    /// J(i) = J(i-1) + (|D(i-1,i)| - J(i-1)) / 16; D is the difference of two transit times.
    fn on_packet(&mut self, transit: Duration) {
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.as_nanos().abs_diff(before.as_nanos()) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
    }
}

/// Records a flow.
#[derive(Debug)]
pub struct FlowMeter {
    start: Instant,
    delivered: Bytes,
    rtt: Samples,
    owd: Samples,
    segment_delay: Samples,
    load_time: Samples,
    jitter: InterarrivalJitter,
    bursts: Bursts,
    retransmits: u64,
    /// When all was delivered.
    completed: Option<Instant>,
    /// When a flow that cannot complete any more ended.
    ended: Option<Instant>,
    step: Step,
    /// When the last step ended, and how long it was.
    last_step: Option<(Instant, Duration)>,
}

/// What happened since the last step of the time series.
#[derive(Debug, Default)]
struct Step {
    delivered: Bytes,
    received: Bytes,
    received_earlier: Vec<Bytes>,
    rtt: Mean,
    owd: Mean,
}

/// The mean of a step's times.
#[derive(Debug, Default)]
struct Mean {
    sum_ns: u64,
    count: u64,
}

impl Mean {
    fn add(&mut self, time: Duration) {
        self.sum_ns = self.sum_ns.saturating_add(time.as_nanos());
        self.count += 1;
    }

    /// In ms; none of no times.
    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e6)
    }
}

/// A step of the time series.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTotals {
    /// Payload delivered in it, in order.
    pub delivered: Bytes,
    /// Payload that came to the receiver in it, the first time and in any order.
    pub received: Bytes,
    /// What came in the steps before, the last first, and was handed over in this one.
    pub received_earlier: Vec<Bytes>,
    /// Its mean round-trip time, ms.
    pub rtt_ms: Option<f64>,
    /// The mean one-way delay of its datagrams, ms.
    pub owd_ms: Option<f64>,
}

impl FlowMeter {
    /// A flow that begins at `start`.
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            delivered: Bytes::ZERO,
            rtt: Samples::default(),
            owd: Samples::default(),
            segment_delay: Samples::default(),
            load_time: Samples::default(),
            jitter: InterarrivalJitter::default(),
            bursts: Bursts::default(),
            retransmits: 0,
            completed: None,
            ended: None,
            step: Step::default(),
            last_step: None,
        }
    }

    /// Payload came to the receiver at `at`, now or before, the first time and whatever is missing before it.
    pub fn on_received(&mut self, bytes: Bytes, at: Instant) {
        let Some((ended, interval)) = self.last_step.filter(|(ended, _)| at <= *ended) else {
            self.step.received += bytes;
            return;
        };
        // a step holds its end, not its beginning
        let back = ended.saturating_since(at).as_nanos() / interval.as_nanos().max(1);
        let earlier = &mut self.step.received_earlier;
        let back = usize::try_from(back).unwrap_or(usize::MAX).min(MAX_BACK);
        if earlier.len() <= back {
            earlier.resize(back + 1, Bytes::ZERO);
        }
        earlier[back] += bytes;
    }

    /// Payload reached the receiving application `owd` after it had left the sending host.
    pub fn on_delivered(&mut self, bytes: Bytes, owd: Duration) {
        self.delivered += bytes;
        self.step.delivered += bytes;
        self.owd.record(owd);
    }

    /// A segment with payload arrived, `delay` after it had left the sending host.
    pub fn on_segment(&mut self, delay: Duration) {
        self.segment_delay.record(delay);
    }

    /// Datagram `number` of the flow, counted from 0, reached the receiver, to which it had come at `at`.
    pub fn on_datagram(&mut self, number: u64, bytes: Bytes, owd: Duration, at: Instant) {
        self.on_received(bytes, at);
        self.bursts.on_datagram(number);
        self.on_delivered(bytes, owd);
        self.step.owd.add(owd);
        self.jitter.on_packet(owd);
    }

    /// A round-trip time.
    pub fn on_rtt(&mut self, rtt: Duration) {
        self.rtt.record(rtt);
        self.step.rtt.add(rtt);
    }

    /// A page or transfer arrived whole.
    pub fn on_load_time(&mut self, time: Duration) {
        self.load_time.record(time);
    }

    /// Segments that a connection of the flow, now gone, sent again.
    pub fn add_retransmits(&mut self, segments: u64) {
        self.retransmits += segments;
    }

    /// All was delivered.
    pub fn complete(&mut self, now: Instant) {
        self.completed = Some(now);
        self.ended = Some(now);
    }

    /// Nothing more will come, though not all was delivered.
    pub fn end(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// True if nothing more will come.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Ends a step of the time series, `interval` after the last.
    pub fn take_step(&mut self, now: Instant, interval: Duration) -> StepTotals {
        let step = core::mem::take(&mut self.step);
        self.last_step = Some((now, interval));
        StepTotals {
            delivered: step.delivered,
            received: step.received,
            received_earlier: step.received_earlier,
            rtt_ms: step.rtt.get(),
            owd_ms: step.owd.get(),
        }
    }

    /// Payload arrived whose time of departure is unknown.
    pub fn on_payload(&mut self, bytes: Bytes) {
        self.delivered += bytes;
        self.step.delivered += bytes;
    }

    /// The result of a run that ended at `end`, in which the network dropped `lost` packets.
    pub fn finish(mut self, name: String, cc: String, end: Instant, lost: u64) -> FlowResult {
        let until = self.ended.unwrap_or(end);
        let active = until.saturating_since(self.start);
        let goodput = match active {
            Duration::ZERO => BitRate::ZERO,
            _ => BitRate::from_bytes_per(self.delivered, active),
        };
        FlowResult {
            name,
            cc,
            delivered: self.delivered,
            goodput,
            rtt: self.rtt.distribution(),
            owd: self.owd.distribution(),
            segment_delay: self.segment_delay.distribution(),
            completion: self.completed.map(|at| at.saturating_since(self.start)),
            load_time: self.load_time.distribution(),
            jitter_ms: self.jitter.jitter_ns / 1e6,
            retransmits: self.retransmits,
            lost,
            loss_bursts: self.bursts.finish(),
            loss_decisions: Vec::new(),
            application: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3550_6_4_1_interarrival_jitter() {
        let mut jitter = InterarrivalJitter::default();
        // transit 10, 12, 12, 8 ms: |D| = 2, 0, 4 ms
        for ms in [10, 12, 12, 8] {
            jitter.on_packet(Duration::from_millis(ms));
        }
        let first: f64 = 2.0 / 16.0;
        let second = first - first / 16.0;
        let third = second + (4.0 - second) / 16.0;
        assert!((jitter.jitter_ns / 1e6 - third).abs() < 1e-9);
    }

    #[test]
    fn goodput_is_over_the_time_until_completion() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut meter = FlowMeter::new(at(500));
        meter.on_delivered(Bytes::new(1_000_000), Duration::from_millis(20));
        meter.complete(at(1500));
        let result = meter.finish("bulk".into(), "cubic".into(), at(9000), 0);
        assert_eq!(result.goodput, BitRate::from_mbps(8));
        assert_eq!(result.completion, Some(Duration::from_secs(1)));
    }
}
