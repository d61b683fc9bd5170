//! A path that has reached its window allocates nothing for a packet: not to send it, not to receive
//! it, not to acknowledge it, and not to find one of a hundred lost.

use multipath::SeqNo;
use multipath::path::{
    AckOutcome, AckParts, Acknowledgement, Receiver, ReceiverConfig, Sender, SenderConfig,
    SentPacket,
};
use std::collections::VecDeque;
use units::{Bytes, Duration, Ecn, Instant, Streams};

const SIZE: Bytes = Bytes::new(1_500);
/// Packets in flight.
const WINDOW: u64 = 200;

/// Two ends of a path; each has both halves.
struct Ends {
    near: (Sender, Receiver),
    far: (Sender, Receiver),
    outcome: AckOutcome,
    /// Numbers of the next packet, and of the far end's next acknowledgement.
    next: u64,
    next_ack: u64,
    /// Due with the packet of that number.
    acks: VecDeque<(u64, SeqNo, AckParts)>,
}

fn halves(controller: &str, name: &str) -> (Sender, Receiver) {
    let build = cc::BuildConfig {
        mss: SIZE,
        initial_window: SIZE * 10,
    };
    let cc = cc::build(controller, build).expect("a controller");
    let rng = Streams::new(1).stream(name);
    (
        Sender::new(cc, SenderConfig::default(), rng),
        Receiver::new(ReceiverConfig::default()),
    )
}

fn acknowledged(parts: &AckParts) -> Acknowledgement<'_> {
    Acknowledgement {
        ack: parts.ack,
        vector: Some(&parts.vector),
        elapsed: Some(parts.elapsed),
    }
}

impl Ends {
    fn new(controller: &str) -> Self {
        Self {
            near: halves(controller, "near"),
            far: halves("newreno", "far"),
            outcome: AckOutcome::default(),
            next: 0,
            next_ack: 0,
            acks: VecDeque::with_capacity(WINDOW as usize),
        }
    }

    /// Sends a packet, and has arrive what is due by then.
    fn packet(&mut self) {
        let number = self.next;
        self.next += 1;
        let (seq, now) = (
            SeqNo::new(number),
            Instant::ZERO + Duration::from_micros(10) * number,
        );
        let acknowledgement = match self.near.1.should_piggyback() {
            true => self.near.1.acknowledge(now, seq, 253),
            false => None,
        };
        let packet = |seq, is_data| SentPacket {
            seq,
            bytes: if is_data { SIZE } else { Bytes::ZERO },
            mp_seq: None,
            is_data,
        };
        self.near.0.on_sent(now, &packet(seq, true));
        if number % 100 != 50 {
            self.far.1.on_packet(now, seq, Ecn::Ect0, true);
            if let Some(parts) = &acknowledgement {
                let outcome = &mut self.outcome;
                self.far.0.on_ack(now, &acknowledged(parts), outcome);
                self.far.1.on_outcome(outcome);
            }
        }
        if self.far.1.is_ack_due(now) {
            let seq = SeqNo::new(self.next_ack);
            self.next_ack += 1;
            let parts = self.far.1.acknowledge(now, seq, 253).expect("arrivals");
            self.far.0.on_sent(now, &packet(seq, false));
            self.acks.push_back((number + WINDOW, seq, parts));
        }
        while let Some((_, seq, parts)) = self.acks.pop_front_if(|(due, ..)| *due <= number) {
            self.near.1.on_packet(now, seq, Ecn::NotEct, false);
            let outcome = &mut self.outcome;
            self.near.0.on_ack(now, &acknowledged(&parts), outcome);
            self.near.1.on_outcome(outcome);
        }
    }
}

#[test]
fn a_path_allocates_nothing_for_a_packet() {
    for controller in ["newreno", "cubic", "bbr"] {
        let mut ends = Ends::new(controller);
        for _ in 0..20_000 {
            ends.packet();
        }
        let before = ends.near.0.counters();
        let counted = allocation_counter::measure(|| {
            for _ in 0..10_000 {
                ends.packet();
            }
        });
        let lost = ends.near.0.counters().lost - before.lost;
        assert_eq!(lost.get(), 100, "{controller}");
        assert_eq!(counted.count_total, 0, "{controller}");
    }
}
