//! Randomness of the system.

use std::io;

/// Fills bytes with randomness that cannot be guessed.
///
/// # Errors
/// The kernel's.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    use std::io::Read;
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

/// A seed.
///
/// # Errors
/// The kernel's.
pub(crate) fn seed() -> io::Result<u64> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Randomness for handshakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Urandom;

impl secrecy::Entropy for Urandom {
    fn draw(&mut self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        fill(&mut bytes).ok()?;
        Some(bytes)
    }
}
