//! The side of the tunnel where the packets come from and go to: the TUN device.

use crate::arena::Arena;
use crate::config::{Config, Encryption};
use crate::error::TunnelError;
use crate::inner::{self, Inner};
use crate::output::{DeviceWriter, Output};
use crate::pieces::{CutCounts, Cutter, second_of};
use crate::setup::{self, Facts, Guard, Setup};
use bytes::Bytes;
use multipath::class::Class;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun::pieces::Joiner;
use tun::{Coalescer, Device, VnetHeader, split};
use units::Instant;

/// Packets of the device read before what came is sent on: each may be 64 kB. So many of the largest, and more of small
/// ones, which are put together.
const READS: usize = 8;
const SMALL_READS: usize = 32;
const READ_BYTES: usize = READS * 65_536;
/// Room for the segments of one packet of the device.
const ROOM: usize = 200_000;
/// Answers to packets that are too large, in a second.
const TOO_BIG_A_SECOND: u32 = 100;

/// What the device has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct InsideCounters {
    /// Packets that came out of it, after segmentation.
    pub(crate) read_packets: u64,
    /// Their bytes.
    pub(crate) read_bytes: u64,
    /// Packets that went into it, before they were put together.
    pub(crate) written_packets: u64,
    /// Their bytes.
    pub(crate) written_bytes: u64,
    /// Calls that took them.
    pub(crate) writes: u64,
    /// Calls that failed, for example while the device is down.
    pub(crate) failed_writes: u64,
    /// Packets that were larger than the paths take.
    pub(crate) too_big: u64,
    /// What could not be cut.
    pub(crate) malformed: u64,
    /// Segment sizes that were lowered in SYNs.
    pub(crate) clamped: u64,
    /// Pieces that were no part of a packet: cut short, or contradicting others.
    pub(crate) malformed_pieces: u64,
    /// Pieces that had come before.
    pub(crate) repeated_pieces: u64,
    /// Pieces whose packet was never whole.
    pub(crate) incomplete_pieces: u64,
}

/// The device, and the memory of packets that come out of it.
#[derive(Debug)]
pub(crate) struct Inside {
    /// Before the device: what is undone may need it.
    _guard: Guard,
    device: Arc<Device>,
    writer: DeviceWriter,
    name: String,
    buffer: Box<[u8]>,
    arena: Arena,
    lengths: Vec<usize>,
    coalescer: Coalescer<Inner>,
    /// None without encryption.
    cutter: Option<Cutter>,
    /// The device's MTU.
    mtu: usize,
    /// Largest packet that the paths take: less, where the device may have no smaller MTU.
    inner: usize,
    /// Answers to packets that are too large: in this second, so many.
    answered: (u64, u32),
    counters: InsideCounters,
}

impl Inside {
    /// Makes the device and sets it up, and the system around it; `setup` keeps what was done.
    ///
    /// # Errors
    /// No such device can be made here, or a program refuses what is configured: then everything is undone.
    pub(crate) fn open(
        config: &Config,
        mtu: usize,
        setup: &Setup,
        output: &Output,
    ) -> Result<Self, TunnelError> {
        let name = &config.tun.name;
        let steps = setup::steps(config, mtu, &Facts::gather(config));
        let steps = steps.map_err(|error| {
            TunnelError::system("the system cannot be set up", io::Error::other(error))
        })?;
        let device = Device::create(name, true).map_err(|error| {
            TunnelError::system(format!("cannot make the TUN device {name}"), error)
        })?;
        let device = Arc::new(device);
        let coalescer = Coalescer::new(device.segments_udp());
        let guard = Guard::new(setup);
        setup.apply(steps)?;
        Ok(Self {
            _guard: guard,
            writer: DeviceWriter::new(Arc::clone(&device), output.clone()),
            device,
            name: name.clone(),
            buffer: vec![0; Device::MAX_READ_BYTES].into(),
            arena: Arena::new(),
            lengths: Vec::new(),
            coalescer,
            cutter: (config.encryption == Encryption::On).then(Cutter::new),
            mtu,
            inner: mtu,
            answered: (0, 0),
            counters: InsideCounters::default(),
        })
    }

    /// The device's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has counted.
    pub(crate) fn counters(&self) -> InsideCounters {
        let (writes, failed_writes) = self.writer.counters();
        InsideCounters {
            writes,
            failed_writes,
            ..self.counters
        }
    }

    /// Largest packet that the paths take, bytes.
    pub(crate) fn mtu(&self) -> usize {
        self.mtu
    }

