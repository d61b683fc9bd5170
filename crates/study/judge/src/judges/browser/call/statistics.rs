//! What the two ends of a call reported (`getStats`), from the first sample to the last.
//!
//! Both ends run on one machine and by one clock: the time at which a frame was captured, by the sender's clock, and the
//! time at which it is shown are comparable.

use crate::judge::{Measure, Problem, better};
use crate::judges::browser::download::Downloaded;
use crate::judges::irtt::quantile;
use serde::Deserialize;
use serde_json::Value;

/// As messages name the program.
const CHROMIUM: &str = "chromium";
/// A picture that has stood for so long, s, at the last sample is frozen: Chromium counts a freeze only once it is over.
const STANDS: f64 = 1.0;
/// Milliseconds from NTP's epoch (1900) to that of Unix: estimated times of playout are since the former.
const NTP_TO_UNIX_MS: f64 = 2_208_988_800_000.0;

/// What `call.py` prints.
#[derive(Debug, Deserialize)]
struct Report {
    /// The UE's end.
    offer: Samples,
    /// The server's end.
    answer: Samples,
    download: Option<Downloaded>,
}

/// One after the other; of each statistic.
type Samples = Vec<Vec<Value>>;

/// The measures of a call; with SCReAM, its packets must have been ECT(1).
///
/// # Errors
/// If a statistic is missing, or nothing came as ECT(1) that had to.
pub(super) fn read(text: &str, is_scream: bool) -> Result<Vec<Measure>, Problem> {
    let report: Report = serde_json::from_str(text)
        .map_err(|error| Problem::missing(CHROMIUM, format!("samples: {error}")))?;
    let down = Way::of(&report.offer)?;
    let up = Way::of(&report.answer)?;
    let mut measures = vec![
        better::higher("video-down", "Mbit/s", down.bit_rate / 1e6),
        better::higher("frame-rate-down", "1/s", down.frame_rate),
        better::lower("freezes-down", "1/min", down.freezes_per_second * 60.0),
        better::lower("frozen-down", "%", down.frozen * 100.0),
        better::lower("frame-delay-down-mean", "ms", mean(&down.frame_delays)),
        better::lower(
            "frame-delay-down-p95",
            "ms",
            quantile(&down.frame_delays, 0.95),
        ),
        better::lower("jitter-buffer-down", "ms", down.jitter_buffer_ms),
        better::lower("loss-down", "%", down.lost * 100.0),
        better::higher("height-down", "px", down.height),
        better::lower("rtt-mean", "ms", round_trip_ms(&report.offer)),
        better::higher("video-up", "Mbit/s", up.bit_rate / 1e6),
        better::higher("frame-rate-up", "1/s", up.frame_rate),
        better::lower("frozen-up", "%", up.frozen * 100.0),
        better::lower("frame-delay-up-mean", "ms", mean(&up.frame_delays)),
    ];
    if is_scream {
        if down.ect1 + down.ce <= 0.0 {
            let what = "packet that came as ECT(1) or CE: it does not take the field trials";
            return Err(Problem::missing(CHROMIUM, what));
        }
        measures.push(better::higher("ect1-down", "%", down.ect1 * 100.0));
        measures.push(better::lower("ce-down", "%", down.ce * 100.0));
    }
    measures.extend(report.download.map(Downloaded::goodput));
    // what nothing came of: no packet, no frame that left the jitter buffer, no answer to a connectivity check
    measures.retain(|measure| measure.value.is_finite());
    Ok(measures)
}

/// One direction of the video, as its receiver saw it.
#[derive(Debug)]
struct Way {
    /// Without headers of RTP, bit/s.
    bit_rate: f64,
    /// Decoded frames a second.
    frame_rate: f64,
    /// Share of the time during which the picture stood.
    frozen: f64,
    freezes_per_second: f64,
    /// Of samples: from a frame's capture until it is shown, sorted, ms.
    frame_delays: Vec<f64>,
    jitter_buffer_ms: f64,
    /// Shares of the packets.
    lost: f64,
    ect1: f64,
    ce: f64,
    /// Of the last picture, pixels.
    height: f64,
}

