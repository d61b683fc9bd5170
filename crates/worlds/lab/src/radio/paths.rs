//! What each path of a tunnel carries towards the user over time.

use crate::packet::{TCP, UDP};
use network::measure::SeriesSet;
use scenario::{Experiment, Metric};
use units::{BitRate, Bytes, Duration, Instant};

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;
/// Where the data offset is in a DCCP header (RFC 4340 section 5.1), in words of four bytes.
const DCCP_OFFSET: usize = 4;
/// Where it is in TCP's (RFC 9293 section 3.1), in the upper half of a byte.
const TCP_OFFSET: usize = 12;

/// What the paths have carried since the last step: packets inside with their headers, without those of the carrier,
/// as in the simulator. Of a path over TCP it is what the segments carry, with what frames the packets in them and
/// with what is sent again.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Name of each path among the entities, and bytes.
    paths: Vec<(String, Bytes)>,
}

impl Paths {
    /// Of an experiment's tunnel; without one there are none.
    pub(super) fn new(experiment: &Experiment) -> Self {
        let tunnels = experiment.tunnel.iter();
        let paths = tunnels.flat_map(|tunnel| &tunnel.paths);
        Self {
            paths: paths
                .map(|path| (format!("path/{}", path.name), Bytes::ZERO))
                .collect(),
        }
    }

    /// An IP packet has come through a path.
    pub(super) fn count(&mut self, path: usize, packet: &[u8]) {
        if let Some((_, carried)) = self.paths.get_mut(path) {
            *carried += Bytes::new(inside(packet).unwrap_or(0) as u64);
        }
    }

    /// Ends a step of this length. While nothing is carried there are no shares.
    pub(super) fn sample(&mut self, now: Instant, step: Duration, series: &mut SeriesSet) {
        let delivered = self.paths.iter().map(|(_, carried)| *carried);
        let all = delivered.fold(Bytes::ZERO, |all, bytes| all + bytes);
        for (name, carried) in &mut self.paths {
            let carried = core::mem::take(carried);
            let rate = BitRate::from_bytes_per(carried, step).as_bps() as f64;
            series.push(name, Metric::PathRate, now, rate);
            if !all.is_zero() {
                let share = carried.get() as f64 / all.get() as f64;
                series.record(name, Metric::PathShare, now, share);
            }
        }
    }
}

/// Bytes behind the headers of an IPv4 packet of DCCP in UDP, or of TCP; none if it is neither.
fn inside(packet: &[u8]) -> Option<usize> {
    let ip = 4 * usize::from(packet.first()? & 0x0f);
    let headers = match *packet.get(9)? {
        UDP => {
            let dccp = ip + UDP_HEADER;
            dccp + 4 * usize::from(*packet.get(dccp + DCCP_OFFSET)?)
        }
        TCP => ip + 4 * usize::from(*packet.get(ip + TCP_OFFSET)? >> 4),
        _ => return None,
    };
    packet.len().checked_sub(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Observer;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Debug, Default)]
    struct Shares(Arc<Mutex<Vec<(String, f64)>>>);

    impl Observer for Shares {
        fn sample(&mut self, entity: &str, metric: Metric, _: Instant, value: f64) {
            if metric == Metric::PathShare {
                let mut points = self.0.lock().expect("no panic");
                points.push((entity.to_owned(), value));
            }
        }
        fn step(&mut self, _: Instant) {}
    }

    /// An IPv4 packet of this protocol, the rest as given.
    fn packet(protocol: u8, header: &[u8], payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet.extend(header);
        packet.resize(packet.len() + payload, 0xaa);
        packet
    }

    /// DCCP in UDP with a header of this many words.
    fn dccp(words: u8, payload: usize) -> Vec<u8> {
        let mut header = vec![0; UDP_HEADER + 4 * usize::from(words)];
        header[UDP_HEADER + DCCP_OFFSET] = words;
        packet(UDP, &header, payload)
    }

    #[test]
    fn headers_of_the_carrier_do_not_count() {
        assert_eq!(inside(&dccp(8, 1_400)), Some(1_400));
        // an acknowledgement alone
        assert_eq!(inside(&dccp(6, 0)), Some(0));
        let mut tcp = vec![0; 32];
        tcp[TCP_OFFSET] = 8 << 4;
        assert_eq!(inside(&packet(TCP, &tcp, 1_448)), Some(1_448));
    }

    #[test]
    fn what_is_no_carrier_or_too_short_carries_nothing() {
        for broken in [
            vec![],
            vec![0x45],
            packet(UDP, &[0; 10], 0),
            packet(TCP, &[0; 12], 0),
            packet(1, &[0; 40], 100),
            // a header that is longer than the packet
            dccp(8, 0)[..40].to_vec(),
        ] {
            assert_eq!(inside(&broken), None, "{broken:?}");
        }
    }

    #[test]
    fn rates_and_shares_are_of_a_step_and_an_idle_one_has_no_shares() {
        let shares = Shares::default();
        let mut series = SeriesSet::default();
        series.observe(Some(Box::new(shares.clone())));
        let named = |name: &str| (name.to_owned(), Bytes::ZERO);
        let mut paths = Paths {
            paths: vec![named("path/a"), named("path/b")],
        };
        let taken = || core::mem::take(&mut *shares.0.lock().expect("no panic"));
        let step = Duration::from_millis(500);
        let mut now = Instant::ZERO;
        let mut end = |paths: &mut Paths| {
            now += step;
            series.begin_step();
            paths.sample(now, step, &mut series);
        };
        end(&mut paths);
        assert_eq!(taken(), []);
        for _ in 0..3 {
            paths.count(0, &dccp(8, 1_000));
        }
        paths.count(1, &dccp(8, 1_000));
        // there is no such path
        paths.count(2, &dccp(8, 1_000));
        end(&mut paths);
        let of = |name: &str, share| (name.to_owned(), share);
        assert_eq!(taken(), [of("path/a", 0.75), of("path/b", 0.25)]);
        let series = series.finish();
        let rates: Vec<(&str, Vec<f64>)> = series
            .iter()
            .map(|one| {
                assert_eq!(one.metric, Metric::PathRate);
                let points = one.points.iter().map(|(_, rate)| *rate);
                (one.entity.as_str(), points.collect())
            })
            .collect();
        assert_eq!(
            rates,
            [
                ("path/a", vec![0.0, 48_000.0]),
                ("path/b", vec![0.0, 16_000.0])
            ]
        );
    }
}
