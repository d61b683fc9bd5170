//! Windows: the peer's, and the limit that a proxy sets.

use super::super::Config;
use super::controllers::Fixed;
use super::pipe::{CLIENT, MSS, PacketOutcome, Pipe, SERVER, at, config, ms, with};
use units::{Bytes, Duration, Packets};

fn pipe(receive_buffer: u64) -> Pipe {
    let client = Config {
        receive_buffer: Bytes::new(receive_buffer),
        ..config()
    };
    let sender = Fixed::new(10_000_000);
    with([client, config()], sender)
}

/// The server has written so much to a client that reads nothing.
fn unread(receive_buffer: u64, bytes: u64) -> Pipe {
    let mut p = pipe(receive_buffer);
    p.establish();
    p.reads[CLIENT] = false;
    p.write(SERVER, bytes);
    p
}

#[test]
fn a_reader_that_stops_stops_the_sender_at_the_buffer() {
    let mut p = unread(50_000, 200_000);
    p.run_until(at(1_000));
    assert_eq!(p.ends[CLIENT].readable(), Bytes::new(50_000));
    assert_eq!(p.stats(SERVER).peer_window, Bytes::ZERO);
    assert_eq!(p.ends[SERVER].unsent(), Bytes::new(150_000));
    assert_eq!(p.stats(SERVER).retransmits, Packets::ZERO);
}

#[test]
fn with_scaling_the_buffer_is_never_overrun() {
    // granules of 16 bytes
    let mut p = unread(1_000_000, 3_000_000);
    p.run_until(at(5_000));
    let readable = p.ends[CLIENT].readable().get();
    assert!(
        readable <= 1_000_000 && readable > 1_000_000 - 2 * MSS,
        "{readable}"
    );
}

#[test]
fn rfc_9293_3_8_6_1_a_closed_window_is_probed_with_backoff() {
    let mut p = unread(50_000, 200_000);
    p.run_until(at(500));
    p.log.clear();
    p.run_until(at(10_000));
    let probes = p.acks(SERVER);
    assert!(probes.len() >= 4, "{}", probes.len());
    assert_eq!(probes.len(), p.acks(CLIENT).len(), "each is answered");
    for triple in probes.windows(3) {
        let (first, second) = (triple[1].at - triple[0].at, triple[2].at - triple[1].at);
        assert!((second.ratio(first) - 2.0).abs() < 0.01, "{first} {second}");
    }
    assert!(p.ends[SERVER].is_established());
}

#[test]
fn reading_reopens_the_window_at_once() {
    let mut p = unread(50_000, 200_000);
    p.run_until(at(500));
    p.log.clear();
    p.read(CLIENT, 999);
    p.pump(CLIENT);
    assert!(
        p.acks(CLIENT).is_empty(),
        "less than a segment is not worth it"
    );
    p.read(CLIENT, 1);
    p.pump(CLIENT);
    assert_eq!(p.acks(CLIENT).len(), 1);
    assert_eq!(p.log[0].segment.window, MSS);
    p.run_until(at(600));
    assert_eq!(p.data(SERVER).len(), 1);
    p.reads[CLIENT] = true;
    p.pump(CLIENT);
    p.run_until(at(2_000));
    assert_eq!(p.bytes_read(CLIENT), 200_000);
}

#[test]
fn a_lost_window_update_is_made_up_by_a_probe() {
    let mut p = unread(50_000, 200_000);
    p.run_until(at(100));
    p.ways[CLIENT].outcomes = Box::new(|now, _, _| {
        if now < at(150) {
            PacketOutcome::Drop
        } else {
            PacketOutcome::Pass
        }
    });
    p.reads[CLIENT] = true;
    p.pump(CLIENT);
    p.run_until(at(10_000));
    assert_eq!(p.bytes_read(CLIENT), 200_000);
}

#[test]
fn without_answers_to_probes_the_sender_gives_up() {
    let mut p = unread(50_000, 200_000);
    p.run_until(at(500));
    p.ways[SERVER].outcomes = Box::new(|_, _, _| PacketOutcome::Drop);
    p.run_until(at(10_000_000));
    assert!(p.ends[SERVER].is_closed());
}

#[test]
fn a_slow_reader_is_followed() {
    let mut p = unread(50_000, 1_000_000);
    // 10 kB each 10 ms: 1 MB in a second
    for k in 0..120 {
        p.run_until(at(40 + 10 * k));
        p.read(CLIENT, 10_000);
        p.pump(CLIENT);
    }
    assert_eq!(p.bytes_read(CLIENT), 1_000_000);
    // nothing small: 1000 full segments
    assert!(
        p.data(SERVER).len() <= 1_000 + 10,
        "{}",
        p.data(SERVER).len()
    );
}

