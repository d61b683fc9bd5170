//! What applications measure themselves: a video's stalls, a page's load time, a call's frames.
//!
//! Each is shown by [`ApplicationResult::measures`]: summaries, comparisons and tables read that list and hold no
//! application's names.

use super::Distribution;
use units::{BitRate, Bytes, Duration};

/// What the application of a flow measured.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationResult {
    /// Adaptive video streaming.
    Video(VideoResult),
    /// Pages of many objects.
    Page(Box<PageResult>),
    /// A video call.
    Call(CallResult),
}

/// Adaptive video streaming.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VideoResult {
    /// From the first request until playback began, if it did.
    pub startup_delay: Option<Duration>,
    /// How often playback stopped for want of data.
    pub stalls: u64,
    /// How long it stood still, all stalls together.
    pub stalled: Duration,
    /// How much of the video was played.
    pub played: Duration,
    /// Segments that arrived whole.
    pub segments: u64,
    /// Mean bitrate of the ladder over what was played.
    pub bitrate: BitRate,
    /// How often a segment had another bitrate than the one before.
    pub switches: u64,
    /// Mean absolute difference of such two bitrates; zero without switches.
    pub switch_step: BitRate,
    /// Mean of what was buffered, over the time from the beginning of playback.
    pub buffer: Duration,
    /// QoE for a chunk, in Mbit/s (Yin et al., SIGCOMM 2015, equation 5); none without segments.
    pub qoe: Option<f64>,
}

impl VideoResult {
    /// The share of the time since playback began during which it stood still, 0 to 1; none before.
    pub fn stall_ratio(&self) -> Option<f64> {
        let all = (self.played + self.stalled).as_secs_f64();
        (all > 0.0).then(|| self.stalled.as_secs_f64() / all)
    }
}

/// Pages of many objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageResult {
    /// From a page's start until its last object was whole, ms.
    pub load_time: Distribution,
    /// Until the first byte of its document came, ms.
    pub first_byte: Distribution,
    /// Until its document and all that blocks its first rendering were whole, ms.
    pub first_render: Distribution,
    /// Until an object was whole since it was requested, ms.
    pub object_time: Distribution,
    /// Pages that were begun, whether they were loaded to the end or not.
    pub pages: u64,
    /// Objects that arrived whole.
    pub objects: u64,
    /// Payload of these.
    pub bytes: Bytes,
}

/// A video call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// From a frame's capture until the last of its packets had come, of frames that came whole, ms.
    pub frame_delay: Distribution,
    /// Frames that left the encoder.
    pub frames_sent: u64,
    /// Frames that came whole.
    pub frames_received: u64,
    /// Frames of these with more delay than the call allows (`late-after`); they are shown all the same.
    pub frames_late: u64,
    /// How often the picture stood still: between two frames was more than three times the mean, and 150 ms more than
    /// that (as in WebRTC's statistics).
    pub freezes: u64,
    /// How long, all freezes together.
    pub frozen: Duration,
    /// Mean rate of the media that arrived, payloads of UDP.
    pub bitrate: BitRate,
    /// Mean of the rate that its congestion control allowed the encoder.
    pub target: BitRate,
    /// Packets of the media that were lost, of those before the last that came.
    pub packets_lost: u64,
}

/// A number that an application measured in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Its name in summaries, with its unit: `startup_delay_s`.
    pub name: &'static str,
    /// Its title in tables.
    pub title: &'static str,
    /// The unit of both; empty of counts and shares.
    pub unit: &'static str,
    /// Whether comparisons of variants show it.
    pub is_compared: bool,
    /// None if it was not measured.
    pub value: Option<f64>,
}

/// A measure that only summaries and tables of applications show.
const fn detail(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    value: Option<f64>,
) -> Measure {
    Measure {
        name,
        title,
        unit,
        is_compared: false,
        value,
    }
}

/// A measure that comparisons show too.
const fn compared(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    value: Option<f64>,
) -> Measure {
    Measure {
        is_compared: true,
        ..detail(name, title, unit, value)
    }
}

impl ApplicationResult {
    /// The kind of application, as scenario files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Video(_) => "video",
            Self::Page(_) => "page",
            Self::Call(_) => "call",
        }
    }

    /// All that was measured, always the same names of a kind and in the same order.
    pub fn measures(&self) -> Vec<Measure> {
        match self {
            Self::Video(video) => video_measures(video),
            Self::Page(page) => page_measures(page),
            Self::Call(call) => call_measures(call),
        }
    }
}

/// A number of a distribution, if there is one.
fn of(distribution: &Distribution, value: fn(&Distribution) -> f64) -> Option<f64> {
    (distribution.count > 0).then(|| value(distribution))
}

fn mean(distribution: &Distribution) -> Option<f64> {
    of(distribution, |d| d.mean)
}

fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn seconds(time: Duration) -> Option<f64> {
    Some(time.as_secs_f64())
}

fn mbps(rate: BitRate) -> Option<f64> {
    Some(rate.as_mbps_f64())
}

