//! What the proxy is to do, and what a driver answers to it.

use crate::State;
use rapid::{FlowId, WanWindow};
use rnis::{CellId, Rnti};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use units::{BitRate, Bytes};

/// What the driver is to do, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Action {
    /// Take a flow under control, and call [`crate::Edge::on_adopted`].
    Adopt {
        /// The flow.
        flow: FlowId,
    },
    /// A flow's windows.
    Decision(Windows),
    /// The flow is relayed and nothing more from now on: the kernel's congestion control towards the UE, and all
    /// of the receive buffer towards the server.
    Release {
        /// The flow.
        flow: FlowId,
    },
    /// A report was refused.
    Refused {
        /// As [`rnis::intake::Refusal::name`] has it.
        reason: Cow<'static, str>,
    },
    /// A cell's reports have begun, are missing, or have stopped.
    State {
        /// The cell.
        cell: CellId,
        /// Its state until now.
        from: State,
        /// From now on.
        to: State,
    },
    /// A report names a UE that has no address, for the first time: its flows cannot be found.
    Unnamed {
        /// Its cell.
        cell: CellId,
        /// Its number there.
        rnti: Rnti,
    },
}

/// A flow's windows, as decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// The flow.
    pub flow: FlowId,
    /// Towards the server: shown by the rule of [`crate::ServerWindow`].
    pub wan: WanWindow,
    /// Towards the UE.
    pub ran_window: Bytes,
    /// Pacing towards the UE beside the window, if any.
    pub pacing_bps: Option<BitRate>,
    /// Bound of what the socket towards the UE takes and has not sent, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<Bytes>,
    /// Of a flow whose window towards the UE cannot be set: its rate, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_bps: Option<BitRate>,
    /// The flow is held for slow.
    pub is_slow: bool,
}

impl Windows {
    /// Window and pacing towards the UE.
    pub fn allocation(&self) -> cc::Allocation {
        cc::Allocation {
            window: self.ran_window,
            pacing_rate: self.pacing_bps,
        }
    }
}

/// How a driver sets the window towards the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actuator {
    /// By a congestion control that follows it.
    Window,
    /// Not at all: the kernel's congestion control stays, and is paced.
    Pacing,
}

impl Actuator {
    /// Both, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 2] = [Self::Window, Self::Pacing];
    /// The names that scenario files and configurations use.
    pub const NAMES: &'static [&'static str] = &["window", "pacing"];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// What a driver answers to [`Action::Adopt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// Maximum segment size towards the UE.
    pub mss: Bytes,
    /// How its window is set.
    pub actuator: Actuator,
}
