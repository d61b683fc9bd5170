//! Radio reports of the project's own cell, as its lab would send them.

use queue::{Capacity, Packet};
use radio::{Channel, ChannelState, Link};
use ran::{BearerConfig, Cell, CellConfig, UeConfig, UeIndex};
use rnis::{RadioReport, Rnti};
use units::{Bytes, Cqi, Duration, Instant, Mcs, Prb, Streams};

/// Between reports.
const PERIOD: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug)]
struct Payload;

impl Packet for Payload {
    fn bytes(&self) -> Bytes {
        Bytes::new(1_400)
    }
}

/// A link that gets better and worse.
struct Wave {
    period: Duration,
}

impl Channel for Wave {
    fn state(&mut self, slot_start: Instant, slot: Duration) -> ChannelState {
        let turn = slot_start.since_start().ratio(self.period);
        let step = (turn.sin() * 5.0) as i8;
        ChannelState {
            cqi: Cqi::new(9_u8.saturating_add_signed(step)),
            link: Link::Mcs {
                mcs: Mcs::new(15_u8.saturating_add_signed(2 * step)),
                sinr: None,
                bler: 0.1,
            },
            holds_until: slot_start + slot,
        }
    }
}

/// So many reports, one each 10 ms, of two UEs with traffic that comes and goes.
pub fn reports(count: u64) -> Vec<RadioReport> {
    let config = CellConfig::nr(1, Prb::new(51));
    let bearer = BearerConfig::am(config.rat, Capacity::Bytes(Bytes::new(1_000_000)));
    let ue = |number: u8| UeConfig {
        rnti: Rnti(17_920 + u16::from(number)),
        uplink: None,
        ip: Some([10, 45, 0, number].into()),
        channel: Box::new(Wave {
            period: Duration::from_millis(20 * u64::from(number)),
        }),
        bearers: vec![bearer.clone()],
    };
    let cell = Cell::new(config.clone(), vec![ue(2), ue(3)], None, &Streams::new(7));
    let mut cell = cell.expect("a cell");
    let mut out = Vec::new();
    let mut reports = Vec::new();
    let mut now = Instant::ZERO;
    for round in 0..count {
        for ue in 0..2_u64 {
            for _ in 0..(round * (ue + 3)) % 40 {
                let index = UeIndex(usize::try_from(ue).expect("one of two"));
                cell.send_downlink(now, index, 0, Payload, &mut out);
            }
        }
        now += PERIOD;
        while let Some(at) = cell.next_deadline()
            && at <= now
        {
            cell.on_deadline(at, &mut out);
        }
        out.clear();
        reports.push(cell.report(now));
    }
    reports
}
