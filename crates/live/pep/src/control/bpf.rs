//! The congestion control in the kernel, and the memory that it shares with the control thread.
//!
//! ```text
//!   control array    <- window, pacing rate          (written here, read by the program)
//!   telemetry array  -> acknowledged, RTTs, cwnd ... (written by the program, read here; only the
//!                       first values are written here)
//!   touched array    -> which connections that was written of since it was last read
//!   socket storage   <- which slot of the arrays     (one system call a connection)
//! ```

use crate::registry::lock;
use crate::slots::{SLOTS, Slot, Slots};
use crate::sys::SharedWords;
use crate::touched::Touched;
use kernel_cc::{Loaded, Naming, is_registered};
use libbpf_rs::MapHandle;
use rustix::net::sockopt;
use socket_options::{TcpInfo, tcp_info};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

/// A name has seven digits at most.
const MAX_NUMBER: u32 = 10_000_000;
/// 8-byte words of a control slot and of a telemetry slot, as in the program.
const CONTROL_WORDS: usize = 4;
const TELEMETRY_WORDS: usize = 8;

/// What the program last measured of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Measured {
    /// Payload acknowledged, bytes.
    pub(super) bytes_acked: u64,
    /// Payload sent again, bytes.
    pub(super) bytes_resent: u64,
    /// Smoothed round-trip time, us; 0: not measured.
    pub(super) srtt: u32,
    /// Least round-trip time, us; 0 or `u32::MAX`: not measured.
    pub(super) min_rtt: u32,
    /// Congestion window, bytes.
    pub(super) cwnd: u32,
    /// The UE's receive window, bytes.
    pub(super) peer_window: u32,
}

/// The loaded program. The congestion control can be chosen as long as this lives; connections
/// that have it keep it, and go on with their last window.
pub(super) struct Kernel {
    name: String,
    places: MapHandle,
    arrays: Arc<Arrays>,
    // dropped last
    _loaded: Loaded,
}

/// The memory that is shared with the program, and which of its slots are free.
struct Arrays {
    control: SharedWords,
    telemetry: SharedWords,
    touched: Arc<Touched>,
    slots: Mutex<Slots>,
}

/// A connection's place in the arrays, for as long as this lives.
pub(super) struct FollowSlot {
    arrays: Arc<Arrays>,
    slot: Slot,
}

impl std::fmt::Debug for FollowSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FollowSlot").field(&self.slot).finish()
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).finish()
    }
}

impl Kernel {
    /// Loads and registers the program under a name of this process.
    ///
    /// # Errors
    /// The kernel's: most often that the rights (`CAP_BPF`, `CAP_NET_ADMIN`) are missing.
    pub(super) fn load() -> io::Result<Self> {
        let name = free_name(std::process::id());
        let control = Naming {
            map: "follow",
            compiled: "brimful",
            name: &name,
        };
        let loaded = Loaded::register(kernel_cc::follow::PROGRAM, &[control], |_| Ok(()))?;
        let places = loaded.map("places")?;
        let words = |map: &str, words: usize| {
            let map = loaded.map(map)?;
            SharedWords::map(map.as_fd(), words)
        };
        let of_all = |each: usize| SLOTS as usize * each;
        let arrays = Arrays {
            control: words("control", of_all(CONTROL_WORDS))?,
            telemetry: words("telemetry", of_all(TELEMETRY_WORDS))?,
            touched: Arc::new(Touched::new(words("touched", Touched::words(SLOTS))?)),
            slots: Mutex::new(Slots::new(SLOTS)),
        };
        Ok(Self {
            name,
            places,
            arrays: Arc::new(arrays),
            _loaded: loaded,
        })
    }

    /// Name of the congestion control.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Which connections have moved.
    pub(super) fn touched(&self) -> &Arc<Touched> {
        &self.arrays.touched
    }

    /// Takes a connection under control: its window stays as it is until one is set.
    ///
    /// # Errors
    /// The kernel's, or that all slots are taken.
    pub(super) fn take(&self, socket: &OwnedFd) -> io::Result<FollowSlot> {
        let slot = lock(&self.arrays.slots).take()?;
        let arrays = Arc::clone(&self.arrays);
        let taken = FollowSlot { arrays, slot };
        taken.clear();
        // what the program will report, until it does: a connection may stand still for long
        if let Ok(info) = tcp_info(socket) {
            taken.preset(&info);
        }
        slot.assign(&self.places, socket)?;
        sockopt::set_tcp_congestion(socket, &self.name)?;
        Ok(taken)
    }
}

/// The name of a process, of which another may have it already: processes of other PID namespaces have the same numbers, and
/// before Linux 6.4 one that is killed leaves its name.
fn free_name(process: u32) -> String {
    let mut numbers = process..MAX_NUMBER;
    let free = numbers.find(|number| !is_registered(&name_of(*number)));
    name_of(free.unwrap_or(process))
}