#[test]
fn an_application_that_reads_by_itself_keeps_the_buffer_empty() {
    let client = Config {
        auto_read: true,
        receive_buffer: Bytes::new(50_000),
        ..config()
    };
    let sender = Fixed::new(10_000_000);
    let mut p = with([client, config()], sender);
    p.establish();
    p.reads[CLIENT] = false;
    p.write(SERVER, 1_000_000);
    p.run_until(at(5_000));
    assert_eq!(p.ends[CLIENT].readable(), Bytes::new(1_000_000));
    p.read(CLIENT, u64::MAX);
    assert_eq!(p.bytes_read(CLIENT), 1_000_000);
}

/// The window that the sender sees after things have settled.
fn seen_window(p: &mut Pipe) -> u64 {
    for _ in 0..40 {
        p.run_until(p.now + ms(10));
        let space = p.ends[SERVER].send_space();
        p.ends[SERVER].write(p.now, space, None);
        p.pump(SERVER);
    }
    p.stats(SERVER).peer_window.get()
}

#[test]
fn a_proxy_limit_is_followed_down_and_up() {
    let mut p = pipe(1 << 20);
    p.is_strict = true; // never to the left, not even by a granule
    p.establish();
    p.ends[SERVER].write(p.now, Bytes::new(4_000_000), None);
    p.pump(SERVER);
    p.run_until(at(200));
    let granule = 32;
    for limit in [300_000u64, 50_000, 400_000, 7_240, 100_000] {
        p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(limit)));
        p.pump(CLIENT);
        let window = seen_window(&mut p);
        // what the receiver has not acknowledged yet is a part of it
        assert!(
            window >= limit && window < limit + granule,
            "{window} for {limit}"
        );
        let in_flight = p.stats(SERVER).bytes_in_flight.get();
        assert!(
            in_flight + MSS > limit - 2 * MSS && in_flight <= window,
            "{in_flight} of {limit}"
        );
    }
}

#[test]
fn a_higher_limit_is_advertised_immediately_and_a_lower_one_withdraws_nothing() {
    let mut p = pipe(1 << 20);
    p.is_strict = true;
    p.establish();
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(100_000)));
    p.pump(CLIENT);
    assert!(
        p.log.is_empty(),
        "the promise stands, there is nothing to announce"
    );
    p.write(SERVER, 1_000_000);
    p.run_until(at(51));
    // the whole of the first advertise was used
    assert!(p.data(SERVER).len() > 900);
    p.ends[SERVER].write(p.now, Bytes::new(3_000_000), None);
    p.run_until(at(300));
    p.log.clear();
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(100_900)));
    p.pump(CLIENT);
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(200_000)));
    p.pump(CLIENT);
    assert_eq!(
        p.acks(CLIENT).len(),
        1,
        "one update: 900 bytes were not worth it"
    );
    p.ends[CLIENT].set_receive_window(p.now, None);
    p.pump(CLIENT);
    assert_eq!(p.acks(CLIENT).len(), 2);
}

#[test]
fn a_limit_of_zero_stops_and_can_be_lifted() {
    let mut p = pipe(60_000);
    p.is_strict = true;
    p.establish();
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::ZERO));
    p.write(SERVER, 500_000);
    p.run_until(at(900));
    assert_eq!(p.bytes_read(CLIENT), 60_000, "what was promised");
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(5_000)));
    p.pump(CLIENT);
    // five segments at a time, of which the fifth is acknowledged after 40 ms
    p.run_until(at(8_000));
    assert_eq!(p.bytes_read(CLIENT), 500_000);
}

#[test]
fn a_limited_window_gives_the_limited_rate() {
    let mut p = pipe(1 << 20);
    p.establish();
    p.ends[CLIENT].set_receive_window(p.now, Some(Bytes::new(25 * MSS)));
    // use the first advertise up
    p.transfer(SERVER, 1 << 20);
    let time = p.transfer(SERVER, 1_000_000);
    // 40 windows of 25 segments, one a round trip of 20.2 ms
    let expected = Duration::from_micros(20_200) * 40;
    assert!(
        (time.ratio(expected) - 1.0).abs() < 0.05,
        "{time} for {expected}"
    );
}
