//! Transfers without loss: completeness, acknowledgements, pacing, what limits the sender.

use super::super::{Config, ReadChunk};
use super::controllers::{Fixed, real};
use super::pipe::{CLIENT, MSS, Pipe, SERVER, at, config, ms, observed, position, with};
use units::{BitRate, Bytes, Duration, Instant, Packets};

fn fixed(cwnd: u64) -> Pipe {
    Pipe::new(
        [config(), config()],
        Box::new(Fixed::new(cwnd)),
        Box::new(Fixed::new(cwnd)),
    )
}

#[test]
fn a_lossless_transfer_sends_each_byte_once() {
    for controller in ["newreno", "cubic", "bbr"] {
        let ends = [real(controller, MSS), real(controller, MSS)];
        let [client, server] = ends;
        let mut p = Pipe::new([config(), config()], client, server);
        p.establish();
        p.transfer(SERVER, 5_000_000);
        let mut next = 1;
        for departure in p.data(SERVER) {
            assert_eq!(departure.segment.seq, next, "{controller}");
            next = departure.segment.payload_end();
        }
        assert_eq!(next, 5_000_001);
        assert_eq!(p.stats(SERVER).retransmits, Packets::ZERO);
        // the last acknowledgements are still on their way
        p.run_until(p.now + ms(100));
        assert_eq!(p.stats(SERVER).bytes_acked, Bytes::new(5_000_000));
        assert_eq!(p.stats(SERVER).bytes_in_flight, Bytes::ZERO);
        assert_eq!(
            p.stats(CLIENT).bytes_received_in_order,
            Bytes::new(5_000_000)
        );
        let origins: Vec<Instant> = p.chunks[CLIENT].iter().map(|c| c.origin).collect();
        assert!(origins.is_sorted());
    }
}

#[test]
fn both_directions_at_once() {
    let mut p = fixed(20_000);
    p.establish();
    p.write(CLIENT, 800_000);
    p.write(SERVER, 700_000);
    p.run_until(at(3_000));
    assert_eq!(
        (p.bytes_read(SERVER), p.bytes_read(CLIENT)),
        (800_000, 700_000)
    );
    assert_eq!(
        p.stats(CLIENT).retransmits + p.stats(SERVER).retransmits,
        Packets::ZERO
    );
}

#[test]
fn a_window_each_round_trip() {
    let mut p = fixed(20_000);
    p.establish();
    let time = p.transfer(SERVER, 400_000);
    // 20 windows; the last needs no acknowledgement. 400 segments take 3.4 ms on the line.
    assert!(
        time >= ms(19 * 20 + 10) && time <= ms(20 * 20 + 14),
        "{time}"
    );
}

