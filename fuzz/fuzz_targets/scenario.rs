//! The reader of scenario files on any text, with an option before the first zero byte. Channels that
//! move are placed and looked at too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use radio::SinrSource;
use radio::moving::MovingRadio;
use scenario::{ChannelSpec, Experiment, MovingSpec, Overrides, load_str};
use units::{Duration, Instant, Streams};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (option, text) = match text.split_once('\0') {
        Some((option, text)) => (option.split_once('='), text),
        None => (None, &*text),
    };
    let set = option.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let overrides = Overrides {
        set: set.into_iter().collect(),
        ..Overrides::default()
    };
    match load_str(text, &overrides) {
        Ok(points) => points.iter().take(4).for_each(|point| {
            assert!(!point.experiment.flows.is_empty());
            look(&point.experiment);
        }),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

/// Asks the first moving channels for their SINR.
fn look(experiment: &Experiment) {
    let moving = experiment.ues.iter().filter_map(|ue| match &ue.channel {
        ChannelSpec::Moving(spec) => Some(spec),
        _ => None,
    });
    for (seed, spec) in (0..).zip(moving.take(4)) {
        drive(spec, experiment.duration, Streams::new(seed));
    }
}

/// Ever longer steps over the first 200 ms of a run.
fn drive(spec: &MovingSpec, run: Duration, streams: Streams) {
    // random places may be so rare that this seed finds none
    let Ok(placed) = spec.placed(run, streams.stream("place")) else {
        return;
    };
    let radio = MovingRadio::new(&placed, run, &streams);
    let mut radio = radio.expect("what was accepted and placed can be built");
    let mut at = Instant::ZERO;
    for step in 1..=20 {
        let sample = radio.sinr(at);
        assert!(sample.sinr.get().is_finite() && sample.holds_until > at);
        at += Duration::from_millis(step);
    }
}
