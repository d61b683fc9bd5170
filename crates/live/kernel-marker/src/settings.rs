//! What is chosen of the marker in the kernel.

/// Settings of [`Marker`](crate::Marker).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// UEs at most, 1 to 1,000,000; each that has an order takes some 4 kB of the kernel's memory.
    pub max_ues: u32,
    /// TCP is split here: segments of this machine's own TCP sockets are forwarded unjudged.
    pub splits_tcp: bool,
    /// Another instance at the interface is the predecessor of an upgrade: this one waits for its end instead of being
    /// refused, and takes over at the first order thereafter.
    pub takes_over: bool,
}

/// What [`Settings::max_ues`] may be.
pub(crate) const UES: std::ops::RangeInclusive<u32> = 1..=1_000_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_ues: 10_000,
            splits_tcp: true,
            takes_over: false,
        }
    }
}
