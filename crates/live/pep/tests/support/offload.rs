//! What an interface does of the kernel's work: checksums, cutting and joining of segments.

use super::Namespace;

/// Which of it is on.
#[derive(Clone, Copy, Debug)]
pub struct Offload {
    /// Checksums of what is sent are left to what receives.
    tx: bool,
    /// Checksums of what is received are taken to be right.
    rx: bool,
    /// Super-packets are sent (TSO, GSO).
    cut: bool,
    /// What is received is joined (GRO).
    join: bool,
}

/// Commands of `SIOCETHTOOL` that set (linux/ethtool.h); those that read are one less.
const RX: u32 = 0x15;
const TX: u32 = 0x17;
const TSO: u32 = 0x1f;
const GSO: u32 = 0x24;
const GRO: u32 = 0x2c;

impl Offload {
    /// Each with each, but TSO without checksums, which the kernel does not do: sixteen.
    pub fn combinations() -> impl Iterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            tx: bits & 1 != 0,
            rx: bits & 2 != 0,
            cut: bits & 4 != 0,
            join: bits & 8 != 0,
        })
    }

    /// The four of them in which an interface does the same in both directions.
    pub fn of_both_directions() -> impl Iterator<Item = Self> {
        Self::combinations().filter(|of| of.rx == of.tx && of.join == of.cut)
    }

    /// Sets it at an interface.
    pub fn set(self, host: &Namespace, interface: &str) {
        let set = [
            (TX, self.tx),
            (RX, self.rx),
            (TSO, self.cut && self.tx),
            (GSO, self.cut),
            (GRO, self.join),
        ];
        let calls: String = set
            .iter()
            .map(|(command, is_on)| format!("call({command}, {})\n", u8::from(*is_on)))
            .collect();
        host.sh(&format!(
            "python3 -c '
import array, fcntl, socket, struct
s = socket.socket()
def ioctl(command, value):
    words = array.array(\"I\", [command, value])
    at = words.buffer_info()[0]
    fcntl.ioctl(s, 0x8946, struct.pack(\"16sP16x\", b\"{interface}\", at))
    return words[1]
def call(command, value):
    ioctl(command, value)
    assert ioctl(command - 1, 9) == value, (command, value)
{calls}'"
        ));
    }
}
