use super::*;
use units::Streams;

fn spec(rule: AbrRule) -> VideoSpec {
    VideoSpec {
        segment: Duration::from_secs(2),
        ladder: [1, 2, 4].map(BitRate::from_mbps).to_vec(),
        variation: 0.0,
        buffer: Duration::from_secs(20),
        startup: Duration::from_secs(2),
        rule,
        safety: 0.9,
        request: Bytes::new(400),
    }
}

fn player(spec: VideoSpec, over_tcp: bool) -> Video {
    let rng = Streams::new(3).stream("video");
    Video::new(&Arc::new(spec), Instant::ZERO, rng, over_tcp)
}

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn at(seconds: f64) -> Instant {
    Instant::ZERO + s(seconds)
}

/// Loads segments at this rate until `until`: when each was requested, and its place in the ladder.
fn load(video: &mut Video, mbps: u64, until: Instant) -> Vec<(f64, usize)> {
    let mut requests = Vec::new();
    while let Some(now) = video.next_deadline().filter(|&due| due < until) {
        if video.begin(now).is_some() {
            let time = video.exchange().answer / BitRate::from_mbps(mbps);
            if let Some(Fetch::Segment { rung, .. }) = video.fetch {
                requests.push((now.as_secs_f64(), rung));
            }
            video.on_object_done(now + time);
        }
    }
    requests
}

fn rungs(requests: &[(f64, usize)]) -> Vec<usize> {
    requests.iter().map(|(_, rung)| *rung).collect()
}

/// At 8 Mbit/s a segment takes 0.25, 0.5 or 1 s, so that the level rises by 1.75, 1.5 or 1 s. BOLA's thresholds are 12.139 and
/// 14.093 s (`bola`).
#[test]
fn bola_takes_the_bitrate_that_the_level_gives() {
    let mut video = player(spec(AbrRule::Bola), false);
    let requests = load(&mut video, 8, at(60.0));
    // levels at requests: 0, 2, 3.75, 5.5, 7.25, 9, 10.75, 12.5 (middle), then + 1.5: 14 (middle), 15.5 (highest), 16.5 ...
    assert_eq!(rungs(&requests)[..12], [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2]);
    // once the buffer is full one is requested for each that is played
    let times: Vec<f64> = requests.iter().map(|(time, _)| *time).collect();
    let last = times.windows(2).last().expect("many segments");
    assert!((last[1] - last[0] - 2.0).abs() < 0.01, "{last:?}");
    let result = video.result(at(60.0));
    assert_eq!((result.startup_delay, result.stalls), (Some(s(0.25)), 0));
    assert_eq!(result.switches, 2);
    assert_eq!(result.switch_step, BitRate::from_bps(1_500_000));
}

/// BBA-0 with 20 s: reservoir 7.5 s, upper 18 s. f is 2 at 11 s; 4 is reached at 18 s only.
#[test]
fn bba_follows_its_map() {
    let mut video = player(spec(AbrRule::Bba), false);
    let requests = load(&mut video, 8, at(60.0));
    // levels: 0, 2, 3.75, 5.5, 7.25, 9, 10.75, 12.5 (f > 2: the greatest below), + 1.5: 14, 15.5, 17, and 18 when there is room
    assert_eq!(rungs(&requests)[..12], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]);
}

#[test]
fn the_rule_by_throughput_takes_what_is_within_its_share() {
    let mut video = player(spec(AbrRule::Rate), false);
    let requests = load(&mut video, 4, at(30.0));
    assert_eq!(rungs(&requests)[..4], [0, 1, 1, 1], "0.9 x 4 is below 4");
    let mut video = player(spec(AbrRule::Rate), false);
    let requests = load(&mut video, 5, at(30.0));
    assert_eq!(rungs(&requests)[..4], [0, 2, 2, 2]);
}

/// At 1 Mbit/s 2 s of 2 Mbit/s take 4 s: after each segment two seconds of stall.
#[test]
fn a_link_below_the_ladder_stalls_half_of_the_time() {
    let mut video = player(
        VideoSpec {
            ladder: vec![BitRate::from_mbps(2)],
            ..spec(AbrRule::Bola)
        },
        false,
    );
    load(&mut video, 1, at(39.0));
    let result = video.result(at(40.0));
    // ten segments at 4, 8 .. 40 s; playing 2 of each 4 s from 4 s on
    assert_eq!(result.startup_delay, Some(s(4.0)));
    assert_eq!((result.stalls, result.stalled), (9, s(18.0)));
    assert_eq!(result.played, s(18.0));
    assert_eq!(result.stall_ratio(), Some(0.5));
    assert_eq!(result.bitrate, BitRate::from_mbps(2));
}

/// Yin et al., equation 5, by hand: bitrates 1, 4, 2; switches of 3 and 2; 1 s of stall and 2 s of start-up.
#[test]
fn equation_5_quality_of_experience() {
    let mut video = player(spec(AbrRule::Bola), false);
    video.rungs = vec![0, 2, 1];
    let qoe = video.qoe(s(1.0), Some(s(2.0))).expect("segments");
    assert!((qoe - (7.0 - 5.0 - 9.0) / 3.0).abs() < 1e-12);
}

#[test]
fn over_tcp_a_connection_begins_with_its_handshake() {
    let mut video = player(spec(AbrRule::Bola), true);
    assert_eq!(video.begin(at(0.0)), Some(Begin::OnNewConnection));
    assert_eq!(video.exchange(), tls::HANDSHAKE);
    assert_eq!(video.next_deadline(), None);
    video.on_object_done(at(0.1));
    assert_eq!(video.begin(at(0.1)), Some(Begin::OnSameConnection));
    assert_eq!(video.exchange().answer, Bytes::new(250_000));
    // the connection breaks: the same segment, after another handshake
    video.on_connection_lost(at(3.0));
    assert_eq!(video.begin(at(3.0)), Some(Begin::OnNewConnection));
    assert_eq!(video.exchange(), tls::HANDSHAKE);
    video.on_object_done(at(3.1));
    assert_eq!(video.begin(at(3.1)), Some(Begin::OnSameConnection));
    assert_eq!(video.result(at(3.1)).segments, 0);
}

#[test]
fn sizes_vary_as_the_seed_draws_them() {
    let sizes = |seed| {
        let spec = VideoSpec {
            variation: 0.5,
            ..spec(AbrRule::Rate)
        };
        let rng = Streams::new(seed).stream("video");
        let mut video = Video::new(&Arc::new(spec), Instant::ZERO, rng, false);
        (0..200)
            .map(|_| {
                let size = video.size_of(0);
                video.factor = None;
                size.get()
            })
            .collect::<Vec<u64>>()
    };
    let of = sizes(1);
    assert_eq!(of, sizes(1));
    assert_ne!(of, sizes(2));
    assert!(of.iter().all(|size| (125_000..=375_000).contains(size)));
    let mean = of.iter().sum::<u64>() as f64 / 200.0;
    assert!((mean - 250e3).abs() < 15e3, "{mean}");
}
