//! Calls: both ends as an experiment has them.

use media::{
    ConfigError, EcnMode, Encoder, FeedbackFormat, Gcc, MediaController, Receiver, Scream,
    ScreamConfig, Sender,
};
use scenario::{CallController, CallSpec, EcnSpec};
use units::{Instant, Rng};

/// Both ends of a call.
#[derive(Debug)]
pub struct CallEnds {
    /// What sends the media.
    pub sender: Sender,
    /// What receives it.
    pub receiver: Receiver,
}

/// The ends of a call that begins at `start`; frames are as `rng` draws them.
///
/// # Errors
/// What is wrong with the call.
pub fn call_ends(
    call: &CallSpec,
    ecn: EcnSpec,
    start: Instant,
    rng: Rng,
) -> Result<CallEnds, ConfigError> {
    let encoder = Encoder::new(call.encoder, start, rng)?;
    let (controller, format): (Box<dyn MediaController>, _) = match call.controller {
        CallController::Gcc => (
            Box::new(Gcc::new(call.limits)),
            FeedbackFormat::TransportWide,
        ),
        CallController::Scream => {
            let config = ScreamConfig {
                limits: call.limits,
                ecn: match ecn {
                    EcnSpec::Off => EcnMode::Off,
                    EcnSpec::Classic => EcnMode::Classic,
                    EcnSpec::L4s => EcnMode::L4s,
                },
                mss: call.packet,
                frame_period: call.encoder.frame_period(),
            };
            (Box::new(Scream::new(config)), FeedbackFormat::Rfc8888)
        }
    };
    Ok(CallEnds {
        sender: Sender::new(controller, encoder, call.packet),
        receiver: Receiver::new(format),
    })
}
