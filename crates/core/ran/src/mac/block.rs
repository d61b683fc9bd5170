//! Transport blocks, kept and used again.

use super::harq::Attempts;
use crate::output::Direction;
use crate::rlc::am::Status;
use crate::rlc::span::Span;
use crate::uplink::buffer_status::Report;

/// What a transport block carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chunk {
    /// Data of a bearer.
    Data {
        /// Index of the bearer in the cell.
        bearer: u32,
        /// Bytes of its stream.
        span: Span,
        /// RLC polls.
        has_poll: bool,
    },
    /// A status report about the other direction of a bearer.
    Status {
        /// Index of the bearer in the cell.
        bearer: u32,
        /// Where the report is kept.
        status: u32,
    },
}

/// A transport block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) ue: u32,
    pub(crate) direction: Direction,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) prb: u16,
    /// The groups of PRBs of its first transmission, one bit each, where the carrier is scheduled by them.
    pub(crate) groups: u32,
    /// Whether the last transmission was decoded.
    pub(crate) is_decoded: bool,
    pub(crate) attempts: Attempts,
    /// The buffer status report that it carries.
    pub(crate) buffer_status: Option<Report>,
}

/// Things that are put back and taken out again, so that nothing is allocated in the long run.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    pub(crate) fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
    /// Takes one out, as it was left.
    pub(crate) fn take(&mut self, make: impl FnOnce() -> T) -> u32 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        self.items.push(make());
        (self.items.len() - 1) as u32
    }
    /// Puts one back.
    pub(crate) fn put(&mut self, id: u32) {
        self.free.push(id);
    }
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut T {
        &mut self.items[id as usize]
    }
}

/// Transport blocks in flight.
pub(crate) type Blocks = Pool<Block>;
/// Status reports in flight.
pub(crate) type Statuses = Pool<Status>;

impl Pool<Block> {
    /// An empty block.
    pub(crate) fn start(&mut self, ue: u32, direction: Direction, prb: u16) -> u32 {
        let empty = || Block {
            ue,
            direction,
            chunks: Vec::new(),
            prb,
            groups: 0,
            is_decoded: false,
            attempts: Attempts::default(),
            buffer_status: None,
        };
        let id = self.take(empty);
        let block = self.get_mut(id);
        (block.ue, block.direction, block.prb) = (ue, direction, prb);
        block.groups = 0;
        block.is_decoded = false;
        block.attempts = Attempts::default();
        block.buffer_status = None;
        block.chunks.clear();
        id
    }
}
