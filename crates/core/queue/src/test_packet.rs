//! A packet for tests.

use crate::{Ecn, Packet};
use units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) bytes: u64,
    pub(crate) flow: u64,
    pub(crate) qfi: u8,
    pub(crate) ecn: Ecn,
    /// Which one of its flow.
    pub(crate) number: u64,
}

impl TestPacket {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            flow: 0,
            qfi: 0,
            ecn: Ecn::NotEct,
            number: 0,
        }
    }
    pub(crate) fn with_flow(self, flow: u64) -> Self {
        Self { flow, ..self }
    }
    pub(crate) fn with_qfi(self, qfi: u8) -> Self {
        Self { qfi, ..self }
    }
    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
    pub(crate) fn of_flow(self, flow: u64) -> Self {
        Self { flow, ..self }
    }
    pub(crate) fn of_qfi(self, qfi: u8) -> Self {
        Self { qfi, ..self }
    }
}

impl Packet for TestPacket {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn qfi(&self) -> u8 {
        self.qfi
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        assert!(
            matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1),
            "{:?} was marked",
            self.ecn
        );
        self.ecn = Ecn::Ce;
    }
}
