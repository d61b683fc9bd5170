//! What is measured: flows, queues, the bottleneck, time series.

mod flow;
mod occupancy;
mod samples;
mod series;

pub(crate) use flow::FlowMeter;
pub(crate) use occupancy::QueueMeter;
pub(crate) use samples::Samples;
pub(crate) use series::SeriesSet;
