//! The numbers of the rules, for implementations elsewhere that are held to this one.

pub use super::brake::{MAX_FOR_NEWCOMERS, MAX_PER_TARGET, MIN_PACKETS, NEWCOMER_SHARE, TARGET};
pub use super::discriminator::{MAX_FLIGHT_PER_DELIVERED, MIN_BOUND_SEGMENTS};
pub use super::evidence::{JITTER_SHARE, LATEST_ROUND_TRIPS, MIN_JITTER};

/// Reports that are kept, whatever their age.
pub const MAX_REPORTS: u64 = super::MAX_REPORTS;
