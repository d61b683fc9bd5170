//! How many descriptors there may be.

use crate::config::Config;
use crate::relay::IDLE_PIPES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of a connection: two sockets, and the two ends of a pipe for each direction in which data waits.
const OF_CONNECTION: u64 = 6;
/// Of a worker: what it waits with, and the pipes that it keeps for the next connections.
const OF_WORKER: u64 = 2 + 2 * IDLE_PIPES as u64;
/// Of all else: listeners, reports, admin, metrics, the dashboard, files.
const OF_OTHERS: u64 = 512;

/// Raises the limit to the most that is allowed, and bounds the connections by it.
pub(crate) fn fit(config: &mut Config) {
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
    let most = connections(descriptors, config.relay.workers);
    let limits = &mut config.limits;
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

/// Connections that so many descriptors suffice for, however many of them wait; of few descriptors half are left for
/// all else.
fn connections(descriptors: u64, workers: usize) -> usize {
    let others = OF_OTHERS + OF_WORKER * workers as u64;
    let left = descriptors - others.min(descriptors / 2);
    usize::try_from(left / OF_CONNECTION)
        .unwrap_or(usize::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_have_descriptors_for_their_pipes() {
        for (descriptors, workers) in [(4_096, 2), (65_536, 4), (1_048_576, 64)] {
            let needed = 6 * connections(descriptors, workers) as u64;
            let others = 512 + 130 * workers as u64;
            let left = descriptors - others - needed;
            assert!(left < 6, "{left} of {descriptors}");
        }
        assert_eq!((connections(1_024, 4), connections(3, 1)), (85, 1));
    }
}
