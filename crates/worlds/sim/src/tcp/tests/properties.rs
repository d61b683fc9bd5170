//! Whatever the network and the applications do, the stream arrives whole.

use super::super::{AccEcnOption, ByteCounts, Config, EcnConfig, FieldOrder, Flags};
use super::controllers::{Fixed, real};
use super::pipe::{CLIENT, MSS, PacketOutcome, PacketOutcomes, Pipe, SERVER, at, config, ms};
use cc::CongestionControl;
use proptest::prelude::*;
use queue::Ecn;
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Duration, Instant, Streams};

/// Segments that a direction loses in a row at most, and times that it loses those of one position.
/// Weather that outlasts an end's timeouts makes it give up, rightly (`handshake.rs`); what holds of
/// streams holds of connections that last.
const MAX_LOST: u32 = 4;

/// How badly a direction treats segments: probabilities in percent, and the greatest delay.
#[derive(Clone, Debug)]
struct Weather {
    seed: u64,
    loss: u64,
    late: u64,
    lateness_ms: u64,
    twice: u64,
    marks: u64,
}

impl Weather {
    fn outcomes(&self) -> PacketOutcomes {
        let mut rng = Streams::new(self.seed).stream("weather");
        let w = self.clone();
        let mut lost_in_a_row = 0;
        let mut lost_of = BTreeMap::new();
        Box::new(move |_, _, segment| {
            let draw = rng.below(100);
            let outcome = if draw < w.loss {
                PacketOutcome::Drop
            } else if draw < w.loss + w.late {
                PacketOutcome::Late(Duration::from_micros(1 + rng.below(w.lateness_ms * 1_000)))
            } else if draw < w.loss + w.late + w.twice {
                PacketOutcome::Twice
            } else if draw < w.loss + w.late + w.twice + w.marks {
                PacketOutcome::Mark
            } else {
                PacketOutcome::Pass
            };
            // a mark on what understands none is a loss
            let is_lost = outcome == PacketOutcome::Drop
                || outcome == PacketOutcome::Mark && segment.ecn == Ecn::NotEct;
            if !is_lost {
                lost_in_a_row = 0;
                return outcome;
            }
            let again = segment.len > 0
                || segment.flags.contains(Flags::SYN)
                || segment.flags.contains(Flags::FIN);
            let times = lost_of.entry(segment.seq).or_insert(0);
            if lost_in_a_row == MAX_LOST || again && *times == MAX_LOST {
                lost_in_a_row = 0;
                return PacketOutcome::Pass;
            }
            lost_in_a_row += 1;
            *times += u32::from(again);
            outcome
        })
    }
}

fn weather() -> impl Strategy<Value = Weather> {
    let marks = prop_oneof![Just(0), 1u64..20];
    (any::<u64>(), 0u64..20, 0u64..20, 1u64..60, 0u64..10, marks).prop_map(
        |(seed, loss, late, lateness_ms, twice, marks)| Weather {
            seed,
            loss,
            late,
            lateness_ms,
            twice,
            marks,
        },
    )
}

/// What the applications do at one time.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u64),
    Read(usize, u64),
    Limit(usize, Option<u64>),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..2usize, 1u64..60_000).prop_map(|(end, bytes)| Act::Write(end, bytes)),
        4 => (0..2usize, 1u64..60_000).prop_map(|(end, bytes)| Act::Read(end, bytes)),
        1 => (0..2usize, prop::option::of(0u64..80_000)).prop_map(|(e, l)| Act::Limit(e, l)),
        4 => (1u64..300).prop_map(Act::Wait),
    ]
}

fn controller(kind: u8) -> Box<dyn CongestionControl> {
    match kind {
        0 => Box::new(Fixed::new(12_000)),
        1 => Box::new(Fixed::new(40_000).paced(BitRate::from_mbps(30))),
        2 => Box::new(Fixed::new(40_000).reducing_to(8_000)),
        3 => real("newreno", MSS),
        4 => real("cubic", MSS),
        5 => real("dctcp", MSS),
        _ => real("bbr", MSS),
    }
}

/// The ECN configuration of an end.
fn ecn() -> impl Strategy<Value = Option<EcnConfig>> {
    prop_oneof![
        Just(None),
        Just(Some(EcnConfig::CLASSIC)),
        Just(Some(EcnConfig::DCTCP)),
        Just(Some(EcnConfig::L4S)),
    ]
}

/// Origin of the byte at this offset: known from the offset alone.
fn origin(offset: u64) -> Instant {
    Instant::from_nanos(1 + offset / 700)
}

/// Writes up to `bytes`, with the origins of their offsets. Returns what was accepted.
fn write_marked(p: &mut Pipe, end: usize, written: u64, bytes: u64) -> u64 {
    let mut accepted = 0;
    while accepted < bytes {
        let offset = written + accepted;
        let piece = (700 - offset % 700).min(bytes - accepted);
        let taken = p.ends[end]
            .write(p.now, Bytes::new(piece), Some(origin(offset)))
            .get();
        accepted += taken;
        if taken < piece {
            break;
        }
    }
    p.pump(end);
    accepted
}

/// Everything that was read has the origin of its place (or, within a segment, of its end).
fn check_stream(p: &Pipe, end: usize) -> Result<(), TestCaseError> {
    let mut offset = 0;
    for chunk in &p.chunks[end] {
        offset += chunk.bytes.get();
        let last = origin(offset - 1);
        prop_assert!(
            chunk.origin >= last,
            "{offset}: {:?} before {last:?}",
            chunk.origin
        );
        prop_assert!(
            chunk.origin <= origin(offset - 1 + MSS),
            "{offset}: {:?}",
            chunk.origin
        );
    }
    Ok(())
}

