//! Adaptive video and pages of many objects: what they measure against what the link gives.

use crate::*;
use scenario::{
    AbrRule, AccessSpec, AppSpec, ApplicationResult, Experiment, PageResult, PageSpec, PepMode,
    Transport, VideoResult, VideoSpec,
};
use std::sync::Arc;
use units::{BitRate, Bytes, Duration};

/// UDP payload of a full datagram.
const DATAGRAM: u64 = 1_440;

fn video_spec(rule: AbrRule) -> VideoSpec {
    VideoSpec {
        segment: Duration::from_secs(2),
        ladder: [1, 2, 4, 8].map(BitRate::from_mbps).to_vec(),
        variation: 0.0,
        buffer: Duration::from_secs(20),
        startup: Duration::from_secs(2),
        rule,
        safety: 0.9,
        request: Bytes::new(400),
    }
}

fn page_spec() -> PageSpec {
    PageSpec {
        document: Bytes::new(1_000),
        blocking: 2,
        blocking_size: Bytes::new(1_000),
        objects: 2,
        object_size: Bytes::new(1_000),
        spread: 0.0,
        request: Bytes::new(400),
        think: ms(10),
        gap: ms(500),
        count: Some(5),
        has_own_connections: true,
    }
}

/// An application over a wire.
fn over_wire(rate: BitRate, rtt: Duration, transport: Transport, app: AppSpec) -> Experiment {
    let buffer = (bdp(rate, rtt) * 2).max(Bytes::new(60_000));
    let mut experiment = dumbbell(rate, rtt, buffer, Duration::from_secs(60));
    let mut flow = flow("app", "cubic", app);
    flow.transport = transport;
    if transport == Transport::Quic {
        flow.tcp.mss = Bytes::new(DATAGRAM);
    }
    experiment.flows.push(flow);
    experiment
}

fn video(rate: BitRate, transport: Transport, spec: VideoSpec) -> Experiment {
    over_wire(rate, ms(20), transport, AppSpec::Video(Arc::new(spec)))
}

fn page(rtt: Duration, transport: Transport, spec: PageSpec) -> Experiment {
    over_wire(mbps(100), rtt, transport, AppSpec::Page(Arc::new(spec)))
}

fn watched(experiment: &Experiment) -> VideoResult {
    match run(experiment).flows.remove(0).application {
        Some(ApplicationResult::Video(video)) => video,
        other => panic!("{other:?}"),
    }
}

fn loaded(experiment: &Experiment) -> PageResult {
    match run(experiment).flows.remove(0).application {
        Some(ApplicationResult::Page(page)) => *page,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_video_begins_after_its_handshakes_and_its_first_segment() {
    // 250 kB at 20 Mbit/s: 100 ms of payload, 104 with headers
    for (transport, round_trips) in [(Transport::Tcp, 3.0), (Transport::Quic, 2.0)] {
        let result = watched(&video(mbps(20), transport, video_spec(AbrRule::Bola)));
        let startup = result.startup_delay.expect("it plays").as_secs_f64();
        let least = 0.020 * round_trips + 0.1;
        assert!(
            startup > least && startup < least + 0.1,
            "{transport:?}: {startup} of {least}"
        );
        assert_eq!((result.stalls, result.stall_ratio()), (0, Some(0.0)));
        let played = result.played.as_secs_f64();
        assert!((played - (60.0 - startup)).abs() < 1e-6, "{played}");
    }
}

/// Of 20 Mbit/s the highest bitrate, 8, needs less than half: every rule ends there.
#[test]
fn each_rule_finds_the_highest_bitrate_that_fits() {
    for rule in [AbrRule::Bola, AbrRule::Bba, AbrRule::Rate] {
        let result = watched(&video(mbps(20), Transport::Tcp, video_spec(rule)));
        assert_eq!(result.stalls, 0, "{rule:?}");
        let bitrate = result.bitrate.as_mbps_f64();
        assert!(bitrate > 5.0 && bitrate <= 8.0, "{rule:?}: {bitrate}");
        assert!(result.switches >= 1, "{rule:?}");
        assert!(result.buffer.as_secs_f64() > 8.0, "{rule:?}: {result:?}");
    }
}

/// The lowest bitrate is 1 Mbit/s, of which a wire of 0.5 carries 0.48: playback stands still for half of the time.
#[test]
fn a_link_below_the_ladder_stalls() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let rate = BitRate::from_bps(500_000);
        let result = watched(&video(rate, transport, video_spec(AbrRule::Rate)));
        let ratio = result.stall_ratio().expect("it began");
        assert!((0.47..0.58).contains(&ratio), "{transport:?}: {ratio}");
        assert_eq!(result.bitrate, mbps(1));
        assert!(result.stalls > 5 && result.qoe.expect("segments") < 0.0);
    }
}

