//! The marker of an interface.

use crate::attachment::{Attachment, Role};
use crate::hold::Holds;
use crate::interface::Interface;
use crate::order::{LETTER, LETTERS, NAME, ORDER, name, words};
use crate::settings::UES;
use crate::{Counts, Hold, Holding, MarkerError, Settings, Way, counts};
use edge::marker::{Order, Prediction, UeMarker};
use kernel_cc::{Loaded, error_of};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput, ProgramOutput};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The compiled program.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/marker.bpf.o"));
/// Its part that sees packets, and the one that reads letters.
const MARK: &str = "mark_packet";
const TAKE: &str = "take_letters";
/// A frame that the second one is run on: what is in it does not count.
const FRAME: [u8; 64] = [0; 64];
/// Bytes before the letters: how many there are.
const HEAD: usize = 8;
const ONLY: [u8; 4] = [0; 4];

/// Packets that leave an interface are marked by the orders of their UEs, until this is dropped or its process ends:
/// then they are forwarded as they are.
///
/// All methods may be called from any thread.
pub struct Marker {
    interface: String,
    settings: Settings,
    ways: &'static [Way],
    program: OwnedFd,
    ues: MapHandle,
    letters: MapHandle,
    of_packets: MapHandle,
    choices: MapHandle,
    holds: Holds,
    state: Mutex<State>,
}

/// What one thread at a time may use.
struct State {
    loaded: Loaded,
    /// UEs that have an entry.
    admitted: u32,
    /// What is written to the program, kept for its memory.
    bytes: Vec<u8>,
    attachment: Option<Attachment>,
}

