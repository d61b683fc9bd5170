//! Adaptive video streaming: a player that requests one segment after the other and plays what has arrived.
//!
//! ```text
//!   begin -> rule (buffer or throughput) -> size of the segment -> [ connection ] -> on_object_done -> Playback
//!              ^------------------------------- buffer level ----------------------------------------/
//! ```
//!
//! The model is that of Yin et al. (SIGCOMM 2015, section 3, equations 1 to 5): segment k is requested when k - 1 is whole and
//! there is room for it, the buffer falls by what is played, and playback stands still while it is empty.
//!
//! *Deviations.* A segment is played only once it is whole. The video is without an end: it is played until the run ends. Over
//! TCP the first exchange is that of [`super::tls`].

mod bba;
mod bola;
mod playback;
mod throughput;

use super::ssh::Exchange;
use super::{Begin, tls};
use bba::Bba;
use bola::Bola;
use playback::Playback;
use scenario::{AbrRule, VideoResult, VideoSpec};
use std::sync::Arc;
use throughput::Throughput;
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// lambda of equation 5: what a switch of 1 Mbit/s costs, in Mbit/s ("balanced").
const SWITCH_COST: f64 = 1.0;
/// mu and mu_s of equation 5: what a second of a stall or of start-up costs, in Mbit/s ("balanced": 3000 kbit/s).
const WAIT_COST: f64 = 3.0;
/// Until a rule that finds the buffer too full is asked again, once the buffer has fallen far enough.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// What chooses bitrates.
#[derive(Clone, Debug)]
enum Rule {
    Bola(Bola),
    Bba(Bba),
    Rate(Throughput),
}

/// What is under way.
#[derive(Clone, Copy, Debug)]
enum Fetch {
    Handshake,
    /// A segment, of this place in the ladder.
    Segment {
        rung: usize,
        size: Bytes,
        at: Instant,
    },
}

/// A player and its video.
#[derive(Clone, Debug)]
pub struct Video {
    spec: Arc<VideoSpec>,
    rule: Rule,
    rng: Rng,
    /// Each connection begins with TLS's handshake.
    has_handshake: bool,
    /// There is a connection, and it can be used.
    is_connected: bool,
    fetch: Option<Fetch>,
    /// When the next request is due.
    due: Instant,
    playback: Option<Playback>,
    /// By how much the next segment is larger than its bitrate, once it is drawn.
    factor: Option<f64>,
    /// Places in the ladder of the segments that arrived.
    rungs: Vec<usize>,
}

impl Video {
    /// A video that is requested at `start`. `rng` draws sizes; over TCP each connection begins with TLS's handshake.
    pub fn new(spec: &Arc<VideoSpec>, start: Instant, rng: Rng, over_tcp: bool) -> Self {
        let VideoSpec {
            ladder,
            segment,
            buffer,
            ..
        } = &**spec;
        let rule = match spec.rule {
            AbrRule::Bola => Rule::Bola(Bola::new(ladder, *segment, *buffer)),
            AbrRule::Bba => Rule::Bba(Bba::new(ladder, *buffer)),
            AbrRule::Rate => Rule::Rate(Throughput::new(ladder, spec.safety)),
        };
        Self {
            spec: spec.clone(),
            rule,
            rng,
            has_handshake: over_tcp,
            is_connected: false,
            fetch: None,
            due: start,
            playback: None,
            factor: None,
            rungs: Vec::new(),
        }
    }

