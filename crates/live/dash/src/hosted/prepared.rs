//! A dashboard before there is anything to be measured.

use super::{Hosted, RadioMeter, Sample, Settings};
use crate::DashError;
use crate::access::Access;
use crate::feed::{About, Feed, Source, World};

/// The dashboard of a daemon that is being set up: radio reports may come already.
#[derive(Debug)]
pub struct Prepared {
    feed: Feed,
    meter: RadioMeter,
    access: Access,
    rate: f64,
}

impl Settings {
    /// The dashboard of a daemon, under this title; none where it is switched off.
    ///
    /// # Errors
    /// [`DashError::Token`]: the token's file cannot be used.
    pub fn prepare(
        &self,
        source: Source,
        title: impl Into<String>,
    ) -> Result<Option<Prepared>, DashError> {
        let feed = Feed::new(About {
            title: title.into(),
            world: World::Live,
            source,
        });
        Ok(self.access()?.map(|access| Prepared {
            meter: RadioMeter::new(&feed),
            feed,
            access,
            rate: self.rate,
        }))
    }
}

impl Prepared {
    /// Takes radio reports, whose cells and UEs [`RadioMeter::put`] puts into samples.
    pub fn meter(&self) -> RadioMeter {
        self.meter.clone()
    }

    /// As [`Hosted::start`], as often as the settings require.
    ///
    /// # Errors
    /// As [`Hosted::start`].
    pub fn start(
        self,
        measure: impl FnMut(&mut Sample) + Send + 'static,
    ) -> Result<Hosted, DashError> {
        Hosted::start(self.feed, self.access, self.rate, measure)
    }
}
