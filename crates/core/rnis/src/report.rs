//! The radio report: what a cell did in the period since the last one.
//!
//! The fields are those that FlexRAN-like agents give and that RAPID's equations 1-3 need
//! (section 3.3 of the paper): the cell's PRBs and sub-carrier spacing and, for each UE, allocated
//! PRBs, MCS, CQI and TBS; with the RLC queue and HARQ counts for the consumers that use them.

use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

/// A cell's identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CellId(pub u32);

/// A radio network temporary identifier: a UE within its cell (TS 38.321 7.1: 1 to 65519).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Rnti(pub u16);

/// An MCS index table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McsTable {
    /// TS 36.213 Table 7.1.7.1-1 (LTE, up to 64QAM).
    LteQam64,
    /// TS 36.213 Table 7.1.7.1-1A (LTE, up to 256QAM).
    LteQam256,
    /// TS 38.214 Table 5.1.3.1-1 (NR, up to 64QAM).
    NrQam64,
    /// TS 38.214 Table 5.1.3.1-2 (NR, up to 256QAM).
    NrQam256,
    /// TS 38.214 Table 5.1.3.1-3 (NR, low spectral efficiency).
    NrLowSe,
}

/// What a PRB of this UE carries.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", try_from = "Quality")]
pub enum LinkQuality {
    /// The MCS that the base station would use now; the TBS follows from the 3GPP tables.
    Mcs {
        /// Index into `table`.
        mcs: Mcs,
        /// The table.
        table: McsTable,
        /// Spatial layers, 1 to 8.
        layers: u8,
        /// Resource elements per PRB that carry data in one slot, before the cap of 156 of
        /// TS 38.214 5.1.3.2 (12 N_symb - N_DMRS - N_oh). LTE tables do not use it.
        data_re_per_prb: u16,
    },
    /// The source has only bytes, no MCS (a recorded rate): the mean bytes that all PRBs of the
    /// cell would carry in one slot, times 1000 (so that slow links are not rounded away).
    Measured {
        /// Milli-bytes for the whole cell and one slot.
        full_band_millibytes: u64,
    },
}

/// As it is read: an enum whose kind stands among its fields would be put together in memory first, for each UE of each
/// report.
#[derive(Deserialize)]
struct Quality {
    kind: QualityKind,
    mcs: Option<Mcs>,
    table: Option<McsTable>,
    layers: Option<u8>,
    data_re_per_prb: Option<u16>,
    full_band_millibytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum QualityKind {
    Mcs,
    Measured,
}

impl TryFrom<Quality> for LinkQuality {
    type Error = String;

    fn try_from(of: Quality) -> Result<Self, String> {
        let missing = |field: &str| format!("missing field `{field}`");
        Ok(match of.kind {
            QualityKind::Mcs => Self::Mcs {
                mcs: of.mcs.ok_or_else(|| missing("mcs"))?,
                table: of.table.ok_or_else(|| missing("table"))?,
                layers: of.layers.ok_or_else(|| missing("layers"))?,
                data_re_per_prb: of
                    .data_re_per_prb
                    .ok_or_else(|| missing("data_re_per_prb"))?,
            },
            QualityKind::Measured => Self::Measured {
                full_band_millibytes: of
                    .full_band_millibytes
                    .ok_or_else(|| missing("full_band_millibytes"))?,
            },
        })
    }
}

/// What the cell gave in one report period.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RadioReport {
    /// The cell.
    pub cell: CellReport,
    /// One entry for each connected UE, in ascending order of RNTI.
    pub ues: Vec<UeReport>,
}

/// The cell's part of a report.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CellReport {
    /// The cell.
    pub id: CellId,
    /// PRBs of the carrier.
    pub n_prb: Prb,
    /// Sub-carrier spacing.
    pub scs: Hertz,
    /// Duration of one slot (1 ms for LTE).
    pub slot_duration: Duration,
    /// Share of slots that carry downlink, 0 to 1 (1 for FDD).
    pub downlink_share: f64,
    /// The last slot covered.
    pub slot: Slot,
    /// Downlink slots covered, at least 1.
    pub slots: u32,
    /// PRBs given to load that is not a UE of this report (broadcast, background), mean per slot.
    pub prb_background: Prb,
}

impl CellReport {
    /// A cell of so many PRBs with FDD, sub-carriers of 15 kHz and slots of 1 ms, all its PRBs unused: of its slot 1
    /// alone.
    pub const fn fdd(id: CellId, n_prb: Prb) -> Self {
        Self {
            id,
            n_prb,
            scs: Hertz::from_khz(15),
            slot_duration: Duration::from_millis(1),
            downlink_share: 1.0,
            slot: Slot::new(1),
            slots: 1,
            prb_background: Prb::new(0),
        }
    }

    /// The mean time between two downlink slots: a slot with FDD, longer with TDD.
    pub fn downlink_interval(&self) -> Duration {
        let share = self.downlink_share.max(f64::EPSILON);
        self.slot_duration.mul_f64(1.0 / share)
    }
}

/// Largest identity of a data radio bearer (TS 38.331, DRB-Identity).
pub const MAX_BEARER: u8 = 32;

