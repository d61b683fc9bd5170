//! A phone at rest: once a second, SINR = 13 dB + a Gauss-Markov process of deviation 1 dB and
//! correlation time 60 s (doors, people, neighbouring cells' load).

use super::{CqiTrack, GaussMarkov, cqi_of, steps};
use crate::trace::Content;
use units::{Decibel, Duration, Streams};

const STEP: Duration = Duration::from_secs(1);
const MEAN: Decibel = Decibel::new(13.0);
const DEVIATION: Decibel = Decibel::new(1.0);
const CORRELATION_TIME: Duration = Duration::from_secs(60);

pub(super) fn generate(duration: Duration, streams: &Streams) -> Content {
    let mut slow = GaussMarkov::new(streams.stream("slow"), DEVIATION.get());
    let mut track = CqiTrack::default();
    for at in steps(duration, STEP) {
        let sinr = MEAN.get() + slow.next(STEP.ratio(CORRELATION_TIME));
        track.push(at, cqi_of(Decibel::new(sinr)));
    }
    track.content(duration)
}