    /// The paths take packets of `inner` bytes: the kernel fragments, and notifies senders, by the MTU of the device.
    pub(crate) fn set_mtu(&mut self, mtu: usize, inner: units::Bytes) {
        self.inner = usize::try_from(inner.get()).unwrap_or(mtu).min(mtu);
        if mtu == self.mtu {
            return;
        }
        let words = format!("ip link set dev {} mtu {mtu}", self.name);
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        match setup::execute(&words) {
            Ok(()) => tracing::info!(device = self.name, mtu, was = self.mtu, "MTU changed"),
            Err(error) => tracing::warn!(%error, "the MTU of the device stays"),
        }
        self.mtu = mtu;
    }

    /// Hands what has come out of the device to `take`, as packets no larger than the MTU, each with the class that `class` gives
    /// what came by its headers and bytes; `backlog` packets wait for a path. To be called at [`Self::next_deadline`] too, and
    /// when [`Self::is_due`].
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        backlog: usize,
        mut class: impl FnMut(&[u8], usize) -> Class,
        mut take: impl FnMut(Inner, Class),
    ) -> Result<(), TunnelError> {
        let second = second_of(now);
        let (reads, mut bytes) = match self.cutter {
            Some(_) => (SMALL_READS, 0),
            None => (READS, 0),
        };
        let mut count = 0;
        while count < reads && bytes < READ_BYTES {
            let length = match self.device.read(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let what = format!("cannot read from the device {}", self.name);
                    return Err(TunnelError::system(what, error));
                }
            };
            count += 1;
            bytes += length;
            self.take_apart(second, length, &mut class, &mut take);
        }
        if let Some(cutter) = &mut self.cutter {
            cutter.settle(now, backlog, self.mtu, &mut self.arena, &mut take);
        }
        Ok(())
    }

    /// When [`Self::read`] is to be called although nothing has come.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.cutter.as_ref().and_then(Cutter::next_deadline)
    }

    /// Something is held that may be no longer, with so many packets that wait for a path.
    pub(crate) fn is_due(&self, backlog: usize) -> bool {
        self.cutter
            .as_ref()
            .is_some_and(|cutter| cutter.is_due(backlog))
    }

    /// Packets of a flow travel in pieces.
    pub(crate) fn uses_pieces(&self) -> bool {
        self.cutter.is_some()
    }

    /// The device takes UDP in large pieces.
    pub(crate) fn segments_udp(&self) -> bool {
        self.device.segments_udp()
    }

    /// Cuts what the device hands over in one piece. False: it is to be split into packets.
    fn cut(
        &mut self,
        second: u64,
        length: usize,
        class: Class,
        take: &mut impl FnMut(Inner, Class),
    ) -> bool {
        let (Some(cutter), Some((header, data))) =
            (&mut self.cutter, self.buffer[..length].split_first_chunk())
        else {
            return false;
        };
        let header = VnetHeader::read(header);
        if header.kind() == VnetHeader::GSO_NONE {
            return false;
        }
        // what came before it stays before it
        cutter.flush_singles(second, self.mtu, &mut self.arena, take);
        let whole = (header, data, class);
        let cut = cutter.cut(second, whole, self.mtu, &mut self.arena, take);
        if let Some(CutCounts { packets, bytes }) = cut {
            self.counters.read_packets += packets;
            self.counters.read_bytes += bytes;
        }
        cut.is_some()
    }

    fn take_apart(
        &mut self,
        second: u64,
        length: usize,
        class: &mut impl FnMut(&[u8], usize) -> Class,
        take: &mut impl FnMut(Inner, Class),
    ) {
        let came = self.buffer[..length].get(VnetHeader::BYTES..);
        let class = came.map_or(Class::Bulk, |data| class(data, data.len()));
        if self.cut(second, length, class, take) {
            return;
        }
        let Some((header, data)) = self.buffer[..length].split_first_chunk_mut() else {
            self.counters.malformed += 1;
            return;
        };
        let header = VnetHeader::read(header);
        // a SYN is never cut, and its checksum may be open: it is completed first
        self.lengths.clear();
        let room = self.arena.room(ROOM);
        if split(header, data, room, &mut self.lengths).is_err() {
            self.counters.malformed += 1;
            return;
        }
        if let [length] = self.lengths[..]
            && inner::clamp_mss(&mut room[..length], self.inner)
        {
            self.counters.clamped += 1;
        }
        for index in 0..self.lengths.len() {
            let packet = self.arena.take(self.lengths[index]);
            if packet.len() > self.mtu {
                self.counters.too_big += 1;
                if self.may_answer(second) {
                    self.answer_too_big(&packet, self.mtu);
                }
                continue;
            }
            self.counters.read_packets += 1;
            self.counters.read_bytes += packet.len() as u64;
            match &mut self.cutter {
                Some(cutter) => cutter.push_single(packet, class, take),
                None => take(Inner::packet(packet), class),
            }
        }
    }

    /// Whether a sender may be notified in this second; counted.
    fn may_answer(&mut self, second: u64) -> bool {
        if self.answered.0 != second {
            self.answered = (second, 0);
        }
        self.answered.1 += 1;
        self.answered.1 <= TOO_BIG_A_SECOND
    }

    /// A packet that no path takes: its sender is notified of what they take. If the device `is_shared` by peers whose paths
    /// take more, what goes there is cut as they take it.
    pub(crate) fn refuse_too_big(
        &mut self,
        now: Instant,
        packet: &Inner,
        mtu: units::Bytes,
        is_shared: bool,
    ) {
        self.counters.too_big += 1;
        let mtu = usize::try_from(mtu.get()).unwrap_or(usize::MAX);
        let (second, headers) = (second_of(now), packet.headers());
        if let (true, Some(cutter), Some((_, to))) =
            (is_shared, &mut self.cutter, inner::addresses(headers))
        {
            cutter.note_narrow(second, to, mtu);
        }
        if self.may_answer(second) {
            self.answer_too_big(headers, mtu);
        }
    }

    /// Notifies the sender of a packet that is too large, of what would fit. Seldom: the kernel does so by the
    /// device's MTU; this is for what was under way when that shrank, and for a path that is narrower.
    ///
    /// It comes from the address that the packet is for: the kernel drops what comes in with an address of its
    /// own, and takes this one from the device, to which its route leads.
    fn answer_too_big(&mut self, packet: &[u8], mtu: usize) {
        let to = inner::addresses(packet).map(|(_, to)| to);
        let from = to.filter(|to| !to.is_multicast());
        if let Some(answer) = from.and_then(|from| inner::too_big(packet, mtu, from)) {
            let vnet = VnetHeader::default().bytes();
            let pieces = [IoSlice::new(&vnet), IoSlice::new(&answer)];
            self.writer.write(&pieces);
        }
    }

    /// A packet goes into the device, at the latest with [`Self::flush`].
    pub(crate) fn push(&mut self, mut packet: Inner) {
        if inner::is_syn(&packet.0) {
            // the other end may have longer paths than this one; SYNs are few, and may be copied
            let mut data = packet.0.to_vec();
            self.counters.clamped += u64::from(inner::clamp_mss(&mut data, self.inner));
            packet = Inner::packet(data.into());
        }
        self.counters.written_packets += 1;
        self.counters.written_bytes += packet.0.len() as u64;
        let writer = &mut self.writer;
        self.coalescer
            .push(packet, &mut |pieces| writer.write(pieces));
    }

    /// What a peer's pieces have made goes into the device, if `admits` takes its headers.
    pub(crate) fn write_joined(
        &mut self,
        now: std::time::Duration,
        joiner: &mut Joiner<Bytes>,
        admits: &mut impl FnMut(&[u8]) -> bool,
    ) {
        if joiner.held() == 0 {
            return;
        }
        // what came before it stays before it
        self.write_packets();
        let (writer, counters) = (&mut self.writer, &mut self.counters);
        joiner.flush(now, &mut |slices| {
            let Some((vnet, headers)) = slices.first().and_then(|first| first.split_first_chunk())
            else {
                return;
            };
            if !admits(headers) {
                return;
            }
            let payload: usize = slices[1..].iter().map(|slice| slice.len()).sum();
            let size = usize::from(VnetHeader::read(vnet).gso_size);
            let packets = if size > 0 { payload.div_ceil(size) } else { 1 };
            counters.written_packets += packets as u64;
            counters.written_bytes += (payload + packets * headers.len()) as u64;
            writer.write(slices);
        });
        let refused = joiner.take_counters();
        self.counters.malformed_pieces += refused.malformed + refused.contradictory;
        self.counters.repeated_pieces += refused.repeated;
        self.counters.incomplete_pieces += refused.incomplete;
    }

    /// Packets that were pushed are written.
    fn write_packets(&mut self) {
        let writer = &mut self.writer;
        self.coalescer.flush(&mut |pieces| writer.write(pieces));
    }

    /// Everything that was pushed goes into the device.
    pub(crate) fn flush(&mut self) {
        self.write_packets();
        self.writer.flush();
    }
}

impl AsFd for Inside {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
