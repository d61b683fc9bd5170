//! The values of a connection's configuration by their keys: a scenario's `[tunnel]`, the daemon's file and the lab's,
//! which is a daemon's, are read and written by this list. `[supervision]` has a list of its own
//! ([`crate::client::Supervision::keys`]).

use super::{BufferQueue, TunnelConfig};
use crate::parity::Fec;
use crate::reorder::{Late, WaitRule};
use recovery::Validation;
use units::{Duration, Packets};

/// By which names a value is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// In a scenario's `[tunnel]`, and in the daemon's file unless it is in `[reorder]` there.
    pub name: &'static str,
    /// In the `[reorder]` of the daemon's file.
    pub in_reorder: Option<&'static str>,
    /// The daemon's files of before have it by this name.
    pub older: Option<&'static str>,
}

impl Key {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            in_reorder: None,
            older: None,
        }
    }
    const fn in_reorder(self, name: &'static str) -> Self {
        Self {
            in_reorder: Some(name),
            ..self
        }
    }
    const fn older(self, name: &'static str) -> Self {
        Self {
            older: Some(name),
            ..self
        }
    }
}

/// As files have a time that never comes.
pub const NEVER: &str = "never";

/// A value with a key of its own.
#[derive(Debug)]
pub enum Setting<'a> {
    /// How long early packets are held. What other values are unless given depends on it
    /// ([`crate::reorder::ReorderConfig::new`]), so that it is read before them; the time of `fixed` is `wait`.
    Rule(&'a mut WaitRule),
    /// A number of packets.
    Packets(&'a mut Packets),
    /// A time.
    Duration(&'a mut Duration),
    /// A time, or [`NEVER`].
    Optional(&'a mut Option<Duration>),
    /// Yes or no.
    Flag(&'a mut bool),
    /// What becomes of late packets.
    Late(&'a mut Late),
    /// What becomes of a window that is not used.
    Validation(&'a mut Validation),
    /// How the scheduler's buffer signals that packets wait.
    Queue(&'a mut BufferQueue),
    /// Whether latency-sensitive packets have parities.
    Fec(&'a mut Fec),
}

impl TunnelConfig {
    /// The values that have keys, by these.
    pub fn settings(&mut self) -> [(Key, Setting<'_>); 17] {
        use Setting as S;
        let reorder = &mut self.reorder;
        let key = Key::new;
        let here = |name| Key::new(name).in_reorder(name);
        [
            (
                key("reorder").in_reorder("mode"),
                S::Rule(&mut reorder.rule),
            ),
            (here("margin"), S::Duration(&mut reorder.margin)),
            (here("max-wait"), S::Duration(&mut reorder.max_wait)),
            (
                key("reorder-buffer").in_reorder("buffer"),
                S::Packets(&mut reorder.buffer),
            ),
            (here("late"), S::Late(&mut reorder.late)),
            (
                here("fast-loss-detection"),
                S::Flag(&mut reorder.has_fast_loss_detection),
            ),
            (
                here("delay-equalisation"),
                S::Flag(&mut reorder.has_delay_equalisation),
            ),
            (
                key("scheduler-buffer"),
                S::Packets(&mut self.scheduler_buffer),
            ),
            (key("scheduler-queue"), S::Queue(&mut self.scheduler_queue)),
            (key("codel-target"), S::Duration(&mut self.codel_target)),
            (key("codel-interval"), S::Duration(&mut self.codel_interval)),
            (
                key("reliability").older("deadline"),
                S::Optional(&mut self.reliability),
            ),
            (
                key("latency-deadline"),
                S::Duration(&mut self.latency_deadline),
            ),
            (key("fec"), S::Fec(&mut self.fec)),
            (key("keepalive"), S::Optional(&mut self.keepalive)),
            (key("report-max-age"), S::Duration(&mut self.report_max_age)),
            (
                key("window-validation"),
                S::Validation(&mut self.window_validation),
            ),
        ]
    }
}

impl Setting<'_> {
    /// Changes the value to another that is allowed where all others have their defaults: for tests of what reads and
    /// writes settings.
    #[doc(hidden)]
    pub fn alter(&mut self) {
        match self {
            // whose other values are those of the default rule
            Self::Rule(rule) => **rule = WaitRule::Equalised,
            Self::Packets(packets) => **packets += Packets::new(1),
            Self::Duration(time) => **time += Duration::from_millis(3),
            Self::Optional(time) => **time = Some(Duration::from_millis(1_234)),
            Self::Flag(flag) => **flag = !**flag,
            Self::Late(late) => **late = Late::Drop,
            Self::Validation(validation) => **validation = Validation::Rfc2861,
            Self::Queue(queue) => **queue = BufferQueue::DropTail,
            Self::Fec(fec) => **fec = Fec::Auto,
        }
    }

    /// As people read it: for the reference of keys.
    pub fn text(&self) -> String {
        match self {
            Self::Duration(time) => time.to_string(),
            Self::Optional(Some(time)) => time.to_string(),
            _ => self.toml().trim_matches('"').to_owned(),
        }
    }

    /// As a file has it (TOML), exact. The time of `fixed` is not part of it.
    pub fn toml(&self) -> String {
        let nanos = |time: Duration| format!("\"{} ns\"", time.as_nanos());
        match self {
            Self::Rule(rule) => format!("\"{rule}\""),
            Self::Packets(packets) => packets.get().to_string(),
            Self::Duration(time) => nanos(**time),
            Self::Optional(Some(time)) => nanos(*time),
            Self::Optional(None) => format!("\"{NEVER}\""),
            Self::Flag(flag) => flag.to_string(),
            Self::Late(late) => format!("\"{}\"", late.name()),
            Self::Validation(validation) => format!("\"{validation}\""),
            Self::Queue(queue) => format!("\"{queue}\""),
            Self::Fec(fec) => format!("\"{fec}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_there_once() {
        let mut config = TunnelConfig::default();
        let keys = config.settings().map(|(key, _)| key);
        for (i, key) in keys.iter().enumerate() {
            let others = &keys[..i];
            assert!(others.iter().all(|other| other.name != key.name));
            let both = |other: &&Key| other.in_reorder == key.in_reorder;
            assert!(key.in_reorder.is_none() || !others.iter().any(|other| both(&other)));
        }
    }
}
