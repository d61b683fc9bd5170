//! The judges. To add one: a file here with a `pub(super) const` of it, and its line in [`JUDGES`].

use crate::judge::Judge;

mod iperf3;
mod irtt;

/// All judges, in the order in which they run.
pub const JUDGES: &[Judge] = &[irtt::JUDGE, iperf3::DOWNLOAD, iperf3::RRUL];

/// The judge of a name.
pub fn named(name: &str) -> Option<&'static Judge> {
    JUDGES.iter().find(|judge| judge.name == name)
}
