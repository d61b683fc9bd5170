//! What a slot of a radio link can carry.
//!
//! ```text
//!   SINR -> CQI -> MCS -> TBS            adaptation: CQI reports with period and delay
//!     \______ BLER ______/               bler:       link-level curves by (family, table, MCS)
//!                                        cqi_policy: CQI -> MCS as real base stations do it
//!   MCS, PRB, layers -> TBS              tbs:        TS 36.213 7.1.7.2, TS 38.214 5.1.3.2
//!   place, time      -> SINR             moving:     path loss, fading, blockage, mobility
//!   interferer      -> SINR             fades:      an SINR that an interferer lowers now and then
//!   bandwidth, SCS   -> PRB              bandwidth:  TS 36.104, TS 38.101
//!   Channel: state of one UE's link, slot by slot (constant, adapted, or driven by a trace)
//!   Load:    PRBs that others take
//! ```
//!
//! Numbers come from constant tables, made from CSV files that are kept with the tests;
//! `docs/radio.md` states where each comes from. Time is handed in; randomness is a seeded
//! [`units::Rng`].
//!
//! What this crate is *not*: it schedules nothing, queues nothing and retransmits nothing; that is
//! the cell's work (crate `ran`). It reads no file: [`trace`] parses bytes that it is given.
#![forbid(unsafe_code)]

mod adaptation;
mod bandwidth;
pub mod bler;
mod channel;
mod cqi_policy;
mod data;
mod fades;
mod groups;
pub mod ldpc;
mod load;
pub mod moving;
mod name;
mod off;
mod tables;
mod tbs;
pub mod trace;
mod uplink;

pub use adaptation::{
    ConstantSinr, LinkAdaptation, LinkAdaptationConfig, LinkAdaptationError, McsRule, SinrSample,
    SinrSource,
};
pub use bandwidth::{BandwidthError, Carrier, FrequencyRange, max_prb};
pub use bler::{BlerCurves, BlerError, BlerFamily};
pub use channel::{Channel, ChannelError, ChannelState, ConstantChannel, Link, SubBands};
pub use cqi_policy::{CqiPolicyError, CqiToMcs};
pub use fades::{FadeConfig, FadeError, Fades};
pub use groups::PrbGroups;
pub use load::{ConstantLoad, Load, LoadError, RandomLoad};
pub use name::UnknownName;
pub use off::OffChannel;
pub use rnis::{LinkQuality, McsTable};
pub use tables::{
    CqiEntry, CqiTable, McsEntry, cqi_entry, cqi_for_mcs, lte_transport_block, max_mcs, mcs_entry,
    pusch_mcs_entry,
};
pub use tbs::{NrGrant, NrTbs, TableError, TbsTable, nr_transport_block, transport_block_bytes};
pub use uplink::{PowerControl, PowerControlError, SoundedUplink, UplinkChannel, UplinkState};
