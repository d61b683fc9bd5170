//! ETSI GS MEC 012 version 2: what its queries answer, what its subscriptions notify.
//!
//! ```text
//!   RadioReport -> RadioView --> Query --> rab_info, layer2_meas      (JSON)
//!                     |          NetworkProfile -> plmn_info, s1_bearer_info
//!                     v
//!   RadioEvent ---> Subscription::notification --> RabEstNotification ...
//! ```
//!
//! This module is data in, data out: the HTTP of it is in crate `rnis-server`. Field names are the
//! standard's. What the radio report does not contain (preambles, packet discards, delays, everything of
//! the uplink) is left out of answers rather than filled in.

mod answer;
mod kind;
mod notification;
mod profile;
mod query;
mod subscription;
mod types;
mod view;

pub use answer::Answer;
pub use kind::Kind;
pub use notification::{LinkForm, expiry_notification, test_notification};
pub use profile::{CellIdentity, DEFAULT_BEARER, ECI_BITS, NCI_BITS, NetworkProfile, UeProfile};
pub use query::{Query, QueryError, QueryKind, Snapshot};
pub use subscription::{Delivery, Filter, Subscription, SubscriptionError};
pub use types::{AssociateId, Ecgi, Nrcgi, Plmn, TimeStamp, bit_string, is_cell, names_cell};
pub use view::{CellView, Cells, MAX_UES, MAX_UES_PER_CELL, RadioView, UeView, WINDOW, Window};
