//! What is measured: flows, queues, the bottleneck, time series.

mod bottleneck;
mod bursts;
mod call;
mod flow;
mod levels;
mod occupancy;
mod passage;
mod samples;
mod series;
mod step;

pub use bottleneck::{Bottleneck, Totals};
pub use call::CallMeter;
pub use flow::{FlowMeter, StepTotals};
pub use occupancy::QueueMeter;
pub use passage::PassageMeter;
pub use samples::Samples;
pub use series::SeriesSet;
pub use step::{FlowStep, SenderStep};
