//! Checks of a cell's configuration.

use crate::config::{
    BearerConfig, CellConfig, Rat, RlcMode, SchedulerKind, SubBands, UeConfig, UplinkLink,
    UplinkSource,
};
use queue::Capacity;
use rnis::McsTable;
use units::{Bytes, Duration, Mcs, Packets, Prb};

/// PRBs of LTE carriers (TS 36.101 Table 5.6-1).
const LTE_CARRIERS: [u16; 6] = [6, 15, 25, 50, 75, 100];
/// Maximum PRBs of an NR carrier (TS 38.101-1 Table 5.3.2-1: 273; TS 38.211: 275).
const NR_MAX_PRB: u16 = 275;
/// Maximum of any delay; more is a wrong unit.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Longest TDD pattern, slots: 160 make 10 ms at numerology 4.
const MAX_PATTERN: usize = 160;
/// Maximum bearers of a UE (TS 38.331 maxDRB).
const MAX_BEARERS: usize = 29;
/// Highest QFI (TS 38.415 5.5.3.3).
const MAX_QFI: u8 = 63;
/// RNTIs of UEs (TS 38.321 7.1).
const RNTIS: core::ops::RangeInclusive<u16> = 1..=65_519;

/// Why a cell cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value of the cell outside its range.
    #[error("cell: {field} is {value}; choose {allowed}")]
    Cell {
        /// The field's name.
        field: &'static str,
        /// What was given.
        value: String,
        /// What was allowed.
        allowed: String,
    },
    /// A value of a UE outside its range.
    #[error("UE with RNTI {rnti}: {field} is {value}; choose {allowed}")]
    Ue {
        /// The UE.
        rnti: u16,
        /// The field's name.
        field: &'static str,
        /// What was given.
        value: String,
        /// What was allowed.
        allowed: String,
    },
    /// A value of a bearer outside its range.
    #[error("UE with RNTI {rnti}, bearer {bearer}: {field} is {value}; choose {allowed}")]
    Bearer {
        /// The UE.
        rnti: u16,
        /// Number of the bearer in the UE's list, from 0.
        bearer: usize,
        /// The field's name.
        field: &'static str,
        /// What was given.
        value: String,
        /// What was allowed.
        allowed: String,
    },
    /// Queue management that cannot be.
    #[error("queue management: {0}")]
    Queue(#[source] queue::ConfigError),
    /// Two UEs of the same RNTI.
    #[error("two UEs have the RNTI {rnti}; give each its own")]
    SameRnti {
        /// The RNTI.
        rnti: u16,
    },
    /// No UE.
    #[error("the cell has no UE; add at least one")]
    NoUe,
    /// The tables of crate `radio` reject the parameters.
    #[error("cell: no transport block sizes or error curves: {reason}")]
    Radio {
        /// Their error.
        reason: String,
    },
}

