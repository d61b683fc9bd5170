//! Scenario files in, typed experiments; results in, summaries and result folders out.
//!
//! ```text
//!   file.toml --extends--> document --knobs, options, sweep--> variants --keys--> [Point]
//!     (every fault: file:line:column: what; what is allowed; what to do)           Experiment
//!                                                                                     |
//!   summary.json, manifest.json, *.parquet <-- Summary, output <-- [RunResult] <-- a world
//! ```
//!
//! A sweep too large to be held at once is a [`Plan`], whose points are made one by one, here or, from
//! a [`Bundle`], on another machine.
//!
//! [`load()`] refuses everything that cannot be run before anything runs. The table behind [`keys()`]
//! holds all keys with units, defaults and ranges; the reader and `docs/scenario-keys.md` are made
//! from it.
//!
//! What this crate is *not*: it runs nothing, and draws no tables or figures.
#![forbid(unsafe_code)]

mod apps;
mod call;
mod cells;
mod comparison;
mod document;
mod draws;
mod error;
mod experiment;
mod keys;
mod load;
mod moving;
mod observer;
mod output;
mod plan;
mod point;
mod reader;
mod resolve;
mod resolved;
mod result;
mod source;
mod statistics;
mod summary;
mod trace_folder;
mod tunnel;
mod variants;
mod world;

pub use apps::{AbrRule, PageSpec, VideoSpec};
pub use call::{CallController, CallSpec};
pub use cells::{CellsSpec, NamedCell, TriggerQuantity};
pub use comparison::{CompareError, Compared, Labelled, compare};
pub use error::{Problem, ScenarioError};
pub use experiment::{
    AccessSpec, AppSpec, CUSTOM_PREFIX, CcSpec, CdbeSpec, CellSpec, ChannelSpec, Direction,
    EcnSpec, Experiment, FlowSpec, LinkSpec, LoadSpec, MeldSpec, OutageSpec, PathSpec, PepMode,
    PepSpec, ReportSpec, TcpSpec, TraceSpec, Transport, UeSpec, UplinkQueueSpec, WindowControl,
    is_custom,
};
pub use keys::{Fallback, Key, Kind, Range, Section, keys, markdown};
pub use load::Embedded;
pub use metric::Metric;
pub use mobility::FailureKind;
pub use moving::{MovingSpec, Placement, UplinkRadio};
pub use multipath::tunnel::Carrier;
pub use observer::{Observer, Observers};
pub use output::{Manifest, ManifestFinding, ManifestPoint, OutputError, ResultFolder};
#[cfg(feature = "parquet")]
pub use output::{application_table, decision_table, flow_table, queue_table, sample_table};
pub use plan::{Bundle, Plan};
pub use point::{EmbeddedFiles, Point, knobs, load, load_held, load_str, load_text};
pub use resolved::{Resolved, ResolvedValue};
pub use result::{
    ApplicationResult, CallResult, Distribution, FlowResult, HandoverResult, LinkResult,
    LossBursts, Measure, PageResult, QueueResult, RealTime, RunResult, Series, TunnelPathResult,
    TunnelResult, VideoResult,
};
pub use statistics::{Estimate, Ratio, estimate, ratio_of_units, unit_means};
pub use summary::{
    ApplicationSummary, BurstSummary, BurstsOfLength, FlowSummary, HandoverEvent, HandoverSummary,
    LinkSummary, NetworkShares, QueueBytes, QueueSummary, RealTimeSummary, Spread, Summary,
    TraceSummary, TunnelPathSummary, TunnelSummary,
};
pub use tunnel::{PathEvent, TunnelAccess, TunnelPathSpec, TunnelSpec};
pub use variants::{KnobInfo, MAX_PLANNED_POINTS, MAX_POINTS, Overrides, SampleRange, SweepAxis};
pub use world::World;