/// Queue of one of a UE's data radio bearers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BearerReport {
    /// DRB identity (1 to [`MAX_BEARER`]).
    pub id: u8,
    /// Downlink bytes waiting in it above the MAC, at the end of the period.
    pub queue_bytes: Bytes,
}

/// One UE's part of a report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UeReport {
    /// The UE within the cell.
    pub rnti: Rnti,
    /// Its address, where the source can map it.
    pub ip: Option<IpAddr>,
    /// Downlink PRBs allocated, mean per covered slot, rounded to the nearest.
    pub prb_dl: Prb,
    /// What a PRB carries for this UE now.
    pub quality: LinkQuality,
    /// Last reported CQI.
    pub cqi: Cqi,
    /// Bytes of all transport blocks sent in the period, first transmissions only.
    pub tbs_bytes: Bytes,
    /// Payload (IP bytes) that left the UE's downlink RLC queues in the period for the first time.
    pub served_bytes: Bytes,
    /// Downlink bytes waiting in the UE's queues above the MAC, at the end of the period.
    pub rlc_queue_bytes: Bytes,
    /// The same by data radio bearer, where the source has it and the UE has several; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bearers: Vec<BearerReport>,
    /// HARQ processes busy at the end of the period.
    pub harq_processes: u8,
    /// HARQ retransmissions in the period.
    pub harq_retx: u32,
    /// Downlink packets that the radio lost in the period (TS 36.314 4.1.5.2, packet Uu loss), where
    /// the source counts them: given up by HARQ or RLC. Packets that a full or managed queue dropped
    /// are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<u32>,
    /// Number of this report for this UE, counting up by one.
    pub seq: u64,
    /// When the period ended.
    pub timestamp: Instant,
}

/// Why a report cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// More PRBs than the carrier has.
    #[error("RNTI {rnti}: {prb} PRBs allocated, the carrier has {n_prb}")]
    TooManyPrbs {
        /// The UE.
        rnti: u16,
        /// Its PRBs.
        prb: Prb,
        /// The carrier's.
        n_prb: Prb,
    },
    /// A field that must not be zero is.
    #[error("{field} is zero")]
    Zero {
        /// Its name.
        field: &'static str,
    },
    /// A share outside 0 to 1, or no number.
    #[error("downlink_share is outside 0..=1")]
    Share,
}

impl UeReport {
    /// A UE without an address to which nothing was sent in the period that ended then, with nothing waiting and a CQI
    /// of 15.
    pub const fn idle(rnti: Rnti, quality: LinkQuality, timestamp: Instant) -> Self {
        Self {
            rnti,
            ip: None,
            prb_dl: Prb::new(0),
            quality,
            cqi: Cqi::new(15),
            tbs_bytes: Bytes::ZERO,
            served_bytes: Bytes::ZERO,
            rlc_queue_bytes: Bytes::ZERO,
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: 0,
            timestamp,
        }
    }

    /// What waits in a bearer, where the report has it.
    pub fn queue_of(&self, bearer: u8) -> Option<Bytes> {
        let of = self.bearers.iter().find(|of| of.id == bearer);
        of.map(|of| of.queue_bytes)
    }
}

impl RadioReport {
    /// PRBs of the cell that are not assigned, mean per slot (RAPID, equation 1).
    pub fn unused_prb(&self) -> Prb {
        let used: u32 = self.ues.iter().map(|ue| u32::from(ue.prb_dl.get())).sum();
        let used = used.saturating_add(u32::from(self.cell.prb_background.get()));
        // means are rounded one by one, so that their sum can exceed the carrier by a PRB or two
        let unused = u32::from(self.cell.n_prb.get()).saturating_sub(used);
        Prb::new(u16::try_from(unused).unwrap_or(u16::MAX))
    }

    /// Allocated and all unused PRBs, at most the carrier: what the UE could be given (RAPID,
    /// equation 2).
    pub fn expected_prb(&self, ue: &UeReport) -> Prb {
        let expected = ue.prb_dl.get().saturating_add(self.unused_prb().get());
        Prb::new(expected.min(self.cell.n_prb.get()))
    }

    /// Checks what every consumer relies on.
    ///
    /// # Errors
    /// Names the first field that cannot be true.
    pub fn check(&self) -> Result<(), ReportError> {
        let cell = &self.cell;
        if cell.n_prb == Prb::new(0) {
            return Err(ReportError::Zero { field: "n_prb" });
        }
        if cell.slots == 0 {
            return Err(ReportError::Zero { field: "slots" });
        }
        if cell.slot_duration.is_zero() {
            return Err(ReportError::Zero {
                field: "slot_duration",
            });
        }
        if !(0.0..=1.0).contains(&cell.downlink_share) {
            return Err(ReportError::Share);
        }
        match self.ues.iter().find(|ue| ue.prb_dl > cell.n_prb) {
            Some(ue) => Err(ReportError::TooManyPrbs {
                rnti: ue.rnti.0,
                prb: ue.prb_dl,
                n_prb: cell.n_prb,
            }),
            None => Ok(()),
        }
    }
}
