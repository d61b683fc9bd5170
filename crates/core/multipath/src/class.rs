//! Classes of the packets inside, for schedulers that know deadlines: latency-sensitive, or bulk.
//!
//! | DSCP | class | |
//! | --- | --- | --- |
//! | EF 46, VOICE-ADMIT 44 | latency | RFC 3246, RFC 5865 |
//! | CS5 40, AF41 to AF43 34 36 38, CS4 32 | latency | RFC 4594: signalling, video conferences, interactive |
//! | CS6 48 | latency | RFC 4594: network control |
//! | CS1 8, LE 1, AF11 to AF13 10 12 14, AF21 to AF23 18 20 22 | bulk | RFC 4594, RFC 8622 |
//! | all others, 0 among them | by the flow's pattern | |
//!
//! **Pattern** (ours): a UDP flow that keeps within a token bucket of [`PATTERN_RATE`] and [`PATTERN_BURST`] is
//! latency-sensitive; one that exceeds it is bulk until it has kept within for [`PATTERN_HOLD`]. Everything that is not
//! UDP is bulk. The table has [`FLOWS`] places, by the flow's hash; a flow whose place another has used within
//! [`PLACE_HOLD`] is bulk, so that neither memory nor work grows with the number of flows.

use units::{BitRate, Bytes, Duration, Instant};

/// Rate to which a latency-sensitive flow keeps.
pub const PATTERN_RATE: BitRate = BitRate::from_mbps(10);
/// What it may send at once beside that: a key frame.
pub const PATTERN_BURST: Bytes = Bytes::new(96_000);
/// How long a flow that has exceeded it counts as bulk.
pub const PATTERN_HOLD: Duration = Duration::from_secs(2);
/// How long an idle flow keeps its place.
pub const PLACE_HOLD: Duration = Duration::from_secs(1);
/// Places of the table.
pub const FLOWS: usize = 256;

/// What a packet needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// To arrive by a deadline.
    Latency,
    /// Throughput.
    Bulk,
}

impl Class {
    /// As status and metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bulk => "bulk",
        }
    }
}

/// What a packet's headers show of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel {
    /// Differentiated services codepoint, 6 bits.
    pub dscp: u8,
    /// A hash of addresses, protocol and ports; none where they cannot be read.
    pub flow: Option<u64>,
    /// It is a UDP datagram.
    pub is_udp: bool,
}

/// The class that a codepoint asks for; none: the flow's pattern decides.
pub const fn class_of_dscp(dscp: u8) -> Option<Class> {
    match dscp {
        46 | 44 | 40 | 34 | 36 | 38 | 32 | 48 => Some(Class::Latency),
        8 | 1 | 10 | 12 | 14 | 18 | 20 | 22 => Some(Class::Bulk),
        _ => None,
    }
}

/// A flow's token bucket.
#[derive(Clone, Copy, Debug)]
struct Flow {
    hash: u64,
    seen_at: Instant,
    tokens: Bytes,
    /// It has exceeded the pattern; until then it is bulk.
    bulk_until: Option<Instant>,
}

/// Classes by codepoints and patterns.
#[derive(Clone, Debug)]
pub struct Classifier {
    flows: Vec<Option<Flow>>,
}

impl Default for Classifier {
    fn default() -> Self {
        Self {
            flows: vec![None; FLOWS],
        }
    }
}

impl Classifier {
    /// The class of a packet that comes now.
    pub fn class(&mut self, now: Instant, label: FlowLabel, bytes: Bytes) -> Class {
        if let Some(class) = class_of_dscp(label.dscp) {
            return class;
        }
        let Some(hash) = label.flow.filter(|_| label.is_udp) else {
            return Class::Bulk;
        };
        // the high bits of the product depend on all bits of the hash
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let place = &mut self.flows[mixed as usize % FLOWS];
        let is_free = place.is_none_or(|flow| {
            flow.hash == hash || now.saturating_since(flow.seen_at) >= PLACE_HOLD
        });
        if !is_free {
            return Class::Bulk;
        }
        let new = Flow {
            hash,
            seen_at: now,
            tokens: PATTERN_BURST,
            bulk_until: None,
        };
        place
            .filter(|flow| flow.hash == hash)
            .unwrap_or(new)
            .take(now, bytes, place)
    }
}