#[test]
fn the_same_twice_gives_the_same() {
    let run = || {
        let mut p = Pipe::new([config(), config()], real("cubic", MSS), real("cubic", MSS));
        p.ways[SERVER].rate = BitRate::from_mbps(20);
        p.ways[SERVER].buffer = ms(30);
        p.establish();
        p.transfer(SERVER, 3_000_000);
        p.log.iter().map(|d| (d.at, d.segment)).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn rfc_5681_4_2_half_as_many_acknowledgements_as_segments() {
    let mut p = fixed(20_000);
    p.establish();
    p.transfer(SERVER, 1_000_000);
    // sixteen quick ones, of which the SYN-ACK's was the first, then one for two segments
    let (acks, expected) = (p.acks(CLIENT).len(), 15 + (1_000 - 15) / 2);
    assert!(acks.abs_diff(expected) <= 1, "{acks}");
}

#[test]
fn without_delayed_acknowledgements_there_is_one_for_each_segment() {
    let client = Config {
        delayed_ack: false,
        ..config()
    };
    let mut p = Pipe::new(
        [client, config()],
        Box::new(Fixed::new(20_000)),
        Box::new(Fixed::new(20_000)),
    );
    p.establish();
    p.transfer(SERVER, 500_000);
    assert_eq!(p.acks(CLIENT).len(), 500);
}

#[test]
fn a_single_segment_is_acknowledged_after_40_ms() {
    let mut p = fixed(20_000);
    p.establish();
    p.transfer(SERVER, 100_000);
    p.run_until(at(250));
    p.log.clear();
    p.write(SERVER, MSS);
    p.run_until(at(600));
    let ack = p.acks(CLIENT)[0];
    let arrival = p.data(SERVER)[0].at + ms(10) + Bytes::new(MSS + 52) / BitRate::from_mbps(1_000);
    assert_eq!(ack.at, arrival + ms(40));
    assert_eq!(
        p.data(SERVER).len(),
        1,
        "the probe waits for a delayed acknowledgement"
    );
}

#[test]
fn pacing_keeps_the_rate_within_one_percent() {
    let rate = BitRate::from_mbps(50);
    let sender = Fixed::new(1_000_000).paced(rate);
    let mut p = with([config(), config()], sender);
    p.establish();
    let time = p.transfer(SERVER, 10_000_000);
    let data = p.data(SERVER);
    let span = data[data.len() - 1].at - data[0].at;
    let expected = Bytes::new(10_000_000) / rate;
    assert!(
        (span.ratio(expected) - 1.0).abs() < 0.01,
        "{span} for {expected}"
    );
    assert!(time >= span);
    // no 20 ms carry more than the rate and a burst
    let (per_window, burst) = (125_000, 7_000);
    for (k, first) in data.iter().enumerate() {
        let within = data[k..]
            .iter()
            .take_while(|d| d.at < first.at + ms(20))
            .count() as u64;
        assert!(
            within * MSS <= per_window + burst,
            "{within} segments from {}",
            first.at
        );
    }
}

#[test]
fn a_sender_without_data_is_app_limited_and_one_with_too_much_is_not() {
    let (mut p, events) = observed(Fixed::new(10_000));
    events.lock().unwrap().app_limited = 0;
    p.write(SERVER, 500_000);
    p.run_until(at(800));
    {
        let events = events.lock().unwrap();
        assert_eq!(events.app_limited, 0, "cwnd is what limits it");
        assert!(events.cwnd_limited.iter().all(|&limited| limited));
    }
    p.run_until(at(3_000));
    events.lock().unwrap().cwnd_limited.clear();
    for k in 0..20 {
        p.write(SERVER, 2_000);
        p.run_until(at(3_050 + 50 * k));
    }
    let events = events.lock().unwrap();
    assert!(events.app_limited >= 20, "{}", events.app_limited);
    assert!(
        events.cwnd_limited.iter().all(|&limited| !limited),
        "two of ten segments"
    );
}

#[test]
fn a_peer_window_is_no_congestion_window() {
    let sender = Fixed::new(100_000);
    let events = sender.events();
    let client = Config {
        receive_buffer: Bytes::new(20_000),
        ..config()
    };
    let mut p = with([client, config()], sender);
    p.establish();
    events.lock().unwrap().app_limited = 0;
    p.transfer(SERVER, 500_000);
    let events = events.lock().unwrap();
    assert!(events.cwnd_limited.iter().all(|&limited| !limited));
    // at the end there is nothing to send
    assert!(events.app_limited < 30, "{}", events.app_limited);
}

#[test]
fn a_round_trip_begins_once_in_each_window() {
    let (mut p, events) = observed(Fixed::new(20_000));
    p.transfer(SERVER, 400_000);
    let starts = events.lock().unwrap().round_starts.clone();
    assert!((19..=21).contains(&starts.len()), "{}", starts.len());
    for pair in starts.windows(2) {
        assert!(pair[1] - pair[0] >= ms(20), "{pair:?}");
    }
}

#[test]
fn idle_for_longer_than_the_timeout_is_reported() {
    let (mut p, events) = observed(Fixed::new(10_000));
    p.transfer(SERVER, 50_000);
    p.run_until(p.now + ms(100));
    p.transfer(SERVER, 50_000);
    assert_eq!(events.lock().unwrap().restarts, 0);
    p.run_until(p.now + Duration::from_secs(1));
    p.transfer(SERVER, 50_000);
    assert_eq!(events.lock().unwrap().restarts, 1);
}

#[test]
fn all_payload_is_reported_to_the_controller() {
    let (mut p, events) = observed(Fixed::new(10_000));
    p.transfer(SERVER, 123_456);
    p.run_until(p.now + ms(100));
    let events = events.lock().unwrap();
    assert_eq!((events.sent, events.acked), (123_456, 123_456));
}

#[test]
fn rfc_1122_4_2_3_4_a_small_segment_waits_for_the_small_one_before() {
    let mut p = fixed(20_000);
    p.establish();
    p.write(SERVER, 300);
    p.write(SERVER, 300);
    p.write(SERVER, 300);
    assert_eq!(p.data(SERVER).len(), 1);
    p.run_until(at(500));
    let lens: Vec<u32> = p.data(SERVER).iter().map(|d| d.segment.len).collect();
    assert_eq!(lens, [300, 600]);
    // Minshall: a small tail after full segments does not wait
    p.log.clear();
    p.write(SERVER, 5 * MSS + 10);
    assert_eq!(p.data(SERVER).len(), 6);
}

#[test]
fn nodelay_sends_small_segments_at_once() {
    let server = Config {
        nodelay: true,
        ..config()
    };
    let mut p = Pipe::new(
        [config(), server],
        Box::new(Fixed::new(20_000)),
        Box::new(Fixed::new(20_000)),
    );
    p.establish();
    p.write(SERVER, 300);
    p.write(SERVER, 300);
    assert_eq!(p.data(SERVER).len(), 2);
}

#[test]
fn relayed_data_keeps_its_origin() {
    let mut p = fixed(100_000);
    p.establish();
    let origin = |k: u64| Instant::from_nanos(1_000 + k);
    for k in 0..10 {
        p.ends[SERVER].write(p.now, Bytes::new(MSS), Some(origin(k)));
    }
    p.pump(SERVER);
    p.run_until(at(100));
    let expected: Vec<ReadChunk> = (0..10)
        .map(|k| ReadChunk {
            bytes: Bytes::new(MSS),
            origin: origin(k),
        })
        .collect();
    assert_eq!(p.chunks[CLIENT], expected);
}

#[test]
fn the_round_trip_sample_belongs_to_the_newest_segment_acknowledged() {
    let mut p = fixed(100_000);
    p.establish();
    let mut samples = Vec::new();
    p.ends[SERVER].write(p.now, Bytes::new(50 * MSS), None);
    p.pump(SERVER);
    while p.step(at(300)) {
        samples.extend(p.ends[SERVER].take_rtt_sample());
    }
    let line = Bytes::new(MSS + 52) / BitRate::from_mbps(1_000);
    let back = Bytes::new(52) / BitRate::from_mbps(1_000);
    assert!(samples.len() >= 15 + 17, "{}", samples.len());
    for (k, sample) in samples.iter().take(15).enumerate() {
        assert_eq!(sample.origin, at(40));
        assert_eq!(sample.rtt, ms(20) + line * (k as u64 + 1) + back);
    }
    assert_eq!(p.ends[SERVER].take_rtt_sample(), None, "each once");
}

#[test]
fn a_full_send_buffer_takes_no_more() {
    let server = Config {
        send_buffer: Bytes::new(30_000),
        ..config()
    };
    let client = Config {
        delayed_ack: false,
        ..config()
    };
    let mut p = Pipe::new(
        [client, server],
        Box::new(Fixed::new(20_000)),
        Box::new(Fixed::new(20_000)),
    );
    p.establish();
    let accepted = p.ends[SERVER].write(p.now, Bytes::new(50_000), None);
    assert_eq!(accepted, Bytes::new(30_000));
    p.pump(SERVER);
    assert_eq!(p.ends[SERVER].send_space(), Bytes::ZERO);
    assert_eq!(p.ends[SERVER].unsent(), Bytes::new(10_000));
    assert_eq!(p.ends[SERVER].bytes_in_flight(), Bytes::new(20_000));
    p.run_until(at(62));
    assert_eq!(p.ends[SERVER].send_space(), Bytes::new(20_000));
    assert_eq!(p.data(SERVER)[19].segment.seq, position(19));
}
