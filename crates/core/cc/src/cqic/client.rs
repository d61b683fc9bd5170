//! The client of CQIC: a bandwidth out of CQI, PRBs and block errors.
//!
//! Source: see [`super`]. CQIC translates the channel quality (CQI in HSPA+, CQI and DCI in LTE) into the
//! transport block that a slot carries, and multiplies by the share of slots in which the UE is
//! scheduled. Rates in bytes a second, amounts in bytes, times in microseconds, whole numbers;
//! divisions round down.
//!
//! | what | here |
//! | --- | --- |
//! | PRBs that the UE can have: its own and idle ones, or an equal share | `attainable_prb` |
//! | part of the blocks that HARQ sends again | `block_errors` |
//! | MAC rate: TBS(CQI, PRBs) a slot, less block errors | `mac_rate` |
//!
//! What the paper of CDBE reports of it holds here: the rate contains the overhead of MAC, RLC and PDCP, and
//! takes no account of RLC retransmissions (section V-B); the first report is CQI times all that the
//! cell has free, however much other UEs that begin at the same time will take (more than CDBE's
//! 1 MB/s); the averaging window has a constant length (section III-A-1).
//!
//! *Deviations*, for the texts of 2015 and 2018 do not state it, or not for this
//! - The share of scheduled slots and the PRBs in a slot are one quantity: PRBs a slot, mean over the
//!   window.
//! - A UE with little to receive is given little. ns-3, in which the authors measured, gives whole
//!   resource block groups to any UE that has data, so that blocks show the capacity; here, as in real
//!   base stations, blocks are as large as is needed. So idle PRBs of the cell count as the UE's (RAPID,
//!   equation 2), and a UE counts for no less than an equal share among those that were given any. A
//!   modem learns both from the downlink control channel.
//! - The window is 100 ms ([`Config::window`]); no text names one.
//! - Block errors are those of first transmissions, found as the part of the PRBs' capacity that
//!   carried no new block; at most a half. Whether CQIC subtracts them is not stated either: the paper of CDBE has it
//!   that its estimate leaves retransmissions out; [`Config::subtracts_errors`] is both readings.

use crate::{Arrival, RateReport, RateReporter, Reporter};
use rnis::{LinkQuality, RadioReport, UeReport};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Prb};

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
/// Block errors are counted in thousandths; more than this many are not accepted.
const MAX_ERRORS: u64 = 500;
/// Most reports in a window, however short their periods are.
const MAX_PERIODS: usize = 256;

/// How a client computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The report before the modem has reported anything.
    pub initial_report: RateReport,
    /// Time over which PRBs and block errors are averaged; > 0.
    pub window: Duration,
    /// Whether what HARQ sends again is subtracted. Without it the rate is what the scheduled blocks could carry if
    /// each got through.
    pub subtracts_errors: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_report: RateReport::new(crate::cdbe::INITIAL_REPORT),
            window: Duration::from_millis(100),
            subtracts_errors: true,
        }
    }
}

/// What the modem reported of one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// Downlink slots.
    pub slots: u64,
    /// Its length, us.
    pub time: u64,
    /// PRBs given to the UE, mean per slot.
    pub own_prb: u64,
    /// PRBs not assigned, mean per slot.
    pub idle_prb: u64,
    /// PRBs that background load left to UEs, mean per slot.
    pub open_prb: u64,
    /// UEs that were given any, this one counted in any case.
    pub users: u64,
    /// What [`Self::own_prb`] could carry in a slot, bytes.
    pub own_bytes: u64,
    /// New blocks, bytes.
    pub new_bytes: u64,
}

impl Period {
    /// Of a report. The slots that it covers are downlink slots.
    pub fn of(report: &RadioReport, ue: &UeReport) -> Self {
        let cell = &report.cell;
        let slots = u64::from(cell.slots);
        let others = |other: &&UeReport| other.rnti != ue.rnti && other.prb_dl > Prb::new(0);
        let open = cell.n_prb.get().saturating_sub(cell.prb_background.get());
        let slots_time = slots.saturating_mul(cell.slot_duration.as_micros());
        Self {
            slots,
            time: slots_time.saturating_mul(1_000) / downlink_share(report),
            own_prb: ue.prb_dl.get().into(),
            idle_prb: report.unused_prb().get().into(),
            open_prb: open.into(),
            users: 1 + report.ues.iter().filter(others).count() as u64,
            own_bytes: carried(ue.quality, ue.prb_dl, cell.n_prb),
            new_bytes: ue.tbs_bytes.get(),
        }
    }
}

/// Thousandths of the slots that carry downlink, at least one.
fn downlink_share(report: &RadioReport) -> u64 {
    ((report.cell.downlink_share * 1_000.0).round() as u64).clamp(1, 1_000)
}

