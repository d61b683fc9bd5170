//! Radio traces: reading, playing, measuring, generating and converting them.
//!
//! ```text
//!   bytes --read--> Trace --channel--> Box<dyn Channel>    what a slot can carry
//!   Kind --generate--^  |   --load----> Box<dyn Load>       PRBs that others take (DCI logs)
//!   any table --import---|--info--> TraceInfo                statistics
//!   counts --delivered---|
//!   reports --Recorder---|--profile--> Profile              over time, in equal parts
//!                       '--convert, write--> text           another format
//! ```
//!
//! `docs/traces.md` describes every format with its units, how it is read and what is assumed.
//! Reading takes bytes, not paths, and never panics on any of them.

mod content;
mod convert;
mod delivered;
mod error;
mod format;
mod generate;
mod import;
mod info;
mod iperf;
mod layout;
mod play;
mod profile;
mod read;
mod record;
mod text;
mod write;

pub use content::{
    Content, Dci, DciDirection, DciLog, Network, NetworkTimes, Opportunities, Opportunity,
    PacketsPerTick, Quality, QualitySample, RateStep, Rates,
};
pub use convert::{ConvertError, ConvertOptions, convert};
pub use delivered::{OPPORTUNITY, delivered};
pub use error::TraceError;
pub use format::{Format, UnknownFormat};
pub use generate::{GenerateError, Kind, generate};
pub use import::{Mapping, RateUnit, Separator, TimeUnit, UnknownUnit, ValueColumns, import};
pub use info::{PERCENTILES, Summary, TraceInfo, Values};
pub use layout::{Layout, UnknownLayout, import_as};
pub use play::{
    CellParameters, Playback, PlaybackError, Signal, Signals, WithoutCqi, default_policy,
};
pub use profile::{Measure, Part, Profile};
pub use read::{MAX_DURATION, MAX_FILE, MAX_PACKETS_PER_TICK, MAX_RATE, ReadOptions, read};
pub use record::{Recorder, Who};
pub use write::write;

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Where it came from: a file's name, or the generator with its seed.
    pub source: String,
    /// The format that it was read from, or would be written to.
    pub format: Format,
    /// What it holds.
    pub content: Content,
    /// What it was recorded on. (Of packets per tick, whose length is a setting, nothing is known.)
    pub networks: NetworkTimes,
    /// What the reader passed over or assumed, one sentence each.
    pub notes: Vec<String>,
}

impl Trace {
    /// One that was not read from a file.
    fn made(source: &str, format: Format, content: Content) -> Self {
        Self {
            source: source.to_owned(),
            format,
            networks: content.networks(),
            content,
            notes: Vec::new(),
        }
    }
}
