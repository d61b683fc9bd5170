//! Scenario files in, typed experiments out; results in, summaries and result folders out.
#![forbid(unsafe_code)]

mod experiment;
mod result;
mod statistics;

pub use experiment::{
    AccessSpec, AppSpec, CcSpec, CellSpec, ChannelSpec, Direction, Experiment, FlowSpec, LinkSpec,
    LoadSpec, PathSpec, PepMode, PepSpec, TcpSpec, Transport, UeSpec,
};
pub use result::{
    Distribution, FlowResult, LinkResult, Metric, QueueResult, RunResult, Series,
};
pub use statistics::{Estimate, estimate, paired_ratio};
