//! Real brokers: RabbitMQ and NATS, started by the test and ended by their process ids.

use crate::common::{NETWORK, World, until, until_some, usual, world};
use crate::processes::{Nats, Rabbit};
use crate::recording;
use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer, ExchangeKind};
use rnis::RadioReport;
use rnis::codec::{BINARY_VERSION, decode};
use std::time::Duration;

const OAI: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/oai-xapp.ndjson");
const LEGACY: &str = include_str!("../../../../core/rnis/tests/rnis/recorded/legacy.csv");

async fn channel(url: &str) -> (Connection, Channel) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await;
    let connection = connection.expect("the broker");
    let channel = connection.create_channel().await.expect("a channel");
    (connection, channel)
}

/// A consumer of one cell's reports.
async fn subscriber(channel: &Channel, key: &str) -> Consumer {
    let nothing = FieldTable::default;
    let kind = ExchangeKind::Topic;
    let options = ExchangeDeclareOptions::default();
    let exchange = "brimful.radio";
    channel
        .exchange_declare(exchange.into(), kind, options, nothing())
        .await
        .expect("declared");
    let options = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    let queue = channel
        .queue_declare("".into(), options, nothing())
        .await
        .expect("a queue");
    let name = queue.name().clone();
    let options = QueueBindOptions::default();
    let bound = channel.queue_bind(
        name.clone(),
        exchange.into(),
        key.into(),
        options,
        nothing(),
    );
    bound.await.expect("bound");
    let options = BasicConsumeOptions {
        no_ack: true,
        ..BasicConsumeOptions::default()
    };
    channel
        .basic_consume(name, "".into(), options, nothing())
        .await
        .expect("a consumer")
}

/// Reports of the project's own cell, after `slot`.
fn recorded(slot: u64) -> Vec<RadioReport> {
    let mut reports = recording::reports(100);
    for report in &mut reports {
        report.cell.slot = units::Slot::new(report.cell.slot.get() + slot);
    }
    reports
}

/// Reads messages up to the report of `slot`.
async fn until_slot(messages: &mut Subscriber, slot: u64) -> Message {
    loop {
        let message = messages.next().await.expect("a message");
        let report = decode(&message.payload).expect("a report");
        if report.cell.slot.get() == slot {
            return message;
        }
    }
}

async fn up(world: &World, transport: &str, up: f64) {
    until("the publisher", || {
        world.counted("brimful_rnis_publisher_up", &[("transport", transport)]) == up
    })
    .await;
}