impl Way {
    fn of(samples: &Samples) -> Result<Self, Problem> {
        let missing = |what: &str| Problem::missing(CHROMIUM, what);
        let first = samples.first().and_then(|sample| video(sample));
        let last = samples.last().and_then(|sample| video(sample));
        let (first, last) = first.zip(last).ok_or_else(|| missing("incoming video"))?;
        let by = |field: &str| number(last, field) - number(first, field);
        let seconds = by("timestamp") / 1e3;
        if seconds <= 0.0 {
            return Err(missing("second sample"));
        }
        let received = by("packetsReceived");
        let lost = by("packetsLost");
        let stands = Some(standing(samples)).filter(|standing| *standing >= STANDS);
        let frozen = by("totalFreezesDuration") + stands.unwrap_or(0.0);
        let freezes = by("freezeCount") + f64::from(u8::from(stands.is_some()));
        let videos = samples.iter().filter_map(|sample| video(sample));
        let mut frame_delays: Vec<f64> = videos.filter_map(frame_delay).collect();
        frame_delays.sort_by(f64::total_cmp);
        Ok(Self {
            bit_rate: 8.0 * by("bytesReceived") / seconds,
            frame_rate: by("framesDecoded") / seconds,
            // a freeze may have begun before the first sample
            frozen: (frozen / seconds).min(1.0),
            freezes_per_second: freezes / seconds,
            frame_delays,
            jitter_buffer_ms: 1e3 * by("jitterBufferDelay") / by("jitterBufferEmittedCount"),
            lost: lost / (received + lost),
            ect1: by("packetsReceivedWithEct1") / received,
            ce: by("packetsReceivedWithCe") / received,
            height: number(last, "frameHeight"),
        })
    }
}

/// What comes in of the video.
fn video(sample: &[Value]) -> Option<&Value> {
    let is_video = |stat: &&Value| stat["type"] == "inbound-rtp" && stat["kind"] == "video";
    sample.iter().find(is_video)
}

/// For how long no frame had been decoded at the last sample, s.
fn standing(samples: &Samples) -> f64 {
    let mut videos = samples.iter().filter_map(|sample| video(sample));
    let (mut frames, mut since, mut now) = (0.0, 0.0, 0.0);
    if let Some(first) = videos.next() {
        frames = number(first, "framesDecoded");
        since = number(first, "timestamp");
        now = since;
    }
    for video in videos {
        now = number(video, "timestamp");
        if number(video, "framesDecoded") > frames {
            frames = number(video, "framesDecoded");
            since = now;
        }
    }
    (now - since) / 1e3
}

/// A counter that does not exist has counted nothing.
fn number(stat: &Value, field: &str) -> f64 {
    stat[field].as_f64().unwrap_or(0.0)
}

/// From a frame's capture until it is shown, ms.
fn frame_delay(video: &Value) -> Option<f64> {
    let shown = video["estimatedPlayoutTimestamp"].as_f64()?;
    Some(video["timestamp"].as_f64()? - (shown - NTP_TO_UNIX_MS))
}

