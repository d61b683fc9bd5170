//! What is not split waits at the edge: the queues are [`edge::marker::Holder`]'s, of all UEs at all times.

use crate::pool::Handle;

/// The queues of all UEs.
pub(crate) type Holder = edge::marker::Holder<Handle>;

/// What leaves them.
pub(crate) type Left = edge::marker::Left<Handle>;
