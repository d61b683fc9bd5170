//! `bpf/meld_constants.h`: the numbers of the rules, as the program has them from `cc`.

use cc::meld::{Reason, Variant, constants};
use std::fmt::Write;

/// The text of `bpf/meld_constants.h`, which a test compares. It is made by
/// `cargo run -p kernel-cc --example meld_constants`.
pub fn constants_header() -> String {
    let variant = |name: &&str| match Variant::from_name(name)? {
        Variant::DownloadEnhancement => Some("DOWNLOAD_ENHANCEMENT"),
        Variant::MixedEnhancement => Some("MIXED_ENHANCEMENT"),
        Variant::Default => Some("DEFAULT"),
        Variant::Yielding => None, // not in the kernel
    };
    let variants: Vec<_> = Variant::NAMES.iter().filter_map(variant).collect();
    let reason = |reason: &Reason| reason.name().replace('-', "_").to_uppercase();
    let mut reasons: Vec<_> = Reason::ALL.iter().map(reason).collect();
    // how many there are
    reasons.push("REASONS".to_owned());
    let numbers = [
        ("MAX_REPORTS", constants::MAX_REPORTS),
        (
            "MAX_FLIGHT_PER_DELIVERED",
            constants::MAX_FLIGHT_PER_DELIVERED,
        ),
        ("MIN_BOUND_SEGMENTS", constants::MIN_BOUND_SEGMENTS),
        ("TARGET_NUMERATOR", constants::TARGET.0),
        ("TARGET_DENOMINATOR", constants::TARGET.1),
        ("ALIKE_SHARE", constants::ALIKE_SHARE),
        ("MAX_AGE_PERIODS", constants::MAX_AGE_PERIODS),
        ("MAX_DRAIN", constants::MAX_DRAIN),
        ("MAX_ROUND_TRIPS", constants::MAX_ROUND_TRIPS),
        ("START_ROUND_TRIPS", constants::START_ROUND_TRIPS),
        ("BOUND_AFTER", constants::BOUND_AFTER),
        ("MAX_FOR_NEWCOMERS", constants::MAX_FOR_NEWCOMERS),
        ("NEWCOMER_SHARE", constants::NEWCOMER_SHARE),
        // bit/s
        ("MIN_PACE", constants::MIN_PACE.as_bps()),
        ("MIN_PACKETS", constants::MIN_PACKETS),
        ("LATEST_ROUND_TRIPS", constants::LATEST_ROUND_TRIPS),
        ("JITTER_SHARE", constants::JITTER_SHARE),
        // ns
        ("MIN_JITTER", constants::MIN_JITTER.as_nanos()),
    ];
    let mut text = String::from(
        "/* Made from cc::meld by `cargo run -p kernel-cc --example meld_constants`; a test compares. */\n\
         #pragma once\n\n/* cc::meld::Variant */\n",
    );
    let list = |names: &[&str]| names.join(",\n\t");
    let reasons: Vec<_> = reasons.iter().map(String::as_str).collect();
    let _ = write!(
        text,
        "enum {{\n\t{},\n}};\n\n/* cc::meld::Reason */\nenum {{\n\t{},\n}};\n\n/* cc::meld::constants */\n",
        list(&variants),
        list(&reasons),
    );
    for (name, number) in numbers {
        let _ = writeln!(text, "#define {name} {number}ULL");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_header_has_the_constants_of_the_core() {
        let found = include_str!("../../bpf/meld_constants.h");
        assert_eq!(
            found,
            super::constants_header(),
            "bpf/meld_constants.h is not of this cc::meld: \
             cargo run -p kernel-cc --example meld_constants > crates/live/kernel-cc/bpf/meld_constants.h"
        );
    }
}
