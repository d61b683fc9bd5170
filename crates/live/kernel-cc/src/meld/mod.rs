//! MELD round the kernel's Reno and Cubic (`bpf/meld.bpf.c`): user space hands over radio reports, the
//! program decides.
//!
//! The decisions are those of [`cc::meld`], as far as the kernel lets them be; what differs stands at
//! the head of the program and in `docs/algorithms/meld.md`.

use crate::load::map_of;
use crate::{Loaded, Naming, error_of};
use cc::RadioState;
use cc::meld::{Config, Reason, Variant, queue_threshold, tbs_threshold};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/meld.bpf.o"));

/// Reports with losses that the program remembers for a UE.
const MAX_LOSSES: usize = 16;
/// The program's word for losses that are not counted.
const NOT_COUNTED: u64 = u64::MAX;
/// 8-byte words of the program's `struct radio` before its losses.
const RADIO_WORDS: usize = 10;

/// The reasons in the program's order.
const REASONS: [Reason; 9] = [
    Reason::NoReport,
    Reason::Stale,
    Reason::BeyondDelivered,
    Reason::SmallBlocks,
    Reason::LongQueue,
    Reason::NotOnRadio,
    Reason::GoodRadio,
    Reason::LostOnRadio,
    Reason::RepeatedOnRadio,
];

/// Programs of this process, so that each has names of its own.
static LOADED: AtomicU32 = AtomicU32::new(0);

/// What a UE has lost, to be remembered from report to report.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Since the first report.
    total: u64,
    /// When a block was last repeated, ns.
    repeated_at: u64,
    /// Times of reports with losses (ns; 0: none) and what had been lost before.
    recent: [(u64, u64); MAX_LOSSES],
    next: usize,
}

/// The program in the kernel. Connections that have chosen one of its congestion controls keep it.
#[derive(Debug)]
pub struct Meld {
    pdu: Bytes,
    reno: String,
    cubic: String,
    radios: MapHandle,
    decisions: MapHandle,
    losses: BTreeMap<Ipv4Addr, Losses>,
    // dropped last
    _loaded: Loaded,
}

impl Meld {
    /// Loads the program with a variant, for packets of a size.
    ///
    /// # Errors
    /// The kernel's: most often that the rights (`CAP_BPF`, `CAP_NET_ADMIN`) are missing, or that
    /// it is older than 6.4.
    pub fn load(config: Config) -> io::Result<Self> {
        // 22 bits of process id and 6 of its programs are seven digits
        let number = LOADED.fetch_add(1, Ordering::Relaxed) % 64;
        let id = std::process::id() << 6 | number;
        let (reno, cubic) = (format!("brimfulr{id:x}"), format!("brimfulc{id:x}"));
        let naming = |map, compiled, name| Naming {
            map,
            compiled,
            name,
        };
        let controls = [
            naming("reno", "meld-reno", &reno),
            naming("cubic", "meld-cubic", &cubic),
        ];
        let loaded = Loaded::register(PROGRAM, &controls, |object| set(object, config))?;
        Ok(Self {
            pdu: config.pdu,
            radios: loaded.map("radios")?,
            decisions: loaded.map("decisions")?,
            losses: BTreeMap::new(),
            reno,
            cubic,
            _loaded: loaded,
        })
    }

    /// Name of the kernel's congestion control that is MELD round the one of this name, if there is
    /// one: `newreno` and `cubic` have it.
    pub fn name(&self, wrapped: &str) -> Option<&str> {
        match wrapped {
            "newreno" => Some(&self.reno),
            "cubic" => Some(&self.cubic),
            _ => None,
        }
    }

