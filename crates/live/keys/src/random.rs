//! Randomness of the system.

use ring::rand::{SecureRandom, SystemRandom};
use std::io;

/// Fills bytes with randomness that cannot be guessed.
///
/// # Errors
/// The kernel's.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    // a system call: handshakes must go on where no descriptor is left
    SystemRandom::new()
        .fill(bytes)
        .map_err(|_| io::Error::other("the system has no randomness"))
}

/// A seed.
///
/// # Errors
/// The kernel's.
pub fn seed() -> io::Result<u64> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Randomness for handshakes.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl secrecy::Entropy for System {
    fn draw(&mut self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        fill(&mut bytes).ok()?;
        Some(bytes)
    }
}