impl Flow {
    fn take(mut self, now: Instant, bytes: Bytes, place: &mut Option<Self>) -> Class {
        let earned = PATTERN_RATE.bytes_in(now.saturating_since(self.seen_at));
        self.tokens = (self.tokens + earned).min(PATTERN_BURST);
        self.seen_at = now;
        if bytes > self.tokens {
            self.bulk_until = Some(now + PATTERN_HOLD);
        }
        self.tokens = self.tokens.saturating_sub(bytes);
        let is_bulk = self.bulk_until.is_some_and(|until| now < until);
        *place = Some(self);
        match is_bulk {
            true => Class::Bulk,
            false => Class::Latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(flow: u64) -> FlowLabel {
        FlowLabel {
            dscp: 0,
            flow: Some(flow),
            is_udp: true,
        }
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The classes at the end of so many seconds of packets of that size, one every millisecond.
    fn last(
        classifier: &mut Classifier,
        label: FlowLabel,
        from: u64,
        ms: u64,
        bytes: u64,
    ) -> Class {
        let classes =
            (from..from + ms).map(|ms| classifier.class(at_ms(ms), label, Bytes::new(bytes)));
        classes.last().expect("packets")
    }

    #[test]
    fn codepoints_of_the_table_decide_before_the_pattern() {
        for (dscp, class) in [(46, Class::Latency), (34, Class::Latency), (8, Class::Bulk)] {
            let tcp = FlowLabel {
                dscp,
                ..FlowLabel::default()
            };
            let mut classifier = Classifier::default();
            assert_eq!(classifier.class(at_ms(0), tcp, Bytes::new(1_400)), class);
        }
        assert_eq!(class_of_dscp(0), None);
    }

    #[test]
    fn a_flow_above_the_rate_is_bulk_until_it_has_kept_within_it() {
        let mut classifier = Classifier::default();
        // 8 Mbit/s and 12 Mbit/s
        assert_eq!(
            last(&mut classifier, udp(1), 0, 5_000, 1_000),
            Class::Latency
        );
        assert_eq!(
            last(&mut classifier, udp(1), 5_000, 2_000, 1_500),
            Class::Bulk
        );
        assert_eq!(
            last(&mut classifier, udp(1), 7_000, 1_900, 100),
            Class::Bulk
        );
        assert_eq!(
            last(&mut classifier, udp(1), 8_900, 200, 100),
            Class::Latency
        );
    }

    #[test]
    fn what_is_not_udp_is_bulk() {
        let mut classifier = Classifier::default();
        let tcp = FlowLabel {
            is_udp: false,
            ..udp(1)
        };
        assert_eq!(
            classifier.class(at_ms(0), tcp, Bytes::new(100)),
            Class::Bulk
        );
        let unread = FlowLabel {
            flow: None,
            ..udp(1)
        };
        assert_eq!(
            classifier.class(at_ms(0), unread, Bytes::new(100)),
            Class::Bulk
        );
    }

    /// More flows than places: the table stays as large, and who finds no place is bulk.
    #[test]
    fn a_flood_of_flows_neither_grows_the_table_nor_displaces_a_call() {
        let mut classifier = Classifier::default();
        assert_eq!(
            classifier.class(at_ms(0), udp(7), Bytes::new(100)),
            Class::Latency
        );
        let others =
            (100..10_100).map(|flow| classifier.class(at_ms(1), udp(flow), Bytes::new(100)));
        assert!(others.filter(|class| *class == Class::Latency).count() < FLOWS);
        assert_eq!(
            classifier.class(at_ms(2), udp(7), Bytes::new(100)),
            Class::Latency
        );
        assert_eq!(classifier.flows.len(), FLOWS);
    }
}
