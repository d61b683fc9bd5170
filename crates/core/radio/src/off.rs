//! A channel whose base station is off for a time.

use crate::channel::{Channel, ChannelState, Link, SubBands};
use units::{Cqi, Duration, Instant};

/// Of another channel, without what it has from one time to another.
pub struct OffChannel {
    channel: Box<dyn Channel>,
    /// The base station sends nothing from then on.
    from: Instant,
    /// And does again.
    until: Instant,
}

impl OffChannel {
    /// The channel, off from the first to the second of these times.
    pub fn new(channel: Box<dyn Channel>, from: Instant, until: Instant) -> Self {
        Self {
            channel,
            from,
            until,
        }
    }

    fn is_off(&self, at: Instant) -> bool {
        (self.from..self.until).contains(&at)
    }
}

impl Channel for OffChannel {
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        let state = self.channel.state(slot_start, slot);
        if self.is_off(slot_start) {
            return ChannelState {
                cqi: Cqi::new(0),
                link: Link::Outage,
                holds_until: self.until,
            };
        }
        let holds_until = match slot_start < self.from {
            true => state.holds_until.min(self.from),
            false => state.holds_until,
        };
        ChannelState {
            holds_until,
            ..state
        }
    }

    fn sub_bands(&mut self, at: Instant) -> Option<SubBands<'_>> {
        match self.is_off(at) {
            true => None,
            false => self.channel.sub_bands(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConstantChannel;
    use rnis::McsTable;
    use units::Mcs;

    #[test]
    fn nothing_can_be_sent_while_it_is_off() {
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let slot = Duration::from_millis(1);
        let constant = ConstantChannel::mcs(McsTable::LteQam64, Mcs::new(9), 0.0).unwrap();
        let always = { constant }.state(ms(0), slot);
        let mut it = OffChannel::new(Box::new(constant), ms(5), ms(8));
        let before = it.state(ms(4), slot);
        assert_eq!((before.link, before.holds_until), (always.link, ms(5)));
        let off = it.state(ms(5), slot);
        assert_eq!(
            (off.link, off.cqi, off.holds_until),
            (Link::Outage, Cqi::new(0), ms(8))
        );
        assert_eq!(it.state(ms(8), slot), always);
    }
}
