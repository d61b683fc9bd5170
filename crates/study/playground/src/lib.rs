//! The simulator for a page: a scenario, its files and its variants in; what was found, figures and summaries out.
//!
//! ```text
//!   scenario, traces --Files--> [run] --JSON--> page: figures, what was found
//!   variants --------Request---/   \
//!                                   sim, report (the same that the command line has)
//! ```
//!
//! Compiled for `wasm32-unknown-unknown` it is what `web/src/playground/worker.ts` calls (`exports`): bytes in, bytes
//! out, so that nothing has to generate bindings. Compiled for a machine it is tested.
//!
//! What this crate is *not*: it has no thread, clock, file or network, decides nothing of an experiment, and has no page.

#[cfg(target_arch = "wasm32")]
mod exports;
mod request;
mod run;

pub use request::{Files, Request, Variant};
pub use run::{VERSION, run};
