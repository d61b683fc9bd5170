//! The window that a connection's server is shown, before, while and after data is moved.

use super::{Connection, credit};
use crate::counters::Counters;
use crate::relay::direction::{End, Means};
use crate::relay::pipe::PipePool;
use crate::sys;
use edge::Change;
use rustix::io::ioctl_fionread;
use std::sync::atomic::Ordering::Relaxed;
use units::{Bytes, Instant};

impl Connection {
    /// Measures the round trip towards the server, and the size of its segments. Where that has changed the kernel
    /// has put its own bound of the window in the place of ours.
    pub(super) fn look_at_wan(&mut self) {
        let flow = &self.flow;
        let Some(info) = flow.meters.wan_rtt.sample(&flow.wan) else {
            return;
        };
        let has_changed = info.rcv_mss != self.rcv_mss;
        self.rcv_mss = info.rcv_mss;
        let is_full = 2 * info.rcv_mss > info.snd_mss;
        let is_young = flow.meters.wan_read.load(Relaxed) < u64::from(flow.window.shown());
        let widens = !flow.is_wide() && (is_full || !is_young);
        if widens {
            flow.widen_buffer();
        }
        if has_changed || widens {
            if self.is_shut {
                credit::close(&flow.wan);
            } else {
                flow.repeat_window();
            }
        }
    }

    /// Shows the server the window that is decided. True if one is to be shown at once.
    pub(super) fn follow_window(&mut self, now: Instant) -> bool {
        let (flow, unread) = (&self.flow, &self.flow.meters.wan_unread);
        if !flow.window.follows_data() {
            return false;
        }
        let due = flow.follow_window(now);
        let is_unread = unread.load(Relaxed) > 0;
        if flow.window.is_closed() && !self.is_shut && is_unread {
            credit::close(&flow.wan);
            self.is_shut = true;
            flow.window.is_shut(now);
        }
        due.is_some() && is_unread
    }

    /// Before data is moved, which acknowledges it: what was decided since the last turn. While the window is closed: leaves a byte unread if the server may be waiting for a
    /// window, or prepares one that is due, which the read then shows.
    pub(super) fn prepare_window(&mut self, now: Instant) -> Option<Due> {
        if self.flow.window.takes_news() {
            // what is to be shown at once is found below
            self.follow_window(now);
        }
        let window = &self.flow.window;
        self.down.leaves_byte = false;
        if !window.is_closed() {
            return None;
        }
        self.look_at_what_waits();
        let meters = &self.flow.meters;
        let received = meters.received();
        let is_unread = meters.wan_unread.load(Relaxed) > 0;
        let owed = window.take_due();
        if let Some(change) = self.flow.follow_window(now).or(owed)
            && let Change::Credit(bytes) | Change::Open(bytes) = change
            && (is_unread || matches!(change, Change::Open(_)))
        {
            let bytes = u32::try_from(bytes.get()).unwrap_or(u32::MAX);
            match credit::prepare(&self.flow.wan, bytes) {
                Ok(prepared) => {
                    self.down.most = readable(meters.wan_unread.load(Relaxed));
                    return Some(Due {
                        change,
                        bytes,
                        received,
                        prepared,
                    });
                }
                Err(error) => {
                    tracing::debug!(flow = self.flow.id, %error, "no window can be shown at once");
                    window.cannot_close();
                    self.is_shut = false;
                    return None;
                }
            }
        }
        self.bound_read();
        None
    }

    /// Bounds what is read without a window that is due, by what is unread and was received when that was looked at
    /// last.
    fn bound_read(&mut self) {
        let (window, meters) = (&self.flow.window, &self.flow.meters);
        if !window.is_closed() {
            (self.down.leaves_byte, self.down.most) = (false, usize::MAX);
            return;
        }
        self.down.leaves_byte = window.may_block(meters.received());
        // what comes meanwhile may use up what the server has left: that is for the next turn to judge
        self.down.most = readable(meters.wan_unread.load(Relaxed));
    }

