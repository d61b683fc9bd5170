//! How far a reader has read.

/// How far a reader of a feed has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// What it has read before it lost its connection: the session, and the last frame.
    pub(super) resumed: Option<(String, u64)>,
    /// The run that it has read the beginning of; 0 for none.
    pub(super) generation: u64,
    /// The number of the last frame that it has.
    pub(super) after: u64,
    /// Series below this number are known to it.
    pub(super) series: u32,
    /// The table that it has.
    pub(super) table: u64,
    /// It was notified of the end.
    pub(super) has_end: bool,
    /// It has been at the newest frame; from then on it is not to fall behind.
    pub(super) is_current: bool,
}

impl Position {
    /// Of a reader that has read nothing.
    pub fn start() -> Self {
        Self::default()
    }

    /// Of a reader that has read a session up to this frame.
    pub fn resume(session: &str, after: u64) -> Self {
        Self {
            resumed: Some((session.to_owned(), after)),
            ..Self::default()
        }
    }
}