/// Handshakes, and a round trip with 10 ms of thought for each of three levels: nothing else takes time here.
#[test]
fn small_pages_take_their_round_trips() {
    let (rtt, think) = (50.0, 10.0);
    for (transport, round_trips) in [(Transport::Tcp, 2.0), (Transport::Quic, 1.0)] {
        let result = loaded(&page(ms(50), transport, page_spec()));
        let load = &result.load_time;
        let least = rtt * (round_trips + 3.0) + 3.0 * think;
        assert!(
            load.min >= least && load.max < least + 5.0,
            "{transport:?}: {load:?} of {least}"
        );
        let first = rtt * (round_trips + 1.0) + think;
        let byte = &result.first_byte;
        assert!(
            byte.min >= first && byte.max < first + 5.0,
            "{transport:?}: {byte:?} of {first}"
        );
        let render = &result.first_render;
        assert!(
            render.min >= first + rtt + think && render.max < first + rtt + think + 5.0,
            "{transport:?}: {render:?}"
        );
        assert_eq!((load.count, result.pages, result.objects), (5, 5, 25));
        assert_eq!(result.bytes, Bytes::new(25_000));
    }
}

#[test]
fn a_kept_connection_saves_the_handshakes() {
    for (transport, round_trips) in [(Transport::Tcp, 2.0), (Transport::Quic, 1.0)] {
        let kept = PageSpec {
            has_own_connections: false,
            ..page_spec()
        };
        let load = loaded(&page(ms(50), transport, kept)).load_time;
        let saved = load.max - load.min;
        let handshakes = 50.0 * round_trips;
        assert!(
            (saved - handshakes).abs() < 5.0,
            "{transport:?}: {saved} of {handshakes}"
        );
    }
}

/// More objects than a connection has streams: all come, over both.
#[test]
fn pages_of_more_objects_than_streams_are_whole() {
    let many = PageSpec {
        blocking: 5,
        objects: 350,
        object_size: Bytes::new(20_000),
        spread: 1.0,
        count: Some(2),
        ..page_spec()
    };
    for transport in [Transport::Tcp, Transport::Quic] {
        for keeps in [false, true] {
            let spec = PageSpec {
                has_own_connections: !keeps,
                ..many.clone()
            };
            let experiment = page(ms(20), transport, spec);
            let result = run(&experiment);
            assert!(result.flows[0].completion.is_some(), "{transport:?}");
            let Some(ApplicationResult::Page(page)) = &result.flows[0].application else {
                panic!("a page");
            };
            assert_eq!(page.objects, 2 * 356, "{transport:?}");
            let handshakes = match (transport, keeps) {
                (Transport::Tcp, false) => 2 * 4_000,
                (Transport::Tcp, true) => 4_000,
                _ => 0,
            };
            let delivered = result.flows[0].delivered;
            assert_eq!(delivered, page.bytes + Bytes::new(handshakes));
        }
    }
}

/// Fifty objects in one flight, of whose packets one in a hundred is lost. In one byte stream all that is behind a lost packet
/// waits a round trip for it; with a stream for each, only what was in the packet does.
#[test]
fn a_lost_packet_holds_up_the_byte_stream_and_not_other_streams() {
    let rtt = ms(100);
    let late = |transport| {
        let spec = PageSpec {
            blocking: 0,
            objects: 50,
            think: Duration::ZERO,
            gap: ms(100),
            count: Some(100),
            ..page_spec()
        };
        let mut experiment = page(rtt, transport, spec);
        experiment.duration = Duration::from_secs(600);
        experiment.flows[0].tcp.initial_window = 100;
        if let AccessSpec::Link(link) = &mut experiment.access {
            link.loss = 0.01;
        }
        let times = loaded(&experiment).object_time;
        assert_eq!(times.count, 100 * 51, "{transport:?}");
        times
    };
    let (h2, h3) = (late(Transport::Tcp), late(Transport::Quic));
    // on time is a round trip and the flight itself: 50 kB, 4 ms at once and some 30 ms as quinn paces them
    let on_time = 100.0..140.0;
    assert!(on_time.contains(&h2.p50) && on_time.contains(&h3.p50));
    assert!(on_time.contains(&h3.p95), "{}", h3.p95);
    assert!(h2.p95 > 190.0, "{}", h2.p95);
}

#[test]
fn applications_run_through_a_proxy_that_splits() {
    for app in [
        AppSpec::Video(Arc::new(video_spec(AbrRule::Bola))),
        AppSpec::Page(Arc::new(page_spec())),
    ] {
        let mut experiment = over_wire(mbps(20), ms(40), Transport::Tcp, app);
        experiment.pep.mode = PepMode::Split;
        let flow = run(&experiment).flows.remove(0);
        match flow.application {
            Some(ApplicationResult::Video(video)) => assert_eq!(video.stalls, 0),
            Some(ApplicationResult::Page(page)) => assert_eq!(page.load_time.count, 5),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    let varied = VideoSpec {
        variation: 0.5,
        ..video_spec(AbrRule::Rate)
    };
    let spread = PageSpec {
        spread: 1.3,
        ..page_spec()
    };
    for transport in [Transport::Tcp, Transport::Quic] {
        for app in [
            AppSpec::Video(Arc::new(varied.clone())),
            AppSpec::Page(Arc::new(spread.clone())),
        ] {
            let mut experiment = over_wire(mbps(6), ms(20), transport, app);
            let first = format!("{:?}", run(&experiment).flows);
            assert_eq!(first, format!("{:?}", run(&experiment).flows));
            experiment.seed = 2;
            assert_ne!(first, format!("{:?}", run(&experiment).flows));
        }
    }
}
