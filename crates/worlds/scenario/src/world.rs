//! The worlds in which an experiment can run.

/// Where an experiment runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// The packet-level simulator.
    #[default]
    Sim,
    /// This machine's kernel and real programs behind an emulated radio.
    Lab,
}

impl World {
    /// As results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Lab => "lab",
        }
    }
}
