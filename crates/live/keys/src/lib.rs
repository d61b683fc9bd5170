//! Keys of the daemons in files that only their owner may read, and the randomness of the system.
//!
//! ```text
//!   file -> StaticKey, Key -> secrecy <- System (randomness)
//! ```
//!
//! What this crate is *not*: it seals nothing, and has no handshake; that is `secrecy`.
#![forbid(unsafe_code)]

mod files;
pub mod random;

pub use files::{Key, KeyError, PublicKeyText, StaticKey};
pub use random::System;

use secrecy::Algorithms;

/// What this processor seals fast.
pub fn algorithms() -> Algorithms {
    #[cfg(target_arch = "x86_64")]
    let has_aes = std::arch::is_x86_feature_detected!("aes")
        && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let has_aes = std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has_aes = false;
    Algorithms::new(has_aes)
}