impl std::fmt::Debug for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Marker")
            .field("interface", &self.interface)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Marker {
    /// Loads the program and has it run for what leaves an interface: tcx, or clsact where the kernel has no tcx.
    ///
    /// # Errors
    /// What is wrong with the request, or that the machine cannot do it.
    pub fn attach(interface: &str, settings: &Settings) -> Result<Self, MarkerError> {
        Self::attach_by(interface, settings, &[Way::Tcx, Way::Clsact])
    }

    /// The same by the first of these ways that the kernel has.
    pub(crate) fn attach_by(
        interface: &str,
        settings: &Settings,
        ways: &'static [Way],
    ) -> Result<Self, MarkerError> {
        if !UES.contains(&settings.max_ues) {
            return Err(MarkerError::MaxUes {
                count: settings.max_ues,
            });
        }
        let interface = Interface::named(interface)?;
        let marker = Self::detached(&interface, settings, ways)?;
        marker.lock().attachment = marker.attachment_at(&interface)?;
        Ok(marker)
    }

    /// Loaded, to be attached.
    pub(crate) fn detached(
        interface: &Interface,
        settings: &Settings,
        ways: &'static [Way],
    ) -> Result<Self, MarkerError> {
        let loaded = load(settings, interface).map_err(MarkerError::kernel("the program"))?;
        let map = |name| loaded.map(name).map_err(MarkerError::kernel("a map"));
        let program = loaded.program_named(MARK);
        let program = program.map_err(MarkerError::kernel("the program"))?;
        Ok(Self {
            interface: interface.name.clone(),
            settings: *settings,
            ways,
            ues: map("ues")?,
            letters: map("letters")?,
            of_packets: map("counts")?,
            choices: map("choices")?,
            holds: Holds::new(map("holdings")?, map("holds")?),
            program,
            state: Mutex::new(State {
                loaded,
                admitted: 0,
                bytes: Vec::new(),
                attachment: None,
            }),
        })
    }

    fn attachment_at(&self, interface: &Interface) -> Result<Option<Attachment>, MarkerError> {
        let takes_over = self.settings.takes_over;
        Attachment::new(
            interface,
            Role::MARKER,
            takes_over,
            &self.program,
            self.ways,
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How packets of a UE are judged from now on. Times are of CLOCK_MONOTONIC ([`crate::on_clock_of_kernel`]).
    ///
    /// # Errors
    /// No room for another UE, or the kernel's.
    pub fn set_order(&self, ue: IpAddr, order: &Order) -> Result<(), MarkerError> {
        self.set_orders(&[(ue, *order)])
    }

    /// The same of many UEs, with two system calls for each 256 of them that have an entry already.
    ///
    /// # Errors
    /// As of one; the orders for which there is room are set nevertheless.
    pub fn set_orders(&self, orders: &[(IpAddr, Order)]) -> Result<(), MarkerError> {
        let mut state = self.lock();
        self.attach_again(&mut state)?;
        self.give(&mut state, orders)
    }

    /// A successor attaches as soon as its predecessor is gone.
    fn attach_again(&self, state: &mut State) -> Result<(), MarkerError> {
        if state.attachment.is_none() {
            state.attachment = self.attachment_at(&Interface::named(&self.interface)?)?;
        }
        Ok(())
    }

    /// Packets of UEs that are held are handed over like that from now on; also attaches the program where a predecessor has
    /// been.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_holding(&self, holding: Holding) -> Result<(), MarkerError> {
        self.attach_again(&mut self.lock())?;
        let set = self.holds.set_holding(holding);
        set.map_err(MarkerError::kernel("who holds packets"))
    }

    /// A UE's packets are handed over from now on instead of being judged. `now`: CLOCK_MONOTONIC, ns.
    ///
    /// # Errors
    /// The kernel's; more UEs than there may be.
    pub fn hold(&self, ue: IpAddr, hold: Hold, now: u64) -> Result<(), MarkerError> {
        let set = self.holds.set(ue, hold, now);
        set.map_err(MarkerError::kernel("to hold packets of a UE"))
    }

    /// When a packet of a UE was handed over last, CLOCK_MONOTONIC, ns; none if it is not held.
    ///
    /// # Errors
    /// The kernel's.
    pub fn redirected_at(&self, ue: IpAddr) -> Result<Option<u64>, MarkerError> {
        let found = self.holds.redirected_at(ue);
        found.map_err(MarkerError::kernel("when a packet was held"))
    }

    /// A UE's packets are no longer handed over.
    ///
    /// # Errors
    /// The kernel's.
    pub fn let_go(&self, ue: IpAddr) -> Result<(), MarkerError> {
        let removed = self.holds.remove(ue);
        removed.map_err(MarkerError::kernel("to hold no packets of a UE"))
    }

    /// Index of the interface, and whether its packets begin with an Ethernet header.
    ///
    /// # Errors
    /// There is none of its name.
    pub fn link(&self) -> Result<(u32, bool), MarkerError> {
        let interface = Interface::named(&self.interface)?;
        Ok((interface.index, interface.link_header > 0))
    }

    fn give(&self, state: &mut State, orders: &[(IpAddr, Order)]) -> Result<(), MarkerError> {
        let mut left_out = Vec::new();
        for part in orders.chunks(LETTERS) {
            let set = self.deliver(state, part, &mut left_out);
            set.map_err(MarkerError::kernel("an order"))?;
        }
        match left_out.first() {
            None => Ok(()),
            Some(ue) => Err(MarkerError::Full {
                ue: *ue,
                max_ues: self.settings.max_ues,
                left_out: left_out.len(),
            }),
        }
    }

    /// The program takes each order under the lock of its UE, and says which UEs have no entry.
    fn deliver(
        &self,
        state: &mut State,
        orders: &[(IpAddr, Order)],
        left_out: &mut Vec<IpAddr>,
    ) -> io::Result<()> {
        let State { loaded, bytes, .. } = state;
        // what is beyond these letters is not read
        bytes.resize(HEAD + LETTERS * LETTER, 0);
        bytes[..HEAD].copy_from_slice(&(orders.len() as u64).to_ne_bytes());
        let places = bytes[HEAD..].as_chunks_mut::<LETTER>().0.iter_mut();
        for (place, (ue, order)) in places.zip(orders) {
            place[..NAME].copy_from_slice(&name(*ue));
            place[NAME + 4..].copy_from_slice(&words(order));
        }
        let written = self.letters.update(&ONLY, bytes, MapFlags::ANY);
        written.map_err(|e| error_of(&e))?;
        let input = ProgramInput {
            data_in: Some(&FRAME),
            ..ProgramInput::default()
        };
        let missing = loaded.run_with(TAKE, input)?.return_value;
        if missing == 0 {
            return Ok(());
        }
        let read = self.letters.lookup(&ONLY, MapFlags::ANY);
        let read = read.map_err(|e| error_of(&e))?.unwrap_or_default();
        let letters = read.get(HEAD..).unwrap_or_default().chunks_exact(LETTER);
        for ((ue, order), letter) in orders.iter().zip(letters) {
            if letter[NAME..NAME + 4] == [0; 4] {
                continue;
            }
            if state.admitted >= self.settings.max_ues {
                left_out.push(*ue);
                continue;
            }
            self.admit(*ue, order)?;
            state.admitted += 1;
        }
        Ok(())
    }

    /// A UE's entry: its lock, its order, and nothing known of its packets.
    fn admit(&self, ue: IpAddr, order: &Order) -> io::Result<()> {
        let mut entry = vec![0; 8 + ORDER + UeMarker::WORDS * 8];
        entry[8..8 + ORDER].copy_from_slice(&words(order));
        let admitted = self.ues.update(&name(ue), &entry, MapFlags::ANY);
        admitted.map_err(|e| error_of(&e))
    }

    /// What the radio of a UE carries of packets that are not split, and how long one that comes at `now` (CLOCK_MONOTONIC,
    /// ns) would wait; none without a valid order.
    ///
    /// # Errors
    /// The kernel's.
    pub fn prediction(&self, ue: IpAddr, now: u64) -> Result<Option<Prediction>, MarkerError> {
        // under the lock of the UE, so that all words are of one packet
        let found = self.ues.lookup(&name(ue), MapFlags::LOCK);
        let found = found.map_err(|e| MarkerError::kernel("a UE")(error_of(&e)))?;
        Ok(found.and_then(|entry| prediction_of(&entry, now)))
    }

    /// Packets of a UE are forwarded as they are from now on, and what is known of its flows is forgotten. One that has no
    /// order stays as it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, ue: IpAddr) -> Result<(), MarkerError> {
        let mut state = self.lock();
        match self.ues.delete(&name(ue)) {
            Ok(()) => {
                state.admitted = state.admitted.saturating_sub(1);
                Ok(())
            }
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(MarkerError::kernel("to remove a UE")(error_of(&error))),
        }
    }

    /// What has been counted so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&self) -> Result<Counts, MarkerError> {
        let found = self.of_packets.lookup_percpu(&ONLY, MapFlags::ANY);
        let found = found.map_err(|e| MarkerError::kernel("its counts")(error_of(&e)))?;
        Ok(counts::sum(&found.unwrap_or_default()))
    }

    /// How it is attached now.
    pub fn way(&self) -> Way {
        let state = self.lock();
        state
            .attachment
            .as_ref()
            .map_or(Way::Waiting, Attachment::way)
    }

    /// Runs the program on a frame as it leaves the interface, so often: how long it takes, on average. The frame is judged and
    /// counted each time, and goes nowhere.
    ///
    /// # Errors
    /// The kernel's.
    pub fn time(&self, frame: &[u8], times: u32) -> Result<Duration, MarkerError> {
        let input = ProgramInput {
            data_in: Some(frame),
            repeat: times,
            ..ProgramInput::default()
        };
        Ok(self.run(input)?.duration)
    }

    pub(crate) fn run<'a>(
        &self,
        input: ProgramInput<'a>,
    ) -> Result<ProgramOutput<'a>, MarkerError> {
        let output = self.lock().loaded.run_with(MARK, input);
        output.map_err(MarkerError::kernel("to run the program"))
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// To be called now and then (each second): attaches it again where the interface has gone and come back. True if it
    /// did.
    ///
    /// # Errors
    /// As of [`attach`](Self::attach).
    pub fn refresh(&self) -> Result<bool, MarkerError> {
        let mut state = self.lock();
        let interface = Interface::named(&self.interface)?;
        if state.attachment.as_ref().map(Attachment::interface) == Some(&interface) {
            return Ok(false);
        }
        state.attachment = None;
        let chosen = choose(&self.choices, &self.settings, &interface);
        chosen.map_err(MarkerError::kernel("its settings"))?;
        state.attachment = self.attachment_at(&interface)?;
        Ok(state.attachment.is_some())
    }
}

