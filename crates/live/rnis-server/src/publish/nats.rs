//! Reports on NATS, subject `TOPIC.cell.ID`.

use super::{Outlet, body};
use crate::Fault;
use crate::config::TopicConfig;
use async_nats::HeaderMap;
use async_nats::connection::State;
use daemon::Backoff;
use report_source::broker::connect_nats;

/// Publishes until the service ends; connects again whenever the server is lost.
pub(crate) async fn publish(config: TopicConfig, mut outlet: Outlet) {
    let mut backoff = Backoff::new();
    loop {
        let outcome = session(&config, &mut outlet, &mut backoff).await;
        outlet.up(false);
        match outcome {
            Ok(()) => return,
            Err(error) => tracing::warn!(server = %config.address, "lost: {error}"),
        }
        backoff.wait().await;
        outlet.drop_waiting();
    }
}

async fn session(
    config: &TopicConfig,
    outlet: &mut Outlet,
    backoff: &mut Backoff,
) -> Result<(), Fault> {
    let client = connect_nats(&config.address).await?;
    outlet.drop_waiting();
    outlet.up(true);
    backoff.reset();
    tracing::info!(server = %config.address, subject = config.topic, "publishing");
    while let Some(report) = outlet.next().await {
        if client.connection_state() != State::Connected {
            outlet.lost(1);
            return Err("the connection is closed".into());
        }
        let (payload, media_type) = body(&report, config.format);
        let subject = format!("{}.cell.{}", config.topic, report.cell().0);
        let mut headers = HeaderMap::new();
        headers.insert("Content-Type", media_type);
        let payload = payload.to_vec().into();
        if let Err(error) = client.publish_with_headers(subject, headers, payload).await {
            outlet.lost(1);
            return Err(error.into());
        }
        outlet.published();
    }
    Ok(())
}
