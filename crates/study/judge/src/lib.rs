//! Programs that others wrote, run on the hosts of a lab, and what each says of the network between them.
//!
//! ```text
//!   [Judge] --needs--> Toolbox: which programs are here
//!      | run                                          one lab a judge, column and repeat
//!   [Stage: start, run on Server or Ue] --> [Measure] --> [Verdicts] --> table, JSON
//! ```
//!
//! What this crate is *not*: it measures nothing itself, and holds no algorithm of the network's.
#![forbid(unsafe_code)]

mod judge;
mod judges;
mod need;
mod run;
mod running;
mod stage;
mod verdicts;

pub use judge::{Better, Judge, Measure, Problem, better};
pub use judges::{JUDGES, named};
pub use lab::Host;
pub use need::{Need, Toolbox};
pub use run::{Column, Plan, run};
pub use running::{Output, Running};
pub use stage::Stage;
pub use verdicts::{Record, Verdicts, missing};
