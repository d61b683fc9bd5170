//! Tests of whole connections over a small network.

mod accecn;
mod controllers;
mod ecn;
mod flow_control;
mod handshake;
mod loss;
mod pipe;
mod properties;
mod sending;
mod validation;
