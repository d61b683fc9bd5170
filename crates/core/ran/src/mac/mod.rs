//! MAC: transport blocks, HARQ, and the division of PRBs.

pub(crate) mod block;
pub(crate) mod groups;
pub(crate) mod harq;
pub(crate) mod scheduler;
pub(crate) mod tables;
