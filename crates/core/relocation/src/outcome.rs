//! What became of a connection, or of a transfer.

use crate::message::Malformed;
use crate::reader::Reader;

/// What became of a connection, or of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The target has it.
    Moved,
    /// It is not established, or one direction has ended.
    HalfClosed,
    /// A byte in it is marked as urgent.
    Urgent,
    /// Both ends use ECN (RFC 3168), which cannot be restored.
    Ecn,
    /// The kernel did not give its state.
    Unreadable,
    /// It carries more than a message may.
    TooLarge,
    /// The target has no room for it.
    NoRoom,
    /// The target's kernel refused it.
    NotRestored,
    /// The UE's address is none of the target's.
    ForeignUe,
    /// Another transfer of this UE is under way.
    Busy,
    /// The offer is of a version of the protocol that the target does not speak.
    Version,
}

impl Outcome {
    /// All of them, by their numbers in messages.
    pub const ALL: [Self; 11] = [
        Self::Moved,
        Self::HalfClosed,
        Self::Urgent,
        Self::Ecn,
        Self::Unreadable,
        Self::TooLarge,
        Self::NoRoom,
        Self::NotRestored,
        Self::ForeignUe,
        Self::Busy,
        Self::Version,
    ];

    /// Its name in status, metrics and log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::HalfClosed => "half_closed",
            Self::Urgent => "urgent",
            Self::Ecn => "ecn",
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::NoRoom => "no_room",
            Self::NotRestored => "not_restored",
            Self::ForeignUe => "foreign_ue",
            Self::Busy => "busy",
            Self::Version => "version",
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let code = usize::from(from.byte()?);
        Self::ALL.get(code).copied().ok_or(Malformed::Value)
    }
}
