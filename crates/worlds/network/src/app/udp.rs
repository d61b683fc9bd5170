//! UDP applications: when datagrams leave, and how large they are.

use scenario::AppSpec;
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// When the next datagram follows.
#[derive(Clone, Debug)]
enum Interval {
    /// Datagram k leaves k payloads / rate after the start, so that rounding does not add up.
    Rate(BitRate),
    /// Always the same.
    Fixed(Duration),
    /// Normally distributed, cut at zero.
    Normal {
        mean: Duration,
        deviation: Duration,
        rng: Rng,
    },
}

/// The datagrams of a UDP application.
#[derive(Clone, Debug)]
pub struct Datagrams {
    payload: Bytes,
    interval: Interval,
    start: Instant,
    stop: Option<Instant>,
    /// Number of the next datagram.
    seq: u64,
    due: Option<Instant>,
}

impl Datagrams {
    /// The datagrams of an application; `None` for one over TCP, and for a call.
    pub fn new(app: &AppSpec, start: Instant, rng: Rng) -> Option<Self> {
        let (payload, interval, stop) = match *app {
            AppSpec::Cbr { rate, packet, stop } => (packet, Interval::Rate(rate), stop),
            AppSpec::Voip { packet, interval } => (packet, Interval::Fixed(interval), None),
            AppSpec::Gaming {
                packet,
                interval,
                deviation,
            } => (
                packet,
                Interval::Normal {
                    mean: interval,
                    deviation,
                    rng,
                },
                None,
            ),
            AppSpec::Bulk { .. }
            | AppSpec::Continuous
            | AppSpec::Web { .. }
            | AppSpec::Short { .. }
            | AppSpec::Ssh { .. }
            | AppSpec::Video(_)
            | AppSpec::Page(_)
            | AppSpec::Call(_) => return None,
        };
        let stop = stop.map(|after| start + after);
        Some(Self {
            payload,
            interval,
            start,
            stop,
            seq: 0,
            due: Some(start),
        })
    }

    /// Payload of each datagram.
    pub fn payload(&self) -> Bytes {
        self.payload
    }

    /// When the next datagram leaves, if one does.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due
            .filter(|&due| self.stop.is_none_or(|stop| due < stop))
    }

    /// True if no datagram is left.
    pub fn has_stopped(&self) -> bool {
        self.next_deadline().is_none()
    }

    /// The number of the datagram that leaves now, if one is due.
    pub fn send(&mut self, now: Instant) -> Option<u64> {
        let due = self.next_deadline().filter(|&due| due <= now)?;
        let seq = self.seq;
        self.seq += 1;
        self.due = match &mut self.interval {
            Interval::Rate(rate) => Some(self.start + self.payload * self.seq / *rate),
            Interval::Fixed(interval) => Some(due + *interval),
            Interval::Normal {
                mean,
                deviation,
                rng,
            } => {
                let seconds = mean.as_secs_f64() + deviation.as_secs_f64() * rng.normal();
                Some(due + Duration::from_secs_f64(seconds))
            }
        };
        Some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn all(app: &AppSpec, until: Duration) -> Vec<Instant> {
        let rng = Streams::new(5).stream("gaming");
        let mut datagrams = Datagrams::new(app, Instant::ZERO, rng).unwrap();
        let mut times = Vec::new();
        while let Some(now) = datagrams
            .next_deadline()
            .filter(|t| t.since_start() < until)
        {
            assert_eq!(datagrams.send(now), Some(times.len() as u64));
            times.push(now);
        }
        times
    }

    #[test]
    fn a_constant_rate_keeps_its_rate_and_stops() {
        // 1000 B at 3 Mbit/s: every 2.667 ms, which is no whole number of nanoseconds
        let app = AppSpec::Cbr {
            rate: BitRate::from_mbps(3),
            packet: Bytes::new(1000),
            stop: Some(Duration::from_secs(8)),
        };
        let times = all(&app, Duration::from_secs(100));
        assert_eq!(times.len(), 3000);
        assert_eq!(times[3].since_start(), Duration::from_millis(8));
        assert_eq!(times[2997].since_start(), Duration::from_millis(7992));
    }

    #[test]
    fn gaming_intervals_have_their_mean_and_deviation() {
        let app = AppSpec::Gaming {
            packet: Bytes::new(100),
            interval: Duration::from_millis(40),
            deviation: Duration::from_millis(5),
        };
        let times = all(&app, Duration::from_secs(1000));
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|w| (w[1] - w[0]).as_millis_f64())
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 40.0).abs() < 0.2 && (variance.sqrt() - 5.0).abs() < 0.2);
    }
}
