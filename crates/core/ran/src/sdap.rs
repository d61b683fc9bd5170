//! SDAP: QoS flows to bearers (TS 37.324 5.3). In LTE, the traffic flow templates of TS 24.301 do
//! the same.

use crate::config::{BearerConfig, Rat};

/// QFIs are 6 bits wide (TS 37.324 6.3.4).
const QFIS: usize = 64;
/// Bytes of the SDAP data PDU header (TS 37.324 6.2.2.2), present in NR in both directions.
const HEADER: u64 = 1;

/// Bytes that SDAP adds to a packet.
pub(crate) const fn header(rat: Rat) -> u64 {
    match rat {
        Rat::Lte => 0,
        Rat::Nr { .. } => HEADER,
    }
}

/// The mapping of one UE.
#[derive(Clone, Debug)]
pub(crate) struct QfiMap {
    bearer: [u8; QFIS],
}

impl QfiMap {
    /// Of the bearers' QFIs; the first bearer takes all that are not named.
    pub(crate) fn new(bearers: &[BearerConfig]) -> Self {
        let mut map = Self { bearer: [0; QFIS] };
        for (index, config) in bearers.iter().enumerate() {
            for &qfi in &config.qfis {
                if let Some(entry) = map.bearer.get_mut(usize::from(qfi)) {
                    *entry = index as u8; // at most 29 bearers
                }
            }
        }
        map
    }
    /// Number of the bearer within the UE. A QFI that cannot be goes to the default bearer.
    pub(crate) fn bearer(&self, qfi: u8) -> u32 {
        self.bearer
            .get(usize::from(qfi))
            .copied()
            .unwrap_or(0)
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queue::Capacity;

    #[test]
    fn unnamed_flows_go_to_the_first_bearer() {
        let bearer = |qfis: &[u8]| BearerConfig {
            qfis: qfis.to_vec(),
            ..BearerConfig::am(Rat::Lte, Capacity::Unlimited)
        };
        let map = QfiMap::new(&[bearer(&[]), bearer(&[5, 63])]);
        assert_eq!(
            [0, 4, 5, 63, 64, 255].map(|qfi| map.bearer(qfi)),
            [0, 0, 1, 1, 0, 0]
        );
    }
}
