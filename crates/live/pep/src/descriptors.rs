//! How many descriptors there may be.

use crate::config::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are not connections': listeners, reports, admin, pipes in use.
const RESERVED: u64 = 1_024;

/// Raises the limit to the most that is allowed, and bounds the connections by it: two descriptors
/// each.
pub(crate) fn fit(limits: &mut Limits) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() {
        limit.maximum
    } else {
        limit.current
    };
    let Some(descriptors) = now else { return };
    let most = descriptors.saturating_sub(RESERVED) / 2;
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
    limits.overflow = limits.overflow.min(most / 16);
    let most = most - limits.overflow;
    if limits.connections > most {
        tracing::warn!(
            configured = limits.connections,
            possible = most,
            descriptors,
            "fewer connections than configured: raise LimitNOFILE"
        );
        limits.connections = most;
    }
}