impl CellConfig {
    /// Checks all ranges.
    ///
    /// # Errors
    /// Names the first field that cannot be, its value and what was allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_carrier()?;
        self.check_tdd()?;
        self.check_harq()?;
        self.check_delays()?;
        self.check_sub_bands()?;
        self.check_uplink()?;
        if let SchedulerKind::ProportionalFair { time_constant } = self.scheduler {
            let ok = !time_constant.is_zero();
            cell(
                ok,
                "scheduler time constant",
                time_constant,
                "more than 0 s",
            )?;
        }
        if let Some(rate) = self.n3_rate {
            cell(
                rate.as_bps() > 0,
                "N3 rate",
                rate,
                "more than 0 bit/s, or none",
            )?;
        }
        cell(
            self.n3_buffer.check().is_ok(),
            "N3 buffer",
            0,
            "more than 0",
        )?;
        Ok(())
    }

    fn check_carrier(&self) -> Result<(), ConfigError> {
        let is_lte_table = matches!(self.mcs_table, McsTable::LteQam64 | McsTable::LteQam256);
        let table = format!("{:?}", self.mcs_table);
        let n_prb = self.n_prb.get();
        match self.rat {
            Rat::Lte => {
                let ok = LTE_CARRIERS.contains(&n_prb);
                cell(
                    ok,
                    "number of PRBs",
                    n_prb,
                    "6, 15, 25, 50, 75 or 100 (LTE)",
                )?;
                cell(is_lte_table, "MCS table", table, "an LTE table with LTE")?;
                cell(self.layers == 1, "number of layers", self.layers, "1 (LTE)")
            }
            Rat::Nr { numerology } => {
                cell(numerology <= 4, "numerology", numerology, "0 to 4")?;
                let ok = (1..=NR_MAX_PRB).contains(&n_prb);
                cell(ok, "number of PRBs", n_prb, "1 to 275")?;
                cell(!is_lte_table, "MCS table", table, "an NR table with NR")?;
                cell(
                    (1..=8).contains(&self.layers),
                    "number of layers",
                    self.layers,
                    "1 to 8",
                )?;
                let re = self.data_re_per_prb;
                let ok = (1..=156).contains(&re);
                cell(ok, "data resource elements per PRB", re, "1 to 156")
            }
        }
    }

    fn check_tdd(&self) -> Result<(), ConfigError> {
        let pattern = self.tdd_pattern.as_str();
        if pattern.is_empty() {
            return Ok(());
        }
        let shown = format!("{pattern:?}");
        let field = "TDD pattern";
        cell(self.rat != Rat::Lte, field, &shown, "none: LTE is FDD here")?;
        let known = pattern.chars().all(|c| matches!(c, 'D' | 'U' | 'S'));
        cell(
            known,
            field,
            &shown,
            "letters D, S and U, for example \"DDDSU\"",
        )?;
        let ok = pattern.len() <= MAX_PATTERN;
        cell(ok, field, &shown, "at most 160 slots")?;
        let ok = pattern.contains(['D', 'S']) && pattern.contains('U');
        cell(ok, field, &shown, "at least one D or S slot and one U slot")
    }

    fn check_harq(&self) -> Result<(), ConfigError> {
        let harq = &self.harq;
        let processes = harq.processes;
        cell(
            (1..=32).contains(&processes),
            "HARQ processes",
            processes,
            "1 to 32",
        )?;
        let slots = harq.round_trip_slots;
        cell(
            (1..=1_000).contains(&slots),
            "HARQ round trip",
            slots,
            "1 to 1000 slots",
        )?;
        let max = harq.max_transmissions;
        cell(
            (1..=32).contains(&max),
            "HARQ transmissions",
            max,
            "1 to 32",
        )?;
        let p = self.harq_feedback_error;
        cell(
            (0.0..=1.0).contains(&p),
            "HARQ feedback error",
            p,
            "a probability, 0 to 1",
        )
    }

    fn check_delays(&self) -> Result<(), ConfigError> {
        let delays = [
            ("downlink processing", self.downlink_processing),
            ("receive processing", self.receive_processing),
            ("scheduling request period", self.uplink.sr_period),
            ("grant delay", self.uplink.grant_delay),
            ("grant inactivity", self.uplink.inactivity),
        ];
        for (field, delay) in delays {
            cell(delay <= MAX_DELAY, field, delay, "at most 10 s")?;
        }
        let (period, slot) = (self.uplink.sr_period, self.rat.slot_duration());
        let ok = period.is_zero() || period >= slot;
        let allowed = format!("0 s (configured grants) or at least a slot of {slot}");
        cell(ok, "scheduling request period", period, &allowed)
    }

    fn check_sub_bands(&self) -> Result<(), ConfigError> {
        let ok = self.sub_bands == SubBands::None || self.scheduler != SchedulerKind::RoundRobin;
        let allowed = "proportional fair or maximum rate where PRBs are dealt out by groups";
        cell(ok, "scheduler", self.scheduler.name(), allowed)
    }

    fn check_uplink(&self) -> Result<(), ConfigError> {
        let prb: Prb = self.uplink.n_prb;
        let max = if self.rat == Rat::Lte {
            100
        } else {
            NR_MAX_PRB
        };
        let allowed = format!("1 to {max}");
        let ok = (1..=max).contains(&prb.get());
        cell(ok, "number of uplink PRBs", prb, &allowed)?;
        let highest: Mcs = radio::max_mcs(self.mcs_table);
        let allowed = format!("0 to {highest}");
        cell(
            self.uplink.mcs <= highest,
            "uplink MCS",
            self.uplink.mcs,
            &allowed,
        )
    }
}

/// Checks the UEs of a cell.
pub(crate) fn ues(config: &CellConfig, ues: &[UeConfig]) -> Result<(), ConfigError> {
    if ues.is_empty() {
        return Err(ConfigError::NoUe);
    }
    let mut rntis: Vec<u16> = ues.iter().map(|ue| ue.rnti.0).collect();
    rntis.sort_unstable();
    if let Some(pair) = rntis.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ConfigError::SameRnti { rnti: pair[0] });
    }
    let link = config.uplink.link;
    ues.iter()
        .try_for_each(|ue| check_uplink_source(link, ue))?;
    ues.iter().try_for_each(check_ue)
}

