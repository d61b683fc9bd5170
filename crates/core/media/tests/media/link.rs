//! A call over one link of a rate, a delay and a FIFO queue, in steps of its events.

use media::{
    EcnMode, Encoder, EncoderConfig, Feedback, FeedbackFormat, Gcc, MediaController, MediaPacket,
    RateLimits, Receiver, Scream, ScreamConfig, Sender,
};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Ecn, Instant, Streams};

/// Which controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Gcc,
    Scream,
    /// With ECT(1), over a link that marks from 5 ms of queue on.
    ScreamL4s,
}

/// One way each.
const DELAY: Duration = Duration::from_millis(20);
const PACKET: Bytes = Bytes::new(1200);

pub fn limits() -> RateLimits {
    let bps = BitRate::from_bps;
    RateLimits::new(bps(150_000), bps(1_000_000), bps(8_000_000)).unwrap()
}

pub fn controller(kind: Kind) -> Box<dyn MediaController> {
    let scream = |ecn| {
        Scream::new(ScreamConfig {
            limits: limits(),
            ecn,
            mss: PACKET,
            frame_period: Duration::from_millis(33),
        })
    };
    match kind {
        Kind::Gcc => Box::new(Gcc::new(limits())),
        Kind::Scream => Box::new(scream(EcnMode::Off)),
        Kind::ScreamL4s => Box::new(scream(EcnMode::L4s)),
    }
}

/// What was seen in one step of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Payload delivered, bit/s.
    pub rate: f64,
    /// Longest wait in the queue, ms.
    pub queue_max: f64,
    /// Shortest wait, ms.
    pub queue_min: f64,
    /// Frames that came whole.
    pub frames: u64,
}

/// Runs a call for so many seconds over a link whose rate is that of each second.
pub fn run(kind: Kind, seed: u64, rates: &[BitRate]) -> Vec<Second> {
    let config = EncoderConfig {
        frame_rate: 30,
        deviation: 0.1,
        key_frame_interval: None,
        key_frame_size: 1.0,
    };
    let rng = Streams::new(seed).stream("encoder");
    let encoder = Encoder::new(config, Instant::ZERO, rng).unwrap();
    let mut sender = Sender::new(controller(kind), encoder, PACKET);
    let format = match kind {
        Kind::Gcc => FeedbackFormat::TransportWide,
        _ => FeedbackFormat::Rfc8888,
    };
    let mut receiver = Receiver::new(format);
    let mut on_link: VecDeque<(Instant, MediaPacket, Ecn)> = VecDeque::new();
    let mut back: VecDeque<(Instant, Feedback)> = VecDeque::new();
    let mut free_at = Instant::ZERO;
    let mut seconds = vec![Second::default(); rates.len()];
    for second in &mut seconds {
        second.queue_min = f64::INFINITY;
    }
    let end = Instant::ZERO + Duration::from_secs(rates.len() as u64);
    let second_of = |at: Instant| ((at.as_secs_f64()) as usize).min(rates.len() - 1);
    loop {
        let next = [
            Some(sender.next_deadline()),
            receiver.next_deadline(),
            on_link.front().map(|of| of.0),
            back.front().map(|of| of.0),
        ];
        let now = next.into_iter().flatten().min().expect("frames go on");
        if now >= end {
            return seconds;
        }
        while on_link.front().is_some_and(|of| of.0 <= now) {
            let (_, packet, ecn) = on_link.pop_front().expect("it is there");
            let second = &mut seconds[second_of(now)];
            second.rate += packet.bytes.get() as f64 * 8.0;
            let whole = receiver.on_packet(now, &packet, ecn);
            second.frames += u64::from(whole.is_some());
        }
        while let Some((feedback, _)) = receiver.poll_feedback(now) {
            back.push_back((now + DELAY, feedback));
        }
        while back.front().is_some_and(|of| of.0 <= now) {
            let (_, feedback) = back.pop_front().expect("it is there");
            sender.on_feedback(now, &feedback);
        }
        sender.on_deadline(now);
        while let Some(packet) = sender.poll_transmit(now) {
            let wait = free_at.saturating_since(now);
            let second = &mut seconds[second_of(now)];
            second.queue_max = second.queue_max.max(wait.as_millis_f64());
            second.queue_min = second.queue_min.min(wait.as_millis_f64());
            let is_marked = kind == Kind::ScreamL4s && wait > Duration::from_millis(5);
            let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect1 };
            free_at = free_at.max(now) + packet.bytes / rates[second_of(now)];
            on_link.push_back((free_at + DELAY, packet, ecn));
        }
    }
}