    /// Hands over a report of the UE with this address, whose `made_at` is that of the kernel's
    /// monotonic clock.
    ///
    /// # Errors
    /// The kernel's: that its memory is full.
    pub fn update(&mut self, ue: Ipv4Addr, state: &RadioState) -> io::Result<()> {
        let losses = self.losses.entry(ue).or_default();
        let made_at = state.made_at.as_nanos();
        if let Some(lost @ 1..) = state.lost_packets {
            losses.recent[losses.next] = (made_at.max(1), losses.total);
            losses.next = (losses.next + 1) % MAX_LOSSES;
            losses.total += u64::from(lost);
        }
        if state.harq_retx > 0 {
            losses.repeated_at = made_at;
        }
        let words: [u64; RADIO_WORDS] = [
            made_at,
            state.seq,
            state.period.as_nanos(),
            state.served.get(),
            state.tbs.get(),
            tbs_threshold(self.pdu, state).get(),
            state.queue.get(),
            queue_threshold(state).get(),
            state.lost_packets.map_or(NOT_COUNTED, |_| losses.total),
            losses.repeated_at,
        ];
        let recent = losses.recent.iter().flat_map(|&(at, before)| [at, before]);
        let value: Vec<u8> = words
            .into_iter()
            .chain(recent)
            .flat_map(u64::to_ne_bytes)
            .collect();
        let updated = self.radios.update(&ue.octets(), &value, MapFlags::ANY);
        updated.map_err(|e| error_of(&e))
    }

    /// A UE is gone, or its address is another's: what it lost explains nothing any more.
    pub fn remove(&mut self, ue: Ipv4Addr) {
        self.losses.remove(&ue);
        // it is absent if it was never reported
        let _ = self.radios.delete(&ue.octets());
    }

    /// How often each reason decided, of all connections.
    ///
    /// # Errors
    /// The kernel's.
    pub fn decisions(&self) -> io::Result<Vec<(Reason, u64)>> {
        let count = |(index, reason): (usize, Reason)| {
            let found = self
                .decisions
                .lookup(&(index as u32).to_ne_bytes(), MapFlags::ANY);
            let bytes = found.map_err(|e| error_of(&e))?.unwrap_or_default();
            let bytes = bytes.try_into().unwrap_or_default();
            Ok((reason, u64::from_ne_bytes(bytes)))
        };
        REASONS.into_iter().enumerate().map(count).collect()
    }
}

fn set(object: &Object, config: Config) -> io::Result<()> {
    let variant = match config.variant {
        Variant::DownloadEnhancement => 0u64,
        Variant::MixedEnhancement => 1,
        Variant::Default => 2,
    };
    let words = [variant, config.max_age.as_nanos()];
    let value: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
    let settings = map_of(object, "settings")?;
    let updated = settings.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY);
    updated.map_err(|e| error_of(&e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::sockopt::set_tcp_congestion;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use units::{Duration, Instant};

    fn loaded(variant: Variant) -> Option<Meld> {
        match Meld::load(Config::new(variant, Bytes::new(1_448))) {
            Ok(meld) => Some(meld),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                testing::skip("loading a BPF congestion control", testing::Missing::Root);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn both_controls_carry_a_connection_in_every_variant() {
        for variant in [
            Variant::DownloadEnhancement,
            Variant::MixedEnhancement,
            Variant::Default,
        ] {
            let Some(mut meld) = loaded(variant) else {
                return;
            };
            let state = RadioState {
                tbs: Bytes::new(2_292),
                best_tbs: Bytes::new(2_292),
                harq_processes: 8,
                queue: Bytes::new(30_000),
                served: Bytes::new(18_336),
                harq_retx: 1,
                lost_packets: Some(2),
                period: Duration::from_millis(8),
                seq: 1,
                made_at: Instant::from_nanos(1),
            };
            meld.update(Ipv4Addr::LOCALHOST, &state).expect("updated");
            for wrapped in ["newreno", "cubic"] {
                let name = meld.name(wrapped).expect("it has one").to_owned();
                let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
                let address = listener.local_addr().expect("bound");
                let mut client = TcpStream::connect(address).expect("connected");
                let (mut server, _) = listener.accept().expect("accepted");
                set_tcp_congestion(&server, &name).expect("chosen");
                let received = std::thread::spawn(move || {
                    let mut all = Vec::new();
                    client.read_to_end(&mut all).map(|_| all.len())
                });
                server.write_all(&vec![7; 3_000_000]).expect("sent");
                drop(server);
                assert_eq!(received.join().expect("ended").expect("read"), 3_000_000);
            }
            let decided = meld.decisions().expect("readable");
            assert_eq!(decided.len(), 9);
            meld.remove(Ipv4Addr::LOCALHOST);
            assert_eq!(meld.name("bbr"), None);
        }
    }
}