fn name_of(number: u32) -> String {
    format!("brimful_{number}")
}

impl FollowSlot {
    fn clear(&self) {
        for word in self.telemetry() {
            word.store(0, Relaxed);
        }
        let [window, pacing_rate, usage, _] = self.control() else {
            return;
        };
        window.store(0, Relaxed);
        pacing_rate.store(0, Relaxed);
        usage.store(u64::from(self.slot.usage), Release);
    }

    fn preset(&self, info: &TcpInfo) {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words = self.telemetry();
        words[0].store(info.bytes_acked, Relaxed);
        words[2].store(pair(info.rtt, info.min_rtt), Relaxed);
        let cwnd = info.snd_cwnd.saturating_mul(info.snd_mss);
        words[3].store(pair(cwnd, info.snd_wnd), Relaxed);
        words[6].store(info.bytes_retrans, Relaxed);
    }

    /// Its place in the arrays.
    pub(super) fn place(&self) -> u32 {
        self.slot.index
    }

    fn control(&self) -> &[AtomicU64] {
        let start = self.slot.index as usize * CONTROL_WORDS;
        &self.arrays.control.words()[start..start + CONTROL_WORDS]
    }

    fn telemetry(&self) -> &[AtomicU64] {
        let start = self.slot.index as usize * TELEMETRY_WORDS;
        &self.arrays.telemetry.words()[start..start + TELEMETRY_WORDS]
    }

    /// Sets window (bytes) and pacing rate (byte/s; 0: none); they act at the next acknowledgement.
    pub(super) fn set(&self, window: u64, pacing_rate: u64) {
        let words = self.control();
        words[0].store(window, Relaxed);
        words[1].store(pacing_rate, Relaxed);
    }

    /// What the program last measured; before the first acknowledgement, what the kernel had at the start.
    pub(super) fn measured(&self) -> Measured {
        let words = self.telemetry();
        let word = |i: usize| words[i].load(Relaxed);
        let halves = |i: usize| (word(i) as u32, (word(i) >> 32) as u32);
        let (srtt, min_rtt) = halves(2);
        let (cwnd, peer_window) = halves(3);
        Measured {
            bytes_acked: word(0),
            bytes_resent: word(6),
            srtt,
            min_rtt,
            cwnd,
            peer_window,
        }
    }
}

impl Drop for FollowSlot {
    fn drop(&mut self) {
        if let Some(usage) = self.control().get(2) {
            usage.store(0, Release);
        }
        lock(&self.arrays.slots).give_back(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// The program, unless this process may not load it.
    fn kernel() -> Option<Kernel> {
        match Kernel::load() {
            Ok(kernel) => Some(kernel),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                testing::skip("loading a BPF congestion control", testing::Missing::Root);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_used() {
        let process = std::process::id();
        let Some(first) = kernel() else { return };
        assert!(is_registered(first.name()));
        let second = free_name(process);
        assert_ne!(second, first.name());
        assert!(!is_registered(&second));
        drop(first);
        assert_eq!(free_name(process), name_of(process));
    }

    #[test]
    fn cwnd_follows_the_window_and_the_program_reports_telemetry() {
        let Some(kernel) = kernel() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        let server = OwnedFd::from(server);
        let slot = kernel.take(&server).expect("taken");
        assert!(slot.measured().cwnd > 0, "measured before anything is set");
        let mut server = TcpStream::from(server);
        let mut client = client;
        for window in [600_000u64, 200_000, 400_000] {
            slot.set(window, 0);
            let mut received = [0; 60_000];
            server.write_all(&received).expect("sent");
            client.read_exact(&mut received).expect("received");
            let measured = testing::wait_for("cwnd is the window", || {
                server.write_all(&[0]).expect("sent");
                client.read_exact(&mut received[..1]).expect("received");
                let measured = slot.measured();
                // rounded to segments, which are 64 kB on the loopback interface
                let is_close = u64::from(measured.cwnd).abs_diff(window) <= 66_000;
                is_close.then_some(measured)
            });
            assert!(measured.min_rtt > 0, "{measured:?}");
        }
        assert!(slot.measured().bytes_acked > 100_000);
        let mut touched = Vec::new();
        kernel.touched().take(|place| touched.push(place));
        assert_eq!(touched, [slot.place()], "acknowledgements are reported");
        let words = FollowSlot {
            arrays: Arc::clone(&slot.arrays),
            slot: slot.slot,
        };
        drop(slot);
        let last = words.measured();
        server.write_all(&[0; 1000]).expect("sent");
        let mut received = [0; 1000];
        client.read_exact(&mut received).expect("received");
        assert_eq!(
            words.measured(),
            last,
            "a slot that was given back is not written"
        );
    }
}
