//! Messages of a broker: a queue or a topic exchange of AMQP, a subject of NATS.

use super::Inbox;
use crate::Fault;
use crate::config::Address;
use crate::publish::{amqp, nats};
use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

/// Messages of our queue that the broker keeps while we do not read.
const WAITING: i32 = 1024;

/// Consumes an existing queue of others; it is made if it is not there.
pub(super) async fn queue(
    address: &Address,
    queue: &str,
    feed: &mut impl Inbox,
) -> Result<(), Fault> {
    let connection = amqp::connect(address).await?;
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let channel = connection.create_channel().await?;
    let found = channel
        .queue_declare(queue.into(), passive, FieldTable::default())
        .await;
    let channel = match found {
        Ok(_) => channel,
        Err(_) => {
            // a question for what is not there closes the channel
            let channel = connection.create_channel().await?;
            let options = QueueDeclareOptions::default();
            channel
                .queue_declare(queue.into(), options, FieldTable::default())
                .await?;
            channel
        }
    };
    consume(&channel, queue, feed).await
}

/// Consumes reports of a topic exchange, by a queue of our own.
pub(super) async fn exchange(
    address: &Address,
    topic: &str,
    feed: &mut impl Inbox,
) -> Result<(), Fault> {
    let connection = amqp::connect(address).await?;
    let channel = connection.create_channel().await?;
    let nothing = FieldTable::default;
    let options = ExchangeDeclareOptions::default();
    channel
        .exchange_declare(topic.into(), ExchangeKind::Topic, options, nothing())
        .await?;
    let mut limits = FieldTable::default();
    limits.insert("x-max-length".into(), AMQPValue::LongInt(WAITING));
    let options = QueueDeclareOptions {
        exclusive: true,
        auto_delete: true,
        ..QueueDeclareOptions::default()
    };
    let queue = channel.queue_declare("".into(), options, limits).await?;
    let name = queue.name().clone();
    let options = QueueBindOptions::default();
    channel
        .queue_bind(
            name.clone(),
            topic.into(),
            "cell.#".into(),
            options,
            nothing(),
        )
        .await?;
    consume(&channel, name.as_str(), feed).await
}

async fn consume(channel: &Channel, queue: &str, feed: &mut impl Inbox) -> Result<(), Fault> {
    let options = BasicConsumeOptions {
        no_ack: true,
        ..BasicConsumeOptions::default()
    };
    let mut consumer = channel
        .basic_consume(queue.into(), "".into(), options, FieldTable::default())
        .await?;
    feed.up(true);
    while let Some(delivery) = consumer.next().await {
        feed.message(&delivery?.data);
    }
    Ok(())
}

/// Consumes reports of a NATS subject.
pub(super) async fn subject(
    address: &Address,
    topic: &str,
    feed: &mut impl Inbox,
) -> Result<(), Fault> {
    let client = nats::connect(address).await?;
    let mut messages = client.subscribe(format!("{topic}.cell.*")).await?;
    // sent, not acknowledged: NATS answers no subscription, and what is published meanwhile may pass
    client.flush().await?;
    feed.up(true);
    while let Some(message) = messages.next().await {
        feed.message(&message.payload);
    }
    Ok(())
}
