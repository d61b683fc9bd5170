//! What the dashboard shows of the service: the cells and UEs of reports.

use crate::config::Config;
use crate::hub::Hub;
use dash::{DashError, Hosted, Source};

/// Begins to show; none where it is switched off.
pub(crate) fn start(config: &Config, hub: &Hub) -> Result<Option<Hosted>, DashError> {
    let Some(prepared) = config.dashboard.prepare(Source::Rnis, "brimful rnis")? else {
        return Ok(None);
    };
    let meter = prepared.meter();
    hub.show(meter.clone());
    let shown = prepared.start(move |sample| meter.put(sample, true))?;
    Ok(Some(shown))
}
