//! Applications with many numbers: adaptive video and pages of many objects.

use units::{BitRate, Bytes, Duration};

/// How a video player chooses the bitrate of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbrRule {
    /// By the buffer: BOLA-BASIC (Spiteri et al., INFOCOM 2016).
    Bola,
    /// By the buffer: BBA-0 (Huang et al., SIGCOMM 2014).
    Bba,
    /// By the throughput of past segments.
    Rate,
}

/// Adaptive video streaming, towards the user.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoSpec {
    /// How much of the video a segment holds, above zero.
    pub segment: Duration,
    /// The bitrates that there are, rising; at least one.
    pub ladder: Vec<BitRate>,
    /// Segments are larger or smaller than their bitrate by up to this share, 0 to less than 1.
    pub variation: f64,
    /// How much the player buffers at most; a segment and `startup` fit.
    pub buffer: Duration,
    /// With so much in the buffer playback begins, and goes on after a stall.
    pub startup: Duration,
    /// How the bitrate is chosen.
    pub rule: AbrRule,
    /// Of the throughput, the rule by throughput uses this share; above 0, at most 1.
    pub safety: f64,
    /// Payload of the request for a segment.
    pub request: Bytes,
}

/// Pages of many objects, towards the user.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSpec {
    /// Bytes of the document.
    pub document: Bytes,
    /// How many objects the document refers to without which nothing is rendered: style sheets, scripts.
    pub blocking: u32,
    /// Mean bytes of each of them.
    pub blocking_size: Bytes,
    /// How many objects these refer to: images, fonts.
    pub objects: u32,
    /// Mean bytes of each of them.
    pub object_size: Bytes,
    /// Standard deviation of the logarithm of an object's size, drawn for each page; zero: all have their mean.
    pub spread: f64,
    /// Payload of a request.
    pub request: Bytes,
    /// From a request's arrival at the server until its answer is ready.
    pub think: Duration,
    /// From the end of one page until the next begins.
    pub gap: Duration,
    /// How many pages; none: until the run ends.
    pub count: Option<u32>,
    /// Each page on a connection of its own.
    pub has_own_connections: bool,
}
