//! The end of a path and of the connection (RFC 4340 8.3, RFC 9897 3.5).
//!
//! A path ends with Close, answered by Reset "closed". The connection ends with Close and `MP_CLOSE` on
//! every path; at once with Reset 13 and `MP_FAST_CLOSE`. Both carry the peer's key: without it no
//! node can end the connection.

use super::path::{Phase, Retry};
use super::{Transmit, Tunnel};
use crate::packet::{DccpOption, KeyData, Kind, MpOption, OptionFault, Options, Packet, ResetCode};
use crate::seq::SeqNo;
use crate::{PathId, Payload};
use units::{Duration, Instant};

/// First wait for the answer to a Close (RFC 4340 8.3: two round-trip times; 200 ms at least).
const CLOSE_RETRY: Duration = Duration::from_millis(200);

fn multipath(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}

impl<P: Payload> Tunnel<P> {
    /// Ends a path; the others go on. What waits on it goes elsewhere.
    pub fn close_path(&mut self, now: Instant, path: PathId) {
        let index = usize::from(path.0);
        let Some(state) = self.paths.get_mut(index) else {
            return;
        };
        match state.phase {
            Phase::Open | Phase::PartOpen => {
                let wait = state
                    .srtt()
                    .map_or(CLOSE_RETRY, |srtt| (srtt * 2).max(CLOSE_RETRY));
                state.phase = Phase::Closing;
                state.retry = Some(Retry::first(now, wait));
                state.must_send = true;
                self.note_changes(index);
            }
            Phase::Closing | Phase::Closed => {}
            Phase::Request | Phase::Respond => self.end_path(index),
        }
    }

    /// True if this end has closed a path and the peer has not confirmed that.
    pub fn is_closing(&self, path: PathId) -> bool {
        let path = self.paths.get(usize::from(path.0));
        path.is_some_and(|path| path.phase == Phase::Closing)
    }

    /// Ends the connection: nothing more is taken, every path is closed.
    pub fn close(&mut self, now: Instant) {
        self.is_closing = true;
        for index in 0..self.paths.len() {
            self.close_path(now, PathId(index as u8));
        }
        self.note_closed();
    }

    /// Ends the connection at once, without waiting for the peer.
    pub fn fast_close(&mut self, _now: Instant) {
        self.is_closing = true;
        let mut options = Options::default();
        if let Some(key) = self.identity.keys.as_ref().map(|keys| keys.closing()) {
            options.list.push(multipath(MpOption::FastClose(key)));
        }
        for index in 0..self.paths.len() {
            if self.paths[index].phase != Phase::Closed {
                self.reset(index, ResetCode::MP_FAST_CLOSE, options.clone());
                self.end_path(index);
            }
        }
        self.note_closed();
    }

    fn note_closed(&mut self) {
        let is_over = self.paths.iter().all(|path| path.phase == Phase::Closed);
        if is_over && !self.is_closed {
            self.is_closed = true;
            self.events.push_back(super::Event::Closed);
        }
    }

    pub(super) fn close_packet(&mut self, now: Instant, index: usize, ack: SeqNo) -> Transmit<P> {
        let mut options = Options::default();
        let key = self.identity.keys.as_ref().map(|keys| keys.closing());
        if let Some(key) = key.filter(|_| self.is_closing) {
            options.list.push(multipath(MpOption::Close(key)));
        }
        self.control(now, index, Kind::Close { ack }, options)
    }

    /// A Reset leaves next on a path.
    pub(super) fn reset(&mut self, index: usize, code: ResetCode, options: Options) {
        let fault = OptionFault { code, data: [0; 3] };
        self.paths[index].reset = Some((fault, options));
    }

    /// `MP_CLOSE`: right if it has our key.
    pub(super) fn on_connection_close(&mut self, now: Instant, index: usize, key: &KeyData) {
        if !self.is_own_key(key) {
            return;
        }
        self.is_closing = true;
        for other in 0..self.paths.len() {
            if other != index {
                self.close_path(now, PathId(other as u8));
            }
        }
    }

    /// `MP_FAST_CLOSE`: right if it has our key.
    pub(super) fn on_fast_close(&mut self, key: &KeyData) {
        if !self.is_own_key(key) {
            return;
        }
        self.is_closing = true;
        // on all paths, that it came on included: middleboxes drop their state (RFC 9897 3.2.3)
        for path in 0..self.paths.len() {
            if self.paths[path].phase != Phase::Closed {
                self.reset(path, ResetCode::MP_FAST_CLOSE, Options::default());
                self.end_path(path);
            }
        }
    }

    fn is_own_key(&mut self, key: &KeyData) -> bool {
        let keys = self.identity.keys.as_ref();
        let is_matching = keys.is_some_and(|keys| keys.is_closing(key));
        if !is_matching {
            self.counters.refused_closes += 1;
        }
        is_matching
    }

    /// Close, CloseReq or Reset of a path (their numbers were in the narrow windows).
    pub(super) fn on_end(&mut self, now: Instant, index: usize, packet: &Packet) {
        match packet.kind {
            Kind::CloseReq { .. } => self.close_path(now, PathId(index as u8)),
            Kind::Close { .. } => {
                self.reset(index, ResetCode::CLOSED, Options::default());
                self.end_path(index);
            }
            _ => self.end_path(index),
        }
    }
}