/// Bytes of a grant; a quality outside its table carries nothing.
fn carried(quality: LinkQuality, prb: Prb, n_prb: Prb) -> u64 {
    radio::transport_block_bytes(quality, prb, n_prb).map_or(0, Bytes::get)
}

/// PRBs a slot that the UE can have: what it was given and what is not assigned, and no less than an equal
/// share among the UEs of the period with the most of them.
pub fn attainable_prb<'a>(periods: impl Iterator<Item = &'a Period> + Clone) -> u64 {
    let slots = total(periods.clone().map(|p| p.slots)).max(1);
    let had = total(periods.clone().map(|p| (p.own_prb + p.idle_prb) * p.slots));
    let open = total(periods.clone().map(|p| p.open_prb * p.slots));
    let users = periods.map(|p| p.users).max().unwrap_or(1).max(1);
    (had / slots).max(open / slots / users)
}

/// Thousandths of what the UE's PRBs could carry that carried no new block: what HARQ sent again.
pub fn block_errors<'a>(periods: impl Iterator<Item = &'a Period> + Clone) -> u64 {
    let capacity = total(periods.clone().map(|p| p.own_bytes.saturating_mul(p.slots)));
    let new = total(periods.map(|p| p.new_bytes));
    let again = capacity.saturating_sub(new);
    (again.saturating_mul(1_000) / capacity.max(1)).min(MAX_ERRORS)
}

/// Bytes a second of blocks of `tbs` bytes in each of `slots` in `time` us, less block errors.
pub fn mac_rate(tbs: u64, slots: u64, time: u64, errors: u64) -> u64 {
    let sent = tbs.saturating_mul(slots).saturating_mul(SECOND) / time.max(1);
    sent.saturating_mul(1_000 - errors.min(1_000)) / 1_000
}

/// A sum; what a modem makes up does not overflow it.
fn total(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::saturating_add)
}

/// The client of CQIC.
#[derive(Clone, Debug)]
pub struct Client {
    config: Config,
    /// Those of the window, the newest last.
    periods: VecDeque<Period>,
    /// Their length, us.
    time: u64,
    rate: RateReport,
}

impl Client {
    /// A client whose modem has reported nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            periods: VecDeque::new(),
            time: 0,
            rate: config.initial_report,
        }
    }

    /// Keeps a window's worth of periods, and one at least.
    fn push(&mut self, period: Period) {
        self.periods.push_back(period);
        self.time = self.time.saturating_add(period.time);
        while let Some(oldest) = self.periods.front()
            && self.periods.len() > 1
            && (self.time.saturating_sub(oldest.time) >= self.config.window.as_micros()
                || self.periods.len() > MAX_PERIODS)
        {
            self.time = self.time.saturating_sub(oldest.time);
            self.periods.pop_front();
        }
    }
}

