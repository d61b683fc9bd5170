//! The summary of a tunnel: means over the repeats.

use super::mean;
use crate::result::{RunResult, TunnelPathResult, TunnelResult};
use serde::Serialize;

/// What a tunnel did towards the users, in a repeat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelSummary {
    /// Its paths, in the file's order.
    pub paths: Vec<TunnelPathSummary>,
    /// Packets delivered in turn without having been held.
    pub in_order: f64,
    /// Packets held for others, then delivered.
    pub held: f64,
    /// Packets of those that a wait that ran out released.
    pub timed_out: f64,
    /// Packets given up as lost.
    pub given_up: f64,
    /// Packets that came after they had been given up.
    pub late: f64,
    /// Packets that came again.
    pub duplicates: f64,
    /// Packets that did not fit into the scheduler's buffer.
    pub refused: f64,
    /// Packets that CoDel dropped there.
    pub dropped: f64,
}

/// What a path of a tunnel did towards the users, in a repeat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelPathSummary {
    /// Its name.
    pub name: String,
    /// Bytes of packets inside that it delivered.
    pub carried_bytes: f64,
    /// Packets inside that it delivered.
    pub packets: f64,
    /// Packets that it lost.
    pub lost: f64,
    /// Packets sent again.
    pub retransmits: f64,
}

impl TunnelSummary {
    /// Of all repeats; none without a tunnel.
    pub(super) fn of(runs: &[RunResult]) -> Option<Self> {
        let tunnels = || runs.iter().filter_map(|run| run.tunnel.as_ref());
        let of = |value: fn(&TunnelResult) -> u64| mean(tunnels().map(|t| value(t) as f64));
        let first = tunnels().next()?;
        let paths = first.paths.iter().enumerate().map(|(index, path)| {
            let of = |value: fn(&TunnelPathResult) -> u64| {
                let paths = tunnels().filter_map(|tunnel| tunnel.paths.get(index));
                mean(paths.map(|path| value(path) as f64))
            };
            TunnelPathSummary {
                name: path.name.clone(),
                carried_bytes: of(|path| path.carried.get()),
                packets: of(|path| path.packets),
                lost: of(|path| path.lost),
                retransmits: of(|path| path.retransmits),
            }
        });
        Some(Self {
            paths: paths.collect(),
            in_order: of(|tunnel| tunnel.in_order),
            held: of(|tunnel| tunnel.held),
            timed_out: of(|tunnel| tunnel.timed_out),
            given_up: of(|tunnel| tunnel.given_up),
            late: of(|tunnel| tunnel.late),
            duplicates: of(|tunnel| tunnel.duplicates),
            refused: of(|tunnel| tunnel.refused),
            dropped: of(|tunnel| tunnel.dropped),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn a_tunnel_is_the_mean_of_its_repeats() {
        let run = |carried: u64, late: u64| {
            let path = TunnelPathResult {
                name: "wifi".into(),
                carried: Bytes::new(carried),
                ..TunnelPathResult::default()
            };
            RunResult {
                tunnel: Some(TunnelResult {
                    paths: vec![path],
                    late,
                    ..TunnelResult::default()
                }),
                ..RunResult::default()
            }
        };
        let summary = TunnelSummary::of(&[run(1_000, 1), run(4_000, 2)]).unwrap();
        assert_eq!(summary.paths[0].name, "wifi");
        assert!((summary.paths[0].carried_bytes - 2_500.0).abs() < 1e-9);
        assert!((summary.late - 1.5).abs() < 1e-9);
        assert!(TunnelSummary::of(&[RunResult::default()]).is_none());
    }
}
