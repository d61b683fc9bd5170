//! Deliveries, losses and resent segments; all sums against the records.

use super::*;

const MSS: u64 = 1_000;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

impl Scoreboard {
    /// Compares all sums with the records.
    pub(in super::super::super) fn check(&self) {
        let sum = |status| {
            let of = self.records.iter().filter(|r| r.status == status);
            of.fold((0, 0), |(n, bytes), r| (n + 1, bytes + u64::from(r.len)))
        };
        assert_eq!(sum(Status::InFlight).1, self.in_flight, "in flight");
        assert_eq!(sum(Status::Lost).1, self.lost, "lost");
        assert_eq!(sum(Status::Sacked).0, self.sacked_segments, "sacked");
        let resent = |r: &&Record| r.status == Status::InFlight && r.is_resent;
        assert_eq!(
            self.records.iter().filter(resent).count() as u32,
            self.resent_in_flight
        );
        let mut queued = 0;
        for (number, record) in (self.first..).zip(&self.records) {
            let is_queued = self.to_resend.binary_search(&number).is_ok();
            queued += usize::from(record.status == Status::Lost);
            assert!(
                record.status != Status::Lost || is_queued,
                "{number} lost, not queued"
            );
            if record.status == Status::InFlight && !record.is_resent {
                assert!(
                    number >= self.first_original,
                    "{number} in flight, passed over"
                );
            }
            if record.status == Status::InFlight && record.is_resent {
                assert!(
                    self.resent.contains(&(number, record.sent_at)),
                    "{number} not in order"
                );
            }
        }
        assert!(queued <= self.to_resend.len());
        let contiguous = self.records.iter().zip(self.records.iter().skip(1));
        assert!(contiguous.into_iter().all(|(a, b)| a.end() == b.seq));
    }
}

/// Segments sent a millisecond apart, from time zero on.
fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(MSS);
    board.on_syn_acked();
    for k in 0..segments {
        board.push(Record {
            seq: 1 + k * MSS,
            sent_at: at(k),
            origin: at(k),
            stamp: PacketStamp::default(),
            len: MSS as u32,
            is_fin: false,
            is_resent: false,
            status: Status::InFlight,
        });
    }
    board
}

/// The segments `first..end` are sacked at that time; returns what that delivered.
fn sack(board: &mut Scoreboard, now: Instant, first: u64, end: u64) -> Delivery {
    let mut delivery = Delivery::new(now, Instant::ZERO, false, ms(40));
    let block = Span {
        start: 1 + first * MSS,
        end: 1 + end * MSS,
    };
    board.on_sack(block, &mut delivery);
    board.check();
    delivery
}

fn rack_after(now: Instant, delivery: &Delivery) -> Rack {
    let mut rack = Rack::default();
    rack.on_delivered(now, delivery.rack.unwrap());
    rack
}

#[test]
fn rfc_6675_4_the_pipe_is_what_is_neither_sacked_nor_lost() {
    let mut board = board(10);
    assert_eq!(board.in_flight(), 10 * MSS);
    let delivery = sack(&mut board, at(60), 4, 7);
    assert_eq!((delivery.bytes, delivery.segments), (3 * MSS, 3));
    assert_eq!(board.in_flight(), 7 * MSS);
    // the same block once more, and longer: only what is new counts
    assert_eq!(sack(&mut board, at(61), 4, 7).segments, 0);
    assert_eq!(sack(&mut board, at(62), 3, 9).segments, 3);
    let rack = rack_after(at(62), &sack(&mut board, at(62), 9, 10));
    let mut losses = Losses::default();
    assert!(!board.detect_losses(at(62), &rack, Duration::ZERO, &mut losses));
    assert_eq!((losses.segments, losses.first_sent_at), (3, Some(at(0))));
    assert_eq!((board.in_flight(), board.lost()), (0, 3 * MSS));
    board.check();
}

#[test]
fn a_block_that_cuts_a_segment_delivers_the_whole_ones_only() {
    let mut board = board(5);
    let mut delivery = Delivery::new(at(50), Instant::ZERO, false, Duration::MAX);
    board.on_sack(
        Span {
            start: 1_501,
            end: 4_501,
        },
        &mut delivery,
    );
    assert_eq!(delivery.segments, 2);
    board.check();
}

/// RFC 8985 6.2 step 5: P1 and P2 are lost once P3, sent later, was delivered, each when its own
/// time has run out; P4, sent after P3, is not.
#[test]
fn rfc_8985_6_2_step_5_each_segment_has_its_own_time() {
    let mut board = board(4);
    // P3 was sent at 2 ms and took 50 ms; with a window of 10 ms, P1 expires at 60 ms
    let rack = rack_after(at(52), &sack(&mut board, at(52), 2, 3));
    for (now, lost, is_waiting) in [(59, 0, true), (60, 1, true), (61, 1, false), (99, 0, false)] {
        let mut losses = Losses::default();
        assert_eq!(
            board.detect_losses(at(now), &rack, ms(10), &mut losses),
            is_waiting,
            "{now}"
        );
        assert_eq!(losses.segments, lost, "{now}");
        board.check();
    }
    assert_eq!(board.in_flight(), MSS);
}

/// RFC 8985 3.2: a lost retransmission is found as a segment sent after it is delivered.
#[test]
fn rfc_8985_3_2_a_retransmission_is_judged_by_its_own_time() {
    let mut board = board(4);
    let rack = rack_after(at(53), &sack(&mut board, at(53), 3, 4));
    let mut losses = Losses::default();
    board.detect_losses(at(53), &rack, Duration::ZERO, &mut losses);
    assert_eq!(losses.segments, 3);
    for k in 0..3 {
        let record = board
            .resend_lost(at(53 + k), PacketStamp::default())
            .unwrap();
        assert_eq!(record.seq, 1 + k * MSS, "lowest first");
    }
    // the third is delivered: the first two were sent before it
    let rack = rack_after(at(105), &sack(&mut board, at(105), 2, 3));
    let mut losses = Losses::default();
    board.detect_losses(at(105), &rack, Duration::ZERO, &mut losses);
    assert_eq!((losses.segments, losses.first_sent_at), (2, Some(at(53))));
    assert_eq!(board.lost_ever(), 5);
    board.check();
}

/// RFC 8985 6.2 step 3: only a segment sent once distinguishes reordering from loss.
#[test]
fn rfc_8985_6_2_step_3_reordering() {
    let mut board = board(4);
    assert!(!sack(&mut board, at(50), 2, 4).is_reordered);
    assert!(sack(&mut board, at(51), 1, 2).is_reordered);
    let mut delivery = Delivery::new(at(52), Instant::ZERO, true, Duration::MAX);
    board.on_cumulative(1 + 4 * MSS, &mut delivery);
    assert!(delivery.is_reordered && board.is_empty());
    board.check();
}

/// RFC 8985 6.3: the first segment, and those that had their time.
#[test]
fn rfc_8985_6_3_a_timeout_spares_what_was_sent_just_now() {
    let mut board = board(4);
    let rack = rack_after(at(51), &sack(&mut board, at(51), 1, 2));
    let losses = board.on_timeout(at(52), &rack, Duration::ZERO);
    assert_eq!(losses.segments, 2, "P1 and P3; P4 was sent 49 ms ago");
    board.unmark_losses();
    assert_eq!((board.in_flight(), board.lost()), (3 * MSS, 0));
    board.check();
}
