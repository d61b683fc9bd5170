//! The numbers of the rules, for implementations elsewhere that are held to this one.

pub use super::discriminator::{MAX_FLIGHT_PER_DELIVERED, MIN_BOUND_SEGMENTS};
pub use super::evidence::{JITTER_SHARE, LATEST_ROUND_TRIPS, MIN_JITTER};
pub use super::steering::{
    ALIKE_SHARE, BOUND_AFTER, MAX_AGE_PERIODS, MAX_DRAIN, MAX_FOR_NEWCOMERS, MAX_ROUND_TRIPS,
    MIN_PACE, MIN_PACKETS, NEWCOMER_SHARE, START_ROUND_TRIPS, TARGET,
};

/// Reports that are kept, whatever their age.
pub const MAX_REPORTS: u64 = super::MAX_REPORTS;