/// Mean of the round-trip times of connectivity checks, ms.
fn round_trip_ms(samples: &Samples) -> f64 {
    let sum = |sample: Option<&Vec<Value>>, field: &str| -> f64 {
        let stats = sample.into_iter().flatten();
        let pairs = stats.filter(|stat| stat["type"] == "candidate-pair");
        pairs.map(|pair| number(pair, field)).sum()
    };
    let by = |field: &str| sum(samples.last(), field) - sum(samples.first(), field);
    1e3 * by("totalRoundTripTime") / by("responsesReceived")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls between two namespaces, without a radio: four of the samples.
    const GCC: &str = include_str!("../../recorded/call.json");
    const SCREAM: &str = include_str!("../../recorded/call-scream.json");

    fn value(measures: &[Measure], name: &str) -> f64 {
        let found = measures.iter().find(|measure| measure.name == name);
        found.unwrap_or_else(|| panic!("{name}")).value
    }

    fn is_near(value: f64, other: f64) -> bool {
        (value - other).abs() < 1e-9 * other.abs()
    }

    #[test]
    fn a_recorded_call_gives_its_measures_of_both_directions() {
        let measures = read(GCC, false).expect("readable");
        let of = |name: &str| value(&measures, name);
        assert!(is_near(of("video-down"), 1.701_117_093_164_012_3));
        assert!(is_near(of("video-up"), 1.699_901_861_595_389_8));
        assert!(is_near(of("frame-rate-down"), 29.988_313_880_125_734));
        assert!(is_near(of("frame-rate-up"), 30.048_611_369_037_083));
        assert!(is_near(
            of("jitter-buffer-down"),
            3_383.832_999_999_999_6 / 180.0
        ));
        // two of the samples have it: 52.508 and 52.416 (times since 1900 have no more digits)
        assert!((of("frame-delay-down-mean") - 52.462).abs() < 2e-3);
        assert!((of("frame-delay-down-p95") - 52.508).abs() < 2e-3);
        // two checks between the first sample and the last, 9 ms of round trips in all
        assert!((of("rtt-mean") - 4.5).abs() < 1e-9);
        assert_eq!(of("height-down"), 360.0);
        for none in ["freezes-down", "frozen-down", "frozen-up", "loss-down"] {
            assert_eq!(of(none), 0.0);
        }
        assert!(!measures.iter().any(|measure| measure.name == "ect1-down"));
    }

    #[test]
    fn a_recorded_call_by_scream_was_ect1_and_one_by_gcc_is_none() {
        let measures = read(SCREAM, true).expect("readable");
        assert_eq!(value(&measures, "ect1-down"), 100.0);
        assert_eq!(value(&measures, "ce-down"), 0.0);
        let error = read(GCC, true).expect_err("no ECT(1)").to_string();
        assert!(error.contains("field trials"), "{error}");
    }

    #[test]
    fn freezes_losses_marks_and_a_download_count_between_the_samples() {
        let video = |time: u32, lost: u32| {
            serde_json::json!([{
                "type": "inbound-rtp", "kind": "video", "timestamp": time, "framesDecoded": time,
                "packetsReceived": 90 + lost,
                "packetsLost": lost, "freezeCount": lost, "totalFreezesDuration": lost,
                "packetsReceivedWithEct1": 60, "packetsReceivedWithCe": lost,
            }])
        };
        let samples = serde_json::json!([video(1_000, 0), video(41_000, 10)]);
        let report = serde_json::json!({
            "offer": samples, "answer": samples, "download": {"bytes": 5e6, "seconds": 40.0},
        });
        let measures = read(&report.to_string(), true).expect("readable");
        let of = |name: &str| value(&measures, name);
        assert_eq!((of("freezes-down"), of("frozen-down")), (15.0, 25.0));
        assert_eq!((of("loss-down"), of("ce-down")), (50.0, 100.0));
        assert_eq!(of("download-goodput"), 1.0);
        // what nothing came of is no measure
        assert!(!measures.iter().any(|measure| measure.name == "rtt-mean"));
    }

    #[test]
    fn a_picture_that_stands_at_the_end_is_frozen() {
        let sample = |time: u32, frames: u32| {
            let video = serde_json::json!({
                "type": "inbound-rtp", "kind": "video", "timestamp": time, "framesDecoded": frames,
            });
            vec![video]
        };
        let frozen = |samples: &Samples| Way::of(samples).expect("samples").frozen;
        let stands = vec![sample(0, 5), sample(2_000, 9), sample(10_000, 9)];
        assert_eq!(frozen(&stands), 0.8);
        assert_eq!(frozen(&vec![sample(0, 5), sample(10_000, 5)]), 1.0);
        let goes_on = vec![sample(0, 5), sample(9_500, 9), sample(10_000, 9)];
        assert_eq!(frozen(&goes_on), 0.0);
        // nothing came at all: no share of packets is a measure
        let report = serde_json::json!({
            "offer": [sample(0, 5), sample(10_000, 5)], "answer": goes_on, "download": null,
        });
        let measures = read(&report.to_string(), true).expect("readable");
        assert_eq!(value(&measures, "frozen-down"), 100.0);
        assert!(!measures.iter().any(|measure| measure.name == "ect1-down"));
    }

    #[test]
    fn what_is_no_call_is_an_error() {
        for text in [
            "",
            "{}",
            "{\"offer\": [], \"answer\": []}",
            "{\"offer\": [[]], \"answer\": [[]]}",
            "{\"offer\": [[1]], \"answer\": 2}",
        ] {
            let error = read(text, false).expect_err(text).to_string();
            assert!(
                error.starts_with("the output of chromium has no"),
                "{error}"
            );
        }
    }
}
