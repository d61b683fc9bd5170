//! The orders of all UEs: what accepted reports mean for their packets that are not split.

use edge::marker::{MarkerConfig, Order, Reporter};
use rapid::Unsplit;
use rnis::RadioReport;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// UEs with orders.
#[derive(Debug, Default)]
pub(super) struct Orders {
    ues: BTreeMap<IpAddr, Ue>,
    /// Those of the last report.
    batch: Vec<(IpAddr, Order)>,
    /// UEs of reports that got none, for as many have them as may.
    left_out: u64,
}

#[derive(Debug)]
struct Ue {
    reporter: Reporter,
    /// A report has named it last.
    named_at: Instant,
}

impl Orders {
    /// A report was accepted: orders of the UEs that it names, of which no more than `max_ues` have any. `unsplit`: what
    /// the radio of a UE carries.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        report: &RadioReport,
        (config, max_ues): (&MarkerConfig, usize),
        unsplit: impl Fn(IpAddr) -> Option<Unsplit>,
    ) -> &[(IpAddr, Order)] {
        self.batch.clear();
        for address in report.ues.iter().filter_map(|ue| ue.ip) {
            let address = address.to_canonical();
            if self.ues.len() >= max_ues && !self.ues.contains_key(&address) {
                self.left_out += 1;
                continue;
            }
            let Some(unsplit) = unsplit(address) else {
                continue;
            };
            let ue = self.ues.entry(address).or_insert_with(|| Ue {
                reporter: Reporter::default(),
                named_at: now,
            });
            ue.named_at = now;
            let order = ue.reporter.order(now, &unsplit, config);
            self.batch.push((address, order));
        }
        &self.batch
    }

    /// Takes out the UEs that no report has named for so long.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) -> Vec<IpAddr> {
        let is_gone = |ue: &Ue| now.saturating_since(ue.named_at) > after;
        let gone = self.ues.extract_if(.., |_, ue| is_gone(ue));
        gone.map(|(address, _)| address).collect()
    }

    /// Takes out all.
    pub(super) fn clear(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.ues).into_keys().collect()
    }

    /// UEs of reports that got no order, for as many have one as may.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// UEs that have orders.
    pub(super) fn ues(&self) -> impl Iterator<Item = IpAddr> {
        self.ues.keys().copied()
    }

    /// How many UEs have orders.
    pub(super) fn len(&self) -> usize {
        self.ues.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::{CellId, CellReport, LinkQuality, Rnti, UeReport};
    use units::{BitRate, Bytes, Prb};

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn address(last: u8) -> IpAddr {
        [10, 45, 0, last].into()
    }

    fn report(ues: &[u8], at: Instant) -> RadioReport {
        let ue = |last: &u8| UeReport {
            ip: Some(address(*last)),
            ..UeReport::idle(
                Rnti((*last).into()),
                LinkQuality::Measured {
                    full_band_millibytes: 1_000_000,
                },
                at,
            )
        };
        RadioReport {
            cell: CellReport::fdd(CellId(1), Prb::new(100)),
            ues: ues.iter().map(ue).collect(),
        }
    }

    fn carried(at: Instant) -> Unsplit {
        Unsplit {
            capacity: BitRate::from_mbps(8),
            share: BitRate::from_mbps(8),
            is_contested: false,
            queue: Bytes::new(3_000),
            reported_at: at,
            own_wait: Duration::ZERO,
            is_by_chance: false,
        }
    }

    fn ordered(orders: &mut Orders, at: Instant, ues: &[u8]) -> Vec<(IpAddr, Order)> {
        let config = MarkerConfig::default();
        let batch = orders.on_report(at, &report(ues, at), (&config, 3), |_| Some(carried(at)));
        batch.to_vec()
    }

    #[test]
    fn each_ue_of_a_report_has_an_order_that_counts_up() {
        let mut orders = Orders::default();
        let first = ordered(&mut orders, ms(200), &[1, 2]);
        assert_eq!(
            first.iter().map(|(ue, _)| *ue).collect::<Vec<_>>(),
            [1, 2].map(address)
        );
        let second = ordered(&mut orders, ms(201), &[2]);
        let [(ue, order)] = second[..] else {
            panic!("{second:?}");
        };
        assert_eq!((ue, order.number, order.queue), (address(2), 2, 3_000));
        // the time of the report, and its age at the most
        assert_eq!(order.valid_until, 301_000_000);
        assert_eq!(orders.len(), 2);
    }

    #[test]
    fn a_ue_of_which_the_machine_has_nothing_gets_no_order() {
        let mut orders = Orders::default();
        let config = MarkerConfig::default();
        let of = |ue| (ue != address(1)).then(|| carried(ms(5)));
        let batch = orders.on_report(ms(5), &report(&[1, 2], ms(5)), (&config, 9), of);
        assert_eq!(batch.len(), 1);
        assert_eq!(batch[0].0, address(2));
        assert_eq!(orders.len(), 1);
    }

    #[test]
    fn ues_beyond_the_bound_are_left_out_and_those_that_have_orders_keep_them() {
        let mut orders = Orders::default();
        ordered(&mut orders, ms(5), &[1, 2, 3]);
        let next = ordered(&mut orders, ms(6), &[3, 4]);
        assert_eq!(next.len(), 1);
        assert_eq!((next[0].0, next[0].1.number), (address(3), 2));
        assert_eq!(orders.left_out(), 1);
    }

    #[test]
    fn a_ue_that_no_report_names_is_gone() {
        let mut orders = Orders::default();
        ordered(&mut orders, ms(5), &[1, 2]);
        ordered(&mut orders, ms(900), &[2]);
        let second = Duration::from_secs(1);
        assert!(orders.expire(ms(1_005), second).is_empty());
        assert_eq!(orders.expire(ms(1_006), second), [address(1)]);
        assert_eq!(orders.clear(), [address(2)]);
        assert_eq!(orders.len(), 0);
        assert_eq!(
            ordered(&mut orders, ms(2_000), &[1])[0].1.number,
            1,
            "begins anew"
        );
    }
}
