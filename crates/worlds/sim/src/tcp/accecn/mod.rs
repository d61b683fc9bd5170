//! Accurate ECN feedback: the receiver counts what arrived marked, the sender reads its counters.
//!
//! Source: RFC 9768. Counters of packets and of bytes of payload; the names are the RFC's.
//!
//! ```text
//!   data, ECN field -> Counters (r.cep, r.ceb, r.e0b, r.e1b)
//!                         |  ACE: 3 bits of every segment; option: 24 bits of each counter of bytes
//!                         v
//!   controller <- marked bytes <- MarkReader (s.cep, s.ceb, s.e0b, s.e1b)
//! ```
//!
//! | section | here |
//! | --- | --- |
//! | 3.1.1 to 3.1.3, table 2: what SYN and SYN-ACK agree on | [`negotiation`] |
//! | 3.2.1, 3.2: counters and their initial values | [`Counters`] |
//! | 3.2.2, tables 3 and 4: the ACE field and its handshake encoding | [`Ace`] |
//! | 3.2.2.5.1: when a mark is acknowledged at once | [`Counters::on_packet`] |
//! | 3.2.2.3, 3.2.2.4, 3.2.3.2.5: what shows that somebody on the way has changed a field | [`MarkReader`] |
//! | 3.2.2.5.2, appendix A: how often a counter went round; marked bytes of marked packets | [`MarkReader`] |
//! | 3.2.3, table 5, figure 4: the option | [`AccEcnOption`] |
//! | 3.2.3.3: which acknowledgements carry it | [`Counters::option`] |
//!
//! *Deviations*
//! - Packets of the old data (duplicates) and those beyond the window are not acceptable, and not counted.
//! - The option goes with pure acknowledgements, not with data, whose size is fixed.
//! - A connection that gets a SYN of RFC 3168 and one of RFC 9768 in one handshake is not reset (3.1.5): no end here sends both.
//! - A connection all of whose packets come marked is not taken for a broken one (3.2.2.3 suggests such a test).
//! - A path that swallows segments with the option is not looked for (3.2.3.2.2).

mod ace;
mod counters;
mod negotiation;
mod option;
mod reader;

pub(super) use ace::Ace;
pub(super) use counters::Counters;
pub(super) use negotiation::{Agreement, of_syn, of_syn_ack};
pub use option::{AccEcnOption, ByteCounts, FieldOrder};
pub(super) use reader::{AckEvidence, MarkReader};

/// r.cep and s.cep at the beginning (3.2.1).
const INITIAL_CEP: u64 = 5;
