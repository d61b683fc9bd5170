//! Reports on a topic exchange of an AMQP 0-9-1 broker, with routing key `cell.ID`.

use super::{Outlet, body};
use crate::Fault;
use crate::config::TopicConfig;
use daemon::Backoff;
use lapin::options::{BasicPublishOptions, ExchangeDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, ExchangeKind};
use report_source::broker::connect_amqp;
use std::time::Duration;
use tokio::time::timeout;

/// Longest time for the broker to declare the exchange, and to take one message.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Delivery mode of messages that a broker keeps in memory only: a report is old in a moment.
const TRANSIENT: u8 = 1;

/// Publishes until the service ends; connects again whenever the broker is lost.
pub(crate) async fn publish(config: TopicConfig, mut outlet: Outlet) {
    let mut backoff = Backoff::new();
    loop {
        let outcome = session(&config, &mut outlet, &mut backoff).await;
        outlet.up(false);
        match outcome {
            Ok(()) => return,
            Err(error) => tracing::warn!(broker = %config.address, "lost: {error}"),
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
    let connection = connect_amqp(&config.address).await?;
    let channel = connection.create_channel().await?;
    let options = ExchangeDeclareOptions::default();
    let exchange = config.topic.as_str();
    let declared = channel.exchange_declare(
        exchange.into(),
        ExchangeKind::Topic,
        options,
        FieldTable::default(),
    );
    timeout(TIMEOUT, declared).await??;
    outlet.drop_waiting();
    outlet.up(true);
    backoff.reset();
    tracing::info!(broker = %config.address, exchange, "publishing");
    while let Some(report) = outlet.next().await {
        let sent = send(config, &channel, &report);
        match timeout(TIMEOUT, sent).await {
            Ok(Ok(())) if connection.status().connected() => outlet.published(),
            Ok(Ok(())) => {
                outlet.lost(1);
                return Err("the connection is closed".into());
            }
            Ok(Err(error)) => {
                outlet.lost(1);
                return Err(error.into());
            }
            Err(late) => {
                outlet.lost(1);
                return Err(late.into());
            }
        }
    }
    Ok(())
}

async fn send(
    config: &TopicConfig,
    channel: &Channel,
    report: &crate::hub::Published,
) -> lapin::Result<()> {
    let (payload, media_type) = body(report, config.format);
    let key = format!("cell.{}", report.cell().0);
    let properties = BasicProperties::default()
        .with_content_type(media_type.into())
        .with_delivery_mode(TRANSIENT);
    let exchange = config.topic.as_str().into();
    let options = BasicPublishOptions::default();
    // without confirmations: the next report is worth more than an answer for this one
    channel
        .basic_publish(exchange, key.as_str().into(), options, payload, properties)
        .await?;
    Ok(())
}
