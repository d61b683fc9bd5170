//! Classes of QoS flows: configuration.

use crate::{Capacity, ConfigError, DisciplineConfig, error};

/// The highest QoS flow identifier (TS 37.324 section 6.3.4).
const MAX_QFI: u8 = 63;

/// Which class goes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassScheduler {
    /// The first class that has a packet.
    #[default]
    StrictPriority,
    /// Each in turn, bytes by weight: deficit round robin.
    Weighted,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// Its QoS flow identifiers, 0 to 63 each. The last class takes all that no class names.
    pub qfis: Vec<u8>,
    /// Its part of the link where the scheduler is weighted, 1 to 1000.
    pub weight: u32,
    /// Order, drops and marks within it; not classes again.
    pub discipline: Box<DisciplineConfig>,
    /// What it may hold.
    pub capacity: Capacity,
}

/// The SDAP sublayer's queues: one a class of QoS flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassesConfig {
    /// Which class goes next.
    pub scheduler: ClassScheduler,
    /// In descending priority.
    pub classes: Vec<ClassConfig>,
}

impl ClassesConfig {
    /// # Errors
    /// No classes, a QFI out of range or in two classes, a weight of zero or above 1000, classes within
    /// a class, and what its disciplines refuse.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.classes.is_empty() {
            return Err(ConfigError::NoClasses);
        }
        let mut is_taken = [false; MAX_QFI as usize + 1];
        for class in &self.classes {
            for &qfi in &class.qfis {
                error::expect(qfi <= MAX_QFI, "QFI of a class", &qfi, "0 to 63")?;
                if std::mem::replace(&mut is_taken[usize::from(qfi)], true) {
                    return Err(ConfigError::QfiTwice { qfi });
                }
            }
            let weight = class.weight;
            error::expect(
                (1..=1000).contains(&weight),
                "weight of a class",
                &weight,
                "1 to 1000",
            )?;
            if matches!(*class.discipline, DisciplineConfig::Classes(_)) {
                return Err(ConfigError::NestedClasses);
            }
            class.capacity.check()?;
            class.discipline.check()?;
        }
        Ok(())
    }
}
