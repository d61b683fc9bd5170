//! Registration at a MEC platform.

use crate::common::{rest, until, world};
use crate::inbox::Inbox;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test(flavor = "multi_thread")]
async fn interface_and_topics_are_announced_and_taken_back() {
    let failures = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&failures);
    // the platform is not ready at first
    let platform = Inbox::answering(move |received| match received.method {
        Method::POST if count.fetch_add(1, Ordering::Relaxed) < 2 => {
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Method::POST => {
            let name = received.body["serName"].as_str().unwrap_or_default();
            let location = format!("{}/{name}", received.path);
            (StatusCode::CREATED, [("location", location)]).into_response()
        }
        _ => StatusCode::NO_CONTENT.into_response(),
    })
    .await;
    let tables = format!(
        "[mec-platform]\nurl = \"{}\"\napp-instance-id = \"app-1\"\ntoken = \"platform-token\"\n\
         [amqp]\nurl = \"amqp://user:hidden@127.0.0.1:9\"\nformat = \"binary\"\n\
         [nats]\nurl = \"nats://127.0.0.1:9\"\nsubject = \"lab.radio\"\n{}",
        platform.uri("/mec_service_mgmt/v1"),
        rest()
    );
    let world = world("", &tables).await;
    until("registered", || {
        world.counted("brimful_rnis_registered", &[]) == 3.0
    })
    .await;
    let posts: Vec<_> = platform.received().into_iter().skip(2).collect();
    let path = "/mec_service_mgmt/v1/applications/app-1/services";
    for post in &posts {
        assert_eq!(post.path, path);
        assert_eq!(post.token.as_deref(), Some("Bearer platform-token"));
        assert_eq!(post.body["state"], "ACTIVE");
        assert!(
            !post.body.to_string().contains("hidden"),
            "no password: {}",
            post.body
        );
    }
    let kind = |i: usize| posts[i].body["transportInfo"]["type"].clone();
    assert_eq!(
        (kind(0), kind(1), kind(2)),
        (
            "REST_HTTP".into(),
            "MB_TOPIC_BASED".into(),
            "MB_TOPIC_BASED".into()
        )
    );
    let amqp = &posts[1].body["transportInfo"];
    assert_eq!(amqp["protocol"], "AMQP");
    assert_eq!(amqp["version"], "0-9-1");
    assert_eq!(amqp["endpoint"]["uris"][0], "amqp://127.0.0.1:9");
    assert_eq!(amqp["implSpecificInfo"]["exchange"], "brimful.radio");
    let nats = &posts[2].body["transportInfo"];
    assert_eq!(
        nats["implSpecificInfo"]["subject"],
        "lab.radio.cell.{cellId}"
    );

    world.service.stop().await;
    let deleted: Vec<String> = platform
        .received()
        .into_iter()
        .filter(|r| r.method == Method::DELETE)
        .map(|r| r.path)
        .collect();
    let expected =
        ["rni", "brimful-radio-amqp", "brimful-radio-nats"].map(|n| format!("{path}/{n}"));
    assert_eq!(deleted, expected);
}
