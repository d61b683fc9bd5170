//! What is measured of the packets that pass.

mod connection;
mod flows;
mod lateness;

pub(crate) use flows::{Event, Flows, Hop};
pub(crate) use lateness::Lateness;