    /// Reads what shows the server the prepared window, and has acknowledgements show no more than that if it is a
    /// credit, before what was read is handed on: acknowledgements of what comes meanwhile would show as much again
    /// each. Gives how much was read, bytes.
    pub(super) fn show_window(
        &mut self,
        now: Instant,
        due: &Due,
        means: &mut Means<'_, PipePool>,
        counters: &Counters,
    ) -> rustix::io::Result<usize> {
        let mut wan = End {
            socket: &self.flow.wan,
            ready: &mut self.wan,
        };
        let read = self.down.read_ahead(means, &self.flow.ue, &mut wan)?;
        self.finish_window(now, due, read > 0, counters);
        let meters = &self.flow.meters;
        meters.wan_read.fetch_add(read as u64, Relaxed);
        self.look_at_what_waits();
        self.bound_read();
        Ok(read)
    }

    /// Measures what has come of the server and is unread.
    fn look_at_what_waits(&self) {
        let unread = ioctl_fionread(&self.flow.wan).unwrap_or(0);
        self.flow.meters.wan_unread.store(unread, Relaxed);
    }

    /// After the read: what was shown, and no more than that if it is a credit.
    pub(super) fn finish_window(
        &mut self,
        now: Instant,
        due: &Due,
        has_read: bool,
        counters: &Counters,
    ) {
        let (flow, received) = (&self.flow, due.received);
        self.is_shut = false;
        let shown = has_read.then(|| due.prepared.shown(&flow.wan)).flatten();
        match (due.change, shown) {
            (Change::Credit(window), Some(bytes)) => {
                counters.windows_shown.one();
                // a receive buffer without room for it bounds what the kernel shows
                let change = Change::Credit(window.min(Bytes::new(u64::from(bytes))));
                flow.window.has_shown(now, change, received);
                credit::close(&flow.wan);
                self.is_shut = true;
            }
            (Change::Credit(_), None) if has_read => {
                counters.windows_refused.one();
                // without room the kernel shows nothing, whatever the server has left
                if credit::has_room(&flow.wan) {
                    flow.window.is_refused(now, due.bytes, received);
                }
            }
            (Change::Credit(_), None) => {}
            (change, shown) => {
                if shown.is_some() {
                    counters.windows_shown.one();
                }
                // if not, the next acknowledgement shows it
                flow.window.has_shown(now, change, received);
            }
        }
    }

    /// What a full pipe leaves in the socket's buffer waits too; also while nothing moves, for the
    /// kernel by itself would show the window until the whole buffer is full.
    pub(super) fn look_at_unread(&self) {
        let unread = if self.down.is_backlogged {
            ioctl_fionread(&self.flow.wan).unwrap_or(0)
        } else {
            0
        };
        let counted = &self.flow.meters.wan_unread;
        if unread > 0 || counted.load(Relaxed) > 0 {
            counted.store(unread, Relaxed);
            let left = self.down.leaves_byte && unread > 0;
            self.flow.meters.wan_left.store(u64::from(left), Relaxed);
        }
    }

    /// Where a window can be shown for what waits now, what the socket towards the UE has not sent is measured.
    pub(super) fn look_at_unsent(&self) {
        let flow = &self.flow;
        if flow.wire().is_some()
            && flow.window.follows_data()
            && let Ok(unsent) = sys::unsent(&flow.ran)
        {
            flow.meters.ran_unsent.store(unsent, Relaxed);
        }
    }

    /// Has the rule's relief shown where the server waits for a window. True if the connection is to be given a turn.
    pub(in crate::relay) fn relieve(&self, now: Instant) -> bool {
        if self.is_closing() || self.is_frozen() {
            return false;
        }
        self.flow.relieve(now);
        self.is_shut && self.flow.window.relieve(now)
    }
}

/// The most that a turn reads which was decided on while so much was unread, bytes: a byte at least, for only a read
/// shows whether the end has come.
fn readable(unread: u64) -> usize {
    usize::try_from(unread.max(1)).unwrap_or(usize::MAX)
}

/// A window that is to be shown at once.
#[derive(Debug)]
pub(super) struct Due {
    change: Change,
    /// The window.
    bytes: u32,
    /// Received of the server before it, cumulative, bytes.
    received: u64,
    prepared: credit::Prepared,
}
