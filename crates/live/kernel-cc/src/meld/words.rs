//! What goes to and comes from the program, in the words in which it has them (`bpf/meld_model.h`).

use cc::RadioState;
use cc::meld::{Config, Variant};
use std::net::IpAddr;
use units::Instant;

/// Words of the program's `struct rules`.
pub(super) const RULES: usize = 3;
/// Words of its `struct report`.
pub(super) const REPORT: usize = 8;
/// Reports of its `struct reports`: twice as many as are read again.
const RING: usize = 2 * cc::meld::constants::MAX_REPORTS as usize;
/// Words of that.
const REPORTS: usize = 2 + RING * REPORT;

/// Lost packets are counted; the bits below are their number.
const IS_COUNTED: u64 = 1 << 32;
/// Blocks were repeated.
const IS_REPEATED: u64 = 1 << 33;
/// Place of the HARQ processes.
const PROCESSES: u32 = 40;
/// Place of the slots, of which there are 16 bits.
const SLOTS: u32 = 48;

/// `struct rules`.
pub(super) fn rules(config: Config) -> [u64; RULES] {
    let variant = match config.variant {
        Variant::DownloadEnhancement => 0,
        Variant::MixedEnhancement => 1,
        // `Meld::load` refuses the last
        Variant::Default | Variant::Yielding => 2,
    };
    [variant, config.pdu.get().max(1), config.max_age.as_nanos()]
}

/// `struct report`.
pub(super) fn report(arrived_at: Instant, state: &RadioState) -> [u64; REPORT] {
    let slots = u64::from(state.slots).min(u16::MAX.into());
    let mut counts = u64::from(state.harq_processes) << PROCESSES | slots << SLOTS;
    if let Some(lost) = state.lost_packets {
        counts |= IS_COUNTED | u64::from(lost);
    }
    if state.harq_retx > 0 {
        counts |= IS_REPEATED;
    }
    [
        arrived_at.as_nanos(),
        state.made_at.as_nanos(),
        state.period.as_nanos(),
        state.served.get(),
        state.queue.get(),
        state.tbs.get(),
        state.best_tbs.get(),
        counts,
    ]
}

/// `struct reports` of a UE before its first report.
pub(super) fn no_reports(generation: u64) -> Vec<u8> {
    let mut value = vec![0; 8 * REPORTS];
    value[..8].copy_from_slice(&generation.to_ne_bytes());
    value
}

/// The key of a UE: its IPv6 address, or its IPv4 address mapped into one (RFC 4291 2.5.5.2).
pub(super) fn key(ue: IpAddr) -> [u8; 16] {
    match ue {
        IpAddr::V4(ue) => ue.to_ipv6_mapped().octets(),
        IpAddr::V6(ue) => ue.octets(),
    }
}

/// Words as the kernel has them in memory.
pub(super) fn to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