/// That a UE's uplink follows what the cell's uplink link requires.
fn check_uplink_source(link: UplinkLink, ue: &UeConfig) -> Result<(), ConfigError> {
    let (value, allowed) = match (link, &ue.uplink) {
        (UplinkLink::FixedMcs, _)
        | (UplinkLink::PowerHeadroom | UplinkLink::Ns3, Some(UplinkSource::Sinr(_)))
        | (UplinkLink::Recorded, Some(UplinkSource::Recorded(_))) => return Ok(()),
        (UplinkLink::PowerHeadroom | UplinkLink::Ns3, None) => (
            "without a channel",
            "a channel, or uplink blocks of a fixed MCS",
        ),
        (UplinkLink::PowerHeadroom | UplinkLink::Ns3, Some(_)) => {
            ("what was recorded", "an SINR where there is a link budget")
        }
        (UplinkLink::Recorded, None) => (
            "without a recording",
            "one, or uplink blocks of a fixed MCS",
        ),
        (UplinkLink::Recorded, Some(_)) => ("an SINR", "what was recorded"),
    };
    Err(ConfigError::Ue {
        rnti: ue.rnti.0,
        field: "its uplink",
        value: value.to_owned(),
        allowed: allowed.to_owned(),
    })
}

fn check_ue(ue: &UeConfig) -> Result<(), ConfigError> {
    let rnti = ue.rnti.0;
    let fail = |field, value: usize, allowed: &str| ConfigError::Ue {
        rnti,
        field,
        value: value.to_string(),
        allowed: allowed.to_owned(),
    };
    if !RNTIS.contains(&rnti) {
        return Err(fail("the RNTI", rnti.into(), "1 to 65519"));
    }
    let n = ue.bearers.len();
    if !(1..=MAX_BEARERS).contains(&n) {
        return Err(fail("the number of bearers", n, "1 to 29"));
    }
    let mut taken = 0u64;
    for (bearer, config) in ue.bearers.iter().enumerate() {
        check_bearer(rnti, bearer, config)?;
        for &qfi in &config.qfis {
            if taken >> qfi & 1 == 1 {
                let allowed = "each QFI for one bearer only".to_owned();
                let value = format!("{qfi}, which another bearer has too");
                return Err(ConfigError::Bearer {
                    rnti,
                    bearer,
                    field: "QFI",
                    value,
                    allowed,
                });
            }
            taken |= 1 << qfi;
        }
    }
    Ok(())
}

fn check_bearer(rnti: u16, bearer: usize, config: &BearerConfig) -> Result<(), ConfigError> {
    let expect = |ok: bool, field, value: String, allowed: &str| {
        if ok {
            return Ok(());
        }
        Err(ConfigError::Bearer {
            rnti,
            bearer,
            field,
            value,
            allowed: allowed.to_owned(),
        })
    };
    if let Some(qfi) = config.qfis.iter().find(|&&qfi| qfi > MAX_QFI) {
        expect(false, "QFI", qfi.to_string(), "0 to 63")?;
    }
    for (field, capacity) in [
        ("downlink buffer", config.downlink_buffer),
        ("uplink buffer", config.uplink_buffer),
    ] {
        let empty = matches!(
            capacity,
            Capacity::Bytes(Bytes::ZERO) | Capacity::Packets(Packets::ZERO)
        );
        expect(
            !empty,
            field,
            "0".to_owned(),
            "room for at least one packet",
        )?;
    }
    expect(
        (0.0..=1.0).contains(&config.loss),
        "loss",
        config.loss.to_string(),
        "a probability, 0 to 1",
    )?;
    let timer = |field, t: Duration| {
        let ok = !t.is_zero() && t <= MAX_DELAY;
        expect(ok, field, t.to_string(), "more than 0 s, at most 10 s")
    };
    match &config.rlc {
        RlcMode::Um { t_reassembly } => timer("t-Reassembly", *t_reassembly),
        RlcMode::Am(am) => {
            timer("t-PollRetransmit", am.t_poll_retransmit)?;
            timer("t-Reassembly", am.t_reassembly)?;
            let t = am.t_status_prohibit;
            expect(
                t <= MAX_DELAY,
                "t-StatusProhibit",
                t.to_string(),
                "at most 10 s",
            )?;
            expect(
                am.poll_pdu > 0,
                "pollPDU",
                am.poll_pdu.to_string(),
                "at least 1",
            )?;
            expect(
                am.max_retx > 0,
                "maxRetxThreshold",
                am.max_retx.to_string(),
                "at least 1",
            )
        }
    }
}

fn cell(
    ok: bool,
    field: &'static str,
    value: impl core::fmt::Display,
    allowed: &str,
) -> Result<(), ConfigError> {
    if ok {
        return Ok(());
    }
    let (value, allowed) = (value.to_string(), allowed.to_owned());
    Err(ConfigError::Cell {
        field,
        value,
        allowed,
    })
}
