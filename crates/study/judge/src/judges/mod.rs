//! The judges. To add one: a file here with a `pub(super) const` of it, and its line in [`JUDGES`].

use crate::judge::Judge;
use browser::{call, page};

mod browser;
mod certificate;
mod iperf3;
mod irtt;
mod quic;
mod rpm;
mod server;
mod stream;

/// All judges, in the order in which they run.
pub const JUDGES: &[Judge] = &[
    rpm::JUDGE,
    irtt::JUDGE,
    iperf3::DOWNLOAD,
    iperf3::RRUL,
    quic::AIOQUIC,
    quic::QUINN,
    stream::STREAM,
    stream::STREAM_BESIDE_DOWNLOAD,
    stream::SRT,
    stream::SRT_BESIDE_DOWNLOAD,
    call::CALL,
    call::BESIDE_DOWNLOAD,
    call::BESIDE_QUIC,
    call::SCREAM,
    call::SCREAM_BESIDE_QUIC,
    page::H3,
    page::H3_BESIDE_DOWNLOAD,
    page::H3_BESIDE_QUIC,
    page::H2,
];

/// The judge of a name.
pub fn named(name: &str) -> Option<&'static Judge> {
    JUDGES.iter().find(|judge| judge.name == name)
}
