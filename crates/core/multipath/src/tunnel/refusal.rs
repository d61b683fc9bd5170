//! Why a server rejects a Request, and how it answers.

use crate::packet::ResetCode;
use crate::scheduler::PathSet;

/// Why a Request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no Request.
    #[error("it is no Request")]
    NotARequest,
    /// It requests another service.
    #[error("it requests service {0:#010x}, which is not offered here")]
    Service(u32),
    /// It carries neither a key nor a join.
    #[error("it carries neither MP_KEY with a key of a type that is taken here nor MP_JOIN")]
    NotMultipath,
    /// Its key is none: every private key agrees with it on the same.
    #[error("its key agrees with every other on the same")]
    BadKey,
    /// It requires a feature value that is not available.
    #[error("it requires a feature value that is not available here")]
    Features,
    /// It does not state that it is multipath capable.
    #[error("it is not multipath capable (version 0)")]
    NotCapable,
    /// The client did not show that it has the pre-shared key.
    #[error("it does not prove that it has the pre-shared key of a client known here")]
    Credentials,
    /// It joins a connection that is not there.
    #[error("it joins connection {0:#010x}, which is not there")]
    UnknownConnection(u32),
    /// That address has a path already.
    #[error("address number {0} has a path already")]
    AddressInUse(u8),
    /// The same nonce was used for a join before.
    #[error("its nonce was used before")]
    Replayed,
    /// There are as many paths as there may be.
    #[error("there are {} paths already", PathSet::MAX_PATHS)]
    TooManyPaths,
    /// There are as many connections as there may be.
    #[error("there are as many connections as there may be")]
    TooManyConnections,
    /// The connection is closing.
    #[error("the connection is closing")]
    Closing,
    /// The controller of the path is not known.
    #[error("no congestion control has the configured name")]
    Controller,
}

impl Refusal {
    /// The code of the Reset that answers it.
    pub const fn reset_code(self) -> ResetCode {
        match self {
            Self::NotARequest | Self::UnknownConnection(_) => ResetCode::NO_CONNECTION,
            Self::Service(_) => ResetCode::BAD_SERVICE_CODE,
            Self::NotMultipath | Self::NotCapable | Self::BadKey => ResetCode::OPTION_ERROR,
            Self::Features => ResetCode::MANDATORY_ERROR,
            Self::TooManyPaths | Self::TooManyConnections => ResetCode::TOO_BUSY,
            _ => ResetCode::CONNECTION_REFUSED,
        }
    }
}
