//! A flow's part of a step of the time series: in both worlds the same values, in the same order.

use super::{FlowMeter, QueueMeter, SeriesSet};
use cc::{RateReport, RateView};
use scenario::Metric;
use units::{BitRate, Bytes, Duration, Instant};

/// What a step has of a flow beside what has arrived of it; each value where it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowStep {
    /// Of the sender of its data.
    pub sender: Option<SenderStep>,
    /// What its client measures of its bandwidth.
    pub report: Option<RateReport>,
    /// What the sender makes of reports and delays.
    pub view: Option<RateView>,
}

/// What a sender reckons with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderStep {
    /// Payload in flight.
    pub bytes_in_flight: Bytes,
    /// Congestion window.
    pub cwnd: Bytes,
    /// The window that its peer shows, if it shows one.
    pub peer_window: Option<Bytes>,
}

impl FlowStep {
    /// Writes the step of a flow, `interval` after the last, and ends it at its meter.
    pub fn push(
        &self,
        now: Instant,
        interval: Duration,
        (name, meter): (&str, &mut FlowMeter),
        series: &mut SeriesSet,
    ) {
        let step = meter.take_step(now, interval);
        let rate = |bytes| BitRate::from_bytes_per(bytes, interval).as_bps() as f64;
        series.push(name, Metric::Goodput, now, rate(step.delivered));
        let earlier: Vec<f64> = step.received_earlier.into_iter().map(rate).collect();
        let of = (name, Metric::Received);
        series.push_late(of, now, rate(step.received), &earlier);
        if let Some(rtt) = step.rtt_ms {
            series.push(name, Metric::Rtt, now, rtt);
        }
        if let Some(owd) = step.owd_ms {
            series.push(name, Metric::Owd, now, owd);
        }
        if let Some(sender) = self.sender {
            let mut push =
                |metric, bytes: Bytes| series.push(name, metric, now, bytes.get() as f64);
            push(Metric::BytesInFlight, sender.bytes_in_flight);
            push(Metric::Cwnd, sender.cwnd);
            if let Some(peer_window) = sender.peer_window {
                push(Metric::ReceiveWindow, peer_window);
            }
        }
        if let Some(report) = self.report {
            let rate = report.rate().as_bps() as f64;
            series.push(name, Metric::Report, now, rate);
        }
        if let Some(view) = self.view {
            series.push(name, Metric::Gain, now, view.gain);
            series.push(name, Metric::SeenDelay, now, view.delay_ms);
            series.push(name, Metric::MinDelay, now, view.least_delay_ms);
        }
    }
}

impl QueueMeter {
    /// Writes what is in the queue.
    pub fn push(&self, now: Instant, series: &mut SeriesSet) {
        let bytes = self.bytes().get() as f64;
        series.push(self.name(), Metric::QueueBytes, now, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_what_arrived_in_it_and_what_is_known() {
        let second = Duration::from_secs(1);
        let at = |n: u64| Instant::ZERO + second * n;
        let mut meter = FlowMeter::new(Instant::ZERO);
        let mut series = SeriesSet::default();
        meter.on_payload(Bytes::new(1_000_000));
        meter.on_received(Bytes::new(250_000), at(1));
        let nothing = FlowStep::default();
        nothing.push(at(1), second, ("a", &mut meter), &mut series);
        let sender = SenderStep {
            bytes_in_flight: Bytes::new(3_000),
            cwnd: Bytes::new(4_000),
            peer_window: Some(Bytes::new(5_000)),
        };
        let step = FlowStep {
            sender: Some(sender),
            ..FlowStep::default()
        };
        // of which one came in the step before, in which another was missing
        meter.on_received(Bytes::new(500_000), at(1));
        meter.on_received(Bytes::new(125_000), at(1) + second / 2);
        step.push(at(2), second, ("a", &mut meter), &mut series);
        let points = series.finish().into_iter().map(|s| (s.metric, s.points));
        let points: Vec<_> = points.collect();
        let expected = [
            (Metric::Goodput, vec![(at(1), 8e6), (at(2), 0.0)]),
            (Metric::Received, vec![(at(1), 6e6), (at(2), 1e6)]),
            (Metric::BytesInFlight, vec![(at(2), 3_000.0)]),
            (Metric::Cwnd, vec![(at(2), 4_000.0)]),
            (Metric::ReceiveWindow, vec![(at(2), 5_000.0)]),
        ];
        assert_eq!(points, expected);
    }

    #[test]
    fn datagrams_have_the_mean_of_their_one_way_delays_where_any_came() {
        let second = Duration::from_secs(1);
        let ms = Duration::from_millis;
        let mut meter = FlowMeter::new(Instant::ZERO);
        let mut series = SeriesSet::default();
        let arrivals = [&[(0, 30), (1, 50), (3, 70)][..], &[], &[(4, 20)]];
        let mut now = Instant::ZERO;
        for of_step in arrivals {
            now += second;
            for &(number, owd) in of_step {
                meter.on_datagram(number, Bytes::new(200), ms(owd), now);
            }
            FlowStep::default().push(now, second, ("call", &mut meter), &mut series);
        }
        // payload of a stream has a delay too, which is no datagram's
        meter.on_delivered(Bytes::new(200), ms(900));
        now += second;
        FlowStep::default().push(now, second, ("call", &mut meter), &mut series);
        let mut all = series.finish().into_iter();
        let owd = all.find(|s| s.metric == Metric::Owd).expect("written");
        let expected = [
            (Instant::ZERO + second, 50.0),
            (Instant::ZERO + second * 3, 20.0),
        ];
        assert_eq!(owd.points, expected);
        assert!(all.all(|s| s.metric != Metric::Rtt));
    }
}
