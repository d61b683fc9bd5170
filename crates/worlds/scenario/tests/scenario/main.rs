//! Scenario files: what is read, what is refused, and with which message.

mod bearers;
mod cells;
mod edge_settings;
mod embedded;
mod files;
mod moving;
mod moving_refusals;
mod never_panics;
mod one_flow;
mod plan;
mod queue_refusals;
mod recorded_cells;
mod reference;
mod refusals;
mod refusals_apps;
mod refusals_call;
mod refusals_cdbe;
mod refusals_meld;
mod refusals_tunnel;
mod shipped;
mod traces;
mod uplink_queue;
mod uplink_traces;
