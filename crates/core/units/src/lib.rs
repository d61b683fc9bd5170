//! Units as types.
//!
//! ```text
//!   time      Instant, Duration, Slot        bytes   Bytes, Bits, Packets, BitRate
//!   radio     Prb, Mcs, Cqi, Hertz, Decibel  random  Streams -> Rng (seeded, named)
//!   parse     "15 Mbit/s" -> BitRate, "10 ms" -> Duration, "200 MB" -> Bytes ...
//! ```
//!
//! Every quantity that crosses a public signature in Brimful is one of these types, so that a bit
//! cannot be taken for a byte or a millisecond for a nanosecond. Multiples are decimal (1 MB is
//! 10^6 bytes); integer arithmetic is exact, with u128 in between, and states how it rounds.
//!
//! What this crate is *not*: it holds no algorithm, no table and no clock.
#![forbid(unsafe_code)]

mod data;
mod ecn;
mod parse;
mod radio;
mod random;
mod time;

pub use data::{BitRate, Bits, Bytes, Packets};
pub use ecn::Ecn;
pub use parse::{ParseUnitError, UnitProblem};
pub use radio::{Cqi, Decibel, Hertz, Mcs, Prb};
pub use random::{Rng, Streams};
pub use time::{Duration, Instant, Slot};