fn run(
    weather: &[Weather; 2],
    kinds: [u8; 2],
    ecn: [Option<EcnConfig>; 2],
    buffers: [u64; 2],
    acts: &[Act],
) -> Result<(), TestCaseError> {
    let configs = [0, 1]
        .map(|end| (buffers[end], ecn[end]))
        .map(|(b, ecn)| Config {
            ecn,
            receive_buffer: Bytes::new(b),
            send_buffer: Bytes::new(100_000),
            delayed_ack: b % 2 == 0,
            nodelay: b % 3 == 0,
            ..config()
        });
    let mut p = Pipe::new(configs, controller(kinds[0]), controller(kinds[1]));
    p.ways[CLIENT].outcomes = weather[0].outcomes();
    p.ways[SERVER].outcomes = weather[1].outcomes();
    p.ways[SERVER].rate = BitRate::from_mbps(40);
    p.ways[SERVER].buffer = ms(20);
    p.reads = [false, false];
    p.pump(CLIENT);
    let mut written = [0; 2];
    for act in acts {
        match *act {
            Act::Write(end, bytes) => {
                let accepted = write_marked(&mut p, end, written[end], bytes);
                written[end] += accepted;
            }
            Act::Read(end, bytes) => {
                p.read(end, bytes);
                p.pump(end);
            }
            Act::Limit(end, limit) => {
                p.ends[end].set_receive_window(p.now, limit.map(Bytes::new));
                p.pump(end);
            }
            Act::Wait(time) => p.run_until(p.now + ms(time)),
        }
    }
    // then all lift their limits, read, and close
    for end in [CLIENT, SERVER] {
        p.reads[end] = true;
        p.ends[end].set_receive_window(p.now, None);
        p.ends[end].close(p.now);
        p.pump(end);
    }
    let is_quiet = p.run_to_quiet(at(100_000_000));
    prop_assert!(is_quiet, "still something to do");
    for end in [CLIENT, SERVER] {
        prop_assert!(p.ends[end].is_closed());
        let reason = p.ends[end].close_reason();
        prop_assert_eq!(reason, Some(super::super::CloseReason::Finished));
        prop_assert_eq!(p.bytes_read(end), written[1 - end]);
        prop_assert_eq!(p.stats(end).bytes_acked.get(), written[end]);
        prop_assert_eq!(p.stats(end).bytes_received_in_order.get(), written[1 - end]);
        prop_assert_eq!(p.stats(end).bytes_in_flight, Bytes::ZERO);
        check_stream(&p, end)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// The harness checks at each step: window obeyed, sums equal to the scoreboard, deadlines ahead.
    #[test]
    fn any_weather_any_applications(
        weather in [weather(), weather()],
        kinds in [0u8..7, 0u8..7],
        ecn in [ecn(), ecn()],
        buffers in [1_000u64..300_000, 1_000u64..300_000],
        acts in prop::collection::vec(act(), 1..60),
    ) {
        run(&weather, kinds, ecn, buffers, &acts)?;
    }

    /// Segments from nowhere: no panic, no acknowledgement of what was not sent.
    #[test]
    fn any_segment_at_any_time(
        segments in prop::collection::vec(
            (0u64..40_000, 0u64..40_000, 0u64..100_000, 0u32..3_000, any::<u8>(), any::<[u16; 6]>()),
            1..60,
        ),
        ecn in ecn(),
    ) {
        let config = || Config { ecn, ..config() };
        use super::super::{SackBlocks, Segment, Span};
        let mut p =
            Pipe::new([config(), config()], Box::new(Fixed::new(9_000)), Box::new(Fixed::new(9_000)));
        p.run_until(at(40));
        p.write(SERVER, 30_000);
        for (k, (seq, ack, window, len, bits, edges)) in segments.into_iter().enumerate() {
            let now = at(41 + k as u64);
            while p.ends[SERVER].poll_transmit(now).is_some() {}
            let mut sack = SackBlocks::NONE;
            for pair in edges.chunks(2) {
                sack.push(ack, Span { start: u64::from(pair[0]), end: u64::from(pair[1]) });
            }
            let flag = |bit: u8, flag| if bits & bit != 0 { flag } else { Flags::NONE };
            let flags = flag(1, Flags::SYN) | flag(2, Flags::FIN) | flag(12, Flags::ACK)
                | flag(16, Flags::ECE) | flag(32, Flags::CWR) | flag(64, Flags::AE);
            let counts = ByteCounts { e0b: seq, ceb: ack, e1b: window };
            let order = if bits & 2 == 0 { FieldOrder::Ect0First } else { FieldOrder::Ect1First };
            let option = AccEcnOption::new(order, counts, usize::from(bits & 3));
            p.ends[SERVER].on_segment(now, &Segment {
                seq, ack, window, ts_val: now, ts_ecr: at(k as u64), ts_ticks: k as u32,
                report: Some(cc::RateReport::new(u32::from(bits))), origin: now, len, sack, flags,
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(bits & 3)], is_retransmission: false,
                accecn: (bits & 128 != 0).then_some(option),
            });
            p.ends[SERVER].on_deadline(now);
            let acked = p.stats(SERVER).bytes_acked;
            prop_assert!(acked <= Bytes::new(30_000));
        }
    }
}
