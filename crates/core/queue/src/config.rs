//! Which queue: discipline, capacity and backpressure.

use crate::queue::Queue;
use crate::{
    BackpressureConfig, Capacity, ClassesConfig, CoDelConfig, ConfigError, CustomConfig,
    DualPi2Config, FqCoDelConfig, LateBindingConfig, PacedConfig, Packet, RedConfig, SfqConfig,
};
use units::Rng;

/// Which packet goes next, which one is dropped or marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DisciplineConfig {
    /// First in, first out, dropped on arrival.
    #[default]
    DropTail,
    /// RFC 8289.
    CoDel(CoDelConfig),
    /// RFC 8290.
    FqCoDel(FqCoDelConfig),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig),
    /// Random early detection.
    Red(RedConfig),
    /// RFC 9332, with PI2.
    DualPi2(DualPi2Config),
    /// A queue a class of QoS flows.
    Classes(ClassesConfig),
    /// Late binding: the queue that the MAC pulls from.
    LateBinding(LateBindingConfig),
    /// The UPF's queue above late binding.
    Paced(PacedConfig),
    /// One that the caller supplies.
    Custom(CustomConfig),
}

impl DisciplineConfig {
    /// # Errors
    /// A value that the algorithm cannot work with.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            // whether the name is known is checked as it is built
            Self::DropTail | Self::Custom(_) => Ok(()),
            Self::CoDel(config) => config.check(),
            Self::FqCoDel(config) => config.check(),
            Self::Sfq(config) => config.check(),
            Self::Red(config) => config.check(),
            Self::DualPi2(config) => config.check(),
            Self::Classes(config) => config.check(),
            Self::LateBinding(config) => config.check(),
            Self::Paced(config) => config.check(),
        }
    }
}

/// A whole queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Which packet goes next, which one is dropped or marked.
    pub discipline: DisciplineConfig,
    /// What the queue may hold; with classes, what all of them together may.
    pub capacity: Capacity,
    /// How much the layer above may hand down.
    pub backpressure: BackpressureConfig,
}

impl QueueConfig {
    /// A drop-tail queue without backpressure.
    pub fn drop_tail(capacity: Capacity) -> Self {
        Self {
            discipline: DisciplineConfig::DropTail,
            capacity,
            backpressure: BackpressureConfig::None,
        }
    }
    /// # Errors
    /// A value that an algorithm cannot work with, or a capacity of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.capacity.check()?;
        self.discipline.check()?;
        self.backpressure.check()
    }
    /// An empty queue. `rng` salts hashes and decides random drops.
    ///
    /// # Errors
    /// As [`QueueConfig::check`].
    pub fn build<P: Packet + Send>(&self, rng: Rng) -> Result<Queue<P>, ConfigError> {
        self.check()?;
        Queue::new(self, rng)
    }
    /// Whether the layer above is ever held back.
    pub fn is_backpressure(&self) -> bool {
        self.backpressure != BackpressureConfig::None
            || matches!(self.discipline, DisciplineConfig::LateBinding(_))
    }
}