fn video_measures(video: &VideoResult) -> Vec<Measure> {
    let has_played = !video.played.is_zero();
    let bitrate = mbps(video.bitrate).filter(|_| has_played);
    let buffer = seconds(video.buffer).filter(|_| has_played);
    let step = mbps(video.switch_step).filter(|_| video.switches > 0);
    let startup = video.startup_delay.and_then(seconds);
    vec![
        compared("startup_delay_s", "start-up", "s", startup),
        compared("stalls", "stalls", "", count(video.stalls)),
        compared("stalled_s", "stalled", "s", seconds(video.stalled)),
        detail("stall_ratio", "stall ratio", "", video.stall_ratio()),
        compared("bitrate_mbps", "bitrate", "Mbit/s", bitrate),
        compared("switches", "switches", "", count(video.switches)),
        detail("switch_step_mbps", "step", "Mbit/s", step),
        detail("buffer_mean_s", "buffer", "s", buffer),
        compared("qoe_mbps", "QoE", "Mbit/s", video.qoe),
        detail("played_s", "played", "s", seconds(video.played)),
        detail("segments", "segments", "", count(video.segments)),
    ]
}

fn page_measures(page: &PageResult) -> Vec<Measure> {
    let (load, object) = (&page.load_time, &page.object_time);
    let (p50, p95) = (of(load, |d| d.p50), of(load, |d| d.p95));
    let object_p95 = of(object, |d| d.p95);
    let (first_byte, render) = (mean(&page.first_byte), mean(&page.first_render));
    vec![
        compared("load_time_mean_ms", "load mean", "ms", mean(load)),
        compared("load_time_p50_ms", "load p50", "ms", p50),
        compared("load_time_p95_ms", "load p95", "ms", p95),
        compared("first_byte_ms", "first byte", "ms", first_byte),
        compared("first_render_ms", "first render", "ms", render),
        detail("object_time_mean_ms", "object mean", "ms", mean(object)),
        detail("object_time_p95_ms", "object p95", "ms", object_p95),
        detail("pages", "pages", "", count(page.pages)),
        detail("pages_loaded", "loaded", "", count(load.count)),
        detail("objects", "objects", "", count(page.objects)),
        detail("bytes", "bytes", "B", count(page.bytes.get())),
    ]
}

fn call_measures(call: &CallResult) -> Vec<Measure> {
    let delay = &call.frame_delay;
    let (p95, p99) = (of(delay, |d| d.p95), of(delay, |d| d.p99));
    vec![
        compared("frame_delay_mean_ms", "frame mean", "ms", mean(delay)),
        compared("frame_delay_p95_ms", "frame p95", "ms", p95),
        compared("frame_delay_p99_ms", "frame p99", "ms", p99),
        detail("frames_sent", "frames", "", count(call.frames_sent)),
        detail("frames_received", "whole", "", count(call.frames_received)),
        detail("frames_late", "late", "", count(call.frames_late)),
        compared("freezes", "freezes", "", count(call.freezes)),
        detail("frozen_s", "frozen", "s", seconds(call.frozen)),
        compared("bitrate_mbps", "bitrate", "Mbit/s", mbps(call.bitrate)),
        detail("target_mbps", "target", "Mbit/s", mbps(call.target)),
        detail("packets_lost", "lost", "", count(call.packets_lost)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(result: &ApplicationResult, name: &str) -> Option<f64> {
        let measures = result.measures();
        let found = measures.iter().find(|measure| measure.name == name);
        found.expect("a measure of that name").value
    }

    #[test]
    fn a_ratio_is_of_the_time_since_playback_began() {
        let video = ApplicationResult::Video(VideoResult {
            played: Duration::from_secs(45),
            stalls: 2,
            stalled: Duration::from_secs(5),
            bitrate: BitRate::from_bps(2_500_000),
            ..VideoResult::default()
        });
        assert_eq!(value(&video, "stall_ratio"), Some(0.1));
        assert_eq!(value(&video, "bitrate_mbps"), Some(2.5));
        assert_eq!(value(&video, "switch_step_mbps"), None, "no switch");
    }

    #[test]
    fn what_was_not_measured_has_no_value() {
        let all = [
            ApplicationResult::Video(VideoResult::default()),
            ApplicationResult::Page(Box::default()),
            ApplicationResult::Call(CallResult::default()),
        ];
        assert_eq!(
            all.each_ref().map(ApplicationResult::kind),
            ["video", "page", "call"]
        );
        assert_eq!(value(&all[0], "startup_delay_s"), None);
        assert_eq!(value(&all[0], "stall_ratio"), None);
        assert_eq!(value(&all[1], "load_time_mean_ms"), None);
        assert_eq!(value(&all[1], "pages"), Some(0.0));
        assert_eq!(value(&all[2], "frame_delay_p99_ms"), None);
    }

    #[test]
    fn names_of_a_kind_are_distinct() {
        for result in [
            ApplicationResult::Video(VideoResult::default()),
            ApplicationResult::Page(Box::default()),
            ApplicationResult::Call(CallResult::default()),
        ] {
            let mut names: Vec<_> = result.measures().iter().map(|m| m.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }
}
