//! Estimates of queues and rates from F1-U against cells of the simulator, and against what goes wrong on the wire.
#![allow(missing_docs, reason = "a test")]

mod cell;
mod common;
mod hand;
mod hostile;
mod reports;
mod tshark;
mod whose;
