//! What the dashboard is told of the service: the cells and UEs that reports tell of.

use crate::config::Config;
use crate::hub::Hub;
use dash::{About, DashError, Feed, Hosted, RadioMeter, Source, World};

/// Begins to show; none where it is switched off.
pub(crate) fn start(config: &Config, hub: &Hub) -> Result<Option<Hosted>, DashError> {
    let Some(access) = config.dashboard.access()? else {
        return Ok(None);
    };
    let feed = Feed::new(About {
        title: "brimful rnis".to_owned(),
        world: World::Live,
        source: Source::Rnis,
    });
    let meter = RadioMeter::new(&feed);
    hub.show(meter.clone());
    let rate = config.dashboard.rate;
    Hosted::start(feed, access, rate, move |sample| meter.put(sample, true)).map(Some)
}
