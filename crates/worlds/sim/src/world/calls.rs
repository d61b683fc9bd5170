//! Calls: media from one host to the other, feedback back.

use super::World;
use super::apps::App;
use super::hosts::timestamp;
use crate::packet::{Body, Media, MediaFeedback, Packet};
use cc::Arrival;
use media::ConfigError;
use network::app::{CallEnds, call_ends};
use network::measure::CallMeter;
use queue::Ecn;
use scenario::{CallResult, CallSpec, Direction, EcnSpec};
use units::{Instant, Rng};

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    ends: CallEnds,
    meter: CallMeter,
}

impl Call {
    /// A call that begins at `start`, its frames as `rng` draws them.
    pub(super) fn new(
        spec: &CallSpec,
        ecn: EcnSpec,
        start: Instant,
        rng: Rng,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            ends: call_ends(spec, ecn, start, rng)?,
            meter: CallMeter::new(start, spec.late_after),
        })
    }

    /// When one of its ends has something to do.
    pub(super) fn next_deadline(&self) -> Instant {
        let sender = self.ends.sender.next_deadline();
        let receiver = self.ends.receiver.next_deadline();
        receiver.map_or(sender, |receiver| receiver.min(sender))
    }

    /// The name of its congestion control.
    pub(super) fn controller(&self) -> &'static str {
        self.ends.sender.controller().name()
    }

    /// What was measured until `end`.
    pub(super) fn result(&mut self, end: Instant) -> CallResult {
        let sender = &self.ends.sender;
        self.meter
            .finish(end, sender.frames(), sender.mean_target())
    }
}

impl World {
    fn call(&mut self, flow: u32) -> Option<&mut Call> {
        match &mut self.flows[flow as usize].app {
            App::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Frames are captured, packets and feedback leave as far as they may.
    pub(super) fn on_call(&mut self, flow: u32) {
        let now = self.now;
        let direction = self.flows[flow as usize].spec.direction;
        let back = match direction {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        };
        if let Some(call) = self.call(flow) {
            call.ends.sender.on_deadline(now);
        }
        while let Some(media) = self.next_media(flow) {
            let packet = Packet::new(flow, Body::Media(Box::new(media)));
            self.send_towards(direction, packet);
        }
        let due = |call: &mut Call| call.ends.receiver.poll_feedback(now);
        while let Some((feedback, payload)) = self.call(flow).and_then(due) {
            let message = MediaFeedback { feedback, payload };
            let packet = Packet::new(flow, Body::MediaFeedback(Box::new(message)));
            self.send_towards(back, packet);
        }
        self.arm_flow(flow);
    }

    fn next_media(&mut self, flow: u32) -> Option<Media> {
        let now = self.now;
        let packet = self.call(flow)?.ends.sender.poll_transmit(now)?;
        Some(Media {
            packet,
            sent_at: now,
            ecn: match self.flows[flow as usize].spec.ecn {
                EcnSpec::Off => Ecn::NotEct,
                EcnSpec::Classic => Ecn::Ect0,
                EcnSpec::L4s => Ecn::Ect1,
            },
        })
    }

    /// A packet of media arrived at its receiver, to which it had come at `came_at`.
    pub(super) fn on_media(&mut self, flow: u32, media: &Media, came_at: Instant) {
        let now = self.now;
        let owd = now.saturating_since(media.sent_at);
        let rtt = self.cdbe.udp_rtt;
        let state = &mut self.flows[flow as usize];
        let packet = &media.packet;
        state
            .meter
            .on_datagram(packet.seq, packet.bytes, owd, came_at);
        if let Some(reporter) = &mut state.reporter {
            reporter.on_data(&Arrival {
                now,
                bytes: packet.bytes,
                timestamp: Some(timestamp(media.sent_at)),
                rtt: Some(rtt),
            });
        }
        if let Some(call) = self.call(flow) {
            call.meter.on_packet(packet);
            if let Some(frame) = call.ends.receiver.on_packet(now, packet, media.ecn) {
                call.meter.on_frame(now, frame);
            }
        }
        self.on_call(flow);
    }

    /// Feedback arrived at the sender of media.
    pub(super) fn on_media_feedback(&mut self, flow: u32, feedback: &MediaFeedback) {
        let now = self.now;
        if let Some(call) = self.call(flow) {
            call.ends.sender.on_feedback(now, &feedback.feedback);
        }
        self.on_call(flow);
    }
}
