//! A sender and a receiver over a link of known rate: closed loops.

mod beyond;
mod link;
mod loops;
mod marks;
mod properties;
