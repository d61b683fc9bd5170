//! One cell, slot by slot.
//!
//! ```text
//!  downlink   UPF -> SDAP -> PDCP -> RLC [buffer] -> MAC (scheduler, HARQ) -> radio -> UE
//!             N3     QFI     SN      AM, UM          PRBs, transport blocks   Channel
//!  uplink     UPF <- SDAP <- PDCP <- RLC <- MAC <- request, grant <- RLC [buffer] <- UE
//!
//!  send_downlink, send_uplink -> [ Cell ] -> Output::Delivered, Output::Dropped
//!      next_deadline, on_deadline -^   \---> report(): RadioReport, stats(): CellStats
//! ```
//!
//! The cell is handed packets and the time, and hands back packets: it has no clock and no socket,
//! and it is generic over the packet, of which it needs only the size. It is to be called at slot
//! boundaries at which something can happen; idle slots are skipped, and counted by arithmetic.
//!
//! What is modelled, after which section of which specification, and what is not, is written in
//! `docs/algorithms/cell.md`; each file has the deviations of its layer.
//!
//! What this crate is *not*: it has no radio propagation and no transport block table (crate
//! `radio`), no queue management but drop-tail (crate `queue`), and no protocol above IP.
#![forbid(unsafe_code)]

mod base_rtt;
mod cell;
mod check;
mod config;
mod downlink;
mod downlink_groups;
mod fill;
mod forward;
mod frame;
mod handover;
mod mac;
mod output;
mod packet;
mod pdcp;
mod presets;
mod report;
mod rlc;
mod sdap;
mod set;
mod stats;
mod timers;
mod transmission;
mod ue;
mod upf;
mod uplink;

pub use cell::Cell;
pub use check::ConfigError;
pub use config::{
    Background, BearerConfig, CellConfig, Combining, Grants, HarqConfig, QueuesConfig, Rat,
    RlcAmConfig, RlcMode, SchedulerKind, SubBands, UeConfig, UplinkConfig, UplinkLink,
    UplinkSource,
};
pub use handover::{Left, LeftBearer, SentPacket};
pub use output::{Direction, DropReason, Layer, Output, UeIndex};
pub use stats::{
    Amount, BearerStats, CellStats, ConservationError, DirectionStats, Drops, MacStats, Sojourns,
    UeStats,
};
