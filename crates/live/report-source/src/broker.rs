//! Messages of a broker: a queue or a topic exchange of AMQP, a subject of NATS.

use crate::{Address, Fault, Follower};
use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties, ExchangeKind};
use std::time::Duration;
use tokio::time::timeout;

/// Commands of a client of NATS that wait for a server that does not read: each may hold a report.
const MAX_COMMANDS: usize = 16;
/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Messages of our queue that the broker keeps while we do not read.
const WAITING: i32 = 1024;

/// Connects to an AMQP broker within 5 s.
///
/// # Errors
/// An address that is no URL, and what the broker or the network refuses.
pub async fn connect_amqp(address: &Address) -> Result<Connection, Fault> {
    let Address::Url { url, .. } = address else {
        return Err("no URL".into());
    };
    let properties = ConnectionProperties::default().with_connection_name("brimful-rnis".into());
    Ok(timeout(CONNECT_TIMEOUT, Connection::connect(url, properties)).await??)
}

/// Connects to a NATS server within 5 s. Reconnecting is the caller's: it counts what is lost meanwhile.
///
/// # Errors
/// As [`connect_amqp`].
pub async fn connect_nats(address: &Address) -> Result<Client, Fault> {
    let Address::Url { url, .. } = address else {
        return Err("no URL".into());
    };
    let options = ConnectOptions::new().name("brimful-rnis").max_reconnects(1);
    let options = options.client_capacity(MAX_COMMANDS);
    Ok(timeout(CONNECT_TIMEOUT, options.connect(url.as_str())).await??)
}

/// Consumes an existing queue of others; it is made if it is not there. Gives when the broker closes it.
///
/// # Errors
/// What ends the connection.
pub async fn queue(
    address: &Address,
    queue: &str,
    follower: &mut impl Follower,
) -> Result<(), Fault> {
    let connection = connect_amqp(address).await?;
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
    consume(&channel, queue, follower).await
}

/// Consumes reports of a topic exchange, by a queue of our own. Gives when the broker closes it.
///
/// # Errors
/// What ends the connection.
pub async fn exchange(
    address: &Address,
    topic: &str,
    follower: &mut impl Follower,
) -> Result<(), Fault> {
    let connection = connect_amqp(address).await?;
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
    consume(&channel, name.as_str(), follower).await
}

async fn consume(
    channel: &Channel,
    queue: &str,
    follower: &mut impl Follower,
) -> Result<(), Fault> {
    let options = BasicConsumeOptions {
        no_ack: true,
        ..BasicConsumeOptions::default()
    };
    let mut consumer = channel
        .basic_consume(queue.into(), "".into(), options, FieldTable::default())
        .await?;
    follower.up(true);
    while let Some(delivery) = consumer.next().await {
        follower.message(&delivery?.data);
    }
    Ok(())
}

/// Consumes reports of a NATS subject. Gives when the server is lost.
///
/// # Errors
/// What ends the connection.
pub async fn subject(
    address: &Address,
    topic: &str,
    follower: &mut impl Follower,
) -> Result<(), Fault> {
    let client = connect_nats(address).await?;
    let mut messages = client.subscribe(format!("{topic}.cell.*")).await?;
    // sent, not acknowledged: NATS answers no subscription, and what is published meanwhile may pass
    client.flush().await?;
    follower.up(true);
    while let Some(message) = messages.next().await {
        follower.message(&message.payload);
    }
    Ok(())
}
