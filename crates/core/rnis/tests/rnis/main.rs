//! The crate as its users call it.
#![allow(missing_docs, reason = "tests")]

mod adapters;
mod view;
