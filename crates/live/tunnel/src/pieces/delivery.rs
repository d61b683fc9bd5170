//! What comes in pieces goes into the device in one.

use crate::inner::Inner;
use crate::inside::Inside;
use bytes::Bytes;
use std::time::Duration as StdDuration;
use tun::pieces::Joiner;
use units::{Duration, Instant};

/// Hands over to the device what comes from a peer.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// None without encryption.
    joiner: Option<Joiner<Bytes>>,
}

impl Delivery {
    pub(crate) fn new(inside: &Inside) -> Self {
        let joiner = inside
            .uses_pieces()
            .then(|| Joiner::new(inside.segments_udp()));
        Self { joiner }
    }

    /// A packet or a piece, of those that the peer may send: `admits` is given IP headers. False if it may not.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        packet: Inner,
        inside: &mut Inside,
        admits: &mut impl FnMut(&[u8]) -> bool,
    ) {
        match &mut self.joiner {
            Some(joiner) if tun::pieces::is_piece(&packet.0) => {
                joiner.push(since_zero(now), &packet.0);
            }
            joiner => {
                if let Some(joiner) = joiner
                    .as_mut()
                    .filter(|joiner| joiner.has_flow_of(&packet.0))
                {
                    inside.write_joined(since_zero(now), joiner, admits);
                }
                if admits(&packet.0) {
                    inside.push(packet);
                }
            }
        }
    }

    /// What has come in pieces is written.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        inside: &mut Inside,
        admits: &mut impl FnMut(&[u8]) -> bool,
    ) {
        if let Some(joiner) = &mut self.joiner {
            inside.write_joined(since_zero(now), joiner, admits);
        }
    }

    /// When [`Self::flush`] is to be called although nothing has come.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let at = self.joiner.as_ref()?.next_deadline()?;
        let nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        Some(Instant::ZERO + Duration::from_nanos(nanos))
    }
}

fn since_zero(now: Instant) -> StdDuration {
    StdDuration::from_nanos(now.as_nanos())
}