/// Of an entry: lock, order, state.
fn prediction_of(entry: &[u8], now: u64) -> Option<Prediction> {
    let words = entry.get(8..)?.as_chunks::<8>().0.iter();
    let words: Vec<u64> = words.map(|word| u64::from_ne_bytes(*word)).collect();
    let (order, state) = words.split_first_chunk()?;
    UeMarker::predict_of(state, &Order::of_words(*order), now)
}

/// What tests look at.
#[cfg(test)]
impl Marker {
    pub(crate) fn give_all(&self, orders: &[(IpAddr, Order)]) -> Result<(), MarkerError> {
        self.give(&mut self.lock(), orders)
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    fn entry(&self, ue: IpAddr) -> Vec<u64> {
        let entry = self.ues.lookup(&name(ue), MapFlags::ANY).expect("read");
        let entry = entry.expect("an entry");
        let words = entry.as_chunks::<8>().0.iter();
        words.map(|word| u64::from_ne_bytes(*word)).collect()
    }

    pub(crate) fn order(&self, ue: IpAddr) -> Vec<u64> {
        self.entry(ue)[1..11].to_vec()
    }

    pub(crate) fn state(&self, ue: IpAddr) -> Vec<u64> {
        self.entry(ue)[11..].to_vec()
    }

    pub(crate) fn put(&self, ue: IpAddr, order: &Order, state: &[u64]) {
        let mut entry = [[0; 8].as_slice(), &words(order)].concat();
        entry.extend(state.iter().flat_map(|word| word.to_ne_bytes()));
        let put = self.ues.update(&name(ue), &entry, MapFlags::ANY);
        put.expect("put");
    }
}

/// The program in the kernel, not attached.
fn load(settings: &Settings, interface: &Interface) -> io::Result<Loaded> {
    let sizes = [("ues", settings.max_ues), ("holds", settings.max_ues)];
    let prepare = |object: &Object| {
        let map = object.maps().find(|map| map.name() == "choices");
        let map = map.ok_or_else(|| io::Error::other("the program has no map choices"))?;
        choose(&map, settings, interface)
    };
    Loaded::register_sized(PROGRAM, &[], &sizes, prepare)
}

/// Hands the program what it is to know (`struct choices`).
fn choose(to: &impl MapCore, settings: &Settings, interface: &Interface) -> io::Result<()> {
    // which flows share a bucket is not to be foreseen
    let seed = RandomState::new().build_hasher().finish() as u32;
    let words = [
        interface.link_header,
        u32::from(settings.splits_tcp),
        seed,
        settings.inside.bits(),
    ];
    let bytes = words.map(u32::to_ne_bytes);
    let chosen = to.update(&ONLY, bytes.as_flattened(), MapFlags::ANY);
    chosen.map_err(|e| error_of(&e))
}
