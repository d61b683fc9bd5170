//! The whole service against real clients, sources and brokers.
#![allow(missing_docs, reason = "a test")]

mod announcement;
mod brokers;
mod callbacks;
mod common;
mod conformance;
mod dashboard;
mod document;
mod f1u;
mod faults;
mod hostile;
mod inbox;
mod processes;
mod queries;
mod recording;
mod security;
mod sources;
mod subscriptions;
mod unix;
