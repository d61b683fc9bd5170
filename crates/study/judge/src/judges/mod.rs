//! The judges. To add one: a file here with a `pub(super) const` of it, and its line in [`JUDGES`].

use crate::judge::Judge;

mod iperf3;
mod irtt;
mod quic;
mod rpm;

/// All judges, in the order in which they run.
pub const JUDGES: &[Judge] = &[
    rpm::JUDGE,
    irtt::JUDGE,
    iperf3::DOWNLOAD,
    iperf3::RRUL,
    quic::AIOQUIC,
    quic::QUINN,
];

/// The judge of a name.
pub fn named(name: &str) -> Option<&'static Judge> {
    JUDGES.iter().find(|judge| judge.name == name)
}