    /// When [`Self::begin`] is to be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.fetch.is_none().then_some(self.due)
    }

    /// Begins the exchange that is due, if there is room for a segment.
    pub fn begin(&mut self, now: Instant) -> Option<Begin> {
        if self.fetch.is_some() || now < self.due {
            return None;
        }
        let startup = self.spec.startup;
        let playback = self
            .playback
            .get_or_insert_with(|| Playback::new(now, startup));
        playback.advance(now);
        let buffered = playback.buffered();
        if !self.is_connected && self.has_handshake {
            self.fetch = Some(Fetch::Handshake);
            return Some(Begin::OnNewConnection);
        }
        let room = self.spec.buffer.saturating_sub(buffered);
        if room < self.spec.segment {
            self.due = now + (self.spec.segment - room);
            return None;
        }
        let Some(rung) = self.choose(buffered) else {
            let resumes = match &self.rule {
                Rule::Bola(bola) => bola.resumes_below(),
                Rule::Bba(_) | Rule::Rate(_) => buffered,
            };
            self.due = now + buffered.saturating_sub(resumes) + ASK_AGAIN;
            return None;
        };
        let size = self.size_of(rung);
        self.fetch = Some(Fetch::Segment {
            rung,
            size,
            at: now,
        });
        let was_connected = core::mem::replace(&mut self.is_connected, true);
        Some(match was_connected {
            true => Begin::OnSameConnection,
            false => Begin::OnNewConnection,
        })
    }

    fn choose(&self, buffered: Duration) -> Option<usize> {
        match &self.rule {
            Rule::Bola(bola) => bola.choose(buffered),
            Rule::Bba(bba) => {
                let before = self.rungs.last().copied().unwrap_or(0);
                Some(bba.choose(before, buffered))
            }
            Rule::Rate(rate) => Some(rate.choose()),
        }
    }

    /// Bytes of the next segment at this place of the ladder.
    fn size_of(&mut self, rung: usize) -> Bytes {
        let (rng, variation) = (&mut self.rng, self.spec.variation);
        let drawn = self.factor.get_or_insert_with(|| {
            let part = if variation > 0.0 { rng.uniform() } else { 0.5 };
            1.0 + variation * (2.0 * part - 1.0)
        });
        let mean = self.spec.ladder[rung].bytes_in(self.spec.segment);
        mean.mul_f64(*drawn).max(Bytes::new(1))
    }

    /// Request and answer of what is under way.
    pub fn exchange(&self) -> Exchange {
        match self.fetch {
            Some(Fetch::Segment { size, .. }) => Exchange {
                request: self.spec.request,
                answer: size,
            },
            Some(Fetch::Handshake) | None => tls::HANDSHAKE,
        }
    }

    /// What was under way has arrived whole.
    pub fn on_object_done(&mut self, now: Instant) {
        self.due = now;
        match self.fetch.take() {
            Some(Fetch::Handshake) => self.is_connected = true,
            Some(Fetch::Segment { rung, size, at }) => {
                if let Some(playback) = &mut self.playback {
                    playback.add(now, self.spec.segment);
                }
                if let Rule::Rate(rate) = &mut self.rule {
                    rate.on_segment(size, now.saturating_since(at));
                }
                self.rungs.push(rung);
                self.factor = None;
            }
            None => {}
        }
    }

    /// The connection broke: what was under way is requested again, on another.
    pub fn on_connection_lost(&mut self, now: Instant) {
        self.fetch = None;
        self.is_connected = false;
        self.due = now;
    }

    /// What was measured until now.
    pub fn result(&self, now: Instant) -> VideoResult {
        let Some(mut playback) = self.playback.clone() else {
            return VideoResult::default();
        };
        playback.advance(now);
        let (stalls, stalled) = playback.stalls();
        let steps = self.steps();
        let switches = steps.clone().filter(|step| *step > 0.0).count() as u64;
        let step_sum: f64 = steps.sum();
        VideoResult {
            startup_delay: playback.startup_delay(),
            stalls,
            stalled,
            played: playback.played(),
            segments: self.rungs.len() as u64,
            bitrate: self.bitrate(playback.played()),
            switches,
            switch_step: bit_rate(step_sum / switches.max(1) as f64),
            buffer: playback.mean_level(),
            qoe: self.qoe(stalled, playback.startup_delay()),
        }
    }

    fn mbps(&self, rung: usize) -> f64 {
        self.spec.ladder[rung].as_mbps_f64()
    }

    /// |q(R_k+1) - q(R_k)|, Mbit/s.
    fn steps(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let pairs = self.rungs.windows(2);
        pairs.map(|pair| (self.mbps(pair[1]) - self.mbps(pair[0])).abs())
    }

    /// Mean over what was played.
    fn bitrate(&self, played: Duration) -> BitRate {
        let (mut left, mut sum) = (played, 0.0);
        for &rung in &self.rungs {
            let part = left.min(self.spec.segment);
            sum += self.mbps(rung) * part.as_secs_f64();
            left -= part;
        }
        let time = played.as_secs_f64();
        match time > 0.0 {
            true => bit_rate(sum / time),
            false => BitRate::ZERO,
        }
    }

    /// Equation 5 over the segments that arrived, for one of them; q(R) = R in Mbit/s.
    fn qoe(&self, stalled: Duration, startup: Option<Duration>) -> Option<f64> {
        if self.rungs.is_empty() {
            return None;
        }
        let quality: f64 = self.rungs.iter().map(|&rung| self.mbps(rung)).sum();
        let switches: f64 = self.steps().sum();
        let waits = stalled + startup.unwrap_or_default();
        let sum = quality - SWITCH_COST * switches - WAIT_COST * waits.as_secs_f64();
        Some(sum / self.rungs.len() as f64)
    }
}

fn bit_rate(mbps: f64) -> BitRate {
    BitRate::from_bps((mbps * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
