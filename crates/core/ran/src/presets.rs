//! Sane 3GPP defaults.

use crate::config::{
    BearerConfig, CellConfig, Combining, Grants, HarqConfig, Rat, RlcAmConfig, RlcMode,
    SchedulerKind, SubBands, UplinkConfig, UplinkLink,
};
use queue::{Capacity, DisciplineConfig};
use radio::BlerFamily;
use rnis::{CellId, McsTable};
use units::{Bytes, Duration, Mcs, Prb};

impl CellConfig {
    /// An LTE FDD carrier of `n_prb` PRBs (6, 15, 25, 50, 75 or 100): 64QAM, one layer, proportional
    /// fair, eight HARQ processes with a round trip of 8 ms (TS 36.321 5.3.2), scheduling requests
    /// every 10 ms and 8 ms from request to data (TS 36.321 5.4.4; request, grant and preparation of
    /// 4 ms each way, TS 36.213 8.0).
    pub fn lte(n_prb: Prb) -> Self {
        Self {
            id: CellId(1),
            rat: Rat::Lte,
            n_prb,
            tdd_pattern: String::new(),
            mcs_table: McsTable::LteQam64,
            layers: 1,
            data_re_per_prb: 132,
            scheduler: SchedulerKind::default(),
            sub_bands: SubBands::None,
            harq: HarqConfig {
                processes: 8,
                round_trip_slots: 8,
                max_transmissions: 4,
                combining: Combining::IncrementalRedundancy,
            },
            bler: BlerFamily::None,
            downlink_processing: Duration::from_millis(1),
            receive_processing: Duration::from_millis(3),
            uplink: UplinkConfig {
                n_prb,
                mcs: Mcs::new(16),
                sr_period: Duration::from_millis(10),
                grant_delay: Duration::from_millis(8),
                inactivity: Duration::from_millis(20),
                link: UplinkLink::FixedMcs,
                grants: Grants::Demand,
            },
            harq_feedback_error: 0.0,
            n3_rate: None,
            n3_buffer: Capacity::Unlimited,
            queues: None,
        }
    }

    /// An NR FDD carrier of numerology `numerology` (0 to 4) and `n_prb` PRBs (1 to 275): 64QAM, one
    /// layer, 13 symbols of which one carries DM-RS (144 data resource elements), proportional fair,
    /// 16 HARQ processes, one slot of processing at each end. Below numerology 2 the UE gets the
    /// uplink by scheduling requests; from there on it has configured grants (TS 38.321 5.8.2).
    pub fn nr(numerology: u8, n_prb: Prb) -> Self {
        let rat = Rat::Nr { numerology };
        let slot = rat.slot_duration();
        let requests = numerology < 2;
        Self {
            id: CellId(1),
            rat,
            n_prb,
            tdd_pattern: String::new(),
            mcs_table: McsTable::NrQam64,
            layers: 1,
            data_re_per_prb: 144,
            scheduler: SchedulerKind::default(),
            sub_bands: SubBands::None,
            harq: HarqConfig {
                processes: 16,
                round_trip_slots: 8,
                max_transmissions: 4,
                combining: Combining::IncrementalRedundancy,
            },
            bler: BlerFamily::None,
            downlink_processing: slot,
            receive_processing: slot,
            uplink: UplinkConfig {
                n_prb,
                mcs: Mcs::new(16),
                sr_period: if requests { slot * 10 } else { Duration::ZERO },
                grant_delay: slot * 4,
                inactivity: Duration::from_millis(20),
                link: UplinkLink::FixedMcs,
                grants: Grants::Demand,
            },
            harq_feedback_error: 0.0,
            n3_rate: None,
            n3_buffer: Capacity::Unlimited,
            queues: None,
        }
    }
}

impl Default for SchedulerKind {
    /// Proportional fair over 100 ms.
    fn default() -> Self {
        Self::ProportionalFair {
            time_constant: Duration::from_millis(100),
        }
    }
}

impl RlcAmConfig {
    /// Usual values of LTE data bearers. t-Reassembly (t-Reordering in TS 36.322) outlasts four HARQ
    /// transmissions 8 ms apart.
    pub fn lte() -> Self {
        Self {
            t_poll_retransmit: Duration::from_millis(50),
            t_reassembly: Duration::from_millis(35),
            t_status_prohibit: Duration::from_millis(25),
            poll_pdu: 16,
            max_retx: 8,
        }
    }
    /// Usual values of NR data bearers; t-Reassembly outlasts four HARQ transmissions 8 slots apart
    /// (TS 38.331 offers multiples of 5 ms).
    pub fn nr(numerology: u8) -> Self {
        let ms = Duration::from_millis;
        let (t_reassembly, t_status_prohibit) = match numerology {
            0 => (ms(35), ms(15)),
            1 => (ms(20), ms(10)),
            2 => (ms(10), ms(5)),
            _ => (ms(5), ms(5)),
        };
        Self {
            t_poll_retransmit: ms(45),
            t_reassembly,
            t_status_prohibit,
            poll_pdu: 64,
            max_retx: 32,
        }
    }
    /// The usual values of a technology.
    pub fn of(rat: Rat) -> Self {
        match rat {
            Rat::Lte => Self::lte(),
            Rat::Nr { numerology } => Self::nr(numerology),
        }
    }
}

impl BearerConfig {
    /// A default bearer (any QFI) in acknowledged mode with this downlink buffer and 1 MB of uplink
    /// buffer.
    pub fn am(rat: Rat, downlink_buffer: Capacity) -> Self {
        Self {
            qfis: Vec::new(),
            rlc: RlcMode::Am(RlcAmConfig::of(rat)),
            downlink_buffer,
            uplink_buffer: Capacity::Bytes(Bytes::new(1_000_000)),
            uplink_discipline: DisciplineConfig::DropTail,
            loss: 0.0,
        }
    }
    /// As [`Self::am`], in unacknowledged mode.
    pub fn um(rat: Rat, downlink_buffer: Capacity) -> Self {
        let t_reassembly = RlcAmConfig::of(rat).t_reassembly;
        Self {
            rlc: RlcMode::Um { t_reassembly },
            ..Self::am(rat, downlink_buffer)
        }
    }
}
