//! Experiments over the kernel in real time. Needs root.
#![allow(missing_docs, reason = "tests")]

mod cdbe;
mod real_time;