/// One broker for all of this: it takes long to start.
#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_carries_reports_and_is_found_again_after_its_death() {
    let test = "rabbitmq_carries_reports_and_is_found_again_after_its_death";
    let Some(mut rabbit) = Rabbit::try_new(test) else {
        return;
    };
    rabbit.start().await;
    let url = rabbit.url();
    let publish = format!("[amqp]\nurl = \"{url}\"\nformat = \"binary\"\n");
    let sources = format!(
        "[[source]]\nname = \"oai\"\nkind = \"oai-xapp\"\nurl = \"{url}\"\ncell = 4\n\
         [[source]]\nname = \"legacy\"\nkind = \"legacy-csv\"\nurl = \"{url}\"\ncell = 5\nue = \"10.45.0.9\"\n\
         [[cell]]\nid = 4\nprb = 106\nscs = \"30 kHz\"\nmcs-table = \"nr-qam256\"\n\
         [[cell]]\nid = 5\nprb = 25\nmcs-table = \"lte-qam64\"\n"
    );
    let network = NETWORK.replace("rnti = 17921", "rnti = 17921\namf-ue-ngap-id = 1");
    let mut world = world("", &format!("{sources}{publish}{network}")).await;
    up(&world, "amqp", 1.0).await;

    // a report from the cell to a subscriber of that cell
    let (_connection, out) = channel(&url).await;
    let mut reports = subscriber(&out, "cell.1").await;
    world.cell.report(&usual(20)).await;
    let delivery = reports.next().await.expect("a message").expect("no fault");
    assert_eq!(delivery.data[0], BINARY_VERSION, "the binary form");
    let report = decode(&delivery.data).expect("a report");
    assert_eq!(report.ues[1].ip, Some([10, 45, 0, 3].into()));
    let kind = delivery
        .properties
        .content_type()
        .as_ref()
        .map(|k| k.as_str().to_owned());
    assert_eq!(
        kind.as_deref(),
        Some("application/vnd.brimful.radio-report")
    );

    // the lab's reports arrive unchanged, in their order
    let sent = recorded(1_000);
    for report in &sent {
        world.cell.report(report).await;
    }
    for report in &sent {
        let delivery = reports.next().await.expect("a message").expect("no fault");
        assert_eq!(decode(&delivery.data).as_ref(), Ok(report));
    }

    // messages of other projects, from their queues, which are there once their sources are
    for source in ["oai", "legacy"] {
        until("the queues' sources", || {
            world.counted("brimful_rnis_source_up", &[("source", source)]) == 1.0
        })
        .await;
    }
    for (queue, text) in [("rnis_xapp", OAI), ("hello", LEGACY)] {
        for line in text.lines() {
            let options = BasicPublishOptions::default();
            let properties = BasicProperties::default();
            let sent = out.basic_publish(
                "".into(),
                queue.into(),
                options,
                line.as_bytes(),
                properties,
            );
            sent.await.expect("sent");
        }
    }
    let accepted = |source| world.counted("brimful_rnis_reports_total", &[("source", source)]);
    until("KPIs", || accepted("oai") == 2.0).await;
    until("CSV", || accepted("legacy") == 3.0).await;

    // a second service that reads the first one's topic
    let chain = format!("[[source]]\nname = \"topic\"\nkind = \"reports\"\nurl = \"{url}\"\n");
    let second = crate::common::world("", &chain).await;
    let from_topic =
        |second: &World| second.counted("brimful_rnis_reports_total", &[("source", "topic")]);
    until("the second service", || {
        second.counted("brimful_rnis_source_up", &[("source", "topic")]) == 1.0
    })
    .await;
    world.cell.report(&usual(10_000)).await;
    until("a report through the broker", || from_topic(&second) == 1.0).await;

    // the broker dies: reports are lost and counted, and the source does not wait
    rabbit.kill();
    let lost =
        |world: &World| world.counted("brimful_rnis_publish_lost_total", &[("transport", "amqp")]);
    let mut slot = 10_020;
    until_some("five lost reports", async || {
        world.cell.report(&usual(slot)).await;
        slot += 20;
        (lost(&world) >= 5.0).then_some(())
    })
    .await;
    up(&world, "amqp", 0.0).await;

    // and returns
    rabbit.start().await;
    up(&world, "amqp", 1.0).await;
    until("the second service again", || {
        second.counted("brimful_rnis_source_up", &[("source", "topic")]) == 1.0
    })
    .await;
    let before = from_topic(&second);
    world.cell.report(&usual(slot)).await;
    until("a report through the broker again", || {
        from_topic(&second) > before
    })
    .await;
    until("the queue's source again", || {
        world.counted("brimful_rnis_source_up", &[("source", "oai")]) == 1.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_carries_reports_and_is_found_again_after_its_death() {
    let test = "nats_carries_reports_and_is_found_again_after_its_death";
    let Some(mut nats) = Nats::try_new(test) else {
        return;
    };
    nats.start().await;
    let url = nats.url();
    let mut world = world("", &format!("[nats]\nurl = \"{url}\"\n{NETWORK}")).await;
    up(&world, "nats", 1.0).await;
    let client = async_nats::connect(&url).await.expect("the server");
    let mut messages = client
        .subscribe("brimful.radio.cell.*")
        .await
        .expect("subscribed");
    // the second service reads the first one's subject and publishes what it reads in the other form
    let mut binary = client.subscribe("again.cell.1").await.expect("subscribed");
    let chain = format!(
        "[[source]]\nname = \"topic\"\nkind = \"reports\"\nurl = \"{url}\"\n\
         [nats]\nurl = \"{url}\"\nsubject = \"again\"\nformat = \"binary\"\n"
    );
    let second = crate::common::world("", &chain).await;
    until("the second service", || {
        second.counted("brimful_rnis_source_up", &[("source", "topic")]) == 1.0
    })
    .await;
    up(&second, "nats", 1.0).await;
    // NATS acknowledges no subscription: reports are sent until one has come all the way
    let mut slot = 0;
    let message = until_some("a report through the server", async || {
        slot += 20;
        world.cell.report(&usual(slot)).await;
        let next = tokio::time::timeout(Duration::from_millis(50), binary.next());
        next.await.ok().map(|message| message.expect("a message"))
    })
    .await;
    assert_eq!(message.payload[0], BINARY_VERSION, "the binary form");
    // all subscriptions are made now: a last one ends what is under way
    slot += 20;
    world.cell.report(&usual(slot)).await;
    let message = until_slot(&mut messages, slot).await;
    assert_eq!(message.subject.as_str(), "brimful.radio.cell.1");
    until_slot(&mut binary, slot).await;
    let from_topic =
        |second: &World| second.counted("brimful_rnis_reports_total", &[("source", "topic")]);

    // the lab's reports arrive unchanged, in their order, in both forms
    let sent = recorded(slot + 1_000);
    for report in &sent {
        world.cell.report(report).await;
    }
    for report in &sent {
        let message = messages.next().await.expect("a message");
        assert_eq!(message.payload[0], b'{', "JSON");
        assert_eq!(decode(&message.payload).as_ref(), Ok(report));
        let message = binary.next().await.expect("a message");
        let mut again = decode(&message.payload).expect("a report");
        for (again, ue) in again.ues.iter_mut().zip(&report.ues) {
            assert!(again.timestamp > ue.timestamp, "the time of its arrival");
            again.timestamp = ue.timestamp;
        }
        assert_eq!(again, *report);
    }

    nats.kill();
    let lost =
        |world: &World| world.counted("brimful_rnis_publish_lost_total", &[("transport", "nats")]);
    slot += 10_000;
    until_some("five lost reports", async || {
        world.cell.report(&usual(slot)).await;
        slot += 20;
        (lost(&world) >= 5.0).then_some(())
    })
    .await;
    nats.start().await;
    up(&world, "nats", 1.0).await;
    // the source's subscription is made again too, some time after the server's return
    let before = from_topic(&second);
    until_some("a report through the server again", async || {
        world.cell.report(&usual(slot)).await;
        slot += 20;
        (from_topic(&second) > before).then_some(())
    })
    .await;
}
