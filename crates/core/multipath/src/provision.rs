//! What an end makes new connections with: a scheduler of its own for each, and a seed.

use crate::auth::Secrets;
use crate::scheduler::{self, Scheduler, UnknownScheduler};

/// Gives every new connection of a [`crate::Client`] or a [`crate::Server`] what it needs.
pub trait Provision {
    /// A new scheduler.
    fn scheduler(&mut self) -> Box<dyn Scheduler>;
    /// The seed of the connection's keys and numbers, another each time. Live it must not be predictable.
    fn seed(&mut self) -> u64;
}

/// Schedulers of this crate, and seeds that follow from one.
#[derive(Debug)]
pub struct Builtin {
    scheduler: String,
    secrets: Secrets,
}

impl Builtin {
    /// A scheduler by its name in [`scheduler::build`]; the seed must live be of a source that is not
    /// predictable.
    ///
    /// # Errors
    /// [`UnknownScheduler`].
    pub fn new(name: &str, seed: u64) -> Result<Self, UnknownScheduler> {
        scheduler::build(name)?;
        Ok(Self {
            scheduler: name.to_owned(),
            secrets: Secrets::new(seed),
        })
    }
}

impl Provision for Builtin {
    fn scheduler(&mut self) -> Box<dyn Scheduler> {
        scheduler::build(&self.scheduler).expect("the constructor has built one of that name")
    }

    fn seed(&mut self) -> u64 {
        self.secrets.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_follow_from_the_first_and_differ() {
        let seeds = |seed| {
            let mut builtin = Builtin::new("cpf", seed).expect("known");
            [builtin.seed(), builtin.seed(), builtin.seed()]
        };
        assert_eq!(seeds(1), seeds(1));
        let [a, b, c] = seeds(1);
        assert!(a != b && b != c && seeds(2)[0] != a);
    }

    #[test]
    fn an_unknown_scheduler_is_rejected() {
        assert!(Builtin::new("fastest", 1).is_err());
    }
}