impl RateReporter for Client {
    fn name(&self) -> &'static str {
        Reporter::Cqic.name()
    }

    fn on_data(&mut self, _arrival: &Arrival) {}

    fn on_radio(&mut self, _now: Instant, report: &RadioReport, ue: &UeReport) {
        if report.check().is_err() {
            return;
        }
        let period = Period::of(report, ue);
        self.push(period);
        let n_prb = report.cell.n_prb;
        let prb = attainable_prb(self.periods.iter());
        let prb = Prb::new(u16::try_from(prb).unwrap_or(u16::MAX)).min(n_prb);
        let errors = match self.config.subtracts_errors {
            true => block_errors(self.periods.iter()),
            false => 0,
        };
        let tbs = carried(ue.quality, prb, n_prb);
        self.rate = RateReport::saturating(mac_rate(tbs, period.slots, period.time, errors));
    }

    fn rate(&self) -> RateReport {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::{CellId, CellReport, McsTable, Rnti};
    use units::{Mcs, Slot};

    /// LTE, 100 PRBs, MCS 28: 9,422 bytes a slot (TS 36.213 table 7.1.7.2.1-1, I_TBS 26: 75,376 bits).
    fn report(prbs: &[u16], tbs_bytes: u64) -> RadioReport {
        let ue = |(index, &prb): (usize, &u16)| UeReport {
            prb_dl: Prb::new(prb),
            tbs_bytes: Bytes::new(tbs_bytes),
            ..UeReport::idle(
                Rnti(index as u16 + 1),
                LinkQuality::Mcs {
                    mcs: Mcs::new(28),
                    table: McsTable::LteQam64,
                    layers: 1,
                    data_re_per_prb: 0,
                },
                Instant::ZERO,
            )
        };
        RadioReport {
            cell: CellReport {
                slot: Slot::new(10),
                slots: 10,
                ..CellReport::fdd(CellId(1), Prb::new(100))
            },
            ues: prbs.iter().enumerate().map(ue).collect(),
        }
    }

    fn rate_of(client: &mut Client, report: &RadioReport) -> u32 {
        client.on_radio(Instant::ZERO, report, &report.ues[0]);
        client.rate().bytes_per_second()
    }

    #[test]
    fn the_first_report_is_the_whole_cell_at_the_cqi() {
        let mut client = Client::new(Config::default());
        assert_eq!(client.rate(), RateReport::new(1_000_000));
        assert_eq!(rate_of(&mut client, &report(&[0, 0, 0], 0)), 9_422_000);
    }

    #[test]
    fn in_a_full_cell_the_rate_is_that_of_its_own_prbs() {
        let mut client = Client::new(Config::default());
        // 20 PRBs, I_TBS 26: 14,688 bits (1,836 bytes); nothing sent again
        let full = report(&[20, 20, 20, 20, 20], 18_360);
        assert_eq!(rate_of(&mut client, &full), 1_836_000);
    }

    #[test]
    fn idle_prbs_count_as_the_ues() {
        let mut client = Client::new(Config::default());
        let alone = report(&[20], 18_360);
        assert_eq!(rate_of(&mut client, &alone), 9_422_000);
        let mut client = Client::new(Config::default());
        let beside = report(&[20, 40], 18_360);
        // 20 of its own and 40 idle; an equal share were 50
        let sixty = carried(beside.ues[0].quality, Prb::new(60), Prb::new(100));
        assert_eq!(u64::from(rate_of(&mut client, &beside)), sixty * 1_000);
    }

    #[test]
    fn background_load_is_no_share_of_a_ue() {
        let mut busy = report(&[0], 0);
        busy.cell.prb_background = Prb::new(40);
        let sixty = carried(busy.ues[0].quality, Prb::new(60), Prb::new(100));
        let mut client = Client::new(Config::default());
        assert_eq!(u64::from(rate_of(&mut client, &busy)), sixty * 1_000);
    }

    #[test]
    fn a_ue_with_little_to_receive_counts_for_an_equal_share() {
        let mut client = Client::new(Config::default());
        let small = report(&[1, 49, 50], 0);
        let third = carried(small.ues[0].quality, Prb::new(33), Prb::new(100));
        // nothing of its PRB carried a new block: half is the most that is accepted
        assert_eq!(u64::from(rate_of(&mut client, &small)), third * 1_000 / 2);
        let mut client = Client::new(Config {
            subtracts_errors: false,
            ..Config::default()
        });
        assert_eq!(u64::from(rate_of(&mut client, &small)), third * 1_000);
    }

    #[test]
    fn blocks_sent_again_are_no_bandwidth() {
        let period = Period {
            slots: 10,
            own_bytes: 1_000,
            new_bytes: 9_000,
            ..Period::default()
        };
        assert_eq!(block_errors([period].iter()), 100);
        let more = Period {
            new_bytes: 20_000,
            ..period
        };
        assert_eq!(
            block_errors([more].iter()),
            0,
            "more than the last quality carries"
        );
        assert_eq!(block_errors([].iter()), 0);
        assert_eq!(mac_rate(1_000, 10, 10_000, 100), 900_000);
    }

    #[test]
    fn a_duplex_in_time_has_fewer_slots() {
        let mut tdd = report(&[0], 0);
        tdd.cell.downlink_share = 0.74;
        let mut client = Client::new(Config::default());
        let share = f64::from(rate_of(&mut client, &tdd)) / 9_422_000.0;
        assert!((0.739..=0.7401).contains(&share), "{share}");
    }

    #[test]
    fn the_window_expires() {
        let mut client = Client::new(Config::default());
        for _ in 0..50 {
            rate_of(&mut client, &report(&[0], 0));
        }
        assert_eq!((client.periods.len(), client.time), (10, 100_000));
        let full = report(&[20, 20, 20, 20, 20], 18_360);
        for _ in 0..9 {
            assert!(rate_of(&mut client, &full) > 1_836_000);
        }
        assert_eq!(rate_of(&mut client, &full), 1_836_000);
    }

    #[test]
    fn a_report_that_cannot_be_true_changes_nothing() {
        let mut client = Client::new(Config::default());
        let mut bad = report(&[0], 0);
        bad.cell.slots = 0;
        assert_eq!(rate_of(&mut client, &bad), 1_000_000);
        let mut bad = report(&[0], 0);
        bad.ues[0].quality = LinkQuality::Measured {
            full_band_millibytes: u64::MAX,
        };
        rate_of(&mut client, &bad);
    }
}
