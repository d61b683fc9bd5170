//! The channel of one UE, slot by slot.

use crate::adaptation::McsRule;
use crate::cqi_policy::{CqiPolicyError, CqiToMcs};
use crate::tables::{cqi_for_mcs, max_mcs};
use rnis::McsTable;
use units::{BitRate, Bytes, Cqi, Decibel, Duration, Instant, Mcs};

/// What the channel of one UE is in one slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelState {
    /// The CQI that the base station has.
    pub cqi: Cqi,
    /// What the link can carry.
    pub link: Link,
    /// The state is the same in every slot that begins before this time: the cell need not read it
    /// again until then.
    pub holds_until: Instant,
}

/// What a link can carry in one slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// Link adaptation chose an MCS.
    Mcs {
        /// Index into the cell's table.
        mcs: Mcs,
        /// The true SINR now, where it is modelled: it decides the BLER, also of retransmissions.
        sinr: Option<Decibel>,
        /// First-transmission block error rate, 0 to 1. Where SINR is modelled, that of the curve at
        /// this SINR.
        bler: f64,
    },
    /// Exactly so many bytes fit into this slot on the whole carrier (a trace of capacity).
    Opportunity {
        /// Bytes of this slot.
        bytes: Bytes,
        /// The rate averaged over the time around this slot, for reports.
        mean_rate: BitRate,
    },
    /// Nothing can be sent (CQI 0, outage).
    Outage,
}

/// The groups of PRBs of a carrier in one slot.
#[derive(Clone, Copy, Debug)]
pub struct SubBands<'a> {
    /// The CQI that the base station has of each.
    pub cqi: &'a [Cqi],
    /// The true SINR of each now, linear.
    pub sinr: &'a [f32],
    /// From CQI to MCS.
    pub rule: &'a McsRule,
}

/// A source of channel states.
pub trait Channel: Send {
    /// The state in the slot that begins at `slot_start` and lasts `slot`. Called with
    /// non-decreasing times; slots may be left out, and their opportunities are wasted.
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState;

    /// The groups of PRBs in the slot that begins then, at times as for [`Self::state`]; none where all PRBs are
    /// alike.
    fn sub_bands(&mut self, _: Instant) -> Option<SubBands<'_>> {
        None
    }
}

/// Why a constant channel cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The table has no such MCS.
    #[error("MCS {mcs} is not in table {table:?}; choose 0 to {}", max_mcs(*.table))]
    Mcs {
        /// The MCS.
        mcs: Mcs,
        /// The table.
        table: McsTable,
    },
    /// A block error rate that is none.
    #[error("the block error rate is {bler}; choose a number from 0 to 1")]
    Bler {
        /// What was given.
        bler: f64,
    },
    /// The policy has no MCS for this CQI.
    #[error(transparent)]
    Policy(#[from] CqiPolicyError),
}

/// A channel that never changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantChannel(ChannelState);

impl ConstantChannel {
    /// Always this MCS, with this first-transmission block error rate (0 to 1). The CQI is the one
    /// that would have led to it, see [`cqi_for_mcs`].
    ///
    /// # Errors
    /// The table has no such MCS, or the block error rate is outside 0 to 1.
    pub fn mcs(table: McsTable, mcs: Mcs, bler: f64) -> Result<Self, ChannelError> {
        let cqi = cqi_for_mcs(table, mcs).ok_or(ChannelError::Mcs { mcs, table })?;
        Self::new(
            cqi,
            Link::Mcs {
                mcs,
                sinr: None,
                bler: checked(bler)?,
            },
        )
    }

    /// Always this CQI (0 to 15) of the matching CQI table, mapped by the policy, with this
    /// first-transmission block error rate (0 to 1). An outage where the policy sends nothing.
    ///
    /// # Errors
    /// A CQI above 15, a table that the policy does not cover, a block error rate outside 0 to 1.
    pub fn cqi(
        policy: CqiToMcs,
        table: McsTable,
        cqi: Cqi,
        bler: f64,
    ) -> Result<Self, ChannelError> {
        let bler = checked(bler)?;
        let mcs = policy.mcs(table, cqi)?;
        Self::new(
            cqi,
            mcs.map_or(Link::Outage, |mcs| Link::Mcs {
                mcs,
                sinr: None,
                bler,
            }),
        )
    }

    fn new(cqi: Cqi, link: Link) -> Result<Self, ChannelError> {
        Ok(Self(ChannelState {
            cqi,
            link,
            holds_until: Instant::MAX,
        }))
    }
}

fn checked(bler: f64) -> Result<f64, ChannelError> {
    if (0.0..=1.0).contains(&bler) {
        Ok(bler)
    } else {
        Err(ChannelError::Bler { bler })
    }
}

impl Channel for ConstantChannel {
    fn state(&mut self, _: Instant, _: Duration) -> ChannelState {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(channel: Result<ConstantChannel, ChannelError>) -> ChannelState {
        channel
            .unwrap()
            .state(Instant::ZERO, Duration::from_millis(1))
    }

    #[test]
    fn constant_mcs() {
        let seen = state(ConstantChannel::mcs(McsTable::LteQam64, Mcs::new(27), 0.1));
        assert_eq!(seen.cqi, Cqi::new(14));
        assert_eq!(
            seen.link,
            Link::Mcs {
                mcs: Mcs::new(27),
                sinr: None,
                bler: 0.1
            }
        );
        assert_eq!(seen.holds_until, Instant::MAX);
    }

    #[test]
    fn constant_cqi() {
        // OAI: CQI 14 -> MCS 27
        let seen = state(ConstantChannel::cqi(
            CqiToMcs::OaiLte,
            McsTable::LteQam64,
            Cqi::new(14),
            0.0,
        ));
        assert_eq!(
            seen.link,
            Link::Mcs {
                mcs: Mcs::new(27),
                sinr: None,
                bler: 0.0
            }
        );
        // OAI NR sends nothing at CQI 0, OAI LTE uses MCS 0
        let seen = state(ConstantChannel::cqi(
            CqiToMcs::OaiNr,
            McsTable::NrQam64,
            Cqi::new(0),
            0.0,
        ));
        assert_eq!(seen.link, Link::Outage);
        let seen = state(ConstantChannel::cqi(
            CqiToMcs::OaiLte,
            McsTable::LteQam64,
            Cqi::new(0),
            0.0,
        ));
        assert_eq!(
            seen.link,
            Link::Mcs {
                mcs: Mcs::new(0),
                sinr: None,
                bler: 0.0
            }
        );
    }

    #[test]
    fn impossible_values_are_refused() {
        let mcs = |m, bler| ConstantChannel::mcs(McsTable::NrQam256, Mcs::new(m), bler);
        assert_eq!(
            mcs(28, 0.0).unwrap_err().to_string(),
            "MCS 28 is not in table NrQam256; choose 0 to 27"
        );
        for bler in [-0.1, 1.5, f64::NAN] {
            assert!(matches!(mcs(5, bler), Err(ChannelError::Bler { .. })));
        }
        let cqi = ConstantChannel::cqi(CqiToMcs::OaiNr, McsTable::LteQam64, Cqi::new(5), 0.0);
        assert!(matches!(cqi, Err(ChannelError::Policy(_))));
    }
}
