//! The reader and writer against vectors of other projects, random frames and another program.
#![allow(missing_docs, reason = "a test")]

mod frames;
mod outside;
mod properties;
mod tshark;
mod vectors;
