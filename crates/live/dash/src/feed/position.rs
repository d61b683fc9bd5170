//! How far a reader has read.

use serde_json::Value;

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
    /// Of a reader that begins with this text: `{"type":"start"}`, or `{"type":"resume","session":S,"after":N}`. None
    /// of any other.
    pub fn parse(text: &str) -> Option<Self> {
        let request: Value = serde_json::from_str(text).ok()?;
        match request.get("type")?.as_str()? {
            "start" => Some(Self::start()),
            "resume" => {
                let session = request.get("session")?.as_str()?;
                Some(Self::resume(session, request.get("after")?.as_u64()?))
            }
            _ => None,
        }
    }

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
