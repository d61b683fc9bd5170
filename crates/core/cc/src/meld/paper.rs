//! Equations 1 and 2 of the paper.

use crate::RadioState;
use units::Bytes;

/// S_TB = T_PDU / N_HARQ, the least block with which a packet passes without waiting for HARQ
/// (equation 1), rounded up.
pub fn tbs_threshold(pdu: Bytes, radio: &RadioState) -> Bytes {
    let processes = u64::from(radio.harq_processes).max(1);
    Bytes::new(pdu.get().div_ceil(processes))
}

/// Q_th = S_TBm N_HARQ (equation 2).
pub fn queue_threshold(radio: &RadioState) -> Bytes {
    radio.best_tbs * u64::from(radio.harq_processes)
}

/// Equation 1 holds: D_TBS >= S_TB.
pub(super) fn has_large_blocks(pdu: Bytes, radio: &RadioState) -> bool {
    radio.tbs >= tbs_threshold(pdu, radio)
}

/// Equation 2 does not hold: S_TxQueue >= Q_th.
pub(super) fn has_long_queue(radio: &RadioState) -> bool {
    radio.queue >= queue_threshold(radio)
}
